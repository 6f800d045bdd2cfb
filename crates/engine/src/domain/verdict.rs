//! The verifier's verdict about a working tree.

use serde::{Deserialize, Serialize};

pub use testlog::Exit;

/// The words that memory ended it and what can be done. `None` where something else did.
#[must_use]
pub fn over_memory(exit: Exit) -> Option<String> {
    match exit {
        Exit::Memory { limit_mb } => Some(format!(
            "the memory limit of {limit_mb} MB for one process (`test.memoryMb`) was reached, and the tests were ended; a larger number \
             raises it, 0 is no limit"
        )),
        Exit::MemoryTogether { limit_mb } => Some(format!(
            "the tests' processes together exceeded {limit_mb} MB of memory (`test.memoryMb` for each processor), and were ended; a \
             larger number raises it, 0 is no limit"
        )),
        Exit::MachineMemory => Some(
            "the tests had taken nearly all of the machine's memory, and were ended; fewer of them at a time, or a larger machine, \
             may help (`test.memoryMb: 0` is no limit)"
                .to_owned(),
        ),
        Exit::Code { .. } | Exit::Signal { .. } | Exit::Timeout => None,
    }
}

/// The judgement over one test run, compared with the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The tests that count were seen passing.
    Green,
    /// Tests fail, or what must be seen passing was not.
    Red {
        /// Why, when the failing tests alone do not say it.
        reason: Option<String>,
    },
    /// The tests could not be run or not be read: no judgement.
    Broken {
        /// Why.
        reason: String,
    },
    /// It looks green, but what judges was changed.
    Tampered {
        /// The change to what judges.
        reason: String,
    },
}

impl Verdict {
    /// The word in events and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Red { .. } => "red",
            Self::Broken { .. } => "broken",
            Self::Tampered { .. } => "tampered",
        }
    }

    /// Why, where there is something to say.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Green => None,
            Self::Red { reason } => reason.as_deref(),
            Self::Broken { reason } | Self::Tampered { reason } => Some(reason),
        }
    }
}
