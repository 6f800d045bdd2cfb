//! Rules for when two values are equal: tests compare by them, so that one that is too kind lets a wrong value pass.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides};

/// Methods of Python that a comparison or a look at a type asks.
const OF_PYTHON: [&str; 5] = ["__eq__", "__ne__", "__instancecheck__", "__subclasscheck__", "__subclasshook__"];
/// Methods that assertions of JavaScript ask.
const OF_SCRIPT: [&str; 5] = ["equals", "asymmetricMatch", "valueOf", "[Symbol.hasInstance]", "[Symbol.toPrimitive]"];
/// Methods of Go that packages for comparisons and `errors.Is` ask.
const OF_GO: [&str; 2] = ["Equal", "Is"];

/// The beginning of a rule where a language has no grammar here.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static BY_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bdef (?:==|===|eql\?|equal\?)|\balias(?:_method)?[ (]:?(?:==|===|eql\?|equal\?)[ ,]|\bboolean equals\s*\(|\boperator\s*(?:/\*[^*]*\*/\s*)?(?:==|!=)\s*\(").unwrap()
});

/// The first rule that a change adds or alters.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let old: Vec<&str> = rules(sides.language, sides.old).map(|node| text_of(node, sides.old.1)).collect();
    let new = rules(sides.language, sides.new).find(|node| !old.contains(&text_of(*node, sides.new.1)))?;
    let first = text_of(new, sides.new.1).lines().next().unwrap_or_default().trim_end();
    Some(marked(lines_of(new).0, first))
}

/// The first rule that a change adds to a text whose language is read by its lines, or alters there.
pub(super) fn mark_by_line(before: &str, after: &str) -> Option<Mark> {
    let old: Vec<String> = rules_by_line(before).into_iter().map(|(_, _, rule)| rule).collect();
    let (number, line, _) = rules_by_line(after).into_iter().find(|(_, _, rule)| !old.contains(rule))?;
    Some(marked(number, line.trim()))
}

/// The rules of such a text: the number of each one's first line, that line, and all its lines without blanks around them. A rule ends
/// where a line stands as far out as its first.
fn rules_by_line(text: &str) -> Vec<(u32, &str, String)> {
    let margin = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let rule = |(at, line): (usize, &&'_ str)| {
        let behind = lines.get(at + 1..).unwrap_or_default();
        // A brace on a line of its own stands as far out as the rule and still belongs to it.
        let is_inside = |one: &&&str| one.trim().is_empty() || margin(one) > margin(line) || one.trim() == "{";
        let inside = behind.iter().take_while(is_inside).map(|one| one.trim());
        let whole: Vec<&str> = [line.trim()].into_iter().chain(inside).filter(|one| !one.is_empty()).collect();
        (at, whole.join("\n"))
    };
    let found = lines.iter().enumerate().filter(|(_, line)| BY_LINE.is_match(line)).map(rule);
    found.filter_map(|(at, whole)| Some((u32::try_from(at + 1).ok()?, *lines.get(at)?, whole))).collect()
}

fn marked(line: u32, spelled: &str) -> Mark {
    Mark { shape: Shape::DecidesEquality, line, said: format!("`{spelled}`") }
}

fn rules<'t>(language: Language, (root, text): Side<'t>) -> impl Iterator<Item = Node<'t>> {
    descendants(root).filter(move |node| is_rule(language, *node, text))
}

fn is_rule(language: Language, node: Node<'_>, text: &str) -> bool {
    let is_named = |of: &[&str]| node.child_by_field_name("name").is_some_and(|name| of.contains(&text_of(name, text)));
    match (language, node.kind()) {
        (Language::Python, "function_definition") => is_named(&OF_PYTHON),
        // Of a dataclass: a field that is not compared, a class that compares by identity.
        (Language::Python, "keyword_argument") => {
            is_named(&["compare", "eq"])
                && node.child_by_field_name("value").is_some_and(|value| text_of(value, text) == "False")
        }
        (Language::JavaScript, "method_definition") => is_named(&OF_SCRIPT),
        (Language::Rust, "impl_item") => {
            // A derived `PartialEq` is no such item: it compares all fields, as tests expect.
            node.child_by_field_name("trait").is_some_and(|name| text_of(name, text).contains("PartialEq"))
        }
        (Language::Go, "method_declaration") => is_named(&OF_GO),
        _ => false,
    }
}
