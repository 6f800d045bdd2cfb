//! One more test that fails, for files in which no bodies are found.

use std::path::Path;

/// A file of tests with one more that fails with a word. `None` where nobody knows how that is written.
#[must_use]
pub fn failing(path: &str, text: &str, word: &str) -> Option<String> {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_shell = text.lines().next().is_some_and(|line| line.starts_with("#!") && line.ends_with("sh"));
    let at_the_end = |test: String| Some(format!("{}\n\n{test}", text.trim_end()));
    match extension {
        // The class needs no import of its own: the file may have taken in only a name of the module.
        "py" if text.contains("unittest") => {
            let test = format!(
                "class Test{word}(__import__('unittest').TestCase):\n    def test_{word}(self):\n        raise AssertionError('{word}')\n"
            );
            Some(before(text, "if __name__", &test))
        }
        "py" => Some(before(text, "if __name__", &format!("def test_{word}():\n    raise AssertionError('{word}')\n"))),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            let caller = ["test", "it"].into_iter().find(|name| calls(text, name))?;
            at_the_end(format!("{caller}('{word}', () => {{ throw new Error('{word}'); }});\n"))
        }
        // Without that import the function would not compile, and an import more could be a second one.
        "go" if text.contains("\"testing\"") => {
            at_the_end(format!("func Test{word}(t *testing.T) {{\n\tt.Fatal(\"{word}\")\n}}\n"))
        }
        "rs" => at_the_end(format!("#[test]\nfn {word}() {{\n    panic!(\"{word}\");\n}}\n")),
        "bats" => at_the_end(format!("@test \"{word}\" {{\n  echo {word}\n  false\n}}\n")),
        "sh" | "bash" => Some(script(text, word)),
        "" if is_shell => Some(script(text, word)),
        _ => None,
    }
}

/// A script that fails as soon as it has taken in the files that it sources: what they do to it counts.
fn script(text: &str, word: &str) -> String {
    let sources = |line: &str| line.starts_with(". ") || line.starts_with("source ");
    let lines: Vec<&str> = text.lines().collect();
    let first = usize::from(text.starts_with("#!"));
    let at = lines.iter().rposition(|line| sources(line)).map_or(first, |line| line + 1);
    let (head, tail) = lines.split_at(at);
    let fails = format!("echo {word}; exit 1");
    let all: Vec<&str> = head.iter().chain([&fails.as_str()]).chain(tail).copied().collect();
    format!("{}\n", all.join("\n"))
}

/// A text with another before the first line that begins so, or at its end.
fn before(text: &str, mark: &str, more: &str) -> String {
    let found = text.find(&format!("\n{mark}")).unwrap_or(text.len());
    let (head, tail) = text.split_at(found);
    format!("{}\n\n\n{more}\n{tail}", head.trim_end())
}

/// Whether a text calls a function of this name as a statement.
fn calls(text: &str, name: &str) -> bool {
    text.lines().any(|line| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_fails_behind_what_it_sources() {
        assert_eq!(failing("t.sh", "#!/bin/sh\ntrue\n", "q").unwrap(), "#!/bin/sh\necho q; exit 1\ntrue\n");
        assert_eq!(failing("t.sh", ". lib.sh\ntrue\n", "q").unwrap(), ". lib.sh\necho q; exit 1\ntrue\n");
        assert_eq!(failing("run", "#!/usr/bin/env bash\n", "q").unwrap(), "#!/usr/bin/env bash\necho q; exit 1\n");
        assert_eq!(failing("run", "plain data\n", "q"), None);
    }

    #[test]
    fn a_test_is_added_where_the_runner_sees_it() {
        let python =
            failing("test_a.py", "import unittest\n\nif __name__ == '__main__':\n    unittest.main()\n", "q").unwrap();
        assert!(python.find("class Testq").unwrap() < python.find("if __name__").unwrap(), "{python}");
        assert!(
            failing("a.test.js", "it('a', () => {});\n", "q")
                .unwrap()
                .ends_with("it('q', () => { throw new Error('q'); });\n")
        );
        assert_eq!(failing("a.test.js", "export const a = 1;\n", "q"), None);
    }
}
