//! A run that waits for a limit of an account is gone on with by the same command, and not begun once more.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{failing_of, mends, project, subjects, work_off};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::Program;

/// A day on which a limit of two hours is over.
fn later() -> String {
    let text = "import datetime as d; print(d.date.today() + d.timedelta(days=2))";
    let said = Command::new("python3").args(["-c", text]).output().expect("python3");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_that_was_paid_for_and_waits_is_gone_on_with_by_the_same_command() {
    let project = project();
    let is_limited = Arc::new(AtomicBool::new(true));
    let limited = Arc::clone(&is_limited);
    let mut is_mended = false;
    let server = ModelServer::start(move |request| {
        if !failing_of(request).contains("test_names") {
            return mends(request);
        }
        match (limited.load(Ordering::SeqCst), request.turn()) {
            // One call is paid before the limit.
            (true, 0) => Say::call("read_file", json!({ "path": "shop/names.py" })).usage(1_000, 50).into(),
            (true, _) => Scripted::status(429, "{}").header("retry-after", "7200"),
            (false, _) if std::mem::replace(&mut is_mended, true) => {
                Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into()
            }
            (false, _) => {
                let edit = json!({ "path": "shop/names.py", "old_text": "names[1]", "new_text": "names[0]" });
                Say::call("edit_file", edit).usage(1_000, 50).into()
            }
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let more = ["--tasks", "failing-tests", "--max-cost-usd", "0.30"];
    // However often it is tried before the limit is over.
    for _ in 0..2 {
        let said = work_off(&program, &project, &more);
        assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    }
    is_limited.store(false, Ordering::SeqCst);
    let said = work_off(&program.with("UPSHIFT_TEST_CLOCK", &later()), &project, &more);
    assert_eq!((said.code, subjects(&project).len()), (0, 3), "{}", said.all());
    let log = Log::open(&project.path().join(".upshift/audit.db"));
    let runs =
        "SELECT count(*) FROM events WHERE kind = 'run_started' AND json_extract(body, '$.task') LIKE '%test_names%'";
    assert_eq!((log.number(runs), log.number("SELECT count(*) FROM backlogs")), (1, 1), "{}", said.all());
    let answered = log.number("SELECT count(*) FROM model_calls WHERE cost_micro_usd > 0");
    assert_eq!(answered, 7, "nothing is paid twice: {}", said.all());
    server.finish();
}
