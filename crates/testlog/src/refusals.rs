//! Messages of shells, package managers and runners when the command itself cannot work.
//!
//! These words are certain: each stands at a fixed place of its line, where code under test does not print it. They go
//! before what may be the code's own words, and before any model is paid for.
//!
//! Invariant: a line is judged alone. Words in the middle of another sentence are not taken for a refusal.

use super::launchers::is_launcher;
use crate::report::RunKind;

/// Whether the rest of a line bears a mark out.
type Fits = fn(&str) -> bool;

/// Beginnings of lines.
const BEGINNINGS: &[(&str, RunKind)] = &[
    // Package managers.
    ("error: Failed to spawn: `", RunKind::MissingTool),
    ("Command not found: ", RunKind::MissingTool),
    ("Poetry could not find a pyproject.toml", RunKind::BadCommand),
    ("poetry could not find a pyproject.toml", RunKind::BadCommand),
    ("error: Script not found \"", RunKind::BadCommand),
    ("Usage Error: Couldn't find a script named ", RunKind::BadCommand),
    ("Could not locate Gemfile", RunKind::BadCommand),
    // Runners of tasks.
    ("error: No justfile found", RunKind::BadCommand),
    ("Don't know how to build task ", RunKind::BadCommand),
    ("nox > Sessions not found: ", RunKind::BadCommand),
    // Interpreters.
    ("ruby: No such file or directory -- ", RunKind::BadCommand),
    ("Could not open input file: ", RunKind::MissingTool),
    // Java without a home, as Maven and Gradle's wrapper say it.
    ("The JAVA_HOME environment variable is not defined correctly", RunKind::MissingTool),
    ("ERROR: JAVA_HOME is set to an invalid directory: ", RunKind::MissingTool),
    ("ERROR: JAVA_HOME is not set and no 'java' command could be found", RunKind::MissingTool),
    // Containers.
    ("docker: 'compose' is not a docker command", RunKind::MissingTool),
    ("docker: unknown command: docker compose", RunKind::MissingTool),
    ("unknown shorthand flag: '", RunKind::BadCommand),
    // Builds without a build tree, or without tests in it.
    ("ctest: No tests were found!!!", RunKind::NoTests),
    ("ninja: error: loading 'build.ninja'", RunKind::BadCommand),
    ("Error: could not load cache", RunKind::BadCommand),
    ("Error: not a CMake build directory", RunKind::BadCommand),
];

/// Words of shells behind their own name.
const OF_SHELLS: &[(&str, RunKind)] = &[
    (": cd: can't cd to ", RunKind::BadCommand),
    (": cannot open ", RunKind::BadCommand),
    (": parameter not set", RunKind::BadCommand),
];

/// Marks that are certain only together with the rest of their line.
const OF_WHOLE_LINES: &[(&str, RunKind, Fits)] = &[
    ("error Command \"", RunKind::BadCommand, |line| {
        line.starts_with("error Command \"") && line.ends_with("\" not found.")
    }),
    ("Error importing plugin \"", RunKind::BadCommand, is_missing_plugin),
    ("Cannot find module '", RunKind::MissingTool, is_missing_program),
    (" is not a directory", RunKind::BadCommand, |line| {
        line.starts_with("Error: /") && line.ends_with(" is not a directory")
    }),
    ("\" not found. Available projects: ", RunKind::BadCommand, |line| line.starts_with("Error: Project(s) \"")),
    ("does not contain main module", RunKind::BadCommand, |line| line.starts_with("pattern ")),
    ("does not appear to contain CMakeLists.txt", RunKind::BadCommand, |line| line.starts_with("CMake Error")),
    ("pytest.ini:", RunKind::BadCommand, is_pytests_configuration),
    ("pytest.toml:", RunKind::BadCommand, is_pytests_configuration),
    ("tox.ini:", RunKind::BadCommand, is_pytests_configuration),
    ("setup.cfg:", RunKind::BadCommand, is_pytests_configuration),
    ("pyproject.toml:", RunKind::BadCommand, is_pytests_configuration),
];

/// All marks, which wake the fallback.
pub(super) fn marks() -> impl Iterator<Item = &'static str> {
    let simple = BEGINNINGS.iter().chain(OF_SHELLS).map(|(mark, _)| *mark);
    simple.chain(OF_WHOLE_LINES.iter().map(|(mark, ..)| *mark))
}

/// The kind of trouble that kept the command from working, when a line says so beyond doubt.
pub(super) fn of(line: &str) -> Option<RunKind> {
    let begins = BEGINNINGS.iter().find(|(mark, _)| line.starts_with(mark)).map(|(_, kind)| *kind);
    let shell = || OF_SHELLS.iter().find(|(mark, _)| line.contains(mark) && is_launcher(line)).map(|(_, kind)| *kind);
    let whole = || OF_WHOLE_LINES.iter().find(|(mark, _, fits)| line.contains(mark) && fits(line)).map(|one| one.1);
    begins.or_else(shell).or_else(whole)
}

/// `ImportError: Error importing plugin "p": No module named 'p'`, `ERROR: …` since pytest 9: the plugin itself is missing, not a module
/// that it imports.
fn is_missing_plugin(line: &str) -> bool {
    let parse = || {
        let said = line.strip_prefix("ImportError: ").or_else(|| line.strip_prefix("ERROR: "))?;
        let (plugin, rest) = said.strip_prefix("Error importing plugin \"")?.split_once('"')?;
        let missing = rest.strip_prefix(": No module named '")?.strip_suffix('\'')?;
        Some(plugin == missing)
    };
    parse().unwrap_or(false)
}

/// `Error: Cannot find module '/w/node_modules/mocha/bin/mocha.js'`: an installed program's own file.
fn is_missing_program(line: &str) -> bool {
    let Some(path) = line.strip_prefix("Error: Cannot find module '") else { return false };
    path.starts_with('/')
        && path
            .split_once("/node_modules/")
            .is_some_and(|(_, inside)| inside.split('/').any(|part| part.ends_with("bin")))
}

/// `ERROR: /w/pytest.ini:1: unexpected line: '[pytest'`.
fn is_pytests_configuration(line: &str) -> bool {
    line.starts_with("ERROR: /")
}

#[cfg(test)]
mod tests;
