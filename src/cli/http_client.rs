//! The HTTP client as the environment wants it.

use std::path::PathBuf;

use super::environment::Environment;
use crate::http::{Http, HttpSettings, ProxySettings};

/// The HTTP client with the user's proxies and certificates.
pub(super) fn http(environment: &Environment) -> Http {
    Http::new(http_settings(environment))
}

/// Proxies and extra certificates by their customary variables. Upper case wins.
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
