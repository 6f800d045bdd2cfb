//! Variables that no child of a run gets by name.

use super::pick::Picker;
use super::plan::Origin;
use super::values::VarName;

/// Variables of a runner that the tests never get: they are secrets of the job.
const RUNNER_SECRETS: [&str; 4] =
    ["GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"];

/// Tests run code that a model wrote, and tools what it asks for: they never get the key that pays for it, nor the job's own secrets.
pub(super) fn refuse_secrets(picker: &Picker<'_>, key: &str, names: &[VarName], origin: &Origin, key_vars: &[&str]) {
    for VarName(name) in names {
        if key_vars.contains(&name.as_str()) || RUNNER_SECRETS.contains(&name.as_str()) {
            let message = format!("{name} is a secret of this run: programs that a model runs never get it");
            let fix = "Remove it; if they need such a key, give them another one under another name.";
            picker.fault(origin, key, &message, fix);
        }
    }
}
