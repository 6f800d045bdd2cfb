//! Why a run may not happen: the reasons, their sentences, and which of them ask nobody to do anything.

use std::fmt;

use crate::domain::ci::RepoName;
use crate::domain::units::CommitSha;
use crate::report::words::count;

/// Why a run may not happen. Its [`Display`](fmt::Display) is a sentence with how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The event is `pull_request_target`.
    PullRequestTarget,
    /// The head is in another repository.
    Fork {
        /// The repository of the head.
        head: RepoName,
        /// Ours.
        base: RepoName,
    },
    /// The repository of the head is gone.
    HeadRepositoryGone,
    /// The head is a commit of the merge queue's.
    MergeQueue {
        /// Its branch, foreign text.
        branch: String,
    },
    /// Nobody is named who caused the event.
    Nobody,
    /// Somebody who may not write had a hand in it.
    Stranger {
        /// The login.
        login: String,
        /// Our repository.
        repository: RepoName,
    },
    /// A bot that is not admitted had a hand in it.
    Bot {
        /// Its login.
        login: String,
    },
    /// A name in `allowed-bots` that the forge does not know as a bot's.
    BotUnproven {
        /// The name.
        login: String,
    },
    /// An allowed bot had a hand in something that is not its own pull request.
    BotElsewhere {
        /// Its login.
        login: String,
    },
    /// An allowed bot's pull request has so many commits that not all can be looked at.
    BotHistory {
        /// Its login.
        login: String,
    },
    /// An allowed bot's pull request holds a commit of somebody who may not write.
    BotCarries {
        /// The bot's login.
        login: String,
        /// The commit.
        commit: CommitSha,
        /// The account it belongs to, where the forge knows.
        author: Option<String>,
    },
    /// The pull request has the label that keeps upshift away.
    SkipLabel {
        /// The label.
        label: String,
    },
    /// The pull request was merged or closed.
    NotOpen {
        /// Its number.
        number: u64,
    },
    /// CI ran for a pull request, and its head has no open one.
    NoneOpen {
        /// The branch of the head, which is foreign text.
        branch: String,
    },
    /// The head of the pull request is another commit than the event's.
    HeadMoved {
        /// The event's commit.
        from: CommitSha,
        /// The head as it is now.
        to: CommitSha,
    },
    /// The same where upshift itself pushed that head meanwhile.
    MovedByUs {
        /// The event's commit.
        from: CommitSha,
        /// The head as it is now.
        to: CommitSha,
    },
    /// The head is a commit of upshift's own.
    OwnCommit,
    /// The event wakes runs that wait, and none waits for its commit.
    WakesOnly {
        /// The event's name.
        event: String,
    },
    /// The pull request has had all the runs that it may have.
    AttemptsUsedUp {
        /// The pull request.
        number: u64,
        /// How many runs it had.
        attempts: u32,
        /// `max-attempts-per-pr`.
        max: u32,
    },
    /// Nobody knows how many runs the pull request had.
    AttemptsUnknown {
        /// The pull request.
        number: u64,
        /// Why not.
        why: String,
    },
    /// There is no token to ask the forge with.
    NoToken,
    /// The forge could not be asked.
    Unknown {
        /// The forge's or the network's message, foreign text.
        why: String,
    },
}

impl Refusal {
    /// Whether nothing is wrong and nobody has to do anything: the event asked for a run that there is no reason for, or that
    /// somebody decided against. The step ends 0 with a notice then, unless `fail-on` names `refused` (DESIGN §2.1).
    #[must_use]
    pub const fn is_harmless(&self) -> bool {
        // The first arm is the ordinary course of things, or somebody's decision. The second wants something mended.
        match self {
            Self::Bot { .. }
            | Self::BotElsewhere { .. }
            | Self::SkipLabel { .. }
            | Self::NotOpen { .. }
            | Self::NoneOpen { .. }
            | Self::HeadMoved { .. }
            | Self::MovedByUs { .. }
            | Self::OwnCommit
            | Self::WakesOnly { .. }
            | Self::MergeQueue { .. }
            | Self::AttemptsUsedUp { .. } => true,
            Self::PullRequestTarget
            | Self::Fork { .. }
            | Self::HeadRepositoryGone
            | Self::Nobody
            | Self::Stranger { .. }
            | Self::BotUnproven { .. }
            | Self::BotHistory { .. }
            | Self::BotCarries { .. }
            | Self::AttemptsUnknown { .. }
            | Self::NoToken
            | Self::Unknown { .. } => false,
        }
    }
}

fn wakes_only(f: &mut fmt::Formatter<'_>, event: &str) -> fmt::Result {
    write!(
        f,
        "`{event}` starts no run, and none waits for this commit\n→ Fix: start one by `workflow_run`, a label or a comment, if it should be fixed"
    )
}

fn none_open(f: &mut fmt::Formatter<'_>, branch: &str) -> fmt::Result {
    write!(
        f,
        "CI ran for a pull request from `{branch}`, and there is no open one\n→ Fix: reopen it, if there is more to do; a branch without a \
         pull request is mended after CI of a push"
    )
}

fn moved_by_us(f: &mut fmt::Formatter<'_>, (from, to): (&CommitSha, &CommitSha)) -> fmt::Result {
    write!(
        f,
        "upshift itself has pushed {to} on top of {from}, which this was triggered for\n→ Fix: read its report in the pull request; \
         `/upshift retry` in a comment starts another run"
    )
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PullRequestTarget => f.write_str(
                "`pull_request_target` runs with the base's secrets over code that anybody can send\n→ Fix: use `on: pull_request`",
            ),
            Self::Fork { head, base } => write!(
                f,
                "the pull request comes from the fork {head}: its code must not run beside the secrets of {base}\n→ Fix: run upshift on \
                 branches of the repository itself"
            ),
            Self::HeadRepositoryGone => f.write_str(
                "the repository that the pull request comes from is gone\n→ Fix: run upshift on branches of the repository itself",
            ),
            Self::MergeQueue { branch } => write!(
                f,
                "`{branch}` is a branch of the merge queue, which GitHub deletes: a fix belongs to the pull request\n→ Fix: nothing; to have the pull request fixed, label it `upshift` or comment `/upshift fix`"
            ),
            Self::Nobody => f.write_str(
                "the actor of this event is unknown\n→ Fix: run upshift in a job of a workflow, with the runner's GITHUB_ACTOR",
            ),
            Self::Stranger { login, repository } => write!(
                f,
                "{login} may not write to {repository}, but was involved\n→ Fix: let somebody with write access start the run"
            ),
            Self::Bot { login } => write!(
                f,
                "the bot {login} was involved, and strangers can make bots act\n→ Fix: let a person with write \
                 access start the run, by a label or a comment; for a bot's own pull requests, name it in `allowed-bots`"
            ),
            Self::BotUnproven { login } => write!(
                f,
                "`allowed-bots` names {login}, which the Git host does not know as a bot\n→ Fix: write the name as the Git host shows it, such as `renovate[bot]`; `upshift doctor` looks them up"
            ),
            Self::BotElsewhere { login } => write!(
                f,
                "the bot {login} was involved in something other than its own pull request\n→ Fix: let a person with write \
                 access start the run, by a label or a comment"
            ),
            Self::BotHistory { login } => write!(
                f,
                "the pull request of {login} has too many commits to check the author of each\n→ Fix: let a person with write access \
                 start the run, by a label or a comment"
            ),
            Self::BotCarries { login, commit, author } => carries(f, login, commit, author.as_deref()),
            Self::SkipLabel { label } => {
                write!(f, "the pull request has the label `{label}`\n→ Fix: remove the label")
            }
            Self::NotOpen { number } => {
                write!(
                    f,
                    "pull request {number} is no longer open\n→ Fix: reopen it, if there is more to do"
                )
            }
            Self::NoneOpen { branch } => none_open(f, branch),
            Self::MovedByUs { from, to } => moved_by_us(f, (from, to)),
            Self::HeadMoved { from, to } => write!(
                f,
                "the head of the pull request moved since this was triggered, from {from} to {to}\n→ Fix: nothing; the newer commit \
                 has a run of its own"
            ),
            Self::OwnCommit => f.write_str(
                "the commit is upshift's own: it does not run on its own fixes\n→ Fix: put the label or the comment that starts it, \
                 if it should try once more",
            ),
            Self::WakesOnly { event } => wakes_only(f, event),
            Self::AttemptsUsedUp { number, attempts, max } => write!(
                f,
                "pull request #{number} has had {}, and `max-attempts-per-pr` is {max}\n→ Fix: comment `/upshift retry` \
                 for one more, or raise `max-attempts-per-pr`",
                count(u64::from(*attempts), "run")
            ),
            Self::AttemptsUnknown { number, why } => write!(
                f,
                "how many runs pull request #{number} has had cannot be determined, so `max-attempts-per-pr` counts as used up: {why}\n→ \
                 Fix: comment `/upshift retry` for one more run"
            ),
            Self::NoToken => f.write_str(
                "there is no token to check who may write here\n→ Fix: give the step the input `github-token`, or GITHUB_TOKEN",
            ),
            Self::Unknown { why } => write!(f, "who may start this cannot be determined: {why}"),
        }
    }
}

fn carries(f: &mut fmt::Formatter<'_>, bot: &str, commit: &CommitSha, author: Option<&str>) -> fmt::Result {
    let whose = author
        .map_or_else(|| "belongs to no account".to_owned(), |author| format!("is by {author}, who may not write here"));
    write!(
        f,
        "the pull request of {bot} contains the commit {commit}, which {whose}\n→ Fix: look at the commit, then let a person with write \
         access start the run, by a label or a comment"
    )
}
