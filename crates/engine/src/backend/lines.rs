//! Lines out of bytes that come in pieces of any size.
//!
//! Invariants: a line does not depend on where its bytes were cut, in the middle of a character too. No more than [`MAX_LINE`] bytes wait.

/// The longest line that is read: a file's whole text may stand in one.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// How much of each end of a longer one is kept, in bytes.
const KEPT_ENDS: usize = 4 * 1024;

/// Bytes of a line that is not finished.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// The ends of the line under way where it is too long to be read.
    too_long: Option<Ends>,
}

/// The ends of a line that is too long to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ends {
    /// Its first bytes.
    pub(super) head: Vec<u8>,
    /// Its last bytes.
    pub(super) tail: Vec<u8>,
}

/// A finished line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Its text. Bytes that are no UTF-8 are replaced.
    Text(String),
    /// It was too long.
    TooLong(Ends),
}

impl Lines {
    /// Takes bytes and hands out the lines that they finish.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<Line>) {
        let mut pieces = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.add(piece);
            if pieces.peek().is_some() {
                out.extend(self.finish());
            }
        }
    }

    fn add(&mut self, piece: &[u8]) {
        if self.too_long.is_none() && self.begun.len().saturating_add(piece.len()) > MAX_LINE {
            let mut line = std::mem::take(&mut self.begun);
            // The piece itself comes to the end below, as all that follow it.
            let tail = last(&line);
            line.extend_from_slice(piece.get(..KEPT_ENDS).unwrap_or(piece));
            let head = line.get(..KEPT_ENDS).unwrap_or(&line).to_vec();
            self.too_long = Some(Ends { head, tail });
        }
        match &mut self.too_long {
            Some(Ends { tail, .. }) => {
                tail.extend_from_slice(&last(piece));
                *tail = last(tail);
            }
            None => self.begun.extend_from_slice(piece),
        }
    }

    /// The rest when no more bytes come. `None` for an empty line.
    pub(super) fn finish(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.begun);
        if let Some(ends) = self.too_long.take() {
            return Some(Line::TooLong(ends));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        (!text.is_empty()).then(|| Line::Text(text.to_owned()))
    }
}

fn last(bytes: &[u8]) -> Vec<u8> {
    bytes.get(bytes.len().saturating_sub(KEPT_ENDS)..).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_line_that_is_too_long_hold_each_byte_once() {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        lines.push(&vec![b'a'; MAX_LINE], &mut out);
        lines.push(b"bcd\n", &mut out);
        let [Line::TooLong(Ends { head, tail })] = &out[..] else { panic!("{}", out.len()) };
        assert!(head.iter().all(|byte| *byte == b'a') && head.len() == KEPT_ENDS);
        assert!(tail.ends_with(b"aabcd") && tail.len() == KEPT_ENDS);
    }
}
