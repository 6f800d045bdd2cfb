//! A test that is made to fail.

use tree_sitter::Node;

use super::calls::{Call, call_of};
use crate::framework::source::nodes::{children, descendants, text_of};
use crate::framework::source::{Edit, Means, Place, Poison, TestBody};

/// Assertions of equality that a test's own argument has: tape, tap, ava, QUnit, `node:test`.
const OF_CONTEXT: [&str; 7] = ["equal", "strictEqual", "is", "same", "strictSame", "deepEqual", "deepStrictEqual"];
/// Assertions of equality that are called without an object.
const PLAIN: [&str; 3] = ["strictEqual", "deepStrictEqual", "assertEquals"];

/// See [`crate::framework::source::Source::poisoned`].
pub(in super::super) fn poisoned(root: Node<'_>, text: &str, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
    // `test.failing` passes when it fails, so a failure put into it would prove the reverse.
    let call = call_of(root, text, test).filter(|call| !call.expects_failure)?;
    let function = call.function?;
    let body = function.child_by_field_name("body")?;
    let failure = match poison.means {
        Means::Raise => raise(&poison.word),
        Means::Assertion => assertion(root, &call, body, text, &poison.word).unwrap_or_else(|| raise(&poison.word)),
    };
    if body.kind() != "statement_block" {
        return Some(around_expression(function, body, poison.place, &failure, text));
    }
    let (start, end) = inside(body, text);
    Some(match poison.place {
        Place::First => vec![Edit::insert(start.0, format!("{} {failure}", start.1))],
        // The line before may end with a comment.
        Place::Last => vec![
            Edit::insert(start.0, format!("{} try {{", start.1)),
            Edit::insert(end, format!("\n}} finally {{ {failure} }}\n")),
        ],
    })
}

/// A condition that no compiler knows the answer of: none sees code that is never reached behind it.
fn raise(word: &str) -> String {
    format!("if (Date.now() > 0) {{ throw new Error(\"{word}\"); }}")
}

/// Where the statements of a block begin, with what ends a directive (`'use strict'`) before it, and where they end.
fn inside<'t>(block: Node<'_>, text: &str) -> ((usize, &'t str), usize) {
    let is_directive = |statement: &Node<'_>| {
        statement.kind() == "expression_statement"
            && statement.named_child(0).is_some_and(|value| value.kind() == "string")
            && text_of(*statement, text).starts_with(['"', '\''])
    };
    let directive = children(block).into_iter().take_while(is_directive).last();
    // A directive counts only before all statements. It may lack its semicolon.
    let start = directive.map_or((block.start_byte() + 1, ""), |last| (last.end_byte(), ";"));
    (start, block.end_byte().saturating_sub(1))
}

/// `() => value` gets a block.
fn around_expression(function: Node<'_>, body: Node<'_>, place: Place, failure: &str, text: &str) -> Vec<Edit> {
    let is_async = text_of(function, text).starts_with("async");
    let (before, after) = match place {
        Place::First => (format!("{{ {failure} return ("), "); }".to_owned()),
        Place::Last => {
            // Without `await` the `finally` would run before the promise has ended.
            let waits = if is_async { "await " } else { "" };
            (format!("{{ try {{ return {waits}("), format!("); }} finally {{ {failure} }} }}"))
        }
    };
    vec![Edit::insert(body.start_byte(), before), Edit::insert(body.end_byte(), after)]
}

/// The assertion of equality that the body uses, or else the file.
fn assertion(root: Node<'_>, call: &Call<'_>, body: Node<'_>, text: &str, word: &str) -> Option<String> {
    let context = call.function.and_then(|function| first_parameter(function, text));
    let values = format!("(\"{word}\", \"{}\")", word.chars().rev().collect::<String>());
    // The body's own form first, where the context is known by its parameter.
    let in_body = descendants(body).find_map(|node| form(node, context, text));
    let form = in_body.or_else(|| descendants(root).find_map(|node| form(node, None, text)))?;
    Some(match form {
        Form::Expect { chai } => {
            let matcher = if chai { "to.equal" } else { "toBe" };
            values.replace(", ", &format!(").{matcher}(")).replacen('(', "expect(", 1) + ";"
        }
        Form::Called(name) => format!("{name}{values};"),
    })
}

/// How a file compares.
enum Form {
    Expect { chai: bool },
    Called(String),
}

fn form(node: Node<'_>, context: Option<&str>, text: &str) -> Option<Form> {
    (node.kind() == "call_expression").then_some(())?;
    let function = node.child_by_field_name("function")?;
    let name = text_of(function, text);
    match function.kind() {
        "identifier" if name == "expect" => {
            // jest and chai share `expect`. The word behind it tells which of them is meant.
            let rest: String = text.get(node.end_byte()..)?.chars().take(200).filter(|c| !c.is_whitespace()).collect();
            let chai = rest.strip_prefix(".not").unwrap_or(&rest).starts_with(".to.");
            Some(Form::Expect { chai })
        }
        "identifier" => PLAIN.contains(&name).then(|| Form::Called(name.to_owned())),
        "member_expression" => {
            let object = text_of(function.child_by_field_name("object")?, text);
            let property = text_of(function.child_by_field_name("property")?, text);
            if Some(object) == context {
                return OF_CONTEXT.contains(&property).then(|| Form::Called(name.to_owned()));
            }
            let of_context = context.is_some_and(|context| object == format!("{context}.assert"));
            (of_context || object == "assert").then(|| Form::Called(format!("{object}.strictEqual")))
        }
        _ => None,
    }
}

/// The name of a function's first parameter.
pub(super) fn first_parameter<'t>(function: Node<'_>, text: &'t str) -> Option<&'t str> {
    if let Some(single) = function.child_by_field_name("parameter") {
        return Some(text_of(single, text));
    }
    let first = children(function.child_by_field_name("parameters")?).into_iter().next()?;
    let pattern = first.child_by_field_name("pattern").filter(|pattern| pattern.kind() == "identifier")?;
    Some(text_of(pattern, text))
}
