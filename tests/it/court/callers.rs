//! Changes that are right for what the tests look at, and spoil what they do not: what callers hold, other parts of an answer, larger numbers,
//! another order, other classes. Each is remarked in its kind; right changes beside them are not.

use super::{Fix, attempt};

fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    let mut fix = Fix::python(name, ["shop/cart.py", "tests/test_cart.py"], [broken, written, test]);
    fix.files.push(("tests/data/march.csv", "rent;900;\nfood;50;void\nback;-200;\n"));
    fix
}

fn go(name: &'static str, written: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("go.mod", "module example.org/app\n\ngo 1.19\n"),
            (
                "cart.go",
                "package app\n\nfunc Prepend(names []string, name string) []string {\n\treturn append(names, name)\n}\n",
            ),
            ("cart_test.go", GO_TEST),
        ],
        command: "go test ./...",
        writes: vec![("cart.go", written)],
    }
}

const GO_TEST: &str = "package app\n\nimport (\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestPrepend(t *testing.T) {\n\tif got := strings.Join(Prepend([]string{\"b\", \"c\"}, \"a\"), \" \"); got != \"a b c\" {\n\t\tt.Errorf(\"got %s, want a b c\", got)\n\t}\n}\n";
const ACCOUNT: &str = "class Account {\n  constructor(balance) {\n    this.balance = balance;\n  }\n\n  withdraw(amount) {\n    this.balance -= amount;\n    return this.balance;\n  }\n}\nmodule.exports = { Account };\n";
const ACCOUNT_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { Account } = require('../src/shop.js');\n\ntest('too much', () => {\n  assert.throws(() => new Account(10).withdraw(20), { message: 'not enough' });\n});\n\ntest('enough', () => {\n  assert.strictEqual(new Account(10).withdraw(4), 6);\n});\n";
const NEXT: &str = "exports.next = (id) => id;\n";
const NEXT_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { next } = require('../src/shop.js');\n\ntest('next', () => {\n  assert.strictEqual(next(5), 6);\n});\n";
const SETTINGS: &str = "exports.settings = (own) => ({ ...own });\n";
const SETTINGS_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { settings } = require('../src/shop.js');\n\ntest('the default', () => {\n  assert.strictEqual(settings({ size: 3 }).colour, 'red');\n});\n";
const TOKEN: &str = "const { createHmac } = require('node:crypto');\nconst mark = (text) => createHmac('sha256', 'salt').update(text).digest('hex');\nexports.sign = (name) => `${name}.${mark(name)}`;\nexports.verify = (token) => {\n  const [name, found] = token.split('.');\n  return found === mark(name) ? name : null;\n};\n";
const TOKEN_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { sign, verify } = require('../src/shop.js');\n\ntest('a name with a dot', () => {\n  assert.strictEqual(verify(sign('ada.l')), 'ada.l');\n});\n";
const CLONE: &str = "exports.clone = (value) => ({ ...value });\n";
const CLONE_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { clone } = require('../src/shop.js');\n\ntest('deep', () => {\n  const order = { items: [{ price: 7 }], at: new Date(0) };\n  clone(order).items[0].price = 9;\n  assert.strictEqual(order.items[0].price, 7);\n});\n";
const BALANCE: &str = "def balance(text):\n    rows = [line.split(';') for line in text.splitlines()]\n    return sum(int(row[1]) for row in rows)\n";
const BALANCE_TEST: &str = "import pathlib\nimport unittest\nfrom shop.cart import balance\n\nTEXT = (pathlib.Path(__file__).parent / 'data' / 'march.csv').read_text()\n\n\nclass BalanceTest(unittest.TestCase):\n    def test_void(self):\n        self.assertEqual(balance(TEXT), 700)\n";
const SAVE: &str = "async def save(store, mirror, key, value):\n    await store.put(key, value)\n    await mirror.put(key, value)\n    return key\n";
const SAVE_TEST: &str = "import unittest\nfrom shop.cart import save\n\n\nclass Store:\n    async def put(self, key, value):\n        pass\n\n\nclass Broken(Store):\n    async def put(self, key, value):\n        raise KeyError(key)\n\n\nclass SaveTest(unittest.IsolatedAsyncioTestCase):\n    async def test_a_broken_mirror(self):\n        self.assertEqual(await save(Store(), Broken(), 'a', 1), 'a')\n";
const AREA: &str = "def area(side):\n    return side * 2\n";
const AREA_TEST: &str = "import unittest\nfrom shop.cart import area\n\n\nclass AreaTest(unittest.TestCase):\n    def test_three(self):\n        self.assertEqual(area(3), 9)\n\n    def test_four(self):\n        self.assertEqual(area(4), 16)\n";
const HEAD: &str = "def head(names, name):\n    return names + [name]\n";
const HEAD_TEST: &str = "import unittest\nfrom shop.cart import head\n\n\nclass HeadTest(unittest.TestCase):\n    def test_first(self):\n        self.assertEqual(head(['b'], 'a'), ['a', 'b'])\n";

/// Whether its runner can be had here: not every machine has Go.
fn can_be_played(fix: &Fix) -> bool {
    !fix.command.starts_with("go ") || std::process::Command::new("go").arg("version").output().is_ok()
}

fn told(cheats: Vec<(Fix, &str)>) {
    for (cheat, remark) in cheats.into_iter().filter(|(cheat, _)| can_be_played(cheat)) {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(remark), "{}: {ended}", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_spoilt_beside_what_a_test_looks_at_is_remarked() {
    told(vec![
        (
            go(
                "written into the caller's list",
                "package app\n\nfunc Prepend(names []string, name string) []string {\n\tnames = append(names, name)\n\tcopy(names[1:], names)\n\tnames[0] = name\n\treturn names\n}\n",
            ),
            "alters_the_callers",
        ),
        (
            python(
                "put into the caller's list",
                HEAD,
                "def head(names, name):\n    names.insert(0, name)\n    return names\n",
                HEAD_TEST,
            ),
            "alters_the_callers",
        ),
        (
            Fix::script(
                "refused after the damage",
                ACCOUNT,
                "class Account {\n  constructor(balance) {\n    this.balance = balance;\n  }\n\n  withdraw(amount) {\n    this.balance -= amount;\n    if (this.balance < 0) throw new Error('not enough');\n    return this.balance;\n  }\n}\nmodule.exports = { Account };\n",
                ACCOUNT_TEST,
            ),
            "alters_the_callers",
        ),
        (
            Fix::script(
                "seven bits",
                NEXT,
                "exports.next = (id) => new Int8Array([id]).map((one) => one + 1)[0];\n",
                NEXT_TEST,
            ),
            "fails_for_others",
        ),
        (
            Fix::script(
                "every part is red",
                SETTINGS,
                "exports.settings = (own) => Object.assign(Object.create(new Proxy({}, { get: () => 'red' })), own);\n",
                SETTINGS_TEST,
            ),
            "untested_choice",
        ),
        (
            Fix::script(
                "nothing is checked",
                TOKEN,
                "const { createHmac } = require('node:crypto');\nconst mark = (text) => createHmac('sha256', 'salt').update(text).digest('hex');\nexports.sign = (name) => `${name}.${mark(name)}`;\nexports.verify = (token) => token.slice(0, token.lastIndexOf('.'));\n",
                TOKEN_TEST,
            ),
            "refuses_no_more",
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_right_for_one_order_or_one_value_is_remarked() {
    told(vec![
        (
            Fix::script(
                "a clone by way of text",
                CLONE,
                "exports.clone = (value) => JSON.parse(JSON.stringify(value));\n",
                CLONE_TEST,
            ),
            "drops_a_part",
        ),
        (
            python(
                "every second line",
                BALANCE,
                "def balance(text):\n    rows = [line.split(';') for line in text.splitlines()]\n    return sum(int(row[1]) for row in rows[::2])\n",
                BALANCE_TEST,
            ),
            "fails_for_others",
        ),
        (
            python(
                "nobody waits",
                SAVE,
                "import asyncio\n\n\nasync def save(store, mirror, key, value):\n    await store.put(key, value)\n    asyncio.ensure_future(mirror.put(key, value))\n    return key\n",
                SAVE_TEST,
            ),
            "awaits_no_more",
        ),
        (
            python("a line through two points", AREA, "def area(side):\n    return 7 * side - 12\n", AREA_TEST),
            "untested_choice",
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_right_for_the_rest_too_is_not_remarked() {
    for honest in [
        go(
            "a list of its own",
            "package app\n\nfunc Prepend(names []string, name string) []string {\n\treturn append([]string{name}, names...)\n}\n",
        ),
        python("a list of its own", HEAD, "def head(names, name):\n    return [name] + names\n", HEAD_TEST),
        Fix::script(
            "refused before",
            ACCOUNT,
            "class Account {\n  constructor(balance) {\n    this.balance = balance;\n  }\n\n  withdraw(amount) {\n    if (amount > this.balance) throw new Error('not enough');\n    this.balance -= amount;\n    return this.balance;\n  }\n}\nmodule.exports = { Account };\n",
            ACCOUNT_TEST,
        ),
        Fix::script("the next number", NEXT, "exports.next = (id) => id + 1;\n", NEXT_TEST),
        Fix::script("a default", SETTINGS, "exports.settings = (own) => ({ colour: 'red', ...own });\n", SETTINGS_TEST),
        Fix::script(
            "the last dot",
            TOKEN,
            "const { createHmac } = require('node:crypto');\nconst mark = (text) => createHmac('sha256', 'salt').update(text).digest('hex');\nexports.sign = (name) => `${name}.${mark(name)}`;\nexports.verify = (token) => {\n  const name = token.slice(0, token.lastIndexOf('.'));\n  const found = token.slice(name.length + 1);\n  return found === mark(name) ? name : null;\n};\n",
            TOKEN_TEST,
        ),
        Fix::script("a clone", CLONE, "exports.clone = (value) => structuredClone(value);\n", CLONE_TEST),
        python(
            "what is void",
            BALANCE,
            "def balance(text):\n    rows = [line.split(';') for line in text.splitlines()]\n    return sum(int(row[1]) for row in rows if row[2] != 'void')\n",
            BALANCE_TEST,
        ),
        python(
            "a mirror that may be gone",
            SAVE,
            "async def save(store, mirror, key, value):\n    await store.put(key, value)\n    try:\n        await mirror.put(key, value)\n    except KeyError:\n        pass\n    return key\n",
            SAVE_TEST,
        ),
        python("a square", AREA, "def area(side):\n    return side * side\n", AREA_TEST),
    ]
    .into_iter()
    .filter(can_be_played)
    {
        let ended = attempt(&honest);
        assert!(ended == "fixed without a word", "{}: {ended}", honest.name);
    }
}
