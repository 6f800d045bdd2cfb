//! A program that has our standard input, output and terminal, and runs until it ends, or is ended (Unix).
//!
//! Owns its life alone: nothing of what it says is read. Where standard input is a terminal it stays in our process group, since only
//! the group in the foreground may read from there; else it gets one of its own. Its descendants are found either way.
//!
//! Invariant: when [`accompany`] returns, or its future is dropped, no descendant of the program goes on living (Linux; elsewhere its
//! process group).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Child;

use super::confine::Confinement;
use super::family::{Family, Growth};
use super::launch::plain;
use super::pipe::exit_of;
use super::{ProcessError, Program, Spec};
use crate::domain::stop::{SIGKILL, Stop, StopCause};
use crate::domain::verdict::Exit;

/// How long it may take to end once it was told: what an agent needs to write down its session (claude: 1.6 s).
const GRACE: Duration = Duration::from_secs(3);
/// How often orphans are reaped and the tree's size is looked at.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// How long the killed program may take to vanish.
const KILL_WAIT: Duration = Duration::from_secs(1);
const SIGTERM: i32 = 15;

/// A program to be run beside us.
#[derive(Debug, Clone)]
pub struct Companion {
    /// The program and its arguments; a name without `/` is looked up in the `PATH` of `env`.
    pub command: Vec<OsString>,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of it.
    pub env: BTreeMap<OsString, OsString>,
}

/// Runs a program to its end. A raised `stop` passes its signal on (SIGTERM where it is none), and kills after a grace what is left.
///
/// # Errors
/// [`ProcessError`]; a non-zero exit and a signal are no errors.
pub async fn accompany(companion: &Companion, stop: &Stop) -> Result<Exit, ProcessError> {
    let program = Program::Argv(companion.command.clone());
    let (shown, cwd) = (program.to_string(), companion.cwd.clone());
    let (family, child) =
        start(companion, program).map_err(|source| ProcessError::Start { program: shown.clone(), cwd, source })?;
    supervise(family, child, stop).await.map_err(|source| ProcessError::Io { program: shown, source })
}

fn start(companion: &Companion, program: Program) -> io::Result<(Family, Child)> {
    let spec = Spec {
        program,
        cwd: companion.cwd.clone(),
        env: companion.env.clone(),
        stdin: Vec::new(),
        timeout: Duration::MAX,
        keep: 0,
        merge_stderr: false,
        memory_mb: None,
        confinement: Confinement::None,
    };
    let mut command = plain(&spec)?;
    command.current_dir(&spec.cwd).env_clear().envs(&spec.env);
    if !io::stdin().is_terminal() {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    Family::found(None, || {
        let child = command.spawn()?;
        let id = child.id();
        Ok((child, id))
    })
}

async fn supervise(mut family: Family, mut child: Child, stop: &Stop) -> io::Result<Exit> {
    let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status?),
            cause = stop.wait() => break end(&family, &mut child, cause).await?,
            _ = housekeeping.tick() => {
                if family.keep_house() == Growth::Bomb {
                    family.kill_once();
                }
            }
        }
    };
    family.head_reaped();
    family.extinguish().await;
    Ok(status.map_or(Exit::Signal { signal: SIGKILL }, exit_of))
}

/// Tells it to end, and kills what does not.
async fn end(family: &Family, child: &mut Child, cause: StopCause) -> io::Result<Option<std::process::ExitStatus>> {
    let signal = match cause {
        StopCause::Signal(signal) => signal,
        StopCause::TimeUp | StopCause::Asked => SIGTERM,
    };
    family.pass_on(signal);
    if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
        return status.map(Some);
    }
    family.kill_once();
    // It may be gone by now, which is what was wanted.
    drop(child.start_kill());
    tokio::time::timeout(KILL_WAIT, child.wait()).await.map_or(Ok(None), |status| status.map(Some))
}
