//! A server's answer about a model that it holds (`POST /api/show`), and its consequences for the window that the model is loaded with.
//!
//! Invariant: a window is never larger than the server says that the model was made for, whatever configuration wishes: the server
//! would lower it and say so in its own log alone (`llm/server.go` of v0.33.2).

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use crate::domain::catalogue::{ModelFacts, ModelInfo};
use crate::domain::clock::Clock;
use crate::domain::model_id::ModelId;
use crate::http::Http;
use crate::model::CallFailure;
use crate::model::catalogue::{LOCAL_CONTEXT_WINDOW, vendor_spelling};
use crate::model::channel::Channel;
use crate::model::endpoint::{CallLimits, Endpoint};

use super::{advice, below, root_of};

/// The question, for people.
pub(in crate::model) const SHOW: &str = "POST /api/show";
/// The share of a window that a reply may take.
const REPLY_SHARE: u64 = 4;
/// How long the answer may take: it is read from a disk.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

/// A server's answer about one of its models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// The tokens that the model was made for (`ARCHITECTURE.context_length`).
    pub context_length: Option<u64>,
    /// The window that whoever made it there has set (`PARAMETER num_ctx`).
    pub pinned: Option<u64>,
    /// Whether it can call tools. `None` from a server that does not say.
    pub tools: Option<bool>,
}

impl Served {
    fn of(answer: &Value) -> Self {
        let tokens = |value: &Value| value.as_u64().filter(|tokens| *tokens > 0);
        let about = answer.get("model_info");
        let architecture = about.and_then(|about| about.get("general.architecture")?.as_str());
        // The key begins with the model's architecture: `qwen3.context_length`.
        let key = format!("{}.context_length", architecture.unwrap_or_default());
        let parameters = answer.get("parameters").and_then(Value::as_str).unwrap_or_default();
        let mut pinned = parameters.lines().filter_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
        let capabilities = answer.get("capabilities").and_then(Value::as_array);
        Self {
            context_length: about.and_then(|about| about.get(&key)).and_then(tokens),
            // Of several the last counts, as in a Modelfile.
            pinned: pinned.next_back().filter(|tokens| *tokens > 0),
            tools: capabilities.map(|known| known.iter().any(|word| word == "tools")),
        }
    }

    /// The facts about the model once its server has spoken, and a notice for a person about them. Configuration may ask for less than the
    /// server has, and never for more.
    #[must_use]
    pub fn applied(&self, known: &ModelInfo) -> (ModelInfo, Option<String>) {
        let configured = known.is_configured();
        // A person's word before that of the model's maker, and that before ours.
        let wanted = match (configured, self.pinned) {
            (true, _) => known.context_window,
            (false, Some(pinned)) => pinned,
            (false, None) => LOCAL_CONTEXT_WINDOW.max(known.context_window),
        };
        let window = self.context_length.map_or(wanted, |most| wanted.min(most));
        let notice = (configured && window < wanted).then(|| {
            format!("a window of {wanted} tokens was set, its server has {window} at most: {window} are used")
        });
        // A server that has the tools does not overrule a configuration that wants none.
        let tools = self.tools.map_or(known.tools, |tools| tools && (known.tools || !configured));
        let info = ModelInfo {
            context_window: window,
            max_output_tokens: known.max_output_tokens.min(window / REPLY_SHARE).max(1),
            tools,
            source: if configured { known.source.clone() } else { format!("{SHOW} of its server") },
            price: known.price,
        };
        (info, notice)
    }
}

/// The answers of the servers.
#[derive(Debug, Default)]
pub struct Learnt {
    /// The facts that replace those of the catalogue.
    pub facts: ModelFacts,
    /// Notices for a person.
    pub notices: Vec<String>,
}

impl Learnt {
    /// Takes what a server says of a target.
    pub fn take(&mut self, target: &ModelId, known: &ModelInfo, served: &Served) {
        let (info, notice) = served.applied(known);
        self.facts.0.insert(target.clone(), info);
        self.notices.extend(notice.map(|notice| format!("{target}: {notice}")));
    }
}

/// Asks an endpoint for one of its models. It is free, and no model is loaded.
///
/// # Errors
/// The trouble, in a sentence with its `→ Fix:`.
pub async fn ask(endpoint: Endpoint, target: &ModelId, http: &Http, clock: Arc<dyn Clock>) -> Result<Served, String> {
    let limits = CallLimits { overall: PATIENCE, idle: PATIENCE, ..CallLimits::default() };
    let endpoint = Endpoint { limits, ..endpoint };
    let base = endpoint.parsed_base().map_err(|error| error.to_string())?;
    let channel = Channel::new(&endpoint, http, clock).map_err(|error| error.to_string())?;
    show(&channel, &base, vendor_spelling(target)).await.map_err(|failure| failure.to_string())
}

/// The same through a channel that is there.
pub(in crate::model) async fn show(channel: &Channel, base: &Url, name: &str) -> Result<Served, CallFailure> {
    let base = root_of(base.clone());
    let body = json!({ "model": name }).to_string().into_bytes();
    let asked = channel.question(Method::POST, below(&base, "/api/show"), channel.bearer_header(), Some(body)).await;
    asked.map(|answer| Served::of(&answer)).map_err(|failure| advice::advised(failure, &base, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(window: u64) -> ModelInfo {
        ModelInfo { context_window: window, max_output_tokens: 8_192, ..ModelInfo::unknown() }
    }

    #[test]
    fn an_answer_is_read_by_its_own_architecture() {
        let answer = json!({
            "parameters": "stop                           \"<|im_end|>\"\nnum_ctx                        40960",
            "model_info": {"general.architecture": "qwen3moe", "qwen3moe.context_length": 262_144, "clip.context_length": 77},
            "capabilities": ["completion", "tools"],
        });
        let served = Served { context_length: Some(262_144), pinned: Some(40_960), tools: Some(true) };
        assert_eq!(Served::of(&answer), served);
        assert_eq!(Served::of(&json!({})), Served::default(), "a server that says nothing");
    }

    #[test]
    fn the_servers_window_is_the_most_that_is_used() {
        let configured = |window| ModelInfo { source: known(window).configured_source(), ..known(window) };
        let says = |context_length, pinned| Served { context_length, pinned, tools: None };
        for (served, info, window, noticed) in [
            (says(Some(262_144), None), known(32_768), 32_768, false),
            (says(Some(262_144), None), known(8_000), 32_768, false),
            (says(Some(8_192), None), known(32_768), 8_192, false),
            (says(Some(262_144), Some(65_536)), known(32_768), 65_536, false),
            (says(Some(8_192), Some(65_536)), known(32_768), 8_192, false),
            (says(Some(262_144), Some(4_096)), configured(131_072), 131_072, false),
            (says(Some(40_960), None), configured(131_072), 40_960, true),
            (says(None, None), configured(131_072), 131_072, false),
        ] {
            let (found, notice) = served.applied(&info);
            assert_eq!((found.context_window, notice.is_some()), (window, noticed), "{served:?} over {info:?}");
            assert!(found.max_output_tokens <= window / REPLY_SHARE);
        }
    }

    #[test]
    fn tools_are_what_the_server_has_and_configuration_lets() {
        let says = |tools| Served { tools, ..Served::default() };
        let off = |info: ModelInfo| ModelInfo { tools: false, ..info };
        let configured = ModelInfo { source: known(1).configured_source(), ..known(1) };
        assert!(says(Some(true)).applied(&off(known(1))).0.tools, "the catalogue was wrong");
        assert!(!says(Some(false)).applied(&known(1)).0.tools);
        assert!(!says(Some(true)).applied(&off(configured.clone())).0.tools, "configuration says no");
        assert!(!says(Some(false)).applied(&configured).0.tools);
        assert!(says(None).applied(&known(1)).0.tools);
    }
}
