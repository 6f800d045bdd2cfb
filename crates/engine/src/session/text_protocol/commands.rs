//! The line commands of the text protocol: `READ path`, `SEARCH pattern`, `RUN TESTS`, `DONE summary`, ….

use super::item::Item;
use crate::domain::blocker::{Blocker, BlockerKind};
use crate::domain::ladder::Role;
use crate::session::action::Action;
use crate::session::end::FinalReport;

/// Finds the commands in a stretch of prose. An ending command (`DONE`, `BLOCKED`, `APPROVE`, `REJECT`) takes the rest.
pub(super) fn in_prose(prose: &str, role: Role) -> Vec<Item> {
    let mut items = Vec::new();
    let lines: Vec<&str> = prose.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let bare = undecorated(line);
        // The rest is the report's, whatever commands it quotes.
        if let Some((word, rest)) = ending(bare, role) {
            let more = lines.get(index + 1..).unwrap_or_default().join("\n");
            items.push(report(word, rest, &more, role));
            return items;
        }
        items.extend(command(bare, role));
    }
    items
}

/// Whether every line of a code block is a command: some models put fences around them.
pub(super) fn only_commands(code: &str, role: Role) -> bool {
    let mut lines = code.lines().map(undecorated).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| command(line, role).is_some() || ending(line, role).is_some())
}

/// A line without list signs, bold, backticks.
fn undecorated(line: &str) -> &str {
    line.trim().trim_start_matches(['-', '*', '>', '`', ' ']).trim_end_matches(['`', '*', ' '])
}

/// The rest behind a command word: nothing, or the text behind a space or colon.
fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?.trim_start_matches(['*', '`']);
    let parted = rest.is_empty() || rest.starts_with([' ', ':', '\t']);
    parted.then(|| rest.trim_start_matches([':', '*', ' ', '\t']).trim())
}

fn command(line: &str, role: Role) -> Option<Item> {
    let act = |action| Some(Item::Act(action));
    let unquoted = |text: &str| text.trim_matches(|c: char| "`\"'".contains(c)).to_owned();
    let named = |text: &str| Some(unquoted(text)).filter(|text| !text.is_empty());
    if let Some(rest) = after(line, "READ") {
        let (path, start, end) = with_range(rest);
        let path = named(path)?;
        // `READ out-3` means a kept output.
        return match path.strip_prefix("out-") {
            Some(number) if number.chars().all(|c| c.is_ascii_digit()) => {
                act(Action::ReadOutput { handle: path, start, end })
            }
            Some(_) | None => act(Action::ReadFile { path, start, end }),
        };
    }
    if let Some(rest) = after(line, "SEARCH") {
        let pattern = rest.trim_matches('`');
        return (!pattern.is_empty())
            .then(|| Item::Act(Action::Search { pattern: pattern.to_owned(), path: None, glob: None }));
    }
    if let Some(rest) = after(line, "LIST") {
        return act(Action::ListFiles { path: named(rest), glob: None });
    }
    if role != Role::Artisan {
        return None;
    }
    // Before `RUN`, which would take `TESTS` for a program.
    if let Some(rest) = after(line, "RUN TESTS") {
        return act(Action::RunTests { filter: named(rest) });
    }
    if let Some(rest) = after(line, "RUN") {
        return named(rest).map(|command| Item::Act(Action::RunCommand { command }));
    }
    let path = named(after(line, "DELETE")?)?;
    // `DELETE the old branch of the code` is a sentence.
    (!path.contains(char::is_whitespace)).then_some(Item::Act(Action::DeleteFile { path }))
}

/// `path`, `path 10-20`, `path:10-20`, `path lines 10 to 20`.
fn with_range(text: &str) -> (&str, Option<u64>, Option<u64>) {
    let number = |part: &str| part.trim().trim_start_matches(['L', 'l']).parse::<u64>().ok().filter(|&line| line > 0);
    let range = |part: &str| -> Option<(u64, u64)> {
        let part = part.trim().trim_start_matches("lines").trim_start_matches("line");
        let (from, to) = part.split_once('-').or_else(|| part.split_once(" to ")).unwrap_or((part, part));
        Some((number(from)?, number(to)?))
    };
    // Either sign may be a part of the path, so the first one with a range behind it counts.
    let cuts = text.match_indices([':', ' ']);
    for (at, sign) in cuts {
        let (path, rest) = (text.get(..at).unwrap_or_default(), text.get(at + sign.len()..).unwrap_or_default());
        if let Some((from, to)) = range(rest) {
            return (path.trim(), Some(from), Some(to));
        }
    }
    (text.trim(), None, None)
}

fn ending(line: &str, role: Role) -> Option<(&'static str, &str)> {
    let words: &[&'static str] = match role {
        Role::Critic => &["APPROVE", "REJECT"],
        Role::Librarian | Role::Artisan | Role::Advisor => &["DONE", "BLOCKED"],
    };
    words.iter().find_map(|word| after(line, word).map(|rest| (*word, rest)))
}

fn report(word: &str, rest: &str, more: &str, role: Role) -> Item {
    let whole = format!("{rest}\n{more}").trim().to_owned();
    if whole.is_empty() {
        let why = format!("{word} must be followed by a summary: {word} what was found or changed");
        return Item::Refuse { subject: word.to_owned(), why };
    }
    let list_item = |line: &str| {
        let line = line.trim();
        line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).map(|text| text.trim().to_owned())
    };
    Item::Act(Action::Report(match word {
        "BLOCKED" => {
            let (on, rest) = blocked_on(&whole).map_or((Vec::new(), ""), |(on, rest)| (vec![on], rest));
            let reason = if rest.is_empty() { whole.clone() } else { rest.to_owned() };
            FinalReport::Blocked { summary: reason.clone(), reason, on }
        }
        "APPROVE" => FinalReport::Approve { summary: whole, issues: more.lines().filter_map(list_item).collect() },
        "REJECT" => FinalReport::Reject { summary: whole, issues: more.lines().filter_map(list_item).collect() },
        _ if role == Role::Librarian => FinalReport::Briefed { files: files(&whole), summary: whole },
        _ => FinalReport::Done { summary: whole },
    }))
}

/// The blocker and the reason: `ON TEST why`, `ON PULL REQUEST 12 why`, `ON ISSUE 5 why`, `ON CHECK name: why`.
fn blocked_on<'a>(whole: &'a str) -> Option<(Blocker, &'a str)> {
    let why = |rest: &'a str| rest.trim_start_matches([':', ' ', '\t', '\n']);
    if let Some(rest) = after(whole, "ON TEST") {
        return Some((Blocker::test(), why(rest)));
    }
    if let Some((name, rest)) = after(whole, "ON CHECK").and_then(|rest| rest.split_once(':')) {
        return Some((Blocker::new(BlockerKind::Check, name), why(rest)));
    }
    let pull = after(whole, "ON PULL REQUEST").map(|rest| (BlockerKind::PullRequest, rest));
    let (kind, rest) = pull.or_else(|| after(whole, "ON ISSUE").map(|rest| (BlockerKind::Issue, rest)))?;
    let bare = rest.trim_start_matches('#');
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = bare.split_at(digits);
    (digits > 0).then(|| (Blocker::new(kind, number), why(rest)))
}

/// The paths on the `FILES` lines of a brief, in their order.
fn files(brief: &str) -> Vec<String> {
    let listed = brief.lines().filter_map(|line| after(undecorated(line), "FILES"));
    let paths = listed.flat_map(|rest| rest.split([',', ' ', '\t']));
    paths
        .map(|path| path.trim_matches(|c: char| "`\"'".contains(c)).to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(prose: &str, role: Role) -> Vec<Action> {
        let act = |item| if let Item::Act(action) = item { Some(action) } else { None };
        in_prose(prose, role).into_iter().filter_map(act).collect()
    }

    fn read(path: &str, start: Option<u64>, end: Option<u64>) -> Action {
        Action::ReadFile { path: path.to_owned(), start, end }
    }

    #[test]
    fn reading_takes_a_path_and_perhaps_lines() {
        for (line, action) in [
            ("READ src/a.rs", read("src/a.rs", None, None)),
            ("- READ `src/a.rs`", read("src/a.rs", None, None)),
            ("**READ** src/a.rs", read("src/a.rs", None, None)),
            ("READ: src/a.rs", read("src/a.rs", None, None)),
            ("READ src/a.rs 10-20", read("src/a.rs", Some(10), Some(20))),
            ("READ src/a.rs:10-20", read("src/a.rs", Some(10), Some(20))),
            ("READ src/a.rs lines 10 to 20", read("src/a.rs", Some(10), Some(20))),
            ("READ my file.txt", read("my file.txt", None, None)),
            ("READ out-1 5-9", Action::ReadOutput { handle: "out-1".to_owned(), start: Some(5), end: Some(9) }),
        ] {
            assert_eq!(actions(line, Role::Artisan), [action], "{line}");
        }
    }

    #[test]
    fn words_of_prose_are_no_commands() {
        let prose = "I will READ the code.\nReading src/a.rs now.\nDONEish\nREADME.md says so.\nRUNNING\n";
        assert_eq!(actions(prose, Role::Artisan), []);
    }

    #[test]
    fn an_ending_takes_the_rest_of_the_text() {
        let prose = "READ a.rs\nDONE Fixed the sum.\nIt was a sign.\nREAD b.rs";
        assert_eq!(
            actions(prose, Role::Artisan),
            [
                read("a.rs", None, None),
                Action::Report(FinalReport::Done { summary: "Fixed the sum.\nIt was a sign.\nREAD b.rs".to_owned() })
            ]
        );
        assert!(matches!(in_prose("DONE", Role::Artisan).as_slice(), [Item::Refuse { .. }]));
    }

    #[test]
    fn the_librarians_ending_ranks_files() {
        let summary = "The sign is wrong.\n- FILES: `src/a.rs`, src/b.rs\nThat is all.".to_owned();
        assert_eq!(
            actions(&format!("DONE {summary}"), Role::Librarian),
            [Action::Report(FinalReport::Briefed {
                summary,
                files: vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()]
            })]
        );
    }

    #[test]
    fn the_critics_endings_list_issues() {
        assert_eq!(
            actions("REJECT It breaks b.\n- b is lost\n* no test\n", Role::Critic),
            [Action::Report(FinalReport::Reject {
                summary: "It breaks b.\n- b is lost\n* no test".to_owned(),
                issues: vec!["b is lost".to_owned(), "no test".to_owned()]
            })]
        );
        assert_eq!(actions("DONE x", Role::Critic), []);
        assert_eq!(actions("RUN TESTS\nDELETE a.rs", Role::Critic), [], "the critic only reads");
    }

    #[test]
    fn what_is_in_the_way_is_named_before_the_reason() {
        let blocked = |kind, reference: &str| vec![Blocker::new(kind, reference)];
        for (line, on, reason) in [
            ("BLOCKED no key is set", Vec::new(), "no key is set"),
            ("BLOCKED ON TEST: it adds wrongly", vec![Blocker::test()], "it adds wrongly"),
            (
                "BLOCKED ON PULL REQUEST #12 it brings the rates",
                blocked(BlockerKind::PullRequest, "12"),
                "it brings the rates",
            ),
            ("BLOCKED ON ISSUE 5: undecided", blocked(BlockerKind::Issue, "5"), "undecided"),
            (
                "BLOCKED ON CHECK build / linux: it makes the file",
                blocked(BlockerKind::Check, "build / linux"),
                "it makes the file",
            ),
            ("BLOCKED ON ISSUE five", Vec::new(), "ON ISSUE five"),
        ] {
            let reason = reason.to_owned();
            let report = FinalReport::Blocked { summary: reason.clone(), reason, on };
            assert_eq!(actions(line, Role::Artisan), [Action::Report(report)], "{line}");
        }
    }

    #[test]
    fn tests_and_deletions_are_the_artisans() {
        assert_eq!(
            actions("RUN TESTS\nRUN TESTS cart\nDELETE `old.rs`\nLIST src\nSEARCH fn add\\(", Role::Artisan),
            [
                Action::RunTests { filter: None },
                Action::RunTests { filter: Some("cart".to_owned()) },
                Action::DeleteFile { path: "old.rs".to_owned() },
                Action::ListFiles { path: Some("src".to_owned()), glob: None },
                Action::Search { pattern: "fn add\\(".to_owned(), path: None, glob: None },
            ]
        );
    }
}
