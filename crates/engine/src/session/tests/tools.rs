//! Tools in a session.

use super::*;

#[tokio::test(start_paused = true)]
async fn parallel_reads_are_answered_in_the_order_of_their_calls() {
    let mut bench = Bench::new(vec![
        calls(&[
            ("read_file", json!({"path": "calc.py"})),
            ("read_file", json!({"path": "missing.py"})),
            ("list_files", json!({})),
            edit_calc(),
            ("read_file", json!({"path": "calc.py"})),
        ]),
        done(),
    ]);
    assert!(is_done(&bench.run().await));
    let last = bench.requests()[1].messages.last().cloned().unwrap();
    let Message::Tools { results, .. } = last else { panic!("{last:?}") };
    let replied = bench.requests()[1].messages[1].clone();
    let Message::Assistant { tool_calls, .. } = replied else { panic!("{replied:?}") };
    let asked: Vec<String> = tool_calls.into_iter().map(|call| call.id).collect();
    assert_eq!(results.iter().map(|result| result.call_id.clone()).collect::<Vec<_>>(), asked);
    let errors: Vec<bool> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, true, false, false, false]);
    assert!(results[0].content.contains("a - b") && results[4].content.contains("a + b"));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_tool_ends_the_session_with_its_reason() {
    let mut bench = Bench::new(vec![calls(&[("run_tests", json!({}))])]);
    bench.test_answers.borrow_mut().push_back(TestAnswer::Fails("no shell"));
    let end = bench.run().await;
    assert_eq!(failed(&end), &FailureReason::ToolFailed { message: "no shell".to_owned() });
    assert_eq!(end.exit, SessionExit::ToolFailure);
}

#[tokio::test(start_paused = true)]
async fn a_long_output_stands_behind_a_handle() {
    static LONG: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| (1..=3_000).map(|line| format!("line {line}\n")).collect());
    let mut bench = Bench::new(vec![
        calls(&[("run_tests", json!({}))]),
        calls(&[("read_output", json!({"handle": "out-1", "start_line": 1500, "end_line": 1500}))]),
        done(),
    ]);
    bench.test_answers.borrow_mut().push_back(TestAnswer::Says(LONG.as_str()));
    assert!(is_done(&bench.run().await));
    assert!(bench.told(1).len() < 12_288 && bench.told(1).contains("out-1"));
    assert!(bench.told(2).contains("\nline 1500\n"), "{}", bench.told(2));
}

#[tokio::test(start_paused = true)]
async fn librarian_and_critic_cannot_write() {
    for role in [Role::Librarian, Role::Critic] {
        let end = if role == Role::Critic {
            calls(&[("final_report", json!({"summary": "s", "verdict": "approve"}))])
        } else {
            done()
        };
        let mut bench = Bench::new(vec![calls(&[edit_calc(), ("run_tests", json!({}))]), end]);
        bench.role = role;
        bench.run().await;
        assert_eq!(bench.file("calc.py"), CALC);
        assert!(bench.told(1).contains("no tool `edit_file`") && bench.told(1).contains("no tool `run_tests`"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_leaves_out_code_is_refused() {
    let lazy = json!({"path": "calc.py", "content": "def add(a, b):\n    # ... rest of the code ...\n"});
    let mut bench = Bench::new(vec![calls(&[("write_file", lazy)]), done()]);
    assert!(is_done(&bench.run().await));
    assert_eq!(bench.file("calc.py"), CALC);
    assert!(bench.told(1).contains("stands for code that is not there"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn secrets_in_tool_output_do_not_reach_the_model() {
    let mut bench = Bench::new(vec![read_calc(), done()]);
    std::fs::write(bench.repo().join("calc.py"), "KEY = 'sk-very-secret-0123456789'\n").unwrap();
    bench.redactor = Redactor::new(&[secrecy::SecretString::from("sk-very-secret-0123456789")]);
    assert!(is_done(&bench.run().await));
    assert!(bench.told(1).contains("***") && !bench.told(1).contains("very-secret"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn every_tool_that_ran_is_told() {
    let mut bench = Bench::new(vec![calls(&[("read_file", json!({"path": "calc.py"})), ("shell", json!({}))]), done()]);
    bench.run().await;
    let told: Vec<(String, String, bool)> = bench
        .events
        .borrow()
        .iter()
        .filter_map(|event| {
            let Event::ToolFinished { name, subject, ok, .. } = event else { return None };
            Some((name.clone(), subject.clone(), *ok))
        })
        .collect();
    let entry = |name: &str, subject: &str, ok| (name.to_owned(), subject.to_owned(), ok);
    assert_eq!(told, [entry("read_file", "calc.py", true), entry("shell", "", false)]);
}

#[tokio::test(start_paused = true)]
async fn only_allowed_commands_run_and_never_through_a_shell() {
    let run = |command: &str| ("run_command", json!({"command": command}));
    let mut bench = Bench::new(vec![calls(&[run("cargo fmt --all"), run("cargo fmt; rm -rf ."), run("ls")]), done()]);
    bench.commands = vec!["cargo fmt".to_owned()];
    let end = bench.run().await;
    assert_eq!(end.commands_ran, 1);
    let told = bench.told(1);
    assert!(told.contains("ran [\"cargo\", \"fmt\", \"--all\"]"), "{told}");
    assert_eq!(told.matches("is not allowed").count(), 2, "{told}");
    let mut bench = Bench::new(vec![calls(&[run("ls")]), done()]);
    bench.run().await;
    assert!(bench.told(1).contains("no tool `run_command`"), "nothing allowed, nothing offered");
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_refuses_the_first_request_is_asked_once_more_without_tools_from_outside() {
    const TOOL: &str = "mcp__own__look";
    let refused = || Step::Fail(CallFailure { http_status: Some(400), ..failure(CallStatus::ModelError, false) });
    let offered = |bench: &Bench| -> Vec<bool> {
        bench.requests().iter().map(|request| request.tools.iter().any(|tool| tool.name == TOOL)).collect()
    };
    let with = |steps| Bench { outside: vec![TOOL], ..Bench::new(steps) };

    let mut once = with(vec![refused(), calls(&[(TOOL, json!({}))]), done()]);
    assert!(is_done(&once.run().await));
    assert_eq!(offered(&once), [true, false, false]);
    assert!(once.told(2).contains("there is no tool"), "what is not on offer is not called: {}", once.told(2));
    let warned = |event: &Event| matches!(event, Event::Warning { message } if message.contains("which is made once more without mcp__own__look. It said: "));
    assert_eq!(once.events.borrow().iter().filter(|event| warned(event)).count(), 1);

    let mut twice = with(vec![refused(), refused()]);
    assert!(matches!(failed(&twice.run().await), FailureReason::NoUsableTarget { .. }), "its fault lies elsewhere");
    assert_eq!(offered(&twice), [true, false]);

    let mut later = with(vec![read_calc(), refused(), done()]);
    assert!(is_done(&later.run().await), "the reply before may be another vendor's, or a killed run's");
    assert_eq!(offered(&later), [true, true, false]);

    let mut in_text = with(vec![refused()]).without_tools();
    assert!(matches!(failed(&in_text.run().await), FailureReason::NoUsableTarget { .. }), "it was offered none");
    assert_eq!(offered(&in_text), [false]);
}

#[tokio::test(start_paused = true)]
async fn what_a_model_says_beside_its_calls_is_told_once_in_a_line_without_secrets() {
    let look = ("read_file", json!({"path": "calc.py"}));
    let step = Step::Reply(reply(&format!("\n I look at {SECRET} first.\nThen at the rest."), &[look.clone(), look]));
    let mut bench = Bench::new(vec![step, done()]);
    bench.redactor = Redactor::new(&[secrecy::SecretString::from(SECRET)]);
    assert!(is_done(&bench.run().await));
    let status =
        |event: &Event| if let Event::ToolFinished { status, .. } = event { Some(status.clone()) } else { None };
    let told: Vec<String> = bench.events.borrow().iter().filter_map(status).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("I look at ") && told[0].ends_with(" first.") && !told[0].contains(SECRET), "{told:?}");
    assert_eq!(told[1], "");

    let split = SECRET.replacen("secret", "sec\nret", 1);
    let step = Step::Reply(reply(&format!("I look at {split}"), &[("read_file", json!({"path": "calc.py"}))]));
    let mut bench = Bench::new(vec![step, done()]);
    bench.redactor = Redactor::new(&[secrecy::SecretString::from(SECRET)]);
    assert!(is_done(&bench.run().await));
    let told: Vec<String> = bench.events.borrow().iter().filter_map(status).collect();
    assert!(!told[0].contains("very"), "not a half of it: {told:?}");
}
