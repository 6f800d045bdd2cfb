//! What vendors, networks and models do, one test per row: a whole session over HTTP on each wire, the state that follows,
//! and the receipt wherever money may have gone (issue 3, must-show 2).

use serde_json::json;
use upshift::domain::chat::StopReason;
use upshift::domain::receipt::{CallStatus, Receipt};
use upshift::domain::units::MicroUsd;
use upshift::policy::rotation::GiveUp;
use upshift::session::{FailureReason, FinalReport, SessionEnd, SessionExit};

use super::{Bench, CALC, CLAUDE, GEMINI, GPT, four_turns, priced, report};
use crate::wires::transport::tls_server;
use crate::world::model_server::{ModelServer, Request, Say, Scripted, Vendor};

/// How a session ends, as far as its caller branches on it.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// No target could be used.
    NoModel(GiveUp),
    /// Answers came, but none of use.
    Unusable,
    /// The request fits no window.
    ContextFull,
    /// The model's own report.
    Done,
}

fn state(end: &SessionEnd) -> State {
    let FinalReport::Synthetic { reason } = &end.report else {
        assert_eq!(end.report.as_str(), "done", "{end:?}");
        return State::Done;
    };
    match reason {
        FailureReason::NoUsableTarget { why, .. } => State::NoModel(*why),
        FailureReason::UnusableReplies { .. } => State::Unusable,
        FailureReason::ContextFull => State::ContextFull,
        FailureReason::Budget { .. }
        | FailureReason::NoReport
        | FailureReason::ToolFailed { .. }
        | FailureReason::Stopped { .. } => panic!("{end:?}"),
    }
}

/// What the receipt of a call must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// It surely cost nothing.
    Nothing,
    /// What the vendor counted.
    Billed,
    /// It may have cost, nobody knows how much: the whole reservation, or a bound within it that is no less than the bill.
    Booked,
}

fn check(receipt: &Receipt, status: CallStatus, cost: Cost, billed: MicroUsd, row: &str) {
    assert_eq!(receipt.status, status, "{row}: {receipt:?}");
    match cost {
        Cost::Nothing => assert_eq!(receipt.charge().total(), MicroUsd::ZERO, "{row}"),
        Cost::Billed => assert!(billed > MicroUsd::ZERO && receipt.cost == billed, "{row}: {receipt:?}, {billed}"),
        Cost::Booked => {
            assert!(
                receipt.charge().total() > MicroUsd::ZERO && receipt.charge().total() >= billed,
                "{row}: {receipt:?}"
            );
            assert!(receipt.charge().total() <= receipt.reserved, "{row}: {receipt:?}");
        }
    }
    assert_eq!(receipt.error.is_some(), status != CallStatus::Ok, "{row}: {receipt:?}");
}

/// One attempt on each wire with this answer.
async fn row(answer: impl Fn(Vendor) -> Scripted, ends: (State, SessionExit), books: (CallStatus, Cost)) {
    for (target, vendor) in [(CLAUDE, Vendor::Anthropic), (GPT, Vendor::OpenAi), (GEMINI, Vendor::Gemini)] {
        let server = ModelServer::serving_with(priced(), [answer(vendor)]);
        let mut bench = Bench::new(&[target]);
        bench.limits.max_attempts = 1;
        bench.limits.reply_timeout = std::time::Duration::from_secs(5);
        let (end, receipts) = bench.converse(&server).await;
        assert_eq!((&state(&end), end.exit), (&ends.0, ends.1), "{target}: {end:?}");
        assert_eq!(receipts.len(), 1, "{target}: every call that was sent has its receipt");
        check(&receipts[0], books.0, books.1, server.billed(), target);
        assert_eq!(std::fs::read_to_string(bench.calc()).unwrap(), CALC, "{target}: nothing was changed");
        server.finish();
    }
}

/// The vendor's own error shape with this status.
fn status(code: u16, words: [&'static str; 3], message: &'static str) -> impl Fn(Vendor) -> Scripted {
    move |vendor| {
        let word = match vendor {
            Vendor::Anthropic => words[0],
            Vendor::OpenAi | Vendor::Responses => words[1],
            Vendor::Gemini | Vendor::Ollama => words[2],
        };
        Scripted::error(vendor, code, word, message)
    }
}

const REJECTED: (State, SessionExit) = (State::NoModel(GiveUp::Rejected), SessionExit::ModelError);
const REFUSED: (State, SessionExit) = (State::NoModel(GiveUp::Refused), SessionExit::AuthFailure);
const LIMITED: (State, SessionExit) = (State::NoModel(GiveUp::Limited), SessionExit::NoLlmResponse);
const UNREACHABLE: (State, SessionExit) = (State::NoModel(GiveUp::Unreachable), SessionExit::NoLlmResponse);
const SILENT: (State, SessionExit) = (State::NoModel(GiveUp::Unreachable), SessionExit::InactivityTimeout);
const UNKNOWN: (State, SessionExit) = (State::NoModel(GiveUp::Rejected), SessionExit::InvalidModel);
const TROUBLED: (State, SessionExit) = (State::NoModel(GiveUp::Unreachable), SessionExit::ModelError);
const TOO_LONG: (State, SessionExit) = (State::ContextFull, SessionExit::TokenLimit);

#[tokio::test]
async fn status_400() {
    let answer = status(400, ["invalid_request_error", "invalid_value", "INVALID_ARGUMENT"], "a field is wrong");
    row(answer, REJECTED, (CallStatus::ModelError, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_400_for_length() {
    let words = ["invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"];
    let answer = status(400, words, "prompt is too long: 210000 tokens exceeds the maximum number of tokens allowed");
    row(answer, TOO_LONG, (CallStatus::ContextOverflow, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_401() {
    let answer = status(401, ["authentication_error", "invalid_api_key", "UNAUTHENTICATED"], "no such key");
    row(answer, REFUSED, (CallStatus::AuthError, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_402() {
    let answer = status(402, ["billing_error", "insufficient_quota", "FAILED_PRECONDITION"], "Insufficient Balance");
    let ends = (State::NoModel(GiveUp::Refused), SessionExit::QuotaExceeded);
    row(answer, ends, (CallStatus::QuotaExceeded, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_403() {
    let answer = status(403, ["permission_error", "forbidden", "PERMISSION_DENIED"], "not for you");
    row(answer, REFUSED, (CallStatus::AuthError, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_404() {
    let answer = status(404, ["not_found_error", "model_not_found", "NOT_FOUND"], "no such model");
    row(answer, UNKNOWN, (CallStatus::ModelError, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_408() {
    let answer = status(408, ["timeout_error", "timeout", "DEADLINE_EXCEEDED"], "too slow");
    row(answer, SILENT, (CallStatus::Timeout, Cost::Booked)).await;
}

#[tokio::test]
async fn status_413() {
    let answer = status(413, ["request_too_large", "tokens_limit_reached", "INVALID_ARGUMENT"], "body too large");
    row(answer, TOO_LONG, (CallStatus::ContextOverflow, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_429_without_retry_after() {
    let answer = status(429, ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"], "slow down");
    row(answer, LIMITED, (CallStatus::RateLimited, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_429_with_retry_after() {
    let answer = status(429, ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"], "slow down");
    let answer = move |vendor| answer(vendor).header("retry-after", "7");
    row(answer, LIMITED, (CallStatus::RateLimited, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_429_on_one_of_two_targets_asks_the_other_at_once() {
    for (limited, free) in [(CLAUDE, GPT), (GPT, GEMINI), (GEMINI, CLAUDE)] {
        let answers = [Scripted::status(429, "{}").header("retry-after", "3600"), report().usage(500, 20).into()];
        let server = ModelServer::serving_with(priced(), answers);
        let (end, receipts) = Bench::new(&[limited, free]).converse(&server).await;
        assert_eq!((state(&end), end.target.to_string()), (State::Done, free.to_owned()));
        let statuses: Vec<_> = receipts.iter().map(|receipt| receipt.status).collect();
        assert_eq!(statuses, [CallStatus::RateLimited, CallStatus::Ok]);
        assert_eq!(server.finish(), end.cost.total());
    }
}

#[tokio::test]
async fn status_500() {
    let answer = status(500, ["api_error", "server_error", "INTERNAL"], "oops");
    row(answer, TROUBLED, (CallStatus::ModelError, Cost::Booked)).await;
}

#[tokio::test]
async fn status_502() {
    let answer = |_| Scripted::status(502, "<html><h1>502 Bad Gateway</h1></html>");
    row(answer, TROUBLED, (CallStatus::ModelError, Cost::Booked)).await;
}

#[tokio::test]
async fn status_503() {
    let answer = status(503, ["api_error", "service_unavailable", "UNAVAILABLE"], "try later");
    row(answer, TROUBLED, (CallStatus::ModelError, Cost::Nothing)).await;
}

#[tokio::test]
async fn status_529() {
    let answer = status(529, ["overloaded_error", "overloaded", "UNAVAILABLE"], "Overloaded");
    let down = (State::NoModel(GiveUp::Unreachable), SessionExit::NoLlmResponse);
    row(answer, down, (CallStatus::RateLimited, Cost::Nothing)).await;
}

/// A session with a vendor that is not reached at all.
async fn unreached(url: &str, row: &str) {
    for target in [CLAUDE, GPT, GEMINI] {
        let mut bench = Bench::new(&[target]);
        bench.limits.max_attempts = 1;
        let (end, receipts) = bench.converse_at(url).await;
        assert_eq!((state(&end), end.exit), (UNREACHABLE.0, UNREACHABLE.1), "{row}, {target}: {end:?}");
        assert_eq!(receipts.len(), 1, "{row}, {target}");
        check(&receipts[0], CallStatus::NetworkError, Cost::Nothing, MicroUsd::ZERO, row);
    }
}

#[tokio::test]
async fn a_host_that_no_dns_knows() {
    unreached("http://vendor.invalid", "DNS").await;
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for() {
    let (url, server) = tls_server(3);
    unreached(url.trim_end_matches("/v1"), "TLS").await;
    server.join().unwrap();
}

#[tokio::test]
async fn a_port_where_nobody_listens() {
    unreached("http://127.0.0.1:1", "refused connection").await;
}

#[tokio::test]
async fn no_answer_in_time() {
    for (target, answer) in [
        (CLAUDE, Scripted::Hang),
        (GPT, Scripted::Hang),
        (GEMINI, Scripted::Hang),
        (GPT, Scripted::Stall { reply: report().usage(700, 40), after: 60 }),
    ] {
        let server = ModelServer::serving_with(priced(), [answer]);
        let mut bench = Bench::new(&[target]);
        bench.limits.max_attempts = 1;
        bench.limits.reply_timeout = std::time::Duration::from_millis(200);
        let (end, receipts) = bench.converse(&server).await;
        assert_eq!((state(&end), end.exit), SILENT, "{target}: {end:?}");
        check(&receipts[0], CallStatus::Timeout, Cost::Booked, server.billed(), target);
        server.finish();
    }
}

#[tokio::test]
async fn a_connection_cut_before_the_answer() {
    row(|_| Scripted::Drop, UNREACHABLE, (CallStatus::NetworkError, Cost::Booked)).await;
}

#[tokio::test]
async fn a_connection_cut_within_the_answer() {
    let answer = |_| Scripted::Cut { reply: report().usage(700, 40), after: 60 };
    row(answer, UNREACHABLE, (CallStatus::NetworkError, Cost::Booked)).await;
}

#[tokio::test]
async fn malformed_json() {
    let answer = |_| Scripted::Body { content_type: "application/json", body: "{\"id\": ".to_owned() };
    row(answer, (State::Unusable, SessionExit::MaxRetries), (CallStatus::InvalidResponse, Cost::Booked)).await;
}

#[tokio::test]
async fn an_empty_reply() {
    let answer = |_| Say::text("").usage(900, 0).into();
    row(answer, (State::Unusable, SessionExit::EmptyResponse), (CallStatus::InvalidResponse, Cost::Billed)).await;
}

#[tokio::test]
async fn text_without_a_tool_call() {
    let answer = |_| Say::text("I would change the sign.").usage(900, 25).into();
    row(answer, (State::Unusable, SessionExit::MaxRetries), (CallStatus::InvalidResponse, Cost::Billed)).await;
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_no_missing_model() {
    let answer = |_| Say::text("I can't help with that.").stop(StopReason::Refusal).usage(900, 9).into();
    row(answer, (State::Unusable, SessionExit::ModelError), (CallStatus::ModelError, Cost::Billed)).await;
}

#[tokio::test]
async fn a_content_filter() {
    let answer = |_| Say::text("The").stop(StopReason::ContentFilter).usage(900, 1).into();
    row(answer, (State::Unusable, SessionExit::ModelError), (CallStatus::ModelError, Cost::Billed)).await;
}

#[tokio::test]
async fn a_reply_cut_at_the_output_limit() {
    let answer = |_| {
        Say::call("write_file", json!({"path": "calc.py", "content": "def add"}))
            .stop(StopReason::Length)
            .usage(900, 4_096)
            .into()
    };
    row(answer, (State::Unusable, SessionExit::MaxRetries), (CallStatus::InvalidResponse, Cost::Billed)).await;
}

#[tokio::test]
async fn usage_missing() {
    for target in [CLAUDE, GPT, GEMINI] {
        let server = ModelServer::serving_with(priced(), [report().without_usage().into()]);
        let (end, receipts) = Bench::new(&[target]).converse(&server).await;
        assert_eq!((state(&end), end.exit), (State::Done, SessionExit::FinalAnswer), "{target}");
        assert_eq!((receipts[0].status, receipts[0].usage), (CallStatus::Ok, None), "{target}");
        assert_eq!(receipts[0].unknown_cost, receipts[0].reserved, "{target}: what is not known is booked in full");
        server.finish();
    }
}

/// A first reply that is odd in one call; the model is told, goes on and reports.
async fn odd_call(odd: impl Fn(&Request) -> Say, told: &[&str]) {
    for target in [CLAUDE, GPT, GEMINI] {
        let odd = odd_for(&odd, target);
        let server = ModelServer::serving_with(priced(), [odd.into(), report().usage(1_000, 30).into()]);
        let bench = Bench::new(&[target]);
        let (end, receipts) = bench.converse(&server).await;
        assert_eq!((state(&end), end.exit, end.turns), (State::Done, SessionExit::FinalAnswer, 2), "{target}: {end:?}");
        let answer = server.requests()[1].tool_results()[0].content.clone();
        assert!(told.iter().all(|part| answer.contains(part)), "{target}: {answer}");
        assert_eq!(std::fs::read_to_string(bench.calc()).unwrap(), CALC, "{target}");
        assert!(receipts.iter().all(|receipt| receipt.status == CallStatus::Ok), "{target}");
        assert_eq!(server.finish(), end.cost.total(), "{target}");
    }
}

/// The reply for a target's vendor, without a request at hand.
fn odd_for(odd: &impl Fn(&Request) -> Say, target: &str) -> Say {
    let vendor = match target {
        CLAUDE => Vendor::Anthropic,
        GPT => Vendor::OpenAi,
        _ => Vendor::Gemini,
    };
    odd(&Request {
        number: 0,
        vendor,
        path: String::new(),
        headers: Vec::new(),
        raw: Vec::new(),
        body: serde_json::Value::Null,
        model: target.to_owned(),
        stream: true,
    })
}

#[tokio::test]
async fn broken_arguments() {
    let odd = |request: &Request| {
        // Gemini sends arguments as an object: what it can break is their type.
        let broken = if request.vendor == Vendor::Gemini { "\"{\\\"path\"" } else { "{\"path" };
        Say::text("").and_raw_call("edit_file", broken).usage(900, 20)
    };
    odd_call(odd, &["edit_file(path, old_text, new_text)"]).await;
}

#[tokio::test]
async fn missing_arguments() {
    odd_call(|_| Say::call("edit_file", json!({"path": "calc.py"})).usage(900, 20), &["`old_text` is missing"]).await;
}

#[tokio::test]
async fn an_unknown_tool() {
    odd_call(|_| Say::call("shell", json!({"cmd": "rm -rf /"})).usage(900, 20), &["no tool `shell`", "edit_file"])
        .await;
}

/// The last turn has the tools of all others, byte for byte, and forces none: vendors bind caches and thinking to them.
#[tokio::test]
async fn the_last_turn_asks_for_the_report_in_words_and_leaves_the_tools_as_they_were() {
    for target in [CLAUDE, GPT, GEMINI] {
        let server = ModelServer::start_with(priced(), four_turns);
        let mut bench = Bench::new(&[target]);
        bench.limits.max_turns = 4;
        let (end, receipts) = bench.converse(&server).await;
        assert_eq!((state(&end), end.exit), (State::Done, SessionExit::MaxTurnsWithResponse), "{target}: {end:?}");
        let requests = server.requests();
        assert_eq!((requests.len(), receipts.len()), (4, 4), "{target}");
        let last = &requests[3];
        assert!(last.all_text().contains("This is your last turn. Call final_report now"), "{target}");
        assert!(requests.iter().all(|request| request.body["tools"] == last.body["tools"]), "{target}");
        for field in ["tool_choice", "toolConfig"] {
            assert!(last.body[field].is_null(), "{target}: {field}");
        }
        assert_eq!(server.finish(), end.cost.total(), "{target}");
    }
}

/// A model that goes on working in its last turn is told once more, and nothing of it is carried out.
#[tokio::test]
async fn another_tool_in_the_last_turn_is_not_answered_and_the_report_is_asked_for_again() {
    let mut asked = 0;
    let server = ModelServer::start_with(priced(), move |_: &Request| -> Scripted {
        asked += 1;
        match asked {
            1 => Say::call("write_file", json!({ "path": "late.py", "content": "" })).usage(900, 20).into(),
            _ => Say::call("final_report", json!({ "summary": "done", "status": "done" })).usage(900, 20).into(),
        }
    });
    let mut bench = Bench::new(&[CLAUDE]);
    bench.limits.max_turns = 1;
    let (end, _) = bench.converse(&server).await;
    assert_eq!((state(&end), end.exit), (State::Done, SessionExit::MaxTurnsWithResponse), "{end:?}");
    assert!(end.wrote.is_empty(), "{:?}", end.wrote);
    server.finish();
}
