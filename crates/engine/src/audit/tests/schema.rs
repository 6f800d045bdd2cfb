//! Tables, migrations, and what is refused.

use super::*;
use crate::audit::schema::{MIGRATIONS, WHOLE, newest, open_in_memory, version};

/// The seeds' DDL as their tool runs it (no index on the timestamp, no version).
const SEED_DDL: &str = "
    CREATE TABLE tier_attempts (
      id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, tier_index INTEGER NOT NULL, tier_name TEXT NOT NULL,
      tier_mode TEXT NOT NULL CHECK (tier_mode IN ('simple','full')), model_artisan TEXT NOT NULL, model_librarian TEXT, model_critic TEXT,
      iteration INTEGER NOT NULL, code_change_summary TEXT NOT NULL DEFAULT '',
      test_status TEXT NOT NULL CHECK (test_status IN ('passed','failed','error')),
      failed_tests TEXT NOT NULL DEFAULT '[]', error_messages TEXT NOT NULL DEFAULT '[]',
      cost_usd REAL NOT NULL DEFAULT 0.0, duration_ms INTEGER NOT NULL DEFAULT 0, timestamp TEXT NOT NULL);
    CREATE TABLE run_metadata (
      run_id TEXT PRIMARY KEY, objective TEXT NOT NULL, working_directory TEXT NOT NULL, test_command TEXT NOT NULL,
      tier_config_path TEXT NOT NULL, started_at TEXT NOT NULL, completed_at TEXT,
      outcome TEXT CHECK (outcome IN ('success','failed','budget_exhausted','in_progress')),
      resolved_tier_name TEXT, resolved_iteration INTEGER);
    CREATE INDEX idx_tier_attempts_run_id ON tier_attempts(run_id);
    CREATE INDEX idx_tier_attempts_run_tier ON tier_attempts(run_id, tier_index);";

const SEED_ROWS: &str = "
    INSERT INTO run_metadata VALUES ('11111111-0000-4000-8000-000000000000', 'old', '.', 'npm test', 'tiers.json',
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:05:00.000Z', 'failed', NULL, NULL);
    INSERT INTO tier_attempts (run_id, tier_index, tier_name, tier_mode, model_artisan, iteration, test_status, cost_usd, timestamp)
      VALUES ('11111111-0000-4000-8000-000000000000', 0, 'local', 'simple', 'ollama/llama3', 1, 'failed', 0.25, '2026-01-01T00:01:00.000Z');";

fn table_info(db: &Connection, table: &str) -> Vec<(String, String, bool, Option<String>, bool)> {
    db.prepare("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)")
        .unwrap()
        .query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn the_seeds_tables_are_theirs_to_the_letter() {
    let place = Place::new();
    drop(place.open());
    let (ours, seeds) = (place.sql(), Connection::open_in_memory().unwrap());
    seeds.execute_batch(SEED_DDL).unwrap();
    let own = |name: &str| (name.to_owned(), "TEXT".to_owned(), false, None, false);
    let billed = ["billed_artisan", "billed_librarian", "billed_critic"].map(own);
    let unknown = ("unknown_cost_usd".to_owned(), "REAL".to_owned(), true, Some("0.0".to_owned()), false);
    let added: Vec<_> = billed.into_iter().chain([unknown, own("review")]).collect();
    // Behind the seeds' columns stand ours, which nobody has to fill.
    for (table, added) in [("tier_attempts", &added[..]), ("run_metadata", &[])] {
        let expected: Vec<_> = table_info(&seeds, table).into_iter().chain(added.iter().cloned()).collect();
        assert_eq!(table_info(&ours, table), expected, "{table}");
    }
    for wrong in [
        "INSERT INTO run_metadata VALUES ('x', '', '', '', '', '', NULL, 'parked', NULL, NULL)",
        "INSERT INTO tier_attempts (run_id, tier_index, tier_name, tier_mode, model_artisan, iteration, test_status, timestamp)
           VALUES ('x', 0, '', 'both', '', 1, 'passed', '')",
        "INSERT INTO tier_attempts (run_id, tier_index, tier_name, tier_mode, model_artisan, iteration, test_status, timestamp)
           VALUES ('x', 0, '', 'full', '', 1, 'tampered', '')",
    ] {
        assert!(ours.execute(wrong, []).is_err(), "{wrong}");
    }
    let indexes: Vec<String> = ours
        .prepare("SELECT name FROM pragma_index_list('tier_attempts') ORDER BY name")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(indexes, ["idx_tier_attempts_run_id", "idx_tier_attempts_run_tier", "idx_tier_attempts_timestamp"]);
}

#[test]
fn the_log_is_wal_and_waits_for_the_disk_where_money_or_an_attempt_is_at_stake() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let mode: String = place.sql().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let waits = |store: &Store| store.db.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)).unwrap() == 2;
    assert!(waits(&store), "the start");
    store.append(&warning("may come later"), None);
    assert!(!waits(&store));
    store.reserve(&call("c1", 1), &[]).unwrap();
    assert!(waits(&store), "a reservation");
    store.settle(&receipt(&call("c1", 1), 1), None);
    assert!(!waits(&store));
    store.append(&attempt(0, 1, 1), None);
    assert!(waits(&store), "a finished iteration");
}

#[test]
fn a_database_that_the_seeds_tool_left_is_adopted_with_its_rows() {
    let place = Place::new();
    place.sql().execute_batch(&format!("{SEED_DDL}{SEED_ROWS}")).unwrap();
    let old = RunId("11111111-0000-4000-8000-000000000000".to_owned());
    // A reader of it changes nothing; a writer brings it up to date.
    let seen = Reader::open(&place.location).unwrap().load_run(&old).unwrap();
    assert_eq!((seen.events.len(), seen.status), (0, RunStatus::Ended(None)));
    assert_eq!(version(&place.sql()).unwrap(), 0);
    let mut store = place.begun("22222222-0000-4000-8000-000000000000");
    store.append(&attempt(0, 1, 7), None);
    assert_eq!(store.list_runs().unwrap().len(), 2);
    assert_eq!(store.find_run("1111").unwrap(), old);
    assert_eq!((place.count("tier_attempts"), version(&place.sql()).unwrap()), (2, newest()));
    assert!(matches!(verify(place.path(), &old), Err(VerifyError::Unchained(_))));
}

#[test]
fn each_migration_keeps_the_rows_of_the_one_before() {
    for from in 0..MIGRATIONS.len() {
        let place = Place::new();
        let db = place.sql();
        for migration in &MIGRATIONS[..from] {
            db.execute_batch(migration).unwrap();
        }
        if from == 0 {
            db.execute_batch(SEED_DDL).unwrap();
        }
        db.pragma_update(None, "user_version", i64::try_from(from).unwrap()).unwrap();
        db.execute_batch(SEED_ROWS).unwrap();
        drop(db);
        drop(place.open());
        drop(place.open());
        assert_eq!((place.count("tier_attempts"), place.count("run_metadata")), (1, 1), "from {from}");
        assert_eq!(version(&place.sql()).unwrap(), newest());
    }
}

#[test]
fn what_cannot_be_a_log_is_refused_and_left_alone() {
    type Case = (&'static str, fn(&Path), fn(&AuditError) -> bool);
    let cases: [Case; 5] = [
        (
            "text",
            |path| std::fs::write(path, "this is no database at all, but a longish text\n".repeat(40)).unwrap(),
            |error| matches!(error, AuditError::NotADatabase { .. }),
        ),
        (
            "newer",
            |path| {
                Connection::open(path)
                    .unwrap()
                    .execute_batch("CREATE TABLE run_metadata (x); PRAGMA user_version = 99")
                    .unwrap()
            },
            |error| matches!(error, AuditError::Newer { found: 99, .. }),
        ),
        (
            "other",
            |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE bookmarks (x)").unwrap(),
            |error| matches!(error, AuditError::Foreign { .. }),
        ),
        (
            "columns",
            |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE run_metadata (run_id)").unwrap(),
            |error| matches!(error, AuditError::Foreign { .. }),
        ),
        ("folder", |path| std::fs::create_dir(path).unwrap(), |error| matches!(error, AuditError::Unwritable { .. })),
    ];
    for (what, prepare, expected) in cases {
        let place = Place::new();
        prepare(place.path());
        let before = std::fs::read(place.path()).ok();
        let error = Store::open(&place.location, redactor()).unwrap_err();
        assert!(expected(&error), "{what}: {error}");
        let shown = error.to_string();
        assert!(shown.contains("audit.db") && shown.contains("→ Fix:") && shown.contains("--no-audit"), "{shown}");
        assert_eq!(std::fs::read(place.path()).ok(), before, "{what}");
    }
}

#[test]
fn a_place_that_cannot_be_made_is_said_so() {
    let place = Place::new();
    std::fs::write(place.folder.path().join("file"), "").unwrap();
    let location = Location::file(&place.folder.path().join("file/audit.db"));
    let error = Store::open(&location, redactor()).unwrap_err();
    assert!(matches!(error, AuditError::Unwritable { .. }), "{error}");
}

#[test]
fn a_locked_log_is_said_so_before_any_money_is_spent() {
    let place = Place::new();
    drop(place.open());
    let other = place.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let settings = Settings { busy_timeout: std::time::Duration::from_millis(1) };
    let error = Store::open_with(&place.location, redactor(), &settings).unwrap_err();
    assert!(matches!(error, AuditError::Locked { .. }), "{error}");
}

#[test]
fn triggers_of_a_strangers_database_do_nothing() {
    let place = Place::new();
    let trap = "CREATE TRIGGER trap AFTER INSERT ON tier_attempts BEGIN DELETE FROM tier_attempts; END;";
    place.sql().execute_batch(&format!("{SEED_DDL}{SEED_ROWS}{trap}")).unwrap();
    let mut store = place.begun("22222222-0000-4000-8000-000000000000");
    store.append(&attempt(0, 1, 7), None);
    assert_eq!(place.count("tier_attempts"), 2);
}

#[test]
fn many_may_open_a_new_log_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let place = &place;
            scope.spawn(move || drop(place.begun(&format!("run-{n}"))));
        }
    });
    assert_eq!(place.count("run_metadata"), 8);
}

#[test]
fn a_new_file_is_what_the_migrations_make_of_an_empty_one() {
    let step_by_step = Connection::open_in_memory().unwrap();
    MIGRATIONS.iter().for_each(|migration| step_by_step.execute_batch(migration).unwrap());
    let told = |db: &Connection| -> Vec<(String, String)> {
        let mut read = db
            .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence' ORDER BY rowid")
            .unwrap();
        read.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let wanted = told(&step_by_step);
    let text: String = wanted.iter().map(|(_, sql)| format!("{sql};\n")).collect();
    let whole = WHOLE.split_once('\n').unwrap().1;
    assert!(whole == text, "src/audit/migrations/whole.sql has to hold, behind its first line:\n{text}");
    let made = open_in_memory().unwrap();
    assert_eq!((told(&made), version(&made).unwrap()), (wanted, newest()));
}
