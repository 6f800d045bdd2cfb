//! Where the links of tests lead: data outside of all test folders that tests compare with all the same.

use std::path::{Component, Path, PathBuf};

use super::failure::WorkspaceError;
use super::protected::{is_data, is_test_path};
use super::store::{Form, Manifest, Store};
use crate::policy::tamper::Change;

/// Whether a change alters any data: most alter code alone.
pub(super) fn touches_data(changes: &[Change]) -> bool {
    changes.iter().any(|change| is_data(Path::new(&change.path)))
}

/// A changed file of data that a test of a recorded state is a link to, and that test.
pub(super) fn led_to(
    store: &Store,
    start: &Manifest,
    changes: &[Change],
) -> Result<Option<(String, String)>, WorkspaceError> {
    for (link, entry) in start.iter().filter(|(path, entry)| entry.form == Form::Link && is_test_path(path.as_path())) {
        let target = store.content(&entry.content)?;
        let target = String::from_utf8_lossy(&target).into_owned();
        let Some(target) = resolved(link.as_path(), Path::new(&target)) else { continue };
        if let Some(change) = changes.iter().find(|change| Path::new(&change.path) == target && is_data(&target)) {
            return Ok(Some((change.path.clone(), link.to_string())));
        }
    }
    Ok(None)
}

/// The path from the root that a link leads to, by its text alone.
fn resolved(link: &Path, target: &Path) -> Option<PathBuf> {
    let mut path = link.parent()?.to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => path.push(name),
            // Above the root there is nothing of this checkout.
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_by_its_text() {
        let at = |link: &str, target: &str| resolved(Path::new(link), Path::new(target));
        assert_eq!(at("tests/a.json", "../docs/a.json"), Some(PathBuf::from("docs/a.json")));
        assert_eq!(at("tests/a/b.json", "./c.json"), Some(PathBuf::from("tests/a/c.json")));
        assert_eq!(at("tests/a.json", "../../a.json"), None);
        assert_eq!(at("tests/a.json", "/etc/a.json"), None);
    }
}
