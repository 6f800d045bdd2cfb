//! Answers to a client in the gateway's own name, in the shape of its wire.
//!
//! The statuses are those at which the six agents of AGENTS.md give up after one call instead of trying again, or of paying for a
//! compaction: never 401, 403, 429 or 5xx at the cap, and no word of a context that overflows.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::model::meter::Spoken;

/// The code of a refusal at the cap on the wires that have codes.
const CODE: &str = "upshift_budget";

/// Why the gateway itself answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The cap is reached.
    Cap,
    /// The request cannot be held to a cap, or is none.
    Request,
    /// The vendor did not answer.
    Vendor,
}

/// The status for a wire.
fn status(spoken: Spoken, why: Why) -> StatusCode {
    match (why, spoken) {
        // codex takes 402 for a reason to try six times more.
        (Why::Cap, Spoken::Responses) | (Why::Request, _) => StatusCode::BAD_REQUEST,
        // At 402 the agents on these wires give up after one call.
        (Why::Cap, Spoken::Messages | Spoken::Chat | Spoken::Generate) => StatusCode::PAYMENT_REQUIRED,
        (Why::Vendor, _) => StatusCode::BAD_GATEWAY,
    }
}

/// An answer of ours to a call.
pub(super) fn answer(spoken: Spoken, why: Why, message: &str) -> Response<Full<Bytes>> {
    let status = status(spoken, why);
    respond(status, &body(spoken, why, status, message))
}

/// An answer to what is no call: a wrong token, an unknown path.
pub(super) fn plain(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    respond(status, &json!({"error": {"message": message, "type": "upshift_gateway"}}))
}

fn body(spoken: Spoken, why: Why, status: StatusCode, message: &str) -> Value {
    match spoken {
        Spoken::Messages => {
            let kind = match why {
                Why::Cap => "billing_error",
                Why::Request => "invalid_request_error",
                Why::Vendor => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Spoken::Responses | Spoken::Chat => {
            let (kind, code) = match why {
                Why::Cap => ("invalid_request_error", Some(CODE)),
                Why::Request => ("invalid_request_error", None),
                Why::Vendor => ("server_error", None),
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Spoken::Generate => {
            let word = match why {
                Why::Cap => "FAILED_PRECONDITION",
                Why::Request => "INVALID_ARGUMENT",
                Why::Vendor => "UNAVAILABLE",
            };
            json!({"error": {"code": status.as_u16(), "message": message, "status": word}})
        }
    }
}

fn respond(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status.is_client_error() {
        // The clients of Anthropic and OpenAI obey it.
        headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_cap_each_wire_gets_the_status_at_which_its_agents_give_up() {
        for (spoken, expected) in
            [(Spoken::Messages, 402), (Spoken::Chat, 402), (Spoken::Generate, 402), (Spoken::Responses, 400)]
        {
            let response = answer(spoken, Why::Cap, "no more");
            assert_eq!(response.status().as_u16(), expected, "{spoken:?}");
            assert_eq!(response.headers().get("x-should-retry").unwrap(), "false");
        }
    }

    #[test]
    fn each_wire_gets_the_error_in_its_own_shape() {
        let body = |spoken| body(spoken, Why::Cap, status(spoken, Why::Cap), "no more");
        assert_eq!(body(Spoken::Messages).pointer("/error/type").unwrap(), "billing_error");
        assert_eq!(body(Spoken::Responses).pointer("/error/code").unwrap(), CODE);
        assert_eq!(body(Spoken::Chat).pointer("/error/code").unwrap(), CODE);
        assert_eq!(body(Spoken::Generate).pointer("/error/code").unwrap(), 402);
    }
}
