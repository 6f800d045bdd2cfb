//! Rust's tests called by a program of the same crate: an example that cargo builds, and that runs without cargo.

use std::path::{Path, PathBuf};

use super::{Outcome, Surroundings, carry_out};
use crate::domain::stop::Stop;
use crate::process::{ProcessError, SecretDir};
use crate::test_run::{TestCommand, filter};

/// Options of `cargo test` that `cargo rustc` takes too, without a value.
const FLAGS: [&str; 6] = ["--offline", "--locked", "--frozen", "--release", "--all-features", "--no-default-features"];
/// Options with a value.
const OPTIONS: [&str; 3] = ["--features", "-F", "--profile"];
/// Options with which a build lies somewhere else, or other tests are run than functions.
const ELSEWHERE: [&str; 5] = ["--target", "--target-dir", "--doc", "--config", "-Z"];

/// A program that calls tests, as it is built.
#[derive(Debug)]
pub struct Built<'a> {
    /// Its name, which nobody can know beforehand.
    pub word: &'a str,
    /// The package, by its name.
    pub package: &'a str,
    /// The package's folder, from the root of the checkout.
    pub folder: &'a Path,
    /// The folder that holds the build, from the root of the checkout.
    pub workspace: &'a Path,
    /// The root of the checkout.
    pub root: &'a Path,
}

/// Whether a command is one plain call of cargo's tests.
#[must_use]
pub fn can_call(command: &TestCommand) -> bool {
    options(&command.command).is_some()
}

/// The toolchain in front of cargo's command (`+nightly`), and the options that a build takes too.
fn options(line: &str) -> Option<(String, Vec<String>)> {
    // Behind another command the build could lie anywhere.
    if !filter::is_plain(line) || line.contains("&&") {
        return None;
    }
    let mut words = line.split_whitespace();
    (words.next()? == "cargo").then_some(())?;
    let mut toolchain = String::new();
    let mut verb = words.next()?;
    if verb.starts_with('+') {
        toolchain = format!(" {verb}");
        verb = words.next()?;
    }
    match verb {
        "test" | "t" => {}
        "nextest" => (words.next()? == "run").then_some(())?,
        _ => return None,
    }
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        // The words behind it are for the tests' own program.
        if word == "--" {
            break;
        } else if ELSEWHERE.contains(&name) {
            return None;
        } else if FLAGS.contains(&word) || OPTIONS.contains(&name) && word.contains('=') {
            kept.push(word.to_owned());
        } else if OPTIONS.contains(&word) {
            kept.push(word.to_owned());
            kept.push(words.next()?.to_owned());
        }
    }
    Some((toolchain, kept))
}

/// The text of the program's entry: it calls tests by their paths in the crate, which stand in `files`, and writes what became of them.
#[must_use]
pub fn entry(word: &str, files: &[String], results: &Path, calls: &[(usize, String)]) -> String {
    let calls: Vec<String> =
        // A closure for each, so that one that panics does not take the others with it.
        calls.iter().map(|(at, path)| format!("({at}, || {word}_calls::Ended::ended({path}()))")).collect();
    include_str!("main.rs.txt")
        .replace("WORD", word)
        .replace("FILE_NAMES", &format!("{files:?}").replace(['[', ']'], ""))
        .replace("RESULTS", &results.display().to_string())
        .replace("CALLS", &calls.join(", "))
}

/// A private folder for what a program writes, and the path of that file.
#[must_use]
pub fn secret_dir(command: &TestCommand) -> Option<(SecretDir, PathBuf)> {
    let secret_dir = SecretDir::make(&command.env).ok()?;
    let results = secret_dir.path().join("results");
    Some((secret_dir, results))
}

/// Builds a program and runs it. `None` where that does not come to an end with results.
///
/// # Errors
/// When it cannot be started.
pub async fn call(
    command: &TestCommand,
    built: &Built<'_>,
    secret_dir: &SecretDir,
    surroundings: Surroundings,
    stop: &Stop,
) -> Result<Option<Vec<Outcome>>, ProcessError> {
    let Some(line) = line(command, built, surroundings) else { return Ok(None) };
    carry_out(command, secret_dir, line, surroundings, stop).await
}

fn line(command: &TestCommand, built: &Built<'_>, surroundings: Surroundings) -> Option<String> {
    let (toolchain, options) = options(&command.command)?;
    let target = command.env.get(std::ffi::OsStr::new("CARGO_TARGET_DIR"));
    // As cargo takes it: the variable from where it is called, else `target` of the workspace.
    let target =
        target.map_or_else(|| built.root.join(built.workspace).join("target"), |folder| command.cwd.join(folder));
    let profile = profile(&options)?;
    let program = target.join(profile).join("examples").join(built.word);
    let folder = built.root.join(built.folder);
    let quoted = |path: &Path| -> Option<String> {
        let path = path.to_str()?;
        // Between single quotes the shell takes every other character as it is.
        (!path.contains('\'')).then(|| format!("'{path}'"))
    };
    let other = match surroundings {
        Surroundings::Same => String::new(),
        // What only a debug build does right.
        Surroundings::Other => ["debug-assertions", "overflow-checks"]
            .map(|check| format!(" --config 'profile.dev.package.\"{}\".{check}=false'", built.package))
            .concat(),
    };
    // Run without cargo, so that no variable and no parent of cargo's tells the program that it is tested.
    Some(format!(
        "cargo{toolchain} rustc -q -p {package} --example {word} {options}{other} -- --cfg {word} && cd {folder} && exec {program}",
        package = built.package,
        word = built.word,
        options = options.join(" "),
        folder = quoted(&folder)?,
        program = quoted(&program)?,
    ))
}

/// The folder of a profile's builds.
fn profile(options: &[String]) -> Option<String> {
    let named = options.iter().position(|option| option.starts_with("--profile"));
    match named {
        Some(at) => {
            let option = options.get(at)?;
            let name = option
                .split_once('=')
                .map_or_else(|| options.get(at + 1).map(String::as_str), |(_, name)| Some(name))?;
            // Both are built into `debug`. Others have folders of their own names.
            Some(if matches!(name, "dev" | "test") { "debug".to_owned() } else { name.to_owned() })
        }
        None if options.iter().any(|option| option == "--release") => Some("release".to_owned()),
        None => Some("debug".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_takes_what_concerns_it_of_the_commands_options() {
        for (line, expected) in [
            ("cargo test --offline", Some((" ", "--offline"))),
            (
                "cargo +nightly test --workspace --features a,b --lib adds -- --nocapture",
                Some((" +nightly", "--features a,b")),
            ),
            ("cargo nextest run --release -F x --no-fail-fast", Some((" ", "--release -F x"))),
            ("cargo test --target x86_64-unknown-linux-musl", None),
            ("cargo test --doc", None),
            ("make test", None),
            ("cargo test && ls", None),
            ("cargo build", None),
        ] {
            let found = options(line).map(|(toolchain, options)| (toolchain, options.join(" ")));
            let expected = expected.map(|(toolchain, options)| (toolchain.trim_end().to_owned(), options.to_owned()));
            assert_eq!(found, expected, "{line}");
        }
    }
}
