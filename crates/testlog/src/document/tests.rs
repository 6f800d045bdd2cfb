use super::texts::LONGEST_TEXT;
use super::*;

/// The parts of the documents in these lines.
fn parts(lines: &[&str]) -> Vec<String> {
    let mut document = JsonDocument::new(&["tests", "cases"]);
    let mut seen = Vec::new();
    for line in lines {
        document.line(line, &mut |part| match part {
            Part::Begin | Part::LeftOut(_) => {}
            Part::Element(name, text, _) => seen.push(format!("{name} {text}")),
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

#[test]
fn what_an_object_has_too_much_of_costs_only_that() {
    let members: Vec<String> =
        (0..200_000).map(|at| format!("\"k{at}\":\"0123456789 0123456789 0123456789\"")).collect();
    let many = members.join(",");
    assert!(many.len() > 8 * 1024 * 1024);
    let line = format!(
        r#"{{"a":1,{many},"tests":[{{"name":"x",{many},"cases":["y"],"z":1}},{{"name":"b"}},[{many_list}]],"end":2}}"#,
        many_list = "1,".repeat(LONGEST_VALUE) + "1"
    );
    let mut document = JsonDocument::new(&["tests", "cases"]);
    let mut seen = Vec::new();
    document.line(&line, &mut |part| match part {
        Part::Begin => {}
        Part::LeftOut(name) => seen.push(("left out", name.to_owned())),
        Part::Element(name, text, _) => seen.push((name, text.to_owned())),
        Part::Whole(text) => seen.push(("whole", text.to_owned())),
    });
    let names: Vec<&str> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["cases", "left out", "tests", "tests", "left out", "tests", "whole"]);
    assert_eq!(seen[0].1, "\"y\"");
    assert_eq!(seen[3].1, r#"{"name":"b"}"#);
    assert_eq!(seen[5].1, "null");
    assert_eq!(seen[2].1.get(..11), Some("{\"name\":\"x\""));
    for at in [2, 6] {
        let text = &seen[at].1;
        assert!(text.len().abs_diff(LONGEST_OBJECT) < 1024, "{at}: {}", text.len());
        let object: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(object.get("k0").and_then(|value| value.as_str()), Some("0123456789 0123456789 0123456789"));
        assert!(object.get("end").is_none() && object.get("z").is_none());
    }
}
