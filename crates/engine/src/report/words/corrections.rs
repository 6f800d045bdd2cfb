//! Corrections of tests in words: what a model says of a test, and how its correction is taken.

use super::commands::apply;
use super::sentence::Sentence;
use crate::domain::correction::Correction;
use crate::report::view::RunView;

/// The most corrections that a report shows. Models of one ladder propose few.
const MOST: usize = 3;

/// The last corrections that were proposed.
pub fn corrections(view: &RunView) -> impl Iterator<Item = &Correction> {
    view.corrections.iter().rev().take(MOST)
}

/// Which test a model calls wrong, and why.
#[must_use]
pub fn correction_sentence(correction: &Correction) -> Sentence {
    let sentence = Sentence::plain("A model says that a test is wrong, in ").code(correction.files.join(", "));
    sentence.ours(": ").speech(&correction.reason)
}

/// How a correction is taken.
#[must_use]
pub fn take_correction(view: &RunView, correction: &Correction) -> Option<Sentence> {
    let command = apply(view, correction.kept.as_deref()?)?;
    Some(Sentence::plain("If you agree, correct the test and run upshift again: ").code(command))
}
