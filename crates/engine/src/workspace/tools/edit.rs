//! `edit_file`, `write_file`, `delete_file`.
//!
//! An edit is applied only if the old text stands in the file exactly once, up to CR LF line ends, which a model does not see.
//! Otherwise nothing is changed and [`super::super::mismatch`] says why.

use super::super::beneath::{Kind, TouchError};
use super::super::mismatch;
use super::super::rel_path::RelPath;
use super::super::text::{Text, with_cr, without_cr};
use super::super::{ToolError, Workspace};
use super::{MAX_FILE, count};

/// The permissions of a new script, in Unix's bits.
const EXECUTABLE: u32 = 0o755;
/// How many places of an ambiguous text are named.
const MAX_PLACES: usize = 10;

impl Workspace {
    /// `edit_file`: replaces `old`, which must stand in the file exactly once, by `new`. Encoding, line ends and permissions stay.
    ///
    /// # Errors
    /// When the file may not be written, does not exist or is no text, and when `old` is empty, equals `new`, or does not stand there
    /// exactly once: then with the lines that come nearest, or all places. The file is unchanged then.
    pub fn edit_file(&self, path: &str, old: &str, new: &str) -> Result<String, ToolError> {
        let path = self.writable(path)?;
        let (file, stat) = self.root.open_file(&path).map_err(|error| self.touch_error(error))?;
        drop(file);
        let text = self.text(&path)?;
        if old.is_empty() {
            return Err(ToolError::ForModel(
                "old_text is empty; give the text to be replaced, or use write_file for the whole file".to_owned(),
            ));
        }
        let (content, left_out) = without_cr(&text.content);
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        if old == new {
            return Err(ToolError::ForModel("old_text and new_text are the same; nothing was changed".to_owned()));
        }
        let mut places = occurrences(&content, &old);
        let (mut old, mut new) = (old, new);
        // A line end that the file's last line lacks: the rest of the text says which line is meant.
        if places.is_empty()
            && let Some(bare) = old.strip_suffix('\n').filter(|bare| !bare.is_empty() && content.ends_with(bare))
        {
            places = vec![content.len() - bare.len()];
            new = new.strip_suffix('\n').unwrap_or(&new).to_owned();
            old = bare.to_owned();
        }
        let [place] = places.as_slice() else {
            let why = match places.is_empty() {
                // Without secrets, as the answer quotes lines of the file.
                true => mismatch::explain(&self.redactor.redact(&content), &old, &new),
                false => ambiguous(&content, &places),
            };
            return Err(ToolError::ForModel(format!("nothing was changed in `{path}`: {why}")));
        };
        // From a place in the text with LF ends to the same place in the file: each CR before it counts.
        let raw = |at: usize| at + left_out.partition_point(|&cr| cr < at);
        let (before, after) = (text.content.get(..raw(*place)), text.content.get(raw(place + old.len())..));
        let (Some(before), Some(after)) = (before, after) else {
            return Err(ToolError::Fatal(format!("`{path}`: an edit fell between two characters")));
        };
        let put = if text.is_crlf() { with_cr(&new) } else { new.clone() };
        let edited = Text { content: [before, &put, after].concat(), encoding: text.encoding };
        self.permit(&path, Some(&edited.content))?;
        // An edit of somebody else's since the last write becomes part of this one.
        self.states.theirs().name(&self.root, path.as_path(), self.states.written());
        self.write_text(&path, &edited, Some(stat.permissions))?;
        let line = content.get(..*place).unwrap_or_default().matches('\n').count() + 1;
        let (gone, come) = (old.lines().count(), new.lines().count());
        Ok(format!("edited `{path}` at line {line}: -{gone} +{come}"))
    }

    /// `write_file`: makes a file, with the folders on the way, or replaces all of it. In the second case encoding, CR LF line ends and
    /// permissions stay.
    ///
    /// # Errors
    /// When the path may not be written or is no file, or the old encoding has no such characters.
    pub fn write_file(&self, path: &str, content: &str) -> Result<String, ToolError> {
        let path = self.writable(path)?;
        if content.len() > MAX_FILE {
            return Err(ToolError::ForModel(format!(
                "the content has {} bytes; at most {MAX_FILE} can be written",
                content.len()
            )));
        }
        self.permit(&path, Some(content))?;
        let lines = count(content.lines().count(), "line");
        let Some(stat) = self.root.stat(&path).map_err(|error| self.touch_error(error))? else {
            // A tool has no way to say so: what names its interpreter is to be run.
            let permissions = content.starts_with("#!").then_some(EXECUTABLE);
            self.write(&path, content.as_bytes(), permissions)?;
            self.states.keep(&path);
            let runs = if permissions.is_some() { ", executable" } else { "" };
            return Ok(format!("created `{path}`: {lines}{runs}"));
        };
        self.must_be_file(&path, stat.kind)?;
        let bytes = self.root.read(&path).map_err(|error| self.touch_error(error))?;
        // What somebody else wrote there meanwhile would be lost.
        self.states.keep_theirs(&self.root, &path);
        // A binary file that is replaced by text has no encoding to keep.
        let Ok(old) = Text::decode(bytes) else {
            self.write(&path, content.as_bytes(), Some(stat.permissions))?;
            return Ok(format!("replaced the binary file `{path}`: {lines}"));
        };
        let content = if old.is_crlf() { with_cr(content) } else { content.to_owned() };
        let before = count(old.content.lines().count(), "line");
        let replaced = Text { content, encoding: old.encoding };
        if replaced == old {
            return Ok(format!("`{path}` was so already; nothing was changed"));
        }
        self.write_text(&path, &replaced, Some(stat.permissions))?;
        Ok(format!("replaced `{path}`: {before} before, {lines} now"))
    }

    /// `delete_file`: removes one file.
    ///
    /// # Errors
    /// When the path may not be written, does not exist, or is no file.
    pub fn delete_file(&self, path: &str) -> Result<String, ToolError> {
        let path = self.writable(path)?;
        let stat = self.root.stat(&path).map_err(|error| self.touch_error(error))?;
        let Some(stat) = stat else { return Err(self.touch_error(TouchError::Missing(path))) };
        if stat.kind == Kind::Folder {
            return Err(ToolError::ForModel(format!("`{path}` is a folder; delete its files one by one")));
        }
        self.permit(&path, None)?;
        self.states.keep_theirs(&self.root, &path);
        self.states.written().add(&path, None);
        self.root.remove(&path).map_err(|error| self.touch_error(error))?;
        Ok(format!("deleted `{path}`"))
    }

    fn must_be_file(&self, path: &RelPath, found: Kind) -> Result<(), ToolError> {
        // Opening says it in words, and never waits.
        match found {
            Kind::File => Ok(()),
            Kind::Folder => Err(ToolError::ForModel(format!("`{path}` is a folder"))),
            Kind::Link | Kind::Special => self.root.open_file(path).map(drop).map_err(|error| self.touch_error(error)),
        }
    }
}

/// Where `old` begins, overlapping places too.
fn occurrences(content: &str, old: &str) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(old);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = content.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        places.push(from + at);
        from += at + 1;
    }
    places
}

fn ambiguous(content: &str, places: &[usize]) -> String {
    let line = |at: &usize| (content.get(..*at).unwrap_or_default().matches('\n').count() + 1).to_string();
    let shown: Vec<String> = places.iter().take(MAX_PLACES).map(line).collect();
    let more = if places.len() > MAX_PLACES { ", ..." } else { "" };
    format!(
        "old_text stands there {} times, at lines {}{more}; add lines before or after it until it is the only one",
        places.len(),
        shown.join(", ")
    )
}
