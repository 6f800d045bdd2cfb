//! Memory that tests take without end: they met its limit, and four times as much.
//!
//! Invariant: a limit that is only too small is a person's to raise, and nobody is paid for it.

use super::context::{Context, LifecycleError};
use super::measured::Measuring;
use crate::domain::test_report::{RunKind, RunStatus};
use crate::domain::verdict::Exit;
use crate::test_run::{self, TestCommand, TestRun};

/// So many times the limit is given.
const MORE: u32 = 4;

/// Runs a baseline once more with more memory, where a test was under way when the limit was met. Where that is enough, or the machine has
/// no more to give, the test is not to blame.
pub(super) async fn tried(
    context: &Context<'_>,
    measuring: &Measuring,
    first: TestRun,
) -> Result<TestRun, LifecycleError> {
    let Exit::Memory { limit_mb } = first.exit else { return Ok(first) };
    let is_blamed = (first.report.status, first.report.kind) == (RunStatus::Failed, RunKind::OutOfMemory);
    if first.stopped.is_some() || !is_blamed {
        return Ok(first);
    }
    let more = TestCommand { memory_mb: Some(limit_mb.saturating_mul(MORE)), ..measuring.setup.tests.clone() };
    let second = test_run::run(&more, None, &context.world.stop).await?;
    let is_endless = matches!(second.exit, Exit::Memory { .. });
    // A second run that is cut short acquits nobody. It ends the measuring.
    Ok(if is_endless || second.stopped.is_some() { second } else { test_run::without_blame(first) })
}
