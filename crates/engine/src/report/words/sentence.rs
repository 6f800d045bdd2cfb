//! Sentences in pieces, and the signs before them.

use crate::domain::outcome::{NOT_PUSHED, UNDELIVERED};
use crate::report::view::RunView;

/// Stands before the advice that an error brings along.
const FIX: &str = " → Fix: ";

/// A reason, and the advice behind it.
#[must_use]
pub fn without_advice(reason: &str) -> (&str, Option<&str>) {
    reason.split_once(FIX).map_or((reason, None), |(reason, advice)| (reason, Some(advice)))
}

/// The words as a sentence begins.
pub(super) fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Our own words: shown as they are.
    Ours(String),
    /// A name that is not ours (a tier): to be escaped.
    Name(String),
    /// A path or command to be copied. It may hold foreign names, so it is to be escaped.
    Code(String),
    /// Speech that is not ours (a model's reason, an error): to be escaped and clipped.
    Speech(String),
    /// Advice that an error brought along: a sentence for a person, which may hold foreign words.
    Advice(String),
}

/// A sentence made of pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentence(pub Vec<Piece>);

impl Sentence {
    /// A sentence of our own words alone.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self(vec![Piece::Ours(text.into())])
    }

    /// Adds words of our own.
    #[must_use]
    pub fn ours(self, text: impl Into<String>) -> Self {
        self.with(Piece::Ours(text.into()))
    }

    /// Adds a name that is not ours.
    #[must_use]
    pub fn name(self, text: &str) -> Self {
        self.with(Piece::Name(text.to_owned()))
    }

    /// Adds a path or a command.
    #[must_use]
    pub fn code(self, text: impl Into<String>) -> Self {
        self.with(Piece::Code(text.into()))
    }

    /// Adds foreign speech. Where there is none it says so.
    #[must_use]
    pub fn speech(self, text: &str) -> Self {
        if text.trim().is_empty() { self.ours("no reason given") } else { self.with(Piece::Speech(text.to_owned())) }
    }

    /// Adds advice that an error brought along.
    pub(super) fn advice(self, text: &str) -> Self {
        self.with(Piece::Advice(text.to_owned()))
    }

    /// Adds the reason why a fix is not out: our own beginning as it is, the rest as somebody's words.
    pub(super) fn reason(self, text: &str) -> Self {
        let ours = [NOT_PUSHED, UNDELIVERED].into_iter();
        match ours.filter_map(|ours| Some((ours, text.strip_prefix(ours)?))).next() {
            Some((ours, said)) => self.ours(ours).speech(said),
            None => self.speech(text),
        }
    }

    fn with(mut self, piece: Piece) -> Self {
        self.0.push(piece);
        self
    }

    /// Adds where the run stood, after `joint`, if it stood anywhere. Adds `end` in any case.
    pub(super) fn at(self, view: &RunView, joint: &str, end: &str) -> Self {
        let here = view.position.and_then(|position| Some((view.tier(position.tier_index)?, position.iteration)));
        let Some((tier, iteration)) = here else { return self.ours(end) };
        self.ours(format!("{joint}Tier {} (", tier.number))
            .name(&tier.tier.name)
            .ours(format!("), iteration {iteration}{end}"))
    }

    /// Renders the sentence. `escape` is given the pieces of foreign text.
    pub fn render(&self, mut escape: impl FnMut(&Piece) -> String) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                // Not given to `escape`: our own Markdown in it would be broken.
                Piece::Ours(text) => text.clone(),
                Piece::Name(_) | Piece::Code(_) | Piece::Speech(_) | Piece::Advice(_) => escape(piece),
            })
            .collect()
    }
}

/// The sign before a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The tests pass.
    Good,
    /// They pass here, and something outside speaks against it.
    Doubtful,
    /// They do not, or nobody can say.
    Bad,
    /// The run waits.
    Waiting,
    /// The run is under way.
    Running,
}

impl Mark {
    /// The sign itself.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✔",
            Self::Doubtful => "⚠",
            Self::Bad => "✖",
            Self::Waiting => "⏸",
            Self::Running => "▶",
        }
    }
}
