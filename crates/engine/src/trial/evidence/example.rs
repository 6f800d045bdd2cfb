//! Rust's tests as a program of their crate: the crate's root once more, as an example that calls them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::framework::source::{Source, TestBody, apply};
use crate::test_run::direct::cargo;

/// A test to be called: its number, its file, its names.
pub(super) type Wanted<'w> = (usize, &'w Source, &'w [String]);

/// A program that calls tests, as files of the tree.
#[derive(Debug)]
pub(super) struct Example {
    /// The files that it needs, new or changed.
    pub(super) texts: BTreeMap<String, String>,
    /// The package's name.
    pub(super) package: String,
    /// The package's folder, from the top of the checkout.
    pub(super) folder: PathBuf,
    /// The folder that holds the build.
    pub(super) workspace: PathBuf,
}

/// Where a file belongs to: its package, and the file that is its crate's root.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Home {
    folder: PathBuf,
    root: String,
}

/// Writes the program for the tests that stand in the first one's crate. `None` where that is not understood.
pub(super) fn write(
    bench: &Bench<'_>,
    tree: &TreeId,
    wanted: &[Wanted<'_>],
    word: &str,
    results: &Path,
) -> Result<Option<Example>, TrialError> {
    let Some((_, first, _)) = wanted.first() else { return Ok(None) };
    let Some(home) = home(bench, tree, first.path())? else { return Ok(None) };
    let mut texts = BTreeMap::new();
    let mut calls = Vec::new();
    let mut sources: BTreeMap<&str, Vec<&Wanted<'_>>> = BTreeMap::new();
    for one in wanted {
        sources.entry(one.1.path()).or_default().push(one);
    }
    for (path, tests) in sources {
        if self::home(bench, tree, path)?.as_ref() != Some(&home) {
            continue;
        }
        let Some(text) = bench.workspace.text_at(tree, path)? else { continue };
        let Some(source) = Source::read(path, &text) else { continue };
        let body = |names: &[String]| source.tests().iter().find(|test| test.names == names);
        let found: Vec<(usize, &TestBody)> = tests
            .iter()
            .filter_map(|(at, _, names)| Some((*at, body(names)?)))
            // Each alone: one that cannot be called must not keep the others from it.
            .filter(|(_, body)| source.callable(&[body], word).is_some())
            .collect();
        let bodies: Vec<&TestBody> = found.iter().map(|(_, body)| *body).collect();
        let Some(edited) = source.callable(&bodies, word).and_then(|edits| source.edited(&edits)) else { continue };
        let module = module(&home, path);
        calls.extend(found.iter().map(|(at, body)| (*at, [module.as_str(), &body.names.join("::")].concat())));
        texts.insert(path.to_owned(), edited);
    }
    if calls.is_empty() {
        return Ok(None);
    }
    finish(bench, tree, home, texts, &calls, word, results)
}

/// Adds the root, which calls, and the manifest, which names it.
fn finish(
    bench: &Bench<'_>,
    tree: &TreeId,
    home: Home,
    mut texts: BTreeMap<String, String>,
    calls: &[(usize, String)],
    word: &str,
    results: &Path,
) -> Result<Option<Example>, TrialError> {
    // As the compiler names them: from the package, or from the workspace around it.
    let inside = |path: &String| path.strip_prefix(&join(&home.folder, "")).unwrap_or(path).to_owned();
    let files: Vec<String> = texts.keys().map(inside).chain([format!("{word}.rs")]).collect();
    // The root may hold tests itself, and is changed already then.
    let root = match texts.remove(&home.root) {
        Some(text) => Some(text),
        None => bench.workspace.text_at(tree, &home.root)?,
    };
    let manifest_path = join(&home.folder, "Cargo.toml");
    let (Some(root), Some(manifest)) = (root, bench.workspace.text_at(tree, &manifest_path)?) else { return Ok(None) };
    let (Some(source), Some(package)) = (Source::read(&home.root, &root), package_name(&manifest)) else {
        return Ok(None);
    };
    // A program's root has a `main` of its own.
    let main: Vec<_> = source.without_main(word).into_iter().collect();
    let Some(root) = apply(&root, &main) else { return Ok(None) };
    let own = home.root.strip_prefix(&join(&home.folder, "")).unwrap_or(&home.root);
    // Beside its root only where it names other files: its place tells that it is a test.
    let example = match names_files(&root) {
        true => Path::new(own).with_file_name(format!("{word}.rs")),
        false => Path::new("examples").join(format!("{word}.rs")),
    };
    let example = example.display().to_string().replace('\\', "/");
    let (path, entry) = (join(&home.folder, &example), cargo::entry(word, &files, results, calls));
    texts.insert(path, format!("{root}\n{entry}"));
    let declared = format!("\n[[example]]\nname = \"{word}\"\npath = \"{example}\"\n");
    texts.insert(manifest_path, format!("{}{declared}", manifest.trim_end()));
    let workspace = workspace(bench, tree, &home.folder)?;
    Ok(Some(Example { texts, package, folder: home.folder, workspace }))
}

/// Whether a source names other files: modules, or what it includes.
fn names_files(text: &str) -> bool {
    let declares = |line: &str| line.ends_with(';') && line.split_whitespace().any(|word| word == "mod");
    text.contains("include") || text.lines().map(str::trim).any(declares)
}

/// The package around a file and its crate's root.
fn home(bench: &Bench<'_>, tree: &TreeId, path: &str) -> Result<Option<Home>, TrialError> {
    for folder in Path::new(path).ancestors().skip(1) {
        let Some(manifest) = bench.workspace.text_at(tree, &join(folder, "Cargo.toml"))? else { continue };
        // A manifest without a package is a workspace's.
        if package_name(&manifest).is_none() {
            return Ok(None);
        }
        let inside = Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path));
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let root = match parts.as_slice() {
            // To cargo each file in `tests` is a crate of its own.
            [tests, _file] if tests == "tests" => Some(path.to_owned()),
            [source, ..] if source == "src" => root_in(bench, tree, folder)?,
            _ => None,
        };
        return Ok(root.map(|root| Home { folder: folder.to_owned(), root }));
    }
    Ok(None)
}

/// The root of a package's own crate: of its library, else of its program.
fn root_in(bench: &Bench<'_>, tree: &TreeId, folder: &Path) -> Result<Option<String>, TrialError> {
    for name in ["src/lib.rs", "src/main.rs"] {
        let path = join(folder, name);
        if bench.workspace.text_at(tree, &path)?.is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The folder with the workspace's manifest: the outermost that has one, or the package's.
fn workspace(bench: &Bench<'_>, tree: &TreeId, folder: &Path) -> Result<PathBuf, TrialError> {
    let mut found = folder.to_owned();
    for above in folder.ancestors() {
        let manifest = bench.workspace.text_at(tree, &join(above, "Cargo.toml"))?;
        if manifest.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace"))) {
            found = above.to_owned();
        }
    }
    Ok(found)
}

/// The path of a file's module in its crate, up to the names of what it holds.
fn module(home: &Home, path: &str) -> String {
    if path == home.root {
        return "crate::".to_owned();
    }
    let inside = path.strip_prefix(&join(&home.folder, "src/")).unwrap_or(path);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    format!("crate::{}::", inside.replace('/', "::"))
}

/// The name in a manifest's `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let inside = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let mut inside = inside.take_while(|line| !line.starts_with('['));
    let value = inside.find_map(|line| line.strip_prefix("name")?.trim_start().strip_prefix('='))?;
    let name = value.trim().trim_matches(['"', '\'']);
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (plain && !name.is_empty()).then(|| name.to_owned())
}

fn join(folder: &Path, name: &str) -> String {
    let folder = folder.display().to_string().replace('\\', "/");
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module_of_its_crate() {
        let home = Home { folder: PathBuf::from("a"), root: "a/src/lib.rs".to_owned() };
        for (path, wanted) in
            [("a/src/lib.rs", "crate::"), ("a/src/cart.rs", "crate::cart::"), ("a/src/cart/mod.rs", "crate::cart::")]
        {
            assert_eq!(module(&home, path), wanted);
        }
    }

    #[test]
    fn a_package_has_a_plain_name() {
        assert_eq!(package_name("[package]\nname = \"cart-x\"\n\n[[bin]]\nname = 'y'\n").as_deref(), Some("cart-x"));
        assert_eq!(package_name("[workspace]\nmembers = []\n"), None);
        assert_eq!(package_name("[package]\nname = \"a; rm\"\n"), None);
    }
}
