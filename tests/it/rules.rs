//! The page of rules names tests that are there.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_rule_of_a_session_names_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/sessions.md")).expect("the page");
    let mut told = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| S1-")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rule, _, tests] = cells[..] else { panic!("three cells in {row}") };
        assert!(told.insert(rule.to_owned()), "{rule} stands twice");
        let named: Vec<&str> = tests.split('`').filter(|part| part.contains("::")).collect();
        assert!(!named.is_empty(), "{rule}: {tests}");
        for name in named {
            let (path, test) = name.split_once("::").expect("a file and a test");
            let text = std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
            let place = lines.iter().position(|line| {
                line.strip_prefix("async ")
                    .unwrap_or(line)
                    .strip_prefix("fn ")
                    .is_some_and(|rest| rest.strip_prefix(test).is_some_and(|rest| rest.starts_with('(')))
            });
            let place = place.unwrap_or_else(|| panic!("{rule}: {path} has no test {test}"));
            let before = lines[..place].iter().rev().take_while(|line| line.starts_with('#') || line.starts_with("//"));
            let marks: Vec<&&str> = before.collect();
            assert!(marks.iter().any(|mark| mark.contains("test")), "{rule}: {test} is no test: {marks:?}");
            assert!(!marks.iter().any(|mark| mark.contains("#[ignore")), "{rule}: {test} is not run");
        }
    }
    let rules: BTreeSet<String> = (1..=20).map(|number| format!("S1-{number}")).collect();
    assert_eq!(told, rules);
}
