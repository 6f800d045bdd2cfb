//! Examples in documents that a test run executes (Markdown, reStructuredText, plain text): fences, indented blocks, sessions behind
//! `>>>`, and Sphinx's directives. Which documents are executed is said by other files: [`says_run`].

use super::span::Region;
use crate::domain::word_list::lists;

/// Endings of documents in Markdown. In the others of [`DOCUMENTS`] neither fences' HTML nor plain indentation means anything.
const MARKDOWN: &str = "md markdown mdx";
const DOCUMENTS: &str = "md markdown mdx rst txt";
/// Languages behind a fence that no runner of examples takes for its own.
const NOT_RUN: &str = "toml json jsonc json5 yaml yml xml html css scss ini diff patch mermaid dockerfile makefile cmake sh bash zsh fish shell \
    powershell text txt plain plaintext sql graphql proto protobuf csv svg dot";
/// Languages whose examples see what those before them bound.
const BINDING: &str = "python python3 py pycon doctest";
/// Sphinx's directives that hold examples, or what they need.
const DIRECTIVES: &str = "doctest testcode testoutput testsetup testcleanup";
/// Elements of HTML inside which nothing is Markdown until they are closed.
const RAW_ELEMENTS: &str = "pre script style textarea";
/// Words of programs, tests and settings that have examples of documents run, by patterns or by names.
const RUNNERS: [&str; 24] = [
    "doctest-glob",
    "doctest_glob",
    "doctest-plus",
    "doctest_plus",
    "doctest-rst",
    "testfile(",
    "DocFileSuite",
    "DocFileTest",
    "-m doctest",
    "'-m', 'doctest'",
    "\"-m\", \"doctest\"",
    "-b doctest",
    "sphinx.ext.doctest",
    "doctest_file",
    "sybil",
    "manuel",
    "markdown-docs",
    "mktestdocs",
    "pytest-examples",
    "pytest_examples",
    "byexample",
    "mdbook test",
    "trycmd",
    "skeptic",
];
/// Words of every program, plug-in and setting that runs the examples in Python's docstrings.
const DOCTEST_RUNNERS: [&str; 6] = ["doctest", "DocTest", "testmod", "sybil", "pytest-examples", "pytest_examples"];
/// Programs that run the documents which they are given by name.
const GIVEN: [&str; 3] = ["pytest", "py.test", "rustdoc"];
/// Endings of files that may say so, and names without one.
const SPEAKERS: &str =
    "rs py toml ini cfg mk mak just sh bash yml yaml json js mjs cjs ts exs makefile gnumakefile justfile";
/// How far code is indented that stands without a fence.
const INDENT: usize = 4;
/// How much of a directive's options is compared, in characters, for each example that it encloses.
const LONGEST_HEAD: usize = 400;

/// Whether a file is a document by its name.
pub(super) fn is_document(path: &str) -> bool {
    lists(DOCUMENTS, &extension(path).to_ascii_lowercase())
}

/// Whether a file may say of documents that they are run, by its name.
pub fn may_speak(path: &str) -> bool {
    lists(SPEAKERS, &extension(path).to_ascii_lowercase())
}

/// Whether a document's examples are run by its own name alone: what pytest collects unasked.
pub fn runs_by_name(document: &str) -> bool {
    let name = name(document);
    name.starts_with("test") && extension(name) == "txt"
}

/// Whether a command or the text of a file says that a document's examples are run.
pub fn says_run(document: &str, speaker: &str, text: &str) -> bool {
    let names_it = || text.contains(name(document));
    // `#![doc = include_str!("../README.md")]` makes rustdoc run a document's examples as the crate's own.
    if extension(speaker) == "rs" && text.contains("include_str!") && names_it() {
        return true;
    }
    // Manifests name a README and depend on pytest without having it run.
    let describes = matches!(extension(speaker), "toml" | "json" | "cfg" | "rs");
    RUNNERS.iter().any(|word| text.contains(word))
        || !describes && GIVEN.iter().any(|word| text.contains(word)) && names_it()
}

/// Whether a command or the text of a file says that examples in docstrings are run.
pub fn speaks_of_doctests(text: &str) -> bool {
    DOCTEST_RUNNERS.iter().any(|word| text.contains(word))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The part behind the last dot. The whole name where there is none.
fn extension(path: &str) -> &str {
    let name = name(path);
    name.rsplit_once('.').map_or(name, |(_, extension)| extension)
}

/// The examples of a document, in order.
pub(super) fn regions(path: &str, text: &str) -> Vec<Region> {
    let mut reading = Reading {
        is_markdown: lists(MARKDOWN, &extension(path).to_ascii_lowercase()),
        after_blank: true,
        ..Reading::default()
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        reading.line(line, start, at);
    }
    reading.ends(at);
    reading.found
}

/// Reads a document line by line.
#[derive(Default)]
struct Reading {
    found: Vec<Region>,
    is_markdown: bool,
    after_blank: bool,
    /// The last line that was not indented began a list, so that what is indented below belongs to it.
    in_list: bool,
    /// The closing mark of the HTML in which nothing is Markdown. The inner `None` stands for a blank line.
    html: Option<Option<String>>,
    /// The directive that encloses what is indented deeper, with its options.
    directive: Option<(usize, String)>,
    open: Option<Open>,
}

/// An example that has begun.
struct Open {
    start: usize,
    /// Where the last line of it that says something ends.
    end: usize,
    around: String,
    kind: Kind,
}

enum Kind {
    /// Behind the fence that closes it.
    Fence { closing: String, is_run: bool, binds: bool },
    /// `>>>`, up to a blank line.
    Session,
    /// One of Sphinx's, with all that is indented deeper.
    Directive { indent: usize },
    /// Indented code.
    Indented,
}

impl Reading {
    fn line(&mut self, line: &str, start: usize, end: usize) {
        let said = line.trim();
        let indent = line.len() - line.trim_start().len();
        // A tab counts as four columns in Markdown, whatever its one byte says.
        let indent = if line.starts_with('\t') { INDENT } else { indent };
        if !self.goes_on(said, indent, end) {
            self.ends(start);
            self.begins(said, indent, start, end);
        }
        self.after_blank = said.is_empty();
    }

    /// Whether a line belongs to the example that is open.
    fn goes_on(&mut self, said: &str, indent: usize, end: usize) -> bool {
        let Some(open) = &mut self.open else { return false };
        let is_blank = said.is_empty();
        match &mut open.kind {
            Kind::Fence { closing, is_run, binds } => {
                open.end = end;
                if said.starts_with(">>>") {
                    // doctest knows no fences: it runs what stands behind `>>>` in any of them.
                    (*is_run, *binds) = (true, true);
                }
                // At least as long as the opening one, and nothing behind it: four backticks may enclose three.
                let is_closed = said.starts_with(closing.as_str()) && said.chars().all(|c| closing.starts_with(c));
                if is_closed {
                    self.ends(end);
                }
                return true;
            }
            // A blank line ends a session. In a directive and in indented code it may stand inside.
            Kind::Session if is_blank => return false,
            Kind::Directive { indent: own } if !is_blank && indent <= *own => return false,
            Kind::Indented if !is_blank && indent < INDENT => return false,
            Kind::Session | Kind::Directive { .. } | Kind::Indented => {}
        }
        if !is_blank {
            open.end = end;
        }
        true
    }

    fn begins(&mut self, said: &str, indent: usize, start: usize, end: usize) {
        // Read before `encloses` takes the line in: a list's or directive's own line is not inside of itself.
        let kind = self.kind(said, indent);
        self.encloses(said, indent);
        if let Some(kind) = kind {
            let html = self.html.as_ref().map_or("", |_| "<html> ");
            let directive = self.directive.as_ref().filter(|(own, _)| indent > *own).map_or("", |(_, head)| head);
            self.open = Some(Open { start, end, around: format!("{html}{directive}"), kind });
        }
    }

    /// The kind of example that a line outside of all examples begins.
    fn kind(&self, said: &str, indent: usize) -> Option<Kind> {
        let mark = said.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = said.chars().take_while(|c| Some(*c) == mark).count();
        if length >= 3 {
            let info = said.get(length..).unwrap_or_default().to_ascii_lowercase();
            let language = info.split(|c: char| !(c.is_alphanumeric() || c == '_')).find(|word| !word.is_empty());
            let language = language.unwrap_or_default();
            let closing = said.get(..length).unwrap_or_default().to_owned();
            // A list of languages that are not run, not of those that are: an unknown word rather counts as a test.
            let (is_run, binds) = (!lists(NOT_RUN, language), lists(BINDING, language));
            return Some(Kind::Fence { closing, is_run, binds });
        }
        if said.starts_with(">>>") {
            return Some(Kind::Session);
        }
        if directive(said).is_some_and(|name| lists(DIRECTIVES, name)) {
            return Some(Kind::Directive { indent });
        }
        // Indentation below a paragraph goes on with it, and below a list it is the item's text.
        let is_code = self.is_markdown && self.after_blank && !self.in_list && indent >= INDENT && !said.is_empty();
        is_code.then_some(Kind::Indented)
    }

    /// Takes what encloses the lines below.
    fn encloses(&mut self, said: &str, indent: usize) {
        if said.is_empty() {
            // CommonMark ends an ordinary element's block at a blank line, `<pre>` and comments only at their closing
            // marks.
            self.html = self.html.take().filter(Option::is_some);
            return;
        }
        if indent == 0 {
            self.in_list = said.starts_with(['-', '*', '+']) || said.starts_with(|c: char| c.is_ascii_digit());
        }
        match &mut self.directive {
            Some((own, head)) if indent > *own => {
                // Its options.
                if said.starts_with(':') && head.len() < LONGEST_HEAD {
                    head.push_str(said);
                }
            }
            other => {
                *other = (said == ".." || said.starts_with(".. "))
                    .then(|| (indent, said.chars().take(LONGEST_HEAD).collect()))
            }
        }
        if self.is_markdown {
            self.html = match self.html.take() {
                Some(Some(closing)) => (!said.contains(closing.as_str())).then_some(Some(closing)),
                Some(None) => Some(None),
                None => html(said),
            };
        }
    }

    /// The example is over, at the latest before a place.
    fn ends(&mut self, at: usize) {
        let Some(Open { start, end, around, kind }) = self.open.take() else { return };
        let (is_run, binds) = match kind {
            Kind::Fence { is_run, binds, .. } => (is_run, binds),
            Kind::Session | Kind::Directive { .. } => (true, true),
            Kind::Indented => (true, false),
        };
        if is_run {
            let key = "an example in a document".to_owned();
            self.found.push(Region { range: start..end.min(at), key, around, is_top: false, may_grow: true, binds });
        }
    }
}

/// The name of a directive (`.. name:: …`).
fn directive(said: &str) -> Option<&str> {
    said.strip_prefix(".. ").and_then(|rest| rest.split_once("::")).map(|(name, _)| name.trim())
}

/// The closing mark of the HTML that a line opens, if it does.
fn html(said: &str) -> Option<Option<String>> {
    let rest = said.strip_prefix('<')?;
    let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let closing = if rest.starts_with("!--") {
        "-->".to_owned()
    } else if rest.starts_with('?') {
        "?>".to_owned()
    } else if rest.starts_with('!') {
        ">".to_owned()
    } else if lists(RAW_ELEMENTS, &name) {
        format!("</{name}")
    } else {
        return (!name.is_empty() || rest.starts_with('/')).then_some(None);
    };
    // Closed in its own line, it encloses nothing.
    (!rest.contains(&closing)).then_some(Some(closing))
}
