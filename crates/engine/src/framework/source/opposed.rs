//! The opposite of an assertion that something holds: `assert not (x)` for `assert x`.
//!
//! Where an assertion expects a value, another one is put in its place. An assertion of a truth expects none, so that the opposite is
//! asked. Invariant: an assertion that may be passed by is left alone, since its opposite may be passed by as well.

use tree_sitter::Node;

use super::nodes::{children, descendants, lines_of, text_of};
use super::{Edit, Language, Source, TestBody, rust};

/// The nodes between a test's body and an assertion that is always asked. A loop may have no round, and `with` may catch a failure.
const STRAIGHT: [&str; 4] = ["block", "statement_block", "expression_statement", "await_expression"];
/// Ways to end a test before its last line.
const RETURNS: [&str; 2] = ["return_statement", "return_expression"];
/// unittest's assertions and their opposites, each with the same arguments.
const PAIRS: [(&str, &str); 6] = [
    ("assertTrue", "assertFalse"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIs", "assertIsNot"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
];

impl Source {
    /// The edits that have the assertion on a line ask the opposite. `None` where there is none that is understood, or more than one, or
    /// it may be passed by.
    #[must_use]
    pub fn opposed(&self, test: &TestBody, line: u32) -> Option<Vec<Edit>> {
        if self.expects_failure(test) {
            return None;
        }
        let opposite = match self.language {
            Language::Python => of_python,
            Language::JavaScript => of_javascript,
            Language::Rust => rust::opposite,
            Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => return None,
        };
        let body = self.root()?.descendant_for_byte_range(test.body.start, test.body.end)?;
        // It failed there at the start. With another product it may not come so far.
        if descendants(body).any(|node| RETURNS.contains(&node.kind())) {
            return None;
        }
        let on_line = descendants(body).filter(|node| (lines_of(*node).0..=lines_of(*node).1).contains(&line));
        let mut found = on_line.filter_map(|node| Some((node, opposite(node, &self.text)?)));
        let (node, edits) = found.next()?;
        // Of two on a line either may be the one that failed.
        (found.next().is_none() && is_always_asked(node, body)).then_some(edits)
    }
}

fn is_always_asked(assertion: Node<'_>, body: Node<'_>) -> bool {
    let mut node = assertion;
    while node.id() != body.id() {
        let Some(parent) = node.parent() else { return false };
        if !STRAIGHT.contains(&parent.kind()) {
            return false;
        }
        node = parent;
    }
    true
}

fn of_python(node: Node<'_>, text: &str) -> Option<Vec<Edit>> {
    match node.kind() {
        "assert_statement" => negated(node.named_child(0)?, "not ", text),
        "call" => {
            let function = node.child_by_field_name("function").filter(|function| function.kind() == "attribute")?;
            let name = function.child_by_field_name("attribute")?;
            let said = text_of(name, text);
            let other = PAIRS.iter().find_map(|(one, other)| match said {
                _ if said == *one => Some(*other),
                _ if said == *other => Some(*one),
                _ => None,
            })?;
            // As a context it looks at what happens in it, and has other arguments.
            children(node.child_by_field_name("arguments")?).first()?;
            Some(vec![Edit { range: name.byte_range(), text: other.to_owned() }])
        }
        _ => None,
    }
}

fn of_javascript(node: Node<'_>, text: &str) -> Option<Vec<Edit>> {
    (node.kind() == "call_expression").then_some(())?;
    let function = node.child_by_field_name("function")?;
    if function.kind() == "identifier" {
        let value = *children(node.child_by_field_name("arguments")?).first()?;
        return matches!(text_of(function, text), "assert" | "ok").then(|| negated(value, "!", text)).flatten();
    }
    (function.kind() == "member_expression").then_some(())?;
    let (object, property) = (function.child_by_field_name("object")?, function.child_by_field_name("property")?);
    if is_expect(object, text) {
        return Some(vec![Edit::insert(property.start_byte(), "not.".to_owned())]);
    }
    // `expect(x).not.toBe(y)`
    let link = |name| (object.kind() == "member_expression").then(|| object.child_by_field_name(name)).flatten();
    if let (Some(subject), Some(word)) = (link("object"), link("property"))
        && is_expect(subject, text)
        && text_of(word, text) == "not"
    {
        return Some(vec![Edit { range: word.start_byte()..property.start_byte(), text: String::new() }]);
    }
    let asserts = matches!(text_of(object, text), "assert" | "assert.strict" | "t" | "t.assert");
    let value = *children(node.child_by_field_name("arguments")?).first()?;
    (asserts && text_of(property, text) == "ok").then(|| negated(value, "!", text)).flatten()
}

/// Whether a node is `expect(…)`.
fn is_expect(node: Node<'_>, text: &str) -> bool {
    node.kind() == "call_expression"
        && node.child_by_field_name("function").is_some_and(|function| text_of(function, text) == "expect")
}

fn negated(condition: Node<'_>, not: &str, text: &str) -> Option<Vec<Edit>> {
    // `...values` and `*values` are no condition.
    (!condition.kind().contains("splat") && condition.kind() != "spread_element").then_some(())?;
    Some(vec![Edit { range: condition.byte_range(), text: format!("{not}({})", text_of(condition, text)) }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opposed(path: &str, text: &str, line: u32) -> Option<String> {
        let source = Source::read(path, text).unwrap();
        let edits = source.opposed(&source.tests()[0], line)?;
        let after = source.edited(&edits).unwrap();
        let line = usize::try_from(line).unwrap() - 1;
        Some(after.lines().nth(line).unwrap().trim().to_owned())
    }

    #[test]
    fn an_assertion_of_a_truth_asks_the_opposite() {
        let python = |line: &str| {
            opposed("test_a.py", &format!("class A:\n    def test_a(self):\n        x = f()\n        {line}\n"), 4)
        };
        assert_eq!(python("assert is_even(2), 'why'").as_deref(), Some("assert not (is_even(2)), 'why'"));
        assert_eq!(python("assert not x").as_deref(), Some("assert not (not x)"));
        assert_eq!(python("self.assertFalse(x, 'why')").as_deref(), Some("self.assertTrue(x, 'why')"));
        assert_eq!(python("self.assertIn(1, x)").as_deref(), Some("self.assertNotIn(1, x)"));
        assert_eq!(python("self.assertRaises(E, f)"), None);
        let script = |line: &str| {
            opposed("a.test.js", &format!("test('a', async () => {{\n  const x = f();\n  {line}\n}});\n"), 3)
        };
        assert_eq!(script("expect(x).toBeTruthy();").as_deref(), Some("expect(x).not.toBeTruthy();"));
        assert_eq!(script("expect(x).not.toContain(1);").as_deref(), Some("expect(x).toContain(1);"));
        assert_eq!(script("assert.ok(x, 'why');").as_deref(), Some("assert.ok(!(x), 'why');"));
        assert_eq!(script("assert(x > 1);").as_deref(), Some("assert(!(x > 1));"));
        assert_eq!(script("await expect(x).resolves.toBe(1);"), None);
        let rust =
            |line: &str| opposed("tests/a.rs", &format!("#[test]\nfn a() {{\n    let x = f();\n    {line}\n}}\n"), 4);
        assert_eq!(rust("assert!(f::<A, B>(x), \"{x}\");").as_deref(), Some("assert!(!(f::<A, B>(x)), \"{x}\");"));
        assert_eq!(rust("assert!(!x.is_empty());").as_deref(), Some("assert!(!(!x.is_empty()));"));
        assert_eq!(rust("assert_eq!(x, y);").as_deref(), Some("assert_ne!(x, y);"));
    }

    #[test]
    fn one_that_may_be_passed_by_is_left_alone() {
        for text in [
            "def test_a():\n    for x in f():\n        assert x\n",
            "def test_a():\n    if f():\n        return\n    assert x\n",
            "def test_a():\n    with raises(E):\n        assert f()\n",
            "def test_a():\n    assert f(); assert g()\n",
            "@pytest.mark.xfail\ndef test_a():\n    assert f()\n",
        ] {
            let line = u32::try_from(text.lines().count()).unwrap();
            assert_eq!(opposed("test_a.py", text, line), None, "{text}");
        }
        let panics = "#[test]\n#[should_panic]\nfn a() {\n    assert!(f());\n}\n";
        assert_eq!(opposed("tests/a.rs", panics, 4), None);
    }
}
