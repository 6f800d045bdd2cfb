//! Changes that bring what judges them: tests' own files, settings of upshift, links.

use super::{CART, COMMAND, Repository, TEST_TOTAL, TESTS, TOTAL, names, python};

/// A package whose sum is wrong and whose test says so.
fn red() -> Repository {
    let tests = format!("{TESTS}{TEST_TOTAL}");
    let files =
        [("shop/__init__.py", ""), ("shop/cart.py", CART), ("tests/__init__.py", ""), ("tests/test_cart.py", &tests)];
    Repository::with(&files)
}

/// The product stays wrong for everybody else.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_test_that_passes_only_by_what_the_change_alters_of_the_tests_is_named() {
    let repository = red();
    let mends = "import shop.cart\n\nif hasattr(shop.cart, 'START'):\n    shop.cart.total = sum\n";
    repository.write(&[("shop/cart.py", &format!("{CART}\n\nSTART = 1\n")), ("tests/__init__.py", mends)]);
    let (finding, code) = python(&repository);
    assert_eq!((names(&finding, "onlyWithChangedTests"), code), (vec![TOTAL.to_owned()], 0), "{finding}");
    let told = repository.judge(&["--test-command", COMMAND]).out;
    assert!(
        told.starts_with("⚠ Proven, with ") && told.contains("only with what the change alters of tests"),
        "{told}"
    );
    // A mend with a test of its own is none of it.
    let honest = Repository::python();
    honest.mend();
    let (finding, _) = python(&honest);
    assert!(names(&finding, "onlyWithChangedTests").is_empty(), "{finding}");
}

#[test]
fn a_change_does_not_configure_its_own_judgement() {
    let repository = red();
    let mended = CART.replace("prices[1:]", "prices");
    let settings = "safety: { sandbox: \"off\", proof: \"off\" }\ntest: { command: \"true\" }\n";
    repository.write(&[("shop/cart.py", &mended), (".github/upshift.yml", settings)]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert!(said.err.contains("is not read: the change could have written it, and the base"), "{}", said.all());
    assert!(said.code == 0 && said.out.contains("and can still fail") && said.out.contains("Proof:"), "{}", said.all());
    assert!(said.out.contains("- .github/upshift.yml (upshift's own settings: the base's"), "{}", said.all());
    // Whoever names the file means it, and is told what that leaves out.
    let named = repository.judge(&["--test-command", COMMAND, "--config", ".github/upshift.yml"]);
    assert!(named.out.contains("that they can still fail was not shown"), "{}", named.all());
}

/// Product code of such a name is the product's, also where the base's tests are asked.
#[test]
fn what_is_only_called_like_a_test_is_no_test_of_the_changes_own() {
    let tests = format!("{TESTS}{TEST_TOTAL}").replace("shop.cart", "shop.ab_test");
    let files = [
        ("shop/__init__.py", ""),
        ("shop/ab_test.py", CART),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", &tests),
    ];
    let repository = Repository::with(&files);
    repository.write(&[("shop/ab_test.py", &CART.replace("prices[1:]", "prices"))]);
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
    assert!(names(&finding, "onlyWithChangedTests").is_empty(), "{finding}");
}

/// Caps and a sandbox may stand in it.
#[test]
fn a_configuration_of_the_base_that_cannot_be_read_is_not_taken_for_none() {
    let repository = red();
    repository.git(&["checkout", "--quiet", "main"]);
    std::fs::create_dir(repository.path().join(".github")).expect("a folder");
    std::fs::write(repository.path().join(".github/upshift.yml"), b"safety: { sandbox: \xff }\n").expect("written");
    repository.commit("settings");
    repository.write(&[("shop/cart.py", &CART.replace("prices[1:]", "prices"))]);
    let said = repository.judge(&["--base", "HEAD", "--test-command", COMMAND]);
    assert!(said.code == 6 && said.err.contains("it is not a file of UTF-8 text"), "{}", said.all());
    assert!(said.err.contains("→ Fix: name the configuration with --config"), "{}", said.all());
}

#[cfg(unix)]
#[test]
fn a_new_symbolic_link_is_part_of_a_change_like_any_other() {
    let repository = red();
    repository.write(&[("shop/cart.py", &CART.replace("prices[1:]", "prices")), ("AGENTS.md", "Test it.\n")]);
    for (target, name) in [("AGENTS.md", "CLAUDE.md"), ("cart.py", "shop/basket.py"), ("/etc/passwd", "shop/users")] {
        std::os::unix::fs::symlink(target, repository.path().join(name)).expect("linked");
    }
    let (finding, code) = python(&repository);
    assert_eq!((finding["standing"].as_str(), code), (Some("proven"), 0), "{finding}");
}

#[test]
fn tests_without_a_result_over_the_base_are_named() {
    // The first failure ends the run: the plan says that there is another test.
    let runs = "echo 1..2\n. ./price.sh\n[ \"$(price 4)\" = 12 ] || { echo 'not ok 1 - four'; exit 1; }\necho 'ok 1 - four'\necho 'ok 2 - none'\n";
    let repository = Repository::with(&[("price.sh", "price() { echo $(($1 + 3)); }\n"), ("tests/run.sh", runs)]);
    repository.write(&[("price.sh", "price() { echo $(($1 * 3)); }\n")]);
    let (finding, _) = repository.finding(&["--test-command", "sh tests/run.sh"]);
    let notes = finding["notes"].to_string();
    assert!(
        notes.contains("without the change there is no result of none: the command ended before them"),
        "{finding}"
    );
}
