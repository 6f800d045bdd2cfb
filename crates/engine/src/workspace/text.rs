//! Text files in the encodings that repositories really hold, and back to the same bytes.
//!
//! Invariant: `encode(decode(bytes)) == bytes` for everything that [`Text::decode`] takes. An edit changes the bytes it replaces and no
//! others.

use std::borrow::Cow;

/// The number of first bytes in which a NUL makes a file binary. Git looks as far.
const BINARY_REACH: usize = 8000;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BE_MARK: &[u8] = b"\xfe\xff";

/// How a file's text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Marked,
    /// UTF-16, low byte first, behind a mark.
    Utf16Le,
    /// UTF-16, high byte first, behind a mark.
    Utf16Be,
    /// Anything else that is one byte a character: read as ISO 8859-1, which keeps every byte.
    Latin1,
}

/// A decoded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The text without a mark, line ends as they are.
    pub(super) content: String,
    /// How it was stored.
    pub(super) encoding: Encoding,
}

/// A file that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Binary;

/// Text that the file's encoding has no bytes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unencodable(pub(super) char);

impl Text {
    /// Reads a file's bytes as text.
    pub(super) fn decode(bytes: Vec<u8>) -> Result<Self, Binary> {
        if let Some(rest) = bytes.strip_prefix(UTF8_MARK) {
            let content = std::str::from_utf8(rest).map_err(|_not_text| Binary)?.to_owned();
            return Ok(Self { content, encoding: Encoding::Utf8Marked });
        }
        for (mark, encoding, join) in [
            (UTF16_LE_MARK, Encoding::Utf16Le, u16::from_le_bytes as fn([u8; 2]) -> u16),
            (UTF16_BE_MARK, Encoding::Utf16Be, u16::from_be_bytes),
        ] {
            if let Some(rest) = bytes.strip_prefix(mark) {
                let (pairs, odd) = rest.as_chunks::<2>();
                let units: Vec<u16> = pairs.iter().map(|&pair| join(pair)).collect();
                let content = String::from_utf16(&units).map_err(|_not_text| Binary)?;
                return if odd.is_empty() { Ok(Self { content, encoding }) } else { Err(Binary) };
            }
        }
        if bytes.get(..BINARY_REACH).unwrap_or(&bytes).contains(&0) {
            return Err(Binary);
        }
        match String::from_utf8(bytes) {
            Ok(content) => Ok(Self { content, encoding: Encoding::Utf8 }),
            Err(error) => {
                let bytes = error.into_bytes();
                // ISO 8859-1 has a letter for every byte, so that the control characters have to tell text from data.
                let printable =
                    |byte: &u8| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
                if !bytes.iter().all(printable) {
                    return Err(Binary);
                }
                Ok(Self { content: bytes.iter().map(|&byte| char::from(byte)).collect(), encoding: Encoding::Latin1 })
            }
        }
    }

    /// The bytes again.
    pub(super) fn encode(&self) -> Result<Vec<u8>, Unencodable> {
        let text = &self.content;
        Ok(match self.encoding {
            Encoding::Utf8 => text.clone().into_bytes(),
            Encoding::Utf8Marked => [UTF8_MARK, text.as_bytes()].concat(),
            Encoding::Utf16Le => {
                UTF16_LE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
            }
            Encoding::Utf16Be => {
                UTF16_BE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
            }
            Encoding::Latin1 => {
                // The model may have written a letter that the file cannot hold.
                text.chars().map(|c| u8::try_from(c).map_err(|_too_large| Unencodable(c))).collect::<Result<_, _>>()?
            }
        })
    }

    /// Whether most of its lines end in CR LF.
    pub(super) fn is_crlf(&self) -> bool {
        let all = memchr::memchr_iter(b'\n', self.content.as_bytes()).count();
        let crlf = memchr::memmem::find_iter(self.content.as_bytes(), "\r\n").count();
        crlf > all - crlf
    }

    /// Remarks on how it is stored. Empty for plain UTF-8.
    pub(super) fn notes(&self) -> String {
        let encoding = match self.encoding {
            Encoding::Utf8 => "",
            Encoding::Utf8Marked => "UTF-8 with a byte order mark, ",
            Encoding::Utf16Le | Encoding::Utf16Be => "UTF-16, ",
            Encoding::Latin1 => "not UTF-8: shown and kept as ISO 8859-1, ",
        };
        let lines = if self.is_crlf() { "CR LF line ends, " } else { "" };
        format!("{encoding}{lines}")
    }
}

/// The text with LF line ends, and where a CR was left out: positions in the result, ascending.
pub(super) fn without_cr(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    if !text.contains("\r\n") {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut plain = String::with_capacity(text.len());
    let mut left_out = Vec::new();
    let mut parts = text.split("\r\n");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        left_out.push(plain.len());
        plain.push('\n');
        plain.push_str(part);
    }
    (Cow::Owned(plain), left_out)
}

/// LF line ends as CR LF ones.
pub(super) fn with_cr(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

impl Encoding {
    /// Its name in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 | Self::Utf8Marked => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Latin1 => "ISO 8859-1",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        let encoding = |bytes: &[u8]| Text::decode(bytes.to_vec()).map(|text| text.encoding);
        assert_eq!(encoding("ä".as_bytes()), Ok(Encoding::Utf8));
        assert_eq!(encoding(b"\xef\xbb\xbfa"), Ok(Encoding::Utf8Marked));
        assert_eq!(encoding(b"\xff\xfea\0"), Ok(Encoding::Utf16Le));
        assert_eq!(encoding(b"\xfe\xff\0a"), Ok(Encoding::Utf16Be));
        assert_eq!(encoding(b"caf\xe9"), Ok(Encoding::Latin1));
        assert_eq!(encoding(b"a\0b"), Err(Binary));
        assert_eq!(encoding(b"\x89PNG\r\n\x1a\n\xff"), Err(Binary));
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_encoded_to_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64), mark in 0_usize..4) {
            let bytes = [[b"".as_slice(), UTF8_MARK, UTF16_LE_MARK, UTF16_BE_MARK][mark], &bytes].concat();
            if let Ok(text) = Text::decode(bytes.clone()) {
                prop_assert_eq!(text.encode(), Ok(bytes));
            }
        }

        #[test]
        fn left_out_positions_bring_the_text_back(text in "[a\r\n]{0,40}") {
            let (plain, left_out) = without_cr(&text);
            let mut back = plain.into_owned();
            for at in left_out.iter().rev() {
                back.insert(*at, '\r');
            }
            prop_assert_eq!(back, text);
        }
    }
}
