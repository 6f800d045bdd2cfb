//! Sentences for people that may hold foreign words (pure): a plain word stands free, anything else in a code span.
//!
//! Invariant: what stands free can make no link, mention, reference, image, emphasis or HTML.

use super::fence::code;
use crate::report::plain;

/// Marks around a word that belong to the sentence.
const BEFORE: [char; 2] = ['(', '"'];
const AFTER: [char; 8] = ['.', ',', ';', ':', ')', '"', '?', '…'];
/// From this length on, GitHub takes hexadecimal digits for a commit.
const SHORT_SHA: usize = 7;

/// One line of at most `max_width` columns.
pub(super) fn prose(text: &str, max_width: usize) -> String {
    let text = plain::clipped_line(text, max_width);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // One backtick has no fellow, be it that the cut took it.
        return words(&text);
    }
    // Between an odd and the next backtick: `` use `a` or `b` `` has five parts, of which the second and fourth are
    // code.
    let is_code = |index: usize| !index.is_multiple_of(2);
    let part = |(index, part): (usize, &&str)| match is_code(index) {
        true if part.is_empty() => String::new(),
        true => code(part, max_width),
        false => words(part),
    };
    parts.iter().enumerate().map(part).collect()
}

fn words(text: &str) -> String {
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &str) -> String {
    let core = word.trim_start_matches(BEFORE).trim_end_matches(AFTER);
    if is_plain(core) {
        return word.to_owned();
    }
    let Some((before, after)) = word.split_once(core) else { return code(word, usize::MAX) };
    format!("{before}{}{after}", code(core, usize::MAX))
}

/// Whether a word is one of a language, or a number. An empty one is: it was nothing but marks of the sentence.
fn is_plain(core: &str) -> bool {
    let has_digit = core.chars().any(|c| c.is_ascii_digit());
    let is_sha = has_digit && core.len() >= SHORT_SHA && core.chars().all(|c| c.is_ascii_hexdigit());
    // `and/or` and `don't` are words. With a digit, GitHub may make a reference of it.
    let is_joint = |c: char| matches!(c, '-' | '\'' | '/') && !has_digit;
    let is_word = core.chars().all(|c| c.is_alphanumeric() || is_joint(c));
    is_word && !is_sha && !core.starts_with(['-', '/'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sentence_is_prose_and_only_what_is_no_word_stands_in_code() {
        for (text, shown) in [
            ("Run upshift on its new head", "Run upshift on its new head"),
            ("Use `push: pr`, or let its token bypass the rule", "Use `push: pr`, or let its token bypass the rule"),
            ("set OPENAI_API_KEY (or --model).", "set `OPENAI_API_KEY` (or `--model`)."),
            ("give it: see https://example.com/x.", "give it: see `https://example.com/x`."),
            ("ask @ada about #12, GH-3 and 03ee08e1", "ask `@ada` about `#12`, `GH-3` and `03ee08e1`"),
            ("**now** <b>x</b> ![i](http://x)", "`**now**` `<b>x</b>` `![i](http://x`)"),
            ("one ` alone", "one `` ` `` alone"),
            ("www.example.com a_b_c", "`www.example.com` `a_b_c`"),
            ("wait 30 s, then say \"yes\"", "wait 30 s, then say \"yes\""),
        ] {
            assert_eq!(prose(text, 400), shown);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_words_ever_stands_free(text in "[a-z0-9 `@#*_<>!\\[\\]()./:&\\\\|~-]{0,60}") {
            // Spans of one or more backticks are taken out as a reader of Markdown does.
            let shown = prose(&text, 400);
            let mut free = String::new();
            let mut rest = shown.as_str();
            while let Some((before, after)) = rest.split_once('`') {
                free.push_str(before);
                let ticks = 1 + after.chars().take_while(|c| *c == '`').count();
                let fence = "`".repeat(ticks);
                let inside = after.trim_start_matches('`');
                let end = inside.match_indices(&fence).find(|(at, _)| {
                    let alone = |side: Option<&str>, edge: fn(&str) -> bool| !side.is_some_and(edge);
                    alone(inside.get(..*at), |side| side.ends_with('`'))
                        && alone(inside.get(*at + ticks..), |side| side.starts_with('`'))
                });
                let Some((at, _)) = end else { panic!("an open span: {shown}") };
                rest = inside.get(at + ticks..).unwrap_or_default();
            }
            free.push_str(rest);
            prop_assert!(!free.contains(['@', '#', '*', '_', '<', '>', '!', '[', ']', '&', '\\', '|', '~']), "{}", free);
            prop_assert!(!free.contains("://") && !free.contains("www."), "{}", free);
        }
    }
}
