//! The difference of two texts, line by line.
//!
//! The one place that knows how it is found, so that the search is compiled once and not for every kind of line that somebody has.

use std::ops::Range;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// A stretch of lines that both texts hold, or that the new one holds in the place of the old one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Whether both texts hold it.
    pub is_equal: bool,
    /// The numbers of its lines in the old text, from 0.
    pub old: Range<usize>,
    /// The same in the new text.
    pub new: Range<usize>,
}

/// The text that a line stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In the old one alone.
    Old,
    /// In the new one alone.
    New,
}

/// A line that one of two texts holds and the other does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLine<'a> {
    /// The text that holds it.
    pub side: Side,
    /// Its number there, from 1.
    pub number: u32,
    /// The line with its end.
    pub text: &'a str,
}

/// The lines of a text with their ends.
#[must_use]
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.lines_with_terminator().collect()
}

/// The changes from old lines to new ones with so many equal lines around each. Changes that these join are one group. After `limit` a
/// larger difference than the smallest is taken.
#[must_use]
pub fn groups(old: &[&[u8]], new: &[&[u8]], context: usize, limit: Option<Duration>) -> Vec<Vec<Part>> {
    let part = |op: &DiffOp| Part { is_equal: op.tag() == DiffTag::Equal, old: op.old_range(), new: op.new_range() };
    let groups = group_diff_ops(difference(old, new, limit), context);
    groups.iter().map(|group| group.iter().map(part).collect()).collect()
}

/// Writes the hunks of a patch. Returns how many lines were added and how many removed.
pub fn write_hunks(old: &[u8], new: &[u8], context: usize, limit: Option<Duration>, text: &mut String) -> (u64, u64) {
    let (old, new) = (lines(old), lines(new));
    let (mut added, mut removed) = (0, 0);
    for group in groups(&old, &new, context, limit) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |start: usize, end: usize| match end - start {
            // An empty side is named by the line before it, as in git's patches.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            length => format!("{},{length}", start + 1),
        };
        let (old_span, new_span) = (span(first.old.start, last.old.end), span(first.new.start, last.new.end));
        text.push_str(&format!("@@ -{old_span} +{new_span} @@\n"));
        for part in &group {
            let (gone, come) = write_part(part, &old, &new, text);
            removed += gone;
            added += come;
        }
    }
    (added, removed)
}

fn write_part(part: &Part, old: &[&[u8]], new: &[&[u8]], text: &mut String) -> (u64, u64) {
    let before = old.get(part.old.clone()).unwrap_or_default();
    let after = new.get(part.new.clone()).unwrap_or_default();
    if part.is_equal {
        before.iter().for_each(|line| write_line(' ', line, text));
        return (0, 0);
    }
    before.iter().for_each(|line| write_line('-', line, text));
    after.iter().for_each(|line| write_line('+', line, text));
    (before.len() as u64, after.len() as u64)
}

fn write_line(sign: char, line: &[u8], text: &mut String) {
    text.push(sign);
    text.push_str(&line.to_str_lossy());
    // Without this line `git apply` would add a line break.
    if !line.ends_with(b"\n") {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// The lines that only one of two texts holds, in their order, those that went before those that came in their place. A carriage return
/// alone ends a line, as it does for interpreters: what stands behind it is not part of a comment before it.
#[must_use]
pub fn changed_lines<'a>(before: &'a str, after: &'a str) -> Vec<ChangedLine<'a>> {
    // By each kind of line end, so that none can hide a change in one long line.
    let (old, new) = (any_lines(before), any_lines(after));
    let bytes = |lines: &[&'a str]| lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>();
    let mut changed = Vec::new();
    for op in difference(&bytes(&old), &bytes(&new), None) {
        if op.tag() == DiffTag::Equal {
            continue;
        }
        for (side, lines, range) in [(Side::Old, &old, op.old_range()), (Side::New, &new, op.new_range())] {
            let numbered = range.filter_map(|at| Some((u32::try_from(at + 1).ok()?, *lines.get(at)?)));
            changed.extend(numbered.map(|(number, text)| ChangedLine { side, number, text }));
        }
    }
    changed
}

/// Lines with their ends: `\n`, `\r\n`, `\r`.
fn any_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = if line.ends_with("\r\n") { 2 } else { usize::from(line.ends_with('\n')) };
        let body = line.get(..line.len() - end).unwrap_or_default();
        let last = body.rfind('\r').map_or(0, |at| at + 1);
        let (before, rest) = line.split_at_checked(last).unwrap_or(("", line));
        lines.extend(before.split_inclusive('\r'));
        // Behind a return that is the text's end nothing stands.
        if !rest.is_empty() {
            lines.push(rest);
        }
    }
    lines
}

fn difference(old: &[&[u8]], new: &[&[u8]], limit: Option<Duration>) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let until = limit.map(|limit| Instant::now() + limit);
    // Out of time it takes a larger difference, which is as right.
    let Ok(()) = myers::diff_deadline(&mut found, old, 0..old.len(), new, 0..new.len(), until);
    found.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_went_stand_before_those_that_came_in_their_place() {
        let changed = changed_lines("a\nb\nc\n", "a\nB\nB2\nc\nd");
        let told: Vec<_> = changed.iter().map(|line| (line.side, line.number, line.text)).collect();
        assert_eq!(told, [(Side::Old, 2, "b\n"), (Side::New, 2, "B\n"), (Side::New, 3, "B2\n"), (Side::New, 5, "d")]);
        assert!(changed_lines("same\n", "same\n").is_empty());
    }

    #[test]
    fn a_carriage_return_alone_ends_a_line() {
        assert_eq!(any_lines("# x\rcode\r\nc\r"), ["# x\r", "code\r\n", "c\r"]);
        assert_eq!(any_lines("a\n\nb"), ["a\n", "\n", "b"]);
        assert_eq!(any_lines("a\r\n\r\r\n"), ["a\r\n", "\r", "\r\n"]);
        assert!(any_lines("").is_empty());
        let changed = changed_lines("", "# x\rcode()");
        assert_eq!(changed.iter().map(|line| line.text).collect::<Vec<_>>(), ["# x\r", "code()"]);
    }

    #[test]
    fn hunks_are_written_with_the_lines_around_them() {
        let mut text = String::new();
        let counted = write_hunks(b"1\n2\n3\n4\n5\n", b"1\n2\n3\nfour\n5", 1, None, &mut text);
        assert_eq!(counted, (2, 2));
        assert_eq!(text, "@@ -3,3 +3,3 @@\n 3\n-4\n-5\n+four\n+5\n\\ No newline at end of file\n");
    }
}
