//! Events of agents, in one shape for all.

/// Something that an agent told.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The session began.
    Started {
        /// Its id at the agent. Empty where it has none.
        session: String,
    },
    /// Words of the model. Never what was told to it.
    Text {
        /// The words.
        text: String,
        /// Whether they go on where the last ones of the same speaker ended.
        goes_on: bool,
        /// The sub-agent that speaks. `None` for the session itself.
        by: Option<String>,
    },
    /// A tool is called.
    ToolUse {
        /// The call's id.
        id: String,
        /// The agent's name for the tool.
        name: String,
        /// The subject of the call: a path, a command.
        subject: String,
        /// The sub-agent that calls.
        by: Option<String>,
    },
    /// A tool's answer.
    ToolResult {
        /// The call's id.
        id: String,
        /// Whether it worked.
        ok: bool,
    },
    /// The agent's own counts, for information and never for a bill.
    Usage(Tokens),
    /// A sub-agent began, goes on or ended.
    SubAgent {
        /// Its id.
        id: String,
        /// The call that started it, as far as it is told.
        call: Option<String>,
        /// How deep in the tree it is, from 1, as far as it is told.
        depth: Option<u32>,
        /// The sub-agent's name.
        name: String,
        /// How it stands.
        state: SubAgentState,
        /// The tokens it used so far, as far as it is told.
        tokens: Option<u64>,
    },
    /// The vendor limits the requests.
    RateLimit {
        /// When it will be tried again, in milliseconds.
        retry_after_ms: Option<u64>,
        /// The agent's words.
        said: String,
    },
    /// Something went wrong.
    Trouble {
        /// The agent's words.
        said: String,
    },
    /// A turn of the agent ended. A stream may hold several. The session ends with the program.
    End {
        /// Whether it went well, by its own account.
        ok: bool,
    },
    /// Something else.
    Unknown {
        /// The kind by its own name, as far as there is one.
        kind: String,
    },
}

/// Tokens by an agent's own count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of prompts, cached ones included or not: agents differ.
    pub input: u64,
    /// Tokens of replies.
    pub output: u64,
}

/// How a sub-agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubAgentState {
    /// At work.
    Running,
    /// Done.
    Completed,
    /// Ended without being done.
    Failed,
}

impl SubAgentState {
    /// The word in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Reads an agent's word for it.
    pub(super) fn of_word(word: &str) -> Self {
        match word {
            "completed" | "success" | "done" => Self::Completed,
            "failed" | "error" | "errored" | "killed" | "cancelled" | "interrupted" | "not_found" => Self::Failed,
            // A word that nobody knows tells of no end.
            _ => Self::Running,
        }
    }
}
