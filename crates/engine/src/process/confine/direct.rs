//! The short way into a confinement without namespaces (Linux): a thread of upshift takes its rights away, starts the child, and ends.
//!
//! This way saves the start of a program of megabytes, and some two hundred rules for files, before each run of the tests. The child may
//! signal a thread that has its rights, and with it all of upshift. So the child is a shell whose first command waits until that thread
//! is gone ([`Direct::line`]). A shell into which something could be loaded before that ([`loads`]) goes the long way, and so does
//! everything that fails here.
//!
//! Invariant: no command of a repository runs before the thread is gone and the child's limits are set, and none without all that the
//! helper would have done.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use landlock::RulesetCreated;
use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::policy::Policy;
use super::{Reach, fence, guards, renounce};

/// The threads of this process, by their numbers.
const THREADS: &str = "/proc/self/task";
/// How long the end of a thread that has nothing more to do is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// From so many entries on a folder is watched for them.
const CROWD: usize = 8;
/// The shell's first commands. They wait for a line, which comes when the child may go on (no line, no work), and then empty its input, as it was meant.
const WAITS: &str = "read -r _||exit;exec </dev/null;";

/// The short way, for one policy.
#[derive(Debug)]
pub(in crate::process) struct Direct {
    policy: Policy,
    fence: Mutex<Option<Fence>>,
}

/// Rules that were made once, and what was at their paths then.
#[derive(Debug)]
struct Fence {
    rules: Option<RulesetCreated>,
    watched: Vec<(PathBuf, Watch)>,
    places: Vec<Option<Place>>,
}

/// How it is seen that a path leads elsewhere than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// By what is there.
    Itself,
    /// By the last change of a folder, for all of its entries that are no links: `/etc` alone has more than a hundred.
    Entries,
}

/// Device, inode, and where entries count, seconds and nanoseconds of the last change.
type Place = (u64, u64, i64, i64);

impl Direct {
    /// The short way, if the policy asks for no namespace.
    pub(super) fn for_policy(policy: &Policy) -> Option<Self> {
        let own_network = policy.reach == Reach::Loopback && policy.has(guards::NETWORK);
        let is_short = policy.room.is_none() && !own_network;
        is_short.then(|| Self { policy: policy.clone(), fence: Mutex::new(None) })
    }

    /// The line for a shell that waits for another line on its input before it does its work. `None` where something may be loaded into
    /// it before that.
    pub(in crate::process) fn line(line: &str, env: &BTreeMap<OsString, OsString>) -> Option<String> {
        (!env.keys().any(|name| loads(name))).then(|| format!("{WAITS}{line}"))
    }

    /// Takes the rights away from a thread that does nothing with the rest. Returns the version of Landlock that the kernel has.
    ///
    /// # Errors
    /// When something cannot be taken away.
    pub(super) fn try_out(&self) -> Result<u32, String> {
        let rules = self.rules().map_err(|error| error.to_string())?;
        // In a thread of its own, since the rights that are taken away never come back.
        let renounce = || renounce::rights(&self.policy, rules);
        std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, renounce) {
            Ok(thread) => thread.join().unwrap_or_else(|_panic| Err("a thread panicked".to_owned())),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Starts the child with its rights taken away, and its limits set. It goes on at the first line of its input.
    ///
    /// # Errors
    /// When something could not be taken away. Nothing of the repository's has run then, and nothing will.
    pub(in crate::process) fn start(&self, command: &mut Command) -> io::Result<Child> {
        let rules = self.rules()?;
        // A child is registered with the runtime of the thread that starts it, and a fresh thread has none.
        let runtime = Handle::current();
        let started = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                renounce::rights(&self.policy, rules).map_err(io::Error::other)?;
                let _within = runtime.enter();
                Ok::<_, io::Error>((command.spawn()?, rustix::thread::gettid()))
            })?;
            thread.join().unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()))
        });
        // Whoever returns early here drops the child, which kills it.
        let (child, thread) = started?;
        // Before the child goes on: it may signal a thread in its own domain, and with it all of upshift.
        wait_for_end(thread, PATIENCE)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // Limits belong to a process. Set in the thread they would have bound upshift too.
        renounce::limit(&self.policy, Some(id.ok_or(io::ErrorKind::NotFound)?))?;
        Ok(child)
    }

    /// The rules, made anew only if one of their paths leads elsewhere than before.
    fn rules(&self) -> io::Result<Option<RulesetCreated>> {
        let mut fence = self.fence.lock().unwrap_or_else(PoisonError::into_inner);
        if fence.as_ref().is_none_or(|fence| fence.places != places(&fence.watched)) {
            // Looked at before the rules are made: what is replaced meanwhile is seen next time.
            let watched = watched(&self.policy);
            let places = places(&watched);
            *fence = Some(Fence { rules: fence::rules_of(&self.policy).map_err(io::Error::other)?, watched, places });
        }
        let rules = fence.as_ref().and_then(|fence| fence.rules.as_ref());
        rules.map(RulesetCreated::try_clone).transpose()
    }
}

/// What is to be looked at so that no rule leads to what is not there any more.
fn watched(policy: &Policy) -> Vec<(PathBuf, Watch)> {
    let mut crowds: BTreeMap<&Path, usize> = BTreeMap::new();
    for folder in policy.read.iter().filter_map(|path| path.parent()) {
        *crowds.entry(folder).or_default() += 1;
    }
    // A few entries are looked at one by one, as any change in their folder would have all rules made anew.
    crowds.retain(|_, entries| *entries >= CROWD);
    let is_told = |path: &Path| {
        let of_crowd = path.parent().is_some_and(|folder| crowds.contains_key(folder));
        of_crowd && path.symlink_metadata().is_ok_and(|found| !found.is_symlink())
    };
    let alone = policy.read.iter().filter(|path| !is_told(path)).chain(&policy.write).chain(&policy.devices);
    let folders = crowds.keys().map(|folder| ((*folder).to_owned(), Watch::Entries));
    alone.map(|path| (path.clone(), Watch::Itself)).chain(folders).collect()
}

fn places(watched: &[(PathBuf, Watch)]) -> Vec<Option<Place>> {
    let place = |(path, watch): &(PathBuf, Watch)| {
        let found = path.metadata().ok()?;
        let (seconds, nanoseconds) =
            if *watch == Watch::Entries { (found.ctime(), found.ctime_nsec()) } else { (0, 0) };
        Some((found.dev(), found.ino(), seconds, nanoseconds))
    };
    watched.iter().map(place).collect()
}

/// Waits until a thread that was joined is nobody any more who can be sent a signal.
fn wait_for_end(thread: Pid, patience: Duration) -> io::Result<()> {
    let threads = Path::new(THREADS);
    let place = threads.join(thread.as_raw_nonzero().to_string());
    let began = Instant::now();
    // Without `/proc` nobody can tell when the thread is gone. The caller then takes the helper.
    if !threads.is_dir() {
        return Err(io::ErrorKind::NotFound.into());
    }
    while place.exists() {
        if began.elapsed() >= patience {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Whether a variable may bring code into a shell before its first command, or have it take other words for that.
fn loads(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let named: [&[u8]; 7] =
        // `ENV` and `BASH_ENV` name scripts that a shell reads first, `GCONV_PATH` and `LOCPATH` lead to what the C library loads.
        [b"GCONV_PATH", b"LOCPATH", b"GLIBC_TUNABLES", b"ENV", b"BASH_ENV", b"SHELLOPTS", b"BASHOPTS"];
    let begins: [&[u8]; 2] = [b"LD_", b"BASH_FUNC_"];
    named.contains(&name) || begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_lives_lets_nobody_go_on() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            ended.recv().unwrap();
        });
        let id = told.recv().unwrap();
        assert_eq!(wait_for_end(id, Duration::ZERO).unwrap_err().kind(), io::ErrorKind::TimedOut);
        end.send(()).unwrap();
        thread.join().unwrap();
        wait_for_end(id, PATIENCE).unwrap();
    }

    #[test]
    fn what_could_be_loaded_into_the_shell_goes_the_long_way() {
        let line = |name: &str| Direct::line("make test", &BTreeMap::from([(name.into(), "x".into())]));
        assert_eq!(line("PATH").as_deref(), Some("read -r _||exit;exec </dev/null;make test"));
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "GCONV_PATH", "BASH_FUNC_read%%", "BASH_ENV", "ENV", "SHELLOPTS"]
        {
            assert_eq!(line(name), None, "{name}");
        }
    }
}
