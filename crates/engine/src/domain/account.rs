//! Accounts: an endpoint and the key it is asked with. Refusals and limits of a vendor apply to the account.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::clock::Timestamp;
use super::model_id::ModelId;

/// An endpoint together with the key that it is asked with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The base URL. The target's name where there is none.
    pub endpoint: String,
    /// The variable that holds the key. `None` for a server without keys.
    pub key_variable: Option<String>,
}

impl Account {
    /// The account behind a base URL: a trailing slash or version segment makes no difference.
    #[must_use]
    pub fn new(base_url: &str, key_variable: Option<&str>) -> Self {
        let url = base_url.trim().trim_end_matches('/');
        // With the version or without it is one account, as people write base URLs either way.
        let url = url.strip_suffix("/v1").or_else(|| url.strip_suffix("/v1beta")).unwrap_or(url);
        Self { endpoint: url.to_ascii_lowercase(), key_variable: key_variable.map(str::to_owned) }
    }

    /// The host for people, with its port: `api.anthropic.com`.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.endpoint.split_once("://").map_or(self.endpoint.as_str(), |(_, rest)| rest);
        rest.split('/').next().unwrap_or(rest)
    }
}

/// The accounts of a run by provider name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts(pub BTreeMap<String, Account>);

impl Accounts {
    /// The account that a target is asked with. A target of a provider without an address (a recording) is one of its own.
    #[must_use]
    pub fn of(&self, target: &ModelId) -> Account {
        // A provider without an endpoint, such as a recording, shares its limits with no other.
        let own = || Account { endpoint: target.to_string(), key_variable: None };
        self.0.get(&target.provider).cloned().unwrap_or_else(own)
    }
}

/// Why no model of an account can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unavailability {
    /// The key was refused (401, or 403 for more than one model).
    KeyRefused,
    /// Quota or credit is used up (402, `insufficient_quota`).
    QuotaUsedUp,
    /// Too many requests or tokens (429).
    RateLimited,
    /// The host is down, overloaded or not reachable (5xx, 529, the network).
    Outage,
}

impl Unavailability {
    /// Whether it passes by itself.
    #[must_use]
    pub const fn passes(self) -> bool {
        match self {
            Self::KeyRefused | Self::QuotaUsedUp => false,
            Self::RateLimited | Self::Outage => true,
        }
    }

    /// The event, as a sentence without its full stop.
    #[must_use]
    pub fn sentence(self, host: &str, key_variable: Option<&str>) -> String {
        let key = key_variable.map_or_else(|| "requests without a key".to_owned(), |name| format!("the key in {name}"));
        let account = key_variable.map(|name| format!(" of the key in {name}")).unwrap_or_default();
        match self {
            Self::KeyRefused => format!("{host} refuses {key}"),
            Self::QuotaUsedUp => format!("quota or credit{account} at {host} is used up"),
            Self::RateLimited => format!("{host} limits the requests{account}"),
            Self::Outage => format!("{host} is down, overloaded or not reachable"),
        }
    }
}

/// A rate limit that a parked run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// The host that set it.
    pub host: String,
    /// When it is over by the host's own words. `None` where it did not say.
    pub until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_an_endpoint_and_a_key() {
        let key = Some("ANTHROPIC_API_KEY");
        let plain = Account::new("https://api.anthropic.com", key);
        for same in ["https://api.anthropic.com/", "https://api.anthropic.com/v1", "https://API.anthropic.com/v1/"] {
            assert_eq!(Account::new(same, key), plain);
        }
        assert_ne!(Account::new("https://api.anthropic.com", Some("OTHER_KEY")), plain);
        assert_ne!(Account::new("https://gateway.test/a", key), Account::new("https://gateway.test/b", key));
        assert_eq!(plain.host(), "api.anthropic.com");
        assert_eq!(Account::new("http://127.0.0.1:11434/api", None).host(), "127.0.0.1:11434");
        let tape = |name: &str| Accounts::default().of(&ModelId::parse(name).unwrap());
        assert_ne!(tape("cassette/a.json"), tape("cassette/b.json"));
    }
}
