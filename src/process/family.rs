//! The descendants of one child: found, counted, signalled, ended and reaped (Linux).
//!
//! A descendant may leave the process group (`setsid`), let its parent die (a daemon), and throw its environment away. Two
//! things it keeps: a *brand*, a random hard limit on `RLIMIT_LOCKS`, which Linux has ignored since 2.4.25 and which no
//! unprivileged process can raise again; and us as its adoptive parent, since this process is a subreaper.
//!
//! Invariant: only processes with a brand are signalled or reaped here, so that other children of this process are safe. A
//! privileged descendant could remove its brand; keeping it from that is the confinement's task.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getrlimit, kill_process,
    kill_process_group, pidfd_open, pidfd_send_signal, prlimit, set_child_subreaper, waitid, waitpid,
};

/// How many processes a child's tree may add to what ran when it was started; a browser test farm needs hundreds, a fork bomb any number.
const MAX_PROCESSES: u64 = 4096;
/// How long the end of killed processes is waited for; one in an uninterruptible call of the kernel may take longer, and is left to it.
const EXTINCTION_LIMIT: Duration = Duration::from_millis(1000);
/// The first pause between two rounds of killing; doubles each round.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause between two rounds of killing.
const LONGEST_PAUSE: Duration = Duration::from_millis(32);

/// One living child of [`Family::found`].
#[derive(Debug, Clone, Copy)]
struct Member {
    brand: u64,
    /// The child itself, until it was reaped.
    head: Option<Pid>,
}

/// All families that live now. Held while a child is started, so that nobody takes a newborn one for an orphan.
static FAMILIES: Mutex<Vec<Member>> = Mutex::new(Vec::new());

fn families() -> MutexGuard<'static, Vec<Member>> {
    FAMILIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether orphans come to us; asked for once, kept until the process ends.
fn is_subreaper() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(|| set_child_subreaper(Some(rustix::process::getpid())).is_ok())
}

/// A child and all its descendants. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Family {
    brand: u64,
    /// All tasks on the machine when it was founded.
    tasks_before: u64,
    extinct: bool,
}

impl Family {
    /// Starts a child by `spawn`, which also tells its process id, and brands it.
    pub(super) fn found<T>(spawn: impl FnOnce() -> io::Result<(T, Option<u32>)>) -> io::Result<(Self, T)> {
        is_subreaper();
        let tasks_before = count_tasks();
        let mut families = families();
        let (child, id) = spawn()?;
        let head = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let brand = fresh_brand();
        if let Some(pid) = head {
            limit(pid, brand, tasks_before);
        }
        families.push(Member { brand, head });
        Ok((Self { brand, tasks_before, extinct: false }, child))
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

    /// Kills every descendant that can be found now and reaps the dead; whether any was found.
    pub(super) fn kill_once(&self) -> bool {
        let families = families();
        reap_orphans(&families);
        self.signal(&families, Signal::KILL)
    }

    /// Ends whatever is left, and waits until it is gone.
    pub(super) async fn extinguish(&mut self) {
        let started = tokio::time::Instant::now();
        let mut pause = FIRST_PAUSE;
        while self.may_have_left_something() && self.kill_once() && started.elapsed() < EXTINCTION_LIMIT {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.extinct = true;
    }

    /// Reaps orphans that died meanwhile, and tells whether the tree has outgrown [`MAX_PROCESSES`].
    pub(super) fn keep_house(&self) -> Growth {
        let families = families();
        reap_orphans(&families);
        if count_tasks() <= self.tasks_before.saturating_add(MAX_PROCESSES) {
            return Growth::Fine;
        }
        // The machine's count holds strangers' tasks and threads too: only now is it worth counting our own.
        let own = processes().filter(|&pid| self.owns(&families, pid)).count() as u64;
        if own > MAX_PROCESSES { Growth::Bomb } else { Growth::Fine }
    }

    /// One system call in the usual case: without any child there can be no orphan.
    fn may_have_left_something(&self) -> bool {
        let probe = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        !(is_subreaper() && probe.is_err_and(|error| error == rustix::io::Errno::CHILD))
    }

    fn signal(&self, families: &[Member], signal: Signal) -> bool {
        let head = families.iter().find(|member| member.brand == self.brand).and_then(|member| member.head);
        if let Some(head) = head {
            // At once for the whole group: no member can fork away from it.
            ignore(kill_process_group(head, signal));
        }
        let mut found = false;
        for pid in processes().filter(|&pid| self.owns(families, pid)) {
            found = true;
            // The handle is taken before the second look, so that a reused process id is never hit.
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(handle) if self.owns(families, pid) => ignore(pidfd_send_signal(handle, signal)),
                Ok(_reused) => {}
                Err(error) if error == rustix::io::Errno::NOSYS => ignore(kill_process(pid, signal)),
                Err(_gone) => {}
            }
        }
        found
    }

    /// Whether a process descends from this child. A lowered brand names nobody: the last family takes it.
    fn owns(&self, families: &[Member], pid: Pid) -> bool {
        match brand_of(pid) {
            None => false,
            Some(brand) if brand == self.brand => true,
            Some(brand) => families.len() == 1 && families.iter().all(|member| member.brand != brand),
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if !self.extinct {
            self.kill_once();
        }
        families().retain(|member| member.brand != self.brand);
    }
}

/// Whether a tree of processes is of a bearable size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is.
    Fine,
    /// It is not.
    Bomb,
}

/// Our own limit, which unbranded children of this process inherit.
fn own_limit() -> Option<u64> {
    static OWN: OnceLock<Option<u64>> = OnceLock::new();
    *OWN.get_or_init(|| getrlimit(Resource::Locks).maximum)
}

/// A random number below our own limit, in its upper half: room for upshift inside upshift.
fn fresh_brand() -> u64 {
    let ceiling = own_limit().unwrap_or(u64::MAX >> 1);
    let half = (ceiling / 2).max(1);
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The version bits of the first half are constant; folding keeps the rest uniform enough for a name.
    half.saturating_add((random ^ (random >> 32)) % half).saturating_sub(1)
}

/// Sets the brand, forbids core dumps (a crashing test must not fill the disk), and bounds fork bombs where the user is not root.
fn limit(pid: Pid, brand: u64, tasks: u64) {
    let brand = Rlimit { current: Some(brand), maximum: Some(brand) };
    ignore(prlimit(Some(pid), Resource::Locks, brand).map(drop));
    ignore(prlimit(Some(pid), Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).map(drop));
    let own = getrlimit(Resource::Nproc);
    let most = tasks.saturating_add(MAX_PROCESSES);
    let most = own.current.map_or(most, |current| current.min(most));
    ignore(prlimit(Some(pid), Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) }).map(drop));
}

/// The brand of a process; `None` for one that descends from no family, or that is gone.
fn brand_of(pid: Pid) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    let hard = line.split_whitespace().nth(1)?.parse().ok();
    if hard == own_limit() { None } else { hard }
}

/// Every process on the machine but this one.
fn processes() -> impl Iterator<Item = Pid> {
    let own = rustix::process::getpid();
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(move |&pid| pid != own)
}

/// Waits for dead orphans, never for a child that its own family waits for.
fn reap_orphans(families: &[Member]) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, options), Ok(Some(_))) {
        return;
    }
    // Waiting for one that is alive, or no child of ours, does nothing.
    for pid in processes() {
        if families.iter().all(|member| member.head != Some(pid)) && brand_of(pid).is_some() {
            ignore(waitpid(Some(pid), WaitOptions::NOHANG).map(drop));
        }
    }
}

/// All tasks on the machine: the number behind the slash in `/proc/loadavg`.
fn count_tasks() -> u64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().nth(3).and_then(|pair| pair.split_once('/')?.1.parse().ok()).unwrap_or(0)
}

/// A signal to, or a wait for, a process that has just gone fails: that is what was wanted.
fn ignore(_result: rustix::io::Result<()>) {}
