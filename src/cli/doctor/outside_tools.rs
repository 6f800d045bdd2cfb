//! A line for each source of tools from outside. With `--online` the hosts of those behind an address are asked whether they answer.

use super::finding::Finding;
use crate::cli::check::ToolsThere;
use crate::cli::environment::Environment;
use crate::cli::outside_tools::{reached, there};
use crate::cli::plan::Resolved;

const ABOUT: &str = "tools";
const FIX: &str =
    "make it available where upshift runs, or remove it from the configuration: a run continues without its tools";

/// Looks at every source that is configured.
pub(super) async fn examine(resolved: &Resolved, online: bool, environment: &Environment) -> Vec<Finding> {
    let Resolved { plan, checkout, .. } = resolved;
    let mut findings = Vec::new();
    for ToolsThere { name, what, trouble, url } in there(plan, checkout, environment) {
        let about = format!("{name} ({what})");
        if let Some(trouble) = trouble {
            findings.push(Finding::problem(ABOUT, format!("{about}: {trouble}"), FIX));
            continue;
        }
        findings.push(match url.filter(|_| online) {
            None => Finding::ok(ABOUT, about),
            Some(url) => match reached(&url, plan, environment).await {
                Ok(said) => Finding::ok(ABOUT, format!("{about}: {said}")),
                Err(why) => Finding::problem(ABOUT, format!("{about}: {why}"), FIX),
            },
        });
    }
    findings
}
