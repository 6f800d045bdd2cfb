//! Whether a task comes at present, in memory and in the log.

/// Whether a task comes at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It comes when its turn is.
    Comes,
    /// It comes once more when all others had their turn.
    Deferred,
    /// It was deferred, and may come once more.
    SecondTurn,
    /// It is left out for the rest of this backlog.
    LeftOut,
    /// The same, for want of money.
    LeftForMoney,
}

impl Standing {
    const ALL: [Self; 5] = [Self::Comes, Self::Deferred, Self::SecondTurn, Self::LeftOut, Self::LeftForMoney];

    /// The word in the log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Comes => "",
            Self::Deferred => "deferred",
            Self::SecondTurn => "second_turn",
            Self::LeftOut => "left_out",
            Self::LeftForMoney => "left_for_money",
        }
    }

    pub(super) fn of(word: &str) -> Self {
        // A word of a newer version must not hide a task for ever.
        Self::ALL.into_iter().find(|standing| standing.as_str() == word).unwrap_or(Self::Comes)
    }

    /// Whether it has to wait.
    pub(super) const fn is_aside(self) -> bool {
        matches!(self, Self::Deferred | Self::LeftOut | Self::LeftForMoney)
    }
}
