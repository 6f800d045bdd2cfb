use super::*;

const PYTHON: &str = "import math\nfrom os import path\n\nLIMIT = 3\n\ndef area(r):\n    return math.pi * r\n\n\
                      class Box:\n    def __init__(self):\n        self.x = 1\n\n    def grow(self):\n        self.x += 1\n";

#[test]
fn stand_ins_are_recognised_in_every_comment_style() {
    for line in [
        "...",
        "…",
        "    ...",
        "# ...",
        "// ...",
        "// ... existing code ...",
        "// rest unchanged",
        "// Rest of the file unchanged",
        "# ... rest of the code ...",
        "# (rest of the code remains the same)",
        "/* ... other methods ... */",
        "<!-- rest of file unchanged -->",
        "-- ... remaining code",
        "[... rest of file unchanged ...]",
        "... (rest of code) ...",
        "{/* ... existing code ... */}",
        "    // ... (previous implementation)",
        "// unchanged",
        "# Existing code here",
        "# same as before",
    ] {
        assert!(stand_in("a.js", "", &format!("fn a()\n{line}\nfn b()")).is_some(), "{line}");
    }
}

#[test]
fn real_lines_are_no_stand_ins() {
    for line in [
        "let rest = &args[1..];",
        "f(...args);",
        "function f(a, ...rest) {",
        "// TODO: handle the other cases",
        "# Wait...",
        "print(\"loading...\")",
        "return [...existing, item];",
        "// keep the same order as the specification demands",
        "match x { A { .. } => 1 }",
        "\"unchanged\": 3,",
        "\"the rest of the file is unchanged\"",
        "case 1...5:",
    ] {
        assert_eq!(stand_in("a.js", "", line), None, "{line}");
    }
}

#[test]
fn a_python_body_of_dots_and_lines_that_the_file_has_already_are_no_stand_ins() {
    assert_eq!(stand_in("a.py", "", "class P(Protocol):\n    def f(self): ...\n    def g(self):\n        ...\n"), None);
    assert!(stand_in("a.py", "", "x = 1\n...\n").is_some());
    assert_eq!(stand_in("a.js", "// ... existing code ...\n", "// ... existing code ...\n"), None);
}

#[test]
fn a_part_of_a_file_is_refused_and_says_what_is_missing() {
    let only_function = "def area(r):\n    return math.pi * r * r\n";
    let why = objection("a.py", PYTHON, only_function, Intent::Shown).unwrap();
    assert!(why.contains("`Box`") && why.contains("Nothing was written"), "{why}");

    let without_method = PYTHON.replace("    def grow(self):\n        self.x += 1\n", "");
    assert!(objection("a.py", PYTHON, &without_method, Intent::Shown).unwrap().contains("`grow`"));

    let without_import = PYTHON.replace("from os import path\n", "");
    assert!(objection("a.py", PYTHON, &without_import, Intent::Shown).unwrap().contains("`from os`"));

    let without_constant = PYTHON.replace("LIMIT = 3\n", "");
    assert!(objection("a.py", PYTHON, &without_constant, Intent::Shown).unwrap().contains("`LIMIT`"));
}

#[test]
fn parts_in_languages_with_braces_are_refused() {
    let js = "import { a } from 'x';\n\nexport class Cart {\n  add(item) {\n    this.n += 1;\n  }\n\n  total() {\n    \
              return 1;\n  }\n}\n";
    let part = "import { a } from 'x';\n\nexport class Cart {\n  total() {\n    return 2;\n  }\n}\n";
    assert!(objection("a.js", js, part, Intent::Shown).unwrap().contains("`add`"));

    let go =
        "package cart\n\nfunc (c *Cart) Add(n int) {\n\tc.n += n\n}\n\nfunc (c *Cart) Total() int {\n\treturn 0\n}\n";
    let part = "package cart\n\nfunc (c *Cart) Total() int {\n\treturn c.n\n}\n";
    assert!(objection("a.go", go, part, Intent::Shown).unwrap().contains("`Add`"));

    let rust = "use std::fmt;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
    let part = "use std::fmt;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n";
    assert!(objection("a.rs", rust, part, Intent::Shown).unwrap().contains("`adds`"));
}

#[test]
fn whole_files_are_not_refused() {
    let fixed = PYTHON.replace("math.pi * r", "math.pi * r * r").replace("LIMIT = 3", "LIMIT = 4");
    assert_eq!(objection("a.py", PYTHON, &fixed, Intent::Shown), None);
    let more_imports = fixed.replace("from os import path", "from os import getcwd, path");
    assert_eq!(objection("a.py", PYTHON, &more_imports, Intent::Shown), None);
    assert_eq!(objection("new.py", "", "x = 1\n", Intent::Shown), None);
}

#[test]
fn prose_is_judged_by_its_length_alone() {
    let old = "# Title\n\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
    assert_eq!(objection("a.md", old, &old.replace("one", "uno"), Intent::Shown), None);
    assert!(objection("a.md", old, "# Title\n\nuno\n", Intent::Shown).is_some());
}

#[test]
fn an_explicit_write_may_shorten_a_file_but_not_gut_it() {
    let shorter = PYTHON.replace("LIMIT = 3\n", "");
    assert_eq!(objection("a.py", PYTHON, &shorter, Intent::Explicit), None);
    let gutted = "def area(r):\n    return math.pi * r * r\n";
    assert!(objection("a.py", PYTHON, gutted, Intent::Explicit).is_some());
    assert!(objection("a.py", PYTHON, "# ... rest of the file\n", Intent::Explicit).is_some());
}
