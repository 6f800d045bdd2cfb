//! Changed files on top of the parent commit, and the commit made of them.
//!
//! The checkout is not always the parent: a pull request's job checks out its merge with the base (GITHUB.md 9), and lines may end
//! otherwise on disk. So each file is compared with the parent's: the same bytes, or the same but for line ends, are replaced, and anything
//! else is merged line by line, or refused.
//!
//! Invariant: what a run did not change stays as the parent has it, permissions and kinds included.

use std::collections::BTreeMap;
use std::path::Path;

use super::git::Git;
use super::order::{Composed, ComposedFile, Order, PublishError, git_path};
use crate::domain::units::CommitSha;
use crate::workspace::store::{Entry, Form, Store};

/// The beginning of a pointer file of Git LFS (git-lfs, docs/spec.md).
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The attributes by which git stores another content than the checkout's.
const FILTERS: [&str; 2] = ["filter", "working-tree-encoding"];
/// The attribute by which it stores other line ends.
const TEXT: &str = "text";
/// The bit that lets the owner run a file. It decides, as in git.
const OWNER_MAY_RUN: u32 = 0o100;
/// Git's permissions of a file, of one that can be run, and of a symbolic link.
const MODES: [&str; 3] = ["100644", "100755", "120000"];

/// One file of a change.
#[derive(Debug)]
pub(super) struct Line {
    path: String,
    from: Option<Entry>,
    to: Option<Entry>,
}

impl Line {
    /// A file by its path in the repository, before and after.
    pub(super) fn new(path: &Path, from: Option<&Entry>, to: Option<&Entry>) -> Result<Self, PublishError> {
        Ok(Self { path: git_path(path)?, from: from.copied(), to: to.copied() })
    }

    fn conflict(&self, why: &str) -> PublishError {
        PublishError::Conflict { path: self.path.clone(), why: why.to_owned() }
    }
}

/// The parent commit's file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    mode: String,
    object: String,
}

/// The fate of a path.
enum Fate {
    /// Its mode and content.
    Put(&'static str, Vec<u8>),
    /// It goes.
    Remove,
    /// It is as it should be already.
    Keep,
}

/// The parent's tree with the change in it, written to the private repository.
pub(super) struct Carried {
    tree: String,
    lines: Vec<(String, Fate)>,
}

impl Carried {
    /// The files that differ from the parent.
    fn files(&self) -> Vec<String> {
        self.lines.iter().map(|(path, _)| path.clone()).collect()
    }

    /// The same for whoever makes the commit elsewhere.
    pub(super) fn composed(self) -> Composed {
        let file = |(path, fate): (String, Fate)| {
            let content = match fate {
                Fate::Put(mode, bytes) => Some((mode, bytes)),
                Fate::Remove | Fate::Keep => None,
            };
            ComposedFile { path, content }
        };
        Composed { tree: self.tree, files: self.lines.into_iter().map(file).collect() }
    }
}

/// Puts the change on top of the parent's tree.
pub(super) async fn carry(
    git: &Git<'_>,
    store: &Store,
    order: &Order<'_>,
    lines: &[Line],
) -> Result<Carried, PublishError> {
    // The commands that follow share nothing but this index: attributes and the new tree are made from it.
    git.must(&["read-tree", &order.parent.0], &[]).await?;
    let held = held(git, order.parent, lines).await?;
    let attributes = attributes(git, lines).await?;
    let content = |entry: &Entry| store.content(&entry.content);
    let mut carried = Vec::new();
    for line in lines {
        if [line.from, line.to].iter().flatten().any(|entry| entry.form == Form::Large) {
            return Err(line.conflict("it is too large for its content to be recorded"));
        }
        let before = line.from.as_ref().map(content).transpose()?;
        let after = line.to.as_ref().map(content).transpose()?;
        let carry = Carry {
            git,
            line,
            held: held.get(&line.path),
            attributes: attributes.get(&line.path),
            before: before.as_deref(),
        };
        match carry.fate(after).await? {
            Fate::Keep => {}
            fate @ (Fate::Put(..) | Fate::Remove) => carried.push((line.path.clone(), fate)),
        }
    }
    let index = index(git, &carried).await?;
    if carried.is_empty() {
        return Err(PublishError::Empty);
    }
    git.must(&["update-index", "-z", "--index-info"], &index).await?;
    // The contents of unchanged files were never fetched.
    let tree = one_line(&git.must(&["write-tree", "--missing-ok"], &[]).await?.out);
    Ok(Carried { tree, lines: carried })
}

/// Makes the commit. Returns it and the files that it changes.
pub(super) async fn commit(
    git: &Git<'_>,
    order: &Order<'_>,
    carried: &Carried,
) -> Result<(CommitSha, Vec<String>), PublishError> {
    // In one time zone everywhere, since the same order has to make the same commit.
    let date = format!("{} +0000", order.at);
    let who = [
        ("GIT_AUTHOR_NAME", order.author.name.as_str()),
        ("GIT_AUTHOR_EMAIL", &order.author.email),
        ("GIT_AUTHOR_DATE", &date),
        ("GIT_COMMITTER_NAME", &order.author.name),
        ("GIT_COMMITTER_EMAIL", &order.author.email),
        ("GIT_COMMITTER_DATE", &date),
    ];
    let arguments = ["commit-tree", &carried.tree, "-p", &order.parent.0, "-F", "-"];
    let made = git.run(&arguments, order.message.as_bytes(), &who).await?;
    if !made.ok {
        return Err(PublishError::Git { command: "commit-tree".to_owned(), said: made.err });
    }
    Ok((CommitSha(one_line(&made.out)), carried.files()))
}

/// The parent's objects at the changed paths, folders and submodules too.
async fn held(git: &Git<'_>, parent: &CommitSha, lines: &[Line]) -> Result<BTreeMap<String, Held>, PublishError> {
    // Paths are literal, and the list may be longer than a command line: the whole tree is asked for, it is here anyway.
    let said = git.must(&["ls-tree", "-r", "-z", "--full-tree", &parent.0], &[]).await?;
    let text = String::from_utf8_lossy(&said.out).into_owned();
    let mut held = BTreeMap::new();
    for entry in text.split('\0') {
        let Some((head, path)) = entry.split_once('\t') else { continue };
        let mut words = head.split_ascii_whitespace();
        let (Some(mode), Some(_kind), Some(object)) = (words.next(), words.next(), words.next()) else { continue };
        // A file where the change needs a folder, or the other way round.
        let below = |line: &&Line| {
            line.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
                || path.strip_prefix(line.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(line) = lines.iter().filter(|line| line.to.is_some()).find(below)
            && !lines.iter().any(|line| line.path == path && line.to.is_none())
        {
            return Err(line.conflict(&format!("the parent commit has {path} there")));
        }
        if lines.iter().any(|line| line.path == path) {
            held.insert(path.to_owned(), Held { mode: mode.to_owned(), object: object.to_owned() });
        }
    }
    Ok(held)
}

type Attributes = BTreeMap<String, String>;

/// The attributes of the changed paths, as the parent commit declares them.
async fn attributes(git: &Git<'_>, lines: &[Line]) -> Result<BTreeMap<String, Attributes>, PublishError> {
    let paths: Vec<u8> = lines.iter().flat_map(|line| line.path.bytes().chain([0])).collect();
    let arguments = ["check-attr", "--cached", "-z", "--stdin", TEXT, FILTERS[0], FILTERS[1]];
    let said = git.must(&arguments, &paths).await?;
    let text = String::from_utf8_lossy(&said.out).into_owned();
    let mut words = text.split('\0');
    let mut found: BTreeMap<String, Attributes> = BTreeMap::new();
    // A path, an attribute and its value, with a NUL behind each.
    while let (Some(path), Some(name), Some(value)) = (words.next(), words.next(), words.next()) {
        found.entry(path.to_owned()).or_default().insert(name.to_owned(), value.to_owned());
    }
    Ok(found)
}

/// One file on its way.
struct Carry<'a> {
    git: &'a Git<'a>,
    line: &'a Line,
    held: Option<&'a Held>,
    attributes: Option<&'a Attributes>,
    before: Option<&'a [u8]>,
}

impl Carry<'_> {
    async fn fate(&self, after: Option<Vec<u8>>) -> Result<Fate, PublishError> {
        self.refuse_filters()?;
        let (Some(to), Some(after)) = (self.line.to, after) else { return self.removal().await };
        let mode = self.mode(&to)?;
        let Some(held) = self.held else {
            if self.before.is_some() {
                return Err(self.line.conflict("it is not in that commit: only the checkout has it"));
            }
            return Ok(Fate::Put(mode, if self.is_text() { unix_ends(&after) } else { after }));
        };
        // New here and there: only the very same file is no conflict.
        let Some(before) = self.before else {
            let same = self.object(&after).await? == held.object && mode == held.mode;
            return if same { Ok(Fate::Keep) } else { Err(self.line.conflict("that commit has another file there")) };
        };
        let content = if self.object(before).await? == held.object {
            after
        } else if self.object(&unix_ends(before)).await? == held.object {
            unix_ends(&after)
        } else {
            self.merged(before, after, held).await?
        };
        let keep = held.mode == mode && self.object(&content).await? == held.object;
        Ok(if keep { Fate::Keep } else { Fate::Put(mode, content) })
    }

    async fn removal(&self) -> Result<Fate, PublishError> {
        let (Some(held), Some(before)) = (self.held, self.before) else { return Ok(Fate::Keep) };
        let same = self.object(before).await? == held.object || self.object(&unix_ends(before)).await? == held.object;
        if same { Ok(Fate::Remove) } else { Err(self.line.conflict("the fix deletes it, and it is another one there")) }
    }

    /// Git's filters are programs of the repository: they are not run, and content that should pass one is not stored.
    fn refuse_filters(&self) -> Result<(), PublishError> {
        let declared = |name: &str| Some((name.to_owned(), self.attributes?.get(name)?.clone()));
        let filter = FILTERS.iter().filter_map(|name| declared(name)).find(|(_, value)| !is_off(value));
        match filter {
            None => Ok(()),
            Some((attribute, value)) => Err(PublishError::Filtered { path: self.line.path.clone(), attribute, value }),
        }
    }

    fn is_text(&self) -> bool {
        self.attributes.and_then(|found| found.get(TEXT)).is_some_and(|value| !is_off(value))
    }

    /// The parent's mode, unless the run changed the file's kind or permission (a file system may know neither).
    fn mode(&self, to: &Entry) -> Result<&'static str, PublishError> {
        let own = |entry: &Entry| match entry.form {
            Form::Link => MODES[2],
            Form::File | Form::Large if entry.permissions & OWNER_MAY_RUN != 0 => MODES[1],
            Form::File | Form::Large => MODES[0],
        };
        let Some(held) = self.held else { return Ok(own(to)) };
        let kept = MODES.iter().find(|mode| **mode == held.mode);
        let Some(kept) = kept else { return Err(self.line.conflict("that commit has a submodule there")) };
        let unchanged = self.line.from.is_some_and(|from| own(&from) == own(to));
        Ok(if unchanged { kept } else { own(to) })
    }

    /// The name that git gives a content.
    async fn object(&self, content: &[u8]) -> Result<String, PublishError> {
        // An empty standard input would be none at all; a file always works.
        let path = self.git.scratch().write("content", content)?;
        let said = self.git.must(&["hash-object", "--no-filters", "--", &path.to_string_lossy()], &[]).await?;
        Ok(one_line(&said.out))
    }

    /// The change merged into what the parent has.
    async fn merged(&self, before: &[u8], after: Vec<u8>, held: &Held) -> Result<Vec<u8>, PublishError> {
        let theirs = self.git.must(&["cat-file", "blob", &held.object], &[]).await?.out;
        // A pointer tells of LFS also where no attribute does.
        if theirs.starts_with(LFS_POINTER) {
            let (path, value) = (self.line.path.clone(), "lfs".to_owned());
            return Err(PublishError::Filtered { path, attribute: FILTERS[0].to_owned(), value });
        }
        let binary = [before, &after, &theirs].iter().any(|content| content.contains(&0));
        if binary || self.line.to.is_some_and(|to| to.form == Form::Link) {
            return Err(self.line.conflict("it differs there, and is not text that could be merged"));
        }
        // In the ends of the parent, or every line would differ.
        let ends = if theirs.windows(2).any(|two| two == b"\r\n") { <[u8]>::to_vec } else { unix_ends };
        let scratch = self.git.scratch();
        let (ours, base) = (scratch.write("ours", &ends(&after))?, scratch.write("base", &ends(before))?);
        let other = scratch.write("theirs", &theirs)?;
        let paths = [&ours, &base, &other].map(|path| path.to_string_lossy().into_owned());
        let said = self.git.run(&["merge-file", "-p", "--", &paths[0], &paths[1], &paths[2]], &[], &[]).await?;
        match said.code {
            Some(0) => Ok(said.out),
            _ => Err(self.line.conflict("it differs there in the same lines")),
        }
    }
}

/// Stores the new contents and lists what becomes of each path, for `update-index --index-info`.
async fn index(git: &Git<'_>, carried: &[(String, Fate)]) -> Result<Vec<u8>, PublishError> {
    const NO_OBJECT: &str = "0000000000000000000000000000000000000000";
    let mut names = String::new();
    for (number, (_, fate)) in carried.iter().enumerate() {
        if let Fate::Put(_, content) = fate {
            let path = git.scratch().write(&format!("new-{number}"), content)?;
            names.push_str(&path.to_string_lossy());
            names.push('\n');
        }
    }
    let said = git.must(&["hash-object", "-w", "--no-filters", "--stdin-paths"], names.as_bytes()).await?;
    // One object a line, in the order of the names that were given.
    let text = String::from_utf8_lossy(&said.out).into_owned();
    let mut objects = text.lines();
    let mut index = Vec::new();
    for (path, fate) in carried {
        let (mode, object) = match fate {
            Fate::Put(mode, _) => (*mode, objects.next().unwrap_or(NO_OBJECT)),
            Fate::Remove => ("0", NO_OBJECT),
            Fate::Keep => continue,
        };
        index.extend_from_slice(format!("{mode} {object}\t{path}\0").as_bytes());
    }
    Ok(index)
}

fn is_off(value: &str) -> bool {
    matches!(value, "unspecified" | "unset")
}

/// The content with LF line ends, as git stores text.
fn unix_ends(content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(content.len());
    for (index, byte) in content.iter().enumerate() {
        if *byte != b'\r' || content.get(index + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
    plain
}

fn one_line(out: &[u8]) -> String {
    String::from_utf8_lossy(out).trim().to_owned()
}
