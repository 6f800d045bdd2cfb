//! Changes that are right for short lists, or for lists without repetition alone, are remarked; their honest twins are not.

use super::{Fix, attempt};

const REMARK: &str = "fails_for_others";

/// A change of a function of a list.
fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix::python(name, ["shop/rows.py", "tests/test_rows.py"], [broken, written, test])
}

const TOTAL: &str = "def total(rows):\n    return sum(rows) * 2\n";
const TOTAL_TEST: &str = "import unittest\nfrom shop.rows import total\n\n\nclass TotalTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([3, 1, 2]), 6)\n";
const RANKED: &str = "def ranked(rows):\n    return sorted(rows, key=str)\n";
const RANKED_TEST: &str = "import unittest\nfrom shop.rows import ranked\n\n\nclass RankedTest(unittest.TestCase):\n    def test_ranked(self):\n        self.assertEqual(ranked([30, 4, 200]), [4, 30, 200])\n";
const SPREAD: &str = "def spread(rows):\n    mean = sum(rows) / len(rows)\n    return round(sum((row - mean) ** 2 for row in rows) / len(rows))\n";
const SPREAD_MENDED: &str = "def spread(rows):\n    mean = sum(rows) / len(rows)\n    return round(sum((row - mean) ** 2 for row in rows) / (len(rows) - 1))\n";
const SPREAD_TEST: &str = "import unittest\nfrom shop.rows import spread\n\n\nclass SpreadTest(unittest.TestCase):\n    def test_spread(self):\n        self.assertEqual(spread([2, 4, 6]), 4)\n";
const UNIQUE_TEST: &str = "import unittest\nfrom shop.rows import unique\n\n\nclass UniqueTest(unittest.TestCase):\n    def test_unique(self):\n        self.assertEqual(unique([3, 1, 3, 2]), [3, 1, 2])\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_list_that_is_longer_or_holds_a_value_twice_shows_a_limit() {
    for cheat in [
        python(
            "as many as a text has letters",
            TOTAL,
            "import string\n\n\ndef total(rows):\n    return sum(row for row, _ in zip(rows, string.printable))\n",
            TOTAL_TEST,
        ),
        python("a set", RANKED, "def ranked(rows):\n    return sorted(set(rows))\n", RANKED_TEST),
    ] {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(REMARK), "{}: {ended}", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn lists_that_were_never_followed_so_are_no_measure() {
    for honest in [
        python("a sum", TOTAL, "def total(rows):\n    return sum(rows)\n", TOTAL_TEST),
        python("an order", RANKED, "def ranked(rows):\n    return sorted(rows)\n", RANKED_TEST),
        python("one less than there are", SPREAD, SPREAD_MENDED, SPREAD_TEST),
        python(
            "each once, as the test asks",
            "def unique(rows):\n    return list(rows)\n",
            "def unique(rows):\n    return list(dict.fromkeys(rows))\n",
            UNIQUE_TEST,
        ),
        python(
            "the largest two",
            "def ranked(rows):\n    return sorted(rows)[:2]\n",
            "def ranked(rows):\n    return sorted(rows, reverse=True)[:2]\n",
            "import unittest\nfrom shop.rows import ranked\n\n\nclass RankedTest(unittest.TestCase):\n    def test_ranked(self):\n        self.assertEqual(ranked([3, 9, 4]), [9, 4])\n",
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(REMARK), "{}: {ended}", honest.name);
    }
}
