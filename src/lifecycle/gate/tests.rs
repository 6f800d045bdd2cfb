use super::*;
use crate::domain::ci::{AccountKind, Comment, CommentKind, Forge, JobRun, PullRequest, UpstreamRun};
use crate::domain::units::CommitSha;
use crate::github::{ACTIONS_BOT, Pull, PullEnd};

const RULES: Rules<'static> = Rules { skip_label: "upshift:skip", allowed_bots: &[], pushes_onto_branch: false };

fn begins(context: &CiContext, facts: &Facts, skip_label: &str) -> Option<Refusal> {
    judge(context, facts, Rules { skip_label, ..RULES }, Stage::Begins)
}

pub(super) fn repo(full: &str) -> RepoName {
    RepoName::parse(full).unwrap()
}

pub(super) fn sha() -> CommitSha {
    CommitSha("0123456789abcdef0123456789abcdef01234567".to_owned())
}

/// A job of acme/shop for some event and nothing else known.
pub(super) fn job(event: EventKind) -> CiContext {
    CiContext {
        forge: Forge::Github,
        event,
        action: None,
        repository: repo("acme/shop"),
        default_branch: Some("main".to_owned()),
        actor: None,
        triggering_actor: None,
        upstream: None,
        pull_request: PullRequestRef::None,
        head_sha: Some(sha()),
        head_branch: Some("main".to_owned()),
        head_message: None,
        comment: None,
        run: JobRun { id: 77, attempt: 1, workflow: "upshift".to_owned(), workflow_path: None, job: "fix".to_owned() },
        server_url: "https://github.com".to_owned(),
        api_url: "https://api.github.com".to_owned(),
    }
}

pub(super) fn pull_request(event: EventKind, head: Option<&str>) -> CiContext {
    let pull = PullRequest {
        number: 7,
        head_sha: sha(),
        head_branch: "topic".to_owned(),
        head_repository: head.map(repo),
        base_sha: sha(),
        base_branch: "main".to_owned(),
        author: None,
        labels: Vec::new(),
        draft: false,
    };
    CiContext { pull_request: PullRequestRef::Known(Box::new(pull)), ..job(event) }
}

pub(super) fn after(head: Option<&str>) -> CiContext {
    let upstream = UpstreamRun {
        id: 55,
        attempt: 1,
        name: "ci".to_owned(),
        event: "pull_request".to_owned(),
        conclusion: Some("failure".to_owned()),
        actor: None,
        triggering_actor: None,
        head_sha: sha(),
        head_branch: Some("topic".to_owned()),
        head_repository: head.map(repo),
    };
    CiContext { upstream: Some(upstream), pull_request: PullRequestRef::Head, ..job(EventKind::WorkflowRun) }
}

#[test]
fn branches_of_a_merge_queue_are_left_alone_without_harm() {
    let branch = Some("gh-readonly-queue/main/pr-7-0123".to_owned());
    let mut of_ci = after(Some("acme/shop"));
    of_ci.upstream.as_mut().unwrap().head_branch.clone_from(&branch);
    let of_its_own = CiContext { head_branch: branch, ..job(EventKind::Other("merge_group".to_owned())) };
    for context in [of_ci, of_its_own] {
        let why = refusal(Some(&context)).unwrap();
        assert!(why.is_harmless() && why.to_string().contains("gh-readonly-queue/main/pr-7-0123"), "{why}");
    }
    let plain = CiContext { head_branch: Some("gh-readonly".to_owned()), ..job(EventKind::Push) };
    assert_eq!(refusal(Some(&plain)), None);
}

#[test]
fn forks_and_pull_request_target_are_refused() {
    assert_eq!(refusal(None), None);
    assert_eq!(refusal(Some(&job(EventKind::Push))), None);
    assert_eq!(refusal(Some(&pull_request(EventKind::PullRequest, Some("Acme/Shop")))), None);
    let fork = refusal(Some(&pull_request(EventKind::PullRequest, Some("mallory/shop"))));
    assert!(fork.is_some_and(|why| why.to_string().contains("mallory/shop") && !why.is_harmless()));
    assert!(refusal(Some(&pull_request(EventKind::PullRequestTarget, Some("acme/shop")))).is_some());
    assert!(refusal(Some(&pull_request(EventKind::PullRequest, None))).is_some(), "what is gone is not trusted");
}

#[test]
fn a_run_that_follows_a_forks_run_is_refused() {
    assert_eq!(refusal(Some(&after(Some("acme/shop")))), None);
    assert!(refusal(Some(&after(Some("mallory/shop")))).is_some());
    assert!(refusal(Some(&after(None))).is_some());
}

#[test]
fn a_pull_requests_checkout_configures_nothing() {
    assert!(distrusts_checkout(Some(&pull_request(EventKind::PullRequest, Some("acme/shop")))));
    assert!(distrusts_checkout(Some(&after(Some("acme/shop")))));
    assert!(!distrusts_checkout(Some(&job(EventKind::Push))));
    assert!(!distrusts_checkout(None));
}

fn person(login: &str) -> Account {
    Account { login: login.to_owned(), kind: AccountKind::User }
}

fn found(labels: &[&str]) -> Pull {
    let end = |branch: &str| PullEnd { branch: branch.to_owned(), sha: sha(), repository: Some(repo("acme/shop")) };
    Pull {
        number: 7,
        url: String::new(),
        title: String::new(),
        body: String::new(),
        state: PullState::Open,
        draft: false,
        head: end("topic"),
        base: end("main"),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        author: None,
    }
}

fn facts(roles: &[(&str, RepoRole)]) -> Facts {
    Facts {
        pull: Some(found(&[])),
        roles: roles.iter().map(|(login, role)| ((*login).to_owned(), *role)).collect(),
        head_message: Some("work".to_owned()),
        ..Facts::default()
    }
}

fn by(login: &str) -> CiContext {
    CiContext { actor: Some(person(login)), ..pull_request(EventKind::PullRequest, Some("acme/shop")) }
}

fn comment_by(login: &str) -> CiContext {
    let comment = Comment {
        id: 9,
        kind: CommentKind::Conversation,
        body: "/upshift fix".to_owned(),
        author: Some(person(login)),
        edited: false,
    };
    let number = PullRequestRef::Number(7);
    CiContext { comment: Some(comment), pull_request: number, head_sha: None, ..job(EventKind::IssueComment) }
}

fn says(context: &CiContext, facts: &Facts, part: &str) {
    let why = begins(context, facts, "upshift:skip").unwrap_or_else(|| panic!("not refused: {part}"));
    let why = why.to_string();
    assert!(why.contains(part) && why.contains("→ Fix:"), "{why}");
}

#[test]
fn whoever_may_write_is_let_in() {
    for role in [RepoRole::Write, RepoRole::Maintain, RepoRole::Admin] {
        assert_eq!(begins(&by("ada"), &facts(&[("ada", role)]), "upshift:skip"), None);
        assert_eq!(begins(&comment_by("ada"), &facts(&[("ada", role)]), "upshift:skip"), None);
    }
}

#[test]
fn github_35_the_right_to_write_counts_and_not_the_authors_association() {
    for role in [RepoRole::None, RepoRole::Read, RepoRole::Triage] {
        says(&by("eve"), &facts(&[("eve", role)]), "eve may not write to acme/shop");
        says(&comment_by("eve"), &facts(&[("eve", role)]), "eve may not write");
    }
    says(&by("eve"), &facts(&[]), "eve may not write");
    let nobody = pull_request(EventKind::PullRequest, Some("acme/shop"));
    says(&nobody, &facts(&[]), "the actor of this event is unknown");
}

#[test]
fn github_8_the_upstream_actor_counts_as_well_as_whoever_ran_it_again() {
    let mut context = CiContext { actor: Some(person("ada")), ..after(Some("acme/shop")) };
    if let Some(run) = &mut context.upstream {
        run.actor = Some(person("eve"));
    }
    let roles = facts(&[("ada", RepoRole::Write), ("eve", RepoRole::Read)]);
    says(&context, &roles, "eve may not write");
    context.upstream = after(Some("acme/shop")).upstream;
    assert_eq!(begins(&context, &roles, "upshift:skip"), None);
    context.triggering_actor = Some(person("eve"));
    says(&context, &roles, "eve may not write");
}

#[test]
fn a_bot_is_let_in_by_its_exact_name_alone_and_never_by_a_comment() {
    let bot = |login: &str| Account { login: login.to_owned(), kind: AccountKind::Bot };
    let with = |account: Account| CiContext { actor: Some(account), ..by("ada") };
    assert_eq!(begins(&with(bot(ACTIONS_BOT)), &facts(&[]), "upshift:skip"), None);
    for name in ["dependabot[bot]", "github-actions-evil[bot]", "Github-Actions[bot]"] {
        says(&with(bot(name)), &facts(&[(name, RepoRole::Admin)]), &format!("the bot {name}"));
    }
    says(&with(person("claude[bot]")), &facts(&[("claude[bot]", RepoRole::Admin)]), "the bot claude[bot]");
    says(
        &CiContext { actor: Some(bot(ACTIONS_BOT)), ..comment_by("ada") },
        &facts(&[("ada", RepoRole::Write)]),
        "the bot",
    );
}

#[test]
fn the_skip_label_keeps_upshift_away_as_it_is_now_and_as_it_was() {
    let roles = [("ada", RepoRole::Write)];
    let now = Facts { pull: Some(found(&["upshift:skip"])), ..facts(&roles) };
    says(&by("ada"), &now, "has the label `upshift:skip`");
    assert_eq!(begins(&by("ada"), &now, "another"), None);
}

#[test]
fn github_12_a_forks_head_is_refused_also_where_only_the_api_tells_of_it() {
    let mut facts = facts(&[("ada", RepoRole::Write)]);
    if let Some(pull) = &mut facts.pull {
        pull.head.repository = Some(repo("mallory/shop"));
    }
    says(&comment_by("ada"), &facts, "the fork mallory/shop");
    if let Some(pull) = &mut facts.pull {
        pull.head.repository = None;
    }
    says(&comment_by("ada"), &facts, "is gone");
}

#[test]
fn a_head_that_moved_and_a_pull_request_that_is_closed_are_refused() {
    let mut moved = facts(&[("ada", RepoRole::Write)]);
    if let Some(pull) = &mut moved.pull {
        pull.head.sha = CommitSha("f".repeat(40));
    }
    says(&by("ada"), &moved, "moved since this was triggered");
    assert_eq!(begins(&comment_by("ada"), &moved, "upshift:skip"), None, "a comment pins what it finds");
    let mut closed = facts(&[("ada", RepoRole::Write)]);
    if let Some(pull) = &mut closed.pull {
        pull.state = PullState::Merged;
    }
    says(&by("ada"), &closed, "is no longer open");
}

#[test]
fn a_run_that_goes_on_may_find_its_own_commit_or_its_pull_request_merged() {
    let ours = CommitSha("f".repeat(40));
    let mut moved = facts(&[("ada", RepoRole::Write), ("eve", RepoRole::Read)]);
    let goes_on = |facts: &Facts, who: &str, delivered: Option<&CommitSha>| {
        judge(&by(who), facts, RULES, Stage::GoesOn { delivered })
    };
    if let Some(pull) = &mut moved.pull {
        pull.head.sha = ours.clone();
    }
    assert_eq!(goes_on(&moved, "ada", Some(&ours)), None);
    assert!(
        goes_on(&moved, "ada", None).is_some_and(|why| why.to_string().contains("moved")),
        "nothing of ours is there"
    );
    assert!(goes_on(&moved, "eve", Some(&ours)).is_some_and(|why| why.to_string().contains("may not write")));
    if let Some(pull) = &mut moved.pull {
        pull.state = PullState::Merged;
    }
    assert_eq!(goes_on(&moved, "ada", Some(&ours)), None, "the breakpoint says what that means");
    assert!(goes_on(&moved, "ada", None).is_some_and(|why| why.to_string().contains("no longer open")));
    if let Some(pull) = &mut moved.pull {
        pull.labels = vec!["upshift:skip".to_owned()];
    }
    assert!(goes_on(&moved, "ada", Some(&ours)).is_some_and(|why| why.to_string().contains("the label")));
}

#[test]
fn our_own_commit_does_not_trigger_us_unless_a_person_asks() {
    let own = Facts {
        head_message: Some("Fix the total\n\nUpshift-Run-Id: 1f\nUpshift-Tier: small".to_owned()),
        ..facts(&[("ada", RepoRole::Write)])
    };
    says(&by("ada"), &own, "upshift's own");
    assert_eq!(begins(&comment_by("ada"), &own, "upshift:skip"), None);
    let labelled = CiContext { action: Some("labeled".to_owned()), ..by("ada") };
    assert_eq!(begins(&labelled, &own, "upshift:skip"), None);
    let quoted = Facts { head_message: Some("Say\nUpshift-Run-Id: 1f\n\nin prose".to_owned()), ..own };
    assert_eq!(begins(&by("ada"), &quoted, "upshift:skip"), None, "only the last paragraph holds trailers");
}

#[test]
fn a_fix_of_ours_that_was_merged_by_squashing_keeps_nobody_from_mending_what_fails_next() {
    let squashed = "fix: make the tests pass (#12)\n\nUpshift-Run-Id: 1f".to_owned();
    let own = Facts { head_message: Some(squashed), ..facts(&[("ada", RepoRole::Write)]) };
    let red = |branch: &str| CiContext {
        head_branch: Some(branch.to_owned()),
        default_branch: Some("main".to_owned()),
        ..by("ada")
    };
    let own_of = |branch: &str| begins(&red(branch), &own, "upshift:skip").is_some_and(|why| why == Refusal::OwnCommit);
    assert!(!own_of("main") && own_of("topic"), "{:?}", begins(&red("main"), &own, "upshift:skip"));
    let pushed = Facts { head_message: Some("fix: total\n\nUpshift-Run-Id: 1f".to_owned()), ..own.clone() };
    assert_eq!(begins(&red("main"), &pushed, "upshift:skip"), Some(Refusal::OwnCommit));
}

#[test]
fn a_fix_of_ours_that_was_merged_by_rebasing_keeps_nobody_from_mending_what_fails_next() {
    let message = "fix: make the tests pass\n\nUpshift-Run-Id: 1f".to_owned();
    let own = Facts { head_message: Some(message), pull: None, ..facts(&[("ada", RepoRole::Write)]) };
    let red = |branch: &str| CiContext {
        head_branch: Some(branch.to_owned()),
        default_branch: Some("main".to_owned()),
        pull_request: PullRequestRef::Head,
        ..by("ada")
    };
    let at = |branch: &str, rules| judge(&red(branch), &own, rules, Stage::Begins);
    assert_eq!([at("main", RULES), at("release-2", RULES)], [None, None]);
    // A branch that upshift pushed to itself: its pull request may be closed by now.
    assert_eq!(at("upshift/fix-3f", RULES), Some(Refusal::OwnCommit));
    // Its green CI starts a job as that of any commit of ours does: nothing is to be mended.
    let ended = |conclusion: &str| {
        let upstream =
            after(Some("acme/shop")).upstream.map(|run| UpstreamRun { conclusion: Some(conclusion.to_owned()), ..run });
        let upstream = upstream.map(|run| UpstreamRun { event: "push".to_owned(), ..run });
        judge(&CiContext { upstream, ..red("main") }, &own, RULES, Stage::Begins)
    };
    assert_eq!([ended("failure"), ended("timed_out")], [None, None]);
    assert_eq!([ended("success"), ended("cancelled")], [Some(Refusal::OwnCommit), Some(Refusal::OwnCommit)]);
    let onto_branch = Rules { pushes_onto_branch: true, ..RULES };
    assert_eq!(at("main", onto_branch), Some(Refusal::OwnCommit));
}

#[test]
fn the_ci_of_a_pull_request_that_is_gone_starts_no_run_on_its_branch() {
    let context = after(Some("acme/shop"));
    let gone = Facts { pull: None, ..facts(&[]) };
    let why = super::pull_request(&context, &gone, "upshift:skip", Stage::Begins);
    assert_eq!(why, Some(Refusal::NoneOpen { branch: "topic".to_owned() }));
    let delivered = sha();
    let goes_on = Stage::GoesOn { delivered: Some(&delivered) };
    assert_eq!(
        super::pull_request(&context, &gone, "upshift:skip", goes_on),
        None,
        "its breakpoint says what that means"
    );
    let upstream = context.upstream.clone().map(|run| UpstreamRun { event: "push".to_owned(), ..run });
    let of_push = CiContext { upstream, pull_request: PullRequestRef::None, ..context };
    assert_eq!(super::pull_request(&of_push, &gone, "upshift:skip", Stage::Begins), None);
}

#[test]
fn a_head_that_upshift_pushed_itself_is_told_as_that() {
    let mut facts = facts(&[]);
    facts.pull.as_mut().unwrap().head.sha = CommitSha("b".repeat(40));
    let context = after(Some("acme/shop"));
    let why = |facts: &Facts| super::pull_request(&context, facts, "upshift:skip", Stage::Begins);
    assert!(matches!(why(&facts), Some(Refusal::HeadMoved { .. })));
    facts.newer_message = Some("fix: total\n\nUpshift-Run-Id: 1f".to_owned());
    assert!(matches!(why(&facts), Some(Refusal::MovedByUs { .. })));
}

#[test]
fn who_pushes_or_dispatches_had_the_right_to() {
    for event in [EventKind::Push, EventKind::Schedule, EventKind::WorkflowDispatch, EventKind::RepositoryDispatch] {
        assert!(!asks(&job(event)));
    }
    assert!(asks(&by("ada")) && asks(&comment_by("ada")) && asks(&after(Some("acme/shop"))));
    // Anybody may open an issue, star or fork.
    for event in ["issues", "discussion", "watch", "fork", "an event of next year"] {
        assert!(asks(&job(EventKind::Other(event.to_owned()))), "{event}");
    }
}

#[test]
fn github_35_a_comments_pull_request_is_pinned_to_the_head_that_was_looked_at() {
    let mut context = comment_by("ada");
    facts::pin(&mut context, &facts(&[]));
    assert_eq!((context.head_sha.clone(), context.head_branch.as_deref()), (Some(sha()), Some("topic")));
    let PullRequestRef::Known(pull) = context.pull_request else { panic!() };
    assert_eq!((pull.number, pull.base_branch.as_str()), (7, "main"));
}

#[test]
fn what_asks_nobody_to_do_anything_is_harmless_and_what_a_stranger_tries_is_not() {
    let login = || "x".to_owned();
    let harmless = [
        Refusal::BotElsewhere { login: login() },
        Refusal::Bot { login: login() },
        Refusal::SkipLabel { label: login() },
        Refusal::NotOpen { number: 7 },
        Refusal::NoneOpen { branch: login() },
        Refusal::HeadMoved { from: sha(), to: sha() },
        Refusal::MovedByUs { from: sha(), to: sha() },
        Refusal::OwnCommit,
        Refusal::WakesOnly { event: login() },
        Refusal::AttemptsUsedUp { number: 7, attempts: 3, max: 3 },
    ];
    let harmful = [
        Refusal::PullRequestTarget,
        Refusal::Fork { head: repo("mallory/shop"), base: repo("acme/shop") },
        Refusal::HeadRepositoryGone,
        Refusal::Nobody,
        Refusal::Stranger { login: login(), repository: repo("acme/shop") },
        Refusal::AttemptsUnknown { number: 7, why: login() },
        Refusal::BotUnproven { login: login() },
        Refusal::BotHistory { login: login() },
        Refusal::BotCarries { login: login(), commit: sha(), author: None },
        Refusal::NoToken,
        Refusal::Unknown { why: login() },
    ];
    assert!(harmless.iter().all(Refusal::is_harmless));
    assert!(!harmful.iter().any(Refusal::is_harmless));
    let tells = |why: &Refusal| why.to_string().contains("→ Fix:") || matches!(why, Refusal::Unknown { .. });
    assert!(harmless.iter().chain(&harmful).all(tells), "the forge's own errors say how to mend them");
}

mod bots;
