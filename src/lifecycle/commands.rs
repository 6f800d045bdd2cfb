//! Commands that people give by comments while a run is under way: read between iterations and while waiting, each obeyed once.
//!
//! Invariants: a comment's command is durable before it is answered. A forge that is slow or down delays a run by four seconds at most, and
//! then not again for a while. Strangers and bots are passed over.

use std::convert::Infallible;
use std::time::Duration;

use super::climb::Climb;
use super::closed;
use super::context::Context;
use super::leaving::{leave_tier, tier_finished};
use super::recorder::Recorder;
use super::stage::Next;
use super::state::{Hold, Phase, Wait};
use super::targets;
use crate::domain::attempt::TierExit;
use crate::domain::command::{Command, CommandAnswer};
use crate::domain::event::Event;
use crate::domain::outcome::{Outcome, STOPPED_BY_COMMENT, STOPPED_BY_LABEL};
use crate::domain::stop::StopCause;
use crate::github::{GitHub, GithubError, IssueComment, RepoRole, User};
use crate::policy::command::{self, Rank, Said};
use crate::policy::escalation::{self, Position};
use crate::session::Memory;

/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked for a stop while a session is under way. Unchanged answers cost nothing (GITHUB.md 26).
const LOOK_MS: u64 = 15_000;
/// How often it is asked whether it is time to look.
const BEAT: Duration = Duration::from_millis(250);
/// How long nobody looks after a look that failed.
const PAUSE_MS: u64 = 60_000;
/// The most iterations that comments may add to one run.
const MOST_ADDED: u32 = 100;

/// Where the run stands when commands are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum At<'w> {
    /// Between two iterations.
    Between,
    /// At a breakpoint behind a fix.
    Waiting(&'w Wait),
    /// At one before it: something is in the way.
    Held(&'w Hold),
}

impl At<'_> {
    fn phase(self) -> Phase {
        match self {
            At::Between => Phase::Ready,
            At::Waiting(wait) => Phase::Waiting { wait: wait.clone() },
            At::Held(hold) => Phase::Held { hold: hold.clone() },
        }
    }
}

/// The consequence for the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Follows {
    /// It goes on.
    Nothing,
    /// It is to end: the reason.
    Stop(String),
}

/// A command as it was given.
struct Given {
    comment: u64,
    by: String,
    said: Said,
    rank: Rank,
    edited: bool,
}

/// Reads the comments since the last look and obeys them. The end of the run is left to the caller.
pub(super) async fn read(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    memory: &Memory,
    climb: &mut Climb,
    at: At<'_>,
) -> Follows {
    let now = context.world.clock.monotonic_ms();
    let Some((github, number)) = place(context, climb).filter(|_| climb.comments.not_before_ms <= now) else {
        return Follows::Nothing;
    };
    let looked = tokio::time::timeout(PATIENCE, look(context, climb, (&github, number))).await;
    let trouble = match looked {
        Ok(Ok(Looked { given, last })) => {
            // The gate has read it before the first iteration.
            let is_first = climb.position.tier_index == 0 && climb.position.iterations == 0;
            let away = match at {
                At::Between if !is_first => by_label(context, &github, number).await,
                // Behind a fix it is read where a push or the merge depends on it.
                At::Between | At::Waiting(_) | At::Held(_) => Follows::Nothing,
            };
            let Some((follows, events)) = obey(context, memory, climb, given, last, at) else {
                return away;
            };
            // Whoever says stop is named.
            let follows = if follows == Follows::Nothing { away } else { follows };
            // One record makes all of it durable.
            recorder.record(context, &events, climb.saved(&context.charter, at.phase()));
            return follows;
        }
        // Our own end is no trouble of the host's: nobody is warned of it.
        Ok(Err(GithubError::Stopped(_))) => return Follows::Nothing,
        Ok(Err(error)) => error.to_string(),
        Err(_late) => "the Git host did not answer in time".to_owned(),
    };
    // Without the pause a host that is down would cost two seconds before each iteration.
    climb.comments.not_before_ms = now.saturating_add(PAUSE_MS);
    if !std::mem::replace(&mut climb.comments.complained, true) {
        let trouble = context.redact(&trouble);
        recorder.warn(format!("commands in comments could not be read: {trouble}"));
    }
    Follows::Nothing
}

/// Looks for a `/upshift stop` while a session is under way, and wishes that it reports. Other comments wait for its end. Never comes to an
/// end itself.
pub(super) fn watch_for_stop<'a>(context: &Context<'a>, climb: &Climb) -> impl Future<Output = Infallible> + use<'a> {
    let (place, clock) = (place(context, climb), context.world.clock);
    let (since, last) = (context.charter.heard_since.clone(), climb.comments.last);
    let wrap_up = context.world.wrap_up.clone();
    async move {
        let Some((github, number)) = place else { return std::future::pending().await };
        // The comments were read just before the iteration began, so the first look can wait.
        let mut looked = clock.monotonic_ms();
        loop {
            // Not the run's own pause: a clock that leaps over pauses must not leap while a model works.
            tokio::time::sleep(BEAT).await;
            if clock.monotonic_ms().saturating_sub(looked) < LOOK_MS {
                continue;
            }
            looked = clock.monotonic_ms();
            let asked = tokio::time::timeout(PATIENCE, stop_asked(&github, number, &since, last)).await;
            // A look that failed is silent here: the next one follows soon, and the read between iterations warns of a host that is down.
            if matches!(asked, Ok(Ok(true))) {
                wrap_up.wish(StopCause::Asked);
                return std::future::pending().await;
            }
        }
    }
}

/// Whether somebody who may says stop.
async fn stop_asked(github: &GitHub, number: u64, since: &str, last: u64) -> Result<bool, GithubError> {
    let comments = github.issue_comments(number, Some(since)).await?;
    for comment in comments.iter().filter(|comment| comment.id.0 > last && comment.updated_at == comment.created_at) {
        let stops = command::read(&comment.body) == Said::Command(Command::Stop);
        let Some(user) = person(comment).filter(|_| stops) else { continue };
        // The role costs a request, so it is asked only of somebody who says stop.
        if rank_of(github.role_of(&user.login).await?) > Rank::Stranger {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The conversation, where the run is a job's and has one.
fn place(context: &Context<'_>, climb: &Climb) -> Option<(GitHub, u64)> {
    context.charter.comment_key.as_ref()?;
    let number = climb.pull_request(&context.charter)?;
    let github = context.world.outside?.github.as_ref()?;
    Some((github.clone(), number))
}

/// The end by the label that keeps upshift away, put on by a person meanwhile. It is asked for once before each later iteration, and behind
/// the comments: a host that tells nothing of it hides no command.
async fn by_label(context: &Context<'_>, github: &GitHub, number: u64) -> Follows {
    let pull = tokio::time::timeout(PATIENCE, github.pull(number)).await.ok().and_then(Result::ok);
    let kept_away = pull.and_then(|pull| closed::kept_away(context, &pull));
    kept_away.map_or(Follows::Nothing, |why| Follows::Stop(format!("{STOPPED_BY_LABEL}{why}")))
}

/// The commands that one look at the conversation found.
struct Looked {
    /// The commands that people gave us since the last look.
    given: Vec<Given>,
    /// The last comment that was seen.
    last: u64,
}

async fn look(
    context: &Context<'_>,
    climb: &mut Climb,
    (github, number): (&GitHub, u64),
) -> Result<Looked, GithubError> {
    let heard = &mut climb.comments;
    let (since, last) = (&context.charter.heard_since, heard.last);
    // The same question again and again, so that "nothing new" costs nothing.
    let mut comments = github.issue_comments(number, Some(since)).await?;
    comments.retain(|comment| comment.id.0 > last);
    // Ids rise with time, so that commands are obeyed in the order in which they were given.
    comments.sort_by_key(|comment| comment.id);
    let seen = comments.last().map_or(last, |comment| comment.id.0);
    let mut given = Vec::new();
    for comment in comments {
        let said = command::read(&comment.body);
        let (Some(user), false) = (person(&comment), said == Said::Nothing) else { continue };
        // A role costs a request: each person's is asked once in this process, however much they write.
        let rank = match heard.ranks.get(&user.login) {
            Some(rank) => *rank,
            None => rank_of(github.role_of(&user.login).await?),
        };
        heard.ranks.insert(user.login.clone(), rank);
        let edited = comment.updated_at != comment.created_at;
        given.push(Given { comment: comment.id.0, by: user.login.clone(), said, rank, edited });
    }
    Ok(Looked { given, last: seen })
}

/// The person behind a comment, and never a bot: bots are told by strangers what to say. Our own comments begin with our marker, not with a
/// command.
fn person(comment: &IssueComment) -> Option<&User> {
    comment.user.as_ref().filter(|user| !user.is_bot())
}

/// How far a role lets its owner command us.
#[must_use]
pub fn rank_of(role: RepoRole) -> Rank {
    match role {
        // Triage may label, and must not spend money or have code changed.
        RepoRole::None | RepoRole::Read | RepoRole::Triage => Rank::Stranger,
        RepoRole::Write => Rank::Writer,
        RepoRole::Maintain | RepoRole::Admin => Rank::Maintainer,
    }
}

/// Obeys the commands, in order. `None` where nothing new was said.
fn obey(
    context: &Context<'_>,
    memory: &Memory,
    climb: &mut Climb,
    given: Vec<Given>,
    last: u64,
    at: At<'_>,
) -> Option<(Follows, Vec<Event>)> {
    if last <= climb.comments.last {
        return None;
    }
    climb.comments.last = last;
    let mut follows = Follows::Nothing;
    let mut events = Vec::new();
    for given in given.into_iter().filter(|given| given.rank > Rank::Stranger) {
        let tier_index = climb.position.tier_index;
        let (command, (answer, said)) = match given.said {
            Said::Command(_) if given.edited => (None, not_understood("edited comments are ignored: write a new one")),
            Said::Command(command) if !command::may(given.rank, command) => {
                (Some(command), refused("only people who may change settings may raise the budget"))
            }
            // The loop goes on: the comments behind it get their answers, too.
            Said::Command(Command::Stop) => {
                follows = Follows::Stop(stopped_by(&given.by));
                (Some(Command::Stop), obeyed("the run ends"))
            }
            Said::Command(command) => (Some(command), carry_out(context, memory, climb, command, at, &mut events)),
            Said::Unknown | Said::Nothing => (None, not_understood(&unknown())),
        };
        let Given { comment, by, .. } = given;
        events.push(Event::CommandAnswered { comment, by, command, answer, said, tier_index });
    }
    Some((follows, events))
}

/// The answer to what is no command of a run at work.
fn unknown() -> String {
    format!(
        "not a command that upshift knows: `/upshift` with `stop`, `escalate`, `retry`, `add N` (at most {MOST_ADDED} in all) or `budget \
         +N` (dollars)"
    )
}

type Done = (CommandAnswer, String);

fn obeyed(said: impl Into<String>) -> Done {
    (CommandAnswer::Obeyed, said.into())
}

fn refused(said: &str) -> Done {
    (CommandAnswer::Refused, said.to_owned())
}

fn not_understood(said: &str) -> Done {
    (CommandAnswer::NotUnderstood, said.to_owned())
}

fn carry_out(
    context: &Context<'_>,
    memory: &Memory,
    climb: &mut Climb,
    command: Command,
    at: At<'_>,
    events: &mut Vec<Event>,
) -> Done {
    match command {
        Command::Fix | Command::Retry => (CommandAnswer::UnderWay, "this run is under way".to_owned()),
        // The caller has answered it already, since only it can end the run.
        Command::Stop => obeyed("the run ends"),
        Command::Pause | Command::Resume | Command::Remove { .. } => {
            refused("comments can pause and shorten a backlog only")
        }
        Command::Escalate if matches!(at, At::Waiting(_) | At::Held(_)) => {
            refused("the run is waiting, no tier is at work")
        }
        Command::Escalate => escalate(context, memory, climb, events),
        Command::Add { iterations } => {
            if climb.comments.added.saturating_add(iterations) > MOST_ADDED {
                return refused("comments have added the maximum of a hundred iterations");
            }
            climb.comments.added += iterations;
            climb.allowance.add_iterations(climb.position.tier_index, iterations);
            let more = if iterations == 1 {
                "one more iteration is".to_owned()
            } else {
                format!("{iterations} more iterations are")
            };
            obeyed(format!("{more} allowed, here and in the run"))
        }
        Command::Budget { more } => {
            let budget = &mut climb.allowance.budget;
            // The run's own cap alone: the others are shared with other runs, so no comment on one of them raises them.
            budget.max_cost.0 = budget.max_cost.0.saturating_add(more.0);
            let cap = budget.max_cost.exact();
            obeyed(format!("the run may cost {cap}; caps per pull request and per day stay as they are"))
        }
    }
}

/// Leaves the tier for the next one.
fn escalate(context: &Context<'_>, memory: &Memory, climb: &mut Climb, events: &mut Vec<Event>) -> Done {
    let (from, rules) = (climb.position.tier_index, &climb.allowance.rules);
    let ready = escalation::after_work(&targets::above(context, climb, memory));
    let Some(above) = escalation::next_tier(rules, from, &ready) else {
        return refused("no tier above this one can be asked");
    };
    climb.position = Position::at(above, rules);
    let result = climb.rows.close_tier(&context.charter, from, TierExit::IterationsExhausted);
    events.push(tier_finished(&result, Some("a comment asked for the next tier".to_owned())));
    events.extend(targets::skipped(context, memory, from, Some(above)));
    events.push(Event::Escalated { from, to: above, iterations_carried: climb.rows.carried() });
    obeyed(format!("on to tier {}", above + 1))
}

/// The reason of a run that a comment ended.
pub(super) fn stopped_by(who: &str) -> String {
    format!("{who} {STOPPED_BY_COMMENT}")
}

/// Ends a run that somebody stopped between two iterations.
pub(super) fn stop(context: &Context<'_>, mut climb: Climb, reason: String) -> Next {
    let events = leave_tier(&context.charter, &mut climb, TierExit::Blocked, Some(reason.clone()));
    Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, events)
}
