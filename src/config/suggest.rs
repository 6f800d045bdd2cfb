//! "Did you mean": the nearest known word to a mistyped one.

/// How far a word may be from another to be taken for a slip, in single-character edits.
const MAX_DISTANCE: usize = 2;

/// A word as it is compared: letters and digits alone, lower case.
pub(super) fn spelled_like(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The nearest of the known words, if any is near enough for its length.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = spelled_like(word);
    let allowed = MAX_DISTANCE.min(word.chars().count() / 3);
    let scored = known.into_iter().map(|candidate| (distance(&word, &spelled_like(candidate)), candidate));
    scored.filter(|&(distance, _)| distance <= allowed).min_by_key(|&(distance, _)| distance).map(|(_, near)| near)
}

/// Edits between two words: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (row, from) in a.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, &to) in b.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&last, column) + usize::from(from != to))
                .min(at(&last, column + 1) + 1)
                .min(at(&current, column) + 1);
            let swapped = column.checked_sub(1).filter(|&left| previous == Some(to) && b.get(left) == Some(&from));
            if let Some(left) = swapped {
                best = best.min(at(&before_last, left) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
        previous = Some(from);
    }
    last.last().copied().unwrap_or(0)
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
        assert_eq!((distance("abc", "acb"), distance("", "ab"), distance("kitten", "sitting")), (1, 2, 3));
    }
}
