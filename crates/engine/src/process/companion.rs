//! A program that is run beside us and has our terminal, as it is asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::PipeWriter;
use std::path::PathBuf;
use std::time::Duration;

/// A program to be run beside us.
#[derive(Debug)]
pub struct Companion {
    /// The program and its arguments. A name without `/` is looked up in the `PATH` of `env`.
    pub command: Vec<OsString>,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of it.
    pub env: BTreeMap<OsString, OsString>,
    /// The program of this process, which becomes the keeper (Linux). Without one a kill of this process leaves the program alive.
    pub keeper: Option<PathBuf>,
    /// Where its standard output goes. `None` is where ours goes.
    pub output: Option<PipeWriter>,
    /// Where its standard error goes. `None` is where ours goes.
    pub errors: Option<PipeWriter>,
    /// How long it may take to end once it was told, before it is killed.
    pub grace: Duration,
    /// The same where its time is up. `None` is as long as for a signal.
    pub last_grace: Option<Duration>,
}

/// Has the kernel end this process in its own way (SIGTERM) when the one that started it is gone (Linux). Elsewhere nobody tells.
///
/// # Errors
/// When the kernel refuses.
#[cfg(target_os = "linux")]
pub fn end_with_parent() -> std::io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?)
}

/// The same where nobody tells: nothing.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn end_with_parent() -> std::io::Result<()> {
    Ok(())
}

/// Whether the process of this id, which started this one, is gone.
#[cfg(unix)]
#[must_use]
pub fn is_orphan_of(parent: u32) -> bool {
    std::os::unix::process::parent_id() != parent
}

/// The same where nobody can be asked.
#[cfg(not(unix))]
#[must_use]
pub fn is_orphan_of(_parent: u32) -> bool {
    false
}

/// The name of this machine, as people know it; nothing where it does not say.
#[cfg(unix)]
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The same where it is not asked.
#[cfg(not(unix))]
#[must_use]
pub fn host_name() -> String {
    String::new()
}

/// The time that an agent needs to write down its session when it is ended (claude: 1.6 s).
pub const GRACE: Duration = Duration::from_secs(3);
