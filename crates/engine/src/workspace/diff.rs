//! The difference of two recorded states as a patch that `git apply` takes, and a hash of a patch that line numbers do not change.
//!
//! Pure over stored contents. Renames are shown as a removal and an addition.

use std::collections::BTreeSet;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::rel_path::RelPath;
use super::store::{Entry, Form, Manifest, Store};
use super::{Diff, WorkspaceError};
use crate::domain::event::FileStat;
use crate::domain::line_diff::write_hunks;

/// Unchanged lines around a change, in git's own number.
pub(super) const CONTEXT: usize = 3;
/// The time for which the smallest difference of one file is searched. After it a larger one is taken.
pub(super) const DEADLINE: Duration = Duration::from_millis(500);
/// Where git looks for a NUL to call a file binary.
const BINARY_REACH: usize = 8000;

/// Compares two recorded states.
pub(super) fn diff(store: &Store, from: &Manifest, to: &Manifest) -> Result<Diff, WorkspaceError> {
    let mut diff = Diff::default();
    let paths: BTreeSet<&RelPath> = from.keys().chain(to.keys()).collect();
    for path in paths {
        let (old, new) = (from.get(path), to.get(path));
        if old == new {
            continue;
        }
        match (old, new) {
            // git has no patch that turns a file into a link: it goes, and another comes.
            (Some(old), Some(new)) if old.form != new.form => {
                file(store, path, Some(old), None, &mut diff)?;
                file(store, path, None, Some(new), &mut diff)?;
            }
            (old, new) => file(store, path, old, new, &mut diff)?,
        }
    }
    Ok(diff)
}

fn file(
    store: &Store,
    path: &RelPath,
    old: Option<&Entry>,
    new: Option<&Entry>,
    diff: &mut Diff,
) -> Result<(), WorkspaceError> {
    let load = |entry: Option<&Entry>| entry.map_or(Ok(Vec::new()), |entry| store.content(&entry.content));
    let (old_bytes, new_bytes) = (load(old)?, load(new)?);
    let (old_mode, new_mode) = (old.map(git_mode), new.map(git_mode));
    if old_mode == new_mode && old_bytes == new_bytes {
        // Permissions that git does not know.
        return Ok(());
    }
    let (a, b) = (quoted("a/", path), quoted("b/", path));
    let text = &mut diff.text;
    text.push_str(&format!("diff --git {a} {b}\n"));
    match (old_mode, new_mode) {
        (None, Some(mode)) => text.push_str(&format!("new file mode {mode}\n")),
        (Some(mode), None) => text.push_str(&format!("deleted file mode {mode}\n")),
        (Some(from), Some(to)) if from != to => text.push_str(&format!("old mode {from}\nnew mode {to}\n")),
        _ => {}
    }
    let a = if old.is_some() { a } else { "/dev/null".to_owned() };
    let b = if new.is_some() { b } else { "/dev/null".to_owned() };
    let shown = path.to_string();
    if is_binary(&old_bytes) || is_binary(&new_bytes) {
        text.push_str(&format!("Binary files {a} and {b} differ\n"));
        diff.stat.files.push(FileStat { path: shown, added: None, removed: None });
        return Ok(());
    }
    if old_bytes != new_bytes {
        text.push_str(&format!("--- {a}\n+++ {b}\n"));
    }
    let (added, removed) = hunks(&old_bytes, &new_bytes, text);
    diff.stat.files.push(FileStat { path: shown, added: Some(added), removed: Some(removed) });
    Ok(())
}

/// The change of one file's text.
pub(super) fn of_text(path: &RelPath, old: &[u8], new: &[u8]) -> String {
    if old == new {
        return String::new();
    }
    let (a, b) = (quoted("a/", path), quoted("b/", path));
    let mut text = format!("diff --git {a} {b}\n--- {a}\n+++ {b}\n");
    hunks(old, new, &mut text);
    text
}

/// Writes the hunks. Returns how many lines came and went.
fn hunks(old: &[u8], new: &[u8], text: &mut String) -> (u64, u64) {
    write_hunks(old, new, CONTEXT, Some(DEADLINE), text)
}

/// The mode as git has it: it knows of permissions only whether the owner may execute.
const fn git_mode(entry: &Entry) -> &'static str {
    match entry.form {
        Form::Link => "120000",
        Form::File | Form::Large if entry.permissions & 0o100 != 0 => "100755",
        Form::File | Form::Large => "100644",
    }
}

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.get(..BINARY_REACH).unwrap_or(bytes).contains(&0)
}

/// A path as git writes it: in quotes if it holds anything unusual.
fn quoted(prefix: &str, path: &RelPath) -> String {
    let bytes = path.as_path().as_os_str().as_encoded_bytes();
    // As git quotes by default: beyond ASCII each byte stands as three octal digits.
    let plain = |byte: &u8| (b' '..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if bytes.iter().all(plain) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            _ if plain(&byte) => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// Names a patch by what it changes, not where: equal for the same change at moved lines (no-progress detection).
///
/// Hunk headers, context lines and trailing white space do not count.
#[must_use]
pub fn patch_hash(diff: &Diff) -> String {
    let mut hasher = Sha256::new();
    for line in diff.text.lines() {
        let counts = match line.as_bytes().first() {
            // `Binary files a/x and b/x differ` begins with the last one.
            Some(b'+' | b'-' | b'B') => true,
            _ => {
                line.starts_with("diff ")
                    || line.starts_with("new ")
                    || line.starts_with("old ")
                    || line.starts_with("deleted ")
            }
        };
        if counts {
            hasher.update(line.trim_end());
            hasher.update("\n");
        }
    }
    hex::encode(hasher.finalize())
}
