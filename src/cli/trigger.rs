//! The command of the comment that started this job.
//!
//! Every command in a comment starts a job. Where a run was under way it has answered, and its comment says so. Otherwise the job carries
//! the command out, or says that there is nothing to do.

use super::environment::Environment;
use super::forge;
use crate::domain::ci::{CiContext, CommentKind};
use crate::domain::clock::{Clock, Timestamp};
use crate::domain::command::{Command, CommandAnswer};
use crate::domain::event::Event;
use crate::domain::outcome::EXIT_SUCCESS;
use crate::github::{CommentSlot, GitHub, GithubError, Reaction};
use crate::lifecycle::halting::{self, Heard};
use crate::lifecycle::state::{Hearing, RunState};
use crate::policy::command::{self, Said};
use crate::policy::escalation::Position;
use crate::report::markdown::MARKER;
use crate::report::words;

/// How long a job may have waited behind another: what was said meanwhile counts.
const QUEUED_MS: i64 = 24 * 3_600_000;

/// A command to this job from a comment in the pull request's conversation.
#[derive(Debug)]
pub(super) struct Order {
    said: Said,
    comment: Option<u64>,
    by: String,
}

/// Reads the comment that started this job, if one in a conversation did.
pub(super) fn order(context: Option<&CiContext>) -> Order {
    let comment = context.and_then(|context| context.comment.as_ref());
    // Somebody else may edit a comment, and its author would seem to have given the command.
    match comment.filter(|comment| comment.kind == CommentKind::Conversation && !comment.edited) {
        Some(comment) => Order {
            said: command::read(&comment.body),
            comment: Some(comment.id),
            by: comment.author.as_ref().map(|author| author.login.clone()).unwrap_or_default(),
        },
        None => Order { said: Said::Nothing, comment: None, by: String::new() },
    }
}

/// A comment that asks for something only a run under way could do: it is told so, and no run begins. `/upshift stop` ends the waits of
/// parked runs.
pub(super) async fn not_a_start(order: &Order, context: Option<&CiContext>, environment: &Environment) -> Option<u8> {
    // An edit may put in words that nobody saw when the comment was written, so it asks for nothing.
    if context.and_then(|context| context.comment.as_ref()).is_some_and(|comment| comment.edited) {
        super::say("Nothing to do: the comment was edited, and only a new one gives a command.");
        return Some(EXIT_SUCCESS);
    }
    let (comment, context) = (order.comment?, context?);
    let why = match order.said {
        Said::Nothing | Said::Command(Command::Fix | Command::Retry | Command::Escalate) => return None,
        // Commands of a backlog, which no event starts.
        Said::Command(command @ (Command::Pause | Command::Resume | Command::Remove { .. })) => {
            format!("Nothing to do: this job works on no backlog, for `{command}`.")
        }
        Said::Command(command @ (Command::Stop | Command::Add { .. } | Command::Budget { .. })) => {
            format!("Nothing to do: no run is under way for `{command}`. Comment `/upshift fix` to start one.")
        }
        Said::Unknown => "Nothing to do: the comment is not a command that upshift knows.".to_owned(),
    };
    let github = forge::token(environment)
        .and_then(|token| forge::client(environment, &context.api_url, &context.repository, token).ok());
    // Without a token the answer stands in the job's log alone.
    let Some(github) = github else {
        super::say(&why);
        return Some(EXIT_SUCCESS);
    };
    let (said, reaction) = match heard(&github, order, context, environment).await {
        // No reaction: the earlier run has given one.
        Ok(Heard::Before) => ("Nothing to do: an earlier run has answered this comment.".to_owned(), None),
        Ok(Heard::AtWork) => ("Nothing to do here: the run under way reads comments by itself.".to_owned(), None),
        Ok(Heard::Ended(0)) => (why, Some(Reaction::Confused)),
        Ok(Heard::Ended(ended)) => {
            let waits = words::count(u64::try_from(ended).unwrap_or(u64::MAX), "run");
            (
                format!("✔ Stopped: {waits} of this pull request that waited will not continue."),
                Some(Reaction::ThumbsUp),
            )
        }
        Err(error) => {
            (format!("⚠ whether a run waits could not be looked up: {error}\n{why}"), Some(Reaction::Confused))
        }
    };
    super::say(&said);
    if let Some(reaction) = reaction
        && let Err(error) = github.react(comment, reaction).await
    {
        super::say(&format!("⚠ the comment could not be answered: {error}"));
    }
    // A comment that starts nothing is no failure of the job.
    Some(EXIT_SUCCESS)
}

/// Answers a command for a run where one is under way without a job.
pub(super) async fn is_under_way(order: &Order, context: &CiContext, environment: &Environment) {
    react(order, context, environment, Reaction::Eyes).await;
}

/// Answers a command for a run where the pull request may have no more.
pub(super) async fn is_refused(comment: Option<u64>, github: &GitHub) {
    let Some(comment) = comment else { return };
    if let Err(error) = github.react(comment, Reaction::ThumbsDown).await {
        super::say(&format!("⚠ the comment could not be answered: {error}"));
    }
}

async fn react(order: &Order, context: &CiContext, environment: &Environment, reaction: Reaction) {
    let github = forge::token(environment)
        .and_then(|token| forge::client(environment, &context.api_url, &context.repository, token).ok());
    let (Some(comment), Some(github)) = (order.comment(), github) else { return };
    if let Err(error) = github.react(comment, reaction).await {
        super::say(&format!("⚠ the comment could not be answered: {error}"));
    }
}

/// The standing of our runs towards the command.
async fn heard(
    github: &GitHub,
    order: &Order,
    context: &CiContext,
    environment: &Environment,
) -> Result<Heard, GithubError> {
    let (Some(number), Some(comment)) = (context.pull_request_number(), order.comment()) else {
        return Ok(Heard::Ended(0));
    };
    let identity = github.identity(forge::token_kind(environment)).await?;
    // Every report of the pull request's: the command names none.
    let slot = CommentSlot { number, marker: MARKER, identity: &identity };
    halting::halt(github, slot, comment, order.is(Command::Stop), context.run.id).await
}

impl Order {
    /// Whether it is this command.
    pub(super) fn is(&self, command: Command) -> bool {
        self.said == Said::Command(command)
    }

    /// Whether it asks for a run.
    pub(super) fn starts(&self) -> bool {
        match self.said {
            Said::Command(Command::Fix | Command::Retry | Command::Escalate) => true,
            Said::Command(
                Command::Stop
                | Command::Add { .. }
                | Command::Budget { .. }
                | Command::Pause
                | Command::Resume
                | Command::Remove { .. },
            )
            | Said::Nothing
            | Said::Unknown => false,
        }
    }

    /// The comment, where it gives a command.
    pub(super) fn comment(&self) -> Option<u64> {
        self.comment.filter(|_| matches!(self.said, Said::Command(_)))
    }

    /// From which comment on the run listens: what came after the one that started it, or after its beginning.
    pub(super) fn hearing(&self, state: &RunState, clock: &dyn Clock) -> Hearing {
        let heard = state.runs.as_ref().map_or(0, |runs| runs.heard);
        // A job can wait behind another one for a day, and hears what was said in that time.
        let queued = if self.comment.is_some() { QUEUED_MS } else { 0 };
        let since = Timestamp::from_unix_ms(clock.unix_ms().saturating_sub(queued)).0;
        // The API takes whole seconds.
        let since = since.split('.').next().unwrap_or_default().to_owned() + "Z";
        Hearing { since, last: heard.max(self.comment.unwrap_or(0)), added: 0 }
    }

    /// Begins on the second tier where the next one was asked for.
    pub(super) fn place(&self, state: &mut RunState) {
        // With one tier there is none above it, and the run begins as ever.
        if self.is(Command::Escalate) && state.plan.tiers.len() > 1 {
            state.position = Position::at(1, &state.rules());
        }
    }

    /// The event that answers the comment. `None` where it gives no command.
    pub(super) fn answer(&self) -> Option<Event> {
        let (Some(comment), Said::Command(command)) = (self.comment, self.said) else { return None };
        let said = "this run".to_owned();
        let answer = CommandAnswer::UnderWay;
        Some(Event::CommandAnswered {
            comment,
            by: self.by.clone(),
            command: Some(command),
            answer,
            said,
            tier_index: 0,
        })
    }
}
