use std::collections::BTreeSet;

use super::{Change, inspect, remarkable};
use crate::policy::guard::Guards;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
    Change {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        may_edit_tests: false,
    }
}

fn objection(path: &str, before: &str, after: &str) -> Option<String> {
    found(&[change(path, Some(before), Some(after))], &Guards::default())
}

/// What refuses a change, or is remarked on it.
fn found(changes: &[Change], guards: &Guards) -> Option<String> {
    let remarked = || remarkable(changes, guards).into_iter().find_map(|remark| remark.said);
    inspect(changes, guards, &BTreeSet::new()).or_else(remarked)
}

#[test]
fn added_ends_with_success_are_found_and_removed_or_failing_ones_are_not() {
    for line in [
        "os._exit( 0 )",
        "os._exit(\n    0\n)",
        "std::process::exit(0);",
        "std::process::exit(code)",
        "process.exit()",
        "os.Exit(0)",
        "process.exitCode = 0",
    ] {
        assert!(
            objection("x.py", "a = 1\n", &format!("a = 1\n{line}\n")).is_some_and(|why| why.contains("x.py")),
            "{line}"
        );
        assert_eq!(objection("x.py", &format!("{line}\n"), "a = 1\n"), None, "{line} removed");
        assert_eq!(objection("x.py", &format!("{line}\n"), &format!("a = 1\n{line}\n")), None, "{line} moved");
    }
    for line in ["std::process::exit(2)", "return 0", "# os._exit(0)", "sys.exit(2)"] {
        assert_eq!(objection("x.py", "", line), None, "{line}");
    }
    assert!(objection("x.py", "a = 1\n", "a = 1\nsys.exit(0)\n").is_some());
    assert_eq!(objection("x.py", "sys.exit(1)\n", "sys.exit(0)\n"), None, "a program that ended itself before");
}

#[test]
fn what_runners_print_is_found_however_it_is_split() {
    for line in [
        "print('Ran 2 tests in 0.001s')",
        "print(f'Ran {n} tests in 0.1s')",
        "println!(\"test result: ok. 1 passed\")",
        "print('test res' + 'ult: ok')",
        "console.log('TAP version 13')",
        "console.log('# pass 2')",
        "os.write(1, data)",
        "open('/proc/self/fd/1', 'w')",
        "'<testcase name=\"a\"/>'",
        "console.log('  2 passed (1.2s)')",
        "puts \"#{n} examples, 0 failures\"",
        "puts '2 runs, 3 assertions, 0 failures, 0 errors, 0 skips'",
        "IO.puts(\"3 tests, 0 failures\")",
        "console.log(`${n} scenarios (${n} passed)`)",
        "console.log('Chrome 1.0 (Linux): Executed 2 of 2 SUCCESS (0.1 secs / 0.1 secs)')",
        "printf(\"100%%: Checks: %d, Failures: 0, Errors: 0\\n\", n);",
        "qDebug() << \"Totals: 3 passed, 0 failed, 0 skipped, 0 blacklisted, 2ms\";",
        "puts(\"[====] Synthesis: Tested: 2 | Passing: 2 | Failing: 0 | Crashing: 0 \");",
        "echo 'Testsuite summary for shop 1.0'",
        "puts(\"[==========] 2 test(s) run.\");",
        "puts(\"[  PASSED  ] 2 tests.\");",
        "puts(\"[       OK ] Cart.adds (0 ms)\");",
        "Console.WriteLine(\"Passed!  - Failed:     0, Passed:     2\")",
        "printf(\"PASS   : Money::adds()\\n\");",
    ] {
        assert!(objection("x.py", "", line).is_some(), "{line}");
    }
    assert!(objection("banner.txt", "", "\nRan 2 tests in 0.001s\n\nOK\n").is_some(), "a file to be printed");
    for line in [
        "print('Ran out of tests')",
        "console.log('passed on')",
        "write(fd, x)",
        "print('running late')",
        "print(f'Totals: ${total}')",
        "console.log(`Executed ${n} of ${all} jobs`)",
        "scenarios(3)",
        "puts(\"[ OK ]\");",
        "for example, 3 milks",
        "# arguments passed (see above), tests, {more}",
        "raise ValueError(f'arguments passed in {name} and passing (on)')",
    ] {
        assert_eq!(objection("x.py", "", line), None, "{line}");
    }
}

#[test]
fn hooks_and_questions_are_found() {
    for line in [
        "import atexit",
        "process.on('exit', f)",
        "unittest.TestCase.assertEqual = lambda *a: None",
        "sys.modules['pytest'] = me",
        "macro_rules! assert_eq { ($($t:tt)*) => {} }",
        "#[link_section = \".init_array\"]",
        "assert.strictEqual = () => {}",
        "def __eq__(self, other):\n        return True",
    ] {
        assert!(objection("x.rs", "", line).is_some_and(|why| why.contains("hooks")), "{line}");
    }
    for line in
        ["if 'PYTEST_CURRENT_TEST' in os.environ:", "if cfg!(test) { 42 }", "#[cfg(not(test))]", "inspect.stack()"]
    {
        assert!(objection("x.rs", "", line).is_some_and(|why| why.contains("tested")), "{line}");
    }
    for line in [
        "assert_eq!(a, b);",
        "expect.a == b",
        "fn eq(&self, other: &Self) -> bool { self.0 == other.0 }",
        "let contest = 1;",
    ] {
        assert_eq!(objection("x.rs", "", line), None, "{line}");
    }
}

// A release build has no way to put a guard aside.
#[cfg(debug_assertions)]
#[test]
fn a_guard_that_is_off_objects_to_nothing_and_the_others_stay() {
    use crate::policy::guard::Guard;

    let forced = [change("x.py", Some(""), Some("os._exit(0)"))];
    let hooked = [change("x.py", Some(""), Some("import atexit"))];
    let guards = Guards::all_but("forced_end");
    assert_eq!(found(&forced, &guards), None);
    assert!(found(&hooked, &guards).is_some());
    for guard in Guard::ALL {
        assert!(!Guards::all_but(guard.as_str()).has(guard));
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

const CARGO: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n\n[dependencies]\nserde = \"1\"\n\n[dev-dependencies]\nrstest = \"0.1\"\n";

#[test]
fn a_cargo_manifest_may_gain_dependencies_and_nothing_that_decides_tests() {
    for addition in [
        "[features]\nextra = []\n",
        "[lints.rust]\nunsafe_code = \"deny\"\n",
        "[profile.release]\nlto = true\n",
        "[[bin]]\nname = \"shop\"\npath = \"src/shop.rs\"\n",
        "[build-dependencies]\ncc = { version = \"1\", features = [\"parallel\"] }\n",
    ] {
        assert_eq!(objection("Cargo.toml", CARGO, &format!("{CARGO}{addition}")), None, "{addition}");
    }
    assert_eq!(objection("Cargo.toml", CARGO, &CARGO.replace("serde = \"1\"", "serde = \"1\"\nrand = \"0.9\"")), None);
    for addition in [
        "[[test]]\nname = \"a\"\ntest = false\n",
        "[lib]\ntest = false\n",
        "[profile.test]\ndebug-assertions = false\n",
        "[patch.crates-io]\nrstest = { path = \"fake\" }\n",
        "[features]\ndefault = [\"x\"]\n",
        "[workspace]\nexclude = [\"a\"]\n",
        "[profile.release]\noverflow-checks = false\n",
        "[[bin]]\nname = \"shop\"\ntest = false\n",
    ] {
        assert!(objection("Cargo.toml", CARGO, &format!("{CARGO}{addition}")).is_some(), "{addition}");
    }
    for (old, new) in [
        ("name = \"a\"\n", "name = \"a\"\nautotests = false\n"),
        ("name = \"a\"\n", "name = \"a\"\nbuild = \"evil.rs\"\n"),
        ("rstest = \"0.1\"", "rstest = { path = \"fake\" }"),
        ("serde = \"1\"", "serde = { version = \"1\", path = \"fake\" }"),
        ("[package]", "lib = { test = false }\n[package]"),
        ("rstest = \"0.1\"\n", ""),
    ] {
        assert!(objection("Cargo.toml", CARGO, &CARGO.replace(old, new)).is_some(), "{new}");
    }
}

const NPM: &str = r#"{ "name": "a", "scripts": { "test": "jest", "build": "tsc" }, "jest": { "bail": 1 }, "devDependencies": { "jest": "^29.0.0" } }"#;

#[test]
fn a_package_manifest_may_gain_dependencies_and_no_other_test_script() {
    for (old, new) in [
        (r#""name": "a","#, r#""name": "a", "dependencies": { "lodash": "^4.0.0" },"#),
        ("\"^29.0.0\"", "\"^30.0.0\""),
        (r#""build": "tsc""#, r#""build": "tsc", "lint": "eslint .""#),
        (r#""name": "a","#, r#""name": "a", "type": "module","#),
        (r#""name": "a","#, r#""name": "a", "bin": { "shop": "cli.js" },"#),
    ] {
        assert_eq!(objection("package.json", NPM, &NPM.replace(old, new)), None, "{new}");
    }
    for (old, new) in [
        (r#""test": "jest""#, r#""test": "true""#),
        (r#""build": "tsc""#, r#""build": "true""#),
        (r#""build": "tsc""#, r#""build": "tsc", "pretest": "node x.js""#),
        (r#""bail": 1"#, r#""testMatch": []"#),
        ("\"^29.0.0\"", "\"file:./fake\""),
        (r#""name": "a","#, r#""name": "a", "mocha": {},"#),
        (r#""name": "a","#, r#""name": "a", "bin": { "jest": "cli.js" },"#),
        (r#""name": "a","#, "}"),
    ] {
        assert!(objection("package.json", NPM, &NPM.replace(old, new)).is_some(), "{new}");
    }
    assert_eq!(objection("package.json", "{ broken", "{}"), None, "a manifest that could not be read is mended");
}

#[test]
fn python_and_go_manifests_are_compared() {
    let py = "[project]\nname = \"a\"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
    assert_eq!(objection("pyproject.toml", py, &py.replace("[]", "[\"attrs\"]")), None);
    assert!(objection("pyproject.toml", py, &py.replace("-q", "-q --co")).is_some());
    assert_eq!(objection("pyproject.toml", py, &format!("{py}[project.scripts]\nshop = \"a:main\"\n")), None);
    assert!(objection("pyproject.toml", py, &format!("{py}[project.scripts]\npytest = \"a:main\"\n")).is_some());
    assert!(objection("pyproject.toml", py, &format!("{py}[tool.coverage.report]\nfail_under = 0\n")).is_some());
    let ini = "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n";
    assert_eq!(objection("setup.cfg", ini, &ini.replace("name = a", "name = b")), None);
    assert!(objection("setup.cfg", ini, &ini.replace("-q", "--deselect a")).is_some());
    let go = "module a\n\ngo 1.22\n\nrequire b v1.0.0\n";
    assert_eq!(objection("go.mod", go, &go.replace("v1.0.0", "v1.1.0")), None);
    assert!(objection("go.mod", go, &format!("{go}replace b => ./fake\n")).is_some());
    assert!(objection("go.mod", go, &format!("{go}toolchain go1.99\n")).is_some());
}

#[test]
fn build_files_are_compared_where_they_speak_of_tests() {
    let make = "CC = cc\nRUN = ./run\n\nprog: a.c\n\t$(CC) a.c\n\ntest: prog\n\t$(RUN) prog\n";
    assert_eq!(objection("Makefile", make, &make.replace("$(CC) a.c", "$(CC) a.c -lm")), None);
    for (old, new) in [
        ("$(RUN) prog", "-$(RUN) prog"),
        ("RUN = ./run", "RUN = true"),
        ("CC = cc", "CC = cc\nSHELL = /bin/true"),
        ("test: prog", "test:"),
    ] {
        assert!(objection("Makefile", make, &make.replace(old, new)).is_some(), "{new}");
    }
    let far = "OPTS = -q\nRUN = ./run $(OPTS)\n\ntest: unit\n\nunit: prog\n\t$(RUN) prog\n\nprog: a.c\n\tcc a.c\n";
    assert_eq!(objection("Makefile", far, &far.replace("cc a.c", "cc a.c -lm")), None);
    for (old, new) in [("OPTS = -q", "OPTS = -q; true"), ("$(RUN) prog\n", "true\n")] {
        assert!(objection("Makefile", far, &far.replace(old, new)).is_some(), "{new}");
    }
    let cmake = "add_library(a a.c)\nenable_testing()\nadd_test(NAME t COMMAND t)\n";
    assert_eq!(objection("CMakeLists.txt", cmake, &cmake.replace("a.c", "a.c b.c")), None);
    assert!(objection("CMakeLists.txt", cmake, &cmake.replace("COMMAND t", "COMMAND true")).is_some());
    assert!(
        objection("CMakeLists.txt", cmake, &format!("{cmake}set_tests_properties(t PROPERTIES WILL_FAIL TRUE)\n"))
            .is_some()
    );
    let c = "add_executable(price_test tests/price_test.c price.c)\nadd_test(NAME a COMMAND price_test)\n";
    assert_eq!(objection("CMakeLists.txt", c, &c.replace(" price.c)", " price.c sum.c)")), None);
    assert_eq!(objection("CMakeLists.txt", c, &format!("{c}target_link_libraries(price_test m)\n")), None);
    for more in [
        "add_compile_definitions(NDEBUG)\n",
        "set(CMAKE_BUILD_TYPE Release)\n",
        "target_compile_options(price_test PRIVATE -O3)\n",
        "set_source_files_properties(tests/price_test.c PROPERTIES HEADER_FILE_ONLY ON)\n",
    ] {
        assert!(objection("CMakeLists.txt", c, &format!("{c}{more}")).is_some(), "{more}");
    }
    assert!(objection("CMakeLists.txt", c, &c.replace("tests/price_test.c price.c", "easy.c")).is_some());
    let pom = "<project><dependencies><dependency>a</dependency></dependencies><build><plugins/></build></project>";
    assert_eq!(objection("pom.xml", pom, &pom.replace(">a<", ">junit<")), None);
    assert!(objection("pom.xml", pom, &pom.replace("<plugins/>", "<plugins><skip>true</skip></plugins>")).is_some());
    let gradle = "dependencies { implementation 'a' }\ntest { useJUnitPlatform() }\n";
    assert_eq!(objection("build.gradle", gradle, &gradle.replace("'a'", "'b'")), None);
    assert!(objection("build.gradle", gradle, &format!("{gradle}test {{ ignoreFailures = true }}\n")).is_some());
    let vite = "export default { plugins: [], test: { globals: true } };\n";
    assert_eq!(objection("vite.config.ts", vite, &vite.replace("[]", "[a()]")), None);
    assert!(
        objection("vite.config.ts", vite, &vite.replace("globals: true", "globals: true, passWithNoTests: true"))
            .is_some()
    );
    for quoted in ["'test'", "\"test\"", "['test']"] {
        let vite = "export default { plugins: [] };\n";
        let more = vite.replace("[] }", &format!("[], {quoted}: {{ alias: [] }} }}"));
        assert!(objection("vite.config.ts", vite, &more).is_some(), "{more}");
    }
}

#[test]
fn what_honest_code_says_is_not_taken_for_more() {
    for (path, text) in [
        ("a.js", "const own = Object.prototype.hasOwnProperty.call(o, 'k');"),
        ("a.js", "class E extends Error { constructor() { super(); Error.captureStackTrace(this, E); } }"),
        ("a.js", "globalThis.items = []; const id = '#password';"),
        ("a.js", "reply.expect.status = 200; const it = list.next(); this.it = it;"),
        ("a.c", "if (strcmp(a, b) == 0) { puts(a); }\nif (flag) exit(1);"),
        ("a.sh", "trap 'rm -rf \"$dir\"' EXIT\nawk '{ n++ } END { print n }' log"),
        ("a.rs", "let v = Vector::new(); if should_exit() { return; }"),
        ("a.py", "def f(x):\n    'Takes what is passed in.'\n    if should_exit():\n        server.quit()\n"),
        ("a.py", "from inspect import signature\nfrom status import exit_code\n"),
        ("a.py", "tok1: str = ''\n# pass the raw sum on (it is exact)\nprint('by passing (0) on')\n"),
    ] {
        assert_eq!(objection(path, "", text), None, "{path}: {text}");
    }
}

#[test]
fn other_spellings_of_what_is_forbidden_are_found() {
    for (path, text) in [
        ("a.js", "/*\n// */ assert.strictEqual = () => {};"),
        ("a.js", "Object.assign(assert, { strictEqual() {} });"),
        ("a.js", "Array.prototype.includes = () => true;"),
        ("a.py", "import os, unittest\nsetattr(unittest.TestCase, 'assertEqual', print)\n"),
        ("a.py", "x = __import__('unittest')\n"),
        ("a.py", "from sys import path, _getframe\n"),
        ("a.py", "class A(int):\n    def __eq__(self, o):\n        return True\n"),
        ("a.rs", "if cfg!(/* */ test) { 1 } else { 2 }"),
        ("a.rs", "let t = thread::current(); t.name()"),
        ("a.c", "#define NDEBUG\n"),
        ("a.c", "__attribute__((used, constructor)) void f(void) {}"),
        ("a.pl", "END { $? = 0 }"),
        ("a.pm", "sub total { exit }"),
        ("a.c", "int strcmp(const char *a, const char *b) {\n  return a != b;\n}"),
        ("a.js", "const real = it;\nit = (name) => real(name, () => {});"),
        ("a.js", "const tested = Object.keys(process.env).some((key) => key.startsWith('NODE_TEST'));"),
        ("a.ts", "export default ({ mode }) => ({ define: { OFF: mode === 'test' } });"),
        ("a.py", "x = 'tests.test_cart' in (sys).modules"),
        ("a.rs", "use std::process as p; p::exit(i32::default())"),
        ("a.rs", "std::env::current_exe()"),
        ("a.go", "import rt \"runtime\"\n_, file, _, _ := rt.Caller(1)"),
        ("a.go", "for _, a := range os.Args { if strings.HasSuffix(a, \".test\") {} }"),
    ] {
        assert!(objection(path, "", text).is_some(), "{path}: {text}");
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
