use super::*;

fn read(text: &str) -> Findings {
    let mut junit = Junit::new(&Budget::new(1 << 20));
    for line in text.lines() {
        assert!(junit.wants(line), "{line}");
    }
    junit.finish().unwrap()
}

#[test]
fn a_document_on_one_line_and_one_over_many_read_alike() {
    let text = "<testsuites>\n<testsuite name=\"a\">\n<testcase name=\"x &amp; y\" classname=\"c\">\
                <failure message=\"boom\">at src/a.rs:3</failure></testcase>\n<testcase name=\"z\"/>\n</testsuite>\n</testsuites>";
    for text in [text.to_owned(), text.replace('\n', "")] {
        let found = read(&text);
        assert!(found.finished);
        assert_eq!((found.counts.total, found.counts.passed, found.counts.failed), (Some(2), Some(1), Some(1)));
        assert_eq!(found.tests[0].name, "x & y");
        assert_eq!(found.tests[0].message, "boom\nat src/a.rs:3");
        assert_eq!((found.tests[0].file.as_deref(), found.tests[0].line), (Some("src/a.rs"), Some(3)));
    }
}

#[test]
fn markup_in_cdata_ends_nothing() {
    let found = read(
        "<testsuite name=\"s\">\n<testcase name=\"a\"><failure><![CDATA[\n</testcase></testsuite>\n]]></failure></testcase>\n<testcase name=\"b\"/>\n</testsuite>",
    );
    assert!(found.finished);
    assert_eq!(found.counts.total, Some(2));
    assert_eq!(found.tests[0].message, "</testcase></testsuite>");
}

#[test]
fn half_a_document_proves_nothing() {
    let found = read(
        "<testsuites>\n<testsuite name=\"s\">\n<testcase name=\"a\"><failure>boom</failure></testcase>\n<testcase name=\"b\"",
    );
    assert!(!found.finished);
    assert!(found.tests.is_empty());
    assert!(found.problems.iter().any(|problem| problem.message.contains("boom")));
}

#[test]
fn passing_cases_are_told_from_failing_ones_whatever_they_printed() {
    let found = read(
        "<testsuite name=\"s\">\n<testcase name=\"a\" time=\"1\"/>\n<testcase name=\"b\"><system-out>\nsaid &lt;failure&gt;\n\
         </system-out></testcase>\n<testcase name=\"c\"><system-err><![CDATA[<failure></testcase>]]></system-err></testcase>\n\
         <testcase name=\"d\"><system-out>x</system-out><failure message=\"boom\"/></testcase>\n\
         <testcase name=\"e\" status=\"notrun\"></testcase>\n<testcase name=\"f\"><skipped/></testcase>\n</testsuite>",
    );
    let seen: Vec<(&str, TestStatus)> = found.tests.iter().map(|test| (test.name.as_str(), test.status)).collect();
    let (passed, skipped) = (TestStatus::Passed, TestStatus::Skipped);
    let failed = TestStatus::Failed;
    assert_eq!(seen, [("a", passed), ("b", passed), ("c", passed), ("d", failed), ("e", skipped), ("f", skipped)]);
    assert!(found.finished);
}

#[test]
fn errors_beside_the_test_cases_are_the_suites() {
    let error = "<error message=\"db down\">a_spec.lua:8: db down\n</error>";
    let alone = read(&format!("<testsuite name=\"s\">\n<testcase name=\"a\"/>{error}\n</testsuite>"));
    assert_eq!((alone.counts.total, alone.counts.errors, alone.status), (Some(1), Some(1), Some(RunStatus::Error)));
    assert_eq!((alone.problems[0].message.as_str(), alone.problems[0].line), ("a_spec.lua:8: db down", Some(8)));
    let failing = "<testcase name=\"b\"><failure>no</failure></testcase>";
    let both = read(&format!("<testsuite name=\"s\">\n{failing}\n{error}\n</testsuite>"));
    assert_eq!((both.counts.failed, both.counts.errors, both.status), (Some(1), Some(1), None));
}
