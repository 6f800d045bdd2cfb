//! Every message that the page about trouble quotes is one that the program can print.

use std::path::Path;

use regex::Regex;

use super::markdown::{page, root};

const PAGE: &str = "docs/troubleshooting.md";

/// A part of a message or of a text of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What is filled in: anything.
    Gap,
    /// The character itself.
    Char(char),
}

/// The text in parts, with what the expression finds as gaps.
fn parts(text: &str, gaps: &Regex) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut end = 0;
    for gap in gaps.find_iter(text) {
        parts.extend(text.get(end..gap.start()).expect("a part").chars().map(Part::Char));
        parts.push(Part::Gap);
        end = gap.end();
    }
    parts.extend(text.get(end..).expect("the rest").chars().map(Part::Char));
    parts
}

/// Whether some text fits both, row by row over the first: whether each pair of beginnings fits.
fn fit(one: &[Part], other: &[Part]) -> bool {
    let mut above: Vec<bool> = Vec::new();
    for row in 0..=one.len() {
        let mut fits: Vec<bool> = Vec::with_capacity(other.len() + 1);
        for column in 0..=other.len() {
            let up = |at: usize| row > 0 && above.get(at).copied().unwrap_or(false);
            let left = column > 0 && fits.last().copied().unwrap_or(false);
            let (a, b) = (row.checked_sub(1).map(|at| one[at]), column.checked_sub(1).map(|at| other[at]));
            fits.push(match (a, b) {
                (None, None) => true,
                (Some(Part::Gap), _) | (_, Some(Part::Gap)) => {
                    (a == Some(Part::Gap) && (up(column) || left)) || (b == Some(Part::Gap) && (left || up(column)))
                }
                (Some(a), Some(b)) => a == b && column > 0 && up(column - 1),
                (Some(_), None) | (None, Some(_)) => false,
            });
        }
        above = fits;
    }
    above.last().copied().unwrap_or(false)
}

/// Every text of the program's own code: what is no test, with line ends as they are printed.
fn texts() -> Vec<String> {
    let token = r##"(?s)//[^\n]*|/\*.*?\*/|r#"(.*?)"#|\br"([^"]*)"|"((?:\\.|[^"\\])*)"|'(?:\\[^']*|[^'\\])'"##;
    let (token, joint) = (Regex::new(token).expect("an expression"), Regex::new(r"\\\n\s*").expect("an expression"));
    let mut found = Vec::new();
    let mut folders = vec![root().join("src"), root().join("crates/engine/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "fixtures");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
                found.extend(texts_of(&path, &token, &joint));
            }
        }
    }
    found
}

fn texts_of(path: &Path, token: &Regex, joint: &Regex) -> Vec<String> {
    let code = std::fs::read_to_string(path).expect("a source");
    let code = code.split("#[cfg(test)]\nmod tests {").next().expect("the code");
    let literals = token.captures_iter(code).filter_map(|found| found.get(1).or(found.get(2)).or(found.get(3)));
    literals.map(|text| joint.replace_all(text.as_str(), "").replace("\\n", "\n").replace("\\\"", "\"")).collect()
}

/// The messages of the page: the code in the first cells of the tables under `Messages`.
fn messages() -> Vec<String> {
    let text = page(PAGE);
    let tables = text.split("\n## Messages\n").nth(1).expect("messages").split("\n## ").next().expect("tables");
    let code = Regex::new("``(.+?)``|`([^`]+)`").expect("an expression");
    let cells = tables.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let spans = cells.flat_map(|cell| {
        // What a message belongs to stands behind it, in brackets.
        let own = cell.split(" (").next().unwrap_or(cell);
        code.captures_iter(own).map(|found| found.get(1).or(found.get(2)).expect("code").as_str().trim().to_owned())
    });
    spans.collect()
}

#[test]
fn every_message_that_is_quoted_is_one_of_the_programs_own() {
    let gaps_of_page = Regex::new(r"…|\b[A-Z][A-Z_]+\b").expect("an expression");
    let gaps_of_code = Regex::new(r"\{[^{}]*\}").expect("an expression");
    let word = Regex::new("[a-zäöü]{2,}").expect("an expression");
    let texts = texts();
    assert!(texts.len() > 5000, "{}", texts.len());
    let (messages, mut strange) = (messages(), Vec::new());
    assert!(messages.len() > 30, "{messages:?}");
    for message in messages {
        let words: Vec<&str> = word.find_iter(&message).map(|found| found.as_str()).collect();
        let own = [&[Part::Gap][..], &parts(&message, &gaps_of_page), &[Part::Gap]].concat();
        let is_near = |text: &&String| {
            // What is filled in on both sides fits anything: most words must be the text's own.
            words.iter().filter(|word| text.contains(**word)).count() >= (words.len() * 2 / 3).max(1)
        };
        if !texts.iter().filter(is_near).any(|text| fit(&own, &parts(text, &gaps_of_code))) {
            strange.push(message);
        }
    }
    assert!(strange.is_empty(), "{PAGE} quotes what no text in src says: {strange:#?}");
}

#[test]
fn gaps_of_both_sides_fit_anything() {
    let gaps = Regex::new("…").expect("an expression");
    let fits = |one: &str, other: &str| fit(&parts(one, &gaps), &parts(other, &gaps));
    assert!(fits("…run … was killed…", "⚠ run … was killed here"));
    assert!(fits("…provider `anthropic` needs…", "provider `…` needs a key"));
    assert!(!fits("…run … was stopped", "run … was killed here"));
    assert!(fits("a", "a") && !fits("a", "b") && !fits("a", "") && fits("…", ""));
}
