//! Judges of a change in this checkout, which are protected from it: the tests' command, the checks beside it, and the files that each of
//! them runs.

use std::path::Path;

use super::scripts;
use crate::config::{NamedCommand, Plan, TASK_CHECK};
use crate::domain::ci::RedCi;
use crate::test_run::Check;
use crate::workspace::PathRules;

/// The files from which linters, type checkers and formatters take their rules: what is red is not mended by asking for less.
const CONFIGURATION: [&str; 30] = [
    ".ruff.toml",
    "ruff.toml",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    "tox.ini",
    "setup.cfg",
    ".eslintrc*",
    "eslint.config.*",
    ".eslintignore",
    ".prettierrc*",
    "prettier.config.*",
    "biome.json*",
    "tsconfig*.json",
    "clippy.toml",
    ".clippy.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "deny.toml",
    ".golangci.*",
    ".rubocop.yml",
    "phpstan.*neon*",
    "phpcs.xml*",
    ".shellcheckrc",
    ".markdownlint*",
    ".yamllint*",
    ".pre-commit-config.yaml",
];

/// The checks that the configuration names beside the command of the tests, for the folder in which those run.
pub(super) fn checks(plan: &Plan, test_command: &str, folder: &Path) -> Vec<Check> {
    let check =
        |named: &NamedCommand| Check { name: named.name.clone(), run: named.run.clone(), cwd: folder.to_owned() };
    // The same command twice says nothing more. That of a task is looked for by its name.
    let is_another =
        |named: &&NamedCommand| named.name.starts_with(TASK_CHECK) || named.run.trim() != test_command.trim();
    plan.test.commands.iter().filter(is_another).map(check).collect()
}

/// The files that a change leaves alone since they judge it. They are known from the beginning, also those of failures in CI.
pub(super) fn rules(checkout: &Path, plan: &Plan, test_command: &str, red_ci: Option<&RedCi>) -> PathRules {
    let folder = plan.working_directory.as_deref();
    let beside = plan.test.commands.iter().map(|named| (folder, named.run.as_str()));
    // The commands of failed CI steps start at the top, whatever the working directory of the tests is.
    let failed = red_ci.map(RedCi::commands).unwrap_or_default();
    let checks: Vec<(Option<&str>, &str)> = beside.chain(failed.into_iter().map(|run| (None, run))).collect();
    let mut protected = plan.safety.protected_paths.clone();
    // A detected command names no script.
    let named = plan.test.command.as_deref().map(|command| (folder, command));
    for (folder, command) in named.iter().chain(&checks) {
        protected.extend(scripts_in(checkout, *folder, command));
    }
    // Without checks beside the tests no linter judges, and its configuration may be edited.
    if !checks.is_empty() {
        protected.extend(CONFIGURATION.map(|glob| format!("**/{glob}")));
    }
    let all = std::iter::once((folder, test_command)).chain(checks);
    let run_tests = all.flat_map(|(folder, command)| scripts::reached(checkout, folder, command).runners).collect();
    PathRules { protected, run_tests, ..PathRules::default() }
}

/// The scripts of a command that lie in the checkout, as globs.
fn scripts_in(checkout: &Path, folder: Option<&str>, command: &str) -> Vec<String> {
    let folder = Path::new(folder.unwrap_or_default());
    let scripts = scripts::scripts_of(command).into_iter().map(|name| folder.join(name));
    // Words that name no file are arguments or programs of the system.
    let here = scripts.filter(|path| checkout.join(path).is_file());
    // A name such as `test[1].sh` would be a pattern that protects another file.
    here.map(|path| globset::escape(&path.to_string_lossy())).collect()
}
