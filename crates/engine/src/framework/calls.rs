//! Which framework a command calls, by its words.

use super::facts::{Call, Framework};
use super::table;

/// Words that may stand before a runner's name in its own command.
const THROUGH: [&str; 21] = [
    "npx", "pnpm", "yarn", "bunx", "exec", "run", "dlx", "bundle", "uv", "poetry", "pdm", "pipenv", "hatch", "rye",
    "-m", "env", "time", "timeout", "sudo", "nice", "php",
];

/// The framework of the last command of the line whose words tell one.
#[must_use]
pub fn framework_of(command: &str) -> Option<&'static Framework> {
    // From behind: `npm run build && npx jest` builds first, and the tests are what the exit code is about.
    let parts: Vec<&str> = command.split(['&', '|', ';', '\n', '(', ')']).collect();
    parts.iter().rev().find_map(|part| of_one(part))
}

fn of_one(part: &str) -> Option<&'static Framework> {
    let words: Vec<&str> = part.split_whitespace().map(base).collect();
    let pairs = |call: &Call| match *call {
        Call::Words(wanted) => words.windows(wanted.len()).any(|some| some == wanted),
        Call::Module(module) | Call::Word(module) => words.windows(2).any(|two| *two == ["-m", module]),
        Call::Program(_) | Call::Build(..) | Call::Built => false,
    };
    if let Some(framework) = table::all().find(|framework| framework.calls.iter().any(pairs)) {
        return Some(framework);
    }
    // `cargo +nightly test`, `go -C api test`: the program first, its word later.
    let program = program_of(&words)?;
    let later = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    // Only a toolchain may stand between the words. `cargo run test` runs a program with an argument.
    let chosen = words.iter().any(|word| word.starts_with('+'));
    let by_program = |call: &Call| match *call {
        Call::Word(name) | Call::Program(name) => name == program,
        Call::Build(name, wanted) => name == program && later(wanted),
        Call::Words([name, word]) => chosen && *name == program && later(&[*word]),
        Call::Words(_) | Call::Module(_) | Call::Built => false,
    };
    table::all().find(|framework| framework.calls.iter().any(by_program))
}

/// The last part of a path.
#[must_use]
pub fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The program that a command starts, behind launchers and variables.
fn program_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().copied().find(|word| !is_passed_over(word))
}

/// A launcher, its option or number, or a variable that is set for the command.
fn is_passed_over(word: &str) -> bool {
    THROUGH.contains(&word)
        || word.starts_with("python")
        || word.contains('=')
        || word.starts_with('-')
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The one framework that a plain line calls by its own name, and whether the line's last command does. `None` for none, and for several
/// calls.
#[must_use]
pub fn called(line: &str) -> Option<(&'static Framework, bool)> {
    let parts: Vec<&str> = line.split("&&").collect();
    let mut found = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        for index in 0..words.len() {
            match called_at(&words, index) {
                At::Nothing => {}
                At::Call(framework) => found.push((framework, at + 1 == parts.len())),
                // The line says nothing certain any more, however many calls stand beside it.
                At::Argument => return None,
            }
        }
    }
    match found.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// The role of a word in a command.
enum At {
    /// No framework's name.
    Nothing,
    /// The beginning of a call.
    Call(&'static Framework),
    /// A framework's name that is another program's argument.
    Argument,
}

fn called_at(words: &[&str], index: usize) -> At {
    let at = |index: Option<usize>| index.and_then(|at| words.get(at)).map(|word| base(word)).unwrap_or_default();
    let (word, before) = (at(Some(index)), at(index.checked_sub(1)));
    let behind = words.get(index + 1..).unwrap_or_default();
    let is_called = |call: &Call| match *call {
        Call::Word(name) => word == name,
        // An ordinary word such as `tap` or `go` is a program only where one is started.
        Call::Program(name) => word == name && words.iter().position(|word| !is_passed_over(base(word))) == Some(index),
        Call::Words([name, wanted @ ..]) => word == *name && behind.starts_with(wanted),
        Call::Module(module) => word == module && before == "-m",
        Call::Words([]) | Call::Build(..) | Call::Built => false,
    };
    let Some((framework, call)) = table::all().find_map(|framework| {
        let call = framework.calls.iter().find(|call| is_called(call))?;
        Some((framework, *call))
    }) else {
        return At::Nothing;
    };
    // `pip install pytest` calls no pytest, and `coverage run -m unittest` is another program's.
    let is_argument = matches!(before, "install" | "add" | "which" | "echo");
    let interpreter = at(index.checked_sub(2));
    let is_foreign =
        matches!(call, Call::Module(_)) && !["python", "pypy"].iter().any(|name| interpreter.starts_with(name));
    if is_argument || is_foreign { At::Argument } else { At::Call(framework) }
}

/// The framework that one of these words calls, wherever it stands, and that can be told to run single tests.
#[must_use]
pub fn selecting(words: &[&str]) -> Option<&'static Framework> {
    let has = |name: &str| words.iter().any(|word| base(word) == name);
    // `windows` panics at a length of 0.
    let row = |wanted: &[&str]| words.windows(wanted.len().max(1)).any(|some| some == wanted);
    let is_called = |call: &Call| match *call {
        Call::Word(name) | Call::Program(name) | Call::Build(name, _) => has(name),
        Call::Words(wanted) => row(wanted),
        Call::Module(module) => row(&["-m", module]),
        Call::Built => false,
    };
    table::all().find(|framework| framework.selects.is_some() && framework.calls.iter().any(is_called))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("php artisan test", "phpunit"),
            ("sbt test", "junit"),
            ("python3.12 -m robot tests", "robot"),
        ] {
            assert_eq!(framework_of(command).map(|found| found.name), Some(framework), "{command}");
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

    #[test]
    fn one_call_is_told_from_none_several_and_arguments() {
        for (line, call) in [
            ("cd api && poetry run pytest -x", Some(("pytest", true))),
            ("vendor/bin/phpunit && echo done", Some(("phpunit", false))),
            ("php -d memory_limit=-1 vendor/bin/phpunit tests", Some(("phpunit", true))),
            ("bundle exec rspec", Some(("rspec", true))),
            ("python -m unittest", Some(("unittest", true))),
            ("coverage run -m unittest", None),
            ("pytest tests/robot", Some(("pytest", true))),
            ("./robot.sh behave", None),
            ("pytest && behave", None),
            ("pip install pytest && python -m unittest", None),
            ("make test", None),
        ] {
            assert_eq!(called(line).map(|(found, last)| (found.name, last)), call, "{line}");
        }
    }
}
