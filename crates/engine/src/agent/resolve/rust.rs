//! Rust: a path from a crate's root, from the module itself or from the one above, by cargo's layout.

use super::paths::{Resolved, folder_of, join};
use crate::agent::sources::Sources;
use crate::framework::source::Import;

/// Crates that are not in the repository, whatever their names.
const OUTSIDE: [&str; 4] = ["std", "core", "alloc", "proc_macro"];
/// Folders of which each file is a crate of its own.
const CRATES: [&str; 4] = ["tests", "benches", "examples", "bin"];

/// A module: its file, and the folder that its own modules stand in.
struct Module {
    file: String,
    folder: String,
}

/// See [`super::resolve`].
pub(super) fn resolve(from: &str, import: &Import, sources: &mut Sources<'_>) -> Resolved {
    let path = import.module.trim_start_matches("::").replace("r#", "");
    let parts: Vec<&str> = path.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
    let Some((first, rest)) = parts.split_first() else { return Resolved::default() };
    let mut found = Resolved::default();
    let mut add = |module: Option<Module>, rest: &[&str], sources: &Sources<'_>| {
        let Some((file, name)) = module.and_then(|module| walk(module, rest, sources)) else { return };
        found.names.extend(name);
        if !found.files.contains(&file) {
            found.files.push(file);
        }
    };
    match *first {
        "crate" => add(root_of(from, sources), rest, sources),
        "self" => add(Some(module_of(from)), rest, sources),
        "super" => {
            // In a module that stands inside of its parent's file this is the file itself.
            add(Some(module_of(from)), rest, sources);
            let levels = parts.iter().take_while(|part| **part == "super").count();
            let rest = parts.get(levels..).unwrap_or_default();
            add(above(from, levels, sources), rest, sources);
        }
        name if OUTSIDE.contains(&name) => {}
        name => match crate_of(name, sources) {
            Some(root) => add(Some(root), rest, sources),
            None => add(Some(module_of(from)), &parts, sources),
        },
    }
    found
}

/// Follows a path as far as files are modules. The rest begins with a name in the last one.
fn walk(mut module: Module, parts: &[&str], sources: &Sources<'_>) -> Option<(String, Option<String>)> {
    for part in parts {
        let own = format!("{}.rs", join(&module.folder, part));
        let inside = join(&join(&module.folder, part), "mod.rs");
        // `cart.rs`, or `cart/mod.rs` in the older layout.
        let Some(file) = [own, inside].into_iter().find(|file| sources.has(file)) else {
            return Some((module.file, Some((*part).to_owned())));
        };
        module = Module { file, folder: join(&module.folder, part) };
    }
    Some((module.file, None))
}

/// The module that a file is.
fn module_of(file: &str) -> Module {
    let (folder, stem) = (folder_of(file), file.rsplit('/').next().unwrap_or(file).trim_end_matches(".rs"));
    // Modules of these lie beside them, and not in a folder of their name.
    let stands_for_folder = matches!(stem, "mod" | "lib" | "main") || is_own_crate(file);
    let folder = if stands_for_folder { folder.to_owned() } else { join(folder, stem) };
    Module { file: file.to_owned(), folder }
}

fn is_own_crate(file: &str) -> bool {
    folder_of(file).rsplit('/').next().is_some_and(|folder| CRATES.contains(&folder))
}

/// The module so many levels above that of a file.
fn above(file: &str, levels: usize, sources: &Sources<'_>) -> Option<Module> {
    let mut folder = module_of(file).folder;
    for _ in 0..levels {
        folder = (!folder.is_empty()).then(|| folder_of(&folder).to_owned())?;
    }
    let files = [format!("{folder}.rs"), join(&folder, "mod.rs"), join(&folder, "lib.rs"), join(&folder, "main.rs")];
    let file = files.into_iter().find(|file| sources.has(file))?;
    Some(Module { file, folder })
}

/// The root of the crate that a file belongs to.
fn root_of(file: &str, sources: &mut Sources<'_>) -> Option<Module> {
    if is_own_crate(file) {
        return Some(module_of(file));
    }
    let inside =
        |folder: &str| folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let manifests = sources.manifests("Cargo.toml");
    let folder =
        // Of packages within packages the innermost one.
        manifests.iter().map(|(folder, _)| folder).filter(|folder| inside(folder)).max_by_key(|folder| folder.len());
    root_in(folder.map_or("", String::as_str), sources)
}

fn root_in(folder: &str, sources: &Sources<'_>) -> Option<Module> {
    let files = ["src/lib.rs", "src/main.rs"].map(|file| join(folder, file));
    files.into_iter().find(|file| sources.has(file)).map(|file| module_of(&file))
}

/// The root of the repository's crate of a name, by the first name in each manifest's package or library.
fn crate_of(name: &str, sources: &mut Sources<'_>) -> Option<Module> {
    let manifests = sources.manifests("Cargo.toml");
    let is_it = |text: &str| names_in(text).any(|own| own.replace('-', "_") == name);
    let folder = manifests.iter().find(|(_, text)| is_it(text)).map(|(folder, _)| folder.clone())?;
    root_in(&folder, sources)
}

/// The names that a manifest gives its package and its library.
fn names_in(manifest: &str) -> impl Iterator<Item = &str> {
    let mut section = "";
    manifest.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with('[') {
            section = line;
        }
        let value = line.strip_prefix("name")?.trim_start().strip_prefix('=')?;
        matches!(section, "[package]" | "[lib]").then(|| value.trim().trim_matches(['"', '\'']))
    })
}
