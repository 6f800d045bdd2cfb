//! JavaScript and TypeScript.

use tree_sitter::Node;

use super::{Edit, Expectation, Poison, TestBody};

pub(super) fn tests(_root: Node<'_>, _text: &str) -> Vec<TestBody> {
    Vec::new()
}

pub(super) fn poisoned(_root: Node<'_>, _text: &str, _test: &TestBody, _poison: &Poison) -> Option<Vec<Edit>> {
    None
}

pub(super) fn expectations(_root: Node<'_>, _text: &str, _test: &TestBody) -> Vec<Expectation> {
    Vec::new()
}

pub(super) fn altered(_literal: &str, _word: &str) -> Option<String> {
    None
}
