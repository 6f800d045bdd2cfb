//! Result files: a runner that can is told to write its results, beside what it prints, into a file of a name that nobody could
//! know before ([`SecretDir`]). Text that code under test prints is then not enough for a green (`policy::verdict`).
//!
//! | runner | told by | written |
//! |---|---|---|
//! | pytest | `PYTEST_ADDOPTS`: `--junitxml` | JUnit XML |
//! | `python -m unittest` | a file in the place of `-m unittest`, which runs it and looks at its result | JUnit XML |
//! | node --test | `NODE_OPTIONS`: a second `--test-reporter` | JUnit XML |
//! | jest | `--json --outputFile` behind the command | Jest's JSON |
//! | vitest | `--reporter=default --reporter=json --outputFile.json` behind the command | Jest's JSON |
//! | mocha | `--require` of a file that looks at the finished suites, behind the command | Mocha's JSON |
//! | cargo nextest | `--tool-config-file` with a JUnit path | JUnit XML |
//! | go test | `-json`: no file and no witness, since a test can print what its framework prints; but it names every test | |
//! | go test behind another command | `GOFLAGS`: `-v`, the same ([`go`]) | |
//!
//! Told only where that cannot change what the command does: one plain call of the runner, by itself or as a package's script,
//! without reporters, result files or JSON of its own. Anything else runs as it stands.
//!
//! Invariant: what is read was written during this run, under a name that did not exist before it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use testlog::Parser;

use super::{TestCommand, filter};
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;
use crate::process::SecretDir;

mod go;
#[cfg(test)]
mod tests;

/// The name of the file in the box.
const FILE: &str = "results";
/// The names of what is put into the box for a runner to read.
const MOCHA_HOOK: &str = "results.cjs";
const NEXTEST_CONFIG: &str = "nextest.toml";
const UNITTEST_MAIN: &str = "unittest_results.py";
/// How unittest is called.
const UNITTEST_CALL: &str = " -m unittest";
/// The most of a result file that is read.
const LONGEST: u64 = 512 * 1024 * 1024;
/// A configuration file that is larger is not looked at, and its runner is told nothing.
const LARGEST_CONFIGURATION: u64 = 1024 * 1024;
/// Where pytest is configured.
const PYTEST_CONFIGURATION: [&str; 6] =
    ["pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"];

/// Whether runners are told to write result files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultFiles {
    /// Where it is known to be safe.
    #[default]
    Wanted,
    /// Not at all.
    Unwanted,
}

/// What a run's result file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filed {
    /// The runner was not told to write one.
    #[default]
    NotAsked,
    /// It was told how to report, without a file.
    Framed,
    /// It was told to write one and did not.
    Missing,
    /// It was written.
    Report(Box<TestReport>),
}

impl Filed {
    /// What it says, if it was written.
    #[must_use]
    pub fn report(&self) -> Option<&TestReport> {
        match self {
            Self::Report(report) => Some(report),
            Self::NotAsked | Self::Framed | Self::Missing => None,
        }
    }
}

/// A runner that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Pytest,
    Unittest,
    Node,
    Jest,
    Vitest,
    Mocha,
    Nextest,
    Go,
}

/// A command as it is run.
#[derive(Debug)]
pub(super) struct Told {
    /// The shell command.
    pub(super) line: String,
    /// Its environment.
    pub(super) env: BTreeMap<OsString, OsString>,
    how: How,
}

#[derive(Debug)]
enum How {
    Nothing,
    Framed,
    File(SecretDir, &'static str),
}

/// Tells the command's runner to write its results, where that is safe.
pub(super) fn tell(command: &TestCommand, line: String) -> Told {
    let (env, how) = (command.env.clone(), How::Nothing);
    let untold = Told { line, env, how };
    if command.results == ResultFiles::Unwanted {
        return untold;
    }
    let Some((runner, script)) = runner_of(command, &untold.line) else {
        return match go::verbose(command, &untold.line) {
            Some(env) => Told { env, how: How::Framed, ..untold },
            None => untold,
        };
    };
    if runner == Runner::Go {
        return Told { line: untold.line.replacen("go test", "go test -json", 1), how: How::Framed, ..untold };
    }
    let Ok(secret_dir) = SecretDir::make(&command.env) else { return untold };
    let asked = ask(runner, script, &secret_dir, &untold);
    asked.map_or(untold, |(line, env)| Told { line, env, how: How::File(secret_dir, runner.framework()) })
}

impl Told {
    /// Reads what the runner wrote.
    pub(super) fn read(&self, exit: Exit) -> Filed {
        let (secret_dir, framework) = match &self.how {
            How::Nothing => return Filed::NotAsked,
            How::Framed => return Filed::Framed,
            How::File(secret_dir, framework) => (secret_dir, framework),
        };
        let Ok(file) = secret_dir.open(FILE) else { return Filed::Missing };
        let mut parser = Parser::new(Some(framework));
        let (mut reader, mut chunk) = (file.take(LONGEST), vec![0; 64 * 1024]);
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => parser.push(chunk.get(..count).unwrap_or_default()),
                Err(_) => return Filed::Missing,
            }
        }
        parser.push(b"\n");
        Filed::Report(Box::new(parser.finish(Some(exit))))
    }

    /// The output without the lines in which a runner names its result file.
    pub(super) fn without_mention(&self, output: String) -> String {
        let How::File(secret_dir, _) = &self.how else { return output };
        let name = secret_dir.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !output.contains(&name) {
            return output;
        }
        output.split_inclusive('\n').filter(|line| !line.contains(&name)).collect()
    }
}

impl Runner {
    pub(super) const fn framework(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Node => "node-test",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::Nextest => "cargo-nextest",
            Self::Go => "go-test",
        }
    }

    /// Words in a command, a script or a configuration that say that it reports in a way of its own.
    const fn own_ways(self) -> &'static [&'static str] {
        match self {
            Self::Pytest => &["junit", "--collect-only", "--co"],
            Self::Unittest => &["--help"],
            Self::Node => &["--test-reporter"],
            Self::Jest => &["--json", "--outputFile", "--listTests", "--showConfig", "--watch"],
            Self::Vitest => &["reporter", "outputFile", "--watch"],
            Self::Mocha => &["parallel", "--watch", "--dry-run"],
            Self::Nextest => &["--tool-config-file", "--no-run"],
            Self::Go => &["-json", "-exec", "-list", "-c "],
        }
    }

    /// Whether a configuration file of the folder reports in a way of its own.
    fn is_configured_otherwise(self, folder: &Path) -> bool {
        match self {
            Self::Pytest => PYTEST_CONFIGURATION.iter().any(|name| names(self, &folder.join(name))),
            Self::Vitest => any_configuration(self, folder, &["vitest.", "vite.config."]),
            Self::Mocha => any_configuration(self, folder, &[".mocharc"]),
            Self::Unittest | Self::Node | Self::Jest | Self::Nextest | Self::Go => false,
        }
    }
}

fn names(runner: Runner, path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    if !metadata.is_file() || metadata.len() > LARGEST_CONFIGURATION {
        return true;
    }
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    runner.own_ways().iter().any(|way| text.contains(way))
}

fn any_configuration(runner: Runner, folder: &Path, starts: &[&str]) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_configuration =
        |name: &OsStr| name.to_str().is_some_and(|name| starts.iter().any(|start| name.starts_with(start)));
    entries.filter(|entry| is_configuration(&entry.file_name())).any(|entry| names(runner, &entry.path()))
}

/// The one runner that a plain command calls, and the line that calls it: the command, or the script of its package.
pub(super) fn plain_call(command: &TestCommand) -> Option<(Runner, String)> {
    let line = &command.command;
    if !filter::is_plain(line) {
        return None;
    }
    called(line).map(|runner| (runner, line.clone())).or_else(|| {
        let (runner, _, script) = by_script(&command.cwd, line)?;
        Some((runner, script))
    })
}

/// The one runner that a plain command calls, and whether what is put behind the command reaches it: `None` where it does as it is,
/// else what must stand between.
fn runner_of(command: &TestCommand, line: &str) -> Option<(Runner, Behind)> {
    if !filter::is_plain(line) {
        return None;
    }
    let (runner, behind) = match called(line) {
        Some(runner) => (runner, Behind::Command),
        None => {
            let (runner, behind, _) = by_script(&command.cwd, line)?;
            (runner, behind)
        }
    };
    let own = runner.own_ways().iter().any(|way| line.contains(way));
    let variable = match runner {
        Runner::Pytest => command.env.get(OsStr::new("PYTEST_ADDOPTS")),
        Runner::Node => command.env.get(OsStr::new("NODE_OPTIONS")),
        Runner::Unittest | Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Nextest | Runner::Go => None,
    };
    let own_variable = variable.is_some_and(|value| {
        let value = value.to_string_lossy();
        runner.own_ways().iter().any(|way| value.contains(way))
    });
    let own_junit = runner == Runner::Pytest && command.junit.is_some();
    let told_already = own || own_variable || own_junit || runner.is_configured_otherwise(&command.cwd);
    (!told_already).then_some((runner, behind))
}

/// How options get from the end of a command to its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// As they are.
    Command,
    /// As they are, through a package manager.
    Script,
    /// Behind `--`, since npm takes options for its own.
    Dashes,
}

/// The one runner that a line calls by its own name; `None` for none and for several calls.
fn called(line: &str) -> Option<Runner> {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| words.get(at)).map(|word| base(word)).unwrap_or_default();
        let next = words.get(index + 1).copied().unwrap_or_default();
        // `pip install pytest` calls no pytest.
        let is_argument = matches!(before.as_str(), "install" | "add" | "which" | "echo");
        let runner = match base(word).as_str() {
            "pytest" | "py.test" => Runner::Pytest,
            "unittest" if before == "-m" && line.matches(UNITTEST_CALL).count() == 1 => {
                // `coverage run -m unittest` is another program's.
                let interpreter = index.checked_sub(2).and_then(|at| words.get(at)).map(|word| base(word));
                if !interpreter.is_some_and(|name| name.starts_with("python") || name.starts_with("pypy")) {
                    return None;
                }
                Runner::Unittest
            }
            "node" if next == "--test" => Runner::Node,
            "jest" | "jest.js" => Runner::Jest,
            "vitest" | "vitest.mjs" => Runner::Vitest,
            "mocha" | "_mocha" | "mocha.js" => Runner::Mocha,
            "nextest" if before == "cargo" && next == "run" => Runner::Nextest,
            "go" if next == "test" => Runner::Go,
            _ => continue,
        };
        found.push(runner);
        if is_argument {
            return None;
        }
    }
    let in_last = |runner: Runner| {
        // What is put behind the command must reach the runner.
        let by_variable =
            matches!(runner, Runner::Pytest | Runner::Unittest | Runner::Node | Runner::Go | Runner::Nextest);
        let last = line.rsplit("&&").next().unwrap_or(line);
        by_variable || called_in(last, runner)
    };
    match found.as_slice() {
        [one] if in_last(*one) => Some(*one),
        _ => None,
    }
}

fn called_in(part: &str, runner: Runner) -> bool {
    part.split_whitespace().any(|word| word.rsplit('/').next().is_some_and(|word| word.contains(runner.framework())))
}

/// The runner that a package's script calls.
fn by_script(folder: &Path, line: &str) -> Option<(Runner, Behind, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (manager, rest) = words.split_first()?;
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
    if line.contains("&&") || words.contains(&"--") || line.contains("workspace") || words.contains(&"-r") {
        return None;
    }
    let path = folder.join("package.json");
    let metadata = path.metadata().ok().filter(|found| found.is_file() && found.len() <= LARGEST_CONFIGURATION);
    metadata?;
    let package: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let script = package.get("scripts")?.get(*name)?.as_str()?;
    let runner = called(script).filter(|_| filter::is_plain(script))?;
    let own = runner.own_ways().iter().any(|way| script.contains(way));
    let reaches = !script.split_whitespace().any(|word| word == "--");
    (!own && reaches).then(|| (runner, behind, script.to_owned()))
}

/// The command and the environment by which a runner is told.
fn ask(
    runner: Runner,
    behind: Behind,
    secret_dir: &SecretDir,
    told: &Told,
) -> Option<(String, BTreeMap<OsString, OsString>)> {
    let file = secret_dir.path().join(FILE);
    let file = file.to_str().filter(|path| path.bytes().all(is_plain_byte))?;
    let (mut line, mut env) = (told.line.trim_end().to_owned(), told.env.clone());
    let mut set = |name: &str, options: &str| {
        let before = env.get(OsStr::new(name)).map(|value| format!("{} ", value.to_string_lossy()));
        env.insert(name.into(), format!("{}{options}", before.unwrap_or_default()).into());
    };
    let options = match runner {
        Runner::Pytest => {
            set("PYTEST_ADDOPTS", &format!("--junitxml={file}"));
            return Some((line, env));
        }
        Runner::Node => {
            set(
                "NODE_OPTIONS",
                &format!(
                    "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination={file}"
                ),
            );
            return Some((line, env));
        }
        Runner::Unittest => {
            secret_dir.put(UNITTEST_MAIN, include_str!("results/unittest_results.py")).ok()?;
            let main = format!(" {}", secret_dir.path().join(UNITTEST_MAIN).display());
            return Some((line.replacen(UNITTEST_CALL, &main, 1), env));
        }
        Runner::Nextest => {
            secret_dir.put(NEXTEST_CONFIG, &format!("[profile.default.junit]\npath = \"{file}\"\n")).ok()?;
            let config = secret_dir.path().join(NEXTEST_CONFIG);
            let option = format!("nextest run --tool-config-file upshift:{}", config.display());
            return Some((line.replacen("nextest run", &option, 1), env));
        }
        Runner::Jest => format!("--json --outputFile={file}"),
        Runner::Vitest => format!("--reporter=default --reporter=json --outputFile.json={file}"),
        Runner::Mocha => {
            secret_dir.put(MOCHA_HOOK, include_str!("results/mocha.cjs")).ok()?;
            format!("--require {}", secret_dir.path().join(MOCHA_HOOK).display())
        }
        Runner::Go => return None,
    };
    // Behind `--` stand the runner's own arguments, which an option is not.
    if line.split_whitespace().any(|word| word == "--") {
        return None;
    }
    line.push_str(if behind == Behind::Dashes { " -- " } else { " " });
    line.push_str(&options);
    Some((line, env))
}

/// What needs no quotes, neither for the shell nor in a variable of options.
const fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
}
