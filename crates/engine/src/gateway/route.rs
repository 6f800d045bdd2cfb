//! The route of a request, by method and path. Everything that is no model call is told apart here, and answered 404.

use percent_encoding::percent_decode_str;

use crate::model::meter::Spoken;
use crate::model::relay::Method;

/// A request that goes on to a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// The wire that is spoken.
    pub(super) spoken: Spoken,
    /// The method that is asked for.
    pub(super) method: Method,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
}

/// Reads a POST's path. `None` for one that is not served.
pub(super) fn route(path: &str) -> Option<Route> {
    let path = path.trim_end_matches('/');
    // The longer ones first, since `/v1` begins them all.
    let versions = ["/v1beta", "/v1alpha", "/v1"];
    let rest = versions.iter().find_map(|version| path.strip_prefix(version)).unwrap_or(path);
    let of = |spoken, method| Some(Route { spoken, method, model: None });
    match rest {
        "/messages" => of(Spoken::Messages, Method::Reply),
        "/messages/count_tokens" => of(Spoken::Messages, Method::CountTokens),
        "/responses" => of(Spoken::Responses, Method::Reply),
        "/chat/completions" => of(Spoken::Chat, Method::Reply),
        _ => generate(rest),
    }
}

/// `/models/NAME:VERB`.
fn generate(path: &str) -> Option<Route> {
    let (name, verb) = path.strip_prefix("/models/")?.rsplit_once(':')?;
    let method = match verb {
        "generateContent" => Method::Reply,
        "streamGenerateContent" => Method::Stream,
        "countTokens" => Method::CountTokens,
        _ => return None,
    };
    let name = percent_decode_str(name).decode_utf8().ok()?;
    // A name with a slash would be another collection: tuned models have prices of their own.
    let fits = !name.is_empty() && !name.contains('/');
    fits.then(|| Route { spoken: Spoken::Generate, method, model: Some(name.into_owned()) })
}

/// A query without a key in it, since the placeholder may stand there. `None` where nothing is left.
pub(super) fn query_without_key(query: Option<&str>) -> Option<String> {
    let kept: Vec<&str> = query?.split('&').filter(|pair| !pair.starts_with("key=") && !pair.is_empty()).collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// The key in a query.
pub(super) fn key_in(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("key="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_wires_and_the_free_counts_are_known() {
        let plain = |spoken, method| Some(Route { spoken, method, model: None });
        for (path, expected) in [
            ("/v1/messages", plain(Spoken::Messages, Method::Reply)),
            ("/v1/messages/count_tokens", plain(Spoken::Messages, Method::CountTokens)),
            ("/v1/responses", plain(Spoken::Responses, Method::Reply)),
            ("/responses/", plain(Spoken::Responses, Method::Reply)),
            ("/v1/chat/completions", plain(Spoken::Chat, Method::Reply)),
            ("/v1/messages/batches", None),
            ("/v1/responses/resp_1", None),
            ("/v1/embeddings", None),
            ("/v1/models", None),
            ("/", None),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
    }

    #[test]
    fn gemini_names_model_and_method_in_the_path() {
        let of = |path: &str| route(path).map(|route| (route.method, route.model.unwrap_or_default()));
        let model = || "gemini-2.5-pro".to_owned();
        assert_eq!(of("/v1beta/models/gemini-2.5-pro:generateContent"), Some((Method::Reply, model())));
        assert_eq!(of("/v1beta/models/gemini-2.5-pro:streamGenerateContent"), Some((Method::Stream, model())));
        assert_eq!(of("/v1beta/models/gemini-2.5-pro:countTokens"), Some((Method::CountTokens, model())));
        for path in [
            "/v1beta/models/gemini-2.5-pro:embedContent",
            "/v1beta/models/gemini-2.5-pro:batchGenerateContent",
            "/v1beta/models/..%2Ffiles:generateContent",
            "/v1beta/models/:generateContent",
            "/v1beta/cachedContents",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn a_key_in_the_query_is_found_and_goes_no_further() {
        assert_eq!(key_in(Some("alt=sse&key=k")), Some("k"));
        assert_eq!(query_without_key(Some("alt=sse&key=k")).as_deref(), Some("alt=sse"));
        assert_eq!(query_without_key(Some("key=k")), None);
        assert_eq!(query_without_key(Some("beta=true")).as_deref(), Some("beta=true"));
    }
}
