//! What is there in the fake GitHub: plain data, read from a scenario's JSON or set by a test, and what time does to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::git;

/// Everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct World {
    /// `owner/name`.
    pub(crate) repository: String,
    pub(crate) default_branch: String,
    /// When it began, in milliseconds since the epoch; a world in the machine's time begins when it is started.
    pub(crate) begins_ms: u64,
    pub(crate) private: bool,
    pub(crate) token: Token,
    /// A bare git repository whose branches, commits and files are the ones of this repository.
    pub(crate) git_dir: Option<PathBuf>,
    /// Branches and commits; filled from `git_dir` if there is one.
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) commits: BTreeMap<String, Commit>,
    /// `REF:PATH` to content, for worlds without `git_dir`.
    pub(crate) files: BTreeMap<String, String>,
    /// What each account may do: `admin`, `maintain`, `write`, `triage`, `read`, `none`.
    pub(crate) roles: BTreeMap<String, String>,
    /// The accounts that anybody may look at, and their types: `User`, `Bot`.
    pub(crate) accounts: BTreeMap<String, String>,
    pub(crate) pulls: Vec<Pull>,
    /// Issues that are no pull requests, and their states: `open`, `closed`.
    pub(crate) issues: BTreeMap<u64, String>,
    /// Open issues with their text, and pull requests among them.
    pub(crate) listed: Vec<Listed>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) review_comments: Vec<ReviewComment>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) checks: Vec<Check>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) runs: Vec<Run>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) artifacts: Vec<Artifact>,
    /// The objects of `GET rules/branches/{branch}`, for every branch.
    pub(crate) rules: Vec<Value>,
    /// What branch protection requires on the default branch.
    pub(crate) required_checks: Vec<String>,
    /// Whether pull requests may be merged by themselves; not told where `None`.
    pub(crate) allows_auto_merge: Option<bool>,
    /// The pull requests that are to be, and how.
    pub(crate) auto_merges: Vec<(u64, String)>,
    /// What CI does after the first push, the second, …; the last one stays.
    pub(crate) ci: Vec<CiPlan>,
    /// What happens by itself, and when (milliseconds after the world began).
    pub(crate) later: Vec<Later>,
    pub(crate) limits: Limits,
    pub(crate) faults: Vec<Fault>,
    /// How the runs end whose failed jobs begin again, in this order. Any more of them stay queued.
    pub(crate) reruns: Vec<String>,
    /// Pushes seen so far.
    pub(crate) pushes: Vec<Push>,
    /// The commits that were made through the API and signed.
    pub(crate) signed: Vec<String>,
    /// The last id that was given out.
    pub(crate) last_id: u64,
    pub(crate) max_body: usize,
    /// The path that the API is below: `/api/v3` on a GitHub Enterprise Server, `/api/v1` on Gitea.
    pub(crate) prefix: String,
    /// What the forge does not have, by its route, and the status that it answers then.
    pub(crate) missing: BTreeMap<String, u16>,
    /// Whether pages tell where the last one is; Gitea's and some proxies' do not always.
    pub(crate) links_last: bool,
    /// Whether an answer that has not changed can be asked for free.
    pub(crate) sends_etags: bool,
}

impl Default for World {
    fn default() -> Self {
        Self {
            repository: "octo/demo".to_owned(),
            default_branch: "main".to_owned(),
            begins_ms: super::render::BEGINS_MS,
            private: false,
            token: Token::default(),
            git_dir: None,
            branches: BTreeMap::new(),
            commits: BTreeMap::new(),
            files: BTreeMap::new(),
            roles: BTreeMap::new(),
            accounts: BTreeMap::new(),
            pulls: Vec::new(),
            issues: BTreeMap::new(),
            listed: Vec::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            review_comments: Vec::new(),
            reactions: Vec::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            runs: Vec::new(),
            jobs: Vec::new(),
            artifacts: Vec::new(),
            rules: Vec::new(),
            required_checks: Vec::new(),
            allows_auto_merge: None,
            auto_merges: Vec::new(),
            ci: Vec::new(),
            later: Vec::new(),
            limits: Limits::default(),
            faults: Vec::new(),
            reruns: Vec::new(),
            pushes: Vec::new(),
            signed: Vec::new(),
            last_id: 1_000,
            max_body: 65_536,
            prefix: String::new(),
            missing: BTreeMap::new(),
            links_last: true,
            sends_etags: true,
        }
    }
}

/// The token that the client has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Token {
    /// The values that are accepted; any if empty.
    pub(crate) accepted: Vec<String>,
    /// Whose it is; a `[bot]` cannot ask who it is.
    pub(crate) login: String,
    /// When it ends to be accepted, in milliseconds after the world began.
    pub(crate) revoked_at_ms: Option<u64>,
    /// What it lacks: `pull_requests=write`.
    pub(crate) lacks: Vec<String>,
    /// Whether CI begins after its pushes (GITHUB.md 1).
    pub(crate) starts_ci: bool,
    /// Whether the repository lets jobs open pull requests; `None` where the token may not ask.
    pub(crate) jobs_may_propose: Option<bool>,
}

impl Default for Token {
    fn default() -> Self {
        let login = "github-actions[bot]".to_owned();
        Self {
            accepted: Vec::new(),
            login,
            revoked_at_ms: None,
            lacks: Vec::new(),
            starts_ci: true,
            jobs_may_propose: None,
        }
    }
}

macro_rules! data {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ })+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
        pub(crate) struct $name { $($(#[$field_doc])* pub(crate) $field: $type,)+ })+
    };
}

data! {
    Commit { message: String, author: Option<String>, parents: Vec<String>, }
    Pull {
        number: u64, title: String, body: String,
        /// `open`, `closed` or `merged`.
        state: String,
        draft: bool, author: String, labels: Vec<String>,
        head_branch: String,
        /// The repository of the head; this one if empty.
        head_repository: String,
        /// Followed from the branch of this repository while it is open.
        head_sha: String,
        base_branch: String, base_sha: String,
    }
    Listed { number: u64, title: String, body: String, labels: Vec<String>, author: String, is_pull: bool, }
    Comment {
        id: u64, issue: u64, author: String, body: String, created_ms: u64, updated_ms: u64,
        /// How often it was edited.
        edits: u64,
    }
    Review { id: u64, pull: u64, author: String, state: String, body: String, sha: String, at_ms: u64, }
    ReviewComment {
        id: u64, pull: u64, author: String, body: String, path: String, line: Option<u64>, created_ms: u64, updated_ms: u64,
    }
    Reaction { comment: u64, content: String, author: String, }
    /// A check run of another app than Actions.
    Check {
        id: u64, sha: String, name: String, app: String, status: String, conclusion: Option<String>, details_url: String,
        started_ms: Option<u64>, annotations: Vec<Annotation>,
        /// Its report: title, summary and text.
        output: [String; 3],
    }
    Annotation { path: String, line: u64, level: String, message: String, }
    Status { sha: String, context: String, state: String, description: String, url: String, }
    Run {
        id: u64, sha: String, branch: String, workflow_id: u64, name: String, path: String, event: String, status: String,
        conclusion: Option<String>, attempt: u64, created_ms: u64, updated_ms: u64,
    }
    /// A job of a run: also the check run of the same id.
    Job {
        id: u64, run: u64, name: String, status: String, conclusion: Option<String>, log: Option<String>,
        annotations: Vec<Annotation>, started_ms: Option<u64>,
        /// The name of the step that failed.
        failed_step: Option<String>,
    }
    Artifact {
        id: u64, name: String, run: u64, sha: String, branch: String, expired: bool, created_ms: u64,
        /// Whether the run's commit is from another repository.
        fork: bool,
        /// The zip archive, in base64.
        zip: String,
    }
    /// What CI does with a pushed commit.
    CiPlan {
        /// How long after the push the run appears; CI is silent without it.
        appears_after_ms: Option<u64>,
        /// How long it then takes.
        takes_ms: u64,
        workflow: String,
        event: String,
        jobs: Vec<JobPlan>,
        /// What holds the run back instead of running: `action_required`, `waiting`.
        held: Option<String>,
        statuses: Vec<Status>,
    }
    JobPlan { name: String, conclusion: String, log: String, annotations: Vec<Annotation>, }
    Push { branch: String, sha: String, at_ms: u64, }
    Limits {
        /// What is left of the hour; no limit if `None`.
        remaining: Option<u64>,
        limit: u64,
        /// When it is refilled, in milliseconds after the world began.
        resets_at_ms: u64,
    }
    /// Something that goes wrong, once unless `times` says more.
    Fault {
        method: String,
        /// A part of the path.
        path: String,
        effect: Effect,
        /// How often it still happens.
        times: u64,
        /// How many requests that it fits pass unharmed before.
        skip: u64,
    }
}

/// How it goes wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Effect {
    /// Done, but the connection is cut instead of an answer.
    #[default]
    LoseAnswer,
    /// The connection is cut before anything is done.
    Drop,
    /// Nothing is done and nothing is answered, as long as the client holds out.
    Hang,
    /// Another answer; nothing is done.
    Status { code: u16, headers: BTreeMap<String, String>, body: Value },
    /// Done, but another answer.
    DoneBut { code: u16 },
}

/// Something that happens by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Later {
    pub(crate) at_ms: u64,
    pub(crate) what: Happening,
}

/// What can happen by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Happening {
    RunAppears(Run, Vec<Job>, Vec<Status>),
    RunEnds { run: u64, conclusion: String },
    PullIs { number: u64, state: String },
    CommentAppears(Comment),
    ReviewAppears(Review),
    StatusIs(Status),
    CheckIs(Check),
    BranchMoves { branch: String, sha: String },
}

impl World {
    pub(crate) fn owner(&self) -> &str {
        self.repository.split('/').next().unwrap_or_default()
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Lets everything happen that is due, and sees what was pushed meanwhile.
    pub(super) fn advance(&mut self, now_ms: u64) {
        if let Some(git_dir) = self.git_dir.clone() {
            for (branch, sha) in git::branches(&git_dir) {
                if self.branches.get(&branch) != Some(&sha) {
                    self.seed_commits(&git_dir, &sha);
                    let known = self.branches.insert(branch.clone(), sha.clone()).is_some();
                    // What was there when the world began was not pushed.
                    if known || now_ms > 0 {
                        self.pushed(&branch, &sha, now_ms);
                    }
                }
            }
        }
        self.later.sort_by_key(|later| later.at_ms);
        while self.later.first().is_some_and(|later| later.at_ms <= now_ms) {
            let due = self.later.remove(0);
            self.happen(due.what, due.at_ms);
        }
    }

    fn seed_commits(&mut self, git_dir: &std::path::Path, sha: &str) {
        for (sha, commit) in git::commits(git_dir, sha) {
            self.commits.entry(sha).or_insert(commit);
        }
    }

    /// A branch was pushed: open pull requests follow it, and CI does what is planned for this push.
    pub(crate) fn pushed(&mut self, branch: &str, sha: &str, now_ms: u64) {
        self.branches.insert(branch.to_owned(), sha.to_owned());
        for pull in self.pulls.iter_mut().filter(|pull| pull.state == "open" && pull.head_repository.is_empty()) {
            if pull.head_branch == branch {
                sha.clone_into(&mut pull.head_sha);
            }
        }
        let plan = self.ci.get(self.pushes.len()).or_else(|| self.ci.last()).cloned();
        self.pushes.push(Push { branch: branch.to_owned(), sha: sha.to_owned(), at_ms: now_ms });
        if let (Some(plan), true) = (plan, self.token.starts_ci) {
            self.plan(&plan, branch, sha, now_ms);
        }
    }

    fn plan(&mut self, plan: &CiPlan, branch: &str, sha: &str, now_ms: u64) {
        let Some(after) = plan.appears_after_ms else { return };
        let id = self.new_id();
        let workflow = if plan.workflow.is_empty() { "ci" } else { &plan.workflow };
        let event = if plan.event.is_empty() { "pull_request" } else { &plan.event };
        let run = Run {
            id,
            sha: sha.to_owned(),
            branch: branch.to_owned(),
            workflow_id: workflow.bytes().map(u64::from).sum(),
            name: workflow.to_owned(),
            path: format!(".github/workflows/{workflow}.yml"),
            event: event.to_owned(),
            status: plan.held.clone().unwrap_or_else(|| "in_progress".to_owned()),
            conclusion: None,
            attempt: 1,
            ..Run::default()
        };
        let run = match plan.held.as_deref() {
            Some("action_required") => {
                Run { status: "completed".to_owned(), conclusion: Some("action_required".to_owned()), ..run }
            }
            _ => run,
        };
        let jobs = plan.jobs.iter().filter(|_| plan.held.is_none()).map(|job| Job {
            id: self.new_id(),
            run: id,
            name: job.name.clone(),
            status: "in_progress".to_owned(),
            conclusion: Some(job.conclusion.clone()),
            log: Some(job.log.clone()),
            annotations: job.annotations.clone(),
            started_ms: None,
            failed_step: None,
        });
        let jobs: Vec<Job> = jobs.collect();
        let bad = jobs.iter().find_map(|job| job.conclusion.clone().filter(|end| end != "success" && end != "skipped"));
        let statuses = plan.statuses.iter().map(|status| Status { sha: sha.to_owned(), ..status.clone() }).collect();
        self.later.push(Later { at_ms: now_ms + after, what: Happening::RunAppears(run, jobs, statuses) });
        if plan.held.is_none() {
            let conclusion = bad.unwrap_or_else(|| "success".to_owned());
            let what = Happening::RunEnds { run: id, conclusion };
            self.later.push(Later { at_ms: now_ms + after + plan.takes_ms, what });
        }
    }

    fn happen(&mut self, what: Happening, at_ms: u64) {
        match what {
            Happening::RunAppears(run, jobs, statuses) => {
                self.runs.push(Run { created_ms: at_ms, updated_ms: at_ms, ..run });
                self.jobs.extend(jobs.into_iter().map(|job| Job { started_ms: Some(at_ms), ..job }));
                statuses.into_iter().for_each(|status| self.set_status(status));
            }
            Happening::RunEnds { run, conclusion } => {
                for found in self.runs.iter_mut().filter(|found| found.id == run) {
                    "completed".clone_into(&mut found.status);
                    found.conclusion = Some(conclusion.clone());
                    found.updated_ms = at_ms;
                }
                for job in self.jobs.iter_mut().filter(|job| job.run == run) {
                    "completed".clone_into(&mut job.status);
                }
            }
            Happening::PullIs { number, state } => {
                for pull in self.pulls.iter_mut().filter(|pull| pull.number == number) {
                    pull.state.clone_from(&state);
                }
            }
            Happening::CommentAppears(comment) => {
                let id = if comment.id == 0 { self.new_id() } else { comment.id };
                self.comments.push(Comment { id, created_ms: at_ms, updated_ms: at_ms, ..comment });
            }
            Happening::ReviewAppears(review) => {
                let id = if review.id == 0 { self.new_id() } else { review.id };
                self.reviews.push(Review { id, at_ms, ..review });
            }
            Happening::StatusIs(status) => self.set_status(status),
            Happening::CheckIs(check) => {
                self.checks.retain(|known| known.id != check.id);
                self.checks.push(check);
            }
            Happening::BranchMoves { branch, sha } => self.pushed(&branch, &sha, at_ms),
        }
    }

    fn set_status(&mut self, status: Status) {
        self.statuses.retain(|known| (&known.sha, &known.context) != (&status.sha, &status.context));
        self.statuses.push(status);
    }

    /// A commit by its id, by the start of it, or by a branch that is at it.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        let name = name.trim_start_matches("refs/heads/");
        if let Some(sha) = self.branches.get(name) {
            return Some(sha.clone());
        }
        let known = |sha: &&String| name.len() >= 7 && sha.starts_with(name);
        let pulled = self.pulls.iter().map(|pull| &pull.head_sha);
        let mentioned = self.commits.keys().chain(self.branches.values()).chain(pulled);
        mentioned.chain(self.runs.iter().map(|run| &run.sha)).find(known).cloned()
    }
}
