//! Files that are called like tests where a product may have the same words.

use std::path::Path;

use super::{folded, has_class_mark, is_test_folder, is_test_path, of_data};
use crate::domain::word_list::lists;
use crate::framework::protected_names::{SPEC_FOLDERS, TEST_FILE_PREFIXES, TEST_FILE_SUFFIXES, TEST_FILES};

/// The possible kind of a file that is called like a test and lies with the product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Suspect {
    /// Code: a word of its name is that of tests.
    Code,
    /// Data, by its folder or by a word of its name.
    Data {
        /// The folder.
        folder: Option<String>,
    },
}

/// Whether a file is called like a test by its name or its folder of data alone, where a product may have the same words.
pub(in super::super) fn suspect(path: &Path) -> Option<Suspect> {
    let parts = folded(path);
    let (name, folders) = parts.split_last()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let with_tests = folders.iter().any(|folder| is_test_folder(folder, false) || lists(SPEC_FOLDERS, folder));
    if !is_test_path(path) || with_tests || configures(path) || has_class_mark(path) {
        return None;
    }
    if of_data(extension) {
        // In its own spelling, as the code would name it.
        let own = path.parent()?.iter().map(|part| part.to_string_lossy().into_owned());
        let folder = own.zip(folders).find(|(_, folder)| is_test_folder(folder, true)).map(|(own, _)| own);
        return Some(Suspect::Data { folder });
    }
    // `a.test.js` is what runners look for.
    (lists("py rs js mjs cjs ts", extension) && !stem.contains('.')).then_some(Suspect::Code)
}

/// Whether a file says how tests are run.
pub(in super::super) fn configures(path: &Path) -> bool {
    let parts = folded(path);
    let name = parts.last().map_or("", String::as_str);
    lists(TEST_FILES, name)
        || lists("package.json pyproject.toml setup.cfg setup.py tox.ini noxfile.py makefile justfile cargo.toml", name)
        || TEST_FILE_PREFIXES.split_ascii_whitespace().any(|prefix| name.starts_with(prefix))
        || TEST_FILE_SUFFIXES.split_ascii_whitespace().any(|suffix| name.ends_with(suffix))
}
