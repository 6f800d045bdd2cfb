use super::*;

fn is_test(path: &str) -> bool {
    path.contains("test")
}

/// The trace of a failing test: `tests` and `used`, each as `path:first-last`.
fn traced(files: &[(&str, &str)], places: &[(&str, u32)], failing: &str) -> (Vec<String>, Vec<String>) {
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let places: Vec<Place> = places.iter().map(|(path, line)| ((*path).to_owned(), vec![*line])).collect();
    let trace = trace(&mut Sources::new(&paths, &read), &places, &[failing.to_owned()], &is_test);
    let shown = |parts: Vec<Part>| {
        parts.into_iter().map(|part| format!("{}:{}-{}", part.path, part.lines.0, part.lines.1)).collect()
    };
    (shown(trace.tests), shown(trace.used))
}

#[test]
fn b10_a_failing_python_test_leads_through_a_package_to_what_it_calls_and_what_that_calls() {
    let test = "import pytest\nfrom shop import total, unused\n\n\ndef prices():\n    return [1]\n\n\ndef test_total():\n    assert total(prices()) == 2\n\
                \n\ndef test_other():\n    assert other()\n";
    let files = [
        ("tests/test_cart.py", test),
        ("shop/__init__.py", "from .cart import total\nfrom .rest import unused\n"),
        ("shop/cart.py", "from .sums import add\n\n\ndef other():\n    pass\n\n\ndef total(p):\n    return add(p)\n"),
        ("shop/sums.py", "def less(a):\n    return a\n\n\ndef add(p):\n    return less(sum(p))\n"),
        ("shop/rest.py", "def unused():\n    pass\n"),
    ];
    let (tests, used) = traced(&files, &[("tests/test_cart.py", 10)], "tests/test_cart.py::test_total");
    assert_eq!(tests, ["tests/test_cart.py:9-10"]);
    assert_eq!(
        used,
        ["shop/cart.py:8-9", "tests/test_cart.py:5-6", "shop/sums.py:5-6", "shop/sums.py:1-2", "shop/rest.py:1-2"]
    );
}

#[test]
fn b10_a_test_that_no_place_leads_to_is_found_by_its_name() {
    let files = [
        ("Cargo.toml", "[package]\nname = \"demo\"\n"),
        ("src/lib.rs", "pub mod cart;\npub use cart::total;\n"),
        (
            "src/cart.rs",
            "pub fn total(a: &[u8]) -> u8 {\n    first(a).unwrap()\n}\n\nfn first(a: &[u8]) -> Option<u8> {\n    None\n}\n",
        ),
        ("tests/adds.rs", "#[test]\nfn adds() {\n    assert_eq!(demo::total(&[1]), 1);\n}\n"),
    ];
    let (tests, used) = traced(&files, &[("src/cart.rs", 2)], "adds");
    assert_eq!(tests, ["tests/adds.rs:1-4"]);
    assert_eq!(used, ["src/cart.rs:1-3", "src/cart.rs:5-7"]);
}

#[test]
fn b10_a_large_class_is_told_by_its_head_its_constructor_and_the_methods_in_use() {
    let filler: String = (0..30).map(|n| format!("    def other_{n}(self):\n        return {n}\n\n")).collect();
    let class = format!(
        "class Cart:\n    size = 3\n\n    def __init__(self):\n        self.a = 1\n\n{filler}    def total(self):\n        return self.a\n"
    );
    let files = [
        ("test_cart.py", "from cart import Cart\n\n\ndef test_a():\n    assert Cart().total() == 2\n"),
        ("cart.py", class.as_str()),
    ];
    let (_, used) = traced(&files, &[("test_cart.py", 5)], "test_cart.py::test_a");
    assert_eq!(used, ["cart.py:1-1", "cart.py:4-5", "cart.py:97-98"]);
}

#[test]
fn b10_go_packages_and_circles_are_followed_once() {
    let files = [
        ("cart/cart.go", "package cart\n\nfunc Total(n int) int {\n\treturn rate(n)\n}\n"),
        ("cart/rate.go", "package cart\n\nfunc rate(n int) int {\n\treturn Total(n)\n}\n"),
        (
            "cart/cart_test.go",
            "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif Total(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
    ];
    let (tests, used) = traced(&files, &[("cart_test.go", 6)], "TestTotal");
    assert_eq!(tests, ["cart/cart_test.go:5-9"]);
    assert_eq!(used, ["cart/cart.go:3-5", "cart/rate.go:3-5"]);
}

#[test]
fn b10_a_method_of_its_own_class_comes_before_those_of_others() {
    let cart = "class Cart:\n    def total(self):\n        return self.net()\n\n    def net(self):\n        return 1\n";
    let files = [
        (
            "test_cart.py",
            "from other import Other\nfrom cart import Cart\n\n\ndef test_a():\n    assert Cart().total() == 2\n",
        ),
        ("other.py", "class Other:\n    def total(self):\n        pass\n\n    def net(self):\n        pass\n"),
        ("cart.py", cart),
    ];
    let (_, used) = traced(&files, &[("test_cart.py", 6)], "test_cart.py::test_a");
    assert_eq!(used, ["cart.py:1-6", "cart.py:2-3", "other.py:2-3", "cart.py:5-6", "other.py:1-6"]);
}
