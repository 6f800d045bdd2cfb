use std::collections::BTreeSet;

use super::{Change, inspect};
use crate::policy::guard::Guards;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
    Change {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        may_edit_tests: false,
    }
}

#[test]
fn files_that_stand_in_for_tools_are_found() {
    for path in
        ["unittest.py", "src/pytest/__init__.py", "json.py", "bdb.py", "local.mk", "GNUmakefile", "lib/traceback.py"]
    {
        assert!(inspect(&[change(path, None, Some("x"))], &Guards::default(), &BTreeSet::new()).is_some(), "{path}");
        assert_eq!(
            inspect(&[change(path, Some("y"), Some("x"))], &Guards::default(), &BTreeSet::new()),
            None,
            "{path} was there"
        );
    }
    for before in [None, Some("y")] {
        assert!(inspect(&[change("bin/python3", before, Some("x"))], &Guards::default(), &BTreeSet::new()).is_some());
    }
    for path in ["shop/json.py", "pkg/unittest.py", "app.py", "src/cart.py", "node.py"] {
        assert_eq!(inspect(&[change(path, None, Some("x"))], &Guards::default(), &BTreeSet::new()), None, "{path}");
    }
}

#[test]
fn modules_of_pythons_are_shadowed_where_the_tests_look_for_them() {
    let roots = BTreeSet::from(["backend".to_owned()]);
    let shadows = |path: &str, before: Option<&str>| {
        inspect(&[change(path, before, Some("x"))], &Guards::default(), &roots).is_some()
    };
    assert!(shadows("backend/fnmatch.py", None) && shadows("backend/json/__init__.py", None));
    for path in ["backend/shop/types.py", "backend/cart.py", "web/json.py"] {
        assert!(!shadows(path, None), "{path}");
    }
    assert!(!shadows("backend/json.py", Some("y")));
}

#[test]
fn a_test_that_is_marked_as_failing_is_found_and_a_new_one_is_not() {
    let marked = |path: &str, before: &str, after: &str| {
        let edited = Change { may_edit_tests: true, ..change(path, Some(before), Some(after)) };
        inspect(&[edited], &Guards::default(), &BTreeSet::new()).is_some()
    };
    let python =
        "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n";
    let script = "test('a', () => {\n  expect(1).toBe(2);\n});\n";
    let rust = "#[test]\nfn a() {\n    assert_eq!(1, 2);\n}\n";
    for (path, text, old, new) in [
        ("test_a.py", python, "    def", "    @unittest.expectedFailure\n    def"),
        ("test_a.py", python, "    def", "    @pytest.mark.xfail(strict=True)\n    def"),
        ("a.test.js", script, "test(", "test.failing("),
        ("a.test.js", script, "test(", "test.fails("),
        ("a.rs", rust, "fn a", "#[should_panic]\nfn a"),
    ] {
        let now = text.replace(old, new);
        assert!(marked(path, text, &now), "{now}");
        assert!(!marked(path, &now, &now), "it was marked");
        assert!(!marked(path, "", &now), "it is new");
        assert!(!marked(path, text, &text.replace('2', "3")));
    }
}
