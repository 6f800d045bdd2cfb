//! Publishing: a green tree becomes a commit on its branch, and a pull request where one is wanted.
//!
//! Invariant: each effect outside is announced in the log before and told after, and is looked for before it is repeated, so
//! that a process killed in between neither pushes nor opens anything twice.

mod signed;

use sha2::{Digest as _, Sha256};

use super::engine::{Engine, LifecycleError};
use super::leaving::{conclude, interrupt, leave_tier};
use super::message;
use super::outside::{self, Outside};
use super::reached::reach;
use super::state::{Fix, Phase};
use crate::config::{Push, WaitFor};
use crate::domain::attempt::TierExit;
use crate::domain::delivery::{Awaited, Destination};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::stop::StopCause;
use crate::domain::units::CommitSha;
use crate::github::{GithubError, NewPull, PullOrigin, Readiness};
use crate::workspace::publish::{Onto, Order, PublishError, Published, Surroundings};

/// How the branches of our pull requests begin.
const BRANCH_PREFIX: &str = "upshift/fix-";
/// Hexadecimal digits of the failure's name in a branch.
const KEY_DIGITS: usize = 10;

/// Whether a fix of this run leaves the machine.
pub(super) fn is_due(engine: &Engine<'_>) -> bool {
    engine.state.plan.github.push != Push::None && engine.state.destination.is_some()
}

/// The next thing to do with a green tree is to push it.
pub(super) fn begin(engine: &mut Engine<'_>, events: &[Event]) {
    let Some(current) = &engine.state.current else { return };
    let model = engine.state.attempts.last().map(|attempt| attempt.model_artisan.clone()).unwrap_or_default();
    let fix = Fix {
        tier_index: engine.state.position.tier_index,
        iteration: engine.state.position.iterations,
        tree: current.tree.clone(),
        model,
        at: engine.world.clock.unix_ms() / 1_000,
        branch: None,
        onto: None,
    };
    engine.state.phase = Phase::Publishing { fix };
    engine.record(events);
}

/// Chooses the branch, or pushes to the chosen one.
pub(super) async fn run(engine: &mut Engine<'_>, fix: Fix) -> Result<(), LifecycleError> {
    let Some(destination) = engine.state.destination.clone() else {
        conclude(engine, &fix, Vec::new());
        return Ok(());
    };
    let Some(branch) = fix.branch.clone() else {
        match choose_branch(engine, &destination).await {
            Ok(Chosen { branch, onto }) => choose(engine, &destination, Fix { branch: Some(branch), onto, ..fix }),
            Err(error) => failed(engine, &fix, error),
        }
        return Ok(());
    };
    let pushed = match push(engine, &destination, &fix, &branch).await {
        // The open pull request holds this very change.
        Err(PublishError::Empty) if fix.onto.is_some() => {
            let commit = fix.onto.clone().unwrap_or_else(|| destination.head.clone());
            Ok(Published { commit, files: Vec::new(), found: true })
        }
        Err(PublishError::Conflict { .. } | PublishError::Moved { .. }) if fix.onto.is_some() => {
            let branch = another(engine, &failure_branch(engine, &destination));
            choose(engine, &destination, Fix { branch: Some(branch), onto: None, ..fix });
            return Ok(());
        }
        other => other,
    };
    match pushed {
        Ok(published) => {
            engine.state.delivery.commit = Some(published.commit.clone());
            engine.state.delivery.tree = Some(fix.tree.clone());
            engine.state.delivery.branch = Some(branch.clone());
            engine.state.delivery.pushed_at_ms = engine.world.clock.unix_ms();
            let files = u32::try_from(published.files.len()).unwrap_or(u32::MAX);
            let event = Event::Pushed { commit: published.commit, branch, files, found: published.found };
            let wants_pull = engine.state.plan.github.push == Push::Pr && engine.state.delivery.pull_request.is_none();
            if wants_pull {
                engine.state.phase = Phase::Proposing { fix };
                engine.record(&[event]);
            } else {
                wait_or_conclude(engine, &fix, event);
            }
        }
        Err(error) => failed(engine, &fix, error),
    }
    Ok(())
}

fn outside_of<'e>(engine: &'e Engine<'_>) -> Result<&'e Outside, PublishError> {
    let missing = || PublishError::Credential { said: "there is no credential".to_owned() };
    engine.world.outside.ok_or_else(missing)
}

/// A branch, and the head that a fix is put on top of where it is not the run's own.
struct Chosen {
    branch: String,
    onto: Option<CommitSha>,
}

/// The branch that a fix is pushed to: the one that the run is about, or one of our own for this failure. A later run for the same
/// failure adds to the pull request that is open for it; where that was closed, its branch is left as it is.
async fn choose_branch(engine: &Engine<'_>, destination: &Destination) -> Result<Chosen, PublishError> {
    if let Some(branch) = &engine.state.delivery.branch {
        return Ok(Chosen { branch: branch.clone(), onto: None });
    }
    if engine.state.plan.github.push == Push::Commit {
        return Ok(Chosen { branch: destination.branch.clone(), onto: None });
    }
    let name = failure_branch(engine, destination);
    let outside = outside_of(engine)?;
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    let Some(head) = engine.world.workspace.remote_head(&outside.remote, &name, around).await? else {
        return Ok(Chosen { branch: name, onto: None });
    };
    let open = match &outside.github {
        Some(github) => github.open_pulls_of(&destination.repository.owner, &name).await.unwrap_or_default(),
        None => Vec::new(),
    };
    if open.iter().any(|pull| pull.base.branch == destination.branch) {
        return Ok(Chosen { branch: name, onto: Some(head) });
    }
    Ok(Chosen { branch: another(engine, &name), onto: None })
}

fn failure_branch(engine: &Engine<'_>, destination: &Destination) -> String {
    format!("{BRANCH_PREFIX}{}", failure_key(engine, destination))
}

/// A branch of this run's own for the same failure.
fn another(engine: &Engine<'_>, name: &str) -> String {
    format!("{name}-{}", engine.state.run_id.short())
}

/// The branch is durable before anything is pushed to it.
fn choose(engine: &mut Engine<'_>, destination: &Destination, fix: Fix) {
    let parent = fix.onto.clone().unwrap_or_else(|| engine.state.delivery.parent(destination));
    let event = Event::PublishStarted { branch: fix.branch.clone().unwrap_or_default(), parent };
    engine.state.phase = Phase::Publishing { fix };
    engine.record(&[event]);
}

/// Names a failure: the same tests failing on the same branch.
pub(super) fn failure_key(engine: &Engine<'_>, destination: &Destination) -> String {
    let mut failing = engine.state.baseline.as_ref().map(|baseline| baseline.failing.clone()).unwrap_or_default();
    failing.sort();
    let text = format!("{}\n{}", destination.branch, failing.join("\n"));
    let hex: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(KEY_DIGITS).collect()
}

async fn push(
    engine: &Engine<'_>,
    destination: &Destination,
    fix: &Fix,
    branch: &str,
) -> Result<Published, PublishError> {
    let outside = outside_of(engine)?;
    let (delivery, plan) = (&engine.state.delivery, &engine.state.plan);
    let start = engine.state.start.as_ref();
    let from = delivery.tree.as_ref().or(start).ok_or(PublishError::Empty)?;
    let author = plan.github.commit_author.as_deref().and_then(outside::author);
    let is_new = plan.github.push == Push::Pr && delivery.branch.is_none() && fix.onto.is_none();
    let parent = fix.onto.clone().unwrap_or_else(|| delivery.parent(destination));
    let order = Order {
        remote: &outside.remote,
        branch,
        onto: if is_new { Onto::New } else { Onto::Existing },
        parent: &parent,
        from,
        to: &fix.tree,
        author: &author.unwrap_or_else(outside::default_author),
        message: &message::compose(&engine.state, fix),
        at: fix.at,
    };
    if plan.github.sign_commits {
        return signed::publish(&engine.world.workspace, outside, &order).await;
    }
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    engine.world.workspace.publish(&order, around).await
}

/// A fix that could not be pushed: green here, and a person has to do the rest.
fn failed(engine: &mut Engine<'_>, fix: &Fix, error: PublishError) {
    if let (PublishError::Stopped, Some(StopCause::Signal(signal))) = (&error, engine.signals()) {
        return interrupt(engine, Phase::Publishing { fix: fix.clone() }, signal);
    }
    let said = engine.world.redactor.redact(&error.to_string()).into_owned();
    let reason = format!("the fix could not be pushed: {said}");
    let events = leave_tier(engine, TierExit::Success, None);
    engine.end_with(Outcome::Blocked { reason: reason.clone() }, reason, &events);
}

/// Opens the pull request that proposes the pushed branch.
pub(super) async fn propose(engine: &mut Engine<'_>, fix: Fix) -> Result<(), LifecycleError> {
    let proposed = match (&engine.state.destination, engine.world.outside.and_then(|out| out.github.as_ref())) {
        (Some(destination), Some(github)) => {
            let new = NewPull {
                title: title(&message::compose(&engine.state, &fix)),
                body: description(engine),
                head_branch: engine.state.delivery.branch.clone().unwrap_or_default(),
                base_branch: destination.branch.clone(),
                readiness: if engine.state.plan.github.draft { Readiness::Draft } else { Readiness::Ready },
            };
            github.open_pull(&new).await.map_err(|error| (error.to_string(), stopped_by(&error)))
        }
        (_, _) => Err(("there is no token for the API → Fix: set `github-token`".to_owned(), None)),
    };
    match proposed {
        Ok(opened) => {
            engine.state.delivery.pull_request = Some(opened.pull.number);
            let found = opened.origin == PullOrigin::Reused;
            let event = Event::PullRequestReady { number: opened.pull.number, url: opened.pull.url, found };
            wait_or_conclude(engine, &fix, event);
        }
        Err((_, Some(signal))) => interrupt(engine, Phase::Proposing { fix }, signal),
        Err((said, None)) => {
            let branch = engine.state.delivery.branch.clone().unwrap_or_default();
            let said = engine.world.redactor.redact(&said).into_owned();
            let reason = format!("no pull request could be opened for {branch}: {said}");
            let events = leave_tier(engine, TierExit::Success, None);
            engine.end_with(Outcome::Blocked { reason: reason.clone() }, reason, &events);
        }
    }
    Ok(())
}

/// The signal that ended a request, if one did.
pub(super) fn stopped_by(error: &GithubError) -> Option<i32> {
    if let GithubError::Stopped(StopCause::Signal(signal)) = error { Some(*signal) } else { None }
}

fn title(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// What the pull request says: what it mends, in our words; test names stand in a block where nothing is interpreted.
fn description(engine: &Engine<'_>) -> String {
    let state = &engine.state;
    let failing = state.baseline.as_ref().map(|baseline| baseline.failing.clone()).unwrap_or_default();
    let names: Vec<String> =
        failing.iter().take(20).map(|name| name.replace('`', "'").replace(['\n', '\r'], " ")).collect();
    let more = failing.len().saturating_sub(names.len());
    let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
    let cost = engine.charge();
    format!(
        "upshift made these failing tests pass:\n\n````text\n{}{more}\n````\n\nRun `{}`, {} iterations, {cost}. Review it as you \
         would any other change.\n",
        engine.world.redactor.redact(&names.join("\n")),
        state.run_id,
        state.run_iterations,
    )
}

/// After what was delivered: waits for what is to be waited for, or ends the run as fixed.
pub(super) fn wait_or_conclude(engine: &mut Engine<'_>, fix: &Fix, event: Event) {
    let has_api = engine.world.outside.is_some_and(|outside| outside.github.is_some());
    match (engine.state.plan.github.wait_for, &engine.state.delivery.commit, has_api) {
        (WaitFor::Ci | WaitFor::Merge, Some(commit), true) => {
            let commit = commit.clone();
            reach(engine, fix, Awaited::Ci, &commit, vec![event]);
        }
        (WaitFor::Ci | WaitFor::Merge, _, false) => {
            let message = "CI is not waited for: there is no token for the API → Fix: set `github-token`".to_owned();
            conclude(engine, fix, vec![event, Event::Warning { message }]);
        }
        (WaitFor::None, _, _) | (_, None, _) => {
            conclude(engine, fix, vec![event]);
        }
    }
}
