//! The end of what runs in a sandbox where this process was killed (Linux): nobody who is gone can end it.
//!
//! A shell that is no child of ours waits at a pipe for its other end to close. It knows the brands of what runs now and, where there are
//! any, becomes upshift once more, which kills their processes. So a run that is continued has the tree for itself.
//!
//! Invariant: the shell gets no environment and no output of ours, and ends with us.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::brand::Brand;
use super::process_table::{processes, take_orphans};

/// The first argument that makes upshift the one that kills. Brands follow.
pub(super) const WORD: &str = "__end";
/// The shell's lines. Each line that it reads names all that runs; the last one counts. Signals of a terminal are not for it. In the
/// background its input would be empty, so that it is handed over by another number.
const WAITS: &str = r#"trap '' HUP INT TERM; exec 3<&0; (while read -r line; do brands=$line; done; [ -z "$brands" ] || exec "$0" __end $brands) <&3 &"#;
/// How long the killed may take to vanish.
const LIMIT: Duration = Duration::from_secs(2);
/// The pause between two rounds: a process may fork between a look and the signal.
const PAUSE: Duration = Duration::from_millis(10);

/// The pipe's end that is ours; nothing where the shell could not be started.
static LINE: OnceLock<Option<Mutex<PipeWriter>>> = OnceLock::new();

/// Has the warden know what runs from now on. Started at the first call.
pub(super) fn tell(brands: impl Iterator<Item = Brand>) {
    let Some(line) =
        LINE.get_or_init(|| start().inspect_err(|error| tracing::debug!("no warden: {error}")).ok().map(Mutex::new))
    else {
        return;
    };
    let mut names: String = brands.map(|brand| format!("{} ", brand.number())).collect();
    names.push('\n');
    // A warden that was killed is no reason to end.
    line.lock().unwrap_or_else(PoisonError::into_inner).write_all(names.as_bytes()).unwrap_or_default();
}

/// The same where one was started; otherwise nothing runs that it would have to know.
pub(super) fn correct(brands: impl Iterator<Item = Brand>) {
    if LINE.get().is_some() {
        tell(brands);
    }
}

fn start() -> io::Result<PipeWriter> {
    let program = std::env::current_exe()?;
    let (reader, writer) = io::pipe()?;
    // One that stands still may not hold us up.
    rustix::io::ioctl_fionbio(&writer, true)?;
    #[expect(clippy::disallowed_methods, reason = "becomes nobody's child, so that no run waits for its end")]
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(WAITS).arg(program).env_clear().current_dir(Path::new("/")).process_group(0);
    shell.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
    // Given to whoever takes orphans beside us: as a child of ours it would be looked for after each run.
    take_orphans(false);
    let ended = shell.status();
    take_orphans(true);
    ended.map(|_| writer)
}

/// Kills whatever has one of the brands, and waits until it is gone.
pub(super) fn end(brands: impl Iterator<Item = OsString>) -> ExitCode {
    let brands: Vec<Brand> = brands.filter_map(|name| name.to_str()?.parse().ok().map(Brand::numbered)).collect();
    let started = Instant::now();
    while !brands.is_empty() && processes().filter(|pid| kill(&brands, *pid)).count() > 0 && started.elapsed() < LIMIT {
        std::thread::sleep(PAUSE);
    }
    ExitCode::SUCCESS
}

/// Kills a process that has one of the brands. Whether it has.
fn kill(brands: &[Brand], pid: Pid) -> bool {
    let is_one =
        || Brand::of(pid).is_some_and(|brand| brands.iter().any(|known| brand == *known || brand.is_kept_by(*known)));
    if !is_one() {
        return false;
    }
    // The handle is taken before the second look, so that a reused process id is never hit.
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok().filter(|_| is_one());
    handle.is_some_and(|handle| pidfd_send_signal(handle, Signal::KILL).is_ok())
}
