//! Bots that a repository allows, and what strangers would have them do.

use super::*;
use crate::github::{Commit, User};

const RENOVATE: &str = "renovate[bot]";

fn bot(login: &str) -> Account {
    Account { login: login.to_owned(), kind: AccountKind::Bot }
}

fn account(login: &str) -> User {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    User { login: login.to_owned(), kind: kind.to_owned() }
}

fn commit(author: Option<&str>) -> Commit {
    Commit { sha: sha(), message: "bump".to_owned(), author: author.map(account) }
}

/// After red CI of renovate's own pull request.
fn red() -> CiContext {
    red_of(RENOVATE)
}

/// The same where another bot pushed.
fn red_of(login: &str) -> CiContext {
    let mut context = CiContext { actor: Some(bot(login)), ..after(Some("acme/shop")) };
    if let Some(run) = &mut context.upstream {
        run.actor = Some(bot(login));
    }
    context
}

fn its_own(authors: &[Option<&str>]) -> Facts {
    Facts {
        pull: Some(Pull { author: Some(account(RENOVATE)), ..found(&[]) }),
        proven_bots: [RENOVATE.to_owned()].into(),
        commits: Some(authors.iter().map(|author| commit(*author)).collect()),
        ..facts(&[("ada", RepoRole::Write), ("eve", RepoRole::Read)])
    }
}

fn judged(context: &CiContext, facts: &Facts) -> Option<Refusal> {
    let allowed_bots = &[RENOVATE.to_owned()];
    judge(context, facts, Rules { allowed_bots, ..RULES }, Stage::Begins)
}

#[test]
fn an_allowed_bot_starts_a_run_on_its_own_pull_request() {
    assert_eq!(judged(&red(), &its_own(&[Some(RENOVATE)])), None);
    let helped = its_own(&[Some(RENOVATE), Some("ada"), Some(ACTIONS_BOT)]);
    assert_eq!(judged(&red(), &helped), None, "those who may write may help it");
}

#[test]
fn nobody_is_allowed_who_is_not_named_to_the_letter() {
    for login in ["dependabot[bot]", "Renovate[bot]", "renovate", "renovate-evil[bot]"] {
        let refused = Some(Refusal::Bot { login: login.to_owned() });
        assert_eq!(judged(&red_of(login), &its_own(&[Some(RENOVATE)])), refused);
    }
    assert_eq!(begins(&red(), &its_own(&[Some(RENOVATE)]), "x"), Some(Refusal::Bot { login: RENOVATE.to_owned() }));
}

#[test]
fn a_bot_that_a_stranger_had_comment_starts_nothing() {
    let mut by_the_bot = comment_by("ada");
    by_the_bot.actor = Some(bot(RENOVATE));
    let refused = Some(Refusal::Bot { login: RENOVATE.to_owned() });
    assert_eq!(judged(&by_the_bot, &its_own(&[Some(RENOVATE)])), refused);
    let mut said = comment_by(RENOVATE);
    said.actor = Some(person("ada"));
    assert_eq!(judged(&said, &its_own(&[Some(RENOVATE)])), refused);
}

#[test]
fn a_stranger_beside_an_allowed_bot_stays_a_stranger() {
    let mut again = red();
    again.triggering_actor = Some(person("eve"));
    let refused = judged(&again, &its_own(&[Some(RENOVATE)]));
    assert!(matches!(refused, Some(Refusal::Stranger { login, .. }) if login == "eve"));
}

#[test]
fn a_name_that_the_forge_does_not_know_as_a_bot_is_not_believed() {
    let facts = Facts { proven_bots: [].into(), ..its_own(&[Some(RENOVATE)]) };
    assert_eq!(judged(&red(), &facts), Some(Refusal::BotUnproven { login: RENOVATE.to_owned() }));
}

#[test]
fn an_allowed_bot_vouches_for_nobody_elses_pull_request() {
    let elsewhere = Some(Refusal::BotElsewhere { login: RENOVATE.to_owned() });
    let mut facts = its_own(&[Some(RENOVATE)]);
    for author in [Some("ada"), Some("eve"), Some("dependabot[bot]"), None] {
        facts.pull = Some(Pull { author: author.map(account), ..found(&[]) });
        assert_eq!(judged(&red(), &facts), elsewhere, "{author:?}");
    }
    facts.pull = None;
    assert_eq!(judged(&red(), &facts), elsewhere, "a branch without a pull request");
}

#[test]
fn a_strangers_commit_on_the_bots_branch_is_refused_as_harmful() {
    for author in [Some("eve"), Some("mallory"), Some("backport[bot]"), None] {
        let refused = judged(&red(), &its_own(&[Some(RENOVATE), author]));
        assert!(matches!(&refused, Some(why @ Refusal::BotCarries { .. }) if !why.is_harmless()), "{author:?}");
    }
    let unseen = Facts { commits: None, ..its_own(&[]) };
    assert_eq!(judged(&red(), &unseen), Some(Refusal::BotHistory { login: RENOVATE.to_owned() }));
}

#[test]
fn a_fork_of_an_allowed_bot_is_a_fork() {
    let mut facts = its_own(&[Some(RENOVATE)]);
    if let Some(pull) = &mut facts.pull {
        pull.head.repository = Some(repo("mallory/shop"));
    }
    assert!(matches!(judged(&red(), &facts), Some(Refusal::Fork { .. })));
}

#[test]
fn what_a_run_delivered_itself_is_no_strangers() {
    let ours = CommitSha("f".repeat(40));
    let mut facts = its_own(&[Some(RENOVATE)]);
    let mut made = commit(None);
    made.sha = ours.clone();
    facts.commits.get_or_insert_default().push(made);
    if let Some(pull) = &mut facts.pull {
        pull.head.sha = ours.clone();
    }
    let allowed_bots = &[RENOVATE.to_owned()];
    let goes_on = |delivered| {
        let rules = Rules { skip_label: "x", allowed_bots, ..RULES };
        judge(&red(), &facts, rules, Stage::GoesOn { delivered })
    };
    assert_eq!(goes_on(Some(&ours)), None);
    assert!(matches!(goes_on(None), Some(Refusal::BotCarries { .. })));
}

#[test]
fn the_workflows_own_bot_may_have_a_comments_job_run_again_and_nothing_more() {
    let by_ada = CiContext { actor: Some(person("ada")), ..comment_by("ada") };
    let mut again = CiContext { triggering_actor: Some(bot(ACTIONS_BOT)), ..by_ada };
    again.run.attempt = 2;
    let may = facts(&[("ada", RepoRole::Write)]);
    assert_eq!(judged(&again, &may), None);
    assert!(only_runs_again(&again));
    let refused = Some(Refusal::Bot { login: ACTIONS_BOT.to_owned() });
    let mut first = again.clone();
    first.run.attempt = 1;
    assert_eq!(judged(&first, &may), refused);
    let mut other = again.clone();
    other.triggering_actor = Some(bot(RENOVATE));
    assert_eq!(judged(&other, &may), Some(Refusal::Bot { login: RENOVATE.to_owned() }));
    again.actor = Some(bot(ACTIONS_BOT));
    assert_eq!(judged(&again, &may), refused);
}
