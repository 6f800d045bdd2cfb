//! The test that was under way when the time was up, or the memory: by what its runner had printed last, or by where its program says it stood.
//!
//! Pure. A program that is asked to end by an abort says where each of its threads stands: Python with its fault handler, Go by itself.

use std::sync::LazyLock;

use regex::Regex;

/// A test that had begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnderWay {
    /// The name, as the runner would have printed it. `None` where only its function is known.
    pub(super) name: Option<String>,
    /// The known frames of the place, innermost first: `total at shop/cart.py:3`.
    pub(super) stack: Vec<Frame>,
}

/// A place in a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u32,
}

/// How many frames are kept.
const MOST_FRAMES: usize = 8;

static PYTHON: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)"#).ok());
static GO_FUNCTION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(?P<function>[\w./\-*()\[\]]+)\(").ok());
static GO_PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\t(?P<file>\S.*\.go):(?P<line>\d+)").ok());

/// Looks for the test in the output of a run whose time or memory was up.
pub(super) fn find(output: &str) -> Option<UnderWay> {
    let name = announced(output);
    // A program is of one language, and each has its own words for a stack.
    let stack = python(output).or_else(|| go(output)).unwrap_or_default();
    (name.is_some() || !stack.is_empty()).then_some(UnderWay { name, stack })
}

impl UnderWay {
    /// The frame of the test itself, as far as functions are called like tests.
    pub(super) fn test(&self) -> Option<&Frame> {
        let is_test = |frame: &&Frame| {
            // `example.com/shop.TestTotal` in Go.
            let own = frame.function.rsplit('.').next().unwrap_or(&frame.function);
            own.starts_with("test") || own.starts_with("Test")
        };
        self.stack.iter().find(is_test)
    }

    /// A description of it: a sentence that begins with the limit, and a line for each frame.
    pub(super) fn said(&self, limit: &str) -> String {
        let which = match (&self.name, self.test()) {
            (Some(name), _) => format!("`{name}` was under way"),
            (None, Some(test)) => format!("`{}` was under way", test.function),
            // The innermost function comes first.
            (None, None) => self.stack.first().map_or_else(
                || "nothing says where".to_owned(),
                |frame| format!("they stood in `{}` at {}:{}", frame.function, frame.file, frame.line),
            ),
        };
        let places = self.stack.iter().map(|frame| format!("\n  {} at {}:{}", frame.function, frame.file, frame.line));
        format!("the tests {limit}: {which}{}", places.collect::<String>())
    }
}

/// The last test that was announced without a result.
fn announced(output: &str) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for line in output.lines() {
        let line = line.trim_end_matches('\r');
        // Go and its parts announce each test, cargo only those that take long.
        if let Some(name) = line.trim_start().strip_prefix("=== RUN   ") {
            open.push(name.to_owned());
        } else if let Some(ended) =
            ["--- PASS: ", "--- FAIL: ", "--- SKIP: "].iter().find_map(|mark| line.trim_start().strip_prefix(mark))
        {
            let name = ended.split(" (").next().unwrap_or(ended);
            open.retain(|open| open != name);
        } else if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split(" has been running for over ").nth(1).and(rest.split(' ').next()))
        {
            open.push(name.to_owned());
        } else if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            open.retain(|open| open != name);
        }
    }
    // The last that was begun: the ones around it wait for it.
    open.pop().or_else(|| unfinished_line(output))
}

/// A line that ends where the result would stand: `test_a (tests.t.T.test_a) ... `, `tests/test_a.py::test_a `, `test a ... `.
fn unfinished_line(output: &str) -> Option<String> {
    // What a dying program says begins on a line of its own, or behind the name.
    // The words of the dying program may follow on the same line, as no line break was printed.
    let cut = ["Fatal Python error", "SIGABRT: abort"].iter().filter_map(|mark| output.find(mark)).min();
    let before = output.get(..cut.unwrap_or(output.len()))?;
    let line = before.lines().last()?;
    if let Some(name) = line.strip_suffix(" ... ").or_else(|| line.strip_suffix(" ...")) {
        let name = name.strip_prefix("test ").unwrap_or(name).trim();
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let node = line.strip_suffix(' ')?;
    (node.contains("::") && !node.contains(' ')).then(|| node.to_owned())
}

/// The stack of the thread that runs the tests, after Python's fault handler: the one in which a test stands, else the current one.
fn python(output: &str) -> Option<Vec<Frame>> {
    let pattern = PYTHON.as_ref()?;
    let mut stacks: Vec<Vec<Frame>> = Vec::new();
    for line in output.lines() {
        if line.ends_with("(most recent call first):") {
            stacks.push(Vec::new());
        } else if let (Some(stack), Some(found)) = (stacks.last_mut(), pattern.captures(line)) {
            stack.extend(frame(&found));
        }
    }
    best(stacks)
}

/// The same after a Go program's own words.
fn go(output: &str) -> Option<Vec<Frame>> {
    let (function, place) = (GO_FUNCTION.as_ref()?, GO_PLACE.as_ref()?);
    let (mut stacks, mut called): (Vec<Vec<Frame>>, Option<String>) = (Vec::new(), None);
    for line in output.lines() {
        if line.starts_with("goroutine ") && line.ends_with(':') {
            stacks.push(Vec::new());
        } else if let (Some(stack), Some(found), Some(function)) =
            (stacks.last_mut(), place.captures(line), called.take())
        {
            // A place belongs to the function in the line above.
            let (file, line) = (found.name("file"), found.name("line").and_then(|line| line.as_str().parse().ok()));
            if let (Some(file), Some(line)) = (file, line) {
                stack.push(Frame { function, file: file.as_str().to_owned(), line });
            }
        } else {
            let found = function.captures(line).and_then(|found| found.name("function"));
            called = found.map(|found| found.as_str().to_owned());
        }
    }
    best(stacks)
}

fn frame(found: &regex::Captures<'_>) -> Option<Frame> {
    let text = |name: &str| found.name(name).map(|found| found.as_str().to_owned());
    Some(Frame { function: text("function")?, file: text("file")?, line: text("line")?.parse().ok()? })
}

/// The stack in which a test stands, cut behind it. Else the first.
fn best(stacks: Vec<Vec<Frame>>) -> Option<Vec<Frame>> {
    let whole = |stack: &Vec<Frame>| UnderWay { name: None, stack: stack.clone() };
    let with_test = stacks.iter().position(|stack| whole(stack).test().is_some());
    let mut stack = stacks.into_iter().nth(with_test.unwrap_or(0))?;
    // Below the test stands its runner, which says nothing.
    let test = whole(&stack).test().cloned();
    let end = test.and_then(|test| stack.iter().position(|frame| *frame == test));
    stack.truncate(end.map_or(MOST_FRAMES, |end| end + 1).min(MOST_FRAMES));
    (!stack.is_empty()).then_some(stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_is_the_one_that_was_announced_without_a_result() {
        for (output, name) in [
            ("=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n", Some("TestB")),
            ("running 2 tests\ntest a ... ok\ntest b has been running for over 60 seconds\n", Some("b")),
            ("running 2 tests\ntest b has been running for over 60 seconds\ntest b ... ok\n", None),
            ("running 1 test\ntest b ... ", Some("b")),
            ("test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... ", Some("test_b (t.T.test_b)")),
            ("tests/test_a.py::test_a PASSED [ 50%]\ntests/test_a.py::test_b ", Some("tests/test_a.py::test_b")),
            ("tests/test_a.py::test_b Fatal Python error: Aborted\n", Some("tests/test_a.py::test_b")),
            ("tests/test_a.py ..", None),
            ("", None),
        ] {
            assert_eq!(find(output).and_then(|found| found.name).as_deref(), name, "{output:?}");
        }
    }

    #[test]
    fn pythons_fault_handler_tells_the_place() {
        let output = "..Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n  File \"/usr/lib/python3/threading.py\", line 9 in wait\n\n\
                      Current thread 0x2 (most recent call first):\n  File \"/repo/shop/cart.py\", line 3 in total\n  File \
                      \"/repo/tests/test_cart.py\", line 12 in test_total\n  File \"/usr/lib/python3/unittest/case.py\", line 57 in run\n";
        let found = find(output).unwrap();
        assert_eq!(found.stack.len(), 2, "{found:?}");
        assert_eq!(found.test().map(|test| (test.function.as_str(), test.line)), Some(("test_total", 12)));
        let said = found.said("did not end within 300 s (test.timeoutSeconds)");
        assert!(
            said.starts_with("the tests did not end within 300 s (test.timeoutSeconds): `test_total` was under way\n"),
            "{said}"
        );
        assert!(said.contains("\n  total at /repo/shop/cart.py:3\n"), "{said}");
    }

    #[test]
    fn a_go_program_tells_the_place() {
        let output = "SIGABRT: abort\nPC=0x1 m=0 sigcode=0\n\ngoroutine 1 [chan receive]:\ntesting.(*T).Run(0xc000)\n\t/go/src/testing/testing.go:1751 +0x3ab\n\n\
                      goroutine 7 [running]:\nshop.Total(...)\n\t/repo/price.go:5\nshop.TestAdds(0xc0001)\n\t/repo/price_test.go:6 +0x2b\n\
                      testing.tRunner(0xc0001, 0x55)\n\t/go/src/testing/testing.go:1690 +0xf4\n";
        let found = find(output).unwrap();
        let frames: Vec<_> = found.stack.iter().map(|frame| (frame.function.as_str(), frame.line)).collect();
        assert_eq!(frames, [("shop.Total", 5), ("shop.TestAdds", 6)]);
    }
}
