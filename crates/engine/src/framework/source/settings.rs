//! Values that a change sets anew under a name that was there before: constants, members of an enumeration, properties of an object, lists.

use std::collections::BTreeMap;
use std::ops::Range;

use super::edit::Edit;
use super::numbers::{Number, numbers};
use super::outline::{Definition, Outline};
use crate::domain::line_diff::{ChangedLine, Side, changed_lines};

/// Words before a name that are none.
const BEFORE_NAMES: [&str; 13] = [
    "pub",
    "const",
    "static",
    "mut",
    "let",
    "var",
    "export",
    "readonly",
    "public",
    "private",
    "protected",
    "final",
    "type",
];

/// A name whose value a change sets anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name: the one right before what was changed.
    pub name: String,
    /// The value, as far as it was changed.
    pub spelled: String,
    /// The edit that puts a third value in its place. `None` where the value is another name.
    pub third: Option<Edit>,
}

/// A list from which a change takes values, and to which it adds none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// Its name.
    pub name: String,
    /// The words that are gone.
    pub gone: Vec<String>,
    /// The edit that puts it back as it was.
    pub whole: Edit,
}

/// The values that a change of a file sets anew outside of functions.
#[must_use]
pub fn settings(path: &str, before: &str, after: &str) -> Vec<Setting> {
    let Some(outline) = Outline::read(path, after) else { return Vec::new() };
    let (changed, numbers) = (changed_lines(before, after), numbers(path, after));
    let is_inside = |line: u32| {
        let holds = |one: &Definition| is_function(one) && (one.lines.0..=one.lines.1).contains(&line);
        outline.definitions().iter().any(holds)
    };
    let new = changed.iter().filter(|line| line.side == Side::New && !is_inside(line.number));
    let set = |new: &ChangedLine<'_>| {
        let name = name_of(new.text)?;
        let was = changed.iter().find(|old| old.side == Side::Old && name_of(old.text) == Some(name))?;
        setting(was.text, new.text, name, start_of(after, new)?, &numbers)
    };
    new.filter_map(set).collect()
}

/// The value that differs between two lines which set the same name.
fn setting(was: &str, is: &str, name: &str, start: usize, numbers: &[Number]) -> Option<Setting> {
    let differing = differing(was, is);
    let before = is.get(..differing.start)?;
    let own = before.rsplit(['{', ',']).next().and_then(name_of);
    let name = own.unwrap_or(name).to_owned();
    let quote = ['\'', '"', '`'].into_iter().find(|quote| before.matches(*quote).count() % 2 == 1);
    let (value, third) = if let Some(quote) = quote {
        let from = before.rfind(quote)? + 1;
        let to = differing.end.max(from) + is.get(differing.end.max(from)..)?.find(quote)?;
        (from..to, Some(Edit::insert(start + to, "s".to_owned())))
    } else {
        let value = whole_word(is, &differing);
        let range = start + value.start..start + value.end;
        let number =
            numbers.iter().find(|number| number.next.range.start >= range.start && number.next.range.end <= range.end);
        (value, number.map(|number| number.next.clone()))
    };
    let spelled = is.get(value)?;
    let is_name = spelled.starts_with(|c: char| c.is_alphabetic() || c == '_') && spelled.chars().all(is_of_path);
    (third.is_some() || is_name).then(|| Setting { name, spelled: spelled.to_owned(), third })
}

/// The lists of a file from which a change takes values, and to which it adds none.
#[must_use]
pub fn shortened(path: &str, before: &str, after: &str) -> Vec<Shortened> {
    let (Some(old), Some(new)) = (Outline::read(path, before), Outline::read(path, after)) else { return Vec::new() };
    let is_list = |one: &&Definition| !one.is_container && !is_function(one) && one.head.contains('=');
    let each = |was: &Definition| {
        let mut all = new.definitions().iter().filter(is_list);
        let is = all.find(|one| one.name == was.name && one.within == was.within)?;
        let (had, range) = (before.get(bytes_of(before, was.lines))?, bytes_of(after, is.lines));
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for word in words(after.get(range.clone())?) {
            *left.entry(word).or_default() += 1;
        }
        let is_gone = |word: &&str| match left.get_mut(*word) {
            Some(often) if *often > 0 => {
                *often -= 1;
                false
            }
            Some(_) | None => true,
        };
        let gone: Vec<String> = words(had).filter(is_gone).map(str::to_owned).collect();
        let is_shorter = !gone.is_empty() && left.values().all(|often| *often == 0);
        let whole = Edit { range, text: had.to_owned() };
        is_shorter.then(|| Shortened { name: was.name.clone(), gone, whole })
    };
    old.definitions().iter().filter(is_list).filter_map(each).collect()
}

/// Whether a definition is called.
fn is_function(one: &Definition) -> bool {
    let before_value = one.head.split('=').next().unwrap_or_default();
    let is_called = before_value.contains('(') || one.head.contains("=>") || one.head.contains("function");
    !one.is_container && (is_called || one.head.contains("lambda"))
}

/// The name that a line sets.
fn name_of(line: &str) -> Option<&str> {
    let before = line.get(..line.find(['=', ':'])?)?;
    // What is called or read is set nowhere.
    let is_name = !before.contains(['(', '.', '[', '<', '>', '!']);
    words(before).find(|word| !BEFORE_NAMES.contains(word)).filter(|_| is_name)
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The part of a line that differs from another.
fn differing(was: &str, is: &str) -> Range<usize> {
    let same = |(a, b): &(char, char)| a == b;
    let from: usize = was.chars().zip(is.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let room = was.len().min(is.len()) - from;
    let mut behind = 0;
    for (c, _) in was.chars().rev().zip(is.chars().rev()).take_while(same) {
        if behind + c.len_utf8() > room {
            break;
        }
        behind += c.len_utf8();
    }
    from..is.len() - behind
}

/// The word around a part of a line.
fn whole_word(line: &str, part: &Range<usize>) -> Range<usize> {
    let before = line.get(..part.start).unwrap_or_default();
    let behind = line.get(part.end..).unwrap_or_default();
    let from = before.trim_end_matches(is_of_path).len();
    from..part.end + (behind.len() - behind.trim_start_matches(is_of_path).len())
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':')
}

/// Where a line begins. `None` where lines end in another way than by a line feed.
pub(super) fn start_of(text: &str, line: &ChangedLine<'_>) -> Option<usize> {
    let start = bytes_of(text, (line.number, line.number)).start;
    text.get(start..)?.starts_with(line.text).then_some(start)
}

/// The bytes of one-based lines, first and last.
fn bytes_of(text: &str, lines: (u32, u32)) -> Range<usize> {
    let up_to = |count: u32| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        text.split_inclusive('\n').take(count).map(str::len).sum::<usize>()
    };
    up_to(lines.0.saturating_sub(1))..up_to(lines.1)
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn set(path: &str, before: &str, after: &str) -> Vec<(String, String, Option<String>)> {
        let each = |one: Setting| {
            let third = one.third.map(|edit| apply(after, &[edit]).expect("inside"));
            (one.name, one.spelled, third)
        };
        settings(path, before, after).into_iter().map(each).collect()
    }

    fn one(name: &str, spelled: &str, third: Option<&str>) -> Vec<(String, String, Option<String>)> {
        vec![(name.to_owned(), spelled.to_owned(), third.map(str::to_owned))]
    }

    #[test]
    fn a_value_set_anew_has_a_third_one() {
        let number = set("a.py", "class S(Enum):\n    PAID = 2\n", "class S(Enum):\n    PAID = 1\n");
        assert_eq!(number, one("PAID", "1", Some("class S(Enum):\n    PAID = 2\n")));
        let text = set("a.js", "const S = { A: 'a', B: 'bc' };\n", "const S = { A: 'a', B: 'a' };\n");
        assert_eq!(text, one("B", "a", Some("const S = { A: 'a', B: 'as' };\n")));
        let name = set("a.rs", "pub const B: u8 = 2;\n", "pub const B: u8 = A;\n");
        assert_eq!(name, one("B", "A", None));
        let line = set("a.js", "const S = {\n  A: 'x-a',\n};\n", "const S = {\n  A: 'x-b',\n};\n");
        assert_eq!(line, one("A", "x-b", Some("const S = {\n  A: 'x-bs',\n};\n")));
        assert_eq!(set("a.py", "RATE = 19\n", "RATE = 19\nOTHER = 3\n"), []);
        assert_eq!(set("a.py", "def f():\n    a = 1\n", "def f():\n    a = 2\n"), []);
    }

    #[test]
    fn a_list_from_which_values_are_taken_is_shorter() {
        let names = |path: &str, before: &str, after: &str| {
            let whole = |one: Shortened| {
                assert_eq!(apply(after, &[one.whole]).as_deref(), Some(before));
                format!("{}: {}", one.name, one.gone.join(" "))
            };
            shortened(path, before, after).into_iter().map(whole).collect::<Vec<_>>()
        };
        assert_eq!(names("a.py", "A = ['x', 'y', 'z']\nB = 1\n", "A = ['x', 'z']\nB = 1\n"), ["A: y"]);
        assert_eq!(names("a.js", "const A = [\n  'x',\n  'y',\n];\n", "const A = [\n  'x',\n];\n"), ["A: y"]);
        assert_eq!(names("a.py", "A = ['x', 'y']\n", "A = ['x', 'v']\n"), Vec::<String>::new());
        assert_eq!(names("a.py", "def f(a=1):\n    return 1\n", "def f(a=1):\n    pass\n"), Vec::<String>::new());
    }
}
