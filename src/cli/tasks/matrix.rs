//! `upshift tasks matrix`: a backlog as the matrix of a workflow's jobs.

use clap::Args;
use serde_json::{Value, json};

use super::super::environment::Environment;
use super::super::output::{print, say};
use super::super::plan::{self, TestFlags};
use super::super::{Failure, setup};
use super::load;
use super::named::source;
use super::orders::{self, OrderArgs};
use crate::domain::units::MicroUsd;
use crate::tracker::{Matrix, matrix};

/// The least that a task may be given: less buys no call.
pub(super) const LEAST_SHARE: MicroUsd = MicroUsd(1_000);

/// The flags of `tasks matrix`.
#[derive(Debug, Args)]
pub(super) struct MatrixArgs {
    /// Task source: `failing-tests`, `issues:LABEL`, a prd.json or a YAML list
    #[arg(long, value_name = "SOURCE")]
    tasks: String,
    /// Hard cap on the cost of all tasks together, in dollars, in equal shares [default: 2.00]
    #[arg(long, value_name = "USD")]
    max_cost_usd: Option<String>,
    /// Most jobs of the matrix; with more tasks, a job takes several
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=256))]
    max_jobs: u16,
    // Says of a list in YAML and of issues which tasks are done: they do not.
    #[command(flatten)]
    place: OrderArgs,
    #[command(flatten)]
    tests: TestFlags,
}

/// Prints the matrix.
pub(super) fn run(args: MatrixArgs, environment: &Environment) -> anyhow::Result<u8> {
    let quiet = environment.without_event();
    let source = source(&args.tasks)?;
    let resolved = plan::resolve_to_part(args.tests, args.max_cost_usd, &quiet)?;
    let mut tasks = setup::block_on(load::tasks(&source, &resolved, (&quiet, environment)))?;
    orders::mark_done(&source, &args.place, (&resolved.checkout, environment), &mut tasks)?;
    let max_cost = resolved.plan.budget.max_cost;
    let found = matrix(&tasks, max_cost, usize::from(args.max_jobs));
    // Said before any job starts, which would otherwise each end for want of money.
    if !found.jobs.is_empty() && found.share < LEAST_SHARE {
        return Err(Failure::usage(format!(
            "{max_cost} for {} tasks is {} each, not enough for one call\n→ Fix: raise --max-cost-usd, or name fewer tasks",
            found.jobs.iter().map(|job| job.tasks.len()).sum::<usize>(),
            found.share
        )));
    }
    for id in &found.left_out {
        say(&format!("⚠ {id} is in no job: no test or command proves it, or one that it waits for"));
    }
    print(&format!("{}\n", document(&found)))
}

/// The matrix as `fromJSON` takes it. Ids have no line breaks: a job's tasks are lines of one text.
fn document(found: &Matrix) -> Value {
    let include: Vec<Value> = found
        .jobs
        .iter()
        .enumerate()
        .map(|(number, job)| {
            let more = job.tasks.len().saturating_sub(1);
            let first = job.tasks.first().map(String::as_str).unwrap_or_default();
            let name = if more == 0 { first.to_owned() } else { format!("{first} and {more} more") };
            // A text, since a float could turn 0.1 into something that is no amount.
            json!({ "job": number + 1, "name": name, "tasks": job.tasks.join("\n"), "maxCostUsd": dollars(job.max_cost) })
        })
        .collect();
    json!({ "include": include })
}

/// An amount as `--max-cost-usd` takes it.
pub(super) fn dollars(amount: MicroUsd) -> String {
    // Six digits, so that no share is rounded: the sum must never pass the cap.
    format!("{}.{:06}", amount.0 / 1_000_000, amount.0 % 1_000_000)
}
