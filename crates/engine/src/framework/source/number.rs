//! Numbers far from others, written as a person would write them: what reads a test's own text must not tell them apart.

/// How far an altered number lies from what was expected.
pub(super) const FAR: u32 = 7_919;
/// Above this, a sum may be lost in a float's precision, or be none of the literal's type.
const MOST: u64 = 1_000_000_000_000;

/// Another plain decimal number, far from the given one. `None` for other notations.
pub(super) fn far(literal: &str) -> Option<String> {
    let (whole, fraction) = match literal.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (literal, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, number) = whole.strip_prefix('-').map_or(("", whole), |number| ("-", number));
    // A leading zero means octal in some languages.
    let plain = digits(number) && fraction.is_none_or(digits) && (number == "0" || !number.starts_with('0'));
    let number: u64 = number.parse().ok().filter(|number| plain && *number <= MOST)?;
    let far = number + u64::from(FAR);
    Some(fraction.map_or_else(|| format!("{sign}{far}"), |fraction| format!("{sign}{far}.{fraction}")))
}

#[cfg(test)]
mod tests {
    use super::far;

    #[test]
    fn plain_numbers_stay_plain_and_others_are_left_to_their_language() {
        let cases = [("6", "7925"), ("-1", "-7920"), ("0", "7919"), ("1.50", "7920.50"), ("-0.5", "-7919.5")];
        for (literal, other) in cases {
            assert_eq!(far(literal).as_deref(), Some(other));
        }
        for literal in ["0x1f", "017", "1e9", "1_000", "5u8", "1.", ".5", "3j", "99999999999999"] {
            assert_eq!(far(literal), None, "{literal}");
        }
    }
}
