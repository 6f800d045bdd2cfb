//! The definitions of a source file with their lines, the words in them, and what the file imports.
//!
//! Unlike [`super::Source`] it takes a text with errors in it: what cannot be parsed is often what is to be mended.
//!
//! Invariant: nothing is run and no other file is looked at. A hostile file's depth or length bounds no recursion here.

mod imports;
mod kinds;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

pub use self::imports::Import;
use super::nodes::{children, is_comment, lines_of, text_of};
use super::{Language, angles};

/// A longer text is generated or data.
const MAX_BYTES: usize = 512 * 1024;
/// The most definitions of one file.
const MAX_DEFINITIONS: usize = 2_000;
/// The most characters of a definition's first line.
const MAX_HEAD: usize = 120;
/// The most lines of comments and decorators that count as a definition's.
const MAX_ABOVE: u32 = 12;
/// The most words that are taken from one place.
const MAX_WORDS: usize = 2_000;
/// How often the parser may report progress before it is stopped: a text of [`MAX_BYTES`] that is code needs a small part of it.
const MAX_STEPS: u32 = 100_000;

/// A function, a class, a type or a constant that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its own name.
    pub name: String,
    /// The class, type or module that it stands in.
    pub within: Option<String>,
    /// Whether other definitions stand in it.
    pub is_container: bool,
    /// The one-based line that names it.
    pub line: u32,
    /// Its one-based lines, first and last, with the comments and decorators above it.
    pub lines: (u32, u32),
    /// The line that names it, with its indentation and cut where it is long.
    pub head: String,
}

/// A parsed file.
#[derive(Debug)]
pub struct Outline {
    language: Language,
    text: String,
    tree: Tree,
    definitions: Vec<Definition>,
    imports: Vec<Import>,
}

impl Outline {
    /// Parses a file. `None` where the language is not known, or the text is too long for code.
    #[must_use]
    pub fn read(path: &str, text: &str) -> Option<Self> {
        let language = Language::of(path).filter(|_| text.len() <= MAX_BYTES)?;
        let tree = parse(language, text)?;
        let definitions = definitions(language, tree.root_node(), text);
        let imports = imports::imports(language, tree.root_node(), text);
        Some(Self { language, text: text.to_owned(), tree, definitions, imports })
    }

    /// The language.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The definitions in the order of the file, each before those that stand in it.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The imports of the file, in its order.
    #[must_use]
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Imports that lines make without a statement of their own: the paths that Rust writes out.
    #[must_use]
    pub fn written_out(&self, lines: (u32, u32)) -> Vec<Import> {
        match self.language {
            Language::Rust => imports::paths_in(&self.lines(lines)),
            Language::Python | Language::JavaScript | Language::Go => Vec::new(),
            Language::Java | Language::Php | Language::Cpp | Language::Ruby => Vec::new(),
        }
    }

    /// The names in these one-based lines, each once, in order of first sight.
    #[must_use]
    pub fn words(&self, lines: (u32, u32)) -> Vec<&str> {
        let (mut seen, mut words) = (BTreeSet::new(), Vec::new());
        let mut waiting = vec![self.tree.root_node()];
        while let Some(node) = waiting.pop() {
            let (first, last) = lines_of(node);
            if last < lines.0 || first > lines.1 || words.len() >= MAX_WORDS {
                continue;
            }
            if node.kind().ends_with("identifier") && node.named_child_count() == 0 {
                let word = text_of(node, &self.text);
                if seen.insert(word) {
                    words.push(word);
                }
            }
            waiting.extend(children(node).into_iter().rev());
        }
        words
    }

    fn lines(&self, (first, last): (u32, u32)) -> String {
        let number = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let (skip, take) = (number(first).saturating_sub(1), number(last.saturating_sub(first)).saturating_add(1));
        self.text.lines().skip(skip).take(take).collect::<Vec<_>>().join("\n")
    }
}

/// Parses a text with or without errors in it.
fn parse(language: Language, text: &str) -> Option<Tree> {
    let grammar = language.grammar()?;
    let by = |text: &str| {
        let mut parser = Parser::new();
        parser.set_language(&grammar).ok()?;
        let mut steps = 0_u32;
        let mut progress = |_: &tree_sitter::ParseState| {
            steps += 1;
            if steps > MAX_STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
    };
    let tree = by(text)?;
    if language == Language::JavaScript && tree.root_node().has_error() {
        let plain = angles::blanked(text).and_then(|text| by(&text));
        // Only a perfect second reading is better. Otherwise the first has at least the true text.
        return plain.filter(|plain| !plain.root_node().has_error()).or(Some(tree));
    }
    Some(tree)
}

fn definitions(language: Language, root: Node<'_>, text: &str) -> Vec<Definition> {
    let mut found = Vec::new();
    let mut waiting: Vec<(Node<'_>, Option<String>)> = vec![(root, None)];
    while let Some((node, within)) = waiting.pop() {
        if found.len() >= MAX_DEFINITIONS {
            break;
        }
        let Some(kind) = kinds::of(language, node, within.is_some(), text) else {
            if kinds::is_wrapper(node) {
                waiting.extend(children(node).into_iter().rev().map(|child| (child, within.clone())));
            }
            continue;
        };
        let within = kind.within.or(within);
        let inner = kind.body.map(|body| {
            let name = Some(kind.name.clone());
            children(body).into_iter().rev().map(move |child| (child, name.clone()))
        });
        found.push(definition(node, kind.name, within, inner.is_some(), text));
        waiting.extend(inner.into_iter().flatten());
    }
    found
}

fn definition(node: Node<'_>, name: String, within: Option<String>, is_container: bool, text: &str) -> Definition {
    let (line, last) = lines_of(node);
    let head = text.lines().nth(usize::try_from(line).map_or(0, |line| line - 1)).unwrap_or_default();
    let head: String = head.trim_end().chars().take(MAX_HEAD).collect();
    Definition { name, within, is_container, line, lines: (first_line(node), last), head }
}

/// The first line of what belongs to a definition: its wrapper's, and of the comments and attributes right above that.
fn first_line(node: Node<'_>) -> u32 {
    let mut whole = node;
    while let Some(parent) = whole.parent().filter(|parent| kinds::is_part_of_definition(*parent)) {
        whole = parent;
    }
    let (own, mut first) = (lines_of(whole).0, lines_of(whole).0);
    let mut above = whole.prev_sibling();
    while let Some(node) = above.filter(|node| is_comment(*node) || node.kind() == "attribute_item") {
        let (begins, ends) = lines_of(node);
        // Grammars differ in whether a comment holds its line's end.
        let is_next_to = ends + 1 >= first && begins < first;
        // A comment at the end of a line of code is about that code, not about what stands below.
        let own_line = node.prev_sibling().is_none_or(|before| lines_of(before).1 < begins);
        if !is_next_to || own - begins > MAX_ABOVE || !(own_line || is_comment_like(node)) {
            break;
        }
        first = begins;
        above = node.prev_sibling();
    }
    first
}

/// Whether what stands before a node on its line may be another comment or attribute.
fn is_comment_like(node: Node<'_>) -> bool {
    node.prev_sibling().is_some_and(|before| is_comment(before) || before.kind() == "attribute_item")
}

#[cfg(test)]
mod tests;
