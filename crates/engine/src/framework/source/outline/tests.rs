use super::*;

/// Each definition as `within.name first-last`.
fn outlined(path: &str, text: &str) -> Vec<String> {
    let outline = Outline::read(path, text).expect("a known language");
    let shown = |one: &Definition| {
        let within = one.within.as_ref().map(|within| format!("{within}.")).unwrap_or_default();
        format!("{within}{} {}-{}", one.name, one.lines.0, one.lines.1)
    };
    outline.definitions().iter().map(shown).collect()
}

fn imported(path: &str, text: &str) -> Vec<(String, Vec<String>)> {
    let outline = Outline::read(path, text).expect("a known language");
    outline.imports().iter().map(|one| (one.module.clone(), one.names.clone())).collect()
}

#[test]
fn b10_definitions_of_python_are_found() {
    let text = "RATE = 7\n\n# Adds tax.\n@cached\ndef total(prices):\n    def inner():\n        pass\n    return 1\n\n\nclass Cart:\n    \
                size = 1\n\n    def add(self, price):\n        pass\n\n\nif RATE:\n    def late():\n        pass\n";
    assert_eq!(
        outlined("a.py", text),
        ["RATE 1-1", "total 3-8", "Cart 11-15", "Cart.size 12-12", "Cart.add 14-15", "late 19-20"]
    );
}

#[test]
fn b10_definitions_of_typescript_are_found() {
    let text = "/** Adds. */\nexport function total(a: number[]): number {\n  return 1;\n}\nexport const tax = (a: number) => a;\n\
                export default class Cart {\n  private n = 1;\n  add(a: number) {\n    return a;\n  }\n  sub = () => 1;\n}\n\
                interface Row { a: number }\nexports.old = function () {};\nconst { a } = require('./a');\n";
    assert_eq!(
        outlined("a.ts", text),
        ["total 1-4", "tax 5-5", "Cart 6-12", "Cart.add 8-10", "Cart.sub 11-11", "Row 13-13", "old 14-14"]
    );
}

#[test]
fn b10_definitions_of_rust_and_go_are_found() {
    let rust = "/// A cart.\n#[derive(Debug)]\npub struct Cart<T> {\n    a: T,\n}\n\nimpl<T> Cart<T> {\n    /// Adds.\n    pub fn add(&self) {}\n}\n\n\
                mod tests {\n    #[test]\n    fn adds() {}\n}\n";
    assert_eq!(outlined("a.rs", rust), ["Cart 1-5", "Cart 7-10", "Cart.add 8-9", "tests 12-15", "tests.adds 13-14"]);
    let go = "package cart\n\n// Rate is high.\nconst Rate = 7\n\ntype Cart struct {\n\tn int\n}\n\n// Total adds.\nfunc (c *Cart) Total() int {\n\treturn 1\n}\n\
              \nfunc New() *Cart {\n\treturn nil\n}\n";
    assert_eq!(outlined("a.go", go), ["Rate 3-4", "Cart 6-8", "Cart.Total 10-13", "New 15-17"]);
}

#[test]
fn b10_imports_are_read_as_written() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let python =
        "import os.path as p, sys\nfrom shop.cart import total as t, Cart\nfrom . import price\nfrom ..a.b import *\n";
    assert_eq!(
        imported("a.py", python),
        [
            ("os.path".to_owned(), names(&[])),
            ("sys".to_owned(), names(&[])),
            ("shop.cart".to_owned(), names(&["total", "Cart"])),
            (".".to_owned(), names(&["price"])),
            ("..a.b".to_owned(), names(&[])),
        ]
    );
    let typescript = "import { total as t, Cart } from '../src/cart';\nimport * as x from \"./x.js\";\nexport { tax } from './tax';\n\
                      export * from './all';\nconst { a } = require('./a');\nconst b = await import('./b');\n";
    assert_eq!(
        imported("a.ts", typescript),
        [
            ("../src/cart".to_owned(), names(&["total", "Cart"])),
            ("./x.js".to_owned(), names(&[])),
            ("./tax".to_owned(), names(&["tax"])),
            ("./all".to_owned(), names(&[])),
            ("./a".to_owned(), names(&[])),
            ("./b".to_owned(), names(&[])),
        ]
    );
    let modules = |text: &str, path: &str| imported(path, text).into_iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(
        modules("use demo::cart::{self, total, deep::{a as b, *}};\nmod price;\nuse super::*;\n", "a.rs"),
        ["demo::cart", "demo::cart::total", "demo::cart::deep::a", "demo::cart::deep", "self::price", "super"]
    );
    assert_eq!(
        modules("package a\n\nimport (\n\t\"fmt\"\n\tc \"example.test/shop/cart\"\n)\n", "a.go"),
        ["fmt", "example.test/shop/cart"]
    );
}

#[test]
fn b10_words_of_lines_come_in_order_and_paths_are_read_out_of_macros() {
    let text = "fn a() {\n    one(two);\n}\n\nfn b() {\n    assert_eq!(calc::sum::add(x), 1);\n}\n";
    let outline = Outline::read("a.rs", text).expect("Rust");
    assert_eq!(outline.words((5, 7)), ["b", "assert_eq", "calc", "sum", "add", "x"]);
    assert_eq!(
        outline.written_out((5, 7)).iter().map(|one| one.module.as_str()).collect::<Vec<_>>(),
        ["calc::sum::add"]
    );
}

#[test]
fn b10_a_file_with_errors_has_an_outline_and_a_hostile_one_does_no_harm() {
    let broken = "def one():\n    return 1 +\n\n\ndef two():\n    return 2\n";
    assert!(outlined("a.py", broken).contains(&"two 5-6".to_owned()), "{:?}", outlined("a.py", broken));
    let deep = "(".repeat(MAX_BYTES - 1);
    let many = "def f(): pass\n".repeat(30_000);
    for (path, text) in [("a.py", &deep), ("a.rs", &deep), ("a.ts", &deep), ("a.go", &deep), ("b.py", &many)] {
        if let Some(outline) = Outline::read(path, text) {
            assert!(outline.definitions().len() <= MAX_DEFINITIONS);
            assert!(outline.imports().len() <= 300 && outline.words((1, u32::MAX)).len() <= MAX_WORDS);
        }
    }
    assert!(Outline::read("a.py", &"x".repeat(MAX_BYTES + 1)).is_none());
    assert!(Outline::read("a.rb", "def x; end").is_none());
}
