//! The words about what was written, and what is left to a person.

use super::action_ref::{ActionRef, PLACEHOLDER};
use super::ci::Ci;
use super::paths::{CONFIG_PATH, JUDGE_PATH, REVIEW_PATH, WORKFLOW_PATH};
use crate::cli::workflow_files::shown;

/// The most workflows that are named.
const MOST_NAMED: usize = 8;

/// The words behind `upshift init`. `scheduled` is the command that adds a schedule where there is none, `again` the one that writes the files
/// anew.
pub(super) fn steps(ci: &Ci, action: Option<&ActionRef>, scheduled: Option<&str>, again: &str) -> String {
    let mut said = format!("Wrote {WORKFLOW_PATH}, {REVIEW_PATH} and {CONFIG_PATH}.\n");
    if !ci.names.is_empty() {
        let tested = if ci.tested.is_empty() { &ci.names } else { &ci.tested };
        said += &format!("It starts after red CI: {}.\n", names(tested));
    }
    if let Some(scheduled) = scheduled {
        said += &format!(
            "\nRuns that are parked at a rate limit or a blocker continue by themselves only with a schedule: add it now with \
             `{scheduled}`, since that would replace your edits later.\n"
        );
    }
    let mut list = vec![
        "Add a model's key to the repository's secrets: gh secret set ANTHROPIC_API_KEY \
         (or OPENAI_API_KEY, GEMINI_API_KEY: also under `env:` in the workflow)"
            .to_owned(),
    ];
    list.extend(replacing(ci, action, again));
    list.push(installation(ci));
    list.extend(
        [
            "To have CI run on the fixes, without a job that waits, add a fine-grained personal token (Contents and Pull requests: write): \
             gh secret set UPSHIFT_PUSH_TOKEN",
            "See what a run would do and cost, and whether anything is missing: upshift check, upshift doctor",
            "Try it on this machine (nothing is committed or pushed): upshift run",
            "Commit these files to the default branch: GitHub starts the workflow from there only. Then push a branch whose tests fail.",
        ]
        .map(str::to_owned),
    );
    numbered(said, &list)
}

/// The words behind `upshift init --judge`.
pub(super) fn judge_steps(action: Option<&ActionRef>, again: &str, ci: &Ci) -> String {
    let mut list = Vec::new();
    if action.is_none() {
        list.push(format!("In {JUDGE_PATH}, {}.", placeholder(again)));
    }
    list.push(installation(ci));
    list.push("Try it on this machine, on a branch: upshift judge".to_owned());
    numbered(format!("Wrote {JUDGE_PATH}.\n"), &list)
}

fn numbered(mut said: String, list: &[String]) -> String {
    said.push_str("\nNext:\n");
    for (at, step) in list.iter().enumerate() {
        said += &format!("  {}. {step}\n", at + 1);
    }
    said
}

fn names(all: &[String]) -> String {
    listed(all.iter().map(|name| format!("`{}`", shown(name))).collect(), MOST_NAMED)
}

/// The first of them, and how many more there are.
fn listed(mut all: Vec<String>, most: usize) -> String {
    let more = all.len().saturating_sub(most);
    all.truncate(most);
    if more == 0 { all.join(", ") } else { format!("{} and {more} more", all.join(", ")) }
}

/// The step about the placeholders that are left.
fn replacing(ci: &Ci, action: Option<&ActionRef>, again: &str) -> Option<String> {
    let ci_name = "CI with the `name:` of the workflow that runs your tests: none here runs on pull requests or pushes";
    match (action, ci.names.is_empty()) {
        (None, false) => Some(format!("In {WORKFLOW_PATH}, {}.", placeholder(again))),
        (None, true) => Some(format!("In {WORKFLOW_PATH}, {}. Replace {ci_name}.", placeholder(again))),
        (Some(_), true) => Some(format!("In {WORKFLOW_PATH}, replace {ci_name}.")),
        (Some(_), false) => None,
    }
}

fn placeholder(again: &str) -> String {
    format!(
        "replace {PLACEHOLDER} with the GitHub account that the action is in, and @v1 with @ and a commit of it (there is no release yet), or have \
         them filled in: {again} --action OWNER/upshift@COMMIT"
    )
}

/// The step about what the tests need.
fn installation(ci: &Ci) -> String {
    let tools: Vec<String> = ci.tools.iter().map(|tool| format!("`{}`", shown(&tool.uses))).collect();
    let setup = ci.setup.as_ref().map(|setup| format!("`setup-command: {}`", shown(setup)));
    let folder = ci.folder.as_ref().map(|folder| format!("`working-directory: {}`", shown(folder)));
    let taken: Vec<String> = tools.into_iter().chain(folder).chain(setup).collect();
    let file = ci.file.as_deref().map(shown).unwrap_or_default();
    // Nothing recognised is told apart from nothing needed: the first may be our fault.
    let mut said = if taken.is_empty() && ci.file.is_none() && !ci.names.is_empty() {
        "No job of them was recognised as the one that runs the tests, so nothing was taken over. If the tests need something installed (`npm ci`, say), name the command as `setup-command`.".to_owned()
    } else if taken.is_empty() {
        "If the tests need something installed (`npm ci`, say), name the command there as `setup-command`.".to_owned()
    } else {
        format!("Look at what was taken over from {file}: {}.", taken.join(", "))
    };
    if !ci.left.is_empty() {
        said += &format!(
            " Of {file} this was not taken over, which the tests may need: {}.",
            listed(ci.left.clone(), MOST_NAMED)
        );
    }
    said
}
