//! A test that asks that a key is gone: whether what stood behind the key is gone, too. A word is put in its place, and asked for.

use tree_sitter::Node;

use super::edit::Edit;
use super::nodes::{children, descendants, lines_of, text_of};
use super::{Language, Source, TestBody};

/// A value that says something has so many characters, with its quotes.
const SHORTEST: usize = 6;

impl Source {
    /// The key that a test wants gone on a line, and the edits that have it ask for a word that stands behind the key instead. `None` where it
    /// wants none gone, or passes in no table that holds it.
    #[must_use]
    pub fn asks_behind_key(&self, test: &TestBody, line: u32, word: &str) -> Option<(String, Vec<Edit>)> {
        let root = self.root()?;
        let inside = |node: &Node<'_>| {
            let (first, last) = lines_of(*node);
            test.body.start <= node.start_byte() && node.end_byte() <= test.body.end && first <= line && line <= last
        };
        let (key, mut edits) = descendants(root).filter(inside).find_map(|node| self.without_key(node, word))?;
        let pair = |node: &Node<'_>| {
            let named = node.child_by_field_name("key").filter(|_| node.kind() == "pair");
            named.is_some_and(|named| text_of(named, &self.text).trim_matches(['"', '\'']) == key)
        };
        let values: Vec<Node<'_>> =
            descendants(root).filter(pair).filter_map(|pair| pair.child_by_field_name("value")).collect();
        // With two such keys nobody knows behind which of them the word is looked for.
        let [value] = values.as_slice() else { return None };
        // A short value may stand in an answer by chance, a word does not.
        let is_text = value.kind() == "string" && value.byte_range().len() >= SHORTEST;
        if !is_text {
            return None;
        }
        edits.push(Edit { range: value.byte_range(), text: format!("'{word}'") });
        self.edited(&edits)?;
        Some((key.to_owned(), edits))
    }

    /// The key that an assertion wants gone, and the edits by which it wants a word gone.
    fn without_key<'t>(&'t self, node: Node<'t>, word: &str) -> Option<(&'t str, Vec<Edit>)> {
        let asked = |gone: Node<'t>, from: Node<'t>, said: &str| {
            let key = (gone.kind() == "string").then(|| said_in(gone, &self.text))?;
            let edits = vec![
                Edit { range: gone.byte_range(), text: format!("'{word}'") },
                Edit::insert(from.start_byte(), format!("{said}(")),
                Edit::insert(from.end_byte(), ")".to_owned()),
            ];
            Some((key, edits))
        };
        let given = |node: Node<'t>| node.child_by_field_name("arguments").map(children);
        match (self.language, node.kind()) {
            (Language::Python, "call") => {
                let called = text_of(node.child_by_field_name("function")?, &self.text);
                let [gone, from] = given(node).filter(|_| called.ends_with(".assertNotIn"))?.try_into().ok()?;
                asked(gone, from, "repr")
            }
            // `assert "password" not in answer`
            (Language::Python, "comparison_operator") => {
                let [gone, from]: [Node<'t>; 2] = children(node).try_into().ok()?;
                let between = self.text.get(gone.end_byte()..from.start_byte())?;
                (between.trim() == "not in").then(|| asked(gone, from, "repr"))?
            }
            (Language::JavaScript, "call_expression") => {
                let called = node.child_by_field_name("function")?;
                let end = called.child_by_field_name("property")?;
                let expects = called.child_by_field_name("object")?.child_by_field_name("object")?;
                // `expect(answer).not.toHaveProperty('password')`
                let is_meant = text_of(called, &self.text).ends_with(").not.toHaveProperty");
                let ([from], [gone]): ([Node<'t>; 1], [Node<'t>; 1]) =
                    (given(expects).filter(|_| is_meant)?.try_into().ok()?, given(node)?.try_into().ok()?);
                let (key, mut edits) = asked(gone, from, "JSON.stringify")?;
                // The answer is a text by now, which has no properties of that kind.
                edits.push(Edit { range: end.byte_range(), text: "toContain".to_owned() });
                Some((key, edits))
            }
            _ => None,
        }
    }
}

fn said_in<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text_of(node, text).trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, text: &str, line: u32) -> Option<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let (_, edits) = source.asks_behind_key(&source.tests()[0], line, "qabc")?;
        source.edited(&edits)
    }

    #[test]
    fn what_stood_behind_a_key_is_asked_for() {
        let python = "def test_a():\n    user = {'name': 'Ann', 'password': 's3cret'}\n    assert 'password' not in public(user)\n";
        let found = asked("test_a.py", python, 3).expect("a key");
        assert!(
            found.contains("'password': 'qabc'") && found.contains("assert 'qabc' not in repr(public(user))"),
            "{found}"
        );
        let script = "test('a', () => { expect(f({ pin: '123456' })).not.toHaveProperty('pin'); });\n";
        let found = asked("a.test.js", script, 1).expect("a key");
        assert!(found.contains("expect(JSON.stringify(f({ pin: 'qabc' }))).not.toContain('qabc')"), "{found}");
        for line in ["'password' in user", "'other' not in user", "'name' not in user"] {
            let text =
                format!("def test_a():\n    user = {{'name': 'Ann', 'password': 's3cret'}}\n    assert {line}\n");
            assert_eq!(asked("test_a.py", &text, 3), None, "{line}");
        }
    }
}
