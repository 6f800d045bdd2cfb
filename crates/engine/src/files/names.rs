//! Names that Windows takes for something else than they look like.
//!
//! Pure, and the same everywhere. [`is_refused_here`] says whether this system is one that does so. A repository may hold such names where
//! it is checked out on another system: there they are names like others.

/// Devices of every folder since the first versions, also with an ending (`nul.txt`) on all but the newest.
const DEVICES: &str = "con prn aux nul clock$ conin$ conout$";
/// Devices with a number.
const NUMBERED: [&str; 2] = ["com", "lpt"];
/// The digits of their numbers. Raised ones count too.
const DIGITS: &str = "0123456789\u{b9}\u{b2}\u{b3}";
/// Characters that no name can hold: separators, the mark of drives and of alternate streams, wildcards.
const FORBIDDEN: &str = "<>:\"/\\|?*";

/// Whether this system takes the name for something else.
#[must_use]
pub fn is_refused_here(name: &str) -> bool {
    cfg!(windows) && is_refused_on_windows(name)
}

/// Whether Windows takes the name of a file or folder for something else: a device, a stream, a drive, another name.
#[must_use]
pub fn is_refused_on_windows(name: &str) -> bool {
    name.ends_with(['.', ' ']) || name.chars().any(|c| c.is_control() || FORBIDDEN.contains(c)) || is_device(name)
}

fn is_device(name: &str) -> bool {
    // `NUL.tar.gz` is the device, and so is `nul .txt`.
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_lowercase();
    let numbered = |prefix: &&str| {
        let mut rest = stem.strip_prefix(*prefix).unwrap_or_default().chars();
        rest.next().is_some_and(|digit| DIGITS.contains(digit)) && rest.next().is_none()
    };
    DEVICES.split_ascii_whitespace().any(|device| device == stem) || NUMBERED.iter().any(numbered)
}

/// Whether the name may be a short one (`GITHUB~1`) that old file systems give a file beside its own.
#[must_use]
pub fn may_be_short(name: &str) -> bool {
    name.split('~').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A canonical path of Windows in the spelling that programs understand: `C:\x` for `\\?\C:\x`, `\\server\x` for `\\?\UNC\server\x`.
/// `None` if it must stay as it is: it is too long, or holds a name that means something else without the prefix.
#[must_use]
pub fn without_prefix(path: &str) -> Option<String> {
    /// The longest path that programs take, with the end that they add.
    const LONGEST: usize = 247;
    let rest = path.strip_prefix(r"\\?\")?;
    let (plain, names) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (format!(r"\\{share}"), share),
        None => {
            let (drive, names) = rest.split_once(':')?;
            let is_drive = drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic());
            (rest.to_owned(), if is_drive { names } else { return None })
        }
    };
    // Without the prefix Windows would drop dots and blanks at the end, and open a device.
    let understood = names.split('\\').all(|name| name.is_empty() || !is_refused_on_windows(name));
    // Counted as Windows does.
    (understood && plain.encode_utf16().count() <= LONGEST).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_windows_takes_for_a_device_a_stream_or_another_name_is_refused() {
        for name in [
            "CON",
            "con",
            "nul.txt",
            "NUL .log",
            "aux.tar.gz",
            "com1",
            "LPT9.c",
            "COM\u{b9}",
            "CONIN$",
            "a:b",
            "a::$DATA",
            "C:",
            "a\\b",
            "a/b",
            "x?",
            "x*",
            "a|b",
            "tail.",
            "tail ",
            "..",
            ".",
            "a\u{1}b",
        ] {
            assert!(is_refused_on_windows(name), "{name:?}");
        }
        for name in ["console", "com", "com10", "nulls.rs", "a.con", ".gitignore", "ä b.txt", "lpt.c", "a~b", "..a"] {
            assert!(!is_refused_on_windows(name), "{name:?}");
        }
    }

    #[test]
    fn a_short_name_is_known_by_its_tilde_and_digit() {
        for (name, short) in
            [("GITHUB~1", true), ("a~12.txt", true), ("~1", true), ("backup~", false), ("a~b", false), ("a", false)]
        {
            assert_eq!(may_be_short(name), short, "{name}");
        }
    }

    #[test]
    fn a_canonical_path_loses_its_prefix_where_it_means_the_same_without() {
        for (given, plain) in [
            (r"\\?\C:\a\b c", Some(r"C:\a\b c")),
            (r"\\?\C:\", Some(r"C:\")),
            (r"\\?\UNC\server\share\a", Some(r"\\server\share\a")),
            (r"\\?\C:\a\con", None),
            (r"\\?\C:\a.\b", None),
            (r"\\?\Volume{1}\a", None),
            (r"C:\a", None),
            ("/a", None),
        ] {
            assert_eq!(without_prefix(given).as_deref(), plain, "{given}");
        }
        assert_eq!(without_prefix(&format!(r"\\?\C:\{}", "a".repeat(300))), None);
    }
}
