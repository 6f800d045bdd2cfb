//! Code that a change takes out of one line and that still stands in another: is it wrong there too?

use super::sides::{Mark, Shape};
use crate::domain::line_diff::{Part, groups, lines};

/// Code that says something has so many characters, and so many signs beside letters.
const SHORTEST: usize = 6;
const FEWEST_SIGNS: usize = 3;

/// The first line that still holds what a change takes out of another. What only moves inside of a changed stretch is not taken out.
pub(super) fn mark(before: &str, after: &str) -> Option<Mark> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let parts = groups(&lines(before.as_bytes()), &lines(after.as_bytes()), 0, None).concat();
    let mut found = parts.iter().filter(|part| !part.is_equal).filter_map(|part| {
        let (was, is) = (old.get(part.old.clone())?, new.get(part.new.clone())?);
        was.iter().enumerate().find_map(|(at, line)| {
            // Line by line within a stretch, as the new form of a line mostly stands in its place.
            let now = is.get(at).copied().unwrap_or_default();
            let code = taken_out(line.trim(), now.trim())?;
            let number = elsewhere(&new, part, code).filter(|_| lines_with(&new, code) < lines_with(&old, code))?;
            Some(Mark { shape: Shape::LeavesTheLike, line: number, said: format!("`{code}`") })
        })
    });
    found.next()
}

/// How many lines hold some code: as many as before where it only changed its place.
fn lines_with(lines: &[&str], code: &str) -> usize {
    lines.iter().filter(|line| line.contains(code)).count()
}

/// The number of a line outside of a part that holds some code. `None` where the part still holds it.
fn elsewhere(new: &[&str], part: &Part, code: &str) -> Option<u32> {
    let mut with = new.iter().enumerate().filter(|(_, line)| line.contains(code)).map(|(at, _)| at).peekable();
    let first = *with.peek()?;
    if with.any(|at| part.new.contains(&at)) { None } else { u32::try_from(first + 1).ok() }
}

/// The part of a line that its new form lacks, without what begins and ends both. No word is cut.
fn taken_out<'l>(old: &'l str, new: &str) -> Option<&'l str> {
    let alike = |pair: &(char, char)| pair.0 == pair.1;
    let length = |pairs: Vec<(char, char)>| pairs.iter().map(|(c, _)| c.len_utf8()).sum::<usize>();
    let begins = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let ends = |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut same = length(old.chars().zip(new.chars()).take_while(alike).collect());
    // Back to a word's beginning: of `total_of` and `total_in` the code is not `of`.
    while let (Some((had, rest)), Some(other)) = (old.split_at_checked(same), new.get(same..))
        && ends(had)
        && (begins(rest) || begins(other))
    {
        same -= had.chars().next_back().map_or(1, char::len_utf8);
    }
    let (rest, other) = (old.get(same..)?, new.get(same..)?);
    let mut end = length(rest.chars().rev().zip(other.chars().rev()).take_while(alike).collect());
    while let (Some((had, tail)), Some(before)) =
        (rest.split_at_checked(rest.len() - end), other.get(..other.len() - end))
        && begins(tail)
        && (ends(had) || ends(before))
    {
        end -= tail.chars().next().map_or(1, char::len_utf8);
    }
    let code = rest.get(..rest.len() - end)?.trim();
    // The same expression is alike whether it is returned or passed on.
    let code = code.strip_prefix("return ").unwrap_or(code).trim_end_matches(';').trim();
    let signs = code.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '_').count();
    // How a block begins says little.
    let is_head = code.ends_with(['{', ':']);
    let says =
        !is_head && code.chars().count() >= SHORTEST && signs >= FEWEST_SIGNS && code.contains(char::is_alphabetic);
    says.then_some(code)
}
