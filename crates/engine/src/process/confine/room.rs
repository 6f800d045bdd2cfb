//! A room of its own: a mount namespace that holds what is granted and nothing else, and a network namespace (Linux).
//!
//! Made by root as it is, by others in a user namespace that maps them to themselves. Paths that are not shown in the room do not exist
//! there: no docker socket, no agent's socket, no other user's temporary files.
//!
//! Invariant: nothing outside the namespaces is changed. When the last process in them ends, the kernel takes them away.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;

use super::doors::{self, Shelf, Taken};
use super::grants::SHARED_MEMORY;
use super::policy::{Policy, Room};
use super::{Reach, guards, mounts};

/// Devices without which programs do not start.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Folders of the file system that are shown whole, where Landlock says what of them can be read. Services keep no sockets there, which
/// Landlock would not keep anybody from. Of `/var` and of package stores, where they do, granted paths alone are shown.
const SYSTEM: [&str; 12] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/snap", "/proc", "/sys"];
/// The folder of processes, which write into their own files there. The kernel says itself who may write what.
const PROCESSES: &str = "/proc";
/// Temporary folders that everybody on the machine shares. In a room they are its own.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Moves this process into the namespaces that its policy asks for.
///
/// # Errors
/// The part that could not be made, and why.
pub(super) fn enter(policy: &Policy) -> Result<UnshareFlags, String> {
    let own_network = policy.reach == Reach::Loopback && policy.has(guards::NETWORK);
    if policy.room.is_none() && !own_network {
        return Ok(UnshareFlags::empty());
    }
    // In any case, since System V memory and queues have no paths that a mount could hide.
    let mut wanted = UnshareFlags::NEWIPC;
    if policy.room.is_some() {
        wanted |= UnshareFlags::NEWNS;
    }
    if own_network {
        wanted |= UnshareFlags::NEWNET;
    }
    let made = leave(wanted).map_err(|error| format!("namespaces: {error}"))?;
    if own_network {
        raise_loopback().map_err(|error| format!("the loopback interface: {error}"))?;
    }
    if let Some(room) = &policy.room {
        build(room, policy)?;
    }
    Ok(made)
}

/// Goes into the room whose doors standard input holds, and empties standard input. `false` if there is no way in.
///
/// # Errors
/// When it can go neither on nor back.
pub(super) fn join() -> Result<bool, String> {
    let nothing = Taken { spaces: Vec::new(), shelf: Shelf::OfRoom, has_line: false };
    let Taken { spaces, shelf, has_line } = doors::take(rustix::stdio::stdin(), RecvFlags::empty()).unwrap_or(nothing);
    // By its name: the folder that we stand in belongs to the mounts that are left behind.
    let here = std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    if !has_line {
        let empty = File::open("/dev/null").and_then(|nothing| Ok(rustix::stdio::dup2_stdin(nothing)?));
        empty.map_err(|error| format!("standard input: {error}"))?;
    }
    // The mount namespace is the last one: until then the machine is as it was, and a room can still be made.
    for space in &spaces {
        if rustix::thread::move_into_link_name_space(space.as_fd(), None).is_err() {
            return Ok(false);
        }
    }
    std::env::set_current_dir(&here).map_err(|error| format!("{} in the room: {error}", here.display()))?;
    if shelf == Shelf::Empty && !spaces.is_empty() {
        empty_shelf().map_err(|error| format!("shared memory in the room: {error}"))?;
    }
    Ok(!spaces.is_empty())
}

/// Puts an empty memory in the place of the one that the room's children share, for this process alone.
fn empty_shelf() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWIPC)?;
    Ok(share_memory(Path::new(SHARED_MEMORY))?)
}

/// Mounts a memory for programs to share.
fn share_memory(at: &Path) -> rustix::io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", at, "tmpfs", flags, Some(c"mode=1777"))
}

/// Sends the doors of the room that was made over standard input.
pub(super) fn hand_out(made: UnshareFlags) -> io::Result<()> {
    let names = [
        (UnshareFlags::NEWUSER, "user"),
        (UnshareFlags::NEWIPC, "ipc"),
        (UnshareFlags::NEWNET, "net"),
        (UnshareFlags::NEWNS, "mnt"),
    ];
    let spaces: Vec<File> = names
        .into_iter()
        .filter(|(flag, _)| made.contains(*flag))
        .map(|(_, name)| File::open(Path::new("/proc/self/ns").join(name)))
        .collect::<io::Result<_>>()?;
    let spaces: Vec<BorrowedFd<'_>> = spaces.iter().map(AsFd::as_fd).collect();
    if made.contains(UnshareFlags::NEWNS) {
        doors::send(rustix::stdio::stdin(), &spaces, Shelf::OfRoom)
    } else {
        Ok(())
    }
}

/// Leaves the namespaces of the parent: with the rights that there are, else in a user namespace.
fn leave(wanted: UnshareFlags) -> io::Result<UnshareFlags> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // Root in a container may lack the right, and then takes the way of others.
    if user.is_root() && unshare(wanted).is_ok() {
        return Ok(wanted);
    }
    let wanted = wanted | UnshareFlags::NEWUSER;
    unshare(wanted)?;
    // Without this the kernel takes no map of groups from an ordinary user.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    Ok(wanted)
}

#[expect(deprecated, reason = "unsafe is only unsharing the table of files, which is never asked for here")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Brings up `lo`, by the one message that does it: RTM_NEWLINK for interface 1 with IFF_UP (rtnetlink(7)).
fn raise_loopback() -> io::Result<()> {
    /// struct nlmsghdr and struct ifinfomsg.
    const LENGTH: u32 = 32;
    const RTM_NEWLINK: u16 = 16;
    /// NLM_F_REQUEST and NLM_F_ACK.
    const FLAGS: u16 = 0x5;
    const LOOPBACK: u32 = 1;
    const IFF_UP: u32 = 1;
    /// The place of an answer's error. 0 is success.
    const ERROR: std::ops::Range<usize> = 16..20;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(FLAGS.to_ne_bytes());
    // Sequence and port; family and type; index, flags, which flags.
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend([LOOPBACK, IFF_UP, IFF_UP].iter().flat_map(|word| word.to_ne_bytes()));
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    rustix::net::sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 128];
    rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let code = answer.get(ERROR).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) }
}

/// Puts the room together and moves in.
fn build(room: &Room, policy: &Policy) -> Result<(), String> {
    let here = std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let at = |what: &Path| {
        let what = what.display().to_string();
        move |error: rustix::io::Errno| format!("{what}: {error}")
    };
    let io_at = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| format!("{what}: {error}")
    };
    // Else each mount below would spread to the machine's own.
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(at(Path::new("/")))?;
    let root = &room.root;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", root, "tmpfs", flags, Some(c"mode=0755,size=64m")).map_err(at(root))?;
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    for path in SYSTEM.iter().map(Path::new) {
        show(path, &inside(path)).map_err(io_at(path))?;
    }
    // Landlock knows no right to change a file's mode, owner, times or attributes.
    let mut stilled: Vec<PathBuf> = SYSTEM
        .iter()
        .filter(|path| **path != PROCESSES && is_folder(Path::new(path)))
        .map(|path| inside(Path::new(path)))
        .collect();
    furnish_devices(&root.join("dev")).map_err(io_at(Path::new("/dev")))?;
    stilled.extend(DEVICES.iter().map(|name| root.join("dev").join(name)).filter(|device| device.exists()));
    for path in TEMPORARY.map(Path::new) {
        let target = inside(path);
        std::fs::create_dir_all(&target).map_err(io_at(path))?;
        rustix::mount::mount_bind(&room.tmp, &target).map_err(at(path))?;
    }
    let run = root.join("run");
    std::fs::create_dir_all(&run).map_err(io_at(&run))?;
    // `/run/systemd/resolve` holds what `/etc/resolv.conf` leads to on many systems; a name server is no use without a network.
    let resolver = Path::new("/run/systemd/resolve/stub-resolv.conf");
    if policy.reach == Reach::All && resolver.exists() {
        show(resolver, &inside(resolver)).map_err(io_at(resolver))?;
    }
    symlink("/run", root.join("var/run")).unwrap_or_default();
    for path in shown(room) {
        let target = inside(path);
        show(path, &target).map_err(io_at(path))?;
        let is_mount = path.symlink_metadata().is_ok_and(|found| !found.is_symlink());
        if is_mount && !policy.write.contains(path) {
            stilled.push(target);
        }
    }
    if policy.has(guards::FILES) {
        mounts::still_all(&stilled)?;
    }
    // What may be written below a folder that may not.
    for path in policy.write.iter().filter(|path| is_below_stilled(policy, room, path)) {
        rustix::mount::mount_bind_recursive(path, inside(path)).map_err(at(path))?;
    }
    if policy.has(guards::FILES) {
        for path in &room.covered {
            cover(room, path, &inside(path)).map_err(at(path))?;
        }
    }
    if policy.has(guards::GIT) {
        for path in room.still.iter().filter(|path| path.exists()) {
            let target = inside(path);
            // Onto itself, since only a mount can be made read-only.
            rustix::mount::mount_bind_recursive(&target, &target).map_err(at(path))?;
        }
        for (stand_in, path) in room.stand_ins.iter().filter(|(_, path)| path.exists()) {
            rustix::mount::mount_bind(stand_in, inside(path)).map_err(at(path))?;
        }
        for path in room.still.iter().chain(room.stand_ins.iter().map(|(_, path)| path)).filter(|path| path.exists()) {
            mounts::still(&inside(path)).map_err(at(path))?;
        }
    }
    std::env::set_current_dir(root).map_err(io_at(root))?;
    // The old root lies over the new one then, and goes with the next call: no folder for it is needed.
    rustix::process::pivot_root(".", ".").map_err(at(root))?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(at(root))?;
    std::env::set_current_dir(&here).map_err(io_at(&here))
}

/// Opens what stands for no input once more, where it is read-only: that of before belongs to the machine, and its times are anybody's.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn renew_empty_input() -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let nothing = File::open("/dev/null")?;
    let of_input = rustix::fs::fstat(rustix::stdio::stdin())?;
    let is_empty = rustix::fs::FileType::from_raw_mode(of_input.st_mode) == rustix::fs::FileType::CharacterDevice
        && of_input.st_rdev == nothing.metadata()?.rdev();
    if is_empty {
        rustix::stdio::dup2_stdin(nothing)?;
    }
    Ok(())
}

/// Whether a path lies in a folder that is shown read-only.
fn is_below_stilled(policy: &Policy, room: &Room, path: &Path) -> bool {
    let below = |folder: &Path| path != folder && path.starts_with(folder) && is_folder(folder);
    let in_system = SYSTEM.iter().map(Path::new).any(below);
    let in_shown = room.show.iter().any(|folder| !policy.write.contains(folder) && below(folder));
    policy.has(guards::FILES) && path.exists() && (in_system || in_shown)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// The paths to be shown that are not shown yet with a folder above them.
fn shown(room: &Room) -> impl Iterator<Item = &PathBuf> {
    let mut paths: Vec<&PathBuf> = room.show.iter().collect();
    // A folder then stands before all that is in it.
    paths.sort();
    let mut last: Option<&Path> = None;
    let system: Vec<&str> = SYSTEM.iter().filter(|path| is_folder(Path::new(path))).copied().collect();
    paths.retain(|path| {
        let below_system = system.iter().any(|system| path.starts_with(system));
        let below = last.is_some_and(|last| path.starts_with(last));
        if !below && !below_system {
            last = Some(path);
        }
        !below && !below_system
    });
    paths.into_iter()
}

/// Shows a folder or a file of the machine in the room, and a link as the same link. Does nothing for a path that does not exist.
fn show(path: &Path, target: &Path) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if found.is_symlink() {
        return match symlink(path.read_link()?, target) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    if found.is_dir() {
        std::fs::create_dir_all(target)?;
    } else {
        // Never cut: the target may be the file itself, in a folder that is shown already.
        File::options().create(true).append(true).open(target)?;
    }
    Ok(rustix::mount::mount_bind_recursive(path, target)?)
}

/// Puts nothing over a secret, if it is there. A link is covered where it leads to.
fn cover(room: &Room, path: &Path, target: &Path) -> rustix::io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => rustix::mount::mount_bind(&room.empty, target),
        Ok(found) if !found.is_symlink() => rustix::mount::mount_bind(&room.nothing, target),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn furnish_devices(dev: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dev)?;
    for name in DEVICES {
        show(&Path::new("/dev").join(name), &dev.join(name))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    for name in ["shm", "pts"] {
        std::fs::create_dir(dev.join(name))?;
    }
    share_memory(&dev.join("shm"))?;
    // A new instance, in which the host's terminals are not.
    rustix::mount::mount("devpts", dev.join("pts"), "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"))?;
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, dev.join(name))?;
    }
    Ok(())
}
