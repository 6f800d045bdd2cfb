//! The workflow run whose failure started this job, for tests that pass here all the same.
//!
//! Invariant: CI that is red is never called green because upshift looked at something else.

use crate::domain::clock::Clock;
use crate::domain::outcome::Outcome;
use crate::github::{Conclusion, GitHub, Job, Progress};

/// How many failed jobs are named.
const MOST_JOBS: usize = 5;
/// How long the API may take.
const PATIENCE_MS: u64 = 60_000;

/// A workflow run that failed.
#[derive(Debug)]
pub struct RedRun {
    /// Its id.
    pub id: u64,
    /// The workflow's name; foreign text.
    pub workflow: String,
    /// The API; `None` where there is no token for it.
    pub github: Option<GitHub>,
}

impl RedRun {
    /// How a run ends whose tests pass although this one is red; `None` if it is red no longer, since somebody ran it again.
    pub(super) async fn end(&self, clock: &dyn Clock) -> Option<(Outcome, String)> {
        let jobs = match &self.github {
            Some(github) => {
                let github = github.with_deadline(clock.monotonic_ms().saturating_add(PATIENCE_MS));
                // What cannot be read is as red as the event says.
                github.jobs(self.id).await.unwrap_or_default()
            }
            None => Vec::new(),
        };
        let reason = said(&self.workflow, &jobs)?;
        Some((Outcome::Blocked { reason: reason.clone() }, reason))
    }
}

/// What of a red workflow upshift did not see; `None` where all of its jobs came to a good end in their latest attempt.
fn said(workflow: &str, jobs: &[Job]) -> Option<String> {
    let failed: Vec<&str> = jobs.iter().filter(|job| has_failed(job)).map(|job| job.name.as_str()).collect();
    let over = |job: &Job| job.progress == Progress::Completed;
    if failed.is_empty() && !jobs.is_empty() && jobs.iter().all(over) {
        return None;
    }
    let named = failed.iter().take(MOST_JOBS).copied().collect::<Vec<_>>().join(", ");
    Some(match failed.len() {
        0 => format!("the workflow {workflow} failed, and upshift did not run what failed in it"),
        more if more > MOST_JOBS => format!(
            "{named} and {} more failed in the workflow {workflow}, and upshift did not run what failed there",
            more - MOST_JOBS
        ),
        _ => format!("{named} failed in the workflow {workflow}, and upshift did not run what failed there"),
    })
}

fn has_failed(job: &Job) -> bool {
    match job.conclusion {
        Some(Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure) => true,
        Some(
            Conclusion::Success
            | Conclusion::Neutral
            | Conclusion::Skipped
            | Conclusion::Cancelled
            | Conclusion::Stale
            | Conclusion::ActionRequired
            | Conclusion::Unknown,
        )
        | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, progress: Progress, conclusion: Option<Conclusion>) -> Job {
        Job {
            id: 1,
            run_id: 1,
            name: name.to_owned(),
            progress,
            conclusion,
            html_url: String::new(),
            steps: Vec::new(),
        }
    }

    #[test]
    fn the_failed_jobs_are_named_and_a_run_that_is_green_by_now_is_nothing() {
        let done = |name: &str, end| job(name, Progress::Completed, Some(end));
        let red = [done("test", Conclusion::Success), done("lint", Conclusion::Failure)];
        let lint = "lint failed in the workflow CI, and upshift did not run what failed there";
        assert_eq!(said("CI", &red).as_deref(), Some(lint));
        assert_eq!(said("CI", &[done("test", Conclusion::Success), done("docs", Conclusion::Skipped)]), None);
        let unread = "the workflow CI failed, and upshift did not run what failed in it";
        assert_eq!(said("CI", &[]).as_deref(), Some(unread), "no job could be read");
        let again = [done("test", Conclusion::Success), job("lint", Progress::Running, None)];
        assert_eq!(said("CI", &again).as_deref(), Some(unread), "it is under way again");
        let many: Vec<Job> = (0..7).map(|n| done(&format!("os {n}"), Conclusion::TimedOut)).collect();
        assert!(
            said("CI", &many).is_some_and(|said| said.starts_with("os 0, os 1, os 2, os 3, os 4 and 2 more failed"))
        );
    }
}
