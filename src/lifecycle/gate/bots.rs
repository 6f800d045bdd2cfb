//! Bots that may start a run: by their exact name, proven by the forge, and only on pull requests of their own.
//!
//! A bot does what it is told, sometimes by strangers: to comment, to label, to copy somebody's branch. So its word counts only
//! for what it made itself, and never in a comment.

use std::collections::BTreeMap;

use super::Refusal;
use super::facts::{Facts, is_candidate};
use crate::domain::ci::{Account, CiContext};
use crate::domain::units::CommitSha;
use crate::github::{ACTIONS_BOT, Commit, RepoRole};

/// Why a run may not happen by the hand of a bot.
pub(super) fn refusal(
    context: &CiContext,
    bot: &Account,
    facts: &Facts,
    allowed: &[String],
    delivered: Option<&CommitSha>,
) -> Option<Refusal> {
    let login = bot.login.clone();
    // Only workflows of the same repository act as this one; of a comment it may have the job run again, not write it.
    if login == ACTIONS_BOT && (context.comment.is_none() || only_runs_again(context)) {
        return None;
    }
    if !is_candidate(context, bot, allowed) {
        return Some(Refusal::Bot { login });
    }
    if !facts.proven_bots.contains(&login) {
        return Some(Refusal::BotUnproven { login });
    }
    let is_its_own = |pull: &&crate::github::Pull| pull.author.as_ref().is_some_and(|author| author.login == login);
    if facts.pull.as_ref().filter(is_its_own).is_none() {
        return Some(Refusal::BotElsewhere { login });
    }
    let Some(commits) = &facts.commits else { return Some(Refusal::BotHistory { login }) };
    // The run's own commit is by whatever account its token belongs to, so it needs nobody to vouch for it.
    let foreign = commits.iter().filter(|commit| Some(&commit.sha) != delivered);
    foreign.into_iter().find(|commit| !is_vouched_for(commit, &login, &facts.roles)).map(|commit| Refusal::BotCarries {
        login,
        commit: commit.sha.clone(),
        author: commit.author.as_ref().map(|author| author.login.clone()),
    })
}

/// Whether the workflow's own bot did no more than to have somebody else's job run again.
#[must_use]
pub fn only_runs_again(context: &CiContext) -> bool {
    let is_it = |account: Option<&Account>| account.is_some_and(|account| account.login == ACTIONS_BOT);
    let author = context.comment.as_ref().and_then(|comment| comment.author.as_ref());
    // When a run is started again, GitHub keeps its `actor` and names the one who did it as `triggering_actor`.
    context.run.attempt > 1
        && is_it(context.triggering_actor.as_ref())
        && !is_it(context.actor.as_ref())
        && !is_it(author)
}

/// Whether a commit is the bot's, a workflow's of this repository, or somebody's who may write here.
fn is_vouched_for(commit: &Commit, bot: &str, roles: &BTreeMap<String, RepoRole>) -> bool {
    // The address in the commit belongs to no account, so anybody may have written it.
    let Some(author) = &commit.author else { return false };
    let login = author.login.as_str();
    login == bot || login == ACTIONS_BOT || (!author.is_bot() && roles.get(login) >= Some(&RepoRole::Write))
}
