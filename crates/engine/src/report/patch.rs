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

fn lines_of(patch: &str, style: Style, most: usize) -> String {
    let all = patch.lines().filter(|line| !line.starts_with("diff --git ") && !line.starts_with("index "));
    let lines: Vec<&str> = all.collect();
    let mut shown = String::new();
    for line in lines.iter().take(most) {
        let tone = match line.as_bytes().first() {
            _ if line.starts_with("+++ ") || line.starts_with("--- ") => Tone::Heading,
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            _ => Tone::Faint,
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
    fn a_long_change_is_cut_and_the_rest_counted() {
        let long: String = (0..500).map(|line| format!("+{line}\n")).collect();
        let shown = render(&long, Style::Plain);
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("… and 380 more lines\n"));
    }
}
