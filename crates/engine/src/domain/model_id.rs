//! `provider/model`: how a target is named everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The built-in providers, in the order in which a key makes one the default ladder's (DESIGN §2.2).
pub const BUILT_IN_PROVIDERS: [&str; 11] = [
    "anthropic",
    "openai",
    "gemini",
    "ollama",
    "azure",
    "openrouter",
    "groq",
    "mistral",
    "deepseek",
    "xai",
    "cassette",
];

/// One target: a model of a provider. For `cassette/PATH` the model is the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ModelId {
    /// The provider's name: a built-in one or one declared under `providers`.
    pub provider: String,
    /// The model's name as the vendor spells it.
    pub model: String,
}

impl ModelId {
    /// Reads `provider/model` or a bare name that a known prefix resolves
    /// (`claude-*`, `gpt-*`, `o<digit>*`, `gemini-*`). The first `/` parts the provider from the model.
    ///
    /// Returns `None` for an empty part or a bare name with no known prefix. Whether the provider exists is
    /// checked where the providers are known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // The first slash alone: `openrouter/anthropic/claude` has more in its model's name.
        if let Some((provider, model)) = text.split_once('/') {
            let well_formed = !provider.is_empty() && !model.is_empty();
            return well_formed.then(|| Self { provider: provider.to_owned(), model: model.to_owned() });
        }
        let provider = provider_of_bare_name(text)?;
        Some(Self { provider: provider.to_owned(), model: text.to_owned() })
    }
}

fn provider_of_bare_name(name: &str) -> Option<&'static str> {
    let reasoning_series = || {
        let rest = name.strip_prefix('o')?;
        // `o3` and `o4-mini`, but not `ollama`.
        rest.chars().next().filter(char::is_ascii_digit)
    };
    if name.starts_with("claude-") {
        Some("anthropic")
    } else if name.starts_with("gpt-") || reasoning_series().is_some() {
        Some("openai")
    } else if name.starts_with("gemini-") {
        Some("gemini")
    } else {
        None
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ModelId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not of the form provider/model"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_resolve_by_prefix() {
        for (text, shown) in [
            ("claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
            ("gpt-5", "openai/gpt-5"),
            ("o3-mini", "openai/o3-mini"),
            ("gemini-2.5-flash", "gemini/gemini-2.5-flash"),
            ("openrouter/meta/llama-4", "openrouter/meta/llama-4"),
            ("cassette/a/b.json", "cassette/a/b.json"),
        ] {
            assert_eq!(ModelId::parse(text).map(|id| id.to_string()).as_deref(), Some(shown));
        }
        for text in ["", "llama3", "opus", "/x", "x/"] {
            assert_eq!(ModelId::parse(text), None, "{text}");
        }
    }
}
