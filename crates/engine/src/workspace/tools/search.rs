//! `search`: a regular expression over the files that are not ignored.

use std::borrow::Cow;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};

use super::super::beneath::Kind;
use super::super::rel_path::RelPath;
use super::super::walk::files_below;
use super::super::{ToolError, Workspace};
use super::{MAX_ANSWER, MAX_FILE, count, cut};

/// The most files that are looked at.
const MAX_WALKED: usize = 100_000;
/// The most matching lines shown.
const MAX_MATCHES: usize = 100;
/// The most lines counted when they are not shown any more.
const MAX_COUNTED: usize = 10_000;
/// The most characters shown of a line.
const MAX_LINE: usize = 240;
/// The most memory that a pattern may take when compiled. Patterns that need more are traps.
const MAX_PATTERN: usize = 4 * 1024 * 1024;

impl Workspace {
    /// `search`: lines that match `pattern`, under their file's name. A pattern that is no regular expression is taken literally.
    ///
    /// # Errors
    /// When the pattern is empty, the path does not exist or lies outside, or the glob cannot be read.
    pub fn search(&self, pattern: &str, path: Option<&str>, glob: Option<&str>) -> Result<String, ToolError> {
        let (matcher, note) = matcher(pattern)?;
        let set = super::list::compile(glob)?;
        let mut hits = Hits::default();
        match self.single_file(path) {
            Some(file) => {
                self.may_be_shown(&file)?;
                self.search_file(&matcher, &file, &mut hits);
            }
            None => {
                let base = self.folder(path)?;
                for (file, _) in
                    files_below(self.root.path(), &base, MAX_WALKED).iter().filter(|(_, form)| form.is_file())
                {
                    let Ok(file) = RelPath::from_path(file) else { continue };
                    let wanted = set.as_ref().is_none_or(|set| set.is_match(file.as_path()));
                    // What may not be shown is not searched either, as if it were not there.
                    if wanted && hits.total < MAX_COUNTED && self.may_be_shown(&file).is_ok() {
                        self.search_file(&matcher, &file, &mut hits);
                    }
                }
            }
        }
        Ok(hits.answer(&note))
    }

    fn single_file(&self, path: Option<&str>) -> Option<RelPath> {
        let path = self.parse(path?).ok()?;
        let stat = self.root.stat(&path).ok()??;
        (stat.kind == Kind::File).then_some(path)
    }

    fn search_file(&self, matcher: &RegexMatcher, path: &RelPath, hits: &mut Hits) {
        // What cannot be opened is not searched, as other tools do.
        let Ok((file, stat)) = self.root.open_file(path) else { return };
        if usize::try_from(stat.size).is_ok_and(|size| size > MAX_FILE) {
            return;
        }
        // A NUL ends the search in a file, as for git it is binary then.
        let mut searcher = SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build();
        let mut found = Vec::new();
        let room = MAX_COUNTED.saturating_sub(hits.total);
        let sink = Lossy(|number, line: &str| {
            found.push((number, line.to_owned()));
            Ok(found.len() < room)
        });
        // An unreadable rest of one file is no reason to hide what was found.
        searcher.search_file(matcher, &file, sink).unwrap_or_default();
        if found.is_empty() {
            return;
        }
        // A secret is neither shown nor found, or a pattern could ask for it letter by letter.
        if let Ok(text) = self.text(path)
            && let Cow::Owned(hidden) = self.redactor.redact(&text.content)
        {
            found.clear();
            let sink = Lossy(|number, line: &str| {
                found.push((number, line.to_owned()));
                Ok(found.len() < room)
            });
            searcher.search_slice(matcher, hidden.as_bytes(), sink).unwrap_or_default();
        }
        hits.add(path, &found);
    }
}

/// The matches found.
#[derive(Debug, Default)]
struct Hits {
    text: String,
    shown: usize,
    total: usize,
}

impl Hits {
    /// Adds the lines of a file, as far as there is room for them.
    fn add(&mut self, path: &RelPath, found: &[(u64, String)]) {
        let mut named = false;
        for (number, line) in found {
            self.total += 1;
            if self.shown >= MAX_MATCHES || self.text.len() >= MAX_ANSWER - 1_000 {
                continue;
            }
            if !std::mem::replace(&mut named, true) {
                self.text.push_str(&format!("{path}\n"));
            }
            self.shown += 1;
            self.text.push_str(&format!("{number}\t{}\n", cut(line.trim_end(), MAX_LINE)));
        }
    }

    fn answer(mut self, note: &str) -> String {
        if self.total == 0 {
            return format!("no matches{note}");
        }
        if self.shown < self.total {
            let more = if self.total >= MAX_COUNTED { "more than " } else { "" };
            self.text.push_str(&format!(
                "({more}{} not shown: narrow it by path or glob)\n",
                count(self.total - self.shown, "match").replace("matchs", "matches")
            ));
        }
        self.text.push_str(note.trim_start());
        self.text
    }
}

fn matcher(pattern: &str) -> Result<(RegexMatcher, String), ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::ForModel("the pattern is empty; give a regular expression".to_owned()));
    }
    let build =
        |pattern: &str| RegexMatcherBuilder::new().line_terminator(Some(b'\n')).size_limit(MAX_PATTERN).build(pattern);
    match build(pattern) {
        // A pattern that matches nothing at all on every line is a mistake.
        Ok(matcher) => match matcher.is_match(b"") {
            Ok(true) => Err(ToolError::ForModel(format!("`{pattern}` matches every line; give something to look for"))),
            _ => Ok((matcher, String::new())),
        },
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            // One line of it, since no line of a file holds a line break.
            let literal = build(&regex::escape(pattern.lines().next().unwrap_or_default()))
                .map_err(|error| ToolError::ForModel(format!("the pattern cannot be used: {error}")))?;
            Ok((literal, format!(" (searched literally, one line: it is no regular expression here: {reason})")))
        }
    }
}
