//! The descendants of one child: found, counted, signalled, ended and reaped (Linux).
//!
//! A descendant may leave the process group (`setsid`), let its parent die (a daemon), and throw its environment away. Two
//! things it keeps: a [`Brand`], and us as its adoptive parent, since this process is a subreaper.
//!
//! Invariant: only processes with a brand are signalled or reaped here, so that other children of this process are safe. A privileged
//! descendant could remove its brand. Keeping it from that is the confinement's task.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getrlimit, kill_process,
    kill_process_group, pidfd_open, pidfd_send_signal, prlimit, waitid, waitpid,
};
use tokio::time::Instant;

use super::brand::Brand;
use super::cgroup::ControlGroup;
use super::confine::guards;
use super::process_table::{processes, take_orphans};
use super::taken::{Taken, kilobytes, told};
use super::warden;

/// The most processes that a child's tree may add to those that ran when it was started. A browser test farm needs hundreds, a fork bomb
/// any number.
const MAX_PROCESSES: u64 = 4096;
/// How long the end of killed processes is waited for. A process in an uninterruptible call of the kernel may take longer, and is left to
/// it.
const EXTINCTION_LIMIT: Duration = Duration::from_millis(1000);
/// The first pause between two rounds of killing. It doubles each round.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause between two rounds of killing.
const LONGEST_PAUSE: Duration = Duration::from_millis(32);

/// How many rounds in a row must find nobody, where strangers' children keep us from being sure after one.
const CLEAR_AFTER: u32 = 3;
/// How often descendants are looked for where nobody can wait for their end.
const LAST_LOOKS: u32 = 3;
/// How often the newest process ids are looked at between two rounds.
const CHASES: u32 = 32;
/// How far around the newest process id the next one is expected.
const CHASE_REACH: i32 = 4;

/// One living child of [`Family::found`].
#[derive(Debug, Clone, Copy)]
struct Member {
    brand: Brand,
    /// The child itself, until it was reaped.
    head: Option<Pid>,
}

/// All families that live now. Held while a child is started, so that nobody takes a newborn one for an orphan.
static FAMILIES: Mutex<Vec<Member>> = Mutex::new(Vec::new());

fn families() -> MutexGuard<'static, Vec<Member>> {
    FAMILIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether orphans come to us. Asked for once, kept until the process ends.
fn is_subreaper() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(|| take_orphans(true))
}

/// A child and all its descendants. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Family {
    brand: Brand,
    /// All tasks on the machine when it was founded.
    tasks_before: u64,
    extinct: bool,
    /// Where one is delegated. Removed last, when nobody is left in it.
    group: Option<ControlGroup>,
    /// Whether what the child had started before it was taken into the group was taken in too.
    gathered: bool,
}

impl Family {
    /// Starts a child by `spawn`, which also tells its process id, and brands it. It and its descendants hold at most `bound` bytes of
    /// memory together, where the kernel can be asked for that. What is `warded` is ended also when this process is killed.
    pub(super) fn found<T>(
        bound: Option<u64>,
        warded: bool,
        spawn: impl FnOnce() -> io::Result<(T, Option<u32>)>,
    ) -> io::Result<(Self, T)> {
        Self::branded(Brand::fresh(), bound, warded, spawn)
    }

    /// Starts a child that this process keeps for another one, which finds its descendants, too, and may kill them.
    pub(super) fn kept<T>(spawn: impl FnOnce() -> io::Result<(T, Option<u32>)>) -> io::Result<(Self, T)> {
        Self::branded(Brand::of_kept().unwrap_or_else(Brand::fresh), None, false, spawn)
    }

    fn branded<T>(
        brand: Brand,
        bound: Option<u64>,
        warded: bool,
        spawn: impl FnOnce() -> io::Result<(T, Option<u32>)>,
    ) -> io::Result<(Self, T)> {
        is_subreaper();
        let mut group = bound.filter(|_| !guards::is_off(guards::MEMORY)).and_then(ControlGroup::bounding);
        // Counted before the child is there, since the limit is on what its tree adds.
        let tasks_before = count_tasks();
        let mut families = families();
        if warded {
            // Before it is there, so that there is no moment in which nobody would end it.
            warden::tell(families.iter().map(|member| member.brand).chain([brand]));
        }
        let (child, id) = brand.lend(spawn)?;
        let head = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        group = group.filter(|group| head.is_some_and(|pid| group.take(pid.as_raw_nonzero().get()).is_ok()));
        if let Some(pid) = head {
            // Before anything else: a child that raises its soft limit until then could not be found again.
            brand.burn(pid);
            if !guards::is_off(guards::PROCESSES) {
                restrain(pid, tasks_before);
            }
        }
        families.push(Member { brand, head });
        Ok((Self { brand, tasks_before, extinct: false, group, gathered: false }, child))
    }

    /// Notes that the child itself was waited for: its process id may belong to someone else from now on.
    pub(super) fn head_reaped(&self) {
        for member in families().iter_mut().filter(|member| member.brand == self.brand) {
            member.head = None;
        }
    }

    /// Asks every descendant to end.
    pub(super) fn terminate(&self) {
        let families = families();
        self.signal(&families, Signal::TERM);
        // A stopped process gets the request only when it goes on.
        self.signal(&families, Signal::CONT);
    }

    /// Passes a signal on to every descendant.
    pub(super) fn pass_on(&self, signal: i32) {
        let signal = match signal {
            1 => Signal::HUP,
            2 => Signal::INT,
            _ => Signal::TERM,
        };
        let families = families();
        self.signal(&families, signal);
    }

    /// Has the descendants that can tell where they stand do so and end: Python's and Go's programs, on an abort. Whether there is one.
    pub(super) fn ask_where(&self) -> bool {
        let families = families();
        // Counted to the end: `any` would stop at the first, and the others would never be asked.
        processes().filter(|pid| can_tell(*pid)).filter(|&pid| self.signal_one(&families, pid, Signal::ABORT)).count()
            > 0
    }

    /// Kills every descendant that can be found now and reaps the dead. Returns whether any was found alive.
    pub(super) fn kill_once(&self) -> bool {
        let families = families();
        self.signal(&families, Signal::KILL)
    }

    /// Ends whatever is left, and waits until it is gone.
    pub(super) async fn extinguish(&mut self) {
        self.extinct = guards::is_off(guards::DESCENDANTS);
        if self.extinct {
            // For the red team alone, which shows that something survives without this guard.
            return;
        }
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut empty_rounds = 0;
        // Killed in rounds, since a process may fork between our look and the signal. The pause doubles, as a dying one needs the
        // processor.
        while self.may_have_left_something() && empty_rounds < CLEAR_AFTER && started.elapsed() < EXTINCTION_LIMIT {
            if self.kill_once() {
                empty_rounds = 0;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            } else {
                empty_rounds += 1;
                self.chase();
                tokio::task::yield_now().await;
            }
        }
        self.extinct = true;
    }

    /// Looks at the newest process ids alone: one that forks and dies at once is gone before a whole round has come to it.
    fn chase(&self) {
        let families = families();
        for _ in 0..CHASES {
            // The kernel numbers processes upwards, so that one that was just born is near the newest number.
            let newest = load_average(4).and_then(|text| text.parse::<i32>().ok()).unwrap_or(0);
            for pid in (newest.saturating_sub(CHASE_REACH)..=newest.saturating_add(CHASE_REACH))
                .rev()
                .filter_map(Pid::from_raw)
            {
                self.signal_one(&families, pid, Signal::KILL);
            }
        }
    }

    /// Reaps orphans that died meanwhile, and tells whether the tree has outgrown [`MAX_PROCESSES`].
    pub(super) fn keep_house(&mut self) -> Growth {
        let families = families();
        reap_orphans(&families);
        // The child runs before its id is known to us, so that what it started in that moment is outside of the group.
        if let Some(group) = self.group.as_ref().filter(|_| !self.gathered) {
            // One that is gone by now needs no bound.
            let taken = processes()
                .filter(|&pid| self.owns(&families, pid))
                .filter(|pid| group.take(pid.as_raw_nonzero().get()).is_ok());
            self.gathered = taken.count() > 0;
        }
        if guards::is_off(guards::PROCESSES) || count_tasks() <= self.tasks_before.saturating_add(MAX_PROCESSES) {
            return Growth::Fine;
        }
        // The machine's count holds strangers' tasks and threads too: only now is it worth counting our own.
        let own = processes().filter(|&pid| self.owns(&families, pid)).count() as u64;
        if own > MAX_PROCESSES { Growth::Bomb } else { Growth::Fine }
    }

    /// The memory that its processes hold.
    pub(super) fn memory(&self) -> Taken {
        let families = families();
        processes().filter(|&pid| self.owns(&families, pid)).map(held).fold(Taken::default(), |taken, held| Taken {
            most: taken.most.max(held),
            all: taken.all.saturating_add(held),
        })
    }

    /// The bound on their memory in bytes, if the kernel ended them at it.
    pub(super) fn overrun(&self) -> Option<u64> {
        self.group.as_ref()?.overrun()
    }

    /// One system call in the usual case: without any child there can be no orphan.
    fn may_have_left_something(&self) -> bool {
        let probe = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        // Where we are no subreaper, orphans go to others, and having no children proves nothing.
        !(is_subreaper() && probe.is_err_and(|error| error == Errno::CHILD))
    }

    fn signal(&self, families: &[Member], signal: Signal) -> bool {
        let head = families.iter().find(|member| member.brand == self.brand).and_then(|member| member.head);
        if let Some(head) = head {
            // At once for the whole group: no member can fork away from it.
            ignore(kill_process_group(head, signal));
        }
        // Counted to the end, as each look signals or reaps. A daemon of the family lives in a group of its own.
        processes().filter(|&pid| self.signal_one(families, pid, signal)).count() > 0
    }

    /// Signals a process if it descends from this child, or reaps it if it is dead. Returns whether it is alive and ours.
    fn signal_one(&self, families: &[Member], pid: Pid, signal: Signal) -> bool {
        let owns = || match Brand::of(pid) {
            // Its keeper passes other signals on.
            Some(brand) if brand.is_kept_by(self.brand) => signal == Signal::KILL,
            Some(_) | None => self.owns(families, pid),
        };
        if !owns() || reap(families, pid) {
            return false;
        }
        // The handle is taken before the second look, so that a reused process id is never hit.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if owns() => ignore(pidfd_send_signal(handle, signal)),
            Ok(_reused) => {}
            // Kernels before 5.3 have no handles. A number may be reused in the short time since the look, which is the smaller evil.
            Err(Errno::NOSYS) => ignore(kill_process(pid, signal)),
            Err(_gone) => {}
        }
        // Also one that is about to die counts as alive, so that the caller looks again.
        true
    }

    /// Whether a process descends from this child.
    ///
    /// A brand that nobody here has is another upshift's, or was changed: then it is ours only if we have adopted the process, and the
    /// last family takes it.
    fn owns(&self, families: &[Member], pid: Pid) -> bool {
        match Brand::of(pid) {
            None => false,
            Some(brand) if brand == self.brand || brand.is_kept_by(self.brand) => true,
            Some(brand) => {
                // With two families alive nobody can tell whose it is, and to kill the other's would be worse than to wait for the last.
                families.len() == 1 && families.iter().all(|member| member.brand != brand) && is_adopted(pid)
            }
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // One that is about to die still counts as found: another look is for who was born meanwhile.
        let looks = if self.extinct { 0 } else { LAST_LOOKS };
        // Without a pause, as a drop cannot wait.
        (0..looks).any(|_| !self.kill_once());
        let mut families = families();
        families.retain(|member| member.brand != self.brand);
        warden::correct(families.iter().map(|member| member.brand));
    }
}

/// Whether a process is Python's interpreter or a test program of Go's.
fn can_tell(pid: Pid) -> bool {
    let program = std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).unwrap_or_default();
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A program that was replaced while it runs is shown with a note behind its name.
    let name = name.trim_end_matches(" (deleted)");
    // Only these: an abort ends others without a word. Go names its test programs `package.test`.
    name.starts_with("python") || name.starts_with("pypy") || name.ends_with(".test")
}

/// The memory that a process holds, in bytes: its own, shared and swapped out, without mapped files.
fn held(pid: Pid) -> u64 {
    let status = told(Path::new(&format!("/proc/{}/status", pid.as_raw_nonzero()))).unwrap_or_default();
    ["RssAnon:", "RssShmem:", "VmSwap:"].into_iter().filter_map(|name| kilobytes(&status, name)).sum()
}

/// Whether a tree of processes is of a bearable size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is.
    Fine,
    /// It is not.
    Bomb,
}

/// Forbids core dumps (a crashing test must not fill the disk), and bounds fork bombs where the user is not root.
fn restrain(pid: Pid, tasks: u64) {
    // Soft and hard, so that a test cannot switch them on again.
    ignore(prlimit(Some(pid), Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).map(drop));
    let own = getrlimit(Resource::Nproc);
    let most = tasks.saturating_add(MAX_PROCESSES);
    // A tighter limit of the user stays.
    let most = own.current.map_or(most, |current| current.min(most));
    ignore(prlimit(Some(pid), Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) }).map(drop));
}

/// Whether we are a process's parent.
fn is_adopted(pid: Pid) -> bool {
    let stat = told(Path::new(&format!("/proc/{}/stat", pid.as_raw_nonzero()))).unwrap_or_default();
    // The name in parentheses may hold anything; behind it stand the state and the parent.
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    parent == Some(rustix::process::getpid().as_raw_nonzero().get())
}

/// Waits for dead orphans, never for a child that its own family waits for.
fn reap_orphans(families: &[Member]) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // Only looked at: to wait for any child would take the exit status away from whoever waits for it.
    if matches!(waitid(WaitId::All, options), Ok(Some(_))) {
        for pid in processes().filter(|&pid| Brand::of(pid).is_some()) {
            reap(families, pid);
        }
    }
}

/// Waits for an orphan if it is dead. Returns whether it was. A process that is alive, or no child of ours, is left alone.
fn reap(families: &[Member], pid: Pid) -> bool {
    // A head's status belongs to `child.wait()`. Reaped here, the exit code of the tests would be lost.
    let is_head = families.iter().any(|member| member.head == Some(pid));
    !is_head && matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
}

/// All tasks on the machine: the number behind the slash in `/proc/loadavg`.
fn count_tasks() -> u64 {
    load_average(3).and_then(|pair| pair.split_once('/')?.1.parse().ok()).unwrap_or(0)
}

/// A word of `/proc/loadavg`: the fourth counts tasks, the fifth is the newest process id.
fn load_average(word: usize) -> Option<String> {
    let text = told(Path::new("/proc/loadavg")).ok()?;
    text.split_whitespace().nth(word).map(str::to_owned)
}

/// A signal to, or a wait for, a process that has just gone fails: that is what was wanted.
fn ignore(_result: rustix::io::Result<()>) {}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// The memory that a program holds once it has said a line.
    fn held_by(script: &str) -> u64 {
        #[expect(clippy::disallowed_methods, reason = "a stranger's process, not one of upshift's children")]
        let mut command = Command::new("python3");
        let script = format!("import sys\n{script}\nprint('ready', flush=True)\nsys.stdin.read()");
        let mut child = command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let held = held(Pid::from_child(&child));
        drop(child.stdin.take());
        child.wait().unwrap();
        held
    }

    #[test]
    fn memory_that_is_used_counts_and_addresses_that_are_reserved_do_not() {
        assert!(held_by("import mmap\nheld = mmap.mmap(-1, 8 << 30)\nheld[0] = 1") < 64 * MIB);
        assert!(held_by("held = bytearray(100 << 20)") >= 100 * MIB);
        assert!(held_by("import mmap\nheld = mmap.mmap(-1, 100 << 20)\nheld.write(b'1' * (100 << 20))") >= 100 * MIB);
    }
}
