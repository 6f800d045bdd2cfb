//! Files of a change that are too large for their bytes to be kept: what cannot be put back is no part of a fix.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::context::{Context, LifecycleError};
use super::super::recorder::Recorder;
use super::super::yours::named;
use crate::domain::units::TreeId;

/// Takes new ones out of what a model wrote, before it is judged, and says so. Returns the other paths.
pub(super) async fn without(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    before: &TreeId,
    mut wrote: BTreeSet<String>,
) -> Result<BTreeSet<String>, LifecycleError> {
    if wrote.is_empty() {
        return Ok(wrote);
    }
    let workspace = &context.world.workspace;
    let after = workspace.snapshot_paths(before, &wrote).await?;
    let moved = workspace.move_back(before, &after)?;
    if !moved.is_empty() {
        let of = named(&moved);
        recorder
            .warn(format!("moved by a model, and moved back, since upshift keeps no copy of files over 64 MB: {of}"));
    }
    wrote.retain(|path| !moved.contains(path));
    let after = if moved.is_empty() { after } else { workspace.snapshot_paths(before, &wrote).await? };
    let unkept = workspace.unkept(before, &after)?;
    let of = |was_there: bool| -> Vec<String> {
        unkept.iter().filter(|(_, was)| *was == was_there).map(|(path, _)| path.clone()).collect()
    };
    let (changed, new) = (of(true), of(false));
    if !changed.is_empty() {
        recorder.warn(format!(
            "changed or removed by a model, and so large (over 64 MB) that upshift keeps no copy: {}. It cannot be undone here",
            named(&changed)
        ));
        return Ok(wrote);
    }
    if !new.is_empty() {
        let files: Vec<PathBuf> = new.iter().map(PathBuf::from).collect();
        workspace.restore_paths(before, &files).await?;
        recorder.warn(format!(
            "taken out of the change, since it is larger than 64 MB, of which upshift keeps no copy: {}",
            named(&new)
        ));
        wrote.retain(|path| !new.contains(path));
    }
    Ok(wrote)
}
