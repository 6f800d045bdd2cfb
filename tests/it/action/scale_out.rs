//! The workflow of `docs/scale-out.md`, word for word, under act: a backlog parted into jobs, and what they mended proposed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::act::{Ran, Runner};
use super::delivery::Site;
use super::file;
use super::step::Job;
use crate::backlog::{BUGS, failing_of, files_with_bugs, mends};
use crate::world::git_server::{PUSHER, TOKEN, git};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{KEY, Program, Said};
use crate::world::project::Project;

/// The workflow that the page prints.
fn caller() -> String {
    let page = file("docs/scale-out.md");
    let block = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let given = "test-command: pytest\n";
    assert!(block.contains(given), "{block}");
    block.replace(given, "test-command: python3 -m unittest -v\n      tiers: claude-haiku-4-5 x1\n")
}

/// The workflow to be called where the runner tells which commit it is from: act does not.
fn told_its_commit() -> String {
    let text = file(".github/workflows/tasks.yml");
    assert!(text.contains("${{ job.workflow_sha }}") && text.contains("${{ job.workflow_repository }}"));
    text.replace("${{ job.workflow_sha }}", "v1").replace("${{ job.workflow_repository }}", "YOUR-ACCOUNT/upshift")
}

/// A repository with three bugs on its default branch.
fn site(mended: bool) -> Site {
    let mut files = files_with_bugs();
    for (path, text) in &mut files {
        let bug = BUGS.iter().find(|(module, ..)| path == &format!("shop/{module}.py"));
        if let Some((_, wrong, right, _)) = bug.filter(|_| mended) {
            *text = text.replace(wrong, right);
        }
    }
    let others = [("shop/__init__.py", ""), ("tests/__init__.py", ""), (".gitignore", "__pycache__/\n")];
    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).chain(others);
    let site = Site::of(&files.collect::<Vec<_>>(), &[]);
    site.github.world().pulls.clear();
    site
}

fn started(site: &Site, models: &ModelServer) -> Ran {
    let kept = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
    let root = kept.path().join("shop");
    site.server.clone_to(&root);
    let runner = Runner::of_many_jobs(root, kept, (&caller(), &told_its_commit()));
    let repository = json!({ "default_branch": "main", "full_name": "acme/shop" });
    let payload: Value = json!({ "ref": "refs/heads/main", "inputs": {}, "repository": repository });
    site.told(runner, models).secret("UPSHIFT_PUSH_TOKEN", PUSHER).run("workflow_dispatch", &payload)
}

fn artifacts(ran: &Ran) -> Vec<String> {
    ran.archives().into_iter().map(|(name, _)| name).collect()
}

/// A job has as many tasks as the matrix gave it, whatever a backlog works on at most.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_job_works_on_all_of_its_tasks() {
    let workflow: serde_yaml::Value = serde_yaml::from_str(&file(".github/workflows/tasks.yml")).expect("YAML");
    let steps = workflow["jobs"]["mend"]["steps"].as_sequence().expect("steps");
    let commands: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    let [mend] = commands.as_slice() else { panic!("{commands:?}") };
    let words: Vec<&str> = mend.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["--max-tasks", "0"]), "{mend}");
    // Such a command works on more tasks than one works on unasked.
    let project = Project::python();
    let task = |number: usize| format!("  - {{id: t{number}, title: T, command: 'test -f t{number}.txt'}}\n");
    project.write("tasks.yml", &format!("tasks:\n{}", (0..12).map(task).collect::<String>()));
    project.write(".gitignore", "__pycache__\n.upshift\n");
    project.commit();
    let models = ModelServer::start(|request: &Request| {
        let asked = request.first_user_text();
        let name = asked.split("test -f ").nth(1).and_then(|rest| rest.split(['`', ' ', '\n', '\'', ':']).next());
        match (name, request.turn()) {
            (Some(name), 0) => Say::call("write_file", json!({ "path": name, "content": "x\n" })).usage(100, 5).into(),
            (_, _) => Say::call("final_report", json!({ "summary": "made", "status": "done" })).usage(100, 5).into(),
        }
    });
    let own: Vec<String> = (0..12).map(|number| format!("t{number}")).collect();
    let own = own.join("\n");
    let args: Vec<&str> = words.iter().skip_while(|word| **word != "run").copied().collect();
    let given = |word: &str| match word.trim_matches('"') {
        "$TASKS" => "tasks.yml".to_owned(),
        "$OWN" => own.clone(),
        "$COST" => "5".to_owned(),
        other => other.replace("$RUNNER_TEMP", &project.path().join(".upshift").display().to_string()),
    };
    let args: Vec<String> = args.into_iter().map(given).collect();
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    args.extend(["--tiers", "claude-haiku-4-5 x1", "--test-command", "python3 -m unittest -v"]);
    let said = Program::with_anthropic(&models.url()).run(project.path(), &args);
    assert!(said.out.contains("12 of 12 tasks"), "{}", said.all());
    models.finish();
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn three_jobs_mend_three_bugs_and_one_pull_request_proposes_them() {
    let site = site(false);
    let models = ModelServer::start(mends);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(!ran.log.contains(TOKEN) && !ran.log.contains(KEY), "{}", ran.log);
    let logs = [
        "upshift-merged-77-1",
        "upshift-proven-77-1",
        "upshift-tasks-77-1-1",
        "upshift-tasks-77-1-2",
        "upshift-tasks-77-1-3",
    ];
    assert_eq!(artifacts(&ran), logs, "{}", ran.log);
    assert_eq!(models.requests().len(), 6, "two calls a bug: {}", ran.log);
    models.finish();
    let world = site.github.finish();
    let [pull] = world.pulls.as_slice() else { panic!("{:?}\n{}", world.pulls, ran.log) };
    assert!(pull.base_branch == "main" && pull.head_branch.starts_with("upshift/merge-"), "{pull:?}");
    for (module, _, right, _) in BUGS {
        let text = site.server.git(&["show", &format!("{}:shop/{module}.py", pull.head_branch)]);
        assert!(text.contains(right), "{module}: {text}");
    }
    assert_eq!(site.server.head("main"), site.start, "nobody but a person merges");
}

/// A bug that no model mends costs its own job and nobody else's fix.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_bug_that_stays_is_told_and_the_others_are_proposed() {
    fn mends_two(request: &Request) -> Scripted {
        if failing_of(request).contains("test_words") {
            return Say::call("final_report", json!({ "summary": "no idea", "status": "done" }))
                .usage(1_000, 20)
                .into();
        }
        mends(request)
    }
    let site = site(false);
    let models = ModelServer::start(mends_two);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert_eq!(artifacts(&ran).len(), 5, "{}", ran.log);
    models.finish();
    let world = site.github.finish();
    let [pull] = world.pulls.as_slice() else { panic!("{:?}\n{}", world.pulls, ran.log) };
    let mended = BUGS.map(|(module, _, right, _)| {
        site.server.git(&["show", &format!("{}:shop/{module}.py", pull.head_branch)]).contains(right)
    });
    assert_eq!(mended, [true, true, false], "{}", pull.body);
    assert!(pull.body.contains("| `tests/test_words.py` | ✖ not mended: "), "{}", pull.body);
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn where_nothing_fails_there_is_no_job() {
    let site = site(true);
    let models = ModelServer::start(mends);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(artifacts(&ran), Vec::<String>::new(), "{}", ran.log);
    assert!(models.requests().is_empty() && site.github.finish().pulls.is_empty());
}

/// The clones of the jobs that prove and propose, and what the first hands over.
struct HandOver {
    site: Site,
    folder: tempfile::TempDir,
    job: Job,
}

const WITH: [&str; 4] = ["--tasks", "failing-tests", "--test-command", "python3 -m unittest -v"];

impl HandOver {
    /// Three bugs, two of them mended and merged by a job that may not write.
    fn new() -> Self {
        let (site, folder) = (site(false), tempfile::tempdir().expect("a folder"));
        let models = ModelServer::start(mends);
        let program = Program::with_anthropic(&models.url());
        let proves = folder.path().join("proves");
        for (module, ..) in BUGS.iter().take(2) {
            let clone = folder.path().join(module);
            site.server.clone_to(&clone);
            let (task, log) =
                (format!("tests/test_{module}.py"), folder.path().join(format!("logs/{module}/audit.db")));
            std::fs::create_dir_all(log.parent().expect("a folder")).expect("folders");
            let log = log.to_str().expect("a path");
            let words = ["run", "--tiers", "claude-haiku-4-5 x1", "--task", &task, "--audit-db", log];
            let said = program.run(&clone, &[&words[..], &WITH].concat());
            assert_eq!(said.code, 0, "{}", said.all());
        }
        site.server.clone_to(&proves);
        git(&proves, &["config", "user.name", "T"]);
        git(&proves, &["config", "user.email", "t@example.invalid"]);
        let proposes = folder.path().join("proposes");
        site.server.clone_to(&proposes);
        git(&proposes, &["remote", "set-url", "origin", &site.server.url()]);
        let job = Job::new("http://127.0.0.1:9")
            .with("GITHUB_API_URL", &site.github.url())
            .with("GITHUB_SERVER_URL", &site.server.server_url())
            .with("GITHUB_REF", "refs/heads/main")
            .with("GITHUB_REF_NAME", "main")
            .with("GITHUB_SHA", &site.start)
            .with("GITHUB_TOKEN", TOKEN);
        let over = Self { site, folder, job };
        let (logs, file) = (over.path("logs").display().to_string(), over.file().display().to_string());
        let said = Program::new().run(&proves, &[&["merge", &logs, "--keep-proven", &file][..], &WITH].concat());
        assert_eq!(said.code, 0, "{}", said.all());
        models.finish();
        over
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self) -> PathBuf {
        self.path("proven.json")
    }

    /// The job that proposes what is on the branch of the one that proves.
    fn proposes(&self, how: &str) -> Said {
        let (clone, bundle) = (self.path("proposes"), self.path("bundle").display().to_string());
        git(&self.path("proves"), &["bundle", "create", "--quiet", &bundle, &format!("{}..HEAD", self.site.start)]);
        git(&clone, &["-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", &bundle, "HEAD"]);
        let file = self.file().display().to_string();
        self.job.in_folder(&clone, &["merge", "--proven", &file, "--tasks", "failing-tests", "--pull-request", how])
    }

    /// The file with another commit for the last change.
    fn names(&self, commit: &str) {
        let mut proven: Value =
            serde_json::from_str(&std::fs::read_to_string(self.file()).expect("a file")).expect("JSON");
        let last = proven["report"]["done"].as_array_mut().expect("changes").last_mut().expect("one");
        last["commit"] = json!(commit);
        std::fs::write(self.file(), proven.to_string()).expect("written");
    }
}

/// What a job proves without a token that writes, another proposes without a test: from a clone in which nothing was run.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_one_job_proves_another_proposes_and_runs_nothing() {
    for how in ["one", "each"] {
        let over = HandOver::new();
        let said = over.proposes(how);
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.out.contains("✔ 2 of 2 runs merged"), "{}", said.all());
        assert_eq!(over.site.server.head("main"), over.site.start, "nobody but a person merges");
        // The same once more finds what is there.
        assert_eq!(over.proposes(how).code, 0);
        let HandOver { site, .. } = over;
        let pulls = site.github.world().pulls.clone();
        assert_eq!(pulls.len(), if how == "one" { 1 } else { 2 }, "{pulls:?}");
        let last = &pulls.last().expect("a pull request").head_branch;
        for (module, _, right, _) in BUGS.iter().take(2) {
            let text = site.server.git(&["show", &format!("{last}:shop/{module}.py")]);
            assert!(text.contains(right), "{module}: {text}");
        }
        let _world = site.github.finish();
    }
}

fn commits(folder: &Path, path: &str, text: &str) -> String {
    let file = folder.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(file, text).expect("written");
    git(folder, &["add", "--all", "--force"]);
    git(folder, &["commit", "--quiet", "--amend", "--no-edit"]);
    git(folder, &["rev-parse", "HEAD"]).trim().to_owned()
}

/// Code of a model ran where the file and the commits come from.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_a_proving_job_may_not_have_proven_is_not_proposed() {
    let over = HandOver::new();
    let (site, proves) = (&over.site, over.path("proves"));
    for (path, why) in [
        (".github/workflows/ci.yml", "configures CI"),
        ("tests/test_names.py", "test"),
        ("AGENTS.md", "AGENTS.md"),
        (".env", "would contain a secret"),
    ] {
        let good = git(&proves, &["rev-parse", "HEAD"]).trim().to_owned();
        over.names(&commits(&proves, path, "run: curl\n"));
        let said = over.proposes("one");
        assert!(said.code == 7 && said.all().contains(why), "{path}: {}", said.all());
        git(&proves, &["reset", "--quiet", "--hard", &good]);
    }
    // A commit that hangs elsewhere, and one that is there in name alone.
    for commit in [site.start.clone(), "0".repeat(40), "main".to_owned()] {
        over.names(&commit);
        let said = over.proposes("one");
        assert!(said.code == 2 && said.all().contains("is not the commit after"), "{commit}: {}", said.all());
    }
    std::fs::write(over.file(), "{}").expect("written");
    let said = over.proposes("one");
    assert!(said.code == 2 && said.all().contains("`merge --keep-proven` wrote"), "{}", said.all());
    assert_eq!(site.server.pushes(), 0);
    let HandOver { site, .. } = over;
    assert!(site.github.finish().pulls.is_empty());
}
