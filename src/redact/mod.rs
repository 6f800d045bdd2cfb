//! Secrets out of text: every exit of the process passes through one [`Redactor`].
//!
//! Owns what a secret looks like in text: its encodings (`encodings`), text whose spelling hides it (`view`),
//! tokens of known shapes that nobody told us of (`tokens`), and which values of variables are secrets (`values`).
//! Invariant: pure; nothing here prints, stores or compares a secret anywhere but in the automaton. Redact before
//! text is cut: half a secret is not recognised. Encodings of encodings (base64 of base64) are not undone.

mod encodings;
mod tokens;
pub mod values;
mod view;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use secrecy::{ExposeSecret, SecretString};

use view::Escapes;

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// Secrets below this many characters are not looked for: they would eat ordinary words.
pub const MIN_SECRET_CHARS: usize = 8;

/// From this length on a pattern is found with white space inside it: nobody writes that by chance.
const MIN_TOLERANT_BYTES: usize = 16;

/// A mask and its neighbours may spell a secret that holds asterisks: look again, but not for ever.
const MAX_ROUNDS: usize = 16;

/// Replaces every known secret, in every known encoding, and every token of a known shape by `***`.
#[derive(Default)]
pub struct Redactor {
    secrets: Vec<SecretString>,
    short: Vec<SecretString>,
    matcher: OnceLock<Option<Matcher>>,
}

impl Redactor {
    /// Learns the secrets; ones shorter than eight characters are ignored (they would eat ordinary words).
    /// Does no work yet: the automaton is built when first needed, so that start-up does not pay for it.
    #[must_use]
    pub fn new(secrets: &[SecretString]) -> Self {
        Self { secrets: secrets.to_vec(), ..Self::default() }
    }

    /// Learns secrets that are looked for however short they are.
    #[must_use]
    pub fn with_short(mut self, secrets: &[SecretString]) -> Self {
        self.short.extend_from_slice(secrets);
        self.matcher = OnceLock::new();
        self
    }

    /// The text without secrets; borrowed when there was none.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut result = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            let Some(masked) = self.mask_once(&result) else { break };
            result = Cow::Owned(masked);
        }
        result
    }

    /// As [`Self::redact`] for output that may not be UTF-8; undecodable bytes become U+FFFD where something was
    /// found, and stay as they are where not.
    #[must_use]
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => match self.redact(text) {
                Cow::Borrowed(_) => Cow::Borrowed(bytes),
                Cow::Owned(masked) => Cow::Owned(masked.into_bytes()),
            },
            Cow::Owned(text) => match self.redact(&text) {
                Cow::Borrowed(_) => Cow::Borrowed(bytes),
                Cow::Owned(masked) => Cow::Owned(masked.into_bytes()),
            },
        }
    }

    /// Whether some spelling of a known secret stands there. Shorter ones than sixteen characters do not count: who may not write
    /// what a test's database takes for a password could not write `password`.
    #[must_use]
    pub fn knows(&self, text: &str) -> bool {
        let mut spans = Vec::new();
        let long =
            self.secrets.iter().chain(&self.short).any(|secret| secret.expose_secret().len() >= MIN_TOLERANT_BYTES);
        if let Some(matcher) = self.matcher().filter(|_| long) {
            matcher.find(text, &mut spans);
        }
        spans.iter().any(|span| span.len() >= MIN_TOLERANT_BYTES)
    }

    fn mask_once(&self, text: &str) -> Option<String> {
        let mut spans = Vec::new();
        if let Some(matcher) = self.matcher() {
            matcher.find(text, &mut spans);
        }
        tokens::find(text, &mut spans);
        if view::hides(text) {
            let (seen, sources) = view::normalised_with_sources(text.as_bytes(), Escapes::Shown);
            let mut found = Vec::new();
            tokens::find(&String::from_utf8_lossy(&seen), &mut found);
            spans.extend(found.into_iter().filter_map(|span| view::source(&sources, &span)));
        }
        spans.retain(|span| span.len() > MASK.len() || text.get(span.clone()) != Some(MASK));
        (!spans.is_empty()).then(|| mask(text, spans))
    }

    fn matcher(&self) -> Option<&Matcher> {
        self.matcher.get_or_init(|| Matcher::build(&self.secrets, &self.short)).as_ref()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &(self.secrets.len() + self.short.len())).finish_non_exhaustive()
    }
}

/// Puts the mask in place of the spans, which may overlap and need not be sorted.
fn mask(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    let mut spans = spans.into_iter().peekable();
    while let Some(span) = spans.next() {
        let mut end = span.end;
        while let Some(next) = spans.next_if(|next| next.start <= end) {
            end = end.max(next.end);
        }
        let start = text.floor_char_boundary(span.start).max(done);
        masked.push_str(text.get(done..start).unwrap_or_default());
        masked.push_str(MASK);
        done = text.ceil_char_boundary(end);
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    masked
}

/// One spelling of a secret.
struct Pattern {
    bytes: Vec<u8>,
    /// White-space characters that the spelling itself has.
    blanks: usize,
}

/// All spellings of all secrets, as automata.
struct Matcher {
    /// Answers fast that there is nothing.
    detector: AhoCorasick,
    /// Finds all, overlapping ones too; built at the first hit.
    collector: OnceLock<Option<AhoCorasick>>,
    patterns: Vec<Pattern>,
    /// How text has to be looked at: escapes kept as well only where a secret itself could be taken for one.
    views: &'static [Escapes],
}

impl Matcher {
    /// `None` when there is nothing to look for.
    fn build(secrets: &[SecretString], short: &[SecretString]) -> Option<Self> {
        let mut spellings = Vec::new();
        for secret in secrets {
            encodings::spellings(secret.expose_secret(), MIN_SECRET_CHARS, &mut spellings);
        }
        for secret in short {
            encodings::spellings(secret.expose_secret(), 1, &mut spellings);
        }
        spellings.sort_unstable();
        spellings.dedup();
        let mut patterns: Vec<Pattern> =
            spellings.iter().map(|spelling| Pattern { bytes: spelling.clone(), blanks: 0 }).collect();
        for spelling in &spellings {
            for escapes in [Escapes::Kept, Escapes::Undone] {
                let seen = view::normalised(spelling, escapes);
                if seen != *spelling && seen.len() >= MIN_SECRET_CHARS {
                    patterns.push(Pattern { blanks: view::count_blanks(spelling), bytes: seen });
                }
            }
        }
        if patterns.is_empty() {
            return None;
        }
        let detector = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            // A DFA would take longer to build than the text of a whole run takes to search.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns.iter().map(|pattern| &pattern.bytes))
            .ok()?;
        let like_escapes = |secret: &SecretString| secret.expose_secret().contains(['\\', '%', '&']);
        let views: &[Escapes] = if secrets.iter().chain(short).any(like_escapes) {
            &[Escapes::Undone, Escapes::Kept]
        } else {
            &[Escapes::Undone]
        };
        Some(Self { detector, collector: OnceLock::new(), patterns, views })
    }

    fn find(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        if self.detector.is_match(text) {
            for (_, span) in self.collect(text.as_bytes()) {
                spans.push(span);
            }
        }
        for escapes in self.views {
            self.find_in_view(text, *escapes, spans);
        }
    }

    fn find_in_view(&self, text: &str, escapes: Escapes, spans: &mut Vec<Range<usize>>) {
        if !self.detector.is_match(&view::normalised(text.as_bytes(), escapes)) {
            return;
        }
        let (seen, sources) = view::normalised_with_sources(text.as_bytes(), escapes);
        for (pattern, span) in self.collect(&seen) {
            let Some(source) = view::source(&sources, &span) else { continue };
            let written = text.as_bytes().get(source.clone()).unwrap_or_default();
            let as_written = view::count_blanks(written) <= pattern.blanks;
            if as_written || pattern.bytes.len() >= MIN_TOLERANT_BYTES {
                spans.push(source);
            }
        }
    }

    fn collect(&self, text: &[u8]) -> Vec<(&Pattern, Range<usize>)> {
        let collector = self.collector.get_or_init(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::NoncontiguousNFA))
                .build(self.patterns.iter().map(|pattern| &pattern.bytes))
                .ok()
        });
        let Some(collector) = collector else { return Vec::new() };
        collector
            .find_overlapping_iter(text)
            .filter_map(|found| Some((self.patterns.get(found.pattern().as_usize())?, found.range())))
            .collect()
    }
}

#[cfg(test)]
mod tests;
