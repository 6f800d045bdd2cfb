//! Which framework a given command runs, as far as its words say.

/// One word that is a runner's own name.
const NAMES: &[(&str, &str)] = &[
    ("pytest", "pytest"),
    ("py.test", "pytest"),
    ("jest", "jest"),
    ("vitest", "vitest"),
    ("mocha", "mocha"),
    ("ava", "ava"),
    ("jasmine", "jasmine"),
    ("rspec", "rspec"),
    ("phpunit", "phpunit"),
    ("pest", "phpunit"),
    ("ctest", "ctest"),
    ("bats", "bats"),
    ("prove", "prove"),
    ("busted", "busted"),
    ("behave", "behave"),
    ("robot", "robot"),
];

/// Two words: a program and what it is asked to do.
const PAIRS: &[(&str, &str, &str)] = &[
    ("cargo", "nextest", "cargo-nextest"),
    ("cargo", "test", "cargo-test"),
    ("cargo", "t", "cargo-test"),
    ("go", "test", "go-test"),
    ("node", "--test", "node-test"),
    ("bun", "test", "bun-test"),
    ("deno", "test", "deno-test"),
    ("dotnet", "test", "dotnet"),
    ("mix", "test", "exunit"),
    ("playwright", "test", "playwright"),
    ("meson", "test", "meson-test"),
    ("karma", "start", "karma"),
    ("rails", "test", "minitest"),
    ("manage.py", "test", "unittest"),
    ("-m", "unittest", "unittest"),
    ("-m", "pytest", "pytest"),
];

/// Programs that run tests among other things: these words must be there, too.
const BUILDS: &[(&str, &[&str], &str)] = &[
    ("mvn", &["test", "verify", "install", "package"], "maven-surefire"),
    ("mvnw", &["test", "verify", "install", "package"], "maven-surefire"),
    ("gradle", &["test", "check", "build"], "gradle"),
    ("gradlew", &["test", "check", "build"], "gradle"),
];

/// What may stand before a runner's name in its own command.
const THROUGH: [&str; 22] = [
    "npx", "pnpm", "yarn", "bunx", "exec", "run", "dlx", "bundle", "uv", "poetry", "pdm", "pipenv", "hatch", "rye",
    "python", "python3", "-m", "env", "time", "timeout", "sudo", "nice",
];

/// The framework of the last command of the line whose words tell one.
pub(super) fn framework_of(command: &str) -> Option<&'static str> {
    let parts: Vec<&str> = command.split(['&', '|', ';', '\n', '(', ')']).collect();
    parts.iter().rev().find_map(|part| of_one(part))
}

fn of_one(part: &str) -> Option<&'static str> {
    let words: Vec<&str> = part.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let pair = PAIRS.iter().find(|(first, second, _)| words.windows(2).any(|two| *two == [*first, *second]));
    if let Some((.., framework)) = pair {
        return Some(framework);
    }
    // `cargo +nightly test`, `go -C api test`: the program first, its word later.
    let program = words.iter().find(|word| !is_passed_over(word))?;
    if let Some((.., framework)) = NAMES.iter().find(|(name, _)| name == program) {
        return Some(framework);
    }
    let later = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let build = BUILDS.iter().find(|(name, wanted, _)| name == program && later(wanted)).map(|one| one.2);
    let toolchain = || {
        let chosen = words.iter().any(|word| word.starts_with('+'));
        PAIRS.iter().find(|(name, word, _)| chosen && name == program && later(&[word])).map(|one| one.2)
    };
    build.or_else(toolchain)
}

/// A launcher, its option or number, or a variable that is set for the command.
fn is_passed_over(word: &str) -> bool {
    THROUGH.contains(&word)
        || word.contains('=')
        || word.starts_with('-')
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::framework_of;

    #[test]
    fn a_commands_own_words_tell_its_framework() {
        for (command, framework) in [
            ("pytest -q tests", "pytest"),
            ("uv run pytest", "pytest"),
            ("cd api && poetry run python3 -m pytest -x", "pytest"),
            (".venv/bin/python -m unittest", "unittest"),
            ("CI=1 timeout 60 ./node_modules/.bin/jest --ci", "jest"),
            ("npm ci && npx vitest run", "vitest"),
            ("cargo +nightly test --workspace", "cargo-test"),
            ("cargo nextest run", "cargo-nextest"),
            ("go test ./... | tee log", "go-test"),
            ("bundle exec rspec", "rspec"),
            ("./mvnw -B verify", "maven-surefire"),
            ("./gradlew :app:build check", "gradle"),
            ("cmake --build build && ctest --test-dir build", "ctest"),
            ("vendor/bin/phpunit", "phpunit"),
        ] {
            assert_eq!(framework_of(command), Some(framework), "{command}");
        }
    }

    #[test]
    fn words_that_are_only_arguments_tell_none() {
        for command in [
            "make test",
            "./run.sh pytest",
            "npm test",
            "echo jest",
            "cargo build",
            "pip install pytest",
            "git mv mocha ava",
        ] {
            assert_eq!(framework_of(command), None, "{command}");
        }
    }
}
