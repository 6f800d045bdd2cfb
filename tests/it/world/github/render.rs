//! The world's things as GitHub's API shows them; everything that is not said here is the least that its description allows.

use serde_json::{Value, json};

use super::openapi::object;
use super::state::{
    Annotation, Artifact, Check, Comment, Job, Listed, Pull, Review, ReviewComment, Run, Status, World,
};

/// The moment when a world begins: 2026-03-01T12:00:00Z.
pub(super) const BEGINS_MS: u64 = 1_772_366_400_000;

/// Where the server can be reached, and the world that it shows.
pub(super) struct Renderer<'w> {
    pub(super) world: &'w World,
    pub(super) url: &'w str,
}

/// A moment of the machine's calendar as GitHub writes it.
pub(super) fn time(ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(ms).expect("a time")).expect("a time");
    format!("{at:.0}")
}

pub(super) fn user(login: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    object("simple-user", json!({ "login": login, "type": kind }))
}

/// The job's own page, as check runs link to it.
fn job_url(repository: &str, job: &Job) -> String {
    format!("https://github.com/{repository}/actions/runs/{}/job/{}", job.run, job.id)
}

fn ended(status: &str, conclusion: Option<&String>) -> Value {
    if status == "completed" { json!(conclusion) } else { Value::Null }
}

impl Renderer<'_> {
    fn time(&self, ms: u64) -> String {
        time(self.world.begins_ms + ms)
    }

    fn api(&self, rest: &str) -> String {
        format!("{}/repos/{}{rest}", self.url, self.world.repository)
    }

    fn repo(&self, full_name: &str) -> Value {
        let name = full_name.split('/').nth(1).unwrap_or_default();
        let owner = full_name.split('/').next().unwrap_or_default();
        let own = full_name == self.world.repository;
        json!({
            "id": if own { 7_000 } else { 7_001 },
            "name": name,
            "full_name": full_name,
            "owner": user(owner),
            "private": self.world.private,
            "default_branch": self.world.default_branch,
        })
    }

    pub(super) fn full_repository(&self) -> Value {
        let mut own = self.repo(&self.world.repository);
        let lacks = |what: &str| self.world.token.lacks.iter().any(|lack| lack == what);
        own["permissions"] = json!({ "admin": false, "push": !lacks("contents=write"), "pull": true, "triage": false, "maintain": false });
        if let Some(allows) = self.world.allows_auto_merge {
            own["allow_auto_merge"] = json!(allows);
            own["allow_merge_commit"] = json!(false);
        }
        object("full-repository", own)
    }

    pub(super) fn listed(&self, issue: &Listed) -> Value {
        let page = self.api(&format!("/pulls/{}", issue.number));
        let pull = json!({ "url": page, "html_url": page, "diff_url": page, "patch_url": page });
        let labels: Vec<Value> = issue.labels.iter().map(|name| json!({ "name": name })).collect();
        let mut shown = json!({
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "labels": labels,
            "user": user(&issue.author),
            "state": "open",
        });
        if issue.is_pull {
            shown["pull_request"] = pull;
        }
        object("issue", shown)
    }

    pub(super) fn comment(&self, comment: &Comment) -> Value {
        let page =
            format!("https://github.com/{}/pull/{}#issuecomment-{}", self.world.repository, comment.issue, comment.id);
        object(
            "issue-comment",
            json!({
                "id": comment.id,
                "body": comment.body,
                "user": user(&comment.author),
                "html_url": page,
                "url": self.api(&format!("/issues/comments/{}", comment.id)),
                "issue_url": self.api(&format!("/issues/{}", comment.issue)),
                "created_at": self.time(comment.created_ms),
                "updated_at": self.time(comment.updated_ms),
                "author_association": "NONE",
                "performed_via_github_app": null,
            }),
        )
    }

    fn end(&self, schema: &str, repository: &str, branch: &str, sha: &str) -> Value {
        let owner = repository.split('/').next().unwrap_or_default();
        json!({
            "label": format!("{owner}:{branch}"),
            "ref": branch,
            "sha": sha,
            "user": user(owner),
            "repo": object(schema, self.repo(repository)),
        })
    }

    pub(super) fn pull(&self, pull: &Pull, schema: &str) -> Value {
        let own = &self.world.repository;
        let head_repository = if pull.head_repository.is_empty() { own } else { &pull.head_repository };
        let base_sha = self.world.branches.get(&pull.base_branch).unwrap_or(&pull.base_sha);
        let merged = pull.state == "merged";
        let labels = pull.labels.iter().enumerate();
        let labels: Vec<Value> = labels
            .map(|(at, name)| {
                json!({ "id": at + 1, "node_id": "", "url": self.url, "name": name, "description": "", "color": "ededed",
                        "default": false })
            })
            .collect();
        let mut own_values = json!({
            "number": pull.number,
            "node_id": format!("PR_{}", pull.number),
            "title": pull.title,
            "body": pull.body,
            "state": if pull.state == "open" { "open" } else { "closed" },
            "draft": pull.draft,
            "user": user(&pull.author),
            "labels": labels,
            "html_url": format!("https://github.com/{own}/pull/{}", pull.number),
            "head": self.end("repository", head_repository, &pull.head_branch, &pull.head_sha),
            "base": self.end("repository", own, &pull.base_branch, base_sha),
            "merged_at": merged.then(|| self.time(0)),
            "closed_at": (pull.state != "open").then(|| self.time(0)),
            "merge_commit_sha": merged.then(|| pull.head_sha.clone()),
            "author_association": "NONE",
            "assignee": null,
            "milestone": null,
            "auto_merge": null,
            "active_lock_reason": null,
        });
        if schema == "pull-request" {
            own_values["merged"] = json!(merged);
            own_values["merged_by"] = Value::Null;
            own_values["mergeable"] = json!(true);
        }
        object(schema, own_values)
    }

    pub(super) fn review(&self, review: &Review) -> Value {
        object(
            "pull-request-review",
            json!({
                "id": review.id, "user": user(&review.author), "body": review.body, "state": review.state,
                "commit_id": review.sha, "submitted_at": self.time(review.at_ms), "author_association": "NONE",
            }),
        )
    }

    pub(super) fn review_comment(&self, comment: &ReviewComment) -> Value {
        object(
            "pull-request-review-comment",
            json!({
                "id": comment.id, "user": user(&comment.author), "body": comment.body, "path": comment.path,
                "line": comment.line, "created_at": self.time(comment.created_ms), "updated_at": self.time(comment.updated_ms),
                "author_association": "NONE", "pull_request_review_id": null,
            }),
        )
    }

    pub(super) fn check_of_job(&self, job: &Job, sha: &str) -> Value {
        let url = job_url(&self.world.repository, job);
        let check = Check {
            id: job.id,
            sha: sha.to_owned(),
            name: job.name.clone(),
            app: "github-actions".to_owned(),
            status: job.status.clone(),
            conclusion: job.conclusion.clone(),
            details_url: url,
            started_ms: job.started_ms,
            annotations: job.annotations.clone(),
            output: Default::default(),
        };
        self.check(&check)
    }

    pub(super) fn check(&self, check: &Check) -> Value {
        let [title, summary, text] = check.output.each_ref().map(|part| (!part.is_empty()).then_some(part));
        object(
            "check-run",
            json!({
                "id": check.id, "name": check.name, "head_sha": check.sha, "status": check.status,
                "conclusion": ended(&check.status, check.conclusion.as_ref()),
                "details_url": check.details_url, "html_url": check.details_url,
                "started_at": check.started_ms.map(|ms| self.time(ms)),
                "completed_at": (check.status == "completed").then(|| self.time(check.started_ms.unwrap_or(0))),
                "app": { "slug": check.app, "name": check.app },
                "output": { "annotations_count": check.annotations.len(), "title": title, "summary": summary,
                            "text": text },
                "check_suite": { "id": 1 },
            }),
        )
    }

    pub(super) fn annotation(annotation: &Annotation) -> Value {
        object(
            "check-annotation",
            json!({
                "path": annotation.path, "start_line": annotation.line, "end_line": annotation.line,
                "annotation_level": annotation.level, "message": annotation.message, "title": null,
            }),
        )
    }

    pub(super) fn status(status: &Status) -> Value {
        object(
            "simple-commit-status",
            json!({ "context": status.context, "state": status.state, "description": status.description,
                    "target_url": status.url }),
        )
    }

    pub(super) fn run(&self, run: &Run) -> Value {
        object(
            "workflow-run",
            json!({
                "id": run.id, "workflow_id": run.workflow_id, "name": run.name, "path": run.path, "event": run.event,
                "status": run.status, "conclusion": ended(&run.status, run.conclusion.as_ref()),
                "head_sha": run.sha, "head_branch": run.branch, "run_attempt": run.attempt.max(1),
                "created_at": self.time(run.created_ms), "updated_at": self.time(run.updated_ms),
                "html_url": format!("https://github.com/{}/actions/runs/{}", self.world.repository, run.id),
                "repository": self.repo(&self.world.repository),
                "head_repository": self.repo(&self.world.repository),
                "pull_requests": [],
            }),
        )
    }

    pub(super) fn job(&self, job: &Job, run: &Run) -> Value {
        let step = |name: &str, number: u64, end: &str| json!({ "name": name, "number": number, "status": "completed", "conclusion": end });
        let mut steps = vec![step("Set up job", 1, "success")];
        steps.extend(job.failed_step.iter().map(|name| step(name, 2, "failure")));
        object(
            "job",
            json!({
                "id": job.id, "run_id": job.run, "name": job.name, "status": job.status, "head_sha": run.sha,
                "conclusion": ended(&job.status, job.conclusion.as_ref()),
                "html_url": job_url(&self.world.repository, job),
                "started_at": self.time(job.started_ms.unwrap_or(0)),
                "completed_at": (job.status == "completed").then(|| self.time(job.started_ms.unwrap_or(0))),
                "workflow_name": run.name,
                "steps": steps,
            }),
        )
    }

    pub(super) fn artifact(&self, artifact: &Artifact) -> Value {
        object(
            "artifact",
            json!({
                "id": artifact.id, "name": artifact.name, "expired": artifact.expired,
                "size_in_bytes": artifact.zip.len() / 4 * 3, "created_at": self.time(artifact.created_ms),
                "archive_download_url": self.api(&format!("/actions/artifacts/{}/zip", artifact.id)),
                "workflow_run": {
                    "id": artifact.run, "repository_id": 7_000, "head_branch": artifact.branch, "head_sha": artifact.sha,
                    "head_repository_id": if artifact.fork { 7_001 } else { 7_000 },
                },
            }),
        )
    }

    pub(super) fn commit(&self, sha: &str) -> Value {
        let commit = self.world.commits.get(sha).cloned().unwrap_or_default();
        let parents: Vec<Value> =
            commit.parents.iter().map(|sha| json!({ "sha": sha, "url": self.url, "html_url": self.url })).collect();
        object(
            "commit",
            json!({
                "sha": sha,
                "commit": { "message": commit.message, "author": null, "committer": null },
                "author": commit.author.as_deref().map(user),
                "committer": null,
                "parents": parents,
            }),
        )
    }
}
