//! The names that the user's git tracks, read from its index file: a tracked file belongs to the state although an ignore rule
//! names it.
//!
//! Read here, by hand, because running git on a repository that others can write runs their programs (DESIGN §5). An index that
//! cannot be read (split index, a newer version) yields nothing: then ignore rules alone decide.
//!
//! Format: git's `Documentation/gitformat-index`. Versions 2 to 4.

use std::path::{Path, PathBuf};

use bstr::ByteVec as _;

/// Bytes of an entry before its flags: times, device, inode, mode, owner, size (40) and a SHA-1 (20).
const FIXED: usize = 60;
/// Bytes of the flags.
const FLAGS: usize = 2;
/// The flag that says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;
/// Where the mode stands in an entry.
const MODE_AT: usize = 24;
/// The mode of a submodule: no file.
const GITLINK: u32 = 0o160_000;
/// The extension of a split index, which git writes before all others.
const SPLIT: &[u8] = b"link";
/// The most bytes of an index. Git's own limit is memory, and ours keeps a forged index from costing it.
const MAX_INDEX_BYTES: u64 = 256 * 1024 * 1024;
/// How long a `.git` file that points elsewhere may be.
const MAX_POINTER_BYTES: u64 = 8 * 1024;

/// The tracked files below `root`, relative to it.
pub(super) fn tracked(root: &Path) -> Vec<PathBuf> {
    let Some((top, git)) = repository(root) else { return Vec::new() };
    let Ok(prefix) = root.strip_prefix(top) else { return Vec::new() };
    let names = names(&git).unwrap_or_default();
    names.into_iter().filter_map(|name| Some(name.strip_prefix(prefix).ok()?.to_owned())).collect()
}

/// Whether git tracks a file, or one beside it whose name begins with its own. An index that cannot be read may well track it. Case does not
/// count, since some disks do not know it.
#[must_use]
pub fn may_be_tracked(file: &Path) -> bool {
    let Some((top, git)) = file.parent().and_then(repository) else { return false };
    let Ok(relative) = file.strip_prefix(top) else { return false };
    let folded = |path: &Path| path.to_string_lossy().to_lowercase();
    let Some(names) = names(&git) else { return true };
    names.iter().any(|name| folded(name).starts_with(&folded(relative)))
}

fn repository(folder: &Path) -> Option<(&Path, PathBuf)> {
    folder.ancestors().find_map(|top| Some((top, git_folder(top)?)))
}

/// The tracked names, from the top. None where there is no index yet, `None` where it cannot be read.
fn names(git: &Path) -> Option<Vec<PathBuf>> {
    let index = git.join("index");
    match std::fs::metadata(&index) {
        Ok(found) if found.len() > MAX_INDEX_BYTES => None,
        Ok(_) => parse(&std::fs::read(index).ok()?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The git folder of a checkout: `.git` itself, or what a `.git` file (worktree, submodule) names.
pub(super) fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    let found = std::fs::symlink_metadata(&git).ok()?;
    if found.is_dir() {
        return Some(git);
    }
    if !found.is_file() || found.len() > MAX_POINTER_BYTES {
        return None;
    }
    let pointer = std::fs::read_to_string(git).ok()?;
    // From the folder of the file. An absolute path replaces that.
    Some(top.join(pointer.strip_prefix("gitdir:")?.trim()))
}

fn parse(bytes: &[u8]) -> Option<Vec<PathBuf>> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(bytes, 8)?;
    let mut names = Vec::new();
    let mut previous = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let start = at;
        let mode = number(bytes, at + MODE_AT)?;
        let flags = u16::from_be_bytes(bytes.get(at + FIXED..at + FIXED + FLAGS)?.try_into().ok()?);
        at += FIXED + FLAGS + if flags & EXTENDED == 0 { 0 } else { FLAGS };
        // Version 4 leaves out what a name shares with the one before, and counts the bytes to be dropped from the end of that.
        let kept = if version == 4 { previous.len().checked_sub(varint(bytes, &mut at)?)? } else { 0 };
        previous.truncate(kept);
        let rest = bytes.get(at..)?;
        let length = memchr::memchr(0, rest)?;
        previous.extend_from_slice(rest.get(..length)?);
        at += length + 1;
        if version < 4 {
            // Padded with NULs to a multiple of eight.
            at = start + (at - start).next_multiple_of(8);
        }
        if mode != GITLINK {
            // On Windows no file can have a name that is no text.
            names.extend(previous.clone().into_path_buf());
        }
    }
    // Most names of a split index stand in another file.
    if bytes.get(at..at + SPLIT.len()) == Some(SPLIT) { None } else { Some(names) }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Git's offset encoding: seven bits a byte, each continuation adds one.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value: usize = 0;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        // So that no number can be written in two ways.
        value = value.checked_add(1)?.checked_mul(128)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_broken_index_is_no_index(mut bytes in prop::collection::vec(any::<u8>(), 0..300), version in 0_u8..6) {
            let header = [b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, 3];
            let length = bytes.len().min(header.len());
            bytes[..length].copy_from_slice(&header[..length]);
            super::parse(&bytes);
        }
    }
}
