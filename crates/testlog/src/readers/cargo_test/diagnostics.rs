//! Messages of cargo and rustc outside of tests: `error[E0308]: …` with its frame, `error: could not compile …`, and `error: test failed`
//! with the cause of a death.

use super::panics::rustc_arrow;
use crate::findings::{Block, Problems};
use crate::needle::Seek as _;
use crate::report::RunKind;

/// Beginnings of errors that can only be cargo's or rustc's, beside those with a code or a frame.
const CARGO_ERRORS: &[&str] = &[
    "error: could not compile",
    "error: could not find `Cargo.toml`",
    "error: failed to parse manifest",
    "error: failed to load manifest",
    "error: failed to run custom build command",
    "error: failed to select a version",
    "error: failed to get ",
    "error: failed to download",
    "error: failed to load source",
    "error: failed to parse lock file",
    "error: failed to get `",
    "error: no matching package",
    "error: no such command",
    "error: no test target",
    "error: no example target",
    "error: no bin target",
    "error: no library targets",
    "error: package ID specification",
    "error: package `",
    "error: the package `",
    "error: unexpected argument",
    "error: toolchain '",
    "error: linking with `",
    "error: aborting due to",
    "error: the lock file",
    "error: cannot update the lock file",
    "error: manifest path",
    "error: test failed",
    "error: doctest failed",
    "error: no test targets",
];

/// The meaning of the problems for the run.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    /// Binaries that died.
    pub(super) crashed: u64,
    /// A binary that is not libtest's ended with a failure.
    pub(super) own_harness: bool,
    /// Whether an error that only cargo prints was seen.
    pub(super) recognised: bool,
}

/// Collects errors, one block each.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    block: Block,
    open: bool,
    /// A blank line was seen: the block goes on only with an indented line or `Caused by:`.
    blank: bool,
    death: Option<Death>,
    closed: Vec<(RunKind, String)>,
    deaths: Deaths,
}

#[derive(Debug)]
struct Death {
    words: String,
    own_harness: bool,
}

/// More errors than this are not kept: the first ones are the cause.
const MOST: usize = 60;

impl Diagnostics {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Starts a block at an error line. Returns whether it was one.
    pub(super) fn open(&mut self, line: &str) -> bool {
        if !(line.starts_with("error: ") || line.starts_with("error[")) {
            return false;
        }
        self.close();
        self.open = true;
        self.block.push(line);
        true
    }

    /// Starts the block of a test binary that failed. `words` are its last output.
    pub(super) fn open_death(&mut self, line: &str, words: &str, own_harness: bool) {
        self.close();
        self.open = true;
        self.block.push(line);
        self.death = Some(Death { words: words.to_owned(), own_harness });
    }

    /// Takes the next line of the open block, or closes it and says no.
    pub(super) fn wants(&mut self, line: &str) -> bool {
        if line.is_empty() {
            self.blank = true;
            return true;
        }
        // Behind an empty line only a cause or an indented part of the message goes on.
        let goes_on = if self.blank {
            line.starts_with("Caused by:") || (self.death.is_none() && line.starts_with("  ") && !is_status(line))
        } else {
            !starts_anew(line)
        };
        if !goes_on {
            self.close();
            return false;
        }
        if std::mem::take(&mut self.blank) {
            self.block.push("");
        }
        self.block.push(line);
        true
    }

    fn close(&mut self) {
        self.open = false;
        self.blank = false;
        let text = self.block.take();
        if text.is_empty() {
            return;
        }
        if let Some(death) = self.death.take() {
            self.close_death(&text, &death);
            return;
        }
        let known = text.starts_with("error[E")
            || text.holds("\n --> ")
            || text.holds("  --> ")
            || CARGO_ERRORS.iter().any(|start| text.starts_with(start))
            || text.holds("cargo")
            || text.starts_with("error: ") && text.holds(" targets failed:");
        // Programs under test print lines that begin with `error: ` too.
        if !known {
            return;
        }
        self.deaths.recognised = true;
        let kind = kind_of(&text);
        if self.closed.len() < MOST {
            self.closed.push((kind, text));
        }
    }

    fn close_death(&mut self, text: &str, death: &Death) {
        self.deaths.recognised = true;
        let by_signal = text.holds("(signal: ");
        // A harness of one's own may end with any code when tests fail.
        if death.own_harness && !by_signal {
            self.deaths.own_harness = true;
        } else {
            self.deaths.crashed += 1;
        }
        let kind = if death.own_harness && !by_signal { RunKind::Tests } else { RunKind::Crash };
        let words = death.words.trim_matches('\n');
        let message = if words.trim().is_empty() { text.to_owned() } else { format!("{words}\n{text}") };
        if self.closed.len() < MOST {
            self.closed.push((kind, message));
        }
    }

    /// Ends the log and hands the problems over.
    pub(super) fn finish(&mut self, problems: &mut Problems) -> Deaths {
        self.close();
        for (kind, text) in self.closed.drain(..) {
            let place = if kind == RunKind::Crash {
                super::panics::place_of(&text, "").filter(|_| text.holds("panicked at"))
            } else {
                rustc_arrow(&text)
            };
            problems.push(kind, &text, place);
        }
        std::mem::take(&mut self.deaths)
    }
}

/// Whether a line begins something else.
fn starts_anew(line: &str) -> bool {
    [
        "error: ",
        "error[",
        "warning: ",
        "warning[",
        "running ",
        "test ",
        "For more information about",
        "Some errors have",
    ]
    .iter()
    .any(|start| line.starts_with(start))
        || is_status(line)
}

/// One of cargo's own progress lines, right-aligned to twelve columns.
fn is_status(line: &str) -> bool {
    const VERBS: [&str; 6] = ["Compiling", "Finished", "Running", "Doc-tests", "Checking", "Downloaded"];
    let text = line.trim_start();
    VERBS.iter().any(|verb| text.starts_with(verb)) && line.len() > text.len()
}

fn kind_of(text: &str) -> RunKind {
    const NETWORK: [&str; 6] = [
        "failed to download",
        "spurious network error",
        "Could not resolve host",
        "network failure",
        "failed to fetch",
        "No space left on device",
    ];
    const COMMAND: [&str; 9] = [
        "error: could not find `Cargo.toml`",
        "error: no test target",
        "error: no such command",
        "error: unexpected argument",
        "error: package ID specification",
        "error: no bin target",
        "error: no example target",
        "error: manifest path",
        "error: no library targets",
    ];
    let first = text.lines().next().unwrap_or_default();
    if NETWORK.iter().any(|mark| text.contains(mark)) && !first.starts_with("error[") {
        return RunKind::Infrastructure;
    }
    if first.starts_with("error: toolchain '") {
        return RunKind::MissingTool;
    }
    if COMMAND.iter().any(|start| first.starts_with(start)) {
        return RunKind::BadCommand;
    }
    if first.holds(" targets failed:") {
        // It only counts what is told one by one.
        return RunKind::Tests;
    }
    RunKind::CompileError
}
