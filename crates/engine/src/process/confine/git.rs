//! The user's git directory, kept whole where children could write it, and its configuration without credentials.
//!
//! [`GitGuard`] holds a copy of everything in `.git`: hooks, configuration, references, index, of submodules too, in memory, and objects in
//! a folder of their own, where they are kept for the next run, since an object's name is its content's. After each child, when none of its
//! descendants lives any more, changed entries are put back and new ones are removed. The copy also lies in a file outside every granted
//! path, so that the next start mends what a killed run left ([`recover`]).
//!
//! Invariant: no link that a child made is followed, and no git is run here.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The git directory's name in a tree.
const GIT: &str = ".git";
/// Folders right in it that hold what cannot make git do anything, and may be huge.
const UNGUARDED: [&str; 2] = ["lfs", "logs"];
/// The folder in it whose files are stored outside memory.
const OBJECTS: &str = "objects";
/// The length of a loose object's name by SHA-1, whose first two digits are its folder.
const SHORTEST_OBJECT: usize = 38;
/// Where they are stored, in the state folder.
const STORE: &str = "git-objects";
/// The largest file that is copied, in bytes. Git's index of a million files is smaller.
const LARGEST: u64 = 128 << 20;
/// Where the copy lies in the state folder.
const COPY: &str = "git-guard.json";

/// One entry of the git directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Kept {
    /// A folder.
    Folder,
    /// A link and where it leads.
    Link(PathBuf),
    /// A file's mode and its content in base64.
    File(u32, String),
    /// An object's mode. Its content is stored.
    Object(u32),
}

/// Paths from the git directory's parent.
type Copy = BTreeMap<PathBuf, Kept>;
/// The status by which an entry is known to be untouched. A child cannot set the time of the last change of an inode.
type Stamp = (u64, u64, u32, i64, i64);

/// The written form of the copy.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    checkout: PathBuf,
    copy: Copy,
}

/// Keeps a tree's git directory as it is, over children that could write it.
#[derive(Debug)]
pub(in crate::process) struct GitGuard {
    checkout: PathBuf,
    /// As it was before anything was lifted out of it.
    original: Copy,
    /// As it is while children run.
    copy: Copy,
    stamps: Mutex<BTreeMap<PathBuf, Stamp>>,
    state: PathBuf,
}

impl GitGuard {
    /// Copies what is to be guarded, and takes credentials out of git's configuration until this is dropped.
    pub(super) fn raise(checkout: &Path, state: &Path) -> io::Result<Self> {
        fs::create_dir_all(state)?;
        // Before the contents are read: an object that changes meanwhile then differs from its stamp.
        let stamps = stamps_of(checkout);
        let original = read(checkout, state)?;
        let written = state.join(COPY);
        let text = serde_json::to_vec(&Written { checkout: checkout.to_owned(), copy: original.clone() })?;
        let temporary = written.with_extension("new");
        // For our user alone, since the credentials are still in it.
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?.write_all(&text)?;
        // Whole or not at all, and before anything is taken out: a kill from here on is mended by the next start.
        fs::rename(&temporary, &written)?;
        let mut copy = original.clone();
        for (path, kept) in &mut copy {
            if let Kept::File(mode, content) = kept
                && is_configuration(path)
                && let Ok(bytes) = STANDARD.decode(content.as_bytes())
                && let Some(clean) = without_credentials(&String::from_utf8_lossy(&bytes))
            {
                *kept = Kept::File(*mode, STANDARD.encode(clean));
            }
        }
        restore(checkout, state, &copy, &stamps)?;
        let stamps = Mutex::new(stamps_of(checkout));
        Ok(Self { checkout: checkout.to_owned(), original, copy, stamps, state: state.to_owned() })
    }

    /// Puts back what a child changed. Returns the paths, if it did.
    pub(in crate::process) fn put_back(&self) -> io::Result<Vec<PathBuf>> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps_of(&self.checkout);
        if now == *stamps {
            return Ok(Vec::new());
        }
        let changed = restore(&self.checkout, &self.state, &self.copy, &stamps)?;
        *stamps = stamps_of(&self.checkout);
        Ok(changed)
    }
}

impl Drop for GitGuard {
    fn drop(&mut self) {
        // What fails here is mended by the next start.
        let stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if restore(&self.checkout, &self.state, &self.original, &stamps).is_ok() {
            // Only when everything is back, since it is the last copy.
            fs::remove_file(self.state.join(COPY)).unwrap_or_default();
        }
    }
}

/// Puts back what a killed run's children may have left of a tree's git directory.
///
/// # Errors
/// When the git directory cannot be written.
pub(super) fn recover(checkout: &Path, state: &Path) -> io::Result<()> {
    if super::guards::is_off(super::guards::RECOVERY) {
        return Ok(());
    }
    let path = state.join(COPY);
    let Ok(bytes) = fs::read(&path) else { return Ok(()) };
    if let Ok(written) = serde_json::from_slice::<Written>(&bytes)
        && written.checkout == checkout
    {
        // Without stamps, so that each object is compared: nobody knows how far the children of the killed run came.
        restore(checkout, state, &written.copy, &BTreeMap::new())?;
    }
    fs::remove_file(&path)
}

/// Every guarded entry, without its content.
fn walk(checkout: &Path, visit: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>) -> io::Result<()> {
    let mut folders = Vec::new();
    let mut see = |below: PathBuf, folders: &mut Vec<PathBuf>| -> io::Result<()> {
        let Ok(found) = checkout.join(&below).symlink_metadata() else { return Ok(()) };
        visit(&below, &found)?;
        if found.is_dir() {
            folders.push(below);
        }
        Ok(())
    };
    see(PathBuf::from(GIT), &mut folders)?;
    for module in submodules(checkout) {
        see(module.join(GIT), &mut folders)?;
    }
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(checkout.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let below = folder.join(entry.file_name());
            let name = entry.file_name();
            // Deeper, a branch or a submodule may be called so.
            let in_git = folder.file_name().is_some_and(|folder| folder == GIT);
            if in_git && UNGUARDED.iter().any(|unguarded| name == *unguarded) && entry.file_type()?.is_dir() {
                continue;
            }
            see(below, &mut folders)?;
        }
    }
    Ok(())
}

/// The folders of submodules, by the tree's own list.
pub(super) fn submodules(checkout: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(checkout.join(".gitmodules")).unwrap_or_default();
    let values = text.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    let paths = values.map(|value| PathBuf::from(value.trim()));
    // The list is the repository's, and `..` or `/` in it would lead out of the tree.
    paths.filter(|path| path.components().all(|part| matches!(part, std::path::Component::Normal(_)))).collect()
}

fn stamps_of(checkout: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut stamps = BTreeMap::new();
    let walked = walk(checkout, &mut |path, found| {
        stamps.insert(path.to_owned(), stamp(found));
        Ok(())
    });
    if walked.is_err() {
        stamps.clear();
    }
    stamps
}

fn stamp(found: &Metadata) -> Stamp {
    (found.ino(), found.size(), found.mode(), found.ctime(), found.ctime_nsec())
}

fn is_object(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == OBJECTS)
}

/// Whether a file's name says what is in it: a loose object's, or a pack's. Lists and graphs beside them are written anew.
fn is_named_by_content(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_loose = name.len() >= SHORTEST_OBJECT && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_loose || name.starts_with("pack-")
}

/// Stores an object, unless it is stored already.
fn store(full: &Path, stored: &Path, length: u64) -> io::Result<()> {
    if is_named_by_content(full) && stored.metadata().is_ok_and(|found| found.len() == length) {
        return Ok(());
    }
    if let Some(parent) = stored.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut temporary = stored.as_os_str().to_owned();
    temporary.push(".new");
    fs::copy(full, &temporary)?;
    // A full disk leaves no half object under the name by which it is believed.
    fs::rename(&temporary, stored)
}

fn read(checkout: &Path, state: &Path) -> io::Result<Copy> {
    let mut copy = Copy::new();
    walk(checkout, &mut |path, found| {
        let full = checkout.join(path);
        let kept = if found.is_dir() {
            Kept::Folder
        } else if found.is_symlink() {
            Kept::Link(full.read_link()?)
        } else if found.is_file() && is_object(path) {
            store(&full, &state.join(STORE).join(path), found.len())?;
            Kept::Object(found.mode() & 0o7777)
        } else if found.is_file() && found.len() <= LARGEST {
            Kept::File(found.mode() & 0o7777, STANDARD.encode(fs::read(&full)?))
        } else {
            // Special files, and those too large to be kept.
            return Ok(());
        };
        copy.insert(path.to_owned(), kept);
        Ok(())
    })?;
    Ok(copy)
}

/// Makes the git directory equal to a copy. Returns the paths that were not. An object with the stamp that it had is as it was.
fn restore(checkout: &Path, state: &Path, copy: &Copy, stamps: &BTreeMap<PathBuf, Stamp>) -> io::Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    // First what is not what it was: a link in a folder's place would lead what follows astray. Parents come before children.
    let mut found = Vec::new();
    walk(checkout, &mut |path, metadata| {
        found.push((path.to_owned(), metadata.clone()));
        Ok(())
    })?;
    for (path, metadata) in found {
        let same_kind = match copy.get(&path) {
            // Too large to be copied, so that it may well have been there before.
            None => metadata.is_file() && metadata.len() > LARGEST,
            Some(Kept::Folder) => metadata.is_dir(),
            Some(Kept::Link(target)) => {
                metadata.is_symlink() && fs::read_link(checkout.join(&path)).is_ok_and(|is| is == *target)
            }
            Some(Kept::File(..) | Kept::Object(_)) => metadata.is_file(),
        };
        if !same_kind {
            remove(&checkout.join(&path), &metadata)?;
            changed.push(path);
        }
    }
    for (path, kept) in copy {
        let full = checkout.join(path);
        let there = full.symlink_metadata().is_ok();
        match kept {
            Kept::Folder if !there => fs::create_dir(&full)?,
            Kept::Link(target) if !there => symlink(target, &full)?,
            Kept::File(mode, content) => {
                let bytes = STANDARD.decode(content.as_bytes()).map_err(io::Error::other)?;
                let same_mode = there && full.symlink_metadata()?.mode() & 0o7777 == *mode;
                if same_mode && fs::read(&full).is_ok_and(|is| is == bytes) {
                    continue;
                }
                write(&full, &bytes, *mode)?;
            }
            Kept::Object(mode) => {
                let found = full.symlink_metadata().ok();
                if found.is_some_and(|found| stamps.get(path) == Some(&stamp(&found))) {
                    continue;
                }
                let bytes = fs::read(state.join(STORE).join(path))?;
                if there && fs::read(&full).is_ok_and(|is| is == bytes) {
                    continue;
                }
                write(&full, &bytes, *mode)?;
            }
            Kept::Folder | Kept::Link(_) => continue,
        }
        changed.push(path.clone());
    }
    changed.sort();
    changed.dedup();
    Ok(changed)
}

fn remove(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let removed = if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        // It went with its folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Beside it, then renamed over it: a crash leaves the one or the other.
fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".upshift-new");
    let temporary = PathBuf::from(temporary);
    // A killed run may have left one. A link that a child put there is not followed, as the file must be new.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(mode).open(&temporary)?;
    file.write_all(bytes)?;
    // Once more, since the umask took bits from the mode at the creation.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    fs::rename(&temporary, path)
}

/// The configuration files of a tree's git directory: its own, its worktrees' and its submodules'.
pub(super) fn configurations(checkout: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(GIT)];
    folders.extend(submodules(checkout).into_iter().map(|module| module.join(GIT)));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(checkout.join(&folder)).into_iter().flatten().flatten() {
            let below = folder.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() && is_configuration(&below) {
                found.push(below);
            } else if kind.is_dir() && may_hold_git_directories(&below) {
                folders.push(below);
            }
        }
    }
    found
}

/// Whether a folder is `modules` or `worktrees` of a git directory, or lies below such a one.
fn may_hold_git_directories(path: &Path) -> bool {
    let within = path.iter().any(|part| part == "modules" || part == "worktrees");
    within && !is_object(path)
}

fn is_configuration(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "config" || name == "config.worktree")
}

/// Git's configuration without the credentials that checkout and people leave in it. `None` if there are none.
///
/// Whole sections `credential` and `include`, headers, passwords in addresses.
pub(super) fn without_credentials(text: &str) -> Option<String> {
    let mut clean = String::new();
    let (mut dropping, mut continued, mut was_secret) = (false, false, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let lower = trimmed.to_ascii_lowercase();
        if !continued && lower.starts_with('[') {
            dropping = ["[credential", "[include"].iter().any(|section| lower.starts_with(section));
        }
        // Anywhere in the line, as git takes a key behind its section too: `[http] extraheader = …`. A line too many does no harm.
        let secret = lower.contains("extraheader") || lower.contains("helper") || lower.contains("sslkey");
        // A value may go on in the next line, and ends with the first line that has no backslash.
        was_secret = secret || continued && was_secret;
        continued = line.trim_end().ends_with('\\');
        if dropping || was_secret {
            continue;
        }
        clean.push_str(&without_password(line));
    }
    (clean != text).then_some(clean)
}

/// `https://user:password@host` without the part before the host.
fn without_password(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(['/', ' ', '"', '\n', '?', '#']).unwrap_or(after.len());
        let (host, tail) = after.split_at_checked(end).unwrap_or((after, ""));
        // The last one, since a password may hold others.
        let host = match host.rsplit_once('@') {
            // `ssh://git@host` names an account and holds no secret.
            Some((user, host))
                if user.contains(':') || before.trim_end().ends_with("http") || before.ends_with("https") =>
            {
                host
            }
            Some(_) | None => host,
        };
        out.push_str(host);
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_with_the_lines_that_they_go_on_in() {
        let text = "[http]\n\textraheader = AUTHORIZATION: \\\n\tbasic c2VjcmV0 \\\n\tmore\n\tproxy = p\n[core]\n\tbare = false\n";
        assert_eq!(without_credentials(text).as_deref(), Some("[http]\n\tproxy = p\n[core]\n\tbare = false\n"));
    }

    #[test]
    fn an_object_is_believed_by_its_name_and_a_list_of_them_is_not() {
        let of = |name: &str| is_named_by_content(Path::new(name));
        assert!(of(".git/objects/ab/0123456789abcdef0123456789abcdef012345"));
        assert!(of(".git/objects/pack/pack-0123.idx"));
        assert!(
            !of(".git/objects/info/packs") && !of(".git/objects/info/commit-graph") && !of(".git/refs/heads/objects/x")
        );
    }
}
