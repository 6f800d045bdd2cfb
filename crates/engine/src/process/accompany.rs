//! A program that has our standard input, output and terminal, and runs until it ends, or is ended (Unix).
//!
//! Owns its life alone: nothing of its output is read. Where standard input is a terminal it stays in our process group, since only the
//! group in the foreground may read from there. Elsewhere it gets one of its own. Its descendants are found either way.
//!
//! On Linux a keeper stands between: upshift started once more, which is told by the kernel when we die, whatever killed us, and ends
//! the program then (`keep`).
//!
//! Invariant: when [`accompany`] returns, or its future is dropped, or this process is killed, no descendant of the program goes on living
//! (Linux). Elsewhere the process group is ended, and nobody is left to do it after a kill.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Child;

use super::companion::Companion;
use super::confine::Confinement;
use super::family::{Family, Growth};
pub(super) use super::launch::KEEPER;
use super::launch::plain;
use super::pipe::exit_of;
use super::{ProcessError, Program, Spec};
use crate::domain::stop::{SIGKILL, Stop, StopCause};
use crate::domain::verdict::Exit;

/// How much longer its keeper may take: it kills the program after the grace and waits until it is gone.
#[cfg(target_os = "linux")]
const KEEPERS_GRACE: Duration = Duration::from_secs(2);
/// How often orphans are reaped and the tree's size is looked at.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// How long the killed program may take to vanish.
const KILL_WAIT: Duration = Duration::from_secs(1);
const SIGTERM: i32 = 15;
/// Runs a program to its end. A raised `stop` passes its signal on (SIGTERM where it is none), and kills after a grace what is left.
///
/// # Errors
/// [`ProcessError`]. A non-zero exit and a signal are no errors.
pub async fn accompany(companion: &Companion, stop: &Stop) -> Result<Exit, ProcessError> {
    let program = Program::Argv(companion.command.clone());
    let (shown, cwd) = (program.to_string(), companion.cwd.clone());
    let started = start(companion, program);
    let (family, child) = started.map_err(|source| ProcessError::Start { program: shown.clone(), cwd, source })?;
    let keepers = if keeper_of(companion).is_some() { keepers_grace() } else { Duration::ZERO };
    let grace = companion.grace + keepers;
    // Not longer for the sake of a keeper, which waits for as long as after a signal: it is killed with what it keeps.
    let patience = Patience { grace, last: companion.last_grace.unwrap_or(grace) };
    let ended = supervise(family, child, stop, patience).await;
    ended.map_err(|source| ProcessError::Io { program: shown, source })
}

#[cfg(target_os = "linux")]
fn keeper_of(companion: &Companion) -> Option<&PathBuf> {
    companion.keeper.as_ref()
}

#[cfg(target_os = "linux")]
const fn keepers_grace() -> Duration {
    KEEPERS_GRACE
}

/// Only Linux tells a process of its parent's death.
#[cfg(not(target_os = "linux"))]
fn keeper_of(_companion: &Companion) -> Option<&PathBuf> {
    None
}

#[cfg(not(target_os = "linux"))]
const fn keepers_grace() -> Duration {
    Duration::ZERO
}

fn start(companion: &Companion, program: Program) -> io::Result<(Family, Child)> {
    let spec = spec(program, companion.cwd.clone(), companion.env.clone());
    // Looked up here in any case, so that a program which is not there is told of by us.
    let mut command = plain(&spec)?;
    if let Some(keeper) = keeper_of(companion) {
        let program = command.get_program().to_owned();
        let mut words =
            vec![keeper.clone().into_os_string(), KEEPER.into(), std::process::id().to_string().into(), program];
        words.extend(companion.command.iter().cloned());
        command = plain(&self::spec(Program::Argv(words), companion.cwd.clone(), companion.env.clone()))?;
    }
    // Set only now, since the keeper's command is a new one, and the keeper hands its own environment on to the program.
    command.current_dir(&spec.cwd).env_clear().envs(&spec.env);
    if let Some(output) = &companion.output {
        command.stdout(output.try_clone()?);
    }
    if let Some(errors) = &companion.errors {
        command.stderr(errors.try_clone()?);
    }
    // A background group that reads from the terminal is stopped by SIGTTIN, and would never go on.
    if !io::stdin().is_terminal() {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    spawn(command, |spawn| Family::found(None, false, spawn))
}

fn spec(program: Program, cwd: PathBuf, env: BTreeMap<OsString, OsString>) -> Spec {
    Spec {
        program,
        cwd,
        env,
        stdin: Vec::new(),
        timeout: Duration::MAX,
        keep: 0,
        merge_stderr: false,
        memory_mb: None,
        confinement: Confinement::None,
    }
}

/// Starts a child, and what starts it.
type Founded = io::Result<(Family, Child)>;
type Spawn<'s> = &'s mut dyn FnMut() -> io::Result<(Child, Option<u32>)>;

fn spawn(command: std::process::Command, found: impl FnOnce(Spawn<'_>) -> Founded) -> Founded {
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    found(&mut || {
        let child = command.spawn()?;
        let id = child.id();
        Ok((child, id))
    })
}

/// How long what was told to end may go on.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// After a signal, and when it is asked.
    grace: Duration,
    /// When its time is up.
    last: Duration,
}

async fn supervise(mut family: Family, mut child: Child, stop: &Stop, patience: Patience) -> io::Result<Exit> {
    let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status?),
            cause = stop.wait() => break end(&family, &mut child, cause, patience).await?,
            _ = housekeeping.tick() => {
                if family.keep_house() == Growth::Bomb {
                    // The loop goes on: the killed child is waited for in the first arm as any other.
                    family.kill_once();
                }
            }
        }
    };
    // Before anything is killed, since the process id of a child that was waited for may be a stranger's by now.
    family.head_reaped();
    family.extinguish().await;
    Ok(status.map_or(Exit::Signal { signal: SIGKILL }, exit_of))
}

/// Tells it to end, and kills what does not.
async fn end(
    family: &Family,
    child: &mut Child,
    cause: StopCause,
    patience: Patience,
) -> io::Result<Option<std::process::ExitStatus>> {
    let (signal, grace) = match cause {
        StopCause::Signal(signal) => (signal, patience.grace),
        StopCause::Asked => (SIGTERM, patience.grace),
        StopCause::TimeUp | StopCause::OwnTime(_) => (SIGTERM, patience.last),
    };
    family.pass_on(signal);
    if let Ok(status) = tokio::time::timeout(grace, child.wait()).await {
        return status.map(Some);
    }
    family.kill_once();
    // It may be gone by now, which is what was wanted.
    drop(child.start_kill());
    // A process in an uninterruptible call of the kernel outlives even SIGKILL for a while, so that the wait has an end.
    tokio::time::timeout(KILL_WAIT, child.wait()).await.map_or(Ok(None), |status| status.map(Some))
}

/// Acts as the keeper of a program: runs it to its end, and ends it at once when the process that it is kept for is gone.
#[cfg(target_os = "linux")]
pub(super) fn keep(arguments: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    keeper::act(arguments)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_arguments: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod keeper {
    use std::ffi::OsString;
    use std::io::{self, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::ExitCode;

    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    use tokio::signal::unix::{SignalKind, signal};

    use super::{Exit, Family, Patience, StopCause, spawn, supervise};
    use crate::domain::outcome::{EXIT_INTERNAL, EXIT_SIGNAL_BASE};
    use crate::domain::stop::StopSource;
    use crate::process::companion::GRACE;

    /// The exit code of a shell for a command that cannot be executed.
    const CANNOT_EXECUTE: u8 = 126;

    pub(super) fn act(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
        // No process has the number 0: a word that is no number makes us an orphan, which starts nothing.
        let kept_for = arguments.next().and_then(|word| word.to_str()?.parse::<i32>().ok()).unwrap_or(0);
        let (Some(program), Some(name)) = (arguments.next(), arguments.next()) else {
            return fail(&io::Error::from(io::ErrorKind::InvalidInput));
        };
        #[expect(clippy::disallowed_methods, reason = "starts the program that `accompany` was asked to start")]
        let mut command = std::process::Command::new(program);
        command.arg0(name).args(arguments);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime.and_then(|runtime| runtime.block_on(stand_by(command, kept_for))) {
            Ok(Exit::Code { code }) => ExitCode::from(u8::try_from(code).unwrap_or(EXIT_INTERNAL)),
            // As a shell tells it, 128 and the signal's number, so that the one that waits for us reads the same from both.
            Ok(Exit::Signal { signal }) => {
                ExitCode::from(u8::try_from(signal).map_or(EXIT_INTERNAL, |n| EXIT_SIGNAL_BASE.saturating_add(n)))
            }
            Ok(_) => ExitCode::from(EXIT_INTERNAL),
            Err(error) => fail(&error),
        }
    }

    async fn stand_by(command: std::process::Command, kept_for: i32) -> io::Result<Exit> {
        // Compared with the number that we were given: an orphan goes to the nearest subreaper, which need not be process 1.
        let is_orphan = move || getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != kept_for);
        let (source, stop) = StopSource::new();
        let (orphaned, is_over) = StopSource::new();
        let (source, orphaned) = (std::sync::Arc::new(source), std::sync::Arc::new(orphaned));
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            let (mut signals, source, orphaned) = (signal(kind)?, source.clone(), orphaned.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    // The kernel's word of our parent's death is a SIGTERM like any other: only the changed parent tells them apart.
                    if is_orphan() {
                        orphaned.raise(StopCause::TimeUp);
                    } else if kind == SignalKind::terminate() {
                        // Others it has got beside us, and judges for itself; whoever wants its end sends this one, or waits.
                        source.raise(StopCause::Signal(kind.as_raw_value()));
                    }
                }
            });
        }
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // Who died before the line above is never told of.
        if is_orphan() {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let (family, child) = spawn(command, |spawn| Family::kept(spawn))?;
        tokio::select! {
            ended = supervise(family, child, &stop, Patience { grace: GRACE, last: GRACE }) => ended,
            // Dropping the other ends them all.
            // At once, without a grace: the one that asked for the program is gone.
            _ = is_over.wait() => Ok(Exit::Signal { signal: super::SIGTERM }),
        }
    }

    fn fail(error: &io::Error) -> ExitCode {
        // Nobody may be left who has the other end, and there is no other place to say it.
        let _closed = writeln!(io::stderr().lock(), "upshift: not started: {error}");
        ExitCode::from(CANNOT_EXECUTE)
    }
}
