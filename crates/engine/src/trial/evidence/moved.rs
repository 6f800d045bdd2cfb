//! Choices of a change that stood elsewhere before: what is moved is nothing new.

use std::collections::BTreeSet;

use crate::domain::line_diff::{Side, changed_lines};
use crate::framework::source::{Choice, Definition, Outline, Way};

/// The choices of a changed text that were moved, by their numbers: each is gone from another line, in the same function or with the same
/// line behind it. What decides over something else there is another choice.
pub(super) fn moved(path: &str, (old, before): (&str, &[Choice]), (new, after): (&str, &[Choice])) -> BTreeSet<usize> {
    let changed = changed_lines(old, new);
    let lines = |side: Side| changed.iter().filter(move |line| line.side == side).map(|line| line.number);
    let (gone, added): (BTreeSet<u32>, BTreeSet<u32>) = (lines(Side::Old).collect(), lines(Side::New).collect());
    let (old, new) = (Around::of(path, old), Around::of(path, new));
    let mut open: Vec<&Choice> = before.iter().filter(|choice| gone.contains(&choice.lines.0)).collect();
    let mut found = BTreeSet::new();
    for (at, choice) in after.iter().enumerate().filter(|(_, choice)| added.contains(&choice.lines.0)) {
        let is_same = |was: &&Choice| {
            let function = old.function(was.lines.0);
            let is_within = || function == new.function(choice.lines.0) && old.has(new.decided(choice));
            was.spelled == choice.spelled && (old.behind(was) == new.behind(choice) || is_within())
        };
        if let Some(was) = open.iter().position(is_same) {
            open.swap_remove(was);
            found.insert(at);
        }
    }
    found
}

/// The conditions of a changed text that stood there before and decide over a new line: what they let through is tried, not what they ask.
pub(super) fn with_new_consequence(path: &str, new: &str, after: &[Choice], added: &BTreeSet<u32>) -> BTreeSet<usize> {
    let around = Around::of(path, new);
    let is_meant = |choice: &Choice| {
        let is_condition = choice.ways.iter().any(|(_, way)| *way == Way::Fails);
        is_condition
            && !added.contains(&choice.lines.0)
            && around.line_below(choice).is_some_and(|line| added.contains(&line))
    };
    after.iter().enumerate().filter(|(_, choice)| is_meant(choice)).map(|(at, _)| at).collect()
}

/// What lies around the choices of a text.
struct Around<'t> {
    text: &'t str,
    outline: Option<Outline>,
    lines: Vec<&'t str>,
}

impl<'t> Around<'t> {
    fn of(path: &str, text: &'t str) -> Self {
        Self { text, outline: Outline::read(path, text), lines: text.lines().map(str::trim).collect() }
    }

    /// The name of the innermost function that holds a line.
    fn function(&self, line: u32) -> Option<&str> {
        let all = self.outline.as_ref().map(Outline::definitions).unwrap_or_default();
        let holds = |one: &&Definition| !one.is_container && (one.lines.0..=one.lines.1).contains(&line);
        all.iter().filter(holds).min_by_key(|one| one.lines.1 - one.lines.0).map(|one| one.name.as_str())
    }

    /// The number of the line below a condition that it decides over. `None` where that stands on the condition's own line.
    fn line_below(&self, choice: &Choice) -> Option<u32> {
        let end = choice.ways.first().map_or(usize::MAX, |(edit, _)| edit.range.end);
        let behind = self.text.get(end..)?.lines().next()?.trim().trim_start_matches([' ', ')']);
        let last = usize::try_from(choice.lines.1).ok()?;
        let empty = self.lines.iter().skip(last).take_while(|line| line.is_empty()).count();
        [":", "{"].contains(&behind).then(|| u32::try_from(last + empty + 1).ok()).flatten()
    }

    /// The line that a condition decides over, behind it on its own line or below it. Empty where the condition goes on, or is none.
    fn decided(&self, choice: &Choice) -> &'t str {
        let end = choice.ways.first().map_or(usize::MAX, |(edit, _)| edit.range.end);
        let mut rest = self.text.get(end..).unwrap_or_default().lines();
        let behind = rest.next().unwrap_or_default().trim_start_matches([' ', ')']);
        let Some(own) = behind.strip_prefix([':', '{']) else { return "" };
        let own = own.trim();
        if own.is_empty() { rest.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default() } else { own }
    }

    fn has(&self, code: &str) -> bool {
        self.text.contains(code)
    }

    /// The last line of a choice, and the one behind it.
    fn behind(&self, choice: &Choice) -> Vec<&'t str> {
        let last = usize::try_from(choice.lines.1).unwrap_or(usize::MAX);
        self.lines.iter().skip(last.saturating_sub(1)).filter(|line| !line.is_empty()).take(2).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::source::choices;

    fn is_moved(before: &str, after: &str) -> bool {
        let read = |text: &str| choices("a.py", text).unwrap();
        !moved("a.py", (before, &read(before)), (after, &read(after))).is_empty()
    }

    #[test]
    fn a_choice_is_moved_where_it_is_gone_and_decides_over_the_same() {
        let log = "def log(a):\n    if quiet():\n        say(a)\n    return 5\n";
        let here = format!("{log}\n\ndef f(a):\n    return a\n");
        let helper = format!(
            "def tell(a):\n    if quiet():\n        say(a)\n\n\n{}",
            here.replace("    if quiet():\n        say(a)\n", "    tell(a)\n")
        );
        assert!(is_moved(&here, &helper), "with what it decides over");
        let steps = "    one()\n    two()\n    three()\n";
        let long = |first: &str, last: &str| format!("def f(a):\n{first}{steps}{last}    return a\n");
        let log = "    if quiet():\n        say(a)\n";
        let was = long(log, "");
        assert!(is_moved(&was, &long("", log)), "in the same function");
        for other in ["    if quiet():\n        a = a[1:]\n", "    if quiet(): a = a[1:]\n"] {
            assert!(!is_moved(&was, &long("", other)), "over something else: {other}");
        }
        let (alone, joined) = (was.replace("quiet()", "b == 1"), was.replace("quiet()", "b == 1 and a"));
        assert!(is_moved(&alone, &joined), "it is asked along with another");
        let other = here
            .replace("    if quiet():\n        say(a)\n", "    say(a)\n")
            .replace("    return a\n", "    if quiet():\n        return 3\n    return a\n");
        assert!(!is_moved(&here, &other), "over something else");
        let copied = here.replace("    return a\n", "    if quiet():\n        say(a)\n    return a\n");
        assert!(!is_moved(&here, &copied), "it stands there still");
    }

    #[test]
    fn a_condition_that_decides_over_something_new_is_found_by_the_line_below() {
        let text = "def f(a):\n    if quiet():\n\n        return 1\n    if loud(): say(a)\n    return 2\n";
        let all = choices("a.py", text).unwrap();
        let found = |added: &[u32]| -> Vec<String> {
            let found = with_new_consequence("a.py", text, &all, &added.iter().copied().collect());
            found.into_iter().map(|at| all[at].spelled.clone()).collect()
        };
        assert_eq!((found(&[4]), found(&[2, 4]), found(&[5, 6])), (vec!["quiet()".to_owned()], vec![], vec![]));
    }
}
