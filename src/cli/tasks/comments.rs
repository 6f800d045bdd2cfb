//! Comments in the conversation of the job that works off a backlog: the orders among them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::environment::Environment;
use super::super::{context, forge};
use crate::domain::clock::{Clock, Timestamp};
use crate::domain::command::Command;
use crate::domain::stop::Stop;
use crate::domain::units::MicroUsd;
use crate::github::{GitHub, GithubError, Reaction};
use crate::lifecycle::rank_of;
use crate::policy::command::{self, Rank, Said};
use crate::policy::course::Order;

/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the conversation is read, in milliseconds. Unchanged answers cost nothing (GITHUB.md 26).
const LOOK_MS: u64 = 15_000;
/// How long nobody looks after a look that failed.
const PAUSE_MS: u64 = 60_000;

/// Listens to a conversation.
#[derive(Debug)]
pub(super) struct CommentListener {
    github: GitHub,
    number: u64,
    since: String,
    last: u64,
    rhythm: Rhythm,
    ranks: BTreeMap<String, Rank>,
    clock: Arc<dyn Clock>,
    /// The first trouble.
    trouble: Option<String>,
}

/// The times of the looks.
#[derive(Debug, Default)]
struct Rhythm {
    not_before_ms: u64,
}

impl Rhythm {
    /// Whether it is time for a look, which is taken then.
    const fn is_time(&mut self, now: u64) -> bool {
        let is_time = now >= self.not_before_ms;
        if is_time {
            self.not_before_ms = now.saturating_add(LOOK_MS);
        }
        is_time
    }

    /// A look failed.
    const fn failed(&mut self, now: u64) {
        self.not_before_ms = now.saturating_add(PAUSE_MS);
    }
}

/// A comment that is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    comment: u64,
    pub(super) wish: Wish,
}

/// The wish of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// An order to the process.
    Order(Order),
    /// More money for all tasks together.
    Budget(MicroUsd),
    /// Something that is under way already.
    UnderWay,
    /// Something that a backlog does not do, or that its author may not ask for.
    Refused,
    /// No command.
    Unknown,
}

/// The end of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Refused,
}

impl CommentListener {
    /// A listener of the job that we are, where it is about a conversation and has a token.
    pub(super) fn of(environment: &Environment, clock: &Arc<dyn Clock>, stop: &Stop) -> Option<Self> {
        let context = context::read(environment).ok().flatten()?;
        let number = context.pull_request_number()?;
        let token = forge::token(environment)?;
        let place = (context.api_url.as_str(), &context.repository);
        // Listening is a comfort: a backlog without it still hears the commands of this machine.
        let github = forge::connect(environment, place, token, Arc::clone(clock), stop.clone()).ok()?;
        let now = Timestamp::from_unix_ms(clock.unix_ms()).0;
        // The API takes whole seconds. A comment of this very second is then seen, and not missed.
        let since = now.split('.').next().unwrap_or_default().to_owned() + "Z";
        let last = context.comment.as_ref().map_or(0, |comment| comment.id);
        let (clock, ranks) = (Arc::clone(clock), BTreeMap::new());
        Some(Self { github, number, since, last, rhythm: Rhythm::default(), ranks, clock, trouble: None })
    }

    /// The wishes since the last look, where it is time to look.
    pub(super) async fn listen(&mut self) -> Vec<Asked> {
        let now = self.clock.monotonic_ms();
        if !self.rhythm.is_time(now) {
            return Vec::new();
        }
        match tokio::time::timeout(PATIENCE, self.look()).await {
            Ok(Ok(asked)) => return asked,
            Ok(Err(error)) => self.complain(error.to_string()),
            Err(_late) => self.complain("the Git host did not answer in time".to_owned()),
        }
        // A host in trouble is left alone for longer, and the backlog never waits for it.
        self.rhythm.failed(now);
        Vec::new()
    }

    /// The first trouble, once.
    pub(super) fn trouble(&mut self) -> Option<String> {
        // An empty text stays behind, so that later troubles are not told.
        self.trouble.as_mut().map(std::mem::take).filter(|trouble| !trouble.is_empty())
    }

    fn complain(&mut self, trouble: String) {
        self.trouble.get_or_insert(trouble);
    }

    async fn look(&mut self) -> Result<Vec<Asked>, GithubError> {
        // The same question again and again, so that "nothing new" costs nothing.
        let mut comments = self.github.issue_comments(self.number, Some(&self.since)).await?;
        // `since` works by the last change, so edited comments of long ago come again.
        comments.retain(|comment| comment.id.0 > self.last);
        comments.sort_by_key(|comment| comment.id);
        let seen = comments.last().map_or(self.last, |comment| comment.id.0);
        let mut asked = Vec::new();
        for comment in comments {
            let said = command::read(&comment.body);
            // The comments of bots, our own reports among them, give no commands.
            let person = comment.user.as_ref().filter(|user| !user.is_bot() && said != Said::Nothing);
            if let Some(user) = person {
                let rank = match self.ranks.get(&user.login) {
                    Some(rank) => *rank,
                    // Asked only for somebody who gives a command: each question is a request.
                    None => rank_of(self.github.role_of(&user.login).await?),
                };
                self.ranks.insert(user.login.clone(), rank);
                let is_edited = comment.updated_at != comment.created_at;
                // Nothing is answered to strangers, or anybody could have the bot write here.
                if rank > Rank::Stranger {
                    asked.push(Asked { comment: comment.id.0, wish: wish(said, rank, is_edited) });
                }
            }
        }
        // Only when all was read: after a failure the same comments are read once more.
        self.last = seen;
        Ok(asked)
    }

    /// Answers a comment by a reaction. A failure to react is no trouble of the backlog's.
    pub(super) async fn answer(&mut self, asked: &Asked, answer: Answer) {
        let reaction = match (asked.wish, answer) {
            (Wish::Unknown, _) => Reaction::Confused,
            (Wish::UnderWay, _) => Reaction::Eyes,
            (_, Answer::Done) => Reaction::ThumbsUp,
            (_, Answer::Refused) => Reaction::ThumbsDown,
        };
        match tokio::time::timeout(PATIENCE, self.github.react(asked.comment, reaction)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.complain(error.to_string()),
            Err(_late) => self.complain("the Git host did not answer in time".to_owned()),
        }
    }
}

/// The wish of a comment to a backlog.
fn wish(said: Said, rank: Rank, is_edited: bool) -> Wish {
    match said {
        // Whoever edits one may not be who wrote it.
        Said::Command(_) if is_edited => Wish::Unknown,
        Said::Command(command) if !command::may(rank, command) => Wish::Refused,
        Said::Command(Command::Pause) => Wish::Order(Order::Pause),
        Said::Command(Command::Resume) => Wish::Order(Order::Resume),
        Said::Command(Command::Stop) => Wish::Order(Order::Stop),
        Said::Command(Command::Add { iterations }) => Wish::Order(Order::Add(iterations)),
        Said::Command(Command::Remove { iterations }) => Wish::Order(Order::Remove(iterations)),
        Said::Command(Command::Budget { more }) => Wish::Budget(more),
        Said::Command(Command::Fix | Command::Retry) => Wish::UnderWay,
        // Each task begins on its own ladder, so there is no tier of a backlog to leave.
        Said::Command(Command::Escalate) => Wish::Refused,
        Said::Unknown | Said::Nothing => Wish::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_read_every_fifteen_seconds_and_after_a_failure_in_a_minute() {
        let mut rhythm = Rhythm::default();
        let mut looks = Vec::new();
        // As often as the work on a task looks for orders.
        for now in (0..120_000).step_by(250) {
            if rhythm.is_time(now) {
                looks.push(now / 1_000);
                if now == 45_000 {
                    rhythm.failed(now);
                }
            }
        }
        assert_eq!(looks, [0, 15, 30, 45, 105]);
    }
}
