//! Lines about the proof of a green.

use super::Progress;
use crate::domain::proof::{Evidence, EvidenceStatus, ProofStarted};
use crate::domain::test_report::RunKind;
use crate::domain::units::human_duration;
use crate::domain::verdict::Verdict;
use crate::report::style::Tone;
use crate::report::words::{count, u64_of};

impl Progress {
    pub(super) fn proof_started(&mut self, begun: ProofStarted) -> Vec<String> {
        // The green stands before the proof, which may take minutes. The run's own line behind it would say it again.
        self.told_green = true;
        let most = human_duration(begun.most_ms);
        let asked = format!("  Proof: checking that the tests can still fail (at most {most})");
        vec![
            self.tests(RunKind::Tests, &Verdict::Green, begun.passed, 0, begun.duration_ms),
            self.paint(Tone::Faint, &asked),
        ]
    }

    pub(super) fn proof(&self, proof: &[Evidence], runs: u32, duration_ms: u64) -> String {
        let held = proof.iter().filter(|one| one.status == EvidenceStatus::Held).count();
        let failed = proof.iter().any(|one| one.status == EvidenceStatus::Failed);
        let took = format!("{}, {}", count(u64::from(runs), "run"), human_duration(duration_ms));
        let line = format!("  Proof: {held} of {} kinds of evidence hold ({took})", proof.len());
        self.paint(if failed { Tone::Notice } else { Tone::Faint }, &line)
    }

    pub(super) fn remarked(&self, places: usize) -> Option<String> {
        let said = format!("  ⚠ {} in the change to look at", count(u64_of(places), "place"));
        (places > 0).then(|| self.paint(Tone::Notice, &said))
    }
}
