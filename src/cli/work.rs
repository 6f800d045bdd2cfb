//! The subject of a run, by the plan and the folder: its beneficiary, and its tests.

use std::path::Path;

use super::{Failure, place};
use crate::config::Plan;
use crate::domain::budget::Beneficiary;
use crate::domain::ci::CiContext;
use crate::domain::shell::quote_path;
use crate::test_run;

/// The beneficiary of the run. On somebody's own machine the folder stands for the repository.
pub(super) fn beneficiary(context: Option<&CiContext>, folder: &Path) -> Beneficiary {
    let repository = context
        // GitHub's names ignore case, and two spellings must not have two caps.
        .map_or_else(|| folder.display().to_string(), |context| context.repository.to_string().to_ascii_lowercase());
    Beneficiary { repository, pull_request: context.and_then(CiContext::pull_request_number) }
}

/// The configured test command and framework, or the detected ones.
pub(super) fn test_command(plan: &Plan, folder: &Path) -> anyhow::Result<(String, Option<String>)> {
    if let Some(command) = &plan.test.command {
        return Ok((command.clone(), plan.test.framework.clone()));
    }
    let detected = test_run::detect(folder).ok_or_else(|| {
        let name = "name it with --test-command, or as `test.command` in .github/upshift.yml";
        // Asked only on the way to the error, for advice that fits this folder.
        let above = place::top(folder).filter(|top| *top != folder);
        let at_top = above.and_then(|top| Some((top, test_run::detect(top)?)));
        let fix = match &at_top {
            Some((top, found)) => format!(
                "start at the top of the repository, where `{}` is recognised: cd {}. Or {name}",
                found.command,
                quote_path(&top.display().to_string())
            ),
            None => name.to_owned(),
        };
        Failure::usage(format!(
            "no test command was given, and none was recognised in {}\n→ Fix: {fix}",
            folder.display()
        ))
    })?;
    // A framework that is named beats the one that was found with the command.
    let framework = plan.test.framework.clone().or(Some(detected.framework));
    Ok((detected.command, framework))
}
