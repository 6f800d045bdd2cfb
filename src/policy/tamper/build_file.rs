//! Build files that are programs: compared where they speak of tests, since nobody but their own tool can read the rest.

use std::collections::BTreeMap;

use super::Change;
use super::squeeze::{spaced, spellings, squeeze};

/// Words in a rule's or task's name that make it one of the tests.
const TEST_WORDS: [&str; 6] = ["test", "check", "spec", "coverage", "verify", "junit"];
/// Words by which a line of a build script speaks of tests.
const TEST_LINES: [&str; 17] = [
    "test",
    "spec",
    "junit",
    "surefire",
    "failsafe",
    "jacoco",
    "coverage",
    "ignorefailures",
    "onlyif",
    "skip",
    "exclude",
    "enabled",
    "filter",
    "will_fail",
    "timeout",
    "threshold",
    "retry",
];
/// Names that decide how make runs every recipe.
const MAKE_SPECIAL: [&str; 12] = [
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    ".IGNORE",
    ".SILENT",
    ".ONESHELL",
    ".DEFAULT",
    ".DEFAULT_GOAL",
    "MAKE",
    "PATH",
    ".POSIX",
];
/// Commands of CMake that declare tests or change what their result means.
const CMAKE_COMMANDS: [&str; 12] = [
    "add_test",
    "set_tests_properties",
    "enable_testing",
    "gtest_discover_tests",
    "gtest_add_tests",
    "catch_discover_tests",
    "doctest_discover_tests",
    "set_property",
    "include_directories_before",
    "find_program",
    "set_directory_properties",
    "add_custom_target",
];
/// Commands that give a target its sources: a test's target may gain some and loses none.
const CMAKE_SOURCES: [&str; 3] = ["add_executable", "add_library", "target_sources"];
/// Commands that say how a target or a source is built: nothing of the tests is built otherwise.
const CMAKE_BUILDS: [&str; 7] = [
    "target_compile_definitions",
    "target_compile_options",
    "target_link_options",
    "target_precompile_headers",
    "set_target_properties",
    "set_source_files_properties",
    "add_custom_command",
];
/// Sections of an INI file that configure tests.
const INI_SECTIONS: [&str; 8] = ["pytest", "coverage", "aliases", "unittest", "nose", "test", "entry_points", "tox"];

/// What of a build file's change speaks of tests.
pub(super) fn compare(change: &Change) -> Option<String> {
    let name = change.name();
    let lower = name.to_ascii_lowercase();
    let extension = lower.rsplit_once('.').map_or("", |(_, extension)| extension);
    match lower.as_str() {
        "makefile" | "gnumakefile" | "justfile" | ".justfile" => rules(change),
        "cmakelists.txt" => cmake(change),
        "setup.cfg" => ini(change),
        "pom.xml" => maven(change),
        "setup.py" => lines(change, &["test_suite", "tests_require", "cmdclass", "entry_points", "pytest11"]),
        "rakefile" | "gemfile" | "mix.exs" | "build.zig" | "meson.build" | "build.sbt" | "build.xml"
        | "package.swift" | "taskfile.yml" | "taskfile.yaml" | "tasks.py" | "dodo.py" | "fabfile.py" | "noxfile.py"
        | "gulpfile.js" | "gruntfile.js" | "build" | "build.bazel" | "deno.json" | "deno.jsonc" | "turbo.json"
        | "nx.json" | "project.json" | "lerna.json" | "dune" | "dune-project" => lines(change, &TEST_LINES),
        _ if lower.starts_with("vite.config.") => vite(change),
        _ if lower.starts_with("build.gradle") || lower.starts_with("settings.gradle") => lines(change, &TEST_LINES),
        _ if matches!(extension, "cmake") => cmake(change),
        _ if matches!(extension, "mk" | "mak" | "just") => rules(change),
        _ if matches!(extension, "csproj" | "fsproj" | "vbproj" | "props" | "targets" | "gemspec" | "cabal") => {
            lines(change, &TEST_LINES)
        }
        _ => None,
    }
}

/// The first line that came or went and holds one of the words.
fn lines(change: &Change, words: &[&str]) -> Option<String> {
    let (before, after) = (counted(change.before()), counted(change.after()));
    let speaks = |line: &&str| {
        let line = line.to_ascii_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    let differs = |line: &&str| before.get(line) != after.get(line);
    before.keys().chain(after.keys()).copied().filter(differs).find(speaks).map(|line| format!("`{line}`"))
}

fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        *lines.entry(line).or_insert(0) += 1;
    }
    lines
}

/// Makefiles and justfiles: rules about tests, and the variables that they use, stay as they are.
fn rules(change: &Change) -> Option<String> {
    // New rules that would be used in others' place are `shadow`'s to find.
    change.before.as_ref()?;
    let (before, after) = (blocks(change.before()), blocks(change.after()));
    let is_test = |header: &str| {
        let header = header.to_ascii_lowercase();
        TEST_WORDS.iter().any(|word| header.contains(word))
    };
    let deciding = deciding(&before, is_test);
    let is_test = |header: &str| is_test(header) || deciding.iter().any(|(decides, _)| decides == header);
    let recipes: String = deciding.iter().map(|(header, body)| format!("{header}\n{body}\n")).collect();
    let differing = before
        .iter()
        .filter(|block| !after.contains(block))
        .chain(after.iter().filter(|block| !before.contains(block)));
    for (header, body) in differing {
        let used = variable(header).is_some_and(|name| MAKE_SPECIAL.contains(&name) || uses(&recipes, name));
        let directive = [
            "include", "-include", "sinclude", "export", "override", "define", "import", "set ", "vpath", "ifeq",
            "ifdef", "ifneq", "else", "endif",
        ]
        .iter()
        .any(|word| header.starts_with(word));
        if is_test(header)
            || used
            || directive
            || MAKE_SPECIAL.iter().any(|name| header.starts_with(name))
            || body.contains("$(MAKE)")
        {
            return Some(format!("`{}`", header.trim()));
        }
    }
    None
}

/// The rules about tests, the rules that those without a recipe stand for, and the variables that they use, directly or by others.
fn deciding(blocks: &[(String, String)], is_test: impl Fn(&str) -> bool) -> Vec<&(String, String)> {
    let mut found: Vec<&(String, String)> = blocks.iter().filter(|(header, _)| is_test(header)).collect();
    let mut at = 0;
    while let Some((header, body)) = found.get(at).copied() {
        at += 1;
        let text = format!("{header}\n{body}");
        let alias = header.split_once(':').filter(|_| body.trim().is_empty() && variable(header).is_none());
        let stands_for = |other: &str| {
            let target = other.split_once(':').map(|(targets, _)| targets);
            alias.is_some_and(|(_, names)| {
                target.is_some_and(|targets| {
                    targets.split_whitespace().any(|one| names.split_whitespace().any(|name| name == one))
                })
            })
        };
        for block in blocks {
            let is_used = variable(&block.0).is_some_and(|name| uses(&text, name)) || stands_for(&block.0);
            if is_used && !found.contains(&block) {
                found.push(block);
            }
        }
    }
    found
}

/// Whether a text takes the value of a variable of make or just.
fn uses(text: &str, name: &str) -> bool {
    [format!("$({name})"), format!("${{{name}}}"), format!("{{{{{name}}}}}")]
        .iter()
        .any(|form| text.contains(form.as_str()))
}

/// A line that is not indented, with the indented ones below it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        match found.last_mut() {
            Some((_, body)) if line.starts_with(['\t', ' ']) => {
                body.push_str(line.trim());
                body.push('\n');
            }
            _ => found.push((line.trim_end().to_owned(), String::new())),
        }
    }
    found
}

/// The name of the variable that a line sets.
fn variable(header: &str) -> Option<&str> {
    let (name, _) = header.split_once('=')?;
    let name = name.trim_end_matches(['?', '+', ':', '!']).trim();
    (!name.is_empty() && !name.contains([' ', '('])).then_some(name)
}

/// CMake: commands that declare tests, and those that mention them, stay as they are.
fn cmake(change: &Change) -> Option<String> {
    let commands = |text: &str| {
        let squeezed = squeeze("x.toml", text).to_ascii_lowercase();
        let mut found: Vec<String> = Vec::new();
        for name in CMAKE_COMMANDS {
            for (at, _) in squeezed.match_indices(&format!("{name}(")) {
                let call = squeezed.get(at..).and_then(|rest| rest.split_once(')')).map_or("", |(call, _)| call);
                let custom = matches!(name, "set_property" | "add_custom_target" | "find_program");
                if !custom || ["test", "check"].iter().any(|word| call.contains(word)) {
                    found.push(call.to_owned());
                }
            }
        }
        for word in [
            "will_fail",
            "pass_regular_expression",
            "skip_return_code",
            "skip_regular_expression",
            "ctest_",
            "build_testing",
            "include(ctest",
            "ndebug",
            "cmake_build_type",
        ] {
            found.extend(squeezed.match_indices(word).map(|_| word.to_owned()));
        }
        found.sort();
        found
    };
    if let Some(call) = built_otherwise(change) {
        return Some(call);
    }
    let (before, after) = (commands(change.before()), commands(change.after()));
    if before == after {
        return None;
    }
    let first =
        before.iter().find(|call| !after.contains(call)).or_else(|| after.iter().find(|call| !before.contains(call)));
    Some(first.map_or_else(|| "its tests".to_owned(), |call| format!("`{call}`")))
}

/// A call by which a target of the tests is built otherwise than at the start.
fn built_otherwise(change: &Change) -> Option<String> {
    let calls = |text: &str| -> Vec<(String, Vec<String>)> {
        let text = spaced("x.toml", text).to_ascii_lowercase().replace('(', " ( ").replace(')', " ) ");
        let mut found = Vec::new();
        for part in text.split(')') {
            let Some((head, arguments)) = part.split_once('(') else { continue };
            let name = head.split_whitespace().last().unwrap_or_default();
            let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            let known = CMAKE_SOURCES.contains(&name) || CMAKE_BUILDS.contains(&name);
            if known && arguments.iter().any(|one| ["test", "check", "spec"].iter().any(|word| one.contains(word))) {
                found.push((name.to_owned(), arguments));
            }
        }
        found
    };
    let (before, after) = (calls(change.before()), calls(change.after()));
    let shown = |(name, arguments): &(String, Vec<String>)| format!("`{name}({})`", arguments.join(" "));
    let is_source = |call: &&(String, Vec<String>)| CMAKE_SOURCES.contains(&call.0.as_str());
    let kept = |old: &(String, Vec<String>)| {
        after.iter().any(|new| {
            let more = new.0 == old.0 && new.1.first() == old.1.first() && old.1.iter().all(|one| new.1.contains(one));
            *new == *old || is_source(&old) && more
        })
    };
    let lost = before.iter().find(|old| !kept(old));
    lost.or_else(|| after.iter().find(|new| !is_source(new) && !before.contains(new))).map(shown)
}

/// INI: sections that configure tests stay as they are.
fn ini(change: &Change) -> Option<String> {
    let sections = |text: &str| {
        let mut name = String::new();
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        for line in text.lines() {
            let plain = line.trim();
            if let Some(heading) = plain.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                heading.0.trim().clone_into(&mut name);
            } else if !plain.is_empty()
                && !plain.starts_with(['#', ';'])
                && INI_SECTIONS.iter().any(|word| name.contains(word))
            {
                let section = found.entry(name.clone()).or_default();
                section.push_str(plain);
                section.push('\n');
            }
        }
        found
    };
    let (before, after) = (sections(change.before()), sections(change.after()));
    let names = before.keys().chain(after.keys());
    names.into_iter().find(|name| before.get(*name) != after.get(*name)).map(|name| format!("[{name}]"))
}

/// Maven: plugins, profiles, modules and properties about tests stay as they are; dependencies may change.
fn maven(change: &Change) -> Option<String> {
    let parts = |text: &str| {
        let squeezed = squeeze("pom.xml", text);
        let mut found: Vec<(&str, String)> = ["build", "profiles", "parent", "modules", "reporting"]
            .into_iter()
            .map(|name| (name, element(&squeezed, name).unwrap_or_default().to_owned()))
            .collect();
        let properties = element(&squeezed, "properties").unwrap_or_default().to_owned();
        let about_tests = |part: &&str| {
            let part = part.to_ascii_lowercase();
            ["test", "skip", "argline", "surefire", "failsafe", "groups", "it."].iter().any(|word| part.contains(word))
        };
        let properties: Vec<&str> = properties.split('<').filter(about_tests).collect();
        found.push(("properties", properties.join("<")));
        found
    };
    let (before, after) = (parts(change.before()), parts(change.after()));
    before.iter().zip(&after).find(|(old, new)| old != new).map(|((name, _), _)| format!("<{name}>"))
}

/// All from the first opening of an element to its last closing.
fn element<'t>(squeezed: &'t str, name: &str) -> Option<&'t str> {
    let start = squeezed.find(&format!("<{name}>"))?;
    let end = squeezed.rfind(&format!("</{name}>"))?;
    squeezed.get(start..end)
}

/// Vite: the `test` block, and lines that name the runner, stay as they are.
fn vite(change: &Change) -> Option<String> {
    let block = |text: &str| {
        let squeezed = ["'test'", "\"test\"", "`test`"]
            .iter()
            .fold(spellings("vite.js", text), |text, quoted| text.replace(quoted, "test"))
            .replace("[test]", "test");
        let start = squeezed.find("test:{")?;
        let rest = squeezed.get(start..)?;
        let mut depth = 0_usize;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            *c == '}' && depth == 0
        });
        rest.get(..end.map_or(rest.len(), |(at, _)| at)).map(str::to_owned)
    };
    if block(change.before()) != block(change.after()) {
        return Some("the block `test`".to_owned());
    }
    lines(change, &["vitest", "mergeconfig", "reporter", "setupfiles", "process."])
}
