//! The environment that points a program at the gateway: no key, placeholder keys, addresses.
//!
//! Pure: takes the caller's variables as data. Invariant: no variable whose name or value is a secret's gets through.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::redact::Redactor;

/// Switches that lead a client past its base URL, to another vendor or another login.
const PAST_US: [&str; 9] = [
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_VERTEX_BASE_URL",
];
/// Beginnings of names that are upshift's own.
const OURS: &str = "UPSHIFT_";
/// Where loopback is named for clients that use a proxy.
const LOOPBACK: &str = "127.0.0.1,localhost";

/// Where a program finds the gateway.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    /// `http://127.0.0.1:PORT`.
    pub url: &'a str,
    /// The placeholder key.
    pub token: &'a str,
    /// The models that the session is held to: the main one, and the one of side calls.
    pub models: Option<(&'a str, &'a str)>,
}

/// Makes the program's environment of the caller's. `is_secret` judges names. `passed` lists names that are handed on all the same.
#[must_use]
pub fn environment(
    caller: &BTreeMap<OsString, OsString>,
    is_secret: &dyn Fn(&str) -> bool,
    passed: &[String],
    redactor: &Redactor,
    endpoint: Endpoint<'_>,
) -> BTreeMap<OsString, OsString> {
    let gets_through = |name: &OsString, value: &OsString| {
        // A name that nobody can judge does not get through.
        let Some(text) = name.to_str() else { return false };
        if passed.iter().any(|passed| passed == text) {
            return true;
        }
        let says_secret = value.to_str().is_none_or(|value| redactor.redact(value) != value);
        !(is_secret(text) || says_secret || text.starts_with(OURS) || PAST_US.contains(&text))
    };
    let mut child: BTreeMap<OsString, OsString> = caller
        .iter()
        .filter(|(name, value)| gets_through(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for name in ["NO_PROXY", "no_proxy"] {
        let known = child.get(&OsString::from(name)).and_then(|known| known.to_str()).unwrap_or_default();
        let both = if known.is_empty() { LOOPBACK.to_owned() } else { format!("{known},{LOOPBACK}") };
        child.insert(name.into(), both.into());
    }
    // Last, so that nothing of the caller's leads past the gateway.
    child.extend(pointers(endpoint).into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    child
}

/// Variables that point clients at the gateway, and keep them to themselves (AGENTS.md).
fn pointers(endpoint: Endpoint<'_>) -> Vec<(&'static str, String)> {
    let Endpoint { url, token, models } = endpoint;
    let mut pointers: Vec<(&'static str, String)> = vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_BASE", format!("{url}/v1")),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_BASE_URL", url.to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("UPSHIFT_GATEWAY_URL", url.to_owned()),
    ];
    let keys =
        ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "COPILOT_PROVIDER_API_KEY", "UPSHIFT_GATEWAY_KEY"];
    pointers.extend(keys.map(|name| (name, token.to_owned())));
    if let Some((main, side)) = models {
        let of_main = ["ANTHROPIC_MODEL", "COPILOT_MODEL", "OPENAI_MODEL", "GEMINI_MODEL"];
        pointers.extend(of_main.map(|name| (name, main.to_owned())));
        pointers.push(("ANTHROPIC_DEFAULT_HAIKU_MODEL", side.to_owned()));
    }
    pointers
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn child_of(caller: &[(&str, &str)], passed: &[&str]) -> BTreeMap<String, String> {
        let caller = caller.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let passed: Vec<String> = passed.iter().map(|name| (*name).to_owned()).collect();
        let redactor = Redactor::new(&[SecretString::from("sk-canary-0123456789abcdef".to_owned())]);
        let endpoint =
            Endpoint { url: "http://127.0.0.1:4000", token: "upshift-placeholder", models: Some(("m", "s")) };
        let child =
            environment(&caller, &|name| name.contains("KEY") || name.contains("TOKEN"), &passed, &redactor, endpoint);
        child.into_iter().map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap())).collect()
    }

    #[test]
    fn no_secret_gets_through_by_name_or_by_value() {
        let child = child_of(
            &[
                ("ANTHROPIC_API_KEY", "sk-canary-0123456789abcdef"),
                ("NPM_TOKEN", "t"),
                ("HARMLESS", "x sk-canary-0123456789abcdef y"),
                ("UPSHIFT_MODEL", "m"),
                ("CLAUDE_CODE_USE_BEDROCK", "1"),
                ("PATH", "/bin"),
                ("GH_TOKEN", "handed on"),
            ],
            &["GH_TOKEN"],
        );
        assert!(child.values().all(|value| !value.contains("canary")));
        let kept = ["NPM_TOKEN", "HARMLESS", "UPSHIFT_MODEL", "CLAUDE_CODE_USE_BEDROCK"];
        assert!(kept.iter().all(|name| !child.contains_key(*name)), "{child:?}");
        assert_eq!((child["PATH"].as_str(), child["GH_TOKEN"].as_str()), ("/bin", "handed on"));
    }

    #[test]
    fn clients_are_pointed_at_the_gateway_and_past_a_proxy() {
        let child = child_of(&[("OPENAI_BASE_URL", "https://elsewhere"), ("NO_PROXY", "intranet")], &[]);
        assert_eq!(child["ANTHROPIC_BASE_URL"], "http://127.0.0.1:4000");
        assert_eq!(child["OPENAI_BASE_URL"], "http://127.0.0.1:4000/v1");
        assert_eq!(child["GEMINI_API_KEY"], "upshift-placeholder");
        assert_eq!(child["NO_PROXY"], "intranet,127.0.0.1,localhost");
        assert_eq!((child["ANTHROPIC_MODEL"].as_str(), child["ANTHROPIC_DEFAULT_HAIKU_MODEL"].as_str()), ("m", "s"));
    }
}
