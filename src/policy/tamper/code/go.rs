//! Go's ways of asking whether a program is one of `go test`: its command line, flags and build, and the package `testing`.
//!
//! A program's own root reads its command line; no other file has to.

use regex::Regex;

use super::super::Change;
use super::super::squeeze::{first_added, spaced};

/// What only a program's root asks.
const ASKED_BY_ROOTS: &[&str] = &[
    "os.Args",
    "os.Executable(",
    "debug.ReadBuildInfo(",
    "flag.NFlag(",
    "flag.NArg(",
    "flag.Parsed(",
    "flag.CommandLine",
    "flag.Set(",
];
/// What no code under test imports.
const IMPORTS: &[&str] = &["\"testing\"", "\"testing/internal/testdeps\""];
/// A package of these under another name than its own.
const OTHER_NAME: &str = r#"([\w.]+) "(?:os|flag|runtime/debug)""#;

/// What a change newly asks.
pub(super) fn question(change: &Change) -> Option<&'static str> {
    if !change.path.ends_with(".go") {
        return None;
    }
    let (before, after) = (spaced(&change.path, change.before()), spaced(&change.path, change.after()));
    let is_root = after.contains("package main") && after.contains("func main(");
    let asked = if is_root { None } else { first_added(&before, &after, ASKED_BY_ROOTS) };
    let renamed = || {
        let named = Regex::new(OTHER_NAME).ok()?;
        let renamed = |text: &str| {
            let is_name = |name: &str| !matches!(name, "import" | "return" | "case" | "range");
            named.captures_iter(text).filter(|found| found.get(1).is_some_and(|name| is_name(name.as_str()))).count()
        };
        (renamed(&after) > renamed(&before)).then_some("a package of the command line's under another name")
    };
    asked.or_else(|| first_added(&before, &after, IMPORTS)).or_else(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(before: &str, after: &str) -> bool {
        let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
        question(&Change { path: "price.go".to_owned(), before, after, may_edit_tests: false }).is_some()
    }

    #[test]
    fn a_library_does_not_ask_for_the_command_line() {
        let start = "package shop\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc Total() {}\n";
        for more in [
            "var tested = len(os.Args) > 4",
            "var name, _ = os.Executable()",
            "var tested = flag.NFlag() > 0",
            "var info, _ = debug.ReadBuildInfo()",
            "import \"testing\"",
            "import o \"os\"",
            "import . \"flag\"",
        ] {
            assert!(asks(start, &format!("{start}{more}\n")), "{more}");
        }
        for more in [
            "return \"os\"",
            "case \"flag\":",
            "var home = os.Getenv(\"HOME\")",
            "var f = exec.Command(\"ls\").Args",
            "// os.Args",
            "import _ \"embed\"",
        ] {
            assert!(!asks(start, &format!("{start}{more}\n")), "{more}");
        }
    }

    #[test]
    fn a_programs_root_reads_its_command_line() {
        let start = "package main\n\nimport \"os\"\n\nfunc main() {}\n";
        assert!(!asks(start, &start.replace("{}", "{ run(os.Args[1:]) }")));
        assert!(asks(start, &start.replace("import", "import \"testing\"\nimport")));
    }
}
