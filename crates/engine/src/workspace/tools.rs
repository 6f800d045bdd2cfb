//! The tools that read and write files for a model (DESIGN §2.3): their answers are short, since every byte is paid for, and a
//! failure says what to do instead.
//!
//! Invariant: every path goes through [`RelPath`] and [`Beneath`], every write through the protection. A tool that reports a failure has
//! changed nothing.

use super::beneath::TouchError;
use super::rel_path::{PathError, RelPath};
use super::states::States;
use super::store::Digest;
use super::text::{Encoding, Text, Unencodable, without_cr};
use super::{ToolError, Workspace, WorkspaceError, secret, walk};
use crate::policy::guard::Guard;

mod edit;
mod list;
mod look;
mod read;
mod search;
mod suggest;
#[cfg(test)]
mod tests;

pub(super) use suggest::likeness;

/// The most bytes a tool answers with. An answer above the limit for tool output (S1-10) would be hidden behind a handle.
const MAX_ANSWER: usize = 12_000;
/// The largest file that is shown, searched or edited: no hand-written source is larger.
const MAX_FILE: usize = 4 * 1024 * 1024;

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        Self::ForModel(error.to_string())
    }
}

impl Workspace {
    fn parse(&self, path: &str) -> Result<RelPath, ToolError> {
        Ok(RelPath::parse(path, self.root.path())?)
    }

    /// A file's text with LF line ends.
    pub(super) fn text_of(&self, path: &str) -> Result<String, ToolError> {
        let text = self.text(&self.readable(path)?)?;
        Ok(without_cr(&text.content).0.into_owned())
    }

    /// A path that may be shown to a model.
    pub(super) fn readable(&self, path: &str) -> Result<RelPath, ToolError> {
        let path = self.parse(path)?;
        self.may_be_shown(&path).map(|()| path)
    }

    /// Says no to what holds credentials by its name, and to what git ignores and no tool installed or built.
    pub(super) fn may_be_shown(&self, path: &RelPath) -> Result<(), ToolError> {
        if !self.protection.has(Guard::SecretFiles) {
            return Ok(());
        }
        if secret::looks_secret(path.as_path()) {
            return Err(ToolError::Refused(format!(
                "`{path}` may hold credentials; it is shown to no model. Work without its values"
            )));
        }
        let own = || self.states.is_users_own(&self.root, path).map_err(|error| ToolError::Fatal(error.to_string()));
        if !secret::is_built(path.as_path()) && own()? && walk::is_ignored(self.root.path(), path.as_path()) {
            return Err(ToolError::Refused(format!(
                "`{path}` is ignored by git, so it is the user's own and may hold secrets; it is shown to no model"
            )));
        }
        Ok(())
    }

    /// A path that may be written, as far as its name says.
    fn writable(&self, path: &str) -> Result<RelPath, ToolError> {
        let path = self.parse(path)?;
        if self.protection.has(Guard::SecretFiles) && secret::looks_secret(path.as_path()) {
            return Err(ToolError::Refused(format!("`{path}` may hold credentials; no model changes it")));
        }
        if self.is_open(&path) {
            return Err(ToolError::Refused(format!("`{path}` is being written by a program and cannot be changed")));
        }
        // What may be added to is asked about again with its text.
        if !(self.start.get().is_some() && self.protection.takes_new_tests(path.as_path())) {
            self.permit(&path, None)?;
        }
        let fatal = |error: WorkspaceError| ToolError::Fatal(error.to_string());
        // What no recorded state holds could not be put back.
        if self.states.is_users_own(&self.root, &path).map_err(fatal)? {
            return Err(ToolError::Refused(format!(
                "`{path}` is ignored by git or no plain file, so it is the user's own; it cannot be changed"
            )));
        }
        if States::is_too_large(&self.root, &path).map_err(fatal)? {
            return Err(ToolError::ForModel(format!("`{path}` is too large to be recorded, so it cannot be changed")));
        }
        Ok(path)
    }

    /// Says no to a file that may not hold this text, or may not be deleted.
    fn permit(&self, path: &RelPath, after: Option<&str>) -> Result<(), ToolError> {
        self.objection(path, after)?.map_or(Ok(()), |reason| Err(ToolError::Refused(reason)))
    }

    /// The text of an existing file.
    fn text(&self, path: &RelPath) -> Result<Text, ToolError> {
        let (file, stat) = self.root.open_file(path).map_err(|error| self.touch_error(error))?;
        // The size is asked for first, so that a huge file is never held in memory.
        drop(file);
        if usize::try_from(stat.size).is_ok_and(|size| size > MAX_FILE) {
            return Err(ToolError::ForModel(format!(
                "`{path}` has {} bytes; files above {MAX_FILE} cannot be read or edited",
                stat.size
            )));
        }
        let bytes = self.root.read(path).map_err(|error| self.touch_error(error))?;
        let size = bytes.len();
        Text::decode(bytes).map_err(|_binary| {
            ToolError::ForModel(format!("`{path}` is a binary file of {size} bytes; it cannot be read or edited"))
        })
    }

    /// The error about a file, for the model. A missing file comes with the paths that it may have meant.
    fn touch_error(&self, error: TouchError) -> ToolError {
        match error {
            TouchError::Missing(path) => {
                let near = suggest::near(&self.root, &path);
                ToolError::ForModel(format!("`{path}` does not exist{near}"))
            }
            TouchError::Link { .. } | TouchError::Wrong { .. } | TouchError::Io { .. } => {
                ToolError::ForModel(error.to_string())
            }
        }
    }

    fn write_text(&self, path: &RelPath, text: &Text, permissions: Option<u32>) -> Result<(), ToolError> {
        let bytes = text.encode().map_err(|error| unencodable(path, text.encoding, error))?;
        self.write(path, &bytes, permissions)?;
        // A tool's file belongs to the change, also where an ignore rule names it.
        self.states.keep(path);
        Ok(())
    }

    fn write(&self, path: &RelPath, bytes: &[u8], permissions: Option<u32>) -> Result<(), ToolError> {
        // Before the write: the note of a write that never came does no harm.
        self.states.written().add(path, Some(&Digest::of(bytes)));
        self.root.write(path, bytes, permissions).map_err(|error| match error {
            TouchError::Missing(path) => {
                ToolError::ForModel(format!("`{path}` cannot be made: a part of the path is a file"))
            }
            TouchError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                ToolError::Fatal(format!("the disk is full: {source}"))
            }
            TouchError::Link { .. } | TouchError::Wrong { .. } | TouchError::Io { .. } => {
                ToolError::ForModel(error.to_string())
            }
        })
    }
}

fn unencodable(path: &RelPath, encoding: Encoding, Unencodable(c): Unencodable) -> ToolError {
    ToolError::ForModel(format!(
        "`{path}` is stored as {}, which has no `{c}`; nothing was changed. Use other characters or an escape",
        encoding.name()
    ))
}

/// `1 line`, `2 lines`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A line cut to `most` characters, with a mark.
fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}[... {} more bytes]", line.get(..at).unwrap_or_default(), line.len() - at),
    }
}
