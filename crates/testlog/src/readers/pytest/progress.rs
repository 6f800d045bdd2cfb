//! pytest's progress: rows of marks, or one line per test.

use crate::findings::{Cases, Counts};
use crate::needle::Needle;
use crate::needle::Seek as _;
use crate::place;
use crate::report::TestStatus;

/// Results counted from marks (`..F.s`), for runs that print no numbers.
#[derive(Debug, Default)]
pub(super) struct Marks {
    passed: u64,
    failed: u64,
    skipped: u64,
    errors: u64,
    /// Whether the row with `[100%]` was seen.
    hundred: bool,
    earlier_failed: bool,
    /// The file whose row is printed.
    file: String,
    files: Files,
}

/// The files of tests that went wrong, in the order of their marks.
#[derive(Debug, Default)]
pub(super) struct Files {
    failed: Vec<String>,
    errors: Vec<String>,
}

impl Files {
    /// Those of the failures, or of the errors. None where a mark has no file, as with several workers, or there are too many.
    pub(super) fn of(&self, error: bool) -> &[String] {
        let files = if error { &self.errors } else { &self.failed };
        let is_whole = files.len() < MOST_FILES && files.iter().all(|file| !file.is_empty());
        if is_whole { files } else { &[] }
    }
}

/// Files of failures that are kept at most.
const MOST_FILES: usize = 1_000;

impl Marks {
    fn add(&mut self, file: Option<&str>, marks: &str) {
        if let Some(file) = file.filter(|file| place::is_path(file)) {
            file.clone_into(&mut self.file);
        }
        for mark in marks.chars() {
            match mark {
                '.' | 'X' => self.passed += 1,
                'F' => {
                    self.failed += 1;
                    note(&mut self.files.failed, &self.file);
                }
                's' | 'x' => self.skipped += 1,
                'E' => {
                    self.errors += 1;
                    note(&mut self.files.errors, &self.file);
                }
                _ => {}
            }
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.passed + self.failed + self.skipped + self.errors == 0
    }

    pub(super) const fn complete(&self) -> bool {
        self.hundred && !self.is_empty()
    }

    pub(super) const fn failed(&self) -> bool {
        self.failed + self.errors > 0 || self.earlier_failed
    }

    /// The files of the marks.
    pub(super) const fn files(&self) -> &Files {
        &self.files
    }

    /// Remembers that an earlier session had failures that nothing names.
    pub(super) const fn keep_failed(&mut self) {
        self.earlier_failed = true;
    }

    pub(super) const fn counts(&self) -> Counts {
        Counts {
            total: Some(self.passed + self.failed + self.skipped + self.errors),
            passed: Some(self.passed),
            failed: Some(self.failed),
            skipped: Some(self.skipped),
            errors: Some(self.errors),
        }
    }
}

fn note(files: &mut Vec<String>, file: &str) {
    if files.len() < MOST_FILES {
        files.push(file.to_owned());
    }
}

/// `collected 16 items / 14 deselected / 2 selected`, `collected 1 item / 4 errors`, xdist's `2 workers [28 items]`.
pub(super) fn collected(line: &str) -> Option<u64> {
    if let Some((_, selected)) = line.cut_last(" / ")
        && let Some(number) = selected.strip_suffix(" selected")
    {
        return number.parse().ok();
    }
    if let Some((_, rest)) = line.cut_last("collected ") {
        let items = place::leading_number::<u64>(rest)?;
        let deselected = line.split(" / ").find_map(|part| part.strip_suffix(" deselected")?.parse::<u64>().ok());
        return Some(items.saturating_sub(deselected.unwrap_or(0)));
    }
    let (before, bracket) = line.cut(" [")?;
    (before.holds("worker") || before.holds("gw0")).then(|| place::leading_number(bracket))?
}

/// The colons between the file and the test.
static COLONS: Needle = Needle::new("::");

/// The marks of tests in a row.
const ROW: &[u8] = b".FEsxXRu,-y";

/// Reads progress.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The test whose line is begun. With live logs the result comes on a line of its own.
    pending: Option<String>,
}

const STATUSES: [(&str, TestStatus); 6] = [
    ("PASSED", TestStatus::Passed),
    ("FAILED", TestStatus::Failed),
    ("SKIPPED", TestStatus::Skipped),
    ("XFAIL", TestStatus::Skipped),
    ("XPASS", TestStatus::Passed),
    ("ERROR", TestStatus::Error),
];

impl Progress {
    /// Takes `tests/a.py::test_b PASSED          [ 16%]` and nothing that needs a second look. Returns whether it was that.
    pub(super) fn passed(&mut self, line: &str, cases: &mut Cases, marks: &mut Marks) -> bool {
        let name = || {
            let (text, percent) = line.split_at_checked(line.len().checked_sub("[ 16%]".len())?)?;
            // The line with `[100%]` is left to the slow way.
            let [b'[', b' ', tens @ (b' ' | b'0'..=b'9'), b'0'..=b'9', b'%', b']'] = percent.as_bytes() else {
                return None;
            };
            let name = text.trim_ascii_end().strip_suffix(" PASSED")?;
            let plain = !matches!(name.as_bytes().first()?, b'[' | b'=' | b'!' | b'I' | b'E' | b'F' | b'+' | b'{');
            (*tens != b'0' && plain && memchr::memchr(b' ', name.as_bytes()).is_none() && is_node_id(name))
                .then_some(name)
        };
        let Some(name) = name() else { return false };
        self.pending = None;
        count(marks, TestStatus::Passed);
        cases.set_worst(name, TestStatus::Passed);
        true
    }

    /// Whether a line may be one of progress: told by its end, or by the mark of a worker at its beginning.
    fn is_likely(line: &str) -> bool {
        let bytes = line.as_bytes();
        // The last byte rules out nearly all other lines.
        match bytes.last() {
            Some(b']' | b')' | b' ' | b'\t' | b'D' | b'L' | b'S' | b'R' | 0x80..) => true,
            Some(byte) if ROW.contains(byte) => {
                let last = memchr::memrchr(b' ', bytes).and_then(|at| line.get(at + 1..));
                last.is_some_and(is_row)
            }
            _ => bytes.starts_with(b"[gw"),
        }
    }

    /// Takes a line of progress. Returns whether it was one.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases, marks: &mut Marks) -> bool {
        if !Self::is_likely(line) {
            return false;
        }
        let (text, percent) = split_percent(line);
        if let Some(rest) = text.strip_prefix("[gw") {
            return self.worker_line(rest, cases);
        }
        if let Some((name, status)) = split_status(text) {
            let pending = self.pending.take();
            let Some(name) = (if name.is_empty() { pending.as_deref() } else { Some(name) }) else { return false };
            if !is_node_id(name) {
                return false;
            }
            count(marks, status);
            cases.set_worst(name, status);
            return true;
        }
        if let Some(percent) = percent {
            marks.hundred |= percent == 100;
            let row = text.trim_end();
            // The file stands before the first row of its marks.
            let (file, row) = row.rsplit_once(' ').map_or((None, row), |(file, row)| (Some(file.trim_end()), row));
            if is_row(row) {
                marks.add(file, row);
                return true;
            }
            return false;
        }
        if let Some((file, row)) = text.split_once(' ')
            && place::is_path(file)
            && !row.is_empty()
            && is_row(row)
        {
            marks.add(Some(file), row);
            return true;
        }
        // With `-s` a test prints between its name and its result.
        if text.ends_with(' ') && is_node_id(text.trim_end()) {
            self.pending = Some(text.trim_end().to_owned());
            return true;
        }
        false
    }

    /// xdist: `[gw0] [  4%] PASSED tests/test_cart.py::test_total`.
    fn worker_line(&mut self, rest: &str, cases: &mut Cases) -> bool {
        let Some((_, rest)) = rest.cut("] ") else { return false };
        // Such as `[gw0] [ 16%] PASSED tests/test_cart.py::test_adds`.
        let rest = rest.cut("%] ").map_or(rest, |(_, rest)| rest);
        let Some((word, name)) = rest.split_once(' ') else { return false };
        let Some((_, status)) = STATUSES.iter().find(|(known, _)| *known == word) else { return false };
        let name = name.trim_end();
        if !is_node_id(name) {
            return false;
        }
        cases.set_worst(name, *status);
        true
    }
}

const fn count(marks: &mut Marks, status: TestStatus) {
    match status {
        TestStatus::Passed => marks.passed += 1,
        TestStatus::Failed => marks.failed += 1,
        TestStatus::Skipped => marks.skipped += 1,
        TestStatus::Error => marks.errors += 1,
    }
}

/// Takes `[ 16%]` off the end.
fn split_percent(line: &str) -> (&str, Option<u8>) {
    let split = || {
        let (text, percent) = line.trim_end().strip_suffix("%]")?.rsplit_once('[')?;
        Some((text, percent.trim().parse::<u8>().ok()?))
    };
    split().map_or((line, None), |(text, percent)| (text, Some(percent)))
}

/// Takes the result off the end: `tests/a.py::b SKIPPED (reason)`. The name is empty when the line is the result alone.
fn split_status(text: &str) -> Option<(&str, TestStatus)> {
    let text = text.trim_end();
    let bare = if text.ends_with(')') { text.seek(" (").and_then(|_| cut_reason(text)).unwrap_or(text) } else { text };
    STATUSES.iter().find_map(|(word, status)| {
        let name = bare.strip_suffix(word)?;
        (name.is_empty() || name.ends_with(' ')).then(|| (name.trim_end(), *status))
    })
}

/// Cuts ` (reason)` that stands behind a result.
fn cut_reason(text: &str) -> Option<&str> {
    STATUSES.iter().find_map(|(word, _)| {
        let mark = format!("{word} (");
        let at = text.find(&mark)?;
        text.get(..at + word.len())
    })
}

fn is_node_id(name: &str) -> bool {
    COLONS.split_once(name).is_some_and(|(file, test)| !test.is_empty() && place::is_path(file))
}

fn is_row(row: &str) -> bool {
    !row.is_empty() && row.bytes().all(|byte| ROW.contains(&byte))
}
