//! Which calls define tests and suites.

use tree_sitter::Node;

use crate::framework::source::TestBody;
use crate::framework::source::nodes::{children, text_of};

/// Functions that define a test.
const TESTS: [&str; 4] = ["it", "test", "specify", "fit"];
/// Functions that hold tests.
const SUITES: [&str; 5] = ["describe", "suite", "context", "fdescribe", "fcontext"];
/// Names of calls that never run what is in them.
const LEFT_OUT: [&str; 7] = ["xit", "xtest", "xspecify", "xdescribe", "xcontext", "skip", "todo"];
/// Words that may stand behind the function's name.
const MODIFIERS: [&str; 17] = [
    "only",
    "concurrent",
    "sequential",
    "serial",
    "parallel",
    "shuffle",
    "each",
    "for",
    "fails",
    "failing",
    "fail",
    "skipIf",
    "runIf",
    "todoIf",
    "if",
    "cb",
    "strict",
];
/// Modifiers under which a test passes when it fails.
const EXPECT_FAILURE: [&str; 3] = ["fails", "failing", "fail"];
/// Modifiers that are called before the title is given: `it.each(table)(title, …)`.
const CALLED: [&str; 6] = ["each", "for", "skipIf", "runIf", "todoIf", "if"];
/// Modifiers that take a table.
const TABLES: [&str; 2] = ["each", "for"];
/// No chain of names is longer than this.
const MOST_LINKS: usize = 8;
const FUNCTIONS: [&str; 4] = ["arrow_function", "function_expression", "generator_function", "function"];

/// The kind of block that a call defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Test,
    Suite,
    /// Something that does not run.
    LeftOut,
}

/// A call that defines a test or a suite.
#[derive(Debug)]
pub(super) struct Call<'t> {
    pub(super) role: Role,
    /// Whether the test passes when its body fails.
    pub(super) expects_failure: bool,
    pub(super) title: Node<'t>,
    /// The function that is called. A suite's may be wrapped in something else.
    pub(super) function: Option<Node<'t>>,
    /// The rows: an `arguments` or a `template_string`.
    pub(super) table: Option<Node<'t>>,
}

impl<'t> Call<'t> {
    pub(super) fn read(node: Node<'t>, text: &'t str) -> Option<Self> {
        (node.kind() == "call_expression").then_some(())?;
        let arguments = node.child_by_field_name("arguments").filter(|list| list.kind() == "arguments")?;
        let (words, table) = chain(node.child_by_field_name("function")?, text)?;
        let role = role_of(&words)?;
        let arguments = children(arguments);
        let (title, rest) = arguments.split_first()?;
        // Not always the last one: options or a time limit may stand on either side of it.
        let function = rest.iter().copied().find(|argument| FUNCTIONS.contains(&argument.kind()));
        // `pattern.test(text)` is none.
        (function.is_some() || (role != Role::Test && !rest.is_empty())).then_some(())?;
        let by_option = |argument: &Node<'_>| argument.kind() == "object" && has_key(*argument, "fails", text);
        let expects_failure = words.iter().any(|word| EXPECT_FAILURE.contains(word)) || rest.iter().any(by_option);
        Some(Self { role, expects_failure, title: *title, function, table })
    }
}

fn has_key(object: Node<'_>, key: &str, text: &str) -> bool {
    let is_key = |pair: &Node<'_>| pair.child_by_field_name("key").is_some_and(|name| text_of(name, text) == key);
    children(object).iter().any(is_key)
}

/// The names of a called function from the left (`it.each(rows)` is `it`, `each`), and the table among them.
fn chain<'t>(called: Node<'t>, text: &'t str) -> Option<(Vec<&'t str>, Option<Node<'t>>)> {
    let mut words = Vec::new();
    let mut table = None;
    let mut node = called;
    for _ in 0..MOST_LINKS {
        match node.kind() {
            "identifier" => {
                words.push(text_of(node, text));
                words.reverse();
                return Some((words, table));
            }
            "member_expression" => {
                words.push(text_of(node.child_by_field_name("property")?, text));
                node = node.child_by_field_name("object")?;
            }
            "call_expression" => {
                let function =
                    node.child_by_field_name("function").filter(|call| call.kind() == "member_expression")?;
                let word = text_of(function.child_by_field_name("property")?, text);
                // Any other call that answers a function is the product's own business.
                CALLED.contains(&word).then_some(())?;
                if TABLES.contains(&word) {
                    table = node.child_by_field_name("arguments");
                }
                node = function;
            }
            _ => return None,
        }
    }
    None
}

fn role_of(words: &[&str]) -> Option<Role> {
    let is_known = |word: &&str| TESTS.contains(word) || SUITES.contains(word) || LEFT_OUT.contains(word);
    // `t.test(…)`, `QUnit.test(…)`.
    let at = words.iter().take(2).position(&is_known)?;
    let known = words.get(at..)?;
    // `this.skip()` and `list.skip(1)` define nothing.
    if at > 0 && known.first().is_some_and(|word| LEFT_OUT.contains(word)) {
        return None;
    }
    // `test.describe.configure(…)` and `test.use(…)` have a word too many.
    if !known.iter().all(|word| is_known(word) || MODIFIERS.contains(word)) {
        return None;
    }
    Some(if known.iter().any(|word| LEFT_OUT.contains(word)) {
        Role::LeftOut
    } else if known.iter().any(|word| SUITES.contains(word)) && !known.last().is_some_and(|word| TESTS.contains(word)) {
        Role::Suite
    } else {
        Role::Test
    })
}

/// The call that defines a test.
pub(super) fn call_of<'t>(root: Node<'t>, text: &'t str, test: &TestBody) -> Option<Call<'t>> {
    let mut node = root.descendant_for_byte_range(test.whole.start, test.whole.end)?;
    // Several nodes have the same range: a call that is a whole statement without a semicolon.
    while node.byte_range() == test.whole {
        if node.kind() == "call_expression" {
            return Call::read(node, text);
        }
        node = node.parent()?;
    }
    None
}
