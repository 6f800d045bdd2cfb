//! Other values in a test's calls: one or two more in each list of plain values, one letter more in each plain word.
//!
//! Pure over text, so that one file serves all languages: what is a list of literals looks alike in all of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::edit::Edit;

/// The end at which a value grows. A product that depends on the first value, or on the last, still shows it at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Behind the last value.
    Behind,
    /// Before the first one.
    Before,
    /// At both ends: another look where answers that differ may have met by chance.
    Both,
}

/// Two or more numbers, or texts, between brackets and nothing else.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static LISTS: LazyLock<Regex> = LazyLock::new(|| {
    let list = |value: &str| format!(r"[\[{{]\s*{value}(?:\s*,\s*{value})+\s*[\]}}]");
    let kinds = [r"\d+(?:\.\d+)?", r#""[^"\\\n]+""#, r"'[^'\\\n]+'"].map(list);
    Regex::new(&kinds.join("|")).unwrap()
});
/// One word of ASCII letters in quotes.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WORDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""[A-Za-z]{2,}"|'[A-Za-z]{2,}'"#).unwrap());

/// The edits that give a test other inputs: all lists grow, and where there is none all words that `is_free` does not deny. Nothing in
/// `kept` changes. A word that also stands outside of all `bodies` is the tests' data (a fixture that they look it up in): it grows there,
/// too, or every other word would be an unknown one. Empty where there is nothing to vary.
pub(super) fn other_inputs(
    text: &str,
    (body, bodies): (&Range<usize>, &[Range<usize>]),
    kept: &[Range<usize>],
    side: Side,
    is_free: &dyn Fn(&str) -> bool,
) -> Vec<Edit> {
    let inside = text.get(body.clone()).unwrap_or_default();
    let is_kept = |range: &Range<usize>| kept.iter().any(|kept| kept.start < range.end && range.start < kept.end);
    let found = |pattern: &Regex| -> Vec<Range<usize>> {
        let ranges = pattern.find_iter(inside).map(|found| body.start + found.start()..body.start + found.end());
        ranges.filter(|range| !is_kept(range)).collect()
    };
    let lists: Vec<Edit> = found(&LISTS).iter().filter_map(|range| longer_list(text, range, side)).collect();
    if !lists.is_empty() {
        return lists;
    }
    let inner = |range: &Range<usize>| text.get(range.start + 1..range.end.saturating_sub(1));
    // `parse('flag').flag` asks for a part by the word: another word is another part, of which the test says nothing.
    let is_member = |range: &Range<usize>| inner(range).is_some_and(|word| names_member(inside, word));
    let words: Vec<Range<usize>> = found(&WORDS).into_iter().filter(|range| !is_member(range)).collect();
    let varied: BTreeSet<&str> = words.iter().filter_map(inner).collect();
    let outside = WORDS.find_iter(text).map(|found| found.range());
    let outside = outside.filter(|range| !bodies.iter().any(|body| body.start < range.end && range.start < body.end));
    let data = outside.filter(|range| inner(range).is_some_and(|word| varied.contains(word)));
    let all: Vec<Range<usize>> = words.iter().cloned().chain(data).collect();
    all.iter().filter_map(|range| longer_word(text, range, side, is_free)).collect()
}

/// Whether a text names a member of something by a word: `.flag`.
fn names_member(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).is_some_and(|before| before.ends_with('.'));
        let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
        before && behind.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
    })
}

fn longer_list(text: &str, range: &Range<usize>, side: Side) -> Option<Edit> {
    let list = text.get(range.clone())?;
    let values: Vec<&str> = list.get(1..list.len() - 1)?.split(',').map(str::trim).collect();
    // Zero is a case of its own, and so are values that hold a comma.
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    let more = match (side, &numbers) {
        (_, Some(numbers)) if numbers.contains(&0.0) => return None,
        // The last value once more: one of the same kind and size that every product takes.
        (Side::Behind | Side::Both, _) => (*values.last()?).to_owned(),
        (Side::Before, Some(numbers)) => {
            // Above the largest, so that neither a maximum nor an order by size stays as it is.
            let largest = values.get(numbers.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1))?.0)?;
            let more = one_more(largest)?;
            // Two, so that a length which the first one happens to make even, or full, is not both times so.
            format!("{}, {more}", one_more(&more)?)
        }
        (Side::Before, None) => {
            let first = *values.first()?;
            let (quote, rest) = first.split_at_checked(1)?;
            rest.ends_with(quote).then(|| format!("{quote}qq{rest}, {quote}q{rest}"))?
        }
    };
    Some(match side {
        Side::Behind => {
            Edit::insert(range.start + list.trim_end_matches([']', '}']).trim_end().len(), format!(", {more}"))
        }
        Side::Before => Edit::insert(range.start + 1, format!("{more}, ")),
        Side::Both => {
            let (first, inside) = (values.first()?, list.get(1..)?);
            let text = format!("{}{first}, {}", list.get(..1)?, inside.trim_end_matches([']', '}']).trim_end());
            Edit { range: range.clone(), text: format!("{text}, {more}{}", list.get(list.len() - 1..)?) }
        }
    })
}

/// A number above this one, written alike.
fn one_more(number: &str) -> Option<String> {
    let (whole, rest) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let more = whole.parse::<u64>().ok()?.checked_add(1)?;
    Some(rest.map_or_else(|| more.to_string(), |rest| format!("{more}.{rest}")))
}

fn longer_word(text: &str, range: &Range<usize>, side: Side, is_free: &dyn Fn(&str) -> bool) -> Option<Edit> {
    let word = text.get(range.start + 1..range.end - 1)?;
    if !is_free(word) {
        return None;
    }
    match side {
        Side::Behind => Some(Edit::insert(range.end - 1, "q".to_owned())),
        Side::Before => {
            let begins = word.chars().next()?;
            // `Anna` becomes `Qanna`: a product that looks at capitals sees the same kind of word.
            let capital = begins.is_ascii_uppercase() && word.chars().skip(1).all(|c| c.is_ascii_lowercase());
            let text = if capital { format!("Q{}", begins.to_ascii_lowercase()) } else { format!("q{begins}") };
            Some(Edit { range: range.start + 1..range.start + 2, text })
        }
        Side::Both => {
            Some(Edit { range: range.start + 1..range.end - 1, text: format!("q{}q", word.to_ascii_lowercase()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn varied(text: &str, side: Side) -> String {
        let whole = 0..text.len();
        let edits = other_inputs(text, (&whole, std::slice::from_ref(&whole)), &[], side, &|word| word != "admin");
        apply(text, &edits).expect("a text")
    }

    #[test]
    fn lists_grow_at_either_end() {
        assert_eq!(varied("total([1, 2, 3])", Side::Behind), "total([1, 2, 3, 3])");
        assert_eq!(varied("total([1, 2, 3])", Side::Before), "total([5, 4, 1, 2, 3])");
        assert_eq!(varied("median([9, 1, 5])", Side::Both), "median([9, 9, 1, 5, 5])");
        assert_eq!(varied("f(&[1.5, 0.5 ])", Side::Both), "f(&[1.5, 1.5, 0.5, 0.5])");
        assert_eq!(varied("greet('Ada')", Side::Both), "greet('qadaq')");
        assert_eq!(varied("Total([]int{5, 2})", Side::Before), "Total([]int{7, 6, 5, 2})");
        assert_eq!(varied("f(&[1.5, 0.5 ])", Side::Before), "f(&[3.5, 2.5, 1.5, 0.5 ])");
        assert_eq!(varied("f(&[1.5, 0.5 ])", Side::Behind), "f(&[1.5, 0.5, 0.5 ])");
        assert_eq!(varied("f(['b', 'a'], 'c')", Side::Before), "f(['qqb', 'qb', 'b', 'a'], 'c')");
    }

    #[test]
    fn a_word_of_the_tests_data_grows_with_it() {
        let text = "ONE = ['spins', 'spin']\ndef test_a(): f('spins')\ndef test_b(): f('spins')\n";
        let body = |name: &str| {
            let start = text.find(name).expect("there");
            start..start + text.get(start..).and_then(|rest| rest.find('\n')).expect("a line")
        };
        let bodies = [body("test_a"), body("test_b")];
        let edits = other_inputs(text, (&bodies[0], &bodies), &[], Side::Behind, &|_| true);
        let wanted = "ONE = ['spinsq', 'spin']\ndef test_a(): f('spinsq')\ndef test_b(): f('spins')\n";
        assert_eq!(apply(text, &edits).as_deref(), Some(wanted));
    }

    #[test]
    fn words_grow_where_there_is_no_list_and_what_is_special_stays() {
        assert_eq!(varied("greet('Ada')", Side::Behind), "greet('Adaq')");
        assert_eq!(varied("greet(\"Ada\")", Side::Before), "greet(\"Qada\")");
        assert_eq!(varied("greet('ada', 'admin')", Side::Before), "greet('qada', 'admin')");
        for text in
            ["f([0, 1])", "f([])", "f([1])", "f(1, 2)", "a[1]", "f('')", "f('ada').ada", "f('a b')", "f('2024-01-01')"]
        {
            assert_eq!(varied(text, Side::Behind), text);
        }
        let whole = 0..14;
        let kept = other_inputs(
            "f('Ada', 'Bo')",
            (&whole, std::slice::from_ref(&whole)),
            &[Range { start: 9, end: 13 }],
            Side::Behind,
            &|_| true,
        );
        assert_eq!(kept.len(), 1);
    }
}
