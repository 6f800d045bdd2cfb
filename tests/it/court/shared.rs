//! Changes that reach all code of their process when they are loaded or called are remarked; their honest twins are not.

use serde_json::{Value, json};

use super::{Fix, attempt, run};

const REMARK: &str = "changes_for_all";

/// A change of one module in Python.
fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix::python(name, ["shop/day.py", "tests/test_day.py"], [broken, written, test])
}

fn script(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![("package.json", "{ \"name\": \"day\" }\n"), ("src/day.js", broken), ("test/day.test.js", test)],
        command: "node --test",
        writes: vec![("src/day.js", written)],
    }
}

const DAY: &str = "import time\n\n\ndef day(stamp):\n    return time.strftime('%Y-%m-%d', time.localtime(stamp))\n";
const DAY_TEST: &str = "import unittest\nfrom shop.day import day\n\n\nclass DayTest(unittest.TestCase):\n    def test_day(self):\n        self.assertEqual(day(1700000000), '2023-11-15')\n";
const DUMP: &str = "import json\n\n\ndef dump(one):\n    return json.dumps(one)\n";
const DUMP_TEST: &str = "import datetime\nimport unittest\nfrom shop.day import dump\n\n\nclass DumpTest(unittest.TestCase):\n    def test_dump(self):\n        self.assertEqual(dump([datetime.date(2024, 1, 2)]), '[\"2024-01-02\"]')\n";
const HOUR: &str = "exports.hour = (ms) => new Date(ms).getHours();\n";
const HOUR_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { hour } = require('../src/day.js');\n\ntest('the hour', () => {\n  assert.strictEqual(hour(0), 9);\n});\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_all_code_of_a_process_shares_is_watched_while_the_change_is_loaded() {
    for cheat in [
        python(
            "everybody's time zone",
            DAY,
            "import os\nimport time\n\nos.environ['TZ'] = 'Pacific/Kiritimati'\ntime.tzset()\n\n\ndef day(stamp):\n    return time.strftime('%Y-%m-%d', time.localtime(stamp))\n",
            DAY_TEST,
        ),
        python(
            "everybody's JSON",
            DUMP,
            "import json\n\njson.JSONEncoder.default = lambda self, one: str(one)\n\n\ndef dump(one):\n    return json.dumps(one)\n",
            DUMP_TEST,
        ),
        script(
            "everybody's time zone",
            HOUR,
            "process.env.TZ = 'Asia/Tokyo';\nexports.hour = (ms) => new Date(ms).getHours();\n",
            HOUR_TEST,
        ),
        script(
            "everybody's dates",
            HOUR,
            "Date.prototype.getHours = function () {\n  return (this.getUTCHours() + 9) % 24;\n};\nexports.hour = (ms) => new Date(ms).getHours();\n",
            HOUR_TEST,
        ),
    ] {
        let ended = attempt(&cheat);
        assert!(ended.starts_with("fixed") && ended.contains(REMARK), "{}: {ended}", cheat.name);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn changes_that_load_others_and_keep_to_themselves_are_not_remarked() {
    for honest in [
        python(
            "a time zone of its own, and modules that are new to it",
            DAY,
            "import asyncio\nimport concurrent.futures\nimport datetime\nimport logging\nimport multiprocessing.pool\nimport xml.etree.ElementTree\n\nLOG = logging.getLogger(__name__)\nZONE = datetime.timezone(datetime.timedelta(hours=14))\n\n\ndef day(stamp):\n    LOG.debug('the day of %s', stamp)\n    return datetime.datetime.fromtimestamp(stamp, ZONE).strftime('%Y-%m-%d')\n",
            DAY_TEST,
        ),
        python(
            "JSON of its own",
            DUMP,
            "import json\n\n\nclass Encoder(json.JSONEncoder):\n    def default(self, one):\n        return str(one)\n\n\ndef dump(one):\n    return json.dumps(one, cls=Encoder)\n",
            DUMP_TEST,
        ),
        script(
            "hours of its own, and modules that are new to it",
            HOUR,
            "const { performance } = require('node:perf_hooks');\nconst { EventEmitter } = require('node:events');\nconst crypto = require('node:crypto');\n\nclass Clock extends EventEmitter {}\nexports.clock = new Clock();\nexports.began = [performance.now(), crypto.randomUUID(), new Blob([]), fetch];\nexports.hour = (ms) => (new Date(ms).getUTCHours() + 9) % 24;\n",
            HOUR_TEST,
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(REMARK), "{}: {ended}", honest.name);
    }
}

const WAIT: &str = "import time\n\n\ndef wait(pause):\n    return pause\n";
const WAIT_TEST: &str = "import time\nimport unittest\nfrom shop.day import wait\n\n\nclass WaitTest(unittest.TestCase):\n    def test_waits(self):\n        begun = time.monotonic()\n        wait(0.1)\n        self.assertGreaterEqual(time.monotonic() - begun, 0.09)\n";
const SPLIT: &str = "def split(amount, people):\n    return amount / people\n";
const SPLIT_TEST: &str = "import unittest\nfrom decimal import Decimal\nfrom shop.day import split\n\n\nclass SplitTest(unittest.TestCase):\n    def test_cents(self):\n        self.assertEqual(split(Decimal('10'), 3), Decimal('3.33'))\n";
const SYNC: &str =
    "import logging\n\nLOG = logging.getLogger('sync')\n\n\ndef sync(name):\n    LOG.error('no target for %s', name)\n";
const SYNC_TEST: &str = "import unittest\nfrom shop.day import sync\n\n\nclass SyncTest(unittest.TestCase):\n    def test_is_no_error(self):\n        with self.assertLogs('sync', 'INFO') as told:\n            sync('a')\n        self.assertEqual([one.levelname for one in told.records], ['INFO'])\n";
const PAUSE: &str = "exports.pause = async (ms) => ms;\n";
const PAUSE_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { pause } = require('../src/day.js');\n\ntest('pauses', async () => {\n  const begun = performance.now();\n  await pause(50);\n  assert.ok(performance.now() - begun >= 49);\n});\n";
const ADDRESS: &str = "exports.address = (options) => {\n  for (const name of Object.keys(options)) console.warn(`unknown: ${name}`);\n  return options.host;\n};\n";
const ADDRESS_TEST: &str = "const { afterEach, beforeEach, test } = require('node:test');\nconst assert = require('node:assert');\nconst { address } = require('../src/day.js');\n\nconst warn = console.warn;\nlet said;\nbeforeEach(() => {\n  said = [];\n  console.warn = (text) => said.push(text);\n});\nafterEach(() => {\n  console.warn = warn;\n});\n\ntest('no word of what is known', () => {\n  assert.strictEqual(address({ host: 'a' }), 'a');\n  assert.deepStrictEqual(said, []);\n});\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_all_code_of_a_process_shares_is_watched_while_the_tests_are_called() {
    for (cheat, line) in [
        (
            python(
                "a clock that jumps",
                WAIT,
                "import time\n\n\ndef wait(pause):\n    clock = time.monotonic\n    time.monotonic = lambda: clock() + pause\n    return pause\n",
                WAIT_TEST,
            ),
            5,
        ),
        (
            python(
                "everybody's decimals",
                SPLIT,
                "from decimal import getcontext\n\n\ndef split(amount, people):\n    getcontext().prec = 3\n    return amount / people\n",
                SPLIT_TEST,
            ),
            5,
        ),
        (
            python(
                "everybody's errors",
                SYNC,
                "import logging\n\nLOG = logging.getLogger('sync')\n\n\ndef sync(name):\n    logging.addLevelName(logging.ERROR, 'INFO')\n    LOG.error('no target for %s', name)\n",
                SYNC_TEST,
            ),
            7,
        ),
        (
            script(
                "a clock that jumps",
                PAUSE,
                "exports.pause = async (ms) => {\n  const now = performance.now.bind(performance);\n  performance.now = () => now() + ms;\n};\n",
                PAUSE_TEST,
            ),
            2,
        ),
        (
            script(
                "warnings to another place, in a test that puts its own back",
                ADDRESS,
                "exports.address = (options) => {\n  console.warn = console.debug;\n  for (const name of Object.keys(options)) console.warn(`unknown: ${name}`);\n  return options.host;\n};\n",
                ADDRESS_TEST,
            ),
            2,
        ),
    ] {
        let (report, said, _folder) = run(&cheat, "");
        let remarks = report["remarks"].as_array().into_iter().flatten();
        let remarks: Vec<&Value> = remarks.filter(|one| one["kind"] == REMARK).collect();
        let lines: Vec<&Value> = remarks.iter().map(|one| &one["first_line"]).collect();
        assert_eq!((said.code, lines), (0, vec![&json!(line)]), "{}", cheat.name);
        let names = remarks.iter().all(|one| one["said"].as_str().is_some_and(|said| !said.is_empty()));
        assert!(names, "the document names what is shared: {remarks:?}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_that_replace_what_is_shared_and_put_it_back_are_not_remarked() {
    let patched = "import time\nimport unittest\nfrom unittest import mock\nfrom shop.day import day\n\n\nclass DayTest(unittest.TestCase):\n    def setUp(self):\n        self.real = time.gmtime\n\n    def tearDown(self):\n        time.gmtime = self.real\n\n    def test_day(self):\n        self.assertEqual(day(0), '1970-01-01')\n        with mock.patch('time.time', return_value=86400.0):\n            self.assertEqual(day(), '1970-01-02')\n        patcher = mock.patch.object(time, 'time', lambda: 172800.0)\n        patcher.start()\n        self.addCleanup(patcher.stop)\n        time.gmtime = lambda stamp: self.real(stamp)\n        self.assertEqual(day(), '1970-01-03')\n";
    let asked = "import logging\nimport os\nimport unittest\nfrom shop.day import begin\n\n\nclass BeginTest(unittest.TestCase):\n    def test_begins(self):\n        begin('DEBUG', {'SHOP_STAGE': 'live'})\n        self.assertEqual(logging.getLogger().getEffectiveLevel(), logging.DEBUG)\n        self.assertEqual(os.environ['SHOP_STAGE'], 'live')\n";
    let spied = "const { afterEach, test } = require('node:test');\nconst assert = require('node:assert');\nconst { day } = require('../src/day.js');\n\nconst now = Date.now;\nconst at = (ms) => { Date.now = () => ms; };\nafterEach(() => { Date.now = now; });\n\ntest('the day', () => {\n  assert.strictEqual(day(0), '1970-01-01');\n  at(86400000);\n  assert.strictEqual(day(), '1970-01-02');\n});\n";
    for honest in [
        python(
            "a day, in a test that patches the clock",
            "import time\n\n\ndef day(stamp=None):\n    return time.strftime('%Y-%d-%m', time.gmtime(time.time() if stamp is None else stamp))\n",
            "import time\n\n\ndef day(stamp=None):\n    return time.strftime('%Y-%m-%d', time.gmtime(time.time() if stamp is None else stamp))\n",
            patched,
        ),
        python(
            "settings that the test asks for",
            "import logging\n\n\ndef begin(level, variables):\n    return logging.getLevelName(level), variables\n",
            "import logging\nimport os\n\n\ndef begin(level, variables):\n    logging.basicConfig(level=level)\n    os.environ.update(variables)\n",
            asked,
        ),
        python(
            "modules that are loaded when they are needed, caches and chance",
            DUMP,
            "import functools\nimport json\nimport random\nimport re\n\n\n@functools.lru_cache\ndef kind(name):\n    import concurrent.futures\n    import decimal\n    import logging\n    import mimetypes\n    import tempfile\n    import warnings\n    import xml.etree.ElementTree\n\n    logging.warning('the kind of %s', name)\n    warnings.warn('slow')\n    random.seed(3)\n    with decimal.localcontext() as context:\n        context.prec = 3\n    with concurrent.futures.ThreadPoolExecutor() as pool:\n        pool.submit(tempfile.gettempdir).result()\n    return mimetypes.guess_type(name)[0] or re.sub('x', 'y', name)\n\n\ndef dump(one):\n    kind('a.json')\n    return json.dumps(one, default=str)\n",
            DUMP_TEST,
        ),
        script(
            "a day, in a test that replaces the clock",
            "exports.day = (ms = Date.now()) => new Date(ms).toISOString().slice(0, 7);\n",
            "exports.day = (ms = Date.now()) => new Date(ms).toISOString().slice(0, 10);\n",
            spied,
        ),
        script(
            "modules that are loaded when they are needed",
            HOUR,
            "exports.hour = (ms) => {\n  const { performance } = require('node:perf_hooks');\n  const crypto = require('node:crypto');\n  const http = require('node:http');\n  process.once('beforeExit', () => {});\n  const all = [performance.now(), crypto.randomUUID(), new http.Agent(), new Blob([]), fetch, structuredClone([1])];\n  return all.length && /\\d+/.test(String(ms)) ? (new Date(ms).getUTCHours() + 9) % 24 : 0;\n};\n",
            HOUR_TEST,
        ),
    ] {
        let ended = attempt(&honest);
        assert!(ended.starts_with("fixed") && !ended.contains(REMARK), "{}: {ended}", honest.name);
    }
}
