//! Batches that are written at once: links of a run's hash chain with everything their rows need, ready to be spooled.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::clock::Timestamp;
use crate::domain::model_id::ModelId;
use crate::domain::units::RunId;

/// One write: all of it becomes durable or none. Redacted already. Writing it twice is writing it once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) run_id: RunId,
    pub(super) links: Vec<Link>,
    /// The lifecycle's state after the last link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) snapshot: Option<SnapshotRow>,
}

impl Batch {
    pub(super) fn new(run_id: RunId) -> Self {
        Self { run_id, links: Vec::new(), state: None, snapshot: None }
    }
}

/// One event in its place in the chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Link {
    /// One-based, without gaps within a run.
    pub(super) seq: u64,
    /// The event as JSON.
    pub(super) body: String,
    /// The hash of this link and thereby of all before.
    pub(super) hash: String,
    #[serde(default)]
    pub(super) extra: Extra,
}

/// The data that a link's rows need beyond the event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "extra", rename_all = "snake_case")]
pub(super) enum Extra {
    /// Nothing.
    #[default]
    None,
    /// Of a reservation: the scopes that it counts for, and who is asked.
    Reservation { scopes: Vec<String>, target: ModelId },
    /// Of a receipt: the reply as JSON.
    Reply { reply: Option<String> },
    /// Of an invocation: when it began.
    Invocation { at: Timestamp },
    /// Of what is recorded with the state that follows from it: the state's hash.
    State { digest: String },
    /// Of a tree: the patch as JSON, and what stands in its files.
    Tree { body: String, contents: Vec<Packed> },
}

/// A content of a tree on its way into the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Packed {
    /// Its SHA-256.
    pub(super) content: String,
    /// Its bytes.
    pub(super) size: u64,
    /// Compressed, in Base64.
    pub(super) packed: String,
}

impl Extra {
    /// The hash of the data that is kept beside the event and vouched for with it. Empty for nothing.
    pub(super) fn attached(&self) -> String {
        match self {
            Self::Reply { reply: Some(reply) } => digest(reply),
            Self::State { digest } => digest.clone(),
            Self::Tree { body, .. } => digest(body),
            Self::None | Self::Reservation { .. } | Self::Reply { reply: None } | Self::Invocation { .. } => {
                String::new()
            }
        }
    }
}

/// A row of `snapshots`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SnapshotRow {
    pub(super) kind: String,
    pub(super) session_id: String,
    pub(super) body: String,
}

/// The end of a run's chain, from which it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) run_id: RunId,
    pub(super) length: u64,
    /// Empty before the first link.
    pub(super) head: String,
}

impl Chain {
    pub(super) fn new(run_id: RunId) -> Self {
        Self { run_id, length: 0, head: String::new() }
    }

    /// The link that comes next. The chain itself does not move.
    pub(super) fn next(&self, body: String, extra: Extra) -> Link {
        let seq = self.length + 1;
        let hash = link_hash(&self.head, &self.run_id, seq, &body, &extra.attached());
        Link { seq, body, hash, extra }
    }

    /// Moves the end to a link.
    pub(super) fn advance(&mut self, link: &Link) {
        self.length = link.seq;
        self.head.clone_from(&link.hash);
    }
}

/// SHA-256 over the previous hash, the run, the place, the event and the attached hash, one a line. JSON holds no line breaks, so nothing
/// can be shifted from one to the other.
pub(super) fn link_hash(previous: &str, run_id: &RunId, seq: u64, body: &str, attached: &str) -> String {
    digest(&format!("{previous}\n{run_id}\n{seq}\n{attached}\n{body}"))
}

/// SHA-256 in lower-case hexadecimal.
pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
