//! From the failing tests to what they use: the definitions that their bodies name, where imports lead, and what those use in turn.
//!
//! Invariant: bounded by counts everywhere, since a repository may import in circles, and by [`Sources`] in what is read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::resolve;
use super::sources::Sources;
use crate::framework::source::{Definition, Import, Language, Source};

/// How many failing tests are followed.
const MAX_TESTS: usize = 12;
/// How many names of failing tests are looked for.
const MAX_NAMES: usize = 40;
/// How many files are looked through for a failing test that no place leads to.
const MAX_SEARCHED: usize = 60;
/// How many definitions are followed or shown.
const MAX_PARTS: usize = 40;
/// How many calls lie between a test and what is still shown: the function, what it calls, what that calls.
const MAX_CALLS: u32 = 3;
/// How many files may pass a name on before the one that defines it.
const MAX_HOPS: u32 = 3;
/// How many files one body's names are looked for in.
const MAX_FILES: usize = 60;
/// How many methods of classes that the body does not name are followed: names like `get` are many.
const MAX_LOOSE: usize = 8;
/// A class or module of more lines is shown by its head, its constructor and the methods that are used.
const MAX_CONTAINER: u32 = 40;
/// How many lines of such a container are its head.
const MAX_HEAD: u32 = 12;
/// Methods that make a value of a class, in the languages that are read.
const CONSTRUCTORS: [&str; 3] = ["__init__", "constructor", "new"];

/// Lines of a file that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub path: String,
    /// Its one-based lines, first and last.
    pub lines: (u32, u32),
}

/// The parts of failing tests, and the code that they use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The failing tests' own definitions.
    pub tests: Vec<Part>,
    /// The code that they use, nearest first. Names that are only imported come last.
    pub used: Vec<Part>,
}

/// A file in which a failure happened, and the lines that it names there.
pub type Place = (String, Vec<u32>);

/// Follows the failing tests of these names from the places of their failures.
pub fn trace(sources: &mut Sources<'_>, places: &[Place], failing: &[String], is_test: &dyn Fn(&str) -> bool) -> Trace {
    let mut tests = tests_at(sources, places, failing, is_test);
    if tests.is_empty() {
        tests = tests_by_name(sources, failing, is_test);
    }
    let mut used = Vec::new();
    let mut queue: VecDeque<(Part, u32)> = tests.iter().map(|test| (test.clone(), 0)).collect();
    // Breadth first: the room goes to what a test calls itself before what that calls.
    while let Some((part, calls)) = queue.pop_front() {
        for found in uses(sources, &part) {
            if used.len() < MAX_PARTS && !used.contains(&found) && !tests.contains(&found) {
                used.push(found.clone());
                if calls + 1 < MAX_CALLS {
                    queue.push_back((found, calls + 1));
                }
            }
        }
    }
    for found in only_imported(sources, &tests) {
        if used.len() < MAX_PARTS && !used.contains(&found) {
            used.push(found);
        }
    }
    Trace { tests, used }
}

/// The failing tests in the files that failures name. In a file of tests without one of that name, the code around the lines.
fn tests_at(
    sources: &mut Sources<'_>,
    places: &[Place],
    failing: &[String],
    is_test: &dyn Fn(&str) -> bool,
) -> Vec<Part> {
    let mut found: Vec<Part> = Vec::new();
    for (path, lines) in places {
        let mut here = tests_in(sources, path, failing);
        if here.is_empty() && is_test(path) {
            here = lines.iter().filter_map(|line| around(sources, path, *line)).collect();
        }
        found.extend(here);
        found.dedup();
    }
    found.truncate(MAX_TESTS);
    found
}

/// The failing tests wherever they are: the report names no file of theirs.
fn tests_by_name(sources: &mut Sources<'_>, failing: &[String], is_test: &dyn Fn(&str) -> bool) -> Vec<Part> {
    let may_hold = |path: &&String| {
        Language::of(path).is_some_and(|language| language.has_inline_tests() || is_test(path.as_str()))
    };
    let leaves: Vec<&str> = failing.iter().take(MAX_NAMES).filter_map(|name| leaf(name)).collect();
    let mut found = Vec::new();
    for path in sources.files().iter().filter(may_hold).take(MAX_SEARCHED) {
        let is_named = |text: &str| leaves.iter().any(|leaf| text.contains(leaf));
        // Looking for a word in a text is far cheaper than parsing it.
        if found.len() < MAX_TESTS && sources.text(path).is_some_and(|text| is_named(&text)) {
            found.extend(tests_in(sources, path, failing));
        }
    }
    found.truncate(MAX_TESTS);
    found
}

/// The last word of a test's name that a file would hold: `adds` of `cart::tests::adds`, `test_a` of `test_a (tests.x.Case.test_a)`.
fn leaf(name: &str) -> Option<&str> {
    let name = name.split(" (").next().unwrap_or(name).split('[').next().unwrap_or(name);
    let last = name.rsplit(['/', '›', '>', ':', '.']).next().unwrap_or(name).trim();
    // A shorter word stands in every file.
    (last.len() > 2).then_some(last)
}

fn tests_in(sources: &mut Sources<'_>, path: &str, failing: &[String]) -> Vec<Part> {
    let Some(outline) = sources.outline(path) else { return Vec::new() };
    let Some(source) = Source::read(path, outline.text()) else { return Vec::new() };
    let is_failing = |name: &String| source.tests().iter().find(|test| source.is_called(test, name));
    let mut found: Vec<Part> = Vec::new();
    for test in failing.iter().take(MAX_NAMES).filter_map(is_failing) {
        let part = Part { path: path.to_owned(), lines: test.lines };
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

/// The innermost definition that a line stands in.
#[must_use]
pub fn around(sources: &mut Sources<'_>, path: &str, line: u32) -> Option<Part> {
    let outline = sources.outline(path)?;
    let inside = outline.definitions().iter().filter(|one| (one.lines.0..=one.lines.1).contains(&line));
    let innermost = inside.min_by_key(|one| one.lines.1 - one.lines.0)?;
    Some(Part { path: path.to_owned(), lines: innermost.lines })
}

/// The meaning of the names in a part: definitions of its own file first, then those of the files that are imported.
fn uses(sources: &mut Sources<'_>, part: &Part) -> Vec<Part> {
    let Some(outline) = sources.outline(&part.path) else { return Vec::new() };
    let words: Vec<String> = outline.words(part.lines).into_iter().map(str::to_owned).collect();
    let seen = BTreeSet::from([part.path.clone()]);
    let mut search = Search { words: &words, home: Some(part), seen, found: Vec::new() };
    search.look_in(sources, &part.path);
    let mut imports = outline.imports().to_vec();
    imports.extend(outline.written_out(part.lines));
    for path in resolve::shared_scope(outline.language(), &part.path, sources) {
        if search.seen.insert(path.clone()) {
            search.look_in(sources, &path);
        }
    }
    search.follow(sources, &part.path, &imports, MAX_HOPS);
    let not_itself = |found: &Part| !(found.path == part.path && is_inside(part.lines, found.lines));
    search.in_order().into_iter().filter(not_itself).collect()
}

/// Whether one range of lines holds the other.
fn is_inside(inner: (u32, u32), outer: (u32, u32)) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

/// The names that the tests' files import, whether or not the failing tests name them themselves: a fixture may.
fn only_imported(sources: &mut Sources<'_>, tests: &[Part]) -> Vec<Part> {
    let mut found = Vec::new();
    let files: BTreeSet<&String> = tests.iter().map(|test| &test.path).collect();
    for path in files {
        let Some(outline) = sources.outline(path) else { continue };
        let imports = outline.imports();
        // `use cart::total` means the last part of its path.
        let last = |import: &Import| import.module.rsplit("::").next().map(str::to_owned);
        let of_rust = imports.iter().filter(|_| outline.language() == Language::Rust).filter_map(last);
        let words: Vec<String> = imports.iter().flat_map(|import| import.names.clone()).chain(of_rust).collect();
        let seen = BTreeSet::from([path.clone()]);
        let mut search = Search { words: &words, home: None, seen, found: Vec::new() };
        search.follow(sources, path, imports, MAX_HOPS);
        found.extend(search.in_order());
    }
    found
}

/// A definition that was found: how loosely it fits, by which of the words, and where.
type Match = (bool, usize, Part);

/// A search for the definitions of names.
struct Search<'w> {
    words: &'w [String],
    /// The part that names them: its own class needs no name in it.
    home: Option<&'w Part>,
    seen: BTreeSet<String>,
    found: Vec<Match>,
}

impl Search<'_> {
    /// Adds the file's definitions of the words. Returns the words that it does not define.
    fn look_in(&mut self, sources: &mut Sources<'_>, path: &str) -> Vec<String> {
        let Some(outline) = sources.outline(path) else { return self.words.to_vec() };
        let words: BTreeMap<&str, usize> =
            self.words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
        let mut missing = words.clone();
        for definition in outline.definitions() {
            let Some(at) = words.get(definition.name.as_str()) else { continue };
            missing.remove(definition.name.as_str());
            let is_at_home = |within: &String| {
                let home = self.home.filter(|home| home.path == path);
                let holds = |one: &Definition, home: &Part| one.name == *within && is_inside(home.lines, one.lines);
                home.is_some_and(|home| outline.definitions().iter().any(|one| one.is_container && holds(one, home)))
            };
            let is_loose = definition
                .within
                .as_ref()
                .is_some_and(|within| !words.contains_key(within.as_str()) && !is_at_home(within));
            let parts = parts_of(definition, outline.definitions(), path);
            self.found.extend(parts.into_iter().map(|part| (is_loose, *at, part)));
        }
        missing.into_keys().map(str::to_owned).collect()
    }

    /// Looks in what is imported, and in what that passes on.
    fn follow(&mut self, sources: &mut Sources<'_>, from: &str, imports: &[Import], hops: u32) {
        let Some(language) = Language::of(from) else { return };
        for import in imports {
            for path in resolve::resolve(language, from, import, sources).files {
                // Each file once, or a circle of imports would have no end.
                if self.seen.len() >= MAX_FILES || !self.seen.insert(path.clone()) {
                    continue;
                }
                let missing = self.look_in(sources, &path);
                let Some(outline) = sources.outline(&path) else { continue };
                let passed_on = outline.imports().iter().filter(|import| may_pass_on(import, &missing));
                let passed_on: Vec<Import> = passed_on.cloned().collect();
                if hops > 0 && !passed_on.is_empty() {
                    self.follow(sources, &path, &passed_on, hops - 1);
                }
            }
        }
    }

    /// The definitions that were found, by the order of the words. Methods of classes that are not named come last.
    fn in_order(mut self) -> Vec<Part> {
        self.found.sort_by_key(|(is_loose, at, _)| (*is_loose, *at));
        let firm = self.found.iter().filter(|(is_loose, ..)| !is_loose);
        let loose = self.found.iter().filter(|(is_loose, ..)| *is_loose).take(MAX_LOOSE);
        let mut parts: Vec<Part> = Vec::new();
        for (_, _, part) in firm.chain(loose) {
            if !parts.contains(part) {
                parts.push(part.clone());
            }
        }
        parts
    }
}

/// Whether a file that makes this import may pass one of the names on by it.
fn may_pass_on(import: &Import, names: &[String]) -> bool {
    let last = import.module.rsplit("::").next().unwrap_or_default();
    import.is_glob || names.iter().any(|name| import.names.contains(name) || name == last)
}

/// A definition as it is shown: whole, or of a large class its head and its constructor.
fn parts_of(definition: &Definition, all: &[Definition], path: &str) -> Vec<Part> {
    let part = |lines| Part { path: path.to_owned(), lines };
    let (first, last) = definition.lines;
    if !definition.is_container || last - first < MAX_CONTAINER {
        return vec![part((first, last))];
    }
    let inner = || {
        all.iter().filter(|one| one.within.as_ref() == Some(&definition.name) && is_inside(one.lines, (first, last)))
    };
    let before_inner = inner().map(|one| one.lines.0.saturating_sub(1)).min().unwrap_or(last);
    let head = before_inner.min(definition.line + MAX_HEAD).max(definition.line);
    let makers = inner().filter(|one| CONSTRUCTORS.contains(&one.name.as_str())).map(|one| part(one.lines));
    std::iter::once(part((first, head))).chain(makers).collect()
}

#[cfg(test)]
mod tests;
