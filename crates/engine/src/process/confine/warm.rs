//! The host's build cache as a beginning of the private one, so that the first run of the tests does not build the standard library.
//!
//! Copied, never linked: Go writes into entries that are there, and a test could do so to poison the user's next build. A file system
//! that can share blocks makes a copy cost nothing. The newest entries come first, as far as bytes and time go.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The most bytes that are copied: the standard library and a large program's dependencies.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
/// The most time that is spent on it: a cold build would take longer.
const MOST_TIME: Duration = Duration::from_secs(15);
/// How deep below the checkout's top a Go module is looked for, and in how many folders.
const MODULE_DEPTH: usize = 3;
const MOST_FOLDERS: usize = 2_000;

/// Copies the host's Go build cache where the checkout holds a Go module. Entries that cannot be copied are built again.
pub(super) fn go(private: &Path, env: &BTreeMap<OsString, OsString>, home: Option<&Path>, checkout: &Path) {
    // A cache in the checkout may have come with the repository, and hold any object.
    let Some(host) = host_cache(env, home).filter(|host| host.is_dir() && !host.starts_with(checkout)) else { return };
    if has_module(checkout) {
        copy(&host, private, MOST_BYTES, Instant::now() + MOST_TIME);
    }
}

/// Where Go keeps its cache for the user (`go env GOCACHE`: the variable, else the user's cache folder).
fn host_cache(env: &BTreeMap<OsString, OsString>, home: Option<&Path>) -> Option<PathBuf> {
    let path = |name: &str| env.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_user = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let user = path("XDG_CACHE_HOME").or_else(|| home.map(|home| home.join(of_user)));
    path("GOCACHE").or_else(|| user.map(|user| user.join("go-build")))
}

fn has_module(checkout: &Path) -> bool {
    let mut waiting = vec![(checkout.to_owned(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = waiting.pop() {
        looked += 1;
        if folder.join("go.mod").is_file() {
            return true;
        }
        if depth >= MODULE_DEPTH || looked >= MOST_FOLDERS {
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let plain = folders.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        waiting.extend(plain.map(|entry| (entry.path(), depth + 1)));
    }
    false
}

/// An entry of the cache: a file in a folder that is called by two hexadecimal digits.
struct Entry {
    changed: SystemTime,
    bytes: u64,
    folder: OsString,
    name: OsString,
}

fn copy(host: &Path, private: &Path, most: u64, until: Instant) {
    let mut entries: Vec<Entry> = entries(host);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.changed));
    let mut left = most;
    for entry in entries {
        let Some(rest) = left.checked_sub(entry.bytes) else { return };
        let folder = private.join(&entry.folder);
        let made = std::fs::create_dir_all(&folder);
        let source = host.join(&entry.folder).join(&entry.name);
        // The first failure ends it: a full disk refuses the others too.
        if Instant::now() > until || made.and_then(|()| std::fs::copy(source, folder.join(&entry.name))).is_err() {
            return;
        }
        left = rest;
    }
}

fn entries(host: &Path) -> Vec<Entry> {
    let folders = std::fs::read_dir(host).into_iter().flatten().flatten();
    let is_shard = |name: &OsStr| name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    let mut found = Vec::new();
    for shard in folders.filter(|entry| is_shard(&entry.file_name())) {
        for file in std::fs::read_dir(shard.path()).into_iter().flatten().flatten() {
            // A link is no entry of Go's.
            let Ok(about) = file.metadata() else { continue };
            if about.is_file() {
                let changed = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push(Entry { changed, bytes: about.len(), folder: shard.file_name(), name: file.file_name() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, bytes: usize, age: u64) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![b'x'; bytes]).unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(changed).unwrap();
    }

    #[test]
    fn the_newest_entries_are_copied_and_nothing_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let (host, private) = (folder.path().join("host"), folder.path().join("private"));
        write(&host.join("00/old-d"), 60, 300);
        write(&host.join("ff/new-d"), 30, 1);
        write(&host.join("a0/mid-a"), 30, 100);
        write(&host.join("trim.txt"), 5, 1);
        std::os::unix::fs::symlink("/etc/passwd", host.join("a0/link-d")).unwrap();
        copy(&host, &private, 100, Instant::now() + MOST_TIME);
        assert!(private.join("ff/new-d").is_file() && private.join("a0/mid-a").is_file());
        assert!(!private.join("00/old-d").exists(), "no bytes were left for it");
        assert!(!private.join("a0/link-d").exists() && !private.join("trim.txt").exists());
        std::fs::write(private.join("ff/new-d"), "poison").unwrap();
        assert_eq!(std::fs::read(host.join("ff/new-d")).unwrap(), vec![b'x'; 30]);
    }

    #[test]
    fn only_a_checkout_with_a_go_module_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write(&path("home/.cache/go-build/ff/new-d"), 3, 1);
        write(&path("plain/main.py"), 3, 1);
        write(&path("service/api/go.mod"), 3, 1);
        let env = BTreeMap::new();
        go(&path("one"), &env, Some(&path("home")), &path("plain"));
        assert!(!path("one").exists());
        go(&path("two"), &env, Some(&path("home")), &path("service"));
        assert!(path("two/ff/new-d").is_file());
        let elsewhere = BTreeMap::from([("GOCACHE".into(), path("none").into_os_string())]);
        go(&path("three"), &elsewhere, Some(&path("home")), &path("service"));
        assert!(!path("three").exists(), "the variable's folder counts, and there is none");
    }
}
