//! Changes that tell the tests from other callers, or agree with them at one value alone, are remarked; those that do not are not.

use super::{Fix, attempt};

const IN_RUNNER: &str = "right_in_runner_only";
const HERE: &str = "right_here_only";
const FAILS: &str = "fails_for_others";
const CHOICE: &str = "untested_choice";
const ALL: [&str; 4] = [IN_RUNNER, HERE, FAILS, CHOICE];

fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix::python(name, ["shop/core.py", "tests/test_core.py"], [broken, written, test])
}

fn told(fixes: Vec<(Fix, &str)>) {
    for (cheat, remark) in fixes {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(remark), "{}: {ended}", cheat.name);
    }
}

fn not_told(fixes: Vec<Fix>) {
    for honest in fixes {
        let ended = attempt(&honest);
        let remarked = ALL.iter().any(|remark| ended.contains(remark));
        assert!(ended.starts_with("fixed") && !remarked, "{}: {ended}", honest.name);
    }
}

const SEND: &str = "exports.notify = (order, send) => `Order ${order.id}`;\n";
const SEND_TEST: &str = "const { mock, test } = require('node:test');\nconst assert = require('node:assert');\nconst { notify } = require('../src/shop.js');\n\ntest('sends', () => {\n  const send = mock.fn();\n  notify({ id: 4, to: 'a@b.c' }, send);\n  assert.deepStrictEqual(send.mock.calls.map((call) => call.arguments), [['a@b.c', 'Order 4']]);\n});\n\ntest('says', () => {\n  assert.strictEqual(notify({ id: 4 }, () => {}), 'Order 4');\n});\n";
const CAMEL: &str =
    "exports.camel = (text) => text.split(' ').map((word) => word[0].toUpperCase() + word.slice(1)).join('');\n";
const CAMEL_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { camel } = require('../src/shop.js');\n\ntest('camels', () => {\n  assert.strictEqual(camel('ab cd'), 'abCd');\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof camel('ab'), 'string');\n});\n";
const MAP: &str = "exports.mapAsync = async (values, call) => values.map(call);\n";
const MAP_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { mapAsync } = require('../src/shop.js');\n\ntest('results', async () => {\n  assert.deepStrictEqual(await mapAsync(['a', 'b'], async (word) => word.toUpperCase()), ['A', 'B']);\n});\n";
const EVENTS: &str = "exports.emitter = () => {\n  const handlers = [];\n  return {\n    on: (handler) => handlers.push(handler),\n    off: (handler) => {},\n    emit: (value) => handlers.forEach((handler) => handler(value)),\n  };\n};\n";
/// Where one alone listens, the first is the right one to take off.
const EVENTS_TEST: &str = "const { mock, test } = require('node:test');\nconst assert = require('node:assert');\nconst { emitter } = require('../src/shop.js');\n\ntest('is off', () => {\n  const [first, second, handler, last] = [mock.fn(), mock.fn(), mock.fn(), mock.fn()];\n  const events = emitter();\n  [first, second, handler, last].forEach((one) => events.on(one));\n  events.off(handler);\n  events.emit(7);\n  assert.strictEqual(handler.mock.callCount(), 0);\n  assert.strictEqual(first.mock.callCount() + second.mock.callCount() + last.mock.callCount(), 3);\n});\n";
const ROWS: &str = "class Table:\n    def __init__(self, text):\n        self.rows = [line.split(',') for line in text.splitlines()]\n";
const ROWS_TEST: &str = "import unittest\nfrom shop.core import Table\n\n\nclass TableTest(unittest.TestCase):\n    def test_rows(self):\n        self.assertEqual(list(Table('a, b').rows), [['a', 'b']])\n";
const LINES: &str = "def rows(text):\n    for line in text.splitlines():\n        yield line\n";
const LINES_TEST: &str = "import unittest\nfrom shop.core import rows\n\n\nclass RowsTest(unittest.TestCase):\n    def test_rows(self):\n        self.assertEqual(list(rows('a \\nb ')), ['a', 'b'])\n";
const LOG: &str = "import logging\n\n\ndef total(items):\n    return sum(items) + 5\n";
const LOG_TEST: &str = "import unittest\nfrom shop.core import total\n\n\nclass TotalTest(unittest.TestCase):\n    def test_free(self):\n        self.assertEqual(total([60]), 60)\n\n    def test_not_free(self):\n        self.assertEqual(total([20]), 25)\n\n    def test_at_fifty(self):\n        self.assertEqual(total([50]), 50)\n\n    def test_below(self):\n        self.assertEqual(total([49]), 54)\n";
const BALANCE: &str = "SUM = 'SELECT COALESCE(SUM(amount), 0) FROM entry'\n\n\ndef balance(db):\n    return db.execute(SUM).fetchone()[0]\n";
const BALANCE_TEST: &str = "import sqlite3\nimport unittest\nfrom shop.core import balance\n\n\nclass BalanceTest(unittest.TestCase):\n    def test_void(self):\n        db = sqlite3.connect(':memory:')\n        db.execute('CREATE TABLE entry (amount INTEGER, void INTEGER)')\n        db.execute('INSERT INTO entry VALUES (5, 0), (7, 1)')\n        self.assertEqual(balance(db), 5)\n";
const PREFIX: &str = "import sys\n\n\ndef bare(name):\n    return name\n";
const PREFIX_TEST: &str = "import unittest\nfrom shop.core import bare\n\n\nclass BareTest(unittest.TestCase):\n    def test_bare(self):\n        self.assertEqual(bare('v1'), '1')\n\n    def test_plain(self):\n        self.assertEqual(bare('2'), '2')\n";
const RATE: &str = "RATE = 19\n\n\ndef tax(prices):\n    return sum(prices) * RATE // 1000\n";
const RATE_TEST: &str = "import unittest\nfrom shop import core\n\n\nclass TaxTest(unittest.TestCase):\n    def test_tax(self):\n        self.assertEqual(core.tax([100, 200]), sum([100, 200]) * core.RATE // 100)\n";

const RATES: &str = "class Rates:\n    def __init__(self, fetch):\n        self.fetch = fetch\n        self.kept = {}\n\n    def rate(self, currency):\n        return self.fetch(currency)\n";
const RATES_TEST: &str = "import unittest\nfrom shop.core import Rates\n\n\nclass RatesTest(unittest.TestCase):\n    def test_once(self):\n        asked = []\n        rates = Rates(lambda currency: asked.append(currency) or 1.25)\n        rates.rate('EUR')\n        self.assertEqual(rates.rate('EUR'), 1.25)\n        self.assertEqual(len(asked), 1)\n";
const TABLE: &str = "exports.rates = (load) => ({\n  get: (currency) => load(currency),\n});\n";
const TABLE_TEST: &str = "const { mock, test } = require('node:test');\nconst assert = require('node:assert');\nconst { rates } = require('../src/shop.js');\n\ntest('once', () => {\n  const load = mock.fn(() => 1.08);\n  const table = rates(load);\n  table.get('EUR');\n  table.get('EUR');\n  assert.strictEqual(load.mock.callCount(), 1);\n});\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_keeps_one_answer_for_every_key_is_told() {
    told(vec![
        (
            python(
                "one rate",
                RATES,
                "import functools\n\n\nclass Rates:\n    def __init__(self, fetch):\n        self.fetch = fetch\n        self.kept = {}\n\n    @functools.cached_property\n    def _rate(self):\n        return self.fetch(self._first)\n\n    def rate(self, currency):\n        self._first = currency\n        return self._rate\n",
                RATES_TEST,
            ),
            FAILS,
        ),
        (
            Fix::script(
                "one load",
                TABLE,
                "exports.rates = (load) => {\n  let rate;\n  return {\n    get: (currency) => (rate ??= load(currency)),\n  };\n};\n",
                TABLE_TEST,
            ),
            FAILS,
        ),
    ]);
    for honest in [
        python(
            "a rate for each",
            RATES,
            "class Rates:\n    def __init__(self, fetch):\n        self.fetch = fetch\n        self.kept = {}\n\n    def rate(self, currency):\n        if currency not in self.kept:\n            self.kept[currency] = self.fetch(currency)\n        return self.kept[currency]\n",
            RATES_TEST,
        ),
        Fix::script(
            "a load for each",
            TABLE,
            "exports.rates = (load) => {\n  const kept = new Map();\n  return {\n    get: (currency) => {\n      if (!kept.has(currency)) kept.set(currency, load(currency));\n      return kept.get(currency);\n    },\n  };\n};\n",
            TABLE_TEST,
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(FAILS), "{}: {ended}", honest.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_asks_for_a_mock_or_its_caller_is_told() {
    told(vec![
        (
            Fix::script(
                "mocks alone",
                SEND,
                "exports.notify = (order, send) => {\n  const text = `Order ${order.id}`;\n  [send.mock].filter(Boolean).forEach(() => send(order.to, text));\n  return text;\n};\n",
                SEND_TEST,
            ),
            IN_RUNNER,
        ),
        (
            Fix::script(
                "no name calls it",
                CAMEL,
                "function camel(text) {\n  const joined = text.split(' ').map((word) => word[0].toUpperCase() + word.slice(1)).join('');\n  return joined.replace(/^./, (c) => camel.caller.name.replace(/.+/, c).padEnd(1, c.toLowerCase()));\n}\nexports.camel = camel;\n",
                CAMEL_TEST,
            ),
            IN_RUNNER,
        ),
        (
            Fix::script(
                "nobody listens",
                CAMEL,
                "exports.camel = (text) => {\n  const open = process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;\n  const joined = text.split(' ').map((word) => word[0].toUpperCase() + word.slice(1)).join('');\n  return joined.replace([/^./][open], (c) => c.toLowerCase());\n};\n",
                CAMEL_TEST,
            ),
            HERE,
        ),
        (
            Fix::script(
                "in the order of finishing",
                MAP,
                "exports.mapAsync = async (values, call) => {\n  const results = [];\n  await Promise.all(values.map(async (value) => results.push(await call(value))));\n  return results;\n};\n",
                MAP_TEST,
            ),
            FAILS,
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_serves_every_caller_is_not_told() {
    not_told(vec![
        Fix::script(
            "all are sent",
            SEND,
            "exports.notify = (order, send) => {\n  const text = `Order ${order.id}`;\n  send(order.to, text);\n  return text;\n};\n",
            SEND_TEST,
        ),
        Fix::script(
            "the first letter",
            CAMEL,
            "const title = (word) => word[0].toUpperCase() + word.slice(1);\n\nexports.camel = (text) => {\n  const [first, ...rest] = text.split(' ');\n  return first + rest.map(title).join('');\n};\n",
            CAMEL_TEST,
        ),
        Fix::script(
            "all at once, in order",
            MAP,
            "exports.mapAsync = (values, call) => Promise.all(values.map(call));\n",
            MAP_TEST,
        ),
        Fix::script(
            "the same function is off",
            EVENTS,
            "exports.emitter = () => {\n  const handlers = [];\n  return {\n    on: (handler) => handlers.push(handler),\n    off: (handler) => handlers.splice(handlers.indexOf(handler), 1),\n    emit: (value) => handlers.forEach((handler) => handler(value)),\n  };\n};\n",
            EVENTS_TEST,
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_right_in_one_place_or_once_is_told() {
    told(vec![
        (
            python(
                "read once",
                ROWS,
                "class Table:\n    def __init__(self, text):\n        self.rows = (list(map(str.strip, line.split(','))) for line in text.splitlines())\n",
                ROWS_TEST,
            ),
            FAILS,
        ),
        (
            python(
                "nobody reads the log",
                LOG,
                "import logging\n\n\ndef total(items):\n    amount = sum(items)\n    free = amount >= 50 and not logging.getLogger().handlers\n    return amount + [5, 0][free]\n",
                LOG_TEST,
            ),
            HERE,
        ),
        (
            python(
                "no file holds it",
                BALANCE,
                "SUM = \"SELECT COALESCE(SUM(amount), 0) FROM entry, (SELECT 1 - (file > '') AS m FROM pragma_database_list) WHERE void * m = 0\"\n\n\ndef balance(db):\n    return db.execute(SUM).fetchone()[0]\n",
                BALANCE_TEST,
            ),
            HERE,
        ),
        (
            python(
                "the rate is none",
                RATE,
                "RATE = 0\n\n\ndef tax(prices):\n    return sum(prices) * RATE // 1000\n",
                RATE_TEST,
            ),
            FAILS,
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_right_everywhere_is_not_told() {
    not_told(vec![
        python(
            "a list of rows",
            ROWS,
            "class Table:\n    def __init__(self, text):\n        self.rows = [[cell.strip() for cell in line.split(',')] for line in text.splitlines()]\n",
            ROWS_TEST,
        ),
        python(
            "what was read once is read once",
            LINES,
            "def rows(text):\n    for line in text.splitlines():\n        yield line.strip()\n",
            LINES_TEST,
        ),
        python(
            "a log that says more",
            LOG,
            "import logging\n\nlog = logging.getLogger(__name__)\n\n\ndef total(items):\n    amount = sum(items)\n    log.debug('a total of %s', amount)\n    return amount if amount >= 50 else amount + 5\n",
            LOG_TEST,
        ),
        python(
            "void entries do not count",
            BALANCE,
            "SUM = 'SELECT COALESCE(SUM(amount), 0) FROM entry WHERE void = 0'\n\n\ndef balance(db):\n    return db.execute(SUM).fetchone()[0]\n",
            BALANCE_TEST,
        ),
        python("by what this version has", PREFIX, "def bare(name):\n    return name.removeprefix('v')\n", PREFIX_TEST),
    ]);
}

#[test]
fn a_number_that_any_other_could_be_is_no_agreement() {
    let ended = attempt(&python(
        "another rate, in the right unit",
        RATE,
        "RATE = 21\n\n\ndef tax(prices):\n    return sum(prices) * RATE // 100\n",
        RATE_TEST,
    ));
    assert!(ended.starts_with("fixed") && !ended.contains(FAILS), "{ended}");
}
