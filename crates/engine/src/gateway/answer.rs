//! An answer on its way back: the vendor's bytes as they come, counted while they pass.
//!
//! Invariant: the call is settled before its last byte goes on, so that a client's next call finds the cap as it is. When the client hangs
//! up, the call is settled at the counts known by then.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, SizeHint};

use super::ledger::{OpenCall, Outcome};
use crate::domain::receipt::CallStatus;
use crate::model::meter::{Head, Meter, Metered, Spoken};
use crate::model::relay::{self, Passing, Relay};
use crate::policy::budget::Billing;

/// Headers of a vendor's answer that are about one connection, or that set the client's state at the vendor.
const NOT_PASSED: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "set-cookie",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// An answer of the gateway: words of its own, or a vendor's bytes.
pub(super) type Answer = Response<Either<Full<Bytes>, Passed>>;

/// A vendor's answer that the network cut. The client sees its own connection cut.
#[derive(Debug, thiserror::Error)]
#[error("the vendor's answer was cut: {0}")]
pub(super) struct Cut(String);

/// A vendor's answer on its way.
#[derive(Debug)]
pub(super) struct Passed {
    body: relay::Body,
    /// The bytes that are still to come, where the vendor said how long the answer is.
    left: Option<u64>,
    count: Option<Count>,
}

/// Counts an answer and settles its call.
#[derive(Debug)]
struct Count {
    meter: Meter,
    call: OpenCall,
    relay: Arc<Relay>,
    status: u16,
    headers: HeaderMap,
}

/// How an answer ended.
#[derive(Debug)]
enum End {
    /// By itself.
    Whole,
    /// The vendor's connection broke.
    Cut(String),
    /// The client hung up.
    HungUp,
}

/// Makes the answer to a client of a vendor's, which settles `call`. Without a call nothing is counted (the length of a prompt costs
/// nothing).
pub(super) fn pass(passing: Passing, spoken: Spoken, call: Option<OpenCall>, relay: &Arc<Relay>) -> Answer {
    let Passing { status, headers, body } = passing;
    let word = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // With it the last byte is known as the last one when it comes.
    let left = word(&CONTENT_LENGTH).parse().ok();
    let count = call.map(|call| {
        let head = Head { status, content_type: word(&CONTENT_TYPE), encoding: word(&CONTENT_ENCODING) };
        let meter = Meter::new(spoken, head);
        Count { meter, call, relay: Arc::clone(relay), status, headers: headers.clone() }
    });
    let mut answer = Response::new(Either::Right(Passed { body, left, count }));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kept = headers.iter().filter(|(name, _)| !NOT_PASSED.contains(&name.as_str()));
    answer.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    answer
}

impl Passed {
    fn end(&mut self, end: &End) {
        if let Some(count) = self.count.take() {
            count.settle(end);
        }
    }

    fn take(&mut self, bytes: &Bytes) {
        if let Some(count) = &mut self.count {
            count.meter.push(bytes);
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes.len() as u64);
        }
        // Before the last byte goes on: the client's next call must find the cap as it is.
        if self.left == Some(0) {
            self.end(&End::Whole);
        }
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Poll::Ready(next) = self.body.poll_next(context) else { return Poll::Pending };
        Poll::Ready(match next {
            Some(Ok(bytes)) => {
                self.take(&bytes);
                Some(Ok(Frame::data(bytes)))
            }
            Some(Err(what)) => {
                self.end(&End::Cut(what.clone()));
                Some(Err(Cut(what)))
            }
            None => {
                self.end(&End::Whole);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        self.end(&End::HungUp);
    }
}

impl Count {
    fn settle(self, end: &End) {
        let Self { meter, call, relay, status, headers } = self;
        let metered = meter.finish();
        call.settle(outcome(&relay, status, &headers, metered, end));
    }
}

fn outcome(relay: &Relay, status: u16, headers: &HeaderMap, metered: Metered, end: &End) -> Outcome {
    let Metered { usage, bill, billed_model, complete, error } = metered;
    if let Some(error) = error.filter(|_| !complete) {
        let failure = relay.failure(status, headers, &error);
        // An error inside an answer: the prompt may have been read.
        let possible = failure.may_be_billed || status == 200;
        let billing = if possible { Billing::Possible } else { Billing::Impossible };
        return Outcome { status: failure.status, usage, bill, billed_model, billing, error: Some(failure.message) };
    }
    let (call_status, why) = match end {
        // All that counts had come, whoever hung up behind it.
        _ if complete => (CallStatus::Ok, None),
        End::Whole if status == 200 && usage.is_some() && !bill.is_open => (CallStatus::Ok, None),
        End::Whole => (CallStatus::InvalidResponse, Some("the answer does not say what it used".to_owned())),
        End::Cut(what) => (CallStatus::NetworkError, Some(format!("the vendor's answer was cut: {what}"))),
        End::HungUp => (CallStatus::Aborted, Some("the client disconnected before the answer was complete".to_owned())),
    };
    Outcome { status: call_status, usage, bill, billed_model, billing: Billing::Possible, error: why }
}
