//! One role's conversation with a model, from the first message to a final report: always.
//!
//! Owns the turn loop, retries over targets, the context guard, tool dispatch, the text protocol for models without tool
//! calling, the final report, and the accounting of every call. It does not know what a task, a tier or a prompt is.
//! Invariant: no call is made without a reservation, no reservation of a call is left without its receipt, and no session
//! ends without a report (S1-12).
//!
//! Start reading at [`converse`].

mod action;
mod completeness;
mod end;
mod outputs;
mod ports;
mod spec;
mod text_protocol;
mod tool;

pub use end::{FailureReason, FinalReport, SessionEnd, SessionExit};
pub use ports::{Memory, Ports, Replay, RunCommand, RunTests, ToolFuture, Toolbox};
pub use spec::{Limits, Lineage, SessionSpec};

/// Holds one role's conversation to its end.
///
/// To be written: the contract is that of [`SessionEnd`].
pub async fn converse(_spec: SessionSpec, _ports: &mut Ports<'_>) -> SessionEnd {
    todo!()
}
