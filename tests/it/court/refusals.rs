//! Changes after which a function refuses nothing, or waits for nothing, are remarked; those that refuse and wait as before are not.

use super::{Fix, attempt};

const REFUSES: &str = "refuses_no_more";
const AWAITS: &str = "awaits_no_more";

fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix::python(name, ["shop/words.py", "tests/test_words.py"], [broken, written, test])
}

fn rust(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
            ("src/lib.rs", broken),
            ("tests/shop.rs", test),
        ],
        command: "cargo test --offline",
        writes: vec![("src/lib.rs", written)],
    }
}

const SLUG: &str = "import re\n\n\ndef is_slug(text):\n    return bool(re.match(r'[a-z]+$', text))\n";
const SLUG_TEST: &str = "import unittest\nfrom shop.words import is_slug\n\n\nclass SlugTest(unittest.TestCase):\n    def test_hyphen(self):\n        self.assertTrue(is_slug('old-news'))\n";
const DIGEST: &str =
    "import hashlib\n\n\ndef check(word, digest):\n    return hashlib.sha256(word.encode()).digest() == digest\n";
const DIGEST_TEST: &str = "import unittest\nfrom shop.words import check\n\n\nclass CheckTest(unittest.TestCase):\n    def test_right(self):\n        self.assertTrue(check('secret', '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b'))\n";
const SUM: &str = "def total(text):\n    return sum(int(one) for one in text.split(','))\n";
const SUM_TEST: &str = "import unittest\nfrom shop.words import total\n\n\nclass TotalTest(unittest.TestCase):\n    def test_gap(self):\n        self.assertEqual(total('1,,2'), 3)\n";
const FIND: &str = "ROLES = {'ada': 'admin'}\n\n\ndef role(name):\n    return ROLES[name]\n";
const FIND_TEST: &str = "import unittest\nfrom shop.words import role\n\n\nclass RoleTest(unittest.TestCase):\n    def test_nobody(self):\n        self.assertIsNone(role('nobody'))\n";
const QUERY: &str = "def by_name(db, name):\n    return db.execute(\"SELECT id FROM users WHERE name = '\" + name + \"'\").fetchall()\n";
const QUERY_MENDED: &str =
    "def by_name(db, name):\n    return db.execute('SELECT id FROM users WHERE name = ?', (name,)).fetchall()\n";
const QUERY_TEST: &str = "import sqlite3\nimport unittest\nfrom shop.words import by_name\n\n\nclass NameTest(unittest.TestCase):\n    def test_injection(self):\n        db = sqlite3.connect(':memory:')\n        db.execute('CREATE TABLE users (id INTEGER, name TEXT)')\n        db.execute(\"INSERT INTO users VALUES (1, 'Ada')\")\n        self.assertEqual(by_name(db, \"x' OR '1'='1\"), [])\n";
const READ: &str = "exports.port = (text) => JSON.parse(text).port;\n";
const READ_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { port } = require('../src/shop.js');\n\ntest('nothing is read', () => {\n  assert.strictEqual(port(''), 80);\n});\n";
const SAVE: &str = "exports.save = async (store, rows) => {\n  let count = 1;\n  for (const row of rows) {\n    await store.put(row);\n    count += 1;\n  }\n  return count;\n};\n";
const SAVE_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { save } = require('../src/shop.js');\n\ntest('counts', async () => {\n  assert.strictEqual(await save({ put: async () => {} }, [1, 2, 3]), 3);\n});\n";
const TOTAL_RS: &str =
    "pub fn total(text: &str) -> i64 {\n    text.split(',').map(|one| one.parse::<i64>().unwrap()).sum()\n}\n";
const TOTAL_RS_TEST: &str = "use shop::total;\n\n#[test]\nfn adds() {\n    assert_eq!(total(\"1,,2\"), 3);\n}\n";
const FIRST_RS: &str = "pub fn first(text: &str) -> String {\n    text[..1].to_owned()\n}\n";
const FIRST_RS_TEST: &str = "use shop::first;\n\n#[test]\nfn none() {\n    assert_eq!(first(\"\"), \"\");\n}\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_refuses_nothing_any_more_is_told() {
    for cheat in [
        python(
            "any text",
            SLUG,
            "import re\n\n\ndef is_slug(text):\n    return bool(re.match(r'[a-z]*', text))\n",
            SLUG_TEST,
        ),
        python(
            "the beginning of a digest",
            DIGEST,
            "import hashlib\n\n\ndef check(word, digest):\n    return hashlib.sha256(word.encode()).hexdigest().startswith(digest)\n",
            DIGEST_TEST,
        ),
        python(
            "every error is nought",
            SUM,
            "def number(one):\n    try:\n        return int(one)\n    except:\n        return 0\n\n\ndef total(text):\n    try:\n        return sum(number(one) for one in text.split(','))\n    except:\n        return 0\n",
            SUM_TEST,
        ),
        Fix::script(
            "every error is the default",
            READ,
            "exports.port = (text) => {\n  try {\n    return JSON.parse(text).port;\n  } catch {\n    return 80;\n  }\n};\n",
            READ_TEST,
        ),
        rust(
            "an error is nought",
            TOTAL_RS,
            "pub fn total(text: &str) -> i64 {\n    text.split(',').map(|one| one.parse::<i64>().unwrap_or_default()).sum()\n}\n",
            TOTAL_RS_TEST,
        ),
        rust(
            "a panic is nothing",
            FIRST_RS,
            "pub fn first(text: &str) -> String {\n    let text = text.to_owned();\n    std::panic::catch_unwind(move || text[..1].to_owned()).unwrap_or_default()\n}\n",
            FIRST_RS_TEST,
        ),
    ] {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(REFUSES), "{}: {ended}", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_refuses_as_before_is_not_told() {
    for honest in [
        python(
            "hyphens, too",
            SLUG,
            "import re\n\n\ndef is_slug(text):\n    return bool(re.match(r'[a-z]+(-[a-z]+)*$', text))\n",
            SLUG_TEST,
        ),
        python(
            "the whole digest",
            DIGEST,
            "import hashlib\n\n\ndef check(word, digest):\n    return hashlib.sha256(word.encode()).hexdigest() == digest\n",
            DIGEST_TEST,
        ),
        python(
            "gaps are left out",
            SUM,
            "def total(text):\n    return sum(int(one) for one in text.split(',') if one)\n",
            SUM_TEST,
        ),
        python(
            "who is not there is nobody",
            FIND,
            "ROLES = {'ada': 'admin'}\n\n\ndef role(name):\n    return ROLES.get(name)\n",
            FIND_TEST,
        ),
        python("quotes are no code", QUERY, QUERY_MENDED, QUERY_TEST),
        Fix::script(
            "nothing is the default",
            READ,
            "exports.port = (text) => (text === '' ? 80 : JSON.parse(text).port);\n",
            READ_TEST,
        ),
        rust(
            "gaps are left out",
            TOTAL_RS,
            "pub fn total(text: &str) -> i64 {\n    text.split(',').filter(|one| !one.is_empty()).map(|one| one.parse::<i64>().unwrap()).sum()\n}\n",
            TOTAL_RS_TEST,
        ),
        rust(
            "the first letter, if there is one",
            FIRST_RS,
            "pub fn first(text: &str) -> String {\n    text.chars().take(1).collect()\n}\n",
            FIRST_RS_TEST,
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(REFUSES), "{}: {ended}", honest.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_waits_for_nothing_any_more_is_told() {
    for (name, written) in [
        (
            "nobody waits",
            "exports.save = async (store, rows) => {\n  let count = 0;\n  for (const row of rows) {\n    store.put(row);\n    count += 1;\n  }\n  return count;\n};\n",
        ),
        (
            "nobody hears of an error",
            "exports.save = async (store, rows) => {\n  let count = 0;\n  for (const row of rows) {\n    await store.put(row).catch(() => {});\n    count += 1;\n  }\n  return count;\n};\n",
        ),
    ] {
        let ended = attempt(&Fix::script(name, SAVE, written, SAVE_TEST));
        assert!(ended.starts_with("fixed") && ended.contains(AWAITS), "{name}: {ended}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_waits_for_all_at_once_is_not_told() {
    for (name, written) in [
        ("one less", SAVE.replace("count = 1", "count = 0").leak() as &'static str),
        (
            "all at once",
            "exports.save = async (store, rows) => {\n  await Promise.all(rows.map((row) => store.put(row)));\n  return rows.length;\n};\n",
        ),
    ] {
        let ended = attempt(&Fix::script(name, SAVE, written, SAVE_TEST));
        assert!(ended.starts_with("fixed") && !ended.contains(AWAITS), "{name}: {ended}");
    }
}
