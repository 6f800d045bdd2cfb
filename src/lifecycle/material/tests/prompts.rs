//! First messages, byte for byte, for projects whose product file is longer than is shown whole.

use crate::agent;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::units::TreeId;
use crate::domain::verdict::Exit;
use crate::lifecycle::material::{Tree, gather, pointers};
use crate::test_run::{self, Filed, TestRun};
use crate::trial;
use crate::workspace::{PathRules, Workspace};

/// The artisan's first message for a project whose tests print this.
async fn message(files: &[(&str, String)], command: &str, log: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
    let exit = Exit::Code { code: 1 };
    let report = test_run::read(&mut log.as_bytes(), Some(exit), None).unwrap().report;
    let run = TestRun { exit, report, filed: Filed::NotAsked, output: String::new(), duration_ms: 5, stopped: None };
    let described = trial::describe(&run, &root);
    let candidate = trial::candidate(TreeId("t".to_owned()), &run, &described);
    let read = |path: &str| workspace.read_text(path);
    let tree = Tree { files: &workspace.files(), read: &read, clean: &str::to_owned };
    let pointers = pointers(tree.files, &candidate, &std::collections::BTreeSet::new(), command);
    let (excerpts, likely) = gather(&tree, &pointers, &candidate, None);
    let material = agent::Material {
        objective: Foreign::prose("Make the failing tests pass."),
        test_command: Foreign::new(command),
        working_directory: None,
        beside: Vec::new(),
        failures: candidate.failures.clone(),
        excerpts,
        likely,
        advice: Vec::new(),
        brief: None,
        handover: Foreign::default(),
        past: Vec::new(),
        last: None,
    };
    agent::artisan(&material, &Mark::fixed("m1")).first_message
}

/// As many functions that nobody asked for.
fn many(from: usize, to: usize, one: impl Fn(usize) -> String) -> String {
    (from..to).map(one).collect()
}

#[tokio::test]
async fn b10_a_large_module_of_python() {
    let other = |n: usize| {
        format!(
            "def shipping_zone_{n}(weight, express=False):\n    base = weight * {n}\n    return base * 2 if express else base\n\n\n"
        )
    };
    let cart = format!(
        "\"\"\"The cart.\"\"\"\n\nfrom decimal import Decimal\n\nfrom shop.rounding import to_cents\n\nTAX = Decimal(\"0.19\")\n\n\n{}\
         class Cart:\n    \"\"\"Lines with prices.\"\"\"\n\n    def __init__(self, lines):\n        self.lines = lines\n\n    \
         # The sum with tax.\n    def total(self):\n        return to_cents(self.net() * TAX)\n\n    def net(self):\n        \
         return sum(price for _, price in self.lines)\n\n\n{}",
        many(1, 20, other),
        many(20, 35, other)
    );
    let test = "import unittest\nfrom decimal import Decimal\n\nfrom shop.cart import Cart\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
                cart = Cart([(\"tea\", Decimal(100))])\n        self.assertEqual(cart.total(), 11900)\n";
    let files = [
        ("shop/__init__.py", String::new()),
        ("shop/cart.py", cart),
        ("shop/rounding.py", "def to_cents(amount):\n    return int(amount * 100)\n".to_owned()),
        ("tests/__init__.py", String::new()),
        ("tests/test_cart.py", test.to_owned()),
    ];
    let log = "test_total (tests.test_cart.CartTest.test_total) ... FAIL\n\n\
               ======================================================================\n\
               FAIL: test_total (tests.test_cart.CartTest.test_total)\n\
               ----------------------------------------------------------------------\n\
               Traceback (most recent call last):\n  File \"/w/tests/test_cart.py\", line 10, in test_total\n    \
               self.assertEqual(cart.total(), 11900)\nAssertionError: 1900 != 11900\n\n\
               ----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    insta::assert_snapshot!(message(&files, "python3 -m unittest -v", log).await);
}

#[tokio::test]
async fn b10_a_large_module_of_typescript() {
    let other = |n: usize| {
        format!(
            "export function zone{n}(weight: number, express = false): number {{\n  const base = weight * {n};\n  return express ? base * 2 : base;\n}}\n\n"
        )
    };
    let cart = format!(
        "import {{ toCents }} from './rounding';\n\nexport interface Line {{\n  name: string;\n  price: number;\n}}\n\n{}\
         /** The sum with tax. */\nexport const total = (lines: Line[]): number => {{\n  return toCents(net(lines) * 0.19);\n}};\n\n\
         function net(lines: Line[]): number {{\n  return lines.reduce((sum, line) => sum + line.price, 0);\n}}\n\n{}",
        many(1, 14, other),
        many(14, 28, other)
    );
    let files = [
        ("package.json", "{ \"name\": \"shop\", \"devDependencies\": { \"jest\": \"29.0.0\" } }\n".to_owned()),
        ("src/cart.ts", cart),
        ("src/index.ts", "export { total } from './cart';\n".to_owned()),
        ("src/rounding.ts", "export function toCents(amount: number): number {\n  return Math.round(amount * 100);\n}\n".to_owned()),
        (
            "test/cart.test.ts",
            "import { total } from '../src';\n\ntest('adds tax', () => {\n  expect(total([{ name: 'tea', price: 100 }])).toBe(11900);\n});\n".to_owned(),
        ),
    ];
    let log = "FAIL test/cart.test.ts\n  \u{2715} adds tax (3 ms)\n\n  \u{25cf} adds tax\n\n    expect(received).toBe(expected) // Object.is equality\n\n    \
               Expected: 11900\n    Received: 1900\n\n      2 |\n      3 | test('adds tax', () => {\n    > 4 |   expect(total([{ name: 'tea', price: 100 }])).toBe(11900);\n        \
               |                                                ^\n      5 | });\n\n      at Object.<anonymous> (test/cart.test.ts:4:48)\n\n\
               Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n";
    insta::assert_snapshot!(message(&files, "npx jest", log).await);
}

#[tokio::test]
async fn b10_a_large_module_of_rust() {
    let other = |n: usize| {
        format!(
            "pub fn zone_{n}(weight: i64, express: bool) -> i64 {{\n    let base = weight * {n};\n    if express {{ base * 2 }} else {{ base }}\n}}\n\n"
        )
    };
    let cart = format!(
        "use crate::rounding::to_cents;\n\n{}/// Lines with prices.\n#[derive(Debug)]\npub struct Cart {{\n    pub lines: Vec<(String, i64)>,\n}}\n\n\
         impl Cart {{\n    /// The sum with tax.\n    pub fn total(&self) -> i64 {{\n        to_cents(self.net() * 19 / 100)\n    }}\n\n    \
         fn net(&self) -> i64 {{\n        self.lines.iter().map(|(_, price)| price).sum()\n    }}\n}}\n\n{}",
        many(1, 16, other),
        many(16, 30, other)
    );
    let files = [
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n".to_owned()),
        ("src/lib.rs", "pub mod cart;\nmod rounding;\n\npub use cart::Cart;\n".to_owned()),
        ("src/cart.rs", cart),
        ("src/rounding.rs", "pub fn to_cents(amount: i64) -> i64 {\n    amount * 100\n}\n".to_owned()),
        (
            "tests/totals.rs",
            "use shop::Cart;\n\n#[test]\nfn adds_tax() {\n    let cart = Cart { lines: vec![(\"tea\".to_owned(), 100)] };\n    assert_eq!(cart.total(), 11_900);\n}\n"
                .to_owned(),
        ),
    ];
    let log = "running 1 test\ntest adds_tax ... FAILED\n\nfailures:\n\n---- adds_tax stdout ----\n\nthread 'adds_tax' (71) panicked at tests/totals.rs:6:5:\n\
               assertion `left == right` failed\n  left: 1900\n right: 11900\n\n\nfailures:\n    adds_tax\n\n\
               test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
               error: test failed, to rerun pass `--test totals`\n";
    insta::assert_snapshot!(message(&files, "cargo test", log).await);
}

#[tokio::test]
async fn b10_a_large_file_of_go() {
    let other = |n: usize| {
        format!(
            "func Zone{n}(weight int, express bool) int {{\n\tbase := weight * {n}\n\tif express {{\n\t\treturn base * 2\n\t}}\n\treturn base\n}}\n\n"
        )
    };
    let cart = format!(
        "// Package cart adds up.\npackage cart\n\n{}// Cart has lines with prices.\ntype Cart struct {{\n\tPrices []int\n}}\n\n\
         // Total is the sum with tax.\nfunc (c *Cart) Total() int {{\n\treturn toCents(c.net() * 19 / 100)\n}}\n\n\
         func (c *Cart) net() int {{\n\tsum := 0\n\tfor _, price := range c.Prices {{\n\t\tsum += price\n\t}}\n\treturn sum\n}}\n\n{}",
        many(1, 16, other),
        many(16, 30, other)
    );
    let files = [
        ("go.mod", "module example.test/shop\n\ngo 1.22\n".to_owned()),
        ("cart/cart.go", cart),
        ("cart/rounding.go", "package cart\n\nfunc toCents(amount int) int {\n\treturn amount * 100\n}\n".to_owned()),
        (
            "cart/cart_test.go",
            "package cart_test\n\nimport (\n\t\"testing\"\n\n\t\"example.test/shop/cart\"\n)\n\nfunc TestTotal(t *testing.T) {\n\tc := &cart.Cart{Prices: []int{100}}\n\t\
             if got := c.Total(); got != 11900 {\n\t\tt.Fatalf(\"got %d, want 11900\", got)\n\t}\n}\n"
                .to_owned(),
        ),
    ];
    let log = "--- FAIL: TestTotal (0.00s)\n    cart_test.go:12: got 1900, want 11900\nFAIL\nFAIL\texample.test/shop/cart\t0.002s\nFAIL\n";
    insta::assert_snapshot!(message(&files, "go test ./...", log).await);
}
