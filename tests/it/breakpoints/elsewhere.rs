//! A run goes on in another folder of another home, with nothing but the repository and its log: from every kind of breakpoint, and
//! killed at every step.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::waiting::{RED_LOG, over, plan};
use super::{FIXED, Site, TEST_COMMAND, mends};
use crate::world::git_server::{TOKEN, git};
use crate::world::github::{CiPlan, FakeGitHub};
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::sampled;

/// Another machine: a clone, a home, and the log.
pub(super) struct Elsewhere {
    folder: TempDir,
    program: Program,
}

impl Elsewhere {
    /// With a clone of the whole repository at a commit.
    pub(super) fn at(site: &Site, commit: &str) -> Self {
        let here = Self::with_log(site);
        site.server.clone_to(&here.root());
        git(&here.root(), &["checkout", "--quiet", "--detach", commit]);
        here.with_origin_at_the_server(site)
    }

    /// With a clone of nothing but the last commit of a branch, as a job checks it out.
    fn shallow(site: &Site, branch: &str) -> Self {
        let here = Self::with_log(site);
        let (url, root) = (format!("file://{}", site.server.bare().display()), here.root());
        let arguments = ["clone", "--quiet", "--depth=1", "--branch", branch, &url, root.to_str().expect("text")];
        git(here.folder.path(), &arguments);
        here.with_origin_at_the_server(site)
    }

    fn with_origin_at_the_server(self, site: &Site) -> Self {
        git(&self.root(), &["remote", "set-url", "origin", &site.server.url()]);
        self
    }

    fn with_log(site: &Site) -> Self {
        let folder = tempfile::Builder::new().prefix("elsewhere-").tempdir().expect("a folder");
        for ending in ["", "-wal"] {
            let log = PathBuf::from(format!("{}{ending}", site.database().display()));
            if log.exists() {
                std::fs::copy(&log, folder.path().join(log.file_name().expect("a name"))).expect("copied");
            }
        }
        let program = Program::with_anthropic(&site.models.url())
            .without_court()
            .with("GITHUB_TOKEN", TOKEN)
            .with("UPSHIFT_TEST_COMMAND", TEST_COMMAND);
        Self { folder, program }
    }

    fn with(self, name: &str, value: &str) -> Self {
        Self { program: self.program.with(name, value), ..self }
    }

    pub(super) fn under(self, github: &FakeGitHub) -> Self {
        self.with("GITHUB_API_URL", &github.url())
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("audit.db")
    }

    pub(super) fn resume(&self) -> Said {
        self.call(&["resume"])
    }

    fn call(&self, words: &[&str]) -> Said {
        let database = self.database().display().to_string();
        self.program.run(&self.root(), &[words, &["--audit-db", &database]].concat())
    }

    pub(super) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).expect("a text")
    }

    pub(super) fn assert_vouched_for(&self) {
        let verified = self.call(&["report", "--verify"]);
        assert_eq!(verified.code, 0, "{}", verified.all());
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_that_was_killed_anywhere_goes_on_elsewhere_and_nothing_is_paid_or_pushed_twice() {
    for kill in sampled([
        "run_started:1",
        "tree_recorded:1",
        "baseline_finished:1",
        "iteration_started:1",
        "call_settled:1",
        "tool_finished:1",
        "call_settled:2",
        "iteration_finished:1",
        "publish_started:1",
        "pushed:1",
        "breakpoint_reached:1",
    ]) {
        let (site, github) = over(Site::new(), vec![plan("success", "")]);
        let site = site.with("UPSHIFT_CRASH_AFTER", kill);
        let killed = site.run("commit");
        assert_eq!(killed.code, -9, "{kill}: {}", killed.all());
        let there = Elsewhere::at(&site, &site.start).under(&github);
        let said = there.resume();
        assert_eq!(said.code, 0, "{kill}: {}", said.all());
        assert!(there.text("shop/cart.py").starts_with(FIXED), "{kill}: {}", said.all());
        assert_eq!((site.server.pushes(), site.models.requests().len()), (1, 2), "{kill}: {}", said.all());
        there.assert_vouched_for();
        site.models.finish();
        github.finish();
    }
}

/// What the setup command makes is in no commit and in no recorded tree.
#[test]
fn a_run_that_goes_on_elsewhere_prepares_the_checkout_as_it_was_prepared_here() {
    const SETUP: &str = "mkdir -p __pycache__ && touch __pycache__/made";
    let (site, github) = over(Site::new(), vec![plan("success", "")]);
    let site = site.with("UPSHIFT_SETUP_COMMAND", SETUP).with("UPSHIFT_CRASH_AFTER", "iteration_started:1");
    let killed = site.run("commit");
    assert_eq!(killed.code, -9, "{}", killed.all());
    let there = Elsewhere::at(&site, &site.start).under(&github).with("UPSHIFT_SETUP_COMMAND", SETUP);
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(there.text("__pycache__/made"), "", "{}", said.all());
    site.models.finish();
    github.finish();
}

/// Nothing would be judged fairly without what it makes: nobody is paid there.
#[test]
fn a_setup_command_that_fails_elsewhere_ends_the_run_before_anybody_is_paid() {
    let (site, github) = over(Site::new(), vec![plan("success", "")]);
    let site = site.with("UPSHIFT_SETUP_COMMAND", "true").with("UPSHIFT_CRASH_AFTER", "iteration_started:1");
    assert_eq!(site.run("commit").code, -9);
    let asked = site.models.requests().len();
    let fails = "echo no such registry && false";
    let there = Elsewhere::at(&site, &site.start).under(&github).with("UPSHIFT_SETUP_COMMAND", fails);
    let said = there.resume();
    assert_eq!((said.code, site.models.requests().len()), (7, asked), "{}", said.all());
    assert!(said.out.contains("The setup command failed (exit code 1): no such registry"), "{}", said.all());
    site.models.finish();
    github.finish();
}

#[test]
fn a_wait_for_ci_goes_on_elsewhere_at_the_base_and_at_the_pushed_commit() {
    for shallow in [false, true] {
        let (site, github) = over(Site::new(), vec![CiPlan { takes_ms: 10_000_000, ..plan("success", "") }]);
        let site = site.with("UPSHIFT_CI_TIMEOUT_MINUTES", "2");
        assert_eq!(site.run("commit").code, 4);
        github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
        let there = if shallow { Elsewhere::shallow(&site, "main") } else { Elsewhere::at(&site, &site.start) };
        let said = there.under(&github).resume();
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!((site.server.pushes(), site.models.requests().len()), (1, 2), "nothing is done twice");
        site.models.finish();
        github.finish();
    }
}

/// Mends the bug, and what CI then complains of.
fn mends_twice(request: &Request) -> Scripted {
    if !request.all_text().contains("CI is red on the commit") {
        return mends(request);
    }
    let edit =
        json!({ "path": "shop/cart.py", "old_text": "def total(prices):", "new_text": "def total(prices, off=0):" });
    match request.turn() {
        0 => Say::call("edit_file", edit).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "off", "status": "done" })).usage(1_000, 20).into(),
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn red_ci_is_mended_elsewhere_upon_what_was_pushed() {
    for shallow in [false, true] {
        let slow = CiPlan { takes_ms: 10_000_000, ..plan("failure", RED_LOG) };
        let (site, github) = over(Site::with_models(mends_twice), vec![slow, plan("success", "")]);
        let site = site.with("UPSHIFT_CI_TIMEOUT_MINUTES", "2");
        assert_eq!(site.run("commit").code, 4);
        github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
        let there = if shallow { Elsewhere::shallow(&site, "main") } else { Elsewhere::at(&site, &site.start) };
        let there = there.under(&github);
        let said = there.resume();
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!(there.text("shop/cart.py"), "def total(prices, off=0):\n    return sum(prices)\n");
        assert_eq!(site.server.git(&["rev-list", "--count", "main"]), "3", "{}", said.all());
        assert_eq!(site.server.git(&["show", "main:shop/cart.py"]).trim(), there.text("shop/cart.py").trim());
        there.assert_vouched_for();
        site.models.finish();
        github.finish();
    }
}

#[test]
fn a_wait_for_a_merge_goes_on_elsewhere() {
    let (site, github) = over(Site::new(), vec![plan("success", "")]);
    let site = site.with("UPSHIFT_WAIT_FOR", "merge").with("UPSHIFT_CRASH_AFTER", "breakpoint_reached:2");
    let killed = site.run("pr");
    assert_eq!(killed.code, -9, "{}", killed.all());
    github.world().pulls.iter_mut().for_each(|pull| "merged".clone_into(&mut pull.state));
    let there = Elsewhere::at(&site, &site.start).under(&github);
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("erged"), "{}", said.all());
    assert_eq!((site.server.pushes(), site.models.requests().len()), (1, 2));
    site.models.finish();
    github.finish();
}

#[test]
fn a_run_that_waits_for_a_rate_limit_goes_on_elsewhere_with_the_work_of_earlier_iterations() {
    let script = |request: &Request| {
        if request.all_text().contains("return 0") {
            return mends(request);
        }
        let worse = json!({ "path": "shop/cart.py", "old_text": "def total(prices):", "new_text": "def total(prices):  # sum" });
        match request.turn() {
            0 => Say::call("edit_file", worse).usage(1_000, 50).into(),
            _ => Say::call("final_report", json!({ "summary": "tried", "status": "done" })).usage(1_000, 20).into(),
        }
    };
    let asked = Arc::new(Mutex::new(0));
    let site = Site::with_models(move |request| {
        let mut asked = asked.lock().expect("a lock");
        *asked += 1;
        match *asked {
            1 | 2 => script(request),
            3 => Scripted::status(429, "{}").header("retry-after", "7200"),
            _ => mends(request),
        }
    });
    let site = site.with("UPSHIFT_PUSH", "none");
    let parked = site.run("none");
    assert_eq!(parked.code, 4, "{}", parked.all());
    let there = Elsewhere::at(&site, &site.start);
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(
        there.text("shop/cart.py"),
        "def total(prices):  # sum\n    return sum(prices)\n",
        "upon the first iteration"
    );
    there.assert_vouched_for();
    site.models.finish();
}

#[test]
fn a_run_that_was_interrupted_in_an_iteration_goes_on_elsewhere() {
    let child: Arc<Mutex<Option<u32>>> = Arc::default();
    let told = Arc::clone(&child);
    let site = Site::with_models(move |request| {
        if request.turn() == 1
            && let Some(child) = told.lock().expect("a lock").take()
        {
            let kill = Command::new("kill").args(["-TERM", &child.to_string()]).status();
            assert!(kill.expect("kill").success());
        }
        mends(request)
    });
    let arguments = site.arguments("none");
    let mut command = site.program.command(&site.root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    *child.lock().expect("a lock") = Some(running.id());
    let said = Said::from(running.wait_with_output().expect("ended"));
    assert_eq!(said.code, 143, "{}", said.all());
    let there = Elsewhere::at(&site, &site.start);
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(there.text("shop/cart.py").starts_with(FIXED), "{}", said.all());
    site.models.finish();
}

/// A run that was killed in its first iteration, in a checkout with changes that nobody has committed.
fn killed_with_own_changes(site: &Site) {
    std::fs::write(site.root().join("shop/rate.py"), "RATE = 2\n").expect("written");
    std::fs::write(site.root().join("shop/__init__.py"), "from .rate import RATE\n").expect("written");
    let killed = site.run("none");
    assert_eq!(killed.code, -9, "{}", killed.all());
}

fn dying() -> Site {
    Site::new().with("UPSHIFT_CRASH_AFTER", "tool_finished:1")
}

#[test]
fn uncommitted_changes_go_along_and_own_files_of_the_other_checkout_stay() {
    let site = dying();
    killed_with_own_changes(&site);
    let there = Elsewhere::at(&site, &site.start);
    std::fs::write(there.root().join("mine.txt"), "mine\n").expect("written");
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!((there.text("shop/rate.py"), there.text("mine.txt")), ("RATE = 2\n".to_owned(), "mine\n".to_owned()));
    assert!(there.text("shop/cart.py").starts_with(FIXED));
    assert!(said.out.contains("Change:  1 file"), "the run has changed nothing else: {}", said.out);
    there.assert_vouched_for();
    site.models.finish();
}

#[test]
fn a_run_that_moved_can_move_again() {
    let site = dying();
    killed_with_own_changes(&site);
    let second = Elsewhere::at(&site, &site.start).with("UPSHIFT_CRASH_AFTER", "tests_finished:1");
    std::fs::write(second.root().join("second.txt"), "of the second\n").expect("written");
    assert_eq!(second.resume().code, -9);
    let third = Elsewhere::at(&site, &site.start);
    for ending in ["", "-wal"] {
        let (from, to) =
            (format!("{}{ending}", second.database().display()), format!("{}{ending}", third.database().display()));
        if Path::new(&from).exists() {
            std::fs::copy(from, to).expect("copied");
        }
    }
    let said = third.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(
        (third.text("shop/rate.py"), third.text("second.txt").as_str()),
        ("RATE = 2\n".to_owned(), "of the second\n")
    );
    third.assert_vouched_for();
    site.models.finish();
}

#[test]
fn what_is_in_the_way_is_not_overwritten() {
    let site = dying();
    killed_with_own_changes(&site);
    for (path, text) in [("shop/__init__.py", "# mine\n"), ("shop/rate.py", "# mine\n"), ("shop/cart.py", "# mine\n")] {
        let there = Elsewhere::at(&site, &site.start);
        std::fs::write(there.root().join(path), text).expect("written");
        let said = there.resume();
        assert_eq!(said.code, 6, "{path}: {}", said.all());
        assert!(said.err.contains(&format!("changes of its own in `{path}`")), "{path}: {}", said.err);
        assert!(said.err.contains("→ Fix: resume in a fresh clone"), "{path}: {}", said.err);
        assert_eq!(there.text(path), text, "{path}");
        assert!(!there.root().join("shop/rate.py").exists() || path == "shop/rate.py", "nothing is written");
    }
    site.models.finish();
}

#[test]
fn another_commit_or_another_repository_is_named_with_what_mends_it() {
    let site = dying();
    killed_with_own_changes(&site);
    site.server.somebody_pushes("later");
    let later = Elsewhere::at(&site, &site.server.head("later"));
    let said = later.resume();
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err.contains(&format!("→ Fix: `git fetch origin {0}` and `git checkout {0}`", site.start)),
        "{}",
        said.err
    );

    let foreign = Elsewhere::with_log(&site);
    std::fs::create_dir(foreign.root()).expect("a folder");
    let said = foreign.resume();
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("needs a clone of its repository"), "{}", said.err);
    site.models.finish();
}

#[test]
fn an_edited_log_and_a_command_of_a_log_are_refused() {
    let site = dying();
    killed_with_own_changes(&site);
    for tamper in [
        "UPDATE run_state SET state = replace(state, 'api.anthropic', 'evil')||' '",
        "UPDATE trees SET body = replace(body, 'rate.py', 'late.py')",
        "UPDATE tree_contents SET packed = x'789c030000000001'",
        "UPDATE events SET body = replace(body, 'claude', 'clawed') WHERE seq = 1",
    ] {
        let there = Elsewhere::at(&site, &site.start);
        let log = Connection::open(there.database()).expect("a log");
        assert!(log.execute(tamper, []).expect("it is there") > 0, "{tamper}");
        drop(log);
        let said = there.resume();
        assert_eq!(said.code, 6, "{tamper}: {}", said.all());
        assert!(said.err.contains("was edited"), "{tamper}: {}", said.err);
        assert!(!there.root().join("shop/rate.py").exists(), "{tamper}");
    }
    let there = Elsewhere::at(&site, &site.start).with("UPSHIFT_TEST_COMMAND", "python3 -m unittest");
    let said = there.resume();
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("no command is taken from a log\n→ Fix: "), "{}", said.err);
    site.models.finish();
}

#[test]
fn a_run_whose_start_may_not_leave_its_machine_says_so_elsewhere_and_goes_on_there() {
    for (path, text, why) in [
        ("notes.txt", format!("ghp_{}\n", "a1B2c3D4e5F6".repeat(3)), "`notes.txt` contains a secret"),
        ("large.txt", "x".repeat(1024 * 1024 + 1), "`large.txt` is larger than 1 MiB"),
    ] {
        let site = dying();
        std::fs::write(site.root().join(path), text).expect("written");
        assert_eq!(site.run("none").code, -9);
        let said = Elsewhere::at(&site, &site.start).resume();
        assert_eq!(said.code, 2, "{}", said.all());
        assert!(said.err.contains(why), "{}", said.err);
        let home = site.with("UPSHIFT_CRASH_AFTER", "");
        let said = home.resume();
        assert_eq!(said.code, 0, "{}", said.all());
        home.models.finish();
    }
}

#[test]
fn addresses_of_models_come_from_the_machine_that_goes_on() {
    let site = dying();
    killed_with_own_changes(&site);
    let there = Elsewhere::at(&site, &site.start);
    let elsewhere = crate::world::model_server::ModelServer::start(mends);
    let there = there.with("ANTHROPIC_BASE_URL", &elsewhere.url());
    let before = site.models.requests().len();
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.models.requests().len(), before, "the log's address is not asked");
    assert!(!elsewhere.requests().is_empty());
    let calls = Log::open(&there.database()).number("SELECT count(*) FROM model_calls WHERE status = 'ok'");
    assert_eq!(calls, 2, "and what was paid for is not paid again");
    elsewhere.finish();
    site.models.finish();
}
