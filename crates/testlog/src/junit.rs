//! JUnit XML of every dialect, alone or in the middle of a log.
//!
//! The document is parsed in pieces as it comes, cut behind a `</testcase>`, so its size does not matter. Counts are
//! over `testcase` elements: the attributes of suites mean different things in every dialect. Names are
//! `testcase/@name`.

mod attributes;
mod dialect;
mod parts;
mod suite;

use std::collections::BTreeMap;

use quick_xml::Reader as XmlReader;
use quick_xml::events::{BytesStart, Event};

use self::attributes::Attributes;
use self::dialect::Dialect;
use self::parts::Parts;
use self::suite::SuiteErrors;
use super::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use super::needle::Needle;
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};

/// How much text is collected before it is parsed.
const PIECE: usize = 256 * 1024;
/// How much one test case may be: an element that is longer is given up.
const LONGEST_ELEMENT: usize = 8 * 1024 * 1024;
/// Below this many bytes a failure's own text is thin, and what the test printed is shown with it.
const THIN: usize = 300;

/// The text that is being collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Nothing,
    Failure,
    Note,
    Printed,
}

/// The test case whose element is open.
#[derive(Debug, Default)]
struct Case {
    name: String,
    file: Option<String>,
    line: Option<u32>,
    failed: bool,
    error: bool,
    skipped: bool,
    parts: Parts,
    failure: Block,
    note: Block,
    printed: Block,
}

/// The beginning of a test case, and its end.
const CASE: &str = "<testcase";
const CASE_ENDS: &str = "</testcase>";

/// The end of a piece that can be parsed. It is searched for in every line of a document.
static SUITE_ENDS: Needle = Needle::new("</testsuite");
static CDATA_OPENS: Needle = Needle::new("<![CDATA[");
static CDATA_CLOSES: Needle = Needle::new("]]>");

/// Reads JUnit documents.
#[derive(Debug)]
pub(super) struct Junit {
    cases: Cases,
    problems: Problems,
    counts: Counts,
    dialect: Dialect,
    skipped_parts: BTreeMap<String, Vec<String>>,
    open: bool,
    seen: bool,
    broken: bool,
    buffer: String,
    /// How much of it was looked through for a place to cut, in vain.
    looked: usize,
    /// Open elements, by what they are.
    depth: usize,
    case: Option<Case>,
    /// The last one, whose room is used again.
    spare: Case,
    text: Text,
    suite_errors: SuiteErrors,
}

impl Junit {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            dialect: Dialect::default(),
            skipped_parts: BTreeMap::new(),
            open: false,
            seen: false,
            broken: false,
            buffer: String::new(),
            looked: 0,
            depth: 0,
            case: None,
            spare: Case::default(),
            text: Text::Nothing,
            suite_errors: SuiteErrors::default(),
        }
    }

    /// Whether a document is being read: every line is its.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Takes a line if it belongs to a document. No other reader is to see it then.
    pub(super) fn wants(&mut self, line: &str) -> bool {
        if !self.open {
            let text = line.as_bytes().trim_ascii_start();
            if text.first() != Some(&b'<') || !is_start(line.trim_start()) {
                return false;
            }
            self.open = true;
            self.seen = true;
            self.depth = 0;
        }
        self.buffer.push_str(line);
        self.buffer.push('\n');
        let marked = memchr::memchr(b'<', line.as_bytes()).is_some();
        if (marked && SUITE_ENDS.find(line).is_some()) || (self.depth == 0 && line.trim_end().ends_with("/>")) {
            self.parse_all();
        } else if self.buffer.len() > self.looked + PIECE {
            self.parse_piece();
        }
        true
    }

    fn parse_piece(&mut self) {
        self.looked = 0;
        let Some(cut) = safe_cut(&self.buffer) else {
            // Not with every line: a suite may say much beside its test cases.
            self.looked = self.buffer.len();
            if self.buffer.len() > LONGEST_ELEMENT {
                self.broken = true;
                self.buffer.clear();
                self.looked = 0;
            }
            return;
        };
        let rest = self.buffer.split_off(cut);
        let piece = std::mem::replace(&mut self.buffer, rest);
        self.parse(&piece);
    }

    fn parse_all(&mut self) {
        if safe_end(&self.buffer) {
            let piece = std::mem::take(&mut self.buffer);
            self.looked = 0;
            self.parse(&piece);
        }
    }

    fn parse(&mut self, piece: &str) {
        let mut rest = piece;
        loop {
            rest = self.passing_cases(rest);
            let mut reader = XmlReader::from_str(rest);
            let config = reader.config_mut();
            // A piece begins and ends in the middle of open suites.
            config.check_end_names = false;
            config.allow_unmatched_ends = true;
            config.allow_dangling_amp = true;
            loop {
                let between = match reader.read_event() {
                    Ok(Event::Eof) => return,
                    Ok(event) => {
                        self.event(&event);
                        matches!(event, Event::Start(_) | Event::End(_) | Event::Empty(_)) && self.case.is_none()
                    }
                    Err(_) => {
                        self.broken = true;
                        self.open = false;
                        self.case_ends();
                        return;
                    }
                };
                if !self.open {
                    return;
                }
                let behind = usize::try_from(reader.buffer_position()).ok().and_then(|at| rest.get(at..));
                if between && let Some(behind) = behind.filter(|text| is_case(text)) {
                    rest = behind;
                    break;
                }
            }
        }
    }

    /// Takes the whole test cases at the beginning of a text in which nothing but printed text stands: nearly all of a large
    /// document. Returns what is left.
    fn passing_cases<'a>(&mut self, mut text: &'a str) -> &'a str {
        while self.depth > 0 && self.case.is_none() && is_case(text) {
            let Some(tag) = text.trim_ascii_start().get(CASE.len()..) else { break };
            let (attributes, behind) = Attributes::read(tag);
            let behind = behind.trim_ascii_start();
            let (depth, rest) = if let Some(rest) = behind.strip_prefix("/>") {
                (self.depth, rest)
            } else if let Some(rest) = behind.strip_prefix('>').and_then(behind_printed) {
                (self.depth + 1, rest)
            } else {
                break;
            };
            self.begin_case(depth, &attributes);
            self.case_ends();
            text = rest;
        }
        text
    }

    fn begin_case(&mut self, depth: usize, attributes: &Attributes<'_>) {
        let mut case = std::mem::take(&mut self.spare);
        case.begin(attributes);
        self.dialect.case(depth, &case.name, &|name| attributes.get(name).map(std::borrow::Cow::into_owned));
        self.case = Some(case);
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(element) => {
                self.depth += 1;
                self.starts(element);
            }
            Event::Empty(element) => {
                self.starts(element);
                self.ends(element.name().as_ref());
                if self.depth == 0 {
                    self.open = false;
                }
            }
            Event::End(element) => {
                self.depth = self.depth.saturating_sub(1);
                self.ends(element.name().as_ref());
                if self.depth == 0 {
                    self.open = false;
                }
            }
            Event::Text(text) => self.add(text),
            Event::CData(text) => self.add(text),
            Event::GeneralRef(reference) => {
                let name: &str = reference;
                let text = quick_xml::escape::unescape(&format!("&{name};")).map(|text| text.into_owned());
                self.add(text.as_deref().unwrap_or_default());
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Eof => {}
        }
    }

    fn starts(&mut self, element: &BytesStart<'_>) {
        let attributes = Attributes::of(element.attributes_raw());
        let attribute = |name: &str| attributes.get(name).map(std::borrow::Cow::into_owned);
        match element.name().as_ref() {
            "testsuites" | "testsuite" => self.dialect.suite(self.depth, &attribute),
            "testcase" => {
                self.case_ends();
                self.begin_case(self.depth, &attributes);
            }
            kind => {
                let message = attribute("message");
                let type_of = attribute("type");
                if kind == "error" && message.as_deref() == Some("collection failure") {
                    self.dialect.collection_failure();
                }
                self.dialect.detail(kind, type_of.as_deref().unwrap_or_default());
                let Some(case) = &mut self.case else {
                    self.suite_errors.begin(kind, message.as_deref());
                    return;
                };
                match kind {
                    "failure" | "error" => {
                        case.failed |= kind == "failure";
                        case.error |= kind == "error";
                        self.text = Text::Failure;
                        if let Some(message) = message {
                            case.failure.push(&message);
                        }
                    }
                    "skipped" | "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => {
                        if kind == "skipped" {
                            case.skipped = true;
                            case.parts.skip(message.as_deref().unwrap_or_default());
                        }
                        self.text = Text::Note;
                        if let Some(message) = message {
                            case.note.push(&message);
                        }
                    }
                    "system-out" | "system-err" => self.text = Text::Printed,
                    _ => {}
                }
            }
        }
    }

    fn add(&mut self, text: &str) {
        let Some(case) = &mut self.case else {
            self.suite_errors.add(text);
            return;
        };
        let block = match self.text {
            Text::Nothing => return,
            Text::Failure => &mut case.failure,
            Text::Note => &mut case.note,
            Text::Printed => &mut case.printed,
        };
        block.add(text);
    }

    fn ends(&mut self, name: &str) {
        match name {
            "testcase" => self.case_ends(),
            "failure" | "error" | "skipped" | "system-out" | "system-err" | "flakyFailure" | "flakyError"
            | "rerunFailure" | "rerunError" => {
                self.text = Text::Nothing;
                self.suite_errors.end(&mut self.problems);
                if let Some(case) = &mut self.case {
                    for block in [&mut case.failure, &mut case.note, &mut case.printed] {
                        block.end_line();
                    }
                }
            }
            _ => {}
        }
    }

    fn case_ends(&mut self) {
        self.text = Text::Nothing;
        let Some(mut case) = self.case.take() else { return };
        let status = if case.error && !case.failed {
            TestStatus::Error
        } else if case.failed {
            TestStatus::Failed
        } else if case.skipped {
            TestStatus::Skipped
        } else {
            TestStatus::Passed
        };
        self.counts.add(&Counts::of_one(status));
        let mut text = String::new();
        if !case.failure.is_empty() {
            text = without_repeated_message(&case.failure.take());
        }
        if !case.note.is_empty() {
            text.push_str(&case.note.take());
        }
        if text.len() < THIN && matches!(status, TestStatus::Failed | TestStatus::Error) {
            text.push_str(&case.printed.take());
        }
        let found = if text.is_empty() { None } else { dialect::place_of(&text, &case.name) };
        let place = found.or_else(|| Some((case.file.take()?, case.line?)));
        case.parts.keep(&case.name, &mut self.skipped_parts);
        let at = self.cases.push(&case.name, status);
        self.cases.explain(at, &text, place);
        self.spare = case;
    }

    /// The findings, if there was a document.
    pub(super) fn finish(mut self) -> Option<Findings> {
        if !self.seen {
            return None;
        }
        if self.open && !self.buffer.is_empty() {
            let piece = std::mem::take(&mut self.buffer);
            self.parse(&piece);
        }
        let whole = !self.broken && !self.open;
        let framework = self.dialect.framework();
        let mut findings = Findings::new(framework);
        findings.finished = whole;
        if whole {
            findings.counts = self.counts;
            if findings.counts.total.is_none() {
                findings.counts =
                    Counts { total: Some(0), passed: Some(0), failed: Some(0), skipped: Some(0), errors: Some(0) };
            }
            self.suite_errors.tell(&mut findings, self.dialect.counts_suite_errors());
            self.dialect.adapt(&mut findings.counts);
            findings.tests = self.cases.into_list();
            findings.skipped_parts = self.skipped_parts;
            self.dialect.unescape_names(&mut findings.tests);
            if self.dialect.is_collection_failure() {
                findings.status = Some(RunStatus::Error);
                findings.kind = Some(RunKind::CollectionError);
            }
        } else {
            // Half a document proves nothing about the tests it does not reach, so what it says is only shown.
            self.problems.push(RunKind::Unreadable, "the JUnit document is not complete or not well formed", None);
            for test in self.cases.into_list() {
                if matches!(test.status, TestStatus::Failed | TestStatus::Error) {
                    let place = test.file.zip(test.line);
                    self.problems.push(RunKind::Unreadable, &format!("{}\n{}", test.name, test.message), place);
                }
            }
            findings.status = Some(RunStatus::Error);
            findings.kind = Some(RunKind::Unreadable);
        }
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// Whether a text begins with a test case.
fn is_case(text: &str) -> bool {
    let behind = text.trim_ascii_start().strip_prefix(CASE).and_then(|rest| rest.bytes().next());
    behind.is_some_and(|byte| byte.is_ascii_whitespace())
}

/// The text behind a test case's end, when nothing but printed text stands before it.
fn behind_printed(text: &str) -> Option<&str> {
    const PRINTED: [&str; 4] = ["<system-out", "</system-out>", "<system-err", "</system-err>"];
    let mut rest = text;
    loop {
        rest = rest.get(memchr::memchr(b'<', rest.as_bytes())?..)?;
        if let Some(behind) = rest.strip_prefix(CASE_ENDS) {
            return Some(behind);
        }
        if let Some(hidden) = rest.strip_prefix("<![CDATA[") {
            rest = CDATA_CLOSES.split_once(hidden)?.1;
        } else if PRINTED.iter().any(|tag| rest.starts_with(tag)) {
            rest = rest.get(1..)?;
        } else {
            return None;
        }
    }
}

/// Whether a line opens a JUnit document.
fn is_start(text: &str) -> bool {
    let text = match text.strip_prefix("<?xml") {
        Some(rest) => match rest.cut("?>") {
            Some((_, rest)) => rest.trim_start(),
            None => return false,
        },
        None => text,
    };
    text.strip_prefix("<testsuite").is_some_and(|rest| rest.is_empty() || rest.starts_with(['>', ' ', 's', '\t', '/']))
}

/// Behind the last `</testcase>` that is not inside a CDATA section.
fn safe_cut(text: &str) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = text.get(..end)?.rfind(CASE_ENDS) {
        let head = text.get(..at)?;
        match open_section(head) {
            None => return Some(at + CASE_ENDS.len()),
            Some(opens) => end = opens,
        }
    }
    None
}

/// Whether no CDATA section is open at the end.
fn safe_end(text: &str) -> bool {
    open_section(text).is_none()
}

/// Where the CDATA section begins that is open at the end.
fn open_section(text: &str) -> Option<usize> {
    let opens = CDATA_OPENS.rfind(text)?;
    let is_closed = CDATA_CLOSES.rfind(text).is_some_and(|closes| closes > opens);
    (!is_closed).then_some(opens)
}

/// Many dialects repeat the `message` attribute as the beginning of the text.
fn without_repeated_message(text: &str) -> String {
    let Some((first, rest)) = text.split_once('\n') else { return text.to_owned() };
    if !first.trim().is_empty() && rest.contains(first.trim()) {
        rest.trim_start_matches('\n').to_owned()
    } else {
        text.to_owned()
    }
}

impl Case {
    /// Starts anew with the attributes of a test case.
    fn begin(&mut self, attributes: &Attributes<'_>) {
        for block in [&mut self.failure, &mut self.note, &mut self.printed] {
            block.clear();
        }
        self.name.clear();
        self.name.push_str(&attributes.get("name").unwrap_or_default());
        self.file = attributes.get("file").map(std::borrow::Cow::into_owned);
        self.line = attributes.get("line").and_then(|line| line.parse().ok());
        (self.failed, self.error) = (false, false);
        let is = |key: &str, words: &[&str]| attributes.get(key).is_some_and(|value| words.contains(&&*value));
        self.skipped = is("status", &["notrun", "disabled", "skipped"]) || is("result", &["suppressed", "skipped"]);
    }
}

#[cfg(test)]
mod tests;
