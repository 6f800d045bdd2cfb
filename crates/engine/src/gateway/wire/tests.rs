//! Each rule of each wire: what is refused, what passes, how a limit is read and set.

use serde_json::{Value, json};

use super::*;

fn body(value: Value) -> Body {
    value.as_object().cloned().unwrap()
}

fn refusal(spoken: Spoken, value: Value) -> Option<String> {
    unbounded(spoken, &body(value)).err().map(|refused| refused.to_string())
}

/// Bodies that must be refused, each for a word that its refusal names.
fn must_refuse(spoken: Spoken, cases: &[(Value, &str)]) {
    for (case, word) in cases {
        let refused = refusal(spoken, case.clone());
        let says = refused.as_deref().is_some_and(|refused| refused.contains(word) && refused.contains("→ Fix:"));
        assert!(says, "{spoken:?} {case}: {refused:?}");
    }
}

fn must_pass(spoken: Spoken, cases: &[Value]) {
    for case in cases {
        assert_eq!(refusal(spoken, case.clone()), None, "{spoken:?} {case}");
    }
}

fn said_by_user(block: &Value) -> Value {
    json!({"messages": [{"role": "user", "content": [block]}]})
}

#[test]
fn messages_refuse_what_runs_or_lies_at_the_vendor() {
    let in_result = json!({"type": "tool_result", "tool_use_id": "t", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://example.test/a.png"}}]});
    let in_document = json!({"type": "document", "source": {"type": "content", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://example.test/a.png"}}]}});
    must_refuse(
        Spoken::Messages,
        &[
            (json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}), "web_search"),
            (json!({"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}), "code_execution"),
            (json!({"tools": [{"name": "mine", "input_schema": {}}, {"type": "web_fetch_20250910"}]}), "web_fetch"),
            (json!({"mcp_servers": [{"url": "https://mcp.test"}]}), "mcp_servers"),
            (json!({"container": "c_1"}), "container"),
            (json!({"service_tier": "priority"}), "priority"),
            (json!({"speed": "fast"}), "fast"),
            (json!({"inference_geo": "us"}), "us"),
            (json!({"context_management": {"edits": [{"type": "compact_20260112"}]}}), "context_management"),
            (said_by_user(&json!({"type": "document", "source": {"type": "file", "file_id": "f"}})), "a file"),
            (said_by_user(&json!({"type": "image", "source": {"type": "url", "url": "https://a.test"}})), "address"),
            (said_by_user(&json!({"type": "document", "source": {"type": "base64", "data": ""}})), "document"),
            (said_by_user(&json!({"type": "container_upload", "file_id": "f"})), "a file"),
            (said_by_user(&in_result), "address"),
            (said_by_user(&in_document), "address"),
            (said_by_user(&json!({"type": "tool_result", "content": [in_document]})), "address"),
        ],
    );
}

#[test]
fn messages_let_pass_what_agents_send() {
    must_pass(
        Spoken::Messages,
        &[
            json!({"tools": [{"name": "Edit", "input_schema": {"type": "object"}}, {"type": "bash_20250124", "name": "bash"},
                {"type": "custom", "name": "x"}], "service_tier": "auto", "thinking": {"type": "adaptive"},
                "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, "mcp_servers": [],
                "metadata": {"user_id": "u"}, "container": null}),
            said_by_user(
                &json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}),
            ),
            said_by_user(&json!({"type": "document", "source": {"type": "text", "data": "plain"}})),
            said_by_user(&json!({"type": "document", "source": {"type": "content", "content": "plain"}})),
            said_by_user(&json!({"type": "document", "source": {"type": "content", "content": [
                {"type": "text", "text": "t"}]}})),
            // Arguments of a call are the model's words, whatever they look like.
            json!({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n",
                "input": {"type": "document", "source": {"type": "file"}}}]}]}),
            json!({"messages": [{"role": "user", "content": "plain"}]}),
        ],
    );
}

#[test]
fn responses_refuse_what_the_vendor_remembers_or_runs() {
    let input = |item: Value| json!({"input": [item]});
    must_refuse(
        Spoken::Responses,
        &[
            (json!({"previous_response_id": "resp_1"}), "previous_response_id"),
            (json!({"conversation": {"id": "c"}}), "conversation"),
            (json!({"prompt": {"id": "p"}}), "prompt"),
            (json!({"background": true}), "background"),
            (json!({"service_tier": "priority"}), "priority"),
            (json!({"context_management": [{"type": "compaction"}]}), "context_management"),
            (json!({"tools": [{"type": "web_search"}]}), "web_search"),
            (json!({"tools": [{"type": "code_interpreter"}]}), "code_interpreter"),
            (json!({"tools": [{"type": "mcp", "server_url": "https://x.test"}]}), "mcp"),
            (json!({"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}), "shell"),
            (json!({"tools": [{"type": "namespace", "tools": [{"type": "image_generation"}]}]}), "image_generation"),
            (input(json!({"type": "item_reference", "id": "i"})), "item_reference"),
            (input(json!({"id": "msg_1"})), "item_reference"),
            (input(json!({"id": "msg_1", "type": null})), "item_reference"),
            (input(json!({"role": "user", "content": [{"type": "input_file", "file_id": "f"}]})), "a file"),
            (input(json!({"role": "user", "content": [{"type": "input_image", "image_url": "https://x"}]})), "picture"),
            (input(json!({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]})), "picture"),
            (
                input(json!({"type": "function_call_output", "output": [{"type": "input_file", "file_url": "u"}]})),
                "a file",
            ),
        ],
    );
    must_pass(
        Spoken::Responses,
        &[
            json!({"input": "text", "store": false, "background": false, "previous_response_id": null}),
            json!({"tools": [{"type": "function", "name": "f"}, {"type": "custom"}, {"type": "local_shell"},
                {"type": "namespace", "tools": [{"type": "function"}]}]}),
            input(
                json!({"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,A"}]}),
            ),
            input(json!({"type": "function_call_output", "call_id": "c", "output": "text"})),
            input(json!({"role": "user", "content": "a message without a type"})),
            input(json!({"id": "msg_1", "type": "message", "role": "assistant", "content": []})),
        ],
    );
}

#[test]
fn chat_refuses_searches_several_replies_and_what_is_elsewhere() {
    let part = |part: Value| json!({"messages": [{"role": "user", "content": [part]}]});
    must_refuse(
        Spoken::Chat,
        &[
            (json!({"n": 2}), "several"),
            (json!({"n": 2.0}), "several"),
            (json!({"n": "2"}), "several"),
            (json!({"best_of": 3}), "several"),
            (json!({"web_search_options": {"search_context_size": "low"}}), "web_search_options"),
            // They switch a search on by being there.
            (json!({"web_search_options": {}}), "web_search_options"),
            (json!({"search_parameters": {"mode": "on"}}), "search_parameters"),
            (json!({"search_parameters": {}}), "search_parameters"),
            (json!({"plugins": [{"id": "web"}]}), "plugins"),
            (json!({"models": ["dear/model"]}), "models"),
            (json!({"provider": {"order": ["x"]}}), "provider"),
            (json!({"prediction": {"type": "content"}}), "prediction"),
            (json!({"modalities": ["text", "audio"]}), "modalities"),
            (json!({"service_tier": "priority"}), "priority"),
            (json!({"model": "vendor/model:online"}), "online"),
            (json!({"tools": [{"type": "web_search"}]}), "web_search"),
            (part(json!({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}})), "address"),
            (part(json!({"type": "file", "file": {"file_id": "f"}})), "a file"),
            (part(json!({"type": "input_audio", "input_audio": {}})), "input_audio"),
        ],
    );
    must_pass(
        Spoken::Chat,
        &[
            json!({"n": null, "best_of": 1.0, "web_search_options": null, "plugins": []}),
            json!({"n": 1, "tools": [{"type": "function", "function": {"name": "f"}}], "service_tier": "auto"}),
            part(json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}})),
            part(json!({"type": "text", "text": "t"})),
            json!({"messages": [{"role": "user", "content": "plain"}], "model": "qwen3-coder:30b"}),
        ],
    );
}

#[test]
fn generate_refuses_caches_searches_files_and_several_candidates() {
    let part = |part: Value| json!({"contents": [{"role": "user", "parts": [part]}]});
    must_refuse(
        Spoken::Generate,
        &[
            (json!({"cachedContent": "cachedContents/1"}), "cachedContent"),
            (json!({"cached_content": "cachedContents/1"}), "cachedContent"),
            (json!({"tools": [{"googleSearch": {}}]}), "googleSearch"),
            (json!({"tools": [{"functionDeclarations": []}, {"codeExecution": {}}]}), "codeExecution"),
            (json!({"generationConfig": {"candidateCount": 2}}), "several"),
            (json!({"generation_config": {"candidate_count": 2}}), "several"),
            (json!({"generationConfig": {"candidateCount": "2"}}), "several"),
            (json!({"generationConfig": {"candidateCount": 2.0}}), "several"),
            (json!({"generationConfig": {"candidateCount": "many"}}), "several"),
            (json!({"generationConfig": {}, "generation_config": {}}), "generationConfig"),
            (json!({"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9}}), "maxOutputTokens"),
            (json!({"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}), "responseModalities"),
            (json!({"serviceTier": "PRIORITY"}), "PRIORITY"),
            (part(json!({"fileData": {"fileUri": "gs://x"}})), "a file"),
            (part(json!({"functionResponse": {"parts": [{"fileData": {"fileUri": "gs://x"}}]}})), "a file"),
            (part(json!({"function_response": {"parts": [{"file_data": {"file_uri": "gs://x"}}]}})), "a file"),
            (part(json!({"inlineData": {"mimeType": "application/pdf", "data": ""}})), "application/pdf"),
            (part(json!({"inline_data": {"mime_type": "audio/mp3", "data": ""}})), "audio/mp3"),
            (part(json!({"inlineData": {"mimeType": "image/png", "mime_type": "audio/mp3", "data": ""}})), "audio/mp3"),
            (
                part(json!({"inlineData": {"mimeType": "image/png"}, "inline_data": {"mime_type": "video/mp4"}})),
                "video/mp4",
            ),
            (part(json!({"inlineData": {"data": ""}})), "unknown"),
        ],
    );
    must_pass(
        Spoken::Generate,
        &[
            json!({"tools": [{"functionDeclarations": [{"name": "f"}]}], "generationConfig": {"candidateCount": 1}}),
            part(json!({"inlineData": {"mimeType": "image/png", "data": ""}})),
            part(json!({"functionResponse": {"name": "f", "response": {"fileData": {}}}})),
            part(json!({"functionResponse": {"parts": [{"inlineData": {"mimeType": "image/png", "data": ""}}]}})),
            json!({"generationConfig": {"candidateCount": "1", "maxOutputTokens": 9}}),
        ],
    );
}

#[test]
fn a_limit_is_set_where_each_wire_has_it() {
    let limited = |spoken, value: Value, field: &str| {
        let mut changed = body(value);
        set_limit(spoken, &mut changed, 5_000, field);
        assert_eq!(limit(spoken, &changed), Some(5_000), "{spoken:?}");
        Value::Object(changed)
    };
    assert_eq!(limited(Spoken::Messages, json!({"max_tokens": 64_000}), "")["max_tokens"], 5_000);
    assert_eq!(limited(Spoken::Responses, json!({}), "")["max_output_tokens"], 5_000);
    assert_eq!(limited(Spoken::Chat, json!({}), "max_completion_tokens")["max_completion_tokens"], 5_000);
    assert_eq!(limited(Spoken::Chat, json!({"max_tokens": 9}), "max_completion_tokens")["max_tokens"], 5_000);
    let both = limited(Spoken::Chat, json!({"max_tokens": 9_000, "max_completion_tokens": 7}), "max_tokens");
    assert_eq!((&both["max_tokens"], &both["max_completion_tokens"]), (&json!(5_000), &json!(5_000)));
    assert_eq!(limited(Spoken::Generate, json!({}), "")["generationConfig"]["maxOutputTokens"], 5_000);
    let nothing = limited(Spoken::Generate, json!({"generationConfig": null}), "");
    assert_eq!(nothing["generationConfig"]["maxOutputTokens"], 5_000);
    let snake = limited(Spoken::Generate, json!({"generation_config": {"max_output_tokens": 9_000}}), "");
    assert_eq!(snake["generation_config"], json!({"maxOutputTokens": 5_000}));
}

#[test]
fn the_larger_of_two_limits_counts() {
    let asked = json!({"max_tokens": 10, "max_completion_tokens": 90_000});
    assert_eq!(limit(Spoken::Chat, &body(asked)), Some(90_000));
    assert_eq!(limit(Spoken::Messages, &body(json!({"messages": []}))), None);
}

#[test]
fn thinking_stays_below_the_limit_or_is_left_out() {
    let thinking = |budget: u64, tokens: u64| {
        let mut changed = body(json!({"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": budget}}));
        set_limit(Spoken::Messages, &mut changed, tokens, "");
        changed.remove("thinking").unwrap()
    };
    assert_eq!(thinking(31_999, 40_000)["budget_tokens"], 31_999);
    assert_eq!(thinking(31_999, 8_000)["budget_tokens"], 7_744);
    assert_eq!(thinking(31_999, 1_100), json!({"type": "disabled"}), "below the smallest budget there is");
    let mut gemini = body(json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 8_192}}}));
    set_limit(Spoken::Generate, &mut gemini, 4_000, "");
    assert_eq!(gemini["generationConfig"]["thinkingConfig"]["thinkingBudget"], 2_000);
}

#[test]
fn images_are_reserved_beside_their_bytes() {
    let image = json!({"type": "image", "source": {"type": "base64", "data": "A"}});
    let in_result = json!({"type": "tool_result", "content": [image, {"type": "text", "text": "t"}]});
    assert_eq!(extra_tokens(Spoken::Messages, &body(said_by_user(&image))), IMAGE_TOKENS);
    assert_eq!(extra_tokens(Spoken::Messages, &body(said_by_user(&in_result))), IMAGE_TOKENS);
    assert_eq!(extra_tokens(Spoken::Messages, &body(said_by_user(&json!({"type": "text"})))), 0);
    let of = |spoken, value: Value| extra_tokens(spoken, &body(value)) / IMAGE_TOKENS;
    assert_eq!(of(Spoken::Chat, said_by_user(&json!({"type": "image_url", "image_url": {"url": "data:A"}}))), 1);
    assert_eq!(of(Spoken::Responses, json!({"input": [{"content": [{"type": "input_image"}]}]})), 1);
    let in_answer = json!({"functionResponse": {"parts": [{"inlineData": {}}]}});
    assert_eq!(of(Spoken::Generate, json!({"contents": [{"parts": [in_answer]}]})), 1);
    assert_eq!(of(Spoken::Generate, json!({"contents": [{"parts": [{"inlineData": {}}, {"inline_data": {}}]}]})), 2);
}

#[test]
fn a_cache_of_an_hour_is_found_wherever_it_is_asked_for() {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    for asked in [
        json!({"tools": [{"name": "t", "cache_control": hour}]}),
        json!({"system": [{"type": "text", "cache_control": hour}]}),
        said_by_user(&json!({"type": "text", "cache_control": hour})),
        json!({"cache_control": hour}),
    ] {
        assert!(caches_for_an_hour(Spoken::Messages, &body(asked.clone())), "{asked}");
    }
    let short = json!({"system": [{"type": "text", "cache_control": {"type": "ephemeral", "ttl": "5m"}}]});
    assert!(!caches_for_an_hour(Spoken::Messages, &body(short)));
    assert!(!caches_for_an_hour(
        Spoken::Messages,
        &body(json!({"system": [{"cache_control": {"type": "ephemeral"}}]}))
    ));
}

#[test]
fn a_stream_of_chat_is_made_to_tell_its_counts() {
    let mut plain = body(json!({"stream": false}));
    assert!(!ask_for_counts(Spoken::Chat, &mut plain));
    let mut streamed = body(json!({"stream": true, "stream_options": {"other": 1}}));
    assert!(ask_for_counts(Spoken::Chat, &mut streamed));
    assert_eq!(streamed["stream_options"], json!({"other": 1, "include_usage": true}));
    assert!(!ask_for_counts(Spoken::Chat, &mut streamed), "once is enough");
    assert!(!ask_for_counts(Spoken::Messages, &mut body(json!({"stream": true}))));
}

#[test]
fn a_vendor_that_would_choose_a_service_tier_is_asked_for_the_ordinary_one() {
    let asked = |spoken, provider: &str, value: Value| {
        let mut changed = body(value);
        let did = ask_for_ordinary_tier(spoken, provider, &mut changed);
        (did, changed.get("service_tier").cloned().unwrap_or_default())
    };
    for chooses in [json!({}), json!({"service_tier": null}), json!({"service_tier": "Auto"})] {
        let standard = (true, json!("standard_only"));
        assert_eq!(asked(Spoken::Messages, "anthropic", chooses.clone()), standard, "{chooses}");
        for spoken in [Spoken::Responses, Spoken::Chat] {
            assert_eq!(asked(spoken, "openai", chooses.clone()), (true, json!("default")), "{chooses}");
        }
    }
    assert_eq!(asked(Spoken::Chat, "openai", json!({"service_tier": "flex"})), (false, json!("flex")));
    assert_eq!(asked(Spoken::Chat, "mistral", json!({})), (false, Value::Null), "others have no such field");
    assert_eq!(asked(Spoken::Generate, "gemini", json!({})), (false, Value::Null));
}

#[test]
fn a_limit_that_is_no_number_is_set_anew_beside_one_that_is() {
    for text in [json!("60000"), json!(60_000.5), json!([60_000])] {
        let mut both = body(json!({"max_completion_tokens": 10, "max_tokens": text}));
        assert_eq!(limit(Spoken::Chat, &both), None, "{text}");
        set_limit(Spoken::Chat, &mut both, 500, "max_tokens");
        assert_eq!((&both["max_completion_tokens"], &both["max_tokens"]), (&json!(500), &json!(500)), "{text}");
    }
    assert_eq!(limit(Spoken::Chat, &body(json!({"max_completion_tokens": 10, "max_tokens": null}))), Some(10));
}
