//! Git's configuration files, read as text: git itself would follow what they include and run what they name.
//!
//! Pure. Understands sections, subsections, quoted and continued values as git-config(1) has them. A line that it does not understand is
//! passed over.

/// One setting with the lines that it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The section in lower case.
    pub(super) section: String,
    /// The subsection as it stands there.
    pub(super) subsection: Option<String>,
    /// The name in lower case.
    pub(super) name: String,
    /// The value. `true` where there is none.
    pub(super) value: String,
    /// Zero-based first and last line.
    pub(super) lines: (usize, usize),
}

/// Every setting of a file, in order.
pub(super) fn parse(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    let mut lines = text.lines().enumerate();
    while let Some((first, line)) = lines.next() {
        let mut rest = line.trim();
        if let Some((header, after)) = header(rest) {
            section = Some(header);
            // A setting may stand on the line of its section.
            rest = after.trim();
        }
        let Some((section, subsection)) = &section else { continue };
        if rest.is_empty() || rest.starts_with(['#', ';', '[']) {
            continue;
        }
        let (name, mut raw) = match rest.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim().to_owned()),
            None => (rest, "true".to_owned()),
        };
        let mut last = first;
        while ends_with_odd_backslash(&raw) {
            raw.pop();
            let Some((number, line)) = lines.next() else { break };
            raw.push_str(line);
            last = number;
        }
        // Marks of a conflict and the like are no settings.
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !name.is_empty();
        if is_name {
            entries.push(Entry {
                section: section.clone(),
                subsection: subsection.clone(),
                name: name.to_ascii_lowercase(),
                value: value(&raw),
                lines: (first, last),
            });
        }
    }
    entries
}

/// `[section "sub"]` and what stands after it.
fn header(line: &str) -> Option<((String, Option<String>), &str)> {
    let inside = line.strip_prefix('[')?;
    let Some((name, quoted)) = inside.split_once('"').filter(|(name, _)| !name.contains(']')) else {
        // The older `[branch.Main]`, whose second part has no case, beside `[branch "Main"]`.
        let (name, after) = inside.split_once(']')?;
        let (name, sub) =
            name.split_once('.').map_or((name, None), |(name, sub)| (name, Some(sub.to_ascii_lowercase())));
        return Some(((name.trim().to_ascii_lowercase(), sub), after));
    };
    let mut sub = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => sub.extend(chars.next().map(|(_, escaped)| escaped)),
            '"' => {
                let after = quoted.get(at + 1..)?.trim_start().strip_prefix(']')?;
                return Some(((name.trim().to_ascii_lowercase(), Some(sub)), after));
            }
            other => sub.push(other),
        }
    }
    None
}

fn ends_with_odd_backslash(raw: &str) -> bool {
    raw.chars().rev().take_while(|&c| c == '\\').count() % 2 == 1
}

/// A value without quotes, escapes and comment.
fn value(raw: &str) -> String {
    let (mut value, mut quoted, mut kept) = (String::new(), false, 0);
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => {}
            },
            '#' | ';' if !quoted => break,
            other => value.push(other),
        }
        // Blanks at the end belong to the value only where they are quoted.
        if quoted || !c.is_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, Option<String>, String, String)> {
        parse(text).into_iter().map(|e| (e.section, e.subsection, e.name, e.value)).collect()
    }

    #[test]
    fn what_checkout_writes_is_read() {
        let text = |part: &str| part.to_owned();
        let found = all(
            "[core]\n\tbare\n[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eDp5\n[includeIf \
                         \"gitdir:/w/a/.git\"]\n\tpath = \"/tmp/a;b.config\" ; comment\n[remote \"origin\"] url = x\\\ny\n",
        );
        let expected = [
            ("core", None, "bare", "true"),
            ("http", Some("https://github.com/"), "extraheader", "AUTHORIZATION: basic eDp5"),
            ("includeif", Some("gitdir:/w/a/.git"), "path", "/tmp/a;b.config"),
            ("remote", Some("origin"), "url", "xy"),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(section, sub, name, value)| (text(section), sub.map(text), text(name), text(value)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_known_for_taking_them_out() {
        let found = parse("[a]\n# x\n b = 1 \\\n  2\n c = 3\n");
        assert_eq!(found.iter().map(|entry| entry.lines).collect::<Vec<_>>(), [(2, 3), (4, 4)]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_fail(text in "[\\[\\]\"\\\\a-c=;#\n\t .]{0,60}") {
            parse(&text);
        }
    }
}
