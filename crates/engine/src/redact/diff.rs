//! Secrets in a unified diff: each line stands behind a mark there, so that a secret over several lines is seen only without the marks.

use std::borrow::Cow;

use super::{MASK, Redactor};

/// The two texts that a hunk is made of, by the mark of the lines that the other does not have.
const SIDES: [char; 2] = ['-', '+'];

impl Redactor {
    /// A unified diff without secrets: each side of a hunk is looked at as the text it is, and the whole as text too.
    ///
    /// The diff keeps its lines and marks, so that it stays a diff.
    #[must_use]
    pub fn redact_diff<'a>(&self, diff: &'a str) -> Cow<'a, str> {
        let mut lines: Vec<Cow<'a, str>> = diff.split('\n').map(Cow::Borrowed).collect();
        let mut start = 0;
        while let Some(hunk) = hunk_after(diff, &lines, start) {
            for side in SIDES {
                self.redact_side(lines.get_mut(hunk.clone()).unwrap_or_default(), side);
            }
            start = hunk.end;
        }
        // Nothing was changed, so that the text need not be put together again.
        if lines.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
            // Names of files and headings stand outside of every hunk.
            return self.redact(diff);
        }
        Cow::Owned(self.redact(&lines.join("\n")).into_owned())
    }

    fn redact_side(&self, hunk: &mut [Cow<'_, str>], side: char) {
        let is_of_side = |line: &str| line.starts_with([' ', side]);
        let text: Vec<&str> = hunk.iter().filter(|line| is_of_side(line)).filter_map(|line| line.get(1..)).collect();
        let text = text.join("\n");
        let Cow::Owned(masked) = self.redact(&text) else { return };
        let places = hunk.iter_mut().filter(|line| is_of_side(line));
        for ((line, before), after) in places.zip(text.split('\n')).zip(masked.split('\n')) {
            // Only lines that hold a mask are replaced, so that the rest can still be applied.
            if before != after && after.contains(MASK) {
                let mark = line.chars().next().unwrap_or(' ');
                *line = Cow::Owned(format!("{mark}{after}"));
            }
        }
    }
}

/// The lines of the next hunk, without its heading.
fn hunk_after(diff: &str, lines: &[Cow<'_, str>], from: usize) -> Option<std::ops::Range<usize>> {
    if !diff.contains("@@ ") {
        return None;
    }
    // A line of a hunk cannot begin so, since it has a mark in front.
    let heading = from + lines.get(from..)?.iter().position(|line| line.starts_with("@@ -"))?;
    let first = heading + 1;
    // git's note about a missing line end stands within the hunk.
    let is_inside = |line: &Cow<'_, str>| line.starts_with([' ', '+', '-', '\\']);
    let length = lines.get(first..)?.iter().take_while(|line| is_inside(line)).count();
    Some(first..first + length)
}
