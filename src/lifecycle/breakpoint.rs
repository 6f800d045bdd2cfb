//! Breakpoints: the run has delivered, and waits for what the outside says (SPEC S4).
//!
//! Reaching one saves a snapshot and ends every session. Its answer is the end of the run, or the input of a fresh iteration. Invariant:
//! waiting has limits of its own and eats nothing of the active time, and every ending says what was seen.

pub(super) mod ci;
mod failed_check;
mod open;
mod review;
pub(super) mod seen;

use std::time::Duration;

use super::climb::Climb;
use super::commands::{self, At, Follows};
use super::context::Context;
use super::decision::{self, Decided};
use super::leaving::{conclude, interrupt, leave_tier};
use super::outside::Outside;
use super::reached::{left, reach};
use super::recorder::Recorder;
use super::snapshot::{Snapshot, Stand};
use super::stage::{Ending, Leg, Next};
use super::state::Wait;
use super::superseded;
use super::targets;
use super::yours;
use crate::config::{Push, WaitFor};
use crate::domain::attempt::TierExit;
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::outcome::{GOES_ON_BY_ITSELF, Outcome};
use crate::domain::stop::StopCause;
use crate::github::{GitHub, GithubError};
use crate::policy::candidate::Candidate;
use crate::policy::escalation;
use crate::report::words::{count, without_advice};
use crate::session::Memory;
use seen::{Seen, Work};

/// How often the outside is asked (contradiction 22). Unchanged answers cost nothing (GITHUB.md 26).
const POLL: Duration = Duration::from_secs(15);
/// How often it is asked about a merge, for which people take their time.
const POLL_MERGE: Duration = Duration::from_secs(30);
/// How long is paused for each answer that costs as much the next time: about a dozen an hour.
const BLIND_MS: u64 = 5 * MINUTE_MS;
/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;

/// Waits until the outside has an answer, and does what it says.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    memory: &Memory,
    mut climb: Climb,
    wait: Wait,
) -> Next {
    let world = &context.world;
    world.waiting.begin(world.clock.monotonic_ms());
    let since = world.clock.monotonic_ms();
    let waited = || wait.waited_ms + world.clock.monotonic_ms().saturating_sub(since);
    let limit = limit_ms(context, wait.awaited);
    let before = if wait.awaited == Awaited::Ci { climb.delivered.ci_waited_ms } else { 0 };
    let (mut is_woken, mut is_named, mut runs_again) = (is_woken(context, wait.awaited), true, false);
    // A process that takes the wait up compares with how an earlier one had left the files.
    climb.trees.left = match &wait.files {
        Some(files) => Some(files.clone()),
        None => left(context).await,
    };
    let seen = loop {
        let (mut is_settling, blind, mut open) = (false, blind(context), String::new());
        let trouble = match look(context, &climb, &wait, (waited(), runs_again)).await {
            Ok(Seen::Moving(what)) => {
                open = what;
                None
            }
            Ok(Seen::RunsAgain(told)) => {
                recorder.warn(told);
                runs_again = true;
                // Whether the end of a second attempt starts a job, nobody has told so far.
                is_woken = false;
                None
            }
            Ok(Seen::Settling) => {
                is_settling = true;
                None
            }
            // It was over well when this process began, and is not any more; there are no files here to mend.
            Ok(Seen::Work(..)) if world.only_hears.is_some() => break Ok(Seen::Later(None)),
            Ok(seen) => break Ok(seen),
            Err(GithubError::Stopped(StopCause::Signal(signal))) => break Err(signal),
            // The next look may work. Only the limit of the wait makes an end of it.
            Err(error) if error.is_passing() => Some(error.to_string()),
            Err(error) => break Ok(Seen::Answer(Answer::Unreadable, error.to_string())),
        };
        if is_woken && !is_settling {
            is_named = is_found_again(context, recorder).await;
            if is_named {
                break Ok(Seen::Later(trouble));
            }
            is_woken = false;
        }
        // The runner kills a job at its limit without a word, so the wait is handed over before.
        if context.is_job_ending() {
            break Ok(Seen::Later(trouble));
        }
        if before.saturating_add(waited()) >= limit {
            let waited = format!("waited for {}", count(limit / MINUTE_MS, "minute"));
            break Ok(match trouble {
                // Nobody knows what the outside says: neither good nor bad is claimed.
                Some(trouble) => Seen::Later(Some(format!("{waited}; {trouble}"))),
                None if open.is_empty() => Seen::Answer(Answer::TimedOut, waited),
                None => Seen::Answer(Answer::TimedOut, format!("{waited}; {open}")),
            });
        }
        if let Follows::Stop(why) = commands::read(context, recorder, memory, &mut climb, At::Waiting(&wait)).await {
            break Ok(Seen::Answer(Answer::Stopped, why));
        }
        // Answers that cost as much the next time stretch the pause, but never beyond the time that is left.
        let costly = self::blind(context).saturating_sub(blind).saturating_mul(BLIND_MS);
        let left = limit.saturating_sub(before.saturating_add(waited())).min(context.job_left_ms());
        if let Some(signal) = pause(context, wait.awaited, costly.min(left)).await {
            break Err(signal);
        }
    };
    let cancelled = match (&seen, &climb.delivered.branch) {
        (Ok(Seen::Answer(Answer::Superseded, _)), Some(branch)) => {
            superseded::cancel(context, &wait.commit, branch).await
        }
        _ => None,
    };
    world.waiting.end(world.clock.monotonic_ms());
    let waited_ms = waited();
    cancelled.into_iter().for_each(|message| recorder.warn(message));
    match seen {
        Ok(seen) => act(context, recorder, memory, climb, Answered { wait, seen, waited_ms, is_named }).await,
        Err(signal) => interrupt(climb, Leg::Wait(Wait { waited_ms, ..wait }), signal),
    }
}

/// Looks once, after so many milliseconds, and knowing whether what failed was asked to run once more already.
async fn look(context: &Context<'_>, climb: &Climb, wait: &Wait, so_far: (u64, bool)) -> Result<Seen, GithubError> {
    let Some(outside) = context.world.outside else {
        return Ok(Seen::Answer(Answer::Unreadable, "there is no access to the Git host".to_owned()));
    };
    let Some(github) = &outside.github else {
        return Ok(Seen::Answer(Answer::Unreadable, "there is no token for the API".to_owned()));
    };
    match look_with(context, (outside, github), climb, wait, so_far).await {
        // An App's installation token lives an hour. The job's own lasts as long as the job.
        Err(error) if error.is_token_refused() && outside.fallback.is_some() => {
            let own = outside.fallback.as_ref().unwrap_or(github);
            look_with(context, (outside, own), climb, wait, so_far).await
        }
        looked => looked,
    }
}

async fn look_with(
    context: &Context<'_>,
    (outside, github): (&Outside, &GitHub),
    climb: &Climb,
    wait: &Wait,
    so_far: (u64, bool),
) -> Result<Seen, GithubError> {
    match wait.awaited {
        Awaited::Ci => ci::look(context, (outside, github), climb, wait, so_far).await,
        Awaited::Merge => review::look(context, github, climb, wait).await,
        // That is waited for before there is a fix.
        Awaited::Blockers => Ok(Seen::Moving(String::new())),
    }
}

/// Whether another process goes on once there is an answer, so that this one need not wait for it.
fn is_woken(context: &Context<'_>, awaited: Awaited) -> bool {
    let github = &context.charter.plan.github;
    match (github.wait_for, awaited) {
        (WaitFor::Event, Awaited::Ci) => true,
        // Only the end of a pull request of our own starts a job: everybody's would cost everybody minutes.
        (WaitFor::Merge, _) => context.world.is_woken && github.push == Push::Pr,
        (WaitFor::None | WaitFor::Ci, _) | (WaitFor::Event, Awaited::Merge | Awaited::Blockers) => false,
    }
}

/// Whether a comment names the run, so that the job which hears of an answer finds it. Where none does, a warning says so.
async fn is_found_again(context: &Context<'_>, recorder: &mut Recorder<'_>) -> bool {
    // On somebody's own machine a person continues the run, who knows its name.
    let Some(naming) = context.world.naming.as_ref().filter(|_| context.world.is_woken) else { return true };
    let Err(why) = naming.settled().await else { return true };
    recorder.warn(format!(
        "no comment on the pull request names this run, so nothing would continue it: it waits in this job instead; {why}"
    ));
    false
}

fn limit_ms(context: &Context<'_>, awaited: Awaited) -> u64 {
    let github = &context.charter.plan.github;
    u64::from(match awaited {
        Awaited::Ci => github.ci_timeout_minutes,
        Awaited::Merge | Awaited::Blockers => github.merge_timeout_minutes,
    }) * MINUTE_MS
}

/// How many answers came so far that will cost as much the next time.
fn blind(context: &Context<'_>) -> u64 {
    let github = context.world.outside.and_then(|outside| outside.github.as_ref());
    github.map_or(0, |github| github.usage().blind)
}

/// Pauses between two looks, for at least `least_ms` milliseconds. Returns the signal that ended it, if one did.
async fn pause(context: &Context<'_>, awaited: Awaited, least_ms: u64) -> Option<i32> {
    let outside = context.world.outside?;
    let length = match awaited {
        Awaited::Ci => POLL,
        Awaited::Merge | Awaited::Blockers => POLL_MERGE,
    };
    let length = length.max(Duration::from_millis(least_ms));
    tokio::select! {
        () = context.world.clock.sleep(length) => None,
        cause = outside.signals.wait() => match cause {
            StopCause::Signal(signal) => Some(signal),
            // This stop is raised by signals alone: a delivery goes on when the active time is up.
            StopCause::TimeUp | StopCause::Asked | StopCause::OwnTime(_) => None,
        },
    }
}

/// The end of a wait.
struct Answered {
    wait: Wait,
    seen: Seen,
    waited_ms: u64,
    /// Whether the next job would find the run.
    is_named: bool,
}

/// Carries out what an answer means.
async fn act(
    context: &Context<'_>,
    recorder: &Recorder<'_>,
    memory: &Memory,
    mut climb: Climb,
    answered: Answered,
) -> Next {
    let (charter, Answered { wait, seen, waited_ms, is_named }) = (&context.charter, answered);
    let (answer, detail, work) = match seen {
        Seen::Moving(_) | Seen::RunsAgain(_) | Seen::Settling => return later(context, climb, (wait, is_named), None),
        Seen::Later(trouble) => {
            let trouble = trouble.map(|trouble| context.redact(&trouble));
            return later(context, climb, (wait, is_named), trouble);
        }
        Seen::Answer(answer, detail) => (answer, context.redact(&detail), None),
        Seen::Work(answer, work) => (answer, context.redact(&work.detail), Some(work)),
    };
    let at = context.world.clock.timestamp();
    let cleared = Event::BreakpointCleared { key: wait.key.clone(), answer, detail: detail.clone(), waited_ms, at };
    if let Some(work) = work {
        if wait.awaited == Awaited::Ci {
            // The cap of waiting holds for all of the run's breakpoints together.
            climb.delivered.ci_waited_ms = climb.delivered.ci_waited_ms.saturating_add(waited_ms);
        }
        let files = yours::changed(context, &climb).await;
        if !files.is_empty() {
            let reason = yours::in_the_way(&files, &detail);
            return Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, vec![cleared]);
        }
        return again(context, recorder, memory, climb, Found { wait, work, cleared });
    }
    match answer {
        Answer::Green if charter.plan.github.wait_for == WaitFor::Merge && climb.pull_request(charter).is_some() => {
            reach(context, climb, wait.fix, Awaited::Merge, &wait.commit, vec![cleared]).await
        }
        // CI may only be slow, and the fix is pushed: the wait is not given up with the process.
        Answer::TimedOut if wait.awaited == Awaited::Ci => {
            let (detail, _) = without_advice(&detail);
            let stop_reason =
                format!("CI of {} is not over yet: {detail}; `upshift resume` keeps waiting", wait.commit.short());
            park(climb, wait, stop_reason, vec![cleared])
        }
        Answer::Green | Answer::Merged => conclude(charter, climb, &wait.fix, vec![cleared]),
        // Red CI that no model may mend any more, because nothing more can be pushed. It is no fix, whatever passed here.
        Answer::Red => {
            let reason = format!("red in CI: {detail}");
            let mut events = vec![cleared];
            events.extend(leave_tier(charter, &mut climb, TierExit::Success, None));
            Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, events)
        }
        Answer::Absent
        | Answer::RequiredMissing
        | Answer::NeedsApproval
        | Answer::Superseded
        | Answer::Cancelled
        | Answer::Skipped
        | Answer::TimedOut
        | Answer::Unreadable
        | Answer::Closed
        | Answer::Stopped
        | Answer::Resolved
        | Answer::ChangesRequested => {
            // What CI said before a merge was waited for stands.
            let unconfirmed = match (wait.awaited, answer) {
                // A closed pull request ends the wait for CI only where that is green.
                (Awaited::Merge, _) | (Awaited::Ci, Answer::Closed) => "green here and in CI, but not merged",
                (Awaited::Ci | Awaited::Blockers, _) => "green here, but not confirmed outside",
            };
            let message = format!("{unconfirmed} ({}): {detail}", answer.words());
            conclude(charter, climb, &wait.fix, vec![cleared, Event::Warning { message }])
        }
    }
}

/// Ends the process, not the wait: another one goes on with it.
fn later(context: &Context<'_>, climb: Climb, (wait, is_named): (Wait, bool), trouble: Option<String>) -> Next {
    let about = match wait.awaited {
        Awaited::Ci => format!("CI of {}", wait.commit.short()),
        Awaited::Merge | Awaited::Blockers => format!("the merge of {}", wait.commit.short()),
    };
    let is_trouble = trouble.is_some();
    let stands = match (trouble, wait.awaited) {
        (None, Awaited::Ci) => format!("{about} is under way"),
        (None, Awaited::Merge | Awaited::Blockers) => format!("{about} depends on people"),
        (Some(trouble), _) => format!("the state of {about} could not be read: {trouble}"),
    };
    // On somebody's own machine, and where the job's own token pushed, nothing starts by itself.
    let stop_reason = match wait.awaited {
        Awaited::Ci if context.world.is_woken && is_named => format!("{stands}; its end {GOES_ON_BY_ITSELF}"),
        Awaited::Merge if is_woken(context, Awaited::Merge) && is_named => {
            format!("{stands}; that, or a review, {GOES_ON_BY_ITSELF}")
        }
        Awaited::Ci | Awaited::Merge | Awaited::Blockers => format!("{stands}; `upshift resume` looks again"),
    };
    let told = is_trouble.then(|| Event::Warning { message: stop_reason.clone() });
    park(climb, wait, stop_reason, told.into_iter().collect())
}

fn park(climb: Climb, wait: Wait, stop_reason: String, events: Vec<Event>) -> Next {
    let resume_at = Some(Leg::Wait(wait).phase());
    let (reached, outcome) = (climb.into(), Outcome::Parked);
    Next::ending(Ending { reached, outcome, stop_reason, limited: None, resume_at }, events)
}

fn times(number: u32) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// The findings of a look at the outside.
struct Found {
    wait: Wait,
    work: Work,
    cleared: Event,
}

/// Makes the outside's findings the input of the next iteration, within the same ladder, budget and number of pushes.
fn again(context: &Context<'_>, recorder: &Recorder<'_>, memory: &Memory, mut climb: Climb, found: Found) -> Next {
    let Found { wait, work, cleared } = found;
    let (most, detail) = (context.charter.plan.github.max_pushes, context.redact(&work.detail));
    let ends = if !work.is_told {
        // Nobody is paid to guess.
        Some(format!("CI is red in {detail}, and no log gives a reason"))
    } else if climb.delivered.pushes >= most {
        Some(format!("{} pushed (max-pushes), and it is still rejected: {detail}", times(most)))
    } else {
        None
    };
    if let Some(reason) = ends {
        let mut events = vec![cleared];
        events.extend(leave_tier(&context.charter, &mut climb, TierExit::Blocked, Some(reason.clone())));
        return Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, events);
    }
    let failures =
        format!("{}\n\n{}", Snapshot::of(context, &climb, &Stand::waiting(&wait)).summary(), work.failures.as_str());
    climb.trees.restart_from(Candidate {
        tree: wait.fix.tree,
        fixed: climb.trees.current.fixed.clone(),
        lost: false,
        breaks: Some(false),
        ran: true,
        green: false,
        failing: work.failing,
        failures: Foreign::new(&context.redact(&failures)),
        named: work.named,
    });
    let tier_index = climb.position.tier_index;
    let above = targets::above(context, &climb, memory);
    let step = escalation::refused_outside(&climb.allowance.rules, &mut climb.position, &work.signature, &above);
    let reason = Some(context.redact(&work.detail));
    let decided = Decided { decision: step.decision, tier_index, reason, events: vec![cleared] };
    decision::act(context, recorder, memory, climb, decided)
}
