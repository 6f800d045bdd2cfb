//! External tools: how a session calls one, and what becomes of its failure.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::domain::foreign::Foreign;
use crate::domain::ladder::Role;
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::{ToolFailure, ToolSpec};
use crate::redact::Redactor;
use crate::workspace::ToolError;

/// Characters of what a failing tool said, where its model was told something else.
const MAX_SAID_CHARS: usize = 500;
/// The advice to a model behind a failure, which is none for people.
pub const DO_WITHOUT: &str = " Do without it.";

/// The answer of a tool from outside that is on its way.
pub type OutsideFuture<'a> = Pin<Box<dyn Future<Output = Result<String, OutsideError>> + 'a>>;

/// Calls a tool from outside.
pub type CallOutside<'a> = Box<dyn Fn(OutsideCall) -> OutsideFuture<'a> + 'a>;

/// A call of a tool from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct OutsideCall {
    /// The tool, by the name on offer.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// The session that calls.
    pub session_id: String,
}

/// A tool from outside failed: the model is told, and may do without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideError {
    /// How, where S1-15 has a name for it.
    pub exit: Option<SessionExit>,
    /// The words for the model.
    pub told: String,
    /// The configuration's words, which the model is told in their place.
    pub instead: Option<String>,
}

impl OutsideError {
    /// The failure in words for a person, where the source is gone or silent: whoever goes on does so without it.
    pub(super) fn lost(&self, (role, name): (Role, &str), redactor: &Redactor) -> Option<String> {
        let is_lost = matches!(self.exit, Some(SessionExit::McpConnectionLost | SessionExit::ToolTimeout));
        let said = self.for_people(name, redactor);
        let shown = said.as_str();
        (is_lost && self.instead.is_none()).then(|| format!("the {} went on without `{name}`: {shown}", role.as_str()))
    }

    /// The failure without the advice to its model, and without the tool's name, which is told beside it.
    fn for_people(&self, name: &str, redactor: &Redactor) -> Foreign {
        let told = self.told.strip_suffix(DO_WITHOUT).unwrap_or(&self.told);
        let told = told.strip_prefix(&format!("`{name}` failed: ")).unwrap_or(told);
        Foreign::capped(&redactor.redact(told), MAX_SAID_CHARS)
    }

    /// The failure as reviewers are told of it, where its model was told the configuration's words.
    pub(super) fn replaced(
        &self,
        (role, session_id, name): (Role, &str, &str),
        redactor: &Redactor,
    ) -> Option<ToolFailure> {
        let told = self.instead.clone()?;
        let said = self.for_people(name, redactor).as_str().to_owned();
        Some(ToolFailure { role, session_id: session_id.to_owned(), name: name.to_owned(), said, told })
    }
}

/// A source of tools that the session cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostSource {
    /// The beginning of its tools' names.
    pub name: String,
    /// Why, in one line.
    pub why: String,
    /// How, by the names of S1-15.
    pub exit: SessionExit,
}

/// External tools.
pub struct OutsideTools<'a> {
    /// Their descriptions, under the names on offer.
    pub specs: Vec<ToolSpec>,
    /// Calls one.
    pub call: CallOutside<'a>,
    /// The sources whose tools are not among them. They are told of the session.
    pub lost: Vec<LostSource>,
}

impl fmt::Debug for OutsideTools<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideTools").field("specs", &self.specs).finish_non_exhaustive()
    }
}

/// The answer of a tool from outside. Its failure is kept beside what the model is told.
pub(super) async fn told_apart(
    call: OutsideFuture<'_>,
    failed: &mut Option<OutsideError>,
) -> Result<String, ToolError> {
    call.await.map_err(|error| {
        let told = error.instead.clone().unwrap_or_else(|| error.told.clone());
        *failed = Some(error);
        ToolError::ForModel(told)
    })
}
