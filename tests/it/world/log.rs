//! The audit log read as a stranger would: plain SQL on the file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, types::Value};

/// An audit log opened for reading.
pub(crate) struct Log(Connection);

impl Log {
    /// Opens the file.
    pub(crate) fn open(path: &Path) -> Self {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self(Connection::open_with_flags(path, flags).expect("an audit log"))
    }

    /// All rows of a query, each column as text.
    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let mut statement = self.0.prepare(sql).expect("a query");
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..columns).map(|index| Ok(as_text(&row.get::<_, Value>(index)?))).collect::<Result<Vec<_>, _>>()
        });
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    }

    /// The one value of a query.
    pub(crate) fn value(&self, sql: &str) -> String {
        self.rows(sql).first().and_then(|row| row.first().cloned()).expect("a value")
    }

    /// The one number of a query.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.value(sql).parse().expect("a number")
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("{bytes:?}"),
    }
}
