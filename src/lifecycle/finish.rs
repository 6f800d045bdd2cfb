//! The ending: the tree put in order, the best patch kept, the last event.

use super::engine::{Engine, LifecycleError, paths};
use super::kept::{KEPT_AT_THE_END, keep_patch as keep_in_log};
use super::leftovers;
use super::state::Phase;
use crate::domain::attempt::AttemptStatus;
use crate::domain::event::{DiffStat, Event, KeptChange, RunFinished};
use crate::domain::outcome::Outcome;
use crate::domain::units::TreeId;
use crate::workspace::Diff;

/// upshift's folder in a checkout.
const OWN_FOLDER: &str = ".upshift";
/// How many errors the report repeats.
const RECENT_ERRORS: usize = 5;
/// How many lines from the end of an error it repeats.
const GIST_LINES: usize = 3;
/// How many lines from the beginning of a compiler's error it repeats.
const COMPILER_LINES: usize = 2;

/// Leaves a fixed tree as it is; restores the start of any other and keeps its best patch beside the audit log.
pub(super) async fn run(engine: &mut Engine<'_>, outcome: Outcome, stop_reason: String) -> Result<(), LifecycleError> {
    let fixed = is_green(engine, &outcome);
    let green = passes_with_change(engine, &outcome);
    let diff = best_diff(engine, green && outcome != Outcome::Objected).await?;
    let tree = if fixed {
        engine.state.current.as_ref().map(|current| current.tree.clone())
    } else {
        engine.state.start.clone()
    };
    // The tree first: whatever else fails, the user's files are in order.
    put(engine, tree).await?;
    if !fixed {
        put_back_rewritten(engine).await?;
    }
    leftovers::sweep(engine);
    let kept = (!fixed && !diff.stat.files.is_empty()).then(|| Box::new(KeptChange { stat: diff.stat.clone(), green }));
    let best_patch = if fixed || diff.text.is_empty() { None } else { keep_patch(engine, &diff.text) };
    keep_in_log(engine, KEPT_AT_THE_END, &diff.text);
    let still_failing = if fixed { Some(Vec::new()) } else { still_failing(engine) };
    let finished = RunFinished {
        outcome: outcome.clone(),
        stop_reason,
        recent_errors: if fixed || green && outcome != Outcome::Objected { Vec::new() } else { recent_errors(engine) },
        still_failing,
        diff_stat: if fixed { diff.stat } else { DiffStat::default() },
        kept,
        best_patch,
        limited: engine.state.limited.clone().filter(|_| outcome == Outcome::Parked).map(Box::new),
        active_ms: engine.active_ms(),
        finished_at: engine.world.clock.timestamp(),
    };
    engine.state.phase = Phase::Ended { outcome };
    engine.record(&[Event::RunFinished(finished)]);
    leftovers::forget(engine);
    engine.world.workspace.forget_writes();
    Ok(())
}

/// Whether the run's tree is green here. One that is parked at a breakpoint waits with it; one that is parked at a rate limit was
/// in the middle of its work.
fn is_green(engine: &Engine<'_>, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Fixed { .. } => true,
        Outcome::Parked => engine.state.limited.is_none(),
        Outcome::AlreadyGreen
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Blocked { .. }
        | Outcome::Objected
        | Outcome::Budget
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Interrupted { .. } => false,
    }
}

/// Whether the tests were judged green with the run's last change, be it left in the files or not.
fn passes_with_change(engine: &Engine<'_>, outcome: &Outcome) -> bool {
    let rows = engine.state.prior.iter().flat_map(|tier| &tier.attempts).chain(&engine.state.attempts);
    is_green(engine, outcome)
        || *outcome == Outcome::Objected
        || rows.last().is_some_and(|row| row.test_status == AttemptStatus::Passed)
}

async fn put(engine: &Engine<'_>, tree: Option<TreeId>) -> Result<(), LifecycleError> {
    if let (Some(tree), false) = (tree, engine.state.touched.is_empty()) {
        engine.world.workspace.restore_paths(&tree, &paths(&engine.state.touched)).await?;
    }
    Ok(())
}

/// The change of the best tree; of the last one where that is wanted, or when none was better than the start.
async fn best_diff(engine: &Engine<'_>, last: bool) -> Result<Diff, LifecycleError> {
    let (Some(start), Some(best), Some(current)) = (&engine.state.start, &engine.state.best, &engine.state.current)
    else {
        return Ok(Diff::default());
    };
    let tree = if last || best.tree == *start { &current.tree } else { &best.tree };
    if tree == start {
        return Ok(Diff::default());
    }
    Ok(engine.world.workspace.diff(start, tree).await?)
}

/// Puts back files of the start that code under test rewrote by itself, and says which.
async fn put_back_rewritten(engine: &mut Engine<'_>) -> Result<(), LifecycleError> {
    let Some(start) = engine.state.start.clone() else { return Ok(()) };
    let changed = engine.world.workspace.changed_since(&start).await?;
    let rewritten: Vec<String> = changed.into_iter().filter(|path| !engine.state.by_products.contains(path)).collect();
    if !rewritten.is_empty() {
        engine.world.workspace.restore_paths(&start, &paths(&rewritten.iter().cloned().collect())).await?;
        let names = rewritten.join(", ");
        engine.journal.emit(&Event::Warning { message: format!("changed while the tests ran, put back: {names}") });
    }
    Ok(())
}

/// Writes `best.patch` into the run's folder; redacted, because a person may share it.
fn keep_patch(engine: &mut Engine<'_>, text: &str) -> Option<String> {
    let redacted = engine.world.redactor.redact_diff(text).into_owned();
    keep(engine, "best.patch", &redacted)
}

/// Writes a redacted patch into the run's folder; returns its path. A run does not fail for it.
pub(super) fn keep(engine: &mut Engine<'_>, name: &str, redacted: &str) -> Option<String> {
    let folder = engine.world.keep.join(engine.state.run_id.short());
    let path = folder.join(name);
    let ignore = engine.world.keep.join(".gitignore");
    let write = || {
        std::fs::create_dir_all(&folder)?;
        // Our own folder in a checkout must not be committed by accident.
        if engine.world.keep.ends_with(OWN_FOLDER) && !ignore.exists() {
            std::fs::write(&ignore, "*\n")?;
        }
        std::fs::write(&path, redacted.as_bytes())
    };
    let written: std::io::Result<()> = write();
    let path = path.display().to_string();
    match written {
        Ok(()) => Some(path),
        Err(error) => {
            let message = format!("{name} could not be kept at {path}: {error}");
            engine.journal.emit(&Event::Warning { message });
            None
        }
    }
}

/// The errors of the last iterations, the latest first, each once.
fn recent_errors(engine: &Engine<'_>) -> Vec<String> {
    let rows = engine.state.prior.iter().flat_map(|tier| &tier.attempts).chain(&engine.state.attempts);
    let mut errors: Vec<String> = Vec::new();
    let messages = rows.rev().flat_map(|row| &row.error_messages).filter(|message| !is_closing_line(message));
    for message in messages.map(|message| gist(message)) {
        if !errors.contains(&message) && errors.len() < RECENT_ERRORS {
            errors.push(message);
        }
    }
    errors
}

/// How cargo ends after errors that it has told.
fn is_closing_line(message: &str) -> bool {
    message.starts_with("error: could not compile") || message.starts_with("error: aborting due to")
}

/// A long message's beginning (the test's name) and end: what an assertion says stands last, below its traceback.
pub(super) fn gist(message: &str) -> String {
    let says_something = |line: &&str| !line.is_empty() && !line.starts_with("note: run with");
    let lines: Vec<&str> = message.lines().map(str::trim).filter(says_something).collect();
    let Some((first, _)) = lines.split_first().filter(|_| lines.len() > GIST_LINES) else { return lines.join(" ") };
    // What a compiler says stands first, and the place below it.
    if first.split(|c: char| !c.is_alphanumeric()).any(|word| word == "error") {
        return lines.iter().take(COMPILER_LINES).copied().collect::<Vec<_>>().join(" ");
    }
    let name = first.split_once(": ").map_or(*first, |(name, _)| name);
    let end = lines.iter().skip(lines.len() - GIST_LINES).copied().collect::<Vec<_>>().join(" ");
    format!("{name}: {end}")
}

/// What fails in the tree that is left behind: the start's failures, if they were ever known.
fn still_failing(engine: &Engine<'_>) -> Option<Vec<String>> {
    engine.state.baseline.as_ref().map(|baseline| baseline.failing.clone())
}

#[cfg(test)]
mod tests {
    use super::gist;

    #[test]
    fn the_gist_of_a_traceback_is_its_assertion() {
        let python = "test_total (t.T): Traceback (most recent call last):\n  File \"t.py\", line 3\n    self.assertEqual(5, 6)\n\
                      AssertionError: 5 != 6\n";
        assert_eq!(
            gist(python),
            "test_total (t.T): File \"t.py\", line 3 self.assertEqual(5, 6) AssertionError: 5 != 6"
        );
        let rust = "adds: thread 'adds' panicked at a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
                    note: run with `RUST_BACKTRACE=1`";
        assert_eq!(gist(rust), "adds: assertion `left == right` failed left: 1 right: 2");
        let rustc = "error[E0425]: cannot find value `d` in this scope\n --> src/lib.rs:2:9\n  |\n2 |     a - d\n  |         ^\n";
        assert_eq!(gist(rustc), "error[E0425]: cannot find value `d` in this scope --> src/lib.rs:2:9");
        assert_eq!(gist("no model could be used"), "no model could be used");
    }
}
