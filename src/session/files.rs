//! What the text protocol and `write_file` must know of a file before it is changed.
//!
//! Invariant: writes nothing; whether a path may be touched is decided by the workspace, which does the writing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::action::{Existing, Source};
use super::completeness::{self, Intent};

/// Larger files are no source code that a model rewrites whole.
const MAX_TEXT_BYTES: u64 = 2_000_000;

/// What is at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Present {
    /// Nothing.
    Absent,
    /// A text.
    Text(String),
    /// Something that is no text file inside the tree: binary, a folder, too large, outside.
    Other,
}

/// Looks at a path.
pub(super) fn look(root: &Path, path: &str) -> Present {
    let Ok(real) = fs::canonicalize(root.join(path)) else { return Present::Absent };
    let fits = fs::metadata(&real).is_ok_and(|data| data.is_file() && data.len() <= MAX_TEXT_BYTES);
    if !real.starts_with(root) || !fits {
        return Present::Other;
    }
    fs::read_to_string(&real).map_or(Present::Other, Present::Text)
}

/// A path relative to the root, links and dots resolved: what the change is recorded under.
pub(super) fn recorded(root: &Path, path: &str) -> String {
    let full = root.join(path);
    let mut missing: Vec<PathBuf> = Vec::new();
    let mut there = full.as_path();
    let real = loop {
        // A deleted file is resolved by its folder: the last part itself may have been a link.
        match fs::canonicalize(there) {
            Ok(real) => break real,
            Err(_) => match (there.parent(), there.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(PathBuf::from(name));
                    there = parent;
                }
                _ => return lexical(path),
            },
        }
    };
    let full = missing.into_iter().rev().fold(real, |base, part| base.join(part));
    full.strip_prefix(root).map_or_else(|_| lexical(path), |inside| inside.to_string_lossy().into_owned())
}

fn lexical(path: &str) -> String {
    let mut parts = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.to_string_lossy().into_owned()
}

/// Settles what is to be written for a whole file, or says why nothing is.
///
/// # Errors
/// In words for the model.
pub(super) fn whole(present: &Present, path: &str, content: String, source: &Source) -> Result<String, String> {
    let Source::Block { existing, header } = source else {
        let old = if let Present::Text(old) = present { old.as_str() } else { "" };
        return completeness::objection(path, old, &content, Intent::Explicit).map_or(Ok(content), Err);
    };
    let old = match (present, existing) {
        (Present::Other, _) => {
            return Err(format!("{path} is no text file that can be replaced. Nothing was written."));
        }
        (Present::Absent, Existing::Required) => {
            return Err(format!(
                "there is no {path}. Nothing was written. For a new file put its path alone on the line before the block."
            ));
        }
        (Present::Text(old), Existing::Forbidden) if !old.trim().is_empty() => {
            return Err(format!(
                "{path} exists, but the old part of your block is empty. Nothing was changed. Fill in the old lines."
            ));
        }
        (Present::Absent, _) => "",
        (Present::Text(old), _) => old.as_str(),
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
pub(super) fn lines(present: &Present, path: &str, old: String, new: String) -> Result<(String, String), String> {
    let Present::Text(text) = present else { return Ok((old, new)) };
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

    fn text(text: &str) -> Present {
        Present::Text(text.to_owned())
    }

    fn block(existing: Existing) -> Source {
        Source::Block { existing, header: None }
    }

    fn edit(old_file: &str, old: &str, new: &str) -> Result<String, String> {
        let (old, new) = lines(&text(old_file), "a", old.to_owned(), new.to_owned())?;
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
        let written = whole(&text("a\r\nb"), "a.txt", "a\nc\n".to_owned(), &block(Existing::Either)).unwrap();
        assert_eq!(written, "a\r\nc");
        let written = whole(&text("a\nb\n"), "a.txt", "a\nc\n".to_owned(), &block(Existing::Either)).unwrap();
        assert_eq!(written, "a\nc\n");
    }

    #[test]
    fn blocks_mind_whether_the_file_is_there() {
        let x = || "x\n".to_owned();
        assert!(whole(&Present::Absent, "a", x(), &block(Existing::Required)).is_err());
        assert!(whole(&text("y\n"), "a", x(), &block(Existing::Forbidden)).is_err());
        assert!(whole(&Present::Other, "a", x(), &block(Existing::Either)).is_err());
        assert_eq!(whole(&Present::Absent, "a", x(), &block(Existing::Forbidden)), Ok(x()));
        assert_eq!(whole(&text("\n"), "a", x(), &block(Existing::Forbidden)), Ok(x()));
    }

    #[test]
    fn a_first_comment_with_the_path_is_kept_only_where_the_file_has_it() {
        let source = Source::Block { existing: Existing::Either, header: Some("// a.rs".to_owned()) };
        let new = || "let x = 2;\n".to_owned();
        assert_eq!(whole(&text("// a.rs\nlet x = 1;\n"), "a.rs", new(), &source).unwrap(), "// a.rs\nlet x = 2;\n");
        assert_eq!(whole(&text("let x = 1;\n"), "a.rs", new(), &source).unwrap(), "let x = 2;\n");
    }

    #[test]
    fn changes_are_recorded_under_their_real_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "x").unwrap();
        assert_eq!(recorded(&root, "./src/../src/a.rs"), "src/a.rs");
        assert_eq!(recorded(&root, &root.join("src/a.rs").to_string_lossy()), "src/a.rs");
        assert_eq!(recorded(&root, "src/gone/b.rs"), "src/gone/b.rs");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("src", root.join("link")).unwrap();
            assert_eq!(recorded(&root, "link/a.rs"), "src/a.rs");
            assert_eq!(recorded(&root, "link/new.rs"), "src/new.rs");
        }
    }
}
