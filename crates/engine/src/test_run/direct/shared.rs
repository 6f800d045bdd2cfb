//! Files of the product loaded, and tests called, without any runner: what each of them changes of all that the code of a process shares.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Called, Plan, Surroundings, carry_out, prepare};
use crate::domain::stop::Stop;
use crate::process::ProcessError;
use crate::test_run::TestCommand;

/// A file that does more than to be loaded (a server, a program) is given up.
const LONGEST: Duration = Duration::from_secs(20);

/// The programs that tell what is shared.
const PYTHON: (&str, &str) = ("prints.py", include_str!("prints.py"));
const NODE: (&str, &str) = ("prints.mjs", include_str!("prints.mjs"));

/// The request to the loading program.
#[derive(Debug, Serialize)]
struct Asked<'a> {
    name: &'a str,
    runner: &'static str,
    files: &'a [String],
}

/// A file that could be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Loaded {
    /// Its number among those that were asked for.
    pub at: usize,
    /// What loading it changed, in the language's own words.
    pub changes: Vec<String>,
}

/// Whether the interpreter of a command can load a file by itself.
#[must_use]
pub fn can_load(command: &TestCommand, path: &str) -> bool {
    Plan::of(command).is_some_and(|plan| match plan.script {
        "main.py" => path.ends_with(".py"),
        _ => [".js", ".mjs", ".cjs"].iter().any(|ending| path.ends_with(ending)),
    })
}

/// Loads files, whose paths are from the working directory of the tests. `None` where nothing came back.
///
/// # Errors
/// When the program cannot be started.
pub async fn load(
    command: &TestCommand,
    name: &str,
    files: &[String],
    stop: &Stop,
) -> Result<Option<Vec<Loaded>>, ProcessError> {
    let Some(plan) = Plan::of(command) else { return Ok(None) };
    let (script, text, beside) = match plan.script {
        "main.py" => ("shared.py", include_str!("shared.py"), PYTHON),
        _ => ("shared.mjs", include_str!("shared.mjs"), NODE),
    };
    let asked = Asked { name, runner: plan.runner, files };
    let plan = Plan { script, text, ..plan };
    let Some((secret_dir, line)) = prepare(command, &plan, &[beside], serde_json::to_string(&asked).ok()) else {
        return Ok(None);
    };
    // A server that is loaded never ends by itself.
    let command = TestCommand { timeout: command.timeout.min(LONGEST), ..command.clone() };
    carry_out(&command, &secret_dir, line, Surroundings::Same, stop).await
}

/// A test that was watched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Watched {
    /// Its number.
    pub at: usize,
    /// Whether it passes.
    pub passed: bool,
    /// What it changed and did not undo, in the language's own words. `None` where it cannot be called.
    pub changes: Option<Vec<String>>,
    /// The modules from elsewhere that were loaded by it.
    pub loaded: Vec<String>,
}

/// Calls tests once, with some modules loaded before: their loading is not what is asked about. `None` where nothing came back.
///
/// # Errors
/// When the program cannot be started.
pub async fn watch(
    command: &TestCommand,
    name: &str,
    tests: &[Called],
    preload: &[String],
    stop: &Stop,
) -> Result<Option<Vec<Watched>>, ProcessError> {
    let Some(plan) = Plan::of(command) else { return Ok(None) };
    let beside = match plan.script {
        "main.py" => [PYTHON, ("watched.py", include_str!("watched.py"))],
        _ => [NODE, ("watched.mjs", include_str!("watched.mjs"))],
    };
    let asked = super::Asked { name, elsewhere: false, runner: plan.runner, tests, watches: true, preload };
    let Some((secret_dir, line)) = prepare(command, &plan, &beside, serde_json::to_string(&asked).ok()) else {
        return Ok(None);
    };
    carry_out(command, &secret_dir, line, Surroundings::Same, stop).await
}
