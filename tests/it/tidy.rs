//! The architecture as a test: layers, foreign crates, module docs, file sizes, and no word of the workplace.

mod circles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The layers, lowest first; a module imports only from layers below its own (DESIGN §3).
const LAYERS: &[&[&str]] = &[
    &["domain"],
    &["framework", "backend"],
    &["config", "policy", "report", "redact", "files", "tracker"],
    &["process", "http", "streams"],
    &["workspace", "test_run", "model", "mcp", "rest", "github", "audit", "telemetry"],
    &["trial"],
    &["session", "gateway"],
    &["hosted"],
    &["agent"],
    &["lifecycle"],
    &["cli"],
];
/// Crates that only these modules may name.
const AT_HOME: &[(&str, &[&str])] = &[
    ("rusqlite", &["audit"]),
    ("reqwest", &["http", "model"]),
    ("octocrab", &["github"]),
    ("clap", &["cli"]),
    ("hyper", &["gateway"]),
    ("hyper_util", &["gateway"]),
    ("landlock", &["process"]),
    ("seccompiler", &["process"]),
    ("process_wrap", &["process"]),
    ("same_file", &["files"]),
    ("similar", &["domain"]),
    ("anyhow", &["cli"]),
    ("grammars", &["framework"]),
    ("tree_sitter", &["framework", "crates"]),
];
/// A file of more lines should be taken apart.
const MAX_LINES: usize = 500;

/// The crates of the workspace that know nothing of the program. Each is below all of its layers.
const CRATES: &[&str] = &["grammars", "testlog"];
/// The folders that together are the program: the loop and the commands, and the layers below them.
const PROGRAM: [&str; 2] = ["src", "crates/engine/src"];

/// The sources of the program, by their paths below the `src` of their crate.
fn sources() -> Vec<(PathBuf, String)> {
    PROGRAM.into_iter().flat_map(sources_below).collect()
}

/// The sources of the program and of all crates.
fn all_sources() -> Vec<(PathBuf, String)> {
    let of_crate = |name: &&str| {
        let below = format!("crates/{name}/src");
        let named = sources_below(&below).into_iter();
        named.map(|(path, text)| (Path::new(&below).join(path), text)).collect::<Vec<_>>()
    };
    sources().into_iter().chain(CRATES.iter().flat_map(of_crate)).collect()
}

/// The text of every source file of the program and of its tests, for ledgers that name tests.
pub(crate) fn text_of_everything() -> String {
    ["src", "crates/engine/src", "tests"].into_iter().flat_map(sources_below).map(|(_, text)| text).collect()
}

fn sources_below(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("a text");
                found.push((path, text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    walk(&root, &mut found);
    found
        .into_iter()
        .map(|(path, text)| (path.strip_prefix(&root).expect("below the folder").to_owned(), text))
        .collect()
}

/// Names of test runners, which are facts about frameworks and stand in `framework`. Ordinary words (`robot`, `prove`) are not among them.
const RUNNERS: &[&str] = &[
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "unittest",
    "nextest",
    "googletest",
    "gtest",
    "catch2",
    "ctest",
    "surefire",
    "playwright",
    "cypress",
    "busted",
    "jasmine",
    "karma",
    "minitest",
    "exunit",
    "cucumber",
    "bats",
    "nose2",
    "paratest",
    "pest",
    "ava",
];
/// Files that name runners still, with the number of lines: it may only fall.
const NAME_RUNNERS: &[(&str, usize)] = &[
    ("config/file.rs", 1),
    ("policy/tamper/region.rs", 2),
    ("policy/tamper/region/document.rs", 4),
    ("policy/tamper/region/javascript.rs", 4),
    ("policy/tamper/region/python.rs", 2),
    ("process/confine/grants.rs", 2),
    ("process/environment.rs", 2),
    ("test_run/direct/cargo.rs", 1),
    ("trial/belongings.rs", 3),
];

/// The lines of code that name a runner, outside comments and tests.
fn lines_with_runners(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.map(|line| line.split(" // ").next().unwrap_or(line).to_lowercase());
    let words = |line: &str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| RUNNERS.contains(&word))
    };
    code.filter(|line| words(line)).count()
}

#[test]
fn runners_are_named_in_the_table_of_frameworks_alone() {
    let is_test = |path: &Path| {
        let mut parts = path.iter().map(|part| part.to_string_lossy());
        parts.any(|part| ["tests.rs", "tests", "fixtures", "fixtures.rs"].contains(&part.as_ref()))
    };
    let mut wrong = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| module_of(path) != "framework" && !is_test(path)) {
        let name = path.display().to_string();
        let excused = NAME_RUNNERS.iter().find(|(file, _)| *file == name).map_or(0, |(_, lines)| *lines);
        let named = lines_with_runners(&text);
        if named != excused {
            wrong.push(format!("{name}: {named} lines name a runner, {excused} may"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn module_of(path: &Path) -> String {
    let first = path.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Every `crate::module` that a file names outside comments.
fn imports(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for part in line.split("crate::").skip(1) {
            let names = part.strip_prefix('{').map_or(part, |group| group.split('}').next().unwrap_or(""));
            let many = if part.starts_with('{') { names.split(',').collect() } else { vec![names] };
            for name in many {
                let name: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn modules_import_only_from_layers_below() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        let Some(own) = layer_of(&module) else { continue };
        for import in imports(&text).into_iter().filter(|import| *import != module) {
            match layer_of(&import) {
                Some(layer) if layer < own => {}
                Some(_) => wrong.push(format!("{}: {module} must not import {import}", path.display())),
                None => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_know_nothing_of_the_program() {
    for name in CRATES {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).expect("a manifest");
        assert!(!manifest.contains("upshift") && !manifest.contains("path ="), "{name} depends on another of ours");
        for (path, text) in sources_below(&format!("crates/{name}")) {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let named = code.filter(|line| line.contains("upshift::")).count();
            assert_eq!(named, 0, "{} of {name} names upshift", path.display());
        }
    }
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).expect("crates");
    let folders = folders.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let folders: Vec<String> = folders.collect();
    let is_known = |name: &String| name == "engine" || CRATES.contains(&name.as_str());
    assert!(folders.iter().all(is_known), "a crate that is not on the list: {folders:?}");
}

#[test]
fn every_top_level_module_has_a_layer() {
    let unknown: Vec<String> = sources()
        .into_iter()
        .map(|(path, _)| module_of(&path))
        .filter(|module| !["lib", "main"].contains(&module.as_str()) && layer_of(module).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn foreign_crates_are_named_at_home_only() {
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        let module = module_of(&path);
        for (name, homes) in AT_HOME {
            let named = text.lines().any(|line| {
                let line = line.trim_start();
                !line.starts_with("//")
                    && (line.contains(&format!("{name}::")) || line.starts_with(&format!("use {name}")))
            });
            if named && !homes.contains(&module.as_str()) {
                wrong.push(format!("{} names {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_owns() {
    let is_test = |path: &Path| path.file_name().is_some_and(|name| name == "tests.rs");
    let silent: Vec<String> = all_sources()
        .into_iter()
        .filter(|(path, text)| !is_test(path) && !text.trim_start().starts_with("//!"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no //! in {silent:?}");
}

#[test]
fn files_stay_readable() {
    let long: BTreeMap<String, usize> = all_sources()
        .into_iter()
        .map(|(path, text)| (path.display().to_string(), text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:?}");
}

#[test]
fn the_architecture_page_names_every_module() {
    let root =
        |folder: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("lib.rs"));
    let [page, engine] = PROGRAM.map(|folder| root(folder).expect("lib.rs"));
    for line in page.lines().chain(engine.lines()).filter_map(|line| line.strip_prefix("pub mod ")) {
        let module = line.trim_end_matches(';');
        assert!(page.contains(&format!("| [`{module}`] |")), "{module} is not on the page");
    }
}
