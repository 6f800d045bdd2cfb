//! Recorded conversations: `cassette/PATH` replays one, `--record PATH` makes one.
//!
//! A cassette is a JSON file of calls in the order in which they were made: the target, the look of the request, the answer. Several models
//! may stand in one file: `cassette/PATH#NAME` replays only the calls of the model `NAME` (in full, or without its provider),
//! `cassette/PATH` all of them in order. So one file serves a whole ladder.
//!
//! A replay checks each request against the recorded one ([`normalise`] says what may differ) and ends with a failure that
//! says where the two diverged. Parts that a cassette leaves out (`request`, or `system` or `tools` in it) are not checked: a
//! cassette that is written by hand may care only about what is said in turn.
//!
//! Replies cost nothing, unless `models` says whose prices the recorded usage is to be shown with.
//!
//! Invariant: a cassette holds no key and no header, and what is written to it was redacted first.

pub mod normalise;
mod recorder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::bill::Bill;
use crate::domain::catalogue::ModelInfo;
use crate::domain::chat::{ChatRequest, Message, Reply, Usage};
use crate::domain::line_diff::write_hunks;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;

use super::{CallFailure, Provider, ReplyFuture, catalogue};
use normalise::normalised;
pub use recorder::Tape;

/// The version of the file format that this code writes and reads.
const FORMAT: u32 = 1;
/// The characters of a line that differs, as far as they are shown.
const MOST_OF_A_LINE: usize = 60;

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("cannot read the cassette `{path}`: {source} → Fix: name an existing file as cassette/PATH")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be written, or stands there already.
    #[error("cannot record to `{path}`: {source} → Fix: name a new file in an existing directory")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is no cassette.
    #[error("`{name}` is not a cassette: {source} → Fix: record it again with --record")]
    Parse {
        /// The cassette's name.
        name: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Written by a version that this one does not know.
    #[error(
        "the cassette `{name}` has format {found}, this upshift reads {FORMAT} → Fix: record it again with --record"
    )]
    Format {
        /// The cassette's name.
        name: String,
        /// Its format.
        found: u32,
    },
    /// `pricedAs` names a model without a price.
    #[error("the cassette `{name}` is pricedAs `{model}`, which has no price → Fix: name a model of the catalogue")]
    PricedAs {
        /// The cassette's name.
        name: String,
        /// The model.
        model: String,
    },
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Recording {
    cassette: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    models: BTreeMap<String, RecordedModel>,
    calls: Vec<Call>,
}

/// The facts about one model of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordedModel {
    /// The model of the catalogue whose price and window count.
    priced_as: ModelId,
}

/// One call: exactly one of `reply` and `failure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Call {
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<RequestPrint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<Reply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<RecordedFailure>,
}

/// A [`CallFailure`] in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordedFailure {
    status: CallStatus,
    message: String,
    http_status: Option<u16>,
    retry_after_ms: Option<u64>,
    retryable: bool,
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Bill::is_plain")]
    bill: Bill,
    may_be_billed: bool,
}

/// The compared parts of a request: digests of everything, and the text that is new since the model's last reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestPrint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<String>,
    messages: Vec<MessagePrint>,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MessagePrint {
    role: String,
    digest: String,
    /// The normalised text, only where the message was new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

fn digest(text: &str) -> String {
    // A part of it, which tells two texts apart and proves nothing to anybody.
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(digest.get(..8).unwrap_or(&digest))
}

/// A message's role and its text as it is compared: what was said, called and answered, but no ids and no vendor blocks.
fn said(message: &Message) -> (&'static str, String) {
    match message {
        Message::User { text } => ("user", text.clone()),
        Message::Assistant { text, tool_calls, .. } => {
            let calls = tool_calls.iter().map(|call| format!("\n[call {} {}]", call.name, call.arguments));
            ("assistant", std::iter::once(text.clone()).chain(calls).collect())
        }
        Message::Tools { results, note } => {
            let results = results.iter().map(|result| {
                let error = if result.is_error { " error" } else { "" };
                format!("[result of {}{error}]\n{}\n", result.name, result.content)
            });
            ("tools", results.chain([note.clone()]).collect())
        }
    }
}

impl RequestPrint {
    fn of(request: &ChatRequest, redact: impl Fn(&str) -> String) -> Self {
        let last_reply = request.messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
        let messages = request.messages.iter().enumerate().map(|(index, message)| {
            let (role, text) = said(message);
            let text = normalised(&redact(&text));
            // Older messages are in the calls before, so that their text would stand there once for each call.
            let is_new = last_reply.is_none_or(|last| index > last);
            MessagePrint { role: role.to_owned(), digest: digest(&text), text: is_new.then_some(text) }
        });
        let tools =
            request.tools.iter().map(|tool| format!("{} {} {}\n", tool.name, tool.description, tool.parameters));
        Self {
            system: Some(digest(&normalised(&redact(&request.system)))),
            tools: Some(digest(&normalised(&tools.collect::<String>()))),
            messages: messages.collect(),
        }
    }

    /// The difference between a request that came and this recorded one. `None` if there is none.
    fn divergence(&self, came: &Self) -> Option<String> {
        for (index, (expected, got)) in self.messages.iter().zip(&came.messages).enumerate() {
            if expected.role != got.role {
                return Some(format!("message {} was the {}'s and is the {}'s", index + 1, expected.role, got.role));
            }
            if expected.digest != got.digest {
                return Some(format!("message {} ({}) differs{}", index + 1, got.role, difference(expected, got)));
            }
        }
        let (expected, got) = (self.messages.len(), came.messages.len());
        if expected != got {
            return Some(format!("the conversation had {expected} messages and has {got}"));
        }
        // A part that the cassette leaves out is not compared.
        let differs = |recorded: &Option<String>, now: &Option<String>| recorded.is_some() && recorded != now;
        if differs(&self.system, &came.system) {
            return Some("the system prompt differs".to_owned());
        }
        differs(&self.tools, &came.tools).then(|| "the tools on offer differ".to_owned())
    }
}

fn difference(expected: &MessagePrint, got: &MessagePrint) -> String {
    let (Some(expected), Some(got)) = (&expected.text, &got.text) else {
        return ", although it is older than the last reply: the recording belongs to another conversation".to_owned();
    };
    let mut hunks = String::new();
    write_hunks(expected.as_bytes(), got.as_bytes(), 0, None, &mut hunks);
    // One line of each side: a whole diff would push the remedy behind it out of a report.
    let first = |sign: char| {
        let line = hunks.lines().find(|line| line.starts_with(sign))?;
        Some(line.chars().take(MOST_OF_A_LINE).collect::<String>())
    };
    format!(": {}", ['-', '+'].into_iter().filter_map(first).collect::<Vec<_>>().join(" "))
}

/// One parsed cassette and how far each of its models has been replayed.
#[derive(Debug)]
pub struct Cassette {
    name: String,
    recording: Recording,
    /// Calls replayed so far, by the name asked for. The empty one stands for the whole cassette.
    replayed: Mutex<BTreeMap<String, usize>>,
}

impl Cassette {
    /// Reads a cassette out of a text, such as one compiled in. `name` is for messages.
    ///
    /// # Errors
    /// [`CassetteError`] when it is none.
    pub fn from_text(name: &str, text: &str) -> Result<Self, CassetteError> {
        let recording: Recording =
            serde_json::from_str(text).map_err(|source| CassetteError::Parse { name: name.to_owned(), source })?;
        if recording.cassette != FORMAT {
            return Err(CassetteError::Format { name: name.to_owned(), found: recording.cassette });
        }
        for model in recording.models.values() {
            // Refused when it is opened, before anything depends on its price.
            if catalogue::lookup(&model.priced_as).and_then(|info| info.price).is_none() {
                return Err(CassetteError::PricedAs { name: name.to_owned(), model: model.priced_as.to_string() });
            }
        }
        Ok(Self { name: name.to_owned(), recording, replayed: Mutex::new(BTreeMap::new()) })
    }

    /// Reads a cassette file.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be read or is no cassette.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|source| CassetteError::Read { path: path.to_owned(), source })?;
        Self::from_text(&path.display().to_string(), &text)
    }

    /// The models that this cassette has calls of, each once, in order of appearance.
    #[must_use]
    pub fn models(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for call in &self.recording.calls {
            if !names.contains(&call.model.as_str()) {
                names.push(&call.model);
            }
        }
        names
    }

    /// The facts about a model of this cassette: free of charge with a large window, unless it is `pricedAs` another.
    #[must_use]
    pub fn model_info(&self, model: Option<&str>) -> Option<ModelInfo> {
        let free = ModelId { provider: "cassette".to_owned(), model: self.name.clone() };
        // A cassette of one model means that one, though no target names it.
        let only = || match self.models().as_slice() {
            [one] => Some((*one).to_owned()),
            _ => None,
        };
        let named = model.map(str::to_owned).or_else(only);
        let priced = named.and_then(|name| {
            self.recording.models.iter().find(|(known, _)| is_model(known, &name)).map(|(_, model)| &model.priced_as)
        });
        match priced {
            None => catalogue::lookup(&free),
            Some(like) => {
                catalogue::lookup(like).map(|info| ModelInfo { source: format!("recorded, priced as {like}"), ..info })
            }
        }
    }

    fn skip(&self, model: Option<&str>) {
        let mut replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        *replayed.entry(model.unwrap_or_default().to_owned()).or_insert(0) += 1;
    }

    fn play(&self, model: Option<&str>, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let mut replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        let done = replayed.entry(model.unwrap_or_default().to_owned()).or_insert(0);
        let of_model = |call: &&Call| model.is_none_or(|name| is_model(&call.model, name));
        let number = *done + 1;
        let Some(call) = self.recording.calls.iter().filter(of_model).nth(*done) else {
            return Err(self.diverged(&format!("call {number} came, but only {done} were recorded")));
        };
        if let Some(expected) = &call.request {
            let came = RequestPrint::of(request, str::to_owned);
            if let Some(divergence) = expected.divergence(&came) {
                return Err(self.diverged(&format!("call {number} ({}): {divergence}", call.model)));
            }
        }
        // Only now: a request that does not fit leaves the call for the one that does.
        *done += 1;
        match (&call.reply, &call.failure) {
            (Some(reply), _) => Ok(reply.clone()),
            (None, Some(failure)) => Err(failure.clone().into()),
            (None, None) => Err(self.diverged(&format!("call {number} has neither a reply nor a failure"))),
        }
    }

    fn diverged(&self, what: &str) -> CallFailure {
        CallFailure {
            status: CallStatus::ModelError,
            message: format!(
                "the cassette `{}` does not fit this run: {what} → Fix: record it again with --record, or run what was recorded",
                self.name
            ),
            http_status: None,
            retry_after_ms: None,
            retryable: false,
            usage: None,
            bill: Box::default(),
            may_be_billed: false,
        }
    }
}

/// Whether a recorded model's name is the one asked for, in full or without its provider.
fn is_model(recorded: &str, asked: &str) -> bool {
    recorded == asked || recorded.split_once('/').is_some_and(|(_, bare)| bare == asked)
}

impl From<RecordedFailure> for CallFailure {
    fn from(failure: RecordedFailure) -> Self {
        Self {
            status: failure.status,
            message: failure.message,
            http_status: failure.http_status,
            retry_after_ms: failure.retry_after_ms,
            retryable: failure.retryable,
            usage: failure.usage,
            bill: Box::new(failure.bill),
            may_be_billed: failure.may_be_billed,
        }
    }
}

/// The path and the model of a `cassette/PATH#MODEL` target's model part.
#[must_use]
pub fn split_target(model: &str) -> (&str, Option<&str>) {
    // The last one, since a path may hold others.
    match model.rsplit_once('#') {
        Some((path, name)) if !path.is_empty() && !name.is_empty() => (path, Some(name)),
        _ => (model, None),
    }
}

/// The provider `cassette`: every cassette that the targets of a run name, by path.
#[derive(Debug, Default)]
pub struct Cassettes(BTreeMap<String, Cassette>);

impl Cassettes {
    /// Adds a cassette under the path (or any name) by which targets call it.
    pub fn insert(&mut self, path: impl Into<String>, cassette: Cassette) {
        self.0.insert(path.into(), cassette);
    }

    /// Opens the file that a target names, unless it is open already.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be used.
    pub fn open(&mut self, target: &ModelId) -> Result<(), CassetteError> {
        let (path, _) = split_target(&target.model);
        if !self.0.contains_key(path) {
            self.insert(path, Cassette::open(Path::new(path))?);
        }
        Ok(())
    }

    /// Passes over the next call of a target: a run that goes on had its reply before.
    pub fn skip(&self, target: &ModelId) {
        let (path, model) = split_target(&target.model);
        if let Some(cassette) = self.0.get(path) {
            cassette.skip(model);
        }
    }

    /// The facts about a target. `None` if its cassette is not here.
    #[must_use]
    pub fn model_info(&self, target: &ModelId) -> Option<ModelInfo> {
        let (path, model) = split_target(&target.model);
        self.0.get(path)?.model_info(model)
    }
}

impl Provider for Cassettes {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        let (path, model) = split_target(&request.target.model);
        let played = match self.0.get(path) {
            Some(cassette) => cassette.play(model, request),
            None => Err(CallFailure {
                status: CallStatus::ModelError,
                message: format!("no cassette `{path}` was loaded → Fix: name it as a target: cassette/{path}"),
                http_status: None,
                retry_after_ms: None,
                retryable: false,
                usage: None,
                bill: Box::default(),
                may_be_billed: false,
            }),
        };
        Box::pin(std::future::ready(played))
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        serde_json::to_vec(request).map_or(0, |bytes| bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests;
