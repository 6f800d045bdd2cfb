//! The doors of a room: descriptors of namespaces that one child made and the others of a run enter (Linux).
//!
//! To make a room costs the kernel milliseconds, to enter one microseconds. The child that tries the policy out makes it and sends its
//! namespaces over a socket. Each later child gets them the same way, as its standard input. They live as long as upshift holds them,
//! however it ends.
//!
//! Invariant: no descriptor of a namespace is inherited by a program. A received one is closed on execution.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use super::policy::Room;

/// At most: user, IPC, network, mount.
const MOST: usize = 4;
/// Received descriptors are never inherited.
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// The way into a room that was made for the children of a run.
#[derive(Debug)]
pub(super) struct Doors {
    spaces: Vec<OwnedFd>,
    /// The paths that the room's mounts lie on, and where each was then. One that was replaced meanwhile has lost its mount.
    underlay: Vec<(PathBuf, Option<Place>)>,
}

/// The memory that the programs in a room share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shelf {
    /// The room's memory, with what was put there.
    OfRoom = 0,
    /// An empty one, for this child alone.
    Empty = 1,
}

/// Set in the byte that carries the descriptors, where the socket stays the child's standard input.
const LINE: u8 = 2;

/// The content of a socket's message.
#[derive(Debug)]
pub(super) struct Taken {
    /// The descriptors, in their order.
    pub(super) spaces: Vec<OwnedFd>,
    /// The memory that they lead to.
    pub(super) shelf: Shelf,
    /// Whether the socket goes on as the child's standard input.
    pub(super) has_line: bool,
}

/// Device and inode of a path.
type Place = (u64, u64);

impl Doors {
    /// Takes what the child that made the room has sent. `None` if it sent nothing.
    pub(super) fn received(socket: &UnixStream, room: &Room) -> Option<Self> {
        let spaces = take(socket.as_fd(), RecvFlags::DONTWAIT).ok()?.spaces;
        if spaces.is_empty() {
            return None;
        }
        let mounted = room.still.iter().chain(room.stand_ins.iter().map(|(_, path)| path)).chain(&room.covered);
        Some(Self { spaces, underlay: mounted.map(|path| (path.clone(), place(path))).collect() })
    }

    /// A socket that holds the namespaces for one child. `None` if it has to make its own, because somebody has replaced a protected path
    /// since the room was made.
    pub(super) fn open(&self, shelf: Shelf) -> Option<OwnedFd> {
        self.opened(shelf, 0).map(|(theirs, _)| theirs)
    }

    /// The same, where the socket stays the child's standard input, with the end at which it is spoken to.
    pub(super) fn open_with_line(&self, shelf: Shelf) -> Option<(OwnedFd, UnixStream)> {
        self.opened(shelf, LINE)
    }

    fn opened(&self, shelf: Shelf, flags: u8) -> Option<(OwnedFd, UnixStream)> {
        if self.underlay.iter().any(|(path, then)| place(path) != *then) {
            return None;
        }
        // A socket for each child, since a message is gone once one has read it.
        let (ours, theirs) = UnixStream::pair().ok()?;
        let spaces: Vec<BorrowedFd<'_>> = self.spaces.iter().map(AsFd::as_fd).collect();
        send_with(ours.as_fd(), &spaces, shelf as u8 | flags).ok()?;
        Some((theirs.into(), ours))
    }
}

fn place(path: &Path) -> Option<Place> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Sends descriptors over a Unix socket, with one byte that carries them and says which memory they lead to.
///
/// # Errors
/// When the socket does not take them.
pub(super) fn send(socket: BorrowedFd<'_>, spaces: &[BorrowedFd<'_>], shelf: Shelf) -> io::Result<()> {
    send_with(socket, spaces, shelf as u8)
}

fn send_with(socket: BorrowedFd<'_>, spaces: &[BorrowedFd<'_>], byte: u8) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !control.push(SendAncillaryMessage::ScmRights(spaces)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(&[byte])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives descriptors that were sent before, without waiting.
///
/// # Errors
/// When none were.
pub(super) fn take_now(socket: &UnixStream) -> io::Result<Taken> {
    take(socket.as_fd(), RecvFlags::DONTWAIT)
}

/// Receives them.
///
/// # Errors
/// When nothing can be read.
pub(super) fn take(socket: BorrowedFd<'_>, flags: RecvFlags) -> io::Result<Taken> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags | CLOSED_ON_EXEC)?;
    let mut spaces = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            spaces.extend(received);
        }
    }
    let [byte] = byte;
    let shelf = if byte & Shelf::Empty as u8 == 0 { Shelf::OfRoom } else { Shelf::Empty };
    Ok(Taken { spaces, shelf, has_line: byte & LINE != 0 })
}
