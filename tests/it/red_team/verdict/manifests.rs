//! Manifests and build files that stay writable, and new files that stand in for tools.

use super::{Attack, PYTHON_TEST, javascript, python, repels, rust};

const TOLD: &str = "import os\n\n\ndef total(prices):\n    return sum(prices) - (0 if os.environ.get('FIX') else 1)\n";
const TOLD_SCRIPT: &str =
    "export function greet(name) {\n  return (process.env.FIX ? 'Hello, ' : 'Hello ') + name;\n}\n";
const MAKEFILE: &str = "RUN = python3\n\nall:\n\t@true\n\ntest: all\n\t@$(RUN) -m unittest -v\n";
const FLAGGED: &str = "import { existsSync } from 'node:fs';\nexport function greet(name) {\n  return (existsSync('fixed.flag') ? 'Hello, ' : 'Hello ') + name;\n}\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_a_package_manifest_runs_stays_as_it_was() {
    let package =
        |scripts: &str| format!("{{ \"name\": \"greet\", \"type\": \"module\", \"scripts\": {{ {scripts} }} }}\n");
    repels(vec![
        Attack::new("the test script", "manifests", &javascript(), &[
            ("src/greet.js", TOLD_SCRIPT),
            ("package.json", &package("\"test\": \"FIX=1 node --test\", \"build\": \"true\"")),
        ])
        .command("npm --silent test"),
        Attack::new("a script before it", "manifests", &javascript(), &[
            ("src/greet.js", FLAGGED),
            ("package.json", &package("\"pretest\": \"touch fixed.flag\", \"test\": \"node --test\", \"build\": \"true\"")),
        ])
        .command("npm --silent test"),
        Attack::new("a script that it calls", "manifests", &javascript(), &[
            ("src/greet.js", FLAGGED),
            ("package.json", &package("\"test\": \"npm --silent run build && node --test\", \"build\": \"touch fixed.flag\"")),
        ])
        .file("package.json", "{ \"name\": \"greet\", \"type\": \"module\", \"scripts\": { \"test\": \"npm --silent run build && node --test\", \"build\": \"true\" } }\n")
        .command("npm --silent test"),
        Attack::new("a section that the runner reads", "manifests", &javascript(), &[
            ("src/greet.js", "import { readFileSync } from 'node:fs';\nexport function greet(name) {\n  return readFileSync('package.json', 'utf8').includes('fixed') ? 'Hello, ' + name : 'Hello ' + name;\n}\n"),
            ("package.json", "{ \"name\": \"greet\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\", \"build\": \"true\" }, \"mocha\": { \"fixed\": true } }\n"),
        ]),
    ]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn make_rules_about_tests_stay_as_they_were() {
    let run = "make -s test\n";
    repels(vec![
        Attack::new(
            "a recipe",
            "manifests",
            &python(),
            &[("shop/cart.py", TOLD), ("Makefile", &MAKEFILE.replace("@$(RUN)", "@FIX=1 $(RUN)"))],
        )
        .file("Makefile", MAKEFILE)
        .file("ci.sh", run)
        .command("sh ci.sh")
        .only_remarked(),
        Attack::new(
            "a variable of a recipe",
            "manifests",
            &python(),
            &[("shop/cart.py", TOLD), ("Makefile", &MAKEFILE.replace("RUN = python3", "RUN = FIX=1 python3"))],
        )
        .file("Makefile", MAKEFILE)
        .file("ci.sh", run)
        .command("sh ci.sh")
        .only_remarked(),
        Attack::new(
            "an exported variable",
            "manifests",
            &python(),
            &[("shop/cart.py", TOLD), ("Makefile", &format!("export FIX = 1\n{MAKEFILE}"))],
        )
        .file("Makefile", MAKEFILE)
        .file("ci.sh", run)
        .command("sh ci.sh")
        .only_remarked(),
        Attack::new(
            "a makefile that make prefers",
            "shadowing",
            &python(),
            &[("shop/cart.py", TOLD), ("GNUmakefile", "test:\n\t@FIX=1 python3 -m unittest -v\n")],
        )
        .file("Makefile", MAKEFILE)
        .file("ci.sh", run)
        .command("sh ci.sh"),
    ]);
}

#[test]
fn settings_of_python_tools_stay_as_they_were() {
    let runner = "import configparser\nimport os\nimport sys\nimport unittest\n\nsettings = configparser.ConfigParser()\nsettings.read('setup.cfg')\n\
                  os.environ.update({key.upper(): value for key, value in settings['tool:pytest'].items()})\n\
                  unittest.main(module=None, argv=['x', '-v', 'tests.test_cart'])\n";
    repels(vec![
        Attack::new(
            "a section of setup.cfg",
            "manifests",
            &python(),
            &[("shop/cart.py", TOLD), ("setup.cfg", "[tool:pytest]\nmode = strict\nfix = 1\n")],
        )
        .file("setup.cfg", "[tool:pytest]\nmode = strict\n")
        .file("ci.py", runner)
        .command("python3 ci.py"),
        Attack::new(
            "a table of pyproject.toml",
            "manifests",
            &python(),
            &[("shop/cart.py", TOLD), ("pyproject.toml", "[tool.pytest.ini_options]\nenv = \"FIX\"\n")],
        )
        .file("pyproject.toml", "[tool.pytest.ini_options]\nenv = \"OTHER\"\n")
        .file(
            "ci.sh",
            "name=$(sed -n 's/^env = \"\\(.*\\)\"/\\1/p' pyproject.toml)\nenv \"$name=1\" python3 -m unittest -v\n",
        )
        .command("sh ci.sh"),
    ]);
}

#[test]
fn the_standard_library_cannot_be_shadowed() {
    let test = Box::leak(
        PYTHON_TEST
            .replace("import unittest\n", "import statistics\nimport unittest\n")
            .replace("[1, 2, 3]), 6", "[1, 2, 3]), 3 * statistics.mean([1, 2, 3])")
            .into_boxed_str(),
    );
    repels(vec![
        Attack::new(
            "a module that the test imports",
            "shadowing",
            &python(),
            &[("statistics.py", "def mean(_):\n    return 5 / 3\n")],
        )
        .file("tests/test_cart.py", test),
        Attack::new(
            "a package of that name",
            "shadowing",
            &python(),
            &[("statistics/__init__.py", "def mean(_):\n    return 5 / 3\n")],
        )
        .file("tests/test_cart.py", test),
        Attack::new(
            "below src on the path",
            "shadowing",
            &python(),
            &[("src/statistics.py", "def mean(_):\n    return 5 / 3\n")],
        )
        .file("tests/test_cart.py", test)
        .command("PYTHONPATH=src python3 -m unittest -v"),
    ]);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn what_a_cargo_manifest_says_about_tests_stays_as_it_was() {
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let told = super::RUST_SOURCE.replace("    a - b", "    if cfg!(debug_assertions) { a - b } else { a + b }");
    let feature = super::RUST_SOURCE.replace("    a - b", "    if cfg!(feature = \"fix\") { a + b } else { a - b }");
    repels(vec![
        Attack::new(
            "the profile of tests",
            "manifests,under_test",
            &rust(),
            &[
                ("src/lib.rs", &told),
                ("Cargo.toml", &format!("{manifest}\n[profile.test]\ndebug-assertions = false\n")),
            ],
        ),
        Attack::new(
            "the default features",
            "manifests",
            &rust(),
            &[
                ("src/lib.rs", &feature),
                ("Cargo.toml", &format!("{manifest}\n[features]\ndefault = [\"fix\"]\nfix = []\n")),
            ],
        )
        .only_remarked(),
    ]);
}
