//! How text is decorated: the only place that writes escape sequences of our own.

use anstyle::{AnsiColor, Color, Effects};

/// How text is decorated. The caller decides: colour belongs on a terminal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With ANSI colours.
    Colour,
    /// Text for the Actions runner's log: plain, and progress in foldable groups.
    Actions,
}

/// The kind of a piece of text, for colouring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Notice,
    Heading,
    Faint,
}

impl Style {
    /// Puts a tone on text.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let style = match (self, tone) {
            (Self::Plain | Self::Actions, _) => return text.to_owned(),
            (Self::Colour, Tone::Good) => foreground(AnsiColor::Green),
            (Self::Colour, Tone::Bad) => foreground(AnsiColor::Red),
            (Self::Colour, Tone::Notice) => foreground(AnsiColor::Yellow),
            (Self::Colour, Tone::Heading) => anstyle::Style::new().effects(Effects::BOLD),
            (Self::Colour, Tone::Faint) => anstyle::Style::new().effects(Effects::DIMMED),
        };
        format!("{style}{text}{style:#}")
    }
}

fn foreground(colour: AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(Color::Ansi(colour)))
}
