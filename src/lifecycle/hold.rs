//! The `blocked` breakpoint (SPEC S4-3, S4-4): the run is parked until what a model named is out of the way, then a fresh session goes on.
//!
//! Invariants: only blockers that the forge's API can be asked about are waited for. A blocker that was found out of the way once is not
//! waited for again, so that a model which repeats itself ends the run.

use super::blockers::{self, Way};
use super::climb::Climb;
use super::commands::{self, At, Follows};
use super::context::Context;
use super::leaving::leave_tier;
use super::recorder::Recorder;
use super::snapshot::{Snapshot, Stand};
use super::stage::{Ending, Next, Stage};
use super::state::{Hold, Phase};
use crate::domain::attempt::TierExit;
use crate::domain::blocker::{self, Blocker};
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::outcome::Outcome;
use crate::domain::units::CommitSha;
use crate::github::{GitHub, GithubError};
use crate::session::Memory;

/// The blockers that a blocked run can wait for. `None` unless all of them can be asked about, and not all were out of the way before.
pub(super) fn worth_waiting_for(context: &Context<'_>, climb: &Climb, on: &[Blocker]) -> Option<Vec<Blocker>> {
    let (github, _) = asked(context, climb)?;
    let repository = github.repository();
    // In one spelling, or a blocker that is named in another way would count as new.
    let on: Vec<Blocker> = on.iter().map(|blocker| blocker.plain_in(repository)).collect();
    let is_new = on.iter().any(|blocker| !climb.settled.contains(blocker));
    (is_new && on.iter().all(|blocker| blocker.is_checkable(repository))).then_some(on)
}

/// The forge to ask, and the commit whose checks count.
fn asked<'c>(context: &'c Context<'_>, climb: &Climb) -> Option<(&'c GitHub, CommitSha)> {
    let destination = context.charter.destination.as_ref()?;
    let github = context.world.outside?.github.as_ref()?;
    Some((github, climb.delivered.parent(destination)))
}

/// Begins to wait, after the events of the iteration that said so.
pub(super) fn reach(
    context: &Context<'_>,
    climb: Climb,
    (reason, on): (String, Vec<Blocker>),
    mut events: Vec<Event>,
) -> Next {
    let commit = asked(context, &climb).map(|(_, commit)| commit).unwrap_or_default();
    let spawn = climb.run_iterations;
    let (awaited, at) = (Awaited::Blockers, context.world.clock.timestamp());
    // A run may be blocked several times at one commit: the iteration tells them apart.
    let key = format!("{}:{}:{spawn}", context.charter.run_id, awaited.as_str());
    let hold = Hold { reason, on, key, commit, since_ms: context.world.clock.unix_ms() };
    let (key, commit, on) = (hold.key.clone(), hold.commit.clone(), hold.on.clone());
    events.push(Event::BreakpointReached { key: key.clone(), awaited, commit, at, spawn, on });
    let body = Snapshot::of(context, &climb, &Stand::blocked(&climb, &hold)).document();
    Next { breakpoint: Some((key, body)), ..Next::to(Stage::held(climb, hold), events) }
}

/// Looks once: goes on, parks, or ends the run.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    memory: &Memory,
    mut climb: Climb,
    hold: Hold,
) -> Next {
    if let Follows::Stop(reason) = commands::read(context, recorder, memory, &mut climb, At::Held(&hold)).await {
        let cleared = cleared(context, &hold, Answer::Stopped, reason.clone());
        let Next { stage, mut events, breakpoint } = commands::stop(context, climb, reason);
        events.insert(0, cleared);
        return Next { stage, events, breakpoint };
    }
    let way = match asked(context, &climb) {
        Some((github, _)) => look(context, github, &hold).await,
        None => Ok(Way::Blocked(format!("{}, and there is no token for the API", blocker::list(&hold.on)))),
    };
    match way {
        Ok(Way::Clear) => go_on(context, climb, hold),
        Ok(Way::ForGood(why)) => {
            let reason = format!("{}; {why}", hold.reason);
            let mut events = vec![cleared(context, &hold, Answer::Closed, why)];
            events.extend(leave_tier(&context.charter, &mut climb, TierExit::Blocked, Some(reason.clone())));
            Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, events)
        }
        Ok(Way::Blocked(what)) => park(context, climb, hold, &format!("waiting for {what}")),
        // Parked as well: what cannot be read now tells nothing against going on later.
        Err(error) => park(context, climb, hold, &format!("the state could not be read: {error}")),
    }
}

async fn look(context: &Context<'_>, github: &GitHub, hold: &Hold) -> Result<Way, GithubError> {
    match blockers::look(github, &hold.commit, &hold.on).await {
        // An App's installation token lives an hour. The job's own lasts as long as the job.
        Err(error) if error.is_token_refused() => match context.world.outside.and_then(|out| out.fallback.as_ref()) {
            Some(own) => blockers::look(own, &hold.commit, &hold.on).await,
            None => Err(error),
        },
        looked => looked,
    }
}

fn cleared(context: &Context<'_>, hold: &Hold, answer: Answer, detail: String) -> Event {
    let waited = context.world.clock.unix_ms().saturating_sub(hold.since_ms);
    Event::BreakpointCleared {
        key: hold.key.clone(),
        answer,
        detail: context.redact(&detail),
        waited_ms: u64::try_from(waited).unwrap_or(0),
        at: context.world.clock.timestamp(),
    }
}

/// A fresh iteration in the same tier, whose first message tells what was waited for. It is one more than the tier has, because the one
/// that could do nothing is given back. The run's own cap stays.
fn go_on(context: &Context<'_>, mut climb: Climb, hold: Hold) -> Next {
    let told = Snapshot::of(context, &climb, &Stand::blocked(&climb, &hold)).summary();
    let event = cleared(context, &hold, Answer::Resolved, blocker::list(&hold.on));
    let failures = format!("{told}\n\n{}", climb.trees.current.failures.as_str());
    climb.trees.current.failures = Foreign::new(&context.redact(&failures));
    climb.trees.on_disk = false;
    climb.allowance.give_back_an_iteration(climb.position.tier_index);
    climb.position.was_blocked = false;
    climb.settled.extend(hold.on);
    Next::ready(climb, vec![event])
}

fn park(context: &Context<'_>, climb: Climb, hold: Hold, what: &str) -> Next {
    let stop_reason = context.redact(&format!("{what} — {}; `upshift resume` looks again", hold.reason));
    let resume_at = Some(Phase::Held { hold });
    let ending = Ending { reached: climb.into(), outcome: Outcome::Parked, stop_reason, limited: None, resume_at };
    Next::ending(ending, Vec::new())
}
