//! Texts that are kept in the log for a person who looks into the run.

use std::path::Path;

use super::context::Context;
use super::recorder::Recorder;
use crate::audit::Snapshot;

/// The kind under which the change of an iteration is kept, whole since the start, as a JSON string.
pub const KEPT_PATCH: &str = "patch";

/// The kind under which it is kept what the tests printed when that was judged.
pub const KEPT_TESTS: &str = "tests";

/// The place under which the change is kept with which the run ended.
pub const KEPT_AT_THE_END: &str = "end";

/// upshift's folder in a checkout.
const OWN_FOLDER: &str = ".upshift";
/// The most characters of each.
const MOST_KEPT_CHARS: usize = 1 << 20;

/// Keeps a change in the log.
pub(super) fn keep_patch(context: &Context<'_>, recorder: &mut Recorder<'_>, under: &str, patch: &str) {
    let patch = context.world.redactor.redact_diff(patch).into_owned();
    keep_text(recorder, KEPT_PATCH, under, &patch);
}

/// Keeps a text of a kind in the log, cut.
pub(super) fn keep_text(recorder: &mut Recorder<'_>, kind: &str, under: &str, text: &str) {
    if !text.is_empty() {
        let cut: String = text.chars().take(MOST_KEPT_CHARS).collect();
        let body = serde_json::Value::String(cut).to_string();
        recorder.keep(&Snapshot { kind, session_id: under, body: &body });
    }
}

/// The name under which an iteration's tests and change are kept in the log.
#[must_use]
pub fn kept_under(tier_index: u32, iteration: u32) -> String {
    format!("{tier_index}.{iteration}")
}

/// Has git ignore our own folder in a checkout: nothing of it must be committed by accident.
pub(super) fn ignore(keep: &Path) -> std::io::Result<()> {
    let ignore = keep.join(".gitignore");
    if keep.ends_with(OWN_FOLDER) && !ignore.exists() {
        std::fs::create_dir_all(keep)?;
        std::fs::write(&ignore, "*\n")?;
    }
    Ok(())
}
