//! A run goes on where nothing of it is but its log.

mod recording;

/// The events of recorded trees after which a run is killed and resumed here.
pub(crate) const KILLS: [&str; 2] = ["tree_recorded:1", "tree_recorded:2"];
