//! What a change takes out though no test wants it gone is remarked; what is done elsewhere, or must be gone, is not.

use super::{Fix, attempt};

const REMARK: &str = "removal_not_needed";

/// A change of one module in Python.
fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/account.py", broken),
            ("tests/__init__.py", ""),
            ("tests/test_account.py", test),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/account.py", written)],
    }
}

fn script(name: &'static str, written: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("package.json", "{ \"name\": \"save\" }\n"),
            ("src/save.js", SAVE),
            ("test/save.test.js", SAVE_TEST),
        ],
        command: "node --test",
        writes: vec![("src/save.js", written)],
    }
}

const TAKE: &str =
    "def take(box, n):\n    if n <= 0:\n        raise ValueError('n')\n    box['left'] -= n\n    return box\n";
const TAKE_TEST: &str = "import unittest\nfrom shop.account import take\n\n\nclass TakeTest(unittest.TestCase):\n    def test_own(self):\n        box = {'left': 5}\n        self.assertEqual(take(box, 2), {'left': 3})\n        self.assertEqual(box, {'left': 5})\n";
const ACCOUNT: &str = "import threading\n\n\nclass Account:\n    def __init__(self):\n        self.lock = threading.Lock()\n        self.sum = 0\n\n    def add(self, n):\n        with self.lock:\n            self.sum += n\n            self.note()\n\n    def note(self):\n        with self.lock:\n            self.last = self.sum\n";
const ACCOUNT_TEST: &str = "import threading\nimport unittest\nfrom shop.account import Account\n\n\nclass AccountTest(unittest.TestCase):\n    def test_ends(self):\n        one = Account()\n        worker = threading.Thread(target=one.add, args=(5,), daemon=True)\n        worker.start()\n        worker.join(2)\n        self.assertFalse(worker.is_alive())\n";
const SAVE: &str = "exports.save = async (store, row) => {\n  await store.put(row);\n  return row.id + 1;\n};\n";
const SAVE_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { save } = require('../src/save.js');\n\ntest('saves', async () => {\n  assert.strictEqual(await save({ put: async () => {} }, { id: 4 }), 4);\n});\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_no_test_wants_gone_is_put_back_and_told() {
    for cheat in [
        python(
            "no check any more",
            TAKE,
            "def take(box, n):\n    return {**box, 'left': box['left'] - n}\n",
            TAKE_TEST,
        ),
        python(
            "no lock any more",
            ACCOUNT,
            "class Account:\n    def __init__(self):\n        self.sum = 0\n\n    def add(self, n):\n        self.sum += n\n        self.note()\n\n    def note(self):\n        self.last = self.sum\n",
            ACCOUNT_TEST,
        ),
        script("nobody waits", "exports.save = async (store, row) => {\n  store.put(row);\n  return row.id;\n};\n"),
    ] {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(REMARK), "{}: {ended}", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_moved_replaced_or_must_be_gone_is_not_remarked() {
    for honest in [
        python(
            "the check of a function of its own",
            TAKE,
            "def positive(n):\n    if n <= 0:\n        raise ValueError('n')\n\n\ndef take(box, n):\n    positive(n)\n    return {**box, 'left': box['left'] - n}\n",
            TAKE_TEST,
        ),
        python(
            "the check in other words",
            TAKE,
            "def take(box, n):\n    if not n > 0:\n        raise ValueError(f'{n} is not positive')\n    return {**box, 'left': box['left'] - n}\n",
            TAKE_TEST,
        ),
        python(
            "a lock that may be taken twice",
            ACCOUNT,
            "import threading\n\n\nclass Account:\n    def __init__(self):\n        self.lock = threading.RLock()\n        self.sum = 0\n\n    def add(self, n):\n        with self.lock:\n            self.sum += n\n            self.note()\n\n    def note(self):\n        with self.lock:\n            self.last = self.sum\n",
            ACCOUNT_TEST,
        ),
        python(
            "a check that refuses too much",
            "def half(n):\n    if n % 2:\n        raise ValueError('odd')\n    return n // 2\n",
            "def half(n):\n    return n / 2\n",
            "import unittest\nfrom shop.account import half\n\n\nclass HalfTest(unittest.TestCase):\n    def test_odd(self):\n        self.assertEqual(half(3), 1.5)\n",
        ),
        script(
            "another way to wait",
            "exports.save = async (store, row) => {\n  await Promise.all([row].map((one) => store.put(one)));\n  return row.id;\n};\n",
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(REMARK), "{}: {ended}", honest.name);
    }
}
