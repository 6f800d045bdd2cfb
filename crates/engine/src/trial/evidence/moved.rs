//! Choices of a change that stood elsewhere before: what is moved is nothing new.

use std::collections::BTreeSet;

use crate::domain::line_diff::{Side, changed_lines};
use crate::framework::source::{Choice, Definition, Outline};

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
            was.spelled == choice.spelled
                && (function == new.function(choice.lines.0) || old.behind(was) == new.behind(choice))
        };
        if let Some(was) = open.iter().position(is_same) {
            open.swap_remove(was);
            found.insert(at);
        }
    }
    found
}

/// What lies around the choices of a text.
struct Around<'t> {
    outline: Option<Outline>,
    lines: Vec<&'t str>,
}

impl<'t> Around<'t> {
    fn of(path: &str, text: &'t str) -> Self {
        Self { outline: Outline::read(path, text), lines: text.lines().map(str::trim).collect() }
    }

    /// The name of the innermost function that holds a line.
    fn function(&self, line: u32) -> Option<&str> {
        let all = self.outline.as_ref().map(Outline::definitions).unwrap_or_default();
        let holds = |one: &&Definition| !one.is_container && (one.lines.0..=one.lines.1).contains(&line);
        all.iter().filter(holds).min_by_key(|one| one.lines.1 - one.lines.0).map(|one| one.name.as_str())
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
        let (was, within) =
            (long("    if quiet():\n        say(a)\n", ""), long("", "    if quiet():\n        shout(a)\n"));
        assert!(is_moved(&was, &within), "in the same function");
        let other = here
            .replace("    if quiet():\n        say(a)\n", "    say(a)\n")
            .replace("    return a\n", "    if quiet():\n        return 3\n    return a\n");
        assert!(!is_moved(&here, &other), "over something else");
        let copied = here.replace("    return a\n", "    if quiet():\n        say(a)\n    return a\n");
        assert!(!is_moved(&here, &copied), "it stands there still");
    }
}
