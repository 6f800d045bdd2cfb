use proptest::prelude::*;

use super::super::{PIECE, Part};
use super::*;

/// The members whose texts are handed on.
const WANTED: [&str; 2] = ["name", "status"];

/// How a line is given to the collector.
#[derive(Clone, Copy)]
enum Way {
    AsItIs,
    /// A carriage return outside of texts is nothing to the slow way and ends the express lane: with one behind each mark
    /// of the grammar, all goes the slow way. It must not stand where a document is told from other lines.
    Slow,
}

impl Way {
    fn line(self, line: &str, text: &mut Text) -> String {
        let begins = line == "{" || line.starts_with("{\"");
        let mut given = String::with_capacity(2 * line.len());
        for (at, character) in line.char_indices() {
            given.push(character);
            let is_mark = text.step(character) && "{}[],:".contains(character);
            if matches!(self, Self::Slow) && is_mark && (at > 0 || !begins) {
                given.push('\r');
            }
        }
        given
    }
}

/// Tells what stands in texts.
#[derive(Default)]
struct Text {
    inside: bool,
    escaped: bool,
}

impl Text {
    /// Whether the character stands outside of texts and is no quote.
    fn step(&mut self, character: char) -> bool {
        if self.escaped {
            self.escaped = false;
        } else if character == '"' {
            self.inside = !self.inside;
            return false;
        } else {
            self.escaped = self.inside && character == '\\';
        }
        !self.inside
    }
}

/// The collector's answers to the lines: the parts that are handed on, and its verdict on each line.
fn parts(lines: &[String], way: Way) -> Vec<String> {
    let mut document = JsonDocument::new(&["tests", "cases"]).with_texts(WANTED);
    let mut seen = Vec::new();
    let mut text = Text::default();
    for line in lines {
        if !document.is_open() {
            text = Text::default();
        }
        let is_taken = document.line(&way.line(line, &mut text), &mut |part| {
            seen.push(match part {
                Part::Begin => "begin".to_owned(),
                Part::LeftOut(name) => format!("left out {name}"),
                Part::Element(name, text, texts) => {
                    // The slow way has none; where there are some, they are what the whole element says.
                    assert!(texts.is_none() || texts == plain_texts(text, WANTED), "{texts:?} {text}");
                    format!("{name} {text}")
                }
                Part::Whole(text) => format!("whole {text}"),
            });
        });
        seen.push(format!("{is_taken} {}", document.is_open()));
    }
    seen
}

fn is_equal(lines: &[String]) {
    let (fast, slow) = (parts(lines, Way::AsItIs), parts(lines, Way::Slow));
    let differs = fast.iter().zip(&slow).position(|(fast, slow)| fast != slow);
    let shown =
        |parts: &[String]| differs.and_then(|at| parts.get(at)).map(|part| part.chars().take(300).collect::<String>());
    assert!(fast == slow, "{:?}\n{:?}", shown(&fast), shown(&slow));
}

/// Texts and keys, some named like lists, some with escapes, good and bad, some of about the longest length.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        24 => prop::sample::select(&["\"tests\"", "\"cases\"", "\"name\"", "\"status\"", "\"\"", "\"a long text of a test that says what it does\""][..])
            .prop_map(str::to_owned),
        12 => prop::sample::select(&[r#""a\"b""#, r#""\\""#, r#""\u00e9é\n""#, r#""\u12""#, r#""te\u0073ts""#, r#""{[,:]}é😀""#][..])
            .prop_map(str::to_owned),
        1 => (LONGEST_TEXT - 4..LONGEST_TEXT + 4, any::<bool>()).prop_map(|(length, is_escaped)| {
            format!("\"{}{}\"", "x".repeat(length - 2), if is_escaped { "\\n" } else { "yz" })
        }),
    ]
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        2 => prop::sample::select(&["1", "-2.5e3", "true", "null", "1 2", "truex", "#"][..]).prop_map(str::to_owned),
        2 => text(),
    ];
    leaf.prop_recursive(8, 60, 5, |inner| {
        let comma = || prop::sample::select(&[",", ",", ",", ", ", " ,\t", ",,"][..]);
        let colon = prop::sample::select(&[":", ":", ":", ": ", " "][..]);
        let list = (prop::collection::vec(inner.clone(), 0..4), comma())
            .prop_map(|(values, comma)| format!("[{}]", values.join(comma)));
        let member = (text(), colon, prop_oneof![inner, list.clone()]);
        let object = (prop::collection::vec(member, 0..5), comma()).prop_map(|(members, comma)| {
            let members: Vec<String> =
                members.into_iter().map(|(key, colon, value)| format!("{key}{colon}{value}")).collect();
            format!("{{{}}}", members.join(comma))
        });
        prop_oneof![1 => list, 2 => object]
    })
}

/// Puts ends of lines, and breaks, at these places, which are parts of 1000.
fn cut(document: &str, cuts: &[usize], broken: Option<(usize, char)>) -> Vec<String> {
    let place = |part: usize| document.floor_char_boundary(document.len() * part / 1000);
    let mut document = document.to_owned();
    if let Some((part, character)) = broken {
        let at = place(part);
        document.replace_range(at..document.ceil_char_boundary(at + 1), &character.to_string());
    }
    let mut places: Vec<usize> =
        cuts.iter().map(|part| document.floor_char_boundary(document.len() * part / 1000)).collect();
    places.extend([0, document.len()]);
    places.sort_unstable();
    places.windows(2).filter_map(|pair| document.get(pair[0]..pair[1])).map(str::to_owned).collect()
}

fn breaks() -> impl Strategy<Value = Option<(usize, char)>> {
    prop::option::weighted(
        0.4,
        (0_usize..1000, prop::sample::select(vec!['"', '\\', '{', '}', '[', ']', ',', ':', 'x', ' '])),
    )
}

proptest! {
    #[test]
    fn the_express_lane_hands_on_what_the_slow_way_does(
        elements in prop::collection::vec(json(), 0..5),
        rest in json(),
        cuts in prop::collection::vec(0_usize..1000, 0..3),
        broken in breaks(),
        is_open in any::<bool>(),
    ) {
        let elements = elements.join(",");
        let document = format!("{{\"a\":{rest},\"tests\":[{elements}],\"b\":[{{\"tests\":[{elements}]}}],\"cases\":[{rest}],\"c\":{rest}}}");
        let mut lines = cut(&document, &cuts, broken);
        if is_open && lines.iter().all(|line| !line.is_empty()) {
            lines[0].remove(0);
            lines.insert(0, "{".to_owned());
        }
        is_equal(&lines);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_document_in_pieces_is_the_same_by_both_ways(
        elements in prop::collection::vec(json(), 1..5),
        at in 0_usize..1000,
        broken in breaks(),
    ) {
        let elements = elements.join(",");
        let end = format!("\"tests\":[{{\"cases\":[{elements}],\"d\":1}},{elements}],\"c\":2}}");
        let mut lines = cut(&end, &[at], broken);
        lines[0].insert_str(0, &format!("{{\"pad\":\"{}\",", "x".repeat(PIECE)));
        is_equal(&lines);
    }
}

#[test]
fn what_is_too_long_is_left_out_by_both_ways() {
    let member = |at: usize| format!("\"k{at:05}\":[1,2,{{\"x\":\"é\"}}]");
    let length = member(0).len() + 1;
    let members = |count: usize| (0..count).map(member).collect::<Vec<_>>().join(",");
    let (value, object) = (LONGEST_VALUE / length, LONGEST_OBJECT / length);
    let both_ways = |count: usize, shapes: &[&str]| {
        let many = members(count);
        for shape in shapes {
            is_equal(&[shape.replace('…', &many)]);
        }
    };
    for count in [value - 2, value + 2] {
        both_ways(
            count,
            &[
                r#"{"tests":[{…},{"cases":[{…},[{…}]],"d":1},1],"b":{…},"c":2}"#,
                r#"{"tests":[{"v":{…},"z":1},{}{…}],"end":[{…}]}"#,
            ],
        );
    }
    for count in [object - 2, object + 2] {
        both_ways(count, &[r#"{"tests":[{"cases":[1],…},1],"c":2}"#, r#"{…,"tests":[{},1],"end":3}"#]);
    }
}

#[test]
fn texts_are_handed_on_of_elements_that_are_nothing_more() {
    let plain = r#"{"name":"a b","status":"passed"}"#;
    let texts = |element: &str| {
        let mut found = Vec::new();
        JsonDocument::new(&["tests"]).with_texts(WANTED).line(
            &format!("{{\"tests\":[{element}],\"b\":1}}"),
            &mut |part| {
                if let Part::Element(_, _, texts) = part {
                    found.push(texts.is_some());
                }
            },
        );
        found
    };
    assert_eq!(texts(plain), [true]);
    assert_eq!(texts(&format!("{plain},{{}},{plain}")), [true, false, true]);
    for more in
        [format!("{plain}x"), format!("1{plain}"), format!("{plain}{plain}"), format!("[{plain}]"), format!("{plain} ")]
    {
        assert!(!texts(&more).contains(&true), "{more}");
    }
}

#[test]
fn texts_are_given_plain_or_not_at_all() {
    let of = |object| plain_texts(object, WANTED);
    let found = Some(["a b", "passed"]);
    assert_eq!(of(r#"{"name":"a b","n":[{"status":"x"},{}],"status":"passed"}"#), found);
    assert_eq!(of(r#"{"status":"passed","o":{"name":1},"name":"a b"}"#), found);
    for object in [
        r#"{"name":"a b","status":"passed","status":"failed"}"#,
        r#"{"name":"a\nb","status":"passed"}"#,
        r#"{"name":null,"status":"passed"}"#,
        r#"{"status":"passed"}"#,
        r#"{"name":"a b","status":"passed""#,
        r#"{"name":"a b","status":"passed",}"#,
        r#"{"name":"a b", "status":"passed"}"#,
        r#"{"name":"a b","status":"passed"}{}"#,
        r#"["name","status"]"#,
        "",
    ] {
        assert_eq!(of(object), None, "{object}");
    }
}
