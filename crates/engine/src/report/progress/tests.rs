use proptest::prelude::*;

use super::*;
use crate::domain::attempt::TierExit;
use crate::domain::hidden::is_hidden;
use crate::domain::outcome::Outcome;
use crate::domain::proof::ProofStarted;
use crate::domain::units::MicroUsd;
use crate::domain::verdict::Exit;
use crate::report::fixtures::{self, F0, Script};

fn follow(script: &Script, style: Style) -> String {
    let mut progress = Progress::new(style);
    let mut lines: Vec<String> = script.events.iter().flat_map(|event| progress.lines(event)).collect();
    lines.extend(progress.finish());
    lines.join("\n")
}

fn tool(role: Role, name: &str, subject: &str, ok: bool) -> Event {
    let duration_ms = if name == "run_tests" { 4_100 } else { 3 };
    Event::ToolFinished {
        role,
        turn: 1,
        name: name.into(),
        subject: subject.into(),
        ok,
        duration_ms,
        exit: String::new(),
        session_id: String::new(),
        status: String::new(),
        why: if ok { String::new() } else { format!("{subject} has no such text") },
    }
}

fn failed_receipt(script: &Script, error: &str) -> Event {
    let settled = script
        .events
        .iter()
        .find_map(|event| if let Event::CallSettled(receipt) = event { Some(receipt.clone()) } else { None });
    let mut receipt = settled.unwrap();
    receipt.status = CallStatus::RateLimited;
    receipt.error = Some(error.into());
    receipt.call_id = "failed".into();
    Event::CallSettled(receipt)
}

/// A run that shows every kind of line. Text from outside holds `theirs`.
fn eventful(theirs: &str) -> Script {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    script.push(Event::SessionStarted {
        role: Role::Artisan,
        session_id: "s".into(),
        target: "ollama/codellama".into(),
        agent: String::new(),
    });
    script.push(tool(Role::Artisan, "read_file", &format!("src/math.rs{theirs}"), true));
    script.push(tool(Role::Artisan, "edit_file", &format!("src/math.rs{theirs}"), false));
    script.push(tool(Role::Artisan, "run_tests", "", true));
    script.call(0, 1, Role::Artisan, 0);
    let failed = failed_receipt(&script, &format!("429 too many requests{theirs}"));
    script.push(failed);
    script.push(Event::ContextThreshold {
        role: Role::Artisan,
        level: "info".into(),
        percent: 31,
        session_id: String::new(),
    });
    script.push(Event::ContextThreshold {
        role: Role::Artisan,
        level: "warning".into(),
        percent: 42,
        session_id: String::new(),
    });
    script.push(Event::SessionFinished {
        role: Role::Artisan,
        session_id: "s".into(),
        target: "ollama/codellama".into(),
        turns: 4,
        result: "done".into(),
        summary: format!("multiply() now uses a * b{theirs}"),
        blocked_on: Vec::new(),
        exit: String::new(),
    });
    let tests = |kind, verdict, passed, failed| Event::TestsFinished {
        exit: Exit::Code { code: 101 },
        kind,
        verdict,
        passed,
        failed,
        duration_ms: 3_900,
    };
    script.push(tests(RunKind::Tests, Verdict::Red { reason: None }, 41, 1));
    let attempt = script.attempt(0, 1, 0, &[F0[0]], &[theirs]);
    script.push(Event::IterationFinished(attempt));
    script.push(Event::EntropyDetected {
        signature: "expected LINE, received nan".to_owned(),
        said: format!("expected n, received nan{theirs}"),
        count: 3,
        threshold: 3,
    });
    script.push(Event::BudgetWarning { dimension: "cost".into(), percent: 83 });
    script.push(Event::Warning { message: format!("the window of ollama/codellama is unknown{theirs}") });
    script.end_tier(0, TierExit::IterationsExhausted, None, 5).escalate(0, 5).tier(1).begin(1, 1);
    script.push(tests(RunKind::CompileError, Verdict::Red { reason: Some(format!("error[E0308]{theirs}")) }, 0, 0));
    let mut attempt = script.attempt(1, 1, 300, &[], &[&format!("no edit could be read{theirs}")]);
    attempt.test_status = AttemptStatus::Error;
    script.push(Event::IterationFinished(attempt)).begin(1, 2);
    script.push(Event::ProofStarted(ProofStarted { passed: 42, duration_ms: 3_900, most_ms: 600_000 }));
    script.push(tests(RunKind::Tests, Verdict::Green, 42, 0));
    let attempt = script.attempt(1, 2, 500, &[], &[]);
    script.push(Event::IterationFinished(attempt)).end_tier(1, TierExit::Success, None, 2);
    script.finish(Outcome::Fixed { tier_index: 1, iteration: 2 }, "green", &[]);
    script
}

#[test]
fn the_startup_table_and_the_escalation_read_as_the_contract_prints_them() {
    let text = follow(&eventful(""), Style::Plain);
    for part in [
        "◆ Tiered escalation mode enabled (3 tiers configured)\n  Tier 1: local-free   [simple]  ollama/codellama",
        "\n▶ Tier 1/3: local-free  [simple, ollama/codellama]\n",
        "✖ Tier 1 (local-free) exhausted 5 iterations without success.\n\
         ◆ Escalating to Tier 2: mid-grade  [simple, anthropic/claude-haiku-4-5]\n  \
         Carrying forward: 5 iterations of failure history\n",
        "    tests: red, 1 failing (2 fixed), 41 passing",
    ] {
        assert!(text.contains(part), "{part}\n--- not in ---\n{text}");
    }
}

#[test]
fn an_eventful_run_reads_well_on_a_terminal() {
    insta::assert_snapshot!(follow(&eventful(""), Style::Plain));
}

#[test]
fn in_actions_the_steps_of_an_iteration_fold_and_every_group_is_closed() {
    insta::assert_snapshot!(follow(&eventful(""), Style::Actions));
}

#[test]
fn every_way_a_tier_ends_has_its_own_line() {
    let exits = [
        TierExit::BudgetExhausted,
        TierExit::ProviderError,
        TierExit::EntropyDetected,
        TierExit::NoProgress,
        TierExit::Blocked,
        TierExit::Objected,
        TierExit::Interrupted,
    ];
    let mut script = Script::new();
    for exit in exits {
        script.end_tier(1, exit, Some("the reason given"), 2);
    }
    let text = follow(&script, Style::Plain);
    insta::assert_snapshot!(text.lines().skip(7).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_vendors_error_is_told_by_the_call_that_failed_and_not_again() {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    script.call(0, 1, Role::Artisan, 0);
    let failed = failed_receipt(&script, "HTTP 503: no capacity → Fix: wait");
    script.push(failed.clone());
    script.push(failed);
    script.push(Event::SessionFinished {
        role: Role::Artisan,
        session_id: "s".into(),
        target: "ollama/codellama".into(),
        turns: 1,
        result: "no_usable_target".into(),
        summary: "no model could be used: ollama/codellama: HTTP 503: no capacity\n→ Fix: wait".into(),
        blocked_on: Vec::new(),
        exit: String::new(),
    });
    script.end_tier(0, TierExit::ProviderError, Some("ollama/codellama: HTTP 503: no capacity → Fix: wait"), 1);
    let text = follow(&script, Style::Plain);
    assert_eq!(text.matches("no capacity").count(), 1, "{text}");
    for line in [
        "failed again (rate limited)\n",
        "artisan: no usable target after 1 turn: no model could be used: ollama/codellama\n",
        "has no model that can be used: ollama/codellama",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn colours_change_nothing_but_colour() {
    let script = eventful("");
    let coloured = follow(&script, Style::Colour);
    let stripped = anstream::adapter::strip_str(&coloured).to_string();
    assert_eq!(stripped, follow(&script, Style::Plain));
    assert_ne!(stripped, coloured);
}

#[test]
fn a_run_that_dies_inside_an_iteration_leaves_no_group_open() {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    let text = follow(&script, Style::Actions);
    assert!(text.ends_with("::endgroup::"), "{text}");
}

#[test]
fn a_resumed_run_goes_on_with_what_was_said_before() {
    let mut past = Script::new();
    past.red().tier(0).begin(0, 1);
    let mut progress = Progress::new(Style::Actions);
    for event in &past.events {
        progress.lines(event);
    }
    let resumed = progress.lines(&Event::InvocationStarted { invocation: 2, pid: 7 });
    assert_eq!(resumed, ["◆ Resumed: invocation 2 of this run"], "the group of the dead process is not ours to close");
    let next = progress.lines(&Event::IterationStarted { tier_index: 0, iteration: 2, run_iteration: 2 });
    assert_eq!(next.first().map(String::as_str), Some("  Iteration 2/5 [local-free]"));
}

#[test]
fn a_reservation_is_no_step_of_its_own() {
    let mut progress = Progress::new(Style::Plain);
    let scope = fixtures::scope(0, 1, Role::Artisan);
    let event = Event::CallReserved { call_id: "c".into(), scope, reserved: MicroUsd(1) };
    assert!(progress.lines(&event).is_empty());
}

proptest! {
    #[test]
    fn nothing_foreign_becomes_a_command_or_reaches_the_terminal_raw(
        parts in prop::collection::vec("(::|##\\[|error|group|endgroup|\\]|\n|\r|\u{2028}|\t| |\u{1b}\\[2J|\u{202e}|\u{200b}|\\PC)", 0..25)
    ) {
        let theirs = parts.concat();
        for style in [Style::Actions, Style::Plain] {
            for line in follow(&eventful(&theirs), style).lines() {
                let ours = line.starts_with("::group::Steps of ") || line == "::endgroup::";
                prop_assert!(ours || !line.trim_start().starts_with("::"), "{:?}", line);
                prop_assert!(!line.contains("##["), "{:?}", line);
                prop_assert!(!line.chars().any(|c| is_hidden(c) && c != plain::ZERO_WIDTH_SPACE), "{:?}", line);
            }
        }
    }
}
