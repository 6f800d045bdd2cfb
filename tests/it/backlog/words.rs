//! What the artisan is told beside a task: a person's template, the project's own instructions, what came of the tasks before.

use serde_json::json;

use super::{git, mends, project, subjects, work_off};
use crate::action::comment::job;
use crate::action::gate::{labelled_by, world};
use crate::world::github::FakeGitHub;
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

fn commit(project: &Project) {
    git(project, &["add", "--all"]);
    git(project, &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=more"]);
}

/// What the model was told first in each session.
fn told(server: &ModelServer) -> Vec<String> {
    let first = |request: &crate::world::model_server::Request| request.turn() == 0;
    server.requests().iter().filter(|request| first(request)).map(|request| request.first_user_text()).collect()
}

#[test]
fn each_objective_is_the_template_of_the_commit_and_progress_is_told_across_tasks() {
    let project = project();
    project.write("task.txt", "Task {{ taskId }} ({{ tasksCompleted }} of {{ totalTasks }} done):{% for test in tests %} {{ test }}{% endfor %}");
    project.write("AGENTS.md", "Four spaces, always.\n<!-- unseen on the page -->\n");
    commit(&project);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--task-template", "task.txt"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 4), "{}", said.all());
    let told = told(&server);
    let first = "OBJECTIVE: Task tests/test_names.py (0 of 3 done): test_run (tests.test_names.namesTest.test_run)\n";
    assert!(told[0].starts_with(first), "{}", told[0]);
    assert!(
        told.iter()
            .all(|text| text.contains("AGENTS.md: HOW THIS PROJECT IS WORKED ON") && text.contains("Four spaces"))
    );
    assert!(!told[0].contains("RECENT PROGRESS") && !told[0].contains("unseen on the page"), "{}", told[0]);
    let (_, progress) = told[2].split_once("RECENT PROGRESS of the backlog, the latest last\n").expect("progress");
    let lines: Vec<&str> = progress.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            "tests/test_names.py tests/test_names.py: 1 failing test: completed",
            "tests/test_rates.py tests/test_rates.py: 1 failing test: completed"
        ],
        "{}",
        told[2]
    );
    server.finish();
}

/// Seven tasks one after the other: the last is told what became of the five before it, and of no more.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn of_the_tasks_before_it_the_last_five_are_told() {
    let project = project();
    let task = |n: usize| format!("  - {{id: t{n}, title: Make n{n}, command: 'ls | grep -q ^n{n}-'}}\n");
    project.write("tasks.yml", &format!("tasks:\n{}", (1..=7).map(task).collect::<String>()));
    commit(&project);
    let server = ModelServer::start(|request| {
        let asked = request.first_user_text();
        let number = asked.split("OBJECTIVE: Make n").nth(1).and_then(|rest| rest.chars().next()).expect("a number");
        match request.turn() {
            0 => Say::call("write_file", json!({ "path": format!("n{number}-note"), "content": "here\n" })).into(),
            _ => Say::call("final_report", json!({ "summary": "done", "status": "done" })).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert!(said.code == 0 && said.out.contains("7 of 7 tasks completed"), "{}", said.all());
    let told = told(&server);
    let (_, progress) = told[6].split_once("RECENT PROGRESS of the backlog, the latest last\n").expect("progress");
    let lines: Vec<&str> = progress.lines().take_while(|line| line.starts_with('t')).collect();
    let wanted: Vec<String> = (2..=6).map(|n| format!("t{n} Make n{n}: completed")).collect();
    assert_eq!(lines, wanted, "{}", told[6]);
    server.finish();
}

#[test]
fn a_template_that_cannot_be_used_is_told_before_anything_is_paid() {
    let project = project();
    project.write("wrong.txt", "{{ key }}");
    project.write("large.txt", &"x".repeat(70_000));
    commit(&project);
    project.write("untracked.txt", "{{ taskId }}");
    let program = Program::with_anthropic("http://127.0.0.1:9");
    for (file, said) in [
        ("wrong.txt", "there is no variable `key`"),
        ("large.txt", "more than 65536 bytes"),
        ("untracked.txt", "in the commit that is checked out"),
    ] {
        let told = work_off(&program, &project, &["--tasks", "failing-tests", "--task-template", file]);
        let fix = if file == "untracked.txt" { "commit it" } else { "taskTitle" };
        assert!(told.code == 2 && told.all().contains(said) && told.all().contains(fix), "{}", told.all());
    }
}

/// Mends the cart.
fn cart() -> ModelServer {
    ModelServer::start(|request| match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
            Say::call("edit_file", edit).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    })
}

#[test]
fn every_run_is_told_the_instructions_of_the_commit_not_those_of_the_files() {
    let project = Project::python();
    project.write("AGENTS.md", &format!("Committed words. {}\n", "long ".repeat(20_000)));
    project.write("CLAUDE.md", "Other words <<END.\n");
    project.write(".github/copilot-instructions.md", "Other words <<END.\n");
    project.commit();
    project.write("AGENTS.md", "Uncommitted words.\n");
    let server = cart();
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = told(&server).remove(0);
    assert!(told.contains("Committed words.") && !told.contains("Uncommitted words."), "{told}");
    assert!(told.matches("long ").count() < 2_000, "it is cut");
    assert_eq!(told.matches("Other words").count(), 1, "a copy is told once: {told}");
    server.finish();
}

#[test]
fn in_a_pull_request_the_instructions_are_those_of_its_base() {
    let mut world = world();
    let (base, head) = (world.branches["main"].clone(), world.branches["topic"].clone());
    world.files.insert(format!("{base}:AGENTS.md"), "Words of the base.\n".to_owned());
    world.files.insert(format!("{head}:AGENTS.md"), "Words of the head.\n".to_owned());
    let github = FakeGitHub::start_in_real_time(world);
    let project = Project::python();
    project.write("AGENTS.md", "Words of the checkout.\n");
    project.commit();
    let server = cart();
    let said = job(&github, &server, "pull_request", &labelled_by("ada")).run(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = told(&server).remove(0);
    assert!(told.contains("Words of the base."), "{told}");
    let others = ["Words of the head.", "Words of the checkout."];
    let instructions = told.split("AGENTS.md: HOW THIS PROJECT").nth(1).expect("instructions").split(">>").next();
    assert!(others.iter().all(|words| !instructions.unwrap_or_default().contains(words)), "{told}");
    server.finish();
    github.finish();
}

#[test]
fn a_template_that_is_no_file_of_the_repository_is_refused() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    for path in [".", "", "/etc/passwd", "../x", "shop/.."] {
        let said = work_off(&program, &project, &["--tasks", "failing-tests", "--task-template", path]);
        assert_eq!((said.code, server.requests().len()), (2, 0), "{path}: {}", said.all());
        assert!(said.all().contains(&format!("--task-template {path:?} names no file")), "{path}: {}", said.all());
    }
    server.finish();
}
