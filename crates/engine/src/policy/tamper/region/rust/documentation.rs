//! The examples in Rust's documentation: fenced and indented blocks, in comments of lines (`///`, `//!`) and of blocks (`/** … */`).

use super::super::span::Region;

/// How far code is indented that stands without a fence, behind the comment's own space.
const INDENT: &str = "     ";

/// Reads a file line by line.
#[derive(Default)]
struct Examples {
    found: Vec<Region>,
    /// Inside `/** … */`.
    in_block: bool,
    /// Inside `<!-- … -->`, of which nothing is run.
    in_html_comment: bool,
    /// The line before is documentation without a word, or none.
    after_blank: bool,
    open: Option<Open>,
}

/// An example that has begun.
struct Open {
    start: usize,
    /// Where the last line of it that says something ends.
    end: usize,
    /// The fence that closes it. `None` for an indented one.
    fence: Option<String>,
}

/// All of them, in order.
pub(super) fn examples(text: &str) -> Vec<Region> {
    let mut reading = Examples { after_blank: true, ..Examples::default() };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match reading.documentation(line) {
            Some(said) => reading.said(said, start, at),
            None => {
                // Each item's documentation is a document of its own to rustdoc.
                reading.in_html_comment = false;
                reading.ends();
            }
        }
    }
    reading.ends();
    reading.found
}

impl Examples {
    /// The text of a line, without the comment's marks. `None` if it is no documentation.
    fn documentation<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let trimmed = line.trim();
        if self.in_block {
            let said = line.trim_end().trim_end_matches("*/");
            self.in_block = !trimmed.ends_with("*/");
            // The star at the front of a line is decoration. Without one the line's own indentation counts.
            return Some(said.trim_start().strip_prefix('*').unwrap_or(said));
        }
        // `/***` is a plain comment by Rust's rules, as is `////` below.
        let is_block = ["/**", "/*!"].iter().any(|mark| trimmed.starts_with(mark)) && !trimmed.starts_with("/***");
        if is_block {
            self.in_block = !trimmed.contains("*/");
            return trimmed.get(3..);
        }
        let is_doc = trimmed.starts_with("///") && !trimmed.starts_with("////") || trimmed.starts_with("//!");
        trimmed.get(3..).filter(|_| is_doc)
    }

    fn said(&mut self, said: &str, start: usize, end: usize) {
        let word = said.trim();
        self.in_html_comment = (self.in_html_comment || word.contains("<!--")) && !word.contains("-->");
        if self.in_html_comment {
            return self.ends();
        }
        let is_blank = word.is_empty();
        let is_fence = word.starts_with("```") || word.starts_with("~~~");
        match &mut self.open {
            Some(Open { fence: Some(fence), end: last, .. }) => {
                *last = end;
                if word.starts_with(fence.as_str()) {
                    self.ends();
                }
            }
            // A blank line may stand inside, but one at the end is not part of it.
            Some(open) if is_blank || said.starts_with(INDENT) => {
                open.end = if is_blank { open.end } else { end };
            }
            // A fence ends an indented example without a blank line.
            _ if is_fence => {
                self.ends();
                let fence = word.get(..3).map(str::to_owned);
                self.open = Some(Open { start, end, fence });
            }
            None if self.after_blank && said.starts_with(INDENT) && !is_blank => {
                self.open = Some(Open { start, end, fence: None });
            }
            Some(_) => self.ends(),
            None => {}
        }
        self.after_blank = is_blank;
    }

    /// The documentation or the example is over.
    fn ends(&mut self) {
        self.after_blank = true;
        if let Some(Open { start, end, .. }) = self.open.take() {
            let key = "an example in the documentation".to_owned();
            self.found.push(Region {
                range: start..end,
                key,
                around: String::new(),
                is_top: false,
                may_grow: true,
                binds: false,
            });
        }
    }
}
