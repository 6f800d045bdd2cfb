//! Python: test classes, test functions and `unittest.main()` in files of another name, and the examples in docstrings.

use std::collections::HashMap;

use super::mask::{blank, byte};
use super::span::Region;
use crate::domain::word_list::lists;

/// Words of which a block under `if __name__` must hold one to be one of the tests.
const MAINS: [&str; 4] = ["unittest.main", "doctest.", "pytest.main", "testmod"];
/// Marks that begin and end a docstring.
const QUOTES: [&str; 2] = ["\"\"\"", "'''"];
/// Stands behind the name of what holds a text that documents nothing.
const TEXT: &str = " (a text)";
/// Words by which a constant is known for what a test compares with.
const EXPECTED: &str = "want wanted expect expected expectation expectations golden test tests fixture fixtures cases";
/// Functions by which unittest finds or frames tests.
const FRAMES: [&str; 4] = ["load_tests", "setUpModule", "tearDownModule", "setup_module"];

/// The test regions of a Python file, in order.
pub(super) fn regions(text: &str) -> Vec<Region> {
    let mask = mask(text);
    let mut found: Vec<Region> = Vec::new();
    let statements = statements(&mask);
    for &(start, end) in &statements {
        let code = String::from_utf8_lossy(mask.get(start..end).unwrap_or_default()).into_owned();
        let whole = text.get(start..end).unwrap_or_default().trim_end();
        // Without the blank lines behind it, which belong to whatever stands next.
        let end = start + whole.len();
        if let Some(key) = test_key(&code, whole) {
            found.push(Region {
                range: start..end,
                key,
                around: String::new(),
                is_top: true,
                may_grow: false,
                binds: false,
            });
        }
    }
    expectations(text, &statements, &mut found);
    let inside = |start: usize, found: &[Region]| found.iter().any(|region| region.range.contains(&start));
    let examples: Vec<Region> =
        // An example in a test's own docstring is put back with the test.
        examples(text).into_iter().filter(|example| !inside(example.range.start, &found)).collect();
    found.extend(examples);
    found.sort_by_key(|region| region.range.start);
    found
}

/// Adds the constants by whose names tests compare (`WANT = 6`) and which nothing but tests of this file names.
fn expectations(text: &str, statements: &[(usize, usize)], found: &mut Vec<Region>) {
    // Where the file holds no test, nothing is compared with its constants.
    if found.is_empty() {
        return;
    }
    let mut constants = Vec::new();
    for &(start, end) in statements {
        let whole = text.get(start..end).unwrap_or_default().trim_end();
        let name: &str = whole.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let behind = whole.get(name.len()..).unwrap_or_default().trim_start();
        // `WANT = 6` and `WANT: int = 6`
        let is_set = behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with(':');
        let is_named_so = name.split('_').any(|word| lists(EXPECTED, &word.to_ascii_lowercase()));
        if is_set && is_named_so && name != "test" {
            constants.push((name, start..start + whole.len()));
        }
    }
    if constants.is_empty() {
        return;
    }
    let everywhere = words(text);
    let tests: Vec<&str> = found.iter().filter_map(|region| text.get(region.range.clone())).collect();
    let tests = tests.join("\n");
    let in_tests = words(&tests);
    let mut set: HashMap<&str, usize> = HashMap::new();
    for (name, _) in &constants {
        *set.entry(name).or_insert(0) += 1;
    }
    for (name, range) in constants {
        let used = in_tests.get(name).copied().unwrap_or(0);
        // Every mention is in a test or sets the name. One that the product reads, too, stays the product's.
        if used > 0 && everywhere.get(name) == Some(&(used + set.get(name).copied().unwrap_or(0))) {
            let key = format!("{name} =");
            found.push(Region { range, key, around: String::new(), is_top: true, may_grow: false, binds: false });
        }
    }
    found.sort_by_key(|region| region.range.start);
}

/// The name that a region binds, by its key.
pub(super) fn bound(key: &str) -> Option<&str> {
    key.strip_prefix("class ").or(key.strip_prefix("def ")).or(key.strip_suffix(" ="))
}

/// Whether code expects something, as a test does and a `TestPlan` or `test_connection` of a product does not.
fn expects(code: &str) -> bool {
    ["assert", "raises", "pytest", "unittest"].iter().any(|word| code.contains(word))
}

/// Whether a module does nothing but assert: each of its functions does so and returns nothing, those between themselves (`_same`) may
/// return something, and there is no class.
pub(super) fn only_asserts(text: &str) -> bool {
    let mask = mask(text);
    let mut asserting = 0_usize;
    for (start, end) in statements(&mask) {
        let whole = text.get(start..end).unwrap_or_default();
        let head = whole.lines().find(|line| !line.trim().is_empty() && !line.starts_with('@')).unwrap_or_default();
        let Some(name) = head.strip_prefix("def ").or_else(|| head.strip_prefix("async def ")) else {
            if head.starts_with("class ") {
                return false;
            }
            continue;
        };
        let lines = || whole.lines().map(str::trim);
        let asserts = lines().any(|line| {
            line.starts_with("assert ") || line.starts_with("assert(") || line.starts_with("raise AssertionError")
        });
        // A function that returns something serves more than comparing, so a product may use it.
        let returns =
            lines().any(|line| line.starts_with("return ") && line != "return None" || line.starts_with("yield"));
        if asserts && !returns {
            asserting += 1;
        } else if !name.starts_with('_') {
            return false;
        }
    }
    asserting > 0
}

/// How often each word stands in a text.
pub(super) fn words(text: &str) -> HashMap<&str, usize> {
    let mut found = HashMap::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        *found.entry(word).or_insert(0) += 1;
    }
    found
}

/// The key of a statement at the top, if it is one of the tests.
fn test_key(code: &str, whole: &str) -> Option<String> {
    let head = code.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with('@'))?;
    let word =
        |rest: &str| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default().to_owned();
    if let Some(rest) = head.strip_prefix("class ") {
        let name = word(rest);
        // A base named so is unittest's. By its own name alone a `TestPlan` of a product would count.
        let is_test = rest.contains("TestCase") || name.starts_with("Test") && expects(code);
        return is_test.then(|| format!("class {name}"));
    }
    let function = head.strip_prefix("def ").or_else(|| head.strip_prefix("async def "));
    if let Some(rest) = function {
        let name = word(rest);
        let is_test = FRAMES.contains(&name.as_str()) || name.starts_with("test") && expects(code);
        return is_test.then(|| format!("def {name}"));
    }
    // The words are looked for in the text, not the mask: `sys.argv = ["-m", "unittest.main"]` has them in a string.
    (head.starts_with("if __name__") && MAINS.iter().any(|main| whole.contains(main))).then(|| "if __name__".to_owned())
}

/// The statements at the left margin, where decorators belong to the statement that they decorate. Each reaches from its first byte to the
/// next one's.
fn statements(mask: &[u8]) -> Vec<(usize, usize)> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    let mut decorated = false;
    for line in mask.split_inclusive(|&byte| byte == b'\n') {
        let first = byte(line, 0);
        // A string's lines at the margin are blanked in the mask, and a closing bracket ends what began above.
        if !first.is_ascii_whitespace() && !matches!(first, b')' | b']' | b'}' | 0) {
            if !decorated {
                starts.push(at);
            }
            decorated = first == b'@';
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([mask.len()]);
    starts.iter().copied().zip(ends).collect()
}

/// Code alone: strings and comments are blanked.
fn mask(text: &str) -> Vec<u8> {
    let source = text.as_bytes();
    let mut mask = source.to_vec();
    let mut at = 0;
    while at < source.len() {
        let end = match byte(source, at) {
            b'#' => {
                memchr::memchr(b'\n', source.get(at..).unwrap_or_default()).map_or(source.len(), |length| at + length)
            }
            quote @ (b'"' | b'\'') => string_end(source, at, quote),
            _ => {
                at += 1;
                continue;
            }
        };
        blank(&mut mask, at..end);
        at = end.max(at + 1);
    }
    mask
}

fn string_end(source: &[u8], at: usize, quote: u8) -> usize {
    let triple = byte(source, at + 1) == quote && byte(source, at + 2) == quote;
    let mut place = at + if triple { 3 } else { 1 };
    while place < source.len() {
        match byte(source, place) {
            b'\\' => place += 2,
            // Such a string is not closed, and the file does not load. The rest is still read as code.
            b'\n' if !triple => return place,
            found if found == quote => {
                if !triple {
                    return place + 1;
                }
                if byte(source, place + 1) == quote && byte(source, place + 2) == quote {
                    return place + 3;
                }
                place += 1;
            }
            _ => place += 1,
        }
    }
    source.len()
}

/// The examples with their expected output: from `>>>` to a blank line or the docstring's end.
fn examples(text: &str) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    let mut begun: Option<usize> = None;
    let mut at = 0;
    let mut around = String::new();
    let push = |start: usize, end: usize, around: &str, found: &mut Vec<Region>| {
        found.push(Region {
            range: start..end,
            key: "an example in a docstring".to_owned(),
            around: around.to_owned(),
            is_top: false,
            may_grow: true,
            binds: true,
        });
    };
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        // Closing quotes end an example, but for those in its own statement (`>>> f("""a""")`).
        let ends = trimmed.is_empty()
            || (trimmed.contains("\"\"\"") || trimmed.contains("'''")) && !trimmed.starts_with(">>>");
        match begun {
            Some(start) if ends => {
                push(start, at, &around, &mut found);
                begun = None;
            }
            None if trimmed.starts_with(">>>") => begun = Some(at),
            None => documents(trimmed, &mut around),
            Some(_) => {}
        }
        at += line.len();
    }
    if let Some(start) = begun {
        push(start, at, &around, &mut found);
    }
    found
}

/// Takes a line outside of examples: which function or class was begun last, and whether a text was since that is no docstring.
fn documents(line: &str, around: &mut String) {
    let head = line.trim_start_matches("async ");
    let name = ["def ", "class "].iter().find_map(|word| head.strip_prefix(word));
    if let Some(name) = name {
        *around = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    } else if QUOTES.iter().any(|quotes| line.contains(quotes)) {
        let is_docstring =
            QUOTES.iter().any(|quotes| line.trim_start_matches(['r', 'R', 'u', 'U']).starts_with(quotes));
        // `TEXT = """` holds `>>>` that no runner sees: an example moved there from a docstring has other
        // surroundings.
        if !is_docstring && !around.ends_with(TEXT) {
            around.push_str(TEXT);
        }
    }
}
