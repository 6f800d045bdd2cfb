//! Single tests called without their runner, as a program would call the product: a call that code under test cannot tell from any other
//! by its runner's traces (command line, loaded modules, frames, threads, captured streams).
//!
//! Known for one plain call of the runners that [`Direct`] covers. A test that needs its runner (fixtures, mocks, marks, hooks around it)
//! is not called, and the outcome says so.

pub mod cargo;
pub mod shared;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::TestCommand;
use super::results::plain_call;
use crate::domain::stop::Stop;
use crate::framework::facts::Direct;
use crate::process::{self, ProcessError, SecretDir};

/// The most of what a call writes that is read.
const LONGEST: u64 = 4 * 1024 * 1024;
/// How much output is kept: nobody reads it.
const KEPT_OUTPUT: usize = 4 * 1024;
/// The longest first line of a script that names an interpreter. Linux reads 256 bytes of it.
const LONGEST_SHEBANG: u64 = 512;

/// Variables of other surroundings.
pub(super) const OTHER: [(&str, &str); 12] = [
    ("LANG", "de_DE.UTF-8"),
    ("LC_ALL", "de_DE.UTF-8"),
    ("LANGUAGE", "de"),
    ("TZ", "Pacific/Chatham"),
    ("NODE_ENV", "production"),
    ("APP_ENV", "production"),
    ("ENV", "production"),
    ("ENVIRONMENT", "production"),
    ("PORT", "8080"),
    ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
    ("TERM", "xterm-256color"),
    ("PYTHONOPTIMIZE", "1"),
];

/// Variables that other surroundings do not have.
pub(super) const UNSET: [&str; 3] = ["CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS"];

/// A test to be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Called {
    /// Its number.
    pub at: usize,
    /// Its file, from the working directory of the tests.
    pub file: String,
    /// Its names from the outermost suite or class to its own.
    pub names: Vec<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It returned.
    Passed,
    /// An assertion failed.
    Failed,
    /// Something else went wrong: it needs its runner.
    Error,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Became {
    /// How it ended.
    pub end: End,
    /// The line of its file on which it failed. 0 where that is not known.
    pub line: u32,
    /// Its message, which is foreign text.
    pub said: String,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Outcome {
    /// Its number.
    pub at: usize,
    /// The first call.
    pub first: Became,
    /// A second one in the same process, in another thread where the language has them.
    #[serde(default)]
    pub again: Option<Became>,
}

/// The request to the calling program.
#[derive(Debug, Serialize)]
struct Asked<'a> {
    name: &'a str,
    elsewhere: bool,
    runner: &'static str,
    tests: &'a [Called],
    /// Whether what a test changes of all that the code of a process shares is asked for, in the place of how it ends.
    watches: bool,
    /// Modules that are loaded before.
    preload: &'a [String],
}

/// In what surroundings tests are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surroundings {
    /// The surroundings of their runner.
    Same,
    /// Another folder without the tests beside the product, another time, language and time zone, the variables of production, a terminal or
    /// another thread, Python optimised.
    Other,
}

/// Calls tests without their runner. `None` where it cannot be left out of the command, or nothing came back.
///
/// # Errors
/// When the program cannot be started.
pub async fn call(
    command: &TestCommand,
    name: &str,
    tests: &[Called],
    surroundings: Surroundings,
    stop: &Stop,
) -> Result<Option<Vec<Outcome>>, ProcessError> {
    let Some(plan) = Plan::of(command) else { return Ok(None) };
    let elsewhere = surroundings == Surroundings::Other;
    let asked = Asked { name, elsewhere, runner: plan.runner, tests, watches: false, preload: &[] };
    let Some((secret_dir, line)) = prepare(command, &plan, &[], serde_json::to_string(&asked).ok()) else {
        return Ok(None);
    };
    carry_out(command, &secret_dir, line, surroundings, stop).await
}

/// Runs a program that calls tests or loads files, and reads what it wrote.
async fn carry_out<R: DeserializeOwned>(
    command: &TestCommand,
    secret_dir: &SecretDir,
    line: String,
    surroundings: Surroundings,
    stop: &Stop,
) -> Result<Option<Vec<R>>, ProcessError> {
    let spec = command.spec(line, &command.cwd, environment(command, surroundings), KEPT_OUTPUT);
    let finished = process::run(&spec, stop, &mut |_chunk| {}).await?;
    // A run that was stopped may have written half.
    Ok(if finished.stopped.is_none() { read(secret_dir) } else { None })
}

fn environment(command: &TestCommand, surroundings: Surroundings) -> BTreeMap<OsString, OsString> {
    let mut env = command.env.clone();
    // Ours: a program's own call has none.
    // A test could tell by it that it is called from here.
    env.remove(OsStr::new("PYTHONFAULTHANDLER"));
    if surroundings == Surroundings::Other {
        env.retain(|name, _| !UNSET.iter().any(|unset| name == OsStr::new(unset)));
        env.extend(OTHER.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }
    env
}

/// Whether a command's runner can be left out.
#[must_use]
pub fn can_call(command: &TestCommand) -> bool {
    Plan::of(command).is_some()
}

/// How the interpreter of a command is called.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// The command up to the script.
    interpreter: String,
    runner: &'static str,
    script: &'static str,
    text: &'static str,
}

impl Plan {
    fn of(command: &TestCommand) -> Option<Self> {
        let (framework, line) = plain_call(command)?;
        let python = |interpreter| {
            (interpreter, "main.py", concat!(include_str!("direct/fixtures.py"), "\n", include_str!("direct/main.py")))
        };
        let node = |interpreter| {
            (interpreter, "main.mjs", concat!(include_str!("direct/mocks.mjs"), include_str!("direct/main.mjs")))
        };
        let (interpreter, script, text) = match framework.direct? {
            Direct::Python(words, programs) => {
                // `python -m pytest tests` names its interpreter. `pytest tests` has it in its first line.
                python(before(&line, words).or_else(|| in_place_of(command, &line, programs))?)
            }
            Direct::NodeBefore(words) => node(before(&line, words)?),
            Direct::Node => node("node".to_owned()),
        };
        Some(Self { interpreter, runner: framework.name, script, text })
    }
}

/// A command up to the words that call a runner.
fn before(line: &str, words: &str) -> Option<String> {
    line.split_once(words).map(|(before, _)| before.to_owned())
}

/// A command up to a program, with that program's interpreter in its place.
fn in_place_of(command: &TestCommand, line: &str, names: &[&str]) -> Option<String> {
    let mut before = String::new();
    for word in line.split_inclusive(char::is_whitespace) {
        let program = word.trim();
        // `.venv/bin/pytest` is the same program.
        if names.contains(&program.rsplit('/').next().unwrap_or(program)) {
            // `uv run pytest`: what runs programs of an environment runs its interpreter too.
            let interpreter = if before.trim_end().ends_with(" run") {
                "python".to_owned()
            } else {
                shebang(&found(command, program)?)?
            };
            return Some(before + &interpreter);
        }
        before.push_str(word);
    }
    None
}

/// The file of a program, as the shell finds it.
fn found(command: &TestCommand, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        // With a slash the shell does not look in the PATH either.
        return Some(command.cwd.join(program));
    }
    let path = command.env.get(OsStr::new("PATH"))?;
    std::env::split_paths(path).map(|folder| command.cwd.join(folder).join(program)).find(|file| file.is_file())
}

/// The interpreter that a script's first line names.
fn shebang(script: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(script).ok()?.take(LONGEST_SHEBANG).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let interpreter = head.lines().next()?.strip_prefix("#!")?.trim();
    // It becomes part of a shell line, and the script may be anybody's.
    let plain = interpreter.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._- ".contains(&byte));
    (plain && !interpreter.is_empty()).then(|| interpreter.to_owned())
}

/// A private folder with a program, the files `beside` it and its request, and the command that runs it.
fn prepare(
    command: &TestCommand,
    plan: &Plan,
    beside: &[(&str, &str)],
    asked: Option<String>,
) -> Option<(SecretDir, String)> {
    // A name that nobody can know, so that code under test cannot write the results itself.
    let secret_dir = SecretDir::make(&command.env).ok()?;
    for (name, text) in beside.iter().chain([&(plan.script, plan.text)]) {
        secret_dir.put(name, text).ok()?;
    }
    secret_dir.put("asked.json", &asked?).ok()?;
    let script = secret_dir.path().join(plan.script);
    let line = format!("{} {}", plan.interpreter, shlex_quoted(script.to_str()?)?);
    Some((secret_dir, line))
}

/// A path as a shell's word. The private folder's name needs no quotes.
fn shlex_quoted(path: &str) -> Option<&str> {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)).then_some(path)
}

fn read<R: DeserializeOwned>(secret_dir: &SecretDir) -> Option<Vec<R>> {
    let mut text = Vec::new();
    // No more than that, as the file may have been written by code under test.
    secret_dir.open("results").ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Confinement;
    use crate::test_run::ResultFiles;
    use std::time::Duration;

    fn command(line: &str, cwd: &Path) -> TestCommand {
        TestCommand {
            command: line.to_owned(),
            checks: Vec::new(),
            cwd: cwd.to_owned(),
            env: BTreeMap::new(),
            timeout: Duration::from_secs(5),
            memory_mb: None,
            framework: None,
            junit: None,
            confinement: Confinement::None,
            results: ResultFiles::Wanted,
            streams: None,
        }
    }

    #[test]
    fn an_interpreter_is_what_stands_before_its_runner() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pytest"), "#!/opt/venv/bin/python3.12\nimport pytest\n").unwrap();
        std::fs::write(folder.path().join("package.json"), r#"{"scripts": {"test": "mocha test"}}"#).unwrap();
        for (line, interpreter) in [
            ("python3 -m unittest -v", Some("python3")),
            ("python3.12 -m unittest discover -s a", Some("python3.12")),
            ("python -m pytest -q tests", Some("python")),
            ("./pytest -q", Some("/opt/venv/bin/python3.12")),
            ("uv run pytest", Some("uv run python")),
            ("pytest", None),
            ("node --test test", Some("node")),
            ("npm test", Some("node")),
            ("cargo test", None),
            ("pytest || true", None),
        ] {
            let plan = Plan::of(&command(line, folder.path()));
            assert_eq!(plan.map(|plan| plan.interpreter).as_deref(), interpreter, "{line}");
        }
    }
}
