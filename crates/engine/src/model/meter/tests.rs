//! Counts out of streams and whole answers, cut at every byte.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::*;
use crate::domain::bill::Bill;
use crate::domain::chat::Usage;

fn head(content_type: &str) -> Head<'_> {
    Head { status: 200, content_type, encoding: "" }
}

fn metered(spoken: Spoken, head: Head<'_>, pieces: &[&[u8]]) -> Metered {
    let mut meter = Meter::new(spoken, head);
    pieces.iter().for_each(|piece| meter.push(piece));
    meter.finish()
}

fn events(values: &[Value]) -> Vec<u8> {
    let event = |value: &Value| {
        let name = value.get("type").and_then(Value::as_str).map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {value}\n\n")
    };
    values.iter().map(event).collect::<String>().into_bytes()
}

fn messages() -> Vec<u8> {
    events(&[
        json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 100, "output_tokens": 1,
            "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\"usage\":{\"output_tokens\":9}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ])
}

fn responses() -> Vec<u8> {
    events(&[
        json!({"type": "response.created", "response": {"status": "in_progress", "usage": null}}),
        json!({"type": "response.output_text.delta", "delta": "hello"}),
        json!({"type": "response.completed", "response": {"model": "m", "status": "completed", "usage": {"input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 50}}}),
    ])
}

fn chat() -> Vec<u8> {
    let mut stream = events(&[
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": null}]}),
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": null}]}),
        json!({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"model": "m", "choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 20}}}),
    ]);
    stream.extend_from_slice(b"data: [DONE]\n\n");
    stream
}

fn generate() -> Vec<u8> {
    events(&[
        json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}], "modelVersion": "m",
            "usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 20, "candidatesTokenCount": 5}}),
        json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "modelVersion": "m",
            "usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 20, "candidatesTokenCount": 40,
            "thoughtsTokenCount": 10}}),
    ])
}

#[test]
fn every_wires_counts_are_read_however_the_stream_was_cut() {
    let usage = |input, cache_write, reasoning| Usage { input, output: 50, cache_read: 20, cache_write, reasoning };
    for (spoken, stream, expected) in [
        (Spoken::Messages, messages(), usage(100, 3, 0)),
        (Spoken::Responses, responses(), usage(100, 0, 0)),
        (Spoken::Chat, chat(), usage(100, 0, 0)),
        (Spoken::Generate, generate(), usage(100, 0, 10)),
    ] {
        let whole = Metered {
            usage: Some(expected),
            bill: Bill::default(),
            billed_model: Some("m".to_owned()),
            complete: true,
            error: None,
        };
        for cut in 0..=stream.len() {
            let (first, rest) = stream.split_at(cut);
            assert_eq!(metered(spoken, head("text/event-stream"), &[first, rest]), whole, "{spoken:?} cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_ends_early_has_the_counts_that_were_told_and_its_bill_is_open() {
    for (spoken, stream) in [
        (Spoken::Messages, messages()),
        (Spoken::Responses, responses()),
        (Spoken::Chat, chat()),
        (Spoken::Generate, generate()),
    ] {
        let whole = metered(spoken, head("text/event-stream"), &[&stream]).usage.unwrap();
        for end in 0..stream.len() {
            let cut = metered(spoken, head("text/event-stream"), &[&stream[..end]]);
            if let Some(usage) = cut.usage {
                assert_eq!(usage.prompt(), whole.prompt(), "{spoken:?} until {end}");
                // Nobody makes a count up: of a part the rest is open.
                let told = if cut.complete { whole.output } else { 1 };
                assert_eq!((usage.output, cut.bill.is_open), (told, !cut.complete), "{spoken:?} until {end}");
            } else {
                assert!(!cut.complete, "{spoken:?} until {end}");
            }
        }
    }
}

#[test]
fn a_plain_answer_is_counted_whole() {
    let plain = json!({"type": "message", "model": "m", "stop_reason": "end_turn", "usage": {"input_tokens": 7, "output_tokens": 2}});
    let read = metered(Spoken::Messages, head("application/json"), &[plain.to_string().as_bytes()]);
    assert_eq!((read.usage.map(|usage| (usage.input, usage.output)), read.complete), (Some((7, 2)), true));
    // Gemini streams a list where nobody asks for events.
    let list = json!([
        {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 1}},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2}},
    ]);
    let read = metered(Spoken::Generate, head("application/json"), &[list.to_string().as_bytes()]);
    assert_eq!((read.usage.map(|usage| (usage.input, usage.output)), read.complete), (Some((7, 2)), true));
}

#[test]
fn a_packed_answer_is_unpacked_to_be_counted() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&messages()).unwrap();
    let packed = packed.finish().unwrap();
    let head = Head { status: 200, content_type: "text/event-stream", encoding: "gzip" };
    for size in [1, 7, packed.len()] {
        let pieces: Vec<&[u8]> = packed.chunks(size).collect();
        assert!(metered(Spoken::Messages, head, &pieces).complete, "in pieces of {size}");
    }
    let strange = Head { encoding: "br", ..head };
    assert_eq!(
        metered(Spoken::Messages, strange, &[&messages()]),
        Metered::default(),
        "unknown, so the reservation counts"
    );
}

#[test]
fn errors_are_kept_and_are_no_reply() {
    let body = br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let refused = Head { status: 429, content_type: "application/json", encoding: "" };
    let read = metered(Spoken::Messages, refused, &[body]);
    assert_eq!((read.error.as_deref(), read.usage, read.complete), (Some(&body[..]), None, false));
    let stream = events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 100, "output_tokens": 1}}}),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ]);
    let read = metered(Spoken::Messages, head("text/event-stream"), &[&stream]);
    assert_eq!(read.usage.map(|usage| (usage.input, usage.output)), Some((100, 1)));
    assert!(read.bill.is_open);
    assert!(read.error.is_some() && !read.complete);
}

#[test]
fn a_dearer_service_tier_than_the_standard_one_is_told() {
    let tier = |spoken, value: Value| {
        metered(spoken, head("application/json"), &[value.to_string().as_bytes()]).bill.dear_tier
    };
    let messages = |tier: &str| {
        json!({"type": "message", "model": "m", "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 1, "service_tier": tier}})
    };
    let counts = json!({"input_tokens": 9, "output_tokens": 1});
    let responses =
        |tier: &str| json!({"model": "m", "status": "completed", "service_tier": tier, "usage": counts.clone()});
    let chat = |tier: &str| {
        json!({"model": "m", "service_tier": tier, "choices": [{"finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    };
    let generate = |tier: &str| {
        json!({"candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1, "serviceTier": tier}})
    };
    for (said, expected) in [
        ("priority", Some("priority")),
        ("PRIORITY", Some("priority")),
        ("ultrafast", Some("ultrafast")),
        ("standard", None),
        ("default", None),
        ("flex", None),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(tier(Spoken::Messages, messages(said)), expected, "{said}");
        assert_eq!(tier(Spoken::Responses, responses(said)), expected, "{said}");
        assert_eq!(tier(Spoken::Chat, chat(said)), expected, "{said}");
        assert_eq!(tier(Spoken::Generate, generate(said)), expected, "{said}");
    }
    let mut fast = messages("standard");
    fast["usage"]["speed"] = json!("fast");
    assert_eq!(tier(Spoken::Messages, fast).as_deref(), Some("fast"), "Anthropic's fast mode is a speed");
}
