//! Rules for when two values are equal: tests compare by them, so that one that is too kind lets a wrong value pass.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides};

/// Methods of Python that a comparison or a look at a type asks.
const OF_PYTHON: [&str; 5] = ["__eq__", "__ne__", "__instancecheck__", "__subclasscheck__", "__subclasshook__"];
/// Methods that assertions of JavaScript ask.
const OF_SCRIPT: [&str; 5] = ["equals", "asymmetricMatch", "valueOf", "[Symbol.hasInstance]", "[Symbol.toPrimitive]"];
/// Methods of Go that packages for comparisons and `errors.Is` ask.
const OF_GO: [&str; 2] = ["Equal", "Is"];

/// Types that come with the language, whose own rules for what they contain a class below them may replace.
const BUILT_IN: [&str; 12] =
    ["list", "dict", "set", "tuple", "str", "frozenset", "UserList", "UserDict", "Array", "Map", "Set", "String"];
/// Methods that say what such a type contains.
const OF_CONTENTS: [&str; 6] = ["__contains__", "__iter__", "includes", "has", "indexOf", "[Symbol.iterator]"];

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
        (Language::Python, "function_definition") => {
            is_named(&OF_PYTHON) || is_named(&OF_CONTENTS) && is_below_built_in(node, text)
        }
        // `__eq__ = partialmethod(near)`.
        (Language::Python, "assignment") => {
            node.child_by_field_name("left").is_some_and(|left| OF_PYTHON.contains(&text_of(left, text)))
        }
        // Of a dataclass: a field that is not compared, a class that compares by identity.
        (Language::Python, "keyword_argument") => {
            is_named(&["compare", "eq"])
                && node.child_by_field_name("value").is_some_and(|value| text_of(value, text) == "False")
        }
        (Language::JavaScript, "method_definition") => {
            is_named(&OF_SCRIPT) || is_named(&OF_CONTENTS) && is_below_built_in(node, text)
        }
        (Language::JavaScript, "field_definition" | "public_field_definition") => {
            let name = node.child_by_field_name("property").or_else(|| node.child_by_field_name("name"));
            name.is_some_and(|name| OF_SCRIPT.contains(&text_of(name, text)))
        }
        // `list[Symbol.iterator] = …`: another way through than its own.
        (Language::JavaScript, "assignment_expression") => {
            let left = node.child_by_field_name("left").map_or("", |left| text_of(left, text));
            left.ends_with("[Symbol.iterator]") && !left.contains("prototype")
        }
        (Language::Rust, "impl_item") => {
            // A derived `PartialEq` is no such item: it compares all fields, as tests expect.
            node.child_by_field_name("trait").is_some_and(|name| text_of(name, text).contains("PartialEq"))
        }
        (Language::Go, "method_declaration") => is_named(&OF_GO),
        _ => false,
    }
}

/// Whether a method's class descends from a type of the language's own.
fn is_below_built_in(method: Node<'_>, text: &str) -> bool {
    let above = method.parent().map(|one| if one.kind() == "decorated_definition" { one.parent() } else { Some(one) });
    let class = above.flatten().and_then(|body| body.parent()).filter(|class| class.kind().starts_with("class"));
    let Some(class) = class else { return false };
    let is_built_in = |base: &Node<'_>| BUILT_IN.contains(&text_of(*base, text));
    if let Some(bases) = class.child_by_field_name("superclasses") {
        return children(bases).iter().any(is_built_in);
    }
    let heritage = children(class).into_iter().find(|part| part.kind() == "class_heritage");
    // TypeScript has a clause of its own within.
    let base = heritage.and_then(|heritage| heritage.named_child(0));
    let within = base.filter(|base| base.kind() == "extends_clause").and_then(|clause| clause.named_child(0));
    within.or(base).is_some_and(|base| is_built_in(&base))
}

#[cfg(test)]
mod tests {
    use super::super::marks;
    use super::Shape;

    fn decides(path: &str, text: &str) -> bool {
        marks(path, "", text).iter().any(|mark| mark.shape == Shape::DecidesEquality)
    }

    #[test]
    fn rules_of_what_a_built_in_type_contains_are_found() {
        assert!(decides("a.py", "class Members(list):\n    def __contains__(self, name):\n        return True\n"));
        assert!(!decides("a.py", "class Members:\n    def __contains__(self, name):\n        return True\n"));
        assert!(decides("a.py", "class A:\n    __eq__ = partialmethod(near)\n"));
        assert!(decides("a.js", "class Tags extends Array {\n  includes(tag) { return true; }\n}\n"));
        assert!(!decides("a.js", "class Tags {\n  includes(tag) { return true; }\n}\n"));
        for own in [
            "const cache = { items: new Map(), get(key) { return String(this.items.get(key)); } };\n",
            "class Map {\n  get(x, y) { return this.rows[y][x]; }\n}\n",
        ] {
            assert!(!decides("a.js", own), "{own}");
        }
        assert!(!decides(
            "a.py",
            "class Index(Mapping[str, list]):\n    def __iter__(self):\n        return iter(self.rows)\n"
        ));
        assert!(decides("a.ts", "class Tags extends Array<string> {\n  includes(tag: string) { return true; }\n}\n"));
        assert!(decides("a.js", "class A {\n  valueOf = () => 3;\n}\n"));
        assert!(decides("a.js", "const r = [];\nr[Symbol.iterator] = function* () { yield 1; };\n"));
    }
}
