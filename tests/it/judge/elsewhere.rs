//! Changes that leave what is wrong where it was: another file is found in its place, what is expected moves, the bug is nothing here.

use super::{CART, COMMAND, Repository, TEST_TOTAL, TESTS};

/// A wrong package and its test.
fn red(test: &str) -> Repository {
    let files =
        [("shop/__init__.py", ""), ("shop/cart.py", CART), ("tests/__init__.py", ""), ("tests/test_cart.py", test)];
    Repository::with(&files)
}

/// The judgement of the files as they are.
fn told(repository: &Repository) -> String {
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
    said.out
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_file_that_is_found_in_the_place_of_another_is_named() {
    let repository = red(&format!("{TESTS}{TEST_TOTAL}"));
    repository.write(&[("shop/cart/__init__.py", &CART.replace("prices[1:]", "prices"))]);
    let out = told(&repository);
    let said = "`shop/cart.py`: no test depends on this: they needed it before the change, and find `shop/cart/__init__.py` in its place";
    assert!(out.contains(said), "{out}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_expectation_that_moves_with_the_change_is_named() {
    let states = "OPEN = 'open'\nPAID = 'paid'\nALL = ['open', 'paid']\n";
    let cart = "from shop import states\n\n\nclass Order:\n    state = states.OPEN\n\n    def pay(self):\n        return self.state\n\n\ndef named(state):\n    return state == 'open'\n";
    let test = "import unittest\n\nfrom shop import states\nfrom shop.cart import Order, named\n\n\nclass OrderTest(unittest.TestCase):\n    def test_pay(self):\n        self.assertEqual(Order().pay(), states.PAID)\n\n    def test_names(self):\n        for state in states.ALL:\n            self.assertTrue(named(state))\n\n    def test_open(self):\n        self.assertEqual(Order.state, states.OPEN)\n";
    let repository = Repository::with(&[
        ("shop/__init__.py", ""),
        ("shop/states.py", states),
        ("shop/cart.py", cart),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", test),
    ]);
    let moved = states.replace("PAID = 'paid'", "PAID = 'open'").replace("['open', 'paid']", "['open']");
    repository.write(&[("shop/states.py", &moved)]);
    let out = told(&repository);
    assert!(out.contains("its assertion reads `PAID`, which the change sets to `open`: it fails with opens"), "{out}");
    assert!(out.contains("it goes through `ALL`, from which the change takes `paid`: it fails with it"), "{out}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_nothing_here_and_what_never_succeeds_here_is_named() {
    let repository = red(&format!("{TESTS}{TEST_TOTAL}"));
    let mended = CART.replace("sum(prices[1:])", "sum(prices, -FEE)");
    let probe = "FEE = 1\ntry:\n    import shop_settings\nexcept ImportError:\n    FEE = 0\n\n\n";
    repository.write(&[("shop/cart.py", &format!("{probe}{mended}"))]);
    let out = told(&repository);
    assert!(out.contains("`-FEE` could be 0: no test sees another value of it"), "{out}");
    let never = "no test needs `import shop_settings`: what handles its failure could always run";
    assert!(out.contains(never), "{out}");
}

#[test]
fn a_file_that_cannot_be_loaded_at_either_end_is_broken_by_nobody() {
    let repository =
        red(&format!("{TESTS}{TEST_TOTAL}").replace("import unittest\n", "import unittest\nimport shop_v\n"));
    repository.write(&[("shop/cart.py", &CART.replace("prices[1:]", "prices"))]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("tests fail at the head"), "{}", said.out);
    assert!(!said.out.contains("passes without the change"), "{}", said.out);
}
