//! As much of TOML as a comparison by section needs: which section, which key, which value as it is written.

/// One key with its value as written, comments and spaces left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// The section's name without quotes and spaces; empty before the first; one in a list ends in `[]`.
    pub(super) section: String,
    /// The key without quotes and spaces.
    pub(super) key: String,
    /// The value as written, squeezed.
    pub(super) value: String,
}

/// The entries in order; `None` for what is no TOML as it is usually written.
pub(super) fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut lists = 0_usize;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut statement = Scan::default();
        statement.take(line)?;
        while statement.is_open() {
            statement.take(lines.next()?)?;
        }
        let plain = statement.plain;
        if plain.is_empty() {
            continue;
        }
        if let Some(name) = plain.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            lists += 1;
            // A list's items are told apart, since each is a section of its own.
            section = format!("{}[]{lists}", unquoted(name));
        } else if let Some(name) = plain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = unquoted(name);
        } else {
            let (key, value) = plain.split_once('=')?;
            found.push(Entry { section: section.clone(), key: unquoted(key), value: value.to_owned() });
        }
        if statement.is_heading {
            // An empty section is something, too.
            found.push(Entry { section: section.clone(), key: String::new(), value: String::new() });
        }
    }
    Some(found)
}

fn unquoted(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '"' | '\'')).collect()
}

/// A statement that is being read.
#[derive(Debug, Default)]
struct Scan {
    plain: String,
    depth: usize,
    /// The quote that is open: one or three of them.
    quote: Option<&'static str>,
    is_heading: bool,
    begun: bool,
}

impl Scan {
    fn is_open(&self) -> bool {
        self.quote.is_some() || (self.depth > 0 && !self.is_heading)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        if !self.begun && line.trim_start().starts_with('[') {
            self.is_heading = true;
        }
        self.begun = true;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            if let Some(quote) = self.quote {
                if quote.starts_with('"') && c == '\\' {
                    let two: String = rest.chars().take(2).collect();
                    self.plain.push_str(&two);
                    rest = rest.get(two.len()..)?;
                    continue;
                }
                if let Some(after) = rest.strip_prefix(quote) {
                    self.plain.push_str(quote);
                    self.quote = None;
                    rest = after;
                    continue;
                }
                self.plain.push(c);
            } else if let Some(quote) = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote)) {
                self.plain.push_str(quote);
                self.quote = Some(quote);
                rest = rest.get(quote.len()..)?;
                continue;
            } else {
                match c {
                    '#' => break,
                    '[' | '{' => self.depth += 1,
                    ']' | '}' => self.depth = self.depth.checked_sub(1)?,
                    _ => {}
                }
                if !c.is_whitespace() {
                    self.plain.push(c);
                }
            }
            rest = rest.get(c.len_utf8()..)?;
        }
        if self.quote.is_some_and(|quote| quote.len() == 1) {
            return None;
        }
        if self.quote.is_some() {
            self.plain.push('\n');
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn listed(text: &str) -> Vec<(String, String, String)> {
        entries(text).unwrap().into_iter().map(|entry| (entry.section, entry.key, entry.value)).collect()
    }

    #[test]
    fn sections_keys_and_values_are_told_apart() {
        let text = "a = 1 # x\n[ \"package\" ]\nname = \"a # b\"\nlist = [\n  1, # one\n  2,\n]\n[[test]]\npath = '''\n[lib]\n'''\n";
        let own = |section: &str, key: &str, value: &str| (section.to_owned(), key.to_owned(), value.to_owned());
        assert_eq!(
            listed(text),
            [
                own("", "a", "1"),
                own("package", "", ""),
                own("package", "name", "\"a # b\""),
                own("package", "list", "[1,2,]"),
                own("test[]1", "", ""),
                own("test[]1", "path", "'''\n[lib]\n'''"),
            ]
        );
        assert_eq!(entries("a = \"open\nb = 1"), None);
        assert_eq!(entries("a = [1"), None);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(text in "[\\[\\]{}\"'=#a-c\\\\ \n.é]{0,80}") {
            let _entries = entries(&text);
        }
    }
}
