//! From the plan's endpoints to providers: keys come from the environment here and go nowhere else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Failure;
use super::environment::Environment;
use super::setup::Setup;
use crate::config::{EndpointPlan, Plan, Wire};
use crate::domain::clock::Clock;
use crate::http::{Http, HttpSettings, ProxySettings};
use crate::model::endpoint::{self, Endpoint};
use crate::model::{Provider, Providers};

/// Makes a provider for every endpoint of the plan. Nothing is sent.
///
/// # Errors
/// An address, key or cassette that cannot be used (exit 2).
pub(super) fn connect(plan: &Plan, setup: &Setup<'_>) -> anyhow::Result<Providers> {
    let http = Http::new(http_settings(setup.environment));
    let mut providers: BTreeMap<String, Box<dyn Provider>> = BTreeMap::new();
    for (name, endpoint) in &plan.endpoints {
        let provider = provider(name, endpoint, &http, setup)?;
        providers.insert(name.clone(), provider);
    }
    Ok(Providers(providers))
}

fn provider(name: &str, plan: &EndpointPlan, http: &Http, setup: &Setup<'_>) -> anyhow::Result<Box<dyn Provider>> {
    let wire = match plan.wire {
        Wire::Anthropic => endpoint::Wire::Anthropic,
        Wire::OpenAi => endpoint::Wire::OpenAi,
        Wire::Gemini => endpoint::Wire::Gemini,
        Wire::Cassette => return cassette(setup),
    };
    let mut endpoint = Endpoint::new(name, wire, plan.base_url.clone());
    if let Some(variable) = &plan.key_var {
        let key = setup.environment.secret(variable);
        let missing = || Failure::usage(format!("{name}: no key in {variable}\n→ Fix: set {variable}, e.g. under `env:` of the step"));
        endpoint = endpoint.with_key(key.ok_or_else(missing)?, variable.clone());
    }
    let clock: Arc<dyn Clock> = setup.clock.clone();
    endpoint.connect(http, clock).map_err(|error| Failure::usage(error.to_string()))
}

fn cassette(_setup: &Setup<'_>) -> anyhow::Result<Box<dyn Provider>> {
    Err(Failure::usage("cassettes"))
}

/// Proxies and extra certificates by their customary variables; upper case wins.
fn http_settings(environment: &Environment) -> HttpSettings {
    let either = |upper: &str, lower: &str| environment.secret(upper).or_else(|| environment.secret(lower));
    let extra_ca = environment.get("SSL_CERT_FILE").or_else(|| environment.get("NODE_EXTRA_CA_CERTS"));
    HttpSettings {
        proxy: ProxySettings {
            http: either("HTTP_PROXY", "http_proxy"),
            https: either("HTTPS_PROXY", "https_proxy"),
            all: either("ALL_PROXY", "all_proxy"),
            no_proxy: environment.get("NO_PROXY").or_else(|| environment.get("no_proxy")).map(str::to_owned),
        },
        extra_ca: extra_ca.map(PathBuf::from),
        connect_timeout: None,
    }
}
