//! A stop during any await ends the session within 100 ms, with its receipt (issue 3, must-show 4).

use std::time::Duration;

use super::*;
use crate::domain::stop::StopCause;

const LIMIT: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_millis(500);

/// Raises the stop after [`LATER`] and returns how long the session took from then on.
async fn stopped_later(bench: &mut Bench, cause: StopCause) -> (SessionEnd, Duration) {
    let source = Rc::clone(&bench.stop.0);
    let start = tokio::time::Instant::now();
    let raise = async {
        tokio::time::sleep(LATER).await;
        source.raise(cause);
    };
    let (end, ()) = tokio::join!(bench.run(), raise);
    (end, start.elapsed() - LATER)
}

#[tokio::test(start_paused = true)]
async fn during_a_call_the_reservation_is_booked_and_nothing_else_happens() {
    let mut bench = Bench::new(vec![Step::Hang]);
    let (end, took) = stopped_later(&mut bench, StopCause::Signal(15)).await;
    assert!(took < LIMIT, "{took:?}");
    assert_eq!(failed(&end), &FailureReason::Stopped { cause: StopCause::Signal(15) });
    assert_eq!(end.exit, SessionExit::SignalReceived);
    let receipts = bench.receipts();
    assert_eq!((receipts.len(), receipts[0].status), (1, CallStatus::Aborted));
    assert_eq!(receipts[0].unknown_cost, receipts[0].reserved, "it may have been billed");
}

#[tokio::test(start_paused = true)]
async fn during_a_wait_it_ends_at_once() {
    let mut bench = Bench::new(vec![fails(CallStatus::RateLimited, true)]);
    let (end, took) = stopped_later(&mut bench, StopCause::TimeUp).await;
    assert!(took < LIMIT, "{took:?}");
    assert_eq!(end.exit, SessionExit::TimeUp);
    let mut bench = Bench::new(vec![fails(CallStatus::NetworkError, true)]);
    let (end, took) = stopped_later(&mut bench, StopCause::TimeUp).await;
    assert!(took < LIMIT, "{took:?}");
    assert_eq!((end.exit, bench.asked().len()), (SessionExit::TimeUp, 1));
}

#[tokio::test(start_paused = true)]
async fn during_a_test_run_it_is_dropped_after_a_moment() {
    let mut bench = Bench::new(vec![calls(&[("run_tests", json!({})), edit_calc()])]);
    bench.test_answers.borrow_mut().push_back(TestAnswer::Hangs);
    let (end, took) = stopped_later(&mut bench, StopCause::Signal(2)).await;
    assert!(took < LIMIT, "{took:?}");
    assert_eq!(end.exit, SessionExit::SignalReceived);
    assert_eq!(bench.file("calc.py"), CALC, "nothing after it is carried out");
}

#[tokio::test(start_paused = true)]
async fn before_anything_no_call_is_made() {
    let mut bench = Bench::new(vec![]);
    bench.stop.0.raise(StopCause::TimeUp);
    assert_eq!(bench.run().await.exit, SessionExit::TimeUp);
    assert_eq!(bench.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn between_a_reply_and_its_tools_nothing_more_is_carried_out() {
    let mut bench = Bench::new(vec![calls(&[edit_calc(), report()])]);
    let source = Rc::clone(&bench.stop.0);
    bench.at_events(move |event| {
        if matches!(event, Event::CallSettled(_)) {
            source.raise(StopCause::Signal(15));
        }
    });
    let end = bench.run().await;
    assert_eq!(end.exit, SessionExit::SignalReceived);
    assert_eq!(bench.file("calc.py"), CALC);
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_wrap_up_gives_one_last_turn() {
    let mut bench = Bench::new(vec![read_calc(), done()]);
    let source = Rc::clone(&bench.wrap_up.0);
    bench.at_events(move |event| {
        if matches!(event, Event::ToolFinished { .. }) {
            source.raise(StopCause::TimeUp);
        }
    });
    let end = bench.run().await;
    assert!(is_done(&end));
    assert_eq!(end.exit, SessionExit::UserStop);
    assert!(bench.told(1).contains("last turn"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn a7_at_forty_percent_the_session_is_asked_to_wrap_up_and_has_few_turns_left() {
    let full = |step: Step, window: u64| match step {
        Step::Reply(reply) => {
            let usage = Usage { input: window * 42 / 100, output: 0, ..Usage::default() };
            Step::Reply(Reply { usage: Some(usage), ..reply })
        }
        other @ (Step::Fail(_) | Step::Hang) => other,
    };
    let mut bench = Bench::new(Vec::new());
    let window = bench.info("a/big").context_window;
    let turns = (0..8).map(|_| read_calc()).chain([done()]);
    bench.scripts[0].1 = turns.map(|step| full(step, window)).collect();
    let end = bench.run().await;
    assert_eq!(end.turns, 6, "the first, and five more");
    assert!(bench.told(1).contains("% of your context window is in use. You have 5 turns left"), "{}", bench.told(1));
    assert!(bench.told(5).contains("This is your last turn"), "{}", bench.told(5));
}
