//! Other literals of the same type, far from a given one.

/// Whole numbers that every type holds: a constant does not tell its type. The first is far from small ones.
const FAR: [&str; 2] = ["113", "11"];
/// Below this a number is small.
const SMALL: f64 = 62.0;

/// See [`crate::framework::source::Source::altered`].
pub(in super::super) fn altered(literal: &str, word: &str) -> Option<String> {
    match literal {
        "true" => return Some("false".to_owned()),
        "false" => return Some("true".to_owned()),
        // The rune that all others become has to become another one itself.
        "'q'" => return Some("'z'".to_owned()),
        _ => {}
    }
    match literal.chars().next()? {
        quote @ ('"' | '`') => Some(format!("{quote}{word}{}", literal.get(1..)?)),
        '\'' => Some("'q'".to_owned()),
        _ => number(literal),
    }
}

fn number(literal: &str) -> Option<String> {
    let plain = literal.replace('_', "").to_ascii_lowercase();
    let with_radix = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some(u64::from_str_radix(plain.strip_prefix(prefix)?, radix)));
    let is_small = match with_radix {
        // A number that does not fit is large.
        Some(value) => value.is_ok_and(|value| value < 62),
        None => plain.parse::<f64>().ok()? < SMALL,
    };
    let [large, little] = FAR;
    Some(if is_small { large } else { little }.to_owned())
}
