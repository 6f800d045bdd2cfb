//! JavaScript and TypeScript: a relative path, an alias of the source folder, or a package of the same repository.

use super::paths::{Resolved, folder_of, join, tidied};
use crate::agent::sources::Sources;
use crate::framework::source::Import;

/// Endings that an import leaves out.
const ENDINGS: [&str; 9] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "d.ts"];
/// Prefixes that stand for the source folder by custom.
const ALIASES: [&str; 4] = ["@/", "~/", "#/", "$/"];
/// Folders that an alias may stand for.
const ROOTS: [&str; 3] = ["src", "", "app"];
/// Files that a package is entered by.
const ENTRIES: [&str; 3] = ["src/index", "index", "lib/index"];

/// See [`super::resolve`].
pub(super) fn resolve(from: &str, import: &Import, sources: &mut Sources<'_>) -> Resolved {
    // Bundlers take a query behind the file: `./logo.svg?raw`.
    let module = import.module.split('?').next().unwrap_or_default();
    let file = if module.starts_with('.') {
        tidied(&join(folder_of(from), module)).and_then(|path| file(&path, sources))
    } else {
        // An alias, or a path from the source folder as bundlers are often set up.
        let rest = ALIASES.iter().find_map(|alias| module.strip_prefix(alias)).unwrap_or(module);
        let below = ROOTS.iter().filter_map(|root| tidied(&join(root, rest)));
        below.into_iter().find_map(|path| file(&path, sources)).or_else(|| package(module, sources))
    };
    Resolved { files: file.into_iter().collect(), names: import.names.clone() }
}

/// The file that a path without or with an ending means. `./cart.js` is `cart.ts` before it is compiled.
fn file(path: &str, sources: &Sources<'_>) -> Option<String> {
    if sources.has(path) {
        return Some(path.to_owned());
    }
    let stem = path.rsplit_once('.').filter(|(_, ending)| ENDINGS.contains(ending)).map(|(stem, _)| stem);
    let index = join(path, "index");
    let stems = std::iter::once(path).chain(stem).chain(std::iter::once(index.as_str()));
    let mut candidates = stems.flat_map(|stem| ENDINGS.iter().map(move |ending| format!("{stem}.{ending}")));
    candidates.find(|candidate| sources.has(candidate))
}

/// The entry of a package of this repository, by the name in its manifest.
fn package(module: &str, sources: &mut Sources<'_>) -> Option<String> {
    let named = |text: &str| {
        let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
        manifest.get("name")?.as_str().map(str::to_owned)
    };
    for (folder, text) in sources.manifests("package.json") {
        let Some(rest) = named(&text).and_then(|name| module.strip_prefix(name.as_str()).map(str::to_owned)) else {
            continue;
        };
        let inside = match rest.strip_prefix('/') {
            Some(inside) => {
                file(&join(&folder, inside), sources).or_else(|| file(&join(&folder, &join("src", inside)), sources))
            }
            None if rest.is_empty() => ENTRIES.iter().find_map(|entry| file(&join(&folder, entry), sources)),
            None => None,
        };
        if inside.is_some() {
            return inside;
        }
    }
    None
}
