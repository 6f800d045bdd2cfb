//! The same job on a GitHub Enterprise Server, and on Gitea or Forgejo, whose API lacks some of what GitHub's has.

use super::delivery::{Site, mends};
use super::killed::Stage;
use crate::world::github::{Status, World};

/// What Gitea and Forgejo do not have.
const MISSING: [(&str, u16); 7] = [
    ("/user", 403),
    ("/rules/branches/{branch}", 404),
    ("/git/ref/{ref}", 404),
    ("/commits/{ref}", 404),
    ("/commits/{ref}/check-runs", 404),
    ("/actions/runs", 405),
    ("/actions/artifacts", 404),
];

/// A job on a server whose API is below a path.
fn job_on(site: Site, prefix: &str) -> Stage {
    prefix.clone_into(&mut site.github.world().prefix);
    let api = format!("{}{prefix}", site.github.url());
    Stage::labelled(site, mends).with("GITHUB_API_URL", &api)
}

fn alone(world: &World, author: &str) {
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    assert_eq!(comment.author, author);
    assert!(comment.body.contains("\nFixed by Tier 1"), "{}", comment.body);
}

#[test]
fn an_enterprise_server_is_asked_below_its_own_path() {
    let stage = job_on(Site::new(&["success"]), "/api/v3");
    let said = stage.call("run");
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("CI: green") && stage.server().pushes() == 1, "{}", said.all());
    alone(&stage.finish(), "github-actions[bot]");
}

#[test]
fn on_gitea_and_forgejo_statuses_say_what_ci_makes_of_it() {
    for (variable, login) in [("GITEA_ACTIONS", "gitea-actions"), ("FORGEJO_ACTIONS", "forgejo-actions")] {
        let site = Site::new(&["success"]);
        {
            let mut world = site.github.world();
            login.clone_into(&mut world.token.login);
            world.missing = MISSING.iter().map(|(route, status)| ((*route).to_owned(), *status)).collect();
            let status = Status { context: "CI / test".to_owned(), state: "success".to_owned(), ..Status::default() };
            world.ci.iter_mut().for_each(|plan| plan.statuses = vec![status.clone()]);
        }
        let stage = job_on(site, "/api/v1").with(variable, "true");
        let said = stage.call("run");
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.out.contains("CI: green") && stage.server().pushes() == 1, "{}", said.all());
        // Another run, such as of another job, finds the comment of this one.
        let again = stage.call("resume");
        assert_eq!(again.code, 0, "{}", again.all());
        alone(&stage.finish(), login);
    }
}
