//! Free questions to a vendor: does the endpoint answer, does it take the key, does it know the model?
//!
//! Owns which question each vendor answers for nothing. Invariant: no model is called and nothing can be billed: every question
//! reads a list or an entry of it.
//!
//! | vendor | question | source (read 2026-11-23) |
//! |---|---|---|
//! | OpenAI and compatible | `GET /v1/models/{id}`, else `GET /v1/models` | npm `openai` 6.49.0 `resources/models` |
//! | Anthropic | `GET /v1/models/{id}` | npm `@anthropic-ai/sdk` 1.12.0 `resources/models` |
//! | Gemini | `GET /v1beta/models/{id}` | npm `@google/genai` 2.32.0 `models.get` |
//! | Ollama | `POST /api/show` | npm `ollama` 0.6.4 |
//! | OpenRouter | `GET /api/v1/key`, `GET /api/v1/models/{author}/{slug}/endpoints` | npm `@openrouter/sdk` 1.3.19 |
//! | Azure | `GET /openai/models?api-version=` | learn.microsoft.com, Azure OpenAI REST, Models - List |
//! | Groq | `GET /openai/v1/models/{id}` | npm `groq-sdk` 1.6.0 |
//! | Mistral | `GET /v1/models/{id}` | npm `@mistralai/mistralai` 2.7.0 |
//! | xAI | `GET /v1/models/{id}` | crate `api_xai` 0.5.1 |
//! | DeepSeek | `GET /models` | its API reference, "Lists Models" |

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::domain::clock::Clock;
use crate::domain::model_id::ModelId;
use crate::http::Http;

use super::anthropic::VERSION;
use super::channel::Channel;
use super::endpoint::{CallLimits, Endpoint, Wire, join};
use super::openai::AZURE_API_VERSION;
use super::{CallFailure, catalogue, ollama};

/// How long a question may take: lists come at once, and a person waits.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most names that are told of a list in which a model is missing.
const MOST_NAMES: usize = 5;

/// The proof that the answers give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The question that was answered, for people: `GET /v1/models/claude-haiku-4-5`.
    pub question: String,
    /// The part that no free question can tell. `None` when key, name and endpoint are proven.
    pub unproven: Option<&'static str>,
}

/// Asks an endpoint for a model of it.
///
/// # Errors
/// The trouble, in a sentence with its `→ Fix:`.
pub async fn prove(endpoint: Endpoint, target: &ModelId, http: &Http, clock: Arc<dyn Clock>) -> Result<Proof, String> {
    // A person waits for it, and a list is there at once or never.
    let limits = CallLimits { overall: PATIENCE, idle: PATIENCE, ..CallLimits::default() };
    let endpoint = Endpoint { limits, ..endpoint };
    let base = endpoint.parsed_base().map_err(|error| error.to_string())?;
    let channel = Channel::new(&endpoint, http, clock).map_err(|error| error.to_string())?;
    let name = catalogue::vendor_spelling(target);
    let probe = Probe { channel, base, name: name.to_string() };
    match (endpoint.wire, endpoint.name.as_str()) {
        (Wire::Anthropic, _) => probe.anthropic().await,
        (Wire::Gemini, _) => probe.gemini().await,
        (Wire::Ollama, _) => probe.ollama().await,
        (Wire::OpenAi, "openrouter") => probe.openrouter().await,
        (Wire::OpenAi, "azure") => probe.azure(endpoint.api_version.as_deref()).await,
        (Wire::OpenAi, _) => probe.compatible().await,
    }
}

struct Probe {
    channel: Channel,
    base: Url,
    /// The model as the vendor spells it.
    name: String,
}

impl Probe {
    async fn get(&self, url: Url, headers: HeaderMap) -> Result<(Value, String), CallFailure> {
        let question = format!("GET {}", url.path());
        Ok((self.channel.question(Method::GET, url, headers, None).await?, question))
    }

    async fn anthropic(&self) -> Result<Proof, String> {
        let mut headers = self.channel.key_header("x-api-key");
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        whole(self.get(below(join(&self.base, "v1", "models"), &[&self.name]), headers).await)
    }

    async fn gemini(&self) -> Result<Proof, String> {
        let headers = self.channel.key_header("x-goog-api-key");
        let url = match self.name.split_once('/') {
            Some((collection, rest)) => below(join(&self.base, "v1beta", collection), &[rest]),
            None => below(join(&self.base, "v1beta", "models"), &[&self.name]),
        };
        whole(self.get(url, headers).await)
    }

    async fn ollama(&self) -> Result<Proof, String> {
        let served =
            ollama::show(&self.channel, &self.base, &self.name).await.map_err(|failure| failure.to_string())?;
        let question = match served.context_length {
            Some(tokens) => format!("{}: a window of {tokens} tokens", ollama::SHOW),
            None => ollama::SHOW.to_owned(),
        };
        Ok(Proof { question, unproven: None })
    }

    /// The list of models is public, so the key is asked about by itself. The answer tells the rest of its limit.
    async fn openrouter(&self) -> Result<Proof, String> {
        let headers = || self.channel.bearer_header();
        let (key, _) =
            self.get(join(&self.base, "v1", "key"), headers()).await.map_err(|failure| failure.to_string())?;
        if key.pointer("/data/limit_remaining").and_then(Value::as_f64).is_some_and(|left| left <= 0.0) {
            return Err("the limit of the key is used up → Fix: raise it under openrouter.ai/settings/keys".to_owned());
        }
        // A variant (`:free`) is a way to be served, not a model of its own.
        let plain = self.name.split(':').next().unwrap_or(&self.name);
        let segments: Vec<&str> = plain.split('/').chain(["endpoints"]).collect();
        whole(self.get(below(join(&self.base, "v1", "models"), &segments), headers()).await)
    }

    /// Azure tells the names of its deployments to its management interface and to calls of a model alone.
    async fn azure(&self, api_version: Option<&str>) -> Result<Proof, String> {
        let mut url = self.base.clone();
        // This interface has no versions by date.
        if url.path().contains("/v1") {
            url = join(&url, "v1", "models");
        } else {
            let stem = url.path().trim_end_matches('/').trim_end_matches("/openai").to_owned();
            url.set_path(&format!("{stem}/openai/models"));
            let version = api_version.filter(|version| !version.trim().is_empty()).unwrap_or(AZURE_API_VERSION);
            url.query_pairs_mut().append_pair("api-version", version);
        }
        let proof = whole(self.get(url, self.channel.key_header("api-key")).await)?;
        Ok(Proof { unproven: Some("Azure has no free request that checks the name of a deployment"), ..proof })
    }

    /// Asks for the entry of the model. Servers that have none, or that know the name as an alias, have a list.
    async fn compatible(&self) -> Result<Proof, String> {
        let list = join(&without_method(&self.base), "v1", "models");
        let headers = || self.channel.bearer_header();
        // The entry first: a list may have thousands of models, or be cut into pages.
        let entry = match self.get(below(list.clone(), &[&self.name]), headers()).await {
            Err(failure) if is_unknown_path(&failure) => failure,
            asked => return whole(asked),
        };
        match self.get(list, headers()).await {
            Ok((answer, question)) => match entries(&answer) {
                Some(known) if known.iter().any(|model| model.is(&self.name)) => Ok(Proof { question, unproven: None }),
                Some(known) => Err(self.missing(&known)),
                // No list in a form that is known: the first answer says more.
                None => Err(entry.to_string()),
            },
            Err(failure) if is_unknown_path(&failure) => Ok(Proof {
                question: "the address answers".to_owned(),
                unproven: Some("this endpoint has no list of models, so only a call checks key and name"),
            }),
            Err(failure) => Err(failure.to_string()),
        }
    }

    fn missing(&self, known: &[Entry<'_>]) -> String {
        let names: Vec<&str> = known.iter().map(|entry| entry.id).take(MOST_NAMES).collect();
        let more = if known.len() > MOST_NAMES { ", …" } else { "" };
        let provider = &self.channel.blamed.provider;
        let names = self.channel.blamed.scrubber.clean(&names.join(", "));
        format!("{provider}: no model {} in its list ({names}{more}) → Fix: check the model's name", self.name)
    }
}

/// A model in a list.
struct Entry<'v> {
    id: &'v str,
    aliases: Vec<&'v str>,
}

impl Entry<'_> {
    fn is(&self, name: &str) -> bool {
        self.id == name || self.aliases.contains(&name)
    }
}

fn entries(answer: &Value) -> Option<Vec<Entry<'_>>> {
    let list = answer.get("data").unwrap_or(answer).as_array()?;
    Some(list.iter().filter_map(entry_of).collect())
}

fn entry_of(model: &Value) -> Option<Entry<'_>> {
    let aliases = model.get("aliases").and_then(Value::as_array);
    let aliases = aliases.into_iter().flatten().filter_map(Value::as_str).collect();
    Some(Entry { id: model.get("id")?.as_str()?, aliases })
}

fn whole(asked: Result<(Value, String), CallFailure>) -> Result<Proof, String> {
    let (_, question) = asked.map_err(|failure| failure.to_string())?;
    Ok(Proof { question, unproven: None })
}

fn is_unknown_path(failure: &CallFailure) -> bool {
    matches!(failure.http_status, Some(404 | 405 | 501))
}

/// Adds segments to a path, each escaped as one.
fn below(mut url: Url, segments: &[&str]) -> Url {
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// A base that was given with its method counts without it.
fn without_method(base: &Url) -> Url {
    let mut url = base.clone();
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").or_else(|| path.strip_suffix("/responses")).unwrap_or(path);
    let path = path.to_owned();
    url.set_path(&path);
    url
}
