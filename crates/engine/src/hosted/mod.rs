//! One role's session, held by a coding agent that the user has installed, behind the gateway.
//!
//! Owns the way from a target `cli/…` to a [`SessionEnd`]: the agent's room and home ([`Hosting`], `house`), its life (`life`), the summary
//! of its stream (`hearing`), and its changes to the tree (`tree`). The facts about each agent stand in [`backend`](crate::backend).
//!
//! Invariants: an agent has no key, and no way to a model but the gateway, so that no call is made without a reservation and none is left
//! without a receipt. Nothing of it lives on when its session is over, also when this process is killed. Its word counts for nothing but a
//! summary, since the tests judge. Its changes to files that judge are put back.
//!
//! Start reading at [`hold`].

mod hearing;
mod hosting;
mod house;
mod idle;
mod life;
mod line;
mod spec;
mod tree;

use std::time::Duration;

pub use self::hosting::{Hosting, find, program_of};
use self::house::House;
pub use self::house::at_home;
use self::spec::{Held, unusable};
pub use self::spec::{HostedEnd, HostedPorts, HostedSpec};
use crate::audit::Snapshot;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::stop::StopCause;
use crate::gateway::wait_before_next;
use crate::session::{self, FailureReason, FinalReport, SNAPSHOT_KIND, SessionEnd, SessionExit};

/// The longest summary that is taken from an agent's last words, in characters.
const SUMMARY_CHARS: usize = 4_000;

/// Has an agent hold a session to its end.
///
/// It never fails: whatever happens, there is a [`SessionEnd`] with a report. `SessionStarted` and `SessionFinished` are emitted around
/// it, and what was said is kept as a conversation.
pub async fn hold(mut spec: HostedSpec, ports: &mut HostedPorts<'_>) -> HostedEnd {
    // A critic comes behind the artisan of the same iteration, whose change is in no recorded tree yet. Where the tree cannot be recorded,
    // its end cannot be compared either.
    if spec.role != Role::Artisan
        && let Ok(tree) = ports.workspace.snapshot().await
    {
        spec.tree = tree;
    }
    let id = uuid::Uuid::new_v4().hyphenated().to_string();
    let (role, target) = (spec.role, spec.target.to_string());
    ports.journal.emit(&Event::SessionStarted { role, session_id: id.clone(), target, agent: String::new() });
    let mut held = Held::default();
    let blocks = spec.meta.clone();
    let report = match play(&spec, &id, ports, &mut held).await {
        Ok(report) => report,
        Err(reason) => FinalReport::Synthetic { reason },
    };
    let (_, meta) = session::read_meta(held.hearing.last_words(), blocks);
    for event in meta.events(role, &id, &report) {
        ports.journal.emit(&event);
    }
    let limited_until_ms = held.limited_until_ms;
    HostedEnd { end: finish(spec, id, report, held, ports), limited_until_ms }
}

async fn play(
    spec: &HostedSpec,
    id: &str,
    ports: &mut HostedPorts<'_>,
    held: &mut Held,
) -> Result<FinalReport, FailureReason> {
    let mut tries = 0;
    let lived = loop {
        let house = House::open(spec, ports).map_err(|why: String| unusable(&spec.target, &why))?;
        let lived = life::live(spec, id, house, ports, held).await;
        let told = held.own_limit.take();
        // Only a limit that the agent itself met: the gateway waits for all others.
        let Some(wait) = told.and_then(|limit| wait_before_next(tries, limit.retry_after_ms)) else { break lived };
        tries += 1;
        if let Some(cause) = pause(spec, wait, ports).await {
            break Err(FailureReason::Stopped { cause });
        }
    };
    // Also after a failure: what it wrote is there.
    held.wrote =
        tree::settle(spec, ports).await.map_err(|error| FailureReason::ToolFailed { message: error.to_string() })?;
    lived?;
    let (words, _) = session::read_meta(held.hearing.last_words(), spec.meta.clone());
    Ok(report_of(spec.role, &words))
}

/// Waits before an agent that is limited past the gateway is started again. Returns the cause where the session ends meanwhile.
async fn pause(spec: &HostedSpec, ms: u64, ports: &mut HostedPorts<'_>) -> Option<StopCause> {
    let (target, seconds) = (&spec.target, ms.div_ceil(1_000));
    let message = format!("{target} says that its requests are limited: it is started again in {seconds} s");
    ports.journal.emit(&Event::Warning { message });
    tokio::select! {
        cause = ports.stop.wait() => Some(cause),
        cause = ports.wrap_up.wait() => Some(cause),
        () = ports.hosting.clock.sleep(Duration::from_millis(ms)) => None,
    }
}

/// The report that an agent's last words come to.
fn report_of(role: Role, words: &str) -> FinalReport {
    let words: String = words.chars().take(SUMMARY_CHARS).collect();
    if let Some(report) = session::report_in(&words, role) {
        return report;
    }
    let summary = words.trim().to_owned();
    match role {
        Role::Artisan => FinalReport::Done { summary },
        Role::Advisor if !summary.is_empty() => FinalReport::Done { summary },
        Role::Librarian if !summary.is_empty() => FinalReport::Briefed { summary, files: Vec::new() },
        // Whoever does not say that a change is good does not approve it.
        Role::Librarian | Role::Critic | Role::Advisor => FinalReport::Synthetic { reason: FailureReason::NoReport },
    }
}

/// Keeps what was said, tells the end, and hands it back.
fn finish(spec: HostedSpec, id: String, report: FinalReport, held: Held, ports: &mut HostedPorts<'_>) -> SessionEnd {
    if ports.stop.raised().is_some() {
        ports.journal.hasten();
    }
    let Held { hearing, tally, wrote, .. } = held;
    let exit = exit_of(&report);
    let agents: Vec<_> = hearing.sub_agents().iter().map(|(id, agent)| {
        serde_json::json!({"id": id, "name": agent.name, "parent": agent.parent, "depth": agent.depth, "state": agent.state.as_str(), "tokens": agent.tokens})
    }).collect();
    let own = hearing.own();
    let body = serde_json::json!({
        "session_id": id,
        "role": spec.role,
        "lineage": spec.lineage.as_ref().map(|lineage| [&lineage.parent, &lineage.root]),
        "targets": [&spec.target],
        "exit": exit.as_str(),
        "result": report.as_str(),
        "summary": report.summary(),
        "system": "",
        "own_account": {
            "session": own.session,
            "prompt_tokens": own.tokens.input,
            "reply_tokens": own.tokens.output,
            "turns": own.turns,
            "ended_well": hearing.ended_well(),
        },
        "sub_agents": agents,
        "unknown_events": hearing.unknown(),
        "entries": hearing.entries(&spec.prompt, &spec.target),
    });
    let body = ports.redactor.redact(&body.to_string()).into_owned();
    ports.journal.save_snapshot(&Snapshot { kind: SNAPSHOT_KIND, session_id: &id, body: &body });
    ports.journal.emit(&Event::SessionFinished {
        role: spec.role,
        session_id: id.clone(),
        target: spec.target.to_string(),
        turns: tally.replies,
        result: report.as_str().to_owned(),
        summary: report.summary(),
        blocked_on: report.blocked_on().to_vec(),
        exit: exit.as_str().to_owned(),
    });
    SessionEnd {
        session_id: id,
        report,
        exit,
        target: spec.target,
        billed_model: tally.billed_model,
        turns: tally.replies,
        cost: tally.cost,
        usage: tally.usage,
        // An agent does not tell how full its window is.
        peak_context_percent: 0,
        wrote,
        // The doings of its commands are among `wrote` already.
        commands_ran: 0,
        tests_ran: 0,
        corrections: std::collections::BTreeMap::new(),
    }
}

const fn exit_of(report: &FinalReport) -> SessionExit {
    let FinalReport::Synthetic { reason } = report else { return SessionExit::FinalAnswer };
    match reason {
        FailureReason::Budget { .. } => SessionExit::BudgetExhausted,
        FailureReason::NoUsableTarget { .. } => SessionExit::NoLlmResponse,
        FailureReason::UnusableReplies { .. } => SessionExit::MaxRetries,
        FailureReason::ContextFull => SessionExit::TokenLimit,
        FailureReason::NoReport => SessionExit::MaxTurnsNoResponse,
        FailureReason::ToolFailed { .. } => SessionExit::ToolFailure,
        FailureReason::Stopped { cause: StopCause::Signal(_) } => SessionExit::SignalReceived,
        FailureReason::Stopped { cause: StopCause::TimeUp } => SessionExit::TimeUp,
        FailureReason::Stopped { cause: StopCause::Asked } => SessionExit::UserStop,
        FailureReason::Stopped { cause: StopCause::OwnTime(_) } => SessionExit::ToolTimeout,
    }
}
