//! A folder of recordings, each a file that says what it is and where it comes from.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::world::model_server::{Answered, Request, Vendor};

/// What a recording is; the word is part of the name of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Answer,
    Events,
    Error,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Answer => "answer",
            Self::Events => "events",
            Self::Error => "error",
        }
    }
}

/// One thing to record.
pub(super) struct Recording<'a> {
    pub(super) vendor: Vendor,
    pub(super) kind: Kind,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    /// Where it comes from, for people.
    pub(super) of: &'a str,
    pub(super) value: Value,
}

/// Recordings without repetitions.
pub(super) struct Recordings {
    folder: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    seen: HashSet<String>,
    counts: BTreeMap<String, usize>,
}

impl Recordings {
    /// An empty folder.
    pub(super) fn new(folder: &Path) -> Self {
        if folder.exists() {
            std::fs::remove_dir_all(folder).expect("the last recordings go");
        }
        std::fs::create_dir_all(folder).expect("a folder");
        Self { folder: folder.to_owned(), kept: Mutex::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a recording, if there is none like it; returns the file's name.
    pub(super) fn add(&self, recording: &Recording<'_>) -> Option<String> {
        let (wire, kind) = (wire(recording.vendor), recording.kind.word());
        let mut kept = self.kept.lock().expect("no panic");
        let new = kept.seen.insert(format!("{wire} {kind} {} {}", recording.provider, recording.value));
        if !new {
            return None;
        }
        let count = kept.counts.entry(format!("{:<11} {wire:<10} {kind}", recording.provider)).or_default();
        *count += 1;
        let name = format!("{}-{wire}-{kind}-{count:03}.json", recording.provider);
        let whole = json!({
            "wire": wire, "kind": kind, "provider": recording.provider, "model": recording.model, "of": recording.of,
            "value": recording.value,
        });
        std::fs::write(self.folder.join(&name), whole.to_string()).expect("written");
        Some(name)
    }

    /// Records what a server was sent and what it answered.
    pub(super) fn add_all(&self, provider: &str, of: &str, requests: &[Request], answers: &[Answered]) {
        for request in requests {
            let of = format!("{of}, request {}", request.number);
            let (vendor, model, value) = (request.vendor, request.model.as_str(), request.body.clone());
            self.add(&Recording { vendor, kind: Kind::Request, provider, model, of: &of, value });
        }
        for answer in answers {
            let request = &requests[answer.request];
            let of = format!("{of}, answer to request {}", request.number);
            let (kind, value) = read(answer);
            self.add(&Recording { vendor: request.vendor, kind, provider, model: &request.model, of: &of, value });
        }
    }

    /// How much of what was recorded.
    pub(super) fn summary(&self) -> String {
        self.kept.lock().expect("no panic").counts.iter().map(|(what, count)| format!("{count:>5}  {what}\n")).collect()
    }
}

fn wire(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Anthropic => "anthropic",
        Vendor::OpenAi => "openai",
        Vendor::Responses => "responses",
        Vendor::Gemini => "gemini",
        Vendor::Ollama => "ollama",
    }
}

/// An answer as JSON; a stream as the list of its events.
pub(super) fn read(answer: &Answered) -> (Kind, Value) {
    let text = std::str::from_utf8(&answer.body).expect("text");
    if answer.content_type == "application/x-ndjson" {
        return (Kind::Events, text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect());
    }
    if !answer.content_type.starts_with("text/event-stream") {
        let kind = if answer.status == 200 { Kind::Answer } else { Kind::Error };
        return (kind, serde_json::from_str(text).expect("JSON"));
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    (Kind::Events, data.map(|data| serde_json::from_str::<Value>(data).expect("JSON")).collect())
}
