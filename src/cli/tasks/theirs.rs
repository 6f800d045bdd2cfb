//! Files of a person's that git does not know. They are nobody's to change, however many there are and whatever they are called.

use super::super::Failure;
use super::ready::unreadable;
use crate::workspace::Revisions;

/// The most bytes of names that are handed to a run. More are told by their folders, or refused.
const MOST_BYTES: usize = 32 * 1024;

/// The patterns of such files, for `safety.protectedPaths` of a run.
///
/// # Errors
/// There are too many to be kept from every run (exit 2), or git cannot be asked.
pub(super) async fn theirs(revisions: &Revisions<'_>) -> anyhow::Result<Vec<String>> {
    let files = revisions.untracked().await.map_err(unreadable)?;
    // Each by its own name first: a folder as a whole also holds files that a run may make.
    if let Some(patterns) = patterns(&files) {
        return Ok(patterns);
    }
    // A folder in which git knows nothing is a person's as a whole.
    let folders = revisions.untracked_folders().await.map_err(unreadable)?;
    patterns(&folders).ok_or_else(|| {
        Failure::usage(format!(
            "git does not know {} files here, too many to keep out of every run\n→ Fix: commit them, name \
             them in .gitignore, or put them in a folder of their own",
            files.len()
        ))
    })
}

/// A pattern for each name. `None` where they are too long together.
fn patterns(names: &[String]) -> Option<Vec<String>> {
    let patterns: Vec<String> = names.iter().map(|name| pattern(name)).collect();
    // They are handed over as an argument of a program, which has a limit.
    (patterns.iter().map(String::len).sum::<usize>() <= MOST_BYTES).then_some(patterns)
}

/// The pattern of one name alone, from the top. A letter that a pattern or a list of patterns takes for more than itself is any letter.
fn pattern(name: &str) -> String {
    let plain = |letter: char| match letter {
        // The bytes of a name that is no text are unknown.
        '\u{fffd}' => '*',
        '*' | '?' | '[' | ']' | '{' | '}' | '!' | ',' | '\\' => '?',
        letter if letter.is_control() || letter.is_whitespace() => '?',
        letter => letter,
    };
    format!("/{}", name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_itself_whatever_is_in_it() {
        for (name, wanted) in [
            ("notes.txt", "/notes.txt"),
            ("docs/plan [a].md", "/docs/plan??a?.md"),
            ("a,b\n{c}\\*?! ", "/a?b??c??????"),
            ("odd\u{fffd}", "/odd*"),
            ("scratch/", "/scratch/"),
        ] {
            assert_eq!(pattern(name), wanted);
            let path = name.trim_end_matches('/').replace('\u{fffd}', "x");
            let glob = globset::Glob::new(pattern(name).trim_matches('/')).unwrap().compile_matcher();
            assert!(glob.is_match(&path) && !glob.is_match(format!("deep/{path}")), "{name}");
        }
    }

    #[test]
    fn more_names_than_a_run_can_be_handed_are_told_by_nobody() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|number| format!("n{number:06}")).collect() };
        assert_eq!(patterns(&names(300)).map(|patterns| patterns.len()), Some(300));
        assert_eq!(patterns(&names(10_000)), None);
    }
}
