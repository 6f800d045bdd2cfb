//! Workflow commands: the lines by which a step speaks to the Actions runner, escaped so that data stays data.
//!
//! Source: `actions/runner`, `ActionCommand.cs`: data escapes `%`, CR and LF, and property values also `:` and `,`.

use super::plain;

/// The most characters of an annotation that the runner keeps.
const MAX_ANNOTATION_CHARS: usize = 4_096;

/// Shorter values are no secrets, and masking them would make the log unreadable.
const MIN_MASK_BYTES: usize = 8;

/// The beginning of the first and last lines of a PEM block. Every such file has them.
const PEM_FRAME: &str = "-----";

/// The kind of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    /// Something failed.
    Error,
    /// Something to look at.
    Warning,
    /// Something to know.
    Notice,
}

impl Annotation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// Escapes the data of a command.
#[must_use]
pub fn escape_data(data: &str) -> String {
    // The percent sign first, or it would escape those that the others bring in.
    data.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property's value.
#[must_use]
pub fn escape_property(value: &str) -> String {
    escape_data(value).replace(':', "%3A").replace(',', "%2C")
}

/// Opens a foldable section. Its title is made one harmless line.
#[must_use]
pub fn group(title: &str) -> String {
    format!("::group::{}", escape_data(&plain::line(title)))
}

/// Closes the section that is open.
#[must_use]
pub fn end_group() -> String {
    "::endgroup::".to_owned()
}

/// Makes the runner mask a value in the log from now on: the whole, and each line of one that has several, since a log is
/// masked line by line and a key is printed so. GitHub's runner splits a value itself (GITHUB.md 20), others that run workflows
/// do not. None for what the runner would refuse (empty) or what would mask ordinary text: short values, short lines such as a
/// brace, the frame of a PEM block.
#[must_use]
pub fn add_masks(secret: &str) -> Vec<String> {
    // A line break at the end belongs to the file or the shell, not to the secret.
    let secret = secret.trim();
    let whole = (!secret.is_empty()).then_some(secret);
    let lines =
        secret.split(['\r', '\n']).map(str::trim).filter(|line| *line != secret && !line.starts_with(PEM_FRAME));
    let telling = whole.into_iter().chain(lines).filter(|value| value.len() >= MIN_MASK_BYTES);
    telling.map(|value| format!("::add-mask::{}", escape_data(value))).collect()
}

/// Lines that the runner takes for text, whatever they hold: nothing in them is a command until the token comes again. The token
/// must be one that nobody could foresee.
#[must_use]
pub fn stopped(text: &str, token: &str) -> String {
    // The token counts only at the beginning of a line.
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("::stop-commands::{token}\n{text}{end}::{token}::\n")
}

/// An annotation with a title. Both are sanitised.
#[must_use]
pub fn annotation(kind: Annotation, title: &str, message: &str) -> String {
    annotation_at(kind, None, title, message)
}

/// The same beside a file, and a line of it where that is known.
#[must_use]
pub fn annotation_at(kind: Annotation, place: Option<(&str, Option<u32>)>, title: &str, message: &str) -> String {
    // Cut before it is escaped, or the cut could go through an escape.
    let message: String = plain::block(message).chars().take(MAX_ANNOTATION_CHARS).collect();
    let at = place.map(|(file, line)| {
        let line = line.map(|line| format!(",line={line}")).unwrap_or_default();
        format!("file={}{line},", escape_property(&plain::line(file)))
    });
    let at = at.unwrap_or_default();
    format!("::{} {at}title={}::{}", kind.as_str(), escape_property(&plain::line(title)), escape_data(&message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The runner's decoding of data: it replaces the escapes, `%25` last.
    fn unescape_data(data: &str) -> String {
        data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    }

    fn unescape_property(value: &str) -> String {
        value.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
    }

    #[test]
    fn titles_and_messages_stay_on_their_line() {
        assert_eq!(group("Tier 1\n::error::x 50%"), "::group::Tier 1 ::error::x 50%25");
        assert_eq!(annotation(Annotation::Warning, "a:b,c", "one\r\ntwo"), "::warning title=a%3Ab%2Cc::one%0Atwo");
    }

    #[test]
    fn secrets_are_masked_whole_and_line_by_line_and_words_are_not() {
        let pem = "-----BEGIN KEY-----\r\n  MIIEvQIBADAN%\nBgkqhkiG9w0B\n==\n-----END KEY-----\n";
        let masks = add_masks(pem);
        assert_eq!(
            masks,
            [
                "::add-mask::-----BEGIN KEY-----%0D%0A  MIIEvQIBADAN%25%0ABgkqhkiG9w0B%0A==%0A-----END KEY-----",
                "::add-mask::MIIEvQIBADAN%25",
                "::add-mask::BgkqhkiG9w0B",
            ]
        );
        assert!(masks.iter().all(|mask| mask.lines().count() == 1), "each is one command");
        assert_eq!(add_masks("sk-0123456789\n"), ["::add-mask::sk-0123456789"], "without the line break of a file");
        assert_eq!(add_masks("{\n\"key\": \"s3cr3t-0123\"\n}").len(), 2, "a brace masks nothing");
        for nothing in ["true", "        \n", ""] {
            assert!(add_masks(nothing).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn a_stopped_text_ends_on_a_line_of_its_own() {
        assert_eq!(stopped("::error::x", "t"), "::stop-commands::t\n::error::x\n::t::\n");
        assert_eq!(stopped("a\n", "t"), "::stop-commands::t\na\n::t::\n");
    }

    proptest! {
        #[test]
        fn what_the_runner_reads_is_what_was_meant(parts in prop::collection::vec("(%|\r|\n|:|,|0A|0D|25|3A|2C|::|\\PC)", 0..20)) {
            let text = parts.concat();
            prop_assert_eq!(&unescape_data(&escape_data(&text)), &text);
            prop_assert_eq!(&unescape_property(&escape_property(&text)), &text);
            prop_assert!(!escape_data(&text).contains(['\r', '\n']));
            prop_assert!(!escape_property(&text).contains(['\r', '\n', ':', ',']));
        }

        #[test]
        fn a_command_is_always_one_line(title in any::<String>(), message in any::<String>()) {
            prop_assert_eq!(group(&title).lines().count(), 1);
            prop_assert_eq!(annotation(Annotation::Error, &title, &message).lines().count(), 1);
        }
    }
}
