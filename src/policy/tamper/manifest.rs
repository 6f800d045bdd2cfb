//! Manifests: what of them may differ from the start without changing which tests run, and how.
//!
//! An allowed list each, so that what is new to a package manager or written in an odd way is refused, not believed.

use serde_json::Value;

use super::toml::{self, Entry};
use super::{Change, build_file, shadow};
use crate::domain::word_list::lists;

/// Keys of `[package]` that only describe.
const CARGO_PACKAGE: &str = "name version edition rust-version description license license-file repository homepage documentation readme \
    keywords categories authors publish resolver";
/// Keys of a profile that change how fast a program is, not what it does.
const CARGO_PROFILE: &str = "opt-level lto codegen-units strip debug incremental split-debuginfo";
/// Keys of a `package.json` that only describe, or say what the package's own code is.
const NPM_KEYS: &str = "name version description license author contributors keywords repository homepage bugs funding files main module \
    browser types typings exports type sideEffects engines private bin publishConfig dependencies devDependencies peerDependencies \
    optionalDependencies peerDependenciesMeta scripts packageManager";
/// Keys of a `composer.json` of that kind.
const COMPOSER_KEYS: &str =
    "name description version type license authors keywords homepage support require require-dev autoload suggest";
/// Scripts that npm runs by themselves.
const NPM_LIFECYCLE: &str =
    "test pretest posttest prepare prepack install preinstall postinstall prepublish prepublishOnly";

/// What of a manifest's change decides how the tests run.
pub(super) fn compare(change: &Change) -> Option<String> {
    let name = change.name();
    let what = match name {
        "Cargo.toml" => cargo(change),
        "pyproject.toml" | "Pipfile" | "uv.toml" => python(change),
        "package.json" => json(change, NPM_KEYS),
        "composer.json" => json(change, COMPOSER_KEYS),
        "go.mod" => go(change),
        _ => build_file::compare(change),
    }?;
    Some(format!("the change alters what decides how tests run in {}: {what}", change.path))
}

/// `Cargo.toml`: descriptions, plain dependencies, features and lints may change.
fn cargo(change: &Change) -> Option<String> {
    // A new manifest in a new folder is a new package; cargo itself decides by the old ones whether it counts.
    change.before.as_ref()?;
    toml_differences(change, |entry, existed| {
        let (section, key) = (entry.section.as_str(), entry.key.as_str());
        let last = section.rsplit('.').next().unwrap_or(section);
        match section {
            "package" | "workspace.package" => lists(CARGO_PACKAGE, key) || key.is_empty(),
            "lints" | "badges" => true,
            // A program more; those that were there stay.
            _ if section.starts_with("bin[]") => !existed && lists("name path", key) || key.is_empty(),
            _ if section.starts_with("profile.") => lists(CARGO_PROFILE, key) || key.is_empty(),
            "features" => key != "default",
            _ if section.starts_with("lints.") || section.starts_with("workspace.lints") => true,
            _ if matches!(last, "dependencies" | "build-dependencies" | "dev-dependencies") => {
                plain_dependency(&entry.value) && !(existed && section.ends_with("dev-dependencies"))
            }
            // `[dependencies.name]`, key by key.
            _ if section.starts_with("dependencies.") || section.contains(".dependencies.") => {
                !matches!(key, "path" | "git" | "package" | "registry") || key.is_empty()
            }
            _ => false,
        }
    })
}

/// Whether a dependency names a version and nothing that would put other code in its place.
fn plain_dependency(value: &str) -> bool {
    !["path=", "git=", "package=", "registry", "\"path\"", "\"git\"", "\"package\"", "branch=", "rev="]
        .iter()
        .any(|mark| value.contains(mark))
}

/// `pyproject.toml`: the project's own description and dependencies, and the tools that judge style, may change.
fn python(change: &Change) -> Option<String> {
    if change.before.is_none() {
        return Some("it is new, and would decide where the tests are looked for".to_owned());
    }
    toml_differences(change, |entry, existed| {
        let (section, key) = (entry.section.as_str(), entry.key.as_str());
        let styles = ["ruff", "black", "isort", "mypy", "pyright", "flake8", "pylint"];
        let tool = section.strip_prefix("tool.").and_then(|rest| rest.split('.').next()).unwrap_or_default();
        match section {
            "project" => !matches!(key, "scripts" | "gui-scripts" | "entry-points" | "dynamic") && !key.contains('.'),
            "project.optional-dependencies" | "dependency-groups" | "project.urls" | "packages" | "dev-packages" => {
                plain_dependency(&entry.value)
            }
            "project.scripts" => key.is_empty() || !existed && !shadow::is_program(key),
            "tool.setuptools.package-data" => true,
            _ if styles.contains(&tool) => true,
            _ if section.starts_with("tool.poetry") && section.ends_with("dependencies") => {
                plain_dependency(&entry.value)
            }
            _ => false,
        }
    })
}

/// The first entry that differs and may not; `may(entry, whether its key existed)`.
fn toml_differences(change: &Change, may: impl Fn(&Entry, bool) -> bool) -> Option<String> {
    if change.after.is_none() {
        return Some("it was deleted".to_owned());
    }
    let (Some(before), Some(after)) = (toml::entries(change.before()), toml::entries(change.after())) else {
        return Some("it can no longer be read as TOML".to_owned());
    };
    let has_key = |entries: &[Entry], wanted: &Entry| {
        entries.iter().any(|entry| entry.section == wanted.section && entry.key == wanted.key)
    };
    let gone = before.iter().filter(|entry| !after.contains(entry));
    let come = after.iter().filter(|entry| !before.contains(entry));
    let differing = gone.map(|entry| (entry, true)).chain(come.map(|entry| (entry, has_key(&before, entry))));
    let forbidden = differing.into_iter().find(|(entry, existed)| !may(entry, *existed))?.0;
    Some(format!("[{}] {}", forbidden.section, forbidden.key))
}

/// `package.json`, `composer.json`: known keys may change; scripts that were there, and those that run by themselves, may not.
fn json(change: &Change, known: &str) -> Option<String> {
    if change.after.is_none() {
        return Some("it was deleted".to_owned());
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    let before =
        if change.before.is_some() { parse(change.before()) } else { Some(Value::Object(serde_json::Map::new())) };
    let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, parse(change.after())) else {
        // One that could not be read before is the fault to be mended.
        let mended = change.before.is_some() && parse(change.before()).is_none() && parse(change.after()).is_some();
        return (!mended).then(|| "it cannot be read as JSON".to_owned());
    };
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let differing = keys.filter(|key| before.get(*key) != after.get(*key));
    for key in differing {
        let (old, new) = (before.get(key), after.get(key));
        if !lists(known, key) {
            return Some(format!("`{key}`"));
        }
        let what = match key.as_str() {
            "scripts" => scripts(old, new),
            "bin" => programs(old, new),
            key if key.ends_with("ependencies") || key.starts_with("require") => packages(old, new),
            _ => None,
        };
        if let Some(what) = what {
            return Some(format!("`{key}`: {what}"));
        }
    }
    None
}

/// A program that would be found in another's place, or is another than it was.
fn programs(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let of = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (of(old), of(new));
    let altered = before.keys().find(|name| after.get(*name) != before.get(*name));
    let added = after.keys().find(|name| !before.contains_key(*name) && shadow::is_program(name));
    let is_plain = old.is_some_and(Value::is_string);
    let name = altered.or(added).cloned().or_else(|| is_plain.then(|| "its own".to_owned()))?;
    Some(format!("the program `{name}`"))
}

fn scripts(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let empty = serde_json::Map::new();
    let (old, new) =
        (old.and_then(Value::as_object).unwrap_or(&empty), new.and_then(Value::as_object).unwrap_or(&empty));
    let altered = old.iter().find(|(name, line)| new.get(*name) != Some(*line)).map(|(name, _)| name);
    let runs_by_itself = |name: &&String| {
        let around =
            ["pre", "post"].iter().any(|mark| name.strip_prefix(mark).is_some_and(|rest| old.contains_key(rest)));
        around || lists(NPM_LIFECYCLE, name) || name.starts_with("test")
    };
    let added = new.keys().filter(|name| !old.contains_key(*name)).find(runs_by_itself);
    altered.or(added).map(|name| format!("the script `{name}`"))
}

/// A package that is taken from elsewhere than the registry.
fn packages(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let new = new.and_then(Value::as_object)?;
    let old = old.and_then(Value::as_object);
    let elsewhere = |version: &Value| {
        let version = version.as_str().unwrap_or("{");
        version.contains([':', '/', '{', '#']) || version.starts_with('.')
    };
    let changed = new.iter().filter(|(name, version)| old.and_then(|old| old.get(*name)) != Some(*version));
    changed
        .into_iter()
        .find(|(_, version)| elsewhere(version))
        .map(|(name, _)| format!("`{name}` comes from elsewhere"))
}

/// `go.mod`: requirements may change; what puts other code or another toolchain in a place may not.
fn go(change: &Change) -> Option<String> {
    if change.after.is_none() {
        return Some("it was deleted".to_owned());
    }
    let directives = |text: &str| {
        let mut block = String::new();
        let mut found: Vec<String> = Vec::new();
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if let Some(name) = line.strip_suffix('(') {
                block = name.trim().to_owned();
            } else if line == ")" {
                block.clear();
            } else if !line.is_empty() {
                let words: Vec<&str> = line.split_whitespace().collect();
                found.push(format!("{block} {}", words.join(" ")).trim().to_owned());
            }
        }
        found.retain(|line| !line.starts_with("require ") && !line.starts_with("go "));
        found
    };
    let (before, after) = (directives(change.before()), directives(change.after()));
    let first = before
        .iter()
        .find(|line| !after.contains(line))
        .or_else(|| after.iter().find(|line| !before.contains(line)))?;
    change.before.is_some().then(|| first.clone())
}
