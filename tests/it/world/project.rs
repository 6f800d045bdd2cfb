//! Red repositories in temporary folders: real projects with a real bug, in the languages that the machine has.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A project's folder in a temporary one, which takes away what tests put beside it, too.
struct Folder {
    inside: PathBuf,
    _outside: TempDir,
}

/// A broken project.
pub(crate) struct Project {
    folder: Folder,
    /// The file with the bug.
    pub(crate) source: &'static str,
    /// The command that runs its tests.
    pub(crate) test_command: &'static str,
    /// The names of the failing tests, as the runner gives them.
    pub(crate) failing: &'static [&'static str],
    /// The line with the bug.
    pub(crate) wrong: &'static str,
    /// The line that mends it.
    pub(crate) right: &'static str,
}

impl Project {
    /// A Rust crate with an integration test.
    pub(crate) fn rust() -> Self {
        let files = [
            ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
            (
                "src/lib.rs",
                "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\npub fn double(a: i64) -> i64 {\n    a * 2\n}\n",
            ),
            (
                "tests/adds.rs",
                "#[test]\nfn adds() {\n    assert_eq!(calc::add(20, 22), 42, \"the sum\");\n}\n\n#[test]\nfn doubles() {\n    \
                 assert_eq!(calc::double(21), 42);\n}\n",
            ),
            (".gitignore", "/target\n/Cargo.lock\n"),
        ];
        Self {
            source: "src/lib.rs",
            test_command: "cargo test --offline",
            failing: &["adds"],
            wrong: "    a - b",
            right: "    a + b",
            folder: unpack(&files),
        }
    }

    /// A Python package with unittest.
    pub(crate) fn python() -> Self {
        let files = [
            ("shop/__init__.py", ""),
            ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
            (
                "tests/test_cart.py",
                "import unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
                 self.assertEqual(total([1, 2, 3]), 6, \"the cart's total\")\n\n    def test_type(self):\n        \
                 self.assertIsInstance(total([5]), int)\n",
            ),
            ("tests/__init__.py", ""),
        ];
        Self {
            source: "shop/cart.py",
            test_command: "python3 -m unittest -v",
            failing: &["test_total (tests.test_cart.CartTest.test_total)"],
            wrong: "    return sum(prices) - 1",
            right: "    return sum(prices)",
            folder: unpack(&files),
        }
    }

    /// A JavaScript module with node's own runner.
    pub(crate) fn javascript() -> Self {
        let files = [
            (
                "package.json",
                "{ \"name\": \"greet\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\" } }\n",
            ),
            ("src/greet.js", "export function greet(name) {\n  return 'Hello ' + name;\n}\n"),
            (
                "test/greet.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\n\
                 test('greets with a comma', () => {\n  assert.strictEqual(greet('Ada'), 'Hello, Ada');\n});\n\n\
                 test('is a string', () => {\n  assert.strictEqual(typeof greet('x'), 'string');\n});\n",
            ),
        ];
        Self {
            source: "src/greet.js",
            test_command: "node --test",
            failing: &["greets with a comma"],
            wrong: "  return 'Hello ' + name;",
            right: "  return 'Hello, ' + name;",
            folder: unpack(&files),
        }
    }

    /// All three.
    pub(crate) fn all() -> Vec<Self> {
        vec![Self::rust(), Self::python(), Self::javascript()]
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.folder.inside
    }

    /// A file's text.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("a text")
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }

    /// Makes it a git repository with one commit and returns a digest of its git directory.
    pub(crate) fn commit(&self) -> String {
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=start"],
        ] {
            let done = Command::new("git").args(args).current_dir(self.path()).status().expect("git");
            assert!(done.success());
        }
        self.git_digest()
    }

    /// Every file of the git directory with its content, to see whether anything touched it.
    pub(crate) fn git_digest(&self) -> String {
        let mut files = Vec::new();
        walk(&self.path().join(".git"), &mut files);
        files.sort();
        files.iter().map(|path| format!("{} {:?}\n", path.display(), std::fs::read(path).expect("bytes"))).collect()
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

fn unpack(files: &[(&str, &str)]) -> Folder {
    let outside = tempfile::Builder::new().prefix("project-").tempdir().expect("a folder");
    let folder = Folder { inside: outside.path().join("project"), _outside: outside };
    for (name, text) in files {
        let path = folder.inside.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    folder
}
