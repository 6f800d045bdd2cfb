//! What `upshift init` takes over from the workflows that are there: the names to follow, the tools, and the installation.
//!
//! Owns which steps of a job are taken. Invariant: nothing is taken that runs code of the repository with the rights of upshift's job, keeps a
//! cache, or is made by an expression that is not known here; whatever stands before the tests and is not taken is told.

use serde_yaml::Value;

use super::installation::{is_bound, is_installation, lines_of, only_prints};
use super::matrix::{Leg, scalar};
use super::test_step::{self, is_test};
use crate::cli::tool_actions as tools;
use crate::cli::workflow_files::{self as files, Workflow, action, shown};
use crate::domain::shell::quote;

/// Actions whose work is done otherwise here, or not needed.
const DONE_OTHERWISE: [&str; 3] = ["actions/checkout", "actions/cache", "Swatinem/rust-cache"];
/// How deep workflows that workflows call are followed.
const DEEPEST: usize = 3;

/// A step that puts a tool there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The action, with its version.
    pub(super) uses: String,
    /// Its inputs.
    pub(super) with: Vec<(String, String)>,
}

/// What is taken over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ci {
    /// The names that the trigger follows.
    pub(super) names: Vec<String>,
    /// Those of them that run tests.
    pub(super) tested: Vec<String>,
    /// The file of the job that runs the tests.
    pub(super) file: Option<String>,
    /// The steps that put tools there.
    pub(super) tools: Vec<Tool>,
    /// The command that installs what the tests need.
    pub(super) setup: Option<String>,
    /// The folder in which the tests run, from the top. `None`: the top.
    pub(super) folder: Option<String>,
    /// What of that job is not taken, each in a few words.
    pub(super) left: Vec<String>,
}

/// What is taken over from these workflows.
pub(super) fn read(all: &[Workflow]) -> Ci {
    // A second `init` reads its own workflows again, and must not have upshift follow itself.
    let theirs = || all.iter().filter(|workflow| !files::is_ours(&workflow.text));
    let of_pulls: Vec<&Workflow> = theirs().filter(|workflow| files::judges_pulls(&workflow.text)).collect();
    let of_pushes = || theirs().filter(|workflow| files::runs_on(&workflow.text, "push")).collect();
    // A workflow on pull requests beats one on pushes: upshift mends the former's branch.
    let followed: Vec<&Workflow> = if of_pulls.is_empty() { of_pushes() } else { of_pulls };
    let mut ci = Ci { names: followed.iter().map(|workflow| workflow.name()).collect(), ..Ci::default() };
    let mut best: Option<Candidate<'_>> = None;
    for workflow in &followed {
        // A workflow that calls itself would otherwise be followed for ever.
        let found = candidates(workflow, all, DEEPEST);
        if !found.is_empty() {
            ci.tested.push(workflow.name());
        }
        for candidate in found {
            // The first of equals stays, which is the order of the files.
            if best.as_ref().is_none_or(|best| candidate.likely > best.likely) {
                best = Some(candidate);
            }
        }
    }
    if let Some(candidate) = best {
        take(&mut ci, &candidate);
    }
    ci
}

/// A job that may be the one with the unit tests.
struct Candidate<'w> {
    /// The workflow that it stands in.
    workflow: &'w Workflow,
    job: &'w Value,
    /// The step that runs the tests.
    test: usize,
    likely: i32,
}

/// The jobs of a workflow that run tests, also in workflows of the checkout that it calls.
fn candidates<'w>(workflow: &'w Workflow, all: &'w [Workflow], deep: usize) -> Vec<Candidate<'w>> {
    let mut found = Vec::new();
    for (id, job) in files::jobs_by_id(&workflow.text) {
        if let Some((test, likely)) = test_step::in_job(id, job, steps(job)) {
            found.push(Candidate { workflow, job, test, likely });
        }
        // Only workflows of this checkout can be read. Others are at another repository's commit.
        let called = job.get("uses").and_then(Value::as_str).and_then(|uses| uses.strip_prefix("./.github/workflows/"));
        let called = called.and_then(|file| all.iter().find(|other| other.file == file));
        if let (Some(called), Some(deeper)) = (called, deep.checked_sub(1)) {
            found.extend(candidates(called, all, deeper));
        }
    }
    found
}

/// Where a step runs.
#[derive(Debug, PartialEq, Eq)]
enum Folder {
    Top,
    /// A folder below the top, in which no part goes up.
    Below(String),
    /// One by an expression, or outside of the checkout.
    Unknown,
}

impl Folder {
    fn path(&self) -> Option<&str> {
        match self {
            Self::Below(path) => Some(path),
            Self::Top | Self::Unknown => None,
        }
    }
}

fn default_folder(holder: &Value) -> Option<String> {
    Some(holder.get("defaults")?.get("run")?.get("working-directory")?.as_str()?.to_owned())
}

fn folder_of(step: &Value, default: Option<&str>) -> Folder {
    let own = step.get("working-directory").and_then(Value::as_str);
    // A step's own folder replaces the default, it is not put below it.
    let path = own.or(default).unwrap_or_default().trim_start_matches("./").trim_end_matches('/');
    let is_plain = path.split('/').all(|part| {
        // The folder becomes a part of a command line, so it may hold nothing that the shell would read.
        part != ".." && !part.starts_with('-') && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    });
    match path {
        "" | "." => Folder::Top,
        _ if is_plain && !path.starts_with('/') => Folder::Below(path.to_owned()),
        _ => Folder::Unknown,
    }
}

/// A command that runs in one folder as it is started in another.
fn from(started_in: &Folder, runs_in: &Folder, command: &str) -> Option<String> {
    match (started_in, runs_in) {
        (Folder::Unknown, _) | (_, Folder::Unknown) => None,
        (started, runs) if started == runs => Some(command.to_owned()),
        (started, runs) => {
            let up = started.path().map_or(0, |path| path.split('/').count());
            // Out of the folder where the setup starts, then down to where the step ran.
            let way: Vec<&str> = std::iter::repeat_n("..", up).chain(runs.path()).collect();
            Some(format!("(cd {} && {command})", way.join("/")))
        }
    }
}

fn steps(job: &Value) -> &[Value] {
    job.get("steps").and_then(Value::as_sequence).map_or(&[], Vec::as_slice)
}

/// Takes what stands before the tests over, and notes what is not taken.
fn take(ci: &mut Ci, candidate: &Candidate<'_>) {
    let Candidate { workflow, job, test, .. } = *candidate;
    let leg = Leg::of(job);
    ci.file = Some(workflow.file.clone());
    let holders = [job, &workflow.text];
    // The job's default comes before the workflow's, as GitHub has it.
    let default = holders.into_iter().find_map(default_folder);
    let tests = steps(job).get(test).map_or(Folder::Top, |step| folder_of(step, default.as_deref()));
    ci.folder = tests.path().map(str::to_owned);
    if tests == Folder::Unknown {
        ci.left.push("the folder of the tests".to_owned());
    }
    // These would have to be copied word for word, and may hold secrets or images nobody wants twice.
    for (key, holder) in [("services", "job"), ("container", "job"), ("env", "job"), ("env", "workflow")] {
        let place = if holder == "job" { job } else { &workflow.text };
        if place.get(key).is_some() {
            ci.left.push(format!("`{key}` of the {holder}"));
        }
    }
    let mut variables: Vec<(String, String)> = Vec::new();
    for holder in [&workflow.text, job] {
        literal_variables(holder, &leg, &mut variables);
    }
    let mut commands: Vec<String> = Vec::new();
    // The step with the tests counts, too: many install and test in one script.
    for step in steps(job).iter().take(test + 1) {
        if let Some(uses) = step.get("uses").and_then(Value::as_str) {
            use_tool(ci, (uses, step), &leg);
            let installed = tools::installation_of(step).and_then(|command| leg.fill(&command));
            // An action installs at the top, whatever the default folder of scripts is.
            commands.extend(installed.and_then(|command| from(&tests, &Folder::Top, &command)));
        } else if let Some(script) = step.get("run").and_then(Value::as_str) {
            let folder = folder_of(step, default.as_deref());
            let (taken, whole) = installations(script, step, &leg);
            // One folder that is unknown leaves the whole step out: half an installation misleads more than none.
            let places: Option<Vec<String>> = taken.iter().map(|line| from(&tests, &folder, line)).collect();
            if places.is_none() || !whole {
                ci.left.push(format!("the step `{}`", shown(&name_of(step, script))));
            }
            commands.extend(places.unwrap_or_default());
        }
    }
    ci.left.dedup();
    if !commands.is_empty() && !variables.is_empty() {
        let set = variables.iter().map(|(name, value)| format!("{name}={}", quote(value)));
        // In front of all, since each command may need them, and one shell runs the whole line.
        commands.insert(0, format!("export {}", set.collect::<Vec<_>>().join(" ")));
    }
    ci.setup = (!commands.is_empty()).then(|| commands.join(" && "));
}

/// The variables that are set to plain values, which an installation may need.
fn literal_variables(holder: &Value, leg: &Leg, into: &mut Vec<(String, String)>) {
    for (name, value) in holder.get("env").and_then(Value::as_mapping).into_iter().flatten() {
        // Such a name needs no quotes in a shell.
        let name = name.as_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        let value = scalar(value).and_then(|value| leg.fill(&value));
        if let Some((name, value)) = name.zip(value) {
            // A job's variable replaces the workflow's of the same name.
            into.retain(|(other, _)| other != name);
            into.push((name.to_owned(), value));
        }
    }
}

/// The name of a step, else its first line.
fn name_of(step: &Value, script: &str) -> String {
    let named = step.get("name").and_then(Value::as_str).map(str::to_owned);
    // A first line such as `set -e` names nothing.
    named.or_else(|| lines_of(script).into_iter().find(|line| !only_prints(line))).unwrap_or_default()
}

/// The installations of a script up to its tests, and whether nothing else that matters stands there.
fn installations(script: &str, step: &Value, leg: &Leg) -> (Vec<String>, bool) {
    let lines: Vec<String> = lines_of(script).into_iter().filter(|line| !only_prints(line)).collect();
    // Behind the first test stands what tests do, such as an upload of reports.
    let before = lines.iter().position(|line| is_test(line)).unwrap_or(lines.len());
    let before: Vec<&String> = lines.iter().take(before).collect();
    let is_conditional = ["if", "env", "shell"].into_iter().any(|key| step.get(key).is_some());
    if before.is_empty() || is_elsewhere(step) {
        return (Vec::new(), true);
    }
    // A line behind one that is not taken may mean something else without it.
    let known = |line: &&String| leg.fill(line).filter(|line| is_installation(line));
    // A step under a condition, with variables or in another shell may mean something else in one line.
    if is_conditional || before.iter().any(|line| is_bound(line)) {
        return (Vec::new(), false);
    }
    let taken: Vec<String> = before.iter().map_while(known).collect();
    let whole = taken.len() == before.len();
    (taken, whole)
}

/// Whether a step is for another system than Linux.
fn is_elsewhere(step: &Value) -> bool {
    let condition = step.get("if").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let names = |system: &str| condition.contains(&format!("'{system}"));
    condition.contains("==") && !condition.contains("||") && (names("windows") || names("macos"))
}

/// Takes a step that uses an action, or notes that it is not taken.
fn use_tool(ci: &mut Ci, (uses, step): (&str, &Value), leg: &Leg) {
    let action = action(step).unwrap_or_default();
    match tool(uses, step, leg) {
        Some(tool) => {
            // A second one of a kind would only undo the first.
            if !ci.tools.iter().any(|other| other.uses.split('@').next() == Some(action)) {
                ci.tools.push(tool);
            }
        }
        // Nothing is lost with these, so they are not told as left out.
        None if DONE_OTHERWISE.contains(&action) || is_elsewhere(step) => {}
        None => ci.left.push(format!("the step `{}`", shown(uses))),
    }
}

/// A step that puts a tool there. `None` where it is another, or depends on what is not known here.
fn tool(uses: &str, step: &Value, leg: &Leg) -> Option<Tool> {
    let action = action(step).filter(|action| tools::is_known(action))?;
    if step.get("if").is_some() || step.get("env").is_some() || uses.contains("${{") {
        return None;
    }
    let inputs = step.get("with").and_then(Value::as_mapping).into_iter().flatten();
    let inputs = inputs.filter_map(|(name, value)| Some((name.as_str()?, scalar(value)?)));
    let mut with = Vec::new();
    // Inputs that choose a version are taken. Others may be tokens or a cache.
    for (name, value) in inputs.filter(|(name, _)| tools::chooses(name)) {
        with.push((name.to_owned(), leg.fill(&value)?));
    }
    // A job with a pull request's code must write no cache that others read.
    with.extend(tools::without_cache(action).map(|(name, value)| (name.to_owned(), value.to_owned())));
    Some(Tool { uses: uses.to_owned(), with })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(file: &str, text: &str) -> Workflow {
        Workflow { file: file.to_owned(), text: serde_yaml::from_str(text).unwrap() }
    }

    const PYTHON: &str = "name: Python package
on: [push, pull_request]
jobs:
  lint:
    steps: [{uses: actions/checkout@v5}, {run: ruff check .}]
  build:
    strategy:
      matrix:
        python-version: ['3.12', '3.13']
    steps:
    - uses: actions/checkout@v5
    - name: Set up Python
      uses: actions/setup-python@v6
      with:
        python-version: ${{ matrix.python-version }}
        cache: pip
    - name: Install dependencies
      run: |
        python -m pip install --upgrade pip
        pip install flake8 \\
          pytest
        if [ -f requirements.txt ]; then pip install -r requirements.txt; fi
    - name: Lint
      run: flake8 . --count
    - name: Test
      run: |
        pytest
";

    #[test]
    fn the_job_with_the_tests_gives_its_tools_and_its_installation() {
        let ci = read(&[workflow("python.yml", PYTHON)]);
        assert_eq!(ci.names, ["Python package"]);
        assert_eq!(ci.file.as_deref(), Some("python.yml"));
        let with = vec![("python-version".to_owned(), "3.13".to_owned())];
        assert_eq!(ci.tools, [Tool { uses: "actions/setup-python@v6".to_owned(), with }], "no cache");
        let setup = "python -m pip install --upgrade pip && pip install flake8 pytest && if [ -f requirements.txt ]; then pip install -r requirements.txt; fi";
        assert_eq!(ci.setup.as_deref(), Some(setup));
        assert_eq!(ci.left, ["the step `Lint`"]);
    }

    #[test]
    fn a_cache_is_kept_by_no_step_that_is_taken() {
        let go = "on: pull_request\njobs:\n  t:\n    steps:\n    - {uses: actions/setup-go@v6, with: {go-version-file: go.mod, cache: true}}\n    - run: go test ./...\n";
        let [tool] = <[Tool; 1]>::try_from(read(&[workflow("go.yml", go)]).tools).unwrap();
        assert_eq!(tool.with[1..], [("cache".to_owned(), "false".to_owned())]);
        let ruby = "on: pull_request\njobs:\n  t:\n    steps:\n    - {uses: ruby/setup-ruby@v1, with: {bundler-cache: true}}\n    - run: bundle exec rake test\n";
        let ci = read(&[workflow("ruby.yml", ruby)]);
        assert_eq!(
            (ci.tools[0].with.as_slice(), ci.setup.as_deref()),
            (&[][..], Some("bundle install")),
            "as the action would have"
        );
    }

    #[test]
    fn what_an_action_installs_is_installed_where_it_did_and_for_the_leg() {
        let text = "on: pull_request\njobs:\n  t:\n    strategy: {matrix: {django: ['5.1', '5.2']}}\n    steps:\n    - uses: actions/setup-python@v6\n      with: {pip-install: '-r ${{ matrix.file }}'}\n    - uses: ruby/setup-ruby@v1\n      with: {bundler-cache: true}\n    - run: env CI=1 ./prepare\n    - run: pip install django==${{ matrix.django }}\n    - run: npm test\n      working-directory: web\n";
        let ci = read(&[workflow("ci.yml", text)]);
        assert_eq!(ci.setup.as_deref(), Some("(cd .. && bundle install) && (cd .. && pip install django==5.2)"));
        assert_eq!(ci.left, ["the step `env CI=1 ./prepare`"], "it does not only print");
    }

    #[test]
    fn what_is_not_known_here_is_left_and_told() {
        let text = "name: CI\non:\n  pull_request:\njobs:\n  t:\n    services: {db: {image: postgres}}\n    steps:\n    - uses: actions/setup-node@v5\n      with: {node-version: '${{ inputs.node }}'}\n    - uses: acme/prepare@v1\n    - run: sudo apt-get install -y libpq-dev\n    - run: npm ci --ignore-scripts && rm -rf x\n    - run: npm ci\n      if: runner.os == 'Linux'\n    - run: npm test\n";
        let ci = read(&[workflow("ci.yml", text)]);
        assert_eq!((ci.tools.len(), ci.setup.as_deref()), (0, None));
        assert_eq!(
            ci.left,
            [
                "`services` of the job",
                "the step `actions/setup-node@v5`",
                "the step `acme/prepare@v1`",
                "the step `sudo apt-get install -y libpq-dev`",
                "the step `npm ci --ignore-scripts && rm -rf x`",
                "the step `npm ci`",
            ]
        );
    }

    #[test]
    fn the_tests_folder_is_taken_and_commands_run_in_theirs() {
        let job = |test: &str| {
            format!(
                "on: pull_request\ndefaults: {{run: {{working-directory: ./packages/api}}}}\njobs:\n  t:\n    steps:\n    - run: npm ci\n    - run: npm ci\n      working-directory: .\n    - run: npm ci\n      working-directory: ${{{{ matrix.a }}}}\n    - run: npm test\n      working-directory: {test}\n"
            )
        };
        let ci = read(&[workflow("ci.yml", &job("packages/api"))]);
        assert_eq!(
            (ci.folder.as_deref(), ci.setup.as_deref()),
            (Some("packages/api"), Some("npm ci && (cd ../.. && npm ci)"))
        );
        assert_eq!(ci.left, ["the step `npm ci`"]);
        let ci = read(&[workflow("ci.yml", &job("./"))]);
        assert_eq!((ci.folder, ci.setup.as_deref()), (None, Some("(cd packages/api && npm ci) && npm ci")));
        let ci = read(&[workflow("ci.yml", &job("../other"))]);
        assert_eq!((ci.folder, ci.setup, ci.left[0].as_str()), (None, None, "the folder of the tests"));
    }

    #[test]
    fn all_workflows_of_pull_requests_are_followed_and_none_of_ours() {
        let lint = workflow("lint.yml", "on: pull_request\njobs: {l: {steps: [{run: make lint}]}}\n");
        let tests = workflow(
            "ci.yml",
            "name: 'build: all'\non: {pull_request: {}, push: {}}\njobs: {t: {steps: [{run: make test}]}}\n",
        );
        let ours =
            workflow("upshift.yml", "name: upshift\non: pull_request\njobs: {f: {steps: [{uses: acme/upshift@v1}]}}\n");
        let nightly = workflow("nightly.yml", "on: push\njobs: {t: {steps: [{run: make test}]}}\n");
        let ci = read(&[lint, nightly, ours, tests]);
        assert_eq!(ci.names, [".github/workflows/lint.yml", "build: all"]);
        assert_eq!((ci.file.as_deref(), ci.setup), (Some("ci.yml"), None));
        let nightly = workflow("nightly.yml", "on: push\njobs: {t: {steps: [{run: make test}]}}\n");
        assert_eq!(read(&[nightly]).names, [".github/workflows/nightly.yml"]);
        assert_eq!(read(&[]), Ci::default());
    }

    #[test]
    fn lines_of_one_script_are_taken_together_or_not_at_all() {
        let of = |script: &str| {
            let text = format!(
                "on: pull_request\njobs:\n  t:\n    steps:\n    - run: |\n{}    - run: npm test\n",
                script.lines().map(|line| format!("        {line}\n")).collect::<String>()
            );
            let ci = read(&[workflow("ci.yml", &text)]);
            (ci.setup, ci.left.len())
        };
        let taken = |command: &str, left: usize| (Some(command.to_owned()), left);
        assert_eq!(of("npm i -g npm # newer\necho ready\nnpm ci"), taken("npm i -g npm && npm ci", 0));
        assert_eq!(of("if [ \"$RUNNER_OS\" = Windows ]; then\nnpm ci\nfi"), (None, 1));
        assert_eq!(of("cd web\nnpm ci"), (None, 1));
        assert_eq!(of("cat > x <<EOF\nnpm install evil\nEOF"), (None, 1));
        assert_eq!(of("npm ci\npython -m build\npip install ./dist/a.whl"), taken("npm ci", 1));
    }

    #[test]
    fn the_job_with_the_unit_tests_is_found_among_others_and_in_called_workflows() {
        let job = |id: &str, more: &str, install: &str| {
            format!("  {id}:\n{more}    steps: [{{run: {install}}}, {{run: npm test}}]\n")
        };
        let all = [
            job("legacy", "", "npm i"),
            job("windows", "    runs-on: windows-latest\n", "npm i"),
            job("unit", "    env: {A: b c, B: '${{ secrets.B }}'}\n", "npm ci"),
        ];
        let ci = workflow("ci.yml", &format!("name: CI\non: pull_request\njobs:\n{}", all.concat()));
        let lint = workflow("lint.yml", "name: Lint\non: pull_request\njobs: {l: {steps: [{run: make lint}]}}\n");
        let read_of = |all: &[Workflow]| read(all);
        let found = read_of(&[lint, ci]);
        assert_eq!(
            (found.setup.as_deref(), found.tested.as_slice()),
            (Some("export A='b c' && npm ci"), &["CI".to_owned()][..])
        );
        assert_eq!(found.left, ["`env` of the job"]);
        let caller =
            workflow("pr.yml", "name: PR\non: pull_request\njobs: {a: {uses: ./.github/workflows/tests.yml}}\n");
        let called = workflow("tests.yml", &format!("on: workflow_call\njobs:\n{}", all[2]));
        let found = read_of(&[caller, called]);
        assert_eq!((found.names.as_slice(), found.file.as_deref()), (&["PR".to_owned()][..], Some("tests.yml")));
        let odd = workflow(
            "ci.yml",
            "name: CI\non: pull_request\njobs: {b: {steps: [{run: npm ci}, {name: Run the tests, run: scripts/go}]}}\n",
        );
        assert_eq!(read_of(&[odd]).setup.as_deref(), Some("npm ci"), "by the step's name");
    }
}
