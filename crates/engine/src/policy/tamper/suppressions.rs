//! Comments and attributes by which code tells a linter, type checker or formatter to look away. Where such a check judges a change, a
//! new one is no fix of what it found.

use super::change::Change;

/// Marks that silence a checker, without spaces and in lower case. Each belongs to one kind of check.
const MARKERS: [&str; 44] = [
    "#noqa",
    "#ruff:noqa",
    "#ruff:ignore",
    "#flake8:noqa",
    "#type:ignore",
    "#mypy:",
    "#pyright:",
    "#pyre-ignore",
    "#pyre-fixme",
    "#pylint:",
    "#nosec",
    "#fmt:off",
    "#fmt:skip",
    "#yapf:disable",
    "#isort:skip",
    "#pragma:nocover",
    "@ts-ignore",
    "@ts-expect-error",
    "@ts-nocheck",
    "eslint-disable",
    "biome-ignore",
    "prettier-ignore",
    "tslint:disable",
    "oxlint-disable",
    "stylelint-disable",
    "deno-lint-ignore",
    "deno-fmt-ignore",
    "#[allow(",
    "#![allow(",
    "#[expect(",
    "#![expect(",
    "rustfmt::skip",
    "//nolint",
    "//lint:ignore",
    "#nosemgrep",
    "rubocop:disable",
    "@phpstan-ignore",
    "@psalm-suppress",
    "phpcs:ignore",
    "phpcs:disable",
    "@suppresswarnings",
    "shellcheckdisable",
    "clang-format off",
    "nosonar",
];

/// The first line of a change that holds a marker which the file held less often before: its one-based number and its text.
#[must_use]
pub fn new_suppression(change: &Change) -> Option<(u32, String)> {
    let count = |text: &str, marker: &str| text.lines().filter(|line| holds(line, marker)).count();
    // Counted over the file, so that a line which moves with its marker is none.
    let more = |marker: &&&str| count(change.after(), marker) > count(change.before(), marker);
    MARKERS.iter().filter(more).find_map(|marker| {
        let mut known: Vec<&str> = change.before().lines().map(str::trim).collect();
        let mut marked = change.after().lines().enumerate().filter(|(_, line)| holds(line, marker));
        // Each line of before vouches for one of after: a second one of the same text is new.
        let (at, line) = marked.find(|(_, line)| match known.iter().position(|known| *known == line.trim()) {
            Some(at) => {
                known.swap_remove(at);
                false
            }
            None => true,
        })?;
        Some((u32::try_from(at + 1).unwrap_or(u32::MAX), line.trim().to_owned()))
    })
}

fn holds(line: &str, marker: &str) -> bool {
    // Checkers take `# type: ignore`, `#type:ignore` and `# NoQA` alike.
    let squeezed: String = line.chars().filter(|one| !one.is_whitespace()).flat_map(char::to_lowercase).collect();
    let marker: String = marker.chars().filter(|one| !one.is_whitespace()).collect();
    squeezed.contains(&marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> Change {
        let text = |text: &str| Some(text.to_owned());
        Change { path: "a.py".to_owned(), before: text(before), after: text(after), may_edit_tests: false }
    }

    #[test]
    fn a_new_one_is_found_with_its_line_in_any_spelling() {
        for (line, found) in [
            ("import os  # noqa", true),
            ("old = 1  # noqa", true),
            ("import os  # NOQA: F401", true),
            ("x = f()  # type:  ignore[attr-defined]", true),
            ("    // @ts-ignore", true),
            ("/* eslint-disable no-undef */", true),
            ("#[allow(dead_code)]", true),
            ("x := f() //nolint:errcheck", true),
            ("import json", false),
            ("allow(x)", false),
        ] {
            let told = new_suppression(&change("import os\n", &format!("import os\n{line}\n")));
            assert_eq!(told, found.then(|| (2, line.trim().to_owned())), "{line}");
        }
    }

    #[test]
    fn one_that_was_there_may_stay_move_and_go() {
        let before = "import os  # noqa\nx = 1\n";
        for after in [before, "x = 1\nimport os  # noqa\n", "x = 1\n"] {
            assert_eq!(new_suppression(&change(before, after)), None, "{after}");
        }
    }
}
