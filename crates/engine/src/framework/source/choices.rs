//! Places at which a program goes one way or the other, and the edits that settle each: what a change adds of them is tried both ways.
//!
//! A condition is settled to hold and not to hold, and is still asked, so that names stay used and types the same. Of two operands one
//! alone stays.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::nodes::{children, descendants, lines_of, text_of};
use super::parse::parse;
use super::{Language, alternatives, answers, embedded, nothing, parts, scan, steps, tables};

/// Operators of which one operand alone is a program too.
const ARITHMETIC: [&str; 7] = ["+", "-", "*", "/", "//", "%", "**"];
/// Operators between conditions, and those that take another value where there is none.
const JOINING: [&str; 5] = ["&&", "||", "and", "or", "??"];
/// Operators whose value is yes or no.
const COMPARING: [&str; 12] = ["==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "instanceof", "is", "not in"];

/// Conditions within the texts of a file that are looked at at most.
const MOST_WITHIN_TEXTS: usize = 200;
/// The nodes that are literal texts, of all languages with a grammar.
const LITERAL_TEXTS: [&str; 5] =
    ["string", "template_string", "string_literal", "raw_string_literal", "interpreted_string_literal"];

/// The conditions of a shell's script: the text in brackets of its own, and other commands that a branch hangs on. The pattern works on
/// bytes, since an automaton that knows characters takes longer to make than the script to read. Each match stands between ASCII either
/// way.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static TESTS_OF_SHELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)\[\[ [^\]\n]+ \]\]|\[ [^\]\n]+ \]|\b(?:if|elif) (?P<command>[^\[\n;&|]+); then").unwrap()
});
/// The pattern of an arm of a shell's `case`.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static ARMS_OF_SHELL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m-u)(?:\bin|;;|^)[ \t]*\(?(?P<pattern>[^\s()#;&`$]+)\)").unwrap());

/// The choices of a file, in the order of its text, and none where its language is not known. `None` where its text is not understood.
#[must_use]
pub fn choices(path: &str, text: &str) -> Option<Vec<Choice>> {
    let Some(language) = Language::of(path) else {
        return Some(if is_of_shell(path, text) { of_shell(text) } else { embedded::of_file(path, text) });
    };
    let (mut all, literals) = of_program(language, text)?;
    let read = |code: &str| of_program(language, code).map_or_else(Vec::new, |(choices, _)| choices);
    let within = literals.into_iter().flat_map(|literal| embedded::of_literal(text, literal, language, &read));
    all.extend(within.take(MOST_WITHIN_TEXTS));
    Some(all)
}

/// The choices of a program, and where its literal texts are. `None` where it is not understood.
fn of_program(language: Language, text: &str) -> Option<(Vec<Choice>, Vec<Range<usize>>)> {
    if !language.has_grammar() {
        return Some((scan::choices(language, text)?, scan::literal_texts(language, text)));
    }
    let tree = parse(language, text)?;
    let each = |node| {
        let asked = answers::of_call(node, text, language);
        of_node(node, text, language).into_iter().chain(alternatives::of_pattern(node, text)).chain(asked)
    };
    let choices = descendants(tree.root_node()).flat_map(each).collect();
    let is_text = |node: &Node<'_>| LITERAL_TEXTS.contains(&node.kind()) && !is_documentation(*node);
    Some((choices, descendants(tree.root_node()).filter(is_text).map(|node| node.byte_range()).collect()))
}

/// Whether a text is a statement of its own, as documentation of Python's is.
fn is_documentation(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "expression_statement")
}

/// Whether anything of a file is read for choices: program text of a known language.
#[must_use]
pub fn is_read(path: &str, text: &str) -> bool {
    Language::of(path).is_some() || is_of_shell(path, text)
}

pub(super) fn is_of_shell(path: &str, text: &str) -> bool {
    path.ends_with(".sh") || text.starts_with("#!") && text.lines().next().is_some_and(names_shell)
}

fn names_shell(first: &str) -> bool {
    first.ends_with("sh") || first.contains("sh ")
}

fn of_shell(text: &str) -> Vec<Choice> {
    let choice = |found: Range<usize>, ways: &[(&str, Way)]| {
        let line = text.get(..found.start).map_or(0, |before| before.matches('\n').count()) + 1;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let edit = |word: &str| Edit { range: found.clone(), text: word.to_owned() };
        let ways = ways.iter().map(|(word, way)| (edit(word), way.clone())).collect();
        Choice {
            lines: (line, line),
            spelled: text.get(found.clone()).unwrap_or_default().to_owned(),
            ways,
            either_tells: false,
            is_within_text: false,
        }
    };
    let (bytes, settled) = (text.as_bytes(), [("true", Way::Holds), ("false", Way::Fails)]);
    let mut all = Vec::new();
    if ["[ ", "if "].iter().any(|begins| text.contains(begins)) {
        let tests = TESTS_OF_SHELL.captures_iter(bytes);
        let commands = tests.filter_map(|found| found.name("command").or_else(|| found.get(0)));
        all.extend(commands.map(|found| choice(found.range(), &settled)));
    }
    if text.contains("esac") {
        let arms = ARMS_OF_SHELL.captures_iter(bytes).filter_map(|found| found.name("pattern"));
        // An arm's pattern is no condition: one that takes all holds, one that no word equals does not.
        let settled = [("*", Way::Holds), ("/nothing/at/all", Way::Fails)];
        // The arm for all the rest cannot be made to hold any more than it does.
        all.extend(arms.filter(|found| found.as_bytes() != b"*").map(|found| choice(found.range(), &settled)));
    }
    all.extend(alternatives::of_commands(text));
    all.extend(steps::of_shell(text));
    all.extend(nothing::of_shell(text));
    all
}

fn of_node(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    let operator = operator(node, text);
    let is_one = |of: &[&str]| operator.is_some_and(|operator| of.contains(&operator));
    let lines = lines_of(node);
    if is_one(&JOINING) || is_one(&ARITHMETIC) {
        let (spelled, ways) = (text_of(node, text).to_owned(), operands(node, text)?);
        return Some(Choice {
            lines,
            spelled,
            ways,
            either_tells: is_one(&["*"]) && is_of_values(node),
            is_within_text: false,
        });
    }
    if !(is_one(&COMPARING) || is_condition(node)) {
        return of_extreme(node, text)
            .or_else(|| tables::of_table(node, text))
            .or_else(|| steps::of_chain(node, text, language))
            .or_else(|| steps::of_context(node, text, language))
            .or_else(|| nothing::of_value(node, text))
            .or_else(|| nothing::of_trial(node, text, language))
            .or_else(|| parts::of_part(node, text, language));
    }
    // The brackets around a JavaScript condition are a part of the branch, and what they hold is found by itself where it compares.
    Choice::of_condition(text, node.byte_range(), lines, language)
}

/// The lesser or the greater of two values.
fn of_extreme(node: Node<'_>, text: &str) -> Option<Choice> {
    let called = matches!(node.kind(), "call" | "call_expression").then(|| node.child_by_field_name("function"))??;
    if !["min", "max", "Math.min", "Math.max"].contains(&text_of(called, text)) {
        return None;
    }
    let given = children(node.child_by_field_name("arguments")?);
    let [first, second] = given.as_slice() else { return None };
    let edit = |kept: Node<'_>| Edit { range: node.byte_range(), text: format!("({})", text_of(kept, text)) };
    let ways = vec![(edit(*first), Way::Left), (edit(*second), Way::Right)];
    // Where either alone will do, no test tells it from one of them.
    Some(Choice {
        lines: lines_of(node),
        spelled: text_of(node, text).to_owned(),
        ways,
        either_tells: true,
        is_within_text: false,
    })
}

/// The operator of an expression with two operands, and of Python's comparisons.
fn operator<'t>(node: Node<'_>, text: &'t str) -> Option<&'t str> {
    match node.kind() {
        "binary_operator" | "boolean_operator" | "binary_expression" => {
            node.child_by_field_name("operator").map(|operator| text_of(operator, text))
        }
        // Python's node may hold several (`a < b < c`). Any of them makes the whole a condition.
        "comparison_operator" => Some("=="),
        _ => None,
    }
}

/// Whether a branch hangs on a node.
fn is_condition(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is_field = |name| parent.child_by_field_name(name) == Some(node);
    // What binds names cannot be settled.
    if matches!(node.kind(), "let_condition" | "let_chain") {
        return false;
    }
    match parent.kind() {
        "if_statement" | "elif_clause" | "ternary_expression" | "if_expression" | "match_pattern" => {
            is_field("condition")
        }
        // Python's `a if condition else b`, of which the grammar names no field.
        "conditional_expression" => parent.named_child(1) == Some(node),
        "if_clause" => true,
        _ => false,
    }
}

/// Whether neither operand is a number or a text as written.
fn is_of_values(node: Node<'_>) -> bool {
    let is_written = |operand: Node<'_>| {
        ["string", "number", "integer", "float", "literal"].iter().any(|kind| operand.kind().contains(kind))
    };
    !["left", "right"].iter().any(|field| node.child_by_field_name(field).is_none_or(is_written))
}

/// The edits by which one operand stays alone.
fn operands(node: Node<'_>, text: &str) -> Option<Vec<(Edit, Way)>> {
    let edit = |field: &str| {
        let operand = node.child_by_field_name(field)?;
        Some(Edit { range: node.byte_range(), text: format!("({})", text_of(operand, text)) })
    };
    Some(vec![(edit("left")?, Way::Left), (edit("right")?, Way::Right)])
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn spelled(path: &str, text: &str) -> Vec<String> {
        choices(path, text).unwrap().into_iter().filter(|one| one.ways.len() == 2).map(|one| one.spelled).collect()
    }

    #[test]
    fn what_a_program_decides_by_is_found_in_each_language() {
        let python = "def f(a: int | None, b):\n    if a and b(a):\n        return 1\n    c = a + 1 if a is None else [d for d in b if d]\n    while a < 3:\n        a += 1\n    return sum(b) - (len(b) == 1)\n";
        let found = ["a and b(a)", "a + 1", "a is None", "d", "a < 3", "sum(b) - (len(b) == 1)", "len(b) == 1"];
        assert_eq!(spelled("a.py", python), found);
        let script =
            "function f(a) { if (a?.b) { return a ?? 2; } const s = 'x' + ','.padEnd(a - 1); return a > 1 ? s : !a; }";
        let found = ["(a?.b)", "a ?? 2", "'x' + ','.padEnd(a - 1)", "a - 1", "a > 1"];
        assert_eq!(spelled("a.ts", script), found);
        let rust = "fn f(a: u8) -> u8 { if let Some(b) = g(a) { return b; } if a == 1 || h() { a } else { match a { 3 if i() => a * 2, _ => 0 } } }";
        assert_eq!(spelled("a.rs", rust), ["a == 1 || h()", "a == 1", "i()", "a * 2"]);
        let go = "package a\n\nfunc f(a int) int {\n\tif b := g(a); b != 2 && h(b) {\n\t\treturn a - 1\n\t}\n\tfor a > 1 {\n\t\ta--\n\t}\n\treturn 0\n}\n";
        assert_eq!(spelled("a.go", go), ["b != 2 && h(b)", "b != 2", "a - 1", "a > 1"]);
        assert_eq!(spelled("a.sh", "if [ -t 1 ]; then a; fi\n[[ $x == y ]] && b\n"), ["[ -t 1 ]", "[[ $x == y ]]"]);
        let arms = "case $(uname) in Linux) a ;; esac\ncase $1 in\n  -v|--x) b ;;\n  *) c ;;\nesac\nif grep -q a b; then c; fi\n";
        assert_eq!(spelled("a.sh", arms), ["grep -q a b", "Linux", "-v|--x"]);
        assert_eq!((choices("a.py", "if a:\nb("), choices("a.css", "a > b {}")), (None, Some(Vec::new())));
    }

    #[test]
    fn each_way_is_a_program() {
        let text = "def f(a):\n    return sum(a) - (a[0] > 1)\n";
        let found: Vec<String> = choices("a.py", text)
            .unwrap()
            .iter()
            .filter(|choice| choice.ways.len() == 2)
            .flat_map(|choice| choice.ways.iter().map(|(edit, _)| apply(text, std::slice::from_ref(edit)).unwrap()))
            .collect();
        let body = |line: &str| format!("def f(a):\n    return {line}\n");
        let wanted =
            ["(sum(a))", "((a[0] > 1))", "sum(a) - (((a[0] > 1) or True))", "sum(a) - (((a[0] > 1) and False))"];
        assert_eq!(found, wanted.map(body));
    }
}
