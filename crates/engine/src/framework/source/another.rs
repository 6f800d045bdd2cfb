//! A test whose call is made once more with another key: whether the product passes that one on to the functions that it was given, or answers
//! what it answered before without a word to them. The test fails with a short code of it.

use std::ops::Range;

use super::edit::Edit;
use super::probe::{Call, calls};
use super::{Language, Source, TestBody};

/// What became of another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PassedOn {
    /// A function of the test got it.
    Yes,
    /// No function of the test got it, one got the test's own key, and the answer is the same.
    No,
}

/// Looks for the key in the calls of functions of the test's file, and of mocks.
const PYTHON: &str = r"
import sys
def main(word, other, function, *given, **named):
    path, key, kept = sys._getframe(1).f_code.co_filename, word[1], sys.getprofile()
    seen = {key: False, other: False}
    def note(one):
        if type(one) is type(other) and one in seen:
            seen[one] = True
        elif type(one) is tuple:
            for part in one:
                note(part)
    def look(frame, event, of):
        own = frame.f_code.co_filename
        if event == 'call' and (own == path or own.endswith('mock.py')):
            for one in list(frame.f_locals.values()):
                note(one)
    code = 'X'
    sys.setprofile(look)
    try:
        first = function(*given, **named)
    finally:
        sys.setprofile(kept)
    sys.setprofile(look)
    try:
        second = function(*[other if type(one) is type(other) and one == key else one for one in given], **named)
        code = 'N' if seen[key] and type(second) is type(first) and second == first else 'X'
    except Exception:
        pass
    finally:
        sys.setprofile(kept)
    raise AssertionError('~' + word[0] + '=' + ('E' if seen[other] else code) + '~')
";

/// The same by what the functions tell that a test passes on.
const SCRIPT: &str = "((own, another, key, other) => { const seen = globalThis.WORDS ??= []; seen.length = 0; const first = own(); let code = \"X\"; \
    try { const second = another(); const waits = second && typeof second.then === \"function\"; \
    if (!seen.includes(key)) code = \"X\"; else if (Object.is(second, first) || (!waits && JSON.stringify(second) === JSON.stringify(first))) code = \"N\"; } catch {} \
    throw new Error(\"~\" + \"ONE\" + \"TWO=\" + (seen.includes(other) ? \"E\" : code) + \"~\"); })";

/// A function that tells what it is called with.
const TELLS: &str = "((call) => typeof call === \"function\" ? function (...given) { (globalThis.WORDS ??= []).push(...given); \
    return Reflect.apply(call, this, given); } : call)";

impl Source {
    /// The edits that have a test ask for another key behind its own. `None` where no call of it has one.
    #[must_use]
    pub fn asks_for_another(&self, test: &TestBody, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Vec<Edit>> {
        let calls = self.outermost(calls(&self.text, &test.body, self.language, is_meant));
        let (call, key, other) = calls.iter().find_map(|call| {
            let key = |range: &Range<usize>| Some((range.clone(), another(self.text.get(range.clone())?)?));
            let (key, other) = call.arguments.iter().find_map(key)?;
            // The codes are told by a call that ends at once. An awaited one would be compared as two promises.
            (!call.is_awaited).then_some((call, key, other))
        })?;
        // In two halves, so that a runner which prints the test's source does not print the whole word.
        let (one, two) = word.split_at_checked(word.len() / 2)?;
        let edits = match self.language {
            Language::Python => vec![self.in_python(call, (&key, &other), (one, two))?],
            Language::JavaScript => self.in_script(test, call, (&key, &other), (one, two))?,
            Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
                return None;
            }
        };
        // An edited text that does not parse would fail for a reason of its own, and seem to be an answer.
        self.edited(&edits)?;
        Some(edits)
    }

    fn in_python(&self, call: &Call, (key, other): (&Range<usize>, &str), (one, two): (&str, &str)) -> Option<Edit> {
        let (function, _) = self.text.get(call.range.clone())?.split_once('(')?;
        let own = self.text.get(key.clone())?;
        let code = PYTHON.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let caller = format!("(lambda space: (exec(\"{code}\", space), space['main'])[1])({{}})");
        let range = call.range.start..call.range.start + function.len() + 1;
        Some(Edit { range, text: format!("{caller}(('{one}' + '{two}', {own}), {other}, {function}, ") })
    }

    fn in_script(
        &self,
        test: &TestBody,
        call: &Call,
        (key, other): (&Range<usize>, &str),
        (one, two): (&str, &str),
    ) -> Option<Vec<Edit>> {
        let (before, behind) = (self.text.get(call.range.start..key.start)?, self.text.get(key.end..call.range.end)?);
        let own = self.text.get(key.clone())?;
        let word = format!("{one}{two}");
        let script = SCRIPT.replace("ONE", one).replace("TWO", two).replace("WORDS", &word);
        let tells = TELLS.replace("WORDS", &word);
        let mut edits = vec![
            Edit::insert(call.range.start, format!("{script}(() => ")),
            Edit::insert(call.range.end, format!(", () => {before}{other}{behind}, {own}, {other})")),
        ];
        // The functions of the test have to tell what they get, or nobody sees which key arrives.
        for range in self.functions_passed_on(test, true) {
            edits.push(Edit::insert(range.start, format!("{tells}(")));
            edits.push(Edit::insert(range.end, ")".to_owned()));
        }
        Some(edits)
    }
}

/// Another key of the same kind. `None` for what is no plain text or number.
fn another(literal: &str) -> Option<String> {
    if let Ok(number) = literal.parse::<u32>() {
        // Far from any number that the test or the product is likely to know.
        return Some((u64::from(number) + 1_000_003).to_string());
    }
    let quote = literal.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let text = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    is_plain.then(|| format!("{quote}{text}q{quote}"))
}

/// What became of the other key in a run's output. `None` where nothing is told, or neither.
#[must_use]
pub fn passed_on(output: &str, word: &str) -> Option<PassedOn> {
    let (_, rest) = output.split_once(&format!("~{word}="))?;
    match rest.get(..2)? {
        "E~" => Some(PassedOn::Yes),
        "N~" => Some(PassedOn::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(path: &str, text: &str) -> Option<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let edits = source.asks_for_another(&source.tests()[0], &|name| name == "rate", "word")?;
        source.edited(&edits)
    }

    #[test]
    fn a_key_is_asked_for_behind_the_tests_own() {
        let python = edited("test_a.py", "def test_a():\n    assert rates.rate('EUR') == rates.rate('EUR')\n");
        assert!(python.expect("a key").contains("(('wo' + 'rd', 'EUR'), 'EURq', rates.rate, 'EUR')"));
        let script = "test('a', () => { const load = jest.fn(); const table = rates(load, () => 3); table.rate(7, 'a'); expect(load).toBe(1); });\n";
        let script = edited("a.test.js", script).expect("a key");
        assert!(script.contains("(() => table.rate(7, 'a'), () => table.rate(1000010, 'a'), 7, 1000010);"), "{script}");
        assert_eq!(script.matches("(globalThis.word ??= []).push").count(), 2, "{script}");
        for text in ["def test_a():\n    assert rate(key)\n", "def test_a():\n    assert other('a')\n"] {
            assert_eq!(edited("test_a.py", text), None, "{text}");
        }
    }

    #[test]
    fn only_a_whole_code_is_read() {
        assert_eq!(passed_on("E   AssertionError: ~word=E~", "word"), Some(PassedOn::Yes));
        assert_eq!(passed_on("Error: ~word=N~\n", "word"), Some(PassedOn::No));
        assert_eq!(passed_on("~word=X~", "word"), None);
        assert_eq!(passed_on("~other=N~", "word"), None);
    }
}
