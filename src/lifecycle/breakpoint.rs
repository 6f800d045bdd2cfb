//! Breakpoints: the run has delivered, and waits for what the outside says (SPEC S4).
//!
//! Reaching one saves a snapshot and ends every session; what comes of it is the end of the run, or the input of a fresh
//! iteration. Invariant: waiting has limits of its own and eats nothing of the active time; every ending says what was seen.

mod ci;
mod review;
mod seen;

use std::time::Duration;

use super::commands::{self, At, Follows};
use super::decision;
use super::engine::{Engine, LifecycleError};
use super::leaving::{conclude, interrupt};
use super::reached::reach;
use super::state::{Fix, Phase, Wait};
use super::targets;
use crate::config::WaitFor;
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::outcome::Outcome;
use crate::domain::stop::StopCause;
use crate::github::GithubError;
use crate::policy::candidate::Candidate;
use crate::policy::escalation;
use seen::{Seen, Work};

/// How often the outside is asked (contradiction 22); unchanged answers cost nothing (GITHUB.md 26).
const POLL: Duration = Duration::from_secs(15);
/// How often it is asked about a merge, for which people take their time.
const POLL_MERGE: Duration = Duration::from_secs(30);
/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;

/// Waits until the outside has an answer, and does what it says.
pub(super) async fn run(engine: &mut Engine<'_>, wait: Wait) -> Result<(), LifecycleError> {
    engine.world.waiting.begin(engine.world.clock.monotonic_ms());
    let since = engine.world.clock.monotonic_ms();
    let waited = |engine: &Engine<'_>| wait.waited_ms + engine.world.clock.monotonic_ms().saturating_sub(since);
    let seen = loop {
        match look(engine, &wait, waited(engine)).await {
            Ok(Seen::Moving) => {}
            Ok(seen) => break Ok(seen),
            Err(GithubError::Stopped(StopCause::Signal(signal))) => break Err(signal),
            Err(error) => break Ok(Seen::Answer(Answer::Unreadable, error.to_string())),
        }
        if waited(engine) >= limit_ms(engine, wait.awaited) {
            let minutes = limit_ms(engine, wait.awaited) / MINUTE_MS;
            break Ok(Seen::Answer(Answer::TimedOut, format!("waited for {minutes} minutes")));
        }
        if let Follows::Stop(by) = commands::read(engine, At::Waiting).await {
            break Ok(Seen::Answer(Answer::Stopped, format!("{by} stopped the run by a comment")));
        }
        if let Some(signal) = pause(engine, wait.awaited).await {
            break Err(signal);
        }
    };
    engine.world.waiting.end(engine.world.clock.monotonic_ms());
    let waited_ms = waited(engine);
    match seen {
        Ok(seen) => act(engine, wait, seen, waited_ms),
        Err(signal) => interrupt(engine, Phase::Waiting { wait: Wait { waited_ms, ..wait } }, signal),
    }
    Ok(())
}

async fn look(engine: &Engine<'_>, wait: &Wait, waited_ms: u64) -> Result<Seen, GithubError> {
    let Some(outside) = engine.world.outside else {
        return Ok(Seen::Answer(Answer::Unreadable, "there is no access to the forge".to_owned()));
    };
    let Some(github) = &outside.github else {
        return Ok(Seen::Answer(Answer::Unreadable, "there is no token for the API".to_owned()));
    };
    match wait.awaited {
        Awaited::Ci => ci::look(engine, outside, github, wait, waited_ms).await,
        Awaited::Merge => review::look(engine, github, wait).await,
    }
}

fn limit_ms(engine: &Engine<'_>, awaited: Awaited) -> u64 {
    let github = &engine.state.plan.github;
    u64::from(match awaited {
        Awaited::Ci => github.ci_timeout_minutes,
        Awaited::Merge => github.merge_timeout_minutes,
    }) * MINUTE_MS
}

/// The pause between two looks; the signal that ended it, if one did.
async fn pause(engine: &Engine<'_>, awaited: Awaited) -> Option<i32> {
    let outside = engine.world.outside?;
    let length = match awaited {
        Awaited::Ci => POLL,
        Awaited::Merge => POLL_MERGE,
    };
    tokio::select! {
        () = engine.world.clock.sleep(length) => None,
        cause = outside.signals.wait() => match cause {
            StopCause::Signal(signal) => Some(signal),
            StopCause::TimeUp | StopCause::Asked => None,
        },
    }
}

/// Carries out what an answer means.
fn act(engine: &mut Engine<'_>, wait: Wait, seen: Seen, waited_ms: u64) {
    let redact = |text: &str| engine.world.redactor.redact(text).into_owned();
    let (answer, detail, work) = match seen {
        Seen::Moving => (Answer::Unreadable, String::new(), None),
        Seen::Answer(answer, detail) => (answer, redact(&detail), None),
        Seen::Work(answer, work) => (answer, redact(&work.detail), Some(work)),
    };
    let at = engine.world.clock.timestamp();
    let cleared = Event::BreakpointCleared { key: wait.key.clone(), answer, detail: detail.clone(), waited_ms, at };
    let fix = wait.fix.clone();
    if let Some(work) = work {
        return again(engine, &fix, work, cleared);
    }
    match answer {
        Answer::Green if engine.state.plan.github.wait_for == WaitFor::Merge && engine.pull_request().is_some() => {
            reach(engine, &fix, Awaited::Merge, &wait.commit, vec![cleared]);
        }
        Answer::TimedOut if wait.awaited == Awaited::Ci => {
            let reason =
                format!("CI of {} is not over yet: {detail}; `upshift resume` goes on waiting", wait.commit.short());
            engine.state.resume_at = Some(Box::new(Phase::Waiting { wait }));
            engine.end_with(Outcome::Parked, reason, &[cleared]);
        }
        Answer::Green | Answer::Merged => {
            conclude(engine, &fix, vec![cleared]);
        }
        Answer::Red
        | Answer::Absent
        | Answer::NeedsApproval
        | Answer::Superseded
        | Answer::TimedOut
        | Answer::Unreadable
        | Answer::Closed
        | Answer::Stopped
        | Answer::ChangesRequested => {
            let message = format!("green here, but not confirmed outside ({}): {detail}", answer.words());
            conclude(engine, &fix, vec![cleared, Event::Warning { message }]);
        }
    }
}

/// What the outside found is the input of the next iteration, within the same ladder and budget.
fn again(engine: &mut Engine<'_>, fix: &Fix, work: Work, cleared: Event) {
    let redact = |text: &str| engine.world.redactor.redact(text).into_owned();
    let fixed = engine.state.current.as_ref().map(|current| current.fixed.clone()).unwrap_or_default();
    let candidate = Candidate {
        tree: fix.tree.clone(),
        fixed,
        lost: false,
        ran: true,
        failing: work.failing,
        failures: Foreign::new(&redact(work.failures.as_str())),
        named: work.named,
    };
    engine.state.best = Some(candidate.clone());
    engine.state.current = Some(candidate);
    engine.tree_is_current = false;
    let (tier_index, rules, above) = (engine.state.position.tier_index, engine.state.rules(), targets::above(engine));
    let step = escalation::refused_outside(&rules, &mut engine.state.position, &work.signature, &above);
    let reason = Some(redact(&work.detail));
    decision::act(engine, step.decision, tier_index, reason, vec![cleared]);
}
