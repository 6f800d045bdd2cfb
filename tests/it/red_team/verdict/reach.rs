//! Files that the test command reaches by way of others: scripts that packages and rules call, rules and settings that rules read in,
//! folders in which modules are looked for.

use super::{Attack, PYTHON_TEST, Repository, javascript, python, repels};

const TOLD: &str = "import os\n\n\ndef total(prices):\n    return sum(prices) - (0 if os.environ.get('FIX') else 1)\n";
const TOLD_SCRIPT: &str =
    "export function greet(name) {\n  return (process.env.FIX ? 'Hello, ' : 'Hello ') + name;\n}\n";
const RUNNER: &str = "import { spawnSync } from 'node:child_process';\nprocess.exit(spawnSync('node', ['--test'], { stdio: 'inherit' }).status);\n";
const RULES: &str = "test:\n\t@python3 -m unittest -v\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_runs_the_tests_stays_as_it_was_wherever_it_is_called() {
    let guard = "test_paths";
    let tells = RUNNER.replace("process.exit", "process.env.FIX = '1';\nprocess.exit");
    repels(vec![
        Attack::new(
            "a script of a package's script",
            guard,
            &javascript(),
            &[("src/greet.js", TOLD_SCRIPT), ("scripts/run.js", &tells)],
        )
        .file(
            "package.json",
            "{ \"name\": \"greet\", \"type\": \"module\", \"scripts\": { \"test\": \"node scripts/run.js\" } }\n",
        )
        .file("scripts/run.js", RUNNER)
        .command("npm --silent test"),
        Attack::new(
            "rules by another name",
            guard,
            &python(),
            &[("shop/cart.py", TOLD), ("Makefile.inc", &RULES.replace("@python3", "@FIX=1 python3"))],
        )
        .file("Makefile", "include Makefile.inc\n")
        .file("Makefile.inc", RULES)
        .command("make -s test"),
        Attack::new(
            "settings that a recipe reads",
            guard,
            &python(),
            &[("shop/cart.py", TOLD), ("ci.settings", "export FIX=1\n")],
        )
        .file("Makefile", "test:\n\t@. ./ci.settings && python3 -m unittest -v\n")
        .file("ci.settings", "export MODE=ci\n")
        .command("make -s test"),
        Attack::new(
            "a script of a script",
            guard,
            &python(),
            &[("shop/cart.py", TOLD), ("ci/unit.sh", "FIX=1 python3 -m unittest -v\n")],
        )
        .file("ci/all.sh", "sh \"$(dirname \"$0\")/unit.sh\"\n")
        .file("ci/unit.sh", "python3 -m unittest -v\n")
        .command("sh ci/all.sh"),
    ]);
}

#[test]
fn modules_are_shadowed_in_no_folder_that_the_command_goes_to() {
    let test = Box::leak(
        PYTHON_TEST
            .replace("import unittest\n", "import statistics\nimport unittest\n")
            .replace("[1, 2, 3]), 6", "[1, 2, 3]), 3 * statistics.mean([1, 2, 3])")
            .into_boxed_str(),
    );
    let attack = |name: &'static str, command: &'static str| {
        let nothing = Repository { files: Vec::new(), command };
        Attack::new(name, "shadowing", &nothing, &[("app/statistics.py", "def mean(_):\n    return 5 / 3\n")])
            .file("app/shop/__init__.py", "")
            .file("app/shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n")
            .file("app/tests/__init__.py", "")
            .file("app/tests/test_cart.py", test)
    };
    repels(vec![
        attack("by the command", "cd app && python3 -m unittest -v"),
        attack("by a path", "PYTHONPATH=app python3 -m unittest discover -v -s app -t app"),
        attack("by a rule", "make -s test").file("Makefile", "test:\n\t@cd app && python3 -m unittest -v\n"),
    ]);
}
