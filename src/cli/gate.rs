//! `upshift gate`: whether the event of this job may start a run, told before anything of it is checked out.
//!
//! Asks the API alone: it needs no key, no checkout and no configuration, and reads none of them. What only the configuration
//! file tells (its own skip label) is left to the gate that `run` passes again.

use super::environment::Environment;
use super::setup;
use super::step::Step;
use super::{Failure, context, forge, trigger};
use crate::config::Setting;
use crate::domain::ci::CiContext;
use crate::domain::outcome::{EXIT_REFUSED, EXIT_SUCCESS};
use crate::lifecycle::gate;
use crate::report::outputs;

/// The label that keeps upshift away, where the input names none.
const SKIP_LABEL: &str = "upshift:skip";

/// Looks, and tells the job's other steps by the outputs `go`, `head-sha` and `reason`.
///
/// # Errors
/// A refusal (exit 6); it is in the outputs by then.
pub(super) fn run(environment: &Environment) -> anyhow::Result<u8> {
    let Some(step) = Step::of(environment) else {
        return Err(Failure::usage(
            "`upshift gate` looks at the event of a job, and this is none\n→ Fix: use it in a step of a workflow",
        ));
    };
    match setup::block_on(admitted(environment)) {
        Ok(Answer::Go(head)) => {
            step.tell_gate(&outputs::of_gate(head.as_deref(), ""));
            super::say(&match head {
                Some(head) => format!("✔ A run may start, on {head}"),
                None => "✔ A run may start".to_owned(),
            });
            Ok(EXIT_SUCCESS)
        }
        Ok(Answer::NothingToDo) => {
            step.tell_gate(&outputs::of_gate(None, "the comment asks for no run"));
            Ok(EXIT_SUCCESS)
        }
        Err(error) => {
            step.tell_gate(&outputs::of_gate(None, &error.to_string()));
            Err(error)
        }
    }
}

/// What the gate says where it does not refuse.
enum Answer {
    /// A run may start, on this commit where the event has one.
    Go(Option<String>),
    /// The comment asks for what only a run under way could do, and none is.
    NothingToDo,
}

async fn admitted(environment: &Environment) -> anyhow::Result<Answer> {
    let refused = |why: String| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {why}"));
    let context = context::read(environment).map_err(|error| refused(error.to_string()))?;
    if let Some(why) = gate::refusal(context.as_ref()) {
        return Err(refused(why));
    }
    let Some(mut context) = context else { return Ok(Answer::Go(None)) };
    let label = environment.get(Setting::SkipLabel.env()).unwrap_or(SKIP_LABEL);
    forge::admit(&mut context, label, environment).await?;
    let order = trigger::order(Some(&context));
    if trigger::not_a_start(&order, Some(&context), environment).await.is_some() {
        return Ok(Answer::NothingToDo);
    }
    Ok(Answer::Go(head(&context, environment)))
}

/// The commit that was looked at; where the event names none (a clock, a click), that of the job.
fn head(context: &CiContext, environment: &Environment) -> Option<String> {
    let named = context.head_sha.as_ref().map(|head| head.0.clone());
    named.or_else(|| environment.get("GITHUB_SHA").map(str::to_owned))
}
