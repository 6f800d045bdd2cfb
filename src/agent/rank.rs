//! Which files matter: distance over the import graph from the files that the failures name (S0-40).
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

/// A file and how many imports away it is from a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// The path in the repository.
    pub path: String,
    /// 0 for a file that a failure names.
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

/// From a word in an import to the files that it may mean.
fn index_by_word(files: &[String]) -> BTreeMap<&str, Vec<&String>> {
    let mut index: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for path in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        if FOLDER_FILES.contains(&stem) {
            let folder = folder.rsplit('/').find(|part| !matches!(*part, "src" | "lib")).unwrap_or("");
            index.entry(folder).or_default().push(path);
        }
        index.entry(stem).or_default().push(path);
    }
    index.remove("");
    index
}

fn imports(text: &str, from: &str, by_word: &BTreeMap<&str, Vec<&String>>) -> Vec<String> {
    let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_owned());
    let mut found = Vec::new();
    for line in text.lines().take(MAX_LINES).map(str::trim_start).filter(|line| names_a_file(line)) {
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
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
    fn files_that_do_not_exist_and_circles_are_no_trouble() {
        let files = [("a.py", "import b"), ("b.py", "import a")];
        assert_eq!(ranked(&files, &["gone.py", "a.py"]).len(), 2);
    }
}
