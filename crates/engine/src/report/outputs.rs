//! The outputs of the Action's step: names and safe values, and the form that the runner reads them in.
//!
//! Source: `actions/runner`, `FileCommandManager.cs`: `name<<DELIMITER`, the value's lines, the delimiter alone on its line. Invariants: no
//! value holds text of a model. Every value is one printable line. The delimiter is the caller's random one, so that nothing in a value can
//! forge another output (GITHUB 17).

use crate::domain::outcome::Outcome;
use crate::domain::units::MicroUsd;

use super::plain;
use super::view::RunView;

/// The most columns of a value: names and paths are shorter.
const MAX_VALUE: usize = 1_000;

/// Every output in the order of the documentation. `action.yml` has the same.
pub const NAMES: [&str; 11] = [
    "outcome",
    "result-type",
    "resolved-tier",
    "iterations",
    "cost-usd",
    "unknown-cost-usd",
    "run-id",
    "audit-db",
    "report-path",
    "commit-sha",
    "pr-number",
];

/// The outputs of the gate, which no run writes.
pub const OF_GATE: [&str; 4] = ["go", "checkout", "head-sha", "reason"];

/// The output of a judged change, which no run writes.
pub const OF_JUDGE: &str = "standing";

/// Places that the events of a run do not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Where the audit log lies.
    pub audit_db: Option<String>,
    /// Where the report lies.
    pub report: Option<String>,
    /// The pull request that the run is about, where it opens none.
    pub pull_request: Option<u64>,
}

/// The outputs of a run. Unknown values are empty.
#[must_use]
pub fn of_run(view: &RunView, places: &Places) -> Vec<(&'static str, String)> {
    let tier = view.resolved().map(|(tier, _)| tier.tier.name.clone());
    let delivery = &view.delivery;
    let values = [
        view.outcome().map(|outcome| outcome.as_str().to_owned()),
        view.outcome().map(|outcome| super::json::result_type(outcome, view).to_owned()),
        tier,
        Some(view.spent.iterations.to_string()),
        Some(dollars(view.spent.charge().known)),
        Some(dollars(view.spent.charge().unknown)),
        view.run.as_ref().map(|run| run.run_id.0.clone()),
        places.audit_db.clone(),
        places.report.clone(),
        delivery.pushes.last().map(|push| push.commit.0.clone()),
        delivery
            .pull_request
            .as_ref()
            .map(|opened| opened.number)
            // The one that the run opened itself goes first, the one that it is about last.
            .or(proposed(view))
            .or(places.pull_request)
            .map(|number| number.to_string()),
    ];
    NAMES.into_iter().zip(values).map(|(name, value)| (name, safe(&value.unwrap_or_default()))).collect()
}

/// The pull request with a fix for the same failure, where no run was needed.
fn proposed(view: &RunView) -> Option<u64> {
    let Some(Outcome::Proposed { pull_request }) = view.outcome() else { return None };
    Some(*pull_request)
}

/// The outputs of the gate: open where there is no reason against a run, which may or may not need a checkout.
#[must_use]
pub fn of_gate(head: Option<&str>, checkout: bool, reason: &str) -> Vec<(&'static str, String)> {
    let open = reason.is_empty();
    // A closed gate names no commit, or a workflow could check out what was refused.
    let head = if open { head.unwrap_or_default() } else { "" };
    let checkout = open && checkout;
    let values = [open.to_string(), checkout.to_string(), safe(head), safe(reason.trim_start_matches("✖ Refused: "))];
    OF_GATE.into_iter().zip(values).collect()
}

/// The outputs of a run that never began.
#[must_use]
pub fn of_nothing(outcome: Option<&Outcome>) -> Vec<(&'static str, String)> {
    let value = |name: &str| match name {
        "outcome" => outcome.map(|outcome| outcome.as_str().to_owned()).unwrap_or_default(),
        // What does not begin is refused, or cannot be configured.
        "result-type" => outcome.map(|_| "ERROR".to_owned()).unwrap_or_default(),
        "iterations" => "0".to_owned(),
        "cost-usd" | "unknown-cost-usd" => "0.000000".to_owned(),
        _ => String::new(),
    };
    NAMES.into_iter().map(|name| (name, value(name))).collect()
}

/// To the micro-dollar: programs add these up.
fn dollars(amount: MicroUsd) -> String {
    format!("{:.6}", amount.as_usd())
}

fn safe(value: &str) -> String {
    // In one line, as a line break could begin another output.
    plain::clip(&plain::command(value), MAX_VALUE)
}

/// The text that is appended to the file that `GITHUB_OUTPUT` names.
#[must_use]
pub fn render(outputs: &[(&str, String)], delimiter: &str) -> String {
    let entry = |(name, value): &(&str, String)| format!("{name}<<{delimiter}\n{value}\n{delimiter}\n");
    outputs.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::units::CommitSha;
    use crate::report::fixtures;
    use crate::report::view::{PullRequestView, PushView};

    /// Reads as the runner does.
    fn read(text: &str) -> BTreeMap<String, String> {
        let mut lines = text.lines();
        let mut found = BTreeMap::new();
        while let Some(line) = lines.next() {
            let (name, delimiter) = line.split_once("<<").expect("a heredoc");
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
            found.insert(name.to_owned(), value.join("\n"));
        }
        found
    }

    #[test]
    fn a_fixed_run_tells_what_the_next_step_may_need() {
        let places = Places {
            audit_db: Some("/t/audit.db".to_owned()),
            report: Some("/t/report.md".to_owned()),
            pull_request: Some(7),
        };
        let mut view = fixtures::fixed().view();
        let push =
            |commit: &str| PushView { commit: CommitSha(commit.to_owned()), branch: "main".to_owned(), files: 1 };
        view.delivery.pushes = vec![push("0ld"), push("c0ffee")];
        let outputs = of_run(&view, &places);
        let read = read(&render(&outputs, "d"));
        let expected = [
            ("audit-db", "/t/audit.db"),
            ("commit-sha", "c0ffee"),
            ("cost-usd", "0.000800"),
            ("iterations", "7"),
            ("outcome", "fixed"),
            ("pr-number", "7"),
            ("report-path", "/t/report.md"),
            ("resolved-tier", "mid-grade"),
            ("result-type", "TASK_COMPLETE"),
            ("run-id", fixtures::RUN_ID),
            ("unknown-cost-usd", "0.000000"),
        ];
        assert_eq!(read.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_pull_request_that_was_opened_counts_before_the_one_that_triggered() {
        let mut view = fixtures::fixed().view();
        view.delivery.pull_request = Some(PullRequestView { number: 12, url: "https://example.com/12".to_owned() });
        let outputs = of_run(&view, &Places { pull_request: Some(7), ..Places::default() });
        assert!(outputs.contains(&("pr-number", "12".to_owned())), "{outputs:?}");
    }

    #[test]
    fn every_ending_has_every_output() {
        for (name, view) in fixtures::every_ending() {
            let names: Vec<&str> = of_run(&view, &Places::default()).iter().map(|(name, _)| *name).collect();
            assert_eq!(names, NAMES, "{name}");
        }
        let refused = of_nothing(Some(&Outcome::Refused { reason: "outcome=fixed".to_owned() }));
        assert_eq!(refused.first(), Some(&("outcome", "refused".to_owned())), "the reason is no output");
    }

    proptest! {
        #[test]
        fn no_value_forges_another_output(value in "(\\PC|\n|\r|=|<<|EOF|outcome=fixed\n){0,40}") {
            let text = render(&[("audit-db", safe(&value)), ("outcome", "stalled".to_owned())], "d-41c9");
            let read = read(&text);
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!(read.get("outcome").map(String::as_str), Some("stalled"));
        }
    }
}
