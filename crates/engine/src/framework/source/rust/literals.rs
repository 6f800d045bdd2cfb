//! Other literals of the same type, far from a given one.

/// The suffixes of numbers.
const SUFFIXES: [&str; 14] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
/// Whole numbers that every type holds: a literal does not tell its type.
const FAR: [u128; 2] = [113, 11];
/// Below this the first of them is far.
const SMALL: u128 = 62;
/// A number with a fraction.
const FAR_FRACTION: [&str; 2] = ["7919.5", "11.5"];

/// See [`crate::framework::source::Source::altered`].
pub(in super::super) fn altered(literal: &str, word: &str) -> Option<String> {
    match literal {
        "true" => return Some("false".to_owned()),
        "false" => return Some("true".to_owned()),
        _ => {}
    }
    if literal.starts_with(|c: char| c.is_ascii_digit()) {
        return number(literal);
    }
    // Letters and hashes may stand before it: `b"…"`, `r#"…"#`.
    let quote = literal.find(['"', '\''])?;
    let (prefix, rest) = literal.split_at_checked(quote)?;
    if rest.starts_with('\'') {
        let other = if rest == "'q'" { 'z' } else { 'q' };
        return Some(format!("{prefix}'{other}'"));
    }
    let rest = rest.strip_prefix('"')?;
    if prefix.starts_with('b') {
        return bytes(prefix, rest);
    }
    Some(format!("{prefix}\"{word}{rest}"))
}

/// The length of bytes is part of their type: it stays.
fn bytes(prefix: &str, rest: &str) -> Option<String> {
    // An escape stands for one byte in several letters, so a plain first letter alone is exchanged.
    let first = rest.chars().next().filter(|first| first.is_ascii_alphanumeric() || *first == ' ')?;
    let other = if first == 'q' { 'z' } else { 'q' };
    Some(format!("{prefix}\"{other}{}", rest.get(1..)?))
}

fn number(literal: &str) -> Option<String> {
    let plain = literal.replace('_', "").to_ascii_lowercase();
    let radix = match plain.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    // `f32` is made of digits where these have sixteen values.
    let is_suffix = |suffix: &&&str| plain.ends_with(**suffix) && !(radix == 16 && suffix.starts_with('f'));
    let suffix = SUFFIXES.iter().find(is_suffix).copied().unwrap_or_default();
    let digits = plain.strip_suffix(suffix)?;
    let has_fraction = radix == 10 && (digits.contains(['.', 'e']) || suffix.starts_with('f'));
    if has_fraction {
        let value: f64 = digits.parse().ok()?;
        let other = if value < 1_000.0 { FAR_FRACTION[0] } else { FAR_FRACTION[1] };
        return Some(format!("{other}{suffix}"));
    }
    let value = u128::from_str_radix(if radix == 10 { digits } else { digits.get(2..)? }, radix).ok()?;
    let other = if value < SMALL { FAR[0] } else { FAR[1] };
    Some(format!("{other}{suffix}"))
}
