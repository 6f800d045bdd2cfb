//! Listed rules against a green that the code under test forges from inside the test process (DESIGN §5, promise 1).
//!
//! A runner's word can be replaced by code that prints a fine summary and ends the process before the real one. Such an end with
//! success has to stand somewhere in the change; where it does, the change is refused and the model is told why.

/// Calls that end the whole process with success, past every runner's own ending.
const FORCED_SUCCESS: [&str; 12] = [
    "os._exit(0",
    "os._exit(os.EX_OK",
    "process::exit(0",
    "process.exit(0",
    "process.exit()",
    "process.reallyExit(0",
    "System.exit(0",
    ".halt(0",
    "quick_exit(0",
    "_exit(EXIT_SUCCESS",
    "exit!(0",
    "os.Exit(0",
];

/// The first added line of a unified diff that ends the process with success, with its file.
#[must_use]
pub fn forced_success(diff: &str) -> Option<String> {
    let mut file = "";
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            file = path.strip_prefix("b/").unwrap_or(path);
        } else if let Some(added) = line.strip_prefix('+') {
            let code: String = added.chars().filter(|c| !c.is_whitespace()).collect();
            if FORCED_SUCCESS.iter().any(|call| code.contains(call)) {
                return Some(format!("the change ends the process with success in {file}: {}", added.trim()));
            }
        }
    }
    None
}

/// A line of a unified diff that changes which command a `package.json` runs as its tests.
#[must_use]
pub fn changed_test_script(diff: &str) -> Option<String> {
    let mut in_manifest = false;
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            in_manifest = path.ends_with("package.json");
            continue;
        }
        let Some(changed) = line.strip_prefix(['+', '-']).filter(|_| in_manifest) else { continue };
        let code: String = changed.chars().filter(|c| !c.is_whitespace()).collect();
        if ["\"test\":", "\"pretest\":", "\"posttest\":", "\"test:"].iter().any(|key| code.contains(key)) {
            return Some(format!("the change alters what package.json runs as its tests: {}", changed.trim()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_ends_with_success_are_found_and_removed_or_failing_ones_are_not() {
        let diff = |line: &str| format!("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n{line}\n");
        for line in ["+    os._exit( 0 )", "+std::process::exit(0);", "+  process.exit(0)", "+os.Exit(0)"] {
            let found = forced_success(&diff(line));
            assert!(found.is_some_and(|why| why.contains("x.py")), "{line}");
        }
        for line in ["-    os._exit(0)", "     os._exit(0)", "+    sys.exit(2)", "+    return 0"] {
            assert_eq!(forced_success(&diff(line)), None, "{line}");
        }
    }

    #[test]
    fn a_changed_test_script_is_found_and_other_changes_of_the_manifest_are_not() {
        let diff = |line: &str| format!("--- a/package.json\n+++ b/package.json\n@@ -1 +1 @@\n{line}\n");
        assert!(changed_test_script(&diff("+  \"scripts\": { \"test\": \"cat fake.txt\" }")).is_some());
        assert!(changed_test_script(&diff("-    \"test:unit\" : \"jest\",")).is_some());
        assert_eq!(changed_test_script(&diff("+    \"lodash\": \"^4.0.0\",")), None);
        assert_eq!(changed_test_script("--- a/x.js\n+++ b/x.js\n+ \"test\": 1\n"), None);
    }
}
