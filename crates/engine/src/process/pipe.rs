//! A child's output as it is read here, and its end as it is told (Unix).

use std::io::{self, PipeReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

pub(super) use tokio::net::unix::pipe::Receiver;

use crate::domain::stop::SIGKILL;
use crate::domain::verdict::Exit;

/// The reading end of a pipe.
pub(super) fn receive(reader: PipeReader) -> io::Result<Receiver> {
    Receiver::from_owned_fd(reader.into())
}

/// How a child ended: it has a code or a signal.
pub(super) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, signal) => Exit::Signal { signal: signal.unwrap_or(SIGKILL) },
    }
}
