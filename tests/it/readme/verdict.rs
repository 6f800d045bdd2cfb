//! The page about the verdict prints each kind of evidence and of remark by its id and in the report's own words.

use upshift::domain::proof::EvidenceKind;
use upshift::domain::remark::RemarkKind;

use super::markdown::page;

const PAGE: &str = "docs/verdict.md";

const EVIDENCE: [EvidenceKind; 10] = [
    EvidenceKind::Seen,
    EvidenceKind::StartsRules,
    EvidenceKind::Untouched,
    EvidenceKind::Poisoned,
    EvidenceKind::AlteredExpectation,
    EvidenceKind::Renamed,
    EvidenceKind::Direct,
    EvidenceKind::Planted,
    EvidenceKind::Counter,
    EvidenceKind::Choices,
];

const REMARKS: [RemarkKind; 26] = [
    RemarkKind::EndsProcess,
    RemarkKind::PrintsResults,
    RemarkKind::HooksIntoRunner,
    RemarkKind::AsksWhoTests,
    RemarkKind::LooksAlike,
    RemarkKind::StandsInFor,
    RemarkKind::AltersBuild,
    RemarkKind::NeedsItsBuild,
    RemarkKind::RightForTheseOnly,
    RemarkKind::HoldsExpectation,
    RemarkKind::NotNeeded,
    RemarkKind::UntestedChoice,
    RemarkKind::AddsTests,
    RemarkKind::RightInRunnerOnly,
    RemarkKind::RightHereOnly,
    RemarkKind::SwallowsErrors,
    RemarkKind::KeepsState,
    RemarkKind::DropsAPart,
    RemarkKind::DecidesEquality,
    RemarkKind::LeavesTheLike,
    RemarkKind::FailsForOthers,
    RemarkKind::ChangesForAll,
    RemarkKind::RemovalNotNeeded,
    RemarkKind::RefusesNoMore,
    RemarkKind::AwaitsNoMore,
    RemarkKind::AltersTheCallers,
];

#[test]
fn each_kind_of_evidence_stands_under_its_id_in_the_words_of_the_report() {
    let text = page(PAGE);
    for kind in EVIDENCE {
        let id = serde_json::to_value(kind).expect("a word");
        let row = format!("\n| {} | `{}` | ", kind.sentence(), id.as_str().expect("a word"));
        assert!(text.contains(&row), "{PAGE} must hold this row: {row}");
    }
}

#[test]
fn each_kind_of_remark_stands_under_its_id_in_the_words_of_the_report() {
    let text = page(PAGE);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    for kind in REMARKS {
        let id = format!("`{}`", kind.as_str());
        let row = rows.iter().find(|row| row.split('|').nth(1).is_some_and(|ids| ids.contains(&id)));
        let row = row.unwrap_or_else(|| panic!("{PAGE} must have a row of {id}"));
        // A question, an example or a second half may be left out.
        let sentence = kind.sentence();
        let short = sentence.split([':', ';', '(', ',']).next().unwrap_or(sentence).trim();
        assert!(row.contains(short), "{PAGE}, {id}: the report says {sentence:?}\n{row}");
    }
}
