//! A change for a terminal: the lines of a unified diff, coloured, and cut where it is long.

use super::plain;
use super::style::{Style, Tone};

/// The most lines shown. Lines left out are counted.
const MAX_LINES: usize = 120;
/// The widest line shown, in columns.
const MAX_WIDTH: usize = 200;

/// Renders a unified diff with an indent. Empty for none. Nothing in it reaches the terminal raw.
#[must_use]
pub fn render(patch: &str, style: Style) -> String {
    lines_of(patch, style, MAX_LINES)
}

/// The same without a limit of lines, for who asked for it.
#[must_use]
pub fn render_whole(patch: &str, style: Style) -> String {
    lines_of(patch, style, usize::MAX)
}

/// The meaning of a line of a unified diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What stands before the first hunk of a file.
    Head,
    /// The line that says where a hunk lies.
    Hunk,
    /// A new line.
    Added,
    /// A line that is gone.
    Removed,
    /// A line around them.
    Kept,
}

/// The lines of a patch, each with its meaning. The lines of a hunk are counted: `--- x` may be a removed `-- x`.
pub(super) fn parts(patch: &str) -> impl Iterator<Item = (&str, Part)> {
    let (mut gone, mut new) = (0_usize, 0_usize);
    patch.lines().map(move |line| {
        let outside = gone == 0 && new == 0;
        let part = match line.as_bytes().first() {
            Some(b'@') => {
                (gone, new) = sizes(line);
                Part::Hunk
            }
            // Of a patch that was cut the head of the hunk may be missing.
            Some(b'+') if new > 0 || outside && !line.starts_with("+++ ") => Part::Added,
            Some(b'-') if gone > 0 || outside && !line.starts_with("--- ") => Part::Removed,
            Some(b' ') | None if !outside => Part::Kept,
            // "\\ No newline at end of file" is no line of either side.
            Some(b'\\') => Part::Head,
            // No line of a hunk begins so: the patch was cut, and another file begins.
            _ => {
                (gone, new) = (0, 0);
                Part::Head
            }
        };
        let (of_before, of_after) = match part {
            Part::Head | Part::Hunk => (0, 0),
            Part::Added => (0, 1),
            Part::Removed => (1, 0),
            Part::Kept => (1, 1),
        };
        gone = gone.saturating_sub(of_before);
        new = new.saturating_sub(of_after);
        (line, part)
    })
}

/// The numbers of lines before and after in the head of a hunk: `@@ -1,3 +1 @@` has 3 and 1.
fn sizes(line: &str) -> (usize, usize) {
    let size = |sign: char| {
        let span = line.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
        span.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    (size('-').unwrap_or(0), size('+').unwrap_or(0))
}

fn lines_of(patch: &str, style: Style, most: usize) -> String {
    let is_shown = |line: &str| !line.starts_with("diff --git ") && !line.starts_with("index ");
    let lines: Vec<(&str, Part)> = parts(patch).filter(|(line, part)| *part != Part::Head || is_shown(line)).collect();
    let mut shown = String::new();
    for (line, part) in lines.iter().take(most) {
        let tone = match part {
            Part::Head if line.starts_with("+++ ") || line.starts_with("--- ") => Tone::Heading,
            Part::Added => Tone::Good,
            Part::Removed => Tone::Bad,
            Part::Head | Part::Hunk | Part::Kept => Tone::Faint,
        };
        // Cut before it is painted: a cut through an escape sequence would colour the rest of the terminal.
        let line = plain::inert(&plain::clip(&plain::block(line), MAX_WIDTH));
        shown.push_str(&format!("  {}\n", style.paint(tone, &line)));
    }
    if lines.len() > most {
        shown.push_str(&format!("  … and {} more lines\n", lines.len() - most));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n";

    #[test]
    fn a_change_is_coloured_on_a_terminal_and_plain_elsewhere() {
        assert_eq!(render("", Style::Colour), "");
        let plain = render(PATCH, Style::Plain);
        assert!(plain.starts_with("  --- a/x\n  +++ b/x\n  @@ -1 +1 @@\n  -old\n  +new"), "{plain:?}");
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
        let coloured = render(PATCH, Style::Colour);
        assert!(coloured.contains("\u{1b}[32m+new") && coloured.contains("\u{1b}[31m-old"), "{coloured:?}");
        assert!(!coloured.contains("[2J"), "{coloured:?}");
    }

    #[test]
    fn lines_that_look_like_the_head_of_a_file_are_lines_of_their_hunk() {
        let patch = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@ note\n--- was\n+++ is\n kept\n\\ No newline at end of file\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-y\n";
        let of: Vec<Part> = parts(patch).map(|(_, part)| part).collect();
        let (head, hunk) = (Part::Head, Part::Hunk);
        let expected =
            [head, head, hunk, Part::Removed, Part::Added, Part::Kept, head, head, head, hunk, Part::Removed];
        assert_eq!(of, expected);
        let cut: Vec<Part> =
            parts("@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n--- a/y\n").map(|(_, part)| part).collect();
        assert_eq!(cut, [hunk, Part::Removed, head, head]);
    }

    #[test]
    fn a_long_change_is_cut_and_the_rest_counted() {
        let long: String = (0..500).map(|line| format!("+{line}\n")).collect();
        let shown = render(&long, Style::Plain);
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("… and 380 more lines\n"));
    }
}
