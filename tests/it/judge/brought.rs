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
    // Whoever names the file means it, and is told what that leaves out.
    let named = repository.judge(&["--test-command", COMMAND, "--config", ".github/upshift.yml"]);
    assert!(named.out.contains("that they can still fail was not shown"), "{}", named.all());
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
