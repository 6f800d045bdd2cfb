//! Files of the product loaded without any runner: what each of them changes, by being loaded, of all that the code of a process shares.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Plan, Surroundings, carry_out, prepare};
use crate::domain::stop::Stop;
use crate::process::ProcessError;
use crate::test_run::TestCommand;

/// A file that does more than to be loaded (a server, a program) is given up.
const LONGEST: Duration = Duration::from_secs(20);

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
    let (script, text) = match plan.script {
        "main.py" => ("shared.py", include_str!("shared.py")),
        _ => ("shared.mjs", include_str!("shared.mjs")),
    };
    let asked = Asked { name, runner: plan.runner, files };
    let plan = Plan { script, text, ..plan };
    let Some((secret_dir, line)) = prepare(command, &plan, serde_json::to_string(&asked).ok()) else { return Ok(None) };
    let command = TestCommand { timeout: command.timeout.min(LONGEST), ..command.clone() };
    carry_out(&command, &secret_dir, line, Surroundings::Same, stop).await
}
