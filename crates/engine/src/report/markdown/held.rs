//! Blockers that a run waits for, in the hidden line of its comment. A later job reads them before it spends anything.

use crate::domain::blocker::{Blocker, BlockerKind};
use crate::domain::units::CommitSha;

/// The most characters of the encoded blockers. Longer ones are left out, so the comment alone never shows that they are out of the way.
const ROOM: usize = 190;

/// The blockers in a run's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The commit whose checks count.
    pub commit: CommitSha,
    /// The blockers. Empty where they did not fit.
    pub on: Vec<Blocker>,
}

impl Held {
    /// Letters, digits and dots.
    pub(super) fn encoded(&self) -> String {
        let entry = |blocker: &Blocker| {
            let hex = || hex::encode(&blocker.reference);
            match blocker.kind {
                BlockerKind::PullRequest => Some(format!("p{}", blocker.reference)),
                BlockerKind::Issue => Some(format!("i{}", blocker.reference)),
                BlockerKind::Check => Some(format!("c{}", hex())),
                // No later job could see by itself that one of these is out of the way.
                BlockerKind::Secret | BlockerKind::Person | BlockerKind::Test | BlockerKind::Other => None,
            }
        };
        // All or none: of a part of the blockers a job would think that the way is free.
        let entries: Option<Vec<String>> = self.on.iter().map(entry).collect();
        let text = entries.unwrap_or_default().join(".");
        if text.len() > ROOM { String::new() } else { text }
    }

    pub(super) fn decoded(commit: &str, on: &str) -> Self {
        let on: Option<Vec<Blocker>> = on.split('.').filter(|entry| !entry.is_empty()).map(of_entry).collect();
        Self { commit: CommitSha(commit.to_owned()), on: on.unwrap_or_default() }
    }
}

fn of_entry(entry: &str) -> Option<Blocker> {
    let mut chars = entry.chars();
    let (kind, rest) = (chars.next()?, chars.as_str());
    // Read as a number and written anew: it goes into an address of GitHub's API.
    let number = || rest.parse::<u64>().ok().map(|number| number.to_string());
    Some(match kind {
        'p' => Blocker::new(BlockerKind::PullRequest, &number()?),
        'i' => Blocker::new(BlockerKind::Issue, &number()?),
        'c' => Blocker::new(BlockerKind::Check, &of_hex(rest)?),
        _ => return None,
    })
}

fn of_hex(text: &str) -> Option<String> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect();
    let digits = digits?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_read_again_and_what_does_not_fit_is_nothing() {
        let commit = CommitSha("c0ffee".to_owned());
        let on = vec![Blocker::read("pr 12"), Blocker::read("issue 5"), Blocker::read("check lint / 日本 (a=b)")];
        let held = Held { commit: commit.clone(), on };
        let text = held.encoded();
        assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'), "{text}");
        assert_eq!(Held::decoded("c0ffee", &text), held);
        let long = Held { commit, on: vec![Blocker::new(BlockerKind::Check, &"x".repeat(110))] };
        assert_eq!(long.encoded(), "");
        assert_eq!(Held::decoded("c0ffee", "p12.x").on, [], "half of it is not waited for");
        assert_eq!(Held::decoded("c0ffee", "").on, []);
    }
}
