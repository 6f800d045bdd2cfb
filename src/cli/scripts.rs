//! The files that a test command executes as scripts, or takes its rules from: what they say decides what is run.
//!
//! Pure over the command's words. What such a file calls in turn is not followed.

use crate::domain::word_list::lists;
use std::path::{Component, Path, PathBuf};

/// Programs that run the first file they are given.
const INTERPRETERS: &str = "sh bash dash zsh ksh python python3 node ruby perl php pwsh source .";
/// Programs that run the command behind them.
const WRAPPERS: &str =
    "env timeout time nice exec command sudo xvfb-run stdbuf ionice nohup busybox setsid catchsegv chronic";
/// Flags of interpreters behind which no file of the tree is run: a module, or a text.
const NO_FILE: [&str; 3] = ["-m", "-c", "--eval"];
/// Flags that take a value of their own.
const WITH_VALUE: [&str; 6] = ["-W", "-X", "-o", "-r", "--require", "--import"];

/// The files, from the folder that the command runs in.
pub(super) fn scripts_of(command: &str) -> Vec<String> {
    let mut folder = PathBuf::new();
    let mut found = Vec::new();
    for simple in command.split(['&', '|', ';', '\n', '(', ')', '{', '}']) {
        let words: Vec<&str> = simple.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        of_simple(&words, &mut folder, &mut found);
    }
    found
}

/// Adds the files of one command without operators; `cd` changes the folder of those after it.
fn of_simple(words: &[&str], folder: &mut PathBuf, found: &mut Vec<String>) {
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut words = words.iter().copied().skip_while(|word| is_setting(word));
    let Some(program) = words.next() else { return };
    let name = program.rsplit('/').next().unwrap_or(program);
    let rest: Vec<&str> = words.collect();
    if name == "cd" {
        folder.push(rest.first().copied().unwrap_or_default());
    } else if lists(WRAPPERS, name) {
        // Their own flags, settings and durations, then the command.
        let own = rest.iter().take_while(|word| word.starts_with(['-', '+']) || is_setting(word) || is_duration(word));
        let own = own.count();
        of_simple(rest.get(own..).unwrap_or_default(), folder, found);
    } else if matches!(name, "make" | "gmake" | "just") {
        rules(name, &rest, folder, found);
    } else if lists(INTERPRETERS, name) {
        found.extend(first_file(&rest).map(|file| below(folder, file)));
    } else {
        found.push(below(folder, program));
    }
}

/// What an interpreter runs.
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

/// Files of rules: those named by a flag, else those that the program looks for, in the folder that it goes to.
fn rules(name: &str, words: &[&str], folder: &Path, found: &mut Vec<String>) {
    let value = |flags: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            let flag = flags.iter().find(|flag| word.starts_with(**flag))?;
            let glued = word.strip_prefix(flag)?.trim_start_matches('=');
            if glued.is_empty() { words.get(at + 1).copied() } else { Some(glued) }
        })
    };
    let folder =
        value(&["-C", "--directory", "-d", "--working-directory"]).map_or(folder.to_owned(), |to| folder.join(to));
    let looked_for: &[&str] =
        if name == "just" { &["justfile", "Justfile", ".justfile"] } else { &["Makefile", "makefile", "GNUmakefile"] };
    let named = value(&["-f", "--file", "--makefile", "--justfile"]);
    found.extend(looked_for.iter().copied().chain(named).map(|file| below(&folder, file)));
}

/// A path without `.` and, as far as they undo a folder, `..`.
fn below(folder: &Path, file: &str) -> String {
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::CurDir => {}
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
    word.starts_with(|c: char| c.is_ascii_digit()) && word.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::scripts_of;

    #[test]
    fn the_scripts_of_a_test_command_are_its_programs_and_the_first_files_of_interpreters() {
        for (command, scripts) in [
            ("./ci/check.sh --all", &["ci/check.sh"][..]),
            ("bash 'tests/run.sh' x", &["tests/run.sh"]),
            ("python3 -m doctest shop/cart.py", &[]),
            ("sh -c 'true'", &[]),
            ("cargo test", &["cargo"]),
            ("MODE=ci sh ci.sh", &["ci.sh"]),
            ("sh -e ci.sh", &["ci.sh"]),
            ("cd . && sh ci.sh", &["ci.sh"]),
            ("cd app/../web && sh ./ci.sh", &["web/ci.sh"]),
            ("timeout 100 sh ci.sh", &["ci.sh"]),
            ("timeout -k 5 1.5m env A=1 ./run", &["run"]),
            ("true; ./ci.sh", &["true", "ci.sh"]),
            ("python3 -u -W error run.py", &["run.py"]),
            ("PYTHONPATH=. python3 run.py | tee log", &["run.py", "tee"]),
            (". ./env.sh && (./a || ./b)", &["env.sh", "a", "b"]),
        ] {
            assert_eq!(scripts_of(command), scripts, "{command}");
        }
    }

    #[test]
    fn files_of_rules_are_found_where_flags_and_folders_lead() {
        for (command, file) in [
            ("make test", "Makefile"),
            ("make -f ci.rules", "ci.rules"),
            ("make --file=ci.rules", "ci.rules"),
            ("make -C app", "app/Makefile"),
            ("cd app && make", "app/Makefile"),
            ("just test", "justfile"),
            ("just test", "Justfile"),
            ("just -d app --justfile app/ci.just test", "app/.justfile"),
        ] {
            assert!(scripts_of(command).contains(&file.to_owned()), "{command}: {:?}", scripts_of(command));
        }
    }
}
