//! Commands that run all tests, also behind the first failure: a program of tests that was never started says nothing, neither what fails at
//! the start nor what a change breaks.

use crate::framework::calls::{self, base};
use crate::framework::facts::GoesOn;
use crate::framework::table;

/// The command with its runner's option to go on behind a failure. As it is where the runner has none, or the command decides itself.
pub(super) fn to_the_end(line: String, framework: Option<&str>) -> String {
    let framework = calls::framework_of(&line).or_else(|| framework.and_then(table::named));
    let Some(goes_on) = framework.and_then(|found| found.goes_on.as_ref()) else { return line };
    match place(&line, goes_on) {
        Some(at) => {
            let (before, behind) = line.split_at(at);
            format!("{before} {}{behind}", goes_on.option)
        }
        None => line,
    }
}

/// Where the words end by which the runner is called. `None` without them, and where the command says itself when to stop.
fn place(line: &str, goes_on: &GoesOn) -> Option<usize> {
    let words: Vec<(usize, &str)> = words(line).collect();
    let says_when =
        |word: &str| word == goes_on.option || goes_on.unless.contains(&word.split('=').next().unwrap_or(word));
    if words.iter().any(|(_, word)| says_when(word)) {
        return None;
    }
    (0..words.len()).find_map(|at| {
        let called = words.get(at..).unwrap_or_default();
        goes_on.behind.iter().find_map(|wanted| called_by(called, wanted))
    })
}

/// The end of the wanted words, where a line begins with them. A toolchain (`+nightly`) may stand between them.
fn called_by(words: &[(usize, &str)], wanted: &[&str]) -> Option<usize> {
    let mut words = words.iter().filter(|(_, word)| !word.starts_with('+'));
    let mut end = None;
    for wanted in wanted {
        let (at, _) = words.next().filter(|(_, word)| base(word) == *wanted)?;
        end = Some(*at);
    }
    end
}

/// The words of a line, each with the place where it ends.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = line.split_inclusive(|letter: char| letter.is_ascii_whitespace()).scan(0, |start, part| {
        let word = part.trim_ascii_end();
        let end = *start + word.len();
        *start += part.len();
        Some((end, word))
    });
    parts.filter(|(_, word)| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_stops_at_a_failure_goes_on_unless_the_command_says_otherwise() {
        for (line, wanted) in [
            ("cargo test", "cargo test --no-fail-fast"),
            (
                "cargo fmt && cargo +nightly test --lib -- a",
                "cargo fmt && cargo +nightly test --no-fail-fast --lib -- a",
            ),
            ("cargo test 2>&1 | tee log", "cargo test --no-fail-fast 2>&1 | tee log"),
            ("cargo nextest run --release", "cargo nextest run --no-fail-fast --release"),
            ("cargo nextest run --max-fail=1", "cargo nextest run --max-fail=1"),
            ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
            ("cargo test --no-run", "cargo test --no-run"),
            ("mvn -B test", "mvn --fail-at-end -B test"),
            ("./mvnw -ff verify", "./mvnw -ff verify"),
            ("./gradlew :app:check test", "./gradlew --continue :app:check test"),
            ("go test ./...", "go test ./..."),
            ("echo test", "echo test"),
        ] {
            assert_eq!(to_the_end(line.to_owned(), None), wanted);
        }
        assert_eq!(to_the_end("cargo fmt; npm test".to_owned(), Some("cargo-test")), "cargo fmt; npm test");
    }
}
