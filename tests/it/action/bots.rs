//! `allowed-bots` from outside: red CI of a bot's own pull request, and what strangers would have the bot do.

use serde_json::{Value, json};

use super::gate::{HEAD, comment_by, labelled_by, run_with, run_with_in, world};
use crate::world::github::{Commit, World};
use crate::world::project::Project;

const RENOVATE: &str = "renovate[bot]";
const DEPENDABOT: &str = "dependabot[bot]";
const BOTH: [(&str, &str); 1] = [("UPSHIFT_ALLOWED_BOTS", "renovate[bot], dependabot[bot]")];

/// acme/shop where pull request 7 is a bot's, with one commit of its own on it.
fn world_of(bot: &str) -> World {
    let mut world = world();
    world.pulls[0].author = bot.to_owned();
    world.accounts = [RENOVATE, DEPENDABOT].map(|bot| (bot.to_owned(), "Bot".to_owned())).into();
    by(&mut world, Some(bot));
    world
}

/// Whose the head commit is.
fn by(world: &mut World, author: Option<&str>) {
    let parents = vec![world.branches["main"].clone()];
    let commit = Commit { message: "Bump left-pad".to_owned(), author: author.map(str::to_owned), parents };
    world.commits.insert(HEAD.to_owned(), commit);
}

/// CI of the pull request's head ended red; whoever pushed that head is the actor.
fn red_ci_of(actor: &str) -> Value {
    let kind = if actor.ends_with("[bot]") { "Bot" } else { "User" };
    let user = json!({ "login": actor, "type": kind });
    let run = json!({
        "id": 55, "run_attempt": 1, "name": "CI", "event": "pull_request", "conclusion": "failure", "actor": user,
        "triggering_actor": user, "head_sha": HEAD, "head_branch": "topic",
        "head_repository": { "full_name": "acme/shop" }, "head_commit": { "message": "Bump left-pad" },
        "pull_requests": [{ "number": 7 }],
    });
    json!({ "action": "completed", "workflow_run": run, "sender": user })
}

#[test]
fn red_ci_of_renovates_and_of_dependabots_pull_request_is_mended() {
    for bot in [RENOVATE, DEPENDABOT] {
        let (said, job, asked) = run_with(world_of(bot), "workflow_run", &red_ci_of(bot), &BOTH);
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!((job.outputs()["outcome"].as_str(), job.outputs()["pr-number"].as_str()), ("fixed", "7"));
        let account = format!("/users/{}", bot.replace('[', "%5B").replace(']', "%5D"));
        assert_eq!(asked.iter().filter(|path| **path == account).count(), 1, "{asked:?}");
    }
}

#[test]
fn no_bot_is_allowed_by_default_and_none_is_asked_about() {
    let (said, job, asked) = run_with(world_of(RENOVATE), "workflow_run", &red_ci_of(RENOVATE), &[]);
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "refused"), "{}", said.all());
    assert!(said.err.contains("::notice title=upshift::✖ Refused: the bot renovate[bot]"), "{}", said.all());
    assert!(said.err.contains("`allowed-bots`"), "it says how: {}", said.all());
    assert!(asked.iter().all(|path| !path.starts_with("/users/")), "{asked:?}");
}

#[test]
fn what_strangers_would_have_an_allowed_bot_do_is_refused() {
    let not_a_bot = || {
        let mut world = world_of(RENOVATE);
        world.accounts.insert(RENOVATE.to_owned(), "User".to_owned());
        world
    };
    let unknown = || {
        let mut world = world_of(RENOVATE);
        world.accounts.clear();
        world
    };
    let pushed_onto = |author: Option<&str>| {
        let mut world = world_of(RENOVATE);
        by(&mut world, author);
        world
    };
    let fork = || {
        let mut world = world_of(DEPENDABOT);
        world.pulls[0].head_repository = "mallory/shop".to_owned();
        world
    };
    let red = |actor: &str| ("workflow_run", red_ci_of(actor));
    let mut of_a_fork = red_ci_of(DEPENDABOT);
    of_a_fork["workflow_run"]["head_repository"]["full_name"] = json!("mallory/shop");
    let mut run_again = red_ci_of(RENOVATE);
    run_again["workflow_run"]["triggering_actor"] = json!({ "login": "eve", "type": "User" });
    let table: [(World, (&str, Value), &str, i32); 11] = [
        // `@dependabot recreate`, or any words that a stranger has a bot say.
        (world_of(DEPENDABOT), ("issue_comment", comment_by(DEPENDABOT)), "the bot dependabot[bot]", 0),
        // A stranger's pull request that the bot labels, because a stranger's words told it to.
        (world(), ("pull_request", labelled_by(RENOVATE)), "does not know as a bot", 6),
        (
            World { accounts: world_of(RENOVATE).accounts, ..world() },
            ("pull_request", labelled_by(RENOVATE)),
            "something other than its own pull request",
            0,
        ),
        // A stranger's commit on the bot's branch, whoever carried it there.
        (pushed_onto(Some("eve")), red(RENOVATE), "is by eve, who may not write", 6),
        (pushed_onto(Some("backport[bot]")), red(RENOVATE), "is by backport[bot]", 6),
        (pushed_onto(None), red(RENOVATE), "belongs to no account", 6),
        (pushed_onto(Some("eve")), red("eve"), "eve may not write to acme/shop", 6),
        (world_of(RENOVATE), ("workflow_run", run_again), "eve may not write to acme/shop", 6),
        // A fork's branch that Dependabot was made to push to in the fork.
        (fork(), ("workflow_run", of_a_fork), "the fork mallory/shop", 6),
        // Names that are no bots' on this forge.
        (not_a_bot(), red(RENOVATE), "does not know as a bot", 6),
        (unknown(), red(RENOVATE), "does not know as a bot", 6),
    ];
    for (world, (event, payload), why, code) in table {
        let (said, _, _) = run_with(world, event, &payload, &BOTH);
        assert_eq!(said.code, code, "{why}: {}", said.all());
        assert!(said.err.contains(why), "{why}: {}", said.all());
    }
}

#[test]
fn somebody_who_may_write_may_help_an_allowed_bot() {
    let mut world = world_of(RENOVATE);
    by(&mut world, Some("ada"));
    let (said, job, _) = run_with(world, "workflow_run", &red_ci_of(RENOVATE), &BOTH);
    assert_eq!(job.outputs()["outcome"], "fixed", "{}", said.all());
}

/// Who pushes onto a branch writes its files, so the one of the base alone says who is allowed.
#[test]
fn the_base_says_who_is_allowed_and_the_head_does_not() {
    const FILE: &str = ".github/upshift.yml";
    let allows = format!("github:\n  allowedBots:\n    - \"{RENOVATE}\"\n");
    let project = Project::python();
    project.write(FILE, &allows);
    let red = red_ci_of(RENOVATE);
    let (said, job, _) = run_with_in(&project, world_of(RENOVATE), "workflow_run", &red, &[]);
    assert_eq!(job.outputs()["outcome"], "refused", "{}", said.all());
    let mut world = world_of(RENOVATE);
    let base = world.branches["main"].clone();
    world.files.insert(format!("{base}:{FILE}"), allows);
    let (said, job, _) = run_with(world, "workflow_run", &red, &[]);
    assert_eq!(job.outputs()["outcome"], "fixed", "{}", said.all());
}

#[test]
fn a_pattern_is_no_name() {
    for name in ["*", "*[bot]", "renovate[bot", "[bot]", "rénovate[bot]"] {
        let (said, project) = configured(name);
        assert_eq!(said.code, 2, "{name}: {}", said.all());
        assert!(said.err.contains("must be the login of one bot"), "{name}: {}", said.all());
        drop(project);
    }
}

fn configured(name: &str) -> (crate::world::program::Said, Project) {
    let project = Project::python();
    let job = super::step::Job::new("http://127.0.0.1:1").with("UPSHIFT_ALLOWED_BOTS", name);
    (job.run(&project), project)
}
