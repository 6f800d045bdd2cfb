//! What code under test can do to the runner from inside its process: end it, speak for it, hook into it, ask for it.
//!
//! Every rule counts: it objects when its pattern stands in the file more often than at the start, whatever the line breaks.

mod computed;
mod go;
mod preconditions;

use super::Change;
use super::squeeze::{first_added, spaced, spellings};
use super::words;
use crate::framework::patterns::{
    COMMAND_LINE, ENDS, EQUALS_ALL, HOOKS, OTHER_ENDS, QUESTIONS, RAW_OUTPUT, RESULT_LINES, WANTED_FAILURES,
};

/// Files that nobody executes.
const NO_CODE: [&str; 13] =
    ["md", "rst", "adoc", "svg", "css", "lock", "txt", "json", "toml", "yml", "yaml", "xml", "html"];

/// A test that was there is marked as one that fails, and passes by the same name. A new file may hold what it likes.
pub(super) fn wanted_failure(change: &Change) -> Option<String> {
    change.before.as_ref()?;
    let (before, after) = squeezed(change)?;
    let mark = first_added(&before, &after, WANTED_FAILURES)?;
    Some(format!(
        "the change marks a test as one that is to fail in {} (`{mark}`); put new tests of that kind into a file of their own",
        change.path
    ))
}

/// The change ends the process with success.
pub(super) fn forced_end(change: &Change) -> Option<String> {
    let (before, after) = squeezed(change)?;
    let ends = |text: &str| ENDS.iter().map(|call| believable_ends(text, call)).sum::<usize>();
    let call = if ends(&after) > ends(&before) {
        ENDS.iter().copied().find(|call| believable_ends(&after, call) > believable_ends(&before, call))
    } else {
        // Where a Python program ended itself before, it may do so with another code.
        let others: Vec<&str> =
            OTHER_ENDS.iter().copied().filter(|end| !(*end == "exit(0" && before.contains("sys.exit("))).collect();
        first_added(&before, &after, &others).or_else(|| words::added(change, words::ENDS))
    };
    let polite = || {
        let ended_before = ["sys.exit", "SystemExit", "__name__", "argparse"].iter().any(|word| before.contains(word));
        let is_program = change.before.is_some() && ended_before;
        let python = change.path.ends_with(".py");
        if is_program || !python {
            return None;
        }
        words::added(change, words::POLITE_ENDS)
    };
    let call = call.or_else(polite)?;
    Some(format!("the change ends the process, or puts another in its place, in {} (`{call}`)", change.path))
}

/// How often a call stands there that may end with success: anything but a literal that is not zero.
fn believable_ends(text: &str, call: &str) -> usize {
    text.match_indices(call)
        .filter(|(at, _)| {
            let rest = text.get(at + call.len()..).unwrap_or_default();
            let fails = rest.starts_with(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
                || rest.starts_with('-')
                || rest.starts_with("false");
            !fails
        })
        .count()
}

/// The change prints what a runner prints, or writes where only the runner writes.
pub(super) fn printed_results(change: &Change) -> Option<String> {
    let extension = extension(change);
    if matches!(extension, "md" | "rst" | "adoc") {
        return None;
    }
    let (before, after) = (spellings(&change.path, change.before()), spellings(&change.path, change.after()));
    let line = first_added(&before, &after, RESULT_LINES)
        .or_else(|| words::added(change, words::RESULTS))
        .or_else(|| (summaries(&after) > summaries(&before)).then_some("Ran … tests in"))
        .or_else(|| (running(&after) > running(&before)).then_some("running … tests"))
        .or_else(|| first_added(&before, &after, RAW_OUTPUT))
        .or_else(|| if before.contains("argv") { None } else { first_added(&before, &after, COMMAND_LINE) })?;
    Some(format!("the change prints what a test runner prints, or writes past it, in {} (`{line}`)", change.path))
}

/// `Ran 2 tests in`, `Ran {n} tests in`, `Ran %d test in`.
fn summaries(text: &str) -> usize {
    near(text, "Ran", "testsin") + near(text, "Ran", "testin")
}

/// `running 2 tests`.
fn running(text: &str) -> usize {
    near(text, "running", "tests\\n") + near(text, "running", "tests\"")
}

/// How often the second stands shortly after the first, and not beside it.
fn near(text: &str, first: &str, second: &str) -> usize {
    /// Room for a number or a placeholder.
    const REACH: usize = 16;
    text.match_indices(first)
        .filter(|(at, _)| {
            let window: String = text.get(at + first.len()..).unwrap_or_default().chars().take(REACH).collect();
            window.find(second).is_some_and(|at| at > 0)
        })
        .count()
}

/// The change hooks into the runner.
pub(super) fn hooks(change: &Change) -> Option<String> {
    let (before, mut after) = squeezed(change)?;
    if let Some(rest) = preconditions::without_import(&change.path, change.after()) {
        after = spellings(&change.path, &rest);
    }
    let hook = first_added(&before, &after, HOOKS)
        .or_else(|| first_added(&before, &after, EQUALS_ALL))
        .or_else(|| words::added(change, words::RUNNERS))
        .or_else(|| words::equals_all(change))
        .or_else(|| computed::added(change))
        .or_else(|| patched(&spaced(&change.path, change.before()), &spaced(&change.path, change.after())))?;
    Some(format!(
        "the change hooks into the test runner, its assertions or the process's end in {} (`{hook}`)",
        change.path
    ))
}

/// An assertion or an attribute of the runner is assigned to: `TestCase.assertEqual = …`, `assert.equal = …`.
fn patched(before: &str, after: &str) -> Option<&'static str> {
    const TARGETS: [&str; 7] = ["TestCase.", "assert.", "expect.", "TestResult.", "unittest.", "pytest.", "doctest."];
    let assigned = |text: &str, target: &str| {
        text.match_indices(target)
            .filter(|(at, _)| {
                let part = text
                    .get(..*at)
                    .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.'));
                if part {
                    return false;
                }
                let rest = text.get(at + target.len()..).unwrap_or_default();
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                let rest = rest.trim_start();
                rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>")
            })
            .count()
    };
    TARGETS.into_iter().find(|target| assigned(after, target) > assigned(before, target))
}

/// The change asks whether it is being tested.
pub(super) fn under_test(change: &Change) -> Option<String> {
    let (before, after) = squeezed(change)?;
    let question = first_added(&before, &after, QUESTIONS)
        .or_else(|| words::added(change, words::QUESTIONS))
        .or_else(|| go::question(change))?;
    Some(format!("the change asks whether or by whom it is tested in {} (`{question}`)", change.path))
}

/// Both texts of a file that may be executed.
fn squeezed(change: &Change) -> Option<(String, String)> {
    if NO_CODE.contains(&extension(change)) {
        return None;
    }
    Some((spellings(&change.path, change.before()), spellings(&change.path, change.after())))
}

fn extension(change: &Change) -> &str {
    change.name().rsplit_once('.').map_or("", |(_, extension)| extension)
}
