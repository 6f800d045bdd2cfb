//! Finds out from a repository's files how its tests are run (S0-42).
//!
//! Looks at names and contents of files, runs nothing. There is one module per family of languages, and each answers with a command, the
//! framework and the sign that gave it away.
//!
//! Invariant: reads only regular files of bounded size. A detected command is a suggestion that a given one overrides.

mod compiled;
mod folder;
mod found;
mod javascript;
mod python;
mod scripting;
#[cfg(test)]
mod tests;
mod walk;

use std::path::Path;

pub use self::found::Detected;

use self::folder::Folder;
use self::found::found;
use super::calls;
use crate::domain::shell::quote_path;

/// More projects side by side than this are a matter for a given command.
const MOST_PROJECTS: usize = 16;
/// More folders than this inside one folder are not looked into.
const MOST_LOOKED_AT: usize = 100;
/// Folders below which files belong to the outer project, or are not meant to be run with it.
const HOLDS_NO_PROJECTS: [&str; 8] = ["test", "tests", "spec", "examples", "example", "samples", "scripts", "src"];

/// Finds out how a repository's tests are run (S0-42).
#[must_use]
pub fn detect(root: &Path) -> Option<Detected> {
    one_project(root).or_else(|| projects_below(root))
}

/// Which framework a given command runs, as far as its words or the repository's files say.
#[must_use]
pub fn framework_of(command: &str, root: &Path) -> Option<String> {
    let by_words = calls::framework_of(command).map(|found| found.name.to_owned());
    by_words.or_else(|| {
        // The repository's own framework may differ from that of a given command, so the two have to be the same
        // command.
        let detected = detect(root).filter(|found| found.command == command.trim())?;
        (detected.framework != "generic").then_some(detected.framework)
    })
}

fn one_project(root: &Path) -> Option<Detected> {
    let folder = Folder::open(root)?;
    // The order of S0-42; what it does not name comes after, and build files last.
    javascript::package_json(&folder)
        .or_else(|| python::detect(&folder))
        .or_else(|| compiled::rust(&folder))
        .or_else(|| scripting::ruby(&folder))
        .or_else(|| compiled::java(&folder))
        .or_else(|| compiled::go(&folder))
        .or_else(|| compiled::dotnet(&folder))
        .or_else(|| scripting::php(&folder))
        .or_else(|| scripting::elixir(&folder))
        .or_else(|| javascript::deno(&folder))
        .or_else(|| compiled::c_family(&folder))
        .or_else(|| scripting::small_ones(&folder))
        .or_else(|| javascript::without_script(&folder))
        .or_else(|| python::plain_unittest(&folder))
        .or_else(|| build_files(&folder))
}

/// A monorepo without anything at its root: the projects one level below, or two (`apps/web`), all of them.
fn projects_below(root: &Path) -> Option<Detected> {
    let folder = Folder::open(root)?;
    let mut found: Vec<(String, Detected)> = Vec::new();
    for name in &folder.folders {
        if !walk::is_of_interest(name) {
            continue;
        }
        if let Some(detected) = one_project(&root.join(name)) {
            found.push((name.clone(), detected));
            continue;
        }
        if !HOLDS_NO_PROJECTS.contains(&name.as_str()) {
            found.extend(projects_in(root, name));
        }
        // Asked in the loop, too: a repository of thousands of folders is not read to its end for nothing.
        if found.len() > MOST_PROJECTS {
            return None;
        }
    }
    if found.is_empty() || found.len() > MOST_PROJECTS {
        return None;
    }
    // Output of several frameworks has no reader of its own, so the generic one looks at it.
    let same = found.iter().all(|(_, one)| Some(&one.framework) == found.first().map(|(_, first)| &first.framework));
    let framework =
        found.first().filter(|_| same).map_or_else(|| "generic".to_owned(), |(_, one)| one.framework.clone());
    let why = found.iter().map(|(name, one)| format!("{name}: {}", one.why)).collect::<Vec<_>>().join("; ");
    let command = match found.as_slice() {
        [(name, one)] => format!("cd {} && {}", quote_path(name), one.command),
        // Every project is run, and one that fails makes the whole fail.
        several => {
            let parts: Vec<String> = several
                .iter()
                .map(|(name, one)| format!("(cd {} && {}) || code=$?", quote_path(name), one.command))
                .collect();
            format!("code=0; {}; exit $code", parts.join("; "))
        }
    };
    Some(Detected { command, framework, why })
}

/// The projects in a folder that is none itself.
fn projects_in(root: &Path, outer: &str) -> Vec<(String, Detected)> {
    let Some(folder) = Folder::open(&root.join(outer)) else { return Vec::new() };
    let names = folder.folders.iter().filter(|name| walk::is_of_interest(name)).take(MOST_LOOKED_AT);
    let projects = names.filter_map(|name| {
        let path = format!("{outer}/{name}");
        Some((path.clone(), one_project(&root.join(&path))?))
    });
    // One more than allowed, so that the caller sees that there are too many.
    projects.take(MOST_PROJECTS + 1).collect()
}

/// Endings of the files that go-task reads, in its own order.
const TASK_ENDINGS: [&str; 4] = [".yml", ".yaml", ".dist.yml", ".dist.yaml"];

/// `make test`, `just test`, `task test`, and Python's runners of environments.
fn build_files(folder: &Folder) -> Option<Detected> {
    for name in ["GNUmakefile", "Makefile", "makefile"] {
        let Some(text) = folder.read(name) else { continue };
        for target in ["test", "tests", "check"] {
            if text.lines().any(|line| is_rule_of(line, target)) {
                return found(&format!("make {target}"), "generic", format!("{name} has a target `{target}`"));
            }
        }
    }
    // just itself does not care for capitals.
    let is_justfile = |name: &&String| ["justfile", ".justfile"].iter().any(|one| name.eq_ignore_ascii_case(one));
    for name in folder.files.iter().filter(is_justfile) {
        let Some(text) = folder.read(name) else { continue };
        // `@test:` is a recipe that does not echo its commands.
        if text.lines().any(|line| line.strip_prefix('@').unwrap_or(line).strip_prefix("test").is_some_and(is_recipe)) {
            return found("just test", "generic", format!("{name} has a recipe `test`"));
        }
    }
    for name in ["Taskfile", "taskfile"].iter().flat_map(|stem| TASK_ENDINGS.map(|end| format!("{stem}{end}"))) {
        let name = name.as_str();
        if folder.read(name).is_some_and(|text| text.lines().any(|line| line.trim_end() == "  test:")) {
            return found("task test", "generic", format!("{name} has a task `test`"));
        }
    }
    // Where they run pytest or unittest, these are run without them: it is faster, and can be filtered.
    if folder.read("tox.ini").is_some_and(|text| text.contains("[testenv") && text.contains("commands")) {
        return found("tox", "generic", "tox.ini has test environments".to_owned());
    }
    if folder.read("pyproject.toml").is_some_and(|text| text.lines().any(|line| line.starts_with("[tool.tox"))) {
        return found("tox", "generic", "pyproject.toml configures tox".to_owned());
    }
    if folder.read("noxfile.py").is_some_and(|text| text.contains("nox.session")) {
        return found("nox", "generic", "noxfile.py has sessions".to_owned());
    }
    None
}

/// `test: deps` and `test check: deps` are rules of `test`, `test := value` is not.
fn is_rule_of(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let names = !line.starts_with(['\t', ' ', '#']) && targets.split_whitespace().any(|one| one == target);
    names && !rest.starts_with('=') && !rest.starts_with(":=")
}

fn is_recipe(rest: &str) -> bool {
    let Some((parameters, _)) = rest.split_once(':') else { return false };
    (parameters.is_empty() || parameters.starts_with(' ')) && !rest.contains(":=")
}
