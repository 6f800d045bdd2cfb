//! Result files: a runner that can is told to write its results, beside what it prints, into a file of a name that nobody could
//! know before ([`SecretDir`]). Text that code under test prints is then not enough for a green (`policy::verdict`).
//!
//! How each is told stands in [`crate::framework::table`]. Go is told to print events (`-json`, and behind another command `-v`
//! in `GOFLAGS`, [`go`]): no file and no witness, since a test can print what its framework prints, but they name every test.
//!
//! Told only where that cannot change what the command does: one plain call of the runner, by itself or as a package's script,
//! without reporters, result files or JSON of its own. Anything else runs as it stands.
//!
//! Invariant: what is read was written during this run, under a name that did not exist before it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use testlog::Parser;

use super::command::{Filed, ResultFiles, TestCommand};
use super::filter;
use crate::domain::test_report::RunKind;
use crate::domain::verdict::Exit;
use crate::files;
use crate::framework::calls;
use crate::framework::facts::{Framework, Results, Tell, Written};
use crate::framework::table;
use crate::process::SecretDir;

mod go;
mod runner;
mod script;
#[cfg(test)]
mod tests;

use runner::{LARGEST_CONFIGURATION, called, reports_itself};
use script::Behind;

/// The name of the file in the folder.
const FILE: &str = "results";
/// The most of a result file that is read.
const LONGEST: u64 = 512 * 1024 * 1024;
/// A disk with less room, in bytes, is full for whoever writes: some of it is given back when a run ends.
const LEAST_ROOM: u64 = 4 * 1024 * 1024;
/// The most files of a folder that are read.
const MOST_FILES: usize = 20_000;

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
    /// The disk is full, and there is no folder for the file.
    NoRoom,
    Framed,
    File(SecretDir, &'static Framework, Written),
}

/// Tells the command's runner to write its results, where that is safe.
pub(super) fn tell(command: &TestCommand, line: String) -> Told {
    let (env, how) = (command.env.clone(), How::Nothing);
    let untold = Told { line, env, how };
    // A person may say so where the file is in the way.
    if command.results == ResultFiles::Unwanted {
        return untold;
    }
    let Some(asked) = runner_of(command, &untold.line) else {
        return match go::verbose(command, &untold.line) {
            Some(env) => Told { env, how: How::Framed, ..untold },
            None => untold,
        };
    };
    let (results, written) = (asked.results, asked.results.written);
    if let (Tell::Instead(words, other), Written::Printed) = (results.told, written) {
        return Told { line: untold.line.replacen(words, other, 1), how: How::Framed, ..untold };
    }
    // Without the folder the tests run all the same, with less to prove them.
    let secret_dir = match SecretDir::make(&command.env) {
        Ok(made) => made,
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            return Told { how: How::NoRoom, ..untold };
        }
        Err(_) => return untold,
    };
    match ask(&asked, &secret_dir, &untold) {
        Some((line, env)) => Told { line, env, how: How::File(secret_dir, asked.framework, written) },
        None if is_full(secret_dir.path()) => Told { how: How::NoRoom, ..untold },
        None => untold,
    }
}

/// Where the command's runner always leaves its results, as a glob.
pub(super) fn always_written(command: &TestCommand) -> Option<PathBuf> {
    let by_words = || calls::framework_of(&command.command);
    let framework = command.framework.as_deref().and_then(table::named).or_else(by_words)?;
    let results = framework.results.as_ref().filter(|_| command.results == ResultFiles::Wanted)?;
    results.told.glob().map(PathBuf::from)
}

impl Told {
    /// Reads what the runner wrote.
    pub(super) fn read(&self, exit: Exit) -> Filed {
        let (secret_dir, framework, written) = match &self.how {
            How::Nothing => return Filed::NotAsked,
            How::NoRoom => return Filed::NoRoom,
            How::Framed => return Filed::Framed,
            How::File(secret_dir, framework, written) => (secret_dir, framework, *written),
        };
        let names = match written {
            Written::File | Written::Printed => vec![FILE.to_owned()],
            Written::Named(name) => vec![name.to_owned()],
            // Some runners write one file for each class or process.
            Written::Folder => names_in(secret_dir.path()),
        };
        let mut parser = Parser::new(Some(framework.name));
        let files = names.iter().map(|name| push(&mut parser, secret_dir.open(name)?));
        match files.collect::<std::io::Result<Vec<()>>>() {
            // All of them or none: a part that cannot be read may hold the failures.
            Ok(files) if !files.is_empty() => {
                let report = parser.finish(Some(exit));
                // Half a file is what a full disk leaves.
                let is_half = report.kind == RunKind::Unreadable && is_full(secret_dir.path());
                if is_half { Filed::NoRoom } else { Filed::Report(Box::new(report)) }
            }
            Ok(_) | Err(_) if is_full(secret_dir.path()) => Filed::NoRoom,
            Ok(_) | Err(_) => Filed::Missing,
        }
    }

    /// The output without the lines in which a runner names its result file.
    pub(super) fn without_mention(&self, output: String) -> String {
        let How::File(secret_dir, ..) = &self.how else { return output };
        let name = secret_dir.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !output.contains(&name) {
            return output;
        }
        // The name differs from run to run, and nobody asked for it.
        output.split_inclusive('\n').filter(|line| !line.contains(&name)).collect()
    }
}

/// Whether the disk that a folder lies on has no room for a result file.
fn is_full(folder: &Path) -> bool {
    files::free(folder).is_some_and(|free| free.bytes < LEAST_ROOM || free.files == Some(0))
}

/// The XML files of a folder, in order. They are opened through the folder's handle: a folder in its place holds none of them.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".xml")).take(MOST_FILES).collect();
    names.sort();
    names
}

/// Reads a file to its end, or as far as a result file can be believed to go.
pub(super) fn push(parser: &mut Parser, file: File) -> std::io::Result<()> {
    let (mut reader, mut chunk) = (file.take(LONGEST), vec![0; 64 * 1024]);
    loop {
        let count = reader.read(&mut chunk)?;
        if count == 0 {
            // So that the next file begins on a line of its own.
            parser.push(b"\n");
            return Ok(());
        }
        parser.push(chunk.get(..count).unwrap_or_default());
    }
}

/// A runner that is to be told.
struct Asked {
    framework: &'static Framework,
    results: &'static Results,
    behind: Behind,
}

/// Whether a configuration file of the folder reports in a way of the framework's own.
fn is_configured_otherwise(framework: &Framework, folder: &Path) -> bool {
    if framework.configured_in.is_empty() {
        return false;
    }
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_configuration = |name: &OsStr| {
        name.to_str().is_some_and(|name| framework.configured_in.iter().any(|start| name.starts_with(start)))
    };
    entries.filter(|entry| is_configuration(&entry.file_name())).any(|entry| names_a_way(framework, &entry.path()))
}

fn names_a_way(framework: &Framework, path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    // One that cannot be looked at may say anything, and then the runner is left alone.
    if !metadata.is_file() || metadata.len() > LARGEST_CONFIGURATION {
        return true;
    }
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    reports_itself(framework, &text)
}

/// The one runner that a plain command calls, and the line that calls it: the command, or the script of its package.
pub(super) fn plain_call(command: &TestCommand) -> Option<(&'static Framework, String)> {
    let line = &command.command;
    if !filter::is_plain(line) {
        return None;
    }
    called(line).map(|framework| (framework, line.clone())).or_else(|| {
        let (framework, _, script) = script::called(&command.cwd, line)?;
        Some((framework, script))
    })
}

/// The one runner that a plain command calls, where it can be told: by its words, as the script of its package, or, where it is a program
/// of any name, by its configuration.
fn runner_of(command: &TestCommand, line: &str) -> Option<Asked> {
    if !filter::is_plain(line) {
        return None;
    }
    let by_script = || script::called(&command.cwd, line).map(|(framework, behind, _)| (framework, behind));
    let by_words = called(line).map(|framework| (framework, Behind::Command)).or_else(by_script);
    let (framework, behind) =
        by_words.or_else(|| built(command, line).map(|framework| (framework, Behind::Command)))?;
    let results = framework.results.as_ref()?;
    let given = |name: &str| command.env.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
    // Whoever has set it wants the results elsewhere, and the runner takes one place.
    let told_already = match results.told {
        Tell::Options(name, _) => given(name).is_some_and(|value| reports_itself(framework, &value)),
        Tell::Variable(name, _) | Tell::VariableAndBehind((name, _), _) => given(name).is_some(),
        Tell::Instead(words, _) => !line.contains(words),
        Tell::Always(_) => true,
        Tell::Behind(_) => false,
    };
    let is_settled = told_already
        || reports_itself(framework, line)
        // A configured file of the same form would be written twice, or into the wrong place.
        || (command.junit.is_some() && reports_itself(framework, "junit"))
        || is_configured_otherwise(framework, &command.cwd);
    (!is_settled).then_some(Asked { framework, results, behind })
}

/// The configured framework of programs of any name, where the command is one such program, by its path. Behind a build it could be called
/// to list its tests, which it would write into the same file.
fn built(command: &TestCommand, line: &str) -> Option<&'static Framework> {
    let framework = table::built(command.framework.as_deref()?)?;
    let by_path = line.split_whitespace().next().is_some_and(|program| program.contains('/'));
    (by_path && !line.contains("&&")).then_some(framework)
}

/// The command and the environment by which a runner is told.
fn ask(asked: &Asked, secret_dir: &SecretDir, told: &Told) -> Option<(String, BTreeMap<OsString, OsString>)> {
    let folder = secret_dir.path().to_str().filter(|path| path.bytes().all(is_plain_byte))?;
    let filled = |text: &str| {
        let put = asked.results.put.map_or(String::new(), |(name, _)| format!("{folder}/{name}"));
        text.replace("{file}", &format!("{folder}/{FILE}")).replace("{folder}", folder).replace("{put}", &put)
    };
    if let Some((name, text)) = asked.results.put {
        secret_dir.put(name, &filled(text)).ok()?;
    }
    let (mut line, mut env) = (told.line.trim_end().to_owned(), told.env.clone());
    match asked.results.told {
        Tell::Options(name, options) => {
            // Options that the caller has set stay in front of ours.
            let before = env.get(OsStr::new(name)).map(|value| format!("{} ", value.to_string_lossy()));
            env.insert(name.into(), (before.unwrap_or_default() + &filled(options)).into());
        }
        Tell::Variable(name, value) | Tell::VariableAndBehind((name, value), _) => {
            env.insert(name.into(), filled(value).into());
        }
        Tell::Instead(words, other) => line = line.replacen(words, &filled(other), 1),
        Tell::Behind(_) | Tell::Always(_) => {}
    }
    if let Some(options) = asked.results.told.options_behind() {
        // Behind `--` stand the runner's own arguments, which an option is not.
        if line.split_whitespace().any(|word| word == "--") {
            return None;
        }
        // npm hands on only what stands behind `--`.
        line.push_str(if asked.behind == Behind::Dashes { " -- " } else { " " });
        line.push_str(&filled(options));
    }
    Some((line, env))
}

/// Whether a byte needs no quotes, neither for the shell nor in a variable of options.
const fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
}
