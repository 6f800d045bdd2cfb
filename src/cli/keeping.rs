//! Where a run's files go: its audit log, what it leaves beside that, and its raw streams.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::setup::{Setup, locate};
use crate::config::Plan;
use crate::files;
use crate::lifecycle::state::RunState;
use crate::streams::{self, Streams};

/// Where a run leaves its patch when there is no audit log to leave it beside.
const DEFAULT_KEEP: &str = ".upshift";

impl Setup<'_> {
    /// The run's kept streams, where there is an audit log for them to stand beside.
    pub(super) fn streams(&self, state: &RunState) -> Option<Arc<Streams>> {
        state.plan.audit.as_ref()?;
        let home = self.environment.state_home(self.checkout);
        // Here, since a run that begins is the only one that adds to them.
        streams::prune(&home);
        Some(Arc::new(Streams::of_run(&home.join(state.run_id.short()), Arc::clone(&self.redactor))))
    }

    /// Beside the audit log as the user named it.
    pub(super) fn keep_folder(&self, plan: &Plan) -> PathBuf {
        self.beside(plan.audit.as_deref())
    }

    /// The folder of a log as it was configured.
    pub(super) fn beside(&self, log: Option<&str>) -> PathBuf {
        let beside = log.map(|configured| locate(configured, self.checkout, self.environment).shown);
        let folder = beside.and_then(|shown| shown.parent().map(Path::to_owned));
        // A patch must be kept somewhere: without a log it is all that is left of the change.
        folder.unwrap_or_else(|| self.checkout.join(DEFAULT_KEEP))
    }

    /// The audit log as the user named it, from the checkout if it lies in it.
    pub(super) fn shown_audit(&self, plan: &Plan) -> Option<String> {
        let shown = locate(plan.audit.as_ref()?, self.checkout, self.environment).shown;
        Some(files::slashed(shown.strip_prefix(self.checkout).unwrap_or(&shown)))
    }
}
