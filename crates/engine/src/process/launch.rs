//! Starts a child (Unix): finds the program, lays the pipes, hands over the environment.
//!
//! Invariant: nothing here needs code between fork and exec, so that the standard library can start the child without copying
//! our page tables.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Child;

use super::family::Family;
use super::pipe::{Receiver, receive};
use super::spec::Input;
use super::{Confinement, ProcessError, Program, Spec};

/// The folders where programs are looked for when the environment names no `PATH`. Most systems' `execvp` takes them.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The first argument that makes upshift the keeper. The process it keeps for follows, and the program with its own name and arguments.
pub(super) const KEEPER: &str = "__kept";

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

/// Starts the program that `spec` describes. With a `keeper`, the program of this process, it is ended also when this process is killed
/// (Linux). Where it `talks`, its input stays open.
pub(super) fn launch(spec: &Spec, keeper: Option<&Path>, talks: bool) -> Result<Launched, ProcessError> {
    start(spec, keeper, talks).map_err(|source| ProcessError::Start {
        program: spec.program.to_string(),
        cwd: spec.cwd.clone(),
        source,
    })
}

fn start(spec: &Spec, keeper: Option<&Path>, talks: bool) -> io::Result<Launched> {
    // Asked beforehand, since a failed start does not tell a missing folder from a missing program.
    if !std::fs::metadata(&spec.cwd)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "the working directory is not a folder"));
    }
    // The short way has no process in between that could be a keeper, and no line to talk over.
    if let Some(launched) = Some(spec).filter(|_| keeper.is_none() && !talks).and_then(straight) {
        return Ok(launched);
    }
    let (mut command, door, line) = confined(spec, talks)?;
    if let Some(keeper) = keeper {
        command = kept(keeper, &command);
    }
    command.stdin(match door {
        Some(door) => door,
        // Never ours: a test that asks for something would read from the terminal and hang.
        None if spec.stdin.is_empty() && !talks => Stdio::null(),
        None => Stdio::piped(),
    });
    let (output, stderr) = wire(&mut command, spec)?;
    let (family, mut child) = found(spec, command, tokio::process::Command::spawn)?;
    let pipe = child.stdin.take().map(|pipe| Box::new(pipe) as Input);
    let line = line.map(tokio::net::UnixStream::from_std).transpose()?.map(|line| Box::new(line) as Input);
    let stdin = pipe.or(line);
    Ok(Launched { family, child, output, stderr, stdin })
}

/// Starts a shell whose confinement needs no helper; `None` where it needs one, or was not started for whatever reason.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn straight(spec: &Spec) -> Option<Launched> {
    let Confinement::Within(bounds) = &spec.confinement else { return None };
    let Program::Shell(line) = &spec.program else { return None };
    let direct = bounds.direct().filter(|_| spec.stdin.is_empty())?;
    // The shell reads one line from the gate first, so that no line of the repository runs before the limits hold.
    let waiting = super::confine::Direct::line(line, &spec.env)?;
    let launch = || -> io::Result<Launched> {
        let (gate, mut opener) = io::pipe()?;
        let mut command = shell(&waiting);
        command.stdin(gate);
        let (output, stderr) = wire(&mut command, spec)?;
        let (family, child) = found(spec, command, |command| direct.start(command))?;
        // It is bounded and branded now. One that was killed meanwhile reads nothing any more.
        io::Write::write_all(&mut opener, b"\n").unwrap_or_default();
        Ok(Launched { family, child, output, stderr, stdin: None })
    };
    // The helper does the same, so that a failure here costs time alone.
    launch().inspect_err(|error| tracing::debug!("started through the helper: {error}")).ok()
}

/// Nothing is confined here.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
const fn straight(_spec: &Spec) -> Option<Launched> {
    None
}

/// Gives a command its folder, its environment and its output; what is printed is received at the other ends.
fn wire(command: &mut std::process::Command, spec: &Spec) -> io::Result<(Receiver, Option<Receiver>)> {
    command.current_dir(&spec.cwd).env_clear().envs(&spec.env).process_group(0);
    let (output, writer) = io::pipe()?;
    let stderr = if spec.merge_stderr {
        // One pipe for both keeps the order in which lines were printed, which two readers could not restore.
        command.stderr(writer.try_clone()?);
        None
    } else {
        let (reader, error_writer) = io::pipe()?;
        command.stderr(error_writer);
        Some(reader)
    };
    command.stdout(writer);
    Ok((receive(output)?, stderr.map(receive).transpose()?))
}

/// Starts a command as the head of a family.
fn found(
    spec: &Spec,
    command: std::process::Command,
    start: impl FnOnce(&mut tokio::process::Command) -> io::Result<Child>,
) -> io::Result<(Family, Child)> {
    // The command holds our ends of the pipes' writers, and goes with this function: as long as it lives there is no end of file.
    let mut command = tokio::process::Command::from(command);
    // The family ends the descendants, and this the child itself where its future is dropped.
    command.kill_on_drop(true);
    #[cfg(target_os = "linux")]
    let bound = super::memory::bound_together(spec);
    #[cfg(not(target_os = "linux"))]
    let bound = None;
    let warded = matches!(spec.confinement, Confinement::Within(_));
    Family::found(bound, warded, || {
        let child = start(&mut command)?;
        let id = child.id();
        Ok((child, id))
    })
}

/// A command behind a keeper that ends it when this process is gone. The command itself where nobody can be told of that.
fn kept(keeper: &Path, command: &std::process::Command) -> std::process::Command {
    let kept_for = std::process::id().to_string();
    let program = command.get_program();
    #[expect(clippy::disallowed_methods, reason = "part of the one place that starts a process")]
    let mut kept = std::process::Command::new(if cfg!(target_os = "linux") { keeper.as_os_str() } else { program });
    if cfg!(target_os = "linux") {
        // Twice: the file to start, and the name under which it is started.
        kept.arg(KEEPER).arg(kept_for).arg(program).arg(program);
    }
    kept.args(command.get_args());
    kept
}

/// A command, its way into its room, and the line to it where it is spoken to by that way.
type Started = (std::process::Command, Option<Stdio>, Option<UnixStream>);

/// The command as it is really started. A confinement puts its helper before the program here.
fn confined(spec: &Spec, talks: bool) -> io::Result<Started> {
    let plain = plain(spec)?;
    let Confinement::Within(bounds) = &spec.confinement else { return Ok((plain, None, None)) };
    let (door, line) = match (talks, spec.stdin.is_empty()) {
        (true, _) => bounds.door_with_line().map_or((None, None), |(door, line)| (Some(door), Some(line))),
        (false, true) => (bounds.door(), None),
        (false, false) => (None, None),
    };
    if let Some(line) = &line {
        line.set_nonblocking(true)?;
    }
    let name = match &spec.program {
        // The helper becomes the program under this name: the path that it is found by may look different.
        Program::Shell(_) => OsStr::new("sh"),
        Program::Argv(words) => words.first().map_or(plain.get_program(), OsString::as_os_str),
    };
    Ok((bounds.around(&plain, name, door.as_ref()), door, line))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts a process")]
pub(super) fn plain(spec: &Spec) -> io::Result<std::process::Command> {
    match &spec.program {
        Program::Shell(line) => Ok(shell(line)),
        Program::Argv(words) => {
            let (name, arguments) = words
                .split_first()
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
            let mut command = std::process::Command::new(locate(name, spec)?);
            command.arg0(name).args(arguments);
            Ok(command)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "part of the one place that starts a process")]
fn shell(line: &str) -> std::process::Command {
    let mut command = std::process::Command::new("/bin/sh");
    command.arg0("sh").arg("-c").arg(line);
    command
}

/// The path of a program, as the child's own `PATH` leads to it.
///
/// Looked up here because the standard library falls back to a slow fork when `PATH` is among the variables it is given.
fn locate(name: &OsStr, spec: &Spec) -> io::Result<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        // As `execvp` does, with the child's folder, not ours. An absolute name replaces the folder.
        return Ok(spec.cwd.join(name));
    }
    let search = spec.env.get(OsStr::new("PATH")).cloned().unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    std::env::split_paths(&search)
        .map(|folder| spec.cwd.join(folder).join(name))
        .find(|path| is_executable(path))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such program in PATH"))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
