//! An agent's life: started behind the gateway, heard as it speaks, ended at the cap, at the end of the time, or when it is asked for.
//!
//! Invariant: the log is with the gateway while the session lives, and back with its owner afterwards, whatever happened.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::hearing::{Call, Heard, Hearing};
use super::house::House;
use super::idle::{self, silence};
use super::line::{Client, Line};
use super::spec::{Held, HostedPorts, HostedSpec, unusable};
use crate::audit::{Journal, Store};
use crate::backend::{Backend, Limit, SubAgent, limit_in};
use crate::domain::agents::SubAgentChange;
use crate::domain::event::Event;
use crate::domain::receipt::CallStatus;
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::MicroUsd;
use crate::domain::verdict::Exit;
use crate::gateway::{Gateway, Ledger, Money, NoMoreCalls, Open, Place, Refusal, Tally};
use crate::policy::rotation::GiveUp;
use crate::process::{self, Finished, ProcessError, Spec};
use crate::session::FailureReason;

/// How long an agent may go on after the first call that the cap refuses: with the grace of a process it is gone within five seconds.
const LAST_WORDS: Duration = Duration::from_millis(4_000);
/// How long it may go on after it said that it is complete.
const AFTER_COMPLETE: Duration = Duration::from_secs(10);
/// How long one that was spoken to may go on after the talk is over: its input has ended by then.
const AFTER_TALK: Duration = Duration::from_secs(2);
/// Characters of a sub-agent's name or id that are told.
const MAX_NAME: usize = 120;
/// Characters of what an agent said on standard error that a reason holds.
const MAX_REASON: usize = 300;

/// Holds the session of an agent.
///
/// # Errors
/// Why it came to no end of its own.
pub(super) async fn live(
    spec: &HostedSpec,
    id: &str,
    house: House,
    ports: &mut HostedPorts<'_>,
    held: &mut Held,
) -> Result<(), FailureReason> {
    let fatal = |message: String| FailureReason::ToolFailed { message };
    let House { spec: command, listener, token, lanes, .. } = house;
    let listener = listener.try_clone().and_then(Open::of).map_err(|error| fatal(error.to_string()))?;
    let pin = spec.pin();
    let facts = ports.facts.clone();
    let gateway = Gateway { token, lanes, pin, facts, clean: Some(Arc::clone(ports.redactor)), waits: true };
    let ledger = lend(spec, id, ports, held.tally.clone()).map_err(fatal)?;
    let hearing = Rc::new(RefCell::new(Hearing::default()));
    let played = play(spec, &command, &ledger, &hearing, ports);
    let played = tokio::task::LocalSet::new().run_until(listener.serve_during(gateway, &ledger, played)).await;
    // Before anything is judged, so that the log is back with its owner whatever comes of that.
    if let Some(journal) = ledger.close() {
        *ports.journal = journal;
    }
    held.tally = ledger.tally();
    held.limited_until_ms = ledger.limited_until();
    held.hearing = hearing.take();
    judge(spec, played, &ledger, held, ports)
}

/// Gives the log to the gateway for as long as the session lives.
fn lend(spec: &HostedSpec, id: &str, ports: &mut HostedPorts<'_>, so_far: Tally) -> Result<Rc<Ledger>, String> {
    // Something has to stand in the port while the log is lent.
    let stand_in = Store::in_memory(Arc::clone(ports.redactor)).map_err(|error| error.to_string())?;
    let journal = std::mem::replace(ports.journal, Journal::new(stand_in, Vec::new()));
    let lineage = spec.lineage.as_ref().map(|lineage| (lineage.parent.clone(), lineage.root.clone()));
    let place = Place {
        tier_index: spec.tier_index,
        iteration: spec.iteration,
        role: spec.role,
        session_id: id.to_owned(),
        lineage,
    };
    let (clock, redactor) = (Arc::clone(&ports.hosting.clock), Arc::clone(ports.redactor));
    Ok(Ledger::new(Money { place, so_far, journal, caps: ports.caps.clone(), clock, redactor }))
}

/// Starts the agent, hears it and ends it when it is time.
async fn play(
    spec: &HostedSpec,
    command: &Spec,
    ledger: &Rc<Ledger>,
    hearing: &Rc<RefCell<Hearing>>,
    ports: &HostedPorts<'_>,
) -> Result<Finished, ProcessError> {
    let (end, ends) = StopSource::new();
    let (complete, is_complete) = StopSource::new();
    let (over, is_over) = StopSource::new();
    let (sender, bytes) = unbounded_channel::<Vec<u8>>();
    let (say, words) = unbounded_channel::<Vec<u8>>();
    let talks = spec.backend == Backend::Acp;
    let keeper = ports.hosting.helper.clone();
    let mut raw = ports.hosting.streams.as_ref().map(|streams| streams.open_whole("agent"));
    let lives = async move {
        let mut sink = |chunk: &[u8]| {
            if let Some(raw) = &mut raw {
                raw.push(chunk);
            }
            // Who hears it is there for as long as the agent lives.
            drop(sender.send(chunk.to_vec()));
        };
        match talks {
            true => process::run_talking(&keeper, command, &ends, &mut sink, words).await,
            false => process::run_kept(&keeper, command, &ends, &mut sink).await,
        }
    };
    let line = Line::open(spec, ports, say);
    let heard = idle::Heard::now();
    let hears = hear(spec, (line, &heard), bytes, (ledger, hearing), (&complete, &over), ports);
    let (stop, wrap_up) = (ports.stop.clone(), ports.wrap_up.clone());
    let (capped, limited) = (ledger.capped(), ledger.limited());
    let silent = silence(&heard, ledger, &ports.hosting.checkout, spec.idle);
    let watched = watch(&end, silent, Watched { stop, wrap_up, capped, limited, is_complete, is_over });
    tokio::select! {
        // The stream is heard to its end, which may come behind the program's.
        (finished, ()) = async { tokio::join!(lives, hears) } => finished,
        never = watched => match never {},
    }
}

/// The signals that end a session from outside.
struct Watched {
    stop: Stop,
    wrap_up: Stop,
    capped: Stop,
    limited: Stop,
    is_complete: Stop,
    is_over: Stop,
}

/// Ends the agent when it is time. It never comes to an end itself.
async fn watch(end: &StopSource, silent: impl Future<Output = StopCause>, watched: Watched) -> Infallible {
    let Watched { stop, wrap_up, capped, limited, is_complete, is_over } = watched;
    // Real time: a clock that leaps over pauses must not leap while an agent works.
    let after = |flag: Stop, patience: Duration| async move {
        flag.wait().await;
        tokio::time::sleep(patience).await;
    };
    let cause = tokio::select! {
        cause = stop.wait() => cause,
        cause = wrap_up.wait() => cause,
        // Most agents give up at the first refusal, and some try for ever.
        () = after(capped, LAST_WORDS) => StopCause::TimeUp,
        () = after(limited, LAST_WORDS) => StopCause::TimeUp,
        () = after(is_complete, AFTER_COMPLETE) => StopCause::Asked,
        () = after(is_over, AFTER_TALK) => StopCause::Asked,
        cause = silent => cause,
    };
    end.raise(cause);
    std::future::pending().await
}

/// Reads the agent's stream to its end, and tells of its tools.
async fn hear(
    spec: &HostedSpec,
    (mut line, heard): (Line, &idle::Heard),
    mut bytes: UnboundedReceiver<Vec<u8>>,
    (ledger, hearing): (&Rc<Ledger>, &Rc<RefCell<Hearing>>),
    (complete, over): (&StopSource, &StopSource),
    ports: &HostedPorts<'_>,
) {
    loop {
        let chunk = bytes.recv().await;
        heard.note();
        let is_over = chunk.is_none();
        let events = line.push(chunk.as_deref(), Client::new(spec, ledger, ports));
        let now = ports.hosting.clock.monotonic_ms();
        for event in events {
            let told = hearing.borrow_mut().take(event, now);
            match told {
                Some(Heard::Tool(call, ok)) => ledger.emit(&tool(spec, ledger, ports, (call, ok, now))),
                Some(Heard::SubAgent(id, agent)) => ledger.emit(&sub_agent(spec, ledger, ports, (id, agent))),
                None => {}
            }
        }
        if hearing.borrow().is_complete() {
            complete.raise(StopCause::Asked);
        }
        if line.is_over() {
            over.raise(StopCause::Asked);
        }
        if is_over {
            return;
        }
    }
}

fn tool(spec: &HostedSpec, ledger: &Ledger, ports: &HostedPorts<'_>, (call, ok, now): (Call, bool, u64)) -> Event {
    let root = format!("{}/", ports.hosting.checkout.display());
    let subject = call.subject.replace(&root, "");
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    Event::ToolFinished {
        role: spec.role,
        // A tool may be told before its reply is counted.
        turn: ledger.tally().replies.max(1),
        name: call.name,
        subject: ports.redactor.redact(&subject).chars().take(120).collect(),
        ok,
        duration_ms: now.saturating_sub(call.began),
        exit: String::new(),
        session_id: String::new(),
        status: String::new(),
        // Agents tell of a failure to their model alone.
        why: String::new(),
    }
}

fn sub_agent(spec: &HostedSpec, ledger: &Ledger, ports: &HostedPorts<'_>, (id, agent): (String, SubAgent)) -> Event {
    let clean = |text: &str| ports.redactor.redact(text).chars().take(MAX_NAME).collect::<String>();
    let Tally { cost, usage, .. } = ledger.tally();
    let all = usage.prompt().saturating_add(usage.output);
    // The agent's own counts only divide the bill. The sum is the gateway's.
    let cost = (agent.tokens > 0).then(|| share(cost.known, agent.tokens, all));
    Event::SubAgentChanged(SubAgentChange {
        role: spec.role,
        id: clean(&id),
        parent: agent.parent.as_deref().map(clean),
        depth: agent.depth,
        name: clean(&agent.name),
        state: agent.state.as_str().to_owned(),
        tokens: agent.tokens,
        cost,
    })
}

/// The share of a bill that so many of its tokens have.
fn share(bill: MicroUsd, tokens: u64, all: u64) -> MicroUsd {
    let part = u128::from(bill.0) * u128::from(tokens.min(all)) / u128::from(all.max(1));
    MicroUsd(u64::try_from(part).unwrap_or(bill.0))
}

/// Why a session came to no end of its own, if so.
fn judge(
    spec: &HostedSpec,
    played: Result<Finished, ProcessError>,
    ledger: &Ledger,
    held: &mut Held,
    ports: &HostedPorts<'_>,
) -> Result<(), FailureReason> {
    let finished = played.map_err(|error| unusable(&spec.target, &error.to_string()))?;
    // Our own reasons to end it come first: an agent that is cut off complains of many things.
    if let Some(cause) = ports.stop.raised() {
        return Err(FailureReason::Stopped { cause });
    }
    match ledger.refusal() {
        Some(Refusal { end: NoMoreCalls::Cap(scope), message }) => {
            return Err(FailureReason::Budget { scope, detail: message });
        }
        Some(Refusal { end: NoMoreCalls::DearTier, message }) => return Err(unusable(&spec.target, &message)),
        None => {}
    }
    if let Some(reason) = of_vendor(spec, &held.tally) {
        return Err(reason);
    }
    let has_worked = held.tally.replies > 0;
    let cut_short = cut_short(&finished, &held.hearing);
    if has_worked && cut_short.is_none() {
        return Ok(());
    }
    // An agent that we ended before its first call is not limited.
    let is_asked_to_end = ports.wrap_up.raised().is_some();
    if !has_worked
        && !is_asked_to_end
        && let Some(limit) = own_limit(spec, &finished, &held.hearing)
    {
        let last = format!("{}: {}", spec.target, ports.redactor.redact(&limit.said));
        held.limited_until_ms =
            limit.retry_after_ms.map(|wait| ports.hosting.clock.unix_ms().saturating_add_unsigned(wait));
        held.own_limit = Some(limit);
        return Err(FailureReason::NoUsableTarget { why: GiveUp::Limited, last });
    }
    let said = held.hearing.trouble().map(str::to_owned);
    let said = said.unwrap_or_else(|| tail(&finished));
    let said = ports.redactor.redact(&said).into_owned();
    let how = cut_short.unwrap_or_else(|| finished.exit.to_string());
    let why = end_and_words(&how, &said);
    if has_worked {
        // What it wrote stays, and the tests judge it.
        return Err(FailureReason::ToolFailed { message: format!("{}: the agent did not finish {why}", spec.target) });
    }
    Err(unusable(&spec.target, &format!("it asked no model and ended {why}")))
}

/// How an agent ended and what it said last. A note of ours stands behind the output as well, and is told once.
fn end_and_words(how: &str, said: &str) -> String {
    if said.trim_matches(['[', ']']) == how || said.is_empty() {
        format!("({how})")
    } else {
        format!("({how}): {said}")
    }
}

/// The limit that an agent tells of that asked no model through the gateway: by its stream first, by its standard error else (S3-8).
fn own_limit(spec: &HostedSpec, finished: &Finished, hearing: &Hearing) -> Option<Limit> {
    // One that is spoken to is ended by us when it has said so.
    if finished.stopped.is_some_and(|cause| cause != StopCause::Asked) {
        return None;
    }
    let code = if let Exit::Code { code } = finished.exit { Some(code) } else { None };
    let by_words = || limit_in(spec.backend, &String::from_utf8_lossy(&finished.stderr), code);
    hearing.limit().cloned().or_else(by_words)
}

/// How an agent ended that came to no end of its own, if so.
fn cut_short(finished: &Finished, hearing: &Hearing) -> Option<String> {
    match (finished.exit, finished.stopped) {
        (Exit::Timeout, _) | (_, Some(StopCause::TimeUp)) => Some("its time was up".to_owned()),
        (_, Some(StopCause::OwnTime(seconds))) => Some(idle::in_words(seconds)),
        (Exit::Memory { .. } | Exit::MachineMemory | Exit::MemoryTogether { .. }, _) => Some(finished.exit.to_string()),
        // It had said that it is complete, or the talk was over.
        (_, Some(StopCause::Asked)) | (Exit::Code { code: 0 }, _) => None,
        // Codes mislead: agents say 1 after a success as well. Their stream is asked first.
        (Exit::Code { .. }, _) if hearing.ended_well() => None,
        (Exit::Code { .. } | Exit::Signal { .. }, _) => {
            Some(finished.killed_for().unwrap_or_else(|| finished.exit.to_string()))
        }
    }
}

/// The reason for failure in the vendor's last answer, where it was no reply.
fn of_vendor(spec: &HostedSpec, tally: &Tally) -> Option<FailureReason> {
    let trouble = tally.trouble.as_ref()?;
    let last = format!("{}: {}", spec.target, trouble.why);
    let why = match trouble.status {
        CallStatus::RateLimited => GiveUp::Limited,
        CallStatus::AuthError | CallStatus::QuotaExceeded => GiveUp::Refused,
        CallStatus::NetworkError | CallStatus::Timeout => GiveUp::Unreachable,
        CallStatus::ContextOverflow => return Some(FailureReason::ContextFull),
        CallStatus::ModelError | CallStatus::InvalidResponse => {
            return Some(FailureReason::UnusableReplies { last });
        }
        // It hung up itself, when it ended.
        CallStatus::Ok | CallStatus::Aborted | CallStatus::Lost => return None,
    };
    Some(FailureReason::NoUsableTarget { why, last })
}

/// The last lines of an agent that said nothing else.
fn tail(finished: &Finished) -> String {
    let said = if finished.stderr.is_empty() { &finished.output } else { &finished.stderr };
    let said = String::from_utf8_lossy(said);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let over = said.chars().count().saturating_sub(MAX_REASON);
    said.chars().skip(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::AgentEvent;

    fn told(exit: Exit, stopped: Option<StopCause>, ended_well: bool, output: &str) -> Option<String> {
        let mut hearing = Hearing::default();
        hearing.take(AgentEvent::End { ok: ended_well }, 0);
        let output = output.as_bytes().to_vec();
        let finished = Finished { exit, output, stderr: Vec::new(), output_bytes: 0, duration_ms: 0, stopped };
        cut_short(&finished, &hearing)
    }

    #[test]
    fn what_ended_an_agent_before_its_own_end_is_told() {
        let (killed, asked) = (Exit::Signal { signal: 9 }, Some(StopCause::Asked));
        let says = |told: Option<String>, word: &str| {
            assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{told:?}")
        };
        says(told(Exit::Timeout, None, true, ""), "its time was up");
        says(told(Exit::Code { code: 0 }, Some(StopCause::TimeUp), true, ""), "its time was up");
        says(told(killed, Some(StopCause::OwnTime(900)), false, ""), "it said nothing for 15 minutes");
        says(told(Exit::Code { code: 0 }, Some(StopCause::OwnTime(90)), true, ""), "for 90 s");
        says(told(Exit::Memory { limit_mb: 512 }, asked, true, ""), "512 MB");
        says(told(Exit::MachineMemory, None, true, ""), "memory");
        says(told(Exit::Code { code: 101 }, None, false, ""), "101");
        says(told(killed, None, true, ""), "signal 9");
        says(told(killed, None, true, "{}\n[ended: it was about to fill the disk: 9 MB are left]\n"), "the disk: 9 MB");
        says(told(killed, None, true, "{}\n[ended: it started too many processes]\n"), "too many processes");
    }

    #[test]
    fn a_note_of_ours_that_is_all_the_output_is_told_once() {
        assert_eq!(end_and_words("it was full", "[it was full]"), "(it was full)");
        assert_eq!(end_and_words("exit code 1", ""), "(exit code 1)");
        assert_eq!(end_and_words("exit code 1", "no key"), "(exit code 1): no key");
    }

    #[test]
    fn an_agents_own_end_and_ours_after_its_last_word_cut_nothing_short() {
        for (exit, stopped, ended_well) in [
            (Exit::Code { code: 0 }, None, false),
            (Exit::Code { code: 1 }, None, true),
            (Exit::Code { code: 143 }, Some(StopCause::Asked), false),
            (Exit::Signal { signal: 15 }, Some(StopCause::Asked), false),
        ] {
            assert_eq!(told(exit, stopped, ended_well, ""), None, "{exit:?}");
        }
    }
}
