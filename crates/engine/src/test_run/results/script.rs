//! The runner that a package's script calls.

use std::path::Path;

use super::runner::{self, LARGEST_CONFIGURATION, reports_itself};
use crate::framework::facts::Framework;
use crate::test_run::filter;

/// How options get from the end of a command to its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// As they are.
    Command,
    /// As they are, through a package manager.
    Script,
    /// Behind `--`, since npm takes options for its own.
    Dashes,
}

/// The runner that a package's script calls, how options reach it, and the script.
pub(super) fn called(folder: &Path, line: &str) -> Option<(&'static Framework, Behind, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (manager, rest) = words.split_first()?;
    // Options of the manager itself, such as `--silent`.
    let mut rest = rest.iter().filter(|word| !word.starts_with('-'));
    let name = match rest.next()? {
        &"run" | &"run-script" => rest.next()?,
        &"t" => &"test",
        &"test" => &"test",
        _ => return None,
    };
    let behind = match *manager {
        "npm" => Behind::Dashes,
        "yarn" | "pnpm" | "bun" => Behind::Script,
        _ => return None,
    };
    // With workspaces the same script is run in several folders, and each would write the file.
    if line.contains("&&") || words.contains(&"--") || line.contains("workspace") || words.contains(&"-r") {
        return None;
    }
    let path = folder.join("package.json");
    let metadata = path.metadata().ok().filter(|found| found.is_file() && found.len() <= LARGEST_CONFIGURATION);
    metadata?;
    let package: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let script = package.get("scripts")?.get(*name)?.as_str()?;
    let framework = runner::called(script).filter(|_| filter::is_plain(script))?;
    // Behind the script's own `--` an option would be an argument.
    let reaches = !script.split_whitespace().any(|word| word == "--");
    (!reports_itself(framework, script) && reaches).then(|| (framework, behind, script.to_owned()))
}
