//! A new file that is found in the place of another, which stays as it was: beside it under the same name, or in another folder that is
//! searched first. Where the tests read the old one at the start, and no longer, what else finds the old one is as wrong as before. A remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::outcome;
use super::planted::FAULT;
use crate::domain::remark::{Remark, RemarkKind};
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// Files that are tried at most.
const MOST_FILES: usize = 2;
/// A file above this is data.
const MOST_BYTES: usize = 1 << 20;
/// Names of the file that stands for its folder.
const OF_FOLDERS: [&str; 3] = ["index", "__init__", "mod"];

impl Court<'_> {
    /// Breaks the files in whose place a new one may be found.
    pub(super) async fn displaced(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        let is_new = |change: &&Change| change.before.is_none() && change.after.is_some() && !change.may_edit_tests;
        let new: Vec<&str> = changes.iter().filter(is_new).map(|change| change.path.as_str()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let is_changed = |path: &str| changes.iter().any(|change| change.path == path);
        // A file of tests beside the new one is called like it, and is nobody's product.
        let may_be =
            |path: &str| !is_changed(path) && !self.is_judge(path) && new.iter().any(|new| takes_place_of(new, path));
        let old = self.runs.bench.workspace.texts_at(self.tree, may_be, MOST_FILES, MOST_BYTES)?;
        for (path, text) in old {
            let broken = BTreeMap::from([(path.clone(), format!("{FAULT}{text}"))]);
            let Some(run) = self.of_failed(&broken).await? else { return Ok(()) };
            if outcome::did_not_run(&run) || !is_green(&run, green) {
                continue;
            }
            let Some(before) = self.runs.whole(self.start, &broken).await? else { return Ok(()) };
            if !self.tells(&before) {
                continue;
            }
            let by = new.iter().find(|new| takes_place_of(new, &path)).copied().unwrap_or_default();
            let said = format!("they needed it before the change, and find `{by}` in its place");
            self.remarks.push(Remark { kind: RemarkKind::UntestedChoice, file: path, lines: None, said: Some(said) });
        }
        Ok(())
    }

    /// Whether a run of the start differs from the baseline: tests are lost, or fail in other words.
    fn tells(&self, run: &TestRun) -> bool {
        let passes = |name: &String| run.report.passing_names().any(|one| one == name);
        let is_as_before = |name: &String, said: &String| {
            run.report.failing().any(|test| test.name == *name && test.message.trim() == said.trim())
        };
        !self.baseline.passing.keys().all(passes)
            || !self.baseline.said.iter().all(|(name, said)| is_as_before(name, said))
    }
}

/// Whether a new file may be found where another was: their names are the same but for the ending, or one is the other's folder, or the
/// same file stands below another root.
fn takes_place_of(new: &str, old: &str) -> bool {
    let ((new_folder, new_stem), (old_folder, old_stem)) = (named(new), named(old));
    let is_beside = new != old && new_folder == old_folder && new_stem == old_stem;
    let is_folder_of = |(folder, stem): (&str, &str), (other, index): (&str, &str)| {
        let (around, last) = other.rsplit_once('/').unwrap_or(("", other));
        OF_FOLDERS.contains(&index) && around == folder && last == stem
    };
    let folders = is_folder_of((new_folder, new_stem), (old_folder, old_stem))
        || is_folder_of((old_folder, old_stem), (new_folder, new_stem));
    // With its package's folder, since a `utils.py` stands in many.
    let with_package = |path: &str| {
        let mut parts = path.rsplit('/');
        let (name, folder) = (parts.next(), parts.next());
        folder.map(|folder| format!("{folder}/{}", name.unwrap_or_default()))
    };
    let is_below_another = new != old && with_package(new).is_some_and(|tail| with_package(old) == Some(tail));
    is_beside || folders || is_below_another
}

/// A file's folder, and its name up to the first dot.
fn named(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder, name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_may_be_found_where_another_was() {
        for (new, old) in [
            ("src/cart.mjs", "src/cart.ts"),
            ("src/cart.web.js", "src/cart.js"),
            ("src/cart.js", "src/cart/index.js"),
            ("shop/cart/__init__.py", "shop/cart.py"),
            ("shop/cart.py", "src/shop/cart.py"),
        ] {
            assert!(takes_place_of(new, old), "{new} {old}");
        }
        for (new, old) in [("src/cart.js", "lib/cart.js"), ("src/a.js", "src/b.js"), ("cart.py", "src/shop/cart.py")] {
            assert!(!takes_place_of(new, old), "{new} {old}");
        }
    }
}
