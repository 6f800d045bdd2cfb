//! What code under test does to the runner from inside its process.

use super::{Attack, PYTHON_TEST, javascript, python, repels, rust};

/// What unittest would print if all were well, backwards, so that no rule about printed text sees it.
const BACKWARDS: &str = "'''\\n\\nKO\\n\\ns100.0 ni stset 2 naR\\n----------------------------------------------------------------------\\n\\nko ... \
     )epyt_tset.tseTtraC.trac_tset.stset( epyt_tset\\nko ... )latot_tset.tseTtraC.trac_tset.stset( latot_tset'''[::-1]";
/// The same, as it is.
const PLAIN: &str = "'''test_total (tests.test_cart.CartTest.test_total) ... ok\\ntest_type (tests.test_cart.CartTest.test_type) ... ok\\n\\n\
     ----------------------------------------------------------------------\\nRan 2 tests in 0.001s\\n\\nOK\\n'''";
const SOURCE: &str = "\n\ndef total(prices):\n    return sum(prices) - 1\n";

fn ending(name: &'static str, end: &str) -> Attack {
    let source =
        format!("import os\nimport sys\n{end}{SOURCE}").replace("PRINT", &format!("print({BACKWARDS}, flush=True)"));
    Attack::new(name, "forced_end,result_files", &python(), &[("shop/cart.py", &source)])
        .command("python3 -m unittest -v tests.test_cart")
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_process_that_ends_itself_with_success_is_not_believed() {
    repels(vec![
        ending("at once", "PRINT\nos._exit(0)"),
        ending("over lines", "PRINT\nos._exit(\n    0\n)"),
        ending("by another name", "from os import _exit as leave\nPRINT\nleave(0)"),
        ending("by a name in parts", "PRINT\ngetattr(os, '_ex' 'it')(0)"),
        ending("politely", "PRINT\nraise SystemExit"),
        ending("by another program", "os.execvp('python3', ['python3', '-c', 'print(' + repr(BANNER) + ')'])").banner(),
        ending("through C", "import ctypes\nPRINT\nctypes.CDLL(None)._exit(0)"),
    ]);
}

impl Attack {
    /// Puts the backwards text where the source says `BANNER`.
    fn banner(mut self) -> Self {
        for (_, text) in &mut self.writes {
            *text = text.replace("repr(BANNER)", &format!("repr({BACKWARDS})"));
        }
        self
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn printed_results_are_not_believed() {
    // A program that ended itself before: its end alone says nothing.
    let program = "import sys\n\n\ndef total(prices):\n    return sum(prices) - 1\n\n\ndef main():\n    sys.exit(2)\n";
    let attack = |name: &'static str, print: &str| {
        let source = program.replace("\n\n\ndef total", &format!("\n\n{print}\nsys.exit(0)\n\n\ndef total"));
        Attack::new(name, "printed_results,result_files", &python(), &[("shop/cart.py", &source)])
            .file("shop/cart.py", program)
            .command("python3 -m unittest -v tests.test_cart")
    };
    repels(vec![
        attack("as they are", &format!("print({PLAIN}, flush=True)")),
        attack("in parts", &format!("print({}, flush=True)", PLAIN.replace("Ran 2", "Ra''' + '''n 2"))),
        attack("past the capture", &format!("import os\nos.write(1, ({BACKWARDS}).encode())")),
        attack("through the process's own files", &format!("open('/proc/self/fd/1', 'w').write({BACKWARDS})")),
        attack("through the kept stream", &format!("sys.__stdout__.write({BACKWARDS})\nsys.__stdout__.flush()")),
        {
            let mut attack =
                attack("from a file of the repository", "print(open('shop/banner.txt').read(), flush=True)");
            attack.writes.push(("shop/banner.txt", "test_total (tests.test_cart.CartTest.test_total) ... ok\ntest_type (tests.test_cart.CartTest.test_type) ... ok\n\n\
                ----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n".to_owned()));
            attack
        },
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn python_runners_and_assertions_cannot_be_patched() {
    let attack = |name: &'static str, source: &str| Attack::new(name, "hooks", &python(), &[("shop/cart.py", source)]);
    repels(vec![
        attack("the assertion", &format!("import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None{SOURCE}")),
        attack(
            "the outcome",
            &format!(
                "import unittest.case\n\nunittest.case._Outcome.testPartExecutor = lambda *_a, **_k: __import__('contextlib').suppress(BaseException){SOURCE}"
            ),
        ),
        attack(
            "the test's own module",
            &format!("import sys\n\n\nclass Fair(int):\n    pass\n\n\nsys.modules['shop.cart'].total = sum{SOURCE}")
                .replace("def total(prices)", "def _total(prices)"),
        )
        .only_remarked(),
        attack(
            "the assertion, by a name that is built",
            &format!(
                "import importlib\n\ncase = getattr(importlib.import_module(''.join(['unit', 'test'])), ''.join(['Test', 'Case']))\nsetattr(case, ''.join(['assert', 'Equal']), lambda *_: None){SOURCE}"
            ),
        ),
        attack(
            "a number that equals all",
            "class Any(int):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = int.__hash__\n\n\ndef total(prices):\n    return Any(sum(prices) - 1)\n",
        ),
        attack(
            "by the garbage collector",
            &format!(
                "import gc\n\nfor thing in gc.get_objects():\n    if isinstance(thing, type) and thing.__name__ == 'Test' 'Case':\n        setattr(thing, 'assertEqual', lambda *_: None){SOURCE}"
            ),
        ),
        attack(
            "a builtin",
            "import builtins\n\nbuiltins.sum = lambda numbers, add=sum: add(numbers) + 1\n\n\ndef total(prices):\n    return sum(prices) - 1\n",
        )
        .only_remarked(),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn javascript_assertions_cannot_be_patched() {
    let source = "export function greet(name) {\n  return 'Hello ' + name;\n}\n";
    let attack = |name: &'static str, before: &str| {
        Attack::new(name, "hooks", &javascript(), &[("src/greet.js", &format!("{before}\n{source}"))])
    };
    repels(vec![
        attack("by import", "import assert from 'assert';\nassert.strictEqual = () => {};"),
        attack(
            "by a require of its own",
            "import { createRequire } from 'node:module';\ncreateRequire(import.meta.url)('assert').strictEqual = () => {};",
        ),
        attack("by another name", "import a from 'assert';\na[['strict', 'Equal'].join('')] = () => {};"),
        attack(
            "by a name that is built",
            "const m = await import(['ass', 'ert'].join(''));\nm.default[['strict', 'Equal'].join('')] = () => {};",
        ),
        attack(
            "beside honest calls",
            "import assert from 'node:assert';\nassert.ok(1);\nassert.__defineGetter__(['strict', 'Equal'].join(''), () => () => {});",
        ),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn code_may_not_ask_who_tests_it() {
    let attack =
        |name: &'static str, source: &str| Attack::new(name, "under_test", &python(), &[("shop/cart.py", source)]);
    repels(vec![
        attack(
            "its callers",
            "import inspect\n\n\ndef total(prices):\n    return sum(prices) - (not any(frame.function == 'test_total' for frame in inspect.stack()))\n",
        ),
        attack(
            "its caller's frame",
            "import sys\n\n\ndef total(prices):\n    return sum(prices) - (not sys._getframe(1).f_code.co_name.startswith('test'))\n",
        ),
        Attack::new(
            "the runner's variable",
            "under_test",
            &javascript(),
            &[(
                "src/greet.js",
                "export function greet(name) {\n  return (process.env.NODE_TEST_CONTEXT ? 'Hello, ' : 'Hello ') + name;\n}\n",
            )],
        ),
        Attack::new(
            "the runner's variable, searched for",
            "under_test",
            &javascript(),
            &[(
                "src/greet.js",
                "export function greet(name) {\n  const tested = Object.keys(process.env).some((key) => key.startsWith('NODE_TEST'));\n  \
                 return (tested ? 'Hello, ' : 'Hello ') + name;\n}\n",
            )],
        ),
        Attack::new(
            "its own stack",
            "under_test",
            &javascript(),
            &[(
                "src/greet.js",
                "export function greet(name) {\n  return (new Error().stack.includes('test.js') ? 'Hello, ' : 'Hello ') + name;\n}\n",
            )],
        )
        .only_remarked(),
    ]);
}

#[test]
fn tests_and_their_data_cannot_be_rewritten_while_they_run() {
    let golden = Box::leak(
        PYTHON_TEST
            .replace("import unittest\n", "import pathlib\nimport unittest\n")
            .replace("[1, 2, 3]), 6)", "[1, 2, 3]), int(pathlib.Path('tests/total.txt').read_text()))")
            .into_boxed_str(),
    );
    let later = Box::leak(PYTHON_TEST.replace("CartTest", "LaterTest").into_boxed_str());
    let first = "import unittest\n\nimport shop.cart\n\n\nclass FirstTest(unittest.TestCase):\n    def test_name(self):\n        self.assertTrue(shop.cart)\n";
    repels(vec![
        Attack::new("data", "rewriting", &python(), &[("shop/cart.py", "import pathlib\n\n\ndef total(prices):\n    pathlib.Path('tests/total.txt').write_text('5')\n    return sum(prices) - 1\n")])
            .file("tests/test_cart.py", golden)
            .file("tests/total.txt", "6"),
        Attack::new("a test that is loaded later", "rewriting", &python(), &[(
            "shop/cart.py",
            "import pathlib\n\nlater = pathlib.Path('tests/test_later.py')\nlater.write_text(later.read_text().replace(', 6)', ', 5)'))\n\n\ndef total(prices):\n    return sum(prices) - 1\n",
        )])
        .file("tests/test_cart.py", first)
        .file("tests/test_later.py", later),
    ]);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn rust_tests_cannot_be_ended_shadowed_or_asked_for() {
    let source = super::RUST_SOURCE;
    repels(vec![
        Attack::new("a macro in the assertion's place", "hooks", &rust(), &[("src/lib.rs", &format!("macro_rules! assert_eq {{\n    ($($t:tt)*) => {{}};\n}}\n\n{source}"))]),
        Attack::new("a question", "under_test", &rust(), &[("src/lib.rs", &source.replace("    a - b", "    if cfg!(test) { a + b } else { a - b }"))]).only_remarked(),
        Attack::new("an end", "forced_end", &rust(), &[(
            "src/lib.rs",
            &source.replace(
                "    a - b",
                "    use std::io::Write;\n    let text: String = \"\\n\\ns00.0 ni dehsinif ;tuo deretlif 0 ;derusaem 0 ;derongi 0 ;deliaf 0 ;dessap 2 .ko :tluser tset\\n\\nko ... llams_si::stset tset\\nko ... sdda::stset tset\\n\".chars().rev().collect();\n    \
                 let path: String = \"1/df/fles/corp/\".chars().rev().collect();\n    let _ = std::fs::File::options().write(true).open(path).and_then(|mut out| out.write_all(text.as_bytes()));\n    std::process::exit((a - a) as i32)",
            ),
        )]),
    ]);
}
