//! Steps of a program that can be left out whole: of a chain of calls, the context around a block, and a line of a shell's script.

use tree_sitter::Node;

use super::Language;
use super::choice::{Choice, Way};
use super::edit::Edit;
use super::nodes::{children, descendants, lines_of};

/// Words with which a line of a script begins or ends that is a part of something larger, or that says how the others are read.
const OF_LARGER: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function", "set",
    "export", "local", "shift", "exit", "return", "trap", "exec",
];
/// Signs of what goes over several lines.
const OVER_LINES: [&str; 3] = ["<<", "(", ")"];
/// Ends of a line that goes on in the next.
const GOES_ON: [&str; 5] = ["\\", "|", "&&", "||", "{"];

/// A step of a chain that is given values, which can be left out: where types are checked, what is left is of the same type.
pub(super) fn of_chain(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    let called = node.child_by_field_name("function").filter(|_| language == Language::Rust)?;
    let of = called.child_by_field_name("value").filter(|of| of.kind() == "call_expression")?;
    let given = children(node.child_by_field_name("arguments")?);
    let is_value = |node: &Node<'_>| matches!(node.kind(), "identifier" | "reference_expression");
    // A step without values (`.iter()`) mostly changes the type, and a closure does more than one step.
    if given.is_empty() || !given.iter().all(is_value) {
        return None;
    }
    let edit = Edit { range: of.end_byte()..node.end_byte(), text: String::new() };
    let spelled = text.get(edit.range.clone())?.to_owned();
    let line = lines_of(called).1;
    Some(Choice::of_one((line, line), spelled, edit, Way::LeftOut))
}

/// The context of a block that is entered without being named: a lock, say. Without it the block is run as it is.
pub(super) fn of_context(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    if language != Language::Python || node.kind() != "with_statement" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let is_named = children(node).into_iter().filter(|part| *part != body).flat_map(descendants);
    if is_named.into_iter().any(|part| part.kind() == "as_pattern") {
        return None;
    }
    let head = text.get(node.start_byte()..body.start_byte())?;
    // Up to the last colon of the head, since a slice or a dictionary in it has some of its own.
    let range = node.start_byte()..node.start_byte() + head.rfind(':')?;
    let spelled = text.get(range.clone())?.to_owned();
    let line = lines_of(node).0;
    let edit = Edit { range, text: "if True".to_owned() };
    Some(Choice::of_one((line, line), spelled, edit, Way::LeftOut))
}

/// The commands of a shell's script that stand on a line of their own.
pub(super) fn of_shell(text: &str) -> Vec<Choice> {
    let mut found = Vec::new();
    let (mut start, mut goes_on) = (0, false);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let command = line.trim();
        if !goes_on && is_whole(command) {
            let at = start + line.len() - line.trim_start().len();
            // `:` does nothing and succeeds, and keeps a block from being empty.
            let edit = Edit { range: at..at + command.len(), text: ":".to_owned() };
            found.push(Choice::of_one((number, number), command, edit, Way::LeftOut));
        }
        goes_on = GOES_ON.iter().any(|end| command.ends_with(end));
        start += line.len();
    }
    found
}

/// Whether a line is one command and nothing else.
fn is_whole(line: &str) -> bool {
    let words = || line.split_whitespace();
    let edge = |word: Option<&str>| word.is_none_or(|word| OF_LARGER.contains(&word));
    let is_part = line.starts_with(['#', '}', '{', ';', '&', '|'])
        || GOES_ON.iter().any(|end| line.ends_with(end))
        || OVER_LINES.iter().any(|sign| line.contains(sign))
        || line.contains(";;")
        || edge(words().next())
        || edge(words().last());
    // A quote that is still open goes on in the next line.
    let is_open = |quote| line.matches(quote).count() % 2 == 1;
    !is_part && !is_open('\'') && !is_open('"') && !is_open('`')
}

#[cfg(test)]
mod tests {
    use crate::framework::source::choices::choices;

    fn spelled(path: &str, text: &str) -> Vec<String> {
        choices(path, text).expect("text").into_iter().map(|choice| choice.spelled).collect()
    }

    #[test]
    fn a_line_of_a_script_is_a_step_and_a_part_of_something_larger_is_none() {
        let script = "#!/bin/sh\nset -e\n# why\n[ -e \"$1/lock\" ] || exit 1\ntouch \"$1/lock\"\nif true; then\n  cp a b\nfi\n\
                      cat <<EOF\nx\nEOF\nsort a |\n  uniq\nfor one in a b; do\n  rm \"$one\"\ndone\n";
        let found = spelled("night.sh", script);
        for step in ["touch \"$1/lock\"", "cp a b", "rm \"$one\""] {
            assert!(found.iter().any(|one| one == step), "{step}: {found:?}");
        }
        for part in ["set -e", "uniq", "sort a |", "done", "fi", "# why"] {
            assert!(!found.iter().any(|one| one == part), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_context_that_nobody_names_can_be_left_out() {
        let text = "def f(lock, path):\n    with lock:\n        g()\n    with open(path) as file:\n        return file.read()\n";
        let withs =
            choices("a.py", text).expect("text").into_iter().filter(|choice| choice.spelled.starts_with("with"));
        let [choice] = withs.collect::<Vec<_>>().try_into().expect("one");
        let edited = choice.ways[0].0.clone();
        assert_eq!((text.get(edited.range), edited.text.as_str()), (Some("with lock"), "if True"));
    }
}
