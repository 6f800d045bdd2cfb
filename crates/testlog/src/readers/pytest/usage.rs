//! pytest's own errors about its arguments and its configuration.

use crate::needle::Seek as _;

/// Whether an `ERROR:` line is one of pytest's own about its arguments.
pub(super) fn is_usage(line: &str) -> bool {
    [
        "ERROR: file or directory not found",
        "ERROR: not found: ",
        "ERROR: usage: ",
        "ERROR: found no collectors",
        "ERROR: Unknown config",
        "ERROR: Missing required plugins",
        "ERROR: module or package not found",
        "ERROR: Wrong expression",
        "ERROR: not a Python",
    ]
    .iter()
    .any(|start| line.starts_with(start))
        || line.ends_with(": error: unrecognized arguments")
        || (line.starts_with("ERROR: /") && (line.holds(".ini:") || line.holds(".toml:") || line.holds(".cfg:")))
}
