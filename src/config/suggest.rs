//! "Did you mean": the nearest known word to a mistyped one.

use strsim::osa_distance;

/// How far a word may be from another to be taken for a slip, in single-character edits.
const MAX_DISTANCE: usize = 2;

/// A word as it is compared: letters and digits alone, lower case.
pub(super) fn spelled_like(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The nearest of the known words, if any is near enough for its length.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = spelled_like(word);
    let allowed = MAX_DISTANCE.min(word.chars().count() / 3);
    let scored = known.into_iter().map(|candidate| (osa_distance(&word, &spelled_like(candidate)), candidate));
    scored.filter(|&(distance, _)| distance <= allowed).min_by_key(|&(distance, _)| distance).map(|(_, near)| near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        let known = ["maxIterations", "maxCostUsd", "mode", "name"];
        for (typed, meant) in [
            ("maxIteration", Some("maxIterations")),
            ("max_iterations", Some("maxIterations")),
            ("maxCostUSD", Some("maxCostUsd")),
            ("mdoe", Some("mode")),
            ("nmae", Some("name")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
