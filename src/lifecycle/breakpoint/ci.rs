//! The CI breakpoint: one look at what CI says of the pushed commit, and what of a red one a model is shown.

use std::path::Path;

use super::super::climb::Climb;
use super::super::context::Context;
use super::super::outside::Outside;
use super::super::state::Wait;
use super::seen::{Seen, Work};
use crate::domain::delivery::Answer;
use crate::domain::foreign::Foreign;
use crate::domain::test_report::TestReport;
use crate::domain::units::CommitSha;
use crate::domain::verdict::Exit;
use crate::github::checks::{self, CiState, Item, ItemKind, Question};
use crate::github::{Annotation, GitHub, GithubError};
use crate::test_run::{self, TestRun};

/// The most failing jobs that are looked into. The others are named.
const MOST_JOBS: usize = 3;
/// How much of a job's log is kept: its beginning and its end.
const LOG_BYTES: usize = 512 * 1024;
/// The most characters of one job that a model is shown.
const JOB_CHARS: usize = 3_000;
/// The most characters of a log's last lines that it is shown where no parser understands the log.
const TAIL_CHARS: usize = 1_500;
/// How many annotations of one job are shown.
const MOST_ANNOTATIONS: usize = 10;
/// The most characters of one annotation.
const ANNOTATION_CHARS: usize = 300;
/// How many places the failures may name.
const MOST_PLACES: usize = 12;
/// The advice on the setup that lets CI run on our pushes (GITHUB.md 1, 4).
const SET_UP: &str = "→ Fix: give `push-token` an App's installation token or a fine-grained personal token; pushes with the job's own \
                      GITHUB_TOKEN start no workflow";
/// The advice where somebody has to approve (GITHUB.md 2, 3).
const APPROVE: &str = "→ Fix: approve the run on its page, or give `push-token` an App's installation token or a fine-grained personal \
                       token, whose pushes need no approval";

/// Looks once.
pub(super) async fn look(
    context: &Context<'_>,
    (outside, github): (&Outside, &GitHub),
    climb: &Climb,
    wait: &Wait,
    waited_ms: u64,
) -> Result<Seen, GithubError> {
    if let Some(branch) = &climb.delivered.branch {
        let head = github.head_of(branch).await?;
        if let Some(head) = head.filter(|head| *head != wait.commit) {
            let detail = format!("{branch} is at {} now", head.short());
            return Ok(Seen::Answer(Answer::Superseded, detail));
        }
    }
    let required = required(context, github, climb).await;
    let facts = github.ci_facts(&wait.commit).await?;
    let since_push_ms = since_push_ms(context, climb).max(waited_ms);
    let question = Question {
        own_run: outside.own_run,
        own_workflows: &outside.own_workflows,
        required: &required,
        since_push_ms,
    };
    Ok(match checks::decide(&facts, &question) {
        CiState::Pending { unfinished, failing } if unfinished.is_empty() && failing.is_empty() => Seen::Settling,
        CiState::NotYet | CiState::Pending { .. } => Seen::Moving,
        CiState::Green { passed } => Seen::Answer(Answer::Green, format!("{passed} passed")),
        CiState::NeverAppeared => {
            Seen::Answer(Answer::Absent, format!("no check appeared for {} {SET_UP}", wait.commit.short()))
        }
        CiState::ActionRequired { failing, .. }
        | CiState::WaitingForEnvironment { failing, .. }
        | CiState::Red { failing }
            if !failing.is_empty() =>
        {
            red(context, github, wait, &failing).await?
        }
        CiState::Red { failing } => red(context, github, wait, &failing).await?,
        CiState::ActionRequired { runs, .. } => {
            Seen::Answer(Answer::NeedsApproval, format!("{} waits for an approval {APPROVE}", names(&runs)))
        }
        CiState::WaitingForEnvironment { runs, .. } => Seen::Answer(
            Answer::NeedsApproval,
            format!("{} waits for an environment's reviewer → Fix: approve it on the run's page", names(&runs)),
        ),
        CiState::Superseded { cancelled } => {
            Seen::Answer(Answer::Superseded, format!("{} was cancelled from outside", names(&cancelled)))
        }
        CiState::RequiredMissing { names } => Seen::Answer(
            Answer::Absent,
            format!(
                "the required {} never ran → Fix: let its workflow run for this change (a `paths` filter leaves it pending for ever), or \
                 give `push-token` a token whose pushes start workflows",
                names.join(", ")
            ),
        ),
    })
}

/// Whether CI runs here at all, as far as the commit tells that the run began on: where none does, nobody would be woken by its end.
pub(super) async fn is_known(context: &Context<'_>) -> bool {
    let (charter, outside) = (&context.charter, context.world.outside);
    let (Some(outside), Some(destination)) = (outside, &charter.destination) else { return false };
    let Some(github) = outside.github.as_ref().filter(|_| charter.red_ci.is_none()) else { return true };
    let question = Question {
        own_run: outside.own_run,
        own_workflows: &outside.own_workflows,
        required: &[],
        since_push_ms: checks::APPEAR_MS,
    };
    let facts = github.ci_facts(&destination.head).await;
    facts.map_or(true, |facts| checks::decide(&facts, &question) != CiState::NeverAppeared)
}

/// The names that have to pass before merging, where they can be read.
async fn required(context: &Context<'_>, github: &GitHub, climb: &Climb) -> Vec<String> {
    let Some(destination) = &context.charter.destination else { return Vec::new() };
    // Rules stand on the branch that is merged into: a pull request of ours goes to the branch that the run is about.
    let ours = climb.delivered.pull_request.is_some();
    let base = destination.base.as_ref().filter(|_| !ours).unwrap_or(&destination.branch);
    github.required_checks(base).await.unwrap_or_default()
}

fn since_push_ms(context: &Context<'_>, climb: &Climb) -> u64 {
    let since = context.world.clock.unix_ms().saturating_sub(climb.delivered.pushed_at_ms);
    u64::try_from(since).unwrap_or(0)
}

fn names(items: &[Item]) -> String {
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    names.join(", ")
}

/// Red CI, reduced to the failures that matter.
async fn red(context: &Context<'_>, github: &GitHub, wait: &Wait, failing: &[Item]) -> Result<Seen, GithubError> {
    Ok(Seen::Work(Answer::Red, work(context, github, &wait.commit, failing).await?))
}

/// The work for a model from the checks that failed for a commit on which the tests pass here.
///
/// # Errors
/// Errors of the API. Parts of one check that cannot be read are left out.
pub(in crate::lifecycle) async fn work(
    context: &Context<'_>,
    github: &GitHub,
    commit: &CommitSha,
    failing: &[Item],
) -> Result<Work, GithubError> {
    let mut told = format!("The tests pass here, but CI is red on the commit {}.\n", commit.short());
    let (mut tests, mut named, mut signature) = (Vec::new(), Vec::new(), String::new());
    for item in failing.iter().take(MOST_JOBS) {
        let log = match item.kind {
            ItemKind::Job { job, .. } => github.job_log(job, LOG_BYTES).await?.map(|log| log.text()),
            ItemKind::Check { .. } | ItemKind::Status | ItemKind::Run { .. } => None,
        };
        let annotations = match item.kind {
            ItemKind::Job { check_run, .. } | ItemKind::Check { check_run } => {
                github.annotations(check_run).await.unwrap_or_default()
            }
            ItemKind::Status | ItemKind::Run { .. } => Vec::new(),
        };
        let job = Reduced::of(context.world.workspace.root(), log.as_deref(), &annotations);
        told.push_str(&format!("\nFailing: {}\n{}\n", item.name, job.text));
        signature.push_str(&job.signature);
        tests.extend(if job.failing.is_empty() { vec![format!("CI: {}", item.name)] } else { job.failing });
        named.extend(job.named);
    }
    if failing.len() > MOST_JOBS {
        told.push_str(&format!("\nFailing too: {}\n", names(failing.get(MOST_JOBS..).unwrap_or_default())));
    }
    named.truncate(MOST_PLACES);
    let detail = names(failing);
    let failures = Foreign::new(&told);
    Ok(Work { detail, failures, failing: tests, named, signature })
}

/// The part of a job that matters.
#[derive(Debug, Default)]
struct Reduced {
    text: String,
    failing: Vec<String>,
    named: Vec<(String, Option<u32>)>,
    signature: String,
}

impl Reduced {
    fn of(root: &Path, log: Option<&str>, annotations: &[Annotation]) -> Self {
        let mut reduced = log.map(|log| Self::of_log(root, log)).unwrap_or_default();
        let failures = annotations.iter().filter(|annotation| annotation.annotation_level == "failure");
        for annotation in failures.take(MOST_ANNOTATIONS) {
            let message: String = annotation.message.chars().take(ANNOTATION_CHARS).collect();
            reduced.text.push_str(&format!("{}:{}: {message}\n", annotation.path, annotation.start_line));
            // The runner's own annotation ("Process completed with exit code 1.") names no file of the tree.
            if annotation.path != ".github" {
                reduced.named.push((annotation.path.clone(), u32::try_from(annotation.start_line).ok()));
            }
            reduced.signature.push_str(&message);
        }
        if reduced.text.trim().is_empty() {
            reduced.text = "its log cannot be read".to_owned();
        }
        reduced
    }

    fn of_log(root: &Path, log: &str) -> Self {
        let exit = Exit::Code { code: 1 };
        // A job may run other tests than ours does: its framework is recognised, not given.
        let Ok(reading) = test_run::read(&mut log.as_bytes(), Some(exit), None) else {
            return Self { text: tail(log), signature: tail(log), ..Self::default() };
        };
        let report = reading.report;
        let failing: Vec<String> = report.failing().map(|test| test.name.clone()).collect();
        let understood = !failing.is_empty() || !report.problems.is_empty();
        let signature = signature(&report, log);
        let named = places(&report);
        let text = if understood {
            let run = TestRun {
                exit,
                report,
                filed: test_run::Filed::NotAsked,
                output: tail(log),
                duration_ms: 0,
                stopped: None,
            };
            test_run::describe(&run, root, JOB_CHARS)
        } else {
            tail(log)
        };
        Self { text, failing, named, signature }
    }
}

fn signature(report: &TestReport, log: &str) -> String {
    let first = report.failing().map(|test| format!("{}: {}", test.name, test.message)).next();
    let problem = || report.problems.first().map(|problem| problem.message.clone());
    first.or_else(problem).unwrap_or_else(|| tail(log))
}

fn places(report: &TestReport) -> Vec<(String, Option<u32>)> {
    let problems = report.problems.iter().filter_map(|problem| Some((problem.file.clone()?, problem.line)));
    problems.chain(report.failing().filter_map(|test| Some((test.file.clone()?, test.line)))).collect()
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let count = log.chars().count();
    log.chars().skip(count.saturating_sub(TAIL_CHARS)).collect()
}
