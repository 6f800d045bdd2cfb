//! How a test command ended.

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
        /// The limit for one process, in MiB.
        limit_mb: u32,
    },
    /// We ended it because all of its processes had left too little of the machine's memory.
    MachineMemory,
    /// The kernel ended it because its processes together held more memory than they may.
    MemoryTogether {
        /// The limit for all of them together, in MiB.
        limit_mb: u32,
    },
}

impl Exit {
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
