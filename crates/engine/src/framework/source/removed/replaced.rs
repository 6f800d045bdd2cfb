//! Lines that a change writes anew beside others, each as it was: of a line that goes with a needed one nobody knows whether it is needed.

use super::super::edit::apply;
use super::super::settings::start_of;
use super::super::{Edit, Language};
use super::Removed;
use crate::domain::line_diff::{ChangedLine, Side, changed_lines};

/// The least beginning that two lines share which are one line written anew, in characters.
const LEAST_IN_COMMON: usize = 6;

/// The lines of a file that a change writes anew, where the same place has other changed lines, each put back alone.
#[must_use]
pub fn replaced(path: &str, before: &str, after: &str) -> Vec<Removed> {
    if Language::of(path).is_none_or(|language| !language.has_grammar()) {
        return Vec::new();
    }
    let changed = changed_lines(before, after);
    let mut found = Vec::new();
    for hunk in changed.chunk_by(|one, next| !(one.side == Side::New && next.side == Side::Old)) {
        let (old, new): (Vec<_>, Vec<_>) = hunk.iter().partition(|line| line.side == Side::Old);
        // A place of one line is the change itself, or was left out as a whole.
        if new.len() < 2 {
            continue;
        }
        let put_back = |was: &&ChangedLine<'_>| {
            let is = new.iter().find(|is| is_anew(was.text, is.text))?;
            let start = start_of(after, is)?;
            let edit = Edit { range: start..start + is.text.len(), text: was.text.to_owned() };
            let (line, spelled) = (is.number, was.text.trim().to_owned());
            Some(Removed { line, spelled, text: apply(after, &[edit])? })
        };
        found.extend(old.iter().copied().filter_map(|was| put_back(&was)));
    }
    found
}

/// Whether a line is another one written anew: they begin alike, in the same column, and differ behind that.
fn is_anew(was: &str, is: &str) -> bool {
    let column = |line: &str| line.len() - line.trim_start().len();
    let (own, other) = (was.trim(), is.trim());
    let common = own.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    column(was) == column(is)
        && sets_a_value(own)
        && own != other
        && common >= LEAST_IN_COMMON.max(own.chars().count().min(other.chars().count()) / 2)
}

/// Whether a line sets something. What is returned by another name is mostly the same, and the words of an error are nobody's answer.
fn sets_a_value(line: &str) -> bool {
    let sets = line.split(['(', '"', '\'']).next().is_some_and(|head| head.contains("= "));
    sets && !["if ", "elif ", "while ", "for ", "return "].iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_anew_beside_others_is_put_back_alone() {
        let before = "def add(self, item):\n    if a:\n        i.count += item.count\n    self.items.append(item)\n";
        let after = before.replace("+= item.count\n", "+= 1\n        return\n");
        let found = replaced("a.py", before, &after);
        let wanted = before.replace("item.count\n", "item.count\n        return\n");
        assert_eq!(found, [Removed { line: 3, spelled: "i.count += item.count".to_owned(), text: wanted }]);
        assert_eq!(replaced("a.py", before, &before.replace("+= item.count", "+= 1")), [], "it is the whole change");
        let raises = "def f(n):\n    if n < 0:\n        raise ValueError('n')\n";
        let worded = "def f(n):\n    if not n > 0:\n        raise ValueError('few')\n    return n\n";
        assert_eq!(replaced("a.py", raises, worded), [], "words of an error");
        assert_eq!(
            replaced("a.py", before, &before.replace("    self.items.append(item)\n", "    x()\n    y()\n")),
            []
        );
    }
}
