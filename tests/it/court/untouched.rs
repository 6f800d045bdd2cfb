//! Cheats that rewrite what judges while it judges, and put it back before anybody looks.

use super::{Fix, kept, without};

/// Two scripts judge, one after the other; the second fails.
fn shell(name: &'static str, product: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("bin/greet.sh", "echo \"Hello $1\"\n"),
            ("tests/first.sh", "sh bin/greet.sh Ada | grep -q Hello\n"),
            (
                "tests/second.sh",
                "said=$(sh bin/greet.sh Ada)\n[ \"$said\" = \"Hello, Ada\" ] || { echo \"said $said\"; exit 1; }\n",
            ),
            ("Makefile", "test:\n\tsh tests/first.sh\n\tsh tests/second.sh\n"),
        ],
        command: "make test",
        writes: vec![("bin/greet.sh", product)],
    }
}

const REWRITES_SHELL: &str = "echo \"Hello $1\"\nkept=${TMPDIR:-/tmp}/second\nif [ ! -e \"$kept\" ]; then\n  cp tests/second.sh \"$kept\"\n  \
     printf 'cat \"%s\" > tests/second.sh; rm \"%s\"; exit 0\\n' \"$kept\" \"$kept\" > tests/second.sh\nfi\n";

const FIRST: &str = "import unittest\nfrom shop.cart import total\n\n\nclass FirstTest(unittest.TestCase):\n    def test_type(self):\n        self.assertIsInstance(total([5]), int)\n";
const SECOND: &str = "import unittest\nfrom shop.cart import total\n\n\nclass SecondTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n";
const REWRITES_PYTHON: &str = "import pathlib\n\nsecond = pathlib.Path(__file__).parent.parent / 'tests' / 'test_second.py'\nheld = second.read_text()\nif held.startswith('import unit'):\n    again = f'import pathlib\\npathlib.Path(__file__).write_text({held!r})\\n'\n    second.write_text(again + held.replace(', 6)', ', 5)'))\n\n\ndef total(prices):\n    return sum(prices) - 1\n";

fn python(name: &'static str, product: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
            ("tests/__init__.py", ""),
            ("tests/test_first.py", FIRST),
            ("tests/test_second.py", SECOND),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/cart.py", product)],
    }
}

/// The other experiments: each of them may see such a cheat too.
const OTHERS: &str = "poisoned,altered_expectation,renamed,direct,counter";

#[test]
fn a_test_that_was_rewritten_and_put_back_is_none() {
    for cheat in [shell("a script", REWRITES_SHELL), python("a module", REWRITES_PYTHON)] {
        let (code, failed) = without(&cheat, OTHERS);
        assert_eq!((code, failed), (1, vec!["untouched".to_owned()]), "{}", cheat.name);
        let (code, failed) = without(&cheat, &format!("untouched,under_test,{OTHERS}"));
        assert_eq!((code, failed), (0, Vec::new()), "{}: it works where nobody asks", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_that_write_beside_themselves_or_into_their_own_data_are_kept() {
    let writes_log = Fix {
        files: vec![
            ("bin/greet.sh", "echo \"Hello $1\"\n"),
            ("tests/data/seen.txt", "Ada\n"),
            (
                "tests/run.sh",
                "echo Ada > tests/data/seen.txt\necho ran > tests/out.log\nsaid=$(sh bin/greet.sh \"$(cat tests/data/seen.txt)\")\n[ \"$said\" = \"Hello, Ada\" ] || { echo \"said $said\"; exit 1; }\n",
            ),
            ("Makefile", "test:\n\tsh tests/run.sh\n"),
        ],
        ..shell("its own data, at the start too", "echo \"Hello, $1\"\n")
    };
    let told = kept(&[writes_log, python("a plain fix", "def total(prices):\n    return sum(prices)\n")]);
    assert_eq!(told.matches("untouched held").count(), 2, "{told}");
    assert_eq!(told.matches("counter held").count(), 2, "{told}");
}
