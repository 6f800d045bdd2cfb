//! The whole test command in other surroundings, for tests that cannot be called one by one.
//!
//! The surroundings that change are those on which an honest program depends only knowingly: language, time zone, date, the variables of
//! production, a terminal, the folder for temporary files, the rules of make that call the tests, the folder and the name of the tests'
//! script.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::TestCommand;
use super::direct::{OTHER, UNSET};
use super::filter;
use crate::framework::calls;
use crate::process::SecretDir;

/// A script of tests that is moved, from the top of the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Where it is.
    pub from: String,
    /// Its folder, which is moved with all in it.
    pub folder: String,
    /// The folder's new name.
    pub to: String,
}

/// Which surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The surroundings of the start, but without make: the commands of its rules are called directly.
    Called,
    /// The same with another language, time zone, date, variables, and a terminal.
    Other,
    /// The same with the tests in another folder, and without a place for temporary files.
    Moved(Moved),
}

/// A command in other surroundings, with the folder that it needs for as long as it runs.
#[derive(Debug)]
pub struct Elsewhere {
    /// The command.
    pub command: TestCommand,
    /// The folder, if it needs one.
    pub folder: Option<SecretDir>,
}

impl From<TestCommand> for Elsewhere {
    fn from(command: TestCommand) -> Self {
        Self { command, folder: None }
    }
}

/// A clock that goes some years ahead, for programs that ask the shell's. Other questions are left to the machine's.
const DATE: &str = "#!/bin/sh\nown=/bin/date\n[ -x \"$own\" ] || own=/usr/bin/date\nfor one do case $one in -d* | --date* | -r* | -s* | --set* | --reference*) exec \"$own\" \"$@\" ;; esac; done\nexec \"$own\" -d '20 years' \"$@\"\n";

/// The command in the place. `None` where that cannot be had.
#[must_use]
pub fn elsewhere(command: &TestCommand, place: &Place) -> Option<Elsewhere> {
    let folder = SecretDir::make(&command.env).ok()?;
    let path = folder.path().to_str()?.to_owned();
    let mut moved = command.clone();
    // Without make in any place, since a rule could ask for it by its variables.
    let mut line = without_make(&command.command).unwrap_or_else(|| command.command.clone());
    if let Place::Moved(script) = place {
        line = with_moved(&command.command, &line, script)?;
        // Nowhere to write, so that a program which keeps a note there from run to run finds none.
        moved.env.insert("TMPDIR".into(), "/nonexistent".into());
    }
    if *place == Place::Other {
        moved.env.retain(|name, _| !UNSET.iter().any(|unset| name == OsStr::new(unset)));
        moved.env.extend(OTHER.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        clock(&folder, &mut moved)?;
        // In a file, since the line would have to be quoted twice on its way through `script`.
        folder.put("line", &line).ok()?;
        line = format!(
            "if command -v script >/dev/null 2>&1; then script -qec 'sh {path}/line' /dev/null </dev/null; else sh {path}/line; fi"
        );
    }
    moved.command = line;
    Some(Elsewhere { command: moved, folder: Some(folder) })
}

/// The most variables that are set because a change names them.
const MOST_NAMES: usize = 24;
/// Beginnings of variables that interpreters, compilers and the system read: a product that asks for them is not tried with others.
const READ_BY_TOOLS: [&str; 9] = ["PYTHON", "NODE", "NPM_", "LD_", "RUST", "CARGO", "GO", "LC_", "UPSHIFT"];

/// The variables that lines of a program may ask for and that are not set: words in capitals, whatever they are, and others where they
/// are written as a shell's variable or as a text of several words.
#[must_use]
pub fn named<'l>(env: &BTreeMap<OsString, OsString>, lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let words = lines.flat_map(words);
    let is_name = |(before, word): &(&str, &str)| {
        let in_capitals = word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        let is_asked = before.ends_with('$')
            || before.ends_with("${")
            || (before.ends_with(['"', '\'', '`']) && word.contains('_'));
        // A proxy's address would have tools look for it.
        (in_capitals || is_asked) && (3..64).contains(&word.len()) && !word.ends_with("_proxy")
    };
    let words = words.filter(is_name).map(|(_, word)| word);
    // A tool that is told something would change the run for reasons of its own.
    let is_of_tool = |word: &str| READ_BY_TOOLS.iter().any(|start| word.to_ascii_uppercase().starts_with(start));
    let is_free = |word: &&str| !is_of_tool(word) && !env.contains_key(OsStr::new(word));
    // Sorted, so that the same change is tried with the same variables.
    let found: BTreeSet<&str> = words.filter(is_free).collect();
    found.into_iter().take(MOST_NAMES).map(str::to_owned).collect()
}

/// The words of a line, each with what stands before it.
fn words(line: &str) -> Vec<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    let mut found = Vec::new();
    for piece in line.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        found.extend(line.get(..at).map(|before| (before, word)).filter(|_| !word.is_empty()));
        at += piece.len();
    }
    found
}

/// Sets variables to a value that is true in every language.
pub fn set(env: &mut BTreeMap<OsString, OsString>, names: &[String]) {
    env.extend(names.iter().map(|name| (OsString::from(name), OsString::from("1"))));
}

/// The command with each test run twice in one process, where its framework can be told so.
#[must_use]
pub fn twice(command: &TestCommand) -> Option<TestCommand> {
    let (framework, is_last) = calls::called(&command.command)?;
    // Put behind the command, which has to be the runner's own.
    let option = framework.runs_twice.filter(|_| is_last && filter::is_plain(&command.command))?;
    Some(TestCommand { command: format!("{} {option}", command.command), ..command.clone() })
}

/// The same with other variables, and where the framework can be told so as programs of another name in another folder: tests are still
/// told by name.
#[must_use]
pub fn in_production(command: &TestCommand) -> Elsewhere {
    let mut other = command.clone();
    other.env.retain(|name, _| !UNSET.iter().any(|unset| name == OsStr::new(unset)));
    other.env.extend(OTHER.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let starts = calls::called(&command.command).and_then(|(framework, _)| framework.starts_through);
    let folder = starts.and_then(|(variable, options)| {
        let folder = SecretDir::make(&command.env).ok()?;
        folder.put_program("started", STARTED).ok()?;
        let program = folder.path().join("started").to_str()?.to_owned();
        // Options that are there already stay in front.
        let before = other.env.get(OsStr::new(variable)).and_then(|value| value.to_str()).unwrap_or_default();
        let options = format!("{before} {}", options.replace("{program}", &program));
        other.env.insert(variable.into(), options.trim_start().into());
        Some(folder)
    });
    Elsewhere { command: other, folder }
}

/// Starts a program of tests under another name, from its own folder.
const STARTED: &str =
    "#!/bin/sh\nown=$1\nshift\ncd \"$(dirname \"$0\")\" && cp \"$own\" called && exec ./called \"$@\"\n";

/// The commands of make's rules, without make.
fn without_make(command: &str) -> Option<String> {
    let rest = command.trim().strip_prefix("make")?;
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-=./".contains(&byte));
    (rest.is_empty() || rest.starts_with(' ') && rest.split_whitespace().all(plain))
        // `-n` prints the commands without running them, and the shell runs them in make's place.
        .then(|| format!("sh -ec \"$(make --no-print-directory -n{rest})\""))
}

/// The line with the script in its new place. `None` where the command does not name it.
fn with_moved(command: &str, line: &str, script: &Moved) -> Option<String> {
    // They become part of a shell line and of sed's.
    let plain = |path: &str| path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
    if ![&script.from, &script.folder, &script.to].into_iter().all(|path| plain(path)) || script.folder.is_empty() {
        return None;
    }
    let (from, to) = (format!("{}/", script.folder), format!("{}/", script.to));
    let name = script.from.rsplit('/').next()?;
    let new_name = format!(
        "{}{}",
        script.to,
        name.rsplit_once('.').map_or("", |(stem, _)| name.get(stem.len()..).unwrap_or_default())
    );
    let here = format!("mv {} {} && mv {to}{name} {to}{new_name} && ", script.folder, script.to);
    let (old, new) = (format!("{from}{name}"), format!("{to}{new_name}"));
    // The script's name stands in what make prints, not in the command.
    if without_make(command).is_some() {
        let renamed = format!(" | sed -e 's#{old}#{new}#g')\"");
        return line.strip_suffix(")\"").map(|line| format!("{here}{line}{renamed}"));
    }
    command.contains(&old).then(|| format!("{here}{}", line.replace(&old, &new)))
}

/// Puts another clock before the machine's.
fn clock(folder: &SecretDir, command: &mut TestCommand) -> Option<()> {
    folder.put_program("date", DATE).ok()?;
    let path = command.env.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    // In front, so that a program which asks for `date` gets ours.
    let paths = std::iter::once(PathBuf::from(folder.path())).chain(std::env::split_paths(&path));
    command.env.insert("PATH".into(), std::env::join_paths(paths).ok()?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_followed_without_make() {
        assert_eq!(without_make("make test").as_deref(), Some("sh -ec \"$(make --no-print-directory -n test)\""));
        assert_eq!(
            without_make("make -s test X=1").as_deref(),
            Some("sh -ec \"$(make --no-print-directory -n -s test X=1)\"")
        );
        for other in ["cmake --build x", "make test && make more", "make test | tee log", "sh run.sh"] {
            assert_eq!(without_make(other), None, "{other}");
        }
    }

    #[test]
    fn variables_that_a_change_names_are_set_where_nobody_set_them() {
        let mut env = BTreeMap::from([(OsString::from("HOME"), OsString::from("/x"))]);
        let lines = ["  os.environ.get('DATABASE_URL') or HOME", "if [ -n \"$PROD\" ] && PYTHONPATH Aa BB x1"];
        let names = named(&env, lines.into_iter());
        assert_eq!(names, ["DATABASE_URL", "PROD"]);
        let small = ["get('shop_home', 'home', shop_away)", "${site:+1} $place http $npm_config_x \"no_proxy\""];
        assert_eq!(named(&env, small.into_iter()), ["place", "shop_home", "site"]);
        set(&mut env, &names);
        assert_eq!(env.get(OsStr::new("PROD")).and_then(|value| value.to_str()), Some("1"));
    }

    #[test]
    fn a_script_is_called_where_it_was_moved() {
        let script = Moved { from: "tests/run.sh".to_owned(), folder: "tests".to_owned(), to: "qab".to_owned() };
        let moved = |command: &str| {
            let line = without_make(command).unwrap_or_else(|| command.to_owned());
            with_moved(command, &line, &script)
        };
        assert_eq!(
            moved("sh tests/run.sh").as_deref(),
            Some("mv tests qab && mv qab/run.sh qab/qab.sh && sh qab/qab.sh")
        );
        assert_eq!(
            moved("make test").as_deref(),
            Some(
                "mv tests qab && mv qab/run.sh qab/qab.sh && sh -ec \"$(make --no-print-directory -n test | sed -e 's#tests/run.sh#qab/qab.sh#g')\""
            )
        );
        assert_eq!(moved("sh ci.sh"), None);
    }
}
