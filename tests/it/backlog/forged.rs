//! Logs whose rows somebody wrote: their chains are whole, and what they tell of is odd.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::merging::{Jobs, mended, standings};
use super::{WITH, git, mends, project, subjects};
use crate::world::model_server::ModelServer;
use crate::world::program::{Program, Said};
use crate::world::project::Project;

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds a file to the change of a log's only run, and edits its events; the chain is made anew.
fn forge(log: &Path, file: Option<(&str, &[u8], &str)>, edit: impl Fn(&str, String) -> String) {
    let db = rusqlite::Connection::open(log).expect("a log");
    db.execute_batch("PRAGMA foreign_keys = OFF").expect("off");
    let (run, state): (String, String) =
        db.query_row("SELECT run_id, state FROM run_state", (), |row| Ok((row.get(0)?, row.get(1)?))).expect("a run");
    let state: Value = serde_json::from_str(&state).expect("a state");
    let tree = state["current"]["tree"].as_str().expect("a tree").to_owned();
    let body: String = db.query_row("SELECT body FROM trees WHERE tree = ?", [&tree], |row| row.get(0)).expect("it");
    let mut body: Value = serde_json::from_str(&body).expect("JSON");
    if let Some((path, bytes, form)) = file {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(bytes).expect("packed");
        let length = i64::try_from(bytes.len()).expect("a length");
        let row = (&run, hash(bytes), length, packed.finish().expect("packed"));
        db.execute("INSERT OR IGNORE INTO tree_contents VALUES (?, ?, ?, ?)", row).expect("written");
        let permissions = if form == "link" { 0 } else { 0o644 };
        let after = json!({ "form": form, "permissions": permissions, "content": hash(bytes) });
        let files = body["files"].as_array_mut().expect("files");
        files.push(json!({ "path": path, "before": null, "after": after }));
    }
    let body = body.to_string();
    db.execute("UPDATE trees SET body = ? WHERE tree = ?", (&body, &tree)).expect("written");
    let mut rows = db.prepare("SELECT id, seq, kind, body, attached FROM events ORDER BY seq").expect("events");
    let rows: Vec<(i64, i64, String, String, String)> = rows
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .expect("events")
        .collect::<Result<_, _>>()
        .expect("events");
    let mut head = String::new();
    for (id, seq, kind, text, attached) in rows {
        let is_of_tree = kind == "tree_recorded" && text.contains(&tree);
        let attached = if is_of_tree { hash(body.as_bytes()) } else { attached };
        let text = edit(&kind, text);
        head = hash([head, run.clone(), seq.to_string(), attached.clone(), text.clone()].join("\n").as_bytes());
        db.execute("UPDATE events SET body = ?, attached = ?, hash = ? WHERE id = ?", (text, attached, &head, id))
            .expect("written");
    }
    db.execute("UPDATE run_state SET chain_head = ?", [&head]).expect("written");
}

fn merge(project: &Project, jobs: &Jobs, more: &[&str]) -> Said {
    let logs = jobs.logs.to_str().expect("a path");
    let args: Vec<&str> = ["merge", logs].iter().chain(&WITH).chain(more).copied().collect();
    Program::new().run(project.path(), &args)
}

fn jobs_of(project: &Project) -> Jobs {
    let server = ModelServer::start(mends);
    let jobs = mended(&Program::with_anthropic(&server.url()).without_court(), project);
    server.finish();
    jobs
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_change_that_no_checkout_can_hold_is_refused_and_the_others_are_merged() {
    let project = project();
    let jobs = jobs_of(&project);
    forge(&jobs.log("job-0"), Some(("alias.py", b"shop/names.py", "link")), |_, text| text);
    forge(&jobs.log("job-1"), Some(("shop/rates.py/x.py", b"x = 1\n", "file")), |_, text| text);
    let said = merge(&project, &jobs, &["--tasks", "failing-tests", "--format", "json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
    let wanted = [("names", "merged"), ("rates", "refused"), ("words", "merged")]
        .map(|(module, standing)| (format!("tests/test_{module}.py"), standing.to_owned()));
    assert_eq!((said.code, standings(&document)), (1, wanted.to_vec()), "{document:#}");
    let why = |at: usize| document["runs"][at]["reason"].as_str().unwrap_or_default().to_owned();
    // A link is part of a change like any file.
    assert!(git(&project, &["ls-tree", "HEAD", "alias.py"]).starts_with("120000 "), "{document:#}");
    assert!(why(1).contains("`shop/rates.py/x.py` changed, which is below a file or a link"), "{document:#}");
    assert_eq!(subjects(&project).len(), 2, "{document:#}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{document:#}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_name_of_a_task_in_a_log_gives_no_orders_to_a_terminal_or_a_runner() {
    let project = project();
    let jobs = jobs_of(&project);
    let odd = "x\\r::warning::y\\n::error::z\\u001b[2J\\u001b]0;t\\u0007";
    let edit = |kind: &str, text: String| {
        if kind == "run_started" { text.replace("/tests/test_names.py\"", &format!("/{odd}\"")) } else { text }
    };
    forge(&jobs.log("job-0"), None, edit);
    let said = merge(&project, &jobs, &[]);
    assert!(said.code == 0 && said.all().contains("x\u{fffd}"), "{}", said.all());
    let is_order = |letter: char| letter.is_control() && letter != '\n';
    assert!(!said.all().contains(is_order), "{:?}", said.all());
    let commands = said.all().lines().any(|line| line.trim_start().starts_with("::"));
    assert!(!commands, "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_path_that_is_read_as_another_is_refused() {
    let project = project();
    let jobs = jobs_of(&project);
    forge(&jobs.log("job-0"), Some(("shop/a\nb.py", b"x = 1\n", "file")), |_, text| text);
    forge(&jobs.log("job-1"), Some(("shop\\q.py", b"x = 1\n", "file")), |_, text| text);
    forge(&jobs.log("job-2"), Some(("shop/\u{1b}[31mq.py", b"x = 1\n", "file")), |_, text| text);
    let said = merge(&project, &jobs, &["--tasks", "failing-tests", "--format", "json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
    assert!(standings(&document).iter().all(|(_, standing)| standing == "refused"), "{document:#}");
    assert!(subjects(&project).is_empty() && git(&project, &["status", "--porcelain"]).is_empty(), "{document:#}");
}
