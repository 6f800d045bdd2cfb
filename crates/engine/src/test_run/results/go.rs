//! Go behind make, scripts and other commands: with `-v` in `GOFLAGS` it names the tests that pass.
//!
//! Without names no test could be seen passing again. `-v` is a flag of Go's every build command, where it prints names of packages to
//! standard error. Commands that do not know it pass it over.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::runner::LARGEST_CONFIGURATION;
use crate::test_run::command::TestCommand;

const FLAGS: &str = "GOFLAGS";
/// More folders than this are not looked into for a module.
const MOST_FOLDERS: usize = 200;

/// The environment with the flag, where there is a Go module and nothing else decides on its flags.
pub(super) fn verbose(command: &TestCommand, line: &str) -> Option<BTreeMap<OsString, OsString>> {
    // Its own events name the tests, too.
    // Without a module nothing reads the variable.
    if line.contains("-json") || !has_module(&command.cwd) {
        return None;
    }
    let given = command.env.get(OsStr::new(FLAGS)).map(|value| value.to_string_lossy().into_owned());
    let given = given.unwrap_or_default();
    let decided = given.split_whitespace().any(|flag| flag.starts_with("-v") || flag.starts_with("-json"));
    // What `go env -w` wrote counts as long as the variable is not set.
    // Setting the variable would put the written flags out of force.
    if decided || (given.is_empty() && is_written(command)) {
        return None;
    }
    let mut env = command.env.clone();
    // Behind the flags that are there, which stay.
    env.insert(FLAGS.into(), format!("{given} -v").trim_start().into());
    Some(env)
}

/// Whether the folder, or one in it, is a module.
fn has_module(folder: &Path) -> bool {
    let is_module = |folder: &Path| ["go.mod", "go.work"].iter().any(|name| folder.join(name).is_file());
    let folders = || folder.read_dir().into_iter().flatten().flatten().take(MOST_FOLDERS);
    is_module(folder)
        // One level down, as repositories with several modules have them.
        || folders().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_module(&entry.path()))
}

/// Whether Go's own file of settings holds flags, or cannot be told.
fn is_written(command: &TestCommand) -> bool {
    let home = |name: &str, below: &str| command.env.get(OsStr::new(name)).map(|home| PathBuf::from(home).join(below));
    let Some(file) = home("XDG_CONFIG_HOME", "go/env").or_else(|| home("HOME", ".config/go/env")) else { return false };
    match file.metadata() {
        // No file, as nearly everywhere.
        Err(_) => false,
        Ok(found) if !found.is_file() || found.len() > LARGEST_CONFIGURATION => true,
        Ok(_) => std::fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("GOFLAGS=")),
    }
}
