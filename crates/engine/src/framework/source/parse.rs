//! Texts as their grammars read them.

use tree_sitter::{Parser, Tree};

use super::angles;
use super::language::Language;

/// Parses a text. `None` where the grammar finds an error in it.
pub(super) fn parse(language: Language, text: &str) -> Option<Tree> {
    let grammar = language.grammar()?;
    let by = |text: &str| {
        let mut parser = Parser::new();
        parser.set_language(&grammar).ok()?;
        parser.parse(text, None).filter(|tree| !tree.root_node().has_error())
    };
    // The tree of the blanked text serves for the true one, since all places are the same.
    let again = || (language == Language::JavaScript).then(|| by(&angles::blanked(text)?)).flatten();
    by(text).or_else(again)
}
