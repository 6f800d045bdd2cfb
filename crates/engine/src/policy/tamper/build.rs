//! Build files and manifests of a change: with the start's parts about tests in them, and the lines that a reviewer should see.

use serde_json::{Map, Value};

use super::change::Change;
use crate::domain::line_diff::{Side, changed_lines};
use crate::framework::build_files::{
    Shape, adds_sources, is_ordinary, judges_by_heading, judges_by_key, runs_by_itself, shape_of,
};

/// A build file as a change has it, but for what it says about tests: that is the start's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The whole text.
    pub text: String,
    /// The parts that were put back.
    pub parts: Vec<String>,
}

/// Whether a file says how the product is built, or how its tests are run.
#[must_use]
pub fn is_build_file(path: &str) -> bool {
    shape_of(path).is_some()
}

/// A changed build file with the start's parts about tests. `None` where they are the same, or cannot be told from the rest.
#[must_use]
pub fn merged(change: &Change) -> Option<Merged> {
    let (before, after) = (change.before.as_deref()?, change.after.as_deref()?);
    match shape_of(&change.path)? {
        Shape::Json => merged_json(before, after),
        Shape::Sections => merged_sections(before, after),
        Shape::Whole => None,
    }
}

/// The parts that would be judged as they were, in a sentence.
#[must_use]
pub fn judged_as_it_was(change: &Change) -> Option<String> {
    let merged = merged(change).filter(|_| !change.may_edit_tests)?;
    Some(format!("the test settings in {} are judged as they were: {}", change.path, merged.parts.join(", ")))
}

fn merged_json(before: &str, after: &str) -> Option<Merged> {
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    let (before, mut after) = (parse(before)?, parse(after)?);
    let mut parts = Vec::new();
    // Keys of both sides: one that judges may be new, and one that judged may be gone.
    let judging: Vec<String> = before.keys().chain(after.keys()).filter(|key| judges_by_key(key)).cloned().collect();
    for key in judging {
        if put(&mut after, &key, before.get(&key)) {
            parts.push(format!("`{key}`"));
        }
    }
    let none = Map::new();
    let was = before.get("scripts").and_then(Value::as_object).unwrap_or(&none);
    // An empty place, so that scripts which were taken out altogether are put back below like single ones.
    if after.get("scripts").is_none() && !was.is_empty() {
        after.insert("scripts".to_owned(), Value::Object(none.clone()));
    }
    if let Some(scripts) = after.get_mut("scripts").and_then(Value::as_object_mut) {
        let known = |name: &str| was.contains_key(name);
        let names: Vec<String> =
            // A new script is left where no other calls it by itself: package managers run `pretest` before `test`
            // unasked.
            was.keys().chain(scripts.keys().filter(|name| runs_by_itself(name, &known))).cloned().collect();
        for name in names {
            if put(scripts, &name, was.get(&name)) {
                parts.push(format!("the script `{name}`"));
            }
        }
    }
    let text = serde_json::to_string_pretty(&after).ok()?;
    (!parts.is_empty()).then_some(Merged { text, parts })
}

/// Puts a value in a key's place, or takes the key out. Returns whether that changes anything.
fn put(map: &mut Map<String, Value>, key: &str, value: Option<&Value>) -> bool {
    if map.get(key) == value {
        return false;
    }
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        // Not `swap_remove`, which would move the last key and so make a change that nobody made.
        None => drop(map.shift_remove(key)),
    }
    true
}

fn merged_sections(before: &str, after: &str) -> Option<Merged> {
    let (was, now) = (sections(before), sections(after));
    let judges = |section: &&Section<'_>| judges_by_heading(section.heading);
    let (old, new): (Vec<_>, Vec<_>) = (was.iter().filter(judges).collect(), now.iter().filter(judges).collect());
    // Compared by what they say: new blanks and comments are no new settings.
    let differs = |one: &&&Section<'_>, others: &[&Section<'_>]| !others.iter().any(|other| other.says() == one.says());
    let gone = old.iter().filter(|one| differs(one, &new));
    let parts: Vec<String> =
        new.iter().filter(|one| differs(one, &old)).chain(gone).map(|one| format!("`{}`", one.heading)).collect();
    if parts.is_empty() {
        return None;
    }
    let mut text: String = now.iter().filter(|section| !judges(section)).map(|section| section.text).collect();
    // The start's go to the end. A table's place among others means nothing, but a section reaches to the next
    // heading.
    for section in old {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(section.text);
    }
    let mut parts = parts;
    parts.dedup();
    Some(Merged { text, parts })
}

/// A heading with what stands under it.
struct Section<'t> {
    heading: &'t str,
    text: &'t str,
}

impl<'t> Section<'t> {
    /// Its lines without blanks and comments.
    fn says(&self) -> Vec<&'t str> {
        self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).collect()
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let is_heading = |line: &str| line.starts_with('[') && line.trim_end().ends_with(']');
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // The first section begins at 0 in any case. It has no heading where keys stand before all tables.
        if is_heading(line) && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let section = |(start, end): (&usize, usize)| {
        let text = text.get(*start..end).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default().trim();
        Section { heading: if is_heading(first) { first } else { "" }, text }
    };
    starts.iter().zip(ends).map(section).collect()
}

/// The first line of a changed build file that a reviewer should see, with its number where it stands there now. `needed` says that the
/// tests do not pass without the change's own file.
#[must_use]
pub fn telling_line(change: &Change, needed: bool) -> Option<(Option<u32>, String)> {
    let (before, after) = (change.before(), change.after());
    let mut removed: Vec<&str> = Vec::new();
    let mut gone = None;
    for line in changed_lines(before, after) {
        let text = line.text.trim();
        match line.side {
            Side::Old => {
                removed.push(text);
                // Not told at once: the same line may come back with a comma or a source more.
                if gone.is_none() && !is_ordinary(text, needed) {
                    gone = Some(text);
                }
            }
            Side::New => {
                // A comma behind the last of a list, or a source more.
                let bare = |line: &str| line.trim_end_matches(',').to_owned();
                let more = removed.iter().position(|old| bare(old) == bare(text) || adds_sources(old, text));
                if let Some(old) = more {
                    let old = removed.swap_remove(old);
                    gone = gone.filter(|gone| *gone != old);
                } else if !is_ordinary(text, needed) {
                    // A line that stands in the file can be shown in the diff, so it goes before one that is gone.
                    return Some((Some(line.number), text.to_owned()));
                }
            }
        }
    }
    gone.map(|line| (None, line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: &str, after: &str) -> Change {
        Change {
            path: path.to_owned(),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
            may_edit_tests: false,
        }
    }

    fn parts(path: &str, before: &str, after: &str) -> Vec<String> {
        merged(&change(path, before, after)).map(|merged| merged.parts).unwrap_or_default()
    }

    const NPM: &str = r#"{ "name": "a", "scripts": { "test": "jest", "build": "tsc" }, "jest": { "bail": 1 } }"#;

    #[test]
    fn scripts_that_were_there_and_what_a_runner_reads_are_the_starts() {
        for (old, new, part) in [
            (r#""test": "jest""#, r#""test": "true""#, "the script `test`"),
            (r#""build": "tsc""#, r#""build": "true""#, "the script `build`"),
            (r#""build": "tsc""#, r#""build": "tsc", "pretest": "node x.js""#, "the script `pretest`"),
            (r#""bail": 1"#, r#""testMatch": []"#, "`jest`"),
            (r#""name": "a","#, r#""name": "a", "mocha": {},"#, "`mocha`"),
        ] {
            let after = NPM.replace(old, new);
            assert_eq!(parts("package.json", NPM, &after), [part]);
            let text = merged(&change("package.json", NPM, &after)).unwrap().text;
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(value(&text), value(NPM), "{new}");
        }
        let gone = r#"{ "name": "a", "jest": { "bail": 1 } }"#;
        assert_eq!(parts("package.json", NPM, gone), ["the script `test`", "the script `build`"]);
        for (old, new) in [
            (r#""name": "a","#, r#""name": "a", "dependencies": { "lodash": "^4.0.0" },"#),
            (r#""build": "tsc""#, r#""build": "tsc", "lint": "eslint .""#),
            (r#""name": "a","#, r#""name": "a", "type": "module","#),
        ] {
            assert_eq!(parts("package.json", NPM, &NPM.replace(old, new)), [""; 0], "{new}");
        }
        assert_eq!(parts("package.json", "{ broken", NPM), [""; 0], "what was broken is mended");
    }

    #[test]
    fn sections_about_tests_are_the_starts() {
        let cargo = "[package]\nname = \"a\"\n\n[dependencies]\nserde = \"1\"\n";
        let more = format!("{cargo}rand = \"0.9\"\n\n[profile.test]\ndebug-assertions = false\n");
        let merged = merged(&change("Cargo.toml", cargo, &more)).unwrap();
        assert_eq!(merged.parts, ["`[profile.test]`"]);
        assert_eq!(merged.text, format!("{cargo}rand = \"0.9\"\n\n"));
        let python = "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n[tool.ruff]\n";
        assert_eq!(parts("pyproject.toml", python, &python.replace("-q", "-k x")), ["`[tool.pytest.ini_options]`"]);
        assert_eq!(parts("pyproject.toml", python, &python.replace("\"a\"", "\"b\"")), [""; 0]);
        assert_eq!(
            parts("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n"),
            ["`[tool:pytest]`"]
        );
        assert_eq!(parts("Makefile", "test:\n\ta\n", "test:\n\ttrue\n"), [""; 0], "read by its own tool alone");
    }

    #[test]
    fn a_reviewer_sees_the_line_that_decides_and_no_ordinary_one() {
        let told = |path: &str, before: &str, after: &str| telling_line(&change(path, before, after), false);
        let make = "CC = cc\n\ntest: prog\n\t./run prog\n";
        let line = |number: Option<u32>, text: &str| Some((number, text.to_owned()));
        assert_eq!(told("Makefile", make, &make.replace("./run", "-./run")), line(Some(4), "-./run prog"));
        assert_eq!(told("Makefile", make, &make.replace("\t./run prog\n", "")), line(None, "./run prog"));
        let cmake = "add_library(a a.c)\nadd_test(NAME t COMMAND t)\n";
        assert_eq!(told("CMakeLists.txt", cmake, &cmake.replace("a.c", "a.c b.c")), None);
        assert!(told("CMakeLists.txt", cmake, &format!("{cmake}add_compile_definitions(NDEBUG)\n")).is_some());
        let npm = "{\n  \"scripts\": { \"test\": \"jest\" }\n}\n";
        let more = npm.replace("}\n}", "},\n  \"lint\": \"eslint .\"\n}");
        assert_eq!(told("package.json", npm, &more), line(Some(3), "\"lint\": \"eslint .\""));
        let go = "module a\n\ngo 1.22\n\nrequire example.org/b v1.0.0\n";
        assert_eq!(told("go.mod", go, &go.replace("v1.0.0", "v1.1.0")), None);
        assert!(told("go.mod", go, &format!("{go}replace example.org/b => ./fake\n")).is_some());
    }
}
