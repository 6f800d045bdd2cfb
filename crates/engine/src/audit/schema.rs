//! Opening the database file and bringing its schema up to date.
//!
//! Invariant: existing rows stay, and a database that is not ours is left alone.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::AuditError;
use super::error::explain;

/// Every migration, in order. The number of those applied is the database's `user_version`.
pub(super) const MIGRATIONS: [&str; 11] = [
    include_str!("migrations/0001_seed_tables.sql"),
    include_str!("migrations/0002_runs_events_money.sql"),
    include_str!("migrations/0003_billed_models.sql"),
    include_str!("migrations/0004_unknown_costs.sql"),
    include_str!("migrations/0005_reviews.sql"),
    include_str!("migrations/0006_event_times.sql"),
    include_str!("migrations/0007_trees.sql"),
    include_str!("migrations/0008_backlogs.sql"),
    include_str!("migrations/0009_steering.sql"),
    include_str!("migrations/0010_segments.sql"),
    include_str!("migrations/0011_agent_paths.sql"),
];

/// The schema that they lead to in an empty file.
pub(super) const WHOLE: &str = include_str!("migrations/whole.sql");

/// The tables that a database without a version may have: what the seeds' tool leaves.
const SEED_TABLES: [&str; 2] = ["run_metadata", "tier_attempts"];

/// The seeds' columns, by which their tables are known.
const SEED_COLUMNS: [(&str, &[&str]); 2] = [
    (
        "tier_attempts",
        &[
            "id",
            "run_id",
            "tier_index",
            "tier_name",
            "tier_mode",
            "model_artisan",
            "model_librarian",
            "model_critic",
            "iteration",
            "code_change_summary",
            "test_status",
            "failed_tests",
            "error_messages",
            "cost_usd",
            "duration_ms",
            "timestamp",
        ],
    ),
    (
        "run_metadata",
        &[
            "run_id",
            "objective",
            "working_directory",
            "test_command",
            "tier_config_path",
            "started_at",
            "completed_at",
            "outcome",
            "resolved_tier_name",
            "resolved_iteration",
        ],
    ),
];

/// How often switching to WAL is tried against others that open the same new file. SQLite does not wait by itself there.
const WAL_TRIES: u32 = 200;

/// The pause between two such tries.
const WAL_PAUSE: Duration = Duration::from_millis(5);

/// How many compiled statements are kept: all that a run uses again and again.
const STATEMENTS: usize = 64;

/// Opens the file for writing, creates it if need be, and migrates it.
pub(super) fn open(path: &Path, busy_timeout: Duration) -> Result<Connection, AuditError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    // No mutex, as only one thread has the connection at a time.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
    db.busy_timeout(busy_timeout).map_err(failed)?;
    harden(&db).map_err(failed)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Before anything is written: is it ours at all?
    check_owner(&db, path)?;
    // A new file has nothing to lose: its making need not wait for the disk, a run's start will.
    let is_new = tables(&db).map_err(failed)?.is_empty();
    db.pragma_update(None, "synchronous", if is_new { "OFF" } else { "FULL" }).map_err(failed)?;
    use_wal(&db).map_err(failed)?;
    migrate(&mut db, path)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    Ok(db)
}

/// A database in memory with the newest schema.
pub(super) fn open_in_memory() -> Result<Connection, AuditError> {
    let path = Path::new(":memory:");
    let mut db = Connection::open_in_memory().map_err(|error| explain(path, &error))?;
    harden(&db).map_err(|error| explain(path, &error))?;
    migrate(&mut db, path)?;
    Ok(db)
}

/// A database file may come from a stranger: its triggers and views must do nothing.
pub(super) fn harden(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(())
}

fn use_wal(db: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        // Asked first: to set it takes a lock that another process may hold.
        let mode = db.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
        if mode.is_ok_and(|mode| mode == "wal") {
            return Ok(());
        }
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            // Where WAL is impossible (some network file systems) the rollback journal is as durable.
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) && tries < WAL_TRIES => {
                tries += 1;
                std::thread::sleep(WAL_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

pub(super) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The newest `user_version` that is known here.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Refuses a newer schema and databases of other programs.
pub(super) fn check_owner(db: &Connection, path: &Path) -> Result<(), AuditError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    // One view of version and tables: another process may be migrating.
    let db = db.unchecked_transaction().map_err(failed)?;
    let found = version(&db).map_err(failed)?;
    if found > newest() {
        return Err(AuditError::Newer { path: path.to_owned(), found, known: newest() });
    }
    let foreign = |why: String| AuditError::Foreign { path: path.to_owned(), why };
    let tables = tables(&db).map_err(failed)?;
    if found <= 0 {
        if let Some(other) = tables.iter().find(|table| !SEED_TABLES.contains(&table.as_str())) {
            return Err(foreign(format!("it has a table {other} and no version of ours")));
        }
    } else if !tables.iter().any(|table| table == "run_metadata") {
        return Err(foreign(format!("it has version {found} but no table run_metadata")));
    }
    for (table, wanted) in SEED_COLUMNS {
        if !tables.iter().any(|name| name == table) {
            continue;
        }
        let columns = columns(&db, table).map_err(failed)?;
        if let Some(missing) = wanted.iter().find(|name| !columns.iter().any(|column| column == *name)) {
            return Err(foreign(format!("its table {table} has no column {missing}")));
        }
    }
    Ok(())
}

fn tables(db: &Connection) -> rusqlite::Result<Vec<String>> {
    db.prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    db.prepare_cached("SELECT name FROM pragma_table_info(?1)")?.query_map([table], |row| row.get(0))?.collect()
}

/// Applies the migrations that are missing, each in a transaction of its own. In an empty file all at once.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), AuditError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    make_whole(db).map_err(failed)?;
    for (index, migration) in MIGRATIONS.iter().enumerate() {
        let from = i64::try_from(index).unwrap_or(i64::MAX);
        if version(db).map_err(failed)? > from {
            continue;
        }
        // Immediate, so that two processes wait for each other here, and not in the middle.
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have been first.
        if version(&transaction).map_err(failed)? == from {
            transaction.execute_batch(migration).map_err(failed)?;
            transaction.pragma_update(None, "user_version", from + 1).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// Makes all of an empty file: with each column that is added to a table SQLite reads all tables anew.
fn make_whole(db: &mut Connection) -> rusqlite::Result<()> {
    // Without a lock first: nearly every file has its tables already.
    if version(db)? != 0 {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been first.
    if version(&transaction)? == 0 && tables(&transaction)?.is_empty() {
        transaction.execute_batch(WHOLE)?;
        transaction.pragma_update(None, "user_version", newest())?;
    }
    transaction.commit()
}
