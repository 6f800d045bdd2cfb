//! Changes of files as a model wants them: what stands for code that is left out is refused, and a block's lines are made to fit the file.

use super::action::{Matching, Source};
use super::completeness;
use super::files;
use crate::workspace::{ToolError, Workspace};

/// Puts a new text in the place of an old one.
pub(super) fn edit(
    workspace: &Workspace,
    path: &str,
    (old, new): (&str, &str),
    matching: Matching,
) -> Result<String, ToolError> {
    if let Some(line) = completeness::stand_in(path, old, new) {
        let line = line.trim();
        return Err(ToolError::ForModel(format!(
            "`{line}` stands for code that is not there. Nothing was changed. Write out every line."
        )));
    }
    match matching {
        Matching::Text => workspace.edit_file(path, old, new),
        Matching::Lines => {
            let present = workspace.look(path)?;
            let (old, new) =
                files::lines(present.as_deref(), path, old.to_owned(), new.to_owned()).map_err(ToolError::ForModel)?;
            workspace.edit_file(path, &old, &new)
        }
    }
}

/// A text with the only place of another replaced.
pub(super) fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    (!old.is_empty() && text.matches(old).count() == 1).then(|| text.replacen(old, new, 1))
}

/// Writes a whole file.
pub(super) fn write(workspace: &Workspace, path: &str, content: &str, source: &Source) -> Result<String, ToolError> {
    let present = match (workspace.look(path), source) {
        (Ok(present), _) => present,
        (Err(error), Source::Block { .. }) => return Err(error),
        // A call says plainly that the file is to be replaced, whatever it is now; `write_file` has the last word.
        (Err(_told_by_the_tool), Source::Call) => None,
    };
    let content = files::whole(present.as_deref(), path, content.to_owned(), source).map_err(ToolError::ForModel)?;
    workspace.write_file(path, &content)
}
