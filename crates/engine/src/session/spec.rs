//! A session's task and limits.

use std::time::Duration;

use crate::domain::chat::Effort;
use crate::domain::foreign::Mark;
use crate::domain::ladder::Role;
use crate::domain::meta::MetaBlock;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;
use crate::policy::rotation::Patience;

/// One session to be held.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    /// The speaker's role, which decides the tools and the shape of the final report.
    pub role: Role,
    /// The path of the speaker below the iteration, where the role alone does not name it: `advisor/security`. Empty elsewhere.
    pub agent: String,
    /// Zero-based tier, for the receipts.
    pub tier_index: u32,
    /// One-based iteration within the tier, for the receipts.
    pub iteration: u32,
    /// The models to ask, in order of preference.
    pub targets: Vec<ModelId>,
    /// The instructions of the role. The text protocol is appended here for models without tool calling.
    pub system: String,
    /// The first message to the model: the task, the failures, the files.
    pub first_message: String,
    /// The mark that fences foreign text in the first message and in the results of tools: one mark from the first word to the last.
    pub mark: Mark,
    /// The session that starts this one. `None` for a root.
    pub lineage: Option<Lineage>,
    /// The limits.
    pub limits: Limits,
    /// Reasoning effort, where set.
    pub effort: Option<Effort>,
    /// Sampling temperature, where set.
    pub temperature: Option<f64>,
    /// The blocks of data that the role is asked for beside its report.
    pub meta: Vec<MetaBlock>,
    /// Whether these blocks are about a change that this session has to make: one that changes nothing owes none.
    pub blocks_need_change: bool,
    /// The agents to which the session may hand its task over instead of reporting.
    pub destinations: Vec<Destination>,
}

/// An agent to which a session may hand its task over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its name.
    pub name: String,
    /// When it is the right one, in the configuration's words.
    pub when: String,
}

impl SessionSpec {
    /// The id of a session that may be held beside others, where it is this. Empty for one that has its time to itself.
    pub(super) fn shared_id(&self, id: &str) -> String {
        if self.agent.is_empty() { String::new() } else { id.to_owned() }
    }
}

/// Where a session that is not a root hangs in the tree of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The session that started this one.
    pub parent: String,
    /// The first session of the tree.
    pub root: String,
}

/// The limits of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most turns. The last one may only report (S1-11).
    pub max_turns: u32,
    /// The most attempts per turn in total, over all targets (S1-3, contradiction 17).
    pub max_attempts: u32,
    /// How long may be waited for rate limits and outages beyond the attempts.
    pub patience: Patience,
    /// The most time one reply may take.
    pub reply_timeout: Duration,
    /// The most tool calls of one reply that are run.
    pub max_calls_per_reply: usize,
    /// The most bytes one tool result may have before it is put behind a handle (S1-10).
    pub max_result_bytes: usize,
    /// The most bytes all tool results of the session may have together.
    pub max_tool_bytes: usize,
    /// The money that replies which bring blocks of data alone leave for the sessions after this one.
    pub kept_for_others: MicroUsd,
    /// The active time that the run has left when the session begins. `None` where nothing limits it.
    pub time_left: Option<Duration>,
    /// How long the tests take. Zero where that is not known.
    pub tests_take: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 40,
            max_attempts: 3,
            patience: Patience::default(),
            // S1-3: reasoning models may be silent for minutes.
            reply_timeout: Duration::from_secs(600),
            // More in one reply is a model in a loop; sixteen parallel reads are plenty.
            max_calls_per_reply: 16,
            max_result_bytes: 12_288,
            // About 100,000 tokens: what a 200,000 window can hold beside everything else.
            max_tool_bytes: 400_000,
            kept_for_others: MicroUsd::ZERO,
            time_left: None,
            tests_take: Duration::ZERO,
        }
    }
}
