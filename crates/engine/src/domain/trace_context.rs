//! The span of who started this process, as W3C Trace Context has it.

/// A span that another program began, by `TRACEPARENT` (W3C Trace Context).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its trace, in hexadecimal.
    pub trace_id: String,
    /// Itself, in hexadecimal.
    pub span_id: String,
    /// Whether its trace is recorded.
    pub is_sampled: bool,
}

impl Parent {
    /// Reads `00-TRACE-SPAN-FLAGS`, and as much of a later version, which may go on behind another `-`. `None` for anything else, which is to
    /// be ignored.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace_id, span_id) = (parts.next()?, parts.next()?, parts.next()?);
        // `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
        let flags = parts.next().filter(|flags| is_hex(flags, 2))?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        // Later versions may add parts, which are passed over. Version 00 has none.
        let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        let is_sound = is_version && is_id(trace_id, 32) && is_id(span_id, 16);
        let (trace_id, span_id) = (trace_id.to_owned(), span_id.to_owned());
        is_sound.then_some(Self { trace_id, span_id, is_sampled: flags & 1 == 1 })
    }
}

/// Whether a text is an id of so many hexadecimal digits, not all of them zero.
#[must_use]
pub fn is_id(text: &str, length: usize) -> bool {
    // All zeros stand for no id.
    is_hex(text, length) && text.bytes().any(|byte| byte != b'0')
}

/// Whether a text is so many hexadecimal digits in small letters.
fn is_hex(text: &str, length: usize) -> bool {
    // Small letters alone, as the specification has them.
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_parent_that_is_none_is_ignored() {
        for text in [
            "",
            "00",
            "00-0-0-01",
            &format!("ff-{TRACE}-b7ad6b7169203331-01"),
            &format!("00-{TRACE}-0000000000000000-01"),
            &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            &format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            &format!("00-{TRACE}-b7ad6b7169203331-1"),
            &format!("00-{TRACE}-b7ad6b7169203331-+1"),
            &format!("00-{TRACE}-b7ad6b7169203331-0A"),
            &format!("zz-{TRACE}-b7ad6b7169203331-01"),
            &format!("FF-{TRACE}-b7ad6b7169203331-01"),
            &format!("00-{TRACE}0-b7ad6b7169203331-01"),
            &format!("00-{TRACE}-b7ad6b7169203331"),
        ] {
            assert_eq!(Parent::read(text), None, "{text}");
        }
        let later = format!("cc-{TRACE}-b7ad6b7169203331-01-what-comes-then");
        assert!(Parent::read(&later).is_some(), "a later version may say more");
    }
}
