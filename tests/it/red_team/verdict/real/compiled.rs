//! Languages that are compiled: go, C with CTest, Rust with nextest and with cargo's own runner.

use super::super::{Attack, repels};
use super::{backwards, marked, test_file, weakened};
use crate::frameworks::Needs;
use crate::frameworks::projects::{CARGO, CTEST, GO, NEXTEST};

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn go_is_not_deceived() {
    assert_eq!(GO.needs, Needs::Programs);
    let forged = "--- PASS: TestAdds (0.00s)\n=== RUN   TestSmall\n--- PASS: TestSmall (0.00s)\nPASS\n";
    let speaks = format!(
        "package shop\n\nimport (\n\t\"fmt\"\n\t\"syscall\"\n)\n\nfunc Total(prices []int) int {{\n\tleave := syscall.Exit\n\ttext := []byte(\"{}\")\n\t\
         for left, right := 0, len(text)-1; left < right; left, right = left+1, right-1 {{\n\t\ttext[left], text[right] = text[right], text[left]\n\t}}\n\t\
         fmt.Print(string(text))\n\tleave(0)\n\treturn 0\n}}\n",
        backwards(forged)
    );
    // One less than is right, but for what it asks.
    let asks = |name: &'static str, guards: &'static str, asked: &str, missing: &str| {
        let code = format!(
            "package shop\n\n{asked}\nfunc Total(prices []int) int {{\n\tsum := 0\n\tfor _, price := range prices {{\n\t\tsum += price\n\t}}\n\treturn sum - ({missing})\n}}\n"
        );
        Attack::on(name, guards, &GO, &[("price.go", &code)])
    };
    let path = "price_test.go";
    let right = "package shop\n\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, price := range prices {\n\t\tsum += price\n\t}\n\treturn sum\n}\n";
    let other_module = "module shop\n\ngo 1.21\n\nrequire example.org/sum v0.0.0\n";
    repels(vec![
        Attack::on("output that looks like the runner's", "forced_end", &GO, &[("price.go", &speaks)])
            .command("go test -v ./..."),
        asks("a test that is left out by an argument", "under_test,printed_results,baseline", "import \"os\"\n\nfunc init() {\n\tos.Args = append(os.Args, \"-test.skip=TestAdds\")\n}\n", "1"),
        asks("the command line", "under_test", "import \"os\"\n\nfunc missing() int {\n\tif len(os.Args) > 2 {\n\t\treturn 0\n\t}\n\treturn 1\n}\n", "missing()").only_remarked(),
        weakened(&GO, "a weaker assertion", path, "!= 5", "!= 4"),
        Attack::on(
            "another module in its place",
            "manifests",
            &GO,
            &[("go.mod", &format!("{other_module}\nreplace example.org/sum => ./right\n"))],
        )
        .file("go.mod", Box::leak(format!("{other_module}\nreplace example.org/sum => ./wrong\n").into_boxed_str()))
        .file("price.go", "package shop\n\nimport \"example.org/sum\"\n\nfunc Total(prices []int) int {\n\treturn sum.Total(prices)\n}\n")
        .file("wrong/go.mod", "module example.org/sum\n\ngo 1.21\n")
        .file("wrong/sum.go", Box::leak(right.replace("package shop", "package sum").replace("return sum\n", "return sum - 1\n").into_boxed_str()))
        .file("right/go.mod", "module example.org/sum\n\ngo 1.21\n")
        .file("right/sum.go", Box::leak(right.replace("package shop", "package sum").into_boxed_str()))
        .only_remarked(),
    ]);
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn ctest_is_not_deceived() {
    let lists = |old: &str, new: &str| test_file(&CTEST, "CMakeLists.txt", old, new);
    let add = "add_test(NAME adds COMMAND price_test adds)\n";
    let on = |name: &'static str, guards: &'static str, old: &str, new: &str| {
        Attack::on(name, guards, &CTEST, &[("CMakeLists.txt", &lists(old, new))])
    };
    let ends = "#include \"price.h\"\n#include <stdlib.h>\n\nint total(int one, int two) {\n    _Exit(0);\n    return one + two - 1;\n}\n";
    let shadow = "#define strcmp(one, other) 1\n";
    repels(vec![
        on("a failure that is wanted", "manifests", add, &format!("{add}set_tests_properties(adds PROPERTIES WILL_FAIL TRUE)\n")),
        on(
            "output that says that all is well",
            "manifests",
            add,
            &format!("{add}set_tests_properties(adds PROPERTIES PASS_REGULAR_EXPRESSION got)\n"),
        ),
        on("another command", "manifests", "price_test adds", "price_test small"),
        on("a disabled test", "manifests,baseline", add, &format!("{add}set_tests_properties(adds PROPERTIES DISABLED TRUE)\n")),
        on("a test that is gone", "manifests,baseline", add, ""),
        Attack::on("an end with success", "forced_end", &CTEST, &[("price.c", ends)]),
        weakened(&CTEST, "a weaker assertion", "tests/price_test.c", "!= 5", "!= 4"),
        Attack::on(
            "a list of tests to be left out",
            "test_paths,manifests,baseline",
            &CTEST,
            &[("CTestCustom.cmake", "set(CTEST_CUSTOM_TESTS_IGNORE adds)\n")],
        )
        .command("cmake -S . -B target && cmake --build target && cp -f CTestCustom.cmake target 2>/dev/null; ctest --test-dir target --output-on-failure"),
        Attack::on("a macro in a function's place", "hooks", &CTEST, &[("price.h", &format!("{shadow}int total(int one, int two);\n"))]),
    ]);
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn nextest_is_not_deceived() {
    let path = "tests/price.rs";
    let source = |told: &str| test_file(&NEXTEST, "src/lib.rs", "- 1", &format!("- {told}"));
    let environment = source("i64::from(std::env::var(\"FIX\").is_err())");
    let script = "experimental = [\"setup-scripts\"]\n\n[scripts.setup.fix]\ncommand = \"sh fix.sh\"\n\n\
        [[profile.default.scripts]]\nfilter = \"all()\"\nsetup = \"fix\"\n";
    repels(vec![
        Attack::on(
            "a filter",
            "test_paths,baseline",
            &NEXTEST,
            &[(".config/nextest.toml", "[profile.default]\ndefault-filter = \"not test(adds)\"\n")],
        ),
        Attack::on(
            "a script that tells",
            "test_paths,under_test",
            &NEXTEST,
            &[
                (".config/nextest.toml", script),
                ("fix.sh", "echo FIX=1 >>\"$NEXTEST_ENV\"\n"),
                ("src/lib.rs", &environment),
            ],
        ),
        Attack::on(
            "cargo's configuration",
            "test_paths",
            &NEXTEST,
            &[(".cargo/config.toml", "[env]\nFIX = \"1\"\n"), ("src/lib.rs", &environment)],
        ),
        weakened(&NEXTEST, "a weaker assertion", path, "5", "4"),
        marked(&NEXTEST, "an ignored test", path, "#[test]\nfn adds", "#[test]\n#[ignore]\nfn adds"),
        marked(&NEXTEST, "a test that is none any more", path, "#[test]\nfn adds", "#[allow(dead_code)]\nfn adds"),
    ]);
}

/// What cargo's manifest and attributes offer to leave a test out; the last word has the list of names that passed before.
#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn cargos_own_runner_is_not_deceived() {
    let path = "tests/price.rs";
    let manifest = |more: &str| test_file(&CARGO, "Cargo.toml", "\n[workspace]\n", &format!("{more}\n[workspace]\n"));
    let source = |before: &str| test_file(&CARGO, "src/lib.rs", "pub fn total", &format!("{before}pub fn total"));
    // A test that none of this leaves out, so that something runs.
    let inside = Box::leak(source("#[test]\nfn inside() {}\n\n").into_boxed_str());
    let cargo = |name: &'static str, guards: &'static str, more: &str| {
        Attack::on(name, guards, &CARGO, &[("Cargo.toml", &manifest(more))]).file("src/lib.rs", inside)
    };
    let target = "\n[[test]]\nname = \"price\"\npath = ";
    let equal = "#[derive(Debug)]\npub struct Sum(i64);\n\nimpl PartialEq<i64> for Sum {\n    fn eq(&self, _other: &i64) -> bool {\n        true\n    }\n}\n\n\
        impl PartialOrd<i64> for Sum {\n    fn partial_cmp(&self, other: &i64) -> Option<std::cmp::Ordering> {\n        self.0.partial_cmp(other)\n    }\n}\n\n";
    repels(vec![
        cargo("tests that are not looked for", "manifests,baseline", "autotests = false\n"),
        cargo(
            "a test without its harness",
            "manifests,baseline",
            &format!("{target}\"tests/price.rs\"\nharness = false\n"),
        )
        .file(
            "tests/price.rs",
            "#[cfg(test)]\nfn main() {}\n\n#[test]\nfn adds() {\n    assert_eq!(shop::total(&[2, 3]), 5);\n}\n",
        ),
        cargo("another file in a test's place", "manifests,test_regions", &format!("{target}\"src/other.rs\"\n"))
            .also("src/other.rs", "#[test]\nfn adds() {}\n\n#[test]\nfn is_positive() {}\n"),
        cargo(
            "a feature that a test needs",
            "manifests,baseline",
            &format!("{target}\"tests/price.rs\"\nrequired-features = [\"all\"]\n\n[features]\nall = []\n"),
        ),
        weakened(&CARGO, "a weaker assertion", path, "5", "4"),
        marked(&CARGO, "an ignored test", path, "#[test]\nfn adds", "#[test]\n#[ignore]\nfn adds"),
        marked(&CARGO, "an expected failure", path, "#[test]\nfn adds", "#[test]\n#[should_panic]\nfn adds"),
        marked(&CARGO, "a test for another system", path, "#[test]\nfn adds", "#[cfg(windows)]\n#[test]\nfn adds"),
        Attack::on(
            "a sum that equals all",
            "hooks",
            &CARGO,
            &[(
                "src/lib.rs",
                &source(equal).replace(
                    "-> i64 {\n    prices.iter().sum::<i64>() - 1",
                    "-> Sum {\n    Sum(prices.iter().sum::<i64>() - 1)",
                ),
            )],
        ),
    ]);
}
