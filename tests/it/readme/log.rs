//! The page about the log names every table and column that there is, and its queries run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use upshift::audit::{Store, locate};
use upshift::redact::Redactor;

use super::markdown::{page, pages};

const PAGE: &str = "docs/log.md";

/// A log as it is made today, with nothing in it.
fn log(home: &Path) -> Connection {
    std::fs::create_dir(home.join("checkout")).expect("a folder");
    let location = locate(Path::new("audit.db"), &home.join("checkout"), &home.join("state"));
    Store::open(&location, Arc::new(Redactor::new(&[]))).expect("a log").close();
    Connection::open(location.live).expect("the log")
}

/// `table.column` for every column.
fn columns(log: &Connection) -> BTreeSet<String> {
    let names = "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
                 WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
    let mut statement = log.prepare(names).expect("a query");
    let found = statement.query_map([], |row| row.get(0)).expect("rows");
    found.map(|name| name.expect("a name")).collect()
}

/// The same as the page has it: a heading for each table, a row for each column.
fn documented() -> BTreeSet<String> {
    let text = page(PAGE);
    let tables = text.split("\n### ").skip(1).map(|part| part.split_once('\n').expect("a table"));
    let rows = tables.flat_map(|(table, rows)| {
        let columns = rows.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        columns.map(move |column| format!("{table}.{column}"))
    });
    rows.collect()
}

#[test]
fn every_table_and_column_of_the_log_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = columns(&log(folder.path()));
    assert!(there.len() > 50, "{there:?}");
    assert_eq!(documented(), there);
}

#[test]
fn every_printed_query_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    let all = pages();
    let queries = all.iter().find(|page| page.name == PAGE).expect("the page").fences();
    let queries: Vec<_> = queries.iter().filter(|fence| fence.language == "sql").collect();
    assert!(queries.len() >= 5);
    for query in queries {
        log.execute_batch(&query.text).unwrap_or_else(|error| panic!("{error}\n{}", query.text));
    }
}
