//! A patch in a report: whole files only, so that what is shown can be read.

use super::fence::fence;
use crate::report::words;

/// The beginning of each file of a patch.
const FILE: &str = "diff --git ";

/// The change in a fold under a title of ours, as many of its files as fit. `None` when there is none.
pub(super) fn block(patch: &str, max_bytes: usize, title: &str) -> Option<String> {
    let starts: Vec<usize> =
        // No line of a file can look so: in a patch they begin with a blank, a plus or a minus.
        std::iter::once(0).chain(patch.match_indices(&format!("\n{FILE}")).map(|(at, _)| at + 1)).collect();
    let files = starts.iter().zip(starts.iter().skip(1).copied().chain([patch.len()]));
    let files: Vec<&str> =
        files.filter_map(|(from, to)| patch.get(*from..to)).filter(|file| !file.trim().is_empty()).collect();
    let mut shown = String::new();
    let mut count = 0;
    for file in &files {
        if shown.len() + file.len() > max_bytes {
            break;
        }
        shown.push_str(file);
        count += 1;
    }
    let rest = match files.len() - count {
        0 => String::new(),
        1 => "\n\n… and 1 more file".to_owned(),
        more => format!("\n\n… and {more} more files"),
    };
    match (files.is_empty(), count) {
        (true, _) => None,
        (false, 0) => Some(format!(
            "_The change of {} is too long to be shown here._",
            words::count(words::u64_of(files.len()), "file")
        )),
        (false, _) => {
            Some(format!("<details>\n<summary>{title}</summary>\n\n{}{rest}\n\n</details>", fence(&shown, "diff")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, lines: usize) -> String {
        format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n{}", "+x\n".repeat(lines))
    }

    #[test]
    fn as_many_whole_files_as_fit_are_shown() {
        let patch = file("a", 3) + &file("b", 500) + &file("c", 1);
        let text = block(&patch, 200, "The change itself").unwrap();
        assert!(text.contains("+++ b/a") && !text.contains("+++ b/b"), "{text}");
        assert!(text.contains("… and 2 more files"), "{text}");
        assert!(block(&patch, 100_000, "The change itself").unwrap().contains("+++ b/c"));
        assert_eq!(
            block(&patch, 5, "The change itself").unwrap(),
            "_The change of 3 files is too long to be shown here._"
        );
        assert_eq!(block("", 100, "The change itself"), None);
    }

    #[test]
    fn a_patch_cannot_leave_its_fence() {
        let text = block(
            "diff --git a/x b/x\n+```\n+<!-- upshift:report key=x -->\n+</details>\n",
            1_000,
            "The change itself",
        )
        .unwrap();
        assert!(text.contains("````diff\n"), "{text}");
        assert!(!text.contains("<!--"), "{text}");
    }
}
