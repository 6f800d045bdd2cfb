//! Words as a POSIX shell reads them back.

/// Quotes a word, if it needs that.
#[must_use]
pub fn quote(word: &str) -> String {
    // Without `~`, which a shell replaces at the beginning of a word.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        // Inside single quotes only the quote itself means something: it is left, escaped and entered again.
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Quotes a path: one that could be taken for an option gets `./` in front.
#[must_use]
pub fn quote_path(path: &str) -> String {
    // No quotes keep a program from reading it as an option.
    if path.starts_with('-') { quote(&format!("./{path}")) } else { quote(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        for (word, quoted) in [
            (".upshift/audit.db", ".upshift/audit.db"),
            ("my audit.db", "'my audit.db'"),
            ("it's; rm -rf $HOME `x`", r"'it'\''s; rm -rf $HOME `x`'"),
            ("--jobs=2", "--jobs=2"),
            ("", "''"),
        ] {
            assert_eq!(quote(word), quoted);
        }
        assert_eq!((quote_path("-init.db"), quote_path("a b")), ("./-init.db".to_owned(), "'a b'".to_owned()));
    }
}
