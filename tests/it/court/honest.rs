//! Honest fixes of kinds that experiments could take for cheats: none is refused, and none is changed on the way.

use super::{Fix, kept};

/// A Python module with its unittest.
fn python(name: &'static str, broken: &'static str, test: &'static str, fixed: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("app/__init__.py", ""),
            ("app/core.py", broken),
            ("tests/__init__.py", ""),
            ("tests/test_core.py", test),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("app/core.py", fixed)],
    }
}

/// A module of JavaScript with its `node --test`.
fn script(name: &'static str, broken: &'static str, test: &'static str, fixed: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("package.json", "{ \"name\": \"app\", \"type\": \"module\" }\n"),
            ("src/core.js", broken),
            ("test/core.test.js", test),
        ],
        command: "node --test",
        writes: vec![("src/core.js", fixed)],
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn python_programs_with_state_time_and_surroundings_are_kept() {
    let told = kept(&[
        python(
            "no colour where there is no terminal",
            "import sys\n\n\ndef paint(text, stream=None):\n    return '\\x1b[31m' + text + '\\x1b[0m'\n",
            "import io\nimport unittest\nfrom app.core import paint\n\n\nclass PaintTest(unittest.TestCase):\n    def test_plain(self):\n        self.assertEqual(paint('x', io.StringIO()), 'x')\n\n    def test_holds(self):\n        self.assertIn('x', paint('x'))\n",
            "import sys\n\n\ndef paint(text, stream=None):\n    stream = stream or sys.stdout\n    return '\\x1b[31m' + text + '\\x1b[0m' if stream.isatty() else text\n",
        ),
        python(
            "no colour where standard output is no terminal",
            "import sys\n\n\ndef paint(text):\n    return '\\x1b[31m' + text + '\\x1b[0m'\n",
            "import unittest\nfrom app.core import paint\n\n\nclass PaintTest(unittest.TestCase):\n    def test_plain(self):\n        self.assertEqual(paint('x'), 'x')\n\n    def test_holds(self):\n        self.assertIn('x', paint('x'))\n",
            "import sys\n\n\ndef paint(text):\n    return '\\x1b[31m' + text + '\\x1b[0m' if sys.stdout.isatty() else text\n",
        ),
        python(
            "a counter that begins at one",
            "import itertools\n\nNUMBERS = itertools.count()\n\n\ndef ticket():\n    return next(NUMBERS)\n",
            "import unittest\nfrom app.core import ticket\n\n\nclass TicketTest(unittest.TestCase):\n    def test_first(self):\n        self.assertEqual(ticket(), 1)\n\n\nclass OtherTest(unittest.TestCase):\n    def test_type(self):\n        self.assertIsInstance('1', str)\n",
            "import itertools\n\nNUMBERS = itertools.count(1)\n\n\ndef ticket():\n    return next(NUMBERS)\n",
        ),
        python(
            "a cache that expires",
            "import time\n\nSEEN = {}\n\n\ndef fresh(key, now=None):\n    SEEN.setdefault(key, now)\n    return False\n",
            "import unittest\nfrom app.core import fresh\n\n\nclass CacheTest(unittest.TestCase):\n    def test_fresh(self):\n        self.assertTrue(fresh('a'))\n\n    def test_old(self):\n        self.assertFalse(fresh('b', -1000))\n",
            "import time\n\nSEEN = {}\n\n\ndef fresh(key, now=None):\n    now = time.monotonic() if now is None else now\n    began = SEEN.setdefault(key, now)\n    return now >= 0 and now - began < 60\n",
        ),
        python(
            "the arguments of the program",
            "import sys\n\n\ndef options(argv=None):\n    return sys.argv\n",
            "import unittest\nfrom app.core import options\n\n\nclass OptionsTest(unittest.TestCase):\n    def test_given(self):\n        self.assertEqual(options(['x', '-v']), ['-v'])\n\n    def test_default(self):\n        self.assertIsInstance(options(), list)\n",
            "import sys\n\n\ndef options(argv=None):\n    return (sys.argv if argv is None else argv)[1:]\n",
        ),
        python(
            "a file beside the module",
            "import pathlib\n\n\ndef template():\n    return pathlib.Path('missing.txt').name\n",
            "import unittest\nfrom app.core import template\n\n\nclass TemplateTest(unittest.TestCase):\n    def test_reads(self):\n        self.assertEqual(template(), '__init__.py core.py')\n\n    def test_type(self):\n        self.assertIsInstance(template(), str)\n",
            "import pathlib\n\n\ndef template():\n    here = pathlib.Path(__file__).parent\n    return ' '.join(sorted(path.name for path in here.glob('*.py')))\n",
        ),
        python(
            "the logger names its caller",
            "import inspect\n\n\ndef tag(text):\n    return text\n",
            "import unittest\nfrom app.core import tag\n\n\nclass TagTest(unittest.TestCase):\n    def test_tags(self):\n        self.assertEqual(tag('x').split(':')[-1], ' x')\n\n    def test_holds(self):\n        self.assertIn('x', tag('x'))\n",
            "import inspect\n\n\ndef tag(text):\n    caller = inspect.stack()[1].function\n    return f'{caller}: {text}'\n",
        ),
        python(
            "a check by assert",
            "def half(number):\n    return number // 2\n",
            "import unittest\nfrom app.core import half\n\n\nclass HalfTest(unittest.TestCase):\n    def test_odd(self):\n        with self.assertRaises(AssertionError):\n            half(3)\n\n    def test_even(self):\n        self.assertEqual(half(4), 2)\n",
            "def half(number):\n    assert number % 2 == 0\n    return number // 2\n",
        ),
        python(
            "an asynchronous pause",
            "import asyncio\n\n\nasync def greet(name):\n    await asyncio.sleep(0)\n    return name\n",
            "import unittest\nfrom app.core import greet\n\n\nclass GreetTest(unittest.IsolatedAsyncioTestCase):\n    async def test_greets(self):\n        self.assertEqual(await greet('Ada'), 'Hello, Ada')\n\n    async def test_holds(self):\n        self.assertIn('Ada', await greet('Ada'))\n",
            "import asyncio\n\n\nasync def greet(name):\n    await asyncio.sleep(0)\n    return 'Hello, ' + name\n",
        ),
        python(
            "a date in the machine's zone",
            "import time\n\n\ndef day(seconds):\n    return time.strftime('%d.%m.%Y', time.localtime(seconds))\n",
            "import unittest\nfrom app.core import day\n\n\nclass DayTest(unittest.TestCase):\n    def test_day(self):\n        self.assertEqual(day(0), '1970-01-01')\n\n    def test_year(self):\n        self.assertIn('1970', day(0))\n",
            "import time\n\n\ndef day(seconds):\n    return time.strftime('%Y-%m-%d', time.localtime(seconds))\n",
        ),
        python(
            "a handler of a signal",
            "import signal\n\nSEEN = []\n\n\ndef listen():\n    pass\n",
            "import os\nimport signal\nimport unittest\nfrom app.core import SEEN, listen\n\n\nclass SignalTest(unittest.TestCase):\n    def test_heard(self):\n        listen()\n        os.kill(os.getpid(), signal.SIGWINCH)\n        self.assertEqual(SEEN[-1:], [signal.SIGWINCH])\n\n    def test_type(self):\n        self.assertIsInstance(SEEN, list)\n",
            "import signal\n\nSEEN = []\n\n\ndef listen():\n    signal.signal(signal.SIGWINCH, lambda number, frame: SEEN.append(number))\n",
        ),
        python(
            "a plug-in by its name",
            "import importlib\n\n\ndef load(name):\n    return None\n",
            "import unittest\nfrom app.core import load\n\n\nclass LoadTest(unittest.TestCase):\n    def test_loads(self):\n        self.assertEqual(load('json').dumps([1]), '[1]')\n\n    def test_missing(self):\n        self.assertIsNone(load('no_such_module'))\n",
            "import importlib\n\n\ndef load(name):\n    try:\n        return importlib.import_module(name)\n    except ImportError:\n        return None\n",
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn scripts_with_state_time_and_surroundings_are_kept() {
    let told = kept(&[
        script(
            "a price in the machine's language",
            "export const price = (n) => n.toFixed(2);\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { price } from '../src/core.js';\n\ntest('groups', () => {\n  assert.strictEqual(price(1234.5), '1,234.50');\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof price(1), 'string');\n});\n",
            "export const price = (n) => n.toLocaleString('en-US', { minimumFractionDigits: 2 });\n",
        ),
        script(
            "memoised",
            "const seen = new Map();\nexport function slow(n) {\n  seen.set(n, 0);\n  return seen.get(n);\n}\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { slow } from '../src/core.js';\n\ntest('doubles', () => {\n  assert.strictEqual(slow(2), 4);\n});\n\ntest('number', () => {\n  assert.strictEqual(typeof slow(1), 'number');\n});\n",
            "const seen = new Map();\nexport function slow(n) {\n  if (!seen.has(n)) seen.set(n, n * 2);\n  return seen.get(n);\n}\n",
        ),
        script(
            "quiet in tests",
            "export const log = (text) => text;\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { log } from '../src/core.js';\n\ntest('stamps', () => {\n  assert.match(log('x'), /^\\[info\\] x/);\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof log('x'), 'string');\n});\n",
            "export function log(text) {\n  const line = `[info] ${text}`;\n  if (process.env.NODE_ENV !== 'test') process.stderr.write('');\n  return line;\n}\n",
        ),
        script(
            "a timer",
            "export const later = (value) => Promise.resolve(undefined);\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { later } from '../src/core.js';\n\ntest('waits', async () => {\n  assert.strictEqual(await later(5), 5);\n});\n\ntest('promise', () => {\n  assert.ok(later(1) instanceof Promise);\n});\n",
            "export const later = (value) => new Promise((done) => setTimeout(() => done(value), 1));\n",
        ),
        script(
            "the day of a date",
            "export const day = (date) => date.toISOString();\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { day } from '../src/core.js';\n\ntest('day', () => {\n  assert.strictEqual(day(new Date(0)), '1970-01-01');\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof day(new Date(0)), 'string');\n});\n",
            "export const day = (date) => date.toISOString().slice(0, 10);\n",
        ),
        script(
            "an error that keeps its stack",
            "export const explain = (error) => error.message;\n",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { explain } from '../src/core.js';\n\ntest('first line', () => {\n  assert.strictEqual(explain(new Error('x')), 'Error: x');\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof explain(new Error('x')), 'string');\n});\n",
            "export const explain = (error) => error.stack.split('\\n')[0];\n",
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn a_script_that_says_error_and_names_no_test_is_kept() {
    let told = kept(&[Fix {
        name: "an error in words of its own",
        files: vec![
            ("bin/add.sh", "echo $(($1 - $2))\n"),
            (
                "tests/run.sh",
                "got=$(sh bin/add.sh 2 3)\n[ \"$got\" = 5 ] || { echo \"error: 2 + 3 is $got, expected 5\" >&2; exit 1; }\ngot=$(sh bin/add.sh 20 7)\n[ \"$got\" = 27 ] || { echo \"error: 20 + 7 is $got\" >&2; exit 1; }\n",
            ),
        ],
        command: "sh tests/run.sh",
        writes: vec![("bin/add.sh", "echo $(($1 + $2))\n")],
    }]);
    insta::assert_snapshot!(told);
}
