//! Every change to a recorded run is found.

use super::*;

/// A finished run of each sort of event with rows, beside another run.
fn recorded() -> (Place, RunId) {
    let place = Place::new();
    let mut other = place.begun("other");
    other.append(&attempt(0, 1, 1), None);
    let mut store = place.begun("run-1");
    for (n, id) in ["c1", "c2"].into_iter().enumerate() {
        store.reserve(&call(id, 10), &[]).unwrap();
        store.settle(&receipt(&call(id, 10), 7), Some(&reply(id)));
        store.append(&attempt(0, u32::try_from(n).unwrap() + 1, 7), None);
    }
    store.append(&finished(Outcome::Exhausted), None);
    (place, RunId("run-1".to_owned()))
}

#[test]
fn an_untouched_log_is_vouched_for() {
    let (place, run) = recorded();
    let head: String =
        place.sql().query_row("SELECT chain_head FROM run_state WHERE run_id = 'run-1'", [], |row| row.get(0)).unwrap();
    let verified = verify(place.path(), &run).unwrap();
    assert_eq!((verified.head, verified.links), (head, 9));
    assert_eq!(verified.state.map(|link| link.seq), Some(1), "the start was recorded with a state");
    assert!(matches!(
        verify(place.path(), &RunId("none".to_owned())),
        Err(VerifyError::Log(AuditError::NoSuchRun { .. }))
    ));
}

#[test]
fn a_run_without_its_own_row_is_found_by_what_else_it_left() {
    let (place, run) = recorded();
    for (tamper, asked) in [
        ("DELETE FROM run_metadata WHERE run_id = 'run-1'", Some("run-")),
        ("DELETE FROM run_metadata; DELETE FROM events WHERE run_id = 'other'", None),
    ] {
        place.sql().execute_batch(tamper).unwrap();
        let reader = Reader::open(&Location::file(place.path())).unwrap();
        assert_eq!(reader.run_to_verify(asked).unwrap(), run);
        assert!(matches!(reader.verify(&run), Err(VerifyError::Broken(link)) if link.table == "run_metadata"));
    }
    let reader = Reader::open(&Location::file(place.path())).unwrap();
    assert!(matches!(reader.run_to_verify(Some("none")), Err(AuditError::NoSuchRun { .. })));
}

#[test]
fn every_change_is_found_where_it_was_made() {
    for (tamper, table) in [
        ("UPDATE tier_attempts SET test_status = 'passed' WHERE run_id = 'run-1' AND iteration = 2", "tier_attempts"),
        ("UPDATE tier_attempts SET cost_usd = 0 WHERE run_id = 'run-1' AND iteration = 1", "tier_attempts"),
        ("DELETE FROM tier_attempts WHERE run_id = 'run-1' AND iteration = 1", "tier_attempts"),
        ("DELETE FROM tier_attempts WHERE run_id = 'run-1' AND iteration = 2", "tier_attempts"),
        ("INSERT INTO tier_attempts (run_id, tier_index, tier_name, tier_mode, model_artisan, iteration, test_status, timestamp)
            VALUES ('run-1', 0, 'local', 'simple', 'm', 3, 'passed', 't')", "tier_attempts"),
        ("UPDATE tier_attempts SET run_id = 'run-1' WHERE run_id = 'other'", "tier_attempts"),
        ("UPDATE tier_attempts SET billed_artisan = 'other' WHERE run_id = 'run-1' AND iteration = 1", "tier_attempts"),
        ("UPDATE model_calls SET billed_model = NULL WHERE call_id = 'c2'", "model_calls"),
        ("UPDATE model_calls SET agent_path = 'tier-1/iteration-1/critic' WHERE call_id = 'c2'", "model_calls"),
        ("UPDATE model_calls SET cost_micro_usd = 0 WHERE call_id = 'c2'", "model_calls"),
        ("UPDATE model_calls SET reply = replace(reply, 'c1', 'cX') WHERE call_id = 'c1'", "model_calls"),
        ("UPDATE model_calls SET reply = NULL WHERE call_id = 'c1'", "model_calls"),
        ("DELETE FROM model_calls WHERE call_id = 'c2'", "model_calls"),
        ("UPDATE events SET body = replace(body, 'tried 2', 'tried 9') WHERE run_id = 'run-1'", "events"),
        ("UPDATE events SET kind = 'warning' WHERE run_id = 'run-1' AND seq = 5", "events"),
        ("UPDATE events SET attached = '' WHERE run_id = 'run-1' AND seq = 4", "events"),
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq = 3", "events"),
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq = 1", "events"),
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq = 9", "run_state"),
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq > 2;
          DELETE FROM tier_attempts WHERE run_id = 'run-1'; DELETE FROM model_calls WHERE run_id = 'run-1'", "run_state"),
        ("DELETE FROM run_state WHERE run_id = 'run-1'", "run_state"),
        ("UPDATE run_state SET state = '{}' WHERE run_id = 'run-1'", "run_state"),
        ("UPDATE run_state SET state = NULL WHERE run_id = 'run-1'", "run_state"),
        ("UPDATE reservations SET settled_micro_usd = 0 WHERE call_id = 'c1'", "reservations"),
        ("UPDATE reservations SET settled_micro_usd = NULL WHERE call_id = 'c2'", "reservations"),
        ("DELETE FROM reservations WHERE call_id = 'c2'", "reservations"),
        ("UPDATE run_state SET chain_head = '' WHERE run_id = 'run-1'", "run_state"),
        ("UPDATE run_state SET exit_code = 0, outcome = 'fixed' WHERE run_id = 'run-1'", "run_state"),
        ("UPDATE run_metadata SET outcome = 'success' WHERE run_id = 'run-1'", "run_metadata"),
        ("UPDATE run_metadata SET objective = 'other' WHERE run_id = 'run-1'", "run_metadata"),
        ("DELETE FROM run_metadata WHERE run_id = 'run-1'", "run_metadata"),
    ] {
        let (place, run) = recorded();
        verify(place.path(), &run).unwrap();
        place.sql().execute_batch(tamper).unwrap();
        match verify(place.path(), &run) {
            Err(VerifyError::Broken(link)) => assert_eq!(link.table, table, "{tamper}: {link}"),
            other => panic!("{tamper}: {other:?}"),
        }
    }
}

#[test]
fn a_run_of_before_billed_models_were_kept_is_vouched_for_and_goes_on() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let mut call = call("c1", 7);
    call.scope.agent = "advisor/security".to_owned();
    store.reserve(&call, &[]).unwrap();
    store.settle(&Receipt { billed_model: None, ..receipt(&call, 7) }, Some(&reply("r")));
    store.append(&attempt(0, 1, 7), None);
    drop(store);
    let bodies: i64 =
        place.sql().query_row("SELECT COUNT(*) FROM events WHERE body LIKE '%billed%'", [], |row| row.get(0)).unwrap();
    assert_eq!(bodies, 0, "as an older version wrote it");
    let older = "ALTER TABLE tier_attempts DROP COLUMN billed_artisan;
        ALTER TABLE tier_attempts DROP COLUMN billed_librarian; ALTER TABLE tier_attempts DROP COLUMN billed_critic;
        ALTER TABLE model_calls DROP COLUMN billed_model; ALTER TABLE tier_attempts DROP COLUMN unknown_cost_usd;
        ALTER TABLE tier_attempts DROP COLUMN review; DROP TABLE trees; DROP TABLE tree_contents; DROP TABLE backlogs; DROP TABLE backlog_tasks;
        DROP TABLE backlog_orders; DROP TABLE segments;
        ALTER TABLE model_calls DROP COLUMN unknown_cost_micro_usd; ALTER TABLE model_calls DROP COLUMN agent_path; ALTER TABLE events DROP COLUMN recorded_at; PRAGMA user_version = 2;";
    place.sql().execute_batch(older).unwrap();
    let run = RunId("run-1".to_owned());
    verify(place.path(), &run).unwrap();
    let mut store = place.open();
    store.continue_run(&run, 43, &Timestamp("2026-02-17T14:29:00.000Z".to_owned())).unwrap();
    store.append(&attempt(0, 2, 7), None);
    drop(store);
    verify(place.path(), &run).unwrap();
    assert_eq!((place.count("model_calls"), place.count("tier_attempts")), (1, 2));
    let agent: String = place.sql().query_row("SELECT agent_path FROM model_calls", [], |row| row.get(0)).unwrap();
    assert_eq!(
        agent, "tier-1/iteration-1/advisor/security",
        "from the event, since the row of then has no such column"
    );
}

#[test]
fn the_first_broken_link_is_named() {
    let (place, run) = recorded();
    place.sql().execute_batch("UPDATE tier_attempts SET cost_usd = 1 WHERE run_id = 'run-1'").unwrap();
    let first: i64 = place
        .sql()
        .query_row("SELECT min(id) FROM tier_attempts WHERE run_id = 'run-1'", [], |row| row.get(0))
        .unwrap();
    let Err(VerifyError::Broken(link)) = verify(place.path(), &run) else { panic!("not broken") };
    assert_eq!((link.table, link.rowid), ("tier_attempts", first));
    assert!(link.to_string().contains("iteration 1 of tier 1"), "{link}");
}

#[test]
fn one_run_that_was_changed_does_not_discredit_another() {
    let (place, run) = recorded();
    place.sql().execute_batch("UPDATE tier_attempts SET cost_usd = 1 WHERE run_id = 'other'").unwrap();
    verify(place.path(), &run).unwrap();
    assert!(verify(place.path(), &RunId("other".to_owned())).is_err());
}

#[test]
fn the_last_state_is_vouched_for_also_where_nothing_happened_beside_it() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let run = RunId("run-1".to_owned());
    store.append(&attempt(0, 1, 7), Some("{\"at\":1}"));
    store.append_all(&[], Some("{\"at\":2}"));
    store.reserve(&call("c1", 10), &[]).unwrap();
    store.append_all(&[Event::CallSettled(receipt(&call("c1", 10), 7))], Some("{\"at\":3}"));
    drop(store);
    let verified = verify(place.path(), &run).unwrap();
    let link = verified.state.unwrap();
    assert_eq!((link.seq, &link.hash), (verified.links, &verified.head));
    place.sql().execute_batch("UPDATE run_state SET state = '{\"at\":2}'").unwrap();
    assert!(matches!(verify(place.path(), &run), Err(VerifyError::Broken(link)) if link.table == "run_state"));
}
