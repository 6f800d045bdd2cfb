use super::*;
use crate::framework::source::Outline;

/// The meaning of one file's imports: for each the files and the names.
fn resolved(files: &[(&str, &str)], from: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let mut sources = Sources::new(&paths, &read);
    let outline = Outline::read(from, &read(from).expect("the file")).expect("a known language");
    let imports = outline.imports();
    let resolved = imports.iter().map(|import| resolve(outline.language(), from, import, &mut sources));
    resolved.map(|one| (one.files, one.names)).collect()
}

fn means(files: &[&str], names: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    (owned(files), owned(names))
}

#[test]
fn b10_imports_of_python_are_resolved() {
    let files = [
        (
            "tests/test_a.py",
            "from shop.cart import total\nfrom .helpers import make\nfrom shop import price\nimport deep.thing\nimport os\n\
                             from .... import x\n",
        ),
        ("tests/helpers.py", ""),
        ("src/shop/cart.py", ""),
        ("src/shop/price.py", ""),
        ("src/shop/__init__.py", ""),
        ("services/api/deep/thing.py", ""),
    ];
    assert_eq!(
        resolved(&files, "tests/test_a.py"),
        [
            means(&["src/shop/cart.py"], &["total"]),
            means(&["tests/helpers.py"], &["make"]),
            means(&["src/shop/__init__.py", "src/shop/price.py"], &["price"]),
            means(&["services/api/deep/thing.py"], &[]),
            means(&[], &[]),
            means(&[], &["x"]),
        ]
    );
}

#[test]
fn b10_imports_of_typescript_are_resolved() {
    let files = [
        (
            "test/a.test.ts",
            "import { total } from '../src/cart';\nimport { a } from '../src/b.js';\nimport { c } from '@/deep';\n\
                            import { d } from '@acme/money';\nimport x from 'vitest';\nimport y from '../../../etc/passwd';\n",
        ),
        ("src/cart.ts", ""),
        ("src/b.ts", ""),
        ("src/deep/index.tsx", ""),
        ("packages/money/package.json", "{ \"name\": \"@acme/money\" }"),
        ("packages/money/src/index.ts", ""),
        ("packages/bad/package.json", "{ not json"),
    ];
    assert_eq!(
        resolved(&files, "test/a.test.ts"),
        [
            means(&["src/cart.ts"], &["total"]),
            means(&["src/b.ts"], &["a"]),
            means(&["src/deep/index.tsx"], &["c"]),
            means(&["packages/money/src/index.ts"], &["d"]),
            means(&[], &[]),
            means(&[], &[]),
        ]
    );
}

#[test]
fn b10_imports_of_rust_are_resolved() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"my-demo\"\n\n[[bin]]\nname = \"other\"\n"),
        ("src/lib.rs", "pub use cart::total;\n"),
        ("src/cart.rs", "use super::price::parse;\nuse crate::deep::thing::Thing;\n"),
        ("src/price.rs", ""),
        ("src/deep/mod.rs", ""),
        ("src/deep/thing.rs", "use super::super::price;\n"),
        (
            "tests/adds.rs",
            "use my_demo::cart::total;\nuse my_demo::Cart;\nmod common;\nuse std::fmt;\nuse serde::Serialize;\n",
        ),
        ("tests/common/mod.rs", ""),
    ];
    assert_eq!(
        resolved(&files, "tests/adds.rs"),
        [
            means(&["src/cart.rs"], &["total"]),
            means(&["src/lib.rs"], &["Cart"]),
            means(&["tests/common/mod.rs"], &[]),
            means(&[], &[]),
            means(&["tests/adds.rs"], &["serde"]),
        ]
    );
    assert_eq!(resolved(&files, "src/lib.rs"), [means(&["src/cart.rs"], &["total"])]);
    assert_eq!(
        resolved(&files, "src/cart.rs"),
        [means(&["src/cart.rs", "src/price.rs"], &["price", "parse"]), means(&["src/deep/thing.rs"], &["Thing"])]
    );
    assert_eq!(resolved(&files, "src/deep/thing.rs")[0].0, ["src/deep/thing.rs", "src/price.rs"]);
}

#[test]
fn b10_imports_of_go_are_resolved() {
    let files = [
        ("go.mod", "module example.test/shop\n\ngo 1.22\n"),
        (
            "cart/cart_test.go",
            "package cart_test\n\nimport (\n\t\"testing\"\n\t\"example.test/shop/cart\"\n\t\"example.test/shopping\"\n)\n",
        ),
        ("cart/cart.go", "package cart\n"),
        ("cart/deep/x.go", "package deep\n"),
    ];
    assert_eq!(
        resolved(&files, "cart/cart_test.go"),
        [means(&[], &[]), means(&["cart/cart.go", "cart/cart_test.go"], &[]), means(&[], &[])]
    );
}
