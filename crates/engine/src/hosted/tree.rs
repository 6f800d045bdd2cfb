//! The agent's traces in the tree: its change, and the files that are put back.
//!
//! Invariant: files that judge stay as they were when the session began, but for tests that were added, as with tools of ours.

use std::path::PathBuf;

use super::spec::{HostedPorts, HostedSpec};
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::workspace::WorkspaceError;

/// The most files that are named when they are put back.
const MOST_NAMED: usize = 5;

/// The files that are the agent's change. Changes that it may not make are put back and told.
pub(super) async fn settle(spec: &HostedSpec, ports: &mut HostedPorts<'_>) -> Result<Vec<String>, WorkspaceError> {
    let changed = ports.workspace.changed_since(&spec.tree).await?;
    let mut wrote = Vec::new();
    let (mut refused, mut why) = (Vec::new(), None);
    for path in changed.into_iter().filter(|path| !spec.by_products.contains(path)) {
        let objection =
            if spec.role == Role::Artisan { ports.workspace.objection_to(&path)? } else { Some(only_reads()) };
        match objection {
            None => wrote.push(path),
            Some(reason) => {
                why.get_or_insert(reason);
                refused.push(path);
            }
        }
    }
    if let Some(why) = why {
        let files: Vec<PathBuf> = refused.iter().map(PathBuf::from).collect();
        ports.workspace.restore_paths(&spec.tree, &files).await?;
        let more = refused.len().saturating_sub(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let named: Vec<&str> = refused.iter().take(MOST_NAMED).map(String::as_str).collect();
        let message = format!(
            "put back after the {}'s session with {}: {}{more}; {}",
            spec.role.as_str(),
            spec.target,
            named.join(", "),
            ports.redactor.redact(&why)
        );
        ports.journal.emit(&Event::Warning { message });
    }
    Ok(wrote)
}

fn only_reads() -> String {
    "this role reads and changes nothing".to_owned()
}
