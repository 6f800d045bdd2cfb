//! The blocks below `FAILURES` and `ERRORS`, the entries of the short summary, and how they belong together.

use std::collections::HashSet;

use super::numbers;
use super::progress::Files;
use crate::findings::{Block, Budget, Cases, Problems};
use crate::needle::Seek as _;
use crate::python;
use crate::report::{RunKind, TestStatus};

/// One failure's traceback under its title.
#[derive(Debug)]
struct Failure {
    /// The title as printed between the underscores. Empty for `--tb=line`, which prints none.
    title: String,
    text: String,
    error: bool,
    used: bool,
}

impl Failure {
    /// Whether it is a test's failure, or its error, under a title.
    fn is_of_test(&self, error: bool) -> bool {
        self.error == error && !self.title.is_empty() && !self.title.starts_with("ERROR collecting ")
    }
}

/// The failures of a session.
#[derive(Debug)]
pub(super) struct Blocks {
    list: Vec<Failure>,
    open: Option<(String, bool)>,
    text: Block,
    budget: Budget,
    sugar: bool,
}

/// The outcome of matching.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// A failing test had failed in an earlier session too.
    pub(super) repeated: bool,
    /// Some modules could not be collected.
    pub(super) collection_errors: bool,
    /// Errors at setup: tests without a result of their own.
    pub(super) untested_errors: u64,
}

impl Blocks {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { list: Vec::new(), open: None, text: Block::default(), budget: budget.clone(), sugar: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.open.is_none()
    }

    /// Whether the lines that come belong to a failure with a title.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a block of pytest-sugar, which prints failures among the progress, is open.
    pub(super) const fn is_sugar(&self) -> bool {
        self.sugar
    }

    /// pytest-sugar's title line.
    pub(super) fn sugar(&mut self, line: &str) {
        if let Some(title) = numbers::title(line, '―') {
            self.close();
            self.open = Some((title.to_owned(), title.starts_with("ERROR ")));
            self.sugar = true;
        }
    }

    /// A line of the part.
    pub(super) fn line(&mut self, line: &str, error: bool) {
        if line.starts_with('_')
            && let Some(title) = title(line)
        {
            self.close();
            self.open = Some((title.to_owned(), error));
            return;
        }
        if self.open.is_none() {
            // `--tb=line` has no titles: one failure ends with its place.
            self.text.push(line);
            if line.starts_with(|first: char| !first.is_whitespace() && first != 'E')
                && python::place_of(line).is_some()
            {
                self.keep(String::new(), error);
            }
            return;
        }
        self.text.push(line);
    }

    /// Ends the open block.
    pub(super) fn close(&mut self) {
        self.sugar = false;
        match self.open.take() {
            Some((title, error)) => self.keep(title, error),
            None => self.text.clear(),
        }
    }

    fn keep(&mut self, title: String, error: bool) {
        let text = self.text.take();
        if self.budget.take(title.len() + text.len() + std::mem::size_of::<Failure>()) {
            self.list.push(Failure { title, text, error, used: false });
        }
    }

    /// How many of the failures are of subtests: `test_a [even number] (i=1)`, where a test's own parameters stand without a space.
    pub(super) fn of_subtests(&self) -> usize {
        let is_part = |title: &str| {
            let head = title.find(['[', '(']).and_then(|at| title.get(..at));
            head.is_some_and(|head| head.ends_with(' ') && !head.trim_end().contains(' '))
        };
        self.list.iter().filter(|one| !one.error && is_part(&one.title)).count()
    }

    /// Matches entries to blocks and writes both into `cases`.
    pub(super) fn settle(
        &mut self,
        entries: Vec<Entry>,
        (finished, files): (bool, &Files),
        cases: &mut Cases,
        problems: &mut Problems,
    ) -> Settled {
        let mut list = std::mem::take(&mut self.list);
        let titled = |start: &str| list.iter().filter(|one| one.error && one.title.starts_with(start)).count();
        let mut settled = Settled {
            repeated: false,
            collection_errors: titled("ERROR collecting ") > 0,
            untested_errors: titled("ERROR at setup of ").try_into().unwrap_or(u64::MAX),
        };
        let titles: HashSet<String> = list.iter().map(|one| bare_title(&one.title).to_owned()).collect();
        let untitled = list.iter().filter(|one| one.title.is_empty()).count();
        let mut failed_before = HashSet::new();
        for entry in entries {
            let (name, message) = entry.split(&titles, cases);
            let domain = entry.domain(&name);
            // A title names no file, so several blocks may have the same one, in the order of their entries.
            let place_of_block = list.iter().position(|one| {
                !one.used
                    && one.error == entry.error
                    && (bare_title(&one.title) == domain || bare_title(&one.title) == name)
            });
            // The blocks of `--tb=line` have no titles.
            let by_order =
                || (untitled > 0).then(|| list.iter().position(|one| !one.used && one.title.is_empty())).flatten();
            let at = place_of_block.or_else(by_order).or_else(|| {
                // A worker's crash is titled with the file alone.
                list.iter().position(|one| {
                    !one.used && one.error == entry.error && name.split("::").next() == Some(one.title.as_str())
                })
            });
            let known = cases.find(&name);
            // The words that it has are those of an earlier session.
            if known.is_some_and(|at| cases.get(at).is_some_and(|test| !test.message.is_empty()))
                && !failed_before.contains(&name)
            {
                settled.repeated = true;
            }
            let status = if entry.error { TestStatus::Error } else { TestStatus::Failed };
            let test = match known.and_then(|at| cases.get(at)).map(|test| test.status) {
                // A test that failed stays so where its teardown fails as well.
                Some(TestStatus::Failed) => known,
                _ => cases.set(&name, status),
            };
            match at.and_then(|at| list.get_mut(at)) {
                Some(block) => {
                    block.used = true;
                    let place = python::place_of(&block.text);
                    let text = if block.text.trim().is_empty() { message } else { std::mem::take(&mut block.text) };
                    cases.explain(test, &text, place);
                }
                None => cases.explain(test, &message, None),
            }
            failed_before.insert(name);
        }
        // Without a summary of failures the blocks stand in the order of their marks in the rows.
        for error in [false, true] {
            let mut blocks: Vec<&mut Failure> = list.iter_mut().filter(|one| one.is_of_test(error)).collect();
            let files = files.of(error);
            if blocks.len() == files.len() && blocks.iter().all(|one| !one.used) {
                // A doctest's id has the dots of its title.
                for (block, file) in
                    blocks.iter_mut().zip(files).filter(|(one, _)| !one.title.starts_with("[doctest] "))
                {
                    block.title = node_id(file, bare_title(&block.title)).unwrap_or(std::mem::take(&mut block.title));
                }
            }
        }
        for block in list.into_iter().filter(|one| !one.used) {
            without_entry(block, finished, cases, problems);
        }
        settled
    }
}

/// The node id of a test, from its file and its block's title: `TestCart.test_total[1.5]`.
fn node_id(file: &str, title: &str) -> Option<String> {
    let at = title.find('[').unwrap_or(title.len());
    let (path, parameters) = title.split_at(at);
    let is_plain = !path.is_empty() && !path.contains([' ', '/', ':']);
    is_plain.then(|| format!("{file}::{}{parameters}", path.replace('.', "::")))
}

/// A block that the short summary does not name: there was none, or the log is cut.
fn without_entry(block: Failure, finished: bool, cases: &mut Cases, problems: &mut Problems) {
    let place = python::place_of(&block.text);
    let title = bare_title(&block.title);
    let named = cases.iter().find(|test| {
        matches!(test.status, TestStatus::Failed | TestStatus::Error)
            && domain_of(&test.name) == title
            && test.message.is_empty()
    });
    if let Some(name) = named.map(|test| test.name.clone()) {
        let at = cases.find(&name);
        cases.explain(at, &block.text, place);
        return;
    }
    // A file that cannot be imported may be named by its block alone.
    if let Some(module) = block.title.strip_prefix("ERROR collecting ") {
        let at = cases.set(module, TestStatus::Error);
        cases.explain(at, &block.text, place);
        return;
    }
    if !finished || title.is_empty() {
        let text = if title.is_empty() { block.text } else { format!("{}\n{}", block.title, block.text) };
        problems.push(RunKind::Tests, &text, place);
        return;
    }
    let status = if block.error { TestStatus::Error } else { TestStatus::Failed };
    let at = cases.set(title, status);
    cases.explain(at, &block.text, place);
}

/// One line of the short summary and those that belong to it.
#[derive(Debug)]
pub(super) struct Entry {
    text: String,
    rest: Block,
    error: bool,
    /// The subtest's addition to its test's name: `[even number] (i=1)`.
    sub: String,
}

impl Entry {
    /// Reads `FAILED id - message`, `ERROR id`, `SUBFAILED[msg] (i=1) id - message` and `[msg] (i=1) SUBFAIL id`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let entry = |text: &str, error, sub: &str| {
            Some(Self { text: text.to_owned(), rest: Block::default(), error, sub: sub.trim().to_owned() })
        };
        if let Some(text) = line.strip_prefix("FAILED ") {
            return entry(text, false, "");
        }
        if let Some(text) = line.strip_prefix("ERROR ") {
            return entry(text, true, "");
        }
        for word in ["SUBFAILED", "SUBFAIL"] {
            if let Some(rest) = line.strip_prefix(word) {
                let (sub, text) = split_sub(rest.trim_start())?;
                return entry(text, false, sub);
            }
        }
        // The plugin pytest-subtests may put the subtest first.
        if line.starts_with(['[', '('])
            && let Some((sub, text)) = line.cut(" SUBFAIL ")
        {
            return entry(text, false, sub);
        }
        None
    }

    /// Whether it is about a subtest, which stands beside the entry of its test.
    pub(super) fn is_of_subtest(&self) -> bool {
        !self.sub.is_empty()
    }

    /// Whether it names a test of a Python file.
    pub(super) fn has_id(&self) -> bool {
        self.text.cut(".py::").is_some_and(|(file, _)| !file.contains(' '))
    }

    /// A line that is no entry of its own belongs to the last one's message.
    pub(super) fn goes_on(&mut self, line: &str) {
        const OTHERS: [&str; 6] = ["PASSED ", "XFAIL ", "XPASS ", "SKIPPED ", "SUBPASSED", "RERUN "];
        if !OTHERS.iter().any(|word| line.starts_with(word)) {
            self.rest.push(line);
        }
    }

    /// Splits the node id from the message: ids may hold ` - ` too.
    fn split(&self, titles: &HashSet<String>, cases: &mut Cases) -> (String, String) {
        // A parameter may hold the dash that stands before the message.
        let cuts: Vec<usize> = self.text.match_indices(" - ").map(|(at, _)| at).chain([self.text.len()]).collect();
        let known = cuts.iter().copied().find(|&at| {
            let id = self.text.get(..at).unwrap_or_default();
            cases.find(id).is_some() || titles.contains(&self.domain(id)) || titles.contains(id)
        });
        let at = known.unwrap_or_else(|| cut_by_shape(&self.text, &cuts));
        let id = self.text.get(..at).unwrap_or_default().trim_end().to_owned();
        let message = self.text.get(at + 3..).unwrap_or_default();
        let rest = self.rest.text();
        (id, if rest.is_empty() { message.to_owned() } else { format!("{message}\n{rest}") })
    }

    /// The title that the block of this id has.
    fn domain(&self, id: &str) -> String {
        let domain = domain_of(id);
        if self.sub.is_empty() { domain } else { format!("{domain} {}", self.sub) }
    }
}

/// `[even number] (i=1) tests/test_subs.py::test` → what belongs to the subtest, and the id.
fn split_sub(text: &str) -> Option<(&str, &str)> {
    let at = if text.starts_with(['[', '(']) {
        let id = text.seek("::")?;
        text.get(..id)?.rfind([' '])? + 1
    } else {
        0
    };
    Some((text.get(..at)?, text.get(at..)?))
}

/// Without anything to compare with: parameters end with `]`.
fn cut_by_shape(text: &str, cuts: &[usize]) -> usize {
    let first = cuts.first().copied().unwrap_or(text.len());
    if !text.get(..first).unwrap_or_default().contains('[') {
        return first;
    }
    cuts.iter().copied().find(|&at| text.get(..at).is_some_and(|id| id.ends_with(']'))).unwrap_or(first)
}

/// `tests/a.py::TestB::test_c[x::y]` → `TestB.test_c[x::y]`, as the blocks are titled.
fn domain_of(id: &str) -> String {
    let Some((file, test)) = id.cut("::") else { return id.to_owned() };
    if file.is_empty() {
        return id.to_owned();
    }
    match test.find('[') {
        Some(at) => {
            let (name, parameters) = test.split_at(at);
            format!("{}{parameters}", name.replace("::", "."))
        }
        None => test.replace("::", "."),
    }
}

/// The title without what says where the error was.
fn bare_title(title: &str) -> &str {
    ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting ", "ERROR at call of ", "[doctest] "]
        .iter()
        .find_map(|start| title.strip_prefix(start))
        .unwrap_or(title)
}

/// `____ test_total ____`, and not the `_ _ _ _` between frames.
fn title(line: &str) -> Option<&str> {
    let title = numbers::title(line, '_')?;
    (!title.starts_with("_ ") && title != "_").then_some(title)
}
