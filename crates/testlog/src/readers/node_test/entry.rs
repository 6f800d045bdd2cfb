//! One result line of node's reporters: name, time, directive.

use crate::needle::Seek as _;
use crate::report::TestStatus;

/// A result line without its indentation.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) status: TestStatus,
    pub(super) timed: bool,
}

/// `name (0.41ms)` → `name`: mocha's and ava's times have no fraction.
pub(super) fn exactly_timed(text: &str) -> Option<&str> {
    let (name, time) = text.strip_suffix("ms)")?.cut_last(" (")?;
    let mut fraction = false;
    let is_time = time.bytes().all(|byte| {
        fraction |= byte == b'.';
        byte.is_ascii_digit() || byte == b'.'
    });
    (is_time && fraction).then_some(name)
}

/// `name`, and `name (1.23ms)` of Node 18: a `describe`, whose name may have a `#` of its own.
pub(super) fn group(text: &str) -> &str {
    let name = text.trim_end();
    let name = exactly_timed(name).unwrap_or(name);
    [" # SKIP", " # TODO"].iter().find_map(|directive| name.strip_suffix(directive)).unwrap_or(name)
}

/// `name (1.23ms) # directive`.
pub(super) fn parse(text: &str, status: TestStatus) -> Entry<'_> {
    let text = text.trim_end();
    let (head, directive) = match text.seek_last("ms)") {
        Some(at) => {
            let (head, rest) = text.split_at_checked(at + "ms)".len()).unwrap_or((text, ""));
            if rest.is_empty() || rest.starts_with(" # ") { (head, rest) } else { (text, "") }
        }
        None => text.seek(" # ").and_then(|at| text.split_at_checked(at)).unwrap_or((text, "")),
    };
    let (name, timed) = match head.cut_last(" (") {
        Some((name, time)) => match time.strip_suffix("ms)") {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
                (name, digits.contains('.'))
            }
            _ => (head, false),
        },
        None => (head, false),
    };
    // A failing TODO is marked as failing and has a directive; a cancelled test has none.
    let status = if status == TestStatus::Passed || directive.is_empty() { status } else { TestStatus::Skipped };
    let status = if directive.starts_with(" # TODO") { TestStatus::Skipped } else { status };
    Entry { name, status, timed }
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn a_group_keeps_the_hash_in_its_name() {
        let names = ["issue # 7", "issue # 7 (1.25ms)", "issue # 7 # SKIP"].map(group);
        assert_eq!(names, ["issue # 7"; 3]);
    }
}
