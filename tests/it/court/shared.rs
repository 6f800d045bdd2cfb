//! Changes that reach all code of their process when they are loaded are remarked; their honest twins are not.

use super::{Fix, attempt};

const REMARK: &str = "changes_for_all";

/// A change of one module in Python.
fn python(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/day.py", broken),
            ("tests/__init__.py", ""),
            ("tests/test_day.py", test),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/day.py", written)],
    }
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
