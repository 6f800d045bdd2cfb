use super::*;
use crate::domain::attempt::TierExit;
use crate::domain::event::Event;
use crate::domain::hidden::is_hidden;
use crate::domain::ladder::Mode;
use crate::domain::outcome::Outcome;
use crate::domain::verdict::Verdict;
use crate::report::fixtures::{self, Script};

fn plain(view: &RunView) -> String {
    render(view, Style::Plain)
}

#[test]
fn a_fix_at_the_second_tier_reads_as_the_contract_prints_it() {
    let text = plain(&fixtures::fixed().view());
    let contract = "\
✔ Fixed by Tier 2 (mid-grade) in iteration 2

━━━ Run Summary ━━━━━━━━━━━━━━━━━━━━━━━━━━
  Mode:       Tiered escalation (3 tiers configured)
  Resolved:   Tier 2 — mid-grade (iteration 2)

  Tier 1 local-free    [simple]  5 iterations  $0.00    ✖ failed
  Tier 2 mid-grade     [simple]  2 iterations  $0.0008  ✔ solved
  Tier 3 power         [full]    — (not reached)

  Total:   7 iterations  |  $0.0008  |  2m 14s
  Audit:   .upshift/audit.db  (run: f4a2c781)
";
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(first, "✔ 3 tests fixed in math.rs and logo.png (+12 −3), $0.0008");
    assert!(rest.starts_with(contract), "{text}");
}

#[test]
fn every_ending_reads_well() {
    for (name, view) in fixtures::every_ending() {
        insta::with_settings!({snapshot_suffix => name, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!("text", plain(&view));
        });
    }
}

#[test]
fn a_coloured_report_is_the_plain_one_with_colours() {
    for (name, view) in fixtures::every_ending() {
        let coloured = render(&view, Style::Colour);
        assert_ne!(coloured, plain(&view), "{name}");
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain(&view), "{name}");
    }
}

#[test]
fn columns_stay_aligned_with_wide_and_long_names_and_many_tiers() {
    let names = ["日本語の小さなモデル", "a", &"very-long-name-".repeat(6), "x", "x2", "x3", "x4", "x5", "x6", "tenth"];
    let tiers = names.iter().map(|name| fixtures::tier(name, Mode::Simple, "ollama/m", 1)).collect();
    let mut script = Script::with(fixtures::started(tiers));
    script.red();
    for tier in 0..10 {
        script.tier(tier).iteration(tier, 1, u64::from(tier) * 123_456, &["t"]);
    }
    let text = plain(&script.view());
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  Tier ")).collect();
    assert_eq!(rows.len(), 10);
    let column = |row: &str, mark: &str| plain::width(row.split(mark).next().unwrap());
    for mark in ["[simple]", "$", "✖"] {
        let columns: Vec<usize> = rows.iter().map(|row| column(row, mark)).collect();
        assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{mark}: {columns:?}\n{text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_ladder_of_one_tier_and_one_iteration_is_spoken_of_in_the_singular() {
    let mut script = Script::with(fixtures::started(vec![fixtures::tier("solo", Mode::Simple, "ollama/m", 1)]));
    script.red().tier(0).iteration(0, 1, 7, &["t"]).end_tier(0, TierExit::IterationsExhausted, None, 1);
    script.finish(Outcome::Exhausted, "all used", &["t"]);
    let text = plain(&script.view());
    for part in [
        "✖ Tier 1 (solo) exhausted without success. 1 test still fails, $0.0000\n",
        "  Mode:       Tiered escalation (1 tier configured)\n",
        "  Tier 1 solo          [simple]  1 iteration  $0.0000  ✖ failed\n",
        "  Total:   1 iteration  |  $0.0000  |  2m 14s\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn resuming_is_not_promised_without_an_audit_log_and_names_another_log() {
    for (audit_db, advice) in [
        (None, "Run upshift again: the audit log was off"),
        (
            Some("my logs/a.db"),
            "Run `upshift resume f4a2c781 --audit-db 'my logs/a.db'` to start iteration 2 of Tier 1;",
        ),
    ] {
        let mut run = fixtures::started(fixtures::ladder());
        run.audit_db = audit_db.map(str::to_owned);
        let mut script = Script::with(run);
        script.red().tier(0).begin(0, 1).finish(Outcome::Interrupted { signal: 2 }, "SIGINT", &["t"]);
        let text = plain(&script.view());
        assert!(text.contains(advice), "{text}");
        assert_eq!(text.contains("sqlite3"), audit_db.is_some(), "{text}");
    }
}

#[test]
fn nothing_hostile_reaches_the_terminal_raw() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}x\u{202e}\r\n::error::forged\n##[error]forged \u{9b}31m";
    let mut tiers = fixtures::ladder();
    tiers[0].name = evil.into();
    let mut run = fixtures::started(tiers);
    run.audit_db = Some(evil.into());
    run.test_command = evil.into();
    let mut script = Script::with(run);
    script.baseline(&[evil], Verdict::Red { reason: None }).tier(0).iteration(0, 1, 5, &[evil]);
    script.push(Event::Warning { message: evil.into() });
    script.end_tier(0, TierExit::Blocked, Some(evil), 1);
    script.finish(Outcome::Blocked { reason: evil.into() }, evil, &[evil]);
    let text = plain(&script.view());
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
        assert!(!line.contains("##["), "{line:?}");
        let hidden: Vec<char> = line.chars().filter(|&c| is_hidden(c) && c != plain::ZERO_WIDTH_SPACE).collect();
        assert!(hidden.is_empty(), "{hidden:?} in {line:?}");
    }
}

#[test]
fn an_empty_log_still_renders() {
    let text = plain(&RunView::from_events(&[], crate::report::view::Liveness::Dead));
    assert!(text.starts_with("✖ This run did not end: interrupted."), "{text}");
}
