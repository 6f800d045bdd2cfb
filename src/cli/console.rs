//! The console of every command: colour, width and verbosity.
//!
//! Owns the global flags. Invariant: what is decided here is decided once, from flags and the environment as it was handed in:
//! libraries that would look for themselves see a process whose environment may be sealed (see `hardening`).

use std::io::IsTerminal;

use clap::{ArgAction, Args, ColorChoice, ValueEnum};

use super::variables::Variables;
use crate::report::style::Style;

/// A narrower terminal is not believed: nothing could be read on it.
const FEWEST_COLUMNS: usize = 20;
/// Help is not set wider than this.
const WIDEST_HELP: usize = 100;

/// The flags that every command takes.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Flags {
    /// When to colour output; auto obeys NO_COLOR and CLICOLOR_FORCE, and colours terminals
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    color: When,
    /// Print no progress, only errors and the final report
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Log to standard error; -vv for more detail (UPSHIFT_LOG filters instead)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

/// When text is coloured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum When {
    /// Colour terminals, unless the environment says otherwise.
    #[default]
    Auto,
    /// Colour files and pipes too.
    Always,
    /// No colour.
    Never,
}

/// A standard stream that text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output: results.
    Out,
    /// Standard error: progress and messages.
    Err,
}

/// The console as flags and environment want it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Console {
    flags: Flags,
    /// The environment's word on colour. `None` where it leaves that to the terminal.
    asked: Option<bool>,
    /// The width that the environment names.
    columns: Option<usize>,
    in_actions: bool,
}

impl Console {
    /// The console of a process with these flags.
    pub(super) fn new(flags: Flags, variables: &Variables) -> Self {
        let columns = variables.get("COLUMNS").and_then(|columns| columns.trim().parse().ok());
        Self {
            flags,
            asked: asked(|name| variables.get(name)),
            columns: columns.filter(|columns| *columns >= FEWEST_COLUMNS),
            in_actions: variables.in_actions(),
        }
    }

    /// The console before flags are parsed: for what the parser itself prints.
    pub(super) fn before_parsing(arguments: impl Iterator<Item = String>, variables: &Variables) -> Self {
        Self::new(Flags { color: colour_among(arguments), ..Flags::default() }, variables)
    }

    /// Whether progress stays unsaid.
    pub(super) const fn is_quiet(self) -> bool {
        self.flags.quiet
    }

    /// How much is logged: 0 for what `UPSHIFT_LOG` asks for alone.
    pub(super) const fn verbosity(self) -> u8 {
        self.flags.verbose
    }

    /// How text for a stream is decorated.
    pub(super) fn style(self, stream: Stream) -> Style {
        if self.is_coloured(is_terminal(stream)) { Style::Colour } else { Style::Plain }
    }

    /// The columns of a stream. `None` where lines may have any length: in files, pipes and the logs of jobs.
    pub(super) fn columns(self, stream: Stream) -> Option<usize> {
        // The page of a job wraps lines itself, and a broken line can no longer be searched for.
        if self.in_actions {
            return None;
        }
        self.columns.or_else(|| measured(stream))
    }

    /// The parser's word for it.
    pub(super) fn of_parser(self) -> ColorChoice {
        if self.is_coloured(is_terminal(Stream::Out)) { ColorChoice::Always } else { ColorChoice::Never }
    }

    /// The width of help texts.
    pub(super) fn help_columns(self) -> usize {
        self.columns(Stream::Out).map_or(WIDEST_HELP, |columns| columns.min(WIDEST_HELP))
    }

    fn is_coloured(self, is_terminal: bool) -> bool {
        match self.flags.color {
            When::Always => true,
            When::Never => false,
            // A runner shows colours, but is no terminal. There they come where a variable asks for them.
            When::Auto => self.asked.unwrap_or(is_terminal && !self.in_actions),
        }
    }
}

/// Whether a stream is a terminal.
pub(super) fn is_terminal(stream: Stream) -> bool {
    match stream {
        Stream::Out => std::io::stdout().is_terminal(),
        Stream::Err => std::io::stderr().is_terminal(),
    }
}

fn measured(stream: Stream) -> Option<usize> {
    let (width, _) = match stream {
        Stream::Out => terminal_size::terminal_size_of(std::io::stdout()),
        Stream::Err => terminal_size::terminal_size_of(std::io::stderr()),
    }?;
    Some(usize::from(width.0)).filter(|columns| *columns >= FEWEST_COLUMNS)
}

/// The customary variables, the first that is set counts: `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` and `CLICOLOR`
/// (bixense.com/clicolors), a terminal that calls itself dumb.
fn asked<'e>(get: impl Fn(&str) -> Option<&'e str>) -> Option<bool> {
    // Its value does not matter, by no-color.org, so `NO_COLOR=0` also means no colour.
    if get("NO_COLOR").is_some() {
        return Some(false);
    }
    if get("CLICOLOR_FORCE").is_some_and(|force| force != "0") {
        return Some(true);
    }
    let is_off = get("CLICOLOR") == Some("0") || get("TERM") == Some("dumb");
    is_off.then_some(false)
}

/// The last `--color` among arguments that were not parsed yet.
fn colour_among(arguments: impl Iterator<Item = String>) -> When {
    let mut found = When::Auto;
    let mut is_value = false;
    for argument in arguments {
        // Both `--color never` and `--color=never` are understood, as the parser does.
        let value = if is_value { Some(argument.as_str()) } else { argument.strip_prefix("--color=") };
        // A word that is no choice is left to the parser, which names the choices.
        found = value.and_then(|value| When::from_str(value, false).ok()).unwrap_or(found);
        is_value = argument == "--color";
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(flag: When, variables: &[(&str, &str)], is_terminal: bool) -> bool {
        let flags = Flags { color: flag, ..Flags::default() };
        Console::new(flags, &Variables::of(variables)).is_coloured(is_terminal)
    }

    #[test]
    fn the_flag_beats_no_color_which_beats_clicolor_force_which_beats_the_terminal() {
        let (no, force) = (("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"));
        assert!(coloured(When::Always, &[no], false));
        assert!(!coloured(When::Never, &[force], true));
        assert!(!coloured(When::Auto, &[no, force], true));
        assert!(coloured(When::Auto, &[force, ("CLICOLOR", "0"), ("TERM", "dumb")], false));
        assert!(!coloured(When::Auto, &[("CLICOLOR", "0")], true));
        assert!(!coloured(When::Auto, &[("TERM", "dumb")], true));
        assert!(!coloured(When::Auto, &[("CLICOLOR_FORCE", "0")], false));
        assert!(coloured(When::Auto, &[("NO_COLOR", ""), ("CLICOLOR_FORCE", "0")], true));
        assert!(!coloured(When::Auto, &[("GITHUB_ACTIONS", "true")], true));
        assert!(coloured(When::Auto, &[], true) && !coloured(When::Auto, &[], false));
    }

    #[test]
    fn the_flag_is_known_before_arguments_are_parsed() {
        let among = |line: &str| colour_among(line.split(' ').map(str::to_owned));
        assert_eq!(among("run --color=never"), When::Never);
        assert_eq!(among("--color always check --color odd"), When::Always);
        assert_eq!(among("run --colored always"), When::Auto);
    }

    #[test]
    fn a_width_comes_from_the_environment_and_never_counts_in_a_job() {
        let columns = |variables: &[(&str, &str)]| Console::new(Flags::default(), &Variables::of(variables)).columns;
        assert_eq!(columns(&[("COLUMNS", "60")]), Some(60));
        assert_eq!(columns(&[("COLUMNS", "3")]), None);
        assert_eq!(columns(&[("COLUMNS", "wide")]), None);
        let job = Variables::of(&[("COLUMNS", "60"), ("GITHUB_ACTIONS", "true")]);
        assert_eq!(Console::new(Flags::default(), &job).columns(Stream::Out), None);
    }
}
