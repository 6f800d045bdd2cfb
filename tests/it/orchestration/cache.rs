//! Briefs and reviews that are used again (S1-20): by the same question alone, for nothing, and without a vote in the court.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::brief;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A full tier of one model, with kept reports.
pub(crate) const TIERS: &str = r#"{"tiers": [{"name": "one", "mode": "full", "maxIterations": 1,
    "models": {"artisan": "claude-haiku-4-5", "librarian": "claude-haiku-4-5", "critic": "claude-haiku-4-5"}}],
    "agent": {"cache": true}}"#;

/// The artisan replaces the wrong line, the librarian briefs, the critic approves.
pub(crate) fn script(
    (source, wrong, new): (&'static str, &'static str, &'static str),
    meta: Option<Value>,
) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let mut full = super::full_mode((source, wrong, new), move |request| match (&meta, request.turn()) {
        (None, _) => brief(),
        (Some(meta), _) => {
            let report = json!({ "summary": "look at the sum", "status": "done", "meta": meta });
            Say::call("final_report", report).usage(500, 20).into()
        }
    });
    move |request| full(request)
}

/// The events after which a run is killed here.
pub(crate) const KILLS: [&str; 3] = ["report_kept:1", "report_kept:2", "report_reused:1"];

/// How often each role was asked.
pub(crate) fn asked(requests: &[Request]) -> [usize; 3] {
    ["You brief", "You repair", "You review"].map(|word| requests.iter().filter(|r| r.system().contains(word)).count())
}

/// One run after another over the same tree and the same log.
struct Runs {
    project: Project,
    tiers: String,
}

impl Runs {
    fn new(tiers: &str) -> Self {
        Self { project: Project::python(), tiers: tiers.to_owned() }
    }

    /// A run in which the wrong line becomes `new`, and how often each role was asked in it. The tree is put back.
    fn run(&self, new: &'static str, meta: Option<Value>) -> (Said, [usize; 3]) {
        self.run_killed(new, meta, "")
    }

    /// The same, killed at an event and taken up again.
    fn run_killed(&self, new: &'static str, meta: Option<Value>, kill: &str) -> (Said, [usize; 3]) {
        let Project { source, wrong, test_command, .. } = self.project;
        let server = ModelServer::start(script((source, wrong, new), meta));
        let program = Program::with_anthropic(&server.url()).with("UPSHIFT_CRASH_AFTER", kill);
        let log = self.log();
        let path = log.to_str().expect("text");
        let args = ["run", "--tiers", &self.tiers, "--audit-db", path, "--test-command", test_command];
        let mut said = program.run(self.project.path(), &args);
        if !kill.is_empty() {
            assert_eq!(said.code, -9, "{kill}: {}", said.all());
            said = program.with("UPSHIFT_CRASH_AFTER", "").run(self.project.path(), &["resume", "--audit-db", path]);
        }
        let asked = asked(&server.requests());
        server.finish();
        let text = self.project.read(source).replace(new, wrong);
        self.project.write(source, &text);
        (said, asked)
    }

    /// The log, outside of the tree.
    fn log(&self) -> std::path::PathBuf {
        let name = self.project.path().file_name().expect("a name").to_string_lossy().into_owned();
        self.project.path().parent().expect("a parent").join(format!("{name}.db"))
    }

    fn sql(&self, sql: &str) {
        assert!(Command::new("sqlite3").arg(self.log()).arg(sql).status().expect("sqlite3").success());
    }
}

fn report(folder: &Path, log: &Path, form: &str) -> String {
    let path = log.to_str().expect("text");
    Program::new().run(folder, &["report", "--audit-db", path, "--format", form]).out
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_same_question_is_answered_again_for_nothing() {
    let runs = Runs::new(TIERS);
    let (first, asked) = runs.run(runs.project.right, None);
    assert_eq!((first.code, asked), (0, [1, 2, 1]), "{}", first.all());
    let (second, asked) = runs.run(runs.project.right, None);
    assert_eq!((second.code, asked), (0, [0, 2, 0]), "{}", second.all());
    assert!(second.all().contains("used again: the critic's review of run "), "{}", second.all());
    let log = Log::open(&runs.log());
    let last = "(SELECT run_id FROM run_metadata ORDER BY rowid DESC LIMIT 1)";
    let roles = log.rows(&format!("SELECT DISTINCT role FROM model_calls WHERE run_id = {last}"));
    assert_eq!(roles, [["artisan"]], "no call, and no receipt");
    let cost = log.number(&format!("SELECT SUM(cost_micro_usd) FROM model_calls WHERE run_id = {last}"));
    let row = format!("SELECT CAST(ROUND(SUM(cost_usd) * 1e6) AS INTEGER) FROM tier_attempts WHERE run_id = {last}");
    assert_eq!(log.number(&row), cost);
    let reused = log.rows(&format!(
        "SELECT json_extract(body, '$.role') FROM events WHERE kind = 'report_reused' AND run_id = {last}"
    ));
    assert_eq!(reused, [["librarian"], ["critic"]]);
    let evidence =
        log.number(&format!("SELECT COUNT(*) FROM events WHERE kind = 'tests_finished' AND run_id = {last}"));
    assert!(evidence > 0, "the court judged it anew");
    let document: Value = serde_json::from_str(&report(runs.project.path(), &runs.log(), "json")).expect("JSON");
    assert_eq!(document["reused"][1]["role"], "critic");
    let told = report(runs.project.path(), &runs.log(), "text");
    assert!(told.contains("  Cache:   used again: the librarian's brief of run "), "{told}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn another_question_is_asked() {
    let runs = Runs::new(TIERS);
    let _first = runs.run(runs.project.right, None);
    // Another change is another tree.
    let (_, asked) = runs.run("    return sum(prices) - 2", None);
    assert_eq!(asked, [0, 2, 1]);
    // Another file is, too.
    runs.project.write("shop/till.py", "A = 1\n");
    let (_, asked) = runs.run(runs.project.right, None);
    assert_eq!(asked, [1, 2, 1]);
    let other = Runs {
        tiers: TIERS.replacen("\"librarian\": \"claude-haiku-4-5\"", "\"librarian\": \"claude-sonnet-4-5\"", 1),
        ..runs
    };
    let (_, asked) = other.run(other.project.right, None);
    assert_eq!(asked, [1, 2, 0], "another model is asked, and the review is the same");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn nothing_is_kept_or_used_unless_it_is_configured() {
    let off = Runs::new(&TIERS.replace("true", "false"));
    for _ in 0..2 {
        assert_eq!(off.run(off.project.right, None).1, [1, 2, 1]);
    }
    assert_eq!(Log::open(&off.log()).number("SELECT COUNT(*) FROM events WHERE kind LIKE 'report_%'"), 0);
}

/// An approval that was kept says nothing of the tests.
#[test]
fn an_approval_that_is_used_again_never_stands_in_for_the_court() {
    let runs = Runs::new(TIERS);
    for again in [false, true] {
        let (said, asked) = runs.run("    return sum(prices) - 2", None);
        assert_eq!((said.code, asked), (1, if again { [0, 2, 0] } else { [1, 2, 1] }), "{}", said.all());
        assert!(said.all().contains("exhausted"), "{}", said.all());
    }
    let log = Log::open(&runs.log());
    assert_eq!(log.number("SELECT COUNT(*) FROM events WHERE kind = 'tests_finished'"), 2);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_report_without_its_required_block_is_neither_kept_nor_used() {
    let meta =
        r#""cache": true, "meta": {"area": {"role": "librarian", "schema": {"type": "string", "maxLength": 9}}}"#;
    let runs = Runs::new(&TIERS.replace(r#""cache": true"#, meta));
    let (said, asked) = runs.run(runs.project.right, Some(json!({ "area": "much too long a word" })));
    assert_eq!((said.code, asked), (0, [3, 2, 1]), "{}", said.all());
    let (_, asked) = runs.run(runs.project.right, Some(json!({ "area": "sums" })));
    assert_eq!(asked, [1, 2, 0], "what had no block was not kept; the critic owes none");
    let (_, asked) = runs.run(runs.project.right, None);
    assert_eq!(asked, [0, 2, 0]);
    let document: Value = serde_json::from_str(&report(runs.project.path(), &runs.log(), "json")).expect("JSON");
    assert_eq!(document["meta"][0]["blocks"]["area"], "sums", "the block is told with the report");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_log_whose_chain_is_broken_gives_no_report() {
    let runs = Runs::new(TIERS);
    let _first = runs.run(runs.project.right, None);
    runs.sql("UPDATE events SET body = replace(body, 'look at the sum', 'delete the test') WHERE kind = 'report_kept'");
    let (said, asked) = runs.run(runs.project.right, None);
    assert_eq!((said.code, asked), (0, [1, 2, 1]), "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_killed_run_pays_for_nothing_twice_and_uses_again_what_it_had() {
    for kill in KILLS {
        let runs = Runs::new(TIERS);
        if kill.starts_with("report_reused") {
            let _first = runs.run(runs.project.right, None);
            let (said, asked) = runs.run_killed(runs.project.right, None, kill);
            assert_eq!((said.code, asked), (0, [0, 2, 0]), "{kill}: {}", said.all());
        } else {
            let (said, asked) = runs.run_killed(runs.project.right, None, kill);
            assert_eq!((said.code, asked), (0, [1, 2, 1]), "{kill}: {}", said.all());
            let (_, asked) = runs.run(runs.project.right, None);
            assert_eq!(asked, [0, 2, 0], "{kill}: what was kept before the kill is used");
        }
    }
}

/// A log in the checkout, and one run after another on it, each with a state home of its own choosing.
fn run_in_checkout(project: &Project, state: &Path) -> [usize; 3] {
    let Project { source, wrong, right, test_command, .. } = *project;
    let server = ModelServer::start(script((source, wrong, right), None));
    let program =
        Program::with_anthropic(&server.url()).without_court().with("XDG_STATE_HOME", state.to_str().expect("text"));
    let args = ["run", "--tiers", TIERS, "--test-command", test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked = asked(&server.requests());
    server.finish();
    let text = project.read(source).replace(right, wrong);
    project.write(source, &text);
    asked
}

fn git(project: &Project, args: &[&str]) {
    let done = Command::new("git").args(args).current_dir(project.path()).status().expect("git");
    assert!(done.success(), "{args:?}");
}

/// Whoever writes a log can make its chain whole. One that came with the repository is no source of briefs and reviews.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_log_that_came_with_the_checkout_gives_no_report() {
    let project = Project::python();
    let _digest = project.commit();
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    assert_eq!(run_in_checkout(&project, one.path()), [1, 2, 1]);
    assert_eq!(run_in_checkout(&project, one.path()), [0, 2, 0], "our own");
    assert_eq!(run_in_checkout(&project, other.path()), [1, 2, 1], "on another machine it may be anybody's");
    assert_eq!(run_in_checkout(&project, other.path()), [0, 2, 0], "what this machine added to it is our own");
    git(&project, &["add", "--force", ".upshift/audit.db"]);
    assert_eq!(run_in_checkout(&project, other.path()), [1, 2, 1], "git tracks it");
    git(&project, &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=log"]);
    let fresh = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        assert_eq!(run_in_checkout(&project, fresh.path()), [1, 2, 1], "a clone");
    }
    git(&project, &["rm", "--cached", "--quiet", ".upshift/audit.db"]);
    let fresh = tempfile::tempdir().expect("a folder");
    assert_eq!(run_in_checkout(&project, fresh.path()), [1, 2, 1], "the commit has it");
}
