//! Twelve bugs in four languages, worked off to twelve commits by a process that is killed at each of its effects.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use super::{git, subjects};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

/// A bug: its name, its file, the wrong words, the right ones, and the rest of the file's text around `@`.
struct Bug {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    wrong: &'static str,
    right: &'static str,
    /// What fails until it is mended: a test of the runner's, or a command.
    test: Option<&'static str>,
    command: &'static str,
}

const fn bug(
    name: &'static str,
    (file, text): (&'static str, &'static str),
    (wrong, right): (&'static str, &'static str),
    command: &'static str,
) -> Bug {
    Bug { name, file, text, wrong, right, test: None, command }
}

const fn python(
    name: &'static str,
    file: &'static str,
    words: (&'static str, &'static str),
    test: &'static str,
) -> Bug {
    Bug {
        name,
        file,
        text: "def run(x):\n    return @\n",
        wrong: words.0,
        right: words.1,
        test: Some(test),
        command: "",
    }
}

const NODE: &str = "module.exports = (x) => @;\n";
const PERL: &str = "package Tool; sub run { my ($x) = @_; return # }\n1;\n";
const SHELL: &str = "run() {\n  @\n}\n";

const BUGS: [Bug; 12] = [
    python("py-first", "py/first.py", ("x[1]", "x[0]"), "test_run (tests.test_first.firstTest.test_run)"),
    python("py-twice", "py/twice.py", ("x * 3", "x * 2"), "test_run (tests.test_twice.twiceTest.test_run)"),
    python("py-small", "py/small.py", ("x.upper()", "x.lower()"), "test_run (tests.test_small.smallTest.test_run)"),
    // A file that a command names judges, and is nobody's to change: each has a check of its own.
    bug("js-first", ("js/first.js", NODE), ("x[1]", "x[0]"), "node checks/first.js"),
    bug("js-twice", ("js/twice.js", NODE), ("x * 3", "x * 2"), "node checks/twice.js"),
    bug("js-small", ("js/small.js", NODE), ("x.toUpperCase()", "x.toLowerCase()"), "node checks/small.js"),
    bug(
        "pl-first",
        ("pl/first.pm", PERL),
        ("$x->[1];", "$x->[0];"),
        "perl -e 'require \"./pl/first.pm\"; exit(Tool::run([4, 5]) == 4 ? 0 : 1)'",
    ),
    bug(
        "pl-twice",
        ("pl/twice.pm", PERL),
        ("$x * 3;", "$x * 2;"),
        "perl -e 'require \"./pl/twice.pm\"; exit(Tool::run(4) == 8 ? 0 : 1)'",
    ),
    bug(
        "pl-small",
        ("pl/small.pm", PERL),
        ("uc $x;", "lc $x;"),
        "perl -e 'require \"./pl/small.pm\"; exit(Tool::run(\"Ab\") eq \"ab\" ? 0 : 1)'",
    ),
    bug("sh-first", ("sh/first.sh", SHELL), ("echo $2", "echo $1"), "sh checks/first.sh"),
    bug("sh-twice", ("sh/twice.sh", SHELL), ("echo $(($1 * 3))", "echo $(($1 * 2))"), "sh checks/twice.sh"),
    bug("sh-small", ("sh/small.sh", SHELL), ("echo $1 | tr a-z A-Z", "echo $1 | tr A-Z a-z"), "sh checks/small.sh"),
];

/// What is told behind each effect, and how often it has been told when the kill comes.
const KILLS: [(&str, usize); 10] = [
    ("engine:started", 1),
    ("task:selected", 1),
    ("task:activated", 1),
    ("iteration:started", 1),
    ("\"event\":\"run_started\"", 1),
    ("\"event\":\"call_settled\"", 2),
    ("\"type\":\"report\"", 1),
    ("iteration:completed", 1),
    ("task:completed", 1),
    ("task:completed", 2),
];

const WORDS: [&str; 8] = [
    "run",
    "--test-command",
    "python3 -m unittest -v",
    "--tiers",
    "claude-haiku-4-5 x2",
    "--tasks=tasks.yml",
    "--max-tasks=0",
    "--format=jsonl",
];

fn backlog() -> Project {
    let project = Project::python();
    project.write(project.source, "def total(prices):\n    return sum(prices)\n");
    let mut list = "tasks:\n".to_owned();
    for bug in &BUGS {
        let place = if bug.text.contains('#') { '#' } else { '@' };
        project.write(bug.file, &bug.text.replace(place, bug.wrong));
        list.push_str(&format!("  - id: {}\n    title: Mend {}\n", bug.name, bug.file));
        let Some(test) = bug.test else {
            list.push_str(&format!("    command: {}\n", json!(bug.command)));
            continue;
        };
        list.push_str(&format!("    tests: [{}]\n", json!(test)));
        let module = bug.file.trim_start_matches("py/").trim_end_matches(".py");
        let assertion = match module {
            "first" => "self.assertEqual(run([4, 5]), 4)",
            "twice" => "self.assertEqual(run(4), 8)",
            _ => "self.assertEqual(run('Ab'), 'ab')",
        };
        let text = format!(
            "import unittest\n\nfrom py.{module} import run\n\n\nclass {module}Test(unittest.TestCase):\n    def test_run(self):\n        {assertion}\n"
        );
        project.write(&format!("tests/test_{module}.py"), &text);
    }
    for (name, check) in [("first", "run([4, 5]) !== 4"), ("twice", "run(4) !== 8"), ("small", "run('Ab') !== 'ab'")] {
        let text = format!("const run = require('../js/{name}.js');\nif ({check}) process.exit(1);\n");
        project.write(&format!("checks/{name}.js"), &text);
    }
    for (name, check) in [("first", "$(run 4 5) = 4"), ("twice", "$(run 4) = 8"), ("small", "$(run Ab) = ab")] {
        project.write(&format!("checks/{name}.sh"), &format!(". ./sh/{name}.sh\ntest {check}\n"));
    }
    project.write("py/__init__.py", "");
    project.write("tasks.yml", &list);
    project.write(".gitignore", "__pycache__\n.upshift\n");
    project.commit();
    project
}

fn mends(request: &Request) -> Scripted {
    let asked = request.first_user_text();
    let objective = asked.lines().next().unwrap_or_default().to_owned();
    let bug = BUGS.iter().find(|bug| objective == format!("OBJECTIVE: Mend {}", bug.file));
    let bug = bug.unwrap_or_else(|| panic!("no bug is named in {objective}"));
    match request.turn() {
        0 => {
            let edit = json!({ "path": bug.file, "old_text": bug.wrong, "new_text": bug.right });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// Runs until a word was told so often, and kills it there; whether it came so far.
fn killed_at(program: &Program, project: &Project, (word, times): (&str, usize)) -> bool {
    let mut command = program.command(project.path(), &WORDS);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut left = times;
    for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
        let Ok(line) = line else { break };
        left -= usize::from(left > 0 && line.contains(word));
        if left == 0 {
            child.kill().expect("killed");
        }
    }
    child.wait().expect("it ends");
    left == 0
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn twelve_bugs_in_four_languages_are_twelve_commits_wherever_it_is_killed() {
    let project = backlog();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    for kill in KILLS {
        // What the last process started ends by itself, and keeps the next from beginning until then.
        while !killed_at(&program, &project, kill) {
            assert!(subjects(&project).len() < BUGS.len(), "{kill:?} never came");
        }
    }
    let mut said = program.run(project.path(), &WORDS);
    while said.code == 2 && said.all().contains("another upshift is running") {
        said = program.run(project.path(), &WORDS);
    }
    assert_eq!(said.code, 0, "{}", said.all());
    let subjects = subjects(&project);
    let each: BTreeSet<&String> = subjects.iter().collect();
    assert_eq!((subjects.len(), each.len()), (BUGS.len(), BUGS.len()), "{subjects:?}");
    for (subject, bug) in subjects.iter().zip(&BUGS) {
        assert_eq!(*subject, format!("fix: {} Mend {}", bug.name, bug.file), "in their order");
    }
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    let log = Log::open(&project.path().join(".upshift/audit.db"));
    assert_eq!(log.number("SELECT count(*) FROM backlogs"), 1, "one backlog, however often it was killed");
    assert_eq!(log.number("SELECT count(*) FROM backlog_tasks WHERE status = 'completed'"), 12);
    assert_eq!(log.number("SELECT count(DISTINCT commit_sha) FROM backlog_tasks"), 12);
    // Every call that reached the model is in the log, once; a killed iteration costs another of two calls.
    let calls = i64::try_from(server.requests().len()).expect("few");
    let fewest = 2 * i64::try_from(BUGS.len()).expect("few");
    assert!((fewest..=fewest + 2 * i64::try_from(KILLS.len()).expect("few")).contains(&calls), "{calls} calls");
    let settled = log.number("SELECT count(*) FROM model_calls");
    assert!((0..=1).contains(&(calls - settled)), "{calls} calls, {settled} in the log");
    server.finish();
}
