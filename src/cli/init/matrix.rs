//! One leg of a job's matrix: the values that stand in the place of its expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

/// Words of values that stand for other systems, and for versions that nobody has released.
const OTHERS: [&str; 13] = [
    "windows",
    "macos",
    "darwin",
    "pypy",
    "graalpy",
    "jruby",
    "truffle",
    "head",
    "nightly",
    "-dev",
    "beta",
    "-ea",
    "experimental",
];

/// The values of one leg, by their names behind `matrix.`.
#[derive(Debug, Default)]
pub(super) struct Leg(BTreeMap<String, String>);

impl Leg {
    /// The leg of a job that is most like upshift's own: Linux, and the newest released versions.
    pub(super) fn of(job: &Value) -> Self {
        let matrix = job.get("strategy").and_then(|strategy| strategy.get("matrix")?.as_mapping());
        let Some(matrix) = matrix else { return Self::default() };
        let mut leg = BTreeMap::new();
        for (name, values) in matrix.iter().filter_map(|(name, values)| Some((name.as_str()?, values.as_sequence()?))) {
            // Both are lists of legs, and no axis of their own.
            if name != "include" && name != "exclude" {
                let texts: Vec<String> = values.iter().filter_map(scalar).collect();
                leg.extend(best(&texts).map(|value| (name.to_owned(), value.clone())));
            }
        }
        let included = matrix.get("include").and_then(Value::as_sequence).into_iter().flatten();
        let included: Vec<BTreeMap<String, String>> = included.filter_map(Value::as_mapping).map(texts_of).collect();
        if leg.is_empty() {
            let described: Vec<String> =
                included.iter().map(|entry| entry.values().cloned().collect::<Vec<_>>().join(" ")).collect();
            // The descriptions are only for choosing, the values are taken from the entry itself.
            let chosen = best(&described).and_then(|text| described.iter().position(|other| other == text));
            leg.extend(chosen.and_then(|at| included.get(at).cloned()).unwrap_or_default());
        } else {
            // One that fits what was chosen adds what it has beside it.
            for entry in included {
                let fits = entry.iter().all(|(name, value)| leg.get(name).is_none_or(|own| own == value));
                // An entry with nothing in common is a leg of its own, by GitHub's rule.
                if fits && entry.keys().any(|name| leg.contains_key(name)) {
                    leg.extend(entry);
                }
            }
        }
        Self(leg)
    }

    /// A text with this leg's values in it. `None` where another expression is in it.
    pub(super) fn fill(&self, text: &str) -> Option<String> {
        let mut known = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}")?;
            known.push_str(before);
            // Any other expression, such as a secret, has no value here, and the text is not taken.
            known.push_str(self.0.get(expression.trim().strip_prefix("matrix.")?)?);
            rest = after;
        }
        Some(known + rest)
    }
}

fn texts_of(entry: &Mapping) -> BTreeMap<String, String> {
    entry.iter().filter_map(|(name, value)| Some((name.as_str()?.to_owned(), scalar(value)?))).collect()
}

/// The best of the values: none of another system or unreleased where there is another, then the highest version, then the first.
fn best(values: &[String]) -> Option<&String> {
    let is_other = |value: &&String| {
        let lower = value.to_lowercase();
        // Python without its global lock is `3.14t`.
        let is_free_threaded = lower.strip_suffix('t').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
        is_free_threaded || OTHERS.iter().any(|word| lower.contains(word))
    };
    let plain: Vec<&String> = values.iter().filter(|value| !is_other(value)).collect();
    // A project for one other system only still gets a leg.
    let from = if plain.is_empty() { values.iter().collect() } else { plain };
    // These names follow the newest release, so they need no comparing.
    if let Some(stable) = from.iter().find(|value| ["stable", "ubuntu-latest"].contains(&value.as_str())) {
        return Some(stable);
    }
    from.into_iter().reduce(|best, value| if by_version(value, best) == Ordering::Greater { value } else { best })
}

/// The order of two values by the numbers in them. Where one has none they are alike.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        // `3.10` is newer than `3.9`, which an order of texts would turn round.
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    // Then the first one stays, which the author put first.
    if a.is_empty() || b.is_empty() { Ordering::Equal } else { a.cmp(&b) }
}

/// A scalar as its text. `None` for anything else.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(matrix: &str, text: &str) -> Option<String> {
        let job = format!("strategy: {{matrix: {matrix}}}");
        Leg::of(&serde_yaml::from_str(&job).unwrap()).fill(text)
    }

    #[test]
    fn a_leg_is_of_linux_and_of_the_newest_released_version() {
        for (matrix, wanted) in [
            ("{v: ['3.9', '3.13', '3.12', pypy3.11, 3.15-dev]}", Some("3.13")),
            ("{v: [24, 22, 20]}", Some("24")),
            ("{v: [nightly, beta, stable, 1.70.0]}", Some("stable")),
            ("{v: [windows-latest, macos-14, ubuntu-22.04]}", Some("ubuntu-22.04")),
            ("{v: [x86_64-pc-windows-msvc]}", Some("x86_64-pc-windows-msvc")),
            ("{include: [{v: '1.14', otp: 25}, {v: '1.18', otp: 27}, {v: '1.19', os: windows-latest}]}", Some("1.18")),
            (
                "{os: [ubuntu-latest, windows-latest], include: [{os: windows-latest, v: 1}, {os: ubuntu-latest, v: 2}]}",
                Some("2"),
            ),
            ("{w: [1]}", None),
            ("'${{ fromJSON(x) }}'", None),
        ] {
            assert_eq!(filled(matrix, "${{ matrix.v }}").as_deref(), wanted, "{matrix}");
        }
        assert_eq!(
            filled("{include: [{v: '1.14', otp: 25}, {v: '1.18', otp: 27}]}", "${{matrix.otp}}").as_deref(),
            Some("27")
        );
        assert_eq!(filled("{v: [1]}", "a-${{ matrix.v }}-${{ github.sha }}"), None);
        assert_eq!(filled("{v: [1]}", "plain").as_deref(), Some("plain"));
    }
}
