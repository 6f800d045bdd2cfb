//! Where a log lives, and its copy in a checkout.

use super::*;
use crate::audit::lock::beside;

/// A checkout with a log configured inside it.
struct Checkout {
    home: TempDir,
}

impl Checkout {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("checkout")).unwrap();
        Self { home }
    }

    fn root(&self) -> std::path::PathBuf {
        self.home.path().join("checkout")
    }

    fn location(&self) -> Location {
        locate(Path::new(".upshift/audit.db"), &self.root(), &self.home.path().join("state"))
    }

    fn copy(&self) -> std::path::PathBuf {
        self.root().join(".upshift/audit.db")
    }

    fn open(&self) -> Store {
        Store::open(&self.location(), redactor()).unwrap()
    }

    fn copied(&self, table: &str) -> i64 {
        let db = Connection::open_with_flags(self.copy(), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    fn record(&self, run: &str) {
        let mut store = self.open();
        store.begin_run(&started(run), 1, FIRST).unwrap();
        store.append(&attempt(0, 1, 5), None);
        store.append(&finished(Outcome::Exhausted), None);
        assert_eq!(store.close(), Vec::<String>::new());
    }
}

#[test]
fn the_copy_follows_every_attempt_and_is_one_plain_file() {
    let checkout = Checkout::new();
    let mut store = checkout.open();
    assert_eq!(checkout.copied("run_metadata"), 0);
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    assert_eq!(checkout.copied("run_metadata"), 1);
    for n in 1..=3 {
        store.append(&attempt(0, n, 5), None);
        assert_eq!(checkout.copied("tier_attempts"), i64::from(n));
    }
    let mut files: Vec<_> = std::fs::read_dir(checkout.root().join(".upshift"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, [".gitignore", "audit.db"]);
    assert_eq!(std::fs::read_to_string(checkout.root().join(".upshift/.gitignore")).unwrap(), "*\n");
    let mode: String =
        Connection::open(checkout.copy()).unwrap().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    store.append(&finished(Outcome::Exhausted), None);
    store.close();
    verify(&checkout.copy(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn a_later_run_continues_the_same_log() {
    let checkout = Checkout::new();
    checkout.record("run-1");
    checkout.record("run-2");
    assert_eq!((checkout.copied("run_metadata"), checkout.copied("tier_attempts")), (2, 2));
}

#[test]
fn a_copy_restored_from_a_cache_is_taken_in() {
    let checkout = Checkout::new();
    checkout.record("run-1");
    std::fs::remove_dir_all(checkout.home.path().join("state")).unwrap();
    assert_eq!(Reader::open(&checkout.location()).unwrap().list_runs().unwrap().len(), 1);
    checkout.record("run-2");
    assert_eq!(checkout.copied("run_metadata"), 2);
}

#[test]
fn a_log_that_the_seeds_tool_left_in_wal_mode_is_taken_in_whole() {
    let checkout = Checkout::new();
    std::fs::create_dir(checkout.root().join(".upshift")).unwrap();
    let old = Connection::open(checkout.copy()).unwrap();
    old.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; {} INSERT INTO run_metadata VALUES ('old', '', '', '', '', '2026', NULL, 'failed', NULL, NULL);",
        super::super::schema::MIGRATIONS[0]
    ))
    .unwrap();
    let mut store = checkout.open();
    drop(old);
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    assert_eq!(store.list_runs().unwrap().len(), 2);
}

#[test]
fn deleting_the_copy_begins_anew_and_loses_nothing() {
    let checkout = Checkout::new();
    checkout.record("run-1");
    std::fs::remove_dir_all(checkout.root().join(".upshift")).unwrap();
    let mut store = checkout.open();
    assert_eq!(store.list_runs().unwrap(), []);
    let warnings = store.take_warnings();
    assert!(matches!(&warnings[..], [only] if only.contains("audit-1.db")), "{warnings:?}");
    let aside = checkout.location().live.with_file_name("audit-1.db");
    assert_eq!(Reader::open(&Location::file(&aside)).unwrap().list_runs().unwrap().len(), 1);
}

#[test]
fn the_log_of_a_killed_run_is_put_back_when_its_copy_is_deleted_or_replaced() {
    let (checkout, elsewhere) = (Checkout::new(), Checkout::new());
    elsewhere.record("run-2");
    let mut store = checkout.open();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    drop(store);
    let folder = checkout.root().join(".upshift");
    let spoil: [&dyn Fn(); 2] = [&|| std::fs::remove_dir_all(&folder).unwrap(), &|| {
        assert!(std::fs::copy(elsewhere.copy(), checkout.copy()).unwrap() > 0)
    }];
    for spoil in spoil {
        spoil();
        let mut store = checkout.open();
        assert_eq!(store.latest_run().unwrap(), RunId("run-1".to_owned()));
        assert!(store.take_warnings().iter().any(|warning| warning.contains("is restored")));
        assert_eq!(checkout.copied("run_metadata"), 1);
    }
}

#[test]
fn a_log_in_use_is_not_moved_away() {
    let checkout = Checkout::new();
    let mut store = checkout.open();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    std::fs::remove_dir_all(checkout.root().join(".upshift")).unwrap();
    let neighbour = checkout.open();
    assert_eq!(neighbour.list_runs().unwrap().len(), 1);
    assert_eq!(checkout.copied("run_metadata"), 1);
}

#[test]
fn another_log_put_in_place_of_the_copy_is_continued() {
    let (checkout, elsewhere) = (Checkout::new(), Checkout::new());
    checkout.record("run-1");
    elsewhere.record("run-2");
    std::fs::copy(elsewhere.copy(), checkout.copy()).unwrap();
    let mut store = checkout.open();
    assert_eq!(store.latest_run().unwrap(), RunId("run-2".to_owned()));
    assert!(store.take_warnings().iter().any(|warning| warning.contains("someone else")));
    assert!(checkout.location().live.with_file_name("audit-1.db").exists());
}

#[test]
fn a_copy_that_was_spoiled_is_put_right() {
    let checkout = Checkout::new();
    checkout.record("run-1");
    std::fs::write(checkout.copy(), "spoiled by the tests of a hostile repository\n".repeat(50)).unwrap();
    checkout.record_with_warning("run-2", "is replaced");
    assert_eq!(checkout.copied("run_metadata"), 2);
}

#[test]
fn a_link_in_the_checkout_leads_nothing_out_of_it() {
    let checkout = Checkout::new();
    let victim = checkout.home.path().join("victim");
    std::fs::create_dir(&victim).unwrap();
    std::os::unix::fs::symlink(&victim, checkout.root().join(".upshift")).unwrap();
    let error = Store::open(&checkout.location(), redactor()).unwrap_err();
    assert!(matches!(error, AuditError::Unwritable { .. }), "{error}");
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
    // Put there while we run, it costs the copy, not the run.
    std::fs::remove_file(checkout.root().join(".upshift")).unwrap();
    let mut store = checkout.open();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    std::fs::remove_dir_all(checkout.root().join(".upshift")).unwrap();
    std::os::unix::fs::symlink(&victim, checkout.root().join(".upshift")).unwrap();
    store.append(&attempt(0, 1, 5), None);
    store.append(&attempt(0, 2, 5), None);
    assert_eq!(store.take_warnings().len(), 1);
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
}

#[test]
fn a_missing_log_is_said_so_to_readers() {
    let checkout = Checkout::new();
    let error = Reader::open(&checkout.location()).unwrap_err();
    assert_eq!(error, AuditError::Missing { path: ".upshift/audit.db".into() });
    assert!(!checkout.location().live.exists());
}

#[test]
fn lock_files_go_with_their_runs() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let file = beside(place.path(), ".run-run-1.lock");
    assert!(file.exists());
    store.begin_run(&started("run-2"), 1, FIRST).unwrap();
    assert!(!file.exists());
    store.close();
    let left: Vec<_> = std::fs::read_dir(place.folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["audit.db"]);
}

impl Checkout {
    fn record_with_warning(&self, run: &str, expected: &str) {
        let mut store = self.open();
        store.begin_run(&started(run), 1, FIRST).unwrap();
        assert!(store.take_warnings().iter().any(|warning| warning.contains(expected)));
    }
}

/// Its chain is as whole as ours: whoever writes a log can compute one.
#[test]
fn runs_of_a_copy_that_somebody_else_put_there_are_not_ours_from_then_on() {
    let (checkout, elsewhere) = (Checkout::new(), Checkout::new());
    let ours = |store: &Store, run: &str| store.is_ours(&RunId(run.to_owned()));
    checkout.record("run-1");
    assert!(ours(&checkout.open(), "run-1"));
    elsewhere.record("run-2");
    std::fs::copy(elsewhere.copy(), checkout.copy()).unwrap();
    for _ in 0..2 {
        assert!(!ours(&checkout.open(), "run-2"), "also once it is the live log");
    }
    checkout.record("run-3");
    let store = checkout.open();
    assert!(ours(&store, "run-3") && !ours(&store, "run-2"));
    let mut all = checkout.open().distrusted();
    assert!(!ours(&all, "run-3") && !ours(&all, "run-2"));
    all.begin_run(&started("run-4"), 1, FIRST).unwrap();
    assert!(ours(&all, "run-4") && !ours(&all, "run-3"), "the one at hand is");
    all.continue_run(&RunId("run-2".to_owned()), 1, &started("run-2").started_at).unwrap();
    assert!(!ours(&all, "run-2"), "whoever goes on with a run that was found there");
    drop((store, all));
    std::fs::remove_dir_all(checkout.home.path().join("state")).unwrap();
    assert!(!ours(&checkout.open(), "run-3"), "on another machine it is as any other copy");
}
