//! The log for finding causes: `-v`, `-vv` and `UPSHIFT_LOG`, on standard error. Off unless it is asked for.
//!
//! Owns which lines are let through and which text they may hold. Invariants: a line leaves here redacted, harmless to a terminal and no
//! command to the Actions runner. It is one line, whatever a field holds. Libraries log nothing unless they are named.

use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::output::{Failure, inert_lines};
use super::variables::Variables;
use crate::redact::Redactor;
use crate::report::plain;

/// Filters by directives such as `upshift::session=debug`. A level alone applies to upshift itself.
const VARIABLE: &str = "UPSHIFT_LOG";
/// The crate whose lines are let through where nothing else is named.
const OURS: &str = env!("CARGO_CRATE_NAME");
/// The crate of the layers below the loop. Its parts are named as parts of upshift: how the program is cut into crates is nobody's concern.
const ENGINE: &str = "upshift_engine";

/// The log of a process. `None` where none is asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Option<Arc<RwLock<Arc<Redactor>>>>);

impl Log {
    /// Begins to log, if flags or the variable ask for it.
    ///
    /// # Errors
    /// The variable cannot be read (exit 2).
    pub(super) fn begin(verbosity: u8, variables: &Variables) -> anyhow::Result<Self> {
        let Some(targets) = wanted(verbosity, variables.get(VARIABLE))? else { return Ok(Self::default()) };
        // Until the plan tells which variables hold keys, their names do.
        let redactor = Arc::new(RwLock::new(Arc::new(Redactor::new(&variables.secrets()))));
        // The lines are redacted as plain text. A colour in the middle of a key would hide it.
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Lines(Arc::clone(&redactor)));
        let begun = tracing_subscriber::registry().with(lines).with(targets).try_init();
        begun.map_err(|error| Failure::usage(format!("the log cannot be started: {error}")))?;
        Ok(Self(Some(redactor)))
    }

    /// Takes the secrets of the run out of what comes from now on.
    pub(super) fn learn(&self, redactor: &Arc<Redactor>) {
        if let Some(known) = &self.0 {
            // A thread that panicked while it held the lock must not end the log for all others.
            *known.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(redactor);
        }
    }
}

/// The filter of the log. `None` where nothing is let through.
fn wanted(verbosity: u8, directives: Option<&str>) -> anyhow::Result<Option<Targets>> {
    let level = match (verbosity, directives) {
        (0, None) => return Ok(None),
        (0, Some(directives)) => return parsed(directives).map(Some),
        // A flag beats its variable, as everywhere.
        (1, _) => LevelFilter::INFO,
        (2.., _) => LevelFilter::DEBUG,
    };
    Ok(Some(Targets::new().with_target(OURS, level)))
}

fn parsed(directives: &str) -> anyhow::Result<Targets> {
    // `info,,` with an empty place is a slip of the pen, and no error.
    let words = directives.split(',').map(str::trim).filter(|word| !word.is_empty());
    // A lone word that is no level would be taken for the name of a crate, and nothing would be logged.
    for odd in words.clone().filter(|word| is_odd(word)) {
        super::say(&format!(
            "⚠ {VARIABLE}: `{}` is neither a level (error, warn, info, debug, trace) nor a part of upshift",
            odd.escape_debug()
        ));
    }
    let ours = words.map(|word| {
        let is_level = !word.contains('=') && word.parse::<LevelFilter>().is_ok();
        // The filter would let a lone level through for every library. Here it is about upshift alone.
        match word.strip_prefix(OURS) {
            _ if is_level => format!("{OURS}={word}"),
            Some(part) if part.starts_with("::") => format!("{word},{ENGINE}{part}"),
            _ => word.to_owned(),
        }
    });
    ours.collect::<Vec<_>>().join(",").parse().map_err(|error| {
        let directives = directives.escape_debug();
        Failure::usage(format!(
            "{VARIABLE}='{directives}' cannot be read: {error}\n→ Fix: name a level (error, warn, info, debug), or targets and \
             levels: upshift::session=debug,upshift::github=info"
        ))
    })
}

/// Whether a directive names neither a level nor a part of ours, nor what of a library.
fn is_odd(word: &str) -> bool {
    let names_ours = word == OURS || word.starts_with(OURS) && word.contains("::");
    !word.contains('=') && word.parse::<LevelFilter>().is_err() && !names_ours
}

/// Makes the writer of each line.
#[derive(Debug)]
struct Lines(Arc<RwLock<Arc<Redactor>>>);

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Line;

    fn make_writer(&'w self) -> Line {
        let redactor = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        Line { text: Vec::new(), redactor }
    }
}

/// A line under way. It is written when it is whole.
#[derive(Debug)]
struct Line {
    text: Vec<u8>,
    redactor: Arc<Redactor>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The formatter writes a line in pieces, and a key could lie across two of them.
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A closed standard error is nobody to tell.
        let _closed = writeln!(io::stderr().lock(), "{}", safe(&self.text, &self.redactor));
    }
}

/// A text as one line that may be shown. Redacted twice: what parted a secret may be gone from the line.
fn safe(text: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.replace(ENGINE, OURS);
    // The formatter's own line end would otherwise be shown as a sign.
    let line = plain::line(&redactor.redact(text.trim_end()));
    inert_lines(&redactor.redact(&line)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use tracing::Level;

    use super::*;

    fn lets_through(verbosity: u8, directives: Option<&str>, target: &str, level: Level) -> bool {
        wanted(verbosity, directives).unwrap().is_some_and(|targets| targets.would_enable(target, &level))
    }

    #[test]
    fn a_word_that_is_neither_a_level_nor_ours_is_told() {
        for (word, odd) in [
            ("debug", false),
            ("upshift", false),
            ("upshift::session=debug", false),
            ("hyper=info", false),
            ("verbose", true),
        ] {
            assert_eq!(is_odd(word), odd, "{word}");
        }
    }

    #[test]
    fn nothing_is_logged_unless_it_is_asked_for_and_libraries_only_by_name() {
        assert!(wanted(0, None).unwrap().is_none());
        assert!(lets_through(1, None, "upshift::session", Level::INFO));
        assert!(!lets_through(1, None, "upshift::session", Level::DEBUG));
        assert!(lets_through(2, Some("off"), "upshift::session", Level::DEBUG));
        for verbosity in [1, 2, 9] {
            assert!(!lets_through(verbosity, None, "octocrab", Level::ERROR));
        }
        assert!(lets_through(0, Some("debug"), "upshift::http", Level::DEBUG));
        assert!(!lets_through(0, Some("debug"), "octocrab", Level::ERROR));
        assert!(lets_through(0, Some("upshift::http=info, octocrab=warn"), "octocrab", Level::WARN));
        assert!(!lets_through(0, Some("upshift::http=info"), "upshift::session", Level::ERROR));
        assert!(lets_through(0, Some("upshift::http=info"), "upshift_engine::http", Level::INFO));
        assert!(!lets_through(0, Some("upshift::http=info"), "upshift_engine::session", Level::ERROR));
        assert!(lets_through(1, None, "upshift_engine::session", Level::INFO));
        let said = wanted(0, Some("upshift=loud")).unwrap_err().to_string();
        assert!(said.contains("→ Fix"), "{said}");
    }

    #[test]
    fn a_line_is_redacted_and_harmless_and_one() {
        let redactor = Redactor::new(&[SecretString::from("s3cr3t-0123456789")]);
        let said = safe(b"  INFO a: s3cr3t-01\x1b[0m23456789 x\n::error::s3cr3t-0123456789\x1b[2J\n", &redactor);
        assert!(!said.contains("s3cr3t-0123456789") && !said.contains('\u{1b}'), "{said:?}");
        assert_eq!(said.lines().count(), 1, "{said:?}");
        assert!(!safe(b"::error::x", &redactor).starts_with("::"));
    }
}
