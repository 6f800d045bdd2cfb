//! The words of a shell command, read for the files that it runs (pure).

use std::path::{Component, Path, PathBuf};

use crate::domain::word_list::lists;
use crate::framework::programs::PYTHON_RUNNERS;

/// Programs that run the first file they are given.
const INTERPRETERS: &str = "sh bash dash zsh ksh python python3 node ruby perl php pwsh source .";

/// Interpreters among them that run a text as a command.
const SHELLS: &str = "sh bash dash zsh ksh";

/// Interpreters among them that read the file into themselves.
const SOURCING: &str = "source .";

/// Programs that run the command behind them.
const WRAPPERS: &str = "env timeout time nice exec command sudo xvfb-run stdbuf ionice nohup busybox setsid catchsegv chronic cross-env npx";

/// Programs that run the command behind the word `run`.
const RUNNING_WRAPPERS: &str = "uv poetry pipenv pdm rye hatch";

/// Programs that run a script of a `package.json`.
const PACKAGE_MANAGERS: &str = "npm yarn pnpm bun";

/// Flags of interpreters behind which no file of the tree is run: a module, or a text.
const NO_FILE: [&str; 3] = ["-m", "-c", "--eval"];

/// Flags that take a value of their own.
const WITH_VALUE: [&str; 6] = ["-W", "-X", "-o", "-r", "--require", "--import"];

/// Flags whose value is a file that is loaded before the tests.
const PRELOADS: [&str; 7] =
    ["--env-file", "--env-file-if-exists", "-r", "--require", "--import", "--loader", "--experimental-loader"];

/// A file, module or script that a command calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Called {
    /// A file that is executed.
    Script(String),
    /// A file that is read into what calls it, or before it.
    Sourced(String),
    /// A module of Python, as a path without its ending.
    Module(String),
    /// Files of rules, where they are looked for, and the rules that are asked for.
    Rules { folder: PathBuf, files: Vec<String>, goals: Vec<String> },
    /// A script of the `package.json` in a folder.
    Package { folder: PathBuf, script: String },
}

/// The state of reading one command after the other.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where commands run now.
    pub(super) folder: PathBuf,
    pub(super) called: Vec<Called>,
    /// Folders in which something runs, or where modules of Python are looked for.
    pub(super) folders: Vec<PathBuf>,
    /// Folders that a command is given, which hold what it runs.
    pub(super) given: Vec<PathBuf>,
}

/// Reads a command, or several, that run in a folder.
pub(super) fn read(command: &str, folder: &Path) -> Reading {
    let mut reading = Reading { folder: folder.to_owned(), ..Reading::default() };
    // Not a shell's grammar, but enough: a command in quotes or in `$(…)` is read as one of its own.
    for simple in command.split(['&', '|', ';', '\n', '(', ')', '{', '}', '`']) {
        let words: Vec<&str> = simple.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        reading.simple(&words);
    }
    reading
}

impl Reading {
    /// Takes one command without operators. `cd` changes the folder of the commands after it.
    fn simple(&mut self, words: &[&str]) {
        // `CI=1 pytest`: a setting stands before the program. A flag such as `--x=1` is none, since `--x` is no name.
        let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
        let own = words.iter().take_while(|word| is_setting(word)).count();
        let (settings, words) = words.split_at(own);
        self.paths(settings);
        let Some((&program, rest)) = words.split_first() else { return };
        let name = program.rsplit('/').next().unwrap_or(program);
        if name == "cd" {
            self.folder.push(rest.first().copied().unwrap_or_default());
            // `cd ../other` must not leave the folder as `tests/../other`, or files would have two names.
            self.folder = below(&self.folder, "").into();
            self.folders.push(self.folder.clone());
        } else if name == "export" {
            self.paths(rest);
        } else if lists(WRAPPERS, name) {
            // Their own flags, settings and durations, then the command.
            let is_own = |word: &&&str| word.starts_with(['-', '+']) || is_setting(word) || is_duration(word);
            let own = rest.iter().take_while(is_own).count();
            let (own, rest) = rest.split_at(own);
            self.paths(own);
            self.simple(rest);
        } else if lists(RUNNING_WRAPPERS, name) && rest.first() == Some(&"run") {
            // `uv run --frozen pytest`: flags of the wrapper stand before the program.
            let own = rest.iter().skip(1).take_while(|word| word.starts_with('-')).count();
            self.simple(rest.get(own + 1..).unwrap_or_default());
        } else if matches!(name, "make" | "gmake" | "just") {
            self.rules(name, rest);
        } else if lists(PACKAGE_MANAGERS, name) {
            self.package(rest);
        } else if let Some(text) = text_of_shell(name, rest) {
            self.simple(text);
        } else {
            self.program(program, name, rest);
        }
    }

    /// Takes a program that is called, with what it loads and where it looks.
    fn program(&mut self, program: &str, name: &str, rest: &[&str]) {
        for file in values(rest, &PRELOADS) {
            self.called.push(Called::Sourced(below(&self.folder, file)));
        }
        if name.starts_with("python") || lists(PYTHON_RUNNERS, name) {
            let before = std::iter::once(&"").chain(rest);
            // Behind `-m` stands the name of a module, and no path.
            let folders = rest.iter().zip(before).filter(|(word, before)| !word.starts_with('-') && **before != "-m");
            self.given.extend(folders.map(|(word, _)| PathBuf::from(below(&self.folder, word))));
        }
        // Versions such as `python3.12` stand in no list.
        if lists(INTERPRETERS, name) || name.starts_with("python3.") {
            if let Some(file) = first_file(rest) {
                let file = below(&self.folder, file);
                self.called.push(if lists(SOURCING, name) { Called::Sourced(file) } else { Called::Script(file) });
            }
            if let Some(module) = values(rest, &["-m"]).next().filter(|_| name.starts_with("python")) {
                self.called.push(Called::Module(below(&self.folder, &module.replace('.', "/"))));
            }
        } else {
            self.called.push(Called::Script(below(&self.folder, program)));
        }
    }

    /// Takes what settings before a command say of where modules are looked for.
    fn paths(&mut self, settings: &[&str]) {
        for value in settings.iter().filter_map(|word| word.strip_prefix("PYTHONPATH=")) {
            // A part with a variable has a value that nobody knows here.
            let parts = value.trim_matches(['"', '\'']).split(':').filter(|part| !part.contains('$'));
            self.folders.extend(parts.map(|part| PathBuf::from(below(&self.folder, part))));
        }
    }

    /// Files of rules: those named by a flag, else those that the program looks for, in the folder that it goes to.
    fn rules(&mut self, name: &str, words: &[&str]) {
        const FOLDERS: [&str; 4] = ["-C", "--directory", "-d", "--working-directory"];
        const FILES: [&str; 4] = ["-f", "--file", "--makefile", "--justfile"];
        let folder = values(words, &FOLDERS).next().map_or(self.folder.clone(), |to| self.folder.join(to));
        let looked_for: &[&str] = if name == "just" {
            &["justfile", "Justfile", ".justfile"]
        } else {
            &["Makefile", "makefile", "GNUmakefile"]
        };
        let named = values(words, &FILES).next();
        // The usual names count beside a named file: it may include them, and protecting more does no harm.
        let files = looked_for.iter().copied().chain(named).map(|file| below(&folder, file)).collect();
        let is_value = |at: usize| {
            at.checked_sub(1)
                .and_then(|before| words.get(before))
                .is_some_and(|word| FOLDERS.contains(word) || FILES.contains(word))
        };
        let goals = words
            .iter()
            .enumerate()
            // `make CI=1 test` sets a variable. Its goal is `test`.
            .filter(|(at, word)| !word.starts_with('-') && !word.contains('=') && !is_value(*at));
        let goals = goals.map(|(_, word)| (*word).to_owned()).collect();
        let folder = PathBuf::from(below(&folder, ""));
        self.folders.push(folder.clone());
        self.called.push(Called::Rules { folder, files, goals });
    }

    /// A script of the package's: `npm test`, `npm run check`, `yarn check`.
    fn package(&mut self, words: &[&str]) {
        let to = values(words, &["--prefix", "--cwd", "-C", "--dir"]).next();
        let folder = PathBuf::from(below(&self.folder, to.unwrap_or_default()));
        // The value of `--prefix` would otherwise be taken for the script.
        let mut words = words.iter().filter(|word| !word.starts_with('-') && Some(**word) != to);
        let script = words.next().and_then(|word| match *word {
            "run" | "run-script" => words.next().copied(),
            // npm's short forms of `test`.
            "t" | "tst" => Some("test"),
            other => Some(other),
        });
        if let Some(script) = script {
            self.called.push(Called::Package { folder, script: script.to_owned() });
        }
    }
}

/// The first command in the text that a shell is given: `bash -ec 'make lint'`. The commands after it stand for themselves.
fn text_of_shell<'w>(name: &str, words: &'w [&'w str]) -> Option<&'w [&'w str]> {
    if !lists(SHELLS, name) {
        return None;
    }
    let mut rest = words;
    // Behind the first word that is no flag everything is the script's own.
    while let Some((flag, more)) = rest.split_first().filter(|(word, _)| word.starts_with(['-', '+'])) {
        let is_short = !flag.starts_with("--");
        // Short flags may be joined: `-ec` is `-e -c`.
        if is_short && flag.ends_with('c') {
            return Some(more);
        }
        // `-o pipefail` takes a word, and `-eo pipefail` does, too.
        let takes_value = is_short && flag.ends_with('o');
        rest = more.get(usize::from(takes_value)..).unwrap_or_default();
    }
    None
}

/// The file that an interpreter runs.
fn first_file<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if NO_FILE.contains(&word) {
            return None;
        }
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with(['-', '+']) {
            return Some(word);
        }
    }
    None
}

/// The values of flags, glued to them or behind them.
fn values<'w>(words: &'w [&'w str], flags: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    words.iter().enumerate().filter_map(move |(at, word)| {
        let glued = flags.iter().filter_map(|flag| {
            let rest = word.strip_prefix(flag)?;
            // `-fMakefile` is glued without a sign, and `--file=x` with one.
            let is_short = flag.len() == 2;
            (rest.is_empty() || rest.starts_with('=') || is_short).then(|| rest.trim_start_matches('='))
        });
        // A flag that fits exactly has its value in the next word, also where a shorter one fits its beginning.
        let glued = glued.max_by_key(|rest| rest.is_empty())?;
        if glued.is_empty() { words.get(at + 1).copied() } else { Some(glued) }
    })
}

/// A path without `.` and, as far as they undo a folder, `..`.
pub(super) fn below(folder: &Path, file: &str) -> String {
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::CurDir => {}
            // `..` at the very top is kept, so that a path out of the checkout stays one.
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_duration(word: &str) -> bool {
    // `10`, `1.5h` and `30s` are times. `inf`, which parses as a number, is not.
    word.starts_with(|c: char| c.is_ascii_digit()) && word.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}
