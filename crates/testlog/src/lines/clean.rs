//! Takes control characters and escapes out of whole lines, and what a carriage return overwrites.
//!
//! Invariant: many lines cleaned at once come out as if each were cleaned alone.

const fn is_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7F)
}

/// The control characters in a run of lines, beside the ends of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Controls {
    any: bool,
    /// Others than escapes and carriage returns, which logs are full of.
    rare: bool,
}

impl Controls {
    /// Without a branch on a byte, so that it is done many bytes at a time.
    pub(super) fn of(whole: &[u8]) -> Self {
        // Without an early end, so that it can be compiled into wide steps.
        let any = |of: fn(u8) -> bool| whole.iter().fold(false, |found, &byte| found | of(byte));
        if !any(|byte| is_control(byte) & (byte != b'\n')) {
            return Self { any: false, rare: false };
        }
        Self { any: true, rare: any(|byte| is_control(byte) & (byte != b'\n') & (byte != b'\r') & (byte != 0x1b)) }
    }

    /// Whether there are any.
    pub(super) const fn any(self) -> bool {
        self.any
    }

    /// Adds the lines to `clean`, without them.
    pub(super) fn clean(self, whole: &[u8], clean: &mut Vec<u8>) {
        if self.rare {
            clean_lines(whole, self, clean);
        } else {
            clean_common(whole, clean);
        }
    }

    /// Where the next one stands.
    fn next(self, bytes: &[u8]) -> Option<usize> {
        if self.rare {
            return bytes.iter().position(|&byte| is_control(byte));
        }
        if self.any { memchr::memchr2(0x1b, b'\r', bytes) } else { None }
    }
}

/// Cleans lines one by one.
fn clean_lines(whole: &[u8], controls: Controls, clean: &mut Vec<u8>) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', whole).chain(std::iter::once(whole.len())) {
        let line = whole.get(start..end).unwrap_or_default();
        if start > 0 {
            clean.push(b'\n');
        }
        clean_into(line.strip_suffix(b"\r").unwrap_or(line), controls, clean);
        start = end + 1;
    }
}

/// Cleans many lines at once, whose control characters are escapes and the ends of lines. Where a carriage return overwrites, its line is
/// cleaned on its own.
fn clean_common(whole: &[u8], clean: &mut Vec<u8>) {
    const COMMON: Controls = Controls { any: true, rare: false };
    let mut at = 0;
    while let Some((rest, found)) = whole.get(at..).and_then(|rest| Some((rest, memchr::memchr2(0x1b, b'\r', rest)?))) {
        let (text, tail) = rest.split_at_checked(found).unwrap_or((rest, &[]));
        let overwrites = match tail {
            // As lines end on Windows.
            [b'\r', b'\n', ..] | [b'\r'] => false,
            [b'\r', ..] => true,
            // What a string holds may be anything: a line ends it all the same.
            [_, b'[', ..] => false,
            _ => true,
        };
        if !overwrites {
            clean.extend_from_slice(text);
            at += found + if tail.first() == Some(&b'\r') { 1 } else { escape_length(tail) };
            continue;
        }
        let start = memchr::memrchr(b'\n', whole.get(..at + found).unwrap_or_default()).map_or(0, |end| end + 1);
        let length = memchr::memchr(b'\n', tail).unwrap_or(tail.len());
        let line = whole.get(start..at + found + length).unwrap_or_default();
        if start > at {
            clean.extend_from_slice(whole.get(at..start).unwrap_or_default());
        } else {
            // The line's beginning was copied.
            clean.truncate(memchr::memrchr(b'\n', clean).map_or(0, |end| end + 1));
        }
        clean_into(line.strip_suffix(b"\r").unwrap_or(line), COMMON, clean);
        at += found + length;
    }
    clean.extend_from_slice(whole.get(at..).unwrap_or_default());
}

/// Cleans one line: escapes and control characters go, the last drawn text wins.
fn clean_into(line: &[u8], controls: Controls, out: &mut Vec<u8>) {
    let begin = out.len();
    let mut rest = line;
    // Where the text since the last carriage return starts; it replaces what came before once it has content.
    let mut drawn = begin;
    while let Some((text, tail)) = controls.next(rest).and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_slice(text);
        let skip = match tail.first() {
            Some(0x1b) => escape_length(tail),
            Some(b'\r') => {
                // A second carriage return in a row draws nothing.
                if out.len() > drawn {
                    out.drain(begin..drawn);
                    drawn = out.len();
                }
                1
            }
            _ => 1,
        };
        rest = tail.get(skip..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    if out.len() > drawn {
        out.drain(begin..drawn);
    }
}

/// The length of the escape sequence at the start of `bytes` (ECMA-48: CSI, OSC and other strings, two-byte escapes).
fn escape_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        None => 1,
        Some(b'[') => {
            let parameters = bytes.iter().skip(2).take_while(|byte| (0x20..0x40).contains(*byte)).count();
            let end = 2 + parameters;
            // Without its final byte the sequence is broken; what follows is text again.
            end + usize::from(bytes.get(end).is_some_and(|byte| (0x40..0x7F).contains(byte)))
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let body = bytes.get(2..).unwrap_or_default();
            // A bell ends such a string, or an escape with a backslash.
            match body.iter().position(|&byte| byte == 0x07 || byte == 0x1b) {
                Some(end) if body.get(end) == Some(&0x07) => end + 3,
                Some(end) if body.get(end + 1) == Some(&b'\\') => end + 4,
                Some(end) => end + 2,
                // Without an end only its beginning goes, or the rest of the line would be lost.
                None => 2,
            }
        }
        // One byte follows, such as the name of a character set.
        Some(b'(' | b')' | b'*' | b'+' | b'#' | b'%') => 3.min(bytes.len()),
        Some(0x20..0x7F) => 2,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_lines_at_once_are_cleaned_as_each_alone(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("\x1b[31m"), Just("\x1b[0;1"), Just("\x1b[K"), Just("\x1b"), Just("\x1b]8;;a\x1b\\"), Just("\x1b(B"),
                    Just("\x1b="), Just("\x1bP"), Just("\r"), Just("\r\n"), Just("\n"), Just("\r\r\n"), Just("ok"), Just("é"),
                    Just(" \t"), Just("[m"),
                ],
                0..40,
            )
        ) {
            let whole = pieces.concat();
            let common = Controls { any: true, rare: false };
            let (mut at_once, mut alone) = (Vec::new(), Vec::new());
            clean_common(whole.as_bytes(), &mut at_once);
            clean_lines(whole.as_bytes(), common, &mut alone);
            prop_assert_eq!(String::from_utf8(at_once), String::from_utf8(alone), "{:?}", whole);
        }
    }
}
