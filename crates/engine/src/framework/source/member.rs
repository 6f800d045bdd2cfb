//! An assertion that reads another part of an answer: of a right product no other part is what it expects.

use tree_sitter::Node;

use super::edit::Edit;
use super::nodes::{descendants, lines_of, text_of};
use super::{Expectation, Language, Source};

/// An assertion that reads another part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPart {
    /// The name of its own part.
    pub name: String,
    /// The edit that has it read another one.
    pub edit: Edit,
}

impl Source {
    /// The parts that the assertions read which expect such values, each with an edit by which another one is read.
    #[must_use]
    pub fn other_parts(&self, expectations: &[Expectation], word: &str) -> Vec<OtherPart> {
        let places = || expectations.iter().flat_map(|one| &one.places);
        // Yes, no and nothing may be what any other part is as well.
        let is_value = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '"' || c == '\'');
        let says = places().all(|place| self.text.get(place.clone()).is_some_and(is_value));
        let Some(root) = self.root().filter(|_| says && places().next().is_some()) else { return Vec::new() };
        let on_line = |node: &Node<'_>| {
            let (first, last) = lines_of(*node);
            expectations.iter().any(|one| one.lines.0 <= first && last <= one.lines.1)
        };
        let part = |node: Node<'_>| {
            let named = self.part_of(node)?;
            let name = text_of(named, &self.text).to_owned();
            Some(OtherPart { edit: Edit { range: named.byte_range(), text: word.to_owned() }, name })
        };
        descendants(root).filter(on_line).filter_map(part).collect()
    }

    /// The name of the part that a node reads, where it does not call it.
    fn part_of<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        // A method that is called under another name is missing, which fails for every product.
        let is_called = node.parent().is_some_and(|parent| {
            matches!(parent.kind(), "call" | "call_expression") && parent.child_by_field_name("function") == Some(node)
        });
        let named = match (self.language, node.kind()) {
            _ if is_called => None,
            (Language::Python, "attribute") => node.child_by_field_name("attribute"),
            (Language::JavaScript, "member_expression") => node.child_by_field_name("property"),
            // `answer["total"]`, but not `answer[0]` or `answer[key]`.
            (Language::Python, "subscript") => in_quotes(node.child_by_field_name("subscript")?),
            (Language::JavaScript, "subscript_expression") => in_quotes(node.child_by_field_name("index")?),
            _ => None,
        }?;
        // Of something that is called, or read, and not of a module or a tool.
        let of = node.child(0)?;
        let is_answer = descendants(of).any(|node| matches!(node.kind(), "call" | "call_expression"));
        is_answer.then_some(named)
    }
}

fn in_quotes(node: Node<'_>) -> Option<Node<'_>> {
    let inside = |node: &Node<'_>| matches!(node.kind(), "string_content" | "string_fragment");
    (node.kind() == "string").then(|| descendants(node).find(inside))?
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn parts(path: &str, text: &str) -> Vec<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let found = source.other_parts(&source.expectations(&source.tests()[0]), "other");
        found.iter().map(|part| apply(text, std::slice::from_ref(&part.edit)).expect("a text")).collect()
    }

    #[test]
    fn an_assertion_reads_another_part_of_an_answer() {
        let script = |part: &str| format!("test('a', () => {{ expect(f({{ size: 3 }}){part}).toBe('red'); }});\n");
        assert_eq!(parts("a.test.js", &script(".colour")), [script(".other")]);
        assert_eq!(parts("a.test.js", &script("['colour']")), [script("['other']")]);
        assert_eq!(parts("a.test.js", &script(".colour()")), Vec::<String>::new());
        let python = |part: &str| format!("def test_a():\n    assert f(3){part} == 'red'\n");
        assert_eq!(
            parts("test_a.py", &python("['colour'].name")),
            [python("['colour'].other"), python("['other'].name")]
        );
        assert_eq!(parts("test_a.py", "def test_a():\n    assert f(3).a == None\n"), Vec::<String>::new());
    }
}
