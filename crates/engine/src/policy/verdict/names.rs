//! Names of tests that are written otherwise from run to run.

use std::collections::BTreeMap;

/// The forms of names that hold a time, each with how many names have it.
pub(super) fn forms<'n>(names: impl Iterator<Item = &'n String>) -> BTreeMap<String, usize> {
    let mut forms = BTreeMap::new();
    for form in names.filter_map(|name| clockless(name)) {
        *forms.entry(form).or_default() += 1;
    }
    forms
}

/// The form of a name that holds a time (`test_parse[11-29-2026 20:45:03]`), which differs from run to run: each number is one sign. `None` for
/// a name with fewer digits than a time has.
pub(super) fn clockless(name: &str) -> Option<String> {
    const DIGITS_OF_A_TIME: usize = 6;
    let is_digit = |letter: char| letter.is_ascii_digit();
    if name.chars().filter(|letter| is_digit(*letter)).count() < DIGITS_OF_A_TIME {
        return None;
    }
    let mut form = String::with_capacity(name.len());
    for letter in name.chars() {
        match is_digit(letter) {
            true if form.ends_with('#') => {}
            true => form.push('#'),
            false => form.push(letter),
        }
    }
    Some(form)
}

/// A test's name without what an edit elsewhere may change: a doctest's line number.
pub(super) fn stable_name(name: &str) -> String {
    match name.rsplit_once(" (line ") {
        Some((item, line)) if line.trim_end_matches(')').bytes().all(|byte| byte.is_ascii_digit()) => item.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

/// The test that a part belongs to, by unittest's names: `test_a (m.C.test_a) (row=1)`, `test_a (m.C.test_a) [message]`.
pub(super) fn whole_of_part(name: &str) -> Option<&str> {
    let end = name.find(") (").or_else(|| name.find(") ["))?;
    let whole = name.get(..=end)?;
    whole.contains(" (").then_some(whole)
}
