//! A call's way: who asks, what for, what it may cost, and on to the vendor.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::rc::Rc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING};
use http::{HeaderMap, Method as HttpMethod, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use super::answer::{self, Answer};
use super::ledger::{Ledger, OpenCall, Order, Outcome};
use super::price::Surcharge;
use super::refusal::{self, Why};
use super::route::{Route, key_in, query_without_key, route};
use super::wait::wait_before_next;
use super::wire::{self, Body};
use super::{Gateway, Lane, Purpose, Token};
use crate::domain::bill::Bill;
use crate::domain::catalogue::ModelInfo;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;
use crate::model::CallFailure;
use crate::model::meter::Spoken;
use crate::model::relay::{Method, Passed, Passing};
use crate::policy::budget::{Billing, MAX_REPLY_TOKENS, VENDOR_OVERHEAD_TOKENS};
use crate::redact::Redactor;

/// The largest body that is read, as sent and unpacked: what the vendors take at most.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// The handler of calls to a gateway.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) gateway: Rc<Gateway>,
    pub(super) ledger: Rc<Ledger>,
    /// The wires whose servers know no service tiers.
    tierless: Rc<RefCell<BTreeSet<Spoken>>>,
}

/// Why a call is not made.
struct Refused {
    why: Why,
    message: String,
}

impl Refused {
    fn request(message: impl Into<String>) -> Self {
        Self { why: Why::Request, message: message.into() }
    }
}

/// A request that was read and may go on.
struct Prepared {
    body: Body,
    /// The bytes as they came, where nothing in them was changed.
    bytes: Bytes,
    changed: bool,
    /// Whether the vendor is asked for its ordinary service tier in our name.
    asks_tier: bool,
    target: ModelId,
    info: ModelInfo,
    purpose: Purpose,
}

impl Handler {
    pub(super) fn new(gateway: Gateway, ledger: &Rc<Ledger>) -> Self {
        Self { gateway: Rc::new(gateway), ledger: Rc::clone(ledger), tierless: Rc::default() }
    }

    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (head, incoming) = request.into_parts();
        // First, so that without the key nobody learns even which paths are served.
        if !self.gateway.token.opens(&head.headers, head.uri.query()) {
            return ours(refusal::plain(StatusCode::UNAUTHORIZED, "upshift: the key is not this session's"));
        }
        let Some(route) = Some(head.uri.path()).filter(|_| head.method == HttpMethod::POST).and_then(route) else {
            return ours(refusal::plain(StatusCode::NOT_FOUND, "upshift: this gateway serves only model calls"));
        };
        let spoken = route.spoken;
        match self.serve(route, &head.headers, head.uri.query(), incoming).await {
            Ok(answer) => answer,
            Err(Refused { why, message }) => {
                if why == Why::Request {
                    self.ledger.warn(&format!("A call was refused: {message}"));
                }
                ours(refusal::answer(spoken, why, &message))
            }
        }
    }

    /// Whether a side call met a limit that is not the session's own model's. Its client would try again for ever at the vendor's answer.
    fn is_limited_side(&self, failure: &CallFailure, order: &Order) -> bool {
        let is_own = self.gateway.pin.as_ref().is_some_and(|pin| pin.main == order.target);
        failure.status == CallStatus::RateLimited && order.purpose == Purpose::Side && !is_own
    }

    async fn serve(
        &self,
        route: Route,
        headers: &HeaderMap,
        query: Option<&str>,
        incoming: Incoming,
    ) -> Result<Answer, Refused> {
        let spoken = route.spoken;
        let lane = self.lane(spoken)?;
        let bytes = read(headers, incoming).await?;
        loop {
            // From the client's own bytes each time: the second time no tier is asked for.
            let prepared = self.prepare(&route, lane, bytes.clone())?;
            if let Some(answer) = self.pass_on(&route, lane, headers, query, prepared).await? {
                return Ok(answer);
            }
            // Where there are no tiers none is dearer.
            self.tierless.borrow_mut().insert(spoken);
        }
    }

    /// Passes a request on and brings the answer. `None` where the server does not know the service tier that we ask for.
    async fn pass_on(
        &self,
        route: &Route,
        lane: &Lane,
        headers: &HeaderMap,
        query: Option<&str>,
        prepared: Prepared,
    ) -> Result<Option<Answer>, Refused> {
        let (spoken, asks_tier) = (route.spoken, prepared.asks_tier);
        let (query, model) = (query_without_key(query), prepared.target.model.clone());
        let mut passed =
            Passed { method: route.method, model: &model, query: query.as_deref(), headers, body: Vec::new() };
        // Counting costs nothing, so nothing is reserved.
        if route.method == Method::CountTokens {
            passed.body = self.cleaned(prepared.written());
            let passing = lane.relay.pass(passed).await.map_err(|failure| unreached(&failure))?;
            return Ok(Some(answer::pass(passing, spoken, None, &lane.relay)));
        }
        let (mut order, asked) = prepared.order(spoken);
        let mut call = self.reserve(order.clone()).await?;
        let body = self.cleaned(prepared.limited(spoken, asked, call.max_output, lane.relay.limit_field()));
        // Asked again for as much as the body allows, no more.
        order.wanted = call.max_output;
        // It ends by itself, since after a few tries no wait is left.
        for tries in 0.. {
            passed.body.clone_from(&body);
            let Passed { method, model, query, headers, .. } = passed;
            let again = Passed { method, model, query, headers, body: Vec::new() };
            let mut passing = match lane.relay.pass(std::mem::replace(&mut passed, again)).await {
                Ok(passing) => passing,
                Err(failure) => {
                    let refused = unreached(&failure);
                    call.settle(failed(failure));
                    return Err(refused);
                }
            };
            if asks_tier && let Some(failure) = knows_no_tier(&mut passing, lane).await {
                call.settle(failed(failure));
                return Ok(None);
            }
            let failure = self.failure_of(&mut passing, lane).await;
            let wait = failure.as_ref().and_then(|failure| self.wait_before_next(failure, tries, order.purpose));
            if wait.is_none()
                && let Some(failure) = failure.as_ref().filter(|failure| self.is_limited_side(failure, &order))
            {
                let message =
                    format!("upshift: this side call was not made, its model cannot be asked now: {}", failure.message);
                call.settle(failed(failure.clone()));
                return Err(Refused { why: Why::Request, message });
            }
            let Some((failure, wait)) = failure.zip(wait) else {
                return Ok(Some(answer::pass(passing, spoken, Some(call), &lane.relay)));
            };
            call.settle(failed(failure));
            // The vendor's connection is not held open over the pause.
            drop(passing);
            self.ledger.pause(wait).await;
            call = self.reserve(order.clone()).await?;
            // The body allows a longer reply than is reserved by now.
            if call.max_output < order.wanted {
                call.settle(unsent());
                return Err(Refused {
                    why: Why::Cap,
                    message: "upshift: the cost cap is being used up by others".to_owned(),
                });
            }
        }
        Err(Refused::request("upshift: the vendor does not answer"))
    }

    async fn reserve(&self, order: Order) -> Result<OpenCall, Refused> {
        self.ledger.reserve(order).await.map_err(|message| Refused { why: Why::Cap, message })
    }

    /// The failure that an answer stands for, where limits are waited for: some vendors say in the body alone how long one lasts, or
    /// that no waiting helps.
    async fn failure_of(&self, passing: &mut Passing, lane: &Lane) -> Option<CallFailure> {
        if !self.gateway.waits || passing.status < 400 {
            return None;
        }
        let said = passing.opening().await;
        Some(lane.relay.failure(passing.status, &passing.headers, &said))
    }

    /// The wait before a limited vendor is asked again, in milliseconds. `None` where its answer goes on as it is. Where that is a limit
    /// that was waited for in vain, the session is told so.
    fn wait_before_next(&self, failure: &CallFailure, tries: u32, purpose: Purpose) -> Option<u64> {
        if failure.status != CallStatus::RateLimited {
            return None;
        }
        let wait = wait_before_next(tries, failure.retry_after_ms);
        // A title is not worth the session.
        if wait.is_none() && purpose == Purpose::Main {
            self.ledger.give_up(failure.retry_after_ms);
        }
        wait
    }

    /// A body without the secrets that are known.
    fn cleaned(&self, body: Vec<u8>) -> Vec<u8> {
        let Some(redactor) = &self.gateway.clean else { return body };
        let is_clean = std::str::from_utf8(&body).is_ok_and(|text| matches!(redactor.redact(text), Cow::Borrowed(_)));
        match serde_json::from_slice::<Value>(&body) {
            // A clean body goes on as its client wrote it, numbers and spaces included.
            Ok(mut value) if !is_clean => {
                clean(&mut value, redactor);
                serde_json::to_vec(&value).unwrap_or_default()
            }
            Ok(_) | Err(_) => body,
        }
    }

    fn lane(&self, spoken: Spoken) -> Result<&Lane, Refused> {
        self.gateway.lanes.get(&spoken).ok_or_else(|| {
            let variable = match spoken {
                Spoken::Messages => "ANTHROPIC_API_KEY",
                Spoken::Responses | Spoken::Chat => "OPENAI_API_KEY",
                Spoken::Generate => "GEMINI_API_KEY",
            };
            Refused::request(format!("upshift has no key for this vendor → Fix: start it with {variable} set"))
        })
    }

    /// Reads what is asked, and refuses what cannot be held to a cap.
    fn prepare(&self, route: &Route, lane: &Lane, bytes: Bytes) -> Result<Prepared, Refused> {
        let spoken = route.spoken;
        let Ok(Value::Object(mut body)) = serde_json::from_slice(&bytes) else {
            return Err(Refused::request("upshift: the body is not a JSON object"));
        };
        let named = match &route.model {
            Some(named) => named.clone(),
            None => body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        };
        if named.is_empty() {
            return Err(Refused::request("upshift: the request names no model"));
        }
        wire::unbounded(spoken, &body).map_err(|unbounded| Refused::request(unbounded.to_string()))?;
        let (target, purpose) = self.gateway.target(&lane.provider, &named).map_err(|pinned| {
            Refused::request(format!(
                "upshift: this session may use only the model {pinned}, which this API cannot reach"
            ))
        })?;
        let offers_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
        // Without a pin only the model and its tools tell what a call is for.
        let purpose = purpose.unwrap_or_else(|| self.ledger.purpose(&named, offers_tools));
        let info = self.gateway.info(&target).filter(|info| info.price.is_some()).ok_or_else(|| {
            Refused::request(format!(
                "upshift: `{target}` has no known price, so its calls cannot be kept under a cost cap → Fix: price it under `models` in \
                 .github/upshift.yml, or give the session another model with --model"
            ))
        })?;
        let (mut changed, mut asks_tier) = (false, false);
        // Where the path names the model, the relay writes the path anew.
        if route.model.is_none() && named != target.model {
            body.insert("model".to_owned(), target.model.clone().into());
            changed = true;
        }
        if route.method != Method::CountTokens {
            changed |= wire::ask_for_counts(spoken, &mut body);
            let has_tiers = !self.tierless.borrow().contains(&spoken);
            asks_tier = has_tiers && wire::ask_for_ordinary_tier(spoken, &lane.provider, &mut body);
            changed |= asks_tier;
        }
        Ok(Prepared { body, bytes, changed, asks_tier, target, info, purpose })
    }
}

impl Prepared {
    /// The order to reserve, and the reply's limit that the client asked for.
    fn order(&self, spoken: Spoken) -> (Order, Option<u64>) {
        let asked = wire::limit(spoken, &self.body);
        let wanted = asked.unwrap_or(MAX_REPLY_TOKENS).min(self.info.max_output_tokens).max(1);
        // A limit of ours makes the body longer than it came: a line, at most.
        const OUR_FIELDS: u64 = 256;
        // No token is shorter than a byte, so the bytes bound the prompt.
        let prompt_tokens = (self.bytes.len() as u64)
            .saturating_add(OUR_FIELDS)
            .saturating_add(VENDOR_OVERHEAD_TOKENS)
            .saturating_add(wire::extra_tokens(spoken, &self.body));
        let order = Order {
            target: self.target.clone(),
            info: self.info.clone(),
            surcharge: Surcharge::of_cache(wire::caches_for_an_hour(spoken, &self.body)),
            prompt_tokens,
            wanted,
            purpose: self.purpose,
        };
        (order, asked)
    }

    /// The body with the limit that was reserved.
    fn limited(mut self, spoken: Spoken, asked: Option<u64>, granted: u64, field: &str) -> Vec<u8> {
        if asked != Some(granted) {
            wire::set_limit(spoken, &mut self.body, granted, field);
            self.changed = true;
        }
        self.written()
    }

    fn written(self) -> Vec<u8> {
        if self.changed { serde_json::to_vec(&self.body).unwrap_or_default() } else { self.bytes.to_vec() }
    }
}

impl Token {
    /// Whether a request brings the word, in any of the places where clients put a key.
    fn opens(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = said(AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, word) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| word.trim())
        });
        let places = [said("x-api-key"), said("x-goog-api-key"), bearer, key_in(query)];
        places.into_iter().flatten().any(|word| self.is(word))
    }
}

/// Reads a body, unpacked.
async fn read(headers: &HeaderMap, incoming: Incoming) -> Result<Bytes, Refused> {
    let too_large = || Refused::request(format!("upshift: the body is larger than {MAX_BODY} bytes"));
    let bytes = Limited::new(incoming, MAX_BODY).collect().await.map_err(|_error| too_large())?.to_bytes();
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(bytes),
        "gzip" | "x-gzip" => {
            let mut plain = Vec::new();
            let unpacked =
                // One byte more than is taken: that tells a body that would unpack without end.
                flate2::read::MultiGzDecoder::new(bytes.as_ref()).take(MAX_BODY as u64 + 1).read_to_end(&mut plain);
            unpacked.map_err(|error| Refused::request(format!("upshift: the body is not gzip: {error}")))?;
            if plain.len() > MAX_BODY { Err(too_large()) } else { Ok(plain.into()) }
        }
        other => Err(Refused::request(format!(
            "upshift: bodies compressed with `{other}` are not supported; send them uncompressed"
        ))),
    }
}

/// Takes secrets out of every text of a value, so that it stays the JSON that it was.
fn clean(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, redactor)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean(field, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn unreached(failure: &CallFailure) -> Refused {
    Refused { why: Why::Vendor, message: format!("upshift: {}", failure.message) }
}

/// The failure of an answer that complains of the service tier: a server that speaks like a vendor and is none.
async fn knows_no_tier(passing: &mut Passing, lane: &Lane) -> Option<CallFailure> {
    if !matches!(passing.status, 400 | 422) {
        return None;
    }
    let said = passing.opening().await;
    let complains = String::from_utf8_lossy(&said).contains("service_tier");
    complains.then(|| lane.relay.failure(passing.status, &passing.headers, &said))
}

/// A call that was set aside and not made.
fn unsent() -> Outcome {
    Outcome {
        status: CallStatus::Aborted,
        usage: None,
        bill: Bill::default(),
        billed_model: None,
        billing: Billing::Impossible,
        error: None,
    }
}

fn failed(failure: CallFailure) -> Outcome {
    Outcome {
        status: failure.status,
        usage: failure.usage,
        bill: *failure.bill,
        billed_model: None,
        billing: if failure.may_be_billed { Billing::Possible } else { Billing::Impossible },
        error: Some(failure.message),
    }
}

fn ours(response: Response<Full<Bytes>>) -> Answer {
    response.map(Either::Left)
}
