//! Starts a child (Windows): finds the program, lays the pipes, hands over the environment.
//!
//! A shell line is one of `sh`, as everywhere, so that one configuration is right on every machine. It is that of Git for Windows, which is
//! looked for on the `PATH` and beside `git`. `bash` in the system's own folder is another system's (WSL) and is never taken.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

pub(super) use super::family::Child;
use super::family::Family;
use super::pipe::{Receiver, receive};
use super::spec::Input;
use super::{ProcessError, Program, Spec};

/// Endings of files that Windows can start by itself. Scripts (`.cmd`) are started by the command interpreter.
const ENDINGS: &str = "exe com cmd bat";
/// Where `sh` lies from a folder that `git` lies in: `cmd`, `bin` or `mingw64/bin` of Git for Windows.
const SHELLS_FROM_GIT: [&str; 4] = ["sh.exe", "../bin/sh.exe", "../usr/bin/sh.exe", "../../bin/sh.exe"];

/// A child that runs.
pub(super) struct Launched {
    /// Its descendants. Declared first, so that they are ended before the handle is dropped.
    pub(super) family: Family,
    /// Its handle.
    pub(super) child: Child,
    /// Standard output, and standard error if merged.
    pub(super) output: Receiver,
    /// Standard error if not merged.
    pub(super) stderr: Option<Receiver>,
    /// Standard input, if there is something to write.
    pub(super) stdin: Option<Input>,
}

/// Starts what `spec` describes.
pub(super) fn launch(spec: &Spec, _keeper: Option<&Path>, talks: bool) -> Result<Launched, ProcessError> {
    start(spec, talks).map_err(|source| ProcessError::Start {
        program: spec.program.to_string(),
        cwd: spec.cwd.clone(),
        source,
    })
}

fn start(spec: &Spec, talks: bool) -> io::Result<Launched> {
    if !std::fs::metadata(&spec.cwd)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "the working directory is not a folder"));
    }
    let mut command = plain(spec)?;
    command.current_dir(&spec.cwd).env_clear().envs(&spec.env);
    command.stdin(if spec.stdin.is_empty() && !talks { Stdio::null() } else { Stdio::piped() });
    let (output, writer) = io::pipe()?;
    let stderr = if spec.merge_stderr {
        command.stderr(writer.try_clone()?);
        None
    } else {
        let (reader, error_writer) = io::pipe()?;
        command.stderr(error_writer);
        Some(reader)
    };
    command.stdout(writer);
    let (output, stderr) = (receive(output)?, stderr.map(receive).transpose()?);
    // The command holds our ends of the pipes' writers, and is gone with this call: else there were no end of file.
    let (family, child) = Family::found(command)?;
    let stdin = child.take_stdin().map(|stdin| Box::new(stdin) as Input);
    Ok(Launched { family, child, output, stderr, stdin })
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts a process")]
fn plain(spec: &Spec) -> io::Result<Command> {
    match &spec.program {
        Program::Shell(line) => {
            let mut command = Command::new(shell(spec)?);
            command.arg("-c").arg(line);
            Ok(command)
        }
        Program::Argv(words) => {
            let (name, arguments) = words
                .split_first()
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
            let mut command = Command::new(locate(name, spec)?);
            command.args(arguments);
            Ok(command)
        }
    }
}

/// The folders in which programs are looked for.
fn search(spec: &Spec) -> Vec<PathBuf> {
    let path = spec.env.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
    std::env::split_paths(path).map(|folder| spec.cwd.join(folder)).collect()
}

/// The shell: `sh` on the `PATH`, else the one that came with the `git` there.
fn shell(spec: &Spec) -> io::Result<PathBuf> {
    let folders = search(spec);
    let on_path = folders.iter().map(|folder| folder.join("sh.exe"));
    let with_git = folders
        .iter()
        .filter(|folder| folder.join("git.exe").is_file())
        .flat_map(|folder| SHELLS_FROM_GIT.map(|shell| folder.join(shell)));
    // The user's own choice comes first. Git for Windows puts only `git` on the `PATH` by default, so that its `sh` is looked for beside
    // it.
    on_path.chain(with_git).find(|path| path.is_file()).ok_or_else(|| {
        let why = "there is no `sh` to run the command with \u{2192} Fix: install Git for Windows, which brings one, or put `sh.exe` on the PATH";
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}

/// The path of a program, as the child's own `PATH` leads to it. Never in the working directory, which is a stranger's.
fn locate(name: &OsStr, spec: &Spec) -> io::Result<PathBuf> {
    let is_path = name.as_encoded_bytes().iter().any(|byte| matches!(byte, b'/' | b'\\'));
    let folders = if is_path { vec![spec.cwd.clone()] } else { search(spec) };
    let candidates = folders.iter().map(|folder| folder.join(name)).flat_map(|path| with_endings(&path));
    candidates
        // The endings are tried per folder, as the system does: a `.cmd` in an early folder wins over an `.exe` in a later one.
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such program in PATH"))
}

/// A program's path as it is named, if that has an ending, and with each ending that a program may have.
fn with_endings(path: &Path) -> Vec<PathBuf> {
    // Without an ending it is no program here: npm leaves a script for `sh` beside `npm.cmd`.
    let named = path.extension().map(|_| path.to_owned());
    let ended = ENDINGS.split_ascii_whitespace().map(|ending| {
        let mut path = path.as_os_str().to_owned();
        path.push(".");
        path.push(ending);
        PathBuf::from(path)
    });
    named.into_iter().chain(ended).collect()
}
