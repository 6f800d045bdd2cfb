//! From events to operations, one event after the other.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Kind, Operation};
use crate::domain::attempt::{AttemptStatus, TierExit};
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::kept_report::ReusedReport;
use crate::domain::ladder::Role;
use crate::domain::receipt::{BELOW, CallScope, CallStatus, Receipt, agent_path};
use crate::domain::session_exit::SessionExit;
use crate::domain::verdict::Verdict;

/// Ends of a session with a report of its model.
const REPORTED: [&str; 5] = ["done", "blocked", "approve", "reject", "routed"];

/// Gathers operations from events.
#[derive(Debug, Default)]
pub struct Fold {
    operations: Vec<Operation>,
    /// The places of those that ended since they were asked for last.
    ended: Vec<usize>,
    run_id: String,
    /// Zero-based tier and one-based iteration.
    place: (u32, u32),
    tier: Option<usize>,
    iteration: Option<usize>,
    session: Option<usize>,
    /// Sessions by their ids, side calls of agents among them.
    sessions: BTreeMap<String, usize>,
    turns: BTreeMap<(String, u32), usize>,
    calls: BTreeMap<String, usize>,
    waits: BTreeMap<String, usize>,
    now_ms: u64,
    /// Whether the run is taken up again: its end counts until something more is heard of it.
    is_taken_up: bool,
}

impl Fold {
    /// The operations so far. The first is the run.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The places of operations that ended since this was asked last. The run ends anew each time that it is taken up again.
    pub fn take_ended(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.ended)
    }

    /// Hears an event, and when it was recorded. Without a time it is taken to be that of the one before.
    ///
    /// A process that is heard to begin later than the first ends what the one before it left open.
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events begin or end an operation")]
    pub fn hear(&mut self, event: &Event, at: Option<&Timestamp>) {
        self.now_ms = at.and_then(Timestamp::unix_ms).unwrap_or(self.now_ms);
        // The event before took the run up. Only what comes now shows that the new process is at work.
        self.reopen();
        match event {
            Event::RunStarted(run) => {
                self.now_ms = run.started_at.unix_ms().unwrap_or(self.now_ms);
                self.run_id.clone_from(&run.run_id.0);
                let index = self.begin(None, Kind::Run, "run".to_owned(), String::new());
                self.set(index, "ai.session.txn_id", run.run_id.0.as_str().into());
                self.set(index, "ai.session.origin_txn_id", run.run_id.0.as_str().into());
            }
            Event::InvocationStarted { invocation, .. } if *invocation > 1 => {
                self.died();
                self.is_taken_up = true;
            }
            Event::BaselineFinished(baseline) => {
                self.judged("baseline", baseline.duration_ms, Some(baseline.verdict == Verdict::Green));
            }
            Event::TierStarted { tier_index, .. } => {
                let name = format!("tier {}", tier_index.saturating_add(1));
                self.tier = Some(self.begin(Some(0), Kind::Tier, name, String::new()));
            }
            Event::IterationStarted { tier_index, iteration, .. } => {
                self.place = (*tier_index, *iteration);
                let parent = self.tier.or(Some(0));
                self.iteration =
                    Some(self.begin(parent, Kind::Iteration, format!("iteration {iteration}"), String::new()));
            }
            Event::SessionStarted { role, session_id, target, agent } => {
                self.session_started((*role, agent), session_id, target);
            }
            Event::CallReserved { call_id, scope, .. } => {
                let turn = self.turn_of(scope);
                let agent_path = scope.agent_path();
                let index = self.begin(Some(turn), Kind::Model, "chat".to_owned(), agent_path);
                self.calls.insert(call_id.clone(), index);
            }
            Event::CallSettled(receipt) => self.settled(receipt),
            Event::ToolFinished { .. } => self.tool(event),
            Event::SessionFinished { session_id, result, exit, turns, .. } => {
                let Some(&index) = self.sessions.get(session_id) else { return };
                let reported = REPORTED.contains(&result.as_str());
                self.set(index, "ai.agent.success", reported.into());
                self.set(index, "ai.agent.turn_count", (*turns).into());
                self.set(index, "ai.agent.final_report.status", result.as_str().into());
                self.end_session(index, Some(reported), exit);
            }
            Event::ReportReused(reused) => self.reused(reused),
            Event::TestsFinished { verdict, duration_ms, .. } => {
                self.judged("tests", *duration_ms, Some(*verdict == Verdict::Green));
            }
            Event::PatchMinimised { duration_ms, .. } => self.judged("minimise", *duration_ms, None),
            Event::EvidenceGathered { duration_ms, .. } => self.judged("evidence", *duration_ms, None),
            Event::Remarked { duration_ms, .. } => self.judged("remarks", *duration_ms, None),
            Event::IterationFinished(attempt) => {
                let ok = attempt.test_status == AttemptStatus::Passed;
                let ended = self.iteration.take();
                self.end(ended, Some(ok), "");
            }
            Event::TierFinished { exit, .. } => {
                let ended = self.tier.take();
                self.end(ended, Some(*exit == TierExit::Success), "");
            }
            Event::BreakpointReached { key, .. } => {
                let index = self.begin(Some(0), Kind::Wait, "wait".to_owned(), String::new());
                self.waits.insert(key.clone(), index);
            }
            Event::BreakpointCleared { key, .. } => {
                let ended = self.waits.remove(key);
                self.end(ended, None, "");
            }
            Event::RunFinished(finished) => {
                let left_open = SessionExit::of_open(Some(&finished.outcome));
                self.close_all(left_open.as_str());
                self.set(0, "upshift.outcome", finished.outcome.as_str().into());
                let exit = if left_open == SessionExit::SignalReceived { left_open.as_str() } else { "" };
                self.end(Some(0), Some(finished.outcome.exit_code() == 0), exit);
            }
            _ => {}
        }
    }

    /// Ends everything that a process left open which died. A run that has ended stays as it is.
    pub fn died(&mut self) {
        let died = SessionExit::of_open(None).as_str();
        self.close_all(died);
        if self.operations.first().is_some_and(|run| run.end_ms.is_none()) {
            self.end(Some(0), Some(false), died);
        }
    }

    fn reopen(&mut self) {
        if let Some(run) = self.operations.first_mut().filter(|_| self.is_taken_up) {
            // The run that `died` closed goes on, so its end was none.
            (run.end_ms, run.ok) = (None, None);
            run.exit.clear();
        }
        self.is_taken_up = false;
    }

    fn session_started(&mut self, (role, agent): (Role, &str), session_id: &str, target: &str) {
        let agent_path = agent_path(self.place, role, agent);
        // A sub-agent belongs to the session that called it, all others to their iteration.
        let caller = self.caller(&agent_path);
        let parent = caller.or(self.iteration).or(self.tier).or(Some(0));
        let who = if agent.is_empty() { role.as_str() } else { agent };
        let name = format!("invoke_agent {who}");
        let index = self.begin(parent, Kind::Session, name, agent_path.clone());
        for (key, value) in [
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", who),
            ("gen_ai.conversation.id", session_id),
            ("ai.agent.id", who),
            ("ai.agent.call_path", &agent_path),
            ("ai.session.txn_id", session_id),
            ("upshift.target", target),
        ] {
            self.set(index, key, value.into());
        }
        let run_id = Value::from(self.run_id.as_str());
        self.set(index, "ai.session.origin_txn_id", run_id.clone());
        let above = caller.and_then(|caller| self.operations.get(caller)?.attributes.get("ai.session.txn_id"));
        let above = above.cloned().unwrap_or(run_id);
        self.set(index, "ai.session.parent_txn_id", above);
        self.sessions.insert(session_id.to_owned(), index);
        // Agents beside the roles speak while a role does, and a tool that names no session is the role's.
        if agent.is_empty() {
            self.session = Some(index);
        }
    }

    /// A session that was not held: an earlier one had answered its question.
    fn reused(&mut self, reused: &ReusedReport) {
        let agent_path = agent_path(self.place, reused.role, "");
        let parent = self.iteration.or(self.tier).or(Some(0));
        let index = self.begin(parent, Kind::Session, format!("reuse_report {}", reused.role.as_str()), agent_path);
        self.set(index, "ai.session.txn_id", reused.session_id.as_str().into());
        self.set(index, "upshift.cache.hit", true.into());
        self.set(index, "upshift.cache.key", reused.key.as_str().into());
        if let Some(from) = &reused.from {
            self.set(index, "upshift.cache.run_id", from.0.as_str().into());
        }
        self.end(Some(index), Some(true), "");
    }

    /// The open session that called a sub-agent, by the sub-agent's path.
    fn caller(&self, agent_path: &str) -> Option<usize> {
        let (caller, _) = agent_path.rsplit_once(BELOW)?;
        self.operations.iter().rposition(|operation| {
            operation.kind == Kind::Session && operation.end_ms.is_none() && operation.agent_path == caller
        })
    }

    /// The session of a call. That of a program behind the gateway begins with its first call.
    fn session_of(&mut self, scope: &CallScope) -> usize {
        if let Some(&index) = self.sessions.get(&scope.session_id) {
            return index;
        }
        let above = scope.parent_session_id.as_ref().and_then(|parent| self.sessions.get(parent)).copied();
        let parent = above.or(self.iteration).or(self.tier).or(Some(0));
        let agent_path = scope.agent_path();
        let who = if scope.agent.is_empty() { scope.role.as_str() } else { &scope.agent };
        let name = format!("invoke_agent {who}");
        let index = self.begin(parent, Kind::Session, name, agent_path);
        self.set(index, "ai.session.txn_id", scope.session_id.as_str().into());
        self.sessions.insert(scope.session_id.clone(), index);
        index
    }

    fn turn_of(&mut self, scope: &CallScope) -> usize {
        let key = (scope.session_id.clone(), scope.turn);
        if let Some(&index) = self.turns.get(&key) {
            return index;
        }
        let session = self.session_of(scope);
        // No event ends a turn: the next one's beginning does.
        self.end_turns(session);
        let agent_path = scope.agent_path();
        let index = self.begin(Some(session), Kind::Turn, format!("turn {}", scope.turn), agent_path);
        self.turns.insert(key, index);
        index
    }

    fn settled(&mut self, receipt: &Receipt) {
        let turn = self.turn_of(&receipt.scope);
        let agent_path = receipt.scope.agent_path();
        // In a log that was cut the reservation may be missing. The receipt alone tells of the call then.
        let known = self.calls.remove(&receipt.call_id);
        let index = known.unwrap_or_else(|| self.begin(Some(turn), Kind::Model, "chat".to_owned(), agent_path));
        let ended = receipt.timestamp.unix_ms().unwrap_or(self.now_ms);
        let ok = receipt.status == CallStatus::Ok;
        if let Some(operation) = self.operations.get_mut(index) {
            operation.name = format!("chat {}", receipt.target.model);
            // By the receipt, which knows how long the call itself took.
            operation.begin_ms = ended.saturating_sub(receipt.latency_ms);
            operation.attributes.extend(attributes_of(receipt));
        }
        // A receipt's time may be later than that of its record, and nothing may end before what it holds.
        self.now_ms = self.now_ms.max(ended);
        self.end(Some(index), Some(ok), "");
        self.widen(Some(turn), index);
    }

    fn tool(&mut self, event: &Event) {
        let Event::ToolFinished { role, turn, name, subject, ok, duration_ms, exit, session_id, .. } = event else {
            return;
        };
        // Logs of older versions do not name a tool's session.
        let session = self.sessions.get(session_id).copied().or(self.session);
        let id = session.and_then(|index| self.sessions.iter().find(|(_, of)| **of == index)).map(|(id, _)| id.clone());
        let turn = id.and_then(|id| self.turns.get(&(id, *turn))).copied();
        let parent = turn.or(session).or(Some(0));
        let of_session = session.and_then(|index| self.operations.get(index)).map(|of| of.agent_path.clone());
        let agent_path = of_session.unwrap_or_else(|| agent_path(self.place, *role, ""));
        let index = self.begin(parent, Kind::Tool, format!("execute_tool {name}"), agent_path);
        self.set(index, "gen_ai.operation.name", "execute_tool".into());
        self.set(index, "gen_ai.tool.name", name.as_str().into());
        self.set(index, "upshift.tool.subject", subject.as_str().into());
        if let Some(operation) = self.operations.get_mut(index) {
            operation.begin_ms = self.now_ms.saturating_sub(*duration_ms);
        }
        self.end(Some(index), Some(*ok), exit);
        self.widen(parent, index);
    }

    fn judged(&mut self, name: &str, duration_ms: u64, ok: Option<bool>) {
        let parent = self.iteration.or(self.tier).or(Some(0));
        let index = self.begin(parent, Kind::Judge, name.to_owned(), String::new());
        if let Some(operation) = self.operations.get_mut(index) {
            operation.begin_ms = self.now_ms.saturating_sub(duration_ms);
        }
        self.end(Some(index), ok, "");
        self.widen(parent, index);
    }

    fn begin(&mut self, parent: Option<usize>, kind: Kind, name: String, agent_path: String) -> usize {
        // What comes before the run has nowhere to hang.
        let parent = parent.filter(|parent| *parent < self.operations.len());
        self.operations.push(Operation {
            parent,
            kind,
            name,
            agent_path,
            begin_ms: self.now_ms,
            end_ms: None,
            ok: None,
            exit: String::new(),
            attributes: Map::new(),
        });
        self.operations.len() - 1
    }

    fn set(&mut self, index: usize, key: &str, value: Value) {
        if let Some(operation) = self.operations.get_mut(index) {
            operation.attributes.insert(key.to_owned(), value);
        }
    }

    fn end(&mut self, index: Option<usize>, ok: Option<bool>, exit: &str) {
        let now = self.now_ms;
        if let Some((index, operation)) = index.and_then(|index| Some((index, self.operations.get_mut(index)?))) {
            // A clock that was set back must not give a negative duration.
            operation.end_ms = Some(now.max(operation.begin_ms));
            operation.ok = ok;
            exit.clone_into(&mut operation.exit);
            self.ended.push(index);
        }
    }

    /// A child that was told at its end may have begun before its parent was told of.
    fn widen(&mut self, parent: Option<usize>, child: usize) {
        let Some(begin) = self.operations.get(child).map(|child| child.begin_ms) else { return };
        let mut above = parent;
        while let Some(operation) = above.and_then(|index| self.operations.get_mut(index)) {
            operation.begin_ms = operation.begin_ms.min(begin);
            above = operation.parent;
        }
    }

    fn end_turns(&mut self, session: usize) {
        let is_open = |(_, index): &(&(String, u32), &usize)| {
            self.operations.get(**index).is_some_and(|turn| turn.parent == Some(session) && turn.end_ms.is_none())
        };
        let open: Vec<usize> = self.turns.iter().filter(is_open).map(|(_, index)| *index).collect();
        for turn in open {
            self.end(Some(turn), None, "");
        }
    }

    fn end_session(&mut self, index: usize, ok: Option<bool>, exit: &str) {
        self.end_turns(index);
        self.end(Some(index), ok, exit);
        self.session = self.session.filter(|session| *session != index);
    }

    /// Closes what is open when a process died or a run ended: sessions by that exit, all else without a word.
    fn close_all(&mut self, exit: &str) {
        let is_open = |(_, operation): &(usize, &Operation)| operation.end_ms.is_none() && operation.kind != Kind::Run;
        let open: Vec<(usize, Kind)> =
            self.operations.iter().enumerate().filter(is_open).map(|(index, of)| (index, of.kind)).collect();
        // From the last one back, so that children end before their parents. A wait outlives the process that began
        // it.
        for (index, kind) in open.into_iter().rev().filter(|(_, kind)| *kind != Kind::Wait) {
            if kind == Kind::Session {
                self.end_session(index, Some(false), exit);
            } else {
                self.end(Some(index), None, "");
            }
        }
        (self.tier, self.iteration, self.session) = (None, None, None);
    }
}

/// The attributes of a model call, by OpenTelemetry's conventions for generative AI.
fn attributes_of(receipt: &Receipt) -> Vec<(String, Value)> {
    let mut all: Vec<(&str, Value)> = vec![
        ("gen_ai.operation.name", "chat".into()),
        ("gen_ai.provider.name", provider(&receipt.target.provider).into()),
        ("gen_ai.request.model", receipt.target.model.as_str().into()),
        ("gen_ai.conversation.id", receipt.scope.session_id.as_str().into()),
        ("ai.session.txn_id", receipt.scope.session_id.as_str().into()),
        ("upshift.attempt", receipt.scope.attempt.into()),
        ("upshift.cost_micro_usd", receipt.cost.0.into()),
        ("upshift.unknown_cost_micro_usd", receipt.unknown_cost.0.into()),
    ];
    if let Some(usage) = &receipt.usage {
        all.extend([
            ("gen_ai.usage.input_tokens", usage.prompt().into()),
            ("gen_ai.usage.output_tokens", usage.output.into()),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read.into()),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write.into()),
        ]);
    }
    all.extend(receipt.billed_model.as_ref().map(|billed| ("gen_ai.response.model", billed.as_str().into())));
    if receipt.status != CallStatus::Ok {
        all.push(("error.type", receipt.status.as_str().into()));
    }
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The conventions' name of a provider.
fn provider(ours: &str) -> &str {
    match ours {
        "gemini" => "gcp.gemini",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        same => same,
    }
}
