//! The texts of recorded states.

use std::path::Path;

use super::rel_path::RelPath;
use super::{Workspace, WorkspaceError, store};
use crate::domain::units::TreeId;

impl Workspace {
    /// A file's text in a recorded state. `None` where it has no such text.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn text_at(&self, tree: &TreeId, path: &str) -> Result<Option<String>, WorkspaceError> {
        let Ok(path) = RelPath::from_path(Path::new(path)) else { return Ok(None) };
        let store = self.states.store();
        let manifest = store.load(tree)?;
        let bytes = manifest.get(&path).map(|entry| store.content(&entry.content)).transpose()?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Whether the text of any file of a recorded state holds what is looked for, among those whose paths are wanted. Links and files that
    /// are no UTF-8 text are left out. Costs reading each of them.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn any_text_at(
        &self,
        tree: &TreeId,
        wanted: impl Fn(&str) -> bool,
        holds: impl Fn(&str, &str) -> bool,
    ) -> Result<bool, WorkspaceError> {
        let store = self.states.store();
        let manifest = store.load(tree)?;
        for (path, entry) in manifest.iter().filter(|(_, entry)| entry.form == store::Form::File) {
            let path = path.to_string();
            if wanted(&path) && String::from_utf8(store.content(&entry.content)?).is_ok_and(|text| holds(&path, &text))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The texts of the files of a recorded state whose paths are wanted, by path. Links, files that are no UTF-8 text, and files longer
    /// than `most_bytes` are left out. At most `most` files.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn texts_at(
        &self,
        tree: &TreeId,
        wanted: impl Fn(&str) -> bool,
        most: usize,
        most_bytes: usize,
    ) -> Result<Vec<(String, String)>, WorkspaceError> {
        let store = self.states.store();
        let manifest = store.load(tree)?;
        let mut texts = Vec::new();
        for (path, entry) in manifest.iter().filter(|(_, entry)| entry.form == store::Form::File) {
            let path = path.to_string();
            if texts.len() >= most {
                break;
            }
            if wanted(&path)
                && let Ok(text) = String::from_utf8(store.content(&entry.content)?)
                && text.len() <= most_bytes
            {
                texts.push((path, text));
            }
        }
        Ok(texts)
    }
}
