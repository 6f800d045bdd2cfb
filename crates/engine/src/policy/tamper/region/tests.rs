use proptest::prelude::*;

use super::{Examples, Restored, declares_test_module, has_examples, has_regions, only_asserts, redeclared, says_run};

/// As where the start's run collects examples.
fn restore(path: &str, before: &str, after: &str) -> Restored {
    super::restore(path, before, after, Examples::Judge)
}

#[test]
fn examples_that_nobody_runs_are_documentation_and_may_go() {
    let python = "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 2)\n    3\n    \"\"\"\n    return a - b\n";
    let mended = "def add(a, b):\n    \"\"\"Adds two numbers.\"\"\"\n    return a + b\n";
    assert!(matches!(restore("calc.py", python, mended), Restored::Lost { .. }));
    assert_eq!(super::restore("calc.py", python, mended, Examples::Document), Restored::Same);
    let rust = RUST.replace("/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\n", "");
    assert_eq!(super::restore("src/lib.rs", RUST, &rust, Examples::Document), Restored::Same);
    // Tests beside them still judge.
    let weaker = rust.replace("assert_eq!(add(1, 2), 3)", "add(1, 2)");
    assert!(matches!(super::restore("src/lib.rs", RUST, &weaker, Examples::Document), Restored::Changed { .. }));
}

const RUST: &str = r##"//! A crate.

/// Adds.
///
/// ```
/// assert_eq!(calc::add(1, 2), 3);
/// ```
pub fn add(a: i64, b: i64) -> i64 {
    let _brace = '{';
    let _text = "} #[test] {";
    let _raw = r#"" } "#;
    a - b // }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds<'a>() {
        assert_eq!(add(1, 2), 3);
    }
}

pub fn last() {}
"##;

fn changed(path: &str, before: &str, after: &str) -> String {
    match restore(path, before, after) {
        Restored::Changed { text, .. } => text,
        other @ (Restored::Same | Restored::Lost { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn a_source_change_alone_is_kept_as_it_is() {
    assert_eq!(restore("src/lib.rs", RUST, &RUST.replace("a - b", "a + b")), Restored::Same);
}

#[test]
fn an_edited_inline_test_is_put_back_and_the_source_change_stays() {
    let after = RUST.replace("a - b", "a + b").replace("add(1, 2), 3);\n    }", "add(1, 2), -1);\n    }");
    assert_eq!(changed("src/lib.rs", RUST, &after), RUST.replace("a - b", "a + b"));
    let ignored = RUST.replace("    #[test]\n", "    #[test]\n    #[ignore]\n");
    assert_eq!(changed("src/lib.rs", RUST, &ignored), RUST);
}

#[test]
fn a_deleted_test_module_comes_back_at_the_end_and_a_new_one_goes() {
    let (code, _) = RUST.split_once("#[cfg(test)]").unwrap();
    let without = format!("{code}pub fn last() {{}}\n");
    let back = changed("src/lib.rs", RUST, &without);
    assert!(back.contains("fn adds<'a>()") && back.trim_end().ends_with('}'), "{back}");
    let more = format!("{RUST}\n#[cfg(test)]\nmod easy {{\n    #[test]\n    fn adds() {{}}\n}}\n");
    assert!(!changed("src/lib.rs", RUST, &more).contains("mod easy"));
}

#[test]
fn edited_examples_are_put_back_and_new_ones_may_stay() {
    let ignored = RUST.replace("/// ```\n/// assert", "/// ```ignore\n/// assert");
    assert_eq!(changed("src/lib.rs", RUST, &ignored), RUST);
    let more = RUST.replace("pub fn last", "/// ```\n/// calc::last();\n/// ```\npub fn last");
    assert_eq!(restore("src/lib.rs", RUST, &more), Restored::Same);
    let fewer = RUST.replace("/// ```\n/// assert_eq!(calc::add(1, 2), 3);\n/// ```\n", "");
    assert!(matches!(restore("src/lib.rs", RUST, &fewer), Restored::Lost { .. }));
}

#[test]
fn test_items_of_every_shape_are_found() {
    for item in [
        "#[test]\nfn a() {}\n",
        "#[tokio::test]\nasync fn a() {}\n",
        "#[ignore]\n#[test]\nfn a() -> [u8; 2] { [0; 2] }\n",
        "#[cfg(all(test, unix))]\nuse std::{a, b};\n",
        "#[cfg(test)]\nconst A: T = T { a: 1 };\n",
        "#[cfg(test)]\nimpl T { fn f() {} }\n",
        "#[cfg(test)]\nmod a;\n",
        "#![cfg(test)]\nfn helper() {}\n",
        "mod inner { #[rstest::rstest] fn a() {} }\n",
    ] {
        assert!(has_regions("a.rs", item), "{item}");
    }
    for item in [
        "#[cfg(not(test))]\nfn a() {}\n",
        "#[derive(Debug)]\nstruct A;\n",
        "// #[test]\nfn a() {}\n",
        "\"#[test]\"",
        "#[cfg_attr(test, x)]\nfn a() {}\n",
    ] {
        assert!(!has_regions("a.rs", item), "{item}");
    }
    assert!(declares_test_module("#[cfg(test)]\nmod probes;\n", "probes"));
    assert!(!declares_test_module("mod probes;\n", "probes"));
}

const PYTHON: &str = "import unittest\n\n\ndef total(prices):\n    \"\"\"Sums.\n\n    >>> total([1, 2])\n    3\n    \"\"\"\n    return 0\n\n\n\
                      class CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1]), 1)\n\n\n\
                      if __name__ == \"__main__\":\n    unittest.main()\n";

#[test]
fn python_tests_inside_a_source_are_put_back() {
    let right = PYTHON.replace("return 0", "return sum(prices)");
    assert_eq!(restore("cart.py", PYTHON, &right), Restored::Same);
    for (old, new) in [
        ("self.assertEqual(total([1]), 1)", "pass"),
        ("    3\n", "    0\n"),
        (">>> total([1, 2])", ">>> total([1, 2])  # doctest: +SKIP"),
        ("    unittest.main()", "    unittest.main(exit=False)"),
        ("class CartTest", "@unittest.skip('later')\nclass CartTest"),
    ] {
        assert_eq!(changed("cart.py", PYTHON, &right.replace(old, new)), right, "{new}");
    }
    let without_main = right.replace("\n\nif __name__ == \"__main__\":\n    unittest.main()\n", "\n");
    assert!(changed("cart.py", PYTHON, &without_main).ends_with("unittest.main()\n"));
}

const SCRIPT: &str = "export const add = (a, b) => a - b;\nconst odd = /}\"/;\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n  \
                      it('adds', () => { expect(add(1, 2)).toBe(3); });\n}\n";

#[test]
fn vitest_inside_a_source_is_put_back() {
    let right = SCRIPT.replace("a - b", "a + b");
    assert_eq!(restore("add.ts", SCRIPT, &right), Restored::Same);
    assert_eq!(changed("add.ts", SCRIPT, &right.replace("it('adds'", "it.skip('adds'")), right);
    let (code, _) = right.split_once("if (").unwrap();
    assert!(changed("add.ts", SCRIPT, code).contains("toBe(3)"));
}

#[test]
fn other_languages_have_no_regions() {
    assert_eq!(restore("a.c", "int a;", "int b;"), Restored::Same);
}

fn pieces() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "#[cfg(test)]",
        "#[test]",
        "mod tests",
        "fn a()",
        "{",
        "}",
        "(",
        ")",
        ";",
        "\"",
        "'",
        "'a",
        "r#\"",
        "\"#",
        "//",
        "/*",
        "*/",
        "///",
        "```",
        "\n",
        "class TestA:",
        "def test_a():",
        "if __name__",
        "unittest.main()",
        ">>> a",
        "'''",
        "\"\"\"",
        "@x",
        "    ",
        "if (",
        "import.meta.vitest",
        "````",
        "~~~",
        ".. doctest::",
        "<!--",
        "-->",
        "<pre>",
        "#![doc = include_str!(\"a.md\")]",
        "WANT = 1",
        "`",
        "\\",
        "é",
        "#",
        "[",
        "]",
        ",",
    ]);
    prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn anything_is_read_and_put_back_without_a_panic(before in pieces(), after in pieces(), name in 0_usize..5) {
        let path = ["a.rs", "a.py", "a.ts", "a.md", "a.rst"][name];
        if let Restored::Changed { text, .. } = restore(path, &before, &after) {
            prop_assert_eq!(restore(path, &before, &text), Restored::Same, "what was put back is what there was");
        }
    }

    #[test]
    fn a_files_own_regions_are_no_change(text in pieces(), name in 0_usize..5) {
        let path = ["a.rs", "a.py", "a.ts", "a.md", "a.rst"][name];
        let regions = super::regions(path, &text);
        let rebuilt = super::rebuilt(&regions, &text, &regions, &text);
        prop_assert_eq!(rebuilt, Ok((text, Vec::new())));
    }
}

/// Found by the property above: the line of a string looks like an example that reaches over an attribute.
#[test]
fn regions_never_overlap_where_a_string_looks_like_documentation() {
    let text = "\"#\n///```\"#![doc = include_str!(\"a.md\")]";
    let regions = super::regions("a.rs", text);
    assert!(regions.iter().any(|region| region.key == "documentation from a file"), "{regions:?}");
    assert!(regions.is_sorted_by(|one, next| one.range.end <= next.range.start), "{regions:?}");
}

#[test]
fn a_test_that_something_new_encloses_is_lost() {
    let (code, tests) = RUST.split_once("#[cfg(test)]").unwrap();
    let (module, _) = tests.split_once("\npub fn last").unwrap();
    for (before, behind) in [
        ("#[cfg(any())]\nmod hidden {\n", "\n}\n"),
        ("mod hidden {\n", "\n}\n"),
        ("left_out! {\n", "\n}\n"),
        ("left_out!(\n", ");\n"),
        ("pub fn never() {\n", "\n}\n"),
    ] {
        let after = format!("{code}{before}#[cfg(test)]{module}{behind}pub fn last() {{}}\n");
        assert!(matches!(restore("src/lib.rs", RUST, &after), Restored::Lost { .. }), "{after}");
    }
    let inside = "impl Cart {\n    fn total(&self, prices: &[u64]) -> u64 {\n        1\n    }\n\n    #[cfg(test)]\n    fn seen(&self) {}\n}\n";
    let honest = inside.replace("impl Cart", "impl<T: Default> Cart<T>").replace("1\n", "prices.iter().sum()\n");
    assert_eq!(restore("src/lib.rs", inside, &honest), Restored::Same);
}

#[test]
fn examples_in_comments_of_blocks_and_without_fences_are_put_back() {
    let block = "/** Adds.\n\n```\nassert_eq!(add(20, 22), 42);\n```\n*/\npub fn add() {}\n";
    let starred = "/**\n * Adds.\n *\n * ```\n * assert_eq!(add(20, 22), 42);\n * ```\n */\npub fn add() {}\n";
    let indented = "/// Adds.\n///\n///     let sum = add(20, 22);\n///\n///     assert_eq!(sum, 42);\n///\n/// More.\npub fn add() {}\n";
    for text in [block, starred, indented] {
        let after = text.replace("42)", "-2)").replace("{}", "{ 1 }");
        assert_eq!(changed("src/lib.rs", text, &after), text.replace("{}", "{ 1 }"));
        let more = text.replace("pub fn", "/// ```\n/// more();\n/// ```\npub fn more() {}\n\npub fn");
        assert!(matches!(restore("src/lib.rs", text, &more.replace("Adds.", "Sums.")), Restored::Same), "{more}");
    }
}

#[test]
fn a_module_of_a_file_is_declared_as_at_the_start() {
    let start = "mod cart;\n#[cfg(feature = \"more\")]\npub mod more;\n\nfn main() {}\n";
    let other = |after: &str| redeclared(start, after, &["src/gone.rs"]);
    for after in [
        start.replace("mod cart;", "pub(crate) mod cart;\nmod list;"),
        start.replace("mod cart;", "#[allow(dead_code)]\nmod cart;"),
        start.replace("fn main() {}", "fn main() { cart::run() }"),
    ] {
        assert_eq!(other(&after), None, "{after}");
    }
    for after in [
        start.replace("mod cart;", "#[cfg(any())]\nmod cart;\nmod cart { tests!(test); }"),
        start.replace("mod cart;", "#[path = \"other.rs\"]\nmod cart;"),
        start.replace("mod cart;", "#[cfg_attr(all(), path = \"other.rs\")] mod cart;"),
        start.replace("mod cart;", "mod hidden { mod cart; }"),
        start.replace("mod cart;", "declare!(cart);"),
    ] {
        assert_eq!(other(&after).as_deref(), Some("cart"), "{after}");
    }
    assert_eq!(other(&start.replace("\"more\"", "\"less\"")).as_deref(), Some("more"));
    assert_eq!(redeclared("mod gone;\n", "", &["src/gone.rs"]), None);
}

#[test]
fn a_test_of_python_is_put_in_its_place_by_no_code_outside() {
    let start = "import unittest\n\n\ndef total(prices):\n    return 0\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
        self.assertEqual(total([1]), 1)\n";
    for more in ["CartTest.test_total = lambda self: None", "globals()['CartTest'] = object", "del CartTest"] {
        assert!(matches!(restore("a.py", start, &format!("{start}\n\n{more}\n")), Restored::Lost { .. }), "{more}");
    }
    assert_eq!(restore("a.py", start, &start.replace("return 0", "return sum(prices)")), Restored::Same);
}

#[test]
fn what_a_product_calls_a_test_may_change() {
    let start =
        "class TestPlan:\n    def run(self):\n        return 0\n\n\ndef test_connection(url):\n    return False\n";
    let fixed = start.replace("return 0", "return 1").replace("False", "open(url)");
    assert_eq!(restore("shop/plan.py", start, &fixed), Restored::Same);
    let bare = "def test_total():\n    assert total([1]) == 1\n";
    assert_eq!(changed("shop/plan.py", bare, &bare.replace("== 1", "== 0")), bare);
}

#[test]
fn an_example_stays_where_it_is_run() {
    let python = "def total(prices):\n    \"\"\"Sums.\n\n    >>> total([1])\n    1\n    \"\"\"\n    return 0\n";
    let moved = "def total(prices):\n    _ = \"\"\"\n    >>> total([1])\n    1\n    \"\"\"\n    return 0\n";
    assert!(matches!(restore("a.py", python, moved), Restored::Lost { .. }));
    let swapped =
        moved.replace("prices):\n", "prices):\n    \"\"\"Sums.\n\n    >>> total([1]) > 0\n    True\n    \"\"\"\n");
    let back = changed("a.py", python, &swapped);
    assert!(back.contains("Sums.\n\n    >>> total([1])\n    1\n"), "{back}");
    let more =
        format!("def first():\n    \"\"\"First.\"\"\"\n\n\n{}", python.replace("return 0", "return sum(prices)"));
    assert_eq!(restore("a.py", python, &more), Restored::Same);
    let rust = "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1, 2), 3);\n/// ```\npub fn add() {}\n";
    let hidden =
        rust.replace("/// ```\n/// assert", "/// <!--\n/// ```\n/// assert").replace("pub fn", "/// -->\npub fn");
    assert!(matches!(restore("src/lib.rs", rust, &hidden), Restored::Lost { .. }));
}

#[test]
fn vitests_tests_in_a_source_run_where_they_ran_and_nobody_else_asks_for_it() {
    let start = "export const total = () => 0;\n\nif (import.meta.vitest) {\n  const { test } = import.meta.vitest;\n  test('a', () => {});\n}\n";
    let tests = start.split_once("\n\n").unwrap().1;
    let wrapped = start.replace(tests, &format!("export function never() {{\n{tests}}}\n"));
    assert!(matches!(restore("a.js", start, &wrapped), Restored::Lost { .. }));
    let asked = format!("const runner = import.meta.vitest;\n{start}");
    assert!(matches!(restore("a.js", start, &asked), Restored::Lost { .. }));
    assert_eq!(restore("a.js", start, &start.replace("=> 0", "=> 1")), Restored::Same);
}

#[test]
fn examples_of_a_document_are_put_back_and_its_prose_may_change() {
    let fence = "# Calc\n\nAdds.\n\n```rust\nassert_eq!(calc::add(20, 22), 42);\n```\n\n```toml\ncalc = \"0.1\"\n```\n";
    let session = "# Shop\n\nAdds.\n\n    >>> total([1, 2])\n    3\n\nEnd.\n";
    for (path, text) in
        [("README.md", fence), ("README.md", session), ("docs/usage.rst", session), ("docs/usage.txt", session)]
    {
        let prose = text.replace("Adds.", "Sums up.").replace("0.1", "0.2");
        assert_eq!(restore(path, text, &prose), Restored::Same);
        let other = prose.replace("42)", "-2)").replace("    3\n", "    2\n");
        assert_eq!(changed(path, text, &other), prose, "{path}");
        let more = format!("{prose}\n```rust\nassert!(true);\n```\n\n>>> total([])\n0\n");
        assert_eq!(restore(path, text, &more), Restored::Same);
        let without = "# Calc\n\nNothing.\n";
        assert!(matches!(restore(path, text, without), Restored::Lost { .. }), "{path}");
    }
    for hidden in [
        fence.replace("```rust", "```text"),
        fence.replace("```rust", "````text\n```rust").replace("42);\n```\n", "42);\n```\n````\n"),
        fence.replace("```rust", "<!--\n```rust").replace("42);\n```\n", "42);\n```\n-->\n"),
        fence.replace("```rust", "<pre>\n```rust"),
        fence.replace("```rust", "<details>\n```rust"),
    ] {
        assert!(matches!(restore("README.md", fence, &hidden), Restored::Lost { .. }), "{hidden}");
    }
    assert!(!has_examples("README.md", "# A\n\n```sh\nmake\n```\n\n- one\n\n    more of one\n"));
}

#[test]
fn directives_of_sphinx_stay_as_they_were() {
    let text = "Shop\n====\n\n.. doctest::\n\n   >>> total([1])\n   1\n\n.. testcode::\n\n   print(total([2]))\n\n.. testoutput::\n\n   2\n\n.. note::\n\n   More.\n";
    assert_eq!(
        restore("a.rst", text, &text.replace("More.", "Less.").replace("Shop\n====", "Cart\n====")),
        Restored::Same
    );
    for other in [text.replace("   2\n", "   0\n"), text.replace("   1\n", "   0\n")] {
        assert_eq!(changed("a.rst", text, &other), text);
    }
    let skipped = text.replace(".. doctest::\n", ".. doctest::\n   :skipif: True\n");
    assert_eq!(changed("a.rst", text, &skipped), text);
    let setup = format!(".. testsetup::\n\n   total = sum\n\n{text}");
    assert_ne!(restore("a.rst", text, &setup), Restored::Same);
    let plain = "Shop\n\n>>> total([1])\n1\n";
    let moved = "Shop\n\n.. comment\n\n   >>> total([1])\n   1\n";
    assert!(!matches!(restore("a.rst", plain, moved), Restored::Same));
}

#[test]
fn no_new_example_binds_names_for_those_behind_it() {
    let text = "Shop\n\n>>> total([1, 2])\n3\n";
    let before = text.replace("Shop\n", "Shop\n\n>>> total = lambda prices: 3\n");
    assert_eq!(changed("a.md", text, &before), text.replace("Shop\n", "Shop\n\n"));
    assert_eq!(restore("a.md", text, &format!("{text}\n>>> total([])\n0\n")), Restored::Same);
    let python = "def total(prices):\n    \"\"\"Sums.\n\n    >>> total([1, 2])\n    3\n    \"\"\"\n    return 0\n";
    let rebound = python.replace("    >>> total([1, 2])", "    >>> total = sum\n\n    >>> total([1, 2])");
    assert!(!changed("a.py", python, &rebound).contains("= sum"));
}

#[test]
fn a_document_is_run_where_something_says_so() {
    for (speaker, text) in [
        ("src/lib.rs", "#![doc = include_str!(\"../README.md\")]"),
        ("pytest.ini", "[pytest]\naddopts = --doctest-glob=*.md"),
        ("tests/test_docs.py", "import doctest\ndoctest.testfile('../README.md')"),
        ("docs/conf.py", "extensions = ['sphinx.ext.doctest']"),
        ("Makefile", "test:\n\tpython -m pytest README.md"),
        ("sh", "rustdoc --test README.md"),
    ] {
        assert!(says_run("README.md", speaker, text), "{speaker}");
    }
    for (speaker, text) in [
        ("src/lib.rs", "include_str!(\"../LICENSE.md\")"),
        ("pyproject.toml", "readme = \"README.md\"\n[tool.pytest.ini_options]\naddopts = \"-q\""),
        ("shop/cart.py", "import doctest\ndoctest.testmod()"),
        ("Makefile", "docs:\n\tpandoc README.md"),
        ("sh", "python -m pytest"),
    ] {
        assert!(!says_run("README.md", speaker, text), "{speaker}");
    }
}

#[test]
fn documentation_from_a_file_is_taken_from_the_same_file() {
    let start = "#![allow(dead_code)]\n#![doc = include_str!(\"../README.md\")]\n\npub fn add() {}\n";
    assert_eq!(
        restore("src/lib.rs", start, &start.replace("{}", "{ 1 }").replace("dead_code", "unused")),
        Restored::Same
    );
    assert_eq!(changed("src/lib.rs", start, &start.replace("README", "OTHER")), start);
    assert!(matches!(restore("src/lib.rs", start, "pub fn add() {}\n"), Restored::Lost { .. }));
}

#[test]
fn what_encloses_a_test_is_seen_behind_attributes_of_the_file_too() {
    let start = "#![allow(dead_code)]\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
    let after = start.replace("#[cfg(test)]", "mod hidden {\n#[cfg(test)]") + "}\n";
    assert!(matches!(restore("src/lib.rs", start, &after), Restored::Lost { .. }));
    let declared = "#![allow(dead_code)]\nmod cart;\n";
    assert_eq!(
        redeclared(declared, &declared.replace("mod cart", "#[path = \"b.rs\"]\nmod cart"), &[]).as_deref(),
        Some("cart")
    );
}

#[test]
fn what_tests_in_a_source_compare_with_is_theirs() {
    let start = "import unittest\n\n\ndef total(prices):\n    return 0\n\n\nWANT = 6\nRATE = 2\n\n\nclass CartTest(unittest.TestCase):\n    \
        def test_total(self):\n        self.assertEqual(total([1, 5]), WANT)\n        self.assertEqual(RATE, 3)\n";
    assert_eq!(changed("a.py", start, &start.replace("WANT = 6", "WANT = 0")), start);
    assert_eq!(
        changed("a.py", start, &start.replace("RATE = 2", "WANT = 0\nRATE = 2")).replace("\n\n", "\n"),
        start.replace("\n\n", "\n")
    );
    assert!(matches!(restore("a.py", start, &format!("{start}\n\nfor WANT in [0]: pass\n")), Restored::Lost { .. }));
    let honest = start.replace("RATE = 2", "RATE = 3").replace("return 0", "return sum(prices)");
    assert_eq!(restore("a.py", start, &honest), Restored::Same);
    let product = start.replace("return 0", "return WANT");
    assert_eq!(restore("a.py", &product, &product.replace("WANT = 6", "WANT = 5")), Restored::Same);
}

#[test]
fn a_module_that_only_asserts_is_known() {
    for text in [
        "def same(one, two):\n    assert one == two, (one, two)\n",
        "import math\n\n\ndef close(one, two):\n    if not _near(one, two):\n        raise AssertionError(one)\n\n\ndef _near(one, two):\n    return math.isclose(one, two)\n",
    ] {
        assert!(only_asserts(text), "{text}");
    }
    for text in [
        "def total(prices):\n    assert prices\n    return sum(prices)\n",
        "def greet(name):\n    print(name)\n",
        "class Cart:\n    pass\n\n\ndef check(cart):\n    assert cart\n",
        "def total(prices):\n    return 0\n\n\ndef check(cart):\n    assert cart\n",
        "X = 1\n",
    ] {
        assert!(!only_asserts(text), "{text}");
    }
}
