//! `upshift gate`: the first step of a job, before anything is checked out: may this event start a run?
//!
//! Needs no key and no checkout, because it asks the forge's API for the facts. `upshift run` passes the same gate again. Invariant: the
//! output `go` is `true` only where every question was answered. Otherwise it is `false`, with the reason.

use serde::Serialize;

use super::environment::Environment;
use super::form::Form;
use super::reentry::{self, Entry};
use super::step::Step;
use super::{Failure, plan, setup, trigger};
use crate::config::Plan;
use crate::domain::ci::CiContext;
use crate::domain::outcome::EXIT_SUCCESS;
use crate::report::markdown::MARKER;
use crate::report::{json, outputs};

/// The reason where a comment asks for something that no run has to begin for.
const NO_START: &str = "the comment is not a command that starts a run";

/// The gate's answer to an event.
#[derive(Debug, Clone)]
enum Gate {
    /// A run may start.
    Open {
        /// The commit to check out. Empty where the event has none.
        head: String,
        /// Whether it has to be: a run that only is to be told how it ended needs no files.
        checkout: bool,
    },
    /// None may.
    Closed {
        /// Why not.
        reason: String,
    },
}

/// The answer for programs. Its keys stay.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    go: bool,
    /// Whether the run needs a checkout.
    checkout: bool,
    /// The commit to check out. Null where the event has none, or where no run may start.
    head_sha: Option<&'a str>,
    /// The reason against a run. Null where a run may start.
    reason: Option<&'a str>,
}

fn document(answer: &Gate) -> Document<'_> {
    match answer {
        Gate::Open { head, checkout } => {
            let head_sha = Some(head.as_str()).filter(|head| !head.is_empty());
            Document { version: 1, go: true, checkout: *checkout, head_sha, reason: None }
        }
        Gate::Closed { reason } => {
            Document { version: 1, go: false, checkout: false, head_sha: None, reason: Some(reason) }
        }
    }
}

/// Answers by outputs, and by a line in the log.
///
/// # Errors
/// A refusal, with its reason (exit 6). A configuration that cannot be used (exit 2).
pub(super) fn run(form: Form, environment: &Environment) -> anyhow::Result<u8> {
    let step = Step::of(environment).ok_or_else(|| {
        Failure::usage(
            "`upshift gate` says whether the event of a job may start a run, and this is not a job\n→ Fix: call it in the first step of \
             a workflow's job: the action with `command: gate`",
        )
    })?;
    // The outputs are written for an error too, since the steps behind read them.
    let asked = ask(environment);
    let answer = match &asked {
        Ok(answer) => answer.clone(),
        Err(error) => Gate::Closed { reason: error.to_string() },
    };
    let told = match &answer {
        Gate::Open { head, checkout } => outputs::of_gate(Some(head), *checkout, ""),
        Gate::Closed { reason } => outputs::of_gate(None, false, reason),
    };
    // Before anything else is printed: a job whose outputs are missing skips its steps without a reason.
    step.tell_gate(&told)?;
    if form == Form::Json {
        super::print(&json::pretty(&document(&answer)))?;
    }
    match asked? {
        Gate::Open { head, .. } => {
            let head = if head.is_empty() { "the default branch" } else { &head };
            super::say(&format!("✔ This event may start a run on {head}."));
        }
        Gate::Closed { reason } => super::say(&format!("Nothing to do: {reason}.")),
    }
    Ok(EXIT_SUCCESS)
}

fn ask(environment: &Environment) -> anyhow::Result<Gate> {
    // The gate runs before the checkout and has no key of a model.
    let plan::Resolved { plan, context, .. } = plan::resolve_without_ladder(plan::Flags::default(), environment)?;
    let Some(mut context) = context else { return Ok(Gate::Closed { reason: "this is not a job".to_owned() }) };
    setup::block_on(pass(&plan, &mut context, environment))
}

async fn pass(plan: &Plan, context: &mut CiContext, environment: &Environment) -> anyhow::Result<Gate> {
    // Which of our comments it is depends on settings that only the step behind this one may have.
    let checkout = match reentry::admit(context, plan, MARKER, environment).await? {
        Entry::Begins => true,
        Entry::Waits(what) => {
            return Ok(Gate::Closed { reason: format!("the run that pushed this commit is still waiting for {what}") });
        }
        // The step behind this one may have another comment, and begin a run of its own for the command.
        Entry::GoesOn(visit) => visit.needs_checkout() || context.comment.is_some(),
    };
    let order = trigger::order(Some(context));
    // Asked behind the gate: only a comment of somebody with the right to write is answered.
    if trigger::not_a_start(&order, Some(context), environment).await.is_some() {
        return Ok(Gate::Closed { reason: NO_START.to_owned() });
    }
    let head = context.head_sha.as_ref().map(|sha| sha.0.clone());
    Ok(Gate::Open {
        // Events without a head, such as a schedule, are about the commit that the runner checks out.
        head: head.or_else(|| environment.get("GITHUB_SHA").map(str::to_owned)).unwrap_or_default(),
        checkout,
    })
}
