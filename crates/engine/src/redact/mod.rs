//! Secrets out of text: every exit of the process passes through one [`Redactor`].
//!
//! Owns the shape of secrets in text: their encodings (`encodings`), text whose spelling hides them (`view`), tokens of known shapes that
//! nobody told us of (`tokens`), and which values of variables are secrets (`values`, `telemetry`). Invariant: pure. Nothing here prints, stores or
//! compares a secret anywhere but in the automaton. Redact before text is cut: half a secret is not recognised. Encodings of encodings
//! (base64 of base64) are not undone.

mod diff;
mod encodings;
pub mod telemetry;
mod tokens;
pub mod values;
mod view;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use secrecy::{ExposeSecret, SecretString};

pub use values::MIN_SECRET_CHARS;
use view::Escapes;

/// The mask that replaces a secret.
pub const MASK: &str = "***";

/// From this length on a pattern is found with white space inside it: nobody writes that by chance.
const MIN_TOLERANT_BYTES: usize = 16;

/// So much of the end of a text is looked at for a secret that has begun.
const MAX_BEGUN_BYTES: usize = 16 * 1024;

/// The beginning of a secret that tells of it. Less of one is in any text.
const MIN_BEGUN_BYTES: usize = 4;

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
    /// Learns the secrets. Ones shorter than eight characters are ignored (they would eat ordinary words). Does no work yet: the automaton
    /// is built when first needed, so that start-up does not pay for it.
    #[must_use]
    pub fn new(secrets: &[SecretString]) -> Self {
        Self { secrets: secrets.to_vec(), ..Self::default() }
    }

    /// The text without secrets. Borrowed when there was none.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut result = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            let Some(masked) = self.mask_once(&result) else { break };
            result = Cow::Owned(masked);
        }
        result
    }

    /// The secrets of which some spelling stands in a text, by their places in the list: what a change may not carry away.
    ///
    /// A spelling of sixteen characters is one by itself. A shorter one counts where the secret is no ordinary value: who may not write
    /// what a test's database takes for a password could not write `password`.
    #[must_use]
    pub fn known(&self, text: &str) -> BTreeSet<usize> {
        let mut found = Vec::new();
        if let Some(matcher) = self.matcher() {
            matcher.find_patterns(text, &mut found);
        }
        let all: Vec<&SecretString> = self.secrets.iter().chain(&self.short).collect();
        let tells = |secret: usize| {
            let secret = all.get(secret).map(|secret| secret.expose_secret()).unwrap_or_default();
            !values::secret_parts(secret).is_empty()
        };
        let counts = |pattern: &Pattern, span: &Range<usize>| {
            span.len() >= MIN_TOLERANT_BYTES
                || pattern.is_whole && span.len() >= MIN_SECRET_CHARS && tells(pattern.secret)
        };
        found.into_iter().filter(|(pattern, span)| counts(pattern, span)).map(|(pattern, _)| pattern.secret).collect()
    }

    /// How much of a text that goes on can be redacted by itself: behind it a secret may have begun, or a word goes on that may become one.
    #[must_use]
    pub fn ended(&self, text: &str) -> usize {
        let from = text.floor_char_boundary(text.len().saturating_sub(MAX_BEGUN_BYTES));
        let tail = text.get(from..).unwrap_or_default();
        // A word that goes on may become a token of a known shape.
        let word = tail.trim_end_matches(|c: char| !c.is_whitespace()).len();
        let begun = self.matcher().and_then(|matcher| matcher.begun(tail)).unwrap_or(tail.len());
        text.floor_char_boundary(from.saturating_add(word.min(begun)))
    }

    fn mask_once(&self, text: &str) -> Option<String> {
        let mut spans = Vec::new();
        if let Some(matcher) = self.matcher() {
            matcher.find(text, &mut spans);
        }
        tokens::find(text, &mut spans);
        // Only where something is hidden: the view costs a copy of the text.
        if view::hides(text) {
            let (seen, sources) = view::normalised_with_sources(text.as_bytes(), Escapes::Shown);
            let mut found = Vec::new();
            tokens::find(&String::from_utf8_lossy(&seen), &mut found);
            spans.extend(found.into_iter().filter_map(|span| view::source(&sources, &span)));
        }
        // A mask that is masked again would use up all the rounds.
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

/// Puts the mask in place of the spans, which may overlap and need not be sorted. A span over several lines becomes as many, so that
/// lines keep their numbers.
fn mask(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    let mut spans = spans.into_iter().peekable();
    while let Some(span) = spans.next() {
        let mut end = span.end;
        // Spans that touch become one mask, so that their number tells nothing of the secrets.
        while let Some(next) = spans.next_if(|next| next.start <= end) {
            end = end.max(next.end);
        }
        let start = text.floor_char_boundary(span.start).max(done);
        masked.push_str(text.get(done..start).unwrap_or_default());
        masked.push_str(MASK);
        done = text.ceil_char_boundary(end);
        for _ in text.get(start..done).unwrap_or_default().matches('\n') {
            masked.push('\n');
            masked.push_str(MASK);
        }
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    masked
}

/// One spelling of a secret.
struct Pattern {
    bytes: Vec<u8>,
    /// The secret's place in the list.
    secret: usize,
    /// Whether it is the whole secret, and not a line of it.
    is_whole: bool,
    /// White-space characters that the spelling itself has.
    blanks: usize,
}

/// All spellings of all secrets, as automata.
struct Matcher {
    /// Answers fast that there is nothing.
    detector: AhoCorasick,
    /// Finds all, overlapping ones too. Built at the first hit.
    collector: OnceLock<Option<AhoCorasick>>,
    patterns: Vec<Pattern>,
    /// How text has to be looked at: escapes kept as well only where a secret itself could be taken for one.
    views: &'static [Escapes],
}

impl Matcher {
    /// `None` when there is nothing to look for.
    fn build(secrets: &[SecretString], short: &[SecretString]) -> Option<Self> {
        let least = secrets.iter().map(|secret| (secret, MIN_SECRET_CHARS));
        let mut patterns: Vec<Pattern> = Vec::new();
        for (place, (secret, least)) in least.chain(short.iter().map(|secret| (secret, 1))).enumerate() {
            let of_this = |spelling: encodings::Spelling| Pattern {
                bytes: spelling.bytes,
                secret: place,
                is_whole: spelling.is_whole,
                blanks: 0,
            };
            patterns.extend(encodings::spellings(secret.expose_secret(), least).into_iter().map(of_this));
        }
        // The whole secret before its lines, so that of two equal spellings the whole one stays.
        patterns.sort_unstable_by(|one, other| one.bytes.cmp(&other.bytes).then(other.is_whole.cmp(&one.is_whole)));
        // Short or plain secrets are spelled alike in many encodings.
        patterns.dedup_by(|later, earlier| later.bytes == earlier.bytes);
        for at in 0..patterns.len() {
            let Some(Pattern { bytes: spelling, secret, is_whole, .. }) = patterns.get(at) else { continue };
            let (secret, is_whole, blanks) = (*secret, *is_whole, view::count_blanks(spelling));
            // The spelling is seen through the same view as the text, or it would never be found there.
            let seen = [Escapes::Kept, Escapes::Undone].map(|escapes| view::normalised(spelling, escapes));
            let others: Vec<_> =
                seen.into_iter().filter(|seen| seen != spelling && seen.len() >= MIN_SECRET_CHARS).collect();
            patterns.extend(others.into_iter().map(|bytes| Pattern { bytes, secret, is_whole, blanks }));
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
        let mut found = Vec::new();
        self.find_patterns(text, &mut found);
        spans.extend(found.into_iter().map(|(_, span)| span));
    }

    fn find_patterns<'m>(&'m self, text: &str, found: &mut Vec<(&'m Pattern, Range<usize>)>) {
        // Most texts hold no secret, and this is all they cost.
        if self.detector.is_match(text) {
            found.extend(self.collect(text.as_bytes()));
        }
        for escapes in self.views {
            self.find_in_view(text, *escapes, found);
        }
    }

    fn find_in_view<'m>(&'m self, text: &str, escapes: Escapes, found: &mut Vec<(&'m Pattern, Range<usize>)>) {
        if !self.detector.is_match(&view::normalised(text.as_bytes(), escapes)) {
            return;
        }
        let (seen, sources) = view::normalised_with_sources(text.as_bytes(), escapes);
        for (pattern, span) in self.collect(&seen) {
            let Some(source) = view::source(&sources, &span) else { continue };
            let written = text.as_bytes().get(source.clone()).unwrap_or_default();
            let as_written = view::count_blanks(written) <= pattern.blanks;
            // A short secret with blanks between its letters is most likely plain text.
            if as_written || pattern.bytes.len() >= MIN_TOLERANT_BYTES {
                found.push((pattern, source));
            }
        }
    }

    /// Where a secret may have begun that is not there whole. `None` where none has.
    fn begun(&self, text: &str) -> Option<usize> {
        let in_view = |escapes: Escapes| {
            let (seen, sources) = view::normalised_with_sources(text.as_bytes(), escapes);
            let longest = |pattern: &Pattern| {
                // The longest beginning, since all of it has to be held back.
                let mut lengths = (MIN_BEGUN_BYTES..pattern.bytes.len().min(seen.len().saturating_add(1))).rev();
                lengths.find(|length| pattern.bytes.get(..*length).is_some_and(|begun| seen.ends_with(begun)))
            };
            let length = self.patterns.iter().filter_map(longest).max()?;
            view::source(&sources, &(seen.len().saturating_sub(length)..seen.len())).map(|span| span.start)
        };
        self.views.iter().filter_map(|escapes| in_view(*escapes)).min()
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
