//! Sentences about what left the machine and what came of it.

use super::{Sentence, count};
use crate::domain::blocker;
use crate::domain::delivery::Awaited;
use crate::domain::units::{CommitSha, human_duration};
use crate::report::view::{CommandView, RunView, WaitView};

/// Everything that left the machine, one sentence each: pushes with CI's answer to them, the pull request with its fate.
#[must_use]
pub fn delivery(view: &RunView) -> Vec<Sentence> {
    let delivery = &view.delivery;
    let wait = |awaited: Awaited, commit: &CommitSha| {
        delivery.waits.iter().find(|wait| wait.awaited == awaited && wait.commit == *commit)
    };
    let mut sentences: Vec<Sentence> = delivery
        .pushes
        .iter()
        .map(|push| {
            let start = Sentence::plain(format!("pushed {} to ", push.commit.short())).name(&push.branch);
            let start = start.ours(format!(" ({})", count(u64::from(push.files), "file")));
            match wait(Awaited::Ci, &push.commit) {
                Some(wait) => came_of(start.ours(", CI: "), wait),
                None => start,
            }
        })
        .collect();
    let last = delivery.pushes.last();
    if let Some(pull) = &delivery.pull_request {
        let start = Sentence::plain(format!("pull request #{}", pull.number));
        sentences.push(match last.and_then(|push| wait(Awaited::Merge, &push.commit)) {
            Some(wait) => came_of(start.ours(": "), wait),
            None => start.ours(" proposes it"),
        });
    } else if let Some(wait) = last.and_then(|push| wait(Awaited::Merge, &push.commit)) {
        sentences.push(came_of(Sentence::plain("the pull request: "), wait));
    }
    // Apart from the pushes: a run may be blocked before it has any.
    let blocked = delivery.waits.iter().filter(|wait| wait.awaited == Awaited::Blockers);
    sentences.extend(
        blocked.map(|wait| came_of(Sentence::plain("blocked on ").speech(&blocker::list(&wait.on)).ours(": "), wait)),
    );
    sentences
}

/// Commands that people gave by comments and the answers to them, one sentence each.
#[must_use]
pub fn commands(view: &RunView) -> Vec<Sentence> {
    let sentence = |given: &CommandView| {
        let start = Sentence::default().name(&given.by).ours(": ");
        let start = match given.command {
            Some(command) => start.code(command.to_string()),
            None => start.ours("a comment"),
        };
        start.ours(format!(" — {}", given.said))
    };
    view.commands.iter().map(sentence).collect()
}

/// The event that is waited for, in a sentence.
#[must_use]
pub const fn awaited(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Ci => "CI",
        Awaited::Merge => "the merge",
        Awaited::Blockers => "what is in the way",
    }
}

/// The most jobs that are named. More are counted.
const NAMED_JOBS: usize = 3;

/// Jobs by name. `None` where there are none.
#[must_use]
pub(super) fn jobs(names: &[String]) -> Option<String> {
    let named = names.iter().take(NAMED_JOBS).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_JOBS) {
        _ if names.is_empty() => None,
        0 => Some(named),
        more => Some(format!("{named} and {more} more")),
    }
}

fn came_of(start: Sentence, wait: &WaitView) -> Sentence {
    let Some(answer) = wait.answer else { return start.ours("waiting") };
    let sentence = start.ours(format!("{} in {}", answer.words(), human_duration(wait.waited_ms)));
    if wait.detail.trim().is_empty() { sentence } else { sentence.ours(" — ").speech(&wait.detail) }
}
