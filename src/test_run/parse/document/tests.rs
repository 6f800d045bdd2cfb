use super::*;

/// The parts of the documents in these lines.
fn parts(lines: &[&str]) -> Vec<String> {
    let mut document = JsonDocument::new(&["tests", "cases"]);
    let mut seen = Vec::new();
    for line in lines {
        document.line(line, &mut |part| match part {
            Part::Begin => {}
            Part::Element(name, text) => seen.push(format!("{name} {text}")),
            Part::Whole(text) => seen.push(text.to_owned()),
        });
    }
    seen
}

#[test]
fn elements_of_named_lists_come_one_at_a_time_and_the_rest_at_last() {
    let line =
        r#"{"a":[1,{"tests":[2]}],"tests":[{"name":"x","cases":[{"b":"c"},3],"at":null},"y"],"end":{"cases":[4]}}"#;
    let expected = [
        r#"cases {"b":"c"}"#,
        "cases 3",
        r#"tests {"name":"x","cases":[],"at":null}"#,
        r#"tests "y""#,
        r#"{"a":[1,{"tests":[2]}],"tests":[],"end":{"cases":[4]}}"#,
    ];
    assert_eq!(parts(&[line]), expected);
    let pretty = [
        "{",
        "  \"a\": [1, {\"tests\": [2]}],",
        "  \"tests\": [",
        "    {\"name\": \"x\",",
        "     \"cases\": [{\"b\": \"c\"}, 3], \"at\": null},",
        "    \"y\"",
        "  ],",
        "  \"end\": {\"cases\": [4]}",
        "}",
    ];
    assert_eq!(parts(&pretty), expected);
}

#[test]
fn a_line_in_pieces_is_one_document_and_escapes_may_be_torn() {
    let text = "x".repeat(PIECE);
    let line = format!(r#"{{"pad":"{text}","tests":["a\u00e9\"b\\"],"more":"{text}"}}"#);
    let whole = parts(&[&line]);
    assert_eq!(whole.first().map(String::as_str), Some(r#"tests "a\u00e9\"b\\""#));
    for cut in PIECE + 8..PIECE + 40 {
        let (first, second) = line.split_at(cut);
        assert_eq!(parts(&[first, second]), whole, "{cut}");
    }
}

#[test]
fn long_texts_are_cut_and_long_values_left_out_and_both_stay_json() {
    let text = "\\ud83d\\ude00é".repeat(LONGEST_TEXT);
    for shift in 0..14 {
        let pad = "y".repeat(shift);
        let line = format!(r#"{{"tests":[{{"m":"{pad}{text}"}}]}}"#);
        let seen = parts(&[&line]);
        let element: serde_json::Value = serde_json::from_str(seen[0].strip_prefix("tests ").unwrap()).unwrap();
        assert!(element["m"].as_str().unwrap().starts_with(&format!("{pad}😀é😀")));
        assert!(seen[0].len() < LONGEST_TEXT + 64, "{}", seen[0].len());
    }
    let coverage = vec!["{\"a\":[1,2,3]}"; LONGEST_VALUE / 4].join(",");
    let line = format!(
        r#"{{"coverage":{{"x":[{coverage}]}},"tests":[{{"big":[{coverage}],"n":1}},5],"b":[{coverage}],"c":2}}"#
    );
    assert_eq!(
        parts(&[&line]),
        [r#"tests {"big":null,"n":1}"#, "tests 5", r#"{"coverage":null,"tests":[],"b":null,"c":2}"#]
    );
}

#[test]
fn what_is_no_json_is_left_to_others_at_once() {
    let mut document = JsonDocument::new(&["tests"]);
    let mut ignore = |_: Part<'_>| {};
    for line in ["{ a: 1 }", "{\"a\" is}", "{\"a\":1", "{\"a\":[}", "text", "{\"a\":\"b"] {
        assert!(!document.line(line, &mut ignore) && !document.is_open(), "{line}");
    }
    assert!(document.line("{", &mut ignore));
    assert!(!document.line("  console.log(1)", &mut ignore) && !document.is_open());
    assert!(document.line("{", &mut ignore) && document.line("\"a\": \"b\",", &mut ignore));
    assert!(!document.line("}}", &mut ignore) || !document.is_open());
    let deep = format!("{{\"a\":{}", "[".repeat(1_000));
    assert!(!document.line(&deep, &mut ignore) && !document.is_open());
}
