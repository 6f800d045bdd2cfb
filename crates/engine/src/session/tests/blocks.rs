//! Blocks of data beside a report (S1-12): asked for at most twice more, and never worth a report.

use std::time::Duration;

use super::*;
use crate::domain::stop::StopCause;

pub(super) fn risk() -> MetaBlock {
    let schema = meta::built_in(meta::RISK).expect("built in");
    MetaBlock { name: "risk".to_owned(), role: Role::Artisan, required: true, schema }
}

fn low() -> Value {
    json!({"level": "low", "why": "one line"})
}

/// The report beside blocks.
fn report_with(meta: &Value) -> Step {
    calls(&[("final_report", json!({"summary": "Fixed the sign.", "status": "done", "meta": meta}))])
}

fn bench(steps: Vec<Step>) -> Bench {
    let mut bench = Bench::new(steps);
    bench.meta = vec![risk()];
    bench
}

/// The blocks and the missing ones, as they were told.
fn told(bench: &Bench) -> (BTreeMap<String, Value>, Vec<String>) {
    let events = bench.events.borrow();
    let meta = events.iter().find_map(|event| if let Event::MetaReported(meta) = event { Some(meta) } else { None });
    let meta = meta.expect("told once");
    (meta.blocks.clone(), meta.missing.iter().map(|missing| missing.why.clone()).collect())
}

fn exit_told(bench: &Bench) -> String {
    match bench.events.borrow().last() {
        Some(Event::SessionFinished { exit, .. }) => exit.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_with_its_block_ends_the_session_at_once() {
    let mut bench = bench(vec![report_with(&json!({"risk": low(), "other": 1}))]);
    let end = bench.run().await;
    assert!(is_done(&end) && end.turns == 1, "{end:?}");
    assert_eq!(told(&bench), (BTreeMap::from([("risk".to_owned(), low())]), Vec::new()));
    assert_eq!(exit_told(&bench), "EXIT-FINAL-ANSWER");
    let tools = serde_json::to_string(&bench.requests()[0].tools).unwrap();
    assert!(tools.contains(r#""required":["risk"]"#), "the model is shown the schema: {tools}");
}

#[tokio::test(start_paused = true)]
async fn a_report_without_its_block_is_locked_until_that_comes() {
    let other = ("final_report", json!({"summary": "Something else.", "status": "done", "meta": {"risk": low()}}));
    let mut bench = bench(vec![done(), calls(&[edit_calc(), other])]);
    let end = bench.run().await;
    assert!(is_done(&end), "the first report stands: {end:?}");
    assert_eq!((end.exit, end.turns), (SessionExit::FinalAnswer, 2));
    assert_eq!(bench.file("calc.py"), CALC, "nothing else is carried out any more");
    assert!(bench.told(1).contains("`risk`: it was not given"), "{}", bench.told(1));
    assert!(told(&bench).1.is_empty());
    assert_eq!(bench.requests()[0].tools, bench.requests()[1].tools);
}

#[tokio::test(start_paused = true)]
async fn a_block_that_never_comes_costs_two_replies_and_not_the_report() {
    let wrong = report_with(&json!({"risk": {"level": "none", "why": "x"}}));
    let mut bench = bench(vec![wrong, says("No."), done()]);
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!((end.exit, end.turns, bench.requests().len()), (SessionExit::FinalMetaMissing, 3, 3));
    let expected = r#"`level` must be one of "low", "medium", "high""#;
    assert_eq!(told(&bench), (BTreeMap::new(), vec![expected.to_owned()]));
    assert_eq!(exit_told(&bench), "EXIT-FINAL-META-MISSING");
    let warned =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("gave no valid META `risk`"));
    assert!(bench.events.borrow().iter().any(warned));
}

#[tokio::test(start_paused = true)]
async fn a_locked_report_survives_a_vendor_that_fails() {
    let mut bench = bench(vec![done(), fails(CallStatus::AuthError, false)]);
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!(end.exit, SessionExit::FinalMetaMissing);
}

#[tokio::test(start_paused = true)]
async fn a_block_is_not_asked_for_with_the_last_of_the_money() {
    let mut bench = bench(vec![done()]);
    bench.scripts[0].1[0] = Step::Reply(Reply { usage: None, ..reply("", &[report()]) });
    bench.cap = MicroUsd(12_000);
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!((end.exit, bench.requests().len()), (SessionExit::FinalMetaMissing, 1));
}

/// What is kept for a review is not asked for, and no such call takes of it.
#[tokio::test(start_paused = true)]
async fn a_block_is_not_asked_for_with_the_money_of_those_who_come_after() {
    for (kept, asked) in [(9_999_900, 1), (9_000_000, 3)] {
        let mut bench = bench(vec![done(), says("No."), says("No.")]);
        bench.limits.kept_for_others = MicroUsd(kept);
        let end = bench.run().await;
        assert!(is_done(&end), "{end:?}");
        assert_eq!((end.exit, bench.requests().len()), (SessionExit::FinalMetaMissing, asked));
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_blocked_owes_no_block() {
    let blocked = json!({"summary": "No key.", "status": "blocked", "reason": "no key is set"});
    let mut bench = bench(vec![calls(&[("final_report", blocked)])]);
    assert_eq!(bench.run().await.exit, SessionExit::FinalAnswer);
    assert!(told(&bench).1.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_without_tools_gives_blocks_in_lines() {
    let words = "DONE Fixed the sign.\nMETA risk {\"level\": \"low\",\n  \"why\": \"one line\"}";
    let mut bench = bench(vec![says("DONE Fixed the sign."), says(words)]).without_tools();
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!((end.exit, end.turns), (SessionExit::FinalAnswer, 2));
    assert_eq!(told(&bench).0, BTreeMap::from([("risk".to_owned(), low())]));
    assert!(bench.requests()[0].system.contains("META risk {…}, by this schema: "), "{}", bench.requests()[0].system);
}

/// The block beside the report decides. One from a turn before it, or from the text beside it, does not make up for it.
#[tokio::test(start_paused = true)]
async fn a_block_from_before_the_report_does_not_stand_in_for_its_own() {
    let early = "META risk {\"level\": \"low\", \"why\": \"early\"}";
    let look = ("read_file", json!({"path": "calc.py"}));
    let wrong =
        json!({"summary": "Fixed the sign.", "status": "done", "meta": {"risk": {"level": "none", "why": "x"}}});
    let wrong = ("final_report", wrong);
    let ways = [
        vec![Step::Reply(reply(early, std::slice::from_ref(&look))), calls(std::slice::from_ref(&wrong))],
        vec![Step::Reply(reply(early, &[look])), done()],
        vec![Step::Reply(reply(early, std::slice::from_ref(&wrong)))],
        vec![calls(&[
            wrong.clone(),
            ("final_report", json!({"summary": "x", "status": "done", "meta": {"risk": low()}})),
        ])],
    ];
    for way in ways {
        let turns = u32::try_from(way.len()).unwrap();
        let mut bench = bench(way.into_iter().chain([report_with(&json!({"risk": low()}))]).collect());
        let end = bench.run().await;
        assert_eq!((is_done(&end), end.exit, end.turns), (true, SessionExit::FinalAnswer, turns + 1));
        assert!(bench.told(usize::try_from(turns).unwrap()).contains("Only META counts now"));
        assert_eq!(told(&bench).0, BTreeMap::from([("risk".to_owned(), low())]));
    }
    let mut bench = bench(vec![report_with(&json!({"risk": low()}))]);
    bench.meta.push(MetaBlock { name: "more".to_owned(), ..risk() });
    bench.scripts[0].1.extend([calls(&[wrong]), report_with(&json!({"more": low()}))]);
    assert_eq!(bench.run().await.exit, SessionExit::FinalAnswer, "what came with the report is kept");
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_report_says_which_blocks_it_owes() {
    let mut bench = bench(vec![says("META risk {\"level\": \"low\", \"why\": \"early\"}"), says("No."), says("No.")]);
    let end = bench.run().await;
    assert!(matches!(end.report, FinalReport::Synthetic { .. }), "{end:?}");
    assert_eq!(told(&bench), (BTreeMap::new(), vec!["the session ended without a report".to_owned()]));
    let warned =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("gave no valid META `risk`"));
    assert!(bench.events.borrow().iter().any(warned));
}

#[tokio::test(start_paused = true)]
async fn another_roles_blocks_and_none_at_all_change_no_byte_of_a_request() {
    let mut plain = Bench::new(vec![done()]);
    plain.run().await;
    assert!(!serde_json::to_string(&plain.requests()).unwrap().to_lowercase().contains("meta"));
    assert!(!plain.events.borrow().iter().any(|event| matches!(event, Event::MetaReported(_))));
}

/// One attempt, within a tenth of the time that is left and a minute at the most, and no wait for a limit.
#[tokio::test(start_paused = true)]
async fn a_locked_report_waits_for_no_vendor() {
    let limited = CallFailure { retry_after_ms: Some(300_000), ..failure(CallStatus::RateLimited, true) };
    let ways = [(Step::Hang, Some(200), 20), (Step::Hang, None, 60), (Step::Fail(limited), Some(2_000), 0)];
    for (step, left, most) in ways {
        let mut bench = bench(vec![done(), step]);
        bench.limits.time_left = left.map(Duration::from_secs);
        let began = tokio::time::Instant::now();
        let end = bench.run().await;
        assert!(is_done(&end), "{end:?}");
        assert_eq!((end.exit, bench.requests().len()), (SessionExit::FinalMetaMissing, 2));
        assert!(began.elapsed() <= Duration::from_secs(most + 1), "{left:?}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_is_not_asked_for_in_the_time_of_the_tests() {
    for (left, asked) in [(119, 1), (121, 2)] {
        let mut bench = bench(vec![done(), report_with(&json!({"risk": low()}))]);
        bench.limits.tests_take = Duration::from_secs(60);
        bench.limits.time_left = Some(Duration::from_secs(left));
        let end = bench.run().await;
        assert!(is_done(&end) && bench.requests().len() == asked, "{left}: {end:?}");
    }
}

/// A run whose time is up is judged by what it has. One that is taken up again hears its recorded report anew, and asks again.
#[tokio::test(start_paused = true)]
async fn a_stop_for_good_leaves_a_locked_report() {
    for (cause, stands) in [
        (StopCause::TimeUp, true),
        (StopCause::OwnTime(3), true),
        (StopCause::Asked, false),
        (StopCause::Signal(15), false),
    ] {
        let mut bench = bench(vec![done(), Step::Hang]);
        let (source, mut calls) = (Rc::clone(&bench.stop.0), 0);
        bench.at_events(move |event| {
            calls += u32::from(matches!(event, Event::CallReserved { .. }));
            if calls == 2 {
                source.raise(cause);
            }
        });
        let end = bench.run().await;
        assert_eq!(is_done(&end), stands, "{cause:?}: {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_changed_nothing_owes_no_block_about_a_change() {
    let mut idle = bench(vec![done()]);
    idle.blocks_need_change = true;
    let end = idle.run().await;
    assert!(is_done(&end) && end.turns == 1, "{end:?}");
    assert_eq!((told(&idle), exit_told(&idle).as_str()), ((BTreeMap::new(), Vec::new()), "EXIT-FINAL-ANSWER"));
    // Whoever changed something is asked as before.
    let mut busy = bench(vec![calls(&[edit_calc()]), done(), report_with(&json!({"risk": low()}))]);
    busy.blocks_need_change = true;
    let end = busy.run().await;
    assert!(is_done(&end) && end.turns == 3, "{end:?}");
    assert_eq!(told(&busy).0, BTreeMap::from([("risk".to_owned(), low())]));
}
