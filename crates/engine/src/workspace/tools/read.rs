//! `read_file`: numbered lines, and how to read on.

use super::super::{ToolError, Workspace};
use super::{MAX_ANSWER, count, cut};

/// The most characters shown of a line. Minified files have one.
const MAX_LINE: usize = 1_000;

impl Workspace {
    /// `read_file`: lines `start` to `end`, one-based and inclusive, each behind its number and a tab.
    ///
    /// # Errors
    /// When the file does not exist, is no text, lies outside, or has no such lines.
    pub fn read_file(&self, path: &str, start: Option<u64>, end: Option<u64>) -> Result<String, ToolError> {
        let path = self.readable(path)?;
        let text = self.text(&path)?;
        // Before it is cut into lines and numbered, since a secret may span lines.
        let content = self.redactor.redact(&text.content);
        let lines: Vec<&str> = content.lines().collect();
        if lines.is_empty() {
            return Ok(format!("`{path}` is empty"));
        }
        let first = usize::try_from(start.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
        let last = usize::try_from(end.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(lines.len());
        if first > lines.len() || last < first {
            return Err(ToolError::ForModel(format!(
                "`{path}` has {}; lines {first} to {last} are none of them",
                count(lines.len(), "line")
            )));
        }
        let mut answer = String::new();
        let mut shown = first - 1;
        for line in lines.get(first - 1..last).unwrap_or_default() {
            let line = cut(line, MAX_LINE);
            // Room for the number and its tab.
            if answer.len() + line.len() + 8 > MAX_ANSWER {
                break;
            }
            shown += 1;
            answer.push_str(&format!("{shown}\t{line}\n"));
        }
        let mut notes = text.notes();
        if first > 1 || shown < lines.len() {
            notes.push_str(&format!("lines {first}-{shown} of {}, ", lines.len()));
        }
        if shown < last {
            notes.push_str(&format!("read on with start_line={}, ", shown + 1));
        }
        if !text.content.ends_with('\n') && shown == lines.len() {
            notes.push_str("no newline at the end, ");
        }
        if !notes.is_empty() {
            answer.push_str(&format!("({})", notes.trim_end_matches(", ")));
        }
        Ok(answer)
    }
}
