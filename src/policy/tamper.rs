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
}
