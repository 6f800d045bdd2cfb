//! Alternatives of a pattern, and commands of a script for `sed`: each is code in a text, and can be left out. One that no test needs decides by
//! something that no test looks at.

use std::ops::Range;

use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::nodes::{lines_of, text_of};

/// A pattern with more alternatives is a list of words.
const MOST_ALTERNATIVES: usize = 8;
/// Signs of which a text that is a pattern holds one.
const OF_PATTERNS: [&str; 5] = ["^", "$", "(?", "\\", ".*"];

/// The alternatives of the pattern that a node is.
pub(super) fn of_pattern(node: Node<'_>, text: &str) -> Vec<Choice> {
    let spelled = text_of(node, text);
    let is_pattern = node.kind() == "regex_pattern"
        // A text with a bar alone may be a table or a prompt. One that holds a sign of patterns rather is one.
        || (node.kind() == "string_content" && OF_PATTERNS.iter().any(|sign| spelled.contains(sign)));
    if !is_pattern || !spelled.contains('|') || !spelled.is_ascii() {
        return Vec::new();
    }
    let groups = groups(spelled, node.kind() == "regex_pattern");
    if groups.iter().map(Vec::len).sum::<usize>() > MOST_ALTERNATIVES {
        return Vec::new();
    }
    let start = node.start_byte();
    let lines = lines_of(node);
    let each = |group: &Vec<Range<usize>>| left_out(group, spelled.as_bytes(), b"|", start);
    let found = groups.iter().flat_map(each).filter_map(|(edit, part)| Some((edit, spelled.get(part)?)));
    found.map(|(edit, part)| choice(edit, part, lines)).collect()
}

/// The commands of a script for `sed` on the lines of a shell's script.
pub(super) fn of_commands(text: &str) -> Vec<Choice> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_meant = line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "sed");
        for (at, script) in quoted(line).into_iter().filter(|_| is_meant) {
            let parts = commands(script);
            for (edit, part) in left_out(&parts, script.as_bytes(), b";", start + at) {
                found.extend(script.get(part).map(|part| choice(edit, part, (number, number))));
            }
        }
        start += line.len();
    }
    found
}

fn choice(edit: Edit, part: &str, lines: (u32, u32)) -> Choice {
    Choice::of_one(lines, part, edit, Way::LeftOut)
}

/// The edits that leave out each of some parts, with one sign beside it, where there are several.
fn left_out(parts: &[Range<usize>], text: &[u8], sign: &[u8], start: usize) -> Vec<(Edit, Range<usize>)> {
    if parts.len() < 2 {
        return Vec::new();
    }
    let is_sign = |at: usize| text.get(at..=at) == Some(sign);
    let edit = |part: &Range<usize>| {
        // An empty one says that there may be none.
        let range = match part.is_empty() {
            true => None,
            false if is_sign(part.end) => Some(part.start..part.end + 1),
            // The last one has no sign behind it, so that before it goes.
            false => part.start.checked_sub(1).filter(|at| is_sign(*at)).map(|at| at..part.end),
        }?;
        let range = start + range.start..start + range.end;
        Some((Edit { range, text: String::new() }, part.clone()))
    };
    parts.iter().filter_map(edit).collect()
}

/// The alternatives of each group of a pattern; of the pattern as a whole too where it is known to be one.
fn groups(pattern: &str, as_a_whole: bool) -> Vec<Vec<Range<usize>>> {
    let mut open: Vec<(usize, Vec<Range<usize>>)> = vec![(0, Vec::new())];
    let mut found = Vec::new();
    let (mut escaped, mut in_set) = (false, false);
    let bytes = pattern.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            // Before all others: an escaped bracket or bar is a character.
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b']' => in_set = false,
            _ if in_set => {}
            b'[' => in_set = true,
            b'(' => open.push((at + 1 + prefix(bytes.get(at + 1..).unwrap_or_default()), Vec::new())),
            b'|' => {
                if let Some((from, parts)) = open.last_mut() {
                    parts.push(*from..at);
                    *from = at + 1;
                }
            }
            b')' if open.len() > 1 => {
                if let Some((from, mut parts)) = open.pop() {
                    parts.push(from..at);
                    found.push(parts);
                }
            }
            _ => {}
        }
    }
    // A bracket that is still open says that the pattern was not understood.
    if let (true, [(from, parts)]) = (as_a_whole, open.as_mut_slice()) {
        parts.push(*from..pattern.len());
        found.push(std::mem::take(parts));
    }
    found.retain(|parts| parts.len() > 1 && parts.iter().all(|part| part.start <= part.end));
    found
}

/// The bytes that say which kind of group begins.
fn prefix(rest: &[u8]) -> usize {
    if rest.first() != Some(&b'?') {
        return 0;
    }
    // `?:`, `?=`, `?<!`, `?<name>`: the group's own alternatives begin behind it.
    let end = rest.iter().position(|byte| b":=!>".contains(byte)).unwrap_or(0);
    end + 1
}

/// What stands in plain quotes on a line, and where.
fn quoted(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    // Every second part stands between quotes.
    for (turn, part) in line.split('\'').enumerate() {
        if turn % 2 == 1 {
            found.push((at, part));
        }
        at += part.len() + 1;
    }
    found
}

/// The commands of a script that only replaces.
fn commands(script: &str) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut found = Vec::new();
    for part in script.split(';') {
        found.push(from..from + part.len());
        from += part.len() + 1;
    }
    let is_one = |part: &Range<usize>| {
        let part = script.get(part.clone()).unwrap_or_default().trim();
        let sign = part.strip_prefix('s').and_then(|rest| rest.chars().next());
        // `s/a/b/g` and `s|a|b|`. Other commands may hold a semicolon of their own.
        sign.is_some_and(|sign| !sign.is_alphanumeric() && part.matches(sign).count() >= 3)
    };
    if found.iter().all(is_one) { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::super::edit::apply;
    use super::Way;

    fn left_out(path: &str, text: &str) -> Vec<String> {
        let all = choices(path, text).expect("a text");
        let own = all.iter().filter_map(|one| one.ways.first().filter(|(_, way)| *way == Way::LeftOut));
        own.map(|(edit, _)| apply(text, std::slice::from_ref(edit)).expect("a text")).collect()
    }

    #[test]
    fn each_alternative_of_a_pattern_can_be_left_out() {
        let of = |pattern: &str| format!("const a = /{pattern}/.test(b);\n");
        let found = left_out("a.js", &of("^(2|[|3]|1?[13])$"));
        assert_eq!(found, ["^([|3]|1?[13])$", "^(2|1?[13])$", "^(2|[|3])$"].map(of));
        assert_eq!(left_out("a.js", &of("a|(?:b|\\|c)")), ["a|(?:\\|c)", "a|(?:b)", "(?:b|\\|c)", "a"].map(of));
        let text = "import re\na = re.match('^(ab|c)', b)\n";
        assert_eq!(left_out("a.py", text).len(), 2);
        for text in ["a = 'b | c'\n", "a = '(b or c)$'\n", "a = '^(|a)'\n", "a = '^[a|b]'\n"] {
            assert!(left_out("a.py", text).len() < 2, "{text}");
        }
    }

    #[test]
    fn each_command_of_a_script_can_be_left_out() {
        let found = left_out("a.sh", "echo \"$1\" | sed -e 's/a/b/;s|c|d|g'\n");
        assert_eq!(found, ["echo \"$1\" | sed -e 's|c|d|g'\n", "echo \"$1\" | sed -e 's/a/b/'\n", ":\n"]);
        let whole = left_out("a.sh", "sed -n '/a/{p;q}'\necho 's/a/b/;s/c/d/'\n");
        assert_eq!(whole, [":\necho 's/a/b/;s/c/d/'\n", "sed -n '/a/{p;q}'\n:\n"], "lines alone");
    }
}
