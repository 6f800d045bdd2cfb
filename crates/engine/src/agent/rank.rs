//! Which files matter: distance over the import graph from the files that the failures name, and the librarian's own
//! ranking (S0-40).
//!
//! Imports are followed by name, not by compiling: a word on an import line that is the stem of a source file (or
//! the name of its folder, for `mod.rs`, `index.js`, `__init__.py`) leads there. Rough, fast and the same for every language.

use std::collections::{BTreeMap, VecDeque};

/// How far imports are followed.
const MAX_DISTANCE: u32 = 3;
/// The most files that are read for their imports.
const MAX_READ: usize = 200;
/// The most lines of one file that are looked through for imports.
const MAX_LINES: usize = 400;
/// Words that start a line on which another file is named, in the languages that upshift meets.
const IMPORT_WORDS: [&str; 14] = [
    "use ", "mod ", "pub mod ", "pub use ", "import ", "from ", "export ", "#include", "require", "include", "using ",
    "load ", "source ", "const ",
];
/// Files that stand for their folder.
const FOLDER_FILES: [&str; 4] = ["mod", "index", "__init__", "lib"];

/// The distance of a file that is on no path of imports from a failure.
pub const UNREACHED: u32 = u32::MAX;

/// A file and how many imports away it is from a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// The path in the repository.
    pub path: String,
    /// 0 for a file that a failure names, [`UNREACHED`] for one that no import leads to.
    pub distance: u32,
}

/// Ranks the files reachable from `named`, nearest first, in order of discovery.
pub fn rank(files: &[String], named: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<Ranked> {
    let by_word = index_by_word(files);
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut queue: VecDeque<(String, u32)> = named.iter().map(|path| (path.clone(), 0)).collect();
    while let Some((path, distance)) = queue.pop_front() {
        if ranked.iter().any(|known| known.path == path) || !files.contains(&path) {
            continue;
        }
        let follow = distance < MAX_DISTANCE && ranked.len() < MAX_READ;
        let text = if follow { read(&path) } else { None };
        for next in text.iter().flat_map(|text| imports(text, &path, &by_word)) {
            queue.push_back((next, distance + 1));
        }
        ranked.push(Ranked { path, distance });
    }
    ranked
}

/// How much the model's rank and the distance weigh in a score (S0-40).
const WEIGHTS: (f64, f64) = (0.7, 0.3);

/// Ranks files anew by the librarian's report: `0.7 * rank + 0.3 / (distance + 1)` (S0-40), best first, in the old order where scores are
/// equal. The first file that the model named has rank 1, the last one a share of it, and a file that it did not name 0. A file that no
/// import leads to counts as infinitely far. Files that the model named and the tree does not have are left out.
#[must_use]
pub fn by_relevance(ranked: &[Ranked], files: &[String], relevant: &[String]) -> Vec<Ranked> {
    let mut named: Vec<&str> = Vec::new();
    for path in relevant.iter().map(|path| path.trim().trim_start_matches("./")) {
        if !named.contains(&path) && files.iter().any(|file| file == path) {
            named.push(path);
        }
    }
    let count = named.len();
    let mut scored: Vec<(f64, Ranked)> = Vec::with_capacity(ranked.len() + count);
    let far = named.iter().filter(|path| !ranked.iter().any(|file| file.path == **path));
    let far = far.map(|path| Ranked { path: (*path).to_owned(), distance: UNREACHED });
    for file in ranked.iter().cloned().chain(far) {
        let place = named.iter().position(|path| *path == file.path);
        scored.push((score(place.map(|place| (place, count)), file.distance), file));
    }
    // The sort is stable, so that files of one score stay in the old order.
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, file)| file).collect()
}

/// A file's score: its place among as many that the model named, and its distance.
fn score(place: Option<(usize, usize)>, distance: u32) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let rank = place.map_or(0.0, |(place, count)| number(count.saturating_sub(place)) / number(count.max(1)));
    let near = if distance == UNREACHED { 0.0 } else { 1.0 / (f64::from(distance) + 1.0) };
    WEIGHTS.0 * rank + WEIGHTS.1 * near
}

/// From a word in an import to the files that it may mean.
fn index_by_word(files: &[String]) -> BTreeMap<&str, Vec<&String>> {
    let mut index: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for path in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        if FOLDER_FILES.contains(&stem) {
            // `cart/src/lib.rs` is imported as `cart`.
            let folder = folder.rsplit('/').find(|part| !matches!(*part, "src" | "lib")).unwrap_or("");
            index.entry(folder).or_default().push(path);
        }
        index.entry(stem).or_default().push(path);
    }
    // Files such as `.env` have no stem, and an empty word stands between any two signs.
    index.remove("");
    index
}

fn imports(text: &str, from: &str, by_word: &BTreeMap<&str, Vec<&String>>) -> Vec<String> {
    let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_owned());
    let mut found = Vec::new();
    for line in text.lines().take(MAX_LINES).map(str::trim_start).filter(|line| names_a_file(line)) {
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
            // `crate::` begins at the crate's root, mostly `lib.rs`.
            let word = if word == "crate" || word == "super" { "lib" } else { word };
            for path in by_word.get(word).into_iter().flatten() {
                if path.as_str() != from && related(extension(path), extension(from)) && !found.contains(*path) {
                    found.push((*path).clone());
                }
            }
        }
    }
    found
}

fn names_a_file(line: &str) -> bool {
    IMPORT_WORDS.iter().any(|word| line.starts_with(word)) || line.contains("require(") || line.contains(" from ")
}

/// Whether one file can import the other: the same language, as far as endings tell.
fn related(a: Option<String>, b: Option<String>) -> bool {
    let family = |extension: Option<String>| {
        extension.map(|extension| match extension.as_str() {
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => "js".to_owned(),
            "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" => "c".to_owned(),
            other => other.to_owned(),
        })
    };
    family(a) == family(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(files: &[(&str, &str)], named: &[&str]) -> Vec<(String, u32)> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let named: Vec<String> = named.iter().map(|&path| path.to_owned()).collect();
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        rank(&paths, &named, &read).into_iter().map(|file| (file.path, file.distance)).collect()
    }

    #[test]
    fn imports_are_followed_from_the_failing_file_outwards() {
        let files = [
            ("tests/test_cart.py", "from shop.cart import total\n"),
            ("shop/__init__.py", ""),
            ("shop/cart.py", "from .price import parse\n"),
            ("shop/price.py", ""),
            ("shop/unused.py", ""),
            ("docs/cart.md", ""),
        ];
        let found = ranked(&files, &["tests/test_cart.py"]);
        let expected = [("tests/test_cart.py", 0), ("shop/__init__.py", 1), ("shop/cart.py", 1), ("shop/price.py", 2)];
        assert_eq!(found, expected.map(|(path, distance)| (path.to_owned(), distance)));
    }

    #[test]
    fn rust_and_javascript_files_are_found_by_module_and_path() {
        let rust = [("src/lib.rs", "mod sum;\n"), ("src/sum.rs", ""), ("tests/adds.rs", "use calc::sum::add;\n")];
        assert_eq!(ranked(&rust, &["tests/adds.rs"])[1].0, "src/sum.rs");
        let js = [("test/a.test.js", "const { add } = require('../src/add.js');"), ("src/add.js", "")];
        assert_eq!(ranked(&js, &["test/a.test.js"])[1].0, "src/add.js");
    }

    #[test]
    fn the_librarians_ranking_weighs_more_than_distance() {
        let ranked: Vec<Ranked> = [("test.py", 0), ("cart.py", 1), ("price.py", 2), ("other.py", 2)]
            .map(|(path, distance)| Ranked { path: path.to_owned(), distance })
            .to_vec();
        let files: Vec<String> =
            ["test.py", "cart.py", "price.py", "other.py", "far.py", "none.py"].map(str::to_owned).to_vec();
        let relevant: Vec<String> = ["./far.py", "price.py", "gone.py", "far.py"].map(str::to_owned).to_vec();
        let paths = |ranked: Vec<Ranked>| ranked.into_iter().map(|file| file.path).collect::<Vec<_>>();
        // far: 0.7; price: 0.35 + 0.1; test: 0.3; cart: 0.15; other: 0.1
        assert_eq!(
            paths(by_relevance(&ranked, &files, &relevant)),
            ["far.py", "price.py", "test.py", "cart.py", "other.py"]
        );
        assert_eq!(paths(by_relevance(&ranked, &files, &[])), ["test.py", "cart.py", "price.py", "other.py"]);
    }

    #[test]
    fn a_score_is_seven_parts_rank_and_three_parts_nearness() {
        let about = |score: f64, expected: f64| assert!((score - expected).abs() < 1e-9, "{score} is not {expected}");
        about(score(Some((0, 4)), 0), 1.0);
        about(score(Some((3, 4)), 1), 0.7 * 0.25 + 0.15);
        about(score(None, 2), 0.1);
        about(score(Some((0, 1)), UNREACHED), 0.7);
        about(score(None, UNREACHED), 0.0);
    }

    #[test]
    fn files_that_do_not_exist_and_circles_are_no_trouble() {
        let files = [("a.py", "import b"), ("b.py", "import a")];
        assert_eq!(ranked(&files, &["gone.py", "a.py"]).len(), 2);
    }
}
