//! The names that a model or a recorded state may give to files: relative, plain, and never git's own.
//!
//! Invariant: a [`RelPath`] has no `..`, no root, no empty or `.` part, no NUL, and no part that any file system would take for
//! `.git`. Whether links lead astray is not its business: [`super::beneath`] follows none.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::files::names;

/// The longest path that Linux takes.
const MAX_BYTES: usize = 4095;
/// The longest name in a path that common file systems take.
const MAX_NAME_BYTES: usize = 255;
/// The deepest that a model may name a file: each folder is opened from the one before.
const MAX_DEPTH: usize = 128;
/// The folder of upshift's own files in a checkout.
const OWN_FOLDER: &str = ".upshift";

/// A path below the checkout, checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RelPath(PathBuf);

/// Why a path was refused, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("the path is empty; give one relative to the repository, such as `src/main.rs`")]
    Empty,
    #[error("`{0}` is not a path relative to the repository; leave out the leading `/` or `~`")]
    Absolute(String),
    #[error("`{0}` leads out of the repository; `..` is not allowed")]
    Outside(String),
    #[error("`{0}` contains a backslash or a control character; use `/` between folders")]
    Character(String),
    #[error("`{0}` belongs to git or to upshift; it can be neither read nor written")]
    Private(String),
    #[error("`{0}` is a name that Windows takes for a device, a stream or another file; use another")]
    Elsewhere(String),
    #[error("the path is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("a name in the path is longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    #[error("the path leads through more than {MAX_DEPTH} folders")]
    TooDeep,
}

impl RelPath {
    /// Checks a path that a model wrote. An absolute path inside `root` is understood as the relative one.
    pub(super) fn parse(text: &str, root: &Path) -> Result<Self, PathError> {
        if text.len() > MAX_BYTES {
            return Err(PathError::TooLong);
        }
        // On Windows a backslash parts folders, and elsewhere it is a letter: no path may mean two files.
        if text.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(PathError::Character(text.escape_debug().to_string()));
        }
        let path = Path::new(text);
        let path = path.strip_prefix(root).unwrap_or(path);
        if path.has_root() || text.starts_with('~') {
            return Err(PathError::Absolute(text.to_owned()));
        }
        if path.components().count() > MAX_DEPTH {
            return Err(PathError::TooDeep);
        }
        Self::from_path(path)
    }

    /// Checks a path of any other origin.
    pub(super) fn from_path(path: &Path) -> Result<Self, PathError> {
        let shown = || path.display().to_string();
        let mut plain = OsString::new();
        for component in path.components() {
            match component {
                Component::Normal(name) if is_private(name) => return Err(PathError::Private(shown())),
                Component::Normal(name) if is_refused_here(name) => return Err(PathError::Elsewhere(shown())),
                Component::Normal(name) if name.len() > MAX_NAME_BYTES => return Err(PathError::NameTooLong),
                Component::Normal(name) => {
                    // One separator everywhere: a recorded state, a pattern and a patch are the same on every system.
                    if !plain.is_empty() {
                        plain.push("/");
                    }
                    plain.push(name);
                }
                Component::CurDir => {}
                Component::ParentDir => return Err(PathError::Outside(shown())),
                Component::RootDir | Component::Prefix(_) => return Err(PathError::Absolute(shown())),
            }
        }
        let bytes = plain.as_encoded_bytes();
        if bytes.contains(&0) {
            return Err(PathError::Character(shown()));
        }
        if bytes.len() > MAX_BYTES {
            return Err(PathError::TooLong);
        }
        if bytes.is_empty() { Err(PathError::Empty) } else { Ok(Self(plain.into())) }
    }

    /// The path as the standard library's.
    pub(super) fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Whether this system takes a name for something else than a file of that name, or cannot hold it.
fn is_refused_here(name: &OsStr) -> bool {
    name.to_str().map_or(cfg!(windows), names::is_refused_here)
}

/// Whether a name is git's or ours, in any spelling that some file system takes for it.
pub(super) fn is_private(name: &OsStr) -> bool {
    let folded = fold(&name.to_string_lossy());
    // NTFS: `.git::$INDEX_ALLOCATION` is `.git`, `git~1` its short name.
    let stem = folded.split(':').next().unwrap_or_default();
    matches!(stem, ".git" | "git~1" | OWN_FOLDER)
}

/// A name as a case-insensitive file system that drops invisible characters (HFS+) or trailing dots (NTFS) sees it.
pub(super) fn fold(name: &str) -> String {
    let visible: String = name.chars().filter(|&c| !is_ignorable(c)).flat_map(char::to_lowercase).collect();
    visible.trim_end_matches(['.', ' ']).to_owned()
}

/// The characters that HFS+ ignores in names, from git's own list.
const fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, PathError> {
        RelPath::parse(text, Path::new("/repo")).map(|path| path.to_string())
    }

    #[test]
    fn names_that_no_file_system_takes_are_refused() {
        let name = "é".repeat(128);
        assert_eq!(parse(&format!("a/{name}/b")), Err(PathError::NameTooLong));
        assert_eq!(parse("a/b/".repeat(2000).as_str()), Err(PathError::TooLong));
        assert_eq!(parse("d/".repeat(129).as_str()), Err(PathError::TooDeep));
        assert!(parse(&"n".repeat(255)).is_ok());
    }

    #[test]
    fn plain_paths_are_tidied() {
        for (given, path) in
            [("a", "a"), ("./a//b/./c/", "a/b/c"), ("/repo/a/b", "a/b"), ("a b/ä", "a b/ä"), ("..a/.b", "..a/.b")]
        {
            assert_eq!(parse(given).as_deref(), Ok(path), "{given}");
        }
    }

    #[test]
    fn what_leads_out_is_refused() {
        for text in [
            "",
            ".",
            "/",
            "/repo",
            "/etc/passwd",
            "..",
            "a/../b",
            "a/..",
            "../repo/a",
            "~/x",
            "a\\b",
            "a\0b",
            "a\nb",
            "/repository/a",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn no_spelling_of_git_is_taken() {
        for text in [
            ".git",
            ".git/config",
            "a/.git",
            ".GIT/x",
            ".Git",
            ".git ",
            ".git.",
            ".git. . /x",
            ".g\u{200c}it/x",
            "\u{feff}.git",
            "git~1/x",
            "GIT~1",
            ".git::$INDEX_ALLOCATION/x",
            ".upshift/audit.db",
        ] {
            assert!(matches!(parse(text), Err(PathError::Private(_))), "{text:?}");
        }
        for text in [".gitignore", ".github/x", "git", "x.git/y"] {
            assert!(parse(text).is_ok(), "{text:?}");
        }
    }
}
