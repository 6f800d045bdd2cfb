//! Lines out of bytes that come in pieces of any size.
//!
//! Invariants: a line does not depend on where its bytes were cut, in the middle of a character too. No more than [`MAX_LINE`] bytes wait.

/// The longest line that is read: a file's whole text may stand in one.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Bytes of a line that is not finished.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// Whether the line under way is too long to be read.
    too_long: bool,
}

/// A finished line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Its text. Bytes that are no UTF-8 are replaced.
    Text(String),
    /// It was too long.
    TooLong,
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
        self.too_long |= self.begun.len().saturating_add(piece.len()) > MAX_LINE;
        if self.too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }

    /// The rest when no more bytes come. `None` for an empty line.
    pub(super) fn finish(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.too_long) {
            return Some(Line::TooLong);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        (!text.is_empty()).then(|| Line::Text(text.to_owned()))
    }
}
