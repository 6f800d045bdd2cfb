//! The text at a path before a model changes it, and the name that the change is known by.

use super::super::beneath::TouchError;
use super::super::rel_path::RelPath;
use super::super::{ToolError, Workspace};

impl Workspace {
    /// The text that a model that wants to write a path finds there, as it is, CR LF too. `None` where there is nothing.
    ///
    /// # Errors
    /// When the path may not be written, leads over a link, or is no text file, in the words of the tools that write.
    pub fn look(&self, path: &str) -> Result<Option<String>, ToolError> {
        let path = self.writable(path)?;
        match self.root.open_file(&path) {
            Err(TouchError::Missing(_)) => Ok(None),
            Err(error) => Err(self.touch_error(error)),
            Ok(_) => Ok(Some(self.text(&path)?.content)),
        }
    }

    /// The name that a change is recorded under: the path from the root, tidied. `None` for a path that no tool touches, by its words or
    /// because it leads over a link.
    #[must_use]
    pub fn recorded(&self, path: &str) -> Option<String> {
        let path = RelPath::parse(path, self.root.path()).ok()?;
        self.root.stat(&path).ok()?;
        Some(path.to_string())
    }
}

#[cfg(test)]
mod tests;
