//! `kill -9` after each kind of event in turn, then `resume`: the same end as an unbroken run.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use upshift::domain::event::Event;

use super::{database_of, files_of};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;
use crate::world::sampled;

/// A run whose model answers from the conversation alone, so that a restart does not confuse it, and where it is killed.
pub(super) struct Scenario {
    pub(super) ladder: &'static str,
    /// The text of `.github/upshift.yml`; empty for none.
    pub(super) config: &'static str,
    pub(super) script: fn(&Request) -> Scripted,
    /// `kind:n`: the n-th event of a kind is the last thing that a process does.
    pub(super) kills: &'static [&'static str],
}

/// Tier 1 makes it worse, tier 2 mends it.
pub(super) const MENDED: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1",
    config: "",
    script: worse_then_mended,
    kills: &[
        "run_started:1",
        "invocation_started:1",
        "baseline_finished:1",
        "tier_started:1",
        "iteration_started:1",
        "session_started:1",
        "call_reserved:2",
        "call_settled:2",
        "tool_finished:2",
        "session_finished:1",
        "tests_finished:1",
        "iteration_finished:1",
        "context_reset:1",
        "tier_finished:1",
        "escalated:1",
        "call_settled:5",
        "proof_started:1",
        "evidence_gathered:1",
        "run_finished:1",
    ],
};

/// Tier 1 fails in the same way three times, fills its small window and uses most of the iterations; tier 2 mends it.
const STALLED: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x4 > claude-sonnet-4-5 x1",
    config: "global: { maxTotalIterations: 5 }\n\
             models: { anthropic/claude-haiku-4-5: { contextWindow: 20000, maxOutputTokens: 4000 } }\n",
    script: the_same_error_then_mended,
    kills: &["context_threshold:1", "context_reset:2", "entropy_detected:1", "budget_warning:1", "tier_finished:2"],
};

/// The code under test rewrites a test and another file whenever it is run; nothing is ever mended.
pub(super) const REWRITING: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1",
    config: "",
    script: rewrites_files,
    kills: &["tool_finished:2", "warning:1", "tests_finished:1", "warning:2"],
};

/// The fix comes with a file that green does not need, which is dropped.
pub(super) const MINIMISED: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1",
    config: "safety: { minimise: drop }\nagent: { meta: { risk: { required: false } } }\n",
    script: mends_and_adds,
    kills: &["patch_minimised:1", "meta_reported:1"],
};

/// The same where it stays and is named.
const REMARKED: Scenario =
    Scenario { ladder: "claude-haiku-4-5 x1", config: "", script: mends_and_adds, kills: &["remarked:1"] };

/// The fix leaves what a shell and git run in its folders, behind an ignore rule of its own.
const LEAVING: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1",
    config: "",
    script: mends_and_leaves,
    kills: &["baseline_finished:1", "tests_finished:1", "iteration_finished:1", "leftovers_removed:1"],
};

/// Tier 1 calls the test wrong and says how it should read; tier 2 mends the code.
pub(super) const CORRECTED: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1",
    config: "",
    script: corrects_then_mends,
    kills: &["tool_finished:1", "session_finished:1", "correction_proposed:1", "iteration_finished:1"],
};

/// An advisor reads before the artisan mends it.
const ADVISED: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1",
    config: "agent: { advisors: { callers: { instructions: Who calls it? } } }\n",
    script: advises_and_mends,
    kills: &["call_settled:2", "advised:1"],
};

/// An artisan asks two sub-agents, of which one fails and is told of in the configuration's words.
const CALLING: Scenario = Scenario {
    ladder: "claude-haiku-4-5 x1",
    config: "agent:\n  subAgents:\n    reader: { description: Reads., instructions: Read it. }\n    \
             asker: { description: Asks., instructions: Ask it. }\n  toolFailures: { agent__asker: Go on without. }\n",
    script: calls_and_mends,
    kills: &["call_settled:2", "tool_finished:2", "tool_failure_replaced:1", "call_settled:5"],
};

const SCENARIOS: [&Scenario; 9] =
    [&CALLING, &ADVISED, &MENDED, &STALLED, &REWRITING, &MINIMISED, &REMARKED, &LEAVING, &CORRECTED];

fn done() -> Scripted {
    Say::call("final_report", json!({ "summary": "changed it", "status": "done" })).usage(1_400, 30).into()
}

fn corrects_then_mends(request: &Request) -> Scripted {
    if request.model.contains("sonnet") {
        return worse_then_mended(request);
    }
    match request.turn() {
        0 => {
            let edit =
                json!({ "path": "tests/test_cart.py", "old_text": "[1, 2, 3]), 6", "new_text": "[1, 2, 3]), 5" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => {
            let report = json!({ "summary": "the test is wrong", "status": "blocked", "reason": "it is 5", "blocked_on": "test" });
            Say::call("final_report", report).usage(900, 40).into()
        }
    }
}

fn worse_then_mended(request: &Request) -> Scripted {
    let right = request.model.contains("sonnet");
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 => {
            assert!(
                request.tool_results()[0].content.contains("sum(prices) - 1"),
                "each tier starts from the best tree"
            );
            let new = if right { "sum(prices)" } else { "sum(prices) - 2" };
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": new });
            Say::call("edit_file", edit).usage(1_200, 60).into()
        }
        _ => done(),
    }
}

fn the_same_error_then_mended(request: &Request) -> Scripted {
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 => {
            let seen = request.tool_results()[0].content.clone();
            let line = seen.lines().find_map(|line| line.split_once("return ")).expect("the line").1.to_owned();
            let new = if request.model.contains("sonnet") { "sum(prices)".to_owned() } else { format!("{line}  # hm") };
            let edit = json!({ "path": "shop/cart.py", "old_text": line, "new_text": new });
            Say::call("edit_file", edit).usage(9_000, 60).into()
        }
        _ => done(),
    }
}

fn rewrites_files(request: &Request) -> Scripted {
    let evil = "import pathlib\n\n\nfor name in ('tests/test_cart.py', 'other.py'):\n    path = pathlib.Path(name)\n    \
                path.write_text(path.read_text() + '\\n')\n\n\ndef total(prices):\n    return sum(prices)\n";
    match request.turn() {
        0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": evil })).usage(900, 40).into(),
        1 => Say::call("run_tests", json!({})).usage(900, 40).into(),
        _ => done(),
    }
}

fn mends_and_adds(request: &Request) -> Scripted {
    let write = |path: &str, content: &str| {
        Say::call("write_file", json!({ "path": path, "content": content })).usage(900, 40).into()
    };
    match request.turn() {
        0 => write("shop/cart.py", "def total(prices):\n    return sum(prices)\n"),
        1 => write("shop/more.py", "VALUE = 1\n"),
        _ => done(),
    }
}

fn advises_and_mends(request: &Request) -> Scripted {
    if !request.system().contains("You advise") {
        return mends_and_adds(request);
    }
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(500, 40).into(),
        _ => done(),
    }
}

fn calls_and_mends(request: &Request) -> Scripted {
    let report = |status: &str| json!({ "summary": "so", "status": status, "reason": "no way in" });
    if request.system().contains("You are called by") {
        let asks = request.all_text().contains("Ask it.");
        return match request.turn() {
            0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(500, 40),
            _ => Say::call("final_report", report(if asks { "blocked" } else { "done" })).usage(500, 40),
        }
        .into();
    }
    match request.turn() {
        0 => Say::call("agent__reader", json!({ "task": "read the cart" })).usage(900, 40).into(),
        1 => Say::call("agent__asker", json!({ "task": "ask somebody" })).usage(900, 40).into(),
        2 => {
            let content = "def total(prices):\n    return sum(prices)\n";
            Say::call("write_file", json!({ "path": "shop/cart.py", "content": content })).usage(900, 40).into()
        }
        _ => done(),
    }
}

fn mends_and_leaves(request: &Request) -> Scripted {
    let leaves = "import pathlib\n\n\nfor name in ('left/.envrc', 'left/.gitignore', 'left/sub/.git/config'):\n    path = pathlib.Path(name)\n    \
                  path.parent.mkdir(parents=True, exist_ok=True)\n    path.write_text('*')\n\n\ndef total(prices):\n    return sum(prices)\n";
    match request.turn() {
        0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": leaves })).usage(900, 40).into(),
        _ => done(),
    }
}

/// What is left of a run: everything that must not depend on whether it was killed on the way.
#[derive(Debug, PartialEq)]
struct Remains {
    code: i32,
    /// The verdict and the table of tiers without its costs: a call that was lost is counted at its worst case.
    said: Vec<String>,
    outcome: Vec<Vec<String>>,
    attempts: Vec<Vec<String>>,
    receipts: Vec<Vec<String>>,
    warnings: Vec<Vec<String>>,
    /// What was removed at the end.
    leftovers: Vec<Vec<String>>,
    files: Vec<(String, String)>,
    requests: usize,
}

impl Remains {
    fn of(said: &Said, project: &Project, server: &ModelServer) -> Self {
        let log = Log::open(&database_of(project));
        // Each project lies in a folder of its own, which tracebacks name.
        let folder = project.path().display().to_string();
        let rows = |sql: &str| -> Vec<Vec<String>> {
            let rows = log.rows(sql).into_iter();
            rows.map(|row| row.into_iter().map(|text| text.replace(&folder, "HERE")).collect()).collect()
        };
        let shown = |line: &&str| line.starts_with(['✔', '✖']) || line.starts_with("  Tier ");
        Self {
            code: said.code,
            said: said.out.lines().filter(shown).map(without_costs).collect(),
            outcome: rows("SELECT outcome, resolved_tier_name, resolved_iteration FROM run_metadata"),
            attempts: rows(
                "SELECT tier_index, iteration, test_status, failed_tests, error_messages, code_change_summary \
                 FROM tier_attempts ORDER BY id",
            ),
            receipts: rows(
                "SELECT tier_index, iteration, role, turn, attempt, provider, model, status, cost_micro_usd \
                 FROM model_calls WHERE status <> 'lost' ORDER BY id",
            ),
            warnings: log
                .rows("SELECT DISTINCT json_extract(body, '$.message') FROM events WHERE kind = 'warning' ORDER BY 1"),
            leftovers: log.rows(
                "SELECT DISTINCT json_extract(value, '$.path') FROM events, json_each(body, '$.leftovers') \
                 WHERE kind = 'leftovers_removed' ORDER BY 1",
            ),
            files: files_of(project.path()),
            requests: server.requests().len(),
        }
    }
}

fn without_costs(line: &str) -> String {
    let cost = |word: &&str| word.starts_with('$') || matches!(*word, "known," | "at" | "most" | "unknown");
    line.split_whitespace().filter(|word| !cost(word)).collect::<Vec<_>>().join(" ")
}

struct Stage {
    project: Project,
    server: ModelServer,
    git: String,
    database: String,
}

impl Stage {
    fn of(scenario: &Scenario) -> Self {
        let project = Project::python();
        project.write("other.py", "untouched = True\n");
        if !scenario.config.is_empty() {
            project.write(".github/upshift.yml", scenario.config);
        }
        let git = project.commit();
        let database = database_of(&project).to_str().expect("text").to_owned();
        Self { server: ModelServer::start(scenario.script), project, git, database }
    }

    fn folder(&self) -> &Path {
        self.project.path()
    }

    fn run(&self, program: &Program, scenario: &Scenario) -> Said {
        let command = self.project.test_command;
        let args = ["run", "--audit-db", &self.database, "--tiers", scenario.ladder, "--test-command", command];
        program.run(self.folder(), &args)
    }
}

/// Runs a scenario unbroken, then once for each kill with a resume after it, and compares what is left.
fn kill_everywhere(scenario: &Scenario) {
    let stage = Stage::of(scenario);
    let said = stage.run(&Program::with_anthropic(&stage.server.url()), scenario);
    let unbroken = Remains::of(&said, &stage.project, &stage.server);
    stage.server.finish();
    for kill in sampled(scenario.kills) {
        let stage = Stage::of(scenario);
        let dying = Program::with_anthropic(&stage.server.url()).with("UPSHIFT_CRASH_AFTER", kill);
        let killed = stage.run(&dying, scenario);
        assert_eq!(killed.code, -9, "{kill}: {}", killed.all());

        let calm = dying.with("UPSHIFT_CRASH_AFTER", "");
        let ended = kill.starts_with("run_finished");
        let shown = calm.run(stage.folder(), &["report", "--audit-db", &stage.database]);
        assert_eq!(shown.code, 0, "{kill}: {}", shown.all());
        assert_eq!(
            shown.out.contains("interrupted"),
            !ended,
            "{kill}: a dead run is not shown as running: {}",
            shown.out
        );

        let mut end = calm.run(stage.folder(), &["resume", "--audit-db", &stage.database]);
        if ended {
            assert_eq!(end.code, 2, "an ended run is not continued: {}", end.all());
            end = Said { code: unbroken.code, ..shown };
        }
        assert_eq!(Remains::of(&end, &stage.project, &stage.server), unbroken, "{kill}: {}", end.all());
        assert_eq!(stage.project.git_digest(), stage.git, "{kill}: the git directory is whole");
        let log = Log::open(&database_of(&stage.project));
        let receipts = log.number("SELECT SUM(cost_micro_usd) FROM model_calls");
        let attempts = log.number("SELECT CAST(ROUND(SUM(cost_usd) * 1000000) AS INTEGER) FROM tier_attempts");
        assert_eq!(receipts, attempts, "{kill}: every call belongs to one row");
        let verified = calm.run(stage.folder(), &["report", "--verify", "--audit-db", &stage.database]);
        assert_eq!(verified.code, 0, "{kill}: the chain goes on where it was cut: {}", verified.all());
        stage.server.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_that_mends_at_the_second_tier_survives_any_kill() {
    kill_everywhere(&MENDED);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_whose_artisan_calls_sub_agents_survives_any_kill() {
    kill_everywhere(&CALLING);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_that_stalls_and_nears_its_caps_survives_any_kill() {
    kill_everywhere(&STALLED);
}

#[test]
fn a_run_with_warnings_that_mends_nothing_survives_any_kill() {
    kill_everywhere(&REWRITING);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_whose_fix_is_made_smaller_survives_any_kill() {
    kill_everywhere(&MINIMISED);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_in_which_a_test_is_called_wrong_survives_any_kill() {
    let stage = Stage::of(&CORRECTED);
    let said = stage.run(&Program::with_anthropic(&stage.server.url()), &CORRECTED);
    assert!(said.all().contains("A model says that a test is wrong"), "{}", said.all());
    stage.server.finish();
    kill_everywhere(&CORRECTED);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_whose_fix_is_remarked_on_survives_any_kill() {
    kill_everywhere(&REMARKED);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_whose_fix_leaves_what_other_tools_run_survives_any_kill_and_removes_it() {
    let stage = Stage::of(&LEAVING);
    let said = stage.run(&Program::with_anthropic(&stage.server.url()), &LEAVING);
    let remains = Remains::of(&said, &stage.project, &stage.server);
    assert_eq!(
        (remains.code, remains.leftovers.concat()),
        (0, vec!["left/.envrc".to_owned(), "left/sub/.git".to_owned()])
    );
    assert!(!stage.project.path().join("left/sub/.git").exists());
    stage.server.finish();
    kill_everywhere(&LEAVING);
}

/// The names of all kinds of events, from the type itself: what its reader says it would have taken.
fn kinds() -> BTreeSet<String> {
    let refused = serde_json::from_value::<Event>(json!({ "event": "?" })).expect_err("no such kind").to_string();
    let (_, expected) = refused.split_once("expected one of ").expect("a list of kinds");
    expected.split('`').filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_owned).collect()
}

#[test]
fn every_kind_of_event_is_killed_after() {
    let killed = SCENARIOS.iter().flat_map(|scenario| scenario.kills).filter_map(|kill| kill.split_once(':'));
    let mut killed: BTreeSet<String> = killed.map(|(kind, _)| kind.to_owned()).collect();
    let elsewhere = crate::breakpoints::KILLS.iter().chain(&crate::action::commands::KILLS);
    let elsewhere =
        elsewhere.chain(&crate::targets::KILLS).chain(&crate::portable::KILLS).chain(&crate::action::nightly::KILLS);
    let elsewhere = elsewhere.chain(&crate::agents::KILLS).chain(&crate::orchestration::cache::KILLS);
    let elsewhere = elsewhere.chain(&crate::orchestration::router::KILLS).chain(&crate::orchestration::handoff::KILLS);
    killed.extend(elsewhere.filter_map(|kill| kill.split_once(':')).map(|(kind, _)| kind.to_owned()));
    let mut kinds = kinds();
    // A link in the log for a state that comes with nothing else: it is told to nobody who could kill.
    kinds.remove("state_saved");
    assert!(kinds.len() >= 20 && kinds.contains("run_started"), "{kinds:?}");
    let spared: Vec<_> = kinds.difference(&killed).collect();
    assert!(
        spared.is_empty(),
        "no run is killed after {spared:?}: add them to the `kills` of a scenario that emits them"
    );
}
