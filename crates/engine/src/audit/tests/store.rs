//! Tests of the log that a run leaves.

use proptest::prelude::*;

use super::*;

#[test]
fn a_run_is_in_progress_until_it_ends() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let outcome =
        || -> String { place.sql().query_row("SELECT outcome FROM run_metadata", [], |row| row.get(0)).unwrap() };
    assert_eq!(outcome(), "in_progress");
    let state = store.load_run(&RunId("run-1".to_owned())).unwrap().state;
    assert_eq!(state.as_deref(), Some(FIRST), "there from the first moment on");
    store.append(&attempt(0, 1, 5), None);
    store.append(&attempt(1, 1, 800), Some("{\"at\": 2}"));
    store.append(&finished(Outcome::Fixed { tier_index: 1, iteration: 1 }), Some("{\"at\": 3}"));
    assert_eq!(outcome(), "success");
    let row: (String, String, i64) = place
        .sql()
        .query_row("SELECT completed_at, resolved_tier_name, resolved_iteration FROM run_metadata", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(row, ("2026-02-17T14:30:00.000Z".to_owned(), "power".to_owned(), 1));
    let state: (String, String, i64) = place
        .sql()
        .query_row("SELECT outcome, stop_reason, exit_code FROM run_state", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(state, ("fixed".to_owned(), "tests are green".to_owned(), 0));
    assert!(store.close().is_empty());
    let run = Reader::open(&place.location).unwrap().load_run(&RunId("run-1".to_owned())).unwrap();
    assert_eq!(run.status, RunStatus::Ended(Some(Outcome::Fixed { tier_index: 1, iteration: 1 })));
    assert_eq!(run.state.as_deref(), Some("{\"at\": 3}"));
    assert_eq!((run.events.len(), run.exit_code, run.invocations), (5, Some(0), 1));
}

#[test]
fn every_outcome_has_its_words_in_the_log() {
    for outcome in [
        Outcome::AlreadyGreen,
        Outcome::Exhausted,
        Outcome::Blocked { reason: "no key".to_owned() },
        Outcome::Budget,
        Outcome::Interrupted { signal: 15 },
        Outcome::Parked,
    ] {
        let place = Place::new();
        let mut store = place.begun("run-1");
        store.append(&finished(outcome.clone()), None);
        drop(store);
        let (seed, completed): (String, Option<String>) = place
            .sql()
            .query_row("SELECT outcome, completed_at FROM run_metadata", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(seed, outcome.seed_outcome());
        assert_eq!(completed.is_none(), outcome == Outcome::Parked);
        verify(place.path(), &RunId("run-1".to_owned())).unwrap();
        let run = Reader::open(&place.location).unwrap().load_run(&RunId("run-1".to_owned())).unwrap();
        assert_eq!((run.status, run.exit_code), (RunStatus::Ended(Some(outcome.clone())), Some(outcome.exit_code())));
    }
}

#[test]
fn the_seeds_queries_work() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    for (tier, iteration, cost) in [(0, 1, 250_000), (0, 2, 500_000), (1, 1, 800)] {
        store.append(&attempt(tier, iteration, cost), None);
    }
    store.append(&finished(Outcome::Exhausted), None);
    let db = place.sql();
    let history: Vec<(i64, i64)> = db
        .prepare(
            "SELECT tier_index, iteration FROM tier_attempts WHERE run_id = 'run-1' ORDER BY tier_index, iteration",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(history, [(0, 1), (0, 2), (1, 1)]);
    let per_tier: Vec<(String, i64, f64, i64)> = db
        .prepare(
            "SELECT tier_name, COUNT(*), SUM(cost_usd), SUM(CASE WHEN test_status = 'passed' THEN 1 ELSE 0 END)
             FROM tier_attempts WHERE run_id = 'run-1' GROUP BY tier_index ORDER BY tier_index",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(per_tier, [("local".to_owned(), 2, 0.75, 0), ("power".to_owned(), 1, 0.0008, 0)]);
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let week = "SELECT COUNT(*) FROM run_metadata WHERE datetime(started_at) > datetime('2026-02-18', '-7 days')";
    assert_eq!(count(week), 1);
    assert_eq!(
        count("SELECT CAST(SUM(cost_usd) * 1e6 + 0.5 AS INTEGER) FROM tier_attempts WHERE tier_name = 'local'"),
        750_000
    );
    let errors: Vec<String> = db
        .prepare("SELECT j.value FROM tier_attempts, json_each(error_messages) j WHERE tier_name = 'local' ORDER BY timestamp DESC LIMIT 5")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(errors, ["left: ***\nright: 4", "left: ***\nright: 4"]);
}

#[test]
fn no_secret_reaches_the_disk() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let call = call("c1", 10);
    store.reserve(&call, &[]).unwrap();
    let mut settled = receipt(&call, 5);
    settled.error = Some(format!("refused key {SECRET}"));
    store.settle(&settled, Some(&reply(&format!("the key is {SECRET}"))));
    store.append(&attempt(0, 1, 5), Some(&format!("{{\"note\": \"{SECRET}\", \"{SECRET}\": 1}}")));
    store.save_snapshot(&Snapshot { kind: "conversation", session_id: "s1", body: &format!("[\"{SECRET}\"]") });
    let run = RunId("run-1".to_owned());
    assert_eq!(store.load_snapshot(&run, "conversation", "s1").unwrap().as_deref(), Some("[\"***\"]"));
    assert!(memchr::memmem::find(&place.bytes(), SECRET.as_bytes()).is_none());
    drop(store);
    assert!(memchr::memmem::find(&place.bytes(), SECRET.as_bytes()).is_none());
    verify(place.path(), &run).unwrap();
}

#[test]
fn a_secret_that_is_one_of_our_words_does_not_break_the_log() {
    let place = Place::new();
    let words = Arc::new(Redactor::new(&["iteration_finished", "call_settled", "anthropic"].map(SecretString::from)));
    let mut store = Store::open(&place.location, words).unwrap();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    store.append(&attempt(0, 1, 5), None);
    store.append(&warning("iteration_finished"), None);
    let run = store.load_run(&RunId("run-1".to_owned())).unwrap();
    assert!(
        matches!(run.events.get(2), Some(Event::IterationFinished(attempt)) if attempt.model_artisan == "***/claude-haiku-4-5")
    );
    assert_eq!(run.events.get(3), Some(&warning("***")));
}

#[test]
fn replies_are_kept_for_resume_in_order() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let (first, second, third) = (call("c1", 10), call("c2", 10), call("c3", 10));
    for call in [&first, &second, &third] {
        store.reserve(call, &[]).unwrap();
    }
    store.settle(&receipt(&second, 7), Some(&reply("two")));
    let mut failed = receipt(&first, 0);
    failed.status = CallStatus::Timeout;
    store.settle(&failed, None);
    store.settle(&receipt(&second, 9), Some(&reply("again")));
    drop(store);
    let mut store = place.open();
    let run = RunId("run-1".to_owned());
    let replies = store.recorded_replies(&run, 0, 1).unwrap();
    assert_eq!(replies, [(receipt(&second, 7), Some(reply("two"))), (failed, None)]);
    assert_eq!(store.recorded_replies(&run, 0, 2).unwrap(), []);
    assert_eq!(store.open_reservations(&run).unwrap(), std::slice::from_ref(&third));
    // The call that was under way is settled at what was set aside for it.
    store.continue_run(&run, 43, &Timestamp("2026-02-18T00:00:00.000Z".to_owned())).unwrap();
    let mut lost = receipt(&third, 10);
    lost.status = CallStatus::Lost;
    store.settle(&lost, None);
    assert_eq!(store.open_reservations(&run).unwrap(), []);
    assert_eq!(store.left(&[run_cap("run-1", 20)]), MicroUsd(3));
    drop(store);
    verify(place.path(), &run).unwrap();
}

#[test]
fn a_run_is_continued_once_its_process_is_gone() {
    let place = Place::new();
    let mut first = place.begun("run-1");
    first.append(&attempt(0, 1, 5), Some("{\"at\": 1}"));
    let run = RunId("run-1".to_owned());
    let at = Timestamp("2026-02-18T00:00:00.000Z".to_owned());
    let mut second = place.open();
    assert_eq!(second.load_run(&run).unwrap().status, RunStatus::Running);
    assert_eq!(second.continue_run(&run, 43, &at), Err(AuditError::Alive { run: run.clone() }));
    drop(first);
    assert_eq!(second.load_run(&run).unwrap().status, RunStatus::Interrupted);
    let invocation = second.continue_run(&run, 43, &at).unwrap();
    assert_eq!(invocation, Event::InvocationStarted { invocation: 2, pid: 43 });
    assert_eq!(second.load_run(&run).unwrap().status, RunStatus::Running);
    second.append(&finished(Outcome::Parked), None);
    second.continue_run(&run, 44, &at).unwrap();
    assert_eq!(second.load_run(&run).unwrap().invocations, 3);
    drop(second);
    assert_eq!(Reader::open(&place.location).unwrap().load_run(&run).unwrap().status, RunStatus::Interrupted);
    assert_eq!(verify(place.path(), &run).unwrap().links, 6);
    assert!(matches!(place.open().continue_run(&RunId("run-9".to_owned()), 1, &at), Err(AuditError::NoSuchRun { .. })));
}

#[test]
fn runs_are_found_by_a_unique_beginning() {
    let place = Place::new();
    let mut store = place.open();
    assert_eq!(store.latest_run(), Err(AuditError::NoRuns));
    for run in ["f4a2c781-aa", "f4a2d000-bb", "f4"] {
        store.begin_run(&started(run), 1, FIRST).unwrap();
    }
    let id = |id: &str| RunId(id.to_owned());
    assert_eq!(store.find_run("F4A2C"), Ok(id("f4a2c781-aa")));
    assert_eq!(store.find_run("f4"), Ok(id("f4")), "an exact id stands alone");
    let Err(AuditError::Ambiguous { runs, .. }) = store.find_run("f4a2") else { panic!("not ambiguous") };
    assert_eq!(runs.len(), 2);
    for unknown in ["e", "%", "f4a2_"] {
        assert!(matches!(store.find_run(unknown), Err(AuditError::NoSuchRun { .. })), "{unknown}");
    }
    assert_eq!(store.latest_run(), Ok(id("f4")));
}

#[test]
fn events_told_twice_are_recorded_once() {
    let place = Place::new();
    let mut store = place.open();
    store.append(&warning("before the run"), None);
    let started = started("run-1");
    let invocation = store.begin_run(&started, 42, FIRST).unwrap();
    let call = call("c1", 10);
    store.reserve(&call, &[]).unwrap();
    store.settle(&receipt(&call, 3), None);
    for event in [Event::RunStarted(started), invocation, call.event(), Event::CallSettled(receipt(&call, 3))] {
        store.append(&event, None);
    }
    let run = store.load_run(&RunId("run-1".to_owned())).unwrap();
    assert_eq!(run.events.len(), 5);
    assert_eq!(run.events.get(2), Some(&warning("before the run")));
}

#[test]
fn a_log_in_memory_does_all_the_same() {
    let mut store = Store::in_memory(redactor()).unwrap();
    store.begin_run(&started("run-1"), 1, FIRST).unwrap();
    store.append(&attempt(0, 1, 5), None);
    store.reserve(&call("c1", 10), &[run_cap("run-1", 10)]).unwrap();
    assert!(store.reserve(&call("c2", 1), &[run_cap("run-1", 10)]).is_err());
    assert_eq!(store.load_run(&RunId("run-1".to_owned())).unwrap().events.len(), 4);
    assert!(store.close().is_empty());
}

#[test]
fn a_snapshot_that_is_too_large_is_kept_as_its_beginning() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let body = format!("[\"{}\"]", "ü".repeat(1_000_000));
    store.save_snapshot(&Snapshot { kind: "conversation", session_id: "s", body: &body });
    let kept = store.load_snapshot(&RunId("run-1".to_owned()), "conversation", "s").unwrap().unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["cut_from_bytes"], body.len());
    assert!(kept["beginning"].as_str().unwrap().starts_with("[\"ü"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Attempts, receipts and the run's total are the same money, to the micro-dollar (SPEC §4).
    #[test]
    fn attempts_and_receipts_and_total_agree(costs in proptest::collection::vec(proptest::collection::vec(0_u64..3_000_000, 0..4), 1..5)) {
        let mut store = Store::in_memory(redactor()).unwrap();
        store.begin_run(&started("run-1"), 1, FIRST).unwrap();
        let mut total = 0;
        for (iteration, calls) in costs.iter().enumerate() {
            for (n, cost) in calls.iter().enumerate() {
                let call = call(&format!("c{iteration}-{n}"), 3_000_000);
                store.reserve(&call, &[]).unwrap();
                store.settle(&receipt(&call, *cost), None);
            }
            let sum = calls.iter().sum::<u64>();
            store.append(&attempt(0, u32::try_from(iteration).unwrap() + 1, sum), None);
            total += sum;
        }
        let micros = |sql: &str| store.db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let total = i64::try_from(total).unwrap();
        prop_assert_eq!(micros("SELECT sum(CAST(round(cost_usd * 1000000) AS INTEGER)) FROM tier_attempts"), total);
        prop_assert_eq!(micros("SELECT coalesce(sum(cost_micro_usd), 0) FROM model_calls"), total);
        prop_assert_eq!(micros("SELECT coalesce(sum(settled_micro_usd), 0) FROM reservations WHERE scope = 'run:run-1'"), total);
    }
}

#[test]
fn c11_every_event_has_the_time_of_its_recording_in_its_row_and_under_its_hash() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let reserved = call("c1", 7);
    store.reserve(&reserved, &[]).unwrap();
    store.settle(&receipt(&reserved, 7), None);
    store.append_all(&[attempt(0, 1, 7), finished(Outcome::Exhausted)], None);
    drop(store);
    let times: Vec<(String, String)> = place
        .sql()
        .prepare("SELECT recorded_at, json_extract(body, '$.recorded_at') FROM events ORDER BY seq")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(times.len(), 6);
    assert!(times.iter().all(|(row, body)| row == body && row.len() == "2026-02-17T14:23:01.456Z".len()), "{times:?}");
    assert!(times.is_sorted(), "{times:?}");
    verify(place.path(), &RunId("run-1".to_owned())).unwrap();
    place.sql().execute_batch("UPDATE events SET body = replace(body, '20', '21') WHERE seq = 3").unwrap();
    assert!(verify(place.path(), &RunId("run-1".to_owned())).is_err(), "a time that was changed is found");
}
