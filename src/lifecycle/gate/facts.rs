//! Facts that the gate has to ask the forge for: who may write, and how the pull request stands now.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::ci::{Account, CiContext, PullRequest, PullRequestRef};
use crate::github::{ACTIONS_BOT, Commit, GitHub, GithubError, Pull, PullState, RepoRole};

/// The forge's name for the accounts of Apps.
const BOT: &str = "Bot";

/// The facts found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The pull request as it is now.
    pub pull: Option<Pull>,
    /// The roles of everybody whom the gate asks about, by login.
    pub roles: BTreeMap<String, RepoRole>,
    /// The allowed bots among those who had a hand in it that the forge knows as bots.
    pub proven_bots: BTreeSet<String>,
    /// The commits of the pull request, if an allowed bot had a hand in it and all of them can be looked at.
    pub commits: Option<Vec<Commit>>,
    /// The message of the head commit.
    pub head_message: Option<String>,
    /// The message of the pull request's head where that is another commit by now.
    pub newer_message: Option<String>,
}

/// Everybody who had a hand in the trigger. Each of them must be allowed to write.
#[must_use]
pub fn people(context: &CiContext) -> Vec<&Account> {
    let upstream = context.upstream.as_ref();
    let all = [
        context.actor.as_ref(),
        context.triggering_actor.as_ref(),
        upstream.and_then(|run| run.actor.as_ref()),
        upstream.and_then(|run| run.triggering_actor.as_ref()),
        context.comment.as_ref().and_then(|comment| comment.author.as_ref()),
    ];
    let mut people: Vec<&Account> = Vec::new();
    for account in all.into_iter().flatten() {
        match people.iter_mut().find(|known| known.login.eq_ignore_ascii_case(&account.login)) {
            // One field may call the account a bot and another a person: it is treated as the bot, to which more is refused.
            Some(known) if account.is_bot() => *known = account,
            Some(_) => {}
            None => people.push(account),
        }
    }
    people
}

/// The most commits of a pull request that the server names. With that many, some may be missing.
const MAX_COMMITS: usize = 250;
/// The most people whose commits on a bot's pull request are asked about.
const MAX_AUTHORS: usize = 10;

/// Asks: one request for each person, one or two for the pull request, one for its head. For an allowed bot, one for its account, one for
/// its commits and one for each other author of them.
///
/// # Errors
/// Any [`GithubError`]: what cannot be found out is not trusted.
pub async fn look(github: &GitHub, context: &CiContext, allowed_bots: &[String]) -> Result<Facts, GithubError> {
    let mut facts = Facts::default();
    for person in people(context).into_iter().filter(|person| !person.is_bot()) {
        facts.roles.insert(person.login.clone(), github.role_of(&person.login).await?);
    }
    facts.pull = match &context.pull_request {
        // Asked all the same: what the event says of it is as old as the event.
        PullRequestRef::Known(pull) => Some(github.pull(pull.number).await?),
        // The event of a comment has no head in it.
        PullRequestRef::Number(number) => Some(github.pull(*number).await?),
        PullRequestRef::Head => found_by_head(github, context).await?,
        PullRequestRef::None => None,
    };
    look_at_bots(github, context, allowed_bots, &mut facts).await?;
    let head = context.head_sha.as_ref().or_else(|| facts.pull.as_ref().map(|pull| &pull.head.sha));
    facts.head_message = match (&context.head_message, head) {
        (Some(message), _) => Some(message.clone()),
        (None, Some(head)) => Some(github.commit(&head.0).await?.message),
        (None, None) => None,
    };
    let newer = facts.pull.as_ref().map(|pull| &pull.head.sha).filter(|newer| head.is_some_and(|head| head != *newer));
    if let Some(newer) = newer {
        facts.newer_message = Some(github.commit(&newer.0).await?.message);
    }
    Ok(facts)
}

/// Whether a bot is to be looked up: it may start a run if what is found speaks for it.
pub(super) fn is_candidate(context: &CiContext, bot: &Account, allowed: &[String]) -> bool {
    // What an event says of a comment is never a bot's to decide, so nothing has to be asked.
    bot.is_bot() && bot.login != ACTIONS_BOT && context.comment.is_none() && allowed.contains(&bot.login)
}

/// Whether allowed bots are what their names say, and whose the commits on the pull request are.
async fn look_at_bots(
    github: &GitHub,
    context: &CiContext,
    allowed: &[String],
    facts: &mut Facts,
) -> Result<(), GithubError> {
    for bot in people(context).into_iter().filter(|person| is_candidate(context, person, allowed)) {
        let account = github.account(&bot.login).await?;
        if account.is_some_and(|account| account.login == bot.login && account.kind == BOT) {
            facts.proven_bots.insert(bot.login.clone());
        }
    }
    let Some(pull) = facts.pull.as_ref().filter(|_| !facts.proven_bots.is_empty()) else { return Ok(()) };
    let commits = github.pull_commits(pull.number).await?;
    // Left unknown, which the gate refuses: a stranger's commit may be among those that are missing.
    if commits.len() >= MAX_COMMITS {
        return Ok(());
    }
    let authors = commits.iter().filter_map(|commit| commit.author.as_ref()).filter(|author| !author.is_bot());
    let authors: BTreeSet<String> = authors.map(|author| author.login.clone()).collect();
    // Whoever is not asked about may not write, as far as is known.
    for login in authors.into_iter().take(MAX_AUTHORS) {
        let role = github.role_of(&login).await?;
        facts.roles.insert(login, role);
    }
    facts.commits = Some(commits);
    Ok(())
}

/// The open pull request of the event's branch, if it is one of this repository. Where none is open, the one that was closed: an event lists
/// only open ones, so that one which was closed before CI ended is not named, and yet the event is about it.
async fn found_by_head(github: &GitHub, context: &CiContext) -> Result<Option<Pull>, GithubError> {
    let Some(branch) = &context.head_branch else { return Ok(None) };
    let open = github.open_pulls_of(&context.repository.owner, branch).await?;
    if let Some(open) = open.into_iter().find(|pull| pull.state == PullState::Open) {
        return Ok(Some(open));
    }
    // A suite or a status tells no event: the branch may be a long-lived one, of which pull requests were merged before.
    if context.upstream.is_none() {
        return Ok(None);
    }
    let closed = github.closed_pulls_of(&context.repository.owner, branch).await?;
    // A branch may have had several. The one that brought this commit is meant, and else the newest.
    let nearness = |pull: &Pull| (Some(&pull.head.sha) == context.head_sha.as_ref(), pull.number);
    Ok(closed.into_iter().max_by_key(nearness))
}

/// Fills in what the payload did not tell, and pins the head to what was looked at (GITHUB 35).
pub fn pin(context: &mut CiContext, facts: &Facts) {
    context.head_message = facts.head_message.clone();
    let Some(pull) = &facts.pull else { return };
    // The event's own commit stays where it has one: `judge` compares it to the head as it is now.
    context.head_sha.get_or_insert_with(|| pull.head.sha.clone());
    context.head_branch = Some(pull.head.branch.clone());
    if let PullRequestRef::Known(_) = context.pull_request {
        return;
    }
    context.pull_request = PullRequestRef::Known(Box::new(PullRequest {
        number: pull.number,
        head_sha: context.head_sha.clone().unwrap_or_else(|| pull.head.sha.clone()),
        head_branch: pull.head.branch.clone(),
        head_repository: pull.head.repository.clone(),
        base_sha: pull.base.sha.clone(),
        base_branch: pull.base.branch.clone(),
        author: None,
        labels: pull.labels.clone(),
        draft: pull.draft,
    }));
}
