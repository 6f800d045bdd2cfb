//! Paths that a model may not write: those that judge it (tests and their configuration), those that run with rights (CI), git's own.
//!
//! Pure over paths. By name only: files that hold test configuration beside other things (`Cargo.toml`, `package.json`, `pyproject.toml`,
//! `setup.cfg`, `vite.config.*`, `Makefile`) stay writable, because fixes need them, and the court runs the tests with the start's. Lock
//! files are writable unless [`PathRules::protected`] names them.
//!
//! Invariant: a path is judged in the spelling of the most forgiving file system (case, invisible characters, trailing dots).

mod suspect;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

pub(super) use self::suspect::{Suspect, configures, suspect};

use super::autorun::names::kind_of;
use super::rel_path::{fold, is_private};
use super::{PathRules, WorkspaceError};
use crate::domain::word_list::lists;
use crate::framework::protected_names::{
    BUILD_SCRIPT, CARGO_CONFIG, CI_FILES, CI_FOLDERS, CLASS_LANGUAGES, CLASS_MARKS, CONFIGURE_TESTS, DATA,
    DATA_FOLDERS, DATA_MARKS, IN_VENDORED, PROSE, PROSE_AND_DATA, SPEC_FOLDERS, SPEC_LANGUAGES, TEST_FILE_PREFIXES,
    TEST_FILE_SUFFIXES, TEST_FILES, TEST_FOLDERS, TOOL_FILES, TOOL_FOLDERS, TOOL_SUFFIXES, UNDERSCORED_FOLDERS,
    VENDORED,
};
use crate::policy::guard::{Guard, Guards};

/// Built-in and configured protection.
#[derive(Debug)]
pub(super) struct Protection {
    configured: GlobSet,
    allowed_tests: GlobSet,
    run_tests: BTreeSet<String>,
    guards: Guards,
    /// Files that are called like tests and are the product's.
    product: RwLock<Option<BTreeSet<String>>>,
}

impl Protection {
    /// Compiles the rules.
    pub(super) fn new(rules: &PathRules) -> Result<Self, WorkspaceError> {
        Ok(Self {
            configured: globs(&rules.protected)?,
            allowed_tests: globs(&rules.allow_test_edits)?,
            run_tests: rules.run_tests.iter().map(|path| folded(Path::new(path)).join("/")).collect(),
            guards: rules.guards.clone(),
            product: RwLock::new(None),
        })
    }

    /// Why a path may not be written. `None` if it may.
    pub(super) fn reason(&self, path: &Path) -> Option<String> {
        let parts = folded(path);
        let shown = path.display();
        // First, so that no task can allow what runs with the rights of the job.
        if let Some(reason) = self.never(path, &parts) {
            return Some(reason);
        }
        if self.allowed_tests.is_match(path) || !self.guards.has(Guard::TestPaths) {
            return None;
        }
        if is_test_path(path) && !self.is_product(path) {
            return Some(format!(
                "`{shown}` is a test or configures the tests and can not be changed; make the code pass the tests as they are"
            ));
        }
        self.decides(&parts).then(|| {
            format!("`{shown}` decides which tools or what other code the tests run with and can not be changed; change the code instead")
        })
    }

    /// Takes these files for the product's, once.
    pub(super) fn spare(&self, product: BTreeSet<String>) {
        self.product.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(product);
    }

    /// Takes more files for the product's.
    pub(super) fn spare_also(&self, product: &BTreeSet<String>) {
        let mut known = self.product.write().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().extend(product.iter().cloned());
    }

    fn is_product(&self, path: &Path) -> bool {
        let known = self.product.read().unwrap_or_else(PoisonError::into_inner);
        let product = known.as_ref().filter(|product| !product.is_empty());
        product.is_some_and(|product| path.to_str().is_some_and(|path| product.contains(&path.replace('\\', "/"))))
    }

    /// Why a path may not be written whatever the task allows.
    fn never(&self, path: &Path, parts: &[String]) -> Option<String> {
        let name = parts.last().map_or("", String::as_str);
        let shown = path.display();
        if path.iter().any(is_private) {
            return Some(format!("`{shown}` belongs to git or to upshift and can never be changed"));
        }
        if parts.first().is_some_and(|first| lists(CI_FOLDERS, first))
            || lists(CI_FILES, name)
            || name.starts_with("azure-pipelines")
        {
            return Some(format!("`{shown}` configures CI or git and can never be changed; change the code instead"));
        }
        if self.guards.has(Guard::Autorun) && runs_unasked(parts) {
            return Some(format!(
                "`{shown}` is run or obeyed by git, shells, editors or coding agents and can never be changed; change the code instead"
            ));
        }
        // In the folded spelling too, since a disk may take both for the same file.
        (self.configured.is_match(path) || self.configured.is_match(parts.join("/")))
            .then(|| format!("`{shown}` is protected: the configuration says so, or a command that judges the change runs it; change other files instead"))
    }

    /// Whether a file decides what the tests run with.
    fn decides(&self, parts: &[String]) -> bool {
        let (name, folders) = parts.split_last().map_or(("", &[][..]), |(name, folders)| (name.as_str(), folders));
        decides_what_runs(parts, folders, name) || self.run_tests.contains(&parts.join("/"))
    }

    /// Whether a file is protected for no other reason than that it holds tests, which a change may add to.
    pub(super) fn takes_new_tests(&self, path: &Path) -> bool {
        let parts = folded(path);
        let name = parts.last().map_or("", String::as_str);
        is_test_path(path)
            && !CONFIGURE_TESTS.split_ascii_whitespace().any(|file| name == file)
            && !TEST_FILE_PREFIXES.split_ascii_whitespace().any(|prefix| name.starts_with(prefix))
            && self.never(path, &parts).is_none()
            && !self.decides(&parts)
    }

    /// Whether the task allows edits of tests in this file.
    pub(super) fn allows_test_edits(&self, path: &Path) -> bool {
        self.allowed_tests.is_match(path)
    }

    /// Whether a guard stands.
    pub(super) fn has(&self, guard: Guard) -> bool {
        self.guards.has(guard)
    }
}

/// Whether a path is a test, test data or test configuration, by its name alone.
#[must_use]
pub fn is_test_path(path: &Path) -> bool {
    let parts = folded(path);
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    is_test_file(&parts, folders, parts.last().map_or("", String::as_str)) || has_class_mark(path)
}

/// Whether a file is neither code nor for people to read.
pub(super) fn is_data(path: &Path) -> bool {
    of_data(&path.extension().map(|extension| fold(&extension.to_string_lossy())).unwrap_or_default())
}

fn of_data(extension: &str) -> bool {
    (extension.is_empty() || lists(PROSE_AND_DATA, extension)) && !lists(PROSE, extension)
}

/// Whether a file is part of an installed package.
pub(super) fn is_installed(path: &Path) -> bool {
    let parts = folded(path);
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    folders.iter().any(|folder| lists(TOOL_FOLDERS, folder) && folder != "__pycache__") || is_vendored(&parts)
}

/// Whether a path lies in a folder of vendored code.
fn is_vendored(parts: &[String]) -> bool {
    let at_the_root = parts.len() > 1 && parts.first().is_some_and(|first| first == VENDORED);
    let deeper = parts
        .windows(2)
        .any(|pair| matches!(pair, [folder, inside] if folder == VENDORED && lists(IN_VENDORED, inside)));
    at_the_root || deeper
}

/// Whether a path is, or lies in, what a tool other than the tests runs or obeys without being asked. A folder with a `HEAD` may be taken
/// for a repository, and one that is called so is one.
fn runs_unasked(parts: &[String]) -> bool {
    let mut around = "";
    for part in parts {
        if kind_of(around, part).is_some() || (part.ends_with(".git") && part.len() > ".git".len()) {
            return true;
        }
        around = part;
    }
    around == "head"
}

/// Files and folders that put another tool or other code into the test run's place.
fn decides_what_runs(parts: &[String], folders: &[String], name: &str) -> bool {
    lists(TOOL_FILES, name)
        || name.starts_with("babel.config.")
        || folders.iter().any(|folder| lists(TOOL_FOLDERS, folder))
        || is_vendored(parts)
        || parts.iter().any(|part| TOOL_SUFFIXES.iter().any(|suffix| part.ends_with(suffix)))
        || (name == BUILD_SCRIPT && !folders.iter().any(|folder| folder == "src"))
}

/// Whether a folder holds tests, or what tests compare with.
fn is_test_folder(folder: &str, of_data: bool) -> bool {
    let plain: String = folder.chars().filter(|c| !matches!(c, '_' | '-' | '.')).collect();
    lists(TEST_FOLDERS, &plain)
        || lists(UNDERSCORED_FOLDERS, folder)
        || of_data && lists(DATA_FOLDERS, &plain)
        || folder.ends_with(".tests")
        || folder.ends_with(".test")
}

fn is_test_file(parts: &[String], folders: &[String], name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_code = !extension.is_empty() && !lists(PROSE_AND_DATA, extension);
    let tail = parts.get(parts.len().saturating_sub(2)..).unwrap_or_default().join("/");
    let is_data = of_data(extension);
    let of_spec = !is_code || lists(SPEC_LANGUAGES, extension);
    let in_test_folder =
        folders.iter().any(|folder| is_test_folder(folder, is_data) || of_spec && lists(SPEC_FOLDERS, folder));
    let words: Vec<&str> = stem.split(['.', '-', '_']).collect();
    let marked = |word: Option<&&str>| {
        word.is_some_and(|word| match *word {
            "test" | "tests" => true,
            "spec" | "specs" => lists(SPEC_LANGUAGES, extension),
            _ => false,
        })
    };
    // `unittest` looks for `test*.py`, behave for its steps.
    let discovered = extension == "py" && stem.starts_with("test") && !stem.starts_with("testi");
    let steps = folders.iter().any(|folder| folder == "features")
        && (name == "environment.py" || folders.last().is_some_and(|last| last == "steps"));
    in_test_folder
        || discovered
        || steps
        || lists(TEST_FILES, name)
        || lists(CARGO_CONFIG, &tail)
        || TEST_FILE_PREFIXES.split_ascii_whitespace().any(|prefix| name.starts_with(prefix))
        || TEST_FILE_SUFFIXES.split_ascii_whitespace().any(|suffix| name.ends_with(suffix))
        || is_code
            && (marked(words.last())
                || words.first() == Some(&"test") && words.len() > 1
                || matches!(stem, "test" | "tests"))
        || lists(DATA, extension)
            && (words.last().is_some_and(|last| lists(DATA_MARKS, last)) || words.first() == Some(&"test"))
        || extension == "t" && folders.iter().any(|folder| folder == "t")
}

/// `UserServiceTest.java`, `TestUser.java`: the mark is a word of its own, so that `Latest.java` is none.
fn has_class_mark(path: &Path) -> bool {
    let (Some(stem), Some(extension)) =
        (path.file_stem().and_then(|stem| stem.to_str()), path.extension().and_then(|end| end.to_str()))
    else {
        return false;
    };
    let begins = stem.strip_prefix("Test").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    let ends = CLASS_MARKS.iter().any(|mark| {
        stem.strip_suffix(mark)
            .is_some_and(|rest| rest.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || c == '_'))
    });
    lists(CLASS_LANGUAGES, &extension.to_ascii_lowercase()) && (begins || ends)
}

fn folded(path: &Path) -> Vec<String> {
    path.iter().map(|part| fold(&part.to_string_lossy())).collect()
}

/// Globs over paths from the root. One without `/` matches at any depth, and one that names a folder matches all that is in it.
pub(super) fn globs(patterns: &[String]) -> Result<GlobSet, WorkspaceError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |source: globset::Error| WorkspaceError::Glob {
            pattern: pattern.clone(),
            reason: source.kind().to_string(),
        };
        let trimmed = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        let anchored = if trimmed.contains('/') || pattern.starts_with('/') {
            trimmed.to_owned()
        } else {
            format!("**/{trimmed}")
        };
        for glob in [anchored.clone(), format!("{anchored}/**")] {
            set.add(GlobBuilder::new(&glob).literal_separator(true).case_insensitive(true).build().map_err(bad)?);
        }
    }
    set.build()
        .map_err(|source| WorkspaceError::Glob { pattern: patterns.join(", "), reason: source.kind().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection(protected: &[&str], allowed: &[&str]) -> Protection {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let (protected, allow_test_edits) = (owned(protected), owned(allowed));
        Protection::new(&PathRules { protected, allow_test_edits, ..PathRules::default() }).unwrap()
    }

    #[test]
    fn tests_of_every_language_are_recognised() {
        for path in [
            "tests/it/main.rs",
            "src/foo/tests.rs",
            "crates/a/tests/b.rs",
            "pkg/a_test.go",
            "test_a.py",
            "a/test_b.py",
            "a_test.py",
            "conftest.py",
            "src/a.spec.ts",
            "src/a.test.tsx",
            "__tests__/a.js",
            "test.js",
            "a-test.mjs",
            "spec/a_spec.rb",
            "test/a_test.rb",
            "pytest.ini",
            "tox.ini",
            "jest.config.ts",
            "vitest.config.mts",
            ".mocharc.json",
            "phpunit.xml.dist",
            ".rspec",
            ".config/nextest.toml",
            ".cargo/config.toml",
            "a/__snapshots__/b.snap",
            "x.golden",
            "src/test/java/A.java",
            "src/FooTest.java",
            "TestFoo.java",
            "FooTests.cs",
            "FooSpec.scala",
            "My.Tests/Helper.cs",
            "test/a.bats",
            "t/basic.t",
            "sitecustomize.py",
            "TESTS/a.py",
            "CONFTEST.PY",
            "conftest.py.",
            "fixtures/tests/a.json",
            "shop/testcart.py",
            "features/steps/cart.py",
            "features/environment.py",
            "cart.verified.json",
            "pytest.toml",
            ".proverc",
            "testcases/cases.json",
            "test_fixtures/a.py",
            "internal/testutil/a.go",
            "golden_files/a.txt",
            "__mocks__/fs.js",
            "snapshots/cart.json",
            "fixtures/cart.yaml",
            "shop/cart.golden.json",
            "shop/test-cases.yaml",
            "appsettings.Test.json",
        ] {
            assert!(is_test_path(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn code_that_only_sounds_like_a_test_is_none() {
        for path in [
            "src/main.rs",
            "src/latest.py",
            "src/contest.rs",
            "Latest.java",
            "Testimony.java",
            "src/attestation.go",
            "inspect.ts",
            "README.md",
            "specification.rs",
            "Cargo.toml",
            "package.json",
            "pyproject.toml",
            "src/testing_ground.rs",
            "BIT.java",
            "docs/test.md",
            "shop/testimonials.py",
            "src/protest.js",
            "src/features/login.ts",
            "src/job_spec.rs",
            "api-spec.json",
            "spec.rs",
            "src/snapshots/mod.rs",
            "shop/spec/version.py",
            "fixtures/README.md",
            "docs/testing/guide.md",
            "attest.json",
        ] {
            assert!(!is_test_path(Path::new(path)), "{path}");
            assert_eq!(protection(&[], &[]).reason(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn ci_and_git_are_protected_in_every_spelling_even_when_test_edits_are_allowed() {
        let all = protection(&[], &["**"]);
        for path in [
            ".git/config",
            "a/.git/config",
            ".github/workflows/ci.yml",
            ".GitHub/x",
            ".gith\u{200c}ub/x",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            "azure-pipelines.yml",
            ".circleci/config.yml",
            ".husky/pre-commit",
            ".gitattributes",
        ] {
            assert!(all.reason(Path::new(path)).is_some(), "{path}");
        }
        assert_eq!(all.reason(Path::new("tests/a.rs")), None);
    }

    #[test]
    fn what_other_tools_run_unasked_is_protected_at_any_depth_and_code_of_that_name_is_not() {
        let rules = protection(&[], &["**"]);
        for path in [
            ".envrc",
            "a/b/.ENVRC",
            ".vscode/tasks.json",
            "a/.idea/runConfigurations/x.xml",
            ".config/mise/config.toml",
            "mise/config.toml",
            "a/x.code-workspace",
            ".claude/settings.json",
            "a/HEAD",
            "assets/template.git/config",
            ".hg/hgrc",
        ] {
            assert!(rules.reason(Path::new(path)).is_some_and(|why| why.contains("run or obeyed")), "{path}");
        }
        for path in ["src/head.rs", "head/a.rs", "src/config", "src/vscode.rs", "src/.github.rs", "config/mise.rs"] {
            assert_eq!(rules.reason(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn what_puts_other_tools_in_the_runs_place_is_protected_and_code_of_that_name_is_not() {
        let rules = protection(&[], &[]);
        for path in [
            "build.rs",
            "crates/a/build.rs",
            "rust-toolchain.toml",
            ".npmrc",
            "go.work",
            "node_modules/jest/index.js",
            "node_modules/.bin/jest",
            "x.pth",
            "evil.egg-info/entry_points.txt",
            "shop/__pycache__/cart.cpython-311.pyc",
            "babel.config.js",
            "a/.venv/bin/python",
            "vendor/modules.txt",
            "vendor/example.org/sum/sum.go",
            "api/vendor/phpunit/phpunit/src/TestCase.php",
            "api/vendor/autoload.php",
        ] {
            assert!(rules.reason(Path::new(path)).is_some(), "{path}");
        }
        for path in
            ["src/build.rs", "src/venv.py", "modules/a.js", "toolchain.rs", "src/vendor/invoice.py", "vendor.go"]
        {
            assert_eq!(rules.reason(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn configured_globs_protect_and_allow() {
        let rules = protection(&["Cargo.lock", "migrations/", "/config/*.toml"], &["tests/new_*.rs"]);
        for path in ["Cargo.lock", "a/Cargo.lock", "cargo.LOCK", "migrations/1/up.sql", "config/a.toml", "tests/old.rs"]
        {
            assert!(rules.reason(Path::new(path)).is_some(), "{path}");
        }
        for path in ["config/b/a.toml", "a/config/x.toml", "tests/new_a.rs", "src/a.rs"] {
            assert_eq!(rules.reason(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn what_runs_the_tests_is_protected_as_a_judge() {
        let run_tests = BTreeSet::from(["scripts/run.js".to_owned()]);
        let rules = Protection::new(&PathRules { run_tests, ..PathRules::default() }).unwrap();
        assert!(rules.reason(Path::new("scripts/Run.js")).is_some());
        assert_eq!(rules.reason(Path::new("scripts/build.js")), None);
        assert_eq!(rules.reason(Path::new("run.js")), None);
    }

    #[test]
    fn a_bad_glob_is_named() {
        let rules = PathRules { protected: vec!["a[".to_owned()], ..PathRules::default() };
        assert!(Protection::new(&rules).unwrap_err().to_string().contains("a["));
    }
}
