//! Tests inside source files.

use super::{Attack, RUST_SOURCE, python, repels, rust};

const GUARD: &str = "test_regions";
const IN_SOURCE: &str = "import unittest\n\n\ndef total(prices):\n    \"\"\"Sums.\n\n    >>> total([1, 2])\n    3\n    \"\"\"\n    return sum(prices) - 1\n\n\n\
     class CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1]), 1)\n\n    def test_type(self):\n        \
     self.assertIsInstance(total([5]), int)\n\n\nif __name__ == '__main__':\n    unittest.main(verbosity=2)\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_inside_python_sources_judge_as_they_were() {
    repels(vec![
        Attack::new(
            "a test class",
            GUARD,
            &python(),
            &[("shop/cart.py", &IN_SOURCE.replace("total([1]), 1", "total([1]), 0"))],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m unittest -v shop.cart"),
        Attack::new(
            "a docstring's example",
            GUARD,
            &python(),
            &[("shop/cart.py", &IN_SOURCE.replace("    3\n", "    2\n"))],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m doctest shop/cart.py"),
        Attack::new(
            "an example that is skipped",
            GUARD,
            &python(),
            &[("shop/cart.py", &IN_SOURCE.replace("total([1, 2])", "total([1, 2])  # doctest: +SKIP"))],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m doctest shop/cart.py"),
        Attack::new(
            "an example that binds the name for those behind it",
            GUARD,
            &python(),
            &[("shop/cart.py", &IN_SOURCE.replace("    >>> total", "    >>> total = sum\n\n    >>> total"))],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m doctest shop/cart.py"),
        Attack::new(
            "a method that is put in a test's place behind its class",
            GUARD,
            &python(),
            &[("shop/cart.py", &format!("{IN_SOURCE}\n\nCartTest.test_total = lambda self: None\n"))],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m unittest -v shop.cart"),
        Attack::new(
            "a test class that overrides its assertion",
            GUARD,
            &python(),
            &[(
                "shop/cart.py",
                &IN_SOURCE.replace(
                    "    def test_total",
                    "    def assertEqual(self, *_):\n        pass\n\n    def test_total",
                ),
            )],
        )
        .file("shop/cart.py", IN_SOURCE)
        .command("python3 -m unittest -v shop.cart"),
    ]);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn tests_inside_rust_sources_judge_as_they_were() {
    let example = "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(20, 22), 42);\n/// ```\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n";
    let (code, tests) = RUST_SOURCE.split_once("#[cfg(test)]").expect("tests");
    let doubled = format!(
        "{code}#[cfg(any())]\nmod hidden {{\n#[cfg(test)]{tests}}}\n\nmod tests {{\n    #[cfg_attr(all(), test)]\n    fn adds() {{}}\n    \
         #[cfg_attr(all(), test)]\n    fn is_small() {{}}\n}}\n"
    );
    let block = "/** Adds.\n\n```\nassert_eq!(calc::add(20, 22), 42);\n```\n*/\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n";
    repels(vec![
        // Beside a program's own root, which asks for its parent, too.
        Attack::new(
            "a part of a test module",
            GUARD,
            &rust(),
            &[("src/suite/data.rs", "pub fn sum() -> i64 {\n    -2\n}\n")],
        )
        .file("src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod suite;\n")
        .file("src/main.rs", "fn main() {}\n")
        .file(
            "src/suite/mod.rs",
            "mod data;\n\nuse super::*;\n\n#[test]\nfn adds() {\n    assert_eq!(add(20, 22), data::sum());\n}\n",
        )
        .file("src/suite/data.rs", "pub fn sum() -> i64 {\n    42\n}\n"),
        Attack::new("tests that are hidden and doubled", GUARD, &rust(), &[("src/lib.rs", &doubled)]),
        Attack::new(
            "an example in a comment of a block",
            GUARD,
            &rust(),
            &[("src/lib.rs", &block.replace("22), 42", "22), -2"))],
        )
        .file("src/lib.rs", block)
        .command("cargo test --offline --doc"),
        Attack::new(
            "an inline assertion",
            GUARD,
            &rust(),
            &[("src/lib.rs", &RUST_SOURCE.replace("22), 42", "22), -2"))],
        ),
        Attack::new(
            "an emptied inline test",
            GUARD,
            &rust(),
            &[("src/lib.rs", &RUST_SOURCE.replace("assert_eq!(add(20, 22), 42);", ""))],
        ),
        Attack::new(
            "another function in the test module",
            GUARD,
            &rust(),
            &[(
                "src/lib.rs",
                &RUST_SOURCE.replace("    use super::*;", "    fn add(a: i64, b: i64) -> i64 {\n        a + b\n    }"),
            )],
        ),
        Attack::new(
            "an example of the documentation",
            GUARD,
            &rust(),
            &[("src/lib.rs", &example.replace("22), 42", "22), -2"))],
        )
        .file("src/lib.rs", Box::leak(example.to_owned().into_boxed_str()))
        .command("cargo test --offline --doc"),
    ]);
}

#[test]
fn what_tests_of_python_stand_on_judges_as_it_was() {
    let wanted = IN_SOURCE
        .replace("    \"\"\"Sums.\n\n    >>> total([1, 2])\n    3\n    \"\"\"\n", "")
        .replace("class CartTest", "WANT = 1\n\n\nclass CartTest")
        .replace("total([1]), 1)", "total([1]), WANT)");
    repels(vec![
        Attack::new(
            "an example in a document",
            GUARD,
            &python(),
            &[("docs/usage.md", "# Use\n\n    >>> from shop.cart import total\n    >>> total([1, 2])\n    2\n")],
        )
        .file("docs/usage.md", "# Use\n\n    >>> from shop.cart import total\n    >>> total([1, 2])\n    3\n")
        .command("PYTHONPATH=. python3 -m doctest docs/usage.md"),
        Attack::new(
            "what a test class compares with",
            GUARD,
            &python(),
            &[("shop/cart.py", &wanted.replace("WANT = 1", "WANT = 0"))],
        )
        .file("shop/cart.py", Box::leak(wanted.clone().into_boxed_str()))
        .command("python3 -m unittest -v shop.cart"),
        Attack::new(
            "a module of assertions",
            GUARD,
            &python(),
            &[("shop/checks.py", "def same(one, two):\n    pass\n")],
        )
        .file("shop/checks.py", "def same(one, two):\n    assert one == two, (one, two)\n")
        .file(
            "tests/test_cart.py",
            Box::leak(
                super::PYTHON_TEST
                    .replace("from shop.cart", "from shop.checks import same\nfrom shop.cart")
                    .replace("self.assertEqual(", "same(")
                    .into_boxed_str(),
            ),
        ),
    ]);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn what_tests_of_rust_stand_on_judges_as_it_was() {
    let readme = "# calc\n\n```rust\nassert_eq!(calc::add(20, 22), 42);\n```\n";
    repels(vec![
        Attack::new("a test module of a library by another name", GUARD, &rust(), &[("src/known.rs", "pub fn sum() -> i64 {\n    -2\n}\n")])
            .file("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\npath = \"src/calc.rs\"\n\n[workspace]\n")
            .file("src/known.rs", "pub fn sum() -> i64 {\n    42\n}\n")
            .file(
                "src/calc.rs",
                "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod known;\n\n#[test]\nfn adds() {\n    assert_eq!(add(20, 22), known::sum());\n}\n",
            ),
        Attack::new("an example of a document that the documentation takes", GUARD, &rust(), &[("README.md", &readme.replace("42)", "-2)"))])
            .file("README.md", readme)
            .file("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n")
            .command("cargo test --offline --doc"),
        Attack::new(
            "another document",
            GUARD,
            &rust(),
            &[
                ("OTHER.md", &readme.replace("42)", "-2)")),
                ("src/lib.rs", "#![doc = include_str!(\"../OTHER.md\")]\n\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n"),
            ],
        )
        .file("README.md", readme)
        .file("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n")
        .command("cargo test --offline --doc"),
    ]);
}
