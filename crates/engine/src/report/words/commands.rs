//! Commands that a reader may copy: quoted for a shell, with paths that exist where the reader is.

use super::sentence::Sentence;
use crate::domain::shell::quote_path;
use crate::report::view::RunView;
use crate::report::whereabouts::Whereabouts;
use crate::report::words::count;

/// The place where commands look for the audit log when nothing names it (DESIGN §2.4). It need not be named in advice.
const DEFAULT_AUDIT_DB: &str = ".upshift/audit.db";

/// The shell command that shows a run's whole history. `None` when the audit log is off or holds no row of an iteration. The id is the full one
/// (contradiction 25).
#[must_use]
pub fn history_command(view: &RunView) -> Option<String> {
    let has_rows = view.tiers.iter().any(|tier| !tier.attempts.is_empty());
    // A process that died in its first iteration left none.
    let run = view.run.as_ref().filter(|_| has_rows || view.outcome().is_some() && view.spent.iterations > 0)?;
    let db = reachable(view, run.audit_db.as_deref()?)?;
    // It stands inside of SQL inside of a shell's quotes, neither of which it may end.
    let id = plain_id(&run.run_id.0);
    Some(format!("sqlite3 {db} \"SELECT * FROM tier_attempts WHERE run_id='{id}' ORDER BY tier_index, iteration;\""))
}

/// The commands that fetch the log, print the report again, check the log, and show its rows. Empty where it cannot be reached.
#[must_use]
pub fn log_commands(view: &RunView) -> Vec<String> {
    let Some(run) = &view.run else { return Vec::new() };
    let Some(db) = run.audit_db.as_deref().and_then(|db| reachable(view, db)) else { return Vec::new() };
    let again = format!("upshift report {} --audit-db {db}", plain_id(run.run_id.short()));
    let mut commands: Vec<String> = download(view).into_iter().collect();
    commands.extend([again.clone(), format!("{again} --verify")]);
    commands.extend(history_command(view));
    commands
}

/// The part of a run that its log holds, as the subject of a sentence.
#[must_use]
pub fn log_holds(view: &RunView) -> String {
    match view.log_lacks {
        0 => "Every attempt and every model call".to_owned(),
        lacks => format!("What could be written (no disk could store {})", count(lacks, "record")),
    }
}

/// The command that puts a kept patch into the files, and the one before it that fetches it. `None` where it cannot be reached.
pub(super) fn apply(view: &RunView, patch: &str) -> Option<String> {
    if let (true, Some(run)) = (view.patch_in_log, &view.run) {
        let db = reachable(view, run.audit_db.as_deref()?)?;
        // The file of the patch is gone or elsewhere, but the log holds its text.
        return Some(format!("upshift show {} --last-patch --audit-db {db} | git apply", plain_id(run.run_id.short())));
    }
    let apply = format!("git apply {}", reachable(view, patch)?);
    Some(download(view).map(|download| format!("{download} && {apply}")).unwrap_or(apply))
}

/// A run that goes on: by itself where the log is, by a comment where it is not.
pub(super) fn resume(view: &RunView, rest: &str) -> Sentence {
    let Some((run, db)) = view.run.as_ref().and_then(|run| Some((run, run.audit_db.as_deref()?))) else {
        return Sentence::plain("Run upshift again: the audit log was off, and a run without one cannot be resumed.");
    };
    // A runner is gone with its files, so that nothing could be continued there.
    if view.kept_in != Whereabouts::Here {
        return Sentence::plain("Run the job again (on a pull request, comment ")
            .code("/upshift retry")
            .ours("): a new run starts from the branch as it is then.");
    }
    let mut command = format!("upshift resume {}", plain_id(run.run_id.short()));
    // Commands look there unasked, and a short command is easier to copy.
    if db != DEFAULT_AUDIT_DB {
        command.push_str(&format!(" --audit-db {}", quote_path(db)));
    }
    Sentence::plain("Run ").code(command).ours(format!(" {rest}"))
}

fn download(view: &RunView) -> Option<String> {
    match (&view.kept_in, &view.run) {
        (Whereabouts::Artifact(artifact), Some(run)) => Some(artifact.download(&run.run_id)),
        (Whereabouts::Artifact(_) | Whereabouts::Here | Whereabouts::Runner, _) => None,
    }
}

/// A file of the run as the reader may name it in a shell.
fn reachable(view: &RunView, path: &str) -> Option<String> {
    match (&view.kept_in, &view.run) {
        (Whereabouts::Here, _) => Some(quote_path(path)),
        // The log is kept in a folder of its own, unlike the other files.
        (Whereabouts::Artifact(artifact), Some(run)) if run.audit_db.as_deref() == Some(path) => {
            artifact.fetched_log(&run.run_id, path)
        }
        (Whereabouts::Artifact(artifact), Some(run)) => artifact.fetched(&run.run_id, path),
        // Better no command than one that names a file which the reader does not have.
        (Whereabouts::Artifact(_), None) | (Whereabouts::Runner, _) => None,
    }
}

/// A run id as it may stand in a command: a log that was tampered with must not make one of its own.
pub(in crate::report) fn plain_id(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// A setting as the reader gives it: an input of the Action has the name of the flag.
pub(super) fn setting(view: &RunView, name: &str) -> String {
    match view.kept_in {
        Whereabouts::Here => format!("--{name}"),
        Whereabouts::Artifact(_) | Whereabouts::Runner => name.to_owned(),
    }
}
