//! `upshift doctor` against a GitHub: a line for each thing, a fix for each problem, and nothing is written or paid.

use super::gate::world;
use crate::world::github::{FakeGitHub, World};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A world, what else is set, and how the line of the problem begins.
type Case = (World, Vec<(&'static str, &'static str)>, &'static str);

fn ask(world: World, more: &[(&str, &str)]) -> Said {
    let github = FakeGitHub::start_in_real_time(world);
    let mut program = Program::with_anthropic("http://127.0.0.1:1")
        .with("GITHUB_REPOSITORY", "acme/shop")
        .with("GITHUB_API_URL", &github.url())
        .with("GITHUB_TOKEN", "t-0123456789")
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x2")
        .with("UPSHIFT_SANDBOX", "off");
    for (name, value) in more {
        program = program.with(name, value);
    }
    let project = Project::python();
    project.commit();
    let said = program.run(project.path(), &["doctor", "--test-command", project.test_command]);
    let writes: Vec<_> = github.seen().into_iter().filter(|seen| seen.method != "GET").collect();
    assert!(writes.is_empty(), "{writes:?}");
    github.finish();
    said
}

#[test]
fn where_all_is_well_every_line_is_a_tick() {
    let said = ask(world(), &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.lines().all(|line| line.starts_with("✔ ")), "{}", said.out);
    for about in ["ladder", "test command", "sandbox", "repository", "pull requests", "checks"] {
        assert!(said.out.contains(&format!("✔ {about}: ")), "{about}: {}", said.out);
    }
}

#[test]
fn each_problem_has_a_line_with_its_fix_and_the_exit_code_is_1() {
    let lacking = || {
        let mut world = world();
        world.token.lacks = vec!["checks=read".to_owned()];
        world
    };
    let table: [Case; 3] = [
        (world(), vec![("GITHUB_TOKEN", "")], "✖ token: there is none for acme/shop"),
        (lacking(), vec![], "✖ checks: "),
        (world(), vec![("UPSHIFT_TIERS", "nobody/nothing x2")], "✖ configuration: "),
    ];
    for (world, more, line) in table {
        let said = ask(world, &more);
        assert_eq!(said.code, 1, "{line}: {}", said.all());
        let found =
            said.out.lines().find(|said| said.starts_with(line)).unwrap_or_else(|| panic!("{line}: {}", said.out));
        assert!(found.contains("→ Fix: "), "{found}");
    }
}

#[test]
fn a_test_command_that_is_not_installed_is_a_problem() {
    let project = Project::python();
    let program = Program::with_anthropic("http://127.0.0.1:1").with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let said = program.run(project.path(), &["doctor", "--test-command", "no-such-runner --all"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(
        said.out
            .contains("✖ test command: `no-such-runner --all` starts `no-such-runner`, which is not installed → Fix: "),
        "{}",
        said.out
    );
}
