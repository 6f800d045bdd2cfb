//! How sessions and tools end, by the seeds' exit codes (S1-15).

use super::outcome::Outcome;

/// The end of a session, or of a tool in one. The first 22 are the seeds', in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionExit {
    /// A report came by itself.
    FinalAnswer,
    /// A report came on the last turn.
    MaxTurnsWithResponse,
    /// A report came after the session was asked to wrap up.
    UserStop,
    /// No attempt brought a reply.
    NoLlmResponse,
    /// Only empty replies came.
    EmptyResponse,
    /// The key was refused.
    AuthFailure,
    /// Quota or credit is used up.
    QuotaExceeded,
    /// The vendor failed on or refused the request.
    ModelError,
    /// A tool failed for good.
    ToolFailure,
    /// A server of tools is gone. It is told of a tool.
    McpConnectionLost,
    /// A tool was called that is not on offer. It is told of a tool.
    ToolNotAvailable,
    /// The time of a tool was up. It is told of a tool.
    ToolTimeout,
    /// None of the targets is configured.
    NoProviders,
    /// The vendor knows no such model.
    InvalidModel,
    /// A server of tools could not be started. It is told of the server.
    McpInitFailed,
    /// The vendor was silent for too long.
    InactivityTimeout,
    /// Attempts were used up by unusable replies.
    MaxRetries,
    /// The window is full.
    TokenLimit,
    /// Turns were used up without a report.
    MaxTurnsNoResponse,
    /// The process died. It is told by who reads the log.
    UncaughtException,
    /// A signal.
    SignalReceived,
    /// The log does not tell the end.
    Unknown,
    /// A report came, and a required block of data did not (S1-12). Our own name.
    FinalMetaMissing,
    /// The run's time is up. Our own name.
    TimeUp,
    /// A cap refused the call. Our own name.
    BudgetExhausted,
}

impl SessionExit {
    /// The end of a session that the log leaves open, by the end of its run. `None` is that of a process that died.
    #[must_use]
    pub const fn of_open(outcome: Option<&Outcome>) -> Self {
        match outcome {
            // The process is gone and left no end behind.
            None => Self::UncaughtException,
            Some(Outcome::Interrupted { .. }) => Self::SignalReceived,
            Some(_) => Self::Unknown,
        }
    }

    /// The name in events, snapshots, JSON and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FinalAnswer => "EXIT-FINAL-ANSWER",
            Self::MaxTurnsWithResponse => "EXIT-MAX-TURNS-WITH-RESPONSE",
            Self::UserStop => "EXIT-USER-STOP",
            Self::NoLlmResponse => "EXIT-NO-LLM-RESPONSE",
            Self::EmptyResponse => "EXIT-EMPTY-RESPONSE",
            Self::AuthFailure => "EXIT-AUTH-FAILURE",
            Self::QuotaExceeded => "EXIT-QUOTA-EXCEEDED",
            Self::ModelError => "EXIT-MODEL-ERROR",
            Self::ToolFailure => "EXIT-TOOL-FAILURE",
            Self::McpConnectionLost => "EXIT-MCP-CONNECTION-LOST",
            Self::ToolNotAvailable => "EXIT-TOOL-NOT-AVAILABLE",
            Self::ToolTimeout => "EXIT-TOOL-TIMEOUT",
            Self::NoProviders => "EXIT-NO-PROVIDERS",
            Self::InvalidModel => "EXIT-INVALID-MODEL",
            Self::McpInitFailed => "EXIT-MCP-INIT-FAILED",
            Self::InactivityTimeout => "EXIT-INACTIVITY-TIMEOUT",
            Self::MaxRetries => "EXIT-MAX-RETRIES",
            Self::TokenLimit => "EXIT-TOKEN-LIMIT",
            Self::MaxTurnsNoResponse => "EXIT-MAX-TURNS-NO-RESPONSE",
            Self::UncaughtException => "EXIT-UNCAUGHT-EXCEPTION",
            Self::SignalReceived => "EXIT-SIGNAL-RECEIVED",
            Self::Unknown => "EXIT-UNKNOWN",
            Self::FinalMetaMissing => "EXIT-FINAL-META-MISSING",
            Self::TimeUp => "EXIT-TIME-UP",
            Self::BudgetExhausted => "EXIT-BUDGET-EXHAUSTED",
        }
    }
}
