//! The walk that finds what tools run or obey without being asked.
//!
//! Ignore rules do not count: code under test can write them, and so hide behind them. Links are seen and not followed.

use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::path::{Path, PathBuf};

use super::links::leads_out;
use super::names::{is_quiet_in_git, kind_of, runs_in_git};
use crate::domain::leftover::LeftoverKind;
use crate::workspace::protected;
use crate::workspace::rel_path::{fold, is_private};

/// The folder of upshift's own files.
const OWN_FOLDER: &str = ".upshift";
/// By these git takes a folder for a repository, whatever it is called: `HEAD`, and either `commondir` or the other two.
const HEAD: &str = "HEAD";
const COMMON: &str = "commondir";
const STORES: [&str; 2] = ["objects", "refs"];

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    File,
    Folder,
    Link,
    Special,
}

/// Something that a tool runs or obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// From the root.
    pub(super) path: PathBuf,
    pub(super) kind: LeftoverKind,
    pub(super) form: Form,
}

/// A folder with a `HEAD`, which git takes for a repository when the rest is there too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bare {
    pub(super) members: Vec<Item>,
    pub(super) is_whole: bool,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) items: Vec<Item>,
    pub(super) bares: Vec<Bare>,
    /// Folders that could not be looked into.
    pub(super) closed: Vec<PathBuf>,
}

/// Where a folder lies.
#[derive(Debug, Clone, Copy)]
enum Inside {
    /// In the tree.
    Tree,
    /// In a folder of installed packages: nobody opens those in an editor, and packages bring such settings along.
    Packages,
    /// In settings.
    Settings(LeftoverKind),
    /// In a git directory.
    Git,
}

struct Walk<'a> {
    root: &'a Path,
    /// Whether something was there at the start. Newer folders are not looked into.
    known: &'a dyn Fn(&Path) -> bool,
    seen: Seen,
    folders: Vec<(PathBuf, Inside)>,
}

/// Looks at a tree, and into such folders as are `known`.
pub(super) fn look(root: &Path, known: &dyn Fn(&Path) -> bool) -> Seen {
    let folders = vec![(PathBuf::new(), Inside::Tree)];
    let mut walk = Walk { root, known, seen: Seen::default(), folders };
    while let Some((folder, inside)) = walk.folders.pop() {
        match entries(&root.join(&folder)) {
            Some(entries) => walk.folder(&folder, inside, &entries),
            None => walk.seen.closed.push(folder),
        }
    }
    walk.seen
}

fn entries(folder: &Path) -> Option<Vec<(OsString, Form)>> {
    let entries = folder.read_dir().ok()?.flatten();
    Some(entries.filter_map(|entry| Some((entry.file_name(), form(entry.file_type().ok()?)))).collect())
}

fn form(of: FileType) -> Form {
    match () {
        () if of.is_symlink() => Form::Link,
        () if of.is_dir() => Form::Folder,
        () if of.is_file() => Form::File,
        () => Form::Special,
    }
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, inside: Inside, entries: &[(OsString, Form)]) {
        if matches!(inside, Inside::Tree | Inside::Packages) {
            self.bare(folder, entries);
        }
        let around = folder.file_name().map(folded).unwrap_or_default();
        for (name, form) in entries {
            let path = folder.join(name);
            match inside {
                Inside::Git => self.in_git(path, &around, &folded(name), *form),
                Inside::Settings(kind) if *form == Form::Folder => {
                    self.folders.push((path, Inside::Settings(kind)));
                }
                Inside::Settings(kind) => self.note(path, kind, *form),
                Inside::Tree | Inside::Packages => self.in_tree(path, inside, &around, name, *form),
            }
        }
    }

    fn in_tree(&mut self, path: PathBuf, inside: Inside, around: &str, name: &OsStr, form: Form) {
        let folded = folded(name);
        if is_private(name) {
            let at_top = path.components().count() == 1;
            // The git directory of the whole tree is kept by others.
            if !at_top && !folded.starts_with(OWN_FOLDER) {
                self.open(path, LeftoverKind::GitDirectory, form, Inside::Git);
            }
            return;
        }
        let kind = if matches!(inside, Inside::Packages) { None } else { kind_of(around, &folded) };
        match (kind, form) {
            // In any folder: a program that opens a pipe without a writer waits forever.
            (_, Form::Special) => self.note(path, LeftoverKind::SpecialFile, form),
            (Some(kind), _) => self.open(path, kind, form, Inside::Settings(kind)),
            (None, Form::Link) if leads_out(self.root, &path) => self.note(path, LeftoverKind::LinkOut, form),
            (None, Form::Folder) => {
                // Asked of a file in it, since the rule looks only at the folders above a path.
                let below = if protected::is_installed(&path.join("x")) { Inside::Packages } else { Inside::Tree };
                self.folders.push((path, below));
            }
            (None, Form::Link | Form::File) => {}
        }
    }

    /// A folder that is new is one thing, whatever is in it.
    fn open(&mut self, path: PathBuf, kind: LeftoverKind, form: Form, inside: Inside) {
        if form == Form::Folder && (self.known)(&path) {
            self.folders.push((path.clone(), inside));
        }
        self.note(path, kind, form);
    }

    fn in_git(&mut self, path: PathBuf, around: &str, name: &str, form: Form) {
        if form == Form::Folder {
            if !is_quiet_in_git(name) {
                self.folders.push((path, Inside::Git));
            }
        } else if runs_in_git(around, name) {
            self.note(path, LeftoverKind::GitDirectory, form);
        }
    }

    /// Notes what makes a folder a repository, and looks at its settings if it was one at the start.
    fn bare(&mut self, folder: &Path, entries: &[(OsString, Form)]) {
        let has = |wanted: &str| entries.iter().find(|(name, _)| folded(name) == wanted.to_lowercase());
        // A folder called `HEAD` is no head to git.
        if has(HEAD).is_none_or(|(_, form)| *form == Form::Folder) {
            return;
        }
        let present = |names: &[&str]| names.iter().all(|name| has(name).is_some());
        let is_whole = present(&[COMMON]) || present(&STORES);
        let members: Vec<Item> = [HEAD, COMMON]
            .iter()
            .chain(&STORES)
            .filter_map(|name| has(name))
            .map(|(name, form)| Item { path: folder.join(name), kind: LeftoverKind::GitDirectory, form: *form })
            .collect();
        // It was a repository at the start, a fixture say, and stays: then the settings in it are what counts.
        if is_whole && members.iter().all(|member| (self.known)(&member.path)) {
            let (hooks, settings): (Vec<_>, Vec<_>) =
                entries.iter().partition(|(name, form)| *form == Form::Folder && folded(name) == "hooks");
            self.folders.extend(hooks.iter().map(|(name, _)| (folder.join(name), Inside::Git)));
            for (name, form) in settings {
                // `commondir` is a member, and so noted already.
                if runs_in_git("", &folded(name)) && *form != Form::Folder && folded(name) != COMMON {
                    self.note(folder.join(name), LeftoverKind::GitDirectory, *form);
                }
            }
        }
        self.seen.bares.push(Bare { members, is_whole });
    }

    fn note(&mut self, path: PathBuf, kind: LeftoverKind, form: Form) {
        self.seen.items.push(Item { path, kind, form });
    }
}

pub(super) fn folded(name: &OsStr) -> String {
    fold(&name.to_string_lossy())
}
