//! META (S1-12): blocks of data beside a report, each checked against its schema.
//!
//! A role gives them with its report: as the parameter `meta` of `final_report`, or in text as `META name {…}` lines. A report without a
//! required block is locked, and the next replies, at most [`META_TURNS`], are read for blocks alone. Whatever they bring, the locked
//! report stands: a missing block is told, and costs no proven fix. Invariants: where no block is asked for, nothing here is sent or read. A
//! block that was given before the report is none of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::end::{FailureReason, FinalReport};
use super::tool::Tool;
use crate::domain::chat::Reply;
use crate::domain::event::Event;
use crate::domain::json_schema;
use crate::domain::ladder::Role;
use crate::domain::meta::{MAX_BLOCK_BYTES, MetaBlock, MetaReported, MissingMeta, RESERVED};
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::ToolSpec;

/// Replies that are read for blocks alone once a report is locked.
pub(super) const META_TURNS: u32 = 2;
/// The parameter of `final_report`.
pub(super) const PARAMETER: &str = "meta";
/// The word before a block in text.
const WORD: &str = "META ";

/// Whether a reply is read for blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Asked {
    /// None is asked for.
    #[default]
    No,
    /// They come beside the report.
    Beside,
    /// The report is locked: nothing else counts.
    Alone,
}

/// The part of a reply beside which its blocks stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// A report.
    Report,
    /// Anything else.
    Nothing,
}

/// The blocks of a session.
#[derive(Debug, Default)]
pub(super) struct MetaBlocks {
    blocks: Vec<MetaBlock>,
    given: BTreeMap<String, Value>,
    /// Why the last try at a block was not taken.
    faults: BTreeMap<String, String>,
    locked: Option<(FinalReport, SessionExit)>,
    /// Whether there is no change that they could be about.
    waived: bool,
    turns: u32,
}

impl MetaBlocks {
    /// The blocks of a session's role.
    pub(super) fn of(blocks: Vec<MetaBlock>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// What replies are read for now.
    pub(super) const fn asked(&self) -> Asked {
        match (&self.locked, self.blocks.is_empty()) {
            (Some(_), _) => Asked::Alone,
            (None, false) => Asked::Beside,
            (None, true) => Asked::No,
        }
    }

    /// Adds the blocks to the description of the report.
    pub(super) fn describe(&self, specs: &mut [ToolSpec]) {
        let report = specs.iter_mut().find(|spec| spec.name == Tool::FinalReport.name());
        let properties = report.and_then(|spec| spec.parameters.pointer_mut("/properties")?.as_object_mut());
        let Some(properties) = properties.filter(|_| !self.blocks.is_empty()) else { return };
        let blocks: Map<String, Value> =
            self.blocks.iter().map(|block| (block.name.clone(), block.schema.clone())).collect();
        let required: Vec<&str> = self.required().map(|block| block.name.as_str()).collect();
        let mut schema = json!({"type": "object", "properties": blocks});
        if let Some(object) = schema.as_object_mut().filter(|_| !required.is_empty()) {
            object.insert("required".to_owned(), json!(required));
        }
        properties.insert(PARAMETER.to_owned(), schema);
    }

    /// The words that teach the blocks to a model without tools.
    pub(super) fn prompt(&self) -> Option<String> {
        prompt(&self.blocks)
    }

    fn required(&self) -> impl Iterator<Item = &MetaBlock> {
        self.blocks.iter().filter(|block| block.required)
    }

    /// Takes the blocks of a reply: those beside a report, or any once one is locked. What stands in the report's own call goes before text.
    pub(super) fn hear(&mut self, reply: &Reply, beside: Beside) {
        match (self.asked(), beside) {
            (Asked::No, _) | (Asked::Beside, Beside::Nothing) => return,
            (Asked::Beside, Beside::Report) => {
                // A block that was given beside another report is none of this one.
                self.given.clear();
                self.faults.clear();
            }
            // Blocks that were taken with the report stay.
            (Asked::Alone, _) => {}
        }
        self.hear_text(&reply.text);
        // Of several reports the first is taken.
        for call in reply.tool_calls.iter().rev().filter(|call| call.name.ends_with(Tool::FinalReport.name())) {
            let arguments = decoded(&call.arguments);
            let inside = arguments.get(PARAMETER).map(decoded).unwrap_or_default();
            for name in self.names() {
                // Some models put a block beside `meta` and not into it. A parameter of the report itself is never taken for one.
                let own = || arguments.get(&name).filter(|_| !RESERVED.contains(&name.as_str()));
                if let Some(value) = inside.get(&name).or_else(own) {
                    self.take(&name, decoded(value));
                }
            }
        }
    }

    fn hear_text(&mut self, text: &str) {
        let names = self.names();
        for (name, value) in in_text(text).1 {
            if names.contains(&name) {
                self.take(&name, value);
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.blocks.iter().map(|block| block.name.clone()).collect()
    }

    fn take(&mut self, name: &str, value: Value) {
        let Some(block) = self.blocks.iter().find(|block| block.name == name) else { return };
        let bytes = value.to_string().len();
        let too_long = (bytes > MAX_BLOCK_BYTES).then(|| format!("it has {bytes} bytes, more than {MAX_BLOCK_BYTES}"));
        match too_long.or_else(|| json_schema::misfit(&block.schema, &value)) {
            Some(fault) => {
                // A block that was taken with the report is not lost by a worse one behind it.
                if self.locked.is_none() {
                    self.given.remove(name);
                }
                self.faults.insert(name.to_owned(), fault);
            }
            None => {
                self.faults.remove(name);
                self.given.insert(name.to_owned(), value);
            }
        }
    }

    /// Asks for no block that was not given: the session changed nothing that one could be about.
    pub(super) fn waive(&mut self) {
        self.waived = true;
    }

    /// The required blocks that are not there. None where they are waived.
    fn missing(&self) -> Vec<MissingMeta> {
        if self.waived {
            return Vec::new();
        }
        let absent = self.required().filter(|block| !self.given.contains_key(&block.name));
        absent
            .map(|block| MissingMeta {
                name: block.name.clone(),
                why: self.faults.get(&block.name).cloned().unwrap_or_else(|| "it was not given".to_owned()),
            })
            .collect()
    }

    /// The required blocks of a session that ended without a report: all of them.
    fn without_report(&self) -> Vec<MissingMeta> {
        let why = "the session ended without a report";
        self.required().map(|block| MissingMeta { name: block.name.clone(), why: why.to_owned() }).collect()
    }

    /// Keeps a report: it is not taken anew, whatever comes.
    pub(super) fn lock(&mut self, report: FinalReport, exit: SessionExit) {
        self.locked.get_or_insert((report, exit));
    }

    /// The advice to a model whose report is locked for want of blocks, as long as there are turns for it. `None` when it is done.
    pub(super) fn wants(&mut self, may_ask: bool) -> Option<String> {
        let (report, _) = self.locked.as_ref()?;
        let is_complete = !needs_blocks(report) || self.missing().is_empty();
        if is_complete || self.turns >= META_TURNS || !may_ask {
            return None;
        }
        self.turns += 1;
        Some(self.advice())
    }

    /// The request for the blocks that are not there.
    fn advice(&self) -> String {
        let wanted = |missing: MissingMeta| {
            let schema = self.blocks.iter().find(|block| block.name == missing.name).map(|block| &block.schema);
            format!("`{}`: {}. Its schema: {}", missing.name, missing.why, schema.unwrap_or(&Value::Null))
        };
        let wanted: Vec<String> = self.missing().into_iter().map(wanted).collect();
        format!(
            "Your report is kept. Only META counts now: give what is missing, in final_report's `meta` or as `META name {{…}}` \
             lines.\n{}",
            wanted.join("\n")
        )
    }

    /// Gives the locked report back, where there is one, and the way in which the session ends.
    pub(super) fn release(&mut self) -> Option<(FinalReport, SessionExit)> {
        let (report, exit) = self.locked.take()?;
        let is_complete = !needs_blocks(&report) || self.missing().is_empty();
        Some((report, if is_complete { exit } else { SessionExit::FinalMetaMissing }))
    }

    /// The events that tell of the blocks. None where none were asked for.
    pub(super) fn events(self, role: Role, session_id: &str, report: &FinalReport) -> Vec<Event> {
        if self.blocks.is_empty() {
            return Vec::new();
        }
        let is_synthetic = matches!(report, FinalReport::Synthetic { .. });
        let (blocks, missing) = match (is_synthetic, needs_blocks(report)) {
            (true, _) => (BTreeMap::new(), self.without_report()),
            (false, true) => (self.given.clone(), self.missing()),
            (false, false) => (self.given.clone(), Vec::new()),
        };
        let warn = |missing: &MissingMeta| Event::Warning {
            message: format!("the {} gave no valid META `{}`: {}", role.as_str(), missing.name, missing.why),
        };
        let warnings: Vec<Event> = missing.iter().filter(|_| !goes_on(report)).map(warn).collect();
        let session_id = session_id.to_owned();
        let told = Event::MetaReported(MetaReported { role, session_id, blocks, missing });
        std::iter::once(told).chain(warnings).collect()
    }
}

/// The words that teach blocks to who has no parameter for them. `None` where none is asked for.
#[must_use]
pub fn prompt(blocks: &[MetaBlock]) -> Option<String> {
    let line = |block: &MetaBlock| {
        let need = if block.required { "" } else { " (if you can)" };
        format!("META {} {{…}}{need}, by this schema: {}", block.name, block.schema)
    };
    let lines: Vec<String> = blocks.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("Before your last word give these blocks, each as JSON:\n{}", lines.join("\n")))
}

/// The events that tell of the blocks in somebody's last words, and the words without them.
#[must_use]
pub fn read(words: &str, blocks: Vec<MetaBlock>) -> (String, MetaRead) {
    if blocks.is_empty() {
        return (words.to_owned(), MetaRead(MetaBlocks::default()));
    }
    let mut collected = MetaBlocks::of(blocks);
    collected.hear_text(words);
    (in_text(words).0, MetaRead(collected))
}

/// Blocks that were read from last words.
#[derive(Debug, Default)]
pub struct MetaRead(MetaBlocks);

impl MetaRead {
    /// The events that tell of them beside a report.
    #[must_use]
    pub fn events(self, role: Role, session_id: &str, report: &FinalReport) -> Vec<Event> {
        self.0.events(role, session_id, report)
    }
}

/// Whether blocks are required beside a report: who is blocked, or said nothing, cannot give them.
const fn needs_blocks(report: &FinalReport) -> bool {
    match report {
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => true,
        FinalReport::Blocked { .. } | FinalReport::Routed { .. } | FinalReport::Synthetic { .. } => false,
    }
}

/// Whether a session without a report may go on with its run: what it owes then is not missing yet.
pub(super) const fn goes_on(report: &FinalReport) -> bool {
    use crate::domain::stop::StopCause::{Asked, Signal};
    matches!(report, FinalReport::Synthetic { reason: FailureReason::Stopped { cause: Signal(_) | Asked } })
}

/// A value that some models encode twice.
fn decoded(value: &Value) -> Value {
    // Objects alone: a text such as `12` is meant as a text.
    let inner = value.as_str().and_then(|raw| serde_json::from_str(raw).ok()).filter(Value::is_object);
    inner.unwrap_or_else(|| value.clone())
}

/// A text without its blocks, and the blocks: `META name` and JSON behind it, over as many lines as that takes.
pub(super) fn in_text(text: &str) -> (String, Vec<(String, Value)>) {
    let (mut rest, mut blocks, mut left) = (String::new(), Vec::new(), text);
    while !left.is_empty() {
        let (line, after) = left.split_once('\n').unwrap_or((left, ""));
        match block_at(left) {
            Some((block, behind)) => {
                blocks.push(block);
                left = behind;
            }
            None => {
                rest.push_str(line);
                rest.push('\n');
                left = after;
            }
        }
    }
    (rest, blocks)
}

fn block_at(text: &str) -> Option<((String, Value), &str)> {
    // Models decorate it: `- **META risk** {…}`.
    let line = text.trim_start_matches(['-', '*', '>', '`', ' ']);
    let told = line.strip_prefix(WORD)?.trim_start_matches(['*', '`', ' ']);
    let end = told.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))?;
    let (name, body) = told.split_at(end);
    let body = body.trim_start_matches(['*', '`', ':', ' ', '\t', '\n', '\r']);
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let behind = body.get(values.byte_offset()..)?;
    Some(((name.to_owned(), value), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_in_text_and_taken_out_of_it() {
        let text = "So it was.\n- META risk: {\"level\": \"low\",\n \"why\": \"one line\"}\nMETA note \"x\"\nDONE Fixed.\nMETA is no block\n";
        let (rest, blocks) = in_text(text);
        let risk = json!({"level": "low", "why": "one line"});
        assert_eq!(blocks, [("risk".to_owned(), risk), ("note".to_owned(), json!("x"))]);
        assert_eq!(rest, "So it was.\n\n\nDONE Fixed.\nMETA is no block\n");
    }
}
