//! Values that a program takes off or masks out, with nothing in their place, and what it tries, where that fails at once: a value that is
//! nothing wherever the tests run, and a trial that never succeeds there, decide by something that no test looks at.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::language::Language;
use super::nodes::{children, lines_of, text_of};

/// Operators on bits: what lies on their left may leave nothing behind.
const OF_BITS: [&str; 4] = ["&", ">>", "<<", ">>>"];

/// A shell's expansion that is there only where a variable is.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WHERE_SET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?-u)\$\{\w+:?\+[^}\n]*\}").unwrap());

/// The value that a node takes off or masks out.
pub(super) fn of_value(node: Node<'_>, text: &str) -> Option<Choice> {
    let sign = node.child_by_field_name("operator").or_else(|| node.child(0)).map(|sign| text_of(sign, text))?;
    let is_taken_off = match node.kind() {
        "unary_operator" | "unary_expression" => {
            let operand = children(node).into_iter().next_back()?;
            sign == "-" && !["integer", "float", "number", "literal"].iter().any(|kind| operand.kind().contains(kind))
        }
        "binary_operator" | "binary_expression" => OF_BITS.contains(&sign),
        _ => false,
    };
    let edit = Edit { range: node.byte_range(), text: "0".to_owned() };
    is_taken_off.then(|| Choice::of_one(lines_of(node), text_of(node, text), edit, Way::Nothing))
}

/// A trial with a handler: in its place its error is raised at once.
pub(super) fn of_trial(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    if node.kind() != "try_statement" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let first = children(body).into_iter().next()?;
    let raised = match language {
        Language::Python => format!("raise {}\n{}", caught(node, text)?, " ".repeat(body.start_position().column)),
        Language::JavaScript => {
            node.child_by_field_name("handler")?;
            "throw new Error('not tried');".to_owned()
        }
        Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => return None,
    };
    let inside = body.start_byte() + usize::from(language == Language::JavaScript);
    let spelled = text_of(first, text).lines().next().unwrap_or_default();
    Some(Choice::of_one((lines_of(node).0, lines_of(body).1), spelled, Edit::insert(inside, raised), Way::NotTried))
}

/// The error that the first handler of Python's takes, and any where it names none.
fn caught(node: Node<'_>, text: &str) -> Option<String> {
    let handler = children(node).into_iter().find(|part| part.kind() == "except_clause")?;
    let named = children(handler).into_iter().find(|part| part.kind() != "block");
    Some(named.map_or_else(
        || "Exception".to_owned(),
        |named| {
            let error = if named.kind() == "as_pattern" { named.named_child(0).unwrap_or(named) } else { named };
            let spelled = text_of(error, text);
            if error.kind() == "tuple" { format!("{spelled}[0]") } else { spelled.to_owned() }
        },
    ))
}

/// What a shell's script takes from another command, and what it adds where a variable is set.
pub(super) fn of_shell(text: &str) -> Vec<Choice> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let mut add = |range: Range<usize>, instead: &str, way: Way| {
            let spelled = line.get(range.clone()).unwrap_or_default();
            let edit = Edit { range: start + range.start..start + range.end, text: instead.to_owned() };
            found.push(Choice::of_one((number, number), spelled, edit, way));
        };
        if !line.trim_start().starts_with('#') {
            for range in substitutions(line) {
                add(range, "0", Way::Nothing);
            }
            // Most scripts have none, and the pattern takes longer to make than a script to read.
            if line.contains("${") {
                for set in WHERE_SET.find_iter(line.as_bytes()) {
                    add(set.range(), "", Way::LeftOut);
                }
            }
        }
        start += line.len();
    }
    found
}

/// The outermost `$(…)` of a line. Sums (`$((…))`) are none.
fn substitutions(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(begin) = line.get(at..).and_then(|rest| rest.find("$(")).map(|offset| at + offset) {
        let mut depth = 0_i32;
        let close = bytes.iter().enumerate().skip(begin + 1).find(|(_, byte)| {
            depth += i32::from(**byte == b'(') - i32::from(**byte == b')');
            depth == 0
        });
        let Some((close, _)) = close else { break };
        if bytes.get(begin + 2) != Some(&b'(') {
            found.push(begin..close + 1);
        }
        at = close + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::super::edit::apply;
    use super::*;

    fn instead(path: &str, text: &str) -> Vec<(String, String)> {
        let all = choices(path, text).expect("text").into_iter();
        let own = all.filter_map(|choice| match choice.ways.as_slice() {
            [(edit, Way::Nothing | Way::NotTried)] => Some((choice.spelled.clone(), edit.clone())),
            [(edit, Way::LeftOut)] if choice.spelled.starts_with("${") => Some((choice.spelled.clone(), edit.clone())),
            _ => None,
        });
        own.map(|(spelled, edit)| (spelled, apply(text, &[edit]).expect("inside"))).collect()
    }

    fn pair(spelled: &str, text: &str) -> (String, String) {
        (spelled.to_owned(), text.to_owned())
    }

    #[test]
    fn a_value_that_is_taken_off_or_masked_may_be_nothing() {
        let found = instead("a.py", "x = sum(p, -fee(), -1) + (flag & MASK)\n");
        let masked = pair("flag & MASK", "x = sum(p, -fee(), -1) + (0)\n");
        assert_eq!(found, [pair("-fee()", "x = sum(p, 0, -1) + (flag & MASK)\n"), masked]);
        assert_eq!(instead("a.ts", "f(-off, a >> 1, -1);\n").len(), 2);
        assert_eq!(instead("a.rs", "fn f(a: i64) -> i64 { -a + -1 }\n").len(), 1);
        assert_eq!(instead("a.go", "package a\n\nfunc f(a int) int { return -a & 1 }\n").len(), 2);
    }

    #[test]
    fn a_trial_is_told_by_the_error_that_its_handler_takes() {
        let text = "try:\n    import a\nexcept (E, F) as e:\n    b()\n";
        let raised = "try:\n    raise (E, F)[0]\n    import a\nexcept (E, F) as e:\n    b()\n";
        assert_eq!(instead("a.py", text), [pair("import a", raised)]);
        let bare = instead("a.py", "try:\n    a()\nexcept:\n    b()\n");
        assert!(bare.iter().all(|(_, text)| text.contains("raise Exception\n")), "{bare:?}");
        assert_eq!(instead("a.py", "try:\n    a()\nfinally:\n    b()\n"), []);
        let script = "try { a(); } catch { b(); }\n";
        assert_eq!(
            instead("a.js", script),
            [pair("a();", "try {throw new Error('not tried'); a(); } catch { b(); }\n")]
        );
    }

    #[test]
    fn a_script_takes_from_commands_and_adds_where_a_variable_is_set() {
        let text = "a=$(b \"$(c)\") d=$((e + 1))\n# $(no)\nf ${home:+-1} ${x:-2}\n";
        let found = instead("a.sh", text);
        let taken = pair("$(b \"$(c)\")", &text.replace("$(b \"$(c)\")", "0"));
        assert_eq!(found, [taken, pair("${home:+-1}", &text.replace("${home:+-1}", ""))]);
    }
}
