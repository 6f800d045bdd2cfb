//! What passes, in which pieces, and what is known when somebody hangs up.

use serde_json::json;

use super::{CLAUDE, Session, call, price, step, vendor};
use crate::world::model_server::{Say, Scripted};

#[test]
fn a_stream_passes_as_it_comes_and_a_hang_up_settles_at_what_is_known() {
    // The vendor says nothing more after the first events: only what passes at once can be read.
    let server = vendor(|_| Scripted::Stall { reply: Say::text("a long reply").usage(700, 90), after: 700 });
    let session = Session::of(&server);
    let mut hang_up = step("hang_up", "messages", true);
    hang_up["after"] = json!(300);
    let said = session.run(&["--max-cost-usd", "1"], &json!([hang_up]));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(session.told()[0]["begun"].as_str().unwrap().starts_with("event: message_start"));
    let receipts = session.receipts();
    assert_eq!(receipts[0]["status"], "aborted", "{}", receipts[0]);
    // The prompt was counted, and the first token of the reply. Nobody makes up the rest: it is unknown.
    assert_eq!((&receipts[0]["usage"]["input"], &receipts[0]["usage"]["output"]), (&json!(700), &json!(1)));
    let price = price(CLAUDE);
    assert_eq!(receipts[0]["cost"], json!((700 * price.input + price.output).div_ceil(1_000_000)));
    assert_eq!(json!(session.spent()), receipts[0]["reserved"]);
    assert!(session.spent() >= server.finish().0, "never less than was billed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_stream_takes_no_memory_of_ours() {
    const LONG: usize = 96_000_000;
    let answer = |size: usize| {
        let usage = json!({"input_tokens": 700, "output_tokens": 1});
        let start = json!({"type": "message_start", "message": {"model": CLAUDE, "usage": usage}});
        let delta = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x".repeat(1_000)}});
        let end =
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 90}});
        let event =
            |value: &serde_json::Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
        let delta = event(&delta);
        let all =
            [event(&start), delta.repeat(size / delta.len()), event(&end), event(&json!({"type": "message_stop"}))];
        let all = all.concat();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", all.len());
        Scripted::Raw([head.as_bytes(), all.as_bytes()].concat())
    };
    let server = vendor(move |request| answer(if request.all_text().contains("long") { LONG } else { 1_000 }));
    let session = Session::of(&server);
    let mut long = step("drain", "messages", true);
    long["body"]["messages"][0]["content"] = json!("long");
    let plan = json!([step("drain", "messages", true), long]);
    let said = session.run(&["--max-cost-usd", "1"], &plan);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = session.told();
    let number = |told: &serde_json::Value, name: &str| told[name].as_u64().expect("a number");
    assert!(number(&told[1], "size") > LONG as u64 - 10_000, "{told:?}");
    let grown = number(&told[1], "peak_kb").saturating_sub(number(&told[0], "peak_kb"));
    assert!(grown < 8_000, "{grown} kB more for a stream of {LONG} bytes: {told:?}");
    let receipts = session.receipts();
    assert_eq!((&receipts[1]["status"], &receipts[1]["usage"]["output"]), (&json!("ok"), &json!(90)));
    server.finish();
}

#[test]
fn a_hang_up_before_anything_is_known_settles_at_the_reservation() {
    for wire in ["responses", "chat", "generate"] {
        let server = vendor(|_| Scripted::Stall { reply: Say::text("a long reply").usage(700, 90), after: 60 });
        let session = Session::of(&server);
        let mut hang_up = step("hang_up", wire, true);
        hang_up["after"] = json!(10);
        assert_eq!(session.run(&["--max-cost-usd", "1"], &json!([hang_up])).code, 0);
        let receipt = session.receipts().remove(0);
        assert_eq!(receipt["status"], "aborted", "{wire}: {receipt}");
        assert_eq!(receipt["unknown_cost"], receipt["reserved"], "{wire}: {receipt}");
        assert!(session.spent() >= server.finish().0, "{wire}");
    }
}

#[test]
fn a_cut_answer_is_cut_for_the_client_too_and_never_cheaper_than_the_bill() {
    let server = vendor(|_| Scripted::Cut { reply: Say::text("a long reply").usage(700, 90), after: 500 });
    let session = Session::of(&server);
    let mut cut = step("hang_up", "messages", true);
    cut["after"] = json!(100_000);
    let said = session.run(&["--max-cost-usd", "1"], &json!([cut]));
    // Python tells of a cut body by an exception.
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.err.contains("IncompleteRead"), "{}", said.all());
    assert_eq!(session.receipts()[0]["status"], "network_error");
    assert!(session.spent() >= server.finish().0);
}

#[test]
fn only_who_brings_the_sessions_key_is_served_and_only_model_calls() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    let with = |change: &[(&str, serde_json::Value)]| {
        let mut step = call("messages", false);
        change.iter().for_each(|(key, value)| step[*key] = value.clone());
        step
    };
    let plan = json!([
        with(&[("key", json!("sk-wrong"))]),
        with(&[("key", json!(""))]),
        with(&[("path", json!("/v1/messages/batches"))]),
        with(&[("path", json!("/v1/files"))]),
        with(&[("method", json!("GET"))]),
        with(&[("method", json!("DELETE")), ("key", json!("sk-wrong"))]),
    ]);
    assert_eq!(session.run(&[], &plan).code, 0);
    let statuses: Vec<_> = session.told().iter().map(|told| told["status"].clone()).collect();
    assert_eq!(statuses, [json!(401), json!(401), json!(404), json!(404), json!(404), json!(401)]);
    assert!(server.requests().is_empty());
    server.finish();
}

#[test]
fn a_packed_body_is_read_and_a_count_of_tokens_is_free() {
    let server = vendor(|_| Say::text("x").usage(500, 10).into());
    let session = Session::of(&server);
    let mut packed = call("messages", false);
    packed["gzip"] = json!(true);
    let mut count = call("messages", false);
    count["path"] = json!("/v1/messages/count_tokens?beta=true");
    let said = session.run(&[], &json!([packed, count]));
    assert_eq!(said.code, 0, "{}", said.all());
    let told = session.told();
    assert_eq!((&told[0]["status"], &told[1]["status"]), (&json!(200), &json!(200)), "{told:?}");
    assert_eq!(told[1]["body"], "{\"input_tokens\":7}");
    assert_eq!(session.receipts().len(), 1, "the count is no call");
    server.finish();
}

#[test]
fn a_body_that_is_packed_otherwise_is_refused_in_words_that_say_what_to_do() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    let packed = |wire: &str, kind: &str| {
        let mut step = call(wire, false);
        step["headers"] = json!({"content-encoding": kind});
        step
    };
    let plan: Vec<_> = ["zstd", "br", "gzip, br"].into_iter().map(|kind| packed("responses", kind)).collect();
    let broken = packed("messages", "gzip");
    let plan = [plan, vec![broken]].concat();
    assert_eq!(session.run(&[], &json!(plan)).code, 0);
    let told = session.told();
    for (told, kind) in told.iter().zip(["zstd", "br", "gzip, br"]) {
        let said = format!("bodies compressed with `{kind}` are not supported; send them uncompressed");
        assert!(told["status"] == 400 && told["body"].as_str().is_some_and(|body| body.contains(&said)), "{told}");
    }
    assert!(
        told[3]["status"] == 400 && told[3]["body"].as_str().is_some_and(|body| body.contains("is not gzip")),
        "{told:?}"
    );
    assert!(session.receipts().is_empty(), "nothing was reserved");
    server.finish();
}
