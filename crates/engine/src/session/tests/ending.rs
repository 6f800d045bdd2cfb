//! Every session ends in a report.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_fix_in_four_turns_ends_with_the_models_report() {
    let mut bench = Bench::new(vec![read_calc(), calls(&[edit_calc()]), calls(&[("run_tests", json!({}))]), done()]);
    bench.test_answers.borrow_mut().push_back(TestAnswer::Says("all 3 tests passed"));
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!((end.exit, end.turns, end.tests_ran, end.cost.total()), (SessionExit::FinalAnswer, 4, 1, MicroUsd(560)));
    assert_eq!(end.wrote, ["calc.py"]);
    assert!(bench.file("calc.py").contains("a + b"));
    assert!(bench.told(1).contains("return a - b") && bench.told(3).contains("all 3 tests passed"));
}

#[tokio::test(start_paused = true)]
async fn the_beginning_of_a_request_stays_as_it_was_sent() {
    let mut bench = Bench::new(vec![
        read_calc(),
        says("Let me think."),
        calls(&[("search", json!({"pattern": "add"})), ("read_file", json!({"path": "none"}))]),
        says(""),
        calls(&[edit_calc()]),
        done(),
    ]);
    assert!(is_done(&bench.run().await));
    let requests = bench.requests();
    for (before, after) in requests.iter().zip(requests.iter().skip(1)) {
        assert_eq!((&before.system, &before.tools), (&after.system, &after.tools));
        let (last, kept) = before.messages.split_last().unwrap();
        assert_eq!(after.messages.get(..kept.len()), Some(kept));
        // A note may be added to what was said last when nothing was replied to it.
        let now = serde_json::to_string(&after.messages[kept.len()]).unwrap();
        let then = serde_json::to_string(last).unwrap();
        let common = now.chars().zip(then.chars()).take_while(|(a, b)| a == b).count();
        assert!(common + 3 >= then.chars().count() - 12, "{then}\n{now}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_asks_for_the_report_and_offers_the_tools_as_before() {
    let mut bench = Bench::new(vec![read_calc(), done()]);
    bench.limits.max_turns = 2;
    let end = bench.run().await;
    assert!(is_done(&end));
    assert_eq!(end.exit, SessionExit::MaxTurnsWithResponse);
    let requests = bench.requests();
    assert_eq!(requests[1].tools, requests[0].tools);
    assert!(bench.told(1).contains("last turn"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_without_a_report_ends_in_a_synthetic_one_and_carries_nothing_out() {
    let edit = || calls(&[edit_calc()]);
    let mut bench = Bench::new(vec![read_calc(), edit(), edit(), edit()]);
    bench.limits.max_turns = 2;
    let end = bench.run().await;
    assert_eq!(failed(&end), &FailureReason::NoReport);
    assert_eq!(end.exit, SessionExit::MaxTurnsNoResponse);
    assert_eq!(bench.file("calc.py"), CALC);
    assert_eq!(bench.requests().len(), 4, "one turn of one attempt, one of three");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_not_sound_makes_the_next_turn_the_last() {
    let mut bench = Bench::new(vec![calls(&[("final_report", json!({"summary": "x"}))]), done()]);
    let end = bench.run().await;
    assert!(is_done(&end));
    assert_eq!((end.exit, end.turns), (SessionExit::FinalAnswer, 2));
    assert!(bench.told(1).contains("`status` is missing"), "{}", bench.told(1));
    assert!(bench.told(1).contains("last turn"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn a_report_beside_other_calls_comes_last() {
    let mut bench = Bench::new(vec![calls(&[report(), edit_calc()])]);
    assert!(is_done(&bench.run().await));
    assert!(bench.file("calc.py").contains("a + b"));
}

#[tokio::test(start_paused = true)]
async fn a_report_beside_a_failed_edit_is_not_accepted() {
    let wrong = ("edit_file", json!({"path": "calc.py", "old_text": "nowhere", "new_text": "x"}));
    let mut bench = Bench::new(vec![calls(&[wrong, report()]), calls(&[edit_calc(), report()])]);
    assert!(is_done(&bench.run().await));
    assert!(bench.told(1).contains("not accepted: edit_file failed"), "{}", bench.told(1));
    assert!(bench.requests()[1].tools.len() > 1, "and the session goes on");
}

#[tokio::test(start_paused = true)]
async fn the_critics_report_is_a_verdict() {
    let verdict = json!({"summary": "Breaks b.", "verdict": "reject", "issues": ["b is lost"]});
    let mut bench = Bench::new(vec![calls(&[("final_report", verdict)])]);
    bench.role = Role::Critic;
    let end = bench.run().await;
    assert_eq!(
        end.report,
        FinalReport::Reject { summary: "Breaks b.".to_owned(), issues: vec!["b is lost".to_owned()] }
    );
}

#[tokio::test(start_paused = true)]
async fn a_blocked_model_says_why() {
    let blocked = json!({"summary": "s", "status": "blocked", "reason": "needs a key"});
    let end = Bench::new(vec![calls(&[("final_report", blocked)])]).run().await;
    assert_eq!(
        end.report,
        FinalReport::Blocked { summary: "s".to_owned(), reason: "needs a key".to_owned(), on: Vec::new() }
    );
}

#[tokio::test(start_paused = true)]
async fn the_conversation_is_kept_as_a_snapshot() {
    let mut bench = Bench::new(vec![read_calc(), done()]);
    let end = bench.run().await;
    let kept = bench.journal.store().load_snapshot(&bench.run, SNAPSHOT_KIND, &end.session_id).unwrap().unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["exit"], "EXIT-FINAL-ANSWER");
    assert!(kept["entries"].to_string().contains("return a - b"));
}

/// A secret that the log knows is in no kept conversation: not as a tool printed it, not as the model says or writes it.
#[tokio::test(start_paused = true)]
async fn a_kept_conversation_holds_no_secret() {
    let leak = format!("The key is {SECRET}.");
    let write = ("write_file", json!({"path": "src/key.py", "content": format!("KEY = '{SECRET}'\n")}));
    let said = Step::Reply(reply(&leak, &[("read_file", json!({"path": "calc.py"})), write]));
    let last = calls(&[("final_report", json!({"summary": leak, "status": "done"}))]);
    let mut bench = Bench::new(vec![says(&leak), said, last]);
    std::fs::write(bench.repo().join("calc.py"), format!("KEY = '{SECRET}'\n")).unwrap();
    bench.redactor = Redactor::new(&[secrecy::SecretString::from(SECRET)]);
    let end = bench.run().await;
    let kept = bench.journal.store().load_snapshot(&bench.run, SNAPSHOT_KIND, &end.session_id).unwrap().unwrap();
    assert!(!kept.contains(SECRET) && kept.matches("***").count() >= 4, "{kept}");
    let recorded = bench.journal.store().recorded_replies(&bench.run, 1, 2).unwrap();
    assert!(!serde_json::to_string(&recorded).unwrap().contains(SECRET), "nor in a reply that is kept for a resume");
}

#[tokio::test(start_paused = true)]
async fn a_nearly_full_window_forces_the_report() {
    let mut bench = Bench::new(vec![read_calc(), done()]);
    bench.info("a/big").context_window = 8_000;
    bench.info("a/big").max_output_tokens = 2_000;
    bench.scripts[0].1[0] = {
        let mut first = reply("", &[("read_file", json!({"path": "calc.py"}))]);
        first.usage = Some(Usage { input: 6_000, output: 20, ..USAGE });
        Step::Reply(first)
    };
    let end = bench.run().await;
    assert!(is_done(&end));
    assert_eq!(end.peak_context_percent, 75);
    let request = &bench.requests()[1];
    assert!(bench.told(1).contains("last turn"), "{}", bench.told(1));
    assert!(request.max_output_tokens < 2_000, "a shorter reply fits");
    let levels: Vec<String> = bench
        .events
        .borrow()
        .iter()
        .filter_map(|event| if let Event::ContextThreshold { level, .. } = event { Some(level.clone()) } else { None })
        .collect();
    assert_eq!(levels, ["critical"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_window_ends_the_session_without_a_call() {
    let mut bench = Bench::new(vec![]);
    bench.info("a/big").context_window = 900;
    let end = bench.run().await;
    assert_eq!((failed(&end), end.exit), (&FailureReason::ContextFull, SessionExit::TokenLimit));
    assert_eq!(bench.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_too_small_is_skipped() {
    let mut bench = Bench::with_targets(vec![("a/small", vec![]), ("b/big", vec![done()])]);
    bench.info("a/small").context_window = 900;
    let end = bench.run().await;
    assert!(is_done(&end));
    assert_eq!((end.target.to_string(), bench.asked()), ("b/big".to_owned(), vec!["b/big".to_owned()]));
}

/// However a session ends, what was said is kept, and its end is the last thing that is told of it.
#[tokio::test(start_paused = true)]
async fn whatever_ends_a_session_its_snapshot_and_its_end_are_kept() {
    let mut poor = Bench::new(vec![done()]);
    poor.cap = MicroUsd(1);
    let stopped = Bench::new(vec![Step::Hang]);
    let stop = Rc::clone(&stopped.stop.0);
    stopped.at_events(move |event| {
        if matches!(event, Event::CallReserved { .. }) {
            stop.raise(crate::domain::stop::StopCause::Signal(15));
        }
    });
    let ways = [
        (Bench::new(vec![read_calc(), done()]), "EXIT-FINAL-ANSWER"),
        (Bench::new(vec![fails(CallStatus::AuthError, false)]), "EXIT-AUTH-FAILURE"),
        (Bench::new(vec![says("x"), says("x"), says("x")]), "EXIT-MAX-RETRIES"),
        (poor, "EXIT-BUDGET-EXHAUSTED"),
        (stopped, "EXIT-SIGNAL-RECEIVED"),
    ];
    for (mut bench, exit) in ways {
        let end = bench.run().await;
        let kept = bench.journal.store().load_snapshot(&bench.run, SNAPSHOT_KIND, &end.session_id).unwrap();
        let kept: Value = serde_json::from_str(&kept.expect("a snapshot")).unwrap();
        assert_eq!((kept["exit"].as_str(), end.exit.as_str()), (Some(exit), exit));
        let events = bench.events.borrow();
        let Some(Event::SessionFinished { exit: told, .. }) = events.last() else { panic!("{exit}: no end is told") };
        assert_eq!(told, exit);
    }
}

#[test]
fn a_turn_has_three_attempts_of_ten_minutes_and_a_session_forty_turns() {
    let Limits { max_turns, max_attempts, reply_timeout, max_result_bytes, .. } = Limits::default();
    assert_eq!((max_turns, max_attempts, reply_timeout.as_secs(), max_result_bytes), (40, 3, 600, 12_288));
}

/// Once there is a report, its task is nobody else's any more.
#[tokio::test(start_paused = true)]
async fn a_task_whose_report_is_locked_is_not_handed_over() {
    let hand_over = ("router__handoff_to", json!({"destination": "sums", "message": "yours"}));
    let destination = Destination { name: "sums".to_owned(), when: "A sum is wrong.".to_owned() };
    let mut bench =
        Bench::new(vec![done(), calls(std::slice::from_ref(&hand_over)), calls(std::slice::from_ref(&hand_over))]);
    (bench.meta, bench.destinations) = (vec![blocks::risk()], vec![destination.clone()]);
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    let mut beside = Bench::new(vec![calls(&[hand_over.clone(), report()])]);
    beside.destinations = vec![destination.clone()];
    assert!(is_done(&beside.run().await), "nor beside one");
    let mut alone = Bench::new(vec![calls(&[hand_over])]);
    alone.destinations = vec![destination];
    assert!(matches!(alone.run().await.report, FinalReport::Routed { .. }));
}
