//! Arms of Java's, PHP's and C++'s `switch` and of PHP's `match`: each can be made to fail when it is entered.

use super::super::Language;
use super::super::choice::{Choice, Way};
use super::super::edit::Edit;
use super::lexer::Kind;
use super::parts;
use super::view::View;

/// The most tokens of a label.
const LONGEST: usize = 24;

/// The arm that a label of a `switch` begins, with a statement behind its colon that fails.
pub(super) fn of_label(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    if !view.is(at, "case") && !view.is(at, "default") {
        return None;
    }
    let colon = (at + 1..at + LONGEST).take_while(|one| view.kind(*one).is_some_and(|kind| kind != Kind::Open));
    // `A::B` is one name.
    let is_single = |one: usize| view.is(one, ":") && !view.is(one + 1, ":") && !view.is(one.saturating_sub(1), ":");
    let colon = colon.into_iter().find(|one| is_single(*one))?;
    let edit = Edit::insert(view.range(colon)?.end, parts::fails(language)?.to_owned());
    let spelled = view.text.get(view.span(at, colon)?)?;
    Some(Choice::of_one(view.lines(at, colon), spelled, edit, Way::Stops))
}

/// The arms of PHP's `match`, each with an expression that fails.
pub(super) fn of_match(view: View<'_>, at: usize) -> Vec<Choice> {
    if !view.is(at, "match") || !view.is(at + 1, "(") {
        return Vec::new();
    }
    let Some(open) = view.partner(at + 1).map(|close| close + 1).filter(|open| view.is(*open, "{")) else {
        return Vec::new();
    };
    let arm = |arm: std::ops::Range<usize>| {
        let arrow = arm.clone().find(|one| view.is(*one, "=") && view.is(one + 1, ">"))?;
        let (first, last) = (arrow + 2, arm.end.checked_sub(1)?);
        let range = view.span(first, last).filter(|_| first <= last)?;
        let edit = Edit { range, text: "throw new \\Error('not entered')".to_owned() };
        let spelled = view.text.get(view.span(arm.start, arrow + 1)?)?;
        Some(Choice::of_one(view.lines(arm.start, last), spelled, edit, Way::Stops))
    };
    view.arguments(open).into_iter().filter_map(arm).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::edit::apply;
    use super::super::choices;
    use super::*;

    fn stopped(language: Language, text: &str) -> Vec<String> {
        let all = choices(language, text).expect("text").into_iter();
        let stops = all.filter(|one| one.ways.iter().any(|(_, way)| *way == Way::Stops));
        stops.map(|one| apply(text, std::slice::from_ref(&one.ways[0].0)).expect("inside")).collect()
    }

    #[test]
    fn each_arm_can_fail() {
        let switch = "switch (a) { case A::B: return 1; default: return 2; }";
        let with = |fails: &str| {
            [switch.replace("A::B:", &format!("A::B:{fails}")), switch.replace("default:", &format!("default:{fails}"))]
        };
        assert_eq!(stopped(Language::Cpp, switch), with(" throw 0;"));
        let php = format!("<?php {switch}");
        let wanted = with(" throw new \\Error('not entered');").map(|one| format!("<?php {one}"));
        assert_eq!(stopped(Language::Php, &php), wanted);
        let arms = "<?php $b = match (true) { a(), c() => 1, default => [2, 3] };";
        let fails = "throw new \\Error('not entered')";
        assert_eq!(
            stopped(Language::Php, arms),
            [arms.replace("=> 1", &format!("=> {fails}")), arms.replace("=> [2, 3]", &format!("=> {fails}"))]
        );
    }
}
