//! Files that tools run or obey without being asked: noted at the start, and what is new removed at the end.
//!
//! Code under test runs confined, and the files it leaves in the tree do not: a git directory in a folder runs a program of its
//! configuration at the next `git status` there, a shell obeys `.envrc`, an editor its tasks. So the files of that kind (`names`) that are
//! there before the tests first run are noted, outside of the tree and durably. At the end, new files of that kind are removed, and changed
//! ones are put back.
//!
//! Start reading at [`Autorun::note`] and [`Autorun::sweep`]. `look` is the walk, `links` tells links that lead out.
//!
//! Invariant: what was there at the start is never removed, and no link is followed.

mod links;
mod look;
pub(super) mod names;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

pub(super) use self::links::leads_out;
use super::open_files::OpenFiles;
use super::rel_path::RelPath;
use super::store::{Digest, Store};
use crate::domain::leftover::{Leftover, LeftoverFate};
use crate::files::{self, Folder, Kind, Refusal};
use crate::process::traces;
use look::{Form, Item, Seen, folded, look};

/// The file in the private folder that holds what was there at the start of the run under way.
const NOTE: &str = "autorun.json";
/// The largest file whose content is kept, in bytes: settings and hooks are far smaller.
const MOST_BYTES: u64 = 1024 * 1024;
/// Of so many files the content is kept: folders of settings hold dozens.
const MOST_FILES: usize = 4096;

/// How often the tree is looked at anew for folders that code under test closed: opening one opens all below it.
const MOST_CLOSED: usize = 3;

/// The state at the start, where it was noted.
#[derive(Debug, Default)]
pub(super) struct Autorun {
    note: Mutex<Option<Note>>,
}

/// The files of that kind at the start of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Note {
    /// The run.
    run: String,
    /// By the path: what was there.
    there: BTreeMap<String, There>,
    /// Folders that could not be looked into.
    closed: BTreeSet<String>,
}

/// A file or link at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct There {
    form: char,
    /// The content of a file or the target of a link, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default)]
    permissions: u32,
}

impl Autorun {
    /// Notes the files of that kind when a run starts. A run that was killed and goes on has noted them before. Returns the files that an
    /// earlier run, which was killed and did not go on, may have left.
    pub(super) fn note(&self, root: &Path, store: &Store, run: &str) -> io::Result<Vec<String>> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if note.is_some() {
            return Ok(Vec::new());
        }
        let kept: Option<Note> = store.kept(NOTE)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut left = Vec::new();
        match kept {
            Some(kept) if kept.run == run => {
                // Not taken anew: the tests have run since, and their files would pass for the user's.
                *note = Some(kept);
                return Ok(left);
            }
            Some(stale) => {
                let (fresh, _) = look_again(&stale, root);
                left.extend(fresh.iter().map(|item| shown(&item.path)));
            }
            None => {}
        }
        let taken = take(root, store, run);
        let written = serde_json::to_vec(&taken).map_err(io::Error::other).and_then(|bytes| store.keep(NOTE, &bytes));
        // Without the file a kill loses what was noted; this process still knows it.
        *note = Some(taken);
        written.map(|()| left)
    }

    /// Removes files that are new since the start, and puts back those that were changed. Does nothing where no start was noted.
    pub(super) fn sweep(&self, root: &Path, store: &Store, open: &OpenFiles) -> Vec<Leftover> {
        let note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(note) = note.as_ref() else { return Vec::new() };
        let mut swept = Vec::new();
        let (fresh, known) = look_again(note, root);
        let is_open = |item: &Item| RelPath::from_path(&item.path).is_ok_and(|path| open.holds(root, &path));
        for item in fresh.into_iter().filter(|item| !is_open(item)) {
            let removed = traces::remove_whole(&root.join(&item.path));
            // Something else may have stood there, which is put back below.
            let before = note.there.get(&key(&item.path)).filter(|there| there.content.is_some());
            let fate = match (removed, before) {
                (Err(_), _) => LeftoverFate::Stays,
                (Ok(()), None) => LeftoverFate::Removed,
                (Ok(()), Some(there)) => fate(put_back(root, store, &item.path, there)),
            };
            swept.push(Leftover { path: shown(&item.path), kind: item.kind, fate });
        }
        for item in known.into_iter().filter(|item| !is_open(item)) {
            if let Some(there) = note.there.get(&key(&item.path)).filter(|there| differs(root, store, &item, there)) {
                let fate = fate(put_back(root, store, &item.path, there));
                swept.push(Leftover { path: shown(&item.path), kind: item.kind, fate });
            }
        }
        swept.sort_by(|one, other| one.path.cmp(&other.path));
        swept
    }

    /// Forgets the start: the run has ended.
    pub(super) fn forget(&self, store: &Store) {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = None;
        store.drop_kept(NOTE);
    }
}

fn fate(done: io::Result<()>) -> LeftoverFate {
    if done.is_ok() { LeftoverFate::PutBack } else { LeftoverFate::Stays }
}

/// A path as the note holds it. Names that are no text stand in another spelling, which differs for each.
fn key(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), |_| files::slashed(path))
}

fn shown(path: &Path) -> String {
    files::slashed(path)
}

/// Notes what is there, with the contents of settings.
fn take(root: &Path, store: &Store, run: &str) -> Note {
    // All is known at the start, so that the walk goes into every folder.
    let Seen { items, bares, closed } = look(root, &|_| true);
    let mut there = BTreeMap::new();
    for member in bares.into_iter().flat_map(|bare| bare.members) {
        there.insert(key(&member.path), There { form: letter(member.form), content: None, permissions: 0 });
    }
    let mut left = MOST_FILES;
    for item in items {
        let content = (left > 0).then(|| content(root, &item)).flatten();
        left -= usize::from(content.is_some());
        let (bytes, permissions) = content.unzip();
        // A content that cannot be kept is not put back; that the path was there is known all the same.
        let content = bytes.and_then(|bytes| store.take_bytes(&bytes).ok()).map(|digest| digest.hex());
        let permissions = permissions.unwrap_or_default();
        there.insert(key(&item.path), There { form: letter(item.form), content, permissions });
    }
    Note { run: run.to_owned(), there, closed: closed.iter().map(|path| key(path)).collect() }
}

const fn letter(form: Form) -> char {
    match form {
        Form::File => 'f',
        Form::Folder => 'd',
        Form::Link => 'l',
        Form::Special => 's',
    }
}

/// The items that are new or of another form, and the items that were there already.
fn look_again(note: &Note, root: &Path) -> (Vec<Item>, Vec<Item>) {
    // By the form too: a link where a file was is something new.
    let is_known = |item: &Item| note.there.get(&key(&item.path)).is_some_and(|there| there.form == letter(item.form));
    let seen = see_again(note, root);
    let (known, mut fresh): (Vec<Item>, Vec<Item>) = seen.items.into_iter().partition(is_known);
    for bare in seen.bares.into_iter().filter(|bare| bare.is_whole) {
        let new: Vec<Item> = bare.members.into_iter().filter(|member| !is_known(member)).collect();
        // Without its head a folder is no repository: the rest may be anything.
        let head = new.iter().find(|member| member.path.file_name().is_some_and(|name| folded(name) == "head"));
        match head.cloned() {
            Some(head) => fresh.push(head),
            None => fresh.extend(new),
        }
    }
    (fresh, known)
}

/// Looks at the tree once more. Folders that code under test closed are opened. Folders closed before are the user's.
fn see_again(note: &Note, root: &Path) -> Seen {
    let was_there = |path: &Path| note.there.contains_key(&key(path));
    let mut seen = look(root, &was_there);
    // Each round opens one more depth of what was closed.
    for _ in 0..MOST_CLOSED {
        let mut newly_closed = seen.closed.iter().filter(|path| !note.closed.contains(&key(path))).peekable();
        if newly_closed.peek().is_none() {
            break;
        }
        newly_closed.for_each(|path| traces::open_up(&root.join(path)));
        seen = look(root, &was_there);
    }
    seen
}

/// Whether what was there has another content.
fn differs(root: &Path, store: &Store, item: &Item, there: &There) -> bool {
    let Some(before) = there.content.as_deref() else { return false };
    // Without the old content nothing could be put back.
    let is_kept = Digest::from_hex(before).is_some_and(|digest| store.content(&digest).is_ok());
    let now = content(root, item).map(|(bytes, _)| Digest::of(&bytes).hex());
    is_kept && now.as_deref() != Some(before)
}

/// The content of a file or the target of a link, with its permissions. `None` for a file that is too large, or that an editor writes
/// itself.
fn content(root: &Path, item: &Item) -> Option<(Vec<u8>, u32)> {
    let (folder, name) = open_folder(root, &item.path).ok()?;
    match item.form {
        Form::Link => folder.read_link(name).ok().map(|target| (target, 0)),
        Form::File if names::is_editor_state(&folded(name)) => None,
        Form::File => {
            let (file, found) = folder.read(name).ok()?;
            let mut bytes = Vec::new();
            // One byte more tells a file of just that length from a longer one.
            file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
            (u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_BYTES)).then_some((bytes, found.permissions))
        }
        Form::Folder | Form::Special => None,
    }
}

/// Takes hold of the folder that a path lies in, through no link.
fn open_folder<'p>(root: &Path, path: &'p Path) -> io::Result<(Folder, &'p std::ffi::OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut folder = Folder::open(root)?;
    for part in path.parent().into_iter().flat_map(Path::iter) {
        folder = folder.folder(part)?;
    }
    Ok((folder, name))
}

fn put_back(root: &Path, store: &Store, path: &Path, there: &There) -> io::Result<()> {
    let kept = there.content.as_deref().and_then(Digest::from_hex).ok_or(io::ErrorKind::NotFound)?;
    let bytes = store.content(&kept).map_err(io::Error::other)?;
    let (folder, name) = open_folder(root, path)?;
    // Removed first, so that a link, or another name of the same file, is not written through.
    match folder.look(name)?.map(|found| found.kind) {
        None => {}
        Some(Kind::Folder) => folder.remove_whole_folder(name)?,
        Some(Kind::File | Kind::Link | Kind::Special) => folder.remove_file(name)?,
    }
    if there.form == letter(Form::Link) {
        return folder.make_link(name, &bytes);
    }
    folder.create(name, there.permissions)?.write_all(&bytes)?;
    // Once more, since the umask took bits at the creation.
    folder.set_permissions(name, there.permissions).map_err(|refusal: Refusal| refusal.into())
}
