//! The tests of a file are found and changed, in every language.

use super::*;

fn poison(place: Place, means: Means) -> Poison {
    Poison { place, means, word: "zaqwsx".to_owned() }
}

fn only(source: &Source, name: &str) -> TestBody {
    let found: Vec<_> = source.tests().iter().filter(|test| source.is_called(test, name)).cloned().collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", source.tests());
    found.into_iter().next().unwrap()
}

const PYTEST: &str = r#"import pytest

from cart import total

@pytest.mark.parametrize("given, wanted", [(1, 2), pytest.param(3, 4, id="x")])
def test_rows(given, wanted):
    """Says what it is."""
    assert total(given) == wanted


class TestCart:
    def test_total(self):
        text = """
a line at the margin
"""
        if text:
            return
        assert total(text) == {"a": 1}


def test_short(): assert total(1) == -1
"#;

#[test]
fn pytests_tests_are_found_by_the_names_that_it_prints() {
    let source = Source::read("pkg/tests/test_cart.py", PYTEST).unwrap();
    assert_eq!(only(&source, "tests/test_cart.py::test_rows[1-2]").names, ["test_rows"]);
    assert_eq!(only(&source, "pkg/tests/test_cart.py::TestCart::test_total").names, ["TestCart", "test_total"]);
    for other in ["tests/test_other.py::test_rows[1-2]", "tests/test_cart.py::test_total", "tests/test_cart.py::test"] {
        assert!(!source.tests().iter().any(|test| source.is_called(test, other)), "{other}");
    }
}

#[test]
fn unittests_tests_are_found_by_the_names_that_it_prints() {
    let text = "import unittest\n\nclass Case(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 'x')\n";
    let source = Source::read("tests/test_stock.py", text).unwrap();
    for name in
        ["test_a (tests.test_stock.Case.test_a)", "test_a (test_stock.Case)", "test_a (test_stock.Case.test_a) (i=2)"]
    {
        assert_eq!(only(&source, name).names, ["Case", "test_a"]);
    }
    let test = only(&source, "test_a (test_stock.Case)");
    assert_eq!(
        source.renamed_name(&test, "test_a (tests.test_stock.Case.test_a)", "w").unwrap(),
        "test_a_w (tests.test_stock.Case.test_a_w)"
    );
}

#[test]
fn a_python_test_fails_before_and_after_its_body() {
    let source = Source::read("tests/test_cart.py", PYTEST).unwrap();
    let edited = |name: &str, place, means| {
        let edits = source.poisoned(&only(&source, name), &poison(place, means))?;
        source.edited(&edits)
    };
    let first = edited("tests/test_cart.py::test_rows[1-2]", Place::First, Means::Raise).unwrap();
    assert!(first.contains("is.\"\"\"\n    raise AssertionError(\"zaqwsx\")\n    assert total(given)"), "{first}");
    let last = edited("tests/test_cart.py::TestCart::test_total", Place::Last, Means::Assertion).unwrap();
    assert!(last.contains("       try:\n        text = \"\"\"\na line at the margin\n"), "{last}");
    assert!(last.contains("== {\"a\": 1}\n       finally:\n        assert \"zaqwsx\" == \"xswqaz\"\n"), "{last}");
    let short = edited("tests/test_cart.py::test_short", Place::First, Means::Raise).unwrap();
    assert!(short.contains("def test_short(): raise AssertionError(\"zaqwsx\"); assert"), "{short}");
    assert_eq!(edited("tests/test_cart.py::test_short", Place::Last, Means::Raise), None);
}

#[test]
fn a_python_test_that_expects_to_fail_is_left_alone() {
    let text = "import pytest\n\n@pytest.mark.xfail(strict=True)\ndef test_a():\n    assert f() == 1\n";
    let source = Source::read("test_a.py", text).unwrap();
    let test = only(&source, "test_a.py::test_a");
    assert_eq!(source.poisoned(&test, &poison(Place::First, Means::Raise)), None);
}

#[test]
fn what_a_python_test_expects_is_altered() {
    let source = Source::read("tests/test_cart.py", PYTEST).unwrap();
    let altered = |name: &str| {
        let expectations = source.expectations(&only(&source, name));
        let edits: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| source.altered(one, "zaqwsx")).collect();
        source.edited(&edits.unwrap().concat()).unwrap()
    };
    assert!(altered("tests/test_cart.py::test_rows[1-2]").contains("[(1, 7921), pytest.param(3, 7923, id=\"x\")]"));
    assert!(altered("tests/test_cart.py::TestCart::test_total").contains("== {\"zaqwsx\": \"zaqwsx\", \"a\": 1}"));
    assert!(altered("tests/test_cart.py::test_short").contains("== -7920"));
}

#[test]
fn what_moves_with_its_input_is_no_expectation() {
    let text = "def test_a():\n    text = 'x'\n    assert decode(encode(text)) == text\n";
    let source = Source::read("test_a.py", text).unwrap();
    assert_eq!(source.expectations(&only(&source, "test_a.py::test_a")), []);
    let text = "test('a', () => {\n  const text = 'x';\n  expect(decode(encode(text))).toBe(text);\n});\n";
    let source = Source::read("a.test.js", text).unwrap();
    assert_eq!(source.expectations(&only(&source, "a")), []);
}

#[test]
fn python_literals_change_within_their_type() {
    for (literal, other) in [
        ("True", "False"),
        ("3", "7922"),
        ("0x1F", "(0x1F + 7919)"),
        ("1.5", "7920.5"),
        ("'a'", "'wa'"),
        ("rb\"a\"", "rb\"wa\""),
        ("\"\"\"a\"\"\"", "\"\"\"wa\"\"\""),
        ("[]", "[\"w\"]"),
        ("()", "(\"w\", )"),
        ("(1, 2)", "(\"w\", 1, 2)"),
        ("{}", "{\"w\": \"w\"}"),
        ("{1}", "{\"w\", 1}"),
    ] {
        assert_eq!(python::altered(literal, "w").as_deref(), Some(other));
    }
}

#[test]
fn what_is_computed_is_put_into_a_list_that_nothing_equals() {
    let joined = |path: &str, text: &str, line: u32| {
        let source = Source::read(path, text).unwrap();
        let test = source.tests().first().unwrap().clone();
        source.joined(&test, line, "w").map(|edits| source.edited(&edits).unwrap())
    };
    let python = "def test_a():\n    assert f(1) == g(2)\n    assert f(1) > 2\n";
    assert!(joined("test_a.py", python, 2).unwrap().contains("assert f(1) == [g(2), \"w\"]\n"));
    assert_eq!(joined("test_a.py", python, 3), None);
    let case =
        "class A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), await g(2), 'why')\n";
    assert!(joined("test_a.py", case, 3).unwrap().contains("assertEqual(f(1), [await g(2), \"w\"], 'why')"));
    let script = "it('a', () => {\n  expect(f(1)).toEqual(g(2));\n  assert.equal(f(1), ...h);\n});\n";
    assert!(joined("a.test.js", script, 2).unwrap().contains("toEqual([g(2), \"w\"])"));
    assert_eq!(joined("a.test.js", script, 3), None);
}

#[test]
fn titles_with_gaps_are_found_by_what_fills_them() {
    let test = TestBody {
        names: vec!["Cart".to_owned(), "%i teas cost $price".to_owned()],
        is_template: true,
        lines: (1, 1),
        whole: 0..0,
        name: 0..0,
        body: 0..0,
    };
    let called = |name: &str| names::is_called(Language::JavaScript, "tests/cart.test.ts", &test, name);
    assert!(called("Cart › 3 teas cost 1300"));
    assert!(called("tests/cart.test.ts > Cart > 2 teas cost 901"));
    assert!(!called("Cart › 3 coffees cost 1300"));
}

#[test]
fn edits_that_overlap_are_none() {
    let edit = |from, to| Edit { range: from..to, text: "x".to_owned() };
    assert_eq!(apply("abcd", &[edit(0, 2), edit(1, 3)]), None);
    assert_eq!(apply("abcd", &[edit(2, 3), edit(0, 1)]).as_deref(), Some("xbxd"));
    assert_eq!(apply("abcd", &[edit(2, 9)]), None);
}

#[test]
fn tests_may_be_added_and_nothing_else_changed() {
    let python = "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n";
    let more = "\n\n# More than one.\n@slow\ndef test_more():\n    assert total([1, 2]) == 3\n";
    let with = |text: &str| format!("{python}{text}");
    assert!(adds_tests_only("test_a.py", Some(python), &with(more)));
    assert!(adds_tests_only("test_a.py", Some(python), &format!("import os\n{}", with(more))));
    assert!(adds_tests_only("test_a.py", None, &with(more)));
    let wrong = [
        with(""),
        with(more).replace("== 1", "== 2"),
        with("\n\ndef test_total():\n    pass\n"),
        with(more).replace("from cart", "from other"),
        format!("total = len\n{}", with(more)),
        with(&format!("{more}\ntest_total = None\n")),
        with(&format!("{more}    assert (\n")),
    ];
    for text in wrong {
        assert!(!adds_tests_only("test_a.py", Some(python), &text), "{text}");
    }
    for text in ["", "def helper():\n    pass\n"] {
        assert!(!adds_tests_only("test_a.py", None, text), "{text}");
    }
}

#[test]
fn tests_may_be_added_in_every_language() {
    let script = "import { f } from '../f.js';\n\ndescribe('f', () => {\n  // First.\n  it('a', () => {\n    expect(f()).toBe(1);\n  });\n});\n";
    let case = "\n  it('b', () => {\n    expect(f()).toBe(2);\n  });\n});\n";
    let inside = format!("{}{case}", script.trim_end().strip_suffix("});").unwrap());
    let beside = format!("{script}describe('g', () => {{\n  it('c', () => {{}});\n}});\n");
    for text in [&inside, &beside] {
        assert!(adds_tests_only("f.test.js", Some(script), text), "{text}");
    }
    assert!(!adds_tests_only("f.test.js", Some(script), &inside.replace("it('a'", "it.skip('a'")));
    assert!(!adds_tests_only("f.test.js", Some(script), &inside.replace("describe('f'", "describe.skip('f'")));
    assert!(!adds_tests_only("f.test.js", Some(script), &format!("// @jest-environment none\n{inside}")));
    let rust = "pub fn f() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn a() {\n        assert_eq!(f(), 1);\n    }\n}\n";
    let added = format!(
        "{}\n    /// Twice.\n    #[test]\n    fn b() {{\n        assert_eq!(f() + f(), 2);\n    }}\n}}\n",
        rust.trim_end().strip_suffix('}').unwrap()
    );
    assert!(adds_tests_only("src/lib.rs", Some(rust), &added));
    assert!(!adds_tests_only("src/lib.rs", Some(rust), &added.replace("#[test]\n    fn a", "fn a")));
    assert!(!adds_tests_only("src/lib.rs", Some(rust), &added.replace("i32 {\n    1", "i32 {\n    2")));
    let go =
        "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(f())\n\t}\n}\n";
    let added = format!("{go}\n// TestB is new.\nfunc TestB(t *testing.T) {{\n\tt.Log(f())\n}}\n");
    assert!(adds_tests_only("a_test.go", Some(go), &added));
    assert!(!adds_tests_only("a_test.go", Some(go), &format!("//go:build never\n\n{added}")));
    assert!(!adds_tests_only("a_test.go", Some(go), &format!("{added}\nfunc init() {{}}\n")));
}

#[test]
fn a_file_that_is_called_like_its_test_keeps_its_name() {
    let text = "def test_total():\n    assert total() == 1\n";
    let source = Source::read("tests/test_total.py", text).unwrap();
    let renamed = |name: &str| source.renamed_name(&source.tests()[0], name, "q").unwrap();
    assert_eq!(renamed("tests/test_total.py::test_total"), "tests/test_total.py::test_total_q");
    assert_eq!(renamed("tests/test_total.py::test_total[test_total]"), "tests/test_total.py::test_total_q[test_total]");
    assert_eq!(renamed("test_total (tests.test_total.T.test_total)"), "test_total_q (tests.test_total.T.test_total_q)");
    assert_eq!(renamed("test_total (tests.test_total.T) (i=1)"), "test_total_q (tests.test_total.T) (i=1)");
}

#[test]
fn what_a_test_looks_up_in_its_set_up_varies_there_too() {
    let text = "import unittest\nclass A(unittest.TestCase):\n    def setUp(self):\n        self.p = f(('spinor', 'spins'), ('ox', 'oxen'))\n\n    \
                def test_known(self):\n        self.assertEqual(self.p.of('spinor'), 'spins')\n\n    def test_b(self):\n        \
                self.assertEqual(self.p.of('spinor'), 'oxen')\n";
    let source = Source::read("tests/test_a.py", text).unwrap();
    let test = source.tests().iter().find(|test| test.names.contains(&"test_known".to_owned())).unwrap();
    let all = source.expectations(test);
    let edits = source.with_other_inputs(test, &all, super::Side::Behind, "wwww", &|_| true).unwrap();
    let varied = source.edited(&edits).unwrap();
    assert!(varied.contains("f(('spinorq', 'spins'), ('ox', 'oxen'))"), "{varied}");
    assert_eq!(varied.matches("'spinor'").count(), 1, "another test keeps its own: {varied}");
}
