//! The files that `upshift init` writes.

/// The workflow that runs upshift after a red CI run.
pub const WORKFLOW_PATH: &str = ".github/workflows/upshift.yml";
/// The workflow that tells upshift's of reviews.
pub const REVIEW_PATH: &str = ".github/workflows/upshift-review.yml";
/// The workflow that judges pull requests.
pub const JUDGE_PATH: &str = ".github/workflows/judge.yml";
/// The configuration file.
pub const CONFIG_PATH: &str = crate::config::DEFAULT_CONFIG_PATH;
