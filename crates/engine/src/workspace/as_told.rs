//! Files of a checkout beside how a log tells them: whether they still are what a court accepted.

use std::path::Path;

use super::WorkspaceError;
use super::beneath::{Beneath, Kind, TouchError};
use super::rel_path::RelPath;
use super::store::Digest;
use crate::domain::tree_patch::{FileForm, FileVersion, TreePatch};

/// The files that are not as a patch has them afterwards. What cannot be read is not.
///
/// # Errors
/// When the checkout cannot be opened.
pub fn unlike(checkout: &Path, patch: &TreePatch) -> Result<Vec<String>, WorkspaceError> {
    let root = Beneath::open(checkout).map_err(|source| WorkspaceError::Root { path: checkout.to_owned(), source })?;
    let differs = |path: &str, wanted: Option<&FileVersion>| {
        let Ok(path) = RelPath::from_path(Path::new(path)) else { return true };
        !matches!(is_as_told(&root, &path, wanted), Ok(true))
    };
    let unlike = patch.files.iter().filter(|file| differs(&file.path, file.after.as_ref()));
    Ok(unlike.map(|file| file.path.clone()).collect())
}

fn is_as_told(root: &Beneath, path: &RelPath, wanted: Option<&FileVersion>) -> Result<bool, TouchError> {
    let found = match root.stat(path) {
        Ok(found) => found,
        // A file in the place of its folder.
        Err(TouchError::Missing(_) | TouchError::Wrong { .. }) => None,
        Err(error @ (TouchError::Link { .. } | TouchError::Io { .. })) => return Err(error),
    };
    let (Some(found), Some(wanted)) = (&found, wanted) else { return Ok(found.is_none() && wanted.is_none()) };
    // Of permissions git keeps only this, and the log may be of another machine.
    let is_executable = |permissions: u32| permissions & 0o100 != 0;
    match (found.kind, wanted.form) {
        (Kind::File, FileForm::File) => Ok(Digest::of(&root.read(path)?).hex() == wanted.content
            && is_executable(found.permissions) == is_executable(wanted.permissions)),
        (Kind::Link, FileForm::Link) => Ok(Digest::of(&root.read_link(path)?).hex() == wanted.content),
        (Kind::File | Kind::Link | Kind::Folder | Kind::Special, FileForm::File | FileForm::Link) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tree_patch::{Over, PatchedFile};
    use crate::domain::units::TreeId;

    #[test]
    fn a_file_is_as_told_by_its_content_its_form_and_whether_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        std::fs::write(folder.path().join("in/same"), "same").unwrap();
        std::fs::write(folder.path().join("other"), "other").unwrap();
        std::fs::write(folder.path().join("came"), "").unwrap();
        let version = |text: &str, form, permissions| {
            Some(FileVersion { form, permissions, content: Digest::of(text.as_bytes()).hex() })
        };
        let file = |path: &str, after| PatchedFile { path: path.to_owned(), before: None, after };
        let files = vec![
            file("in/same", version("same", FileForm::File, 0o600)),
            file("gone", None),
            file("in/same/below", None),
            file("other", version("otherwise", FileForm::File, 0o644)),
            file("came", None),
            file("missing", version("", FileForm::File, 0o644)),
            file("in", version("in", FileForm::Link, 0)),
        ];
        let tree = TreeId("t".to_owned());
        let patch = TreePatch { tree: tree.clone(), over: Over::Tree { tree }, files };
        assert_eq!(unlike(folder.path(), &patch).unwrap(), ["other", "came", "missing", "in"]);
    }
}
