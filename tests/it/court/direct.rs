//! Tests called without their runner: what is right under the runner alone is refused, and honest fixes are called like any other code.
//!
//! Those of runners that are installed by `.ci/frameworks` run there.

use super::{Fix, evidence, run_in};
use crate::frameworks::{Needs, projects};

const PACKAGE: (&str, &str) = ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\" }\n");
const MODULES: (&str, &str) =
    ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"type\": \"module\" }\n");
const TYPED_TEST: &str = "import { expect, test } from 'vitest';\nimport { total } from '../src/price';\n\ntest('adds', () => {\n  expect(total([2, 3])).toBe(5);\n});\n\ntest.each([[1], [2]])('is a number %i', (one: number) => {\n  expect(total([one])).not.toBeNaN();\n});\n";

/// What becomes of a change: the evidence in a line, what was remarked, and the exit code.
fn plays(
    needs: Needs,
    name: &'static str,
    files: Vec<(&'static str, &'static str)>,
    command: &'static str,
    path: &'static str,
    text: &'static str,
) -> String {
    let fix = Fix { name, files, command, writes: vec![(path, text)] };
    let folder = needs.folder();
    let (report, said) = run_in(folder.path(), &fix, "", needs);
    let remarks = report["remarks"].as_array().into_iter().flatten().filter_map(|one| one["kind"].as_str());
    let why = report["proof"].as_array().into_iter().flatten().find(|one| one["evidence"] == "direct");
    let why = why.and_then(|one| one["why"].as_str()).unwrap_or_default().to_owned();
    format!("{name}: exit {}\n{} {why}\n    {}\n", said.code, evidence(&report), remarks.collect::<Vec<_>>().join(" "))
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn javascript_runners_are_left_out() {
    let common = "function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - (WRONG ? 1 : 0);\n}\n\nmodule.exports = { total };\n";
    let of = |text: &str, wrong: &str| -> &'static str { Box::leak(text.replace("WRONG", wrong).into_boxed_str()) };
    let module = "export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - (WRONG ? 1 : 0);\n}\n";
    let mut told = String::new();
    for (project, text, asks) in [
        (&projects::JEST, common, "!process.env['JEST_' + 'WORKER_ID']"),
        (&projects::MOCHA, common, "!process.argv.some((one) => one.includes('mo' + 'cha'))"),
        (&projects::VITEST, module, "!process.env['VI' + 'TEST']"),
    ] {
        let files = || project.files.to_vec();
        let honest = of(text, "false");
        told += &plays(Needs::JavaScript, project.name, files(), project.command, project.source, honest);
        let cheat = of(text, asks);
        let name: &'static str = Box::leak(format!("{}, asked by a variable", project.name).into_boxed_str());
        told += &plays(Needs::JavaScript, name, files(), project.command, project.source, cheat);
        let stack = of(text, "!new Error().stack.includes('node_' + 'modules')");
        let name: &'static str = Box::leak(format!("{}, asked by its frames", project.name).into_boxed_str());
        told += &plays(Needs::JavaScript, name, files(), project.command, project.source, stack);
    }
    let typed = vec![
        MODULES,
        (
            "src/price.ts",
            "export function total(prices: number[]): number {\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}\n",
        ),
        ("test/price.test.ts", TYPED_TEST),
    ];
    let mended = "export function total(prices: number[]): number {\n  return prices.reduce((a, b) => a + b, 0);\n}\n";
    told += &plays(
        Needs::JavaScript,
        "vitest in TypeScript",
        typed,
        "node_modules/.bin/vitest run",
        "src/price.ts",
        mended,
    );
    let mocked = |body: &str| -> Vec<(&'static str, &'static str)> {
        let test = format!(
            "const {{ total }} = require('../src/price');\n\nbeforeEach(() => jest.clearAllMocks());\n\ntest('calls', () => {{\n{body}}});\n\ntest('is a number', () => {{\n  const seen = jest.fn(() => total([1]));\n  expect(seen()).toEqual(expect.any(Number));\n}});\n"
        );
        vec![
            PACKAGE,
            ("src/price.js", projects::JEST.files[1].1),
            ("test/price.test.js", Box::leak(test.into_boxed_str())),
        ]
    };
    let stands_in = "  const seen = jest.fn();\n  seen(total([2, 3]));\n  expect(seen).toHaveBeenCalledWith(5);\n";
    let spies = "  const seen = jest.spyOn(console, 'log').mockImplementation(() => {});\n  console.log({ total: total([2, 3]), at: 1 });\n  expect(seen.mock.calls[0][0]).toEqual(expect.objectContaining({ total: 5 }));\n  seen.mockRestore();\n";
    let timers = "  jest.useFakeTimers();\n  expect(total([2, 3])).toBe(5);\n";
    let variable = of(common, "!process.env['JEST_' + 'WORKER_ID']");
    for (name, body, product) in [
        ("jest with a mock", stands_in, of(common, "false")),
        ("jest with a mock, asked by a variable", stands_in, variable),
        ("jest with a spy", spies, of(common, "false")),
        ("jest with a spy, asked by a variable", spies, variable),
        ("jest with timers of its own", timers, of(common, "false")),
    ] {
        told += &plays(Needs::JavaScript, name, mocked(body), "node_modules/.bin/jest", "src/price.js", product);
    }
    insta::assert_snapshot!(told);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn rusts_tests_are_called_by_an_example_of_their_crate() {
    let manifest =
        ("Cargo.toml", "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n");
    let lock = ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"cart\"\nversion = \"0.1.0\"\n");
    let files = |product| {
        vec![
            manifest,
            lock,
            (".gitignore", "/target\n"),
            ("src/main.rs", "mod cart;\n\nfn main() {\n    println!(\"{}\", cart::total(&[1]));\n}\n"),
            ("src/cart.rs", product),
        ]
    };
    let broken = "pub fn total(prices: &[i64]) -> i64 {\n    prices.iter().sum::<i64>() - 1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(total(&[1, 2]), 3);\n    }\n\n    #[test]\n    fn is_small() -> Result<(), String> {\n        if total(&[5]) == 500 { Err(\"large\".to_owned()) } else { Ok(()) }\n    }\n}\n";
    let with = |product: &str| -> &'static str {
        Box::leak(broken.replace("prices.iter().sum::<i64>() - 1", product).into_boxed_str())
    };
    let play = |name, product| {
        plays(Needs::Machine, name, files(broken), "cargo test --offline", "src/cart.rs", with(product))
    };
    let asks = "prices.iter().sum::<i64>() - i64::from(std::env::var_os(\"CARGO_PKG_NAME\").is_none())";
    let told = play("a program's own tests", "prices.iter().sum::<i64>()") + &play("asked by a variable", asks);
    insta::assert_snapshot!(told);
}

/// Tests whose values come from fixtures of their class, their module, the files above and the runner itself.
const FIXTURES: &[(&str, &str)] = &[
    (
        "shop.py",
        "class Cart:\n    def __init__(self, folder):\n        self.folder = folder\n        self.rows = []\n\n    def total(self):\n        return sum(self.rows) - 1\n\n    def save(self):\n        (self.folder / 'total').write_text(str(self.total()))\n\n\nasync def later(cart):\n    return cart.total()\n",
    ),
    (
        "conftest.py",
        "import os\n\nimport pytest\nimport shop\n\n\n@pytest.fixture\ndef cart(tmp_path):\n    cart = shop.Cart(tmp_path)\n    cart.rows.append(2)\n    yield cart\n    cart.rows.clear()\n\n\n@pytest.fixture(autouse=True)\ndef region(monkeypatch):\n    monkeypatch.setenv('REGION', 'us')\n",
    ),
    (
        "test_shop.py",
        "import os\n\nimport pytest\nimport shop\n\n\n@pytest.fixture\ndef cart(cart):\n    cart.rows.append(3)\n    return cart\n\n\ndef test_total(cart):\n    assert cart.total() == 5\n\n\ndef test_saves(cart, tmp_path):\n    cart.save()\n    assert (tmp_path / 'total').read_text() == '5'\n\n\n@pytest.mark.parametrize('more, total', [(1, 6), (2, 7)])\ndef test_more(more, total, cart, capsys):\n    cart.rows.append(more)\n    print(cart.total())\n    assert capsys.readouterr().out == f'{total}\\n'\n\n\nclass TestLarge:\n    @pytest.fixture\n    def large(self, cart):\n        cart.rows.append(10)\n        return cart\n\n    def test_large(self, large):\n        assert large.total() == 15\n\n\ndef test_region():\n    assert os.environ['REGION'] == 'us'\n",
    ),
];

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn pytests_fixtures_are_made_for_tests_that_are_called() {
    let product = FIXTURES[0].1;
    let of = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let honest = of(&product.replace("sum(self.rows) - 1", "sum(self.rows)"));
    let asks = of(&product
        .replace("sum(self.rows) - 1", "sum(self.rows) - (not __import__('os').environ.get('PYTEST_' + 'VERSION'))"));
    let play = |name, files: Vec<(&'static str, &'static str)>, text| {
        plays(Needs::Python, name, files, ".venv/bin/python -m pytest -q", "shop.py", text)
    };
    let mut own = FIXTURES.to_vec();
    own[2].1 = of(&own[2]
        .1
        .replace("def test_region():", "def test_region(request):")
        .replace("== 'us'", "== 'us' and shop.Cart('').total() == 0"));
    let told = play("fixtures", FIXTURES.to_vec(), honest)
        + &play("fixtures, asked by a variable", FIXTURES.to_vec(), asks)
        + &play("one that only the runner makes", own, honest);
    insta::assert_snapshot!(told);
}
