//! The imports of a file, as written there.

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, text_of};

/// The most imports of one file.
const MAX_IMPORTS: usize = 300;
/// The most nodes that are looked at for them.
const MAX_NODES: usize = 200_000;
/// The most groups within groups of one `use` that are taken apart.
const MAX_GROUPS: usize = 64;

/// A module that a file imports, or passes on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The module as written: `shop.cart`, `..price`, `../src/cart`, `crate::cart::total`, `example.test/shop/cart`.
    pub module: String,
    /// The names that are taken from it. Empty where it is imported as a whole, and for Rust, where the path ends with the name.
    pub names: Vec<String>,
    /// Whether everything in it is taken.
    pub is_glob: bool,
}

impl Import {
    fn of(module: &str, names: Vec<String>, is_glob: bool) -> Self {
        Self { module: module.to_owned(), names, is_glob }
    }
}

/// See [`super::Outline::imports`].
pub(super) fn imports(language: Language, root: Node<'_>, text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for node in descendants(root).take(MAX_NODES) {
        match language {
            Language::Python => found.extend(in_python(node, text)),
            Language::JavaScript => found.extend(in_javascript(node, text)),
            Language::Rust => found.extend(in_rust(node, text)),
            Language::Go => found.extend(in_go(node, text)),
            Language::Java | Language::Php | Language::Cpp | Language::Ruby => {}
        }
        if found.len() >= MAX_IMPORTS {
            break;
        }
    }
    found.truncate(MAX_IMPORTS);
    found
}

/// The original of a name, where it comes from.
fn original<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text_of(node.child_by_field_name("name").unwrap_or(node), text)
}

fn in_python(node: Node<'_>, text: &str) -> Vec<Import> {
    let names = || -> Vec<String> {
        let names = node.children_by_field_name("name", &mut node.walk()).collect::<Vec<_>>();
        names.into_iter().map(|name| original(name, text).to_owned()).collect()
    };
    match node.kind() {
        "import_statement" => names().iter().map(|module| Import::of(module, Vec::new(), false)).collect(),
        "import_from_statement" => {
            let Some(module) = node.child_by_field_name("module_name") else { return Vec::new() };
            let is_glob = children(node).iter().any(|child| child.kind() == "wildcard_import");
            vec![Import::of(text_of(module, text), names(), is_glob)]
        }
        _ => Vec::new(),
    }
}

fn in_javascript(node: Node<'_>, text: &str) -> Option<Import> {
    match node.kind() {
        "import_statement" | "export_statement" => {
            let source = unquoted(node.child_by_field_name("source")?, text);
            let names: Vec<String> = descendants(node)
                .filter(|node| matches!(node.kind(), "import_specifier" | "export_specifier"))
                .map(|node| original(node, text).to_owned())
                .collect();
            // `export * from './cart'` passes everything on. `import './cart'` only runs it.
            let is_glob = node.kind() == "export_statement" && names.is_empty();
            Some(Import::of(source, names, is_glob))
        }
        "call_expression" => {
            let function = node.child_by_field_name("function")?;
            let imports = function.kind() == "import" || text_of(function, text) == "require";
            let argument = children(node.child_by_field_name("arguments").filter(|_| imports)?).into_iter().next()?;
            (argument.kind() == "string").then(|| Import::of(unquoted(argument, text), Vec::new(), false))
        }
        _ => None,
    }
}

fn in_go(node: Node<'_>, text: &str) -> Option<Import> {
    let path = node.child_by_field_name("path").filter(|_| node.kind() == "import_spec")?;
    Some(Import::of(unquoted(path, text), Vec::new(), false))
}

fn unquoted<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text_of(node, text).trim_matches(['"', '\'', '`'])
}

fn in_rust(node: Node<'_>, text: &str) -> Vec<Import> {
    match node.kind() {
        "use_declaration" => node.child_by_field_name("argument").map(|tree| uses(tree, text)).unwrap_or_default(),
        "mod_item" if node.child_by_field_name("body").is_none() => {
            let name = node.child_by_field_name("name").map(|name| text_of(name, text)).unwrap_or_default();
            vec![Import::of(&format!("self::{name}"), Vec::new(), false)]
        }
        _ => Vec::new(),
    }
}

/// The paths of a `use`, groups taken apart.
fn uses(tree: Node<'_>, text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut waiting = vec![(tree, String::new())];
    let mut groups = 0;
    while let Some((node, before)) = waiting.pop() {
        let joined = |path: &str| if before.is_empty() { path.to_owned() } else { format!("{before}::{path}") };
        match node.kind() {
            "scoped_use_list" | "use_list" => {
                let path = node.child_by_field_name("path").map(|path| joined(text_of(path, text))).unwrap_or(before);
                let list = node.child_by_field_name("list").unwrap_or(node);
                // Each group copies the path before it, so that nested groups of a hostile `use` take memory by the
                // square of their depth.
                groups += 1;
                if groups <= MAX_GROUPS {
                    waiting.extend(children(list).into_iter().rev().map(|child| (child, path.clone())));
                }
            }
            "use_as_clause" => {
                let path = node.child_by_field_name("path").map(|path| text_of(path, text)).unwrap_or_default();
                found.push(Import::of(&joined(path), Vec::new(), false));
            }
            "use_wildcard" => {
                let path = children(node).first().map(|path| joined(text_of(*path, text))).unwrap_or(before);
                found.push(Import::of(&path, Vec::new(), true));
            }
            "self" => found.push(Import::of(&before, Vec::new(), false)),
            _ => found.push(Import::of(&joined(text_of(node, text)), Vec::new(), false)),
        }
    }
    found
}

/// See [`super::Outline::written_out`].
pub(super) fn paths_in(code: &str) -> Vec<Import> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found: Vec<Import> = Vec::new();
    for chain in code.split(|c: char| !is_word(c) && c != ':') {
        let path = chain.trim_matches(':');
        let is_path = path.contains("::") && path.split("::").all(|part| !part.is_empty() && part.chars().all(is_word));
        if is_path && found.len() < MAX_IMPORTS && !found.iter().any(|known| known.module == path) {
            found.push(Import::of(path, Vec::new(), false));
        }
    }
    found
}
