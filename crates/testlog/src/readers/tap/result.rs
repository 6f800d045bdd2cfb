//! One result line of TAP: `not ok 3 - name # TODO why`.

use crate::needle::Seek as _;
use crate::place;
use crate::report::TestStatus;

/// The parts of a result line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TapResult<'a> {
    /// The test's number, when it has one.
    pub(super) number: Option<u64>,
    /// Whether ` - ` stands before the name.
    pub(super) dash: bool,
    /// The name, without number, directive and timing.
    pub(super) name: &'a str,
    pub(super) status: TestStatus,
    /// A TODO that fails as expected.
    pub(super) is_failing_todo: bool,
    /// Vitest's mark that the children follow in braces.
    pub(super) opens: bool,
    /// Vitest's ` # time=1.2ms`.
    pub(super) timed: bool,
}

/// Reads a line without its indentation.
pub(super) fn parse(line: &str) -> Option<TapResult<'_>> {
    let (ok, rest) = match line.strip_prefix("ok") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("not ok")?),
    };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let number = place::leading_number::<u64>(rest);
    let rest = if number.is_some() { rest.trim_start_matches(|digit: char| digit.is_ascii_digit()) } else { rest };
    // Without a number it is TAP only with a dash: sentences start with "ok" too.
    let (dash, text) = match rest.trim_ascii_start().strip_prefix('-') {
        Some(text) if text.is_empty() || text.starts_with(' ') => (true, text.trim_start()),
        _ => (false, rest.trim()),
    };
    if (number.is_none() && !dash) || !(rest.is_empty() || rest.starts_with([' ', '-'])) {
        return None;
    }
    let (text, opens) = text.strip_suffix(" {").map_or((text, false), |text| (text, true));
    let (name, timed, directive) = if memchr::memchr(b'#', text.as_bytes()).is_none() {
        (text.trim_end(), false, None)
    } else {
        without_comment(text)
    };
    let status = match (directive, ok) {
        (Some(_), _) => TestStatus::Skipped,
        (None, true) => TestStatus::Passed,
        (None, false) => TestStatus::Failed,
    };
    let is_failing_todo =
        !ok && directive.is_some_and(|word| !word.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("skip")));
    Some(TapResult { is_failing_todo, number, dash, name, status, opens, timed })
}

/// The name without what stands behind its `#`, whether that was vitest's time, and the directive.
fn without_comment(text: &str) -> (&str, bool, Option<&str>) {
    let (text, timed) = match text.cut_last(" # time=") {
        Some((text, time)) if time.ends_with('s') => (text, true),
        _ => (without_time_comment(text), false),
    };
    let (name, directive) = split_directive(text);
    (without_values(name), timed, directive)
}

/// Words by which a script tells the values of a failure behind the name of its test.
const OF_VALUES: [&str; 6] = ["expected", "got", "want", "wanted", "actual", "received"];

/// Cuts a comment that tells values (`# expected 'c', got ''`): a test that passes has none, and so another name.
fn without_values(text: &str) -> &str {
    let Some((name, comment)) = text.cut(" # ") else { return text };
    let mut words = comment.split(|c: char| !c.is_alphanumeric());
    let is_of_values = words.any(|word| OF_VALUES.iter().any(|one| word.eq_ignore_ascii_case(one)));
    if is_of_values { name.trim_end() } else { text }
}

/// Cuts a comment that only says how long the test took (`# 12ms`, `# in 0.3 sec`, `# (1.2s)`, `# duration_ms 4.1`): a
/// name that differs from run to run names nothing.
fn without_time_comment(text: &str) -> &str {
    let Some((name, comment)) = text.cut_last(" # ") else { return text };
    let mut number = false;
    let is_time = comment.split([' ', '=', '(', ')', ':', ',']).filter(|word| !word.is_empty()).all(|word| {
        let unit = word.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
        number |= unit.len() < word.len();
        let units = ["", "ms", "s", "sec", "secs", "second", "seconds", "µs", "us", "ns", "m", "min"];
        let words = ["in", "took", "time", "duration", "duration_ms", "elapsed"];
        units.contains(&unit) || (unit.len() == word.len() && words.contains(&word))
    });
    if is_time && number { name.trim_end() } else { text }
}

/// Splits ` # SKIP why` and ` # TODO why` off. Any other `#` belongs to the name.
fn split_directive(text: &str) -> (&str, Option<&str>) {
    for (at, _) in text.rmatch_indices('#') {
        let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
        if !(before.is_empty() || before.ends_with(' ')) {
            continue;
        }
        let word = after.trim_start_matches('#').trim_start();
        let is = |wanted: &str| word.get(..wanted.len()).is_some_and(|head| head.eq_ignore_ascii_case(wanted));
        if is("skip") || is("todo") {
            // Busted puts the name behind the directive.
            let name = if before.is_empty() { word.get(4..).unwrap_or_default().trim() } else { before.trim_end() };
            return (name, Some(word));
        }
    }
    (text.trim_end(), None)
}

/// `1..8`: how many tests are planned.
pub(super) fn plan(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("1..")?;
    let count = place::leading_number(rest)?;
    let behind = rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start();
    (behind.is_empty() || behind.starts_with('#')).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_directives_and_sentences_are_told_apart() {
        let name = |line| parse(line).map(|found| (found.name, found.status));
        assert_eq!(name("ok 1 - has # 3 pears"), Some(("has # 3 pears", TestStatus::Passed)));
        assert_eq!(name("not ok 2 - later # TODO soon"), Some(("later", TestStatus::Skipped)));
        assert_eq!(name("ok 3 one # skip"), Some(("one", TestStatus::Skipped)));
        for timing in ["12ms", "in 0.3 sec", "(1.2s)", "duration_ms 4.1", "time=0.2 seconds"] {
            let line = format!("ok 4 - one # {timing}");
            let found = parse(&line).unwrap();
            assert_eq!((found.name, found.status), ("one", TestStatus::Passed), "{timing}");
        }
        assert_eq!(name("ok 4 - one # of 3 s"), Some(("one # of 3 s", TestStatus::Passed)));
        let values = "not ok 5 - a copy # expected 'c', got ''";
        assert_eq!(name(values), Some(("a copy", TestStatus::Failed)));
        assert_eq!(name("not ok - without number"), Some(("without number", TestStatus::Failed)));
        assert_eq!(name("ok then, let us start"), None);
        assert_eq!(name("okay"), None);
        assert_eq!(plan("1..8"), Some(8));
        assert_eq!(plan("1..0 # SKIP no perl"), Some(0));
        assert_eq!(plan("1..8 of them"), None);
    }
}
