//! `upshift doctor` against a GitHub: a line for each thing, a fix for each problem, and nothing is written or paid.

use upshift::cli::init::{Options, Schedule};

use super::gate::{BASE, world};
use crate::world::github::{FakeGitHub, Status, World};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A world, what else is set, and how the line of the problem begins.
type Case = (World, Vec<(&'static str, &'static str)>, &'static str);

fn ask(world: World, more: &[(&str, &str)]) -> Said {
    ask_in(world, more, &[])
}

/// The same in a checkout with these workflows.
fn ask_in(world: World, more: &[(&str, &str)], workflows: &[(&str, &str)]) -> Said {
    let github = FakeGitHub::start_in_real_time(world);
    let mut program = Program::with_anthropic("http://127.0.0.1:1")
        .with("GITHUB_REPOSITORY", "acme/shop")
        .with("GITHUB_API_URL", &github.url())
        .with("GITHUB_TOKEN", "t-0123456789")
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x2")
        .with("UPSHIFT_SANDBOX", "off");
    for (name, value) in more {
        program = program.with(name, value);
    }
    let project = Project::python();
    for (name, text) in workflows {
        project.write(&format!(".github/workflows/{name}"), &filled_in(text));
    }
    project.commit();
    let said = program.run(project.path(), &["doctor", "--test-command", project.test_command]);
    let writes: Vec<_> = github.seen().into_iter().filter(|seen| seen.method != "GET").collect();
    assert!(writes.is_empty(), "{writes:?}");
    github.finish();
    said
}

#[test]
fn where_all_is_well_every_line_is_a_tick() {
    let said = ask(world(), &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.lines().all(|line| line.starts_with("✔ ")), "{}", said.out);
    for about in ["ladder", "test command", "sandbox", "repository", "pull requests", "checks"] {
        assert!(said.out.contains(&format!("✔ {about}: ")), "{about}: {}", said.out);
    }
}

#[test]
fn each_problem_has_a_line_with_its_fix_and_the_exit_code_is_1() {
    let lacking = || {
        let mut world = world();
        world.token.lacks = vec!["checks=read".to_owned()];
        world
    };
    let table: [Case; 3] = [
        (world(), vec![("GITHUB_TOKEN", ""), ("UPSHIFT_PUSH", "pr")], "✖ token: there is none for acme/shop"),
        (lacking(), vec![], "✖ checks: "),
        (world(), vec![("UPSHIFT_TIERS", "nobody/nothing x2")], "✖ configuration: "),
    ];
    for (world, more, line) in table {
        let said = ask(world, &more);
        assert_eq!(said.code, 1, "{line}: {}", said.all());
        let found =
            said.out.lines().find(|said| said.starts_with(line)).unwrap_or_else(|| panic!("{line}: {}", said.out));
        assert!(found.contains("→ Fix: ") && !found.contains("errors above"), "{found}");
    }
}

#[test]
fn on_a_laptop_that_pushes_nothing_a_missing_token_is_no_fault() {
    let said = ask(world(), &[("GITHUB_TOKEN", "")]);
    assert_eq!(said.code, 0, "{}", said.all());
    let line = said.out.lines().find(|line| line.starts_with("– token: acme/shop was not checked"));
    assert!(line.is_some_and(|line| line.contains("gh auth token")), "{}", said.out);
}

#[test]
fn the_names_of_allowed_bots_are_looked_up() {
    let with = |accounts: &[(&str, &str)]| {
        let accounts = accounts.iter().map(|(login, kind)| ((*login).to_owned(), (*kind).to_owned()));
        World { accounts: accounts.collect(), ..world() }
    };
    let names = [("UPSHIFT_ALLOWED_BOTS", "renovate[bot] Copilot renovte[bot] ada")];
    let said = ask(with(&[("renovate[bot]", "Bot"), ("Copilot", "Bot"), ("ada", "User")]), &names);
    assert_eq!(said.code, 1, "{}", said.all());
    for line in [
        "✔ allowed bots: `renovate[bot]` is the App renovate of appmaker\n",
        "✔ allowed bots: `Copilot` is a bot; its App is private\n",
        "✖ allowed bots: no bot is called `renovte[bot]` here → Fix: ",
        "✖ allowed bots: no bot is called `ada` here → Fix: ",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    assert!(!ask(world(), &[]).out.contains("allowed bots"));
}

#[test]
fn without_a_ladder_all_else_is_looked_at_still_and_each_error_has_its_line() {
    let said = ask(world(), &[("UPSHIFT_TIERS", "nobody/nothing x2 > claude-haiku-4-5 x0")]);
    assert_eq!(said.code, 1, "{}", said.all());
    let problems: Vec<&str> = said.out.lines().filter(|line| line.starts_with("✖ ")).collect();
    assert!(problems.iter().any(|line| line.contains("nobody/nothing") && line.contains("→ Fix: ")), "{}", said.out);
    assert!(problems.iter().all(|line| line.starts_with("✖ configuration: ") && line.matches("→ Fix: ").count() == 1));
    for about in ["test command", "sandbox", "repository", "pull requests", "checks"] {
        assert!(said.out.contains(&format!("✔ {about}: ")), "{about}: {}", said.out);
    }
}

#[test]
fn a_test_command_that_is_not_installed_is_a_problem() {
    let project = Project::python();
    let program = Program::with_anthropic("http://127.0.0.1:1").with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let said = program.run(project.path(), &["doctor", "--test-command", "no-such-runner --all"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(
        said.out
            .contains("✖ test command: `no-such-runner --all` starts `no-such-runner`, which is not installed → Fix: "),
        "{}",
        said.out
    );
}

#[test]
fn where_jobs_may_open_no_pull_requests_that_is_said_before_one_is_tried() {
    let settings = |may: Option<bool>| {
        let mut world = world();
        world.token.jobs_may_propose = may;
        ask(world, &[("UPSHIFT_PUSH", "pr")])
    };
    let closed = settings(Some(false));
    let line =
        "✖ pull requests by jobs: are not allowed: with `push: pr` a fix would be pushed and not proposed → Fix: tick ";
    assert!(closed.out.contains(line), "{}", closed.all());
    assert!(settings(Some(true)).out.contains("✔ pull requests by jobs: may be opened"));
    assert!(!settings(None).out.contains("pull requests by jobs"), "what cannot be asked is not claimed");
}

/// A workflow of `init` with what a person puts into it: whose upshift it is, and which commit of it.
fn filled_in(workflow: &str) -> String {
    workflow
        .replace("YOUR-ACCOUNT/upshift@v1", "acme/upshift@0123456789abcdef0123456789abcdef01234567")
        .replace("YOUR-ACCOUNT", "acme")
}

/// What the doctor says of a workflow of the checkout.
fn of_workflow(workflow: &str) -> Vec<String> {
    lines_about("workflow", &[("upshift.yml", workflow)])
}

/// What the doctor says about a thing where these workflows are in the checkout.
fn lines_about(about: &str, workflows: &[(&str, &str)]) -> Vec<String> {
    lines_where(&[], about, workflows)
}

fn lines_where(more: &[(&str, &str)], about: &str, workflows: &[(&str, &str)]) -> Vec<String> {
    let owned: Vec<_> = workflows.iter().map(|(name, text)| (*name, filled_in(text))).collect();
    let owned: Vec<_> = owned.iter().map(|(name, text)| (*name, text.as_str())).collect();
    lines_as_written(more, about, &owned)
}

/// The same, with what stands there for the owner of the action.
fn lines_as_written(more: &[(&str, &str)], about: &str, workflows: &[(&str, &str)]) -> Vec<String> {
    let project = Project::python();
    for (name, text) in workflows {
        project.write(&format!(".github/workflows/{name}"), text);
    }
    let program = Program::with_anthropic("http://127.0.0.1:1").with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let program = more.iter().fold(program, |program, (name, value)| program.with(name, value));
    let said = program.run(project.path(), &["doctor", "--test-command", project.test_command]);
    let about = format!(" {about}: ");
    said.out.lines().filter(|line| line.contains(&about)).map(str::to_owned).collect()
}

/// The workflow beside ours that tells of reviews.
const REVIEW: (&str, &str) = ("upshift-review.yml", upshift::cli::init::REVIEW);

#[test]
fn triggers_that_would_never_wake_a_run_are_named() {
    let ours = ("upshift.yml", upshift::cli::init::WORKFLOW);
    let lines_about =
        |about: &str, others: &[(&str, &str)]| super::doctor::lines_about(about, &[&[REVIEW], others].concat());
    assert_eq!(lines_about("triggers", &[ours, ("ci.yml", "name: CI\non: push\n")]), Vec::<String>::new());
    let [missing] =
        lines_about("triggers", &[ours, ("tests.yml", "name: Tests\non: push\n")]).try_into().expect("a line");
    assert!(
        missing.contains("it is triggered by the workflow `CI`, and there is none of that name → Fix: "),
        "{missing}"
    );
    assert!(
        missing.contains("use the exact `name:` of the one that runs the tests: ") && missing.contains("`Tests`"),
        "{missing}"
    );
    let ci = ("ci.yml", "name: CI\non: push\n");
    let [reviews] = super::doctor::lines_about("triggers", &[ours, ci]).try_into().expect("a line");
    assert!(
        reviews.ends_with("`upshift-review`, and there is none of that name → Fix: `upshift init --review` writes it"),
        "{reviews}"
    );
    let lint = ("lint.yml", "name: Lint\non: { pull_request: { branches: [main] } }\n");
    let others =
        [("ci.yml", "name: CI\non: push\n"), lint, ("labels.yml", "on: { pull_request: { types: [labeled] } }\n")];
    let [unheard] = lines_about("triggers", &[&[ours][..], &others[..]].concat()).try_into().expect("a line");
    assert!(
        unheard.contains("it is not triggered by `Lint`: if one that also runs on pull requests ends last"),
        "{unheard}"
    );
    let old = ours.1.replace("contains(github.event.workflow_run.head_commit.message, 'Upshift-Run-Id: ')", "false");
    let [asleep] =
        lines_about("triggers", &[("upshift.yml", &old), ("ci.yml", "name: CI\n")]).try_into().expect("a line");
    assert!(asleep.contains("a run that waits for it never ends → Fix: add `contains("), "{asleep}");
}

#[test]
fn upshifts_own_workflows_are_not_offered_as_ci_and_following_them_alone_is_a_problem() {
    let ours = ("upshift.yml", upshift::cli::init::WORKFLOW);
    let judge = ("judge.yml", upshift::cli::init::JUDGE);
    let [none] = lines_about("triggers", &[ours, judge, REVIEW]).try_into().expect("a line");
    assert!(
        none.contains("`CI`, and there is none of that name → Fix: no workflow here runs the tests: write one first")
    );
    let tests = ("tests.yml", "name: Tests\non: push\n");
    let [one] = lines_about("triggers", &[ours, judge, REVIEW, tests]).try_into().expect("a line");
    assert!(one.ends_with("use the exact `name:` of the one that runs the tests: `Tests`"), "{one}");
    let alone = ours.1.replace("[CI, upshift-review]", "[upshift-review]");
    let [alone] = lines_about("triggers", &[("upshift.yml", &alone), REVIEW, tests]).try_into().expect("a line");
    assert!(
        alone.contains("it is triggered by upshift's own workflows only, so red CI never starts it → Fix: "),
        "{alone}"
    );
    assert!(alone.ends_with("`Tests`"), "{alone}");
}

#[test]
fn jobs_that_only_resume_or_judge_need_no_gate_and_no_time_for_a_run() {
    let options = Options { schedule: Schedule::HalfHourly, hears_outsiders: true, action: None };
    let ours = upshift::cli::init::workflow(&options);
    let ci = ("ci.yml", "name: CI\non: push\n");
    let all = [("upshift.yml", ours.as_str()), ("judge.yml", upshift::cli::init::JUDGE), REVIEW, ci];
    let [line] = lines_about("workflow", &all).try_into().expect("one line");
    assert!(line.starts_with("✔ workflow: upshift.yml: the gate comes first"), "{line}");
    assert_eq!(lines_about("triggers", &all), Vec::<String>::new());
}

#[test]
fn an_owner_of_the_action_that_nobody_filled_in_is_a_problem() {
    for (file, text) in [("upshift.yml", upshift::cli::init::WORKFLOW), ("judge.yml", upshift::cli::init::JUDGE)] {
        let lines = lines_as_written(&[], "workflow", &[(file, text)]);
        let problems: Vec<_> = lines.iter().filter(|line| line.starts_with('✖')).collect();
        let [line] = problems.as_slice() else { panic!("{lines:?}") };
        assert!(
            line.contains("`YOUR-ACCOUNT` is a placeholder") && line.contains("→ Fix: replace `YOUR-ACCOUNT`"),
            "{line}"
        );
    }
    let called =
        "on: { workflow_dispatch: }\njobs:\n  a: { uses: YOUR-ACCOUNT/upshift/.github/workflows/tasks.yml@v1 }\n";
    assert_eq!(lines_as_written(&[], "workflow", &[("tasks.yml", called)]).len(), 1);
}

#[test]
fn checks_that_are_not_of_actions_and_would_wake_nobody_are_named() {
    let told = |statuses: &[&str], workflow: &str, push: &str| {
        let status = |context: &&str| Status {
            sha: BASE.to_owned(),
            context: (*context).to_owned(),
            state: "success".to_owned(),
            ..Status::default()
        };
        let world = World { statuses: statuses.iter().map(status).collect(), ..world() };
        let ci = ("ci.yml", "name: CI\non: push\n");
        let said = ask_in(world, &[("UPSHIFT_PUSH", push)], &[("upshift.yml", workflow), ci, REVIEW]);
        assert!(said.out.contains("✔ checks: can be read"), "{}", said.all());
        said.out.lines().filter(|line| line.contains(" triggers: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = upshift::cli::init::WORKFLOW;
    let [line] = told(&["vendor/preview"], plain, "pr").try_into().expect("a line");
    assert!(
        line.starts_with("✖ triggers: upshift.yml: checks outside of Actions judge commits here (`vendor/preview`)"),
        "{line}"
    );
    assert!(line.contains("→ Fix: add the triggers that `upshift init --external-checks` writes"), "{line}");
    assert_eq!(told(&[], plain, "pr"), Vec::<String>::new());
    assert_eq!(told(&["vendor/preview"], plain, "none"), Vec::<String>::new());
    let options = Options { schedule: Schedule::No, hears_outsiders: true, action: None };
    assert_eq!(told(&["vendor/preview"], &upshift::cli::init::workflow(&options), "pr"), Vec::<String>::new());
}

#[test]
fn a_merge_that_would_wake_nobody_and_a_job_that_ends_in_a_wait_are_named() {
    let merge = [("UPSHIFT_WAIT_FOR", "merge")];
    let inits = upshift::cli::init::WORKFLOW;
    let ci = ("ci.yml", "name: CI\non: push\n");
    let named = |more: &[(&str, &str)], text: &str| lines_where(more, "triggers", &[("upshift.yml", text), ci, REVIEW]);
    assert_eq!(named(&merge, inits), Vec::<String>::new(), "fifteen, thirty and sixty minutes of 120");
    let deaf = inits.replace("types: [labeled, closed]", "types: [labeled]").replace("[CI, upshift-review]", "[CI]");
    let [line] = named(&merge, &deaf).try_into().expect("a line");
    for part in [
        "no job continues a run that waits for a merge",
        "add `pull_request: types: [closed]` to its triggers, and trigger it by a workflow on `pull_request_review: ",
    ] {
        assert!(line.contains(part), "{line}");
    }
    let all_kinds = REVIEW.1.replace("pull_request_review:\n    types: [submitted]", "pull_request_review:");
    assert_ne!(all_kinds, REVIEW.1);
    let hears = lines_where(&merge, "triggers", &[("upshift.yml", inits), ci, (REVIEW.0, &all_kinds)]);
    assert_eq!(hears, Vec::<String>::new(), "a review's trigger without types has all of them");
    let by_input = deaf.replace("max-cost-usd:", "wait-for: merge\n          max-cost-usd:");
    assert_eq!(named(&[], &by_input).len(), 1, "the workflow's own input counts, too");
    assert_eq!(named(&[], &deaf), Vec::<String>::new(), "nobody waits for a merge");

    let long = [("UPSHIFT_WAIT_FOR", "ci"), ("UPSHIFT_CI_TIMEOUT_MINUTES", "110")];
    assert_eq!(named(&long, inits), Vec::<String>::new(), "the default is the time of the workflow that `init` writes");
    let [line] =
        named(&long, &inits.replace("timeout-minutes: 120", "timeout-minutes: 90")).try_into().expect("a line");
    assert!(line.contains("its job ends after 90 minutes, and a run may take 125"), "{line}");
    assert!(line.contains("→ Fix: set `github.jobTimeoutMinutes` to 90"), "{line}");
    let [early] =
        named(&long, &inits.replace("timeout-minutes: 120", "timeout-minutes: 350")).try_into().expect("a line");
    assert!(
        early.contains("a run may take 125 minutes, and one that waits is parked after 115, though its job lasts 350"),
        "{early}"
    );
    assert!(early.contains("→ Fix: set `github.jobTimeoutMinutes` to 350"), "{early}");
}

#[test]
fn the_workflow_that_init_writes_is_a_tick_and_each_step_before_upshift_is_named() {
    let ours = upshift::cli::init::WORKFLOW;
    let [line] = of_workflow(ours).try_into().expect("one line");
    assert!(line.starts_with("✔ workflow: upshift.yml: the gate comes first"), "{line}");
    let installs = ours.replace(
        "      # Add no step here that installs",
        "      - uses: actions/setup-node@v4\n      - run: npm ci\n      - uses: some/installer@v1\n      # Add no step here that installs",
    );
    let lines = of_workflow(&installs);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("✖ workflow: upshift.yml: the step `npm ci` runs before upshift"), "{lines:?}");
    assert!(lines[1].contains("`some/installer@v1`") && lines[1].contains("→ Fix: move it to `setup-command`"));
    let token = "      - uses: actions/create-github-app-token@bcd2ba49218906704ab6c1aa796996da409d3eb1\n      # Add no step here that installs";
    let lines = of_workflow(&ours.replace("      # Add no step here that installs", token));
    assert!(lines.len() == 1 && lines[0].starts_with("✔ workflow"), "it runs nothing of the repository: {lines:?}");
    let from_elsewhere = ours.replace("          sha256: ${{ steps.gate.outputs.sha256 }}\n", "");
    assert!(of_workflow(&from_elsewhere)[0].contains("does not start the program that the gate's step installed"));
}

/// As the pages tell it: the key stands in GitHub's secrets, and the doctor is asked on a laptop.
#[test]
fn a_key_that_the_job_is_given_is_not_missing_on_a_laptop() {
    let asked = |workflow: &str| {
        let project = Project::python();
        project.write(".github/workflows/upshift.yml", &filled_in(workflow));
        project.commit();
        Program::new().run(project.path(), &["doctor", "--test-command", project.test_command])
    };
    let said = asked(upshift::cli::init::WORKFLOW);
    let line = "configuration: no model's key is set here, so the ladder was not checked; upshift.yml passes ANTHROPIC_API_KEY";
    assert!(said.out.contains(line) && !said.out.contains("No model to use"), "{}", said.all());
    let said = asked(&upshift::cli::init::WORKFLOW.replace("secrets.", "vars."));
    assert!(said.code == 1 && said.out.contains("✖ configuration: No model to use"), "{}", said.all());
    let judges = "on: pull_request\njobs:\n  judge:\n    steps:\n      - uses: actions/checkout@v5\n      - uses: acme/upshift@v1\n        \
                  with: { mode: judge }\n";
    let said = asked(judges);
    assert!(said.out.contains("no model's key is set here, and upshift.yml needs none: it judges"), "{}", said.all());
}

#[test]
fn a_step_that_starts_images_alone_runs_nothing_of_the_checkout() {
    let ours = upshift::cli::init::WORKFLOW;
    let with = |script: &str| {
        let step = format!("      - run: {script}\n      # Add no step here that installs");
        of_workflow(&ours.replace("      # Add no step here that installs", &step))
    };
    let lines = with("docker run --detach --publish 5432:5432 --env POSTGRES_PASSWORD=test postgres:17");
    assert!(lines[0].starts_with("✔ workflow"), "{lines:?}");
    for script in
        ["docker run -v .:/src postgres:17", "docker run x && make", "docker compose up", "docker run --mount=a x"]
    {
        assert!(with(script)[0].contains("runs before upshift"), "{script}");
    }
}

#[test]
fn a_workflow_of_the_old_shape_is_named_but_not_one_that_only_runs_what_was_merged() {
    let old = "on: { pull_request: { types: [labeled] } }\njobs:\n  fix:\n    steps:\n      - uses: actions/checkout@v5\n      \
               - uses: acme/upshift@v1\n";
    let lines = of_workflow(old);
    assert!(
        lines[0].starts_with("✖ workflow: upshift.yml: upshift runs after the checkout, without a gate"),
        "{lines:?}"
    );
    let released = |line: &&String| line.contains("`acme/upshift@v1`: upshift has no release yet");
    assert_eq!(lines.iter().filter(released).count(), 1, "{lines:?}");
    let pushed = old.replace("{ pull_request: { types: [labeled] } }", "push");
    let told = of_workflow(&pushed);
    assert!(told.len() == 1 && released(&&told[0]), "{told:?}");
    assert!(told[0].ends_with("git ls-remote https://github.com/acme/upshift HEAD"), "{told:?}");
    assert_eq!(of_workflow(&pushed.replace("@v1", "@0123456789abcdef0123456789abcdef01234567")), Vec::<String>::new());
}

/// Rules of a branch, as GitHub lists them.
fn rule(kind: &str) -> serde_json::Value {
    serde_json::json!({ "type": kind, "ruleset_source_type": "Repository", "ruleset_source": "acme/shop", "ruleset_id": 1 })
}

/// A world, what else is set, how the line begins, and a word of its fix.
type Hindrance<'a> = (World, Vec<(&'a str, &'a str)>, &'a str, &'a str);

/// A job that would push.
const PUSHES: [(&str, &str); 6] = [
    ("GITHUB_ACTIONS", "true"),
    ("GITHUB_EVENT_NAME", "push"),
    ("GITHUB_RUN_ID", "5"),
    ("GITHUB_REF", "refs/heads/main"),
    ("GITHUB_SHA", "89abcdef0123456789abcdef0123456789abcdef"),
    ("UPSHIFT_PUSH", "commit"),
];

fn ask_pusher(world: World, more: &[(&str, &str)]) -> Said {
    let all: Vec<(&str, &str)> = PUSHES.iter().chain(more).copied().collect();
    ask(world, &all)
}

#[test]
fn a_push_that_would_be_taken_and_start_ci_is_all_ticks() {
    let said = ask_pusher(world(), &[("UPSHIFT_PUSH_TOKEN", "github_pat_0123456789")]);
    assert_eq!(said.code, 0, "{}", said.all());
    for line in
        ["✔ permission to push: ", "✔ rules: none forbids a push", "✔ CI after a push: starts", "✔ token's lifetime: "]
    {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
}

#[test]
fn what_keeps_a_push_away_or_ci_from_starting_is_a_line_with_its_fix() {
    let reads_only = || {
        let mut world = world();
        world.token.lacks = vec!["contents=write".to_owned()];
        world
    };
    let ruled = || World { rules: vec![rule("pull_request"), rule("required_signatures")], ..world() };
    let pat = ("UPSHIFT_PUSH_TOKEN", "github_pat_0123456789");
    let installation = ("UPSHIFT_PUSH_TOKEN", "ghs_0123456789");
    let table: [Hindrance<'_>; 5] = [
        (reads_only(), vec![pat], "✖ permission to push: the token is read-only", "contents: write"),
        (ruled(), vec![pat], "✖ rules: `pull_request`, `required_signatures` forbids a push to `main`", "push: pr"),
        (ruled(), vec![pat, ("UPSHIFT_PUSH", "pr")], "✖ rules: ", "begin with `upshift/`"),
        (world(), vec![], "✖ CI after a push: does not start", "push-token"),
        (
            world(),
            vec![installation, ("UPSHIFT_WAIT_FOR", "merge"), ("UPSHIFT_MERGE_TIMEOUT_MINUTES", "600")],
            "✖ token's lifetime: an App's token expires after 60 minutes",
            "merge-timeout-minutes",
        ),
    ];
    for (world, more, line, fix) in table {
        let said = ask_pusher(world, &more);
        assert_eq!(said.code, 1, "{line}: {}", said.all());
        let found =
            said.out.lines().find(|said| said.starts_with(line)).unwrap_or_else(|| panic!("{line}: {}", said.out));
        assert!(found.contains("→ Fix: ") && found.contains(fix), "{found}");
    }
}

#[test]
fn inputs_that_the_action_would_ignore_or_refuse_are_named_with_their_step() {
    let ci = ("ci.yml", "name: CI\non: push\n");
    let of = |input: &str| -> Vec<String> {
        let ours = upshift::cli::init::WORKFLOW.replace("max-cost-usd: \"2\"", input);
        assert!(ours.contains(input), "{input}");
        let lines = lines_about("workflow", &[("upshift.yml", &ours), ci, REVIEW]);
        lines.into_iter().filter(|line| line.starts_with('✖')).collect()
    };
    for fine in [
        "max-cost-usd: 2.5",
        "Max-Cost-USD: $1",
        "max-cost-usd: ${{ vars.CAP }}",
        "mode: fix",
        "tiers: claude-haiku-4-5 x2 > gpt-6-luna x1 full",
        "tiers: ${{ vars.LADDER }}",
        "tiers: azure/mine x1",
        "wait-for: event",
        "sign-commits: true",
        "setup-command: \"\"",
    ] {
        let problems = of(fine);
        let own = problems.iter().filter(|line| !line.contains("has no known price"));
        assert_eq!(own.count(), 0, "{fine}: {problems:?}");
    }
    for (input, said, fix) in [
        ("max-cost-us: \"2\"", "input `max-cost-us`: the action has no such input", "Did you mean `max-cost-usd`?"),
        ("secret: \"2\"", "input `secret`: the action has no such input", "Remove it, or use one that docs/action.md"),
        ("max-cost-usd: two", "input `max-cost-usd`: ", "Use an amount in dollars above 0"),
        ("max-cost-usd: 0", "input `max-cost-usd`: must be above 0", "Use an amount in dollars above 0"),
        ("max-iterations: [1, 2]", "input `max-iterations`: must be text", "Write it as text"),
        ("mode: jugde", "input `mode`: must be one of fix, judge, found `jugde`", "Use one of them"),
        ("tiers: claude-haiku-4-5 x0", "input `tiers`, tier 1: `x0` is not from x1", "Write `model x5"),
        ("tiers: nobody/nothing x2", "input `tiers`, tier 1: 'nobody/nothing' not found", "Use one of the providers"),
        ("tiers: .github/none.json", "input `tiers`: Tier config not found: .github/none.json", "Check the path"),
        ("config: .github/none.yml", "input `config`: Configuration not found: .github/none.yml", "Check the path"),
        ("model: claude", "input `model`", "Write `provider/model`"),
        ("wait-for: evnt", "input `wait-for`: ", "Did you mean `event`?"),
        ("allowed-bots: renovate*", "input `allowed-bots[0]`: must be the login", "Write it as the Git host shows it"),
    ] {
        let lines = of(input);
        let [line] = lines.as_slice() else { panic!("{input}: {lines:?}") };
        let begins = format!("✖ workflow: upshift.yml: job `fix`, step 3: {said}");
        assert!(line.starts_with(&begins) && line.contains(&format!("→ Fix: {fix}")), "{input}: {line}");
    }
    assert_eq!(of("tiers: claude-haiku-4-5 x2\n          model: claude-haiku-4-5").len(), 1, "only one of them counts");
}
