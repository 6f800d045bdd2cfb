//! Chooses what a model is shown of a test run: the failures that matter, each cause once, in few characters.
//!
//! Every iteration pays for this text. The order is: first the problems that kept tests from running, then one part per cause with the
//! tests it hits, the error, and the source around the frame in the repository, then the names that found no room.
//!
//! Invariant: reads only regular files inside `root`, never through a link that leads out of it.

mod essence;
mod same;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use self::essence::Essence;
use self::same::Group;
use super::command::TestRun;
use crate::domain::test_report::{Problem, RunKind, RunStatus, TestCase, TestReport};

/// The least that one cause is given, so that its error and its place fit.
const LEAST_PART: usize = 320;
/// The most that one cause is given: what is longer is a dump, not a message.
const MOST_PART: usize = 2_400;
/// The share of the budget, in percent, that names alone may take.
const NAMES_PERCENT: usize = 30;
/// How much of the output's end is shown when nothing else says what happened.
const LAST_OUTPUT: usize = 1_500;
/// More causes than this are only named: the first ones are worked on first.
const MOST_CAUSES: usize = 40;

/// See [`super::describe`].
pub(super) fn describe(run: &TestRun, root: &Path, budget: usize) -> String {
    let report = &run.report;
    let mut text = Text { text: String::new(), budget };
    text.push(&headline(run));
    let failing: Vec<&TestCase> = report.failing().collect();
    let mut problems: Vec<&Problem> = report.problems.iter().filter(|problem| is_news(problem, &failing)).collect();
    if problems.len() > 1 {
        // Cargo's last word adds nothing to the errors above it.
        problems.retain(|problem| !problem.message.starts_with("error: could not compile `"));
    }
    let problems = same::grouped(&problems);
    let causes = causes_of(&failing);
    // Each part gets the same room, so that one long message does not push out the others.
    let parts = problems.len().min(MOST_CAUSES) + causes.len().min(MOST_CAUSES);
    let names_budget = budget * NAMES_PERCENT / 100;
    // No more is kept back for names than there are.
    let for_parts = budget.saturating_sub(text.len() + names_budget.min(names_length(&failing)));
    let share = (for_parts / parts.max(1)).clamp(LEAST_PART, MOST_PART);
    let mut shown_problems = 0;
    for problem in problems.iter().take(MOST_CAUSES) {
        if !text.push_part(&problem_part(problem, root, share), names_budget) {
            break;
        }
        shown_problems += 1;
    }
    if shown_problems < problems.len() {
        let left: usize = problems.iter().skip(shown_problems).map(Group::len).sum();
        text.push(&format!("\n(and {left} more problems)\n"));
    }
    let mut named = 0;
    let mut unnamed: Vec<&str> = Vec::new();
    for (at, cause) in causes.iter().enumerate() {
        let fits = at < MOST_CAUSES && text.push_part(&cause_part(cause, root, share, names_budget), names_budget);
        if fits {
            named += cause.tests.len();
        } else {
            unnamed.extend(cause.tests.iter().map(|test| test.name.as_str()));
        }
    }
    if !unnamed.is_empty() {
        let title = if named == 0 { "failing tests" } else { "other failing tests" };
        let room = text.room();
        text.push(&format!("\n{} {title}:\n{}", unnamed.len(), name_list(&unnamed, room.saturating_sub(60))));
    }
    // Without either, the end of the output is all that anybody knows.
    if failing.is_empty() && problems.is_empty() && report.status != RunStatus::Passed {
        text.push(&last_output(&run.output, LAST_OUTPUT.min(text.room())));
    }
    text.finish()
}

/// Whether a problem says what no failing test says itself: not the words of a wrapper, not a message told twice.
fn is_news(problem: &Problem, failing: &[&TestCase]) -> bool {
    if problem.kind != RunKind::Tests {
        return true;
    }
    let wrapper = problem.message.starts_with("npm error") || problem.message.starts_with("npm ERR!");
    let first = problem.message.lines().next().unwrap_or_default();
    !wrapper && !failing.iter().any(|test| test.name == first || test.message.contains(first))
}

/// A text that stays within its budget of characters.
struct Text {
    text: String,
    budget: usize,
}

impl Text {
    fn len(&self) -> usize {
        self.text.chars().count()
    }

    fn room(&self) -> usize {
        self.budget.saturating_sub(self.len())
    }

    fn push(&mut self, part: &str) {
        let room = self.room();
        self.text.extend(part.chars().take(room));
    }

    /// Adds a part whole or, when it does not leave `reserve`, not at all.
    fn push_part(&mut self, part: &str, reserve: usize) -> bool {
        // The first part comes in any case, and is cut if need be: a text without any would be worth nothing.
        let first = self.text.lines().count() <= 2;
        let fits = part.chars().count() + reserve <= self.room();
        if fits || first {
            // Whole or not at all: half an error is misread.
            self.push(part);
        }
        fits || first
    }

    fn finish(self) -> String {
        let mut text = self.text;
        while text.ends_with('\n') {
            text.pop();
        }
        text.push('\n');
        text.chars().take(self.budget).collect()
    }
}

/// One line: what ran and how it ended.
fn headline(run: &TestRun) -> String {
    let report = &run.report;
    let exit = run.exit;
    let what = match (report.status, report.kind) {
        (RunStatus::Passed, RunKind::NoTests) => "no test ran".to_owned(),
        (RunStatus::Passed, _) => "all tests passed".to_owned(),
        (RunStatus::Failed, _) => failed_count(report),
        (RunStatus::Error, kind) => why_error(kind).to_owned(),
    };
    let counts = counts(report);
    let framework = if report.framework == "generic" { String::new() } else { format!("{}: ", report.framework) };
    format!("{framework}{what}{counts} ({exit})\n")
}

fn failed_count(report: &TestReport) -> String {
    let failing = report.failing().count();
    match failing {
        0 => "tests failed, the output does not name them".to_owned(),
        1 => "1 test fails".to_owned(),
        many => format!("{many} tests fail"),
    }
}

const fn why_error(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Tests => "tests passed, yet the command failed",
        RunKind::CompileError => "does not compile, so no test ran",
        RunKind::CollectionError => "tests could not be collected",
        RunKind::ImportError => "a module could not be imported",
        RunKind::Crash => "the test process crashed or was killed before its end",
        RunKind::Timeout => "time ran out",
        RunKind::OutOfMemory => "the memory limit was reached",
        RunKind::MissingTool => "a program is missing",
        RunKind::BadCommand => "the test command or its configuration is wrong",
        RunKind::NoTests => "no test was found",
        RunKind::Infrastructure => "network, disk or a service failed",
        RunKind::Unreadable => "the run failed and its output names no test",
    }
}

fn counts(report: &TestReport) -> String {
    let known = [("passed", report.passed), ("skipped", report.skipped), ("in all", report.total)];
    let words: Vec<String> = known
        .iter()
        .filter_map(|(word, count)| count.filter(|count| *count > 0).map(|count| format!("{count} {word}")))
        .collect();
    if words.is_empty() { String::new() } else { format!(", {}", words.join(", ")) }
}

/// Tests that fail for one reason.
struct Cause<'a> {
    tests: Vec<&'a TestCase>,
    essence: Essence<'a>,
}

/// Groups failing tests: the same error text, or the same error but for its values at the same place.
fn causes_of<'a>(failing: &[&'a TestCase]) -> Vec<Cause<'a>> {
    let mut causes: Vec<Cause<'a>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for test in failing {
        let essence = Essence::of(test);
        let keys = essence.keys();
        // One key in common is enough, so that a cause grows by whatever is found of it.
        let at = keys.iter().find_map(|key| known.get(key).copied());
        let at = at.unwrap_or_else(|| {
            causes.push(Cause { tests: Vec::new(), essence });
            causes.len() - 1
        });
        if let Some(cause) = causes.get_mut(at) {
            cause.tests.push(test);
        }
        for key in keys {
            // All its keys lead to the same cause from now on.
            known.entry(key).or_insert(at);
        }
    }
    // A cause that hits many tests is worth more than one that hits one.
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.tests.len()));
    causes
}

fn cause_part(cause: &Cause<'_>, root: &Path, share: usize, names_budget: usize) -> String {
    let names: Vec<&str> = cause.tests.iter().map(|test| test.name.as_str()).collect();
    let title = match names.as_slice() {
        [only] => format!("\nFAIL {only}\n"),
        _ => format!("\nFAIL {} tests, one cause:\n{}", names.len(), name_list(&names, names_budget)),
    };
    let body = cause.essence.text(share);
    let places = cause.essence.places();
    let around = source::around(root, &places, &body, share / 3);
    format!("{title}{body}{around}")
}

fn problem_part(problem: &Group<'_>, root: &Path, share: usize) -> String {
    let essence = Essence::of_problem(problem.first);
    let body = essence.text(share);
    let around = source::around(root, &essence.places(), &body, share / 3);
    format!("\n{body}{around}{}", problem.elsewhere())
}

fn names_length(failing: &[&TestCase]) -> usize {
    failing.iter().map(|test| test.name.chars().count() + 3).sum()
}

/// One name per line, as many as fit into `room` characters, and how many did not.
fn name_list(names: &[&str], room: usize) -> String {
    const LONGEST: usize = 300;
    let mut text = String::new();
    let mut length = 0;
    for (at, name) in names.iter().enumerate() {
        let short: String = name.chars().take(LONGEST).map(|one| if one == '\n' { ' ' } else { one }).collect();
        length += short.chars().count() + 3;
        // One name in any case, or the line before would end in a colon and nothing.
        if length > room && at > 0 {
            text.push_str(&format!("  (and {} more)\n", names.len() - at));
            break;
        }
        text.push_str("  ");
        text.push_str(&short);
        text.push('\n');
    }
    text
}

fn last_output(output: &str, room: usize) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 40;
    // From the end, where a failed program says why.
    for line in lines.iter().rev() {
        length += line.chars().count() + 1;
        if length > room {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    if kept.is_empty() {
        "\n(it printed nothing)\n".to_owned()
    } else {
        format!("\nThe end of its output:\n{}\n", kept.join("\n"))
    }
}
