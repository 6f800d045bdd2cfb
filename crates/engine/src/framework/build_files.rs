//! Build files and manifests: how a product is built and, beside that, how its tests are run.
//!
//! Pure over names and texts. The court finds out which of these files a change needs, by running the tests with the start's
//! ([`crate::trial`]). The lists here only say which parts are a person's, as the files of test configuration are, and which lines are too
//! ordinary to be shown to a reviewer.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::domain::word_list::lists;

/// How a build file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// An object of JSON, whose keys are parts.
    Json,
    /// Sections under a heading in brackets: TOML, INI.
    Sections,
    /// A program or a text that only its own tool can read.
    Whole,
}

/// Manifests whose parts can be told apart.
const JSON: &str = "package.json composer.json";
const SECTIONS: &str = "cargo.toml pyproject.toml pipfile uv.toml setup.cfg";
/// Build files that are read whole, by name and by ending.
const WHOLE: &str = "go.mod makefile gnumakefile justfile .justfile cmakelists.txt pom.xml setup.py rakefile gemfile mix.exs build.zig \
    meson.build build.sbt build.xml package.swift taskfile.yml taskfile.yaml tasks.py dodo.py fabfile.py gulpfile.js gruntfile.js build \
    build.bazel deno.json deno.jsonc turbo.json nx.json project.json lerna.json dune dune-project";
const WHOLE_ENDINGS: &str = "cmake mk mak just csproj fsproj vbproj props targets gemspec cabal gradle kts";
/// Beginnings of names of such files.
const WHOLE_BEGINNINGS: [&str; 3] = ["build.gradle", "settings.gradle", "tsconfig"];

/// The shape of a build file, by its name. `None` for any other file.
#[must_use]
pub fn shape_of(path: &str) -> Option<Shape> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if lists(JSON, &name) {
        return Some(Shape::Json);
    }
    if lists(SECTIONS, &name) {
        return Some(Shape::Sections);
    }
    // `vite.config.ts`, `rollup.config.js`: bundlers transform what is tested.
    let bundles = name.contains(".config.") && lists("js cjs mjs ts cts mts", ending);
    let is_whole = lists(WHOLE, &name)
        || lists(WHOLE_ENDINGS, ending)
        || WHOLE_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || bundles;
    is_whole.then_some(Shape::Whole)
}

/// Keys of a JSON manifest that say what the product is and needs. Any other key may be read by a runner of tests.
const PRODUCT_KEYS: &str = "name version description license author contributors keywords repository homepage bugs funding files main module \
    browser types typings exports imports type sideEffects engines private bin publishConfig dependencies devDependencies peerDependencies \
    optionalDependencies peerDependenciesMeta packageManager workspaces overrides resolutions browserslist scripts \
    authors support require require-dev autoload suggest";
/// Scripts that are run by themselves.
const BY_THEMSELVES: &str =
    "test pretest posttest prepare prepack install preinstall postinstall prepublish prepublishOnly";
/// Words in the heading of a section that decides how tests are run.
const JUDGING_SECTIONS: [&str; 11] =
    ["test", "bench", "profile", "patch", "replace", "coverage", "tox", "nose", "alias", "entry", "behave"];

/// Whether a key of a JSON manifest may be read by a runner of tests.
#[must_use]
pub fn judges_by_key(key: &str) -> bool {
    !lists(PRODUCT_KEYS, key)
}

/// Whether a new script would be run although nobody calls it. `known` are the scripts that there were.
#[must_use]
pub fn runs_by_itself(script: &str, known: &dyn Fn(&str) -> bool) -> bool {
    let around = ["pre", "post"].iter().any(|mark| script.strip_prefix(mark).is_some_and(known));
    around || lists(BY_THEMSELVES, script) || script.starts_with("test")
}

/// Whether a section decides how tests are run, by its heading.
#[must_use]
pub fn judges_by_heading(heading: &str) -> bool {
    JUDGING_SECTIONS.iter().any(|word| heading.contains(word))
}

/// Lines of a build file that say nothing to a reviewer: a package by its name and version, a description, a source file more.
#[expect(clippy::unwrap_used, reason = "constants, which a test compiles")]
static ORDINARY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        // Nothing, a comment, brackets.
        r"^$|^#|^//|^<!--|^[\[\](){},;]*$",
        // `serde = "1"`, `"lodash": "^4.0.0",`, `requests>=2`, `require example.org/x v1.2.3`, `gem "rake", "~> 13"`.
        r#"^(?:require |gem )?["']?[@\w./-]+(?:\[[\w,-]+\])?["']?,? ?[:=]* ?["']?(?:[v^~<>=*! ]|\d)*\d[\w.*+\-, <>=^~|]*["']?,?(?: // indirect)?$"#,
        // `gem "bigdecimal"`, `"ext-intl": "*",`.
        r#"^gem ["'][\w-]+["']$|^["'][@\w./-]+["']: "\*",?$"#,
        // `"attrs",`, `dependencies = ["attrs>=1", "rich"]`.
        r#"^["'][\w.-]+(?:\[[\w,-]+\])?[\w.*, <>=!~^]*["'],?$|^\w*[dD]ependencies = \[[\w.\-"', <>=!~^*\[\]]*\]$"#,
        // `rand = { version = "0.9", features = ["std"] }`.
        r#"^[\w-]+ = \{ ?version = "[^"]*"(?:, (?:features|optional|default-features) = [^{}]*)*\}$"#,
        // `[dev-dependencies]`, `install_requires =`, `"require-dev": {`.
        r"^\[[\w.-]*dependencies[\w.-]*\]$|^(?:install_requires|dependencies) ?=$|^[\x22\w-]*(?:[dD]ependencies|require)[\x22\w-]*:? ?[\[({]+$",
        // `<artifactId>guava</artifactId>` of a pom.xml.
        r"^</?(?:dependency|dependencies|groupId|artifactId|version|scope)>",
        // `implementation("org.example:core:1.2")` of Gradle.
        r#"^(?:api|implementation|compileOnly|runtimeOnly|testImplementation)[ (]+["'][\w.:-]+["']\)?$"#,
        // A program more, or a module more in a build file that is code.
        r#"^\[\[bin\]\]$|^path = "src/[\w/-]+\.rs"$|^mod \w+;$"#,
    ])
    .unwrap()
});
/// Lines that describe a product: no test needs them, so that one which does is worth a look.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static DESCRIBES: LazyLock<Regex> = LazyLock::new(|| {
    let keys = "name|version|description|license|repository|homepage|authors?|readme|keywords|rust-version";
    Regex::new(&format!(r#"^["']?(?:{keys})["']? ?[:=]"#)).unwrap()
});
/// Endings of sources.
const SOURCES: &str = "c cc cpp cxx h hh hpp hxx rs go py js ts java kt cs fs swift f90 ml hs cu m mm s";

/// Whether a line says nothing to a reviewer. `needed` says that the tests do not pass without it or its like.
#[must_use]
pub fn is_ordinary(line: &str, needed: bool) -> bool {
    // Alignment with several blanks is a matter of taste, and the patterns know single ones.
    let plain = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let describes = DESCRIBES.is_match(&plain);
    // A description that the tests need is read by something: a version, for instance, that a program compares.
    if describes { !needed } else { ORDINARY.is_match(&plain) }
}

/// Whether a line is another one with names of sources more.
#[must_use]
pub fn adds_sources(old: &str, new: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.replace(['(', ')', ',', ';'], " ").split_whitespace().map(str::to_owned).collect()
    };
    let (old, new) = (words(old), words(new));
    let is_source = |word: &String| word.rsplit_once('.').is_some_and(|(_, ending)| lists(SOURCES, ending));
    let mut rest = old.iter().peekable();
    // The old words have to come in their order, and only sources may stand between them.
    let all_new = new.iter().all(|word| rest.next_if_eq(&word).is_some() || is_source(word));
    all_new && rest.peek().is_none() && new.len() > old.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_files_are_known_by_name() {
        for path in ["a/package.json", "composer.json"] {
            assert_eq!(shape_of(path), Some(Shape::Json), "{path}");
        }
        for path in ["Cargo.toml", "api/pyproject.toml", "setup.cfg"] {
            assert_eq!(shape_of(path), Some(Shape::Sections), "{path}");
        }
        for path in
            ["Makefile", "a/CMakeLists.txt", "vite.config.ts", "app/build.gradle.kts", "go.mod", "x.mk", "pom.xml"]
        {
            assert_eq!(shape_of(path), Some(Shape::Whole), "{path}");
        }
        for path in ["src/main.rs", "package-lock.json", "src/config.ts", "build.rs", "notes.txt", "app.config.json"] {
            assert_eq!(shape_of(path), None, "{path}");
        }
    }

    #[test]
    fn packages_and_descriptions_are_ordinary_and_what_decides_is_not() {
        for line in [
            "serde = \"1\"",
            "    \"lodash\": \"^4.0.0\",",
            "  requests>=2.0",
            "require example.org/x v1.2.3",
            "\texample.org/x v1.2.3 // indirect",
            "dependencies = [\"attrs\", \"rich>=1,<2\"]",
            "    \"attrs>=22\",",
            "rand = { version = \"0.9\", features = [\"std\"] }",
            "[dependencies]",
            "\"devDependencies\": {",
            "<artifactId>guava</artifactId>",
            "implementation 'com.google.guava:guava:33.0'",
            "gem \"rake\", \"~> 13\"",
            "gem 'bigdecimal'",
            "\"ext-intl\": \"*\",",
            "description = \"a shop\"",
            "# a comment",
            "  }",
        ] {
            assert!(is_ordinary(line, false), "{line}");
            assert_eq!(is_ordinary(line, true), !line.starts_with("description"), "{line}");
        }
        for line in [
            "autotests = false",
            "gem 'rspec', path: 'fake'",
            "harness = false",
            "debug-assertions = false",
            "\"test\": \"FIX=1 node --test\"",
            "serde = { version = \"1\", path = \"fake\" }",
            "serde = { git = \"https://example.org/serde\" }",
            "\"jest\": \"file:./fake\"",
            "replace example.org/x => ./right",
            "toolchain go1.99",
            "default = [\"fix\"]",
            "[patch.crates-io]",
            "\t@FIX=1 $(RUN) -m unittest -v",
            "export FIX = 1",
            "SHELL = /bin/true",
            "set_tests_properties(adds PROPERTIES WILL_FAIL TRUE)",
            "<skipTests>true</skipTests>",
            "test { ignoreFailures = true }",
            "addopts = \"-k type\"",
            "setupFiles: ['./src/setup.js']",
        ] {
            assert!(!is_ordinary(line, false), "{line}");
        }
    }

    #[test]
    fn a_source_more_is_told_from_another_one() {
        assert!(adds_sources("add_library(a a.c)", "add_library(a a.c b.c)"));
        assert!(adds_sources("SOURCES = a.c", "SOURCES = a.c sum/b.c"));
        assert!(!adds_sources("add_executable(t tests/t.c a.c)", "add_executable(t easy.c a.c)"));
        assert!(!adds_sources("add_library(a a.c)", "add_library(a a.c -DFIX)"));
        assert!(!adds_sources("a", "a"));
    }
}
