//! The changed files loaded by themselves, and the tests called without their runner: what that changes of all that the code of a process
//! shares (its time zone, its variables, the parts of other modules), and did not change at the start. It leaves a remark.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::bench::TrialError;
use super::court::Court;
use super::direct::Calls;
use crate::domain::remark::{Remark, RemarkKind};
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;
use crate::test_run::TestRun;
use crate::test_run::direct::can_call;
use crate::test_run::direct::shared::{Loaded, Watched, can_load};
use crate::workspace::is_test_path;

/// Files that are loaded at most.
const MOST_FILES: usize = 20;
/// Names that a remark shows at most.
const MOST_NAMES: usize = 4;
/// A program begins so, and does its work when it is loaded.
const PROGRAM: &str = "#!";

impl Court<'_> {
    /// Loads the changed files of the product, with the change and without it. What is remarked is seen twice.
    pub(super) async fn shared(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let files: Vec<&Change> = changes.iter().filter(|change| self.is_loaded(change)).take(MOST_FILES).collect();
        let named = |files: &[&Change]| -> Vec<String> {
            files.iter().map(|change| self.runs.bench.path_from_tests(&change.path)).collect()
        };
        let (now, before): (Vec<String>, Vec<&Change>) =
            (named(&files), files.iter().copied().filter(|change| change.before.is_some()).collect());
        let before = named(&before);
        if now.is_empty() {
            return Ok(());
        }
        let Some(with) = self.runs.load(self.tree, &now).await? else { return Ok(()) };
        if with.iter().all(|one| one.changes.is_empty()) {
            return Ok(());
        }
        let without = if before.is_empty() { Some(Vec::new()) } else { self.runs.load(self.start, &before).await? };
        // A file that does not load there says nothing of what it changed.
        let Some(without) = without.filter(|without| without.len() == before.len()) else { return Ok(()) };
        let Some(again) = self.runs.load(self.tree, &now).await? else { return Ok(()) };
        let (without, again) = (names_in(&without), names_in(&again));
        for one in with {
            let changed = one
                .changes
                .into_iter()
                .filter(|name| !without.contains(name.as_str()) && again.contains(name.as_str()));
            let changed: Vec<String> = changed.collect();
            let names = outermost(&changed);
            let Some(file) = files.get(one.at).filter(|_| !names.is_empty()) else { continue };
            let (kind, file, said) = (RemarkKind::ChangesForAll, file.path.clone(), Some(in_words(&names)));
            self.remarks.push(Remark { kind, file, lines: None, said });
        }
        Ok(())
    }

    /// Calls the tests that failed at the start, with the change and without it. A test that fails there ends before its time: passing tests
    /// are called, too, and all that is changed with the start's product is not the change's. Each remark is seen twice.
    pub(super) async fn shared_in_calls(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if self.bodies.tests.is_empty() || !can_call(self.runs.bench.tests) {
            return Ok(());
        }
        let calls = Calls::of(self.runs.bench, self.bodies, self.baseline, green);
        let (failed, all) = calls.tests();
        let Some(with) = self.runs.changes_in_calls(self.tree, failed, &[]).await? else { return Ok(()) };
        if changed_by(&with, &|one| one.passed).is_empty() {
            return Ok(());
        }
        // Loaded beforehand from here on, so that loading them is nothing that a call changes.
        let loaded: BTreeSet<&String> = with.iter().flat_map(|one| &one.loaded).collect();
        let loaded: Vec<String> = loaded.into_iter().cloned().collect();
        let Some(without) = self.runs.changes_in_calls(self.start, all, &loaded).await? else { return Ok(()) };
        // A test that cannot be called there says nothing of what it changed.
        let called: BTreeSet<usize> = without.iter().filter(|one| one.changes.is_some()).map(|one| one.at).collect();
        let without = changed_by(&without, &|_| true);
        let Some(again) = self.runs.changes_in_calls(self.tree, failed, &loaded).await? else { return Ok(()) };
        let again = changed_by(&again, &|one| one.passed && called.contains(&one.at));
        let both = changed_by(&with, &|one| one.passed && called.contains(&one.at));
        let names: Vec<String> = both.intersection(&again).filter(|name| !without.contains(*name)).cloned().collect();
        let mut places: BTreeMap<(String, Option<u32>), Vec<&str>> = BTreeMap::new();
        for name in outermost(&names).into_iter().filter(|name| !self.is_changed_by_loading(name)) {
            let Some(place) = self.place_of(name, changes) else { continue };
            places.entry(place).or_default().push(name);
        }
        for ((file, line), names) in places {
            let said = Some(format!("{} in a call", in_words(&names)));
            let lines = line.map(|line| (line, line));
            self.remarks.push(Remark { kind: RemarkKind::ChangesForAll, file, lines, said });
        }
        Ok(())
    }

    /// Whether the loading of a file was seen to change this, too.
    fn is_changed_by_loading(&self, name: &str) -> bool {
        let holds = |said: &String| said.contains(&format!("`{name}`"));
        self.remarks.iter().any(|one| one.kind == RemarkKind::ChangesForAll && one.said.as_ref().is_some_and(holds))
    }

    /// The added line of the product that names what is changed; the first changed file where none does.
    fn place_of(&self, name: &str, changes: &[Change]) -> Option<(String, Option<u32>)> {
        let words = name.split(|one: char| !one.is_alphanumeric() && one != '_');
        let tells = |word: &&str| word.chars().any(char::is_alphabetic) && !name.contains(' ');
        let product = || changes.iter().filter(|change| self.is_of_product(change));
        let naming = |word: &str| {
            product().find_map(|change| {
                let (line, _) = added_lines(change).into_iter().find(|(_, line)| line.contains(word))?;
                Some((change.path.clone(), Some(line)))
            })
        };
        let named = words.rev().filter(tells).find_map(naming);
        named.or_else(|| Some((product().next()?.path.clone(), None)))
    }

    /// Whether a changed file is one of the product that other code loads.
    fn is_loaded(&self, change: &Change) -> bool {
        let is_program = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with(PROGRAM));
        self.is_of_product(change)
            // By the text at the start: a change cannot keep its file from being looked at by a new first line.
            && !is_program(if change.before.is_some() { &change.before } else { &change.after })
            && can_load(self.runs.bench.tests, &change.path)
    }

    fn is_of_product(&self, change: &Change) -> bool {
        let judges = change.may_edit_tests || is_test_path(Path::new(&change.path)) || self.is_judge(&change.path);
        change.after.is_some() && !judges
    }
}

/// All that some files changed.
fn names_in(loaded: &[Loaded]) -> BTreeSet<&str> {
    loaded.iter().flat_map(|one| one.changes.iter().map(String::as_str)).collect()
}

/// All that some of the tests changed.
fn changed_by(watched: &[Watched], is_meant: &dyn Fn(&Watched) -> bool) -> BTreeSet<String> {
    let meant = watched.iter().filter(|one| is_meant(one));
    meant.flat_map(|one| one.changes.iter().flatten().cloned()).collect()
}

/// The names without those of parts of others: a function that is replaced brings parts of its own.
fn outermost(names: &[String]) -> Vec<&str> {
    let is_part = |name: &str| {
        names.iter().any(|other| name.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    names.iter().map(String::as_str).filter(|name| !is_part(name)).collect()
}

fn in_words(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| format!("`{}`", name.replace('`', "'"))).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_part_is_named_without_its_own_parts() {
        let names = ["fs.readFileSync", "fs.readFileSync.name", "fs.readFile", "Date.now"].map(str::to_owned);
        assert_eq!(outermost(&names), ["fs.readFileSync", "fs.readFile", "Date.now"]);
        assert_eq!(in_words(&["a", "b", "c", "d", "e"]), "`a`, `b`, `c`, `d` and 1 more");
    }
}
