//! One role's conversation with a model, from the first message to a final report: always.
//!
//! Owns the turn loop (`turns`), the search for a usable reply (`target_rotation`), one attempt and its accounting (`exchange`), what replies come to (`reading`,
//! `text_protocol`), the tools (`tool`, `action`, `router`, `toolroom`, `repeats`), the context guard (`context_guard`) and the report (`end`), which `locked` keeps while its blocks are asked for. It knows
//! nothing of tasks, tiers or prompts beyond the text protocol's.
//! Invariant: no call is made without a reservation, no call that was made is left without its receipt, and no session ends
//! without a report (S1-12).
//!
//! Start reading at [`converse`], then `turns::Session::run`.

mod action;
mod completeness;
mod context_guard;
mod conversation;
mod edits;
mod end;
mod exchange;
mod files;
mod locked;
mod meta;
mod outputs;
mod outside;
mod ports;
mod reading;
mod refusal;
mod repeats;
mod router;
mod spec;
mod target_rotation;
mod text_protocol;
mod tool;
mod toolroom;
mod turns;
mod words;

pub use crate::domain::session_exit::SessionExit;
pub use end::{FailureReason, FinalReport, SessionEnd};
pub use meta::{MetaRead, prompt as meta_prompt, read as read_meta};
pub use outside::{CallOutside, DO_WITHOUT, LostSource, OutsideCall, OutsideError, OutsideFuture, OutsideTools};
pub use ports::{Book, Memory, Ports, Replay, RunCommand, RunTests, ToolFuture, Toolbox};
pub use spec::{Destination, Limits, Lineage, SessionSpec};
pub use turns::SNAPSHOT_KIND;

use tracing::Instrument as _;

use crate::domain::chat::Reply;
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::ladder::Role;
use crate::workspace::Workspace;
use turns::Session;

/// Characters of the reason why a source of tools cannot be had, as events tell it.
const MAX_SUBJECT_CHARS: usize = 120;

/// Whether the tool of that name changes files.
#[must_use]
pub fn writes(tool_name: &str) -> bool {
    tool::Tool::named(tool_name).is_some_and(toolroom::writes)
}

/// The report that a role's last words hold, in the lines of the text protocol (`DONE`, `BLOCKED`, `APPROVE`, `REJECT`).
#[must_use]
pub fn report_in(words: &str, role: Role) -> Option<FinalReport> {
    let items = text_protocol::read(words, role, text_protocol::Heed::Everything);
    items.into_iter().rev().find_map(|item| match item {
        text_protocol::Item::Act(action::Action::Report(report)) => Some(report),
        text_protocol::Item::Act(_) | text_protocol::Item::Refuse { .. } => None,
    })
}

/// The files of a workspace that a reply asks to be changed, by tool calls or in text, as the change is recorded.
#[must_use]
pub fn wants_written(workspace: &Workspace, reply: &Reply) -> Vec<String> {
    let called = reply.tool_calls.iter().filter(|call| writes(&call.name));
    let called = called.filter_map(|call| call.arguments.get("path")?.as_str().map(str::to_owned));
    // Everything is heeded: a path too many only has one more file put back.
    let items = text_protocol::read(&reply.text, Role::Artisan, text_protocol::Heed::Everything);
    let told = items.into_iter().filter_map(|item| match item {
        text_protocol::Item::Act(action) => action.writes_to().map(str::to_owned),
        text_protocol::Item::Refuse { .. } => None,
    });
    called.chain(told).filter_map(|path| workspace.recorded(&path)).collect()
}

/// Holds one role's conversation to its end.
///
/// It never fails: in every case there is a [`SessionEnd`] with a report, the model's own or a synthetic one with its reason.
/// `SessionStarted` and `SessionFinished` are emitted around it. Every call is reserved before it is sent and settled with a receipt. The
/// conversation is kept as a snapshot.
pub async fn converse(spec: SessionSpec, ports: &mut Ports<'_>) -> SessionEnd {
    let mut session = Session::begin(spec, ports);
    let first = session.spec.targets.first().map_or_else(String::new, ToString::to_string);
    session.ports.journal.emit(&Event::SessionStarted {
        role: session.spec.role,
        session_id: session.id.clone(),
        target: first,
        agent: session.spec.agent.clone(),
    });
    tell_lost_sources(&mut session);
    let SessionSpec { tier_index, iteration, role, .. } = &session.spec;
    let span = tracing::info_span!("session", role = role.as_str(), tier = tier_index + 1, iteration);
    let ending = session.run().instrument(span).await;
    session.finish(ending)
}

/// Tells which sources of tools the session goes without, once it has begun: the events belong to it.
fn tell_lost_sources(session: &mut Session<'_, '_>) {
    let lost = session.ports.toolbox.outside.as_mut().map(|outside| std::mem::take(&mut outside.lost));
    for LostSource { name, why, exit } in lost.unwrap_or_default() {
        let subject: String = Foreign::revealed(&why).one_line().chars().take(MAX_SUBJECT_CHARS).collect();
        session.ports.journal.emit(&Event::ToolFinished {
            role: session.spec.role,
            turn: 0,
            name,
            subject,
            ok: false,
            duration_ms: 0,
            exit: exit.as_str().to_owned(),
            session_id: session.spec.shared_id(&session.id),
            status: String::new(),
            // The subject says why.
            why: String::new(),
        });
    }
}

#[cfg(test)]
mod tests;
