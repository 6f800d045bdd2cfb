//! A child's output as it is read here, and its end as it is told (Windows).
//!
//! Reading from a pipe blocks, so tokio does it on a thread of its own. Standard output and error share one pipe where they are
//! merged, so the pipe is ours, dressed up as a child's output.

use std::io::{self, PipeReader};
use std::os::windows::io::OwnedHandle;
use std::process::ExitStatus;

pub(super) use tokio::process::ChildStdout as Receiver;

use crate::domain::verdict::Exit;

/// The reading end of a pipe.
pub(super) fn receive(reader: PipeReader) -> io::Result<Receiver> {
    Receiver::from_std(std::process::ChildStdout::from(OwnedHandle::from(reader)))
}

/// How a child ended: there are no signals.
pub(super) fn exit_of(status: ExitStatus) -> Exit {
    Exit::Code { code: status.code().unwrap_or_default() }
}
