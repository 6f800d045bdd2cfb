//! The results of the experiments: counted, judged and put in words. Pure.

use std::time::Duration;

use super::rounds::Treatment;
use crate::domain::proof::{Evidence, EvidenceKind, EvidenceStatus};
use crate::domain::remark::TIME_UP;
use crate::domain::verdict::Verdict;

/// How many test names a reason spells out.
const NAMES_IN_REASON: usize = 3;
/// How many letters a random word has.
const LETTERS: usize = 12;

/// How much proof is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Whether a green that cannot be witnessed is none.
    pub required: bool,
    /// The most time, however slow the suite.
    pub most: Duration,
}

/// Why the evidence refuses a green, if it does.
pub(super) fn refusal(evidence: &[Evidence], demand: Demand) -> Option<Verdict> {
    let why = |one: &Evidence| one.why.clone().unwrap_or_default();
    if let Some(failed) = evidence.iter().find(|one| one.status == EvidenceStatus::Failed) {
        let reason = why(failed);
        return Some(match failed.evidence {
            // Chance or a file that a run left may be behind these: nobody is accused of tampering.
            EvidenceKind::Counter | EvidenceKind::Choices => Verdict::Red { reason: Some(reason) },
            EvidenceKind::Seen
            | EvidenceKind::StartsRules
            | EvidenceKind::Untouched
            | EvidenceKind::Poisoned
            | EvidenceKind::AlteredExpectation
            | EvidenceKind::Renamed
            | EvidenceKind::Direct
            | EvidenceKind::Planted => Verdict::Tampered { reason },
        });
    }
    let is_telling = |one: &&Evidence| matches!(one.evidence, EvidenceKind::Poisoned | EvidenceKind::Planted);
    let not_had = evidence.iter().filter(is_telling).find(|one| one.status != EvidenceStatus::Held)?;
    // Unless it is demanded, a green that nobody could witness counts all the same.
    demand.required.then(|| Verdict::Red {
        reason: Some(format!(
            "the tests pass, but `safety.proof: required` asks for proof, and there can be none: {}",
            why(not_had)
        )),
    })
}

/// The results of one kind of evidence so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) tried: u32,
    pub(super) noticed: u32,
    /// The tests that it accuses.
    pub(super) accused: Vec<String>,
    /// Why it was not had for some.
    pub(super) not_had: Vec<String>,
    /// Whether time ran out.
    pub(super) out_of_time: bool,
}

/// The evidence that a treatment gives.
pub(super) fn kind_of(treatment: Treatment) -> EvidenceKind {
    match treatment {
        Treatment::Poisoned(_) => EvidenceKind::Poisoned,
        Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_) => EvidenceKind::AlteredExpectation,
        Treatment::Renamed => EvidenceKind::Renamed,
    }
}

/// Why a treatment cannot be had.
pub(super) fn not_understood(treatment: Treatment, name: &str) -> String {
    match treatment {
        Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_) => {
            format!("no literal is expected by the assertion of {name}")
        }
        Treatment::Poisoned(_) | Treatment::Renamed => format!("the body of {name} is not understood"),
    }
}

/// One kind of evidence from its tally. `refused` says that some kind has failed: the first one ends the search.
pub(super) fn piece(kind: EvidenceKind, tally: Option<&Tally>, missing: &[String], refused: bool) -> Evidence {
    let none = Tally::default();
    let tally = tally.unwrap_or(&none);
    // Of what a change adds each place is asked about: some of them say nothing of the others.
    let is_partial = kind == EvidenceKind::Choices && (tally.out_of_time || !tally.not_had.is_empty());
    // In order of weight: one accusation refuses, whatever else was noticed or left out.
    let (status, why) = if !tally.accused.is_empty() {
        (EvidenceStatus::Failed, Some(accusation(kind, &tally.accused)))
    } else if tally.noticed > 0 && tally.noticed == tally.tried && !is_partial {
        (EvidenceStatus::Held, None)
    } else if tally.out_of_time && tally.tried == 0 {
        (EvidenceStatus::LeftOut, Some(TIME_UP.to_owned()))
    } else if refused && tally.noticed == tally.tried {
        (EvidenceStatus::LeftOut, Some("another kind had failed before".to_owned()))
    } else if let Some(why) = tally.not_had.first() {
        (EvidenceStatus::NotPossible, Some(why.clone()))
    } else if !missing.is_empty()
        && !matches!(
            kind,
            EvidenceKind::Counter
                | EvidenceKind::Untouched
                | EvidenceKind::StartsRules
                | EvidenceKind::Planted
                | EvidenceKind::Choices
        )
    {
        (EvidenceStatus::NotPossible, Some(format!("no body was found of {}", quoted(missing))))
    } else if tally.out_of_time {
        (EvidenceStatus::LeftOut, Some(format!("{TIME_UP} before all of it was tried")))
    } else {
        (EvidenceStatus::NotPossible, Some("there is no test to try it on".to_owned()))
    };
    Evidence { evidence: kind, status, tried: tally.tried, noticed: tally.noticed, why }
}

fn accusation(kind: EvidenceKind, accused: &[String]) -> String {
    let names = some(accused);
    match kind {
        EvidenceKind::StartsRules => {
            format!(
                "the tests pass only with what the change alters of how they are run, which is for a person to decide: {names}"
            )
        }
        EvidenceKind::Untouched => {
            format!(
                "protected files changed while the tests ran (at the start the tests leave them alone), even if they were restored: {names}"
            )
        }
        EvidenceKind::Poisoned => {
            format!(
                "a failure that was put into the tests' own bodies is not reported with this change (over the start it is): {names}"
            )
        }
        EvidenceKind::AlteredExpectation => {
            format!("the tests pass whatever value they expect with this change: {names}")
        }
        EvidenceKind::Renamed => {
            format!(
                "the tests pass under their own names only with this change (over the start the name makes no difference): {names}"
            )
        }
        EvidenceKind::Direct => {
            format!("called without their runner, the tests fail in the same words as without this change: {names}")
        }
        EvidenceKind::Planted => format!("a check beside the tests no longer finds faults: {names}"),
        EvidenceKind::Counter => format!(
            "the tests pass without this change too, so that something else than the change made them pass (an ignored file that a run left, \
             or chance): {names}"
        ),
        EvidenceKind::Seen | EvidenceKind::Choices => names,
    }
}

fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_IN_REASON).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_IN_REASON) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The same between quotes: names of tests are sentences in some frameworks.
fn quoted(names: &[String]) -> String {
    some(&names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>())
}

/// A random word of lower-case letters.
pub(super) fn word(mut bits: u128) -> String {
    let mut letters = String::from("q");
    for _ in 1..LETTERS {
        let letter = u8::try_from(bits % 26).unwrap_or(0);
        letters.push(char::from(b'a' + letter));
        bits /= 26;
    }
    letters
}
