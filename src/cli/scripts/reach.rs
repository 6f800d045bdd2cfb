//! Files that a test command leads to: the files that its scripts, rules and packages call in turn, as far as they run the tests.
//!
//! A script that names a test runner runs the tests. A script that names none may be the code under test, and is left alone. So is a file
//! that is read into a script and defines functions. Files of rules and settings that rules read in are no code under test.
//!
//! Invariant: every file is read once, and no more than [`MOST_FILES`] are read. Each costs time in proportion to its size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::command::{Called, below, read};
use super::rules::Book;
use crate::domain::word_list::lists;
use crate::framework::programs::{PYTHON_SETTINGS, RUNNERS, TELLING, TOLD};

/// How many files are followed.
const MOST_FILES: usize = 64;
/// The longest file that is followed, in bytes: a longer one is no script.
pub(super) const LONGEST: u64 = 256 * 1024;
/// How many commands are followed.
const MOST_COMMANDS: usize = 512;
/// Files of rules and packages whose parts about tests are compared, so that the rest of them may change.
const COMPARED: &str = "Makefile makefile GNUmakefile justfile Justfile .justfile package.json";
/// Endings of such files.
const COMPARED_ENDINGS: [&str; 3] = [".mk", ".mak", ".just"];

/// Files and folders that a test command leads to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Reached {
    /// Files that run the tests, beside those that the command itself names.
    pub(in crate::cli) runners: BTreeSet<String>,
    /// Folders in which Python looks for modules. They exclude the root, which it may always look in.
    pub(in crate::cli) import_roots: BTreeSet<String>,
}

/// Follows a command that runs in a folder. `text_of` reads a file, by its path from the root.
pub(super) fn reach(command: &str, folder: &str, text_of: &dyn Fn(&str) -> Option<String>) -> Reached {
    let mut following = Following { text_of, ..Following::default() };
    following.folders.insert(PathBuf::from(below(Path::new(folder), "")));
    following.command(&Command {
        text: command.to_owned(),
        folder: folder.into(),
        by: None,
        runs: runs_tests(command),
    });
    // A list instead of recursion: scripts can call each other in a circle.
    while let Some(command) = following.waiting.pop() {
        following.command(&command);
    }
    following.end()
}

/// A text of commands that is to be followed.
#[derive(Debug)]
struct Command {
    text: String,
    folder: PathBuf,
    /// The file that it stands in, if that may be altered.
    by: Option<String>,
    /// Whether it names a runner of tests.
    runs: bool,
}

struct Following<'t> {
    text_of: &'t dyn Fn(&str) -> Option<String>,
    waiting: Vec<Command>,
    commands: usize,
    /// The files that were read, and whether each runs tests.
    files: BTreeMap<String, bool>,
    /// Scripts of packages and goals that were asked for.
    asked: BTreeSet<(String, String)>,
    /// Which file calls which.
    calls: BTreeSet<(String, String)>,
    folders: BTreeSet<PathBuf>,
}

impl Default for Following<'_> {
    fn default() -> Self {
        Self {
            text_of: &|_| None,
            waiting: Vec::new(),
            commands: 0,
            files: BTreeMap::new(),
            asked: BTreeSet::new(),
            calls: BTreeSet::new(),
            folders: BTreeSet::new(),
        }
    }
}

impl Following<'_> {
    fn command(&mut self, command: &Command) {
        self.commands += 1;
        // A hostile repository can make scripts without end. Whatever is found by then is protected.
        if self.commands > MOST_COMMANDS {
            return;
        }
        let reading = read(&command.text, &command.folder);
        self.folders.extend(reading.folders);
        // A word such as `tests/test_a.py` is a file. Its folders are where modules are looked for.
        for folder in reading.given.iter().flat_map(|path| path.ancestors()).filter(|path| path.extension().is_none()) {
            // A package is imported by its name from the folder above.
            if self.folders.len() < MOST_FILES && (self.text_of)(&below(folder, "__init__.py")).is_none() {
                self.folders.insert(folder.to_owned());
            }
        }
        for called in reading.called {
            match called {
                Called::Script(file) => self.script(&file, command),
                Called::Module(stem) => {
                    self.script(&format!("{stem}.py"), command);
                    // `python -m name` runs either file.
                    self.script(&format!("{stem}/__main__.py"), command);
                }
                Called::Sourced(file) => self.sourced(&file, command),
                Called::Rules { folder, files, goals } => self.rules(&folder, files, &goals, command),
                Called::Package { folder, script } => self.package(&folder, &script),
            }
        }
    }

    /// A file's text, the first time that it is asked for.
    fn new_text(&mut self, file: &str) -> Option<String> {
        // Reading it once is enough, and a file that calls itself ends here.
        if self.files.contains_key(file) || self.files.len() >= MOST_FILES {
            return None;
        }
        (self.text_of)(file)
    }

    /// A script: one of a shell is followed, in the folder that it is called in.
    fn script(&mut self, file: &str, caller: &Command) {
        if let Some(by) = &caller.by {
            // Noted before the file is read: it may have been read already, for another caller.
            self.calls.insert((by.clone(), file.to_owned()));
        }
        let Some(text) = self.new_text(file) else { return };
        let runs = runs_tests(&text);
        self.files.insert(file.to_owned(), runs);
        let is_shell = [".sh", ".bash", ".zsh", ".ksh"].iter().any(|ending| file.ends_with(ending))
            // A script without an ending tells its shell in the first line.
            || text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("sh"));
        if is_shell {
            let text = beside(&text, file);
            // A script runs where its caller stands, not where it lies.
            self.waiting.push(Command { text, folder: caller.folder.clone(), by: Some(file.to_owned()), runs });
        }
    }

    /// A file that is read into a command, or before what it runs: settings, if tests are run and it defines nothing.
    fn sourced(&mut self, file: &str, caller: &Command) {
        if let Some(by) = &caller.by {
            self.calls.insert((by.clone(), file.to_owned()));
        }
        // A file of the product that a test command sources is the product, which a fix may change.
        let is_product = ["src/", "lib/", "app/"].iter().any(|folder| file.starts_with(folder));
        let Some(text) = self.new_text(file) else { return };
        // A sourced file with functions is mostly a library under test, and no settings.
        let defines = text.lines().any(|line| line.contains("()") || line.trim_start().starts_with("function "));
        let is_settings = caller.runs && !is_product && (!defines || file.ends_with("js"));
        self.files.insert(file.to_owned(), is_settings || runs_tests(&text));
    }

    fn rules(&mut self, folder: &Path, files: Vec<String>, goals: &[String], caller: &Command) {
        let place = folder.to_string_lossy().into_owned();
        let mut book = Book::default();
        let mut waiting = files;
        let mut seen = BTreeSet::new();
        let mut is_first = true;
        while let Some(file) = waiting.pop() {
            if seen.len() >= MOST_FILES || !seen.insert(file.clone()) {
                continue;
            }
            let Some(text) = (self.text_of)(&file) else { continue };
            if !is_compared(&file) {
                // A file of rules with an unusual name is protected whole, since its parts are not compared.
                self.files.insert(file.clone(), true);
            }
            is_first = false;
            let above = Path::new(&file).parent().unwrap_or(Path::new(""));
            let is_just = book_of_just(&file);
            let included = book.read(&text);
            waiting.extend(included.into_iter().map(|name| below(if is_just { above } else { folder }, &name)));
        }
        // Without a single file there is no make to run.
        if is_first || !self.asked.insert((place, goals.join(" "))) {
            return;
        }
        for recipe in book.recipes(goals) {
            // A recipe that a runner's script asks for runs tests as well.
            let runs = runs_tests(&recipe) || caller.runs && caller.by.is_some();
            self.waiting.push(Command { runs, text: recipe, folder: folder.to_owned(), by: None });
        }
    }

    fn package(&mut self, folder: &Path, script: &str) {
        let manifest = below(folder, "package.json");
        let Some(text) = (self.text_of)(&manifest) else { return };
        let Ok(manifest) = serde_json::from_str::<serde_json::Value>(&text) else { return };
        // npm runs both beside the script, without anybody naming them.
        for name in [format!("pre{script}"), script.to_owned(), format!("post{script}")] {
            let line =
                manifest.get("scripts").and_then(|scripts| scripts.get(&name)).and_then(serde_json::Value::as_str);
            let Some(line) = line else { continue };
            if self.asked.insert((folder.to_string_lossy().into_owned(), format!("npm {name}"))) {
                let (text, runs) = (line.to_owned(), runs_tests(line));
                self.waiting.push(Command { text, folder: folder.to_owned(), by: None, runs });
            }
        }
    }

    /// Ends the search. A file that calls a file that runs tests runs tests too.
    fn end(self) -> Reached {
        let mut runners: BTreeSet<String> =
            self.files.iter().filter(|(_, runs)| **runs).map(|(file, _)| file.clone()).collect();
        loop {
            // Callers of callers count, too. Each round adds one at least, so it ends.
            let calls = self.calls.iter().filter(|(by, file)| runners.contains(file) && !runners.contains(by));
            let more: Vec<String> = calls.map(|(by, _)| by.clone()).collect();
            if more.is_empty() {
                break;
            }
            runners.extend(more);
        }
        let mut roots: BTreeSet<String> = self.folders.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        for folder in roots.clone() {
            for file in PYTHON_SETTINGS {
                let text = (self.text_of)(&below(Path::new(&folder), file)).unwrap_or_default();
                roots.extend(python_paths(&text).map(|path| below(Path::new(&folder), path)));
            }
        }
        // The root is always looked in, as the type says.
        roots.remove("");
        Reached { runners, import_roots: roots }
    }
}

/// The folders that settings of pytest's name (`pythonpath = src lib`).
fn python_paths(text: &str) -> impl Iterator<Item = &str> {
    let values = text.lines().filter_map(|line| {
        let value = line.trim().strip_prefix("pythonpath")?.trim_start().strip_prefix('=')?;
        Some(value)
    });
    values
        .flat_map(|value| value.split(|c: char| c.is_whitespace() || "[]\"',".contains(c)))
        .filter(|path| !path.is_empty())
}

fn is_compared(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    lists(COMPARED, name) || COMPARED_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file's inclusions are named from its own folder, as just's are and make's are not.
fn book_of_just(file: &str) -> bool {
    file.to_ascii_lowercase().contains("just")
}

/// The text of a script in which what stands beside it is named from the root.
fn beside(text: &str, file: &str) -> String {
    let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
    [
        "$(dirname \"$0\")",
        "$(dirname $0)",
        "$(dirname -- \"$0\")",
        "$(dirname \"${BASH_SOURCE[0]}\")",
        "${0%/*}",
        "${BASH_SOURCE%/*}",
    ]
    // Shell scripts find their neighbours by these forms. Put in, the paths can be followed like others.
    .iter()
    .fold(text.to_owned(), |text, form| text.replace(form, folder))
}

/// Whether a text names a runner of tests.
fn runs_tests(text: &str) -> bool {
    let mut words =
        text.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        // `go` alone runs no tests, `go test` does.
        if lists(RUNNERS, word) || lists(TOLD, word) && words.peek().is_some_and(|next| lists(TELLING, next)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Reached, reach};

    fn reached(command: &str, files: &[(&str, &str)]) -> Reached {
        reach(command, "", &|path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
    }

    fn runners(command: &str, files: &[(&str, &str)]) -> Vec<String> {
        reached(command, files).runners.into_iter().collect()
    }

    #[test]
    fn scripts_that_run_the_tests_are_followed_through_packages_rules_and_shells() {
        let run = ("scripts/run.js", "spawnSync('node', ['--test'])");
        let package = |line: &str| format!("{{ \"scripts\": {{ \"test\": \"{line}\" }} }}");
        assert_eq!(runners("npm test", &[("package.json", &package("node scripts/run.js")), run]), ["scripts/run.js"]);
        assert_eq!(
            runners("make test", &[("Makefile", "test: unit\nunit:\n\t@node scripts/run.js\n"), run]),
            ["scripts/run.js"]
        );
        let rules = ("Makefile.inc", "test:\n\tpython3 -m unittest\n");
        assert_eq!(runners("make test", &[("Makefile", "include Makefile.inc\n"), rules]), ["Makefile.inc"]);
        let settings =
            [("justfile", "set dotenv-filename := 'ci.settings'\ntest:\n    pytest\n"), ("ci.settings", "A=1\n")];
        assert_eq!(runners("just test", &settings), ["ci.settings"]);
        let shell = [
            ("ci/all.sh", ". $(dirname \"$0\")/env\nsh ci/unit.sh\n"),
            ("ci/unit.sh", "#!/bin/sh\npython3 -m pytest\n"),
            ("ci/env", "export A=1\n"),
        ];
        assert_eq!(
            runners(
                "cd . && npm run check",
                &[&[("package.json", "{\"scripts\":{\"check\":\"sh ci/all.sh\"}}")], &shell[..]].concat()
            ),
            ["ci/all.sh", "ci/unit.sh"]
        );
        assert_eq!(
            runners("sh ci/unit.sh", &[("ci/unit.sh", ". ci/env\npytest\n"), ("ci/env", "A=1\n")]),
            ["ci/env", "ci/unit.sh"]
        );
        assert_eq!(runners("python3 -m tools.run", &[("tools/run.py", "import unittest\n")]), ["tools/run.py"]);
    }

    #[test]
    fn what_may_be_the_code_under_test_is_left_alone() {
        for (command, files) in [
            (
                "make test",
                &[
                    ("Makefile", "test:\n\t./greet.sh Ada | grep -q Ada\n"),
                    ("greet.sh", "#!/bin/sh\necho \"Hello $1\"\n"),
                ][..],
            ),
            (
                "npm test",
                &[
                    ("package.json", "{\"scripts\":{\"test\":\"node src/index.js --check\",\"start\":\"node ci.js\"}}"),
                    ("src/index.js", "run();\n"),
                    ("ci.js", "jest"),
                ],
            ),
            (
                "make test",
                &[("Makefile", "test:\n\tpytest\n\nserve:\n\tpython3 run.py\n"), ("run.py", "import unittest\n")],
            ),
            (
                "make test",
                &[
                    ("Makefile", "test:\n\tsh run.sh\n"),
                    ("run.sh", ". ./greet.sh\n[ \"$(greet)\" = a ]\n"),
                    ("greet.sh", "greet() { echo a; }\n"),
                ],
            ),
            ("make test", &[("Makefile", "include rules.mk\ntest:\n\tpytest\n"), ("rules.mk", "A = 1\n")]),
        ] {
            assert!(runners(command, files).is_empty(), "{command} {files:?}");
        }
    }

    #[test]
    fn files_that_call_each_other_are_read_once() {
        let files = [
            ("a.sh", "sh b.sh\n"),
            ("b.sh", "sh a.sh\npytest\n"),
            ("Makefile", "include Makefile\ninclude more\ntest: test\n\tmake test\n\tsh a.sh\n"),
            ("more", "include Makefile\n"),
        ];
        assert_eq!(runners("make test", &files), ["a.sh", "b.sh", "more"]);
    }

    #[test]
    fn folders_in_which_python_looks_for_modules_are_found() {
        let roots = |command: &str, files: &[(&str, &str)]| {
            reached(command, files).import_roots.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(roots("cd backend && ../.venv/bin/python -m pytest", &[]), ["backend"]);
        assert_eq!(roots("PYTHONPATH=a:b/c python3 -m unittest", &[]), ["a", "b/c"]);
        assert_eq!(roots("make test", &[("Makefile", "test:\n\tcd api && pytest\n")]), ["api"]);
        assert_eq!(roots("pytest", &[("pytest.ini", "[pytest]\npythonpath = server lib\n")]), ["lib", "server"]);
        assert!(roots("pytest", &[]).is_empty());
        assert!(!roots("pytest shop", &[("shop/__init__.py", "")]).contains(&"shop".to_owned()));
    }
}
