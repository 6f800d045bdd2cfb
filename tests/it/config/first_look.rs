//! What somebody sees who has not set everything up yet: below the top of a repository, without a key, with a cap that stands twice.

use crate::world::program::{Program, Said};
use crate::world::project::Project;

const CONFIG: &str = "global:\n  maxTotalCostUsd: 0.5\n";

fn keyed() -> Program {
    Program::new().with("ANTHROPIC_API_KEY", "k").with("UPSHIFT_TIERS", "claude-haiku-4-5 x2")
}

fn refused(said: &Said) -> &str {
    assert_eq!(said.code, 2, "{}", said.all());
    &said.err
}

#[test]
fn no_money_is_spent_below_a_configuration_that_is_not_read() {
    let project = Project::python();
    project.write(".github/upshift.yml", CONFIG);
    project.write("web/test_a.py", "");
    std::fs::create_dir(project.path().join(".git")).expect("made");
    let below = project.path().join("web");
    let said = keyed().run(&below, &["run"]);
    let told = refused(&said);
    assert!(told.contains("so its caps do not count here") && told.contains("--working-directory web"), "{told}");
    let backlog = keyed().run(&below, &["run", "--tasks", "tasks.md"]);
    assert!(refused(&backlog).contains("so its caps do not count here"), "{}", backlog.err);
    assert!(!below.join(".upshift").exists(), "nothing was begun");
    let named = keyed().run(&below, &["check", "--config", "../.github/upshift.yml"]);
    assert!(named.out.contains("$0.50"), "{}", named.all());
}

#[test]
fn check_says_what_it_knows_without_a_key() {
    let project = Project::python();
    let said = Program::new().run(project.path(), &["check"]);
    assert!(refused(&said).contains("No model to use: no ladder"), "{}", said.err);
    assert!(said.out.starts_with("Tests\n") && said.out.contains("python3 -m unittest"), "{}", said.out);
}

#[test]
fn check_ends_as_a_run_that_is_refused_would() {
    let project = Project::python();
    project.write(".github/upshift.yml", "safety: { network: \"off\", sandbox: \"off\" }\n");
    let ladder = ["--tiers", "claude-haiku-4-5 x1"];
    let said = keyed().run(project.path(), &[&["check"][..], &ladder].concat());
    assert!(said.out.starts_with("✖ ") && said.out.contains("refuses to run with it"), "{}", said.all());
    let run = keyed().run(project.path(), &[&["run"][..], &ladder].concat());
    assert_eq!((said.code, run.code), (6, 6), "{}", run.all());
}

#[test]
fn a_key_without_a_built_in_ladder_is_told_as_that() {
    let project = Project::python();
    let said = Program::new().with("AZURE_OPENAI_API_KEY", "k").run(project.path(), &["check"]);
    let told = refused(&said);
    assert!(told.contains("AZURE_OPENAI_API_KEY is set, but `azure` has no built-in ladder"), "{told}");
}

#[test]
fn a_cap_that_stands_twice_is_named() {
    let project = Project::python();
    project.write(".github/upshift.yml", CONFIG);
    project.write(".github/workflows/upshift.yml", upshift::cli::init::WORKFLOW);
    let said = keyed().run(project.path(), &["doctor"]);
    let line = "caps: upshift.yml: its `max-cost-usd` counts in the job, not global.maxTotalCostUsd ($0.50) of .github/upshift.yml";
    assert!(said.out.contains(line), "{}", said.out);
    assert!(!said.out.contains("its `max-duration-minutes`"), "the file does not name it: {}", said.out);
}
