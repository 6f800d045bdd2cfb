//! Pages in Markdown: which there are, and their fenced blocks, headings and links.

use std::path::{Path, PathBuf};

/// A page by its path from the repository's root.
pub(super) struct Page {
    /// The path, with `/`.
    pub(super) name: String,
    /// The whole text.
    pub(super) text: String,
}

/// A fenced block without its fences and without their indentation.
pub(super) struct Fence {
    /// The word behind the opening fence.
    pub(super) language: String,
    /// The lines.
    pub(super) text: String,
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The text of a file of the repository.
pub(super) fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect(name)
}

/// Every page for people: those of the root, `docs/`, `.github/` and the recorded example.
pub(super) fn pages() -> Vec<Page> {
    let mut found = Vec::new();
    for folder in ["", "docs", ".github", "examples/recorded"] {
        for entry in std::fs::read_dir(root().join(folder)).expect(folder) {
            let file = entry.expect("an entry").file_name().into_string().expect("a name");
            if file.ends_with(".md") && file != "comment.md" {
                let name = if folder.is_empty() { file } else { format!("{folder}/{file}") };
                found.push(Page { text: page(&name), name });
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

impl Page {
    /// The fenced blocks.
    pub(super) fn fences(&self) -> Vec<Fence> {
        self.parts().0
    }

    /// The lines outside of fenced blocks.
    pub(super) fn prose(&self) -> String {
        self.parts().1
    }

    /// The anchors of its headings, as GitHub makes them.
    pub(super) fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let titles = prose.lines().filter_map(|line| line.strip_prefix('#')).map(|line| line.trim_start_matches('#'));
        titles.map(|title| anchor(title.trim())).collect()
    }

    fn parts(&self) -> (Vec<Fence>, String) {
        let (mut fences, mut prose) = (Vec::new(), String::new());
        let mut open: Option<(usize, Fence)> = None;
        for line in self.text.lines() {
            let indent = line.len() - line.trim_start().len();
            let mark = line.trim_start().strip_prefix("```");
            open = match (open, mark) {
                (None, Some(language)) => {
                    Some((indent, Fence { language: language.trim().to_owned(), text: String::new() }))
                }
                (None, None) => {
                    prose.push_str(line);
                    prose.push('\n');
                    None
                }
                (Some((_, fence)), Some(_)) => {
                    fences.push(fence);
                    None
                }
                (Some((by, mut fence)), None) => {
                    fence.text.push_str(line.get(by.min(indent)..).expect("an indented line"));
                    fence.text.push('\n');
                    Some((by, fence))
                }
            };
        }
        assert!(open.is_none(), "{}: a fenced block without an end", self.name);
        (fences, prose)
    }
}

/// The anchor of a heading: small letters, digits, `-` and `_`; blanks become `-`.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn blocks_headings_and_prose_are_told_apart() {
    let text = "# A `b` page!\n\ntext\n\n- item\n  ```sh\n  # no heading\n    upshift run\n  ```\n\nend\n".to_owned();
    let page = Page { name: "a".to_owned(), text };
    assert_eq!(page.anchors(), ["a-b-page"]);
    let fences = page.fences();
    assert_eq!(fences.len(), 1);
    assert_eq!((fences[0].language.as_str(), fences[0].text.as_str()), ("sh", "# no heading\n  upshift run\n"));
    assert_eq!(page.prose(), "# A `b` page!\n\ntext\n\n- item\n\nend\n");
}
