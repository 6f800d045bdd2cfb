//! A test that a model calls wrong: its correction is kept as a patch and told, never made.

use super::engine::{Engine, LifecycleError};
use super::finish;
use crate::domain::correction::Correction;
use crate::domain::event::Event;
use crate::session::{FinalReport, SessionEnd};

/// What the patch is called, beside the best attempt's.
const FILE: &str = "test-correction.patch";

/// Tells what a session would have changed in files that judge.
pub(super) fn tell(engine: &mut Engine<'_>, end: &SessionEnd) -> Result<(), LifecycleError> {
    let (FinalReport::Blocked { reason, .. }, Some(start)) = (&end.report, &engine.state.start) else { return Ok(()) };
    let patch = engine.world.workspace.correction(start, &end.corrections)?;
    if patch.is_empty() {
        return Ok(());
    }
    let redactor = &engine.world.redactor;
    let (patch, reason) = (redactor.redact_diff(&patch).into_owned(), redactor.redact(reason).into_owned());
    let files = end.corrections.keys().cloned().collect();
    let kept = finish::keep(engine, FILE, &patch);
    engine.journal.emit(&Event::CorrectionProposed(Correction { files, patch, reason, kept }));
    Ok(())
}
