//! Files that would be run or imported in the place of a test runner, an interpreter or the standard library: new modules and
//! makefiles, and programs, new or altered.

use std::collections::BTreeSet;

use super::change::Change;
use crate::domain::word_list::lists;
use crate::framework::programs::{EVERYDAY_PROGRAMS, PROGRAMS, PYTHON_MODULES};

/// Folders that are searched for modules.
const PYTHON_ROOTS: [&str; 4] = ["", "src", "lib", "python"];
/// Makefiles in the order in which make prefers them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Endings of files that makefiles and justfiles include where they are there.
const RULE_FILES: [&str; 3] = [".mk", ".mak", ".just"];

/// The program, module or rules that a new file would stand in for.
pub(super) fn stands_for(change: &Change) -> Option<String> {
    change.after.as_ref()?;
    let path = change.path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let says = |what: &str| Some(format!("the file {path} would stand in for {what}"));
    // Scripts are often called by a word that is a shell's, too; those of the shell's name count where programs are looked for.
    let is_searched = ["bin", ".bin", "sbin", ""].contains(&folder.rsplit('/').next().unwrap_or(folder));
    if is_program(name) && (is_searched || !lists(EVERYDAY_PROGRAMS, name)) {
        return says(&format!("the program `{name}`"));
    }
    // A module or makefile that was there may need a fix. A program is refused altered as well, since it runs in the
    // runner's place.
    if change.before.is_some() {
        return None;
    }
    if let Some((root, module)) = module_of(folder, name)
        // Deeper in a package the name belongs to the package: `shop/json.py` is `shop.json`.
        && PYTHON_ROOTS.contains(&root)
        && lists(PYTHON_MODULES, module)
    {
        return says(&format!("Python's module `{module}`"));
    }
    let is_included = RULE_FILES.iter().any(|ending| name.ends_with(ending));
    // A `GNUmakefile` goes before a `Makefile` that is there, without any change in the latter.
    (MAKEFILES.contains(&name) || is_included)
        .then(|| format!("the new file {path} would be make's rules in place of others"))
}

/// The module of Python's that a new file would stand in for where the tests' own command looks for modules.
pub(super) fn stands_for_module(change: &Change, import_roots: &BTreeSet<String>) -> Option<String> {
    if change.before.is_some() || change.after.is_none() {
        return None;
    }
    let (folder, name) = change.path.rsplit_once('/').unwrap_or(("", &change.path));
    let (root, module) = module_of(folder, name)?;
    (import_roots.contains(root) && lists(PYTHON_MODULES, module)).then(|| {
        format!(
            "the file {} would stand in for Python's module `{module}`, where the tests look for modules in {root}",
            change.path
        )
    })
}

/// A file's module, and the folder in which that is looked for.
fn module_of<'p>(folder: &'p str, name: &'p str) -> Option<(&'p str, &'p str)> {
    let module = name.strip_suffix(".py")?;
    Some(if module == "__init__" { folder.rsplit_once('/').unwrap_or(("", folder)) } else { (folder, module) })
}

/// Whether a test command may start a program of this name.
pub(super) fn is_program(name: &str) -> bool {
    lists(PROGRAMS, name.trim_end_matches(".exe").trim_end_matches(".cmd"))
}
