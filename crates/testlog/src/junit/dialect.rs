//! The writer of a JUnit document: every framework has its own hand.

use crate::findings::Counts;
use crate::needle::Seek as _;
use crate::readers::cargo_test::panics;
use crate::report::TestCase;
use crate::{place, python};

/// So many test cases show whose document it is. Later ones are looked at for unusual attributes only.
const LOOKED_AT: u64 = 200;

/// The signs that gave a writer away. The first that is certain wins.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    certain: Option<&'static str>,
    /// Weaker signs, asked when nothing is certain.
    likely: Option<&'static str>,
    cases: u64,
    collection_failures: u64,
    suites_root: bool,
}

/// Names of the root or of suites that only one writer uses.
const NAMES: &[(&str, &str)] = &[
    ("pytest tests", "pytest"),
    ("pytest", "pytest"),
    ("jest tests", "jest"),
    ("vitest tests", "vitest"),
    ("bun test", "bun-test"),
    ("deno test", "deno-test"),
    ("nextest-run", "cargo-nextest"),
    ("AllTests", "googletest"),
    ("Mocha Tests", "mocha"),
    ("rspec", "rspec"),
    ("nosetests", "nose2"),
    ("nose2-junit", "nose2"),
    ("(empty)", "ctest"),
    ("minitest", "minitest"),
];

impl Dialect {
    fn certain(&mut self, framework: &'static str) {
        // The first stays: a later suite may be called like anything.
        self.certain = self.certain.or(Some(framework));
    }

    fn likely(&mut self, framework: &'static str) {
        self.likely = self.likely.or(Some(framework));
    }

    /// Looks at a suite's attributes.
    pub(super) fn suite(&mut self, depth: usize, attribute: &dyn Fn(&str) -> Option<String>) {
        let name = attribute("name").unwrap_or_default();
        if let Some((_, framework)) = NAMES.iter().find(|(known, _)| *known == name) {
            self.certain(framework);
        }
        let has = |key: &str| attribute(key).is_some();
        if attribute("xsi:noNamespaceSchemaLocation").is_some_and(|schema| schema.holds("surefire")) {
            self.certain("maven-surefire");
        } else if has("doctest_version") {
            self.certain("doctest-cpp");
        } else if has("skip") {
            // The others write `skipped`.
            self.certain("busted");
        } else if name == "test" && attribute("package").as_deref() == Some("test") {
            // libtest gives its only suite these names.
            self.certain("cargo-test");
        } else if has("assertions") && (has("warnings") || has("file")) {
            self.certain("phpunit");
        } else if name.ends_with(".bats") {
            self.certain("bats");
        } else if name.ends_with(".bat") || name.starts_with("Elixir.") {
            self.certain("exunit");
        } else if depth <= 1
            && attribute("id").as_deref() == Some("0")
            && has("failures")
            && !has("hostname")
            && !has("package")
        {
            // Boost has no attribute of its own, and lacks those of others.
            self.likely("boost-test");
        } else if depth <= 1
            && name.is_empty()
            && has("tests")
            && has("errors")
            && has("failures")
            && !has("time")
            && !has("skip")
        {
            self.likely("meson-test");
        } else if is_xmlrunner(&name) {
            self.likely("unittest");
        } else if name.ends_with("_t") && !has("time") {
            self.likely("prove");
        } else if has("disabled") && depth >= 2 && has("hostname") && has("errors") && has("time") && !has("timestamp")
        {
            self.likely("node-test");
        }
        // The root of Node's report has no attributes.
        self.suites_root |= depth <= 1 && name.is_empty() && !has("tests") && !has("time");
    }

    /// Looks at a test case's attributes.
    pub(super) fn case(&mut self, depth: usize, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        self.cases += 1;
        // Attributes are searched one by one, so the first cases have to do.
        if self.cases > LOOKED_AT && attribute("failure").is_none() && attribute("status").is_none() {
            return;
        }
        let class = attribute("classname");
        let first = |text: &Option<String>, start: &str| text.as_deref().is_some_and(|text| text.starts_with(start));
        if class.as_deref() == Some("test") && (attribute("failure").is_some() || depth == 2 && self.suites_root) {
            self.certain("node-test");
        } else if first(&class, "spec.") && attribute("file").is_some_and(|file| file.ends_with("_spec.rb")) {
            self.certain("rspec");
        } else if class.as_deref().is_some_and(|class| class.ends_with(".global") || class.holds(".global.")) {
            self.likely("catch2");
        } else if attribute("status").is_some_and(|status| status == "fail" || status == "notrun")
            && class.as_deref() == Some(name)
        {
            self.certain("ctest");
        } else if first(&class, "Elixir.") {
            self.certain("exunit");
        } else if class.is_none() && numbered(name) {
            self.likely("prove");
        }
    }

    /// Looks at a failure's kind.
    pub(super) fn detail(&mut self, element: &str, type_of: &str) {
        match (element, type_of) {
            (
                "failure",
                "testCodeFailure" | "testTimeoutFailure" | "subtestsFailed" | "cancelledByParent" | "hookFailed",
            ) => {
                self.certain("node-test");
            }
            ("failure", "assertion error" | "fatal error") | ("error", "uncaught exception" | "system fatal error") => {
                self.certain("boost-test");
            }
            ("failure", "TestFailed") | ("error", "TodoTestSucceeded") => self.likely("prove"),
            ("failure" | "skipped", "AssertionError" | "SkipExecution") => self.likely("robot"),
            ("failure", kind) if kind.starts_with("PHPUnit\\") => self.certain("phpunit"),
            ("failure", kind) if kind.starts_with("RSpec::") => self.certain("rspec"),
            ("failure", kind) if kind.starts_with("Minitest::") => self.certain("minitest"),
            ("failure", kind) if kind.starts_with("org.junit.") || kind.starts_with("org.opentest4j.") => {
                self.likely("maven-surefire")
            }
            ("error", "") => {}
            _ => {}
        }
    }

    /// The framework's name. `junit` when nothing gave it away.
    pub(super) fn framework(&self) -> &'static str {
        self.certain.or(self.likely).unwrap_or("junit")
    }

    /// Whether a document says that nothing but collection was tried, and failed (pytest).
    pub(super) const fn is_collection_failure(&self) -> bool {
        self.cases > 0 && self.collection_failures == self.cases
    }

    /// Remembers a module that could not be collected.
    pub(super) const fn collection_failure(&mut self) {
        self.collection_failures += 1;
    }

    /// Whether an error of a suite is one more: prove's says what a script's exit code was.
    pub(super) fn counts_suite_errors(&self) -> bool {
        self.framework() != "prove"
    }

    /// Leaves out the numbers that the writer does not have.
    pub(super) fn adapt(&self, counts: &mut Counts) {
        if self.framework() == "cargo-test" {
            // libtest knows failures alone.
            counts.errors = None;
        }
    }

    /// node escapes names twice.
    pub(super) fn unescape_names(&self, tests: &mut [TestCase]) {
        if self.framework() != "node-test" {
            return;
        }
        for test in tests {
            // Node escapes names twice.
            if let Ok(name) = quick_xml::escape::unescape(&test.name) {
                test.name = name.into_owned();
            }
        }
    }
}

/// unittest-xml-reporting puts a time stamp of fourteen digits behind the class.
fn is_xmlrunner(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, stamp)| stamp.len() == 14 && stamp.bytes().all(|byte| byte.is_ascii_digit()))
}

/// TAP's `3 - has coffee`.
fn numbered(name: &str) -> bool {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && name.get(digits..).is_some_and(|rest| rest.is_empty() || rest.starts_with(" - "))
}

/// The place a failure's text points at, in whatever language.
pub(super) fn place_of(text: &str, test: &str) -> Option<(String, u32)> {
    if text.holds("panicked at ") {
        return panics::place_of(text, test);
    }
    if text.holds(".py\"") || text.holds(".py:") {
        return python::place_of(text).or_else(|| place::find(text));
    }
    boost_place(text).or_else(|| place::in_repository(text))
}

/// Boost's `- file   : bo.cpp` and `- line   : 9`.
fn boost_place(text: &str) -> Option<(String, u32)> {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            line.strip_prefix("- ")?.strip_prefix(key)?.trim_start().strip_prefix(": ").map(str::to_owned)
        })
    };
    Some((value("file").filter(|file| place::is_path(file))?, value("line")?.trim().parse().ok()?))
}
