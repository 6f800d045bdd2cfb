//! `upshift doctor`: checks beforehand whether a run can go well. It calls no model, writes nothing, and takes seconds. With `--online`
//! vendors are asked for facts that they tell free of charge.
//!
//! Owns what is looked at and in which order. Invariant: every line is `✔` or `✖ … → Fix: …`, and a problem is one that would
//! really stop or spoil a run with this configuration.

mod agents;
mod bots;
mod caps;
mod finding;
mod forge;
mod inner_model;
mod inputs;
mod json;
mod outside_tools;
mod targets;
mod triggers;
mod waits;
mod workflows;

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::form::Form;
use super::obstacles::obstacles;
use super::plan::{self, Flags, Resolved};
use super::setup::{self, Setup};
use super::{Failure, left_judging, place, retirement, work, workflow_files};
use crate::config::{NO_MODEL, Plan, Sandbox};
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SUCCESS};
use finding::Finding;
pub(super) use forge::place;

/// Runs all checks and prints their findings. Exit 1 when something is wrong.
pub(super) fn run(flags: Flags, online: bool, environment: &Environment) -> anyhow::Result<u8> {
    let form = Form::of(plan::format(&flags, environment), "upshift doctor")?;
    let findings = match plan::resolve(flags.clone(), environment) {
        Ok(resolved) => {
            let mut findings = vec![ladder(&resolved.plan)];
            let ends = retirement::notices(&resolved.plan, environment, retirement::NOTICE_DAYS);
            findings.extend(ends.iter().map(|notice| Finding::told("models", notice)));
            if online {
                findings.extend(setup::block_on(targets::examine(&resolved, environment))?);
            }
            // Each part has a runtime of its own: resolving the plan needs one as well, and they cannot nest.
            findings.extend(setup::block_on(examine(&resolved, environment))?);
            findings.extend(setup::block_on(async { Ok(agents::examine(&resolved, environment).await) })?);
            let tools = async { Ok(outside_tools::examine(&resolved, online, environment).await) };
            findings.extend(setup::block_on(tools)?);
            findings
        }
        Err(error) => match error.downcast_ref::<Failure>() {
            Some(failure) => {
                let mut findings = without_ladder(failure, &flags, environment);
                // What does not hang on the ladder can be looked at without one.
                if let Ok(resolved) = plan::resolve_without_ladder(flags, environment) {
                    findings.extend(setup::block_on(examine(&resolved, environment))?);
                }
                findings
            }
            // An error of ours is no finding about somebody's project.
            None => return Err(error),
        },
    };
    match form {
        Form::Text => {
            let lines: String = findings.iter().map(|finding| finding.render() + "\n").collect();
            super::print_set(&lines, environment.console())?
        }
        Form::Json => super::print(&json::render(&findings))?,
    };
    // A finding without a fix is a notice. Failing for it would make doctor useless as a check.
    Ok(if findings.iter().any(|finding| finding.fix.is_some()) { EXIT_NOT_FIXED } else { EXIT_SUCCESS })
}

/// The findings about a configuration that cannot be used. A key that a workflow hands over in its job is not missing on a laptop.
fn without_ladder(failure: &Failure, flags: &Flags, environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "configuration";
    let told = || Finding::each_told(ABOUT, &failure.message);
    // In a job the key should be there, so there its absence is the fault.
    if environment.in_actions() || !failure.message.starts_with(NO_MODEL) {
        return told();
    }
    let Ok(resolved) = plan::resolve_without_ladder(flags.clone(), environment) else { return told() };
    workflows::keys(&top_of(&resolved.checkout)).map_or_else(told, |said| vec![Finding::open(ABOUT, said)])
}

async fn examine(resolved: &Resolved, environment: &Environment) -> anyhow::Result<Vec<Finding>> {
    let Resolved { plan, checkout, context, .. } = resolved;
    let mut findings = Vec::new();
    findings.extend(plan.refusals.iter().map(|refusal| Finding::told("configuration", refusal)));
    let obstacles = obstacles(plan, checkout, environment).await;
    findings.extend(obstacles.into_iter().map(|one| Finding::problem(one.about, one.said, one.fix)));
    let judging = left_judging::notice(checkout, environment);
    findings.extend(judging.map(|(found, fix)| Finding::problem("killed judgement", found, fix)));
    findings.extend(place::no_undo(checkout).map(|said| Finding::open("git", said)));
    findings.push(tests(plan, checkout, environment));
    findings.extend(sandbox(plan, &Setup::new(checkout, environment, Some(plan), context.as_ref())));
    findings.extend(workflows::examine(&top_of(checkout), waits::Waits::of(plan)));
    findings.extend(caps::examine(&workflow_files::all(&top_of(checkout)), plan));
    // The forge comes last: it is the only one that waits for a network.
    findings.extend(forge::examine(plan, checkout, context.as_ref(), environment).await);
    Ok(findings)
}

/// The top of the repository, or the folder itself where it is no checkout.
fn top_of(checkout: &Path) -> PathBuf {
    place::top(checkout).unwrap_or(checkout).to_owned()
}

/// That it resolves and that its keys are there was checked on the way here.
fn ladder(plan: &Plan) -> Finding {
    let tiers: Vec<String> = plan.tiers.iter().map(|tier| format!("{} x{}", tier.name, tier.max_iterations)).collect();
    Finding::ok("ladder", format!("{}; at most {}", tiers.join(" > "), plan.worst_case.exact()))
}

fn tests(plan: &Plan, checkout: &Path, environment: &Environment) -> Finding {
    const ABOUT: &str = "test command";
    let found = setup::working_directory(checkout, plan).and_then(|folder| {
        let (command, _) = work::test_command(plan, &folder)?;
        Ok((folder, command))
    });
    match found {
        Err(error) => Finding::told(ABOUT, &error.to_string()),
        Ok((folder, command)) => {
            // `CI=1 npm test` starts npm, not an assignment.
            let program = command.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
            if is_there(program, &folder, environment) {
                return Finding::ok(ABOUT, format!("{command} (its program is there; it was not run)"));
            }
            let said = format!("`{command}` starts `{program}`, which is not installed");
            Finding::problem(
                ABOUT,
                said,
                "have `setup-command` or the runner bring it, or name another with test-command",
            )
        }
    }
}

/// Whether a shell would find the program. A program that the shell must interpret first is given the benefit of the doubt.
fn is_there(program: &str, folder: &Path, environment: &Environment) -> bool {
    /// Words that a shell understands itself.
    const BUILT_IN: [&str; 8] = ["cd", "set", "export", "if", "for", "test", "true", "exec"];
    // A program such as `$PYTHON` or `(cd` is the shell's to resolve. Guessing here would report what works.
    let plain = program.chars().all(|c| c.is_alphanumeric() || "._-/+".contains(c));
    if !plain || BUILT_IN.contains(&program) {
        return true;
    }
    if program.contains('/') {
        return folder.join(program).is_file();
    }
    let path = environment.get("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|place| place.join(program).is_file())
}

/// Whether children can be confined, and a line for each thing that a person should know of how.
fn sandbox(plan: &Plan, setup: &Setup<'_>) -> Vec<Finding> {
    const ABOUT: &str = "sandbox";
    if plan.safety.sandbox == Sandbox::Off {
        return vec![Finding::ok(ABOUT, "off, as configured")];
    }
    match setup.confine(plan) {
        Err(error) => vec![Finding::told(ABOUT, &error.to_string())],
        Ok(arranged) => {
            // Notes are no gaps: they tell of what is confined in another way.
            let state = if arranged.gaps.is_empty() {
                Finding::ok(ABOUT, "available")
            } else {
                let fix = "use a runner with a newer Linux kernel, or say `sandbox: off` to accept it";
                Finding::problem(ABOUT, arranged.gaps.join("; "), fix)
            };
            std::iter::once(state).chain(arranged.notes.iter().map(|note| Finding::ok(ABOUT, note))).collect()
        }
    }
}
