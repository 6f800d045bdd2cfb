//! The descendants of one child where there is no `/proc`: its process group, and nothing beyond it.
//!
//! Invariant: same interface as on Linux. Processes that left the group are out of reach here, which the report has to say.

use std::io;

use rustix::process::{Pid, Signal, kill_process_group};

use super::taken::Taken;

/// A child and its process group. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Family {
    group: Option<Pid>,
    extinct: bool,
}

impl Family {
    /// Starts a child by `spawn`, which also tells its process id. Nobody bounds memory here, and nobody is left to end it.
    pub(super) fn found<T>(
        _bound: Option<u64>,
        _warded: bool,
        spawn: impl FnOnce() -> io::Result<(T, Option<u32>)>,
    ) -> io::Result<(Self, T)> {
        let (child, id) = spawn()?;
        let group = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok((Self { group, extinct: false }, child))
    }

    /// Does nothing: the group may outlive the child.
    pub(super) fn head_reaped(&self) {}

    /// Asks the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        // A stopped process gets the request only when it goes on.
        self.signal(Signal::CONT);
    }

    /// Passes a signal on to the group.
    pub(super) fn pass_on(&self, signal: i32) {
        self.signal(match signal {
            1 => Signal::HUP,
            2 => Signal::INT,
            _ => Signal::TERM,
        });
    }

    /// Which of them could tell where they stand is not known here.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) fn ask_where(&self) -> bool {
        false
    }

    /// Kills the group.
    pub(super) fn kill_once(&self) -> bool {
        self.signal(Signal::KILL)
    }

    /// Kills the group.
    pub(super) async fn extinguish(&mut self) {
        self.kill_once();
        self.extinct = true;
    }

    /// Nothing that anybody could count here.
    pub(super) fn memory(&self) -> Taken {
        Taken::default()
    }

    /// Nothing that the kernel could be asked for here.
    #[expect(clippy::unused_self, reason = "same interface as on Linux")]
    pub(super) const fn overrun(&self) -> Option<u64> {
        None
    }

    /// Does nothing.
    pub(super) fn keep_house(&self) -> Growth {
        Growth::Fine
    }

    fn signal(&self, signal: Signal) -> bool {
        self.group.is_some_and(|group| kill_process_group(group, signal).is_ok())
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if !self.extinct {
            self.kill_once();
        }
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
