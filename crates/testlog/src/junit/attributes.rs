//! The attributes of an element, read once.

use std::borrow::Cow;

/// The most that are kept: no writer has more than a dozen.
const MOST: usize = 16;

/// Names and values, as they stand in the document.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    list: [(&'a str, &'a str); MOST],
    count: usize,
}

impl<'a> Attributes<'a> {
    /// Reads what stands behind an element's name.
    pub(super) fn of(text: &'a str) -> Self {
        Self::read(text).0
    }

    /// Reads attributes up to the first thing that is none. Returns also the text from there on.
    pub(super) fn read(text: &'a str) -> (Self, &'a str) {
        let mut found = Self { list: [("", ""); MOST], count: 0 };
        let mut rest = text;
        while let Some((one, behind)) = next(rest) {
            let Some(slot) = found.list.get_mut(found.count) else { break };
            *slot = one;
            found.count += 1;
            rest = behind;
        }
        (found, rest)
    }

    /// The value of the first of that name, its references resolved where they can be.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.list.iter().take(self.count).find(|(key, _)| *key == name).map(|(_, raw)| *raw)?;
        // Most values hold no reference, and are borrowed as they stand.
        if memchr::memchr(b'&', raw.as_bytes()).is_none() {
            return Some(Cow::Borrowed(raw));
        }
        Some(quick_xml::escape::unescape(raw).unwrap_or(Cow::Borrowed(raw)))
    }
}

/// The first attribute of a text, and the text behind it.
fn next(text: &str) -> Option<((&str, &str), &str)> {
    let equals = memchr::memchr(b'=', text.as_bytes())?;
    let (key, value) = text.split_at_checked(equals)?;
    let key = key.trim_ascii();
    // The sign that was found lies behind the end of the tag.
    if memchr::memchr3(b'>', b'<', b'"', key.as_bytes()).is_some() {
        return None;
    }
    let value = value.get(1..)?.trim_ascii_start();
    let quote = *value.as_bytes().first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let value = value.get(1..)?;
    let end = memchr::memchr(quote, value.as_bytes())?;
    let (value, rest) = value.split_at_checked(end)?;
    Some(((key, value), rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_quotes_references_and_spaces_are_read() {
        let found =
            Attributes::of(" name=\"a &lt; 'b' &amp; c\"\n file = 'x.py'  line=\"3\" name=\"again\" odd=\"&no;\" /");
        let get = |name| found.get(name).map(Cow::into_owned);
        assert_eq!(get("name").as_deref(), Some("a < 'b' & c"));
        assert_eq!(get("file").as_deref(), Some("x.py"));
        assert_eq!(get("line").as_deref(), Some("3"));
        assert_eq!(get("odd").as_deref(), Some("&no;"));
        assert_eq!(get("time"), None);
        for broken in ["", "name", "name=", "name=a", "name=\"a", "=\"\""] {
            assert_eq!(Attributes::of(broken).get("name"), None, "{broken}");
        }
    }
}
