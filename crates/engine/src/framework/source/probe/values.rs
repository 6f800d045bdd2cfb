//! Other values in the place of a literal, in families: a program that still looks at what it is given refuses some of them.

use super::super::Language;

/// A family of values. Those of one are alike to a program that means the test's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Signs.
    Signs,
    /// Letters that are not ASCII.
    Letters,
    /// Plain words.
    Words,
    /// The text with another part in the place of this one.
    Part(usize),
    /// The beginning of the text.
    Beginning,
    /// Other numbers.
    Number,
    /// A text that the product made, with a part lost or added.
    Spoilt,
    /// What no program takes for a text or a number. The last one raises an error whenever it is used.
    Foreign,
}

/// Another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its family.
    pub family: Family,
    /// The value as it is written in the language.
    pub written: String,
    /// The test's own value, in whose place it stands, as written.
    pub instead: String,
    /// The place of that among what the call is given, from none.
    pub place: usize,
}

impl Value {
    fn new(family: Family, written: String) -> Self {
        Self { family, written, instead: String::new(), place: 0 }
    }
}

const SIGNS: [&str; 3] = ["=+=", "+!+", "q= q="];
const LETTERS: [&str; 3] = ["é", "ßq", "äö"];
const WORDS: [&str; 3] = ["zzzz", "90210", "Qq"];
const PARTS: [&str; 3] = ["q", "=+", "é"];
const NUMBERS: [&str; 3] = ["-1000003", "1000003", "-7"];
/// Parts of a text that are varied at most.
const MOST_PARTS: usize = 3;
/// A text that is cut has at least so many characters, and none between words: a sum, a key, a token.
const SHORTEST_CUT: usize = 16;

/// The values for a literal. `None` where it is no plain one.
pub(super) fn values(literal: &str, language: Language) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let is_number = literal.parse::<i64>().is_ok();
    // In Rust another number may not fit the type, which does not compile.
    if is_number && language != Language::Rust {
        values.extend(NUMBERS.map(|text| Value::new(Family::Number, text.to_owned())));
    } else {
        let (quote, text) = plain(literal, language)?;
        let mut add = |family, text: &str| values.push(Value::new(family, format!("{quote}{text}{quote}")));
        for (family, texts) in [(Family::Signs, SIGNS), (Family::Letters, LETTERS), (Family::Words, WORDS)] {
            texts.iter().filter(|other| **other != text).for_each(|other| add(family, other));
        }
        for (at, (before, after)) in parts(text).into_iter().take(MOST_PARTS).enumerate() {
            PARTS.iter().for_each(|part| add(Family::Part(at), &format!("{before}{part}{after}")));
        }
        if text.len() >= SHORTEST_CUT && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let cut = [1, 4, text.len() / 2].into_iter().filter_map(|length| text.get(..length));
            cut.for_each(|text| add(Family::Beginning, text));
        }
    }
    // Languages with types refuse these when they compile, so there is nothing to be seen.
    let foreign: &[&str] = match language {
        Language::Python => &["None", "object()", "refusing"],
        Language::JavaScript => &["null", "Symbol('q')", "refusing"],
        // Nothing at all is an empty text there: of a path it leaves the folder above.
        Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => &[],
    };
    values.extend(foreign.iter().map(|text| Value::new(Family::Foreign, (*text).to_owned())));
    Some(values)
}

/// The values for a text that another call makes, each spoilt.
pub(super) fn spoilt(call: &str, language: Language) -> Option<Vec<Value>> {
    let value = |written: String| Value::new(Family::Spoilt, written);
    let cut = match language {
        Language::Python => [format!("({call})[:-1]"), format!("({call})[:-3]")],
        Language::JavaScript => [format!("({call}).slice(0, -1)"), format!("({call}).slice(0, -3)")],
        Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => return None,
    };
    let longer = [format!("({call}) + 'q'"), format!("({call}) + '0q'")];
    Some(cut.into_iter().chain(longer).map(value).collect())
}

/// The quote of a text, and what stands in it.
fn plain(literal: &str, language: Language) -> Option<(char, &str)> {
    let is_quote = |quote: &char| *quote == '"' || (*quote == '\'' && language != Language::Rust);
    let quote = literal.chars().next().filter(is_quote)?;
    let text = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    // A path stays what it is: what would be done to another one nobody knows.
    let is_filled = match language {
        Language::Php => quote == '"' && text.contains('$'),
        Language::Ruby => quote == '"' && text.contains("#{"),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Java | Language::Cpp => {
            false
        }
    };
    let is_plain = !is_filled && !text.contains([quote, '\\', '\n', '/']) && !text.contains("..");
    is_plain.then_some((quote, text))
}

/// What stands before and after each part of a text that has several.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, found) in text.match_indices(is_between).chain([(text.len(), "")]) {
        parts.extend(text.get(..from).zip(text.get(at..)));
        from = at + found.len();
    }
    if parts.len() > 1 { parts } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(literal: &str, language: Language, family: Family) -> Vec<String> {
        let all = values(literal, language).unwrap_or_default();
        all.into_iter().filter(|value| value.family == family).map(|value| value.written).collect()
    }

    #[test]
    fn a_text_has_other_texts_and_parts() {
        assert_eq!(written("\"1,,2\"", Language::Rust, Family::Part(1)), ["\"1,q,2\"", "\"1,=+,2\"", "\"1,é,2\""]);
        assert_eq!(written("'a b'", Language::Python, Family::Part(1)), ["'a q'", "'a =+'", "'a é'"]);
        assert!(written("'ab'", Language::Python, Family::Part(0)).is_empty());
        assert_eq!(written("''", Language::JavaScript, Family::Foreign), ["null", "Symbol('q')", "refusing"]);
        assert_eq!(written("'0123456789abcdef'", Language::Python, Family::Beginning), ["'0'", "'0123'", "'01234567'"]);
        assert!(written("'0123456789-abcdef'", Language::Python, Family::Beginning).is_empty());
    }

    #[test]
    fn what_is_no_plain_value_or_names_a_path_is_left_alone() {
        for literal in ["x", "'a/b'", "'..'", "'a\\n'", "f'a'", "1.5", "[1]", "'a' + 'b'"] {
            assert_eq!(values(literal, Language::Python), None, "{literal}");
        }
        assert_eq!(values("5", Language::Rust), None);
        assert_eq!(values("'a'", Language::Rust), None);
    }
}
