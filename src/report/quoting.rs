//! Words as a shell reads them back (pure).

/// Quotes a word for a POSIX shell; a word that could be taken for an option gets `./` in front.
#[must_use]
pub fn shell_quote(word: &str) -> String {
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | '@' | '%' | ',');
    if !word.is_empty() && word.chars().all(safe) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
