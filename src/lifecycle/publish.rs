//! Publishing: a green tree becomes a commit on its branch, and a pull request where one is wanted.
//!
//! Invariant: each effect outside is announced in the log before and told after, and is looked for before it is repeated, so
//! that a process killed in between neither pushes nor opens anything twice.

mod outage;
mod signed;

use super::climb::Climb;
use super::closed;
use super::context::{Charter, Context};
use super::failure;
use super::leaving::{conclude, conclude_there, interrupt, stuck};
use super::message;
use super::outside::{self, Outside};
use super::reached::reach;
use super::recorder::Recorder;
use super::stage::{Leg, Next};
use super::state::Fix;
use super::superseded;
use crate::config::{Merge, Push, WaitFor};
use crate::domain::delivery::{Awaited, Destination};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::outcome::NOT_PUSHED;
use crate::domain::stop::StopCause;
use crate::domain::units::CommitSha;
use crate::github::{GithubError, NewPull, PullOrigin, Readiness};
use crate::report::words::count;
use crate::workspace::publish::{Onto, Order, PublishError, Published, Surroundings};
use outage::Step;

/// The server's message where the repository's settings keep a job's token from opening pull requests. Source: GitHub's documentation,
/// "Managing GitHub Actions settings for a repository".
const MAY_NOT_PROPOSE: &str = "not permitted to create or approve pull requests";
/// How often one fix is put on top of a newer commit: a branch that is never still is somebody's at work.
const MOST_REBASED: u32 = 3;

/// Whether a fix of this run leaves the machine.
pub(super) fn is_due(charter: &Charter) -> bool {
    charter.plan.github.push != Push::None && charter.destination.is_some()
}

/// The next thing to do with a green tree is to push it.
pub(super) fn begin(context: &Context<'_>, climb: Climb, events: Vec<Event>) -> Next {
    let fix = Fix {
        tier_index: climb.position.tier_index,
        iteration: climb.position.iterations,
        tree: climb.trees.current.tree.clone(),
        model: climb.rows.attempts.last().map(|attempt| attempt.model_artisan.clone()).unwrap_or_default(),
        at: context.world.clock.unix_ms() / 1_000,
        branch: None,
        onto: None,
        rebased: 0,
        barred: 0,
        parked: 0,
    };
    Next::deliver(climb, Leg::Publish(fix), events)
}

/// Chooses the branch, or pushes to the chosen one.
pub(super) async fn run(context: &Context<'_>, mut climb: Climb, fix: Fix) -> Next {
    let charter = &context.charter;
    let Some(destination) = &charter.destination else { return conclude(charter, climb, &fix, Vec::new()) };
    let Some(branch) = fix.branch.clone() else {
        return match choose_branch(context, &climb, destination).await {
            Ok(Chosen { branch, onto }) => choose(climb, destination, Fix { branch: Some(branch), onto, ..fix }),
            Err(error) => barred(context, climb, (Leg::Publish, fix), &error).await,
        };
    };
    // Asked right before the push: a merged pull request's branch is nobody's any more.
    match closed::look(context, &climb).await {
        Ok(None) => {}
        Ok(Some(over)) => return stuck(charter, climb, format!("{NOT_PUSHED}{}", over.told)),
        Err(error) => return not_known(context, climb, fix, &error).await,
    }
    let pushed = match push(context, &climb, destination, &fix, &branch).await {
        // The open pull request holds this very change.
        Err(PublishError::Empty) if is_shared(&fix) => {
            let commit = fix.onto.clone().unwrap_or_else(|| destination.head.clone());
            Ok(Published { commit, files: Vec::new(), found: true })
        }
        // On top of what somebody pushed meanwhile it changes nothing, and the tests were seen green there.
        Err(PublishError::Empty) if fix.rebased > 0 => return conclude_there(charter, climb, &fix),
        // Somebody works on that pull request. Their branch is left alone, and the fix gets one of its own.
        Err(PublishError::Conflict { .. } | PublishError::Moved { .. } | PublishError::Gone { .. })
            if is_shared(&fix) =>
        {
            let branch = another(charter, &failure::branch(&climb, destination));
            return choose(climb, destination, Fix { branch: Some(branch), onto: None, ..fix });
        }
        Err(PublishError::Moved { .. }) if may_be_rebased(charter, &climb, &fix) => {
            return Next::deliver(climb, Leg::Rebase(fix), Vec::new());
        }
        other => other,
    };
    match pushed {
        Ok(published) => {
            // The next step has a patience of its own.
            let fix = Fix { barred: 0, ..fix };
            let parent = fix.onto.clone().unwrap_or_else(|| climb.delivered.parent(destination));
            let is_of_this_run = climb.delivered.commits.contains(&parent);
            // Only behind the push: until then CI of the commit below may be the last word.
            let cancelled = superseded::cancel_below(context, &parent, is_of_this_run, &branch).await;
            climb.delivered.commit = Some(published.commit.clone());
            climb.delivered.commits.push(published.commit.clone());
            climb.delivered.tree = Some(fix.tree.clone());
            climb.delivered.branch = Some(branch.clone());
            climb.delivered.pushes = climb.delivered.pushes.saturating_add(1);
            climb.delivered.pushed_at_ms = context.world.clock.unix_ms();
            let files = u32::try_from(published.files.len()).unwrap_or(u32::MAX);
            let event = Event::Pushed { commit: published.commit, branch, files, found: published.found };
            let cancelled = cancelled.map(|message| Event::Warning { message });
            let events = std::iter::once(event).chain(cancelled).collect();
            if charter.plan.github.push == Push::Pr && climb.delivered.pull_request.is_none() {
                Next::deliver(climb, Leg::Propose(fix), events)
            } else {
                wait_or_conclude(context, climb, fix, events).await
            }
        }
        Err(error) => barred(context, climb, (Leg::Publish, fix), &error).await,
    }
}

/// Whether a fix whose branch has moved may be put on top of what is there: not on a branch that is yet to be made.
fn may_be_rebased(charter: &Charter, climb: &Climb, fix: &Fix) -> bool {
    let is_there = charter.plan.github.push == Push::Commit || climb.delivered.branch.is_some();
    // Where CI alone judges, nothing here could judge the fix on top of another commit.
    is_there && fix.rebased < MOST_REBASED && !climb.measured.judged_by_ci
}

/// Whether a fix goes onto the branch of a pull request that an earlier run opened for the same failure.
fn is_shared(fix: &Fix) -> bool {
    fix.onto.is_some() && fix.rebased == 0
}

fn outside_of<'e>(context: &Context<'e>) -> Result<&'e Outside, PublishError> {
    let missing = || PublishError::Credential { said: "there is no credential".to_owned() };
    context.world.outside.ok_or_else(missing)
}

/// A branch, and the head that a fix is put on top of where it is not the run's own.
struct Chosen {
    branch: String,
    onto: Option<CommitSha>,
}

/// The branch that a fix is pushed to: the one that the run is about, or one of our own for this failure. A later run for the same failure
/// adds to the pull request that is open for it. Where that was closed, its branch is left as it is.
async fn choose_branch(
    context: &Context<'_>,
    climb: &Climb,
    destination: &Destination,
) -> Result<Chosen, PublishError> {
    // A later push of the same run goes where its first one went.
    if let Some(branch) = &climb.delivered.branch {
        return Ok(Chosen { branch: branch.clone(), onto: None });
    }
    if context.charter.plan.github.push == Push::Commit {
        return Ok(Chosen { branch: destination.branch.clone(), onto: None });
    }
    let name = failure::branch(climb, destination);
    let outside = outside_of(context)?;
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    let Some(head) = context.world.workspace.remote_head(&outside.remote, &name, around).await? else {
        return Ok(Chosen { branch: name, onto: None });
    };
    let open = match &outside.github {
        Some(github) => github.open_pulls_of(&destination.repository.owner, &name).await.unwrap_or_default(),
        None => Vec::new(),
    };
    if open.iter().any(|pull| pull.base.branch == destination.branch) {
        return Ok(Chosen { branch: name, onto: Some(head) });
    }
    // One that no pull request could be opened for is taken up; one whose pull request was closed is left as it is.
    let never = match &outside.github {
        Some(github) => github.was_proposed(&name).await.is_ok_and(|was| !was),
        None => false,
    };
    if never {
        return Ok(Chosen { branch: name, onto: Some(head) });
    }
    Ok(Chosen { branch: another(&context.charter, &name), onto: None })
}

/// The open pull request of ours with a fix for the same failure, where this run would open one.
pub(super) async fn proposed_already(context: &Context<'_>, failure: &[String]) -> Option<(u64, String)> {
    let (charter, github) = (&context.charter, context.world.outside?.github.as_ref()?);
    let destination = charter.destination.as_ref().filter(|_| charter.plan.github.push == Push::Pr)?;
    // What cannot be asked is no reason against a run.
    let open = github.open_pulls_to(&destination.branch, &failure::branch_for(failure, destination)).await.ok()?;
    open.first().map(|pull| (pull.number, pull.url.clone()))
}

/// A branch of this run's own for the same failure.
fn another(charter: &Charter, name: &str) -> String {
    format!("{name}-{}", charter.run_id.short())
}

/// The branch is durable before anything is pushed to it.
fn choose(climb: Climb, destination: &Destination, fix: Fix) -> Next {
    let parent = fix.onto.clone().unwrap_or_else(|| climb.delivered.parent(destination));
    let event = Event::PublishStarted { branch: fix.branch.clone().unwrap_or_default(), parent };
    Next::deliver(climb, Leg::Publish(fix), vec![event])
}

async fn push(
    context: &Context<'_>,
    climb: &Climb,
    destination: &Destination,
    fix: &Fix,
    branch: &str,
) -> Result<Published, PublishError> {
    let outside = outside_of(context)?;
    let (delivery, plan) = (&climb.delivered, &context.charter.plan);
    // A later push carries only what came since the one before.
    let from = delivery.tree.as_ref().unwrap_or_else(|| climb.start());
    let author = plan.github.commit_author.as_deref().and_then(outside::author);
    // Only a branch of our own is ever made, and only by the first push.
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
        message: &message::compose(&context.charter, &climb.measured, fix),
        at: fix.at,
    };
    if plan.github.sign_commits {
        return signed::publish(&context.world.workspace, outside, &order).await;
    }
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    context.world.workspace.publish(&order, around).await
}

/// A fix that could not be pushed: green here, and a person has to do the rest.
fn failed(context: &Context<'_>, climb: Climb, fix: Fix, error: &PublishError) -> Next {
    if let (PublishError::Stopped, Some(StopCause::Signal(signal))) = (error, context.signals()) {
        return interrupt(climb, Leg::Publish(fix), signal);
    }
    stuck(&context.charter, climb, format!("{NOT_PUSHED}{}", context.redact(&error.to_string())))
}

/// The same, but for an outage, which ends: the step is tried again.
pub(super) async fn barred(
    context: &Context<'_>,
    climb: Climb,
    (step, fix): (Step, Fix),
    error: &PublishError,
) -> Next {
    if outage::bars_push(error) {
        return outage::again(context, climb, step, fix, &error.to_string()).await;
    }
    failed(context, climb, fix, error)
}

/// The same where nobody knows whether the pull request is open still.
async fn not_known(context: &Context<'_>, climb: Climb, fix: Fix, error: &GithubError) -> Next {
    if let Some(signal) = stopped_by(error) {
        return interrupt(climb, Leg::Publish(fix), signal);
    }
    let why = format!("whether the pull request is open still could not be read: {error}");
    if outage::bars_request(error) {
        return outage::again(context, climb, Leg::Publish, fix, &why).await;
    }
    stuck(&context.charter, climb, format!("{NOT_PUSHED}{}", context.redact(&why)))
}

/// Opens the pull request that proposes the pushed branch.
pub(super) async fn propose(context: &Context<'_>, recorder: &Recorder<'_>, mut climb: Climb, fix: Fix) -> Next {
    let charter = &context.charter;
    let proposed = match (&charter.destination, context.world.outside.and_then(|out| out.github.as_ref())) {
        (Some(destination), Some(github)) => {
            let new = NewPull {
                title: title(&message::compose(charter, &climb.measured, &fix)),
                body: description(context, recorder, &climb),
                head_branch: climb.delivered.branch.clone().unwrap_or_default(),
                base_branch: destination.branch.clone(),
                readiness: if charter.plan.github.draft { Readiness::Draft } else { Readiness::Ready },
            };
            github.open_pull(&new).await
        }
        (_, _) => {
            let said = "there is no token for the API → Fix: set `github-token`";
            return unproposed(context, climb, said);
        }
    };
    match proposed {
        Ok(opened) => {
            climb.delivered.pull_request = Some(opened.pull.number);
            let found = opened.origin == PullOrigin::Reused;
            let number = opened.pull.number;
            let mut events = vec![Event::PullRequestReady { number, url: opened.pull.url, found }];
            events.extend(auto_merge(context, recorder, number).await);
            wait_or_conclude(context, climb, fix, events).await
        }
        Err(error) => match stopped_by(&error) {
            Some(signal) => interrupt(climb, Leg::Propose(fix), signal),
            None if outage::bars_request(&error) => {
                outage::again(context, climb, Leg::Propose, fix, &error.to_string()).await
            }
            None => unproposed(context, climb, &error.to_string()),
        },
    }
}

/// A pushed fix whose pull request could not be opened: a person has to do the rest.
fn unproposed(context: &Context<'_>, climb: Climb, said: &str) -> Next {
    let branch = climb.delivered.branch.clone().unwrap_or_default();
    let said = may_not_propose(&context.charter, &branch, said).unwrap_or_else(|| said.to_owned());
    let reason = format!("no pull request could be opened for {branch}: {}", context.redact(&said));
    stuck(&context.charter, climb, reason)
}

/// Has the forge merge a pull request of ours by itself, where that is wished and the fix is proven. Returns the result in words.
async fn auto_merge(context: &Context<'_>, recorder: &Recorder<'_>, number: u64) -> Option<Event> {
    if context.charter.plan.github.merge != Merge::Auto {
        return None;
    }
    let github = context.world.outside?.github.as_ref()?;
    let message = if recorder.is_proven() {
        match github.enable_auto_merge(number).await {
            Ok(()) => format!("#{number} is merged automatically once everything that the repository requires is met"),
            Err(error) => format!("#{number} is not merged automatically: {error}"),
        }
    } else {
        format!("#{number} is not merged automatically: no experiment has shown that its tests can still fail")
    };
    Some(Event::Warning { message: context.redact(&message) })
}

/// The setting that keeps jobs from opening pull requests, where that is what the server says, and how to open this one by hand.
fn may_not_propose(charter: &Charter, branch: &str, said: &str) -> Option<String> {
    let destination = charter.destination.as_ref().filter(|_| said.contains(MAY_NOT_PROPOSE))?;
    let (url, base) = (destination.url(), &destination.branch);
    Some(format!(
        "GitHub Actions may not open pull requests in this repository → Fix: tick \"Allow GitHub Actions to create and approve pull \
         requests\" at {url}/settings/actions; open this one at {url}/compare/{base}...{branch}?expand=1"
    ))
}

/// The signal that ended a request, if one did.
fn stopped_by(error: &GithubError) -> Option<i32> {
    if let GithubError::Stopped(StopCause::Signal(signal)) = error { Some(*signal) } else { None }
}

fn title(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// The text of the pull request: what it mends, in our words. Test names stand in a block where nothing is interpreted.
fn description(context: &Context<'_>, recorder: &Recorder<'_>, climb: &Climb) -> String {
    let failure = &climb.measured.failure;
    let names: Vec<String> = failure.iter().take(20).map(|name| name.replace(['\n', '\r'], " ")).collect();
    let more = failure.len().saturating_sub(names.len());
    let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
    let cost = recorder.charge();
    let what = if climb.measured.judged_by_ci {
        "The tests pass where upshift ran. This change is for what failed in CI alone, and CI judges it:"
    } else if climb.failing_at_first().is_empty() {
        "upshift fixed the build, which failed with:"
    } else {
        "upshift made these failing tests pass:"
    };
    let told = recorder.text_for_reviewers().map(|text| quoted(&context.redact(&text))).unwrap_or_default();
    format!(
        "{what}\n\n````text\n{}{more}\n````\n\n{told}Run `{}`, {}, {cost}. Review it as you \
         would any other change.\n",
        fenced(&context.redact(&names.join("\n"))),
        context.charter.run_id,
        count(u64::from(climb.run_iterations), "iteration"),
    )
}

/// A model's text as a block in which nothing is interpreted, neither on a page nor in the message of a squashed commit.
fn quoted(text: &str) -> String {
    let text = fenced(Foreign::prose(text).as_str().trim());
    format!("In a model's words:\n\n````text\n{text}\n````\n\n")
}

/// A foreign text that ends no block, and means nothing in the message of a squashed commit: a test's name may hold `Closes #1`.
fn fenced(text: &str) -> String {
    message::inert(text).replace("````", "\u{2018}\u{2018}\u{2018}\u{2018}")
}

/// After what was delivered: waits for what is to be waited for, or ends the run as fixed.
async fn wait_or_conclude(context: &Context<'_>, climb: Climb, fix: Fix, mut events: Vec<Event>) -> Next {
    let charter = &context.charter;
    let has_api = context.world.outside.is_some_and(|outside| outside.github.is_some());
    match (charter.plan.github.wait_for, climb.delivered.commit.clone(), has_api) {
        (WaitFor::Ci | WaitFor::Event | WaitFor::Merge, Some(commit), true) => {
            reach(context, climb, fix, Awaited::Ci, &commit, events).await
        }
        (WaitFor::Ci | WaitFor::Event | WaitFor::Merge, _, false) => {
            let message = "CI is not waited for: there is no token for the API → Fix: set `github-token`".to_owned();
            events.push(Event::Warning { message });
            conclude(charter, climb, &fix, events)
        }
        (WaitFor::None, _, _) | (_, None, _) => conclude(charter, climb, &fix, events),
    }
}
