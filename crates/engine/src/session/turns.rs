//! The turn loop: from the first message to the report.

use std::collections::BTreeMap;

use super::action::Action;
use super::context_guard::ContextGuard;
use super::conversation::{Conversation, Protocol, told_result};
use super::end::{FailureReason, FinalReport, SessionEnd};
use super::meta::{Asked, Beside, META_TURNS, MetaBlocks};
use super::ports::Ports;
use super::reading::{self, Rules, Wish};
use super::refusal::OutsideNames;
use super::repeats::Repeats;
use super::router;
use super::spec::SessionSpec;
use super::tool::{Offer, Tool};
use super::toolroom::{Answer, Halt, Round, Toolroom, Turn};
use crate::audit::Snapshot;
use crate::domain::account::{Account, Unavailability};
use crate::domain::chat::{Reply, Usage};
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::session_exit::SessionExit;
use crate::domain::stop::StopCause;
use crate::domain::tool::{ToolCall, ToolResult, ToolSpec};
use crate::domain::units::Charge;
use crate::policy::rotation::{Identity, Rotation};
use crate::policy::smart_zone::{ContextMonitor, Level};

/// The kind under which conversations are kept in the audit log.
pub const SNAPSHOT_KIND: &str = "conversation";

/// Turns that a session has left, its report included, when 40 % of its window are in use.
const TURNS_AT_WARNING: u32 = 5;
/// The same at 50 %.
const TURNS_AT_CRITICAL: u32 = 3;

/// One session under way.
pub(super) struct Session<'s, 'a> {
    pub(super) spec: SessionSpec,
    pub(super) ports: &'s mut Ports<'a>,
    pub(super) id: String,
    /// One-based. 0 before the first.
    pub(super) turn: u32,
    pub(super) cost: Charge,
    pub(super) usage: Usage,
    pub(super) context_guard: ContextGuard,
    /// The tools on offer: made once, so that requests keep their beginning.
    pub(super) tool_specs: Vec<ToolSpec>,
    offer: Offer,
    conversation: Conversation,
    pub(super) rotation: Rotation,
    monitor: ContextMonitor,
    monitored: Option<ModelId>,
    pub(super) toolroom: Toolroom,
    repeats: Repeats,
    /// The last failed attempt of this turn: told with its advice, replaced by the next (S1-8).
    pub(super) failed: Option<Failed>,
    /// Calls sent in this turn.
    pub(super) calls: u32,
    /// Calls of this turn that were not turned away for nothing.
    pub(super) tries: u32,
    /// The wait that a person was told of last.
    pub(super) told: Option<Told>,
    pub(super) forced: Option<Forced>,
    /// The turn that is the last one because the window fills up.
    last_turn: Option<u32>,
    /// The notice of that to the model, in the turn after this one.
    notice: Option<(u32, String)>,
    answered: Option<ModelId>,
    /// The model that its vendor says it billed for that.
    billed: Option<String>,
    peak_percent: u32,
    pub(super) outside: OutsideNames,
    /// The blocks of data beside the report, and the report while it is locked for them.
    pub(super) meta: MetaBlocks,
    /// When it began, on the monotonic clock, and how long the run had waited by then, in milliseconds.
    pub(super) began: (u64, u64),
}

/// A wait that a person was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) why: Unavailability,
    pub(super) until_ms: Option<i64>,
}

/// A reply that was of no use, and what the model is told about it.
pub(super) struct Failed {
    pub(super) target: ModelId,
    pub(super) text: String,
    pub(super) advice: String,
}

/// Why this turn is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forced {
    /// The turns are used up.
    MaxTurns,
    /// The window is nearly full.
    Context,
    /// We were asked to come to an end.
    WrapUp,
    /// A report was tried that was not sound.
    Report,
    /// Calls failed in the same words again and again.
    Repeats,
    /// The report is locked: only its blocks of data count.
    Meta,
}

/// How a session came to its end.
pub(super) struct Ending {
    pub(super) report: FinalReport,
    pub(super) exit: SessionExit,
}

/// A usable reply, with what it asks for.
pub(super) struct Heard {
    pub(super) target: ModelId,
    pub(super) protocol: Protocol,
    pub(super) reply: Reply,
    pub(super) wishes: Vec<Wish>,
    pub(super) calls: Vec<ToolCall>,
}

impl<'s, 'a> Session<'s, 'a> {
    pub(super) fn begin(spec: SessionSpec, ports: &'s mut Ports<'a>) -> Self {
        let commands = &ports.toolbox.allow_commands;
        let offer = Offer {
            role: spec.role,
            tests: ports.toolbox.run_tests.is_some(),
            commands: !commands.is_empty() && ports.toolbox.run_command.is_some(),
        };
        let mut tool_specs: Vec<ToolSpec> =
            offer.tools().into_iter().map(|tool| tool.spec(spec.role, commands)).collect();
        let others = ports.toolbox.outside.as_ref().map(|outside| outside.specs.clone()).unwrap_or_default();
        let outside = OutsideNames::of(others.iter().map(|spec| spec.name.clone()).collect());
        tool_specs.extend(others);
        tool_specs.extend(router::spec(&spec.destinations));
        let meta = MetaBlocks::of(spec.meta.clone());
        meta.describe(&mut tool_specs);
        // Once for all requests, which have to begin with the same bytes.
        let first = ports.redactor.redact(&spec.first_message).into_owned();
        let id = uuid::Uuid::new_v4().hyphenated().to_string();
        Self {
            turn: 0,
            cost: Charge::ZERO,
            usage: Usage::default(),
            context_guard: ContextGuard::default(),
            tool_specs,
            offer,
            conversation: Conversation::begin(&first),
            rotation: rotation_of(&spec, ports),
            tries: 0,
            told: None,
            monitor: ContextMonitor::default(),
            monitored: None,
            toolroom: Toolroom::new(&spec, &id),
            repeats: Repeats::default(),
            failed: None,
            calls: 0,
            forced: None,
            last_turn: None,
            notice: None,
            answered: None,
            billed: None,
            peak_percent: 0,
            outside,
            meta,
            began: (ports.clock.monotonic_ms(), ports.memory.waited_ms),
            id,
            spec,
            ports,
        }
    }

    /// Takes turns until there is a report.
    ///
    /// A turn is one usable reply and its tool calls. A stop before it ends the session at once. The last turn, a nearly full window, a
    /// wish to wrap up or an unsound report make it the final one, which may only report. The reply is sought in at most `max_attempts`
    /// calls over all targets ([`Self::reply`]). Then its tool calls are carried out in order and answered, every one. A report among them
    /// is taken last and ends the session. Six causes end it with a synthetic report: no usable target, no usable reply, no money, no room,
    /// a fatal tool, a stop.
    pub(super) async fn run(&mut self) -> Ending {
        if let Some(ending) = self.prepare() {
            return ending;
        }
        let max_turns = self.spec.limits.max_turns.max(1);
        // The turns beyond the last one are for the blocks of a locked report alone.
        for turn in 1..=max_turns.saturating_add(META_TURNS) {
            if turn > max_turns && self.meta.asked() != Asked::Alone {
                break;
            }
            if let Some(cause) = self.ports.stop.raised() {
                return self.kept_instead_of(Ending::stopped(cause));
            }
            self.turn = turn;
            if self.ports.wrap_up.raised().is_some() {
                // The first reason stays: it decides how the session is said to have ended.
                self.forced.get_or_insert(Forced::WrapUp);
            }
            if self.last_turn.is_some_and(|last| turn >= last) {
                self.forced.get_or_insert(Forced::Context);
            }
            if turn == max_turns {
                self.forced.get_or_insert(Forced::MaxTurns);
            }
            let heard = match self.reply().await {
                Ok(heard) => heard,
                Err(ending) => return self.kept_instead_of(ending),
            };
            let in_text = heard.calls.is_empty();
            self.accept(&heard);
            let turn = Turn { number: self.turn, is_final: self.is_final() };
            let round = self.toolroom.carry_out(heard.wishes, turn, self.ports).await;
            if let Some(ending) = self.conclude(round, in_text) {
                return ending;
            }
        }
        Ending::synthetic(FailureReason::NoReport, SessionExit::MaxTurnsNoResponse)
    }

    /// Makes a usable reply part of the conversation.
    fn accept(&mut self, heard: &Heard) {
        // The notices that were sent belong to it from now on, so that the next request begins with the same bytes.
        self.conversation = self.told(heard.protocol);
        self.failed = None;
        // The model has been told by now. A notice that came with this very reply waits for the next turn.
        self.notice = self.notice.take().filter(|(since, _)| *since == self.turn);
        self.conversation.reply(&heard.target, &heard.reply, heard.calls.clone());
        self.answered = Some(heard.target.clone());
        self.billed = self.billed_model(&heard.reply);
        let reports = heard.wishes.iter().any(|wish| matches!(wish.action, Ok(Action::Report(_))));
        self.meta.hear(&heard.reply, if reports { Beside::Report } else { Beside::Nothing });
        self.toolroom.status = self.status_of(heard);
    }

    /// Tells the model what its wishes came to, or ends the session.
    fn conclude(&mut self, mut round: Round, in_text: bool) -> Option<Ending> {
        if self.repeats.hear(&mut round.answers) {
            self.forced.get_or_insert(Forced::Repeats);
        }
        let ending = self.settle_report(&mut round);
        // Also where the session ends: the kept conversation is whole then.
        self.tell(round.answers, in_text);
        match round.halt {
            Some(Halt::Stopped(cause)) => return Some(self.kept_instead_of(Ending::stopped(cause))),
            Some(Halt::Fatal(message)) => {
                return Some(Ending::synthetic(FailureReason::ToolFailed { message }, SessionExit::ToolFailure));
            }
            None => {}
        }
        if ending.is_none() && round.unsound_report {
            self.forced.get_or_insert(Forced::Report);
        }
        ending
    }

    /// Locks a report, and ends the session with it unless a block of data is to be asked for (S1-12).
    fn settle_report(&mut self, round: &mut Round) -> Option<Ending> {
        if round.halt.is_some() {
            return None;
        }
        let was_alone = self.meta.asked() == Asked::Alone;
        if let Some(report) = round.report.take() {
            let exit = match self.forced {
                Some(Forced::MaxTurns) => SessionExit::MaxTurnsWithResponse,
                Some(Forced::WrapUp) => SessionExit::UserStop,
                Some(Forced::Context | Forced::Report | Forced::Repeats | Forced::Meta) | None => {
                    SessionExit::FinalAnswer
                }
            };
            self.meta.lock(report, exit);
        }
        if self.lacks_its_change() {
            self.meta.waive();
        }
        let Some(advice) = self.meta.wants(self.may_ask_for_meta()) else {
            return self.meta.release().map(|(report, exit)| Ending { report, exit });
        };
        let asked = |answer: &&mut Answer| was_alone || answer.name == Tool::FinalReport.name();
        for answer in round.answers.iter_mut().filter(asked) {
            // The advice stands in the answer to the report itself, since vendors want one answer to each call.
            (answer.ok, answer.content) = (false, advice.clone());
        }
        self.forced.get_or_insert(Forced::Meta);
        None
    }

    fn tell(&mut self, answers: Vec<Answer>, in_text: bool) {
        if in_text {
            let told: Vec<String> = answers
                .iter()
                .map(|answer| {
                    let ended = if answer.ok { "ok" } else { "failed" };
                    told_result(&answer.name, &answer.subject, ended, &answer.content)
                })
                .collect();
            self.conversation.say(&told.join("\n\n"));
            return;
        }
        let results = answers.into_iter().map(|answer| ToolResult {
            call_id: answer.call_id.unwrap_or_default(),
            name: answer.name,
            content: answer.content,
            is_error: !answer.ok,
        });
        self.conversation.results(results.collect());
    }

    /// Whether this turn may only report.
    pub(super) fn is_final(&self) -> bool {
        self.forced.is_some()
    }

    /// The conversation with what the model must be told before its next reply, in one message (S1-8).
    pub(super) fn told(&self, protocol: Protocol) -> Conversation {
        let mut told = self.conversation.clone();
        let mut notices: Vec<String> = Vec::new();
        if let Some(failed) = &self.failed {
            told.failed_reply(&failed.target, &failed.text);
            notices.push(failed.advice.clone());
        }
        notices.extend(
            self.notice
                .iter()
                .filter(|(since, _)| *since < self.turn && !self.is_final())
                .map(|(_, text)| text.clone()),
        );
        // The blocks that a locked report lacks stand in the answer to it.
        if self.is_final() && self.meta.asked() != Asked::Alone {
            let notice = reading::final_turn_notice(protocol, self.spec.role);
            notices.extend((!notices.contains(&notice)).then_some(notice));
        }
        if !notices.is_empty() {
            told.say(&notices.join("\n"));
        }
        told
    }

    /// The context against which replies are read now.
    pub(super) fn rules(&self, protocol: Protocol) -> Rules<'_> {
        Rules {
            offer: self.offer,
            protocol,
            final_turn: self.is_final(),
            max_calls: self.spec.limits.max_calls_per_reply,
            turn: self.turn,
            outside: &self.outside.names,
            destinations: &self.spec.destinations,
            meta: self.meta.asked(),
            conversation: &self.conversation,
        }
    }

    /// Learns from a reply how full the window is. Tells when a threshold is passed (S0-12, S0-15).
    pub(super) fn measure(&mut self, target: &ModelId, reply: &Reply, request_bytes: u64) {
        let Some(usage) = &reply.usage else { return };
        // Another process asked for a replayed reply: the size of its request is not known.
        if request_bytes > 0 {
            let calls: usize = reply.tool_calls.iter().map(|call| call.arguments.to_string().len()).sum();
            let reply_bytes = u64::try_from(reply.text.len() + calls).unwrap_or(u64::MAX);
            self.context_guard.note(request_bytes, reply_bytes, usage);
        }
        let role = self.spec.role;
        // Another target has another window.
        if self.monitored.as_ref() != Some(target) {
            let window = self.ports.facts.of(target).context_window;
            self.monitor.register(role.as_str(), &target.to_string(), Some(window));
            self.monitored = Some(target.clone());
        }
        if let Ok(Some(warning)) = self.monitor.track(role.as_str(), usage.occupancy()) {
            self.ports.journal.emit(&Event::ContextThreshold {
                role,
                level: warning.level.as_str().to_owned(),
                percent: warning.percentage,
                session_id: self.shared_id(),
            });
            self.wrap_up_by(warning.level, warning.percentage);
        }
        let percent = self.monitor.usage(role.as_str()).map_or(0, |usage| usage.percentage);
        self.peak_percent = self.peak_percent.max(percent);
    }

    fn shared_id(&self) -> String {
        self.spec.shared_id(&self.id)
    }

    /// Gives the session few more turns when its window fills up: replies get worse from there on, and the next session starts
    /// fresh with what this one reports (S0-12).
    fn wrap_up_by(&mut self, level: Level, percent: u32) {
        let left = match level {
            Level::Info => return,
            Level::Warning => TURNS_AT_WARNING,
            Level::Critical => TURNS_AT_CRITICAL,
        };
        // A fuller window only ever takes turns away.
        let last = self.last_turn.map_or(self.turn + left, |last| last.min(self.turn + left));
        self.last_turn = Some(last);
        // The turn under way is not told of yet.
        let turns = last.saturating_sub(self.turn);
        let notice = format!(
            "{percent} % of your context window is in use. You have {turns} turns left: make the edits that you are sure of and \
             report what you found; the next session starts fresh with your report."
        );
        self.notice = Some((self.turn, notice));
    }

    /// Keeps the conversation, tells the end, and hands it back.
    pub(super) fn finish(self, ending: Ending) -> SessionEnd {
        // A signal leaves no time to wait for another program's lock on the log.
        if self.ports.stop.raised().is_some_and(|cause| !matches!(cause, StopCause::OwnTime(_))) {
            self.ports.journal.hasten();
        }
        let first = self.spec.targets.first().cloned();
        let unknown = || ModelId { provider: "none".to_owned(), model: "none".to_owned() };
        let target = self.answered.clone().or(first).unwrap_or_else(unknown);
        let body = serde_json::json!({
            "session_id": self.id,
            "role": self.spec.role,
            "agent": self.spec.agent,
            "lineage": self.spec.lineage.as_ref().map(|lineage| [&lineage.parent, &lineage.root]),
            "targets": self.spec.targets,
            "exit": ending.exit.as_str(),
            "result": ending.report.as_str(),
            "summary": ending.report.summary_of(&self.spec.agent),
            "system": self.spec.system,
            "entries": self.conversation,
        });
        let body = body.to_string();
        self.ports.journal.save_snapshot(&Snapshot { kind: SNAPSHOT_KIND, session_id: &self.id, body: &body });
        for event in self.meta.events(self.spec.role, &self.id, &ending.report) {
            self.ports.journal.emit(&event);
        }
        self.ports.journal.emit(&Event::SessionFinished {
            role: self.spec.role,
            session_id: self.id.clone(),
            target: target.to_string(),
            turns: self.turn,
            result: ending.report.as_str().to_owned(),
            summary: ending.report.summary_of(&self.spec.agent),
            blocked_on: ending.report.blocked_on().to_vec(),
            exit: ending.exit.as_str().to_owned(),
        });
        // A specialist may say of them what its predecessor did not.
        let on_test = ending.report.blames_a_test() || matches!(ending.report, FinalReport::Routed { .. });
        let corrections = if on_test { self.toolroom.corrections } else { BTreeMap::new() };
        SessionEnd {
            session_id: self.id,
            report: ending.report,
            exit: ending.exit,
            target,
            billed_model: self.billed,
            turns: self.turn,
            cost: self.cost,
            usage: self.usage,
            peak_context_percent: self.peak_percent,
            wrote: self.toolroom.wrote,
            commands_ran: self.toolroom.commands_ran,
            tests_ran: self.toolroom.tests_ran,
            corrections,
        }
    }
}

impl Ending {
    pub(super) const fn synthetic(reason: FailureReason, exit: SessionExit) -> Self {
        Self { report: FinalReport::Synthetic { reason }, exit }
    }

    pub(super) const fn stopped(cause: StopCause) -> Self {
        let exit = match cause {
            StopCause::Signal(_) => SessionExit::SignalReceived,
            StopCause::TimeUp => SessionExit::TimeUp,
            StopCause::Asked => SessionExit::UserStop,
            StopCause::OwnTime(_) => SessionExit::ToolTimeout,
        };
        Self::synthetic(FailureReason::Stopped { cause }, exit)
    }
}

/// The rotation over a session's targets: which of them share an account or a host, and what they cost.
fn rotation_of(spec: &SessionSpec, ports: &Ports<'_>) -> Rotation {
    let accounts: Vec<Account> = spec.targets.iter().map(|target| ports.memory.accounts.of(target)).collect();
    let identities = spec.targets.iter().zip(&accounts).map(|(target, account)| {
        let first = |same: &dyn Fn(&Account) -> bool| accounts.iter().position(same).unwrap_or_default();
        let price = ports.facts.of(target).price.map_or(0, |price| price.input.saturating_add(price.output));
        // Targets of one account share their limits, those of one host its outages.
        Identity {
            account: first(&|other| other == account),
            host: first(&|other| other.endpoint == account.endpoint),
            price,
        }
    });
    Rotation::over(identities, spec.limits.max_attempts, spec.limits.patience)
}
