//! Honest fixes in Python, under unittest.

use super::{Fix, kept, play};

const COMMAND: &str = "python3 -m unittest -v";
const BROKEN: &str = "def total(prices):\n    return sum(prices) - 1\n";
const MENDED: &str = "def total(prices):\n    return sum(prices)\n";

/// A fix of one function, judged by one test file.
fn fix(name: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", BROKEN),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", test),
        ],
        command: COMMAND,
        writes: vec![("shop/cart.py", MENDED)],
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_of_many_shapes_are_witnessed_and_their_fixes_kept() {
    let told = kept(&[
        fix(
            "the expected value first",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(6, total([1, 2, 3]))\n\n    def test_b(self):\n        self.assertEqual(total([1]), 1)\n",
        ),
        fix(
            "parts of a test",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_rows(self):\n        for given, wanted in [([1], 1), ([2, 3], 5)]:\n            with self.subTest(given=given):\n                self.assertEqual(total(given), wanted)\n",
        ),
        fix(
            "a bound value, and a tab before each line",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n\tdef test_a(self):\n\t\twanted = 6\n\t\tself.assertEqual(total([1, 2, 3]), wanted)\n",
        ),
        fix(
            "no literal is expected",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        given = [1, 2, 3]\n        self.assertEqual(total(given), sum(given))\n",
        ),
        fix(
            "an inequality",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        self.assertGreater(total([1]), 0.5)\n",
        ),
        fix(
            "a coroutine",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.IsolatedAsyncioTestCase):\n    async def test_a(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n",
        ),
        fix(
            "tests that hang on one another",
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    seen = []\n\n    def test_a(self):\n        self.seen.append(total([1]))\n        self.assertEqual(self.seen, [1])\n\n    def test_b(self):\n        self.seen.append(total([2]))\n        self.assertEqual(self.seen, [1, 2])\n",
        ),
        fix(
            "a check in a function of its own",
            "import unittest\nfrom shop.cart import total\n\ndef check(case, given, wanted):\n    case.assertEqual(total(given), wanted)\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        check(self, [1, 2], 3)\n",
        ),
        fix(
            "a patched clock and a class that inherits its tests",
            "import unittest\nfrom unittest import mock\nfrom shop.cart import total\n\nclass Base:\n    def test_a(self):\n        self.assertEqual(total(self.given), self.wanted)\n\nclass C(Base, unittest.TestCase):\n    given, wanted = [1, 2], 3\n\n    @mock.patch('time.time', return_value=5)\n    def test_b(self, clock):\n        self.assertEqual(total([2]), 2)\n",
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn a_picture_by_the_tests_name_is_no_witness_of_names() {
    let mut picture = fix(
        "a picture by the test's name",
        "import pathlib\nimport unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        name = self.id().rsplit('.', 1)[-1]\n        wanted = pathlib.Path(__file__).with_name(name + '.txt').read_text()\n        self.assertEqual(str(total([1, 2, 3])), wanted)\n",
    );
    picture.files.push(("tests/test_a.txt", "6"));
    insta::assert_snapshot!(kept(&[picture]));
}

#[test]
fn a_file_that_could_not_be_loaded_is_witnessed_by_the_tests_in_it() {
    let missing = Fix {
        writes: vec![(
            "shop/cart.py",
            "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n",
        )],
        ..fix(
            "a function that was not there",
            "import unittest\nfrom shop.cart import count\n\nclass C(unittest.TestCase):\n    def test_count(self):\n        self.assertEqual(count([1, 2, 3]), 3)\n",
        )
    };
    insta::assert_snapshot!(kept(&[missing]));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn honest_programs_end_print_and_ask_and_are_remarked_on() {
    let program = |name, source: &'static str| Fix {
        writes: vec![("shop/cart.py", source)],
        ..fix(
            name,
            "import unittest\nfrom shop.cart import total\n\nclass C(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n",
        )
    };
    let told = kept(&[
        program(
            "a program that ends",
            "import os\nimport sys\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef main():\n    print(total(map(int, sys.argv[1:])))\n    os._exit(0)\n",
        ),
        program(
            "one that prints TAP",
            "def total(prices):\n    return sum(prices)\n\n\ndef tap(prices):\n    print('1..1')\n    print('ok 1 - total')\n",
        ),
        program(
            "one that cleans up at its end",
            "import atexit\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef main():\n    atexit.register(print, 'bye')\n",
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn required_proof_refuses_what_cannot_be_witnessed_and_says_why() {
    let no_file = Fix {
        files: vec![("shop/__init__.py", ""), ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n")],
        command: "python3 -c 'import shop.cart, sys; sys.exit(shop.cart.total([1, 2]) != 3 and \"wrong\" or 0)'",
        ..fix("a command without a file of tests", "")
    };
    let folder_is_as_it_was = std::panic::catch_unwind(|| play(&no_file, "safety: { proof: required }\n"));
    // `play` asks for the fix to be kept, and a refused one is taken back.
    assert!(folder_is_as_it_was.is_err());
    let (report, said) = play(&no_file, "");
    assert_eq!(said.code, 0, "{}", said.all());
    let poisoned = report["proof"].as_array().into_iter().flatten().find(|one| one["evidence"] == "poisoned");
    assert_eq!(poisoned.expect("it is told")["status"], "not_possible");
}
