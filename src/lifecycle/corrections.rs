//! A test that a model calls wrong: its correction is kept as a patch and told, never made.

use super::context::{Context, LifecycleError};
use super::finish;
use super::recorder::Recorder;
use crate::domain::correction::Correction;
use crate::domain::event::Event;
use crate::domain::units::TreeId;
use crate::session::{FinalReport, SessionEnd};

/// The name of the patch, beside the best attempt's.
const FILE: &str = "test-correction.patch";

/// Tells what a session would have changed in files that judge.
pub(super) fn tell(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    start: &TreeId,
    end: &SessionEnd,
) -> Result<(), LifecycleError> {
    let FinalReport::Blocked { reason, .. } = &end.report else { return Ok(()) };
    let patch = context.world.workspace.correction(start, &end.corrections)?;
    if patch.is_empty() {
        return Ok(());
    }
    let redactor = &context.world.redactor;
    let (patch, reason) = (redactor.redact_diff(&patch).into_owned(), redactor.redact(reason).into_owned());
    let files = end.corrections.keys().cloned().collect();
    let kept = finish::keep(context, recorder, FILE, &patch);
    recorder.emit(&Event::CorrectionProposed(Correction { files, patch, reason, kept }));
    Ok(())
}
