//! Proof in words: what evidence was had for the last green, a line each.

use super::sentence::Sentence;
use crate::domain::proof::{Evidence, EvidenceStatus};
use crate::report::view::RunView;

/// One line of proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofLine {
    /// How the evidence ended.
    pub status: EvidenceStatus,
    /// The line, without a sign before it.
    pub sentence: Sentence,
}

/// The evidence had, in its own order. Empty where no green came up for proof.
#[must_use]
pub fn proof(view: &RunView) -> Vec<ProofLine> {
    view.proof.iter().map(|one| ProofLine { status: one.status, sentence: evidence(one) }).collect()
}

/// `3 of 4 kinds of evidence hold`. `None` where no green came up for proof.
#[must_use]
pub fn proof_heading(view: &RunView) -> Option<String> {
    let held = view.proof.iter().filter(|one| one.status == EvidenceStatus::Held).count();
    let failed = view.proof.iter().any(|one| one.status == EvidenceStatus::Failed);
    (!view.proof.is_empty()).then(|| {
        let all = view.proof.len();
        // One that fails outweighs all that hold.
        if failed { "the last green was refused".to_owned() } else { format!("{held} of {all} kinds of evidence hold") }
    })
}

/// The sign before a line.
#[must_use]
pub const fn proof_sign(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Held => "✓",
        EvidenceStatus::Failed => "✗",
        EvidenceStatus::NotPossible | EvidenceStatus::LeftOut => "○",
    }
}

/// One kind of evidence.
#[must_use]
pub fn evidence(one: &Evidence) -> Sentence {
    let claim = one.evidence.sentence();
    let why = one.why.as_deref().unwrap_or_default();
    let tried = super::count(u64::from(one.tried), one.evidence.unit());
    match one.status {
        EvidenceStatus::Held => Sentence::plain(format!("{claim} ({} of {tried})", one.noticed)),
        EvidenceStatus::NotPossible | EvidenceStatus::LeftOut if one.noticed > 0 => {
            let part = match (one.noticed == one.tried, one.tried) {
                (true, 1) => format!("shown for the {tried} that was tried: "),
                (true, _) => format!("shown for the {tried} that were tried: "),
                (false, _) => format!("shown in part ({} of {tried}): ", one.noticed),
            };
            Sentence::plain(part).ours(claim).ours(": ").speech(why)
        }
        EvidenceStatus::Failed => Sentence::plain("does not hold: ").ours(claim).ours(": ").speech(why),
        EvidenceStatus::NotPossible => Sentence::plain("not shown: ").ours(claim).ours(": ").speech(why),
        EvidenceStatus::LeftOut => Sentence::plain("left out: ").ours(claim).ours(": ").speech(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Event;
    use crate::domain::proof::EvidenceKind;
    use crate::report::fixtures;
    use crate::report::json;
    use crate::report::markdown::{self, Surface};
    use crate::report::style::Style;
    use crate::report::text;

    fn view() -> RunView {
        let one = |evidence, status, noticed, why: Option<&str>| Evidence {
            evidence,
            status,
            tried: 2,
            noticed,
            why: why.map(str::to_owned),
        };
        let proof = vec![
            one(EvidenceKind::Seen, EvidenceStatus::Held, 2, None),
            one(EvidenceKind::Poisoned, EvidenceStatus::Failed, 1, Some("`test_<b>` stays green")),
            one(EvidenceKind::Renamed, EvidenceStatus::NotPossible, 0, Some("no body was found of test_c")),
        ];
        let mut script = fixtures::Script::new();
        script.first_tier_fails().tier(1).begin(1, 1).push(Event::EvidenceGathered { proof, runs: 5, duration_ms: 90 });
        script.view()
    }

    #[test]
    fn every_surface_says_what_holds_and_what_does_not() {
        let text = text::render(&view(), Style::Plain);
        assert!(
            text.contains("  Proof:   the last green was refused\n    ✓ every test that failed was seen passing, and none is gone (2 of 2 tests)\n"),
            "{text}"
        );
        assert!(text.contains("\n    ✗ does not hold: a failure put into a test's own body is reported: "), "{text}");
        assert!(
            text.contains("\n    ○ not shown: the tests pass under other names: no body was found of test_c\n"),
            "{text}"
        );
        let page = markdown::render(&view(), Surface::Comment, "k");
        assert!(page.contains("**Proof:** the last green was refused\n\n- ✓ every test that failed"), "{page}");
        assert!(page.contains(": `` `test_<b>` stays green ``\n"), "{page}");
        let shown: serde_json::Value = serde_json::from_str(&json::render(&view())).expect("JSON");
        assert_eq!(shown["proof"][1]["evidence"], "poisoned");
        assert_eq!((&shown["proof"][1]["status"], &shown["proof"][1]["noticed"]), (&"failed".into(), &1.into()));
        assert_eq!(shown["proof"][0]["why"], serde_json::Value::Null);
    }
}
