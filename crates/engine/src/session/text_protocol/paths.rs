//! Paths in what models write around their code: alone on a line, in a fence's info string, in a first comment, in a
//! sentence.
//!
//! Invariant: only decides what looks like a path. The workspace decides whether it may be touched.

/// No path in a repository that people work with is longer.
const MAX_PATH_CHARS: usize = 260;
/// File names without an extension that are no words of prose.
const BARE_NAMES: [&str; 10] = [
    "Makefile",
    "Dockerfile",
    "Rakefile",
    "Gemfile",
    "Procfile",
    "Justfile",
    "Jenkinsfile",
    "Vagrantfile",
    "Brewfile",
    "Podfile",
];
/// Names of languages and products that look like file names.
const NO_PATHS: [&str; 8] =
    ["node.js", "vue.js", "next.js", "three.js", "asp.net", "socket.io", "react.js", "express.js"];
const LABELS: [&str; 6] = ["file path", "filepath", "filename", "file", "path", "update"];

/// Whether a token may be a path: an extension, a known bare name, or a folder.
fn is_path(token: &str) -> bool {
    is_path_shaped(token) && (has_extension(token) || BARE_NAMES.contains(&base_name(token)))
}

fn is_path_shaped(token: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "<>\"'|?*=;,`".contains(c);
    !token.is_empty()
        && token.chars().count() <= MAX_PATH_CHARS
        && !token.contains(odd)
        && !token.contains("://")
        // A folder, or the end of a sentence.
        && !token.ends_with(['/', '.'])
        && !NO_PATHS.contains(&token.to_ascii_lowercase().as_str())
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn has_extension(path: &str) -> bool {
    base_name(path).rsplit_once('.').is_some_and(|(_, extension)| {
        let letters = extension.chars().any(|c| c.is_ascii_alphabetic());
        letters && extension.len() <= 10 && extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Takes `./` off.
fn tidy(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

/// The path that is all there is on a line, markup and a label aside: `### File: **src/a.rs**`.
pub(super) fn alone(line: &str) -> Option<String> {
    let mut rest = line.trim();
    rest = rest.trim_start_matches(['#', '*', '-', '>', '+', ' ']);
    // An entry of a list: `1. src/a.rs`.
    if let Some((number, after)) = rest.split_once(". ") {
        rest = if number.chars().all(|c| c.is_ascii_digit()) { after.trim_start() } else { rest };
    }
    rest = rest.trim_matches(|c: char| "*`\"'_[]() ".contains(c)).trim_end_matches(':');
    let lower = rest.to_ascii_lowercase();
    for label in LABELS {
        let after = lower.strip_prefix(label).map(|after| (after.len(), after.trim_start_matches(['*', '`', ' '])));
        if let Some((length, _)) = after.filter(|(_, after)| after.starts_with(':')) {
            rest = rest.get(rest.len() - length..).unwrap_or_default();
            break;
        }
    }
    let inner = rest.trim_matches(|c: char| "*`\"':[]() ".contains(c));
    // With a slash in it a path may have any name: `bin/run`.
    let path_like = is_path(inner) || (is_path_shaped(inner) && inner.contains('/'));
    path_like.then(|| tidy(inner))
}

/// The one path that a sentence mentions: in backticks if there are any, else as a bare word.
pub(super) fn mentioned(line: &str) -> Option<String> {
    let quoted: Vec<&str> =
        line.split('`').enumerate().filter(|(index, _)| index % 2 == 1).map(|(_, text)| text).collect();
    let only = |mut found: Vec<&str>| {
        found.dedup();
        // Of two paths nobody knows which one is meant.
        if let [path] = found.as_slice() { Some(tidy(path)) } else { None }
    };
    let in_quotes: Vec<&str> = quoted.into_iter().filter(|text| is_path(text)).collect();
    if !in_quotes.is_empty() {
        return only(in_quotes);
    }
    let bare = line.split_whitespace().map(|word| word.trim_matches(|c: char| "*\"'():,.".contains(c)));
    only(bare.filter(|word| is_path(word)).collect())
}

/// The path in a fence's info string: ```` ```rust src/a.rs````, `rust:src/a.rs`, `title="src/a.rs"`.
pub(super) fn in_info(info: &str) -> Option<String> {
    let words = || info.split([' ', '\t', '{', '}']);
    let values = words().filter_map(|word| word.split_once('=').map(|(_, value)| value));
    let after_colons = words().filter_map(|word| word.split_once(':').map(|(_, rest)| rest));
    values
        .chain(after_colons)
        .chain(words())
        .map(|word| word.trim_matches(|c: char| "\"'`()".contains(c)))
        .find(|word| is_path(word))
        .map(tidy)
}

/// The path that is all a comment says: `// src/a.rs`, `# file: a.py`, `<!-- a.html -->`.
pub(super) fn in_comment(line: &str) -> Option<String> {
    let trimmed = line.trim();
    let starts = ["//", "#", "/*", "<!--", "--", ";", "%"];
    let body = starts.iter().find_map(|sign| trimmed.strip_prefix(sign))?;
    let body = body.strip_suffix("*/").or_else(|| body.strip_suffix("-->")).unwrap_or(body);
    // `#include "a.h"` and `#!/bin/sh` are code.
    (!body.starts_with(['!', '[']) && !body.contains('"')).then(|| alone(body)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_alone_is_found_under_any_markup() {
        for line in [
            "src/a.rs",
            "  src/a.rs  ",
            "`src/a.rs`",
            "**src/a.rs**",
            "**`src/a.rs`**:",
            "### src/a.rs",
            "### File: src/a.rs",
            "File: `src/a.rs`",
            "**File:** `src/a.rs`",
            "Path: src/a.rs",
            "1. `src/a.rs`:",
            "- src/a.rs",
            "./src/a.rs",
            "filename: src/a.rs",
        ] {
            assert_eq!(alone(line).as_deref(), Some("src/a.rs"), "{line}");
        }
        assert_eq!(alone("Makefile").as_deref(), Some("Makefile"));
        assert_eq!(alone("bin/run").as_deref(), Some("bin/run"));
        assert_eq!(alone("app/[id]/page.tsx").as_deref(), Some("app/[id]/page.tsx"));
    }

    #[test]
    fn prose_is_no_path() {
        for line in ["", "Here is src/a.rs:", "Done.", "e.g.", "1.2", "v1.2", "https://a.b/c.rs", "Node.js", "a = b.c"]
        {
            assert_eq!(alone(line), None, "{line}");
        }
    }

    #[test]
    fn sentences_mention_one_path_or_none() {
        assert_eq!(mentioned("Here is the new `src/a.rs`:").as_deref(), Some("src/a.rs"));
        assert_eq!(mentioned("I changed src/a.rs, as follows.").as_deref(), Some("src/a.rs"));
        assert_eq!(mentioned("Move `a.rs` to `b.rs`:"), None);
        assert_eq!(mentioned("In Node.js, `f()` of `src/a.js` fails:").as_deref(), Some("src/a.js"));
        assert_eq!(mentioned("Now the second change:"), None);
    }

    #[test]
    fn info_strings_and_comments_carry_paths() {
        for info in ["rust src/a.rs", "src/a.rs", "rust:src/a.rs", "rust title=\"src/a.rs\"", "{.rust file=src/a.rs}"] {
            assert_eq!(in_info(info).as_deref(), Some("src/a.rs"), "{info}");
        }
        for info in ["rust", "c++", "", "python3", "node.js"] {
            assert_eq!(in_info(info), None, "{info}");
        }
        for line in ["// src/a.rs", "# src/a.rs", "/* src/a.rs */", "<!-- src/a.rs -->", "// File: src/a.rs"] {
            assert_eq!(in_comment(line).as_deref(), Some("src/a.rs"), "{line}");
        }
        for line in ["#include \"a.h\"", "#!/usr/bin/env node.sh", "// see src/a.rs", "use a::b;"] {
            assert_eq!(in_comment(line), None, "{line}");
        }
    }
}
