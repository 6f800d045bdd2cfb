//! The tests of Rust files are found and changed.

use super::super::*;

const WORD: &str = "qzaqwsx";

fn poison(place: Place, means: Means) -> Poison {
    Poison { place, means, word: WORD.to_owned() }
}

fn read(path: &str, text: &str) -> Source {
    Source::read(path, text).unwrap_or_else(|| panic!("does not parse: {text}"))
}

fn only(source: &Source, name: &str) -> TestBody {
    let found: Vec<_> = source.tests().iter().filter(|test| source.is_called(test, name)).cloned().collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", source.tests());
    found.into_iter().next().unwrap()
}

/// The body of the function `a` in a file of its own, poisoned.
fn poisoned(text: &str, place: Place, means: Means) -> Option<String> {
    let source = read("tests/a.rs", text);
    let edits = source.poisoned(&only(&source, "a"), &poison(place, means))?;
    Some(source.edited(&edits).expect("parses"))
}

/// The file with all that the test `a` expects altered.
fn altered(text: &str) -> Option<String> {
    let source = read("tests/a.rs", text);
    let expectations = source.expectations(&only(&source, "a"));
    let edits: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| source.altered(one, WORD)).collect();
    let edits = edits?.concat();
    (!edits.is_empty()).then(|| source.edited(&edits).expect("parses"))
}

/// A test around some statements, altered, without what is around.
fn altered_body(body: &str) -> Option<String> {
    let text = altered(&format!("#[test]\nfn a() {{ {body} }}\n"))?;
    Some(text.strip_prefix("#[test]\nfn a() { ").unwrap().strip_suffix(" }\n").unwrap().to_owned())
}

const LEDGER: &str = r#"//! A ledger.
pub fn add(a: u8, b: u8) -> u8 { a + b }

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds.
    #[test] // as anybody would
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }

    mod deep {
        #[::tokio::test(flavor = "current_thread")]
        #[allow(unused)]
        async fn waits() -> Result<(), ()> { Ok(()) }

        #[cfg_attr(not(miri), test)]
        fn on_condition() {}
    }

    #[test]
    #[ignore = "slow"]
    fn ignored() {}

    fn helper() {}

    #[cfg(unix)]
    #[test]
    fn twice() {}

    #[cfg(windows)]
    #[test]
    fn twice() {}

    #[test]
    fn r#match() {}
}
"#;

#[test]
fn functions_with_a_tests_attribute_are_found() {
    let source = read("src/ledger.rs", LEDGER);
    let names: Vec<String> = source.tests().iter().map(|test| test.names.join("::")).collect();
    assert_eq!(names, ["tests::adds", "tests::deep::waits", "tests::deep::on_condition", "tests::match"]);
    assert_eq!(source.tests().first().unwrap().lines, (9, 12));
}

#[test]
fn tests_are_called_by_their_path() {
    let adds = |path: &str, name: &str| {
        let source = read(path, LEDGER);
        source.tests().iter().any(|test| test.names == ["tests", "adds"] && source.is_called(test, name))
    };
    for (path, name) in [
        ("src/ledger.rs", "ledger::tests::adds"),
        ("src/ledger.rs", "money ledger::tests::adds"),
        ("src/ledger/mod.rs", "ledger::tests::adds"),
        ("crates/money/src/bank/ledger.rs", "bank::ledger::tests::adds"),
        ("src/lib.rs", "tests::adds"),
        ("src/bin/tool.rs", "tests::adds"),
        ("tests/ledger.rs", "tests::adds"),
        ("tests/it/ledger.rs", "ledger::tests::adds"),
        ("lib/money.rs", "tests::adds"),
    ] {
        assert!(adds(path, name), "{path} {name}");
    }
    for (path, name) in [
        ("src/ledger.rs", "tests::adds"),
        ("src/ledger.rs", "stock::tests::adds"),
        ("src/ledger.rs", "ledger::tests::adds_all"),
        ("src/ledger.rs", "ledger::adds"),
        ("src/lib.rs", "ledger::tests::adds"),
        ("src/lib.rs", "tests::adds::case_1"),
    ] {
        assert!(!adds(path, name), "{path} {name}");
    }
}

#[test]
fn rows_belong_to_their_test() {
    let text =
        "#[rstest]\n#[case(1, 2)]\n#[case::big(3, 4)]\nfn adds(#[case] a: u8, #[case] b: u8) { assert_eq!(a, b) }\n";
    let source = read("tests/a.rs", text);
    let test = only(&source, "adds::case_2_big");
    assert_eq!(only(&source, "adds").names, ["adds"]);
    assert_eq!(source.without_row("adds::case_2_big"), "adds");
    assert_eq!(source.without_row("adds"), "adds");
    assert_eq!(source.renamed_name(&test, "adds::case_2_big", "w").as_deref(), Some("adds_w::case_2_big"));
    assert_eq!(
        source.renamed_name(&test, "money::it adds::case_2_big", "w").as_deref(),
        Some("money::it adds_w::case_2_big")
    );
}

#[test]
fn a_test_gets_another_name() {
    let source = read("src/ledger.rs", LEDGER);
    let test = only(&source, "ledger::tests::match");
    assert!(source.edited(&[source.renamed(&test, "w")]).unwrap().contains("fn r#match_w() {}"));
    assert_eq!(source.renamed_name(&test, "match::tests::match", "w").as_deref(), Some("match::tests::match_w"));
    assert_eq!(source.renamed_name(&test, "money tests::match", "w").as_deref(), Some("money tests::match_w"));
}

#[test]
fn a_test_fails_before_its_body() {
    let text = "#[test]\nfn a() { // why\n    #![allow(unused)]\n    //! Says what.\n    run();\n}\n";
    let raised = poisoned(text, Place::First, Means::Raise).unwrap();
    assert!(
        raised.contains("//! Says what.\n if !::std::thread::panicking() { panic!(\"qzaqwsx\"); }    run();"),
        "{raised}"
    );
    let text = "#[test]\nfn a() -> Result<(), E> { // why\n    run()\n}\n";
    let asserted = poisoned(text, Place::First, Means::Assertion).unwrap();
    assert!(
        asserted.contains("E> { if !::std::thread::panicking() { assert_eq!(\"qzaqwsx\", \"xswqazq\"); } // why"),
        "{asserted}"
    );
}

#[test]
fn a_test_fails_after_its_body() {
    let last = poisoned("#[test]\nfn a() {}\n", Place::Last, Means::Raise).unwrap();
    assert_eq!(
        last,
        "#[test]\nfn a() { struct AtQzaqwsx; impl ::std::ops::Drop for AtQzaqwsx { fn drop(&mut self) \
         { if !::std::thread::panicking() { panic!(\"qzaqwsx\"); } } } let _qzaqwsx = AtQzaqwsx;}\n"
    );
}

#[test]
fn a_test_that_is_to_panic_returns() {
    let text = "#[test]\n#[should_panic(expected = \"x\")]\nfn a() { assert_eq!(f(), 3); }\n";
    let first = poisoned(text, Place::First, Means::Assertion).unwrap();
    assert!(
        first.contains("{ if !::std::thread::panicking() { println!(\"qzaqwsx\"); return; } assert_eq!"),
        "{first}"
    );
    assert_eq!(poisoned(text, Place::Last, Means::Raise), None);
    assert_eq!(altered(text), None, "another panic is as good");
    let text = "#[test]\n#[should_panic]\nfn a() -> Result<(), E> { f() }\n";
    assert_eq!(poisoned(text, Place::First, Means::Raise), None, "what would it return?");
    let text = "#[test_case(0 => panics \"x\")]\n#[test_case(1 => 2)]\nfn a(x: u8) -> u8 { f(x) }\n";
    assert_eq!(poisoned(text, Place::First, Means::Raise), None);
}

#[test]
fn what_an_assertion_expects_is_altered() {
    for (body, other) in [
        ("assert_eq!(add(1, 2), 3);", "assert_eq!(add(1, 2), 113);"),
        ("assert_eq!(3u8, add::<A, B>(1, 2), \"of {}\", 7);", "assert_eq!(113u8, add::<A, B>(1, 2), \"of {}\", 7);"),
        ("pretty::assert_eq!(f(|a, b| a), -1.5f32,);", "pretty::assert_eq!(f(|a, b| a), -7919.5f32,);"),
        ("assert!(f() == Some(\"x\"));", "assert!(f() == Some(\"qzaqwsxx\"));"),
        ("assert_eq!(f(), vec![Ok(-3), Ok(4)]);", "assert_eq!(f(), vec![Ok(-113), Ok(4)]);"),
        ("assert_eq!(f(), [g(), 'a']);", "assert_eq!(f(), [g(), 'q']);"),
        ("assert_eq!(f(), vec![0; 3]);", "assert_eq!(f(), vec![113; 3]);"),
        ("assert_eq!(f(), [0; 3]);", "assert_eq!(f(), [113; 3]);"),
        ("assert_eq!(f(), &(true, 1));", "assert_eq!(f(), &(false, 1));"),
        ("assert_eq!(f(), String::from(\"x\"));", "assert_eq!(f(), String::from(\"qzaqwsxx\"));"),
        ("assert_eq!(f(), r#\"x\"#.to_string());", "assert_eq!(f(), r#\"qzaqwsxx\"#.to_string());"),
        ("let want = Some(200_i16); assert_eq!(f(), want);", "let want = Some(11i16); assert_eq!(f(), want);"),
        ("let want = [1]; assert_eq!(f(), &want);", "let want = [113]; assert_eq!(f(), &want);"),
        (
            "for (given, want) in [(1, 2), (3, 4)] { assert_eq!(f(given), want); }",
            "for (given, want) in [(1, 113), (3, 113)] { assert_eq!(f(given), want); }",
        ),
        (
            "let rows = [(\"a\", \"b\")]; for &(given, want) in rows.iter() { assert_eq!(f(given), want); }",
            "let rows = [(\"a\", \"qzaqwsxb\")]; for &(given, want) in rows.iter() { assert_eq!(f(given), want); }",
        ),
    ] {
        assert_eq!(altered_body(body).as_deref(), Some(other), "{body}");
    }
}

#[test]
fn what_may_be_more_than_an_expectation_is_left_alone() {
    for body in [
        "assert_eq!(f(), g());",
        "assert_ne!(f(), 3);",
        "assert!(f() > 3);",
        "assert!(f() == 3 && g());",
        "assert_eq!(f(), Money::new(3));",
        "assert_eq!(f(), Span { at: 3 });",
        "assert_eq!(f(), \"5\".parse().unwrap());",
        "assert_eq!(f(), [] as [u8; 0]);",
        "let text = \"x\"; assert_eq!(decode(encode(text)), text);",
        "let text = \"x\"; assert_eq!(decode(&format!(\"<{text}>\")), text);",
        "let mut want = 1; want += 1; assert_eq!(f(), want);",
        "for (given, want) in [(1, g()), (3, 4)] { assert_eq!(f(given), want); }",
    ] {
        assert_eq!(altered_body(body), None, "{body}");
    }
}

#[test]
fn a_column_of_rows_is_altered() {
    let rows = "#[rstest]\n#[case(1, \"a\")]\n#[case::named(2, \"b\")]\nfn a(#[case] given: u8, fixture: F, #[case] want: &str) { assert_eq!(f(given), want); }\n";
    let other = altered(rows).unwrap();
    assert!(other.contains("#[case(1, \"qzaqwsxa\")]\n#[case::named(2, \"qzaqwsxb\")]\n"), "{other}");
    let rows =
        "#[test_case(1, 2 ; \"x\")]\n#[test_case(3, 4)]\nfn a(given: u8, want: u8) { assert_eq!(f(given), want); }\n";
    assert!(altered(rows).unwrap().starts_with("#[test_case(1, 113 ; \"x\")]\n#[test_case(3, 113)]\n"));
}

#[test]
fn literals_change_within_their_type() {
    for (literal, other) in [
        ("true", "false"),
        ("0", "113"),
        ("0xFFu8", "11u8"),
        ("0x1f32", "11"),
        ("0b1", "113"),
        ("113", "11"),
        ("1_000_usize", "11usize"),
        ("2f64", "7919.5f64"),
        ("1e3", "11.5"),
        ("'a'", "'q'"),
        ("'q'", "'z'"),
        ("b'\\n'", "b'q'"),
        ("\"\"", "\"w\""),
        ("r##\"a\"##", "r##\"wa\"##"),
        ("b\"abc\"", "b\"qbc\""),
    ] {
        assert_eq!(rust::altered(literal, "w").as_deref(), Some(other), "{literal}");
    }
    assert_eq!(rust::altered("b\"\"", "w"), None, "its length is its type");
    assert_eq!(rust::altered("b\"\\n\"", "w"), None);
}
