//! Which job of CI runs the tests, and in which step.

use serde_yaml::Value;

use super::installation::{is_installation, lines_of};
use crate::framework::calls::framework_of;

/// Words before the name of a program or script that is run through others.
const THROUGH: [&str; 34] = [
    "uv",
    "uvx",
    "run",
    "poetry",
    "pdm",
    "hatch",
    "pipenv",
    "rye",
    "npx",
    "bunx",
    "pnpx",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "task",
    "bundle",
    "exec",
    "composer",
    "time",
    "env",
    "xvfb-run",
    "-m",
    "python",
    "python3",
    "sudo",
    "turbo",
    "nx",
    "lerna",
    "run-script",
    "workspaces",
    "sh",
    "bash",
];
/// Programs that run tests whatever stands behind them.
const RUNNERS: [&str; 4] = ["tox", "nox", "runtest", "runtests"];
/// Programs of which one of these words runs the tests.
const BUILDERS: [(&str, &[&str]); 12] = [
    ("make", &["check"]),
    ("ninja", &["check"]),
    ("meson", &["test"]),
    ("gradle", &["build", "check", "test"]),
    ("gradlew", &["build", "check", "test"]),
    ("mvn", &["verify", "install", "package", "test"]),
    ("mvnw", &["verify", "install", "package", "test"]),
    ("just", &["check", "ci"]),
    ("dune", &["runtest"]),
    ("stack", &["test"]),
    ("cabal", &["test"]),
    ("zig", &["test"]),
];
/// Words of a job's name for and against its being the one with the unit tests.
const FOR: [&str; 3] = ["test", "unit", "spec"];
const AGAINST: [&str; 28] = [
    "legacy",
    "lowest",
    "minimal",
    "min-",
    "msrv",
    "windows",
    "macos",
    "e2e",
    "integration",
    "regression",
    "bench",
    "lint",
    "docs",
    "deploy",
    "release",
    "coverage",
    "typecheck",
    "types",
    "smoke",
    "wasm",
    "emscripten",
    "pypy",
    "mypy",
    "miri",
    "sanit",
    "fuzz",
    "nightly",
    "32",
];

/// The step that runs the tests, and how likely its job is the one with the unit tests.
pub(super) fn in_job(id: &str, job: &Value, all: &[Value]) -> Option<(usize, i32)> {
    let scripts: Vec<Option<&str>> = all.iter().map(|step| step.get("run").and_then(Value::as_str)).collect();
    let runs_tests = |script: &&str| lines_of(script).iter().any(|line| is_test(line));
    let by_command = scripts.iter().position(|script| script.as_ref().is_some_and(runs_tests));
    let named = |step: &Value| step.get("name").and_then(Value::as_str).is_some_and(|name| says(name, &FOR));
    let by_name = || all.iter().zip(&scripts).position(|(step, script)| script.is_some() && named(step));
    let name = job.get("name").and_then(Value::as_str).unwrap_or(id);
    // In a job that is called `test` its last script is most likely the tests, after the preparations.
    let by_job = || says(name, &FOR).then(|| scripts.iter().rposition(Option::is_some)).flatten();
    let (step, sure) = match by_command {
        // A command that is known weighs more than all that names can say for a job.
        Some(step) => (step, 4),
        None => (by_name().or_else(by_job)?, 0),
    };
    let runs_on = job.get("runs-on").map(|on| format!("{on:?}").to_lowercase()).unwrap_or_default();
    let elsewhere = ["windows", "macos"].into_iter().any(|system| runs_on.contains(system));
    let points = [
        (says(id, &FOR) || says(name, &FOR), 2),
        (says(id, &AGAINST) || says(name, &AGAINST), -3),
        // A job on another system cannot run here at all, so even a sure command does not save it.
        (elsewhere, -4),
        (job.get("container").is_some(), -2),
        (job.get("if").is_some(), -1),
    ];
    Some((step, sure + points.into_iter().filter(|(is, _)| *is).map(|(_, points)| points).sum::<i32>()))
}

fn says(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether a line runs tests: a runner's command, or a script or target that is called so.
pub(super) fn is_test(line: &str) -> bool {
    line.split("&&").any(|command| {
        let words: Vec<&str> = command.split_whitespace().filter(|word| !is_variable(word)).collect();
        // `pip install pytest` names a runner and runs none.
        !is_installation(command.trim())
            // The shell's own `test -f x` looks at a file.
            && words.first() != Some(&"test")
            && (calls_tests(&words) || is_framework(command, &words))
    })
}

/// Whether the runner is what is called, and not what is looked at or installed.
fn is_framework(command: &str, words: &[&str]) -> bool {
    const LOOKS: [&str; 9] = ["echo", "printf", "cat", "grep", "ls", "cp", "mv", "pip", "pip3"];
    words.first().is_some_and(|first| !LOOKS.contains(first)) && framework_of(command).is_some()
}

fn calls_tests(words: &[&str]) -> bool {
    let base = |word: &str| {
        // `./scripts/test.sh` and `scripts\test.cmd` are both scripts called `test`.
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
        name.split('.').next().unwrap_or_default().to_owned()
    };
    let mut rest =
        // Programs that only start others are passed over: `poetry run pytest` is `pytest`.
        words.iter().map(|word| base(word)).filter(|word| !THROUGH.contains(&word.as_str()) && !word.starts_with('-'));
    let Some(program) = rest.next() else { return false };
    let behind: Vec<String> = rest.collect();
    let is_named = |word: &str| {
        let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric());
        let first = parts.next().unwrap_or_default();
        matches!(first, "test" | "tests" | "spec" | "specs" | "cibuild")
            || matches!(word, "unit" | "run-tests" | "ci-test" | "all-tests")
    };
    let builds = BUILDERS.iter().find(|(builder, _)| *builder == program);
    let target = [
        "make", "just", "task", "ninja", "script", "mix", "cargo", "go", "dotnet", "swift", "gradle", "gradlew",
        "rake", "composer", "docker",
    ];
    let runner = |word: &String| RUNNERS.contains(&word.as_str());
    let is_through = words.first().is_some_and(|first| THROUGH.contains(first));
    is_named(&program)
        || runner(&program)
        // Alone it runs the default task, which is the tests in most projects.
        || (program == "rake" && behind.is_empty())
        || (is_through && behind.iter().take(2).any(runner))
        || builds.is_some_and(|(_, words)| behind.iter().any(|word| words.contains(&word.as_str())))
        // A word such as `test` is a target only right behind a program that has targets.
        || (target.contains(&program.as_str()) && behind.first().is_some_and(|word| is_named(word)))
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_runs_tests_or_only_names_them() {
        for line in [
            "npm test",
            "npm run test:unit",
            "yarn workspaces run test",
            "pnpm -r test",
            "cargo test --all",
            "go test ./...",
            "CI=1 python -m unittest",
            "tox -e py",
            "python -m tox",
            "uvx --with tox-uv tox -e py",
            "bundle exec rake",
            "bundle exec rake spec",
            "make check",
            "make -j4 test",
            "./gradlew build",
            "mvn -B verify",
            "./runtest --verbose",
            "script/cibuild",
            "./scripts/test.sh",
            "mkdir build && make test",
        ] {
            assert!(is_test(line), "{line}");
        }
        for line in [
            "ruff check idna tests",
            "isort --check tests/",
            "test \"$RESULT\" = success",
            "source activate test-environment",
            "grep -r x packages/test/",
            "pip install -r requirements-test.txt",
            "echo npm test",
            "make lint",
            "cargo build --tests",
            "npm run build",
        ] {
            assert!(!is_test(line), "{line}");
        }
    }
}
