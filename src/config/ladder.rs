//! The ladder: which of the ways of giving it was used, and the tiers it comes to.

/// How a `tiers` text gives the ladder (DESIGN §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TiersSource<'t> {
    /// The file's text itself: it has a newline or starts with `{`.
    Inline(&'t str),
    /// A shorthand ladder: it has ` > ` or ` xN`, or is a resolvable model.
    Shorthand(&'t str),
    /// A path.
    Path(&'t str),
}

/// Tells the ways apart. `is_provider` says whether a name before a `/` is a known provider's.
#[must_use]
pub fn classify_tiers(text: &str, is_provider: impl Fn(&str) -> bool) -> TiersSource<'_> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.contains('\n') || text.starts_with('{') {
        return TiersSource::Inline(text);
    }
    if text.contains(" > ") || text.split_whitespace().skip(1).any(is_count) || is_model(text, is_provider) {
        return TiersSource::Shorthand(text);
    }
    TiersSource::Path(text)
}

/// Whether a word is an iteration count: `x5`.
fn is_count(word: &str) -> bool {
    word.strip_prefix('x').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_model(_text: &str, _is_provider: impl Fn(&str) -> bool) -> bool {
    false
}
