//! Mounts that are made read-only, with all that are mounted below them (Linux).
//!
//! A remount is about one mount alone: a volume inside a folder of tools, or the `/etc/hosts` that a container engine lays over the image's,
//! would stay writable, and Landlock does not govern modes, owners, times and attributes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::mount::MountFlags;

/// Every mount flag that a remount in a user namespace must repeat, because it may only add to them.
const KEPT_FLAGS: [(StatVfsMountFlags, MountFlags); 6] = [
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];
/// Where the kernel lists the mounts that this process sees.
const LIST: &str = "/proc/self/mountinfo";

/// Makes a mount read-only, with the flags that it has.
///
/// # Errors
/// When the kernel refuses it.
pub(super) fn still(path: &Path) -> Result<(), Errno> {
    let has = rustix::fs::statvfs(path)?.f_flag;
    let kept = KEPT_FLAGS.iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| *flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, |all, flag| all | flag);
    rustix::mount::mount_remount(path, flags, c"")
}

/// Makes mounts read-only, and all that lie below them.
///
/// # Errors
/// When the list of mounts cannot be read, or the kernel refuses one.
pub(super) fn still_all(tops: &[PathBuf]) -> Result<(), String> {
    for top in tops {
        still(top).map_err(|error| format!("{}: {error}", top.display()))?;
    }
    let list = std::fs::read(LIST).map_err(|error| format!("{LIST}: {error}"))?;
    for mount in below(&list, tops) {
        match still(&mount) {
            // Where we may not look, no child may.
            Ok(()) | Err(Errno::ACCESS | Errno::NOENT) => {}
            Err(error) => return Err(format!("{}: {error}", mount.display())),
        }
    }
    Ok(())
}

/// The mounts of a list that lie below others and can be written.
fn below(list: &[u8], tops: &[PathBuf]) -> Vec<PathBuf> {
    let mounts = list.split(|&byte| byte == b'\n').filter_map(|line| {
        // A line goes `36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda rw`.
        let mut fields = line.split(|&byte| byte == b' ');
        let (place, options) = (fields.nth(4)?, fields.next()?);
        let is_still = options.split(|&byte| byte == b',').any(|option| option == b"ro");
        (!is_still).then(|| PathBuf::from(OsString::from_vec(unescaped(place))))
    });
    mounts.filter(|mount| tops.iter().any(|top| mount != top && mount.starts_with(top))).collect()
}

/// A path of that list: blanks, line breaks and backslashes stand as three octal digits.
fn unescaped(place: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(place.len());
    let mut rest = place;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_are_found_whatever_their_names() {
        let list = b"22 27 0:21 / /r/etc rw,relatime - ext4 x rw\n\
            23 22 0:21 / /r/etc/hosts rw,relatime - ext4 x rw\n\
            24 22 0:21 / /r/etc/ro ro,relatime - ext4 x rw\n\
            25 22 0:21 / /r/etc/a\\040b\\134 rw - ext4 x rw\n\
            26 22 0:21 / /r/etcetera rw - ext4 x rw\n\
            short\n";
        let found = below(list, &[PathBuf::from("/r/etc")]);
        assert_eq!(found, ["/r/etc/hosts", "/r/etc/a b\\"].map(PathBuf::from));
    }
}
