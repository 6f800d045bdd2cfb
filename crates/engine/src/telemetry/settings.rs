//! The settings of telemetry, by OpenTelemetry's own variables.

use http::{HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use crate::domain::trace_context::Parent;
use crate::redact::Redactor;
use crate::redact::telemetry::pairs;

/// Where and how spans are sent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The whole address of the collector.
    pub endpoint: Url,
    /// Headers of each request: most often a key.
    pub headers: Vec<(String, SecretString)>,
    /// The span of who started this process.
    pub parent: Option<Parent>,
    /// Attributes of this service.
    pub resource: Vec<(String, String)>,
}

impl Settings {
    /// The same, without the secrets that stand in attributes of this service.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let clean = |(name, value): (String, String)| {
            (redactor.redact(&name).into_owned(), redactor.redact(&value).into_owned())
        };
        Self { resource: self.resource.into_iter().map(clean).collect(), ..self }
    }

    /// Reads the variables. `None` where nothing is to be sent.
    ///
    /// # Errors
    /// The variable that cannot be used, and why. Nothing is sent then.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let endpoint = match (get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), get("OTEL_EXPORTER_OTLP_ENDPOINT")) {
            // This one is taken as it stands, the general one gets the path for traces, as the specification has it.
            (Some(whole), _) => Url::parse(&whole).ok(),
            (None, Some(base)) => Url::parse(&base).ok().map(with_traces),
            (None, None) => return Ok(None),
        };
        let is_otlp = |name: &str| name.trim().is_empty() || name.trim().eq_ignore_ascii_case("otlp");
        // `none` or another exporter is a wish that this one stays silent.
        let is_elsewhere = get("OTEL_TRACES_EXPORTER").is_some_and(|names| !names.split(',').any(is_otlp));
        let parent = get("TRACEPARENT").and_then(|text| {
            let parent = Parent::read(&text);
            if parent.is_none() {
                tracing::debug!("TRACEPARENT is not in the form of W3C Trace Context, and is ignored");
            }
            parent
        });
        let is_disabled = get("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        // Whoever started us does not record this trace, so its parts would hang in the air.
        if is_disabled || is_elsewhere || parent.as_ref().is_some_and(|parent| !parent.is_sampled) {
            return Ok(None);
        }
        let protocol = get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| get("OTEL_EXPORTER_OTLP_PROTOCOL"));
        // Other words are forms of HTTP, and the collector says itself if it does not take JSON.
        if protocol.is_some_and(|protocol| protocol.trim() == "grpc") {
            return Err("OTEL_EXPORTER_OTLP_PROTOCOL is grpc; spans go over HTTP, most often to port 4318".to_owned());
        }
        let endpoint = endpoint.filter(|url| matches!(url.scheme(), "http" | "https"));
        // It may hold a key: it is not shown.
        let endpoint = endpoint.ok_or("OTEL_EXPORTER_OTLP_ENDPOINT is no http(s) address")?;
        let told = |name: &'static str| get(name).map(|told| (name, told));
        let told = told("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| told("OTEL_EXPORTER_OTLP_HEADERS"));
        let headers = told.map(|(variable, told)| headers(variable, &told)).transpose()?.unwrap_or_default();
        let more: Vec<_> = pairs(&get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).collect();
        let named = || more.iter().find(|(name, _)| name == "service.name").map(|(_, value)| value.clone());
        let service = get("OTEL_SERVICE_NAME").or_else(named).unwrap_or_else(|| "upshift".to_owned());
        let own = [("service.name", service), ("service.version", env!("CARGO_PKG_VERSION").to_owned())];
        let mut resource = own.map(|(name, value)| (name.to_owned(), value)).to_vec();
        // These two are said once, and our own version is known better here.
        resource.extend(more.into_iter().filter(|(name, _)| name != "service.name" && name != "service.version"));
        Ok(Some(Self { endpoint, headers, parent, resource }))
    }
}

/// The headers of a variable. The fault of one that cannot be sent names the variable and the part, and nothing of a value.
fn headers(variable: &str, told: &str) -> Result<Vec<(String, SecretString)>, String> {
    let mut headers = Vec::new();
    for (name, value) in pairs(told) {
        // Checked at the start, since each request would fail for the same reason later.
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            // What stands behind the wrong sign may be the value.
            let sound: String = name.chars().take_while(|c| is_of_header(*c)).collect();
            let wrong = name.chars().find(|c| !is_of_header(*c)).map(|c| format!("{c:?}")).unwrap_or_default();
            return Err(format!(
                "{variable}: a header's name has {wrong} behind `{sound}`; write it as name=value,name=value"
            ));
        }
        if HeaderValue::from_str(&value).is_err() {
            return Err(format!(
                "{variable}: the value of `{name}` has a sign that no header may have, such as a line's end"
            ));
        }
        headers.push((name, SecretString::from(value)));
    }
    Ok(headers)
}

/// Whether a sign may stand in a header's name (RFC 9110, 5.6.2).
fn is_of_header(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// The address of traces below a collector's own.
fn with_traces(mut base: Url) -> Url {
    let path = format!("{}/v1/traces", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        Settings::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")]).unwrap().is_none());
        assert!(read(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")]).unwrap().is_none());
        assert!(read(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "console")]).unwrap().is_none());
        for exporters in ["console, otlp", ""] {
            assert!(read(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", exporters)]).unwrap().is_some(), "{exporters}");
        }
        let refused = read(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        assert!(refused.contains("over HTTP"), "{refused}");
        let unsampled = format!("00-{TRACE}-b7ad6b7169203331-00");
        assert!(read(&[ENDPOINT, ("TRACEPARENT", &unsampled)]).unwrap().is_none(), "who began the trace left it out");
        assert_eq!(
            read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://secret@x")]).unwrap_err(),
            "OTEL_EXPORTER_OTLP_ENDPOINT is no http(s) address"
        );
    }

    #[test]
    fn the_customary_variables_are_read() {
        let sampled = format!("00-{TRACE}-b7ad6b7169203331-01");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-team = a");
        let settings =
            read(&[ENDPOINT, headers, ("TRACEPARENT", &sampled), ("OTEL_SERVICE_NAME", "ci")]).unwrap().unwrap();
        assert_eq!(settings.endpoint.as_str(), "http://127.0.0.1:4318/v1/traces");
        let told: Vec<(&str, &str)> =
            settings.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(told, [("authorization", "Bearer abc"), ("x-team", "a")]);
        assert_eq!(settings.parent.unwrap().trace_id, TRACE);
        assert_eq!(settings.resource[0], ("service.name".to_owned(), "ci".to_owned()));
        let unreadable = read(&[ENDPOINT, ("TRACEPARENT", "00-0-0-01")]).unwrap().unwrap();
        assert!(unreadable.parent.is_none(), "it is ignored");
        let whole = read(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c.example/x")]).unwrap().unwrap();
        assert_eq!(whole.endpoint.as_str(), "https://c.example/x");
        let keyed = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h/otlp/?api-key=K")]).unwrap().unwrap();
        assert_eq!(keyed.endpoint.as_str(), "http://h/otlp/v1/traces?api-key=K");
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop,team=a");
        let named = read(&[ENDPOINT, attributes]).unwrap().unwrap();
        let value = |settings: &Settings| settings.resource[0].1.clone();
        assert_eq!((value(&named).as_str(), named.resource.len()), ("shop", 3));
        assert_eq!(value(&read(&[ENDPOINT, attributes, ("OTEL_SERVICE_NAME", "ci")]).unwrap().unwrap()), "ci");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_with_its_variable_and_without_its_value() {
        let told = |name: &'static str, value: &'static str| read(&[ENDPOINT, (name, value)]).unwrap_err();
        let said = told("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a,authorization: Bearer canary-7f3a9b1c=");
        assert!(said.contains("OTEL_EXPORTER_OTLP_HEADERS: a header's name has ':' behind `authorization`"), "{said}");
        assert!(!said.contains("canary"), "{said}");
        let said = told("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=canary%0a");
        assert!(said.contains("OTEL_EXPORTER_OTLP_TRACES_HEADERS: the value of `x-key`"), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
}
