//! How a secret may be spelled: as it is, backwards, JSON, URL, hexadecimal (also in pairs parted by colons), base64.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that RFC 3986 has escaped in a segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The characters that JavaScript's `encodeURIComponent` escapes.
const COMPONENT: &AsciiSet = &SEGMENT.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');
/// The characters that a form escapes.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_');
/// The characters that are escaped in a path.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// A way to write a secret, or a line of it.
pub(super) struct Spelling {
    pub(super) bytes: Vec<u8>,
    /// Whether it is the whole secret.
    pub(super) is_whole: bool,
}

/// Every spelling of a secret that has at least `min_chars` characters, and of each such line of it.
pub(super) fn spellings(secret: &str, min_chars: usize) -> Vec<Spelling> {
    let secret = secret.trim();
    // A runner prints a masked secret so. Taking that for a secret would mask every mask.
    if secret.chars().count() < min_chars.max(1) || secret.chars().all(|c| c == '*') {
        return Vec::new();
    }
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    encode(secret, &mut whole);
    let lines: Vec<&str> = secret.lines().map(str::trim).collect();
    // The lines of a key file may stand apart, or be printed one by one.
    if lines.len() > 1 {
        // The frame of a PEM block is no secret.
        let telling = |line: &&str| !line.starts_with("-----") && line.chars().count() >= min_chars;
        for line in lines.into_iter().filter(telling) {
            encode(line, &mut parts);
        }
    }
    let of = |bytes: Vec<Vec<u8>>, is_whole| bytes.into_iter().map(move |bytes| Spelling { bytes, is_whole });
    of(whole, true).chain(of(parts, false)).collect()
}

fn encode(secret: &str, into: &mut Vec<Vec<u8>>) {
    // A cheap way to get a key past a mask, which GitHub's own masking lets through.
    let backwards: String = secret.chars().rev().collect();
    for text in [secret, &backwards] {
        into.push(text.as_bytes().to_vec());
        into.push(json(text).into_bytes());
    }
    // A log of JSON that holds JSON, as test runners print it.
    into.push(json(&json(secret)).into_bytes());
    for escaped in [SEGMENT, COMPONENT, FORM, PATH].map(|set| utf8_percent_encode(secret, set).to_string()) {
        // Programs differ in how they write the digits of an escape.
        into.push(escaped.to_ascii_lowercase_escapes().into_bytes());
        into.push(escaped.into_bytes());
    }
    into.push(utf8_percent_encode(secret, FORM).to_string().replace("%20", "+").into_bytes());
    let hex = hex::encode(secret);
    let pairs: Vec<&str> = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect();
    for hex in [pairs.join(":"), hex] {
        into.push(hex.to_ascii_uppercase().into_bytes());
        into.push(hex.into_bytes());
    }
    // Three bytes become four signs, so that the secret's place in the text has three cases.
    for offset in 0..3 {
        into.extend(base64_core(secret.as_bytes(), offset, &STANDARD_NO_PAD));
        into.extend(base64_core(secret.as_bytes(), offset, &URL_SAFE_NO_PAD));
    }
}

/// As `serde_json` would write it inside a string.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

trait LowercaseEscapes {
    /// `%2F` as `%2f`, the rest as it is.
    fn to_ascii_lowercase_escapes(&self) -> String;
}

impl LowercaseEscapes for String {
    fn to_ascii_lowercase_escapes(&self) -> String {
        let mut left = 0_u8;
        self.chars()
            .map(|c| {
                if c == '%' {
                    left = 2;
                    c
                } else if left > 0 {
                    left -= 1;
                    c.to_ascii_lowercase()
                } else {
                    c
                }
            })
            .collect()
    }
}

/// The characters that the secret alone decides when it stands `offset` bytes (modulo 3) into base64-encoded text.
fn base64_core(secret: &[u8], offset: usize, alphabet: &impl base64::Engine) -> Option<Vec<u8>> {
    /// Bits that one character of base64 carries.
    const BITS: usize = 6;
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret);
    let encoded = alphabet.encode(&padded).into_bytes();
    let first = (offset * 8).div_ceil(BITS);
    let end = (offset + secret.len()) * 8 / BITS;
    let core = encoded.get(first..end)?;
    // One sign of base64 stands in any text.
    (core.len() >= 2).then(|| core.to_vec())
}
