//! Why an old text is not in a file: the lines that come nearest, and in what they differ, so that the next edit can succeed.
//!
//! Pure. Reads only text with LF line ends.

use super::tools::likeness;

/// How many lines of the file are shown.
const MAX_SHOWN: usize = 14;
/// The most lines of the file that are compared. Larger files get a shorter answer.
const MAX_COMPARED: usize = 20_000;
/// How alike two lines must be to be worth showing, in hundredths.
const WORTH_SHOWING: usize = 50;
/// The most characters shown of a line.
const MAX_LINE: usize = 200;

/// One sentence and, where something comes near, numbered lines.
pub(super) fn explain(content: &str, old: &str, new: &str) -> String {
    let lines: Vec<&str> = content.lines().take(MAX_COMPARED).collect();
    if let Some(why) = mistaken_form(content, old) {
        return why;
    }
    for (same, what) in SAMENESS {
        if let Some(at) = find_lines(&lines, old, same) {
            return format!(
                "old_text differs from the file only in {what}. The file has:\n{}",
                show(&lines, at, old.lines().count())
            );
        }
    }
    // A text as short as `}` is nearly everywhere.
    if new.trim().len() > 2 && content.contains(new) {
        let line = content.split(new).next().unwrap_or_default().matches('\n').count() + 1;
        return format!("old_text is not there, but new_text is, at line {line}: the edit seems to be done already");
    }
    match nearest(&lines, old) {
        Some(at) => format!("old_text is not there. Nearest lines:\n{}", show(&lines, at, old.lines().count())),
        None => "old_text is not there, nor anything like it; read the file again".to_owned(),
    }
}

type Same = fn(&str) -> String;

/// From the smallest difference to the largest.
const SAMENESS: [(Same, &str); 4] = [
    (|line| line.trim_end().to_owned(), "white space at the ends of lines"),
    (|line| line.trim().to_owned(), "indentation (tabs and spaces count)"),
    (|line| plain_characters(line.trim()), "quotes, dashes or special spaces"),
    (|line| line.split_whitespace().collect::<Vec<_>>().join(" "), "white space"),
];

/// Forms that models give by mistake: line numbers in front, escapes as text.
fn mistaken_form(content: &str, old: &str) -> Option<String> {
    let without_numbers: Option<Vec<&str>> = old
        .lines()
        // `12⇥fn main`, `12|fn main` or `12: fn main`, as tools print lines.
        .map(|line| {
            let (number, rest) = line.trim_start().split_once(['\t', '|', ':'])?;
            (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
        })
        .collect();
    if without_numbers.is_some_and(|lines| !lines.is_empty() && content.contains(&lines.join("\n"))) {
        return Some("old_text has line numbers in front; leave them out".to_owned());
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\");
    (unescaped != old && content.contains(&unescaped)).then(|| {
        "old_text holds escapes (\\n, \\t, \\\") where the file has the characters themselves; give them plainly"
            .to_owned()
    })
}

fn plain_characters(line: &str) -> String {
    line.chars()
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' | '`' | '"' | '\u{201c}' | '\u{201d}' => '\'',
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => ' ',
            other => other,
        })
        .collect()
}

/// Where all lines of `old` stand, taken as the same when `same` makes them so. Blank ones around it do not count.
fn find_lines(lines: &[&str], old: &str, same: Same) -> Option<usize> {
    let wanted: Vec<String> = old.trim_matches('\n').lines().map(same).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let found: Vec<String> = lines.iter().map(|line| same(line)).collect();
    found.windows(wanted.len()).position(|window| window == wanted)
}

/// Where the lines begin that share most with `old`.
fn nearest(lines: &[&str], old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.lines().map(str::trim).collect();
    // The longest line says most about the place.
    let (offset, key) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let score = |at: usize| -> usize {
        let around = wanted.iter().enumerate().filter(|(index, line)| {
            let at = (at + index).checked_sub(offset);
            at.and_then(|at| lines.get(at)).is_some_and(|found| found.trim() == **line)
        });
        around.count()
    };
    let best = (0..lines.len())
        .map(|at| (lines.get(at).map_or(0, |line| likeness(line.trim(), key)), at))
        .filter(|(alike, _)| *alike >= WORTH_SHOWING)
        .max_by_key(|&(alike, at)| (alike + score(at) * 20, std::cmp::Reverse(at)))
        .map(|(_, at)| at);
    // No line like the longest: lines of it may still be there.
    let best = best.or_else(|| {
        (0..lines.len()).filter(|&at| score(at) > 0).max_by_key(|&at| (score(at), std::cmp::Reverse(at)))
    })?;
    Some(best.saturating_sub(offset))
}

/// Numbered lines of the file. A line that is too long is cut.
fn show(lines: &[&str], at: usize, length: usize) -> String {
    let shown = length.clamp(1, MAX_SHOWN);
    let numbered = lines.iter().enumerate().skip(at).take(shown).map(|(index, line)| {
        let line: String = line.chars().take(MAX_LINE).collect();
        format!("{}\t{line}", index + 1)
    });
    numbered.collect::<Vec<_>>().join("\n")
}
