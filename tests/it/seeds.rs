//! The page that says, row by row, which tests show what the seeds describe, and where a part is settled otherwise.

use crate::action::file;
use crate::agents::rows;
use crate::{backlog, breakpoints, rules, tidy};

/// The variable with which the page is written anew.
const WRITE: &str = "UPSHIFT_WRITE_PAGES";

/// What the document of sessions names beside its numbered rows.
const HISTORY: &str = "Beside these rows the document names four things. *Conversation history*: a session begins fresh, and what is \
    remembered from one to the next is the tree, the results of the tests and the log (S0-30); a run that was killed goes on with the \
    conversations that it paid for (`recorded_replies_are_replayed_free_of_charge_and_their_tools_run_again`). *Prompt variables*: those of a \
    person's own request are the variables of `--task-template` \
    (`each_objective_is_the_template_of_the_commit_and_progress_is_told_across_tasks`), and they end up in the objective; the roles' \
    instructions are fixed for each version and hold none. *Hooks* (`onComplete` of a plug-in): none. A plug-in would be code that runs beside \
    the keys at the moment of the verdict; programs act on the lines `agent_finished` and `report` of `--format jsonl`, on spans, or in a later \
    step of the job. *`taskStatus`*: a tool of its own (`agent__task_status`) would cost a call of a paid model for a word that nothing decides \
    by; `agent_update` carries the words that a model says beside its calls anyway.\n";
/// Names of lines and tools in it, which are no tests.
const NO_TESTS: [&str; 3] = ["agent_finished", "agent__task_status", "agent_update"];

/// A row of the specification: its number, what it says, what of it is settled otherwise and where, and its tests.
pub(crate) struct Row(
    pub(crate) usize,
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static [&'static str],
);

fn table(section: &str, rows: &[Row]) -> String {
    let line = |Row(number, says, settled, tests): &Row| {
        let tests: Vec<String> = tests.iter().map(|name| format!("`{name}`")).collect();
        format!("| {section}-{number} | {says} | {} | {settled} |\n", tests.join("<br>"))
    };
    let head = "| row | says | shown by | settled otherwise |\n|---|---|---|---|\n";
    head.to_owned() + &rows.iter().map(line).collect::<String>()
}

#[test]
fn the_page_of_rows_names_the_tests_of_each() {
    let page = format!(
        "# What shows it\n\nThe lifecycle between a run and its CI, the work on many tasks, coding agents and sessions with models, row by row as the specification numbers them. Each test \
         fails where the program falls short of its row.\n\nThis page is written by `{WRITE}=1 cargo test --test it -- seeds::` from the \
         lists in `tests/it`, and compared with them by the same test.\n\n## Waiting and going on\n\n{}\n## Many tasks\n\n{}\n## Coding agents\n\n{}\n### What is promised of them\n\n{}\n## Sessions\n\n{}\n{HISTORY}",
        table("S4", &breakpoints::ROWS),
        table("S3", &backlog::ROWS),
        table("S3", &rows::ROWS),
        table("A", &rows::PROMISES),
        table("S1", &rules::ROWS)
    );
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/requirements.md"), &page).expect("written");
    }
    assert_eq!(file("docs/requirements.md"), page, "written anew with {WRITE}=1");
}

/// Whether CI leaves a test out: neither `cargo test` nor a script that its reason names runs it.
fn is_left_out(sources: &str, name: &str) -> bool {
    let before = sources.split(&format!("fn {name}(")).next().unwrap_or_default();
    before
        .rsplit("\n\n")
        .next()
        .is_some_and(|attributes| attributes.contains("#[ignore") && !attributes.contains(".ci/"))
}

#[test]
fn every_row_has_its_tests_or_its_settlement() {
    let sources = tidy::text_of_everything();
    for (section, rows) in [
        ("S4", &breakpoints::ROWS[..]),
        ("S3", &backlog::ROWS[..]),
        ("S3", &rows::ROWS),
        ("A", &rows::PROMISES),
        ("S1", &rules::ROWS),
    ] {
        for Row(number, row, settled, tests) in rows {
            assert!(!tests.is_empty() || !settled.is_empty(), "{section}-{number}, {row}: neither shown nor settled");
            for name in *tests {
                assert!(sources.contains(&format!("fn {name}(")), "{section}-{number}, {row}: no test is named {name}");
            }
            let runs = tests.iter().any(|name| !is_left_out(&sources, name));
            assert!(runs || tests.is_empty(), "{section}-{number}, {row}: nothing in CI runs one of its tests");
        }
    }
    assert_eq!(breakpoints::ROWS.map(|row| row.0).to_vec(), (1..=11).collect::<Vec<_>>());
    assert_eq!(rows::ROWS.map(|row| row.0).to_vec(), (7..=12).collect::<Vec<_>>());
    assert_eq!(rules::ROWS.map(|row| row.0).to_vec(), (1..=20).collect::<Vec<_>>());
    for name in HISTORY.split('`').filter(|part| part.contains('_') && !NO_TESTS.contains(part)) {
        assert!(sources.contains(&format!("fn {name}(")), "no test is named {name}");
    }
    assert_eq!(backlog::ROWS.map(|row| row.0), [1, 2, 3, 4, 5, 6, 13, 14, 15, 16, 17, 18, 19, 20]);
}
