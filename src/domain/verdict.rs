//! What our verifier says about a working tree.

use serde::{Deserialize, Serialize};

/// How the test command's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Exit {
    /// It exited by itself.
    Code {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// We ended it when its time was up.
    Timeout,
    /// We ended it because one of its processes took more memory than it may.
    Memory {
        /// What it may, in MiB.
        limit_mb: u32,
    },
    /// We ended it because all of its processes had left too little of the machine's memory.
    MachineMemory,
    /// The kernel ended it because its processes together held more memory than they may.
    MemoryTogether {
        /// What they may, in MiB.
        limit_mb: u32,
    },
}

impl Exit {
    /// That memory ended it and what can be done, in words; `None` where something else did.
    #[must_use]
    pub fn over_memory(self) -> Option<String> {
        match self {
            Self::Memory { limit_mb } => Some(format!(
                "the memory limit of {limit_mb} MB for one process (`test.memoryMb`) was reached, and the tests were ended; a larger number \
                 raises it, 0 is no limit"
            )),
            Self::MemoryTogether { limit_mb } => Some(format!(
                "the tests' processes together passed {limit_mb} MB of memory (`test.memoryMb` for each processor), and were ended; a \
                 larger number raises it, 0 is no limit"
            )),
            Self::MachineMemory => Some(
                "the tests had taken nearly all of the machine's memory, and were ended; fewer of them at a time, or a larger machine, \
                 may help (`test.memoryMb: 0` is no limit)"
                    .to_owned(),
            ),
            Self::Code { .. } | Self::Signal { .. } | Self::Timeout => None,
        }
    }

    /// Whether it exited by itself with 0.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Code { code: 0 })
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "killed by signal {signal}"),
            Self::Timeout => f.write_str("timed out"),
            Self::Memory { limit_mb } => write!(f, "ended at the memory limit of {limit_mb} MB for one process"),
            Self::MemoryTogether { limit_mb } => write!(f, "ended at {limit_mb} MB of memory for all of its processes"),
            Self::MachineMemory => f.write_str("ended when it had taken nearly all of the machine's memory"),
        }
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
        /// What was changed.
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
