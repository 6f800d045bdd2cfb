//! Chooses the place of a failure from a message with a stack trace: the frame in the repository, not in a library.

use super::place;
use crate::needle::Seek as _;

/// Parts of the paths of frames in libraries and runtimes.
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
    let text = text.seek("in test file ").and_then(|at| text.get(at..)).unwrap_or(text);
    memchr::memmem::find_iter(text.as_bytes(), b" line ").find_map(|at| {
        let number = place::leading_number(text.get(at + " line ".len()..)?)?;
        let before = text.get(..at)?.trim_end_matches(',');
        let file = before.rsplit(|character: char| character.is_whitespace() || character == '`').next()?;
        place::is_path(file).then(|| (file.to_owned(), number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_of_the_repository_is_chosen() {
        let text = "Expected: lib/other.js:9\n    at a (node_modules/chai/lib.js:3:1)\n    at b (test/a.js:4:2)";
        assert_eq!(place_of(text), Some(("test/a.js".to_owned(), 4)));
        assert_eq!(place_of("    at a (node_modules/x.js:3:1)"), Some(("node_modules/x.js".to_owned(), 3)));
        let java = "    at org.junit.Assert.fail(Assert.java:89)\n    at a.CartTest.x(CartTest.java:16)";
        assert_eq!(place_of(java), Some(("CartTest.java".to_owned(), 16)));
    }

    #[test]
    fn places_in_words_are_found() {
        assert_eq!(place_in_words("  at t/basic.t line 8."), Some(("t/basic.t".to_owned(), 8)));
        let bats = "(from function `f' in file a.sh, line 1,\n in test file b.bats, line 19)";
        assert_eq!(place_in_words(bats), Some(("b.bats".to_owned(), 19)));
        assert_eq!(place_in_words("on line 3"), None);
    }
}
