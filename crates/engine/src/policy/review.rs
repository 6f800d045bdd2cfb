//! A critic's issues: how each is read, and when they overrule its own approval (S0-33).

use serde_json::Value;

use crate::domain::review::{Issue, IssueKind, Review, ReviewVerdict, Severity};

/// The most characters before an issue's text in which its severity and kind are looked for.
const MOST_LABEL: usize = 40;

/// A review as it counts: an approval that names a critical logic or security issue is none.
#[must_use]
pub fn review(verdict: ReviewVerdict, summary: &str, issues: &[String]) -> Review {
    let issues: Vec<Issue> = issues.iter().map(|issue| read(issue)).collect();
    let overruled = verdict == ReviewVerdict::Approve && issues.iter().any(forces_reject);
    Review { verdict, overruled, summary: summary.to_owned(), issues }
}

/// Whether a change must not stand with this issue. A critical one of no named kind counts: the critic chose the word.
#[must_use]
pub fn forces_reject(issue: &Issue) -> bool {
    issue.severity == Some(Severity::Critical) && issue.kind != Some(IssueKind::Other)
}

/// An issue as critics write them: `critical security: …`, `[Minor] …`, `**Critical** (logic) - …`, or an object with such fields.
#[must_use]
pub fn read(issue: &str) -> Issue {
    let text = issue.trim();
    if let Some(found) = of_object(text) {
        return found;
    }
    let label = label(text);
    let (severity, kind) = label.map(|(label, _)| words_of(label)).unwrap_or_default();
    let said = match label {
        Some((_, rest)) if severity.is_some() || kind.is_some() => rest,
        Some(_) | None => text,
    };
    Issue { severity, kind, said: said.to_owned() }
}

fn of_object(text: &str) -> Option<Issue> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return None };
    let field = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str());
    let said = field(&["description", "message", "text", "issue", "said", "summary", "title"]);
    let (severity, _) = words_of(field(&["severity", "level", "priority"]).unwrap_or_default());
    let (_, kind) = words_of(field(&["kind", "category", "type"]).unwrap_or_default());
    let place = field(&["file", "path", "location"]).map(|place| format!("{place}: ")).unwrap_or_default();
    // An object without a known field is kept whole, so that nothing a critic says is lost.
    Some(Issue { severity, kind, said: said.map_or_else(|| text.to_owned(), |said| format!("{place}{said}")) })
}

/// The label that an issue begins with and the text behind it. `None` where it begins with no label.
fn label(text: &str) -> Option<(&str, &str)> {
    let mark = |c: char| matches!(c, ':' | ']' | '-' | '–' | '—' | '|');
    let split = text.char_indices().take(MOST_LABEL).filter(|(at, c)| mark(*c) && *at > 0);
    let labelled = |at: usize| {
        let (label, rest) = text.split_at_checked(at)?;
        // Every word has to be known: `this is critical: b is lost` is a sentence, and `not critical: …` the
        // opposite.
        let is_label = label.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).all(is_known);
        let rest = rest.trim_start_matches(|c: char| mark(c) || c.is_whitespace() || matches!(c, '*' | ')' | '_'));
        (is_label && !rest.is_empty()).then_some((label, rest))
    };
    // The longest label: `[critical] security: …` has two marks.
    split.filter_map(|(at, _)| labelled(at)).last()
}

fn is_known(word: &str) -> bool {
    const FILLING: [&str; 8] = ["issue", "severity", "error", "bug", "level", "risk", "and", "kind"];
    let word = word.to_ascii_lowercase();
    severity_of(&word).is_some() || kind_of(&word).is_some() || FILLING.contains(&word.as_str())
}

fn words_of(label: &str) -> (Option<Severity>, Option<IssueKind>) {
    let words: Vec<String> = label.split(|c: char| !c.is_alphabetic()).map(str::to_ascii_lowercase).collect();
    // `major/critical` counts as the worse of the two: an issue is rather taken too seriously.
    let severity = words.iter().filter_map(|word| severity_of(word)).max();
    let kinds: Vec<IssueKind> = words.iter().filter_map(|word| kind_of(word)).collect();
    // `tests, security` is about security: the weightier kind must not hide behind the other.
    let kind = kinds.iter().copied().find(|kind| *kind != IssueKind::Other).or_else(|| kinds.first().copied());
    (severity, kind)
}

fn severity_of(word: &str) -> Option<Severity> {
    Some(match word {
        "critical" | "blocker" | "blocking" | "fatal" => Severity::Critical,
        "major" | "high" | "important" | "serious" | "warning" | "medium" | "moderate" => Severity::Major,
        "minor" | "low" | "info" | "nit" | "nitpick" | "note" | "suggestion" | "trivial" => Severity::Minor,
        _ => return None,
    })
}

fn kind_of(word: &str) -> Option<IssueKind> {
    Some(match word {
        "logic" | "correctness" | "behaviour" | "behavior" | "regression" | "functional" => IssueKind::Logic,
        "security" | "vulnerability" | "safety" => IssueKind::Security,
        "style" | "performance" | "tests" | "test" | "naming" | "documentation" | "docs" | "formatting" | "other" => {
            IssueKind::Other
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a6_issues_are_read_as_critics_write_them() {
        let (critical, minor) = (Some(Severity::Critical), Some(Severity::Minor));
        let (logic, security) = (Some(IssueKind::Logic), Some(IssueKind::Security));
        for (written, severity, kind, said) in [
            ("critical security: the path is not checked", critical, security, "the path is not checked"),
            ("[Critical] logic: empty carts fail", critical, logic, "empty carts fail"),
            ("**CRITICAL** (logic) - empty carts fail", critical, logic, "empty carts fail"),
            ("Security issue: eval of input", None, security, "eval of input"),
            ("minor: the name", minor, None, "the name"),
            ("nit - the name", minor, None, "the name"),
            (r#"{"severity":"critical","category":"security","description":"eval"}"#, critical, security, "eval"),
            (r#"{"severity":"low","file":"a.py","message":"m"}"#, minor, None, "a.py: m"),
            (r#"{"line":3}"#, None, None, r#"{"line":3}"#),
            ("this is critical: b is lost", None, None, "this is critical: b is lost"),
            ("not critical: the name", None, None, "not critical: the name"),
            ("b is lost", None, None, "b is lost"),
            ("critical:", None, None, "critical:"),
        ] {
            let issue = Issue { severity, kind, said: said.to_owned() };
            assert_eq!(read(written), issue, "{written}");
        }
    }

    #[test]
    fn a6_a_critical_logic_or_security_issue_overrules_an_approval() {
        for (issue, overruled) in [
            ("critical security: eval", true),
            ("critical logic: b is lost", true),
            ("critical: b is lost", true),
            ("critical style: tabs", false),
            ("major logic: b is slow", false),
            ("b is lost", false),
        ] {
            let review = review(ReviewVerdict::Approve, "fine", &[issue.to_owned()]);
            assert_eq!((review.overruled, review.approves()), (overruled, !overruled), "{issue}");
        }
        assert!(!review(ReviewVerdict::Reject, "no", &["critical logic: b".to_owned()]).overruled);
    }

    proptest! {
        #[test]
        fn nothing_that_a_critic_says_is_lost(issue in "\\PC{1,60}") {
            let read = read(&issue);
            prop_assert!(!read.said.is_empty() || issue.trim().is_empty());
            let object = issue.trim_start().starts_with('{');
            prop_assert!(issue.contains(&read.said) || object);
        }
    }
}
