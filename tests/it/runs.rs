//! Whole runs: the built program on real broken projects, with a scripted model that answers only from what it is sent.

mod added;
mod corrections;
mod guards;
mod hangs;
mod meta;
mod needs;
mod obstacles;
mod only;
mod open_files;
mod past;
mod services;

use std::path::PathBuf;

use serde_json::json;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Two tiers of one vendor, three iterations each.
const LADDER: &str = "claude-haiku-4-5 x3 > claude-sonnet-4-5 x3";

/// What a scripted artisan does in one session: looks at the file, replaces a line, reports.
fn artisan(request: &Request, source: &str, replacement: impl FnOnce(&str) -> (String, String)) -> Scripted {
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": source })).usage(900, 40).into(),
        1 => {
            let seen = request.tool_results().last().expect("the file").content.clone();
            let (old, new) = replacement(&seen);
            Say::call("edit_file", json!({ "path": source, "old_text": old, "new_text": new })).usage(1_200, 60).into()
        }
        _ => Say::call("final_report", json!({ "summary": "changed the line", "status": "done" }))
            .usage(1_400, 30)
            .into(),
    }
}

/// The line of the file, as `read_file` showed it, that holds one of the fragments; without the line number.
fn line_with(seen: &str, fragments: &[&str]) -> String {
    let line = seen.lines().find(|line| fragments.iter().any(|fragment| line.contains(fragment)));
    let line = line.unwrap_or_else(|| panic!("none of {fragments:?} in\n{seen}"));
    fragments.iter().find(|fragment| line.contains(**fragment)).expect("the fragment").to_string()
}

/// The wrong patches of tier 1, each different; what follows the bug is what is replaced next.
fn wrong_lines(project: &Project) -> Vec<String> {
    let indent: String = project.wrong.chars().take_while(|c| c.is_whitespace()).collect();
    match project.source {
        "src/lib.rs" => ["a * b", "a + b + 1", "b - a"].iter().map(|line| format!("{indent}{line}")).collect(),
        "shop/cart.py" => ["return max(prices)", "return sum(prices) + 7", "return len(prices)"]
            .iter()
            .map(|line| format!("{indent}{line}"))
            .collect(),
        _ => ["return 'Hi, ' + name;", "return name;", "return 'Hello! ' + name;"]
            .iter()
            .map(|line| format!("{indent}{line}"))
            .collect(),
    }
}

/// Tier 1 is wrong in a new way each time, tier 2 is right.
fn wrong_then_right(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let (source, wrong, right) = (project.source, project.wrong.to_owned(), project.right.to_owned());
    let wrongs = wrong_lines(project);
    let mut sessions = 0_usize;
    move |request: &Request| {
        if request.turn() == 0 {
            sessions += 1;
        }
        let cheap = request.model.contains("haiku");
        let iteration = sessions;
        artisan(request, source, |seen| {
            let known: Vec<&str> = std::iter::once(wrong.as_str()).chain(wrongs.iter().map(String::as_str)).collect();
            let old = line_with(seen, &known);
            let new = if cheap { wrongs[iteration - 1].clone() } else { right.clone() };
            (old, new)
        })
    }
}

fn run(project: &Project, server: &ModelServer, args: &[&str]) -> (Said, PathBuf) {
    let program = Program::with_anthropic(&server.url());
    let database = project
        .path()
        .parent()
        .expect("a parent")
        .join(format!("{}.audit.db", project.path().file_name().expect("a name").to_string_lossy()));
    let path = database.to_str().expect("text").to_owned();
    let mut all = vec!["run", "--audit-db", &path];
    all.extend_from_slice(args);
    (program.run(project.path(), &all), database)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tier_one_is_wrong_in_new_ways_and_tier_two_is_right() {
    for project in Project::all() {
        let server = ModelServer::start(wrong_then_right(&project));
        let (said, database) = run(&project, &server, &["--tiers", LADDER, "--test-command", project.test_command]);
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.out.contains("\n✔ Fixed by Tier 2 (claude-sonnet-4-5) in iteration 1"), "{}", said.all());
        assert!(project.read(project.source).contains(project.right));
        let log = Log::open(&database);
        let rows = log.rows("SELECT tier_index, iteration, test_status FROM tier_attempts ORDER BY id");
        let expected = [["0", "1", "failed"], ["0", "2", "failed"], ["0", "3", "failed"], ["1", "1", "passed"]];
        assert_eq!(rows, expected, "{}", said.all());
        let end = log.rows("SELECT outcome, resolved_tier_name, resolved_iteration FROM run_metadata");
        assert_eq!(end, [["success", "claude-sonnet-4-5", "1"]]);
        let requests = server.requests();
        assert_eq!(requests.len(), 12, "three turns in each of four sessions and none after green");
        let first_of_tier_two = requests.iter().find(|request| request.model.contains("sonnet")).expect("tier 2");
        for name in project.failing {
            assert!(first_of_tier_two.all_text().contains(name), "{name} in {}", first_of_tier_two.all_text());
        }
        assert!(first_of_tier_two.all_text().contains("TIER 1 FAILURES"));
        assert_eq!(log.number("SELECT COUNT(*) FROM model_calls"), 12);
        server.finish();
    }
}

#[test]
fn a_project_that_is_never_right_ends_exhausted_and_whole() {
    let project = Project::python();
    let before = project.commit();
    let mut number = 0;
    let server = ModelServer::start(move |request| {
        number += usize::from(request.turn() == 1);
        let attempt = number;
        artisan(request, "shop/cart.py", |seen| {
            let line = seen.lines().find(|line| line.contains("return ")).expect("the line");
            let (_, expression) = line.split_once("return ").expect("found");
            (format!("return {expression}"), format!("return '{}'", "x".repeat(attempt)))
        })
    });
    let ladder = "claude-haiku-4-5 x2 > claude-sonnet-4-5 x2";
    let (said, database) = run(&project, &server, &["--tiers", ladder, "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.starts_with("✖ All 2 tiers exhausted without success."), "{}", said.out);
    let log = Log::open(&database);
    assert_eq!(log.number("SELECT COUNT(*) FROM tier_attempts WHERE test_status = 'failed'"), 4, "{}", said.all());
    assert!(project.read("shop/cart.py").contains(project.wrong), "the start is restored");
    assert_eq!(project.git_digest(), before, "the git directory is not touched");
    server.finish();
}

#[test]
fn a_full_tier_asks_librarian_artisan_and_critic_in_that_order() {
    let project = Project::python();
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let server = ModelServer::start(move |request| {
        let system = request.system();
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "cart.py line 2 subtracts one", "status": "done" }))
                .usage(500, 50)
                .into();
        }
        if system.contains("You review") {
            assert!(request.all_text().contains("+    return sum(prices)"), "the critic sees the diff");
            return Say::call("final_report", json!({ "verdict": "approve", "summary": "right", "issues": [] }))
                .usage(500, 50)
                .into();
        }
        assert!(request.all_text().contains("cart.py line 2 subtracts one"), "the artisan has the brief");
        artisan(request, source, |_| (wrong.to_owned(), right.to_owned()))
    });
    let (said, database) =
        run(&project, &server, &["--tiers", "claude-haiku-4-5 x2 full", "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let log = Log::open(&database);
    let roles = log.rows("SELECT DISTINCT role FROM model_calls ORDER BY rowid");
    assert_eq!(roles, [["librarian"], ["artisan"], ["critic"]]);
    // The tree of sessions: the librarian's is the root, the others hang below it; so it is in every receipt.
    let tree = "SELECT role, COUNT(DISTINCT session_id), session_id = root_session_id, parent_session_id IS NULL, \
                COALESCE(parent_session_id, root_session_id) = (SELECT session_id FROM model_calls ORDER BY rowid LIMIT 1), \
                COUNT(DISTINCT root_session_id) FROM model_calls GROUP BY role, root_session_id ORDER BY MIN(rowid)";
    assert_eq!(
        log.rows(tree),
        [
            ["librarian", "1", "1", "1", "1", "1"],
            ["artisan", "1", "0", "0", "1", "1"],
            ["critic", "1", "0", "0", "1", "1"]
        ]
    );
    assert_eq!(log.number("SELECT COUNT(DISTINCT root_session_id) FROM model_calls"), 1);
    let models = log.rows("SELECT model_librarian, model_critic FROM tier_attempts");
    assert_eq!(models, [["anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"]]);
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_rejected_change_costs_an_iteration_and_its_issues_reach_the_next() {
    let project = Project::python();
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let mut reviews = 0;
    let server = ModelServer::start(move |request| {
        let system = request.system();
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "look at cart.py", "status": "done" }))
                .usage(500, 50)
                .into();
        }
        if system.contains("You review") {
            reviews += 1;
            let report = json!({ "verdict": "reject", "summary": "no", "issues": ["the rounding is not handled"] });
            let approve = json!({ "verdict": "approve", "summary": "fine now", "issues": [] });
            return Say::call("final_report", if reviews == 1 { report } else { approve }).usage(500, 50).into();
        }
        if reviews == 1 {
            assert!(request.all_text().contains("the rounding is not handled"));
            return artisan(request, source, |_| {
                (right.to_owned(), format!("{right}  # no rounding needed: whole cents"))
            });
        }
        artisan(request, source, |_| (wrong.to_owned(), right.to_owned()))
    });
    let (said, database) =
        run(&project, &server, &["--tiers", "claude-haiku-4-5 x3 full", "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let rows = Log::open(&database).rows("SELECT iteration, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(rows, [["1", "failed"], ["2", "passed"]]);
    server.finish();
}

#[test]
fn the_sum_of_receipts_attempts_and_the_vendors_bill_agree() {
    let project = Project::python();
    let haiku = upshift::domain::catalogue::Price {
        input: 1_000_000,
        output: 5_000_000,
        cache_read: 100_000,
        cache_write: 1_250_000,
    };
    let options = crate::world::model_server::Options::default().price("claude-haiku-4-5", haiku);
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let server = ModelServer::start_with(options, move |request| {
        artisan(request, source, |_| (wrong.to_owned(), right.to_owned()))
    });
    let (said, database) =
        run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let log = Log::open(&database);
    let receipts = log.number("SELECT SUM(cost_micro_usd) FROM model_calls");
    let attempts = log.number("SELECT CAST(ROUND(SUM(cost_usd) * 1000000) AS INTEGER) FROM tier_attempts");
    let billed = i64::try_from(server.finish().0).expect("small");
    assert_eq!((receipts, attempts), (billed, billed));
    assert!(billed > 0);
}

#[test]
fn what_already_passes_costs_nothing() {
    let project = Project::python();
    project.write(project.source, "def total(prices):\n    return sum(prices)\n");
    let server = ModelServer::start(|_| panic!("no model is asked"));
    let (said, database) = run(&project, &server, &["--tiers", LADDER, "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let log = Log::open(&database);
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "success");
    assert_eq!(log.value("SELECT outcome FROM run_state"), "already_green");
    server.finish();
}

#[test]
fn a_broken_test_command_is_not_paid_for() {
    let project = Project::python();
    for command in ["no-such-program --test", "cargo frobnicate", "exit 3"] {
        let server = ModelServer::start(|_| panic!("no model is asked"));
        let (said, _) = run(&project, &server, &["--tiers", LADDER, "--test-command", command]);
        assert_eq!(said.code, 7, "{command}: {}", said.all());
        server.finish();
    }
}

#[test]
fn a_cap_is_never_passed_not_even_by_one_call() {
    let project = Project::python();
    let server = ModelServer::start(move |request| {
        artisan(request, "shop/cart.py", |_| ("nothing".to_owned(), "else".to_owned()))
    });
    let args = ["--tiers", "claude-haiku-4-5 x9", "--test-command", project.test_command, "--max-cost-usd", "0.012"];
    let (said, database) = run(&project, &server, &args);
    assert_eq!(said.code, 3, "{}", said.all());
    let log = Log::open(&database);
    let spent = log.number("SELECT COALESCE(SUM(cost_micro_usd + unknown_cost_micro_usd), 0) FROM model_calls");
    assert!(spent <= 12_000, "{spent}");
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "budget_exhausted");
    assert_eq!(log.number("SELECT COUNT(*) FROM model_calls"), i64::try_from(server.requests().len()).expect("small"));
}

#[test]
fn a_pull_request_of_a_fork_is_refused() {
    let project = Project::python();
    let server = ModelServer::start(wrong_then_right(&project));
    let event = |head: &str| {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let side = |name: &str| json!({ "repo": { "full_name": name }, "ref": "topic", "sha": sha });
        let payload = json!({ "pull_request": { "number": 7, "head": side(head), "base": side("acme/shop") } });
        let path = project.path().join("../event.json");
        std::fs::write(&path, payload.to_string()).expect("written");
        let program = Program::with_anthropic(&server.url()).with("GITHUB_ACTIONS", "true");
        let program = program.with("GITHUB_REPOSITORY", "acme/shop").with("GITHUB_RUN_ID", "1");
        program.with("GITHUB_EVENT_NAME", "pull_request").with("GITHUB_EVENT_PATH", path.to_str().expect("text"))
    };
    let args = ["run", "--no-audit", "--tiers", "claude-sonnet-4-5 x1", "--test-command", project.test_command];
    let refused = event("mallory/shop").run(project.path(), &args);
    assert_eq!(refused.code, 6, "{}", refused.all());
    assert!(server.requests().is_empty());
}

#[test]
fn a_model_without_a_search_sees_the_code_that_imports_reach_in_a_small_repository() {
    let project = Project::python();
    project.write("shop/till.py", "from shop.cart import total\n\n\ndef pay(prices):\n    return total(prices)\n");
    project.write("shop/cart.py", "from shop.sums import add\n\n\ndef total(prices):\n    return add(prices)\n");
    project.write("shop/sums.py", "from shop.deep import less\n\n\ndef add(prices):\n    return less(sum(prices))\n");
    project.write("shop/deep.py", "def less(cents):\n    return cents - 1\n");
    let server = ModelServer::start(|request| {
        if request.turn() == 0 {
            assert!(request.all_text().contains("return cents - 1"), "{}", request.all_text());
            let edit = json!({ "path": "shop/deep.py", "old_text": "cents - 1", "new_text": "cents" });
            return Say::call("edit_file", edit).usage(900, 40).into();
        }
        Say::call("final_report", json!({ "summary": "done", "status": "done" })).usage(1_400, 30).into()
    });
    let (said, _) = run(&project, &server, &["--tiers", LADDER, "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    server.finish();
}

#[test]
fn the_report_says_once_why_a_person_is_needed() {
    let project = Project::python();
    let server = ModelServer::start(|_| {
        let report = json!({ "summary": "no", "status": "blocked", "reason": "the secret FOO is missing" });
        Say::call("final_report", report).usage(900, 40).into()
    });
    let (said, _) = run(&project, &server, &["--tiers", LADDER, "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("a person is needed. the secret FOO is missing"), "{}", said.out);
    assert!(!said.out.contains("a person is needed: blocked"), "{}", said.out);
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_active_time_ends_a_run_also_while_a_model_is_silent() {
    let project = Project::python();
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", edit.clone()).usage(900, 40).into(),
        _ => Scripted::Hang,
    });
    let args = ["--tiers", LADDER, "--test-command", project.test_command, "--max-duration-minutes", "0.1"];
    let (said, database) = run(&project, &server, &args);
    assert_eq!(said.code, 3, "{}", said.all());
    let log = Log::open(&database);
    let reason = log.value("SELECT stop_reason FROM run_state");
    assert!(reason.starts_with("max_duration_minutes exceeded"), "{reason}");
    let calls = log.rows("SELECT status FROM model_calls ORDER BY rowid");
    assert_eq!(calls, [["ok"], ["aborted"]], "and the call is settled");
    assert_eq!(log.rows("SELECT test_status FROM tier_attempts"), [["error"]]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("was not judged and is not in the files. It was kept"), "{words}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_allowed_command_may_change_files_and_others_are_refused() {
    let project = Project::python();
    project.write("fix.sh", "sed -i 's/ - 1$//' shop/cart.py\n");
    project.write(".github/upshift.yml", "agent:\n  allowCommands: [sh fix.sh]\n");
    let server = ModelServer::start(|request| match request.turn() {
        0 => Say::call("run_command", json!({ "command": "rm -rf /" })).usage(900, 40).into(),
        1 => {
            assert!(request.tool_results()[0].content.contains("not allowed"), "{:?}", request.tool_results());
            Say::call("run_command", json!({ "command": "sh fix.sh" })).usage(900, 40).into()
        }
        _ => Say::call("final_report", json!({ "summary": "ran the fixer", "status": "done" })).usage(1_400, 30).into(),
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("Change:  1 file"), "{}", said.all());
    server.finish();
}

#[test]
fn a_model_that_makes_the_same_failing_call_again_and_again_is_stopped_before_its_turns_are_used_up() {
    let project = Project::python();
    let wrong = json!({ "path": project.source, "old_text": "not there", "new_text": "x" });
    let server = ModelServer::start(move |request| match request.tool_results().last() {
        Some(result) if result.content.contains("on the last turn only the report counts") => {
            Say::call("final_report", json!({ "summary": "gave up", "status": "done" })).usage(900, 30).into()
        }
        _ => Say::call("edit_file", wrong.clone()).usage(900, 40).into(),
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    let asked = server.requests();
    assert!((7..=9).contains(&asked.len()), "{}: {}", asked.len(), said.all());
    let told = |number: usize| asked[number].tool_results().last().expect("an answer").content.clone();
    assert!(!told(2).contains("in a row") && told(3).contains("This has failed so 3 times in a row"), "{}", told(3));
    server.finish();
}

#[cfg(target_os = "linux")]
#[test]
fn a_checkout_that_cannot_be_written_is_refused_before_anything_is_paid() {
    let project = Project::python();
    let server = ModelServer::start(|_| Scripted::Hang);
    let program = Program::with_anthropic(&server.url());
    let args = ["run", "--no-audit", "--test-command", project.test_command];
    let upshift = program.command(project.path(), &args);
    // In a mount namespace of its own, so that nobody else sees the mount.
    let script = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\" && exec \"$0\" \"$@\"";
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(upshift.get_program()).args(args);
    unshare.current_dir(project.path()).env_clear();
    unshare.envs(upshift.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = Said::from(unshare.output().expect("unshare"));
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("cannot be written (Read-only file system"), "{}", said.all());
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn the_users_ignored_files_survive_whatever_a_model_tries() {
    let project = Project::python();
    project.commit();
    project.write(".gitignore", "data/\n*.log\n");
    project.write("data/local.cfg", "mine\n");
    project.write("own.log", "mine, too\n");
    let server = ModelServer::start(|request| match request.turn() {
        0 => Say::call("delete_file", json!({ "path": "data/local.cfg" })).usage(900, 40).into(),
        1 => Say::call("write_file", json!({ "path": "own.log", "content": "theirs\n" })).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "tidied up", "status": "done" })).usage(1_400, 30).into(),
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(
        (project.read("data/local.cfg"), project.read("own.log")),
        ("mine\n".to_owned(), "mine, too\n".to_owned())
    );
    server.finish();
}

#[test]
fn code_that_rewrites_tests_while_they_run_is_no_fix_and_everything_is_put_back() {
    let project = Project::python();
    let test = project.read("tests/test_cart.py");
    project.write("other.py", "untouched = True\n");
    let evil = "import pathlib\n\n\nfor name in ('tests/test_cart.py', 'other.py'):\n    path = pathlib.Path(name)\n    \
                path.write_text(path.read_text() + '\\n')\n\n\ndef total(prices):\n    return sum(prices)\n";
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": evil })).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(1_400, 30).into(),
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.all().contains("rewrote test files while they ran"), "{}", said.all());
    assert_eq!((project.read("tests/test_cart.py"), project.read("other.py")), (test, "untouched = True\n".to_owned()));
    server.finish();
}
