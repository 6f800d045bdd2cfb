//! Limits of time and size, and what ending a call does.

use std::time::{Duration, Instant};

use upshift::domain::receipt::CallStatus;
use upshift::model::endpoint::CallLimits;

use super::{WIRES, ask, provider, user, with_limits};
use crate::world::model_server::{ModelServer, Say, Scripted};

/// Short enough not to be waited for, long enough for a loaded machine to answer on loopback.
const SHORT: Duration = Duration::from_millis(80);

#[tokio::test]
async fn a_silent_vendor_is_a_timeout_that_may_have_cost() {
    // Gemini is not streamed and has no limit of silence but the whole call's.
    for (wire, model) in [WIRES[0], WIRES[1]] {
        let server = ModelServer::serving([Scripted::Hang]);
        let provider = with_limits(wire, &server, CallLimits { idle: SHORT, ..CallLimits::default() });
        let failure = provider.ask(&ask(model, vec![user("mend it")])).await.unwrap_err();
        assert_eq!(
            (failure.status, failure.retryable, failure.may_be_billed),
            (CallStatus::Timeout, true, true),
            "{wire:?}"
        );
        assert!(failure.message.contains("silent for 80 ms"), "{failure}");
        server.finish();
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_a_timeout_with_what_was_counted() {
    let reply = Say::text("a long text that stops somewhere in the middle").usage(90, 12);
    let server = ModelServer::serving([Scripted::Stall { reply, after: 900 }]);
    let provider = with_limits(WIRES[0].0, &server, CallLimits { idle: SHORT, ..CallLimits::default() });
    let failure = provider.ask(&ask(WIRES[0].1, vec![user("mend it")])).await.unwrap_err();
    assert_eq!(failure.status, CallStatus::Timeout);
    assert_eq!(failure.usage.map(|usage| usage.input), Some(90));
    server.finish();
}

#[tokio::test]
async fn the_whole_call_has_a_limit_too() {
    for (wire, model) in WIRES {
        let server = ModelServer::serving([Scripted::Stall { reply: Say::text("never to be ended"), after: 10 }]);
        let provider = with_limits(wire, &server, CallLimits { overall: SHORT, ..CallLimits::default() });
        let failure = provider.ask(&ask(model, vec![user("mend it")])).await.unwrap_err();
        assert_eq!(failure.status, CallStatus::Timeout, "{wire:?}");
        assert!(failure.message.contains("within 80 ms"), "{failure}");
        server.finish();
    }
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    for (wire, model) in WIRES {
        let server = ModelServer::serving([Say::text("x".repeat(100_000)).into()]);
        let provider = with_limits(wire, &server, CallLimits { answer_bytes: 10_000, ..CallLimits::default() });
        let failure = provider.ask(&ask(model, vec![user("mend it")])).await.unwrap_err();
        assert_eq!((failure.status, failure.may_be_billed), (CallStatus::InvalidResponse, true), "{wire:?}");
        assert!(failure.message.contains("larger than 10000 bytes"), "{failure}");
        server.finish();
    }
}

#[tokio::test]
async fn dropping_the_call_ends_it_at_once() {
    for (wire, model) in WIRES {
        let server = ModelServer::serving([Scripted::Hang]);
        let provider = provider(wire, &server);
        let request = ask(model, vec![user("mend it")]);
        let began = Instant::now();
        let ended = tokio::time::timeout(SHORT, provider.ask(&request)).await;
        assert!(ended.is_err() && began.elapsed() < Duration::from_secs(5), "{wire:?}");
        server.finish();
    }
}
