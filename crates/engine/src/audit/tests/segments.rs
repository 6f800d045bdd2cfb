//! Logs joined into one.

use super::*;

fn now() -> Timestamp {
    Timestamp("2026-02-17T15:00:00.000Z".to_owned())
}

/// A log with one finished run, by its id.
fn log_of(run: &str) -> Place {
    let place = Place::new();
    let mut store = place.begun(run);
    let call = call(&format!("{run}-c"), 10);
    store.reserve(&call, &[]).unwrap();
    store.settle(&receipt(&call, 7), Some(&reply(run)));
    store.append(&attempt(0, 1, 7), Some("{\"at\": 1}"));
    store.append(&finished(Outcome::Exhausted), Some("{\"at\": 2}"));
    place
}

fn join(into: &Place, from: &Place) -> Vec<Joined> {
    let reader = Reader::open(&from.location).unwrap();
    let mut store = into.open();
    let runs = reader.run_ids().unwrap();
    let joined = runs.iter().map(|run| store.join(&reader, run, ("a.db", &now(), None)).unwrap()).collect();
    store.end_joining();
    joined
}

fn refused(joined: &[Joined]) -> &str {
    match joined {
        [Joined::Refused { why, .. }] => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_joined_run_is_vouched_for_as_it_was_where_it_came_from() {
    let (into, one, two) = (Place::new(), log_of("run-1"), log_of("run-2"));
    drop(into.open());
    let joined = [join(&into, &one), join(&into, &two)].concat();
    for (run, (from, joined)) in ["run-1", "run-2"].into_iter().zip([&one, &two].into_iter().zip(joined)) {
        let run = RunId(run.to_owned());
        let there = verify(from.path(), &run).unwrap();
        let segment = Segment { run_id: run.clone(), head: there.head.clone(), length: there.links };
        assert_eq!(joined, Joined::Taken(segment.clone()));
        assert_eq!(verify(into.path(), &run).unwrap(), there);
        assert!(into.open().segments().unwrap().contains(&segment));
    }
    assert!(matches!(join(&into, &one)[..], [Joined::Known(_)]), "once more, nothing happens");
    assert_eq!((into.count("model_calls"), into.count("tier_attempts"), into.count("segments")), (2, 2, 2));
    // The money that a day or a pull request has spent elsewhere is no account of this log.
    assert_eq!(into.count("reservations WHERE scope NOT LIKE 'run:%' AND scope NOT LIKE 'tier:%'"), 0);
}

#[test]
fn a_joined_run_counts_on_its_day_where_the_repository_is_known() {
    let (into, from) = (Place::new(), log_of("run-1"));
    let joined = |into: &Place| {
        let reader = Reader::open(&from.location).unwrap();
        into.open().join(&reader, &RunId("run-1".to_owned()), ("a.db", &now(), Some("acme/shop"))).unwrap()
    };
    drop(into.open());
    assert!(matches!(joined(&into), Joined::Taken(_)));
    let cap = |day: &str| [Cap { scope: Scope::Day(format!("acme/shop@{day}")), max: MicroUsd(10) }];
    let left = |day: &str| into.open().left(&cap(day));
    assert_eq!((left("2026-02-17"), left("2026-02-18")), (MicroUsd(3), MicroUsd(10)));
    assert!(matches!(joined(&into), Joined::Known(_)), "once more, nothing happens");
    assert_eq!(left("2026-02-17"), MicroUsd(3));
}

#[test]
fn a_joined_run_is_told_from_this_logs_own_and_is_never_the_latest_beside_one() {
    let (into, from) = (Place::new(), log_of("run-9"));
    drop(into.open());
    let reader = || Reader::open(&into.location).unwrap();
    let run = |id: &str| RunId(id.to_owned());
    join(&into, &from);
    assert_eq!(reader().latest_run().unwrap(), run("run-9"), "a report is made of it where there is none else");
    drop(into.begun("run-1"));
    into.sql().execute("UPDATE run_metadata SET started_at = '9999' WHERE run_id = 'run-9'", []).unwrap();
    assert_eq!(reader().latest_run().unwrap(), run("run-1"));
    assert_eq!([run("run-9"), run("run-1")].map(|id| reader().is_joined(&id).unwrap()), [true, false]);
}

#[test]
fn a_run_that_went_on_replaces_its_beginning_and_never_the_other_way() {
    let (into, from) = (Place::new(), Place::new());
    drop(into.open());
    let mut store = from.begun("run-1");
    store.append(&attempt(0, 1, 7), Some("{\"at\": 1}"));
    drop(store);
    let early = std::fs::read(from.path()).unwrap();
    assert!(matches!(join(&into, &from)[..], [Joined::Taken(_)]));
    let mut store = from.open();
    let run = RunId("run-1".to_owned());
    store.continue_run(&run, 43, &now()).unwrap();
    store.append(&finished(Outcome::Exhausted), Some("{\"at\": 2}"));
    drop(store);
    assert!(matches!(join(&into, &from)[..], [Joined::Taken(_)]));
    let whole = verify(into.path(), &run).unwrap();
    let before = Place::new();
    std::fs::write(before.path(), early).unwrap();
    assert!(matches!(join(&into, &before)[..], [Joined::Known(_)]));
    assert_eq!(verify(into.path(), &run).unwrap(), whole);
}

#[test]
fn what_is_not_vouched_for_is_refused_whole() {
    for (tamper, told) in [
        ("UPDATE model_calls SET cost_micro_usd = 0", "broken at model_calls"),
        ("UPDATE events SET body = replace(body, 'tried 1', 'tried 9')", "broken at events"),
        ("DELETE FROM events WHERE seq = 3", "missing before it"),
        ("DELETE FROM run_state", "the run's row is gone"),
        ("UPDATE run_state SET state = '{}'", "broken at run_state"),
        ("UPDATE run_metadata SET run_id = '../x'", "none that this program gives"),
    ] {
        let (into, from) = (Place::new(), log_of("run-1"));
        drop(into.open());
        from.sql().execute_batch(tamper).unwrap();
        let joined = join(&into, &from);
        assert!(refused(&joined).contains(told), "{tamper}: {joined:?}");
        assert_eq!((into.count("events"), into.count("model_calls"), into.count("segments")), (0, 0, 0), "{tamper}");
    }
}

#[test]
fn two_runs_of_one_id_are_named_and_neither_replaces_the_other() {
    let (into, one, two) = (Place::new(), log_of("run-1"), Place::new());
    drop(into.open());
    join(&into, &one);
    let kept = verify(into.path(), &RunId("run-1".to_owned())).unwrap();
    two.begun("run-1").append(&attempt(0, 2, 7), Some("{\"at\": 1}"));
    let joined = join(&into, &two);
    assert!(refused(&joined).contains("continued differently"), "{joined:?}");
    assert_eq!(verify(into.path(), &RunId("run-1".to_owned())).unwrap(), kept);
    // A call of another run's name.
    let three = Place::new();
    let mut store = three.begun("run-3");
    let stolen = call("run-1-c", 10);
    store.reserve(&stolen, &[]).unwrap();
    store.settle(&receipt(&stolen, 7), Some(&reply("x")));
    drop(store);
    let joined = join(&into, &three);
    assert!(refused(&joined).contains("those of another run"), "{joined:?}");
    assert_eq!(into.count("run_metadata"), 1);
}

#[test]
fn a_log_that_holds_a_secret_of_this_machine_is_not_taken() {
    let (into, from) = (Place::new(), Place::new());
    drop(into.open());
    // Somebody who did not know the secret wrote it.
    let mut store = Store::open(&from.location, Arc::default()).unwrap();
    store.begin_run(&started("run-1"), 42, FIRST).unwrap();
    drop(store);
    let joined = join(&into, &from);
    assert!(refused(&joined).contains("a secret of this machine"), "{joined:?}");
    assert!(!into.bytes().windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()));
}
