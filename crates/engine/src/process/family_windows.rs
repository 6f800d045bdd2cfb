//! The descendants of one child on Windows: a job object, which all of them are born into and cannot leave.
//!
//! The child is started suspended, put into the job, and only then runs. The job ends all that is in it when its last
//! handle is closed, which the system does however upshift ends.
//!
//! Invariant: same interface as on Linux. Nobody can be asked to end here: there is no signal that a program without a window would get.

use std::future::poll_fn;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStdin, Command};

use super::taken::Taken;

/// The child in its job.
type Job = Arc<Mutex<Box<dyn ChildWrapper>>>;

fn lock(job: &Job) -> MutexGuard<'_, Box<dyn ChildWrapper>> {
    job.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child and all its descendants. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Family {
    job: Job,
}

/// The child itself.
#[derive(Debug)]
pub(super) struct Child {
    job: Job,
}

impl Family {
    /// Starts a child in a job of its own.
    pub(super) fn found(command: Command) -> io::Result<(Self, Child)> {
        let child = CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let job = Arc::new(Mutex::new(child));
        Ok((Self { job: Arc::clone(&job) }, Child { job }))
    }

    /// Does nothing: the job outlives the child.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) const fn head_reaped(&self) {}

    /// Ends all: they cannot be asked to.
    pub(super) fn terminate(&self) {
        self.kill_once();
    }

    /// Which of them could tell where they stand is not known here.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) fn ask_where(&self) -> bool {
        false
    }

    /// Ends all. Returns whether the system did so.
    pub(super) fn kill_once(&self) -> bool {
        lock(&self.job).start_kill().is_ok()
    }

    /// Ends all.
    #[expect(clippy::unused_async, reason = "same interface as on Linux")]
    pub(super) async fn extinguish(&mut self) {
        self.kill_once();
    }

    /// Nothing that anybody could count here.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) const fn memory(&self) -> Taken {
        Taken { most: 0, all: 0 }
    }

    /// Nothing that the kernel could be asked for here.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) const fn overrun(&self) -> Option<u64> {
        None
    }

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) const fn keep_house(&self) -> Growth {
        Growth::Fine
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill_once();
    }
}

impl Child {
    /// Its standard input, if it is piped. It can be taken once.
    pub(super) fn take_stdin(&self) -> Option<ChildStdin> {
        lock(&self.job).stdin().take()
    }

    /// Waits for the child itself, whatever it started.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // What is waited for is kept in the child, so each poll may ask anew.
        poll_fn(|context| lock(&self.job).inner_mut().wait().as_mut().poll(context)).await
    }
}

/// Whether a tree of processes is of a bearable size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is.
    Fine,
    /// It is not. Never found out here.
    Bomb,
}
