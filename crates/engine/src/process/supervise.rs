//! Watches a child until it and all it left behind are gone and its output is read.
//!
//! One loop folds output, exit, time and stop into a [`Phase`]. Each phase has one deadline, and what happens then is decided in one place,
//! [`Watch::on_deadline`].

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::capture::Capture;
use super::confine::guards;
use super::disk::{Disk, Shortage};
use super::family::{Family, Growth};
use super::launch::Launched;
use super::memory::{Excess, Memory};
use super::pipe::{Receiver, exit_of};
use super::spec::{Input, TOO_MANY};
use super::{Finished, Spec};
use crate::domain::stop::{SIGKILL, Stop, StopCause};
use crate::domain::verdict::Exit;

/// Between SIGTERM and SIGKILL when the time is up: test runners write their report in it.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long programs that were asked where they stand may take to say it.
const TELL_GRACE: Duration = Duration::from_millis(500);
/// The same for those that take too much memory, and take more meanwhile.
const TELL_FAST: Duration = Duration::from_millis(250);
/// The same when the run is stopped: with [`LAST_DRAIN`] and the end of killed processes it stays inside 2 s, and a runner's
/// own deadline for us is 7.5 s (GITHUB.md 23).
const STOP_GRACE: Duration = Duration::from_millis(300);
/// How long descendants may hold the pipe open after the program itself is gone: a filter behind it (`npm` and a reporter, `tee`)
/// is done in this time, a forgotten server never is.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// How long the killed program may take to vanish. A process in an uninterruptible call of the kernel cannot be waited for.
const KILL_WAIT: Duration = Duration::from_millis(1000);
/// How long bytes that are still in the pipe are read after everybody is dead: enough for a full pipe. A holder that is no descendant (it
/// got the pipe through a socket) must not make us wait.
const LAST_DRAIN: Duration = Duration::from_millis(100);
/// How often dead orphans are reaped and the tree's size is looked at. A fork bomb makes some thousand processes in this time.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// A pipe's usual capacity: one read empties it.
const CHUNK: usize = 64 * 1024;
/// Stands for "no deadline" when a time limit is too large to be added to the clock.
const FAR_FUTURE: Duration = Duration::from_secs(86_400 * 365);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Within its time.
    Running,
    /// Asked where it stands.
    Asked,
    /// Asked the same, as it takes too much memory: it ends whatever it says.
    Telling,
    /// Told to end.
    Terminating,
    /// Killed, not yet gone.
    Killed,
    /// Gone, while the pipe is still open.
    Exited,
    /// Its descendants are gone too.
    Cleared,
    /// Nothing more to wait for.
    Over,
}

#[derive(Debug)]
struct Watch {
    family: Family,
    phase: Phase,
    deadline: Instant,
    exit: Option<ExitStatus>,
    timed_out: bool,
    stopped: Option<StopCause>,
    bomb: bool,
    disk: Disk,
    filled: Option<Shortage>,
    memory: Memory,
    excess: Option<Excess>,
}

/// Takes a launched child to its end.
pub(super) async fn supervise(
    spec: &Spec,
    launched: Launched,
    stop: &Stop,
    sink: &mut (dyn FnMut(&[u8]) + Send),
    words: Option<UnboundedReceiver<Vec<u8>>>,
) -> io::Result<Finished> {
    let started = Instant::now();
    let Launched { family, mut child, output, stderr, stdin } = launched;
    let limit = if guards::is_off(guards::TIME) { FAR_FUTURE } else { spec.timeout };
    let keep = if guards::is_off(guards::OUTPUT) { usize::MAX } else { spec.keep };
    let deadline = started.checked_add(limit).unwrap_or(started + FAR_FUTURE);
    let mut watch = Watch::new(family, deadline, spec);
    let mut output = Stream::new(Some(output), keep);
    let mut stderr = Stream::new(stderr, keep);
    let mut feeding = stdin.is_some();
    let feed = feed(stdin, &spec.stdin, words);
    let stopping = stop.wait();
    let sleep = tokio::time::sleep_until(deadline);
    tokio::pin!(feed, stopping, sleep);
    let mut housekeeping = tokio::time::interval_at(started + HOUSEKEEPING, HOUSEKEEPING);
    // Both outputs have to end as well, since what a dead child has printed is still in the pipe.
    while !(watch.phase == Phase::Over || watch.exit.is_some() && output.ended() && stderr.ended()) {
        tokio::select! {
            // Every branch loses nothing when another one wins: a chunk is taken into the capture in the same poll that reads it.
            chunk = output.read(), if !output.ended() => sink(chunk?),
            chunk = stderr.read(), if !stderr.ended() => drop(chunk?),
            status = child.wait(), if watch.exit.is_none() => watch.on_exit(status?),
            () = &mut feed, if feeding => feeding = false,
            cause = &mut stopping, if watch.stopped.is_none() => watch.on_stop(cause),
            () = &mut sleep => watch.on_deadline().await,
            _ = housekeeping.tick() => watch.on_housekeeping(),
        }
        if sleep.deadline() != watch.deadline {
            sleep.as_mut().reset(watch.deadline);
        }
    }
    // Also after a peaceful end: a daemon that has closed its output would go on and write into the tree.
    watch.family.extinguish().await;
    if watch.bomb {
        output.capture.push(format!("\n{TOO_MANY}\n").as_bytes());
    }
    if let Some(shortage) = &watch.filled {
        output.capture.push(shortage.note().as_bytes());
    }
    // Last, when the group is empty: the kernel's count of ended processes is final only then.
    watch.note_overrun();
    if let Some(excess) = watch.excess {
        output.capture.push(excess.note().as_bytes());
    }
    Ok(Finished {
        exit: watch.verdict(),
        output_bytes: output.capture.total() + stderr.capture.total(),
        output: output.capture.finish(),
        stderr: stderr.capture.finish(),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        stopped: watch.stopped,
    })
}

impl Watch {
    fn new(family: Family, deadline: Instant, spec: &Spec) -> Self {
        Self {
            family,
            phase: Phase::Running,
            deadline,
            exit: None,
            timed_out: false,
            stopped: None,
            bomb: false,
            disk: Disk::of(spec),
            filled: None,
            memory: Memory::of(spec),
            excess: None,
        }
    }

    fn enter(&mut self, phase: Phase, patience: Duration) {
        self.phase = phase;
        self.deadline = Instant::now() + patience;
    }

    fn on_exit(&mut self, status: ExitStatus) {
        self.exit = Some(status);
        self.family.head_reaped();
        // One that was told to end has had its grace already, and its descendants had it too.
        let patience = if self.phase == Phase::Running { LEFTOVER_GRACE } else { Duration::ZERO };
        self.enter(Phase::Exited, patience);
    }

    fn on_stop(&mut self, cause: StopCause) {
        self.stopped = Some(cause);
        match self.phase {
            Phase::Running | Phase::Asked => {
                self.family.terminate();
                self.enter(Phase::Terminating, STOP_GRACE);
            }
            // Never prolonged: a stop during a timeout's grace may only hasten the end.
            Phase::Terminating => self.deadline = self.deadline.min(Instant::now() + STOP_GRACE),
            Phase::Exited => self.deadline = Instant::now(),
            // Their end is on its way already.
            Phase::Telling | Phase::Killed | Phase::Cleared | Phase::Over => {}
        }
    }

    async fn on_deadline(&mut self) {
        match self.phase {
            Phase::Running if self.family.ask_where() => {
                // Set before the answer comes: the abort ends the program by a signal, and the verdict is the timeout.
                self.timed_out = true;
                self.enter(Phase::Asked, TELL_GRACE);
            }
            Phase::Running | Phase::Asked => {
                self.timed_out = true;
                self.family.terminate();
                self.enter(Phase::Terminating, TERM_GRACE);
            }
            Phase::Terminating | Phase::Telling => self.kill(),
            // Somebody still holds the pipe open. Its end lets the last bytes come, which are read in one more phase.
            Phase::Exited => {
                self.family.extinguish().await;
                self.enter(Phase::Cleared, LAST_DRAIN);
            }
            // Given up: a process that SIGKILL does not end hangs in the kernel, and the run must not hang with it.
            Phase::Killed | Phase::Cleared | Phase::Over => self.phase = Phase::Over,
        }
    }

    fn on_housekeeping(&mut self) {
        self.bomb |= self.family.keep_house() == Growth::Bomb;
        // The first finding stays: the note names the moment at which it was ended, not the aftermath.
        if self.filled.is_none() && !guards::is_off(guards::DISK) {
            self.filled = self.disk.shortage();
        }
        if self.excess.is_none() && !guards::is_off(guards::MEMORY) {
            self.excess = self.memory.excess(&self.family);
        }
        let is_over = self.bomb || self.filled.is_some() || self.excess.is_some();
        match self.phase {
            Phase::Running if is_over && self.may_tell() => self.enter(Phase::Telling, TELL_FAST),
            Phase::Running | Phase::Asked | Phase::Terminating if is_over => self.kill(),
            // The patience for words ends where others are in danger. More memory of the same process is expected.
            Phase::Telling if self.bomb || self.filled.is_some() || self.memory.leaves_too_little() => self.kill(),
            Phase::Running | Phase::Asked | Phase::Terminating | Phase::Telling => {}
            // The killing is done, or comes with the deadline of the phase.
            Phase::Killed | Phase::Exited | Phase::Cleared | Phase::Over => {}
        }
    }

    /// Whether a process that took too much is saying where it stands: nothing else is in danger.
    fn may_tell(&self) -> bool {
        let only_of_one = matches!(self.excess, Some(Excess::Process(_))) && !self.bomb && self.filled.is_none();
        only_of_one && !self.memory.leaves_too_little() && self.family.ask_where()
    }

    /// Counts processes that the kernel ended as ended by us.
    fn note_overrun(&mut self) {
        // A timeout explains the end as well, and was first.
        if self.excess.is_none() && !self.timed_out && !guards::is_off(guards::MEMORY) {
            self.excess = self.family.overrun().map(Excess::together);
        }
    }

    fn kill(&mut self) {
        self.family.kill_once();
        self.enter(Phase::Killed, KILL_WAIT);
    }

    fn verdict(&self) -> Exit {
        // Before the exit code: a runner that is told to end may end with 0, and half of its tests.
        if self.timed_out {
            return Exit::Timeout;
        }
        match self.excess {
            Some(Excess::Process(limit_mb)) => return Exit::Memory { limit_mb },
            Some(Excess::Machine) => return Exit::MachineMemory,
            Some(Excess::Together(limit_mb)) => return Exit::MemoryTogether { limit_mb },
            None => {}
        }
        self.exit.map_or(Exit::Signal { signal: SIGKILL }, exit_of)
    }
}

/// One of the child's two outputs.
#[derive(Debug)]
struct Stream {
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    capture: Capture,
}

impl Stream {
    fn new(pipe: Option<Receiver>, keep: usize) -> Self {
        let buffer = Vec::with_capacity(if pipe.is_some() { CHUNK } else { 0 });
        Self { pipe, buffer, capture: Capture::new(keep) }
    }

    const fn ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// The next bytes. Empty at the end. Loses nothing when it is dropped before it is done.
    async fn read(&mut self) -> io::Result<&[u8]> {
        self.buffer.clear();
        if let Some(pipe) = &mut self.pipe
            && pipe.read_buf(&mut self.buffer).await? == 0
        {
            self.pipe = None;
        }
        self.capture.push(&self.buffer);
        Ok(&self.buffer)
    }
}

/// Writes a child's input and closes it. A child that does not read it is its own affair.
async fn feed(stdin: Option<Input>, bytes: &[u8], words: Option<UnboundedReceiver<Vec<u8>>>) {
    let Some(mut stdin) = stdin else { return };
    // A child that closes its input early, as `head` does, is no failure of ours.
    let mut is_heard = stdin.write_all(bytes).await.is_ok();
    let Some(mut words) = words else { return };
    while is_heard {
        let Some(word) = words.recv().await else { return };
        is_heard = stdin.write_all(&word).await.is_ok() && stdin.flush().await.is_ok();
    }
}
