//! Blockers: the things that a model says it is blocked on, and those among them that a forge's API can be asked about (SPEC S4-3).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ci::RepoName;

/// The longest reference that is kept, in characters.
const LONGEST: usize = 120;
/// How many blockers of one report are kept.
pub const MOST_BLOCKERS: usize = 8;

/// The kind of thing that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockerKind {
    /// A pull request that is to be merged.
    PullRequest,
    /// A check that is to pass.
    Check,
    /// An issue that is to be closed.
    Issue,
    /// A secret that is missing.
    Secret,
    /// Somebody has to decide or to do something.
    Person,
    /// A test is wrong.
    Test,
    /// Something else, in the model's own words.
    Other,
}

impl BlockerKind {
    /// Every kind that a model may name, by the word it does so with.
    pub const WORDS: [&'static str; 6] = ["pull_request", "check", "issue", "secret", "person", "test"];

    fn of_word(word: &str) -> Option<Self> {
        // Models spell the words in whichever way.
        Some(match word.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "pull_request" | "pr" | "pull" => Self::PullRequest,
            "check" => Self::Check,
            "issue" => Self::Issue,
            "secret" => Self::Secret,
            "person" => Self::Person,
            "test" => Self::Test,
            _ => return None,
        })
    }
}

/// Something that is in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// The kind of thing.
    pub kind: BlockerKind,
    /// The thing itself in the model's words: a number, a name, an address.
    #[serde(rename = "ref", default)]
    pub reference: String,
}

impl Blocker {
    /// A blocker with the reference cut to its longest.
    #[must_use]
    pub fn new(kind: BlockerKind, reference: &str) -> Self {
        // It goes into comments and reports, and a model may write anything.
        Self { kind, reference: reference.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect() }
    }

    /// A wrong test.
    #[must_use]
    pub fn test() -> Self {
        Self::new(BlockerKind::Test, "")
    }

    /// Reads a text: the kind, then which one (`issue #5`, `pull_request 12`, `test`, the address of a page).
    #[must_use]
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        if let Some(kind) = BlockerKind::of_word(text) {
            return Self::new(kind, "");
        }
        // The longest word first: `pull request #5` begins with a kind of two words.
        let cuts: Vec<usize> = text.match_indices([' ', ':', '#']).map(|(at, _)| at).take(2).collect();
        for at in cuts.into_iter().rev() {
            let (word, rest) = text.split_at(at);
            if let Some(kind) = BlockerKind::of_word(word) {
                return Self::new(kind, rest.trim_start_matches([' ', ':']));
            }
        }
        // An address says its kind by itself.
        match (text.contains("/pull/"), text.contains("/issues/")) {
            (true, _) => Self::new(BlockerKind::PullRequest, text),
            (_, true) => Self::new(BlockerKind::Issue, text),
            (false, false) => Self::new(BlockerKind::Other, text),
        }
    }

    /// Reads what a model gave as the list: texts, objects with `kind` and `ref`, or one of these alone.
    ///
    /// # Errors
    /// The entry that is none of them, in words for the model.
    pub fn read_list(value: &Value) -> Result<Vec<Self>, String> {
        // A single blocker without a list around it is clear enough.
        let list = if let Value::Array(list) = value { list.as_slice() } else { std::slice::from_ref(value) };
        let blockers: Result<Vec<Option<Self>>, String> = list.iter().take(MOST_BLOCKERS).map(Self::read_one).collect();
        Ok(blockers?.into_iter().flatten().collect())
    }

    fn read_one(value: &Value) -> Result<Option<Self>, String> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.trim().is_empty() => Ok(None),
            // Some models encode a list twice; decoding it once more is no guess.
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ Value::Object(_)) => Self::read_one(&inner),
                Ok(_) | Err(_) => Ok(Some(Self::read(text))),
            },
            Value::Object(map) => {
                let word = map.get("kind").and_then(Value::as_str).unwrap_or_default();
                let reference = match map.get("ref") {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Number(number)) => number.to_string(),
                    _ => String::new(),
                };
                Ok(Some(match BlockerKind::of_word(word) {
                    // A word that is no kind may be a whole sentence, which says what it is blocked on.
                    Some(kind) => Self::new(kind, &reference),
                    None => Self::read(&format!("{word} {reference}")),
                }))
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(format!("`blocked_on` contains {value}: each entry must be an object with `kind` and `ref`"))
            }
        }
    }

    /// The number of a pull request or an issue of this repository: `#12`, `12`, or the address of its page (S4-11).
    #[must_use]
    pub fn number_in(&self, repository: &RepoName) -> Option<u64> {
        let text = self.reference.trim();
        if let Ok(number) = text.trim_start_matches('#').parse() {
            return Some(number).filter(|number| *number > 0);
        }
        // `https://github.com/o/r/pull/5` or `o/r#5`.
        let (place, rest) = ["/pull/", "/issues/", "#"].into_iter().find_map(|sign| text.split_once(sign))?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let mut parts = place.trim_end_matches('/').rsplit('/');
        let (name, owner) = (parts.next()?, parts.next()?);
        // Of another repository the token may read nothing, and its numbers mean other things.
        let here = RepoName::parse(&format!("{owner}/{name}")).is_some_and(|named| named.is(repository));
        if here { digits.parse().ok().filter(|number| *number > 0) } else { None }
    }

    /// The same, told by its number alone where it has one here.
    #[must_use]
    pub fn plain_in(&self, repository: &RepoName) -> Self {
        match (self.kind, self.number_in(repository)) {
            (BlockerKind::PullRequest | BlockerKind::Issue, Some(number)) => Self::new(self.kind, &number.to_string()),
            (_, _) => self.clone(),
        }
    }

    /// Whether the API of this repository can be asked whether it is out of the way.
    #[must_use]
    pub fn is_checkable(&self, repository: &RepoName) -> bool {
        match self.kind {
            BlockerKind::PullRequest | BlockerKind::Issue => self.number_in(repository).is_some(),
            BlockerKind::Check => !self.reference.is_empty(),
            BlockerKind::Secret | BlockerKind::Person | BlockerKind::Test | BlockerKind::Other => false,
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = self.reference.trim();
        let numbered = |f: &mut fmt::Formatter<'_>, what: &str| {
            let sign = if reference.parse::<u64>().is_ok() { "#" } else { "" };
            write!(f, "{what} {sign}{reference}")
        };
        let named = |f: &mut fmt::Formatter<'_>, what: &str| {
            if reference.is_empty() { f.write_str(what) } else { write!(f, "{what} {reference}") }
        };
        match self.kind {
            BlockerKind::PullRequest => numbered(f, "pull request"),
            BlockerKind::Issue => numbered(f, "issue"),
            BlockerKind::Check => named(f, "the check"),
            BlockerKind::Secret => named(f, "the secret"),
            BlockerKind::Person => named(f, "a person:"),
            BlockerKind::Test => named(f, "a test"),
            BlockerKind::Other => f.write_str(reference),
        }
    }
}

/// Blockers in a list for people.
#[must_use]
pub fn list(blockers: &[Blocker]) -> String {
    blockers.iter().map(Blocker::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn here() -> RepoName {
        RepoName::parse("acme/shop").unwrap()
    }

    #[test]
    fn a_blocker_is_read_as_models_write_it() {
        for (given, kind, number) in [
            (json!({ "kind": "pull_request", "ref": "12" }), BlockerKind::PullRequest, Some(12)),
            (json!({ "kind": "pull_request", "ref": 12 }), BlockerKind::PullRequest, Some(12)),
            (json!("pull request #12"), BlockerKind::PullRequest, Some(12)),
            (json!("https://github.com/acme/shop/pull/12/files"), BlockerKind::PullRequest, Some(12)),
            (json!({ "kind": "issue", "ref": "acme/shop#5" }), BlockerKind::Issue, Some(5)),
            (json!("issue: 5"), BlockerKind::Issue, Some(5)),
            (json!("{\"kind\": \"issue\", \"ref\": \"#5\"}"), BlockerKind::Issue, Some(5)),
            (json!("https://github.com/other/shop/pull/12"), BlockerKind::PullRequest, None),
            (json!({ "kind": "issue", "ref": "other/shop#5" }), BlockerKind::Issue, None),
            (json!({ "kind": "pull_request", "ref": "the next one" }), BlockerKind::PullRequest, None),
            (json!("test"), BlockerKind::Test, None),
            (json!({ "kind": "weather", "ref": "rain" }), BlockerKind::Other, None),
        ] {
            let read = Blocker::read_list(&given).unwrap();
            let [blocker] = read.as_slice() else { panic!("{given}: {read:?}") };
            assert_eq!((blocker.kind, blocker.number_in(&here())), (kind, number), "{given}");
            assert_eq!(blocker.is_checkable(&here()), number.is_some(), "{given}");
        }
        assert_eq!(Blocker::read_list(&json!([null, " "])), Ok(vec![]));
        assert!(Blocker::read_list(&json!([5])).is_err());
    }

    #[test]
    fn a_check_can_be_asked_about_and_a_person_cannot() {
        assert!(Blocker::read("check lint").is_checkable(&here()));
        assert!(!Blocker::read("check").is_checkable(&here()));
        assert!(!Blocker::read("person ada").is_checkable(&here()));
        assert_eq!(
            list(&[Blocker::read("pr 3"), Blocker::read("check lint"), Blocker::read("secret KEY")]),
            "pull request #3, the check lint, the secret KEY"
        );
    }
}
