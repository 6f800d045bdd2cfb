//! The credential that a job's checkout left in git's settings.

use std::path::Path;

use secrecy::SecretString;

use super::environment::Environment;
use super::forge;
use crate::workspace::publish::{Left, left_by_checkout};

/// The server whose API has an address of its own.
pub(super) const GITHUB: &str = "https://github.com";

/// The credential that a job's checkout left. `None` on somebody's own machine, where git's settings are nobody else's.
pub(super) fn left_in(environment: &Environment, checkout: &Path, url: &str) -> Option<Left> {
    environment.in_actions().then(|| left_by_checkout(checkout, url)).flatten()
}

/// Whether checkout left a token that is not the job's own: its pushes start CI.
pub(super) fn left_is_given(environment: &Environment, checkout: &Path) -> bool {
    let left = left_in(environment, checkout, server(environment)).and_then(|left| left.token);
    // Checkout leaves the job's own token unless it is given another, and pushes of that one start no CI.
    left.is_some_and(|left| !forge::is_jobs_own(environment, &left))
}

fn server(environment: &Environment) -> &str {
    environment.get("GITHUB_SERVER_URL").unwrap_or(GITHUB).trim_end_matches('/')
}

/// Every secret in the credential that checkout left for the job's own server.
pub(super) fn left_secrets(environment: &Environment, checkout: &Path) -> Vec<SecretString> {
    left_in(environment, checkout, server(environment)).map(|left| left.secrets).unwrap_or_default()
}
