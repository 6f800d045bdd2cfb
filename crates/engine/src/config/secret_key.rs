//! The shape of a vendor's key: it never stands in a file, and is never shown.

/// How keys of the known vendors begin.
const KEY_PREFIXES: [&str; 9] = ["sk-", "sk_", "ghp_", "ghs_", "gho_", "github_pat_", "AIza", "gsk_", "xai-"];

/// The shortest text with such a beginning that is taken for a key.
const MIN_KEY_CHARS: usize = 20;

/// Whether a text looks like a vendor's key.
pub(super) fn looks_like_key(text: &str) -> bool {
    let text = text.trim();
    // A word such as `sk-learn` begins like a key, and is too short for one.
    text.len() >= MIN_KEY_CHARS
        && !text.contains(char::is_whitespace)
        && KEY_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}
