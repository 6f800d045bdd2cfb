//! Tests whose bodies nobody finds: a failing one is added to their files.

use super::{Fix, kept, without};

fn sourced(name: &'static str, product: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("lib/greet.sh", "greet() { echo \"Hello $1\"; }\n"),
            (
                "tests/run.sh",
                ". lib/greet.sh\nsaid=$(greet Ada)\n[ \"$said\" = \"Hello, Ada\" ] || { echo \"said $said\"; exit 1; }\n",
            ),
            ("Makefile", "test:\n\tsh tests/run.sh\n"),
        ],
        command: "make test",
        writes: vec![("lib/greet.sh", product)],
    }
}

fn made_by_a_loop(name: &'static str, product: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
            ("tests/__init__.py", ""),
            (
                "tests/test_cart.py",
                "import unittest\nfrom shop.cart import total\n\n\nclass C(unittest.TestCase):\n    pass\n\n\nfor number in [1, 2]:\n    setattr(C, f'test_{number}', lambda self, n=number: self.assertEqual(total([n]), n))\n",
            ),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/cart.py", product)],
    }
}

#[test]
fn a_script_that_can_no_longer_fail_is_no_witness() {
    let cheat = sourced("a library that ends its caller well", "greet() { echo \"Hello $1\"; }\ntrap 'exit 0' EXIT\n");
    assert_eq!(without(&cheat, ""), (1, vec!["poisoned".to_owned()]));
    assert_eq!(without(&cheat, "poisoned"), (0, Vec::new()), "it works where nobody asks");
}

#[test]
fn honest_fixes_of_what_such_tests_found_are_kept_and_witnessed() {
    let told = kept(&[
        sourced("a script", "greet() { echo \"Hello, $1\"; }\n"),
        made_by_a_loop("tests that a loop makes", "def total(prices):\n    return sum(prices)\n"),
    ]);
    assert_eq!(told.matches("poisoned held").count(), 2, "{told}");
    assert!(!told.contains("remarked"), "{told}");
}
