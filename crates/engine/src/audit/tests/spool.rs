//! Tests of writes that the database does not take, and of how they come back.

use std::time::Duration;

use super::*;
use crate::audit::lock::beside;

fn impatient(place: &Place) -> Store {
    let settings = Settings { busy_timeout: Duration::from_millis(1) };
    let mut store = Store::open_with(&place.location, redactor(), &settings).unwrap();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    store
}

fn messages(place: &Place) -> Vec<Event> {
    let run = Reader::open(&place.location).unwrap().load_run(&RunId("run-1".to_owned())).unwrap();
    run.events.into_iter().skip(2).collect()
}

#[test]
fn what_a_locked_log_does_not_take_is_spooled_and_replayed_in_order() {
    let place = Place::new();
    let mut store = impatient(&place);
    let other = place.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    store.append(&warning("one"), None);
    store.append(&attempt(0, 1, 5), Some("{\"at\": 1}"));
    store.reserve(&call("c1", 10), &[run_cap("run-1", 10)]).unwrap();
    let warnings = store.take_warnings();
    assert!(
        matches!(&warnings[..], [only] if only.contains("cannot be written") && only.contains(".spool.jsonl")),
        "{warnings:?}"
    );
    let spool = beside(place.path(), ".spool.jsonl");
    assert_eq!(std::fs::read_to_string(&spool).unwrap().lines().count(), 3);
    assert!(memchr::memmem::find(&place.bytes(), SECRET.as_bytes()).is_none());
    other.execute_batch("COMMIT").unwrap();
    store.append(&warning("two"), None);
    assert!(!spool.exists());
    assert_eq!(store.take_warnings().len(), 1, "that it works again");
    assert_eq!(messages(&place).len(), 4);
    assert_eq!(messages(&place).first(), Some(&warning("one")));
    assert_eq!(messages(&place).last(), Some(&warning("two")));
    assert_eq!(place.count("tier_attempts"), 1);
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn caps_hold_while_the_log_is_locked() {
    let place = Place::new();
    let mut store = impatient(&place);
    let caps = [run_cap("run-1", 100), Cap { scope: Scope::PullRequest("o/r#1".to_owned()), max: MicroUsd(1_000) }];
    store.reserve(&call("c0", 10), &caps).unwrap();
    let other = place.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    store.reserve(&call("c1", 60), &caps).unwrap();
    store.settle(&receipt(&call("c1", 60), 50), None);
    assert_eq!(store.left(&caps), MicroUsd(40));
    let run = RunId("run-1".to_owned());
    assert_eq!(store.spent(&Scope::Run(run.clone())), MicroUsd(50));
    assert_eq!(store.charge(&run, Some((0, 1))).known, MicroUsd(50));
    assert!(store.reserve(&call("c2", 41), &caps).is_err());
    store.reserve(&call("c3", 40), &caps).unwrap();
    other.execute_batch("COMMIT").unwrap();
    assert!(store.reserve(&call("c4", 1), &caps).is_err());
    assert_eq!(store.charge(&run, Some((0, 1))).known, MicroUsd(50));
    assert_eq!(place.count("model_calls"), 1, "a refusal replays as well");
    assert_eq!(place.count("reservations"), 9);
}

#[test]
fn what_another_process_spends_counts_while_the_log_is_locked_for_us() {
    let place = Place::new();
    let cap = [Cap { scope: Scope::PullRequest("o/r#1".to_owned()), max: MicroUsd(100) }];
    let mut store = impatient(&place);
    store.reserve(&call("c0", 10), &cap).unwrap();
    let mut theirs = place.begun("run-2");
    theirs.reserve(&call("d0", 40), &cap).unwrap();
    theirs.settle(&receipt(&call("d0", 40), 35), None);
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(store.reserve(&call("c1", 56), &cap).is_err(), "10 and 35 of 100 are gone");
    store.reserve(&call("c2", 50), &cap).unwrap();
    assert!(store.reserve(&call("c3", 6), &cap).is_err(), "the database does not know of 50");
    store.settle(&receipt(&call("c2", 50), 20), None);
    assert!(store.reserve(&call("c4", 36), &cap).is_err());
    store.reserve(&call("c5", 35), &cap).unwrap();
    other.execute_batch("COMMIT").unwrap();
    assert!(store.reserve(&call("c6", 1), &cap).is_err());
}

#[test]
fn what_the_log_took_afterwards_counts_once_when_it_is_locked_again() {
    let place = Place::new();
    let cap = [Cap { scope: Scope::PullRequest("o/r#1".to_owned()), max: MicroUsd(100) }];
    let mut store = impatient(&place);
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.reserve(&call("c0", 60), &cap).unwrap();
    other.execute_batch("COMMIT").unwrap();
    // Any write takes along what waited.
    store.append(&warning("one"), None);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.reserve(&call("c1", 40), &cap).unwrap();
    assert!(store.reserve(&call("c2", 1), &cap).is_err());
    other.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_spool_that_a_killed_process_left_is_replayed_by_the_next() {
    let place = Place::new();
    let mut store = impatient(&place);
    let other = place.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    store.append(&attempt(0, 1, 5), None);
    // Gone without close, in the middle of another line.
    drop(store);
    other.execute_batch("COMMIT").unwrap();
    let spool = beside(place.path(), ".spool.jsonl");
    let mut text = std::fs::read_to_string(&spool).unwrap();
    let again = text.clone();
    text.push_str(&again);
    text.push_str("{\"run_id\": \"run-1\", \"li");
    std::fs::write(&spool, text).unwrap();
    assert_eq!(place.count("tier_attempts"), 0);
    let mut store = place.open();
    assert!(store.take_warnings().iter().any(|warning| warning.contains("torn")));
    assert_eq!((place.count("tier_attempts"), spool.exists()), (1, false), "once, though it stood there twice");
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn a_reader_takes_what_waits_into_the_log_as_soon_as_it_can_be_written() {
    let place = Place::new();
    let mut store = impatient(&place);
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.append(&attempt(0, 1, 5), None);
    drop(store);
    let spool = beside(place.path(), ".spool.jsonl");
    assert_eq!((messages(&place).len(), place.count("tier_attempts")), (1, 0), "it is shown while it waits");
    assert!(spool.exists());
    other.execute_batch("COMMIT").unwrap();
    assert_eq!((messages(&place).len(), place.count("tier_attempts")), (1, 1), "and then it is there for everybody");
    assert!(!spool.exists());
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn what_waits_on_another_disk_follows_what_waits_beside_the_log() {
    let place = Place::new();
    let elsewhere = place.path().with_file_name("elsewhere").join("audit.db");
    let refuge = beside(&elsewhere, ".spool.jsonl");
    let location = Location { refuge: Some(elsewhere), ..place.location.clone() };
    let settings = Settings { busy_timeout: Duration::from_millis(1) };
    let mut store = Store::open_with(&location, redactor(), &settings).unwrap();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.append(&warning("one"), None);
    // No file can be where a folder is.
    let (spool, moved) = (beside(place.path(), ".spool.jsonl"), place.path().with_file_name("moved"));
    std::fs::rename(&spool, &moved).unwrap();
    std::fs::create_dir(&spool).unwrap();
    store.append(&warning("two"), None);
    assert!(refuge.exists());
    std::fs::remove_dir(&spool).unwrap();
    std::fs::rename(&moved, &spool).unwrap();
    store.append(&warning("three"), None);
    drop(store);
    let told = |location: &Location| {
        let run = Reader::open(location).unwrap().load_run(&RunId("run-1".to_owned())).unwrap();
        run.events.into_iter().skip(2).collect::<Vec<_>>()
    };
    let all = [warning("one"), warning("two"), warning("three")];
    assert_eq!(told(&location), all);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(told(&location), all);
    assert!(!spool.exists() && !refuge.exists());
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn another_process_replays_before_it_reserves() {
    let place = Place::new();
    let mut store = impatient(&place);
    let mut neighbour = place.begun("run-2");
    let day = [Cap { scope: Scope::Day("o/r@2026-02-17".to_owned()), max: MicroUsd(100) }];
    store.reserve(&call("c0", 1), &day).unwrap();
    let other = place.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    store.reserve(&call("c1", 60), &day).unwrap();
    other.execute_batch("COMMIT").unwrap();
    let refused = neighbour.reserve(&call("c2", 40), &day).unwrap_err();
    assert_eq!(refused.reserved_elsewhere, MicroUsd(61));
}

#[test]
fn a_full_disk_changes_nothing_but_where_things_are_kept() {
    let place = Place::new();
    let mut store = impatient(&place);
    let pages: i64 = store.db.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let limit = |store: &Store, pages: i64| {
        store.db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    limit(&store, pages);
    let long = "x".repeat(3_000);
    for n in 0..20 {
        store.append(&warning(&format!("{n} {long}")), None);
    }
    assert!(store.take_warnings().iter().any(|warning| warning.contains("full")));
    store.reserve(&call("c1", 60), &[run_cap("run-1", 100)]).unwrap();
    assert!(store.reserve(&call("c2", 60), &[run_cap("run-1", 100)]).is_err());
    limit(&store, 1_000_000);
    assert_eq!(store.close(), ["the audit log can be written again; nothing is missing"]);
    assert_eq!(messages(&place).len(), 21);
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}

#[test]
fn a_read_only_log_and_a_spool_that_fails_too_are_survived_in_memory() {
    let place = Place::new();
    let mut store = impatient(&place);
    let spool = beside(place.path(), ".spool.jsonl");
    std::fs::create_dir(&spool).unwrap();
    store.db.pragma_update(None, "query_only", "ON").unwrap();
    store.append(&warning("one"), None);
    store.append(&attempt(0, 1, 5), None);
    assert!(store.take_warnings().iter().any(|warning| warning.contains("in memory only")));
    std::fs::remove_dir(&spool).unwrap();
    store.db.pragma_update(None, "query_only", "OFF").unwrap();
    store.append(&warning("two"), None);
    assert_eq!(messages(&place).len(), 3);
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
}
