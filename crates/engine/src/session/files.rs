//! A file's new text before it is written, from the text protocol and `write_file`.
//!
//! Pure: `present` is the text that [`crate::workspace::Workspace::look`] found, `None` for nothing. Invariant: touches no file. The
//! workspace decides whether a path may be touched, and does the reading and the writing.

use super::action::{Existing, Source};
use super::completeness::{self, Intent};

/// Settles what is to be written for a whole file, or says why nothing is.
///
/// # Errors
/// In words for the model.
pub(super) fn whole(present: Option<&str>, path: &str, content: String, source: &Source) -> Result<String, String> {
    let Source::Block { existing, header } = source else {
        let old = present.unwrap_or_default();
        return completeness::objection(path, old, &content, Intent::Explicit).map_or(Ok(content), Err);
    };
    let old = match (present, existing) {
        (None, Existing::Required) => {
            return Err(format!(
                "there is no {path}. Nothing was written. For a new file put its path alone on the line before the block."
            ));
        }
        (Some(old), Existing::Forbidden) if !old.trim().is_empty() => {
            return Err(format!(
                "{path} exists, but the old part of your block is empty. Nothing was changed. Fill in the old lines."
            ));
        }
        (present, _) => present.unwrap_or_default(),
    };
    let content = match header {
        Some(line) if old.lines().next() == Some(line.as_str()) => format!("{line}\n{content}"),
        _ => content,
    };
    if let Some(why) = completeness::objection(path, old, &content, Intent::Shown) {
        return Err(why);
    }
    Ok(in_the_manner_of(old, content))
}

/// Code blocks can show neither CRLF nor a missing final newline: both stay as the file has them.
fn in_the_manner_of(old: &str, content: String) -> String {
    let newlines = old.matches('\n').count();
    let mut content = content;
    if newlines > 0 && old.matches("\r\n").count() == newlines {
        // To LF first, or a CRLF that is there already would have two CRs.
        content = content.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if !old.is_empty() && !old.ends_with('\n') {
        let kept = content.trim_end_matches('\n').trim_end_matches('\r').len();
        content.truncate(kept);
    }
    content
}

/// Settles the texts of an edit that speaks in lines, so that it matches whole lines and nothing less.
///
/// # Errors
/// In words for the model.
pub(super) fn lines(present: Option<&str>, path: &str, old: String, new: String) -> Result<(String, String), String> {
    let Some(text) = present else { return Ok((old, new)) };
    let text = text.replace("\r\n", "\n");
    let matches: Vec<(usize, bool)> =
        text.match_indices(&old).map(|(at, found)| (at, is_aligned(&text, at, found.len()))).collect();
    let aligned: Vec<usize> = matches.iter().filter(|(_, aligned)| *aligned).map(|(at, _)| *at).collect();
    match aligned.as_slice() {
        [] if !matches.is_empty() => Err(format!(
            "the old part matches only a piece of a line in {path}. Nothing was changed. Give whole lines."
        )),
        [at] => {
            let follows = text.get(at + old.len()..).is_some_and(|rest| rest.starts_with('\n'));
            let starts_line = *at > 0 && text.get(..*at).is_some_and(|before| before.ends_with('\n'));
            // Without the line's own newline a removed line would leave an empty one.
            let removed = new.is_empty() && follows;
            // Where the text also stands within longer lines, the ends of lines around it make the match the only one.
            let several = matches.len() > 1 && starts_line;
            let (head, tail) =
                (if several { "\n" } else { "" }, if removed || (several && follows) { "\n" } else { "" });
            let new_tail = if removed { "" } else { tail };
            Ok((format!("{head}{old}{tail}"), format!("{head}{new}{new_tail}")))
        }
        _ => Ok((old, new)),
    }
}

/// Whether a match begins after nothing but white space on its line and ends before nothing but white space.
fn is_aligned(text: &str, at: usize, length: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let after = text.get(at + length..).unwrap_or_default().split('\n').next().unwrap_or_default();
    before.trim().is_empty() && after.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(existing: Existing) -> Source {
        Source::Block { existing, header: None }
    }

    fn edit(old_file: &str, old: &str, new: &str) -> Result<String, String> {
        let (old, new) = lines(Some(old_file), "a", old.to_owned(), new.to_owned())?;
        assert_eq!(old_file.matches(&old).count(), 1, "{old:?} must match exactly once");
        Ok(old_file.replacen(&old, &new, 1))
    }

    #[test]
    fn an_edit_in_lines_never_touches_a_piece_of_a_line() {
        assert!(edit("    return a - b\n", "return a", "return b").unwrap_err().contains("piece of a line"));
        assert_eq!(edit("    return a\n", "return a", "return b").unwrap(), "    return b\n");
    }

    #[test]
    fn an_edit_in_lines_finds_its_line_among_pieces_of_others() {
        assert_eq!(edit("y\nf();\nz = f();\n", "f();", "g();").unwrap(), "y\ng();\nz = f();\n");
    }

    #[test]
    fn a_removed_line_leaves_no_empty_one() {
        assert_eq!(edit("a\nb\nc\n", "b", "").unwrap(), "a\nc\n");
        assert_eq!(edit("a\nb", "b", "").unwrap(), "a\n");
    }

    #[test]
    fn blocks_keep_line_ends_and_the_missing_last_newline() {
        let written = whole(Some("a\r\nb"), "a.txt", "a\nc\n".to_owned(), &block(Existing::Either)).unwrap();
        assert_eq!(written, "a\r\nc");
        let written = whole(Some("a\nb\n"), "a.txt", "a\nc\n".to_owned(), &block(Existing::Either)).unwrap();
        assert_eq!(written, "a\nc\n");
    }

    #[test]
    fn blocks_mind_whether_the_file_is_there() {
        let x = || "x\n".to_owned();
        assert!(whole(None, "a", x(), &block(Existing::Required)).is_err());
        assert!(whole(Some("y\n"), "a", x(), &block(Existing::Forbidden)).is_err());
        assert_eq!(whole(None, "a", x(), &block(Existing::Forbidden)), Ok(x()));
        assert_eq!(whole(Some("\n"), "a", x(), &block(Existing::Forbidden)), Ok(x()));
    }

    #[test]
    fn a_first_comment_with_the_path_is_kept_only_where_the_file_has_it() {
        let source = Source::Block { existing: Existing::Either, header: Some("// a.rs".to_owned()) };
        let new = || "let x = 2;\n".to_owned();
        assert_eq!(whole(Some("// a.rs\nlet x = 1;\n"), "a.rs", new(), &source).unwrap(), "// a.rs\nlet x = 2;\n");
        assert_eq!(whole(Some("let x = 1;\n"), "a.rs", new(), &source).unwrap(), "let x = 2;\n");
    }
}
