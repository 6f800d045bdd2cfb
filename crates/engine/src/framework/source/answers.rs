//! Calls of which a program takes the answer, each with one and the same answer in its place: where no test tells the two apart, what the
//! call asks decides by something that no test looks at.
//!
//! Left out are calls whose answer nobody takes, those that only make the words of an error or a log, and those of which all of a result is
//! made: with another result the tests fail in any case.

use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::language::Language;
use super::nodes::{children, lines_of, text_of};

/// Steps up from a call within which its place is looked for.
const MOST_STEPS: usize = 64;

/// Objects of what runs JavaScript.
const HOSTS: [&str; 7] = ["process", "globalThis", "window", "navigator", "document", "performance", "self"];

/// Go's own functions that answer with no number.
const NO_NUMBERS: [&str; 3] = ["make", "new", "append"];

/// Answers that stand for what is not, what is, nothing at all, and more than there is. Where names have to stay used the call stays.
const fn instead(language: Language) -> &'static [&'static str] {
    match language {
        // What is true counts as 1.
        Language::Python => &["0", "True", "None", "99_999"],
        Language::JavaScript => &["0", "true", "undefined"],
        Language::Php => &["0", "1", "null", "99999"],
        Language::Ruby => &["0", "1", "nil", "99_999"],
        Language::Go => &["0"],
        Language::Rust | Language::Java | Language::Cpp => &[],
    }
}

/// A call as a choice of answers. `None` where the language has none.
pub(super) fn choice(
    language: Language,
    text: &str,
    range: std::ops::Range<usize>,
    lines: (u32, u32),
) -> Option<Choice> {
    let spelled = text.get(range.clone())?.to_owned();
    let edit = |answer: &&str| {
        // In Go, of a number alone this is a program.
        let text = if language == Language::Go { format!("({spelled})*{answer}") } else { (*answer).to_owned() };
        (Edit { range: range.clone(), text }, Way::Answered((*answer).to_owned()))
    };
    let ways: Vec<_> = instead(language).iter().map(edit).collect();
    (!ways.is_empty()).then_some(Choice { lines, spelled, ways, either_tells: true, is_within_text: false })
}

/// The choice that a call is.
pub(super) fn of_call(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    if !(is_asked(node, text) || is_of_the_host(node, text, language)) || !is_taken(node, text) {
        return None;
    }
    choice(language, text, node.byte_range(), lines_of(node))
}

/// Whether a node asks for an answer: a call, or a link that may lead nowhere.
fn is_asked(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "call" | "call_expression" => {
            let called = node.child_by_field_name("function").map(|called| text_of(called, text));
            !called.is_some_and(|called| NO_NUMBERS.contains(&called))
        }
        "member_expression" => children(node).iter().any(|part| text_of(*part, text) == "?."),
        _ => false,
    }
}

/// Whether a node reads a value of something that is there for all programs: of a module that Python imports, of what JavaScript runs in.
fn is_of_the_host(node: Node<'_>, text: &str, language: Language) -> bool {
    let (kind, holder) = match language {
        Language::Python => ("attribute", "object"),
        Language::JavaScript => ("member_expression", "object"),
        Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
            return false;
        }
    };
    // The longest chain is the value, and one that is called is a call.
    let is_part = node
        .parent()
        .is_some_and(|parent| parent.kind() == kind || parent.child_by_field_name("function") == Some(node));
    if node.kind() != kind || is_part || is_assigned(node) {
        return false;
    }
    let mut root = node;
    while let Some(of) = root.child_by_field_name(holder) {
        root = of;
    }
    let name = text_of(root, text);
    if language == Language::Python {
        return root.kind() == "identifier" && text.lines().any(|line| imports(line.trim(), name));
    }
    HOSTS.contains(&name)
}

/// Whether a line of Python imports a module under its own name.
fn imports(line: &str, name: &str) -> bool {
    line.strip_prefix("import ").is_some_and(|modules| modules.split(',').any(|module| module.trim() == name))
}

/// Whether a node is what is assigned to.
fn is_assigned(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.child_by_field_name("left") == Some(node))
}

/// Whether somebody takes a call's answer for more than words.
fn is_taken(node: Node<'_>, text: &str) -> bool {
    let (mut inner, mut parent) = (node, node.parent());
    // Whether nothing is made of the answer so far.
    let mut is_bare = true;
    for _ in 0..MOST_STEPS {
        let Some(outer) = parent else { return false };
        match outer.kind() {
            // A link of a chain: what is made of the answer is the call around it.
            "attribute" | "member_expression" | "selector_expression" if is_bare => return false,
            "return_statement" | "expression_statement" | "arrow_function" if is_bare => return false,
            "await" | "await_expression" | "parenthesized_expression" | "expression_list" => {
                parent = outer.parent();
                continue;
            }
            "raise_statement"
            | "except_clause"
            | "throw_statement"
            | "assert_statement"
            | "decorator"
            | "type"
            | "type_annotation"
            | "import_statement"
            | "default_parameter"
            | "typed_default_parameter" => return false,
            // Room that is set aside is no answer.
            "argument_list" if inner == node && is_room(outer, text) => return false,
            // Words for people: a text stands beside it.
            "argument_list" | "arguments" if says_something(outer) && is_statement(outer) => return false,
            "function_definition"
            | "function_declaration"
            | "method_definition"
            | "method_declaration"
            | "module"
            | "program"
            | "source_file"
            | "block"
            | "statement_block" => return !is_bare,
            _ => {}
        }
        is_bare = false;
        inner = outer;
        parent = outer.parent();
    }
    true
}

/// Whether arguments are those of Go's `make`.
fn is_room(arguments: Node<'_>, text: &str) -> bool {
    let called = arguments.parent().and_then(|call| call.child_by_field_name("function"));
    called.is_some_and(|called| text_of(called, text) == "make")
}

/// Whether a text stands among arguments.
fn says_something(arguments: Node<'_>) -> bool {
    children(arguments).iter().any(|one| one.kind().contains("string"))
}

/// Whether arguments are of a call that is a statement of its own.
fn is_statement(arguments: Node<'_>) -> bool {
    let call = arguments.parent();
    call.and_then(|call| call.parent()).is_some_and(|above| above.kind() == "expression_statement")
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::*;

    fn asked(path: &str, text: &str) -> Vec<String> {
        let is_answer = |choice: &Choice| choice.ways.iter().any(|(_, way)| matches!(way, Way::Answered(_)));
        choices(path, text).unwrap().into_iter().filter(is_answer).map(|choice| choice.spelled).collect()
    }

    #[test]
    fn calls_are_asked_whose_answer_somebody_takes() {
        let python = "def f(a, log):\n    log.info('sum %s', show(a))\n    log.close()\n    flag = probe(a)\n    if not a:\n        raise ValueError('none: ' + repr(a))\n    return sum(a[len(glob('/*')):], g(a).h)\n\n\ndef k(a):\n    return done(a)\n";
        assert_eq!(asked("a.py", python), ["probe(a)", "len(glob('/*'))", "glob('/*')"]);
        let script = "function f(a) { console.log('x', g(a)); const b = h(a)?.c; return [1, a].slice(Reflect.has(globalThis, 'it')).shift(); }";
        assert_eq!(asked("a.js", script), ["h(a)?.c", "Reflect.has(globalThis, 'it')"]);
        let go = "package a\n\nfunc f(a []int) int {\n\tb := make([]int, len(a))\n\tprint(g(a), b)\n\treturn sum(a[len(h()):])\n}\n";
        assert_eq!(asked("a.go", go), ["g(a)", "len(h())", "h()"]);
        let php =
            "<?php\nfunction f($a) { $b = 1; say('x', g($a)); return array_sum($a) - !class_exists('T', false); }\n";
        assert_eq!(asked("a.php", php), ["array_sum($a)", "class_exists('T', false)"]);
        let hosts = "import sys\n\n\ndef f(a, b):\n    b.c = sys.maxunicode\n    sys.x = b.d\n    return a % sys.a.b + sys.f(a)\n";
        assert_eq!(asked("a.py", hosts), ["sys.maxunicode", "sys.a.b", "sys.f(a)"]);
        let script = "const a = process.env.HOME; process.exitCode = b.c; c(globalThis.d.e());";
        assert_eq!(asked("a.js", script), ["process.env.HOME", "globalThis.d.e()"]);
        let constants = "<?php $a = B::C + PHP_OS + f(\\D_E) + G::h(TRUE); const I_J = 1;";
        assert_eq!(asked("a.php", constants), ["PHP_OS", "f(\\D_E)", "\\D_E", "G::h(TRUE)"]);
        let globals = "def f(a)\n  a.first($LOAD_PATH.length) + $stdin.tty?.to_s.count('r')\nend\n";
        assert_eq!(asked("a.rb", globals), ["a.first($LOAD_PATH.length)", "$stdin.tty?.to_s.count('r')"]);
        let ruby =
            "def f(a)\n  log(a)\n  a.sum - Object.constants.grep(/\\ART/).size + (defined?(RSpec) ? 0 : 1)\nend\n";
        assert_eq!(asked("a.rb", ruby), ["Object.constants.grep(/\\ART/).size", "defined?(RSpec)"]);
    }
}
