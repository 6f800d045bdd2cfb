//! What a session needs of the world.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::domain::catalogue::ModelFacts;
use crate::domain::chat::Reply;
use crate::domain::clock::Clock;
use crate::domain::event::EventSink;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::stop::Stop;
use crate::model::Providers;
use crate::redact::Redactor;
use crate::workspace::{ToolError, Workspace};

/// The world around a session.
#[derive(Debug)]
pub struct Ports<'a> {
    /// The endpoints.
    pub providers: &'a Providers,
    /// What is known of the models.
    pub facts: &'a ModelFacts,
    /// The tools' world.
    pub toolbox: Toolbox<'a>,
    /// Where events go.
    pub sink: &'a mut dyn EventSink,
    /// Ends everything at once, without a final turn (S1-14 `abort`, `shutdown`).
    pub stop: Stop,
    /// Asks for the final turn next (S1-14 `stop`).
    pub wrap_up: Stop,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Takes secrets out of everything that goes to a model.
    pub redactor: &'a Redactor,
    /// Replies that were paid for before the run was killed.
    pub replay: Replay,
}

/// A tool's answer that is on its way.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<String, ToolError>> + 'a>>;

/// The world of the tools of DESIGN §2.3.
pub struct Toolbox<'a> {
    /// The tree; shared, so that searches can run beside the session.
    pub workspace: Arc<Workspace>,
    /// Runs the tests with an optional filter and describes the result to the model; `None` takes `run_tests` away.
    pub run_tests: Option<Box<dyn Fn(Option<String>) -> ToolFuture<'a> + 'a>>,
    /// Runs an allowed command, split into words; used only with [`Self::allow_commands`].
    pub run_command: Option<Box<dyn Fn(Vec<String>) -> ToolFuture<'a> + 'a>>,
    /// Commands that the artisan may run: each allows itself and itself with more arguments.
    pub allow_commands: Vec<String>,
}

impl fmt::Debug for Toolbox<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox")
            .field("run_tests", &self.run_tests.is_some())
            .field("allow_commands", &self.allow_commands)
            .finish_non_exhaustive()
    }
}

/// Replies of an interrupted iteration, consumed in order instead of calling: free of charge, no new receipt.
#[derive(Debug, Default)]
pub struct Replay(VecDeque<(Role, ModelId, Reply)>);

impl Replay {
    /// Nothing to replay.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The recorded replies of an iteration, oldest first, with who asked and which target answered.
    #[must_use]
    pub fn of(replies: impl IntoIterator<Item = (Role, ModelId, Reply)>) -> Self {
        Self(replies.into_iter().collect())
    }

    /// The next recorded reply, if it is this role's.
    pub fn next(&mut self, role: Role) -> Option<(ModelId, Reply)> {
        let (_, target, reply) = self.0.pop_front_if(|(recorded, _, _)| *recorded == role)?;
        Some((target, reply))
    }
}
