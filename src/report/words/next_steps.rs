//! What a person may do next, and the commands for it: words of ours, quoted for a shell.

use super::sentence::Sentence;
use crate::domain::outcome::Outcome;
use crate::report::view::{Ending, RunView};

/// Where commands look for the audit log when nothing names it (DESIGN §2.4); it need not be named in advice.
const DEFAULT_AUDIT_DB: &str = ".upshift/audit.db";

/// What a person may do next (S0-32).
#[must_use]
pub fn next_steps(view: &RunView) -> Vec<Sentence> {
    let one = |sentence: Sentence| vec![sentence];
    let mut steps = match &view.ending {
        Ending::Running => return Vec::new(),
        Ending::Died => {
            one(resume(view, "to go on after the last finished iteration; what is finished is not paid for again."))
        }
        Ending::Finished(finished) => match &finished.outcome {
            Outcome::Fixed { .. } => one(Sentence::plain(
                "Review the change before you merge it: that the tests pass is all that upshift vouches for.",
            )),
            Outcome::AlreadyGreen => one(Sentence::plain(
                "Nothing to do. If you expected red tests, check that this is the command that fails for you: ",
            )
            .code(test_command(view))),
            Outcome::Exhausted => one(Sentence::plain(
                "Read the most recent errors, then add a stronger tier, raise a tier's maxIterations, or name the goal \
                 with --objective.",
            )),
            Outcome::Stalled => one(Sentence::plain(
                "Read the error that keeps coming back: if the code is not its cause (environment, the test itself), no \
                 model will fix it. Else add a stronger tier.",
            )),
            Outcome::Blocked { .. } => one(Sentence::plain("Settle what the model asks for, then run upshift again.")),
            Outcome::Objected => one(Sentence::plain(
                "Read the critic's objections in the audit log and decide: take the change as it is, or reject it.",
            )),
            Outcome::Budget => one(Sentence::plain(
                "Raise the cap that was hit (--max-cost-usd, --max-iterations, --max-duration-minutes) or put a cheaper \
                 tier first, then run upshift again.",
            )),
            Outcome::NoModel => {
                one(Sentence::plain("Have every vendor asked for key, model and endpoint, which costs nothing: ")
                    .code("upshift doctor --online"))
            }
            Outcome::Refused { .. } => {
                one(Sentence::plain("Nothing was run and nothing was spent. See what the gate requires: ")
                    .code("upshift check"))
            }
            Outcome::Broken { .. } => vec![
                Sentence::plain("Run the command yourself until it runs the tests: ").code(test_command(view)),
                Sentence::plain(
                    "If it is the wrong one, set --test-command; what it needs beforehand goes into test.setupCommand.",
                ),
            ],
            Outcome::Interrupted { .. } => {
                one(resume(view, "to go on where it stopped; what is finished is not paid for again."))
            }
            Outcome::Parked if view.limited().is_some() => limited(view),
            Outcome::Parked => vec![
                Sentence::plain(
                    "Look at the checks of the pushed commit: the tests pass here, and those may be over by now.",
                ),
                resume(view, "on the same machine to go on waiting, or allow more time with ci-timeout-minutes."),
            ],
        },
    };
    steps.extend(super::corrections(view).filter_map(super::take_correction));
    if let Some(patch) = view.best_patch() {
        let path = shell_quote(patch);
        steps.push(Sentence::plain("The best attempt was kept: ").code(format!("git apply {path}")));
    }
    steps
}

/// What a person may do about a rate limit.
fn limited(view: &RunView) -> Vec<Sentence> {
    let when = view.limited().and_then(|limited| limited.until.as_ref());
    let when = when.map_or_else(|| "later".to_owned(), |until| format!("after {}", until.for_people()));
    vec![
        resume(view, &format!("{when}, on the same machine: what is finished is not paid for again.")),
        Sentence::plain("On a pull request, comment ").code("/upshift retry").ours(format!(" {when}.")),
        Sentence::plain("Not to wait: name a model of another provider as a second target or as a next tier."),
    ]
}

fn resume(view: &RunView, rest: &str) -> Sentence {
    let Some((run, db)) = view.run.as_ref().and_then(|run| Some((run, run.audit_db.as_deref()?))) else {
        return Sentence::plain("Run upshift again: the audit log was off, and a run without one cannot be resumed.");
    };
    let mut command = format!("upshift resume {}", plain_id(run.run_id.short()));
    if db != DEFAULT_AUDIT_DB {
        command.push_str(&format!(" --audit-db {}", shell_quote(db)));
    }
    Sentence::plain("Run ").code(command).ours(format!(" {rest}"))
}

fn test_command(view: &RunView) -> String {
    view.run.as_ref().map(|run| run.test_command.clone()).unwrap_or_default()
}

/// Quotes a word for a POSIX shell; a word that could be taken for an option gets `./` in front.
#[must_use]
pub fn shell_quote(word: &str) -> String {
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | '@' | '%' | ',');
    if !word.is_empty() && word.chars().all(safe) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The shell command that shows a run's whole history; `None` when the audit log is off or holds no
/// iteration. The id is the full one
/// (contradiction 25).
#[must_use]
pub fn history_command(view: &RunView) -> Option<String> {
    let run = view.run.as_ref().filter(|_| view.spent.iterations > 0)?;
    let db = shell_quote(run.audit_db.as_deref()?);
    let id = plain_id(&run.run_id.0);
    Some(format!("sqlite3 {db} \"SELECT * FROM tier_attempts WHERE run_id='{id}' ORDER BY tier_index, iteration;\""))
}

/// A run id as it may stand in a command: a log that was tampered with must not make one of its own.
pub(in crate::report) fn plain_id(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        for (word, quoted) in [
            (".upshift/audit.db", ".upshift/audit.db"),
            ("my audit.db", "'my audit.db'"),
            ("it's; rm -rf $HOME `x`", r"'it'\''s; rm -rf $HOME `x`'"),
            ("-init.db", "./-init.db"),
            ("", "''"),
        ] {
            assert_eq!(shell_quote(word), quoted);
        }
    }
}
