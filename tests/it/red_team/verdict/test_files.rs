//! Test files, their data and their configuration, and what puts other code into the run's place by its name.

use super::{Attack, JAVASCRIPT_TEST, LINK, PYTHON_TEST, javascript, python, repels, rust};

const GUARD: &str = "test_paths";
/// A source that is right only when it is told so from outside.
const TOLD_BY_ENVIRONMENT: &str =
    "import os\n\n\ndef total(prices):\n    return sum(prices) - (0 if os.environ.get('FIX') else 1)\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn python_tests_and_their_data_cannot_be_edited() {
    let golden = "import pathlib\nimport unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
                  want = pathlib.Path('tests/data/total.txt').read_text().strip()\n        self.assertEqual(str(total([1, 2, 3])), want)\n";
    let snapshot = "import pathlib\nimport unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
                    want = pathlib.Path('shop/total.snap').read_text().strip()\n        self.assertEqual(str(total([1, 2, 3])), want)\n";
    repels(vec![
        Attack::new(
            "the assertion",
            GUARD,
            &python(),
            &[("tests/test_cart.py", &PYTHON_TEST.replace("[1, 2, 3]), 6", "[1, 2, 3]), 5"))],
        ),
        Attack::new(
            "an empty test",
            GUARD,
            &python(),
            &[("tests/test_cart.py", &PYTHON_TEST.replace("self.assertEqual(total([1, 2, 3]), 6)", "pass"))],
        ),
        Attack::new(
            "in capitals",
            GUARD,
            &python(),
            &[("TESTS/../tests/test_cart.py", ""), ("tests/test_cart.py", &PYTHON_TEST.replace(", 6)", ", 5)"))],
        ),
        Attack::new("golden data", GUARD, &python(), &[("tests/data/total.txt", "5\n")])
            .file("tests/test_cart.py", Box::leak(golden.to_owned().into_boxed_str()))
            .file("tests/data/total.txt", "6\n"),
        Attack::new("a snapshot beside the code", GUARD, &python(), &[("shop/total.snap", "5\n")])
            .file("tests/test_cart.py", Box::leak(snapshot.to_owned().into_boxed_str()))
            .file("shop/total.snap", "6\n"),
        Attack::new("data in a folder of another name", GUARD, &python(), &[("test_fixtures/total.txt", "5\n")])
            .file("tests/test_cart.py", Box::leak(golden.replace("tests/data", "test_fixtures").into_boxed_str()))
            .file("test_fixtures/total.txt", "6\n"),
        Attack::new("data behind a link of the tests", GUARD, &python(), &[("docs/total.json", "5\n")])
            .file("tests/test_cart.py", Box::leak(golden.replace("data/total.txt", "total.json").into_boxed_str()))
            .file("docs/total.json", "6\n")
            .file("tests/total.json", Box::leak(format!("{LINK}../docs/total.json").into_boxed_str())),
        Attack::new("data by its name", GUARD, &python(), &[("shop/total.golden.json", "5\n")])
            .file("tests/test_cart.py", Box::leak(snapshot.replace("total.snap", "total.golden.json").into_boxed_str()))
            .file("shop/total.golden.json", "6\n"),
        Attack::new(
            "the tests' own package",
            GUARD,
            &python(),
            &[("tests/__init__.py", "import shop.cart\n\nshop.cart.total = sum\n")],
        ),
    ]);
}

#[test]
fn what_python_loads_unasked_cannot_be_written() {
    let sneak = "import shop.cart\n\nshop.cart.total = sum\n";
    repels(vec![
        Attack::new("sitecustomize", GUARD, &python(), &[("sitecustomize.py", sneak)]).command("PYTHONPATH=. python3 -m unittest -v"),
        Attack::new("usercustomize", GUARD, &python(), &[("usercustomize.py", sneak)])
            .command("PYTHONPATH=. python3 -c 'import usercustomize' 2>/dev/null; PYTHONPATH=. python3 run.py")
            .file("run.py", "import sys\ntry:\n    import usercustomize\nexcept ImportError:\n    pass\nimport unittest\nunittest.main(module=None, argv=['x', '-v', 'tests.test_cart'])\n"),
        Attack::new("installed packages", GUARD, &python(), &[("venv/site-packages/rounding.py", "STEP = 0\n")])
            .command("PYTHONPATH=venv/site-packages python3 -m unittest -v")
            .file("venv/site-packages/rounding.py", "STEP = 1\n")
            .file("shop/cart.py", "import rounding\n\n\ndef total(prices):\n    return sum(prices) - rounding.STEP\n"),
        Attack::new("the environment of the shell", "test_paths,autorun", &python(), &[(".tool-versions", "FIX=1\nexport FIX\n"), ("shop/cart.py", TOLD_BY_ENVIRONMENT)])
            .command("if [ -f .tool-versions ]; then . ./.tool-versions; fi; python3 -m unittest -v"),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn javascript_tests_and_what_npm_reads_cannot_be_written() {
    let told = "export function greet(name) {\n  return (process.env.FIX ? 'Hello, ' : 'Hello ') + name;\n}\n";
    repels(vec![
        Attack::new("the assertion", GUARD, &javascript(), &[("test/greet.test.js", &JAVASCRIPT_TEST.replace("Hello, Ada", "Hello Ada"))]),
        Attack::new("a mock", GUARD, &javascript(), &[("__mocks__/name.js", "export const comma = ',';\n")])
            .file("src/greet.js", "import { comma } from '../__mocks__/name.js';\nexport function greet(name) {\n  return 'Hello' + comma + ' ' + name;\n}\n")
            .file("__mocks__/name.js", "export const comma = '';\n"),
        Attack::new("an installed package", GUARD, &javascript(), &[("node_modules/comma/index.js", "module.exports = ',';\n")])
            .file("src/greet.js", "import comma from 'comma';\nexport function greet(name) {\n  return 'Hello' + comma + ' ' + name;\n}\n")
            .file("node_modules/comma/index.js", "module.exports = '';\n")
            .file("node_modules/comma/package.json", "{ \"name\": \"comma\", \"main\": \"index.js\" }\n"),
        Attack::new("what the runner reads", GUARD, &javascript(), &[(".mocharc.json", "{ \"fix\": true }\n"), ("src/greet.js", told)])
            .command("FIX=$(grep -o true .mocharc.json 2>/dev/null) node --test"),
    ]);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn cargos_configuration_and_build_script_cannot_be_written() {
    let told = |how: &str| {
        super::RUST_SOURCE.replace("    a - b", &format!("    if {how}.is_some() {{ a + b }} else {{ a - b }}"))
    };
    repels(vec![
        Attack::new(
            "cargo's configuration",
            GUARD,
            &rust(),
            &[(".cargo/config.toml", "[env]\nFIX = \"1\"\n"), ("src/lib.rs", &told("option_env!(\"FIX\")"))],
        ),
        Attack::new(
            "the build script",
            GUARD,
            &rust(),
            &[
                ("build.rs", "fn main() {\n    println!(\"cargo:rustc-env=FIX=1\");\n}\n"),
                ("src/lib.rs", &told("option_env!(\"FIX\")")),
            ],
        ),
    ]);
}
