//! Chooses the place of a failure from a message with a stack trace: the frame in the repository, not in a library.

use super::place;

/// What the paths of frames in libraries and runtimes contain.
const FOREIGN: &[&str] = &[
    "node_modules/",
    "node:",
    "ext:",
    "internal/",
    "/gems/",
    "/vendor/",
    "/usr/lib/",
    "/usr/local/",
    "/usr/share/",
    "<internal",
    "_testmain.go",
    "webpack/",
    "/ava/lib/",
];

/// How the frames of Java's own and of JUnit's classes begin.
const FOREIGN_FRAMES: &[&str] = &["at org.junit.", "at junit.", "at java.", "at jdk.", "at sun.", "at app//org.junit."];

/// The first place of a message that is in the repository, or else its first place.
pub(super) fn place_of(message: &str) -> Option<(String, u32)> {
    let mut first = None;
    let is_frame = |line: &&str| {
        let text = line.trim_start();
        text.starts_with("at ") || text.starts_with("❯ ") || text.starts_with("# ")
    };
    // What a test printed or compared may look like a place too; frames go first.
    for line in message.lines().filter(is_frame).chain(message.lines()) {
        for found in place::places(line) {
            if !is_foreign(&found.0) && !FOREIGN_FRAMES.iter().any(|start| line.trim_start().starts_with(start)) {
                return Some(found);
            }
            first.get_or_insert(found);
        }
    }
    first
}

/// Whether a path is a library's or the runtime's.
pub(super) fn is_foreign(path: &str) -> bool {
    FOREIGN.iter().any(|part| path.contains(part))
}

/// `at t/basic.t line 8.` and `in test file test/price.bats, line 15)`: places in words, as Perl and Bats print them.
pub(super) fn place_in_words(text: &str) -> Option<(String, u32)> {
    // Bats names the function's place first, the test's second.
    let text = text.find("in test file ").and_then(|at| text.get(at..)).unwrap_or(text);
    memchr::memmem::find_iter(text.as_bytes(), b" line ").find_map(|at| {
        let number = place::leading_number(text.get(at + " line ".len()..)?)?;
        let before = text.get(..at)?.trim_end_matches(',');
        let file = before.rsplit(|character: char| character.is_whitespace() || character == '`').next()?;
        place::is_path(file).then(|| (file.to_owned(), number))
    })
}
