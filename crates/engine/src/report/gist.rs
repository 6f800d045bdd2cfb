//! The gist of an error message, in a line.

use super::plain;

/// How many lines from the end of an error it repeats.
const GIST_LINES: usize = 3;
/// How many lines from the beginning of a compiler's error it repeats.
const COMPILER_LINES: usize = 2;
/// How many lines of the error of Node's runner it repeats.
const NODE_LINES: usize = 8;
/// The line before the frames of a Rust panic.
const BACKTRACE: &str = "stack backtrace:";
/// The first words of what Python says of an error.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// A long message's beginning (the test's name) and end: what an assertion says stands last, below its traceback.
#[must_use]
pub fn gist(message: &str) -> String {
    // Asked before the lines are cleaned: the margin tells where Node's block of data ends.
    if let Some((name, said)) = of_node(message) {
        return if name.is_empty() { said } else { format!("{name}: {said}") };
    }
    // Rust's frames stand behind what was said.
    let said = message.lines().map(str::trim).take_while(|line| *line != BACKTRACE);
    let lines: Vec<&str> = said.filter(|line| says_something(line)).collect();
    let Some((first, _)) = lines.split_first().filter(|_| lines.len() > GIST_LINES) else { return lines.join(" ") };
    // What a compiler says stands first, and the place below it.
    if is_a_compilers(first) {
        return lines.iter().take(COMPILER_LINES).copied().collect::<Vec<_>>().join(" ");
    }
    // `tests/test_cart.py::test_total: AssertionError …` names the test before the first colon with a blank.
    let name = first.split_once(": ").map_or(*first, |(name, _)| name).trim_end_matches(':');
    // pytest marks them, and puts the place below.
    let marked: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("E ")).map(str::trim).collect();
    if !marked.is_empty() {
        let said = marked.into_iter().take(GIST_LINES).collect::<Vec<_>>().join(" ");
        return if is_of_source(name) { said } else { format!("{name}: {said}") };
    }
    let end = lines.iter().skip(lines.len() - GIST_LINES).copied().collect::<Vec<_>>().join(" ");
    if name == TRACEBACK { end } else { format!("{name}: {end}") }
}

/// The test's name and the error of a block of data that Node's own runner prints below a result. `None` where it is no such block.
fn of_node(message: &str) -> Option<(&str, String)> {
    let (first, rest) = message.split_once('\n')?;
    // `adds: duration_ms: 1.2` is the first line, and the error stands below as `error: |-` or `error: 'text'`.
    let (name, _) = first.rsplit_once("duration_ms: ")?;
    let name = name.trim_end_matches(": ");
    let mut lines = rest.lines().skip_while(|line| !line.starts_with("error: "));
    let inline = lines.next()?.trim_start_matches("error: ").trim_matches(['\'', '"']);
    let block = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let said: Vec<&str> = if inline.starts_with(['|', '>']) {
        block.map(str::trim).filter(|line| says_something(line)).take(NODE_LINES).collect()
    } else {
        vec![inline]
    };
    Some((name, said.join(" ")))
}

/// The gist in one line of so many columns. A cut leaves out the middle, since what an assertion says stands last.
#[must_use]
pub fn short_gist(message: &str, max_width: usize) -> String {
    let whole = plain::line(&gist(message));
    // A compiler's error stands first and is cut at its end.
    if plain::width(&whole) <= max_width || is_a_compilers(&whole) {
        return plain::clip(&whole, max_width);
    }
    // A third for the test's name, the rest for what is said of it.
    let head = plain::clip(&whole, max_width / 3);
    let room = max_width.saturating_sub(plain::width(&head) + 1);
    let words = whole.split(' ').rev().scan(0, |used, word| {
        *used += plain::width(word) + 1;
        // One more, since the last word has no blank behind it.
        (*used <= room + 1).then_some(word)
    });
    let tail: Vec<&str> = words.collect();
    if tail.is_empty() {
        return plain::clip(&whole, max_width);
    }
    let tail = tail.into_iter().rev().collect::<Vec<_>>().join(" ");
    format!("{head} {tail}")
}

fn is_a_compilers(line: &str) -> bool {
    // `error[E0308]: …`, `cart.ts(3,5): error TS2322: …`, but not `TypeError: …`.
    line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "error")
}

/// Whether a message begins with a line of code in the place of a test's name.
fn is_of_source(first: &str) -> bool {
    ["def ", "async def ", "> ", "self = "].iter().any(|start| first.starts_with(start))
}

/// Neither empty, nor advice of a runner's, nor a row of signs below a line of code or below a line of a difference.
fn says_something(line: &str) -> bool {
    // `? ++ ^^` is a line of Python's `difflib`, `~~~^^^` stands below a line of a traceback.
    let is_pointer = line.strip_prefix("? ").unwrap_or(line).chars().all(|letter| "^~+- ".contains(letter));
    !is_pointer && !line.starts_with("note: run with")
}

#[cfg(test)]
mod tests {
    use super::{gist, short_gist};

    #[test]
    fn a4_a_long_message_is_cut_in_its_middle_and_says_what_the_assertion_says() {
        let said = "test_sum (test_cart.T.test_sum): Traceback (most recent call last):\n  File \"/home/ada/work/shop/tests/test_cart.py\", \
                    line 4, in test_sum\n    def test_sum(self): self.assertEqual(total([1,2,7]), 10)\nAssertionError: 9 != 10";
        for width in 0..200 {
            let short = short_gist(said, width);
            assert!(crate::report::plain::width(&short) <= width, "{width}: {short}");
            assert!(width < 60 || short.ends_with("AssertionError: 9 != 10"), "{width}: {short}");
            assert!(width < 60 || short.starts_with("test_sum"), "{width}: {short}");
        }
        assert_eq!(short_gist(said, 200), gist(said));
        assert_eq!(short_gist("error: a long message of a compiler", 20), "error: a long…");
    }

    #[test]
    fn the_gist_of_a_traceback_is_its_assertion() {
        let python = "test_total (t.T): Traceback (most recent call last):\n  File \"t.py\", line 3\n    self.assertEqual(5, 6)\n\
                      AssertionError: 5 != 6\n";
        assert_eq!(
            gist(python),
            "test_total (t.T): File \"t.py\", line 3 self.assertEqual(5, 6) AssertionError: 5 != 6"
        );
        let node = "adds: duration_ms: 0.27\nlocation: 't.js:1:1'\nfailureType: 'testCodeFailure'\nerror: |-\n  Expected values to be strictly \
                    equal:\n  \n  3 !== 4\n  \ncode: 'ERR_ASSERTION'\nstack: |-\n  a (t.js:2:3)\n  b (t.js:3:4)";
        assert_eq!(gist(node), "adds: Expected values to be strictly equal: 3 !== 4");
        let node = "duration_ms: 1\nerror: 'boom'\ncode: 'E'\nstack: |-\n  a (t.js:2:3)";
        assert_eq!(gist(node), "boom");
        let frames = "thread 'adds' panicked at a.rs:3:5:\nassertion `left == right` failed\n  left: 2\n right: 1\nstack backtrace:\n   0: a\n   \
                      at a.rs:1:1\n   7: <fn() -> core::result::Result<(), alloc::string::String> as core::ops::function::FnOnce<()>>::call_once";
        assert!(gist(frames).ends_with("assertion `left == right` failed left: 2 right: 1"), "{}", gist(frames));
        let rust = "adds: thread 'adds' panicked at a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
                    note: run with `RUST_BACKTRACE=1`";
        assert_eq!(gist(rust), "adds: assertion `left == right` failed left: 1 right: 2");
        let rustc = "error[E0425]: cannot find value `d` in this scope\n --> src/lib.rs:2:9\n  |\n2 |     a - d\n  |         ^\n";
        assert_eq!(gist(rustc), "error[E0425]: cannot find value `d` in this scope --> src/lib.rs:2:9");
        assert_eq!(gist("no model could be used"), "no model could be used");
        let pointed =
            "Traceback (most recent call last):\n  File \"t.py\", line 3, in test\n    f(1)\n    ~^^^\nValueError: 1\n";
        let compared = "t (a.T): Traceback (most recent call last):\n  File \"t.py\", line 3\n    self.assertEqual(a, b)\n\
                        AssertionError: 'sum: 18' != 'sum: 19'\n- sum: 18\n?      ^\n+ sum: 19\n?      ^\n";
        assert_eq!(gist(compared), "t (a.T): AssertionError: 'sum: 18' != 'sum: 19' - sum: 18 + sum: 19");
        let pytest = "tests/a.py::test_b: def test_b():\n>       assert total([10, 5], 3) == 12\nE       assert 18 == 12\n\
                      E        +  where 18 = total([10, 5], 3)\n\ntests/a.py:7: AssertionError";
        assert_eq!(gist(pytest), "tests/a.py::test_b: assert 18 == 12 +  where 18 = total([10, 5], 3)");
        assert_eq!(
            gist(pytest.trim_start_matches("tests/a.py::test_b: ")),
            "assert 18 == 12 +  where 18 = total([10, 5], 3)"
        );
        assert_eq!(gist(pointed), "File \"t.py\", line 3, in test f(1) ValueError: 1");
    }
}
