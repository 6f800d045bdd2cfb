//! "Did you mean": the nearest known word to a mistyped one.

use strsim::osa_distance;

/// How far a word may be from another to be taken for a slip, in single-character edits.
const MAX_DISTANCE: usize = 2;

/// A word as it is compared: letters and digits alone, lower case.
pub(super) fn spelled_like(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a word is another that was mistyped.
pub(super) fn is_slip(word: &str, meant: &str) -> bool {
    let word = spelled_like(word);
    osa_distance(&word, &spelled_like(meant)) <= allowed(&word)
}

fn allowed(word: &str) -> usize {
    // A slip in a word of three letters is a third of it. Two edits there would fit almost any word.
    MAX_DISTANCE.min(word.chars().count() / 3)
}

/// The fewest letters by which the beginning of a word tells it.
const SHORTEST_BEGINNING: usize = 4;

/// The nearest of the known words, if any is near enough for its length. Else the only one that begins with it.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = spelled_like(word);
    let allowed = allowed(&word);
    let known: Vec<&str> = known.into_iter().collect();
    let scored = known.iter().map(|candidate| (osa_distance(&word, &spelled_like(candidate)), *candidate));
    // Of equals the first one is taken, which is the order of the documentation.
    let near = scored.filter(|&(distance, _)| distance <= allowed).min_by_key(|&(distance, _)| distance);
    // Somebody who writes only the beginning means that word, if no other begins so.
    let mut longer = known.iter().filter(|candidate| spelled_like(candidate).starts_with(&word));
    let whole = longer.next().filter(|_| word.chars().count() >= SHORTEST_BEGINNING && longer.next().is_none());
    near.map(|(_, near)| near).or(whole.copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        let known = ["maxIterations", "maxCostUsd", "mode", "name", "timeoutSeconds"];
        for (typed, meant) in [
            ("maxIteration", Some("maxIterations")),
            ("max_iterations", Some("maxIterations")),
            ("maxCostUSD", Some("maxCostUsd")),
            ("mdoe", Some("mode")),
            ("nmae", Some("name")),
            ("timeout", Some("timeoutSeconds")),
            ("tim", None),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
