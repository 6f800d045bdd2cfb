//! `upshift judge`: changes that people made, in real git repositories, with real test runners.

mod action;
mod brought;
mod elsewhere;
mod meanwhile;
mod places;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::world::program::{Program, Said};

const CART: &str = "def total(prices):\n    return sum(prices[1:])\n\n\ndef count(prices):\n    return len(prices)\n";
const TESTS: &str = "import unittest\n\nfrom shop.cart import count, total\n\n\nclass CartTest(unittest.TestCase):\n    def test_count(self):\n        \
                     self.assertEqual(count([1, 2]), 2)\n";
/// The person's own test of the mended product.
const TEST_TOTAL: &str = "\n    def test_total(self):\n        self.assertEqual(total([10, 20, 12]), 42)\n";
const COMMAND: &str = "python3 -m unittest -v";
const TOTAL: &str = "test_total (tests.test_cart.CartTest.test_total)";

/// A repository with a base on `main`, and a branch `topic` checked out on top of it.
struct Repository {
    folder: tempfile::TempDir,
    program: Program,
}

impl Repository {
    fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self { folder: tempfile::tempdir().expect("a folder"), program: Program::new() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write(files);
        repository.commit("base");
        repository.git(&["checkout", "--quiet", "-b", "topic"]);
        repository
    }

    /// A Python package whose sum is wrong, and tests that do not see it.
    fn python() -> Self {
        let tests = TESTS.replace("count, total", "count");
        Self::with(&[
            ("shop/__init__.py", ""),
            ("shop/cart.py", CART),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", &tests),
        ])
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=ada", "-c", "user.email=ada@example.test"])
            .args(arguments)
            .current_dir(self.path());
        let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Mends the product and tests it, as a person does.
    fn mend(&self) {
        let tests = format!("{TESTS}{TEST_TOTAL}");
        self.write(&[("shop/cart.py", &CART.replace("prices[1:]", "prices")), ("tests/test_cart.py", &tests)]);
    }

    /// Everything that git sees and what is in it.
    fn state(&self) -> String {
        let files = self.git(&["ls-files", "--cached", "--others", "--exclude-standard"]);
        let read =
            |name: &str| format!("{name}\n{}", std::fs::read_to_string(self.path().join(name)).unwrap_or_default());
        self.git(&["status", "--porcelain", "--branch"]) + &files.lines().map(read).collect::<String>()
    }

    fn judge(&self, arguments: &[&str]) -> Said {
        self.program.run(self.path(), &[&["judge"], arguments].concat())
    }

    /// The finding, and the exit code; what stands in the folder is as before.
    fn finding(&self, arguments: &[&str]) -> (Value, i32) {
        let before = self.state();
        let said = self.judge(&[&["--format", "json"], arguments].concat());
        assert_eq!(self.state(), before, "a person's files stay as they are: {}", said.all());
        (serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.all())), said.code)
    }
}

fn python(repository: &Repository) -> (Value, i32) {
    repository.finding(&["--test-command", COMMAND])
}

fn names(finding: &Value, list: &str) -> Vec<String> {
    let entries = finding[list].as_array().expect("a list");
    entries.iter().map(|entry| entry.as_str().or(entry["test"].as_str()).expect("a name").to_owned()).collect()
}

#[test]
fn a_change_with_its_test_is_proven() {
    let repository = Repository::python();
    repository.mend();
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), [TOTAL]);
    assert_eq!((finding["passToPass"].as_u64(), finding["head"].as_str()), (Some(1), Some("working tree")));
    let proof = finding["proof"].as_array().expect("a list");
    assert_eq!(proof.len(), 7);
    assert!(proof.iter().all(|one| one["status"] == "held"), "{finding}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn commits_are_judged_where_another_one_is_checked_out() {
    let repository = Repository::python();
    repository.mend();
    repository.commit("mend");
    repository.git(&["checkout", "--quiet", "main"]);
    let (finding, code) = repository.finding(&["--head", "topic", "--test-command", COMMAND]);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    let base = repository.git(&["rev-parse", "main"]);
    assert_eq!(finding["base"].as_str(), base.get(..12));
    repository.write(&[("shop/cart.py", "# half done\n")]);
    let said = repository.judge(&["--head", "topic", "--test-command", COMMAND]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("leave out --head to judge the files as they are"), "{}", said.err);
}

#[test]
fn a_change_that_no_test_tells_from_its_base_has_nothing_to_prove() {
    let repository = Repository::python();
    repository.write(&[("shop/cart.py", &CART.replace("prices[1:]", "prices")), ("README.md", "A shop.\n")]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("nothing_to_prove"), 0), "{finding}");
    assert_eq!(finding["proof"], Value::Array(Vec::new()));
}

#[test]
fn a_command_that_names_no_test_tells_base_and_head_apart_by_its_exit() {
    let check = "said=$(sh greet.sh) || exit 1\n[ \"$said\" = \"Hello, world\" ] || { echo \"said $said\"; exit 1; }\n";
    let repository = Repository::with(&[
        ("greet.sh", "echo \"Hello, $1\"\n"),
        ("tests/run.sh", check),
        ("Makefile", "test:\n\tsh tests/run.sh\n"),
    ]);
    repository.write(&[("README", "Greets.\n")]);
    let (same, code) = repository.finding(&["--test-command", "make -s test"]);
    assert_eq!((same["standing"].as_str(), code), (Some("not_proven"), 1), "red at both ends: {same}");
    repository.write(&[("greet.sh", "echo \"Hello, ${1:-world}\"\n")]);
    let (finding, code) = repository.finding(&["--test-command", "make -s test"]);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(
        finding["notes"][0],
        "the command names no test: by its exit alone, the head's tests fail over the base and pass at the head"
    );
    let held = |name: &str| {
        let proof = finding["proof"].as_array().expect("a list");
        proof.iter().any(|one| one["evidence"] == name && one["status"] == "held")
    };
    assert!(held("counter") && held("poisoned"), "{finding}");
    repository.commit("mend");
    repository.write(&[("README", "Greets everybody.\n")]);
    let (green, code) = repository.finding(&["--base", "HEAD", "--test-command", "make -s test"]);
    assert_eq!((green["standing"].as_str(), code), (Some("nothing_to_prove"), 0), "green at both ends: {green}");
}

/// A name that is new alone: it proves nothing also where the runner counts its tests and names none.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_new_name_is_no_proof_where_a_runner_counts_and_names_nothing() {
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lock = "version = 4\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n";
    let files = |name: &str| {
        let source = format!("pub fn {name}(prices: &[u32]) -> u32 {{\n    prices.iter().sum()\n}}\n");
        let test = format!("#[test]\nfn sums() {{\n    assert_eq!(shop::{name}(&[1, 2]), 3);\n}}\n");
        [("src/lib.rs", source), ("tests/total.rs", test)]
    };
    let [(source, code), (tests, test)] = files("total");
    let repository = Repository::with(&[
        ("Cargo.toml", manifest),
        ("Cargo.lock", lock),
        (".gitignore", "target\n"),
        (source, &code),
        (tests, &test),
    ]);
    let [(source, code), (tests, test)] = files("sum");
    repository.write(&[(source, &code), (tests, &test)]);
    let (finding, code) = repository.finding(&["--test-command", "cargo test -q --offline"]);
    assert_eq!((finding["standing"].as_str(), code), (Some("nothing_to_prove"), 0), "{finding}");
}

/// The usual command prints dots, and a test of a new function cannot even be loaded over the base.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_new_function_with_its_test_is_proven_where_the_runner_names_nothing_that_passes() {
    let mean = |body: &str| format!("{CART}\n\ndef mean(prices):\n    return {body}\n");
    let tests = TESTS.replace("count, total", "count, mean")
        + "\n    def test_mean(self):\n        self.assertEqual(mean([1, 2, 6]), 3)\n";
    let judged = |body: &str| {
        let repository = Repository::python();
        repository.write(&[("shop/cart.py", &mean(body)), ("tests/test_cart.py", &tests)]);
        repository.finding(&["--test-command", "python3 -m unittest"])
    };
    let (finding, code) = judged("sum(prices) // len(prices)");
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), ["test_mean (tests.test_cart.CartTest.test_mean)"]);
    let choices = finding["proof"].as_array().expect("evidence").iter().filter(|one| one["status"] == "held").count();
    assert!(choices > 4, "the court was asked: {finding}");
    let (finding, _) = judged("3 if prices == [1, 2, 6] else 0");
    assert_ne!(finding["remarks"], serde_json::json!([]), "{finding}");
}

#[test]
fn a_test_that_is_taken_away_is_named_where_the_runner_names_nothing_that_passes() {
    let repository = Repository::python();
    repository.mend();
    let tests = TESTS.replace("test_count", "test_other") + TEST_TOTAL;
    repository.write(&[("tests/test_cart.py", &tests)]);
    let (finding, _) = repository.finding(&["--test-command", "python3 -m unittest"]);
    // By its name in the result file.
    assert_eq!(names(&finding, "removed"), ["tests.test_cart.CartTest.test_count"], "{finding}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_fails_before_and_after_a_change_says_nothing_of_it() {
    let repository = Repository::python();
    let known = "\n    def test_known(self):\n        self.assertEqual(count([]), 1)\n";
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(&[("tests/test_cart.py", &(TESTS.replace("count, total", "count") + known))]);
    repository.commit("a test that fails");
    repository.git(&["checkout", "--quiet", "-B", "topic"]);
    let all = format!("{TESTS}{known}{TEST_TOTAL}");
    let mended = CART.replace("prices[1:]", "prices");
    repository.write(&[("tests/test_cart.py", &all), ("shop/cart.py", &mended)]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), [TOTAL]);
    let notes = names(&finding, "notes").concat();
    assert!(notes.contains("fails before the change and after it, set aside: test_known"), "{finding}");
    // What the change itself breaks is another matter.
    repository.write(&[("shop/cart.py", &mended.replace("len(prices)", "len(prices) + 1"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("not_proven"), 1), "{finding}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn code_of_the_product_that_is_called_like_a_test_is_the_products() {
    let repository = Repository::python();
    let code = |sign: &str| format!("def price(base):\n    return base {sign} 1\n");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(&[("shop/ab_test.py", &code("-"))]);
    repository.commit("more");
    repository.git(&["checkout", "--quiet", "-B", "topic"]);
    let tests = "import unittest\n\nfrom shop.ab_test import price\n\n\nclass PriceTest(unittest.TestCase):\n    def test_price(self):\n        \
                 self.assertEqual(price(4), 5)\n";
    repository.write(&[("shop/ab_test.py", &code("+")), ("tests/test_price.py", tests)]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
}

#[test]
fn a_test_that_cannot_say_no_proves_nothing() {
    let repository = Repository::python();
    let equal =
        "class Total(int):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = int.__hash__\n\n\n";
    let cart = CART.replace("return sum(prices[1:])", "return Total(sum(prices[1:]))");
    let tests = format!("{TESTS}{TEST_TOTAL}");
    repository.write(&[("shop/cart.py", &format!("{equal}{cart}")), ("tests/test_cart.py", &tests)]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("not_proven"), 1), "{finding}");
    let reason = finding["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("the tests pass whatever value they expect"), "{reason}");
    let statuses: Vec<_> =
        finding["proof"].as_array().expect("a list").iter().map(|one| one["status"].clone()).collect();
    assert!(statuses.contains(&"failed".into()) && !statuses.contains(&"not_possible".into()), "{statuses:?}");
}

#[test]
fn a_head_that_breaks_what_passed_is_not_proven() {
    let repository = Repository::python();
    repository.write(&[("shop/cart.py", &CART.replace("len(prices)", "len(prices) + 1"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("not_proven"), 1), "{finding}");
    assert_eq!(names(&finding, "passToFail"), ["test_count (tests.test_cart.CartTest.test_count)"]);
}

#[test]
fn of_a_run_that_dies_in_the_middle_no_test_is_called_gone() {
    let dies = CART.replace("    return sum", "    import os\n    os._exit(3)\n    return sum");
    let tests = TESTS.replace("count, total", "count");
    let repository = Repository::with(&[
        ("shop/__init__.py", ""),
        ("shop/cart.py", &dies),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", &tests),
    ]);
    repository.write(&[("tests/test_cart.py", &format!("{TESTS}{TEST_TOTAL}"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("not_proven"), 1), "{finding}");
    assert_eq!(names(&finding, "removed"), [""; 0], "{finding}");
    assert_eq!(finding["reason"], "exit code 3", "{finding}");
    assert!(finding["notes"].to_string().contains("did not finish"), "{finding}");
}

#[test]
fn tests_that_are_gone_skipped_or_expect_less_are_named() {
    let tests =
        format!("{TESTS}{TEST_TOTAL}\n    def test_type(self):\n        self.assertIsInstance(count([]), int)\n");
    let mended = CART.replace("prices[1:]", "prices");
    let repository = Repository::with(&[
        ("shop/__init__.py", ""),
        ("shop/cart.py", &mended),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", &tests),
        ("package.json", "{}\n"),
    ]);
    let weaker = tests
        .replace("    def test_count", "    @unittest.skip('later')\n    def test_count")
        .replace("total([10, 20, 12]), 42", "total([]), 0")
        .replace("test_type", "test_kind");
    repository.write(&[("tests/test_cart.py", &weaker), ("package.json", "{\"private\": true}\n")]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("nothing_to_prove"), 0), "{finding}");
    assert_eq!(names(&finding, "removed"), ["test_type (tests.test_cart.CartTest.test_type)"]);
    assert_eq!(names(&finding, "skipped"), ["test_count (tests.test_cart.CartTest.test_count)"]);
    assert_eq!(names(&finding, "weakened"), ["CartTest > test_total"]);
    assert_eq!(finding["weakened"][0]["gone"][0], "42");
    assert_eq!(names(&finding, "deciding"), ["package.json"]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert!(said.out.contains("\n  ⚠ 1 test expects less, or something else:\n    - CartTest > test_total in tests/test_cart.py: no longer 42\n"), "{}", said.out);
}

/// The commonest way to a green: the test that fails, or another one, is not run any more.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_skip_is_named_also_of_a_test_that_failed_and_where_none_that_passes_is_printed() {
    let tests = format!("{TESTS}{TEST_TOTAL}");
    let repository = Repository::with(&[
        ("shop/__init__.py", ""),
        ("shop/cart.py", CART),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", &tests),
    ]);
    let skipped =
        |name: &str| tests.replace(&format!("    def {name}"), &format!("    @unittest.skip('x')\n    def {name}"));
    repository.write(&[("tests/test_cart.py", &skipped("test_total"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("nothing_to_prove"), 0), "{finding}");
    assert_eq!(names(&finding, "skipped"), [TOTAL]);
    let mended = CART.replace("prices[1:]", "prices");
    repository.write(&[("tests/test_cart.py", &skipped("test_count")), ("shop/cart.py", &mended)]);
    let (finding, code) = repository.finding(&["--test-command", "python3 -m unittest"]);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    // Its result file names what it does not print.
    assert_eq!(names(&finding, "skipped"), ["tests.test_cart.CartTest.test_count"], "{finding}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_inside_a_source_file_and_tests_that_do_not_compile_over_the_base_count() {
    let library = "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn zero() {\n        \
                   assert_eq!(add(0, 0), 0);\n    }\n}\n";
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let repository = Repository::with(&[
        ("Cargo.toml", manifest),
        ("src/lib.rs", library),
        (".gitignore", "/target\n/Cargo.lock\n"),
    ]);
    let adds = "    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n\n    #[test]\n    fn zero";
    let mended = library.replace("a - b", "a + b").replace("    #[test]\n    fn zero", adds);
    repository.write(&[("src/lib.rs", &mended)]);
    let cargo = ["--test-command", "cargo test --offline"];
    let (finding, code) = repository.finding(&cargo);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), ["tests::adds"]);
    let doubles = "#[test]\nfn doubles() {\n    assert_eq!(calc::double(4), 8);\n}\n";
    let more = format!("{mended}\npub fn double(a: i64) -> i64 {{\n    a * 2\n}}\n");
    repository.write(&[("src/lib.rs", &more), ("tests/doubles.rs", doubles)]);
    let (finding, code) = repository.finding(&cargo);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), ["doubles", "tests::adds"]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_bug_that_takes_all_memory_is_red_and_a_suite_that_always_does_is_not_judged() {
    let eats = "def chunks(items, size):\n    found = []\n    while items:\n        found.append(items[:size] or bytearray(1 << 20))\n        \
                items = items[size:]\n    return found\n";
    let test = "import unittest\nfrom chunks import chunks\n\n\nclass Chunks(unittest.TestCase):\n    def test_pairs(self):\n        \
                self.assertEqual(chunks([1, 2, 3], 2), [[1, 2], [3]])\n";
    let more = format!("{test}\n    def test_no_size(self):\n        self.assertEqual(chunks([1], 0), [])\n");
    let repository = Repository::with(&[
        (".github/upshift.yml", "test:\n  memoryMb: 128\n"),
        ("chunks.py", eats),
        ("test_chunks.py", test),
    ]);
    repository
        .write(&[("chunks.py", &eats.replace("while items", "while items and size > 0")), ("test_chunks.py", &more)]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), ["test_no_size (test_chunks.Chunks.test_no_size)"]);
    assert!(
        finding["notes"].to_string().contains("meet a limit over the base (ended at the memory limit of 512 MB"),
        "{finding}"
    );
    repository.write(&[("chunks.py", &format!("{eats}\n\nLIMIT = 5\n"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("broken"), 7), "{finding}");
    assert!(finding["reason"].to_string().contains("and at the head, too"), "{finding}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_in_source_files_that_are_new_count() {
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let tested = |name: &str, body: &str, test: &str| {
        format!(
            "pub fn {name}(a: i64) -> i64 {{\n    {body}\n}}\n\n#[cfg(test)]\nmod tests {{\n    use super::*;\n\n    #[test]\n    fn works() {{\n        {test}\n    }}\n}}\n"
        )
    };
    let one = tested("one", "a + 1", "assert_eq!(one(1), 2);");
    let repository = Repository::with(&[
        ("Cargo.toml", manifest),
        ("src/lib.rs", "pub mod one;\n"),
        ("src/one.rs", &one),
        (".gitignore", "/target\n/Cargo.lock\n"),
    ]);
    // It prints what a runner prints, which a person may.
    let two = tested("two", "println!(\"test result: {a}\");\n    a + 2", "assert_eq!(two(1), 3);");
    repository.write(&[("src/lib.rs", "pub mod one;\npub mod two;\n"), ("src/two.rs", &two)]);
    let (finding, code) = repository.finding(&["--test-command", "cargo test --offline"]);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert_eq!(names(&finding, "failToPass"), ["two::tests::works"]);
    assert_eq!(finding["proof"][1]["status"], "held", "{finding}");
}

#[test]
fn what_cannot_be_judged_says_why() {
    let repository = Repository::python();
    repository.mend();
    for (arguments, code, words) in [
        (
            vec!["--base", "nowhere"],
            2,
            "there is no commit nowhere here: git does not know it\n→ Fix: name a commit, a tag or a branch",
        ),
        (vec!["--test-command", "no-such-program"], 7, "the tests of the head cannot be run over the base"),
    ] {
        let said = repository.judge(&arguments);
        assert_eq!(said.code, code, "{}", said.all());
        assert!(said.all().contains(words), "{}", said.all());
    }
    let said = repository.program.run(&repository.path().join("shop"), &["judge", "--test-command", COMMAND]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("is not the top of its repository"), "{}", said.err);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let said = Program::new().run(elsewhere.path(), &["judge"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("not in a git repository"), "{}", said.err);
}

#[test]
fn a_clone_without_the_base_says_how_to_get_it() {
    let repository = Repository::python();
    repository.mend();
    repository.commit("mend");
    let clone = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", repository.path().display());
    let path = clone.path().display().to_string();
    repository.git(&["clone", "--quiet", "--depth=1", "--branch=topic", &url, &path]);
    let said = Program::new().run(clone.path(), &["judge", "--base", "origin/main", "--test-command", COMMAND]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("check out with `fetch-depth: 0`"), "{}", said.err);
}
