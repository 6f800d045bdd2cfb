//! The order of an agent's session, its needs of the world, and its outcome.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::hearing::Hearing;
use super::hosting::Hosting;
use crate::audit::{Cap, Journal};
use crate::backend::{Backend, Limit};
use crate::domain::catalogue::ModelFacts;
use crate::domain::ladder::Role;
use crate::domain::meta::MetaBlock;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;
use crate::domain::stop::Stop;
use crate::domain::units::TreeId;
use crate::gateway::{Pin, Tally};
use crate::policy::rotation::GiveUp;
use crate::redact::Redactor;
use crate::session::{FailureReason, Lineage, SessionEnd};
use crate::workspace::Workspace;

/// One session to be held by an agent.
#[derive(Debug, Clone)]
pub struct HostedSpec {
    /// The role that speaks. All but the artisan may only read.
    pub role: Role,
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The target, as the ladder names it.
    pub target: ModelId,
    /// The agent behind it.
    pub backend: Backend,
    /// The wire that it speaks with its model.
    pub spoken: Spoken,
    /// The model of its side calls. The session's own where there is none, or where it is of another provider.
    pub side_model: Option<ModelId>,
    /// How long the agent may show no sign of life.
    pub idle: Duration,
    /// The agent's prompt: instructions and task.
    pub prompt: String,
    /// The blocks of data that the role is asked for beside its report.
    pub meta: Vec<MetaBlock>,
    /// The session that starts this one. `None` for a root.
    pub lineage: Option<Lineage>,
    /// The tree that it begins with.
    pub tree: TreeId,
    /// Files that the tests themselves rewrite: nobody's change.
    pub by_products: BTreeSet<String>,
}

/// The world around such a session.
#[derive(Debug)]
pub struct HostedPorts<'a> {
    /// Where agents live.
    pub hosting: &'a Hosting,
    /// The facts about the models.
    pub facts: &'a ModelFacts,
    /// Where events and money go.
    pub journal: &'a mut Journal,
    /// The caps that each call must fit under.
    pub caps: Vec<Cap>,
    /// The tree.
    pub workspace: &'a Workspace,
    /// Ends everything at once.
    pub stop: Stop,
    /// Asks that the session comes to its end.
    pub wrap_up: Stop,
    /// Takes secrets out of everything that goes to a model or into the log.
    pub redactor: &'a Arc<Redactor>,
}

/// The outcome of an agent's session.
#[derive(Debug)]
pub struct HostedEnd {
    /// As any session's.
    pub end: SessionEnd,
    /// When the limit that ended it is over by the vendor's own words, in milliseconds since the Unix epoch.
    pub limited_until_ms: Option<i64>,
}

/// The outcome of a session before it is told.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The summary of its stream.
    pub(super) hearing: Hearing,
    /// The tally of its calls.
    pub(super) tally: Tally,
    /// The files of its change.
    pub(super) wrote: Vec<String>,
    /// When a limit that it was given up for is over.
    pub(super) limited_until_ms: Option<i64>,
    /// The limit that the agent itself told of, where it asked no model through the gateway.
    pub(super) own_limit: Option<Limit>,
}

impl HostedSpec {
    /// The models that the session is held to.
    pub(super) fn pin(&self) -> Option<Pin> {
        let main = self.backend.model_of(&self.target)?;
        let side = self.side_model.clone().filter(|side| side.provider == main.provider);
        Some(Pin { main, side })
    }
}

/// A target that cannot be asked, and why.
pub(super) fn unusable(target: &ModelId, why: &str) -> FailureReason {
    FailureReason::NoUsableTarget { why: GiveUp::Refused, last: format!("{target}: {why}") }
}
