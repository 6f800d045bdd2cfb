//! No circles inside a folder: files of one top-level module that import each other, directly or in a ring, cannot be read one by one.
//!
//! An arrow goes from a file to the file that *defines* what it names: re-exports are followed. A `mod.rs` that declares or
//! re-exports its children has no arrow to them by that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A path of modules, from the crate's root.
type Module = Vec<String>;

/// The part of a source that is no test, without comments and without the insides of string literals.
fn product_code(text: &str) -> String {
    let mut code = String::new();
    let mut attributes_of_tests = false;
    for line in text.lines() {
        attributes_of_tests = line == "#[cfg(test)]" || attributes_of_tests && line.starts_with("#[");
        if attributes_of_tests {
            continue;
        }
        if line.starts_with("mod tests {") {
            break;
        }
        let mut in_string = false;
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            if c == '"' && before != '\\' && before != '\'' {
                in_string = !in_string;
            } else if !in_string {
                if line.get(at..).is_some_and(|rest| rest.starts_with("//")) {
                    break;
                }
                code.push(c);
            }
            before = if before == '\\' { ' ' } else { c };
        }
        code.push('\n');
    }
    code
}

/// The module that a file is.
fn module_of(path: &Path) -> Module {
    let mut parts: Module = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let file = parts.pop().unwrap_or_default();
    match file.trim_end_matches(".rs") {
        "mod" | "lib" => {}
        name => parts.push(name.to_owned()),
    }
    parts
}

/// The names of a path.
fn names_of(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Every path of a `use` tree, with the name it is given.
#[expect(clippy::string_slice, reason = "the places come from searches in the same text")]
fn leaves(tree: &str, before: &[String], found: &mut Vec<(Module, String)>) {
    let Some((head, group)) = tree.split_once('{') else {
        let (path, renamed) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim())));
        let mut full: Module = before.iter().cloned().chain(names_of(path)).collect();
        if full.last().is_some_and(|last| last == "self") && full.len() > 1 {
            full.pop();
        }
        let last = full.last().cloned().unwrap_or_default();
        found.push((full, renamed.map_or(last, str::to_owned)));
        return;
    };
    let inner: Module = before.iter().cloned().chain(names_of(head)).collect();
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    leaves(&group[start..at], &inner, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// A `use`: its name is known in the module and in those below it.
struct Import {
    name: String,
    is_public: bool,
}

/// What one file names: paths as written, and how they are imported where they are.
#[expect(clippy::string_slice, reason = "the places come from searches in the same text")]
fn named(code: &str) -> Vec<(Module, Option<Import>)> {
    let mut found = Vec::new();
    let mut body = String::new();
    // A visibility names no use.
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    let code = parts.fold(first, |code, part| code + "pub" + part.split_once(')').map_or("", |(_, rest)| rest));
    let mut rest = code.as_str();
    while let Some(at) = rest.find("use ") {
        let starts = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        let (before, tail) = rest.split_at(at);
        body.push_str(before);
        let end = tail.find(';').unwrap_or(tail.len());
        if starts {
            let line = before.rsplit('\n').next().unwrap_or_default();
            let mut tree = Vec::new();
            leaves(&tail[4..end], &[], &mut tree);
            // In a module inside the file, `super` is the file itself.
            let is_inside = line.starts_with(' ');
            let own = |path: &Module| is_inside && path.first().is_some_and(|first| first == "super");
            let written = tree.into_iter().map(|(mut path, name)| {
                if own(&path) {
                    "self".clone_into(&mut path[0]);
                }
                (path, Some(Import { name, is_public: line.trim_start().starts_with("pub") }))
            });
            found.extend(written);
            rest = &tail[end..];
        } else {
            rest = &tail[4..];
        }
    }
    body.push_str(rest);
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = body.split(|c: char| !is_path(c)).filter(|word| word.contains("::"));
    found.extend(words.map(|word| (word.split("::").map(str::to_owned).collect(), None)));
    found
}

/// The files of a source tree and what they define, name and hand on.
struct Sources {
    named: BTreeMap<Module, Vec<(Module, Option<Import>)>>,
    handed_on: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Sources {
    fn read(files: &[(impl AsRef<Path>, String)]) -> Self {
        let is_product = |module: &Module| !module.iter().any(|part| part == "tests" || part == "main");
        let texts = files.iter().map(|(path, text)| (module_of(path.as_ref()), text));
        let named: BTreeMap<Module, _> = texts
            .filter(|(module, _)| is_product(module))
            .map(|(module, text)| (module, self::named(&product_code(text))))
            .collect();
        let mut sources = Self { named, handed_on: BTreeMap::new() };
        let mut handed_on: BTreeMap<Module, BTreeMap<String, Module>> = BTreeMap::new();
        for (module, names) in &sources.named {
            for (path, import) in names {
                if let (Some(import), Some(full)) = (import, sources.absolute(module, path)) {
                    handed_on.entry(module.clone()).or_default().insert(import.name.clone(), full);
                }
            }
        }
        sources.handed_on = handed_on;
        sources
    }

    /// A path from the crate's root; `None` for what is not of this crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(module.iter().chain(rest).cloned().collect()),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let kept = module.len().checked_sub(up)?;
                Some(module[..kept].iter().chain(&path[up..]).cloned().collect())
            }
            _ => {
                let child: Module = module.iter().chain(path).cloned().collect();
                self.named.contains_key(&child[..=module.len()]).then_some(child)
            }
        }
    }

    /// The file that defines what a path names.
    fn home(&self, path: &[String]) -> Option<Module> {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let at = (0..=path.len()).rev().find(|at| self.named.contains_key(&path[..*at]))?;
            let handed = path.get(at).and_then(|name| self.handed_on.get(&path[..at])?.get(name));
            let Some(handed) = handed else { return Some(path[..at].to_vec()) };
            path = handed.iter().chain(&path[at + 1..]).cloned().collect();
        }
        None
    }

    /// Arrows between files.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let mut arrows: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, names) in &self.named {
            let full = names.iter().filter_map(|(path, import)| Some((self.absolute(module, path)?, import)));
            // A parent that re-exports a child does not use it by that.
            let hands_on = |import: &Option<Import>| import.as_ref().is_some_and(|import| import.is_public);
            let used = full.filter(|(path, import)| !hands_on(import) || !path.starts_with(module));
            let homes = used.filter_map(|(path, _)| self.home(&path)).filter(|home| home != module);
            arrows.insert(module, homes.collect());
        }
        arrows
    }

    /// The files of every folder that reach themselves by arrows inside the folder, with what each names of the others.
    fn circles(&self) -> BTreeMap<String, Vec<String>> {
        let arrows = self.arrows();
        let reach: BTreeMap<&Module, BTreeSet<&Module>> = arrows
            .keys()
            .filter(|module| !module.is_empty())
            .map(|module| (*module, reached(&arrows, module)))
            .collect();
        let mut circles: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (module, to) in reach.iter().filter(|(module, to)| to.contains(*module)) {
            let others = arrows[*module].iter().filter(|other| to.contains(other));
            let back = others.filter(|other| reach.get(other).is_some_and(|to| to.contains(module)));
            let back: Vec<String> = back.map(|other| other.join("::")).collect();
            circles.entry(module[0].clone()).or_default().push(format!("{} -> {}", module.join("::"), back.join(", ")));
        }
        circles
    }
}

/// The files of the same folder that arrows lead to from one.
fn reached<'m>(arrows: &'m BTreeMap<&Module, BTreeSet<Module>>, from: &'m Module) -> BTreeSet<&'m Module> {
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    let mut open: Vec<&Module> = vec![from];
    while let Some(next) = open.pop() {
        for to in arrows[next].iter().filter(|to| to.first() == from.first()) {
            if seen.insert(to) {
                open.push(to);
            }
        }
    }
    seen
}

#[test]
fn files_of_a_folder_import_each_other_in_one_direction() {
    let circles = Sources::read(&super::sources()).circles();
    let found: Vec<String> = circles
        .into_iter()
        .map(|(folder, found)| format!("{folder}: {} files in circles:\n{}", found.len(), found.join("\n")))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn a_circle_is_seen_through_a_parent_and_a_plain_re_export_is_none() {
    let files = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    };
    let circles = |texts: &[(&str, &str)]| -> Vec<String> {
        Sources::read(&files(texts)).circles().into_values().flatten().collect()
    };
    let house = "pub mod door;\npub mod wall;\npub use door::Door;\npub use wall::Wall;\n";
    let door = "use super::Wall;\npub struct Door(Wall);\n";
    assert!(
        circles(&[("house/mod.rs", house), ("house/door.rs", door), ("house/wall.rs", "pub struct Wall;")]).is_empty()
    );
    let wall = "pub struct Wall { doors: Vec<super::Door> }";
    assert_eq!(
        circles(&[("house/mod.rs", house), ("house/door.rs", door), ("house/wall.rs", wall)]),
        ["house::door -> house::wall", "house::wall -> house::door"]
    );
    let child = "use super::Frame;\npub(super) fn paint(frame: &Frame) {}\n";
    let parent = "mod paint;\npub struct Frame;\nfn all(frame: &Frame) { paint::paint(frame); }\n";
    assert_eq!(
        circles(&[("house.rs", parent), ("house/paint.rs", child)]),
        ["house -> house::paint", "house::paint -> house"]
    );
    let named_in_words = "pub struct Wall; // crate::house::door\nfn a() { b(\"crate::house::door::Door\") }\n";
    assert!(circles(&[("house/mod.rs", house), ("house/door.rs", door), ("house/wall.rs", named_in_words)]).is_empty());
}
