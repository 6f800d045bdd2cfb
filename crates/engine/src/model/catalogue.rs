//! The catalogue of vendors and their models: endpoints, prices, windows, limits, default ladders.
//!
//! Owns `catalogue.json` (vendored, with source and date, and checked against the price table of the `litellm` package) and how a name
//! finds its entry. It knows nothing of configuration: overrides are applied by whoever resolves a plan.
//!
//! Invariant: a price is never guessed. A name that is not in the table, nor a dated or tagged form of one that is, has none.
//! Where a vendor charges more above a prompt size, the window stands at that size, so that the price here always holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::catalogue::{ModelInfo, Price};
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;

use super::endpoint::Wire;

static TEXT: &str = include_str!("catalogue.json");

/// The window in tokens that a local model is loaded with unless somebody says otherwise. It is Ollama's own choice on a machine with 24 to
/// 48 GiB of video memory (docs.ollama.com/context-length, read 2026-11-23). On a smaller one Ollama takes 4,096, too few for any repair.
pub const LOCAL_CONTEXT_WINDOW: u64 = 32_768;

/// A built-in provider's endpoint and the variables that customarily change it, first one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The wire it speaks.
    pub wire: Wire,
    /// The address where it is reached unless a variable says otherwise. Empty for Azure, which has none.
    pub default_base_url: &'static str,
    /// Variables that hold another base URL.
    pub base_url_vars: &'static [&'static str],
    /// Variables that hold the key. Empty where none is needed.
    pub key_vars: &'static [&'static str],
    /// Whether it runs on the user's own machine: costs nothing and needs no key.
    pub local: bool,
}

/// The endpoint of a built-in provider. `None` for any other name and for `cassette`, which has no endpoint.
#[must_use]
pub fn built_in_endpoint(provider: &str) -> Option<BuiltIn> {
    let remote = |wire, default_base_url, base_url_vars, key_vars| {
        Some(BuiltIn { wire, default_base_url, base_url_vars, key_vars, local: false })
    };
    match provider {
        "anthropic" => {
            remote(Wire::Anthropic, "https://api.anthropic.com", &["ANTHROPIC_BASE_URL"], &["ANTHROPIC_API_KEY"])
        }
        "openai" => {
            let urls = &["OPENAI_BASE_URL", "OPENAI_API_BASE"];
            remote(Wire::OpenAi, "https://api.openai.com/v1", urls, &["OPENAI_API_KEY"])
        }
        "gemini" => {
            let urls = &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"];
            let url = "https://generativelanguage.googleapis.com";
            remote(Wire::Gemini, url, urls, &["GEMINI_API_KEY", "GOOGLE_API_KEY"])
        }
        "azure" => {
            // Every resource has an address of its own.
            let urls = &["AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE", "AZURE_OPENAI_BASE_URL"];
            remote(Wire::OpenAi, "", urls, &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"])
        }
        "openrouter" => {
            remote(Wire::OpenAi, "https://openrouter.ai/api/v1", &["OPENROUTER_BASE_URL"], &["OPENROUTER_API_KEY"])
        }
        "groq" => remote(Wire::OpenAi, "https://api.groq.com/openai/v1", &["GROQ_BASE_URL"], &["GROQ_API_KEY"]),
        "mistral" => remote(Wire::OpenAi, "https://api.mistral.ai/v1", &["MISTRAL_BASE_URL"], &["MISTRAL_API_KEY"]),
        "deepseek" => {
            remote(Wire::OpenAi, "https://api.deepseek.com/v1", &["DEEPSEEK_BASE_URL"], &["DEEPSEEK_API_KEY"])
        }
        "xai" => remote(Wire::OpenAi, "https://api.x.ai/v1", &["XAI_BASE_URL"], &["XAI_API_KEY"]),
        "ollama" => Some(BuiltIn {
            wire: Wire::Ollama,
            default_base_url: "http://127.0.0.1:11434",
            base_url_vars: &["OLLAMA_HOST"],
            key_vars: &[],
            local: true,
        }),
        _ => None,
    }
}

/// The ladder in shorthand (DESIGN §2.2) for a user who named no model: cheap, middling, strong.
///
/// `None` where nothing can be known: Azure's names are the user's own, cassettes are files.
#[must_use]
pub fn default_ladder(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-haiku-5-5 x5 > claude-sonnet-5-5 x3 > claude-opus-5-5 x2 full"),
        "openai" => Some("gpt-6-luna x5 > gpt-6.1-terra x3 > gpt-6.1-sol x2 full"),
        "gemini" => Some("gemini-3.5-flash-lite x5 > gemini-3.8-flash x3 > gemini-4-argon x2 full"),
        "ollama" => Some("ollama/qwen3-coder x5"),
        "openrouter" => Some(
            "openrouter/anthropic/claude-haiku-4.5 x5 > openrouter/anthropic/claude-sonnet-4.6 x3 > \
             openrouter/anthropic/claude-opus-4.6 x2 full",
        ),
        "groq" => Some("groq/openai/gpt-oss-20b x5 > groq/openai/gpt-oss-120b x5 full"),
        "mistral" => Some(
            "mistral/devstral-small-latest x5 > mistral/devstral-latest x3 > mistral/mistral-medium-latest x2 full",
        ),
        "deepseek" => Some("deepseek/deepseek-v4-flash x5 > deepseek/deepseek-v4-pro x5 full"),
        "xai" => Some("xai/grok-build-0.1 x5 > xai/grok-4.7 x5 full"),
        _ => None,
    }
}

/// How a model is told to think harder, if it can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EffortSetting {
    /// Not at all.
    #[default]
    None,
    /// A number of thinking tokens.
    Budget,
    /// Anthropic's adaptive thinking with an effort word.
    Adaptive,
    /// Gemini's thinking level.
    Level,
    /// OpenAI's `reasoning_effort`.
    Named,
}

/// Facts about a model that a wire needs beyond its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WireHints {
    /// How effort is set.
    pub(super) effort: EffortSetting,
    /// Whether it takes a sampling temperature.
    pub(super) temperature: bool,
    /// Whether its vendor takes tools for it through the Responses API alone.
    pub(super) responses: bool,
}

/// The file as far as it is read before somebody asks for a vendor: a command asks for one or two of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    date: &'static str,
    #[serde(borrow)]
    vendors: BTreeMap<&'static str, Unread>,
}

/// A vendor whose part of the file is parsed when it is asked for.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Unread {
    #[serde(borrow)]
    text: &'static RawValue,
    #[serde(skip)]
    vendor: OnceLock<Option<Vendor>>,
}

impl Catalogue {
    fn vendor(&'static self, name: &str) -> Option<&'static Vendor> {
        let unread = self.vendors.get(name)?;
        // As below: no failure reaches a user.
        unread.vendor.get_or_init(|| serde_json::from_str(unread.text.get()).ok()).as_ref()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vendor {
    source: String,
    /// Where the ends of its models are said.
    #[serde(default)]
    ends_source: String,
    models: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    context_window: u64,
    max_output_tokens: u64,
    #[serde(default)]
    input: Option<f64>,
    #[serde(default)]
    output: Option<f64>,
    #[serde(default)]
    cache_read: Option<f64>,
    #[serde(default)]
    cache_write: Option<f64>,
    #[serde(default = "yes")]
    tools: bool,
    #[serde(default)]
    effort: EffortSetting,
    #[serde(default = "yes")]
    temperature: bool,
    #[serde(default)]
    responses: bool,
    #[serde(default)]
    ends: Option<String>,
    #[serde(default)]
    instead: Option<String>,
}

const fn yes() -> bool {
    true
}

impl Entry {
    /// The price. Kinds without one of their own cost the same as plain input.
    fn price(&self) -> Option<Price> {
        let micros = |usd: f64| MicroUsd::from_usd(usd).map(|amount| amount.0);
        // Without both prices there is none at all, as half a price would be a guess.
        let input = micros(self.input?)?;
        Some(Price {
            input,
            output: micros(self.output?)?,
            cache_read: self.cache_read.and_then(micros).unwrap_or(input),
            cache_write: self.cache_write.and_then(micros).unwrap_or(input),
        })
    }
}

/// The file. It is read once, when the first model is looked up.
fn catalogue() -> &'static Catalogue {
    static PARSED: OnceLock<Catalogue> = OnceLock::new();
    PARSED.get_or_init(|| {
        // The file is compiled in and a test parses it: a failure cannot reach a user, so nothing is lost by being empty.
        serde_json::from_str(TEXT).unwrap_or_else(|_| Catalogue { date: "", vendors: BTreeMap::new() })
    })
}

/// The facts about a model. `None` when nobody said (the caller then takes [`ModelInfo::unknown`] and warns).
///
/// Local models cost nothing whatever their name. One of an unlisted family has the unknown model's window. Dated names
/// (`claude-sonnet-4-5-20250929`, `gpt-4.1-2025-04-14`) share the entry of their undated form. OpenRouter's `vendor/model` and Azure's
/// deployments named like the model are priced as the vendor's own.
#[must_use]
pub fn lookup(id: &ModelId) -> Option<ModelInfo> {
    match id.provider.as_str() {
        // Before the table, as the name of a local model may be any.
        "ollama" => return Some(local_model(&id.model)),
        "cassette" => {
            return Some(ModelInfo {
                price: Some(Price::default()),
                source: "recorded replies cost nothing".to_owned(),
                ..recorded_model()
            });
        }
        _ => {}
    }
    let (vendor_name, name) = home_of(id)?;
    let (vendor, entry) = find(vendor_name, &name)?;
    Some(ModelInfo {
        context_window: entry.context_window,
        max_output_tokens: entry.max_output_tokens,
        price: entry.price().filter(|_| paid_variant(id).is_none()),
        tools: entry.tools,
        source: format!("{}, {}", vendor.source, catalogue().date),
    })
}

/// OpenRouter's word behind a model's name that makes a call dearer than its tokens: a search (`:online`), or other providers (`:nitro`).
/// `None` for those that cost what the model does, or nothing.
#[must_use]
pub fn paid_variant(id: &ModelId) -> Option<&str> {
    /// The words that never make it dearer. Any other is taken for one that does, since a cap holds only at a price that is known.
    const NO_DEARER: [&str; 3] = ["free", "floor", "thinking"];
    let (_, variant) = id.model.rsplit_once(':').filter(|_| id.provider == "openrouter")?;
    (!NO_DEARER.contains(&variant)).then_some(variant)
}

/// The facts about the model that the vendor says it billed, where one of its prices is higher than the asked model's. `None` where it is the
/// same or no dearer, where nobody knows its price, and where the user has given the asked model's price: that one may be an agreement.
#[must_use]
pub fn dearer_served(asked: &ModelId, info: &ModelInfo, billed: Option<&str>) -> Option<ModelInfo> {
    let (billed, price) =
        billed.zip(info.price).filter(|(billed, _)| *billed != asked.model && !info.is_configured())?;
    let served = lookup(&ModelId { provider: asked.provider.clone(), model: billed.to_owned() })?;
    served.price.is_some_and(|served| served.max_of(price) != price).then_some(served)
}

/// The words for a person whose vendor bills a dearer model than was asked.
#[must_use]
pub fn billed_as(asked: &ModelId, named: &str) -> String {
    format!("the vendor says that it served `{named}` for {asked}: the dearer model's price is counted")
}

/// The names of the models of a vendor that the catalogue knows.
#[must_use]
pub fn names(vendor: &str) -> Vec<&'static str> {
    let known = catalogue().vendor(vendor);
    known.into_iter().flat_map(|vendor| &vendor.models).map(|entry| entry.name.as_str()).collect()
}

/// The end of a model: from a day on its vendor refuses calls of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retirement {
    /// The day, as `2026-11-30`.
    pub day: &'static str,
    /// The model that its vendor names in its place.
    pub instead: &'static str,
    /// Where that is said.
    pub source: &'static str,
}

/// When a model ends, where its vendor has said so. A dated name ends with its undated form.
#[must_use]
pub fn retirement(id: &ModelId) -> Option<Retirement> {
    // A model on the user's own disk or in a recording never ends.
    let (vendor_name, name) = home_of(id).filter(|_| id.provider != "ollama" && id.provider != "cassette")?;
    let (vendor, entry) = find(vendor_name, &name)?;
    Some(Retirement { day: entry.ends.as_deref()?, instead: entry.instead.as_deref()?, source: &vendor.ends_source })
}

/// The window of a recorded model: large, as its replies were fitted to some real window already.
fn recorded_model() -> ModelInfo {
    ModelInfo { context_window: 1_000_000, max_output_tokens: 64_000, ..ModelInfo::unknown() }
}

/// The limits of a model on the user's own machine, where its server says nothing else: its memory grows with the window.
fn local_model(name: &str) -> ModelInfo {
    let known = find("ollama", name).map(|(vendor, entry)| ModelInfo {
        context_window: entry.context_window.min(LOCAL_CONTEXT_WINDOW),
        max_output_tokens: entry.max_output_tokens.min(LOCAL_CONTEXT_WINDOW / 4),
        tools: entry.tools,
        price: None,
        source: format!("{}, {}", vendor.source, catalogue().date),
    });
    ModelInfo { price: Some(Price::default()), ..known.unwrap_or_else(ModelInfo::unknown) }
}

/// The vendor of a model, where the provider serves the models of others, and its name there.
fn home_of(id: &ModelId) -> Option<(&str, Cow<'_, str>)> {
    match id.provider.as_str() {
        // A deployment may be called anything. One that is called like its model is priced like it.
        "azure" => Some(("openai", Cow::Borrowed(&id.model))),
        "openrouter" => {
            let (owner, name) = id.model.split_once('/')?;
            match owner {
                // OpenRouter writes claude-sonnet-4.6 where Anthropic writes claude-sonnet-4-6.
                "anthropic" => Some(("anthropic", Cow::Owned(name.replace('.', "-")))),
                "openai" | "deepseek" => Some((owner, Cow::Borrowed(name))),
                "google" => Some(("gemini", Cow::Borrowed(name))),
                "mistralai" | "mistral-ai" => Some(("mistral", Cow::Borrowed(name))),
                "x-ai" | "xai" => Some(("xai", Cow::Borrowed(name))),
                _ => None,
            }
        }
        provider => Some((provider, Cow::Borrowed(&id.model))),
    }
}

/// The facts about a model that the wire needs. An unknown one takes a temperature and no effort.
pub(super) fn wire_hints(id: &ModelId) -> WireHints {
    let found = home_of(id).and_then(|(vendor, name)| find(vendor, &name).map(|(_, entry)| entry));
    // An own endpoint may serve any vendor's model: its name tells.
    let found = found.or_else(|| {
        let bare = id.model.rsplit('/').next().unwrap_or(&id.model);
        ["anthropic", "openai", "gemini"].into_iter().find_map(|vendor| find(vendor, bare)).map(|(_, entry)| entry)
    });
    found.map_or(WireHints { effort: EffortSetting::None, temperature: true, responses: false }, |entry| WireHints {
        effort: entry.effort,
        temperature: entry.temperature,
        responses: entry.responses,
    })
}

/// The name that the vendor knows a model by: an alias of a built-in provider becomes what it stands for.
pub(super) fn vendor_spelling(id: &ModelId) -> &str {
    let Some(vendor) = catalogue().vendor(&id.provider) else { return &id.model };
    // A name with a date is a pin: it is sent as written, whatever its vendor makes of it.
    let aliased = |entry: &&Entry| entry.aliases.contains(&id.model);
    let is_name = |entry: &Entry| rank(&entry.name, &id.model, Tail::Version).is_some();
    if vendor.models.iter().any(is_name) {
        return &id.model;
    }
    vendor.models.iter().find(aliased).map_or(id.model.as_str(), |entry| entry.name.as_str())
}

/// The text that may follow an entry's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// A date, a version stamp or a word like `latest`: the same model.
    Version,
    /// Anything: sizes and quantisations of one family.
    Any,
}

fn find(vendor: &str, name: &str) -> Option<(&'static Vendor, &'static Entry)> {
    let tail = if vendor == "ollama" { Tail::Any } else { Tail::Version };
    let vendor = catalogue().vendor(vendor)?;
    let names = |entry: &'static Entry| std::iter::once(&entry.name).chain(&entry.aliases);
    let ranked = vendor.models.iter().filter_map(|entry| {
        let best = names(entry).filter_map(|known| rank(known, name, tail)).max()?;
        Some((best, entry))
    });
    // The longest match: `gpt-4.1-mini` also begins with the name of `gpt-4.1`.
    ranked.max_by_key(|(length, _)| *length).map(|(_, entry)| (vendor, entry))
}

/// How well `known` fits `name`: the length of the match, `None` if it does not fit.
fn rank(known: &str, name: &str, tail: Tail) -> Option<usize> {
    let rest = name.strip_prefix(known)?;
    let fits = match rest.chars().next() {
        None => true,
        // `:free` at OpenRouter and `:30b` at Ollama are variants of one model.
        Some(':') => true,
        Some('-' | '@') => tail == Tail::Any || is_version(rest),
        // `gpt-4o` is no `gpt-4`.
        Some(_) => false,
    };
    fits.then_some(known.len())
}

/// Whether a name's tail is only dates, stamps and stage words: `-20250929`, `-2025-04-14`, `@20250514`, `-001`, `-latest`.
///
/// One or two digits are no stamp: `claude-sonnet-4` must not price a future `claude-sonnet-4-9`.
fn is_version(tail: &str) -> bool {
    let mut parts = tail.split(['-', '@', ':']).filter(|part| !part.is_empty()).peekable();
    let starts_well = parts
        .peek()
        .is_some_and(|first| matches!(*first, "latest" | "preview" | "exp") || (first.len() >= 3 && is_number(first)));
    starts_well && parts.all(|part| matches!(part, "latest" | "preview" | "exp") || is_number(part))
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
