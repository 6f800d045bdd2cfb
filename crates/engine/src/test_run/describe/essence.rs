//! The essence of a failure's message: the error and the frames in the repository, without the runner's noise.

use crate::domain::test_report::{Problem, TestCase};
use testlog::place;

/// A message without noise.
#[derive(Debug)]
pub(super) struct Essence<'a> {
    lines: Vec<&'a str>,
    /// The lines that say what went wrong.
    error: Vec<&'a str>,
    name: &'a str,
    place: Option<(String, u32)>,
}

/// How many places of one message are worth showing source for.
const MOST_PLACES: usize = 2;
/// Two places of one file this close share the source shown around them.
const NEAR: u32 = 3;
/// How many lines make up the error when nothing marks it.
const UNMARKED_LINES: usize = 4;
/// How many lines of an error tell causes apart.
const KEY_LINES: usize = 6;

impl<'a> Essence<'a> {
    /// Of a failing test.
    pub(super) fn of(test: &'a TestCase) -> Self {
        Self::new(&test.message, &test.name, test.file.clone().zip(test.line))
    }

    /// Of trouble outside tests.
    pub(super) fn of_problem(problem: &'a Problem) -> Self {
        Self::new(&problem.message, "", problem.file.clone().zip(problem.line))
    }

    fn new(message: &'a str, name: &'a str, place: Option<(String, u32)>) -> Self {
        let lines = without_noise(message);
        let error = error_lines(&lines);
        Self { lines, error, name, place }
    }

    /// Two messages with a key in common have one cause: the exact error, or the error without its values at its place.
    pub(super) fn keys(&self) -> Vec<String> {
        if self.error.is_empty() {
            // Tests that say nothing have one cause only where they fail at one place.
            return vec![format!("silent at {:?}", self.place)];
        }
        let text = self.error.iter().take(KEY_LINES).map(|line| line.trim()).collect::<Vec<_>>().join("\n");
        // A message that quotes its test's name would differ for each.
        let text = if self.name.is_empty() { text } else { text.replace(self.name, "…") };
        let mut keys = Vec::new();
        if let Some((file, line)) = &self.place {
            keys.push(format!("{file}:{line} {}", without_values(&text)));
        }
        keys.push(text);
        keys
    }

    /// The message within `room` characters: whole if it fits, else the error first.
    pub(super) fn text(&self, room: usize) -> String {
        if self.lines.is_empty() {
            let place = self.place.as_ref().map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
            return format!("(no message{place})\n");
        }
        let whole: usize = self.lines.iter().map(|line| line.chars().count() + 1).sum();
        if whole <= room {
            return joined(self.lines.iter().copied(), room);
        }
        // The error before the frames: without it the places say nothing.
        let mut text = joined(self.error.iter().copied(), room);
        let frames =
            self.lines.iter().copied().filter(|line| !self.error.contains(line) && place::find(line).is_some());
        let left = room.saturating_sub(text.chars().count());
        text.push_str(&joined(frames, left));
        text
    }

    /// Places in the repository, the failure's own first.
    pub(super) fn places(&self) -> Vec<(String, u32)> {
        let mut places: Vec<(String, u32)> = self.place.iter().cloned().collect();
        for line in &self.lines {
            for found in place::places(line) {
                let near = |known: &(String, u32)| known.0 == found.0 && known.1.abs_diff(found.1) <= NEAR;
                // A frame of a library cannot be changed, so that its source is of no use.
                if places.len() < MOST_PLACES && place::is_own(&found.0) && !places.iter().any(near) {
                    places.push(found);
                }
            }
        }
        places
    }
}

/// Lines until `room` characters are used. A line too long for the rest is cut.
fn joined<'a>(lines: impl Iterator<Item = &'a str>, room: usize) -> String {
    const LONGEST_LINE: usize = 400;
    /// A line cut shorter than this says nothing.
    const LEAST_LINE: usize = 12;
    let mut text = String::new();
    let mut left = room;
    for line in lines {
        let length = line.chars().count().min(LONGEST_LINE) + 1;
        if left < LEAST_LINE {
            if !text.is_empty() && !text.ends_with("…\n") {
                text.push_str("…\n");
            }
            break;
        }
        // One for the line break, which is in both numbers.
        let take = length.min(left) - 1;
        text.extend(line.chars().take(take));
        if line.chars().count() > take {
            text.push('…');
        }
        text.push('\n');
        left -= length.min(left);
    }
    text
}

/// Drops what no reader needs: library frames, separators, hints of the runner, repeated blank lines.
fn without_noise(message: &str) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut skip_code = false;
    for line in message.lines() {
        let text = line.trim();
        if text.is_empty() {
            skip_code = false;
            if kept.last().is_some_and(|last| !last.is_empty()) {
                kept.push("");
            }
            continue;
        }
        if is_noise(text) {
            continue;
        }
        if is_foreign_frame(text) {
            // Only these two forms have a source line below them.
            skip_code = text.starts_with("File \"") || file_of_frame_below(text).is_some();
            continue;
        }
        // Below a frame of Python stands its source line.
        if skip_code && line.starts_with("    ") && !text.starts_with("File \"") {
            continue;
        }
        skip_code = false;
        kept.push(line.trim_end());
    }
    while kept.last().is_some_and(|last| last.is_empty()) {
        kept.pop();
    }
    kept
}

fn is_noise(text: &str) -> bool {
    const STARTS: [&str; 10] = [
        "note: run with `RUST_BACKTRACE",
        "note: Some details are omitted",
        "stack backtrace:",
        "Some errors have detailed explanations",
        "For more information about this error",
        "at process.processTicksAndRejections",
        "at async Promise.all",
        "To update snapshots",
        "[gw",
        // The result file that upshift itself asked for.
        "- generated xml file: ",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
        // Rulers, such as `=====` and `_ _ _ _`, and the marks under a line of source.
        || (text.len() > 2 && text.bytes().all(|byte| matches!(byte, b'_' | b' ' | b'^' | b'~' | b'-' | b'=')))
}

/// A frame of a library or of the language.
fn is_foreign_frame(text: &str) -> bool {
    if let Some(file) = file_of_frame_below(text) {
        return !place::is_own(file);
    }
    let is_frame =
        text.starts_with("at ") || text.starts_with("File \"") || text.starts_with("❯ ") || is_numbered_frame(text);
    if !is_frame {
        return false;
    }
    if let Some(rest) = text.strip_prefix("File \"") {
        // Such as `File "/usr/lib/python3.12/unittest/case.py", line 58, in run`.
        return rest.split('"').next().is_some_and(|file| !place::is_own(file));
    }
    // Such as `at Object.<anonymous> (/app/node_modules/jest/build/index.js:12:3)`.
    match place::find(text) {
        Some((file, _)) => !place::is_own(&file),
        None => is_numbered_frame(text) || text.contains("node:") || text.contains("<anonymous>"),
    }
}

/// The file of `/usr/lib/python3/importlib/__init__.py:126: in import_module`, as pytest prints frames shortly.
fn file_of_frame_below(text: &str) -> Option<&str> {
    let (head, name) = text.split_once(": in ")?;
    let (file, line) = head.rsplit_once(':')?;
    (!line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains(' ')).then_some(file)
}

/// `  12: core::panicking::panic_fmt` of a Rust backtrace.
fn is_numbered_frame(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(number, rest)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains("::")
    })
}

/// The lines that say what went wrong.
fn error_lines<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    // pytest marks them.
    let marked: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E ")).collect();
    if !marked.is_empty() {
        return marked;
    }
    // Rust: below "panicked at".
    if let Some(at) = lines.iter().rposition(|line| line.contains("panicked at ")) {
        let below: Vec<&str> = lines.iter().copied().skip(at + 1).take_while(|line| !line.is_empty()).collect();
        // Before Rust 1.73 the message stood on that line itself: `panicked at 'boom', src/lib.rs:3:5`.
        let old_form = lines.get(at).is_some_and(|line| line.contains("panicked at '"));
        if old_form || below.is_empty() {
            return lines.iter().copied().skip(at).take(UNMARKED_LINES).collect();
        }
        return below;
    }
    // Python: below the traceback.
    if lines.iter().any(|line| line.starts_with("Traceback ")) {
        // The last frame: what stands below it is the exception.
        let after = lines.iter().rposition(|line| line.starts_with("  ") && line.trim_start().starts_with("File \""));
        let below: Vec<&str> =
            lines.iter().copied().skip(after.map_or(0, |at| at + 1)).filter(|line| !line.starts_with("    ")).collect();
        if !below.is_empty() {
            return below;
        }
    }
    lines
        .iter()
        .copied()
        .filter(|line| !line.is_empty() && !line.trim_start().starts_with("at "))
        .take(UNMARKED_LINES)
        .collect()
}

/// The text without what differs from test to test: numbers and quoted values.
fn without_values(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    for one in text.chars() {
        match quote {
            Some(open) => {
                // An apostrophe is taken for an opened quote, which then ends with its line.
                if one == open || one == '\n' {
                    quote = None;
                }
            }
            None if matches!(one, '\'' | '"' | '`') => {
                quote = Some(one);
                plain.push('"');
            }
            None if one.is_ascii_digit() => {
                // A number of any length is one mark, or 9 and 10 would be two causes.
                if !plain.ends_with('#') {
                    plain.push('#');
                }
            }
            None => plain.push(one),
        }
    }
    plain
}
