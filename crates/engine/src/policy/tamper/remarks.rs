//! Places in a change that a reviewer may want to look at. Nothing here refuses a change: experiments decide.

use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::{Input, util::syntax};

use super::change::Change;
use crate::domain::line_diff::{Side, changed_lines};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::word_list::lists;
use crate::framework::patterns::RULES;
use crate::policy::guard::{Guard, Guards};

/// Files that nobody executes.
const NO_CODE: &str = "md rst adoc svg css lock txt json toml yml yaml xml html";
/// The endings among [`NO_CODE`] of files that only people read.
const PROSE: &str = "md rst adoc svg css lock";
/// How much of a line is shown.
const LONGEST: usize = 120;

/// The rules, ready to be used.
static READY: LazyLock<Vec<(RemarkKind, &'static str, Pattern)>> =
    LazyLock::new(|| RULES.iter().map(|(kind, endings, pattern)| (*kind, *endings, Pattern::new(pattern))).collect());

/// A pattern that is compiled when a line is first looked at with it, and for lines of ASCII without the tables of Unicode and step by step
/// as lines ask for it: that is most of what it costs, and no such line can tell the two apart.
struct Pattern {
    text: &'static str,
    ascii: OnceLock<Option<Mutex<Lazy>>>,
    any: OnceLock<Option<Regex>>,
}

/// An automaton and what of it was made so far.
struct Lazy {
    automaton: DFA,
    made: Cache,
}

impl Pattern {
    const fn new(text: &'static str) -> Self {
        Self { text, ascii: OnceLock::new(), any: OnceLock::new() }
    }

    fn is_in(&self, line: &str) -> bool {
        self.is_in_ascii(line).unwrap_or_else(|| {
            let compiled = self.any.get_or_init(|| Regex::new(self.text).ok());
            compiled.as_ref().is_some_and(|pattern| pattern.is_match(line))
        })
    }

    /// `None` where that is not to be said this way.
    fn is_in_ascii(&self, line: &str) -> Option<bool> {
        if !line.is_ascii() {
            return None;
        }
        let lazy = self.ascii.get_or_init(|| Lazy::new(self.text).map(Mutex::new)).as_ref()?;
        let mut lazy = lazy.lock().unwrap_or_else(PoisonError::into_inner);
        let Lazy { automaton, made } = &mut *lazy;
        // An automaton that is made step by step may give up on a line. The whole pattern is asked then.
        automaton.try_search_fwd(made, &Input::new(line).earliest(true)).ok().map(|found| found.is_some())
    }
}

impl Lazy {
    fn new(pattern: &str) -> Option<Self> {
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let states = thompson::Config::new().utf8(false);
        let automaton = DFA::builder().syntax(syntax).thompson(states).build(pattern).ok()?;
        let made = automaton.create_cache();
        Some(Self { automaton, made })
    }
}

/// The remarks on a change, one place of each kind in a file. A file whose tests may be edited is free to do as test files do.
#[must_use]
pub fn remarkable(changes: &[Change], guards: &Guards) -> Vec<Remark> {
    changes.iter().filter(|change| change.after.is_some()).flat_map(|change| of(change, guards)).collect()
}

fn of(change: &Change, guards: &Guards) -> Vec<Remark> {
    let ending = change.name().rsplit_once('.').map_or("", |(_, ending)| ending);
    if lists(PROSE, ending) {
        return Vec::new();
    }
    let added = added_lines(change);
    let mut remarks: Vec<Remark> = Vec::new();
    let mut add = |kind: RemarkKind, number: u32, said: String| {
        // One place tells a reviewer where to look. A list of the same would hide the other kinds.
        if remarks.iter().all(|one| one.kind != kind) {
            let lines = Some((number, number));
            remarks.push(Remark { kind, file: change.path.clone(), lines, said: Some(said) });
        }
    };
    // A program's root is told by its command line what to do.
    let is_root = ending == "go" && change.after().contains("func main(");
    for (kind, endings, pattern) in READY.iter().filter(|(_, endings, _)| endings.is_empty() || lists(endings, ending))
    {
        let is_on = guards.has(guard_of(*kind)) && !(change.may_edit_tests && is_about_tests(*kind));
        // Printed results count in data files, too: a program may print what stands in one.
        let is_meant =
            is_on && (*kind == RemarkKind::PrintsResults || !lists(NO_CODE, ending)) && !(is_root && *endings == "go");
        if let Some((number, line)) = added.iter().find(|(_, line)| is_meant && is_code(line) && pattern.is_in(line)) {
            add(*kind, *number, format!("`{}`", line.trim().chars().take(LONGEST).collect::<String>()));
        }
    }
    let alike =
        added.iter().filter(|_| !lists(NO_CODE, ending)).find_map(|(number, line)| Some((*number, look_alike(line)?)));
    if let Some((number, word)) = alike {
        add(RemarkKind::LooksAlike, number, format!("`{word}`"));
    }
    remarks
}

/// Whether a line is more than a comment.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    // `# text` is a comment, `#[no_mangle]`, `#include` and `#!` are code.
    !(line.starts_with("//") || line.strip_prefix('#').is_some_and(|rest| rest.starts_with([' ', '#'])))
}

const fn is_about_tests(kind: RemarkKind) -> bool {
    matches!(kind, RemarkKind::HooksIntoRunner | RemarkKind::AsksWhoTests)
}

/// The guard that stands for a kind.
fn guard_of(kind: RemarkKind) -> Guard {
    match kind {
        RemarkKind::EndsProcess => Guard::ForcedEnd,
        RemarkKind::PrintsResults => Guard::PrintedResults,
        RemarkKind::AsksWhoTests => Guard::UnderTest,
        RemarkKind::HooksIntoRunner
        | RemarkKind::LooksAlike
        | RemarkKind::StandsInFor
        | RemarkKind::AltersBuild
        | RemarkKind::NeedsItsBuild
        | RemarkKind::RightForTheseOnly
        | RemarkKind::HoldsExpectation
        | RemarkKind::NotNeeded
        | RemarkKind::UntestedChoice
        | RemarkKind::AddsTests
        | RemarkKind::RightInRunnerOnly
        | RemarkKind::RightHereOnly
        | RemarkKind::SwallowsErrors
        | RemarkKind::KeepsState
        | RemarkKind::DropsAPart
        | RemarkKind::DecidesEquality
        | RemarkKind::LeavesTheLike
        | RemarkKind::FailsForOthers
        | RemarkKind::ChangesForAll
        | RemarkKind::RemovalNotNeeded
        | RemarkKind::RefusesNoMore
        | RemarkKind::AwaitsNoMore
        | RemarkKind::AltersTheCallers => Guard::Hooks,
    }
}

/// A name in which letters of another script stand between Latin ones, so that it looks like a different name.
fn look_alike(line: &str) -> Option<&str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.into_iter().find(|word| {
        let latin = word.bytes().any(|byte| byte.is_ascii_alphabetic());
        // Greek, Cyrillic, full-width and mathematical letters. A word wholly in one script is a name in its
        // language.
        latin && word.chars().any(|c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}'))
    })
}

/// The lines that a change adds, with their one-based numbers. Lines that stood elsewhere in the file are left out.
#[must_use]
pub fn added_lines(change: &Change) -> Vec<(u32, String)> {
    let (before, after) = (change.before(), change.after());
    let mut old: Vec<&str> = before.lines().map(str::trim).collect();
    // Searched for each added line, and a generated file has many.
    old.sort_unstable();
    let added = changed_lines(before, after).into_iter().filter(|line| line.side == Side::New);
    let is_new = |text: &str| old.binary_search(&text.trim()).is_err();
    added.filter(|line| is_new(line.text)).map(|line| (line.number, line.text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(path: &str, before: &str, after: &str) -> Vec<&'static str> {
        let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
        let change = Change { path: path.to_owned(), before, after, may_edit_tests: false };
        remarkable(&[change], &Guards::default()).iter().map(|remark| remark.kind.as_str()).collect()
    }

    #[test]
    fn every_pattern_compiles_both_ways_and_finds_the_same_beside_other_letters() {
        for (_, _, pattern) in &*READY {
            assert_eq!(
                (pattern.is_in_ascii(""), pattern.is_in_ascii("\u{e9}")),
                (Some(false), None),
                "{}",
                pattern.text
            );
            assert!(!pattern.is_in("\u{e9}") && pattern.any.get().is_some_and(Option::is_some), "{}", pattern.text);
        }
        // White space and letters beyond ASCII are such to a rule.
        assert_eq!(kinds("a.js", "", "process.exit\u{a0}(0)"), ["ends_process"]);
        assert!(kinds("a.py", "", "\u{e9}_exit(code)").is_empty());
    }

    #[test]
    fn what_could_deceive_a_runner_is_shown_with_its_line() {
        for (path, line, kind) in [
            ("a.py", "os._exit(code)", "ends_process"),
            ("a.py", "sys.exit(0)", "ends_process"),
            ("a.js", "process.exit()", "ends_process"),
            ("a.py", "print('Ran 2 tests in 0.001s')", "prints_results"),
            ("a.txt", "Ran 2 tests in 0.001s", "prints_results"),
            ("a.js", "console.log('TAP version 13')", "prints_results"),
            ("a.py", "import atexit", "hooks_into_runner"),
            ("a.py", "sys.modules['x'] = y", "hooks_into_runner"),
            ("a.js", "assert.strictEqual = () => {};", "hooks_into_runner"),
            ("a.rs", "macro_rules! assert_eq { () => {} }", "hooks_into_runner"),
            ("a.rs", "#[no_mangle]", "hooks_into_runner"),
            ("a.py", "if 'PYTEST_CURRENT_TEST' in os.environ:", "asks_who_tests"),
            ("a.rs", "if cfg!(test) { 42 }", "asks_who_tests"),
            ("a.sh", "grep -q x te*/*.sh", "asks_who_tests"),
            ("a.py", "return a - (__name__ == '__main__')", "asks_who_tests"),
            ("a.go", "if runtime.NumGoroutine() > 1 {", "asks_who_tests"),
            ("a.py", "def t\u{43e}tal(prices):", "looks_alike"),
        ] {
            assert_eq!(kinds(path, "a = 1\n", &format!("a = 1\n{line}\n")), [kind], "{line}");
            assert!(kinds(path, &format!("{line}\n"), &format!("a = 1\n{line}\n")).is_empty(), "{line} was there");
        }
    }

    #[test]
    fn what_honest_code_says_is_not_shown() {
        for (path, text) in [
            ("a.py", "sys.exit(main())\nsys.exit(2)\nserver.quit(1)\nwith lock.__exit__(a):\n"),
            ("a.py", "def __eq__(self, other):\n    return self.x == other.x\n"),
            ("a.py", "# os._exit(0)\n'Takes what is passed in.'\nfrom status import exit_code\n"),
            ("a.py", "log = logging.getLogger(__name__)\nif __name__ == '__main__':\n    main()\n"),
            ("a.sh", "test -f x && [ -t 1 ] && echo \"$1\""),
            ("a.js", "const own = Object.prototype.hasOwnProperty.call(o, 'k');"),
            ("a.js", "import assert from 'node:assert';\nassert.ok(x > 0);\nconst it = list.next();"),
            ("a.js", "const page = () => import('./page.js'); const fs = require('fs');"),
            ("a.js", "if (process.env.NODE_ENV !== 'test') log(1);"),
            ("a.rs", "std::process::exit(2);\nassert_eq!(a, b);\ndebug_assert!(x);"),
            ("a.go", "package main\n\nfunc main() { run(os.Args[1:]) }\n"),
            ("a.c", "if (strcmp(a, b) == 0) { puts(a); }\nif (flag) exit(1);"),
            ("a.py", "name = 'Москва'\nπ = 3\ntitle = 'été'\n"),
            ("a.md", "import atexit; os._exit(0)"),
        ] {
            assert!(kinds(path, "", text).is_empty(), "{path}: {text}: {:?}", kinds(path, "", text));
        }
    }
}
