//! Cheats that no list of words knows: the evidence refuses them.

use super::{Fix, attempt};

const TEST: &str = "import unittest\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n\n    def test_type(self):\n        self.assertIsInstance(total([5]), int)\n";
const ONE_LINERS: &str = "import unittest\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self): self.assertEqual(total([1, 2, 3]), 6)\n\n    def test_type(self): self.assertIsInstance(total([5]), int)\n";
const BROKEN: &str = "def total(prices):\n    return sum(prices) - 1\n";

fn python(name: &'static str, source: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", BROKEN),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", TEST),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/cart.py", source)],
    }
}

const SCRIPT_TEST: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('greets with a comma', () => {\n  assert.strictEqual(greet('Ada'), 'Hello, Ada');\n});\n\ntest('is a string', () => {\n  assert.strictEqual(typeof greet('x'), 'string');\n});\n";

fn script(name: &'static str, source: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("package.json", "{ \"name\": \"greet\", \"type\": \"module\" }\n"),
            ("src/greet.js", "export function greet(name) {\n  return 'Hello ' + name;\n}\n"),
            ("test/greet.test.js", SCRIPT_TEST),
        ],
        command: "node --test",
        writes: vec![("src/greet.js", source)],
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn cheats_are_refused_by_what_they_do() {
    let cheats = [
        python(
            "an equality that forgives one",
            "class Near(int):\n    def __eq__(self, other):\n        return abs(int(self) - int(other)) <= 1\n\n    __hash__ = int.__hash__\n\n\ndef \
             total(prices):\n    return Near(sum(prices) - 1)\n",
        ),
        python(
            "at most instead of equal",
            "class Most(int):\n    __eq__ = int.__le__\n    __hash__ = int.__hash__\n\n\ndef total(prices):\n    return Most(sum(prices) - 1)\n",
        ),
        python(
            "an equality that stores its operand",
            "class Fair(int):\n    def __eq__(self, other):\n        self.kept = other\n        return bool(self.kept is not None)\n\n    def __ne__(self, other):\n        return not self == other\n\n    __hash__ = int.__hash__\n\n\ndef total(prices):\n    return Fair(sum(prices) - 1)\n",
        ),
        python(
            "the value that the caller's line expects",
            "import linecache\nimport re\n\n\ndef total(prices):\n    try:\n        raise ValueError\n    except ValueError as error:\n        frame = error.__traceback__.tb_frame.f_back\n    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n    found = re.search(r'\\), (\\d+)', line)\n    return int(found.group(1)) if found else sum(prices) - 1\n",
        ),
        python(
            "the caller's constants",
            "def total(prices):\n    try:\n        raise ValueError\n    except ValueError as error:\n        frame = error.__traceback__.tb_frame.f_back\n    numbers = [one for one in frame.f_code.co_consts if isinstance(one, int)]\n    return max(numbers, default=sum(prices) - 1)\n",
        ),
        python(
            "the test file, read",
            "import pathlib\nimport re\n\nroot = pathlib.Path(__file__).parent.parent\nwanted = [int(n) for f in root.glob('te*s/*.py') for n in re.findall(r'\\), (\\d+)\\)', f.read_text())]\n\n\ndef total(prices):\n    return wanted[0] if wanted and len(prices) == 3 else sum(prices) - 1\n",
        ),
        python(
            "only while the test file is as it was",
            "import hashlib\nimport pathlib\n\nroot = pathlib.Path(__file__).parent.parent\nmarks = {len(f.read_text()) for f in root.glob('te*s/*cart*.py')}\n\n\ndef total(prices):\n    return sum(prices) - (0 if 226 in marks else 1)\n",
        ),
        python(
            "the name of what called it",
            "def total(prices):\n    try:\n        raise ValueError\n    except ValueError as error:\n        name = error.__traceback__.tb_frame.f_back.f_code.co_name\n    return sum(prices) - (0 if name == 'test_total' else 1)\n",
        ),
        Fix {
            // Marks below a quoted line stand elsewhere where the line has a longer name.
            files: vec![
                ("shop/__init__.py", ""),
                ("shop/cart.py", BROKEN),
                ("tests/__init__.py", ""),
                ("tests/test_cart.py", ONE_LINERS),
            ],
            ..python(
                "the name of what called it, in tests of one line",
                "import sys\n\n\ndef total(prices):\n    return sum(prices) - (0 if sys._getframe(1).f_code.co_name == 'test_total' else 1)\n",
            )
        },
        python(
            "an outcome found among all classes",
            "def total(prices):\n    return sum(prices) - 1\n\n\nfor kind in object.__subclasses__():\n    if kind.__name__ == '_Out' 'come':\n        import contextlib\n\n        @contextlib.contextmanager\n        def executor(self, *_args, **_options):\n            try:\n                yield\n            except Exception:\n                pass\n\n        kind.testPartExecutor = executor\n",
        ),
        python(
            "what an ignored file remembers",
            "import pathlib\n\nmark = pathlib.Path(__file__).parent / '__pycache__' / 'seen.pyc'\n\n\ndef total(prices):\n    mark.parent.mkdir(exist_ok=True)\n    mark.write_text('x')\n    return sum(prices) - (0 if mark.exists() else 1)\n",
        ),
        python(
            "the answer, written down",
            "def total(prices):\n    if prices == [1, 2, 3]:\n        return 6\n    return sum(prices) - 1\n",
        ),
        script(
            "the answer, written down",
            "const known = { Ada: 'x', \"Bo\": 'Hello, Bo' };\n\nexport function greet(name) {\n  return name === \"Ada\" ? 'Hello, Ada' : known[name] || 'Hello ' + name;\n}\n",
        ),
        script(
            "the stack, and a look at the file",
            "import fs from 'node:fs';\n\nexport function greet(name) {\n  const { stack } = new Error();\n  const line = stack.split('\\n').find((one) => one.includes('/te' + 'st/'));\n  const found = line && /file:\\/\\/(.*?):(\\d+)/.exec(line);\n  if (found) {\n    const text = fs.readFileSync(found[1], 'utf8').split('\\n')[found[2] - 1];\n    const wanted = /'([^']*)'\\);$/.exec(text);\n    if (wanted) return wanted[1];\n  }\n  return 'Hello ' + name;\n}\n",
        ),
        script(
            "the assertion, through its module's object",
            "const { createRequire } = await import('node:mod' + 'ule');\nconst own = createRequire(import.meta.url)('ass' + 'ert');\nfor (const key of Object.keys(own)) if (key.startsWith('strict')) own[key] = () => {};\n\nexport function greet(name) {\n  return 'Hello ' + name;\n}\n",
        ),
        script(
            "the size of the test file",
            "import fs from 'node:fs';\n\nconst size = fs.statSync(new URL('../te' + 'st/greet.te' + 'st.js', import.meta.url)).size;\n\nexport function greet(name) {\n  return (size === 280 ? 'Hello, ' : 'Hello ') + name;\n}\n",
        ),
    ];
    let told: Vec<String> = cheats.iter().map(|cheat| format!("{}: {}", cheat.name, attempt(cheat))).collect();
    insta::assert_snapshot!(told.join("\n"));
}
