//! Errors of finding out which event triggered this process.

/// Why it cannot be told what triggered this process.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ContextError {
    /// A variable of the runner is missing or makes no sense.
    #[error("{name} is {what}\n→ Fix: run upshift in a step of a workflow, or unset GITHUB_ACTIONS")]
    Variable {
        /// Its name.
        name: &'static str,
        /// The defect, to be put behind "is".
        what: &'static str,
    },
    /// The payload cannot be read.
    #[error(
        "the event's payload at {path} cannot be used: {why}\n→ Fix: make sure that GITHUB_EVENT_PATH names the payload of the event"
    )]
    Payload {
        /// Where it was looked for.
        path: String,
        /// Why.
        why: String,
    },
    /// A value in the payload is missing or has another shape than the forge gives it.
    #[error(
        "the event's payload has no `{path}`, or it is not {what}\n→ Fix: make sure that GITHUB_EVENT_PATH names the payload of \
         the event"
    )]
    Field {
        /// The path of the value.
        path: String,
        /// The shape that it should have.
        what: &'static str,
    },
}
