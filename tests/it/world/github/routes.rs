//! What the fake GitHub does with a request: one function per operation of the description.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::openapi::{Operation, object};
use super::render::{self, Renderer};
use super::state::{Job, Run, World};
use super::{git, writes};

/// A request, as the operations see it.
pub(super) struct Asked<'r> {
    pub(super) method: &'r str,
    pub(super) path: &'r str,
    pub(super) body: Value,
    pub(super) now_ms: u64,
    /// Where the API is.
    pub(super) url: &'r str,
    /// Where logs and artifacts lie: another origin.
    pub(super) blobs: &'r str,
    /// Whether pages tell where the last one is.
    pub(super) links_last: bool,
}

/// An answer before it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Option<Value>,
    pub(super) headers: Vec<(String, String)>,
}

impl Reply {
    pub(super) fn json(status: u16, body: Value) -> Self {
        Self { status, body: Some(body), headers: Vec::new() }
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        Self::json(status, json!({ "message": message, "documentation_url": "https://docs.github.com/rest" }))
    }

    pub(super) fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    /// 422 as GitHub gives it: with the field that is wrong.
    pub(super) fn invalid(message: &str) -> Self {
        Self::json(
            422,
            json!({ "message": "Validation Failed", "documentation_url": "https://docs.github.com/rest",
                    "errors": [{ "code": "custom", "resource": "IssueComment", "field": "body", "message": message }] }),
        )
    }

    fn redirect(to: String) -> Self {
        Self { status: 302, body: None, headers: vec![("location".to_owned(), to)] }
    }
}

impl Asked<'_> {
    /// The parts of the path behind `/repos/OWNER/NAME/`, unescaped.
    pub(super) fn parts(&self) -> Vec<String> {
        let path = self.path.split('?').next().unwrap_or_default();
        path.split('/').skip(4).map(unescaped).collect()
    }

    pub(super) fn number(&self, at: usize) -> u64 {
        self.parts().get(at).and_then(|part| part.parse().ok()).unwrap_or(0)
    }

    pub(super) fn query(&self, name: &str) -> Option<String> {
        let query = self.path.split_once('?')?.1;
        let found = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        found.map(|(_, value)| unescaped(value))
    }

    /// One page of a list; `wrap` names the key of lists that come in an object.
    fn page<T>(&self, entries: impl Iterator<Item = T>, wrap: Option<&str>, show: impl Fn(T) -> Value) -> Reply {
        let entries: Vec<T> = entries.collect();
        let size = self.query("per_page").and_then(|size| size.parse().ok()).unwrap_or(30_usize).clamp(1, 100);
        let number = self.query("page").and_then(|page| page.parse().ok()).unwrap_or(1_usize).max(1);
        let total = entries.len();
        let last = total.div_ceil(size).max(1);
        let shown: Vec<Value> = entries.into_iter().skip((number - 1) * size).take(size).map(show).collect();
        let body = match wrap {
            Some(key) => json!({ "total_count": total, key: shown }),
            None => Value::Array(shown),
        };
        let mut reply = Reply::json(200, body);
        let mut links = Vec::new();
        let mut link = |page: usize, rel: &str| links.push(format!("<{}>; rel=\"{rel}\"", self.with_page(page)));
        if number < last {
            link(number + 1, "next");
            if self.links_last {
                link(last, "last");
            }
        }
        if number > 1 {
            link(1, "first");
            link(number - 1, "prev");
        }
        if !links.is_empty() {
            reply.headers.push(("link".to_owned(), links.join(", ")));
        }
        reply
    }

    fn with_page(&self, page: usize) -> String {
        let (path, query) = self.path.split_once('?').unwrap_or((self.path, ""));
        let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page="));
        let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("page={page}")]).collect();
        format!("{}{path}?{}", self.url, pairs.join("&"))
    }
}

pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match (*first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Carries a request out; `None` when the fake does not do this operation.
pub(super) fn answer(world: &mut World, operation: &Operation, asked: &Asked<'_>) -> Option<Reply> {
    if !asked.path.starts_with(&format!("/repos/{}", world.repository)) && asked.path.starts_with("/repos/") {
        return Some(Reply::not_found());
    }
    let route = operation.route();
    if asked.method != "GET" {
        return writes::answer(world, &route, asked);
    }
    let shown = Renderer { world, url: asked.url };
    Some(match route.as_str() {
        "/user" if world.token.login.ends_with("[bot]") => Reply::error(403, "Resource not accessible by integration"),
        "/user" => Reply::json(200, object("public-user", json!({ "login": world.token.login, "type": "User" }))),
        "/users/{username}" => account(world, asked),
        "/apps/{app_slug}" => app(world, asked),
        "/rate_limit" => Reply::json(200, rate_limit(world)),
        "/actions/permissions/workflow" => match world.token.jobs_may_propose {
            None => Reply::error(403, "Resource not accessible by integration"),
            Some(may) => Reply::json(
                200,
                json!({ "default_workflow_permissions": "read", "can_approve_pull_request_reviews": may }),
            ),
        },
        "" => Reply::json(200, shown.full_repository()),
        "/collaborators/{username}/permission" => permission(world, asked),
        "/pulls" => pulls(&shown, asked),
        "/pulls/{pull_number}" => match pull(world, asked) {
            Some(pull) => Reply::json(200, shown.pull(pull, "pull-request")),
            None => Reply::not_found(),
        },
        "/pulls/{pull_number}/commits" => match pull(world, asked) {
            Some(pull) => {
                asked.page(range(world, &pull.base_branch, &pull.head_sha).iter(), None, |sha| shown.commit(sha))
            }
            None => Reply::not_found(),
        },
        "/commits/{commit_sha}/pulls" => {
            let sha = asked.parts()[1].clone();
            let holding = world.pulls.iter().filter(|pull| pull.head_sha == sha);
            asked.page(holding, None, |pull| shown.pull(pull, "pull-request-simple"))
        }
        route if route.starts_with("/actions") => actions(&shown, route, asked)?,
        route if route.starts_with("/git/") => git_data(world, route, asked)?,
        route => conversations(&shown, route, asked).or_else(|| code(&shown, route, asked))?,
    })
}

fn rate_limit(world: &World) -> Value {
    let left = world.limits.remaining.unwrap_or(5_000);
    let core = json!({ "limit": 5_000, "remaining": left, "reset": 1, "used": 0 });
    object("rate-limit-overview", json!({ "rate": core, "resources": { "core": core, "search": core } }))
}

fn permission(world: &World, asked: &Asked<'_>) -> Reply {
    let login = asked.parts()[1].clone();
    let role = world.roles.get(&login).map_or("none", String::as_str);
    let folded = match role {
        "maintain" => "write",
        "triage" => "read",
        other => other,
    };
    let body = json!({ "permission": folded, "role_name": role, "user": { "login": login } });
    Reply::json(200, object("repository-collaborator-permission", body))
}

/// The last part of a path that is no repository's.
fn last_part(asked: &Asked<'_>) -> String {
    unescaped(asked.path.rsplit('/').next().unwrap_or_default())
}

fn account(world: &World, asked: &Asked<'_>) -> Reply {
    let login = last_part(asked);
    match world.accounts.get(&login) {
        Some(kind) => Reply::json(200, object("public-user", json!({ "login": login, "type": kind }))),
        None => Reply::not_found(),
    }
}

/// The App of a bot's account: each of them has one, but for those whose account is no bot's.
fn app(world: &World, asked: &Asked<'_>) -> Reply {
    let slug = last_part(asked);
    if world.accounts.get(&format!("{slug}[bot]")).is_none_or(|kind| kind != "Bot") {
        return Reply::not_found();
    }
    let body = json!({ "slug": slug, "name": slug, "owner": render::user("appmaker") });
    Reply::json(200, object("integration", body))
}

pub(super) fn pull<'w>(world: &'w World, asked: &Asked<'_>) -> Option<&'w super::state::Pull> {
    let number = asked.number(1);
    world.pulls.iter().find(|pull| pull.number == number)
}

fn pulls(shown: &Renderer<'_>, asked: &Asked<'_>) -> Reply {
    let world = shown.world;
    let head = asked.query("head");
    let state = asked.query("state").unwrap_or_else(|| "open".to_owned());
    let fits = |pull: &&super::state::Pull| {
        let owner = pull.head_repository.split('/').next().filter(|owner| !owner.is_empty()).unwrap_or(world.owner());
        let of_head = head.as_ref().is_none_or(|head| *head == format!("{owner}:{}", pull.head_branch));
        of_head && (state == "all" || (state == "open") == (pull.state == "open"))
    };
    let found = world.pulls.iter().filter(fits);
    asked.page(found, None, |pull| shown.pull(pull, "pull-request-simple"))
}

/// Comments, reviews and reactions.
fn conversations(shown: &Renderer<'_>, route: &str, asked: &Asked<'_>) -> Option<Reply> {
    let world = shown.world;
    let since = asked.query("since");
    let recent = |ms: u64| since.as_ref().is_none_or(|since| render::time(world.begins_ms + ms) >= *since);
    let number = asked.number(1);
    Some(match route {
        "/issues" => {
            let label = asked.query("labels").unwrap_or_default();
            let of = world.listed.iter().filter(|issue| issue.labels.contains(&label));
            asked.page(of, None, |issue| shown.listed(issue))
        }
        "/issues/{issue_number}/comments" if world.pulls.iter().all(|pull| pull.number != number) => Reply::not_found(),
        "/issues/{issue_number}/comments" => {
            let of = world.comments.iter().filter(|comment| comment.issue == number && recent(comment.updated_ms));
            asked.page(of, None, |comment| shown.comment(comment))
        }
        "/issues/{issue_number}" => match world.issues.get(&number) {
            Some(state) => Reply::json(200, object("issue", json!({ "number": number, "state": state }))),
            None => match world.pulls.iter().find(|pull| pull.number == number) {
                Some(pull) => {
                    let state = if pull.state == "open" { "open" } else { "closed" };
                    let page = format!("{}/pulls/{number}", shown.url);
                    let pull_request = json!({ "url": page, "html_url": page, "diff_url": page, "patch_url": page });
                    let body = json!({ "number": number, "state": state, "pull_request": pull_request });
                    Reply::json(200, object("issue", body))
                }
                None => Reply::not_found(),
            },
        },
        "/issues/comments" => {
            let mut all: Vec<_> = world.comments.iter().filter(|comment| recent(comment.updated_ms)).collect();
            if asked.query("sort").as_deref() == Some("updated") {
                all.sort_by_key(|comment| (comment.updated_ms, comment.id));
            }
            if asked.query("direction").as_deref() == Some("desc") {
                all.reverse();
            }
            asked.page(all.into_iter(), None, |comment| shown.comment(comment))
        }
        "/issues/comments/{comment_id}" => {
            let found = world.comments.iter().find(|comment| comment.id == asked.number(2));
            found.map_or_else(Reply::not_found, |comment| Reply::json(200, shown.comment(comment)))
        }
        "/pulls/{pull_number}/reviews" => {
            let of = world.reviews.iter().filter(|review| review.pull == number);
            asked.page(of, None, |review| shown.review(review))
        }
        "/pulls/{pull_number}/comments" => {
            let of =
                world.review_comments.iter().filter(|comment| comment.pull == number && recent(comment.updated_ms));
            asked.page(of, None, |comment| shown.review_comment(comment))
        }
        _ => return None,
    })
}

/// Branches, rules, files, commits and what CI says of them.
fn code(shown: &Renderer<'_>, route: &str, asked: &Asked<'_>) -> Option<Reply> {
    let world = shown.world;
    let parts = asked.parts();
    let second = parts.get(1).cloned().unwrap_or_default();
    Some(match route {
        "/branches/{branch}" => match world.branches.get(&second) {
            None => Reply::error(404, "Branch not found"),
            Some(sha) => {
                let required = if second == world.default_branch { world.required_checks.clone() } else { Vec::new() };
                let protection = json!({ "enabled": !required.is_empty(), "required_status_checks":
                    { "enforcement_level": "non_admins", "contexts": required, "checks": [] } });
                let body = json!({ "name": second, "commit": shown.commit(sha), "protected": !world.required_checks.is_empty(),
                                   "protection": protection });
                Reply::json(200, object("branch-with-protection", body))
            }
        },
        "/rules/branches/{branch}" => asked.page(world.rules.iter(), None, Value::clone),
        "/contents/{path}" => contents(world, asked),
        "/compare/{basehead}" => {
            let Some((base, head)) = second.split_once("...") else { return Some(Reply::not_found()) };
            let (ahead, behind) = (range(world, base, head), range(world, head, base));
            let commits: Vec<Value> = ahead.iter().map(|sha| shown.commit(sha)).collect();
            let body = json!({ "ahead_by": ahead.len(), "behind_by": behind.len(), "total_commits": ahead.len(),
                               "commits": commits });
            Reply::json(200, object("commit-comparison", body))
        }
        "/commits/{ref}" => match world.resolve(&second).filter(|sha| world.commits.contains_key(sha)) {
            Some(sha) => Reply::json(200, shown.commit(&sha)),
            None => Reply::error(422, "No commit found for SHA"),
        },
        "/commits/{ref}/check-runs" => {
            let jobs = world.jobs.iter().filter_map(|job| Some((job, run_of(world, job)?)));
            let of_jobs = jobs.filter(|(_, run)| run.sha == second).map(|(job, run)| shown.check_of_job(job, &run.sha));
            let others = world.checks.iter().filter(|check| check.sha == second).map(|check| shown.check(check));
            asked.page(of_jobs.chain(others), Some("check_runs"), |check| check)
        }
        "/commits/{ref}/status" => {
            let of = world.statuses.iter().filter(|status| status.sha == second);
            let mut reply = asked.page(of, Some("statuses"), Renderer::status);
            let mut body = reply.body.take().unwrap_or_default();
            body["sha"] = json!(second);
            body["state"] = json!("pending");
            reply.body = Some(object("combined-commit-status", body));
            reply
        }
        "/check-runs/{check_run_id}" => {
            let id = asked.number(1);
            let of_job = world.jobs.iter().find(|job| job.id == id).and_then(|job| Some((job, run_of(world, job)?)));
            let of_job = of_job.map(|(job, run)| shown.check_of_job(job, &run.sha));
            let found =
                of_job.or_else(|| world.checks.iter().find(|check| check.id == id).map(|check| shown.check(check)));
            found.map_or_else(Reply::not_found, |check| Reply::json(200, check))
        }
        "/check-runs/{check_run_id}/annotations" => {
            let id = asked.number(1);
            let of_job = world.jobs.iter().find(|job| job.id == id).map(|job| &job.annotations);
            let found =
                of_job.or_else(|| world.checks.iter().find(|check| check.id == id).map(|check| &check.annotations));
            let Some(found) = found else { return Some(Reply::not_found()) };
            asked.page(found.iter(), None, Renderer::annotation)
        }
        _ => return None,
    })
}

fn contents(world: &World, asked: &Asked<'_>) -> Reply {
    let path = asked.parts()[1..].join("/");
    let at = asked.query("ref").unwrap_or_else(|| world.default_branch.clone());
    let bytes = match &world.git_dir {
        Some(git_dir) => git::file(git_dir, &at, &path),
        None => {
            let by_sha = world.resolve(&at).and_then(|sha| world.files.get(&format!("{sha}:{path}")));
            by_sha.or_else(|| world.files.get(&format!("{at}:{path}"))).map(|text| text.clone().into_bytes())
        }
    };
    let Some(bytes) = bytes else { return Reply::not_found() };
    let (content, encoding) = if bytes.len() > 1024 * 1024 {
        (String::new(), "none")
    } else {
        // GitHub breaks the lines.
        let packed = STANDARD.encode(&bytes);
        let lines = packed.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line).into_owned());
        (lines.collect::<Vec<_>>().join("\n") + "\n", "base64")
    };
    let body = json!({ "type": "file", "path": path, "name": path.rsplit('/').next(), "size": bytes.len(), "content": content,
                       "encoding": encoding });
    Reply::json(200, object("content-file", body))
}

fn run_of<'w>(world: &'w World, job: &Job) -> Option<&'w Run> {
    world.runs.iter().find(|run| run.id == job.run)
}

fn actions(shown: &Renderer<'_>, route: &str, asked: &Asked<'_>) -> Option<Reply> {
    let world = shown.world;
    let id = asked.number(2);
    Some(match route {
        "/actions/runs" => {
            let sha = asked.query("head_sha");
            let mut runs: Vec<&Run> =
                world.runs.iter().filter(|run| sha.as_ref().is_none_or(|sha| run.sha == *sha)).collect();
            runs.sort_by_key(|run| std::cmp::Reverse((run.created_ms, run.id)));
            asked.page(runs.into_iter(), Some("workflow_runs"), |run| shown.run(run))
        }
        "/actions/runs/{run_id}" => {
            let found = world.runs.iter().find(|run| run.id == id);
            found.map_or_else(Reply::not_found, |run| Reply::json(200, shown.run(run)))
        }
        "/actions/runs/{run_id}/jobs" => {
            let Some(run) = world.runs.iter().find(|run| run.id == id) else { return Some(Reply::not_found()) };
            let jobs = world.jobs.iter().filter(|job| job.run == id);
            asked.page(jobs, Some("jobs"), |job| shown.job(job, run))
        }
        "/actions/jobs/{job_id}/logs" => match world.jobs.iter().find(|job| job.id == id) {
            Some(Job { log: Some(_), status, .. }) if status == "completed" => {
                Reply::redirect(format!("{}/log/{id}?sig=signed", asked.blobs))
            }
            _ => Reply::not_found(),
        },
        "/actions/artifacts" => {
            let name = asked.query("name");
            // Newest first, as the API lists them.
            let newest = world.artifacts.iter().rev();
            let fits = newest.filter(|one| name.as_ref().is_none_or(|name| one.name == *name));
            asked.page(fits, Some("artifacts"), |one| shown.artifact(one))
        }
        "/actions/runs/{run_id}/artifacts" => {
            let fits = world.artifacts.iter().filter(|one| one.run == id);
            asked.page(fits, Some("artifacts"), |one| shown.artifact(one))
        }
        "/actions/artifacts/{artifact_id}/{archive_format}" => {
            match world.artifacts.iter().find(|one| one.id == id && !one.expired) {
                Some(_) => Reply::redirect(format!("{}/zip/{id}?sig=signed", asked.blobs)),
                None => Reply::error(410, "Artifact has expired"),
            }
        }
        _ => return None,
    })
}

fn git_data(world: &World, route: &str, asked: &Asked<'_>) -> Option<Reply> {
    let parts = asked.parts();
    Some(match route {
        "/git/ref/{ref}" => {
            let name = parts[2..].join("/");
            match name.strip_prefix("heads/").and_then(|branch| world.branches.get(branch)) {
                Some(sha) => Reply::json(200, reference(&name, sha)),
                None => Reply::not_found(),
            }
        }
        "/git/commits/{commit_sha}" => {
            let sha = &parts[2];
            if !world.commits.contains_key(sha) {
                return Some(Reply::not_found());
            }
            let tree = world.git_dir.as_ref().and_then(|git_dir| git::tree_of(git_dir, sha));
            let tree = tree.unwrap_or_else(|| format!("{:0>40}", sha.chars().take(8).collect::<String>()));
            let parents = world.commits[sha].parents.iter();
            let parents: Vec<Value> = parents
                .map(|sha| json!({ "sha": sha, "url": "http://127.0.0.1/", "html_url": "http://127.0.0.1/" }))
                .collect();
            Reply::json(200, object("git-commit", json!({ "sha": sha, "tree": { "sha": tree }, "parents": parents })))
        }
        _ => return None,
    })
}

pub(super) fn reference(name: &str, sha: &str) -> Value {
    object("git-ref", json!({ "ref": format!("refs/{name}"), "object": { "sha": sha, "type": "commit" } }))
}

/// The commits of `head` that `base` has not, oldest first.
fn range(world: &World, base: &str, head: &str) -> Vec<String> {
    let line = |name: &str| {
        let mut line: Vec<String> = Vec::new();
        let mut todo: Vec<String> = world.resolve(name).into_iter().collect();
        while let Some(sha) = todo.pop() {
            if line.contains(&sha) {
                continue;
            }
            todo.extend(world.commits.get(&sha).map(|commit| commit.parents.clone()).unwrap_or_default());
            line.push(sha);
        }
        line
    };
    let known = line(base);
    let mut found: Vec<String> = line(head).into_iter().filter(|sha| !known.contains(sha)).collect();
    found.reverse();
    found
}
