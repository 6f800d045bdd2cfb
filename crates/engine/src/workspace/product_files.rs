//! Files of the product that are called like tests (`app/ab_test.py`, `app/fixtures/roles.json`): by what the start's other files say.
//!
//! Invariant: the start alone is asked, and doubt leaves a file with the tests. A file is the product's where the product names it and it
//! holds no test itself. No test and nothing that configures tests may name a file of data, or its folder.

use std::collections::BTreeSet;
use std::path::Path;

use super::protected::{Suspect, configures, is_test_path, suspect};
use super::{Workspace, WorkspaceError};
use crate::domain::units::TreeId;
use crate::framework::programs::WORDS_OF_TESTS;
use crate::framework::source::{Language, Source};

/// Files that are read at most.
const MOST_FILES: usize = 3_000;
/// A file above this is not read: it names nothing.
const MOST_BYTES: usize = 1 << 18;

impl Workspace {
    /// The files of a state that are called like tests and are the product's.
    pub(super) fn product_files(&self, start: &TreeId) -> Result<BTreeSet<String>, WorkspaceError> {
        let mut suspects = Vec::new();
        let texts = self.texts_at(start, |_| true, MOST_FILES, MOST_BYTES)?;
        for (path, text) in &texts {
            if let Some(suspect) = suspect(Path::new(path)) {
                suspects.push((path, text, suspect));
            }
        }
        let is_product = |(path, text, suspect): &(&String, &String, Suspect)| {
            let others = || texts.iter().filter(|(other, _)| other != *path);
            let stem = stem_of(path);
            let named = |(other, text): &(String, String)| !judges(other) && says(text, stem);
            let owned = match suspect {
                Suspect::Code => {
                    !holds_tests(path, text)
                        // A configuration that names it may have a runner collect it.
                        && !others().any(|(other, text)| configures(Path::new(other)) && says(text, stem))
                }
                Suspect::Data { folder } => {
                    let is_module =
                        others().any(|(other, _)| !judges(other) && has_grammar(other) && stem_of(other) == stem);
                    let reads = |(other, text): &(String, String)| {
                        let in_folder = folder.as_deref().is_some_and(|folder| says(text, folder));
                        judges(other) && (in_folder || names_data(other, text, path, is_module))
                    };
                    !others().any(reads)
                }
            };
            owned && others().any(named)
        };
        Ok(suspects.iter().filter(|one| is_product(one)).map(|(path, ..)| (*path).clone()).collect())
    }
}

/// Whether a file is a test, or says how tests are run.
fn judges(path: &str) -> bool {
    is_test_path(Path::new(path)) || configures(Path::new(path))
}

/// Whether a file holds tests, or what only tests need.
fn holds_tests(path: &str, text: &str) -> bool {
    let is_python = path.ends_with(".py");
    let is_test = |names: &[String]| !is_python || names.iter().any(|name| name.to_lowercase().starts_with("test"));
    // A text that cannot be read as a tree may well hold tests.
    let Some(source) = Source::read(path, text).filter(|_| has_grammar(path)) else { return true };
    source.tests().iter().any(|test| is_test(&test.names)) || WORDS_OF_TESTS.iter().any(|word| text.contains(word))
}

fn has_grammar(path: &str) -> bool {
    Language::of(path).is_some_and(Language::has_grammar)
}

/// Whether a file that judges names one of data: with its ending, or without it in quotes. A bare word of code is a variable or a module, and
/// so is, where a module has that name, what is imported.
fn names_data(judge: &str, text: &str, path: &str, is_module: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = stem_of(path);
    if says(text, name) || !has_grammar(judge) {
        return says(text, stem);
    }
    text.lines().filter(|line| !(is_module && imports(line))).any(|line| says_in_quotes(line, stem))
}

/// Whether a line brings a module in.
fn imports(line: &str) -> bool {
    let line = line.trim_start();
    // The last two are of JavaScript: `export { a } from "./a"`, `const a = require("./a")`.
    line.starts_with("import ") || line.starts_with("from ") || line.contains(" from ") || line.contains("require(")
}

fn says_in_quotes(line: &str, word: &str) -> bool {
    let mut rest = line;
    while let Some((_, opened)) = rest.split_once(['"', '\'', '`']) {
        let (inside, after) = opened.split_once(['"', '\'', '`']).unwrap_or((opened, ""));
        if says(inside, word) {
            return true;
        }
        rest = after;
    }
    false
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Whether a text holds a word, and not as a part of a longer one.
fn says(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use crate::workspace::{PathRules, Workspace};

    async fn product(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
        let start = workspace.snapshot().await.unwrap();
        let found: Vec<String> = workspace.product_files(&start).unwrap().into_iter().collect();
        workspace.judged_from(&start);
        for path in &found {
            assert_eq!(workspace.protected(path.as_ref()), None, "{path}");
        }
        found
    }

    const TEST: (&str, &str) =
        ("tests/test_app.py", "from app import ab_test\n\ndef test_x():\n    assert ab_test.pick(1)\n");

    #[tokio::test]
    async fn what_the_product_names_and_no_test_reads_is_the_products() {
        let files = [
            ("app/__init__.py", "from . import ab_test\n\nROLES = open('app/fixtures/roles.json')\n"),
            ("app/ab_test.py", "def pick(user):\n    return user % 2\n"),
            ("app/fixtures/roles.json", "[]\n"),
            TEST,
        ];
        assert_eq!(product(&files).await, ["app/ab_test.py", "app/fixtures/roles.json"]);
    }

    #[tokio::test]
    async fn data_may_be_called_like_the_module_that_reads_it() {
        for (test, is_product) in [
            ("from app.roles import may\n\ndef test_x():\n    assert may('admin', 'write')\n", true),
            ("from app import roles\n\ndef test_x():\n    assert roles.may('admin', 'write')\n", true),
            ("from app import roles\n\ndef test_x():\n    assert read('roles') == roles.all()\n", false),
            ("DATA = open('roles.json')\n", false),
        ] {
            let files = [
                ("app/roles.py", "ROLES = open('app/fixtures/roles.json')\n"),
                ("app/fixtures/roles.json", "[]\n"),
                ("tests/test_roles.py", test),
            ];
            assert_eq!(!product(&files).await.is_empty(), is_product, "{test}");
        }
    }

    #[tokio::test]
    async fn doubt_leaves_a_file_with_the_tests() {
        let named = ("app/__init__.py", "import app.ab_test\nROLES = 'fixtures/roles.json'\n");
        for files in [
            // Nobody names it.
            [("app/__init__.py", ""), ("app/ab_test.py", "def pick(user):\n    return user % 2\n"), TEST],
            // It holds a test.
            [named, ("app/ab_test.py", "def test_pick():\n    assert True\n"), TEST],
            // It is only for tests.
            [named, ("app/ab_test.py", "import unittest\n"), TEST],
            // A test reads it, by its name or its folder's.
            [named, ("app/fixtures/roles.json", "[]\n"), ("tests/test_a.py", "open('app/fixtures/roles.json')\n")],
            [named, ("app/fixtures/roles.json", "[]\n"), ("tests/test_a.py", "glob('app/fixtures/*')\n")],
            [named, ("app/fixtures/roles.json", "[]\n"), ("conftest.py", "DATA = 'roles'\n")],
            // It lies with the tests.
            [named, ("tests/fixtures/roles.json", "[]\n"), TEST],
            [named, ("tests/ab_test.py", "def pick(user):\n    return user % 2\n"), TEST],
            // The runner is told of it.
            [
                named,
                ("app/ab_test.py", "def pick(user):\n    return 1\n"),
                ("conftest.py", "pytest_plugins = ['app.ab_test']\n"),
            ],
        ] {
            assert!(product(&files).await.is_empty(), "{files:?}");
        }
    }
}
