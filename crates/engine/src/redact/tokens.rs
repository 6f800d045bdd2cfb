//! Tokens that nobody told us of, known by their shape: they first appear in foreign text.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// The characters behind the prefix in a token of one kind.
#[derive(Clone, Copy)]
enum Shape {
    /// A run of these characters, at least so many.
    Run(fn(u8) -> bool, usize),
    /// The same with a digit among them, where words could look so.
    RunWithDigit(fn(u8) -> bool, usize),
    /// The value of an `Authorization` header: the scheme stays, the value goes.
    Bearer,
    /// The same for `Basic`, only after the header's name: the word is common.
    Basic,
    /// Three runs parted by dots.
    Jwt,
    /// All up to the end of the block.
    PrivateKey,
}

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

const fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

const fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const fn token68(byte: u8) -> bool {
    word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Longer prefixes first where one begins another. The lengths are below the vendors' own, so that a token that was
/// cut is still seen.
const FORMATS: [(&str, Shape); 40] = [
    ("github_pat_", Shape::Run(word, 20)),
    ("ghp_", Shape::Run(alphanumeric, 20)),
    ("gho_", Shape::Run(alphanumeric, 20)),
    ("ghu_", Shape::Run(alphanumeric, 20)),
    // Since 2026 these may be JWTs behind the prefix.
    ("ghs_", Shape::Run(token68, 20)),
    ("ghr_", Shape::Run(alphanumeric, 20)),
    ("sk-ant-", Shape::Run(word, 10)),
    ("sk-", Shape::RunWithDigit(word, 20)),
    ("AIza", Shape::Run(word, 30)),
    ("AKIA", Shape::Run(upper, 16)),
    ("ASIA", Shape::Run(upper, 16)),
    ("xoxa-", Shape::Run(word, 10)),
    ("xoxb-", Shape::Run(word, 10)),
    ("xoxp-", Shape::Run(word, 10)),
    ("xoxr-", Shape::Run(word, 10)),
    ("xoxs-", Shape::Run(word, 10)),
    ("xoxe-", Shape::Run(word, 10)),
    ("xapp-", Shape::Run(word, 10)),
    ("glpat-", Shape::Run(word, 16)),
    ("npm_", Shape::Run(alphanumeric, 30)),
    ("pypi-", Shape::RunWithDigit(word, 40)),
    ("gsk_", Shape::Run(alphanumeric, 20)),
    ("xai-", Shape::RunWithDigit(word, 20)),
    ("hf_", Shape::Run(alphanumeric, 30)),
    ("sk_live_", Shape::Run(alphanumeric, 16)),
    ("rk_live_", Shape::Run(alphanumeric, 16)),
    ("whsec_", Shape::Run(token68, 20)),
    ("SG.", Shape::RunWithDigit(token68, 30)),
    ("hvs.", Shape::RunWithDigit(word, 20)),
    ("dop_v1_", Shape::Run(alphanumeric, 30)),
    ("shpat_", Shape::Run(alphanumeric, 20)),
    ("ya29.", Shape::Run(word, 20)),
    ("eyJ", Shape::Jwt),
    ("-----BEGIN ", Shape::PrivateKey),
    ("Bearer ", Shape::Bearer),
    ("bearer ", Shape::Bearer),
    ("BEARER ", Shape::Bearer),
    ("Basic ", Shape::Basic),
    ("basic ", Shape::Basic),
    ("BASIC ", Shape::Basic),
];

/// The fewest characters of a header's value that are taken for a credential.
const MIN_HEADER_VALUE: usize = 16;

/// The fewest characters of each part of a JWT.
const MIN_JWT_PART: usize = 10;

static PREFIXES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    // The library's choice for so few, a DFA, takes longer to be made than most runs search.
    let prefixes = FORMATS.map(|(prefix, _)| prefix);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(prefixes)
        .ok()
});

/// Adds where tokens of known shapes stand.
pub(super) fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    let Some(prefixes) = PREFIXES.as_ref() else { return };
    let bytes = text.as_bytes();
    for found in prefixes.find_iter(bytes) {
        let Some((prefix, shape)) = FORMATS.get(found.pattern().as_usize()) else { continue };
        let before = bytes.get(..found.start()).unwrap_or_default();
        let inside_word = before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        // `task-ghp_…` is a token, `xghp_…` is the middle of a word.
        if inside_word && prefix.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let after = bytes.get(found.end()..).unwrap_or_default();
        let span = match shape {
            Shape::Run(of, min) => run(after, *of, *min).map(|len| found.start()..found.end() + len),
            Shape::RunWithDigit(of, min) => run(after, *of, *min)
                // `sk-learn-preprocessing-tools` has the form of a key, and no digit.
                .filter(|len| after.iter().take(*len).any(u8::is_ascii_digit))
                .map(|len| found.start()..found.end() + len),
            Shape::Bearer => run(after, token68, MIN_HEADER_VALUE).map(|len| found.end()..found.end() + len),
            Shape::Basic if after_authorization(before) => {
                run(after, token68, MIN_HEADER_VALUE).map(|len| found.end()..found.end() + len)
            }
            Shape::Basic => None,
            Shape::Jwt => jwt(after).map(|len| found.start()..found.end() + len),
            Shape::PrivateKey => private_key(after).map(|len| found.start()..found.end() + len),
        };
        spans.extend(span);
    }
}

fn run(text: &[u8], of: fn(u8) -> bool, min: usize) -> Option<usize> {
    let len = text.iter().take_while(|byte| of(**byte)).count();
    (len >= min).then_some(len)
}

fn after_authorization(before: &[u8]) -> bool {
    const NAME: &[u8] = b"authorization";
    // The name, a colon or equals sign, perhaps quotes and blanks.
    let tail = before.get(before.len().saturating_sub(NAME.len() + 6)..).unwrap_or_default();
    tail.windows(NAME.len()).any(|window| window.eq_ignore_ascii_case(NAME))
}

fn jwt(text: &[u8]) -> Option<usize> {
    let mut len = 0;
    // Header, claims and signature. A word that merely begins like one has no dots of that kind.
    for part in 0..3 {
        if part > 0 {
            if text.get(len) != Some(&b'.') {
                return None;
            }
            len += 1;
        }
        len += run(text.get(len..)?, word, MIN_JWT_PART)?;
    }
    Some(len)
}

/// From behind `-----BEGIN ` to the end of the block, or of what looks like its body where the end was cut off.
fn private_key(text: &[u8]) -> Option<usize> {
    const LABEL: &str = "PRIVATE KEY-----";
    const END: &str = "-----END ";
    /// `ENCRYPTED `, `OPENSSH `, `RSA `, … before the label, and the label.
    const MAX_LABEL: usize = 48;
    let head = text.get(..text.len().min(MAX_LABEL))?;
    let body = memchr::memmem::find(head, LABEL.as_bytes())? + LABEL.len();
    let rest = text.get(body..)?;
    let is_body = |byte: &u8| token68(*byte) || byte.is_ascii_whitespace() || matches!(byte, b'\\' | b':' | b',');
    // A log that was cut has the head of a key and a part of its body.
    let Some(end) = memchr::memmem::find(rest, END.as_bytes()) else {
        return Some(body + rest.iter().take_while(|byte| is_body(byte)).count());
    };
    let closing = rest.get(end + END.len()..)?;
    let closed = memchr::memmem::find(closing, b"-----").map_or(closing.len(), |dashes| dashes + 5);
    Some(body + end + END.len() + closed)
}
