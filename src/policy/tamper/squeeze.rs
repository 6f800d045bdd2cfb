//! Code without what may be written in many ways: white space, comment lines, joints between literals.

/// Languages in which `#` begins a comment.
const HASH_COMMENTS: [&str; 8] = ["py", "rb", "sh", "bash", "mk", "yml", "yaml", "toml"];
/// The joints at which a literal can be split without changing it.
const JOINTS: [&str; 6] = ["\"+\"", "'+'", "\"\"", "''", "\"'+'", "`+`"];

/// A text without comment lines, white space and joints of literals.
pub(super) fn squeeze(path: &str, text: &str) -> String {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let hash = HASH_COMMENTS.contains(&extension);
    let code = text.lines().filter(|line| {
        let line = line.trim_start();
        !(line.starts_with("//") || hash && line.starts_with('#'))
    });
    let mut squeezed: String = code.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    for joint in JOINTS {
        if squeezed.contains(joint) {
            squeezed = squeezed.replace(joint, "");
        }
    }
    squeezed
}

/// The first of the patterns that stands more often in the text after than before.
pub(super) fn first_added<'p>(before: &str, after: &str, patterns: &[&'p str]) -> Option<&'p str> {
    patterns.iter().copied().find(|pattern| after.matches(pattern).count() > before.matches(pattern).count())
}
