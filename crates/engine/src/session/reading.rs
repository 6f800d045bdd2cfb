//! The meaning of a reply: wishes to be carried out, or a failed attempt with a reason (S1-5, S1-7).
//!
//! Pure. Owns the classification of every odd reply: empty, refused, cut, filtered, text without a call, unknown tools,
//! broken arguments, ids that repeat, too many calls.

use serde_json::Value;

use super::action::Action;
use super::conversation::{Conversation, Protocol};
use super::meta::{self, Asked};
use super::router;
use super::spec::Destination;
use super::text_protocol::{self, Heed, Item};
use super::tool::{Offer, Tool};
use crate::domain::chat::{Reply, StopReason};
use crate::domain::ladder::Role;
use crate::domain::receipt::CallStatus;
use crate::domain::tool::ToolCall;

/// Vendors refuse longer names, and other signs than these (OpenAI, Anthropic: `^[a-zA-Z0-9_-]{1,64}$`).
const MAX_NAME_CHARS: usize = 64;

/// One thing to be carried out or answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// The call it answers. `None` when it came as text.
    pub(super) call_id: Option<String>,
    /// The name it goes by in the answer.
    pub(super) name: String,
    /// The action to carry out, or why there is none.
    pub(super) action: Result<Action, String>,
    /// Something to be told beside the result.
    pub(super) note: Option<String>,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable {
    /// The class, for the receipt and for rotation.
    pub(super) status: CallStatus,
    /// Whether the same target may do better.
    pub(super) retryable: bool,
    /// A description of the failure, for receipts and reports.
    pub(super) what: String,
    /// Advice to the model before the next attempt.
    pub(super) advice: String,
}

/// A reply, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// There is something to do. The calls are as they go back to the vendor.
    Usable {
        /// One per call or item, in order.
        wishes: Vec<Wish>,
        /// The calls with sound ids and names.
        calls: Vec<ToolCall>,
    },
    /// The attempt failed.
    Unusable(Unusable),
}

/// The context against which a reply is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    /// Whose tools.
    pub(super) offer: Offer,
    /// How the target was spoken with.
    pub(super) protocol: Protocol,
    /// Whether only the report counts.
    pub(super) final_turn: bool,
    /// The most calls that are carried out.
    pub(super) max_calls: usize,
    /// One-based turn, for ids that we make up.
    pub(super) turn: u32,
    /// Names of the tools of other servers.
    pub(super) outside: &'a [String],
    /// The agents to which the task may be handed over.
    pub(super) destinations: &'a [Destination],
    /// Whether blocks of data are read beside the report, or alone.
    pub(super) meta: Asked,
    /// The conversation so far, for ids that repeat.
    pub(super) conversation: &'a Conversation,
}

/// Reads a reply.
pub(super) fn read(reply: &Reply, rules: &Rules<'_>) -> Reading {
    if let Some(unusable) = withheld(reply) {
        return Reading::Unusable(unusable);
    }
    if rules.meta == Asked::Alone {
        return blocks_alone(reply, rules);
    }
    let (wishes, calls) = if reply.tool_calls.is_empty() {
        // A model that has tools writes words such as `DONE` without meaning a command.
        let heed = if rules.protocol == Protocol::Text { Heed::Everything } else { Heed::EditsAndCalls };
        let without = (rules.meta != Asked::No).then(|| meta::in_text(&reply.text).0);
        let items = text_protocol::read(without.as_ref().unwrap_or(&reply.text), rules.offer.role, heed);
        (items.into_iter().map(of_item).collect(), Vec::new())
    } else {
        let calls = sound_calls(reply, rules);
        // Of a reply that was cut only the last call can be incomplete.
        let cut = (reply.stop == StopReason::Length).then(|| calls.len() - 1);
        let wishes: Vec<Wish> =
            calls.iter().enumerate().map(|(index, call)| of_call(index, call, cut, rules)).collect();
        (wishes, calls)
    };
    if let Some(unusable) = without_use(reply, &wishes, rules) {
        return Reading::Unusable(unusable);
    }
    Reading::Usable { wishes, calls }
}

/// A reply of which only the blocks of data count: each of its calls is answered, none is carried out.
fn blocks_alone(reply: &Reply, rules: &Rules<'_>) -> Reading {
    let wish = |call_id, name: &str| Wish { call_id, name: name.to_owned(), action: Ok(Action::Meta), note: None };
    if reply.tool_calls.is_empty() && reply.text.trim().is_empty() {
        let (status, what) = (CallStatus::InvalidResponse, "an empty reply".to_owned());
        let advice = "Your reply was empty. Only the missing META counts now.".to_owned();
        return Reading::Unusable(Unusable { status, retryable: true, what, advice });
    }
    let calls = sound_calls(reply, rules);
    let wishes = if calls.is_empty() {
        vec![wish(None, Tool::FinalReport.name())]
    } else {
        calls.iter().map(|call| wish(Some(call.id.clone()), &call.name)).collect()
    };
    Reading::Usable { wishes, calls }
}

/// Replies that the vendor withheld, in part or whole: nothing of them is carried out.
fn withheld(reply: &Reply) -> Option<Unusable> {
    let what = match reply.stop {
        StopReason::Refusal => "the model refused",
        StopReason::ContentFilter => "the vendor's content filter withheld the reply",
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Length | StopReason::Other => return None,
    };
    let said: String = reply.text.trim().chars().take(200).collect();
    let what = if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") };
    // Asked the same, the same model would refuse again.
    Some(Unusable { status: CallStatus::ModelError, retryable: false, what, advice: String::new() })
}

/// Replies with nothing in them that can be carried out.
fn without_use(reply: &Reply, wishes: &[Wish], rules: &Rules<'_>) -> Option<Unusable> {
    let invalid = |what: &str, advice: String| {
        Some(Unusable { status: CallStatus::InvalidResponse, retryable: true, what: what.to_owned(), advice })
    };
    if reply.stop == StopReason::Length && !wishes.iter().any(|wish| wish.action.is_ok()) {
        let advice = "Your reply was cut off at the output limit; nothing of it was carried out. \
                      Reply shorter: one small edit at a time.";
        return invalid("cut off at the output limit", advice.to_owned());
    }
    if rules.final_turn {
        // A task may be handed over on the last turn, too (S1-11).
        let ends =
            |wish: &&Wish| wish.name == Tool::FinalReport.name() || matches!(wish.action, Ok(Action::HandOver { .. }));
        let reported = wishes.iter().find(ends);
        return match reported.map(|wish| &wish.action) {
            Some(Ok(_)) => None,
            Some(Err(why)) => invalid("an unsound final report", format!("Your final report was not accepted: {why}")),
            None => invalid("no final report on the last turn", final_turn_advice(rules)),
        };
    }
    if !wishes.is_empty() {
        return None;
    }
    if reply.text.trim().is_empty() {
        return invalid("an empty reply", format!("Your reply was empty. {}", advice(rules)));
    }
    invalid("text without a tool call", format!("Your reply asked for nothing. {}", advice(rules)))
}

fn advice(rules: &Rules<'_>) -> String {
    match rules.protocol {
        Protocol::Tools => "Call a tool, or final_report if you are finished.".to_owned(),
        Protocol::Text => format!("Write a block or a command, or {} if you are finished.", endings(rules.offer.role)),
    }
}

/// The notice to a model on its last turn.
pub(super) fn final_turn_advice(rules: &Rules<'_>) -> String {
    final_turn_notice(rules.protocol, rules.offer.role)
}

/// The same, without a reply at hand.
pub(super) fn final_turn_notice(protocol: Protocol, role: Role) -> String {
    match protocol {
        Protocol::Tools => {
            "This is your last turn. Call final_report now: no other tool is answered any more.".to_owned()
        }
        Protocol::Text => {
            format!("This is your last turn. Reply with {} now; nothing else will be carried out.", endings(role))
        }
    }
}

const fn endings(role: Role) -> &'static str {
    match role {
        Role::Critic => "APPROVE or REJECT",
        Role::Librarian | Role::Artisan | Role::Advisor => "DONE or BLOCKED",
    }
}

fn of_item(item: Item) -> Wish {
    match item {
        Item::Act(action) => {
            Wish { call_id: None, name: action.tool().name().to_owned(), action: Ok(action), note: None }
        }
        Item::Refuse { subject, why } => Wish { call_id: None, name: subject, action: Err(why), note: None },
    }
}

fn of_call(index: usize, call: &ToolCall, cut: Option<usize>, rules: &Rules<'_>) -> Wish {
    let tools = rules.offer.tools();
    let (action, note) = if cut == Some(index) {
        (Err("this call was cut off at the output limit and not carried out. Make it smaller.".to_owned()), None)
    } else if index >= rules.max_calls {
        (Err(format!("not carried out: at most {} calls per reply.", rules.max_calls)), None)
    } else {
        match Tool::named(&call.name).filter(|tool| tools.contains(tool)) {
            None if rules.outside.contains(&call.name) => {
                (Ok(Action::Outside { name: call.name.clone(), arguments: call.arguments.clone() }), None)
            }
            None if call.name == Tool::HandOver.name() && !rules.destinations.is_empty() => {
                (router::read(rules.destinations, &call.arguments), None)
            }
            None => {
                let mut known: Vec<&str> = tools.into_iter().map(Tool::name).collect();
                known.extend(rules.outside.iter().map(String::as_str));
                known.extend((!rules.destinations.is_empty()).then_some(Tool::HandOver.name()));
                (Err(format!("there is no tool `{}`. Tools: {}", call.name, known.join(", "))), None)
            }
            Some(tool) => match Action::of_call(tool, rules.offer.role, &call.arguments) {
                Ok((action, mut unknown)) => {
                    unknown.retain(|name| rules.meta == Asked::No || name != meta::PARAMETER);
                    (Ok(action), ignored(&unknown))
                }
                Err(why) => (Err(why), None),
            },
        }
    };
    Wish { call_id: Some(call.id.clone()), name: call.name.clone(), action, note }
}

fn ignored(unknown: &[String]) -> Option<String> {
    let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("[no such parameter, ignored: {}]", names.join(", ")))
}

/// The calls with names that vendors take back and ids that are used once in the whole conversation.
fn sound_calls(reply: &Reply, rules: &Rules<'_>) -> Vec<ToolCall> {
    let mut seen: Vec<String> = Vec::new();
    let mut sound = Vec::with_capacity(reply.tool_calls.len());
    for (index, call) in reply.tool_calls.iter().enumerate() {
        // A request in which two calls have one id is refused by vendors.
        let used = call.id.trim().is_empty() || seen.contains(&call.id) || rules.conversation.knows_call(&call.id);
        let id = if used { format!("t{}c{}", rules.turn, index + 1) } else { call.id.clone() };
        seen.push(id.clone());
        sound.push(ToolCall { id, name: sound_name(&call.name), arguments: sound_arguments(&call.arguments) });
    }
    sound
}

fn sound_name(name: &str) -> String {
    // `functions.read_file`, `default_api:read_file`: some models put a namespace before the name.
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name).trim();
    if Tool::named(last).is_some() {
        return last.to_owned();
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.trim().chars().map(allowed).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Arguments that were encoded twice become the object that they are. Others stay.
fn sound_arguments(arguments: &Value) -> Value {
    let decoded = arguments.as_str().and_then(|raw| serde_json::from_str(raw).ok()).filter(Value::is_object);
    decoded.unwrap_or_else(|| arguments.clone())
}

#[cfg(test)]
#[path = "reading/tests.rs"]
mod tests;
