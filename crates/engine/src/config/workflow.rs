//! A workflow's file, read for the commands of the steps that failed in it.
//!
//! Only what runs anywhere is taken: a step with an expression, in a container or beside services, or one that uses an action, means
//! something on its own runner alone. Invariant: a step that is not found for certain is none.

use serde::Deserialize;
use serde_yaml::{Mapping, Value};

use crate::domain::shell::quote;

/// A step as GitHub names it that has no name: this and its first line.
const UNNAMED: &str = "Run ";

/// Why a failed job cannot be run here, in words that end a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotHere {
    /// The file does not say which step it was.
    Unknown,
    /// The step uses an action.
    Action,
    /// The job needs a container or services.
    Container,
    /// The step's text depends on the run.
    Expression,
    /// The step is no shell's.
    Shell,
    /// The step changes the machine or the packages of the checkout.
    Installs,
}

impl NotHere {
    /// The words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "its step is not in the workflow of the base",
            Self::Action => "its step is an action",
            Self::Container => "it runs in a container or beside services",
            Self::Expression => "its step depends on expressions of the workflow",
            Self::Shell => "its step is not for a POSIX shell or bash",
            Self::Installs => "its step installs something (see test.setupCommand)",
        }
    }
}

/// The shell command of a job's failed step, for the root of the checkout.
///
/// # Errors
/// Why there is none.
pub fn failed_command(workflow: &str, job: &str, step: &str) -> Result<String, NotHere> {
    let workflow = read(workflow).ok_or(NotHere::Unknown)?;
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).ok_or(NotHere::Unknown)?;
    // The surer a name is, the sooner it decides: a job that is called by an expression alone may be any.
    let by = |is: fn(&str, &Value, &str) -> bool| only(jobs.iter().filter(|(key, of)| is(name_of(key, of), of, job)));
    let found = by(|name, _, wanted| name == wanted).or_else(|_| by(is_leg)).or_else(|_| by(may_be_leg))?.1;
    // The command would run on another system than it did.
    if is_elsewhere(found) {
        return Err(NotHere::Container);
    }
    let steps = found.get("steps").and_then(Value::as_sequence).ok_or(NotHere::Unknown)?;
    // Two steps of one name: either could be the one that failed.
    let found_step = only(steps.iter().filter(|one| is_step(one, step)))?;
    let around = [&workflow, found];
    command(found_step, &around)
}

/// The shells of steps: without `shell:`, of `bash` and of `sh`.
const SHELLS: [&str; 3] = ["bash -ec", "bash --noprofile --norc -eo pipefail -c", "sh -ec"];

/// The shell commands of all steps of a workflow that could be run here, as [`failed_command`] would give them.
#[must_use]
pub fn workflow_commands(workflow: &str) -> Vec<String> {
    let Some(workflow) = read(workflow) else { return Vec::new() };
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).into_iter().flat_map(Mapping::values);
    let steps = jobs.filter(|job| !is_elsewhere(job)).flat_map(|job| {
        let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten();
        steps.filter_map(|step| command(step, &[&workflow, job]).ok())
    });
    steps.collect()
}

/// The first document of a workflow's file.
fn read(workflow: &str) -> Option<Value> {
    let mut documents = serde_yaml::Deserializer::from_str(workflow);
    documents.next().and_then(|document| Value::deserialize(document).ok())
}

/// Whether a job's steps run on another system than its runner's.
fn is_elsewhere(job: &Value) -> bool {
    job.get("container").is_some() || job.get("services").is_some()
}

/// The one that there is.
fn only<T>(mut all: impl Iterator<Item = T>) -> Result<T, NotHere> {
    match (all.next(), all.next()) {
        // A guess would run another command than the one that failed, and judge by it.
        (Some(one), None) => Ok(one),
        _ => Err(NotHere::Unknown),
    }
}

/// The API's name for a job of the file: its name, or its key.
fn name_of<'y>(key: &'y Value, job: &'y Value) -> &'y str {
    job.get("name").and_then(Value::as_str).or_else(|| key.as_str()).unwrap_or_default()
}

/// Whether it is one of the jobs that a matrix makes of this one: their values stand behind its name, or in it.
fn is_leg(name: &str, job: &Value, wanted: &str) -> bool {
    let (before, is_made) = name.split_once("${{").map_or((name, false), |(before, _)| (before.trim_end(), true));
    // A name that begins with an expression could be any job's.
    let rest = wanted.strip_prefix(before).filter(|_| has_matrix(job) && !before.is_empty());
    rest.is_some_and(|rest| is_made || rest.starts_with(" ("))
}

/// Whether it may be one of those, since its name is made of their values.
fn may_be_leg(name: &str, job: &Value, _wanted: &str) -> bool {
    name.contains("${{") && has_matrix(job)
}

fn has_matrix(job: &Value) -> bool {
    job.get("strategy").is_some_and(|strategy| strategy.get("matrix").is_some())
}

fn is_step(step: &Value, wanted: &str) -> bool {
    match (step.get("name").and_then(Value::as_str), step.get("run").and_then(Value::as_str)) {
        (Some(name), _) => name == wanted,
        (None, Some(run)) => {
            // GitHub calls a step without a name by the first line of its script.
            let first = run.lines().next().unwrap_or_default().trim();
            wanted.strip_prefix(UNNAMED).is_some_and(|named| named.trim() == first)
        }
        (None, None) => step
            .get("uses")
            .and_then(Value::as_str)
            .is_some_and(|uses| wanted.strip_prefix(UNNAMED).is_some_and(|named| named == uses)),
    }
}

fn command(step: &Value, around: &[&Value; 2]) -> Result<String, NotHere> {
    let Some(run) = step.get("run").and_then(Value::as_str) else { return Err(NotHere::Action) };
    let default = |key: &str| {
        let of = |scope: &&Value| Some(scope.get("defaults")?.get("run")?.get(key)?.as_str()?.to_owned());
        // The job's default comes before the workflow's, and the step's own before both.
        step.get(key).and_then(Value::as_str).map(str::to_owned).or_else(|| around.iter().rev().find_map(of))
    };
    let (folder, shell) = (default("working-directory"), default("shell"));
    // The other way round here: a later assignment replaces an earlier one.
    let scopes = [around.first().copied(), around.get(1).copied(), Some(step)];
    let mut set = String::new();
    for environment in scopes.into_iter().flatten().filter_map(|scope| scope.get("env")?.as_mapping()) {
        set.push_str(&assignments(environment)?);
    }
    let texts = [Some(run), folder.as_deref(), shell.as_deref()];
    // Its value is known in the job alone, and may be a secret.
    if texts.into_iter().flatten().any(|text| text.contains("${{")) {
        return Err(NotHere::Expression);
    }
    if installs(run) {
        return Err(NotHere::Installs);
    }
    // As the runner calls it (GitHub's documentation of `jobs.<job_id>.steps[*].shell`).
    let shell = match shell.as_deref() {
        // The runner's default without `shell:` is bash without `pipefail`.
        None => SHELLS[0],
        Some("bash") => SHELLS[1],
        Some("sh") => SHELLS[2],
        Some(_) => return Err(NotHere::Shell),
    };
    Ok(called(folder.as_deref(), &set, shell, run))
}

/// The command of a step, for the root of the checkout.
fn called(folder: Option<&str>, set: &str, shell: &str, run: &str) -> String {
    let folder = folder.map(|folder| format!("cd {} && ", quote(folder))).unwrap_or_default();
    // In brackets, so that the folder and the variables end with the command.
    format!("({folder}{set}{shell} {})", quote(run.trim()))
}

/// Whether the command of a step, as [`failed_command`] gives it, is nothing but this command in this folder.
#[must_use]
pub fn is_only(step: &str, command: &str, folder: Option<&str>) -> bool {
    // Of several commands in one the options of the shell decide which count.
    !command.trim().contains(['\n', ';', '|', '&'])
        && SHELLS.iter().any(|shell| step == called(folder, "", shell, command))
}

/// Whether a text installs something: without the network that would leave the checkout with less than it has.
fn installs(run: &str) -> bool {
    const INSTALLS: [&str; 6] = ["install", "ci", "i", "sync", "restore", "add"];
    const ALWAYS: [&str; 8] = ["sudo", "apt-get", "apt", "apk", "brew", "docker", "podman", "choco"];
    const MANAGERS: [&str; 16] = [
        "npm", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "poetry", "pipenv", "bundle", "gem", "composer", "cargo",
        "go", "dotnet", "rustup",
    ];
    run.split(['\n', ';', '&', '|', '(', ')']).any(|simple| {
        let words: Vec<&str> = simple.split_whitespace().collect();
        let by = |managers: &[&str]| words.iter().position(|word| managers.contains(word));
        let first_is = |words: &[&str]| {
            words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| INSTALLS.contains(word))
        };
        let is_bare = || words.iter().skip(1).all(|word| word.starts_with('-'));
        words.first().is_some_and(|word| ALWAYS.contains(word))
            // `yarn` and `bundle` alone install.
            || words.first().is_some_and(|word| ["yarn", "bundle"].contains(word)) && is_bare()
            // `npm ci` installs. `npm run ci` does not, since its first word is `run`.
            || by(&MANAGERS).is_some_and(|at| words.get(at + 1..).is_some_and(first_is))
    })
}

/// The variables of a scope, as they stand before a command.
fn assignments(environment: &Mapping) -> Result<String, NotHere> {
    let mut set = String::new();
    for (name, value) in environment {
        let name = name.as_str().unwrap_or_default();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            // GitHub's handling of these is its own, so nothing is guessed.
            Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => return Err(NotHere::Expression),
        };
        if !plain || text.contains("${{") {
            return Err(NotHere::Expression);
        }
        set.push_str(&format!("{name}={} ", quote(&text)));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKFLOW: &str = r"
name: CI
on: [push, pull_request]
env: { CI_LEVEL: 2 }
defaults: { run: { working-directory: app } }
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
      - run: ruff check .
      - name: types
        run: |
          mypy shop
          echo 'done'
        shell: bash
        working-directory: .
      - run: ruff check ${{ inputs.path }}
      - name: windows
        run: Get-Item x
        shell: pwsh
  test:
    name: test
    strategy: { matrix: { python: ['3.12', '3.13'] } }
    steps:
      - run: pytest -q
        env: { A: it's, B: true }
  os:
    name: ${{ matrix.os }}
    strategy: { matrix: { os: [ubuntu-latest] } }
    steps: [{ run: make check }]
  db:
    services: { postgres: { image: postgres } }
    steps: [{ run: pytest db }]
  secret:
    env: { TOKEN: '${{ secrets.TOKEN }}' }
    steps: [{ run: ./check }]
  packages:
    steps:
      - { name: npm, run: npm ci }
      - { name: pip, run: 'python -m pip --quiet install -r dev.txt && ruff check .' }
      - { name: os, run: sudo apt-get update }
      - { name: yarn, run: yarn --immutable && yarn test }
      - { name: bundle, run: bundle }
      - { name: yarn alone, run: yarn test && bundle exec rake && ls dist/a bundle }
      - { name: run, run: npm run install-check && cargo clippy && uv run ruff check }
  twice:
    steps: [{ run: make }, { run: make }]
";

    #[test]
    fn the_command_of_a_failed_step_is_what_the_runner_would_call() {
        for (job, step, wanted) in [
            ("lint", "Run ruff check .", "(cd app && CI_LEVEL=2 bash -ec 'ruff check .')"),
            (
                "lint",
                "types",
                "(cd . && CI_LEVEL=2 bash --noprofile --norc -eo pipefail -c 'mypy shop\necho '\\''done'\\''')",
            ),
            ("ubuntu-latest", "Run make check", "(cd app && CI_LEVEL=2 bash -ec 'make check')"),
            ("test (3.13)", "Run pytest -q", r"(cd app && CI_LEVEL=2 A='it'\''s' B=true bash -ec 'pytest -q')"),
        ] {
            assert_eq!(failed_command(WORKFLOW, job, step).as_deref(), Ok(wanted), "{job}: {step}");
        }
    }

    #[test]
    fn every_command_that_could_be_taken_is_listed_as_it_would_be_taken() {
        let all = workflow_commands(WORKFLOW);
        for (job, step) in [("lint", "Run ruff check ."), ("lint", "types"), ("test (3.12)", "Run pytest -q")] {
            let taken = failed_command(WORKFLOW, job, step).expect("it is taken");
            assert!(all.contains(&taken), "{taken}: {all:?}");
        }
        // Nothing of an action, a container, an expression, another shell, or one that installs.
        for never in ["checkout", "pytest db", "./check", "Get-Item", "npm ci", "inputs"] {
            assert!(all.iter().all(|command| !command.contains(never)), "{never}: {all:?}");
        }
        for broken in ["", "[", "jobs: 7", "jobs: { a: { steps: 1 } }"] {
            assert_eq!(workflow_commands(broken), Vec::<String>::new(), "{broken}");
        }
    }

    #[test]
    fn what_runs_on_its_own_runner_alone_is_not_taken() {
        for (job, step, why) in [
            ("lint", "Run actions/checkout@v6", NotHere::Action),
            ("lint", "Run ruff check ${{ inputs.path }}", NotHere::Expression),
            ("lint", "windows", NotHere::Shell),
            ("db", "Run pytest db", NotHere::Container),
            ("secret", "Run ./check", NotHere::Expression),
            ("packages", "npm", NotHere::Installs),
            ("packages", "pip", NotHere::Installs),
            ("packages", "os", NotHere::Installs),
            ("packages", "yarn", NotHere::Installs),
            ("packages", "bundle", NotHere::Installs),
            ("twice", "Run make", NotHere::Unknown),
            ("lint", "Run something else", NotHere::Unknown),
            ("nobody", "Run make", NotHere::Unknown),
        ] {
            assert_eq!(failed_command(WORKFLOW, job, step), Err(why), "{job}: {step}");
        }
        for step in ["run", "yarn alone"] {
            assert!(failed_command(WORKFLOW, "packages", step).is_ok(), "{step}");
        }
        for broken in ["", "[", "jobs: 7", "jobs: { a: { steps: 1 } }"] {
            assert_eq!(failed_command(broken, "a", "b"), Err(NotHere::Unknown), "{broken}");
        }
    }
}
