//! The operations that change the world.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::git;
use super::openapi::object;
use super::render::{Renderer, user};
use super::routes::{Asked, Reply, reference};
use super::state::{Comment, Commit, Happening, Later, Pull, Reaction, World};

fn text(asked: &Asked<'_>, key: &str) -> String {
    asked.body[key].as_str().unwrap_or_default().to_owned()
}

/// Only a run that is over begins again; whoever may not write Actions is refused it.
fn run_again(world: &mut World, asked: &Asked<'_>) -> Reply {
    let id = asked.number(2);
    match world.runs.iter_mut().find(|run| run.id == id) {
        None => Reply::not_found(),
        Some(run) if run.status != "completed" => Reply::error(403, "This workflow is already running"),
        Some(run) => {
            run.attempt = run.attempt.max(1) + 1;
            "queued".clone_into(&mut run.status);
            run.conclusion = None;
            end_again(world, id, asked.now_ms);
            Reply::json(201, json!({}))
        }
    }
}

/// Has the failed jobs of a run that begins again end as it is planned.
fn end_again(world: &mut World, run: u64, now_ms: u64) {
    if world.reruns.is_empty() {
        return;
    }
    let conclusion = world.reruns.remove(0);
    for job in world.jobs.iter_mut().filter(|job| job.run == run && job.conclusion.as_deref() != Some("success")) {
        "in_progress".clone_into(&mut job.status);
        job.conclusion = Some(conclusion.clone());
    }
    world.later.push(Later { at_ms: now_ms, what: Happening::RunEnds { run, conclusion } });
}

fn cancel(world: &mut World, asked: &Asked<'_>) -> Reply {
    let id = asked.number(2);
    match world.runs.iter_mut().find(|run| run.id == id) {
        None => Reply::not_found(),
        Some(run) if run.status == "completed" => Reply::error(409, "Cannot cancel a workflow run that is completed."),
        Some(run) => {
            "completed".clone_into(&mut run.status);
            run.conclusion = Some("cancelled".to_owned());
            Reply::json(202, json!({}))
        }
    }
}

pub(super) fn answer(world: &mut World, route: &str, asked: &Asked<'_>) -> Option<Reply> {
    Some(match (asked.method, route) {
        ("POST", "/issues/{issue_number}/comments") => create_comment(world, asked),
        ("PATCH", "/issues/comments/{comment_id}") => edit_comment(world, asked),
        ("DELETE", "/issues/comments/{comment_id}") => {
            world.comments.retain(|comment| comment.id != asked.number(2));
            Reply { status: 204, ..Reply::default() }
        }
        ("POST", "/issues/comments/{comment_id}/reactions" | "/pulls/comments/{comment_id}/reactions") => {
            react(world, asked)
        }
        ("POST", "/actions/runs/{run_id}/rerun" | "/actions/runs/{run_id}/rerun-failed-jobs") => {
            run_again(world, asked)
        }
        ("POST", "/actions/runs/{run_id}/cancel") => cancel(world, asked),
        ("POST", "/pulls") => open_pull(world, asked),
        ("PATCH", "/pulls/{pull_number}") => change_pull(world, asked),
        ("POST", "/git/blobs") => {
            let content = STANDARD.decode(text(asked, "content")).expect("base64");
            let sha = match &world.git_dir {
                Some(git_dir) => git::make_blob(git_dir, &content),
                None => made_sha(world),
            };
            Reply::json(201, object("short-blob", json!({ "sha": sha, "url": asked.url })))
        }
        ("POST", "/git/trees") => match make_tree(world, asked) {
            Ok(sha) => Reply::json(201, object("git-tree", json!({ "sha": sha }))),
            Err(why) => Reply::error(422, &why),
        },
        ("POST", "/git/commits") => make_commit(world, asked),
        ("POST", "/git/refs") => {
            let name = text(asked, "ref");
            let Some(branch) = name.strip_prefix("refs/heads/").map(str::to_owned) else {
                return Some(Reply::invalid("Reference name must start with 'refs/heads/'"));
            };
            if world.branches.contains_key(&branch) {
                return Some(Reply::error(422, "Reference already exists"));
            }
            let sha = text(asked, "sha");
            if let Some(git_dir) = &world.git_dir
                && let Err(why) = git::move_branch(git_dir, &branch, None, &sha)
            {
                return Some(Reply::error(422, &why));
            }
            world.pushed(&branch, &sha, asked.now_ms);
            Reply::json(201, reference(&format!("heads/{branch}"), &sha))
        }
        ("PATCH", "/git/refs/{ref}") => move_ref(world, asked),
        _ => return None,
    })
}

fn make_tree(world: &mut World, asked: &Asked<'_>) -> Result<String, String> {
    let Some(git_dir) = &world.git_dir else { return Ok(made_sha(world)) };
    let entry = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        (text("mode").unwrap_or_default(), text("sha"), text("path").unwrap_or_default())
    };
    let entries: Vec<_> = asked.body["tree"].as_array().into_iter().flatten().map(entry).collect();
    git::make_tree(git_dir, asked.body["base_tree"].as_str(), &entries)
}

/// GitHub signs what a bot makes in its own name.
fn make_commit(world: &mut World, asked: &Asked<'_>) -> Reply {
    let parents = asked.body["parents"].as_array().into_iter().flatten();
    let parents: Vec<String> = parents.filter_map(|parent| parent.as_str().map(str::to_owned)).collect();
    let (message, tree) = (text(asked, "message"), text(asked, "tree"));
    let sha = match &world.git_dir {
        Some(git_dir) => match git::make_commit(git_dir, &tree, &parents, &message) {
            Ok(sha) => sha,
            Err(why) => return Reply::error(422, &why),
        },
        None => made_sha(world),
    };
    let in_own_name = asked.body.get("author").is_none() && asked.body.get("committer").is_none();
    let verified = in_own_name && world.token.login.ends_with("[bot]");
    let author = Some(world.token.login.clone());
    world.commits.insert(sha.clone(), Commit { message, author, parents });
    if verified {
        world.signed.push(sha.clone());
    }
    let reason = if verified { "valid" } else { "unsigned" };
    let verification = json!({ "verified": verified, "reason": reason });
    Reply::json(201, object("git-commit", json!({ "sha": sha, "verification": verification })))
}

/// An object id for what is made through the API.
fn made_sha(world: &mut World) -> String {
    format!("{:0>40x}", world.new_id() + 0xA000_0000)
}

fn too_long(world: &World, body: &str) -> Option<Reply> {
    let max = world.max_body;
    let message = format!("body is too long (maximum is {max} characters)");
    (body.chars().count() > max).then(|| Reply::invalid(&message))
}

fn create_comment(world: &mut World, asked: &Asked<'_>) -> Reply {
    let (issue, body) = (asked.number(1), text(asked, "body"));
    if world.pulls.iter().all(|pull| pull.number != issue) {
        return Reply::not_found();
    }
    if let Some(refusal) = too_long(world, &body) {
        return refusal;
    }
    let id = world.new_id();
    let author = world.token.login.clone();
    let (created_ms, updated_ms) = (asked.now_ms, asked.now_ms);
    let comment = Comment { id, issue, author, body, created_ms, updated_ms, edits: 0 };
    world.comments.push(comment.clone());
    Reply::json(201, Renderer { world, url: asked.url }.comment(&comment))
}

fn edit_comment(world: &mut World, asked: &Asked<'_>) -> Reply {
    let body = text(asked, "body");
    if let Some(refusal) = too_long(world, &body) {
        return refusal;
    }
    let Some(comment) = world.comments.iter_mut().find(|comment| comment.id == asked.number(2)) else {
        return Reply::not_found();
    };
    comment.body = body;
    comment.updated_ms = asked.now_ms;
    comment.edits += 1;
    let comment = comment.clone();
    Reply::json(200, Renderer { world, url: asked.url }.comment(&comment))
}

fn react(world: &mut World, asked: &Asked<'_>) -> Reply {
    let author = world.token.login.clone();
    let reaction = Reaction { comment: asked.number(2), content: text(asked, "content"), author: author.clone() };
    let there = world.reactions.contains(&reaction);
    let body = json!({ "id": 1, "content": reaction.content, "user": user(&author) });
    if !there {
        world.reactions.push(reaction);
    }
    Reply::json(if there { 200 } else { 201 }, object("reaction", body))
}

fn open_pull(world: &mut World, asked: &Asked<'_>) -> Reply {
    let (head, base) = (text(asked, "head"), text(asked, "base"));
    let head = head.split_once(':').map_or(head.clone(), |(_, branch)| branch.to_owned());
    let Some(head_sha) = world.branches.get(&head).cloned() else { return Reply::invalid("head is invalid") };
    let taken = |pull: &Pull| pull.state == "open" && pull.head_branch == head && pull.base_branch == base;
    if world.pulls.iter().any(taken) {
        return Reply::invalid(&format!("A pull request already exists for {}:{head}.", world.owner()));
    }
    let number = world.pulls.iter().map(|pull| pull.number).max().unwrap_or(0) + 1;
    let pull = Pull {
        number,
        title: text(asked, "title"),
        body: text(asked, "body"),
        state: "open".to_owned(),
        draft: asked.body["draft"] == true,
        author: world.token.login.clone(),
        head_branch: head,
        head_sha,
        base_branch: base,
        ..Pull::default()
    };
    world.pulls.push(pull.clone());
    Reply::json(201, Renderer { world, url: asked.url }.pull(&pull, "pull-request"))
}

fn change_pull(world: &mut World, asked: &Asked<'_>) -> Reply {
    let Some(pull) = world.pulls.iter_mut().find(|pull| pull.number == asked.number(1)) else {
        return Reply::not_found();
    };
    for (key, place) in [("title", &mut pull.title), ("body", &mut pull.body), ("state", &mut pull.state)] {
        if let Some(value) = asked.body[key].as_str() {
            value.clone_into(place);
        }
    }
    let pull = pull.clone();
    Reply::json(200, Renderer { world, url: asked.url }.pull(&pull, "pull-request"))
}

fn move_ref(world: &mut World, asked: &Asked<'_>) -> Reply {
    let name = asked.parts()[2..].join("/");
    let branch = name.trim_start_matches("heads/").to_owned();
    let sha = text(asked, "sha");
    let Some(old) = world.branches.get(&branch).cloned() else {
        return Reply::error(422, "Reference does not exist");
    };
    let follows = world.commits.get(&sha).is_some_and(|commit| commit.parents.contains(&old)) || old == sha;
    if !follows && asked.body["force"] != true {
        return Reply::error(422, "Update is not a fast forward");
    }
    if let Some(git_dir) = &world.git_dir
        && let Err(why) = git::move_branch(git_dir, &branch, Some(&old), &sha)
    {
        return Reply::error(422, &why);
    }
    if old != sha {
        world.pushed(&branch, &sha, asked.now_ms);
    }
    Reply::json(200, reference(&name, &sha))
}
