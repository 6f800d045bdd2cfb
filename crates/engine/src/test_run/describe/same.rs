//! Trouble outside tests that is one and the same but for its place: one missing function that twenty lines call.
//!
//! Invariant: only problems that have a place of their own are put together, and each place is named or counted.

use std::collections::HashMap;

use crate::domain::test_report::Problem;

/// How many other places are spelled out.
const NAMED_PLACES: usize = 12;

/// A problem and those that say the same of other places.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// The first, which is shown.
    pub(super) first: &'a Problem,
    others: Vec<&'a Problem>,
}

/// Puts problems together that differ in their place alone, in the order of the first of each.
pub(super) fn grouped<'a>(problems: &[&'a Problem]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for &problem in problems {
        let key = without_place(problem);
        let at = key.as_ref().and_then(|key| known.get(key).copied());
        if let Some(group) = at.and_then(|at| groups.get_mut(at)) {
            group.others.push(problem);
            continue;
        }
        if let Some(key) = key {
            known.insert(key, groups.len());
        }
        groups.push(Group { first: problem, others: Vec::new() });
    }
    groups
}

impl Group<'_> {
    /// How many problems it stands for.
    pub(super) const fn len(&self) -> usize {
        self.others.len() + 1
    }

    /// `(the same at src/a.rs:6, 8, src/b.rs:3 and 9 more places)`. Empty when it is the only one.
    pub(super) fn elsewhere(&self) -> String {
        if self.others.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        let mut last = None;
        for problem in self.others.iter().take(NAMED_PLACES) {
            let (Some(file), Some(line)) = (&problem.file, problem.line) else { continue };
            let comma = if text.is_empty() { "" } else { ", " };
            // The name of a file is said once.
            let named = if last == Some(file) { line.to_string() } else { format!("{file}:{line}") };
            text.push_str(comma);
            text.push_str(&named);
            last = Some(file);
        }
        let more = match self.others.len().saturating_sub(NAMED_PLACES) {
            0 => String::new(),
            1 => " and 1 more place".to_owned(),
            many => format!(" and {many} more places"),
        };
        format!("(the same at {text}{more})\n")
    }
}

/// A problem's message without its place and the source that compilers quote. `None` when it has no place.
fn without_place(problem: &Problem) -> Option<String> {
    let (file, _) = problem.file.as_ref().zip(problem.line)?;
    let lines = problem.message.lines().filter_map(|line| {
        let text = line.trim();
        // rustc's line for a place. The quoted source below it differs as well.
        if text.starts_with("--> ") || text.starts_with("::: ") || is_quoted_source(text) {
            return None;
        }
        // The marks under the source move with it. The words behind them are the message.
        let marked = text.starts_with(['|', '^', '~']);
        let text = if marked { text.trim_start_matches(['|', ' ', '^', '-', '~', '_', '+']) } else { text };
        (!text.is_empty()).then(|| without_file(text, file))
    });
    Some(format!("{:?} {}", problem.kind, lines.collect::<Vec<_>>().join("\n")))
}

/// `12 |     price(3)`.
fn is_quoted_source(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).unwrap_or_default().trim_start();
    digits > 0 && (rest.starts_with('|') || rest.starts_with('~') || rest.starts_with('+'))
}

/// `src/a.ts(3,5): error`, `main.c:4:3: error` → the words alone.
fn without_file(text: &str, file: &str) -> String {
    let mut plain = String::new();
    for (at, part) in text.split(file).enumerate() {
        let rest = if at == 0 {
            part
        } else {
            // Line and column behind the file's name, as tsc and gcc write them.
            part.trim_start_matches(|one: char| one.is_ascii_digit() || "(:,)".contains(one))
        };
        plain.push_str(if at == 0 { "" } else { "…" });
        plain.push_str(rest);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_report::RunKind;

    fn problem(message: &str, file: &str, line: u32) -> Problem {
        let place = (!file.is_empty()).then(|| (file.to_owned(), line)).unzip();
        Problem { kind: RunKind::CompileError, message: message.to_owned(), file: place.0, line: place.1 }
    }

    fn rustc(line: u32, found: &str) -> Problem {
        let message = format!(
            "error[E0425]: cannot find function `price` in this scope\n --> src/lib.rs:{line}:7\n  |\n{line} |     price({line});\n  \
             |     ^^^^^ {found}\n"
        );
        problem(&message, "src/lib.rs", line)
    }

    #[test]
    fn one_cause_at_many_places_is_one_group_that_names_them() {
        let all: Vec<Problem> = (3..18).map(|line| rustc(line, "not found in this scope")).collect();
        let groups = grouped(&all.iter().collect::<Vec<_>>());
        assert_eq!((groups.len(), groups[0].len()), (1, 15));
        assert_eq!(
            groups[0].elsewhere(),
            "(the same at src/lib.rs:4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 2 more places)\n"
        );
    }

    #[test]
    fn places_before_the_words_are_left_out_too() {
        let all = [
            problem("src/a.ts(3,5): error TS2304: Cannot find name 'price'.", "src/a.ts", 3),
            problem("src/b.ts(14,9): error TS2304: Cannot find name 'price'.", "src/b.ts", 14),
            problem("main.c:4:3: error: 'price' undeclared\n    4 |   price();\n      |   ^~~~~", "main.c", 4),
            problem("main.c:9:3: error: 'price' undeclared\n    9 |   f(price);\n      |     ^~~~~", "main.c", 9),
        ];
        let groups = grouped(&all.iter().collect::<Vec<_>>());
        assert_eq!(
            groups.iter().map(Group::elsewhere).collect::<Vec<_>>(),
            ["(the same at src/b.ts:14)\n", "(the same at main.c:9)\n"]
        );
    }

    #[test]
    fn what_differs_in_more_than_its_place_or_has_none_stays_apart() {
        let all = [
            rustc(3, "not found in this scope"),
            rustc(4, "help: a function with a similar name exists: `prize`"),
            problem("no place", "", 0),
            problem("no place", "", 0),
        ];
        let groups = grouped(&all.iter().collect::<Vec<_>>());
        assert_eq!(groups.len(), 4);
        assert!(groups.iter().all(|group| group.elsewhere().is_empty()));
    }
}
