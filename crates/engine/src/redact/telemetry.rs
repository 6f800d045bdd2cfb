//! The secrets that stand in OpenTelemetry's variables.

use percent_encoding::percent_decode_str;
use secrecy::SecretString;
use url::Url;

use super::values;

/// The secrets among the customary variables, whether anything is sent or not: each word of a header's value but for those that are
/// plainly none (`Bearer`), and a collector's address with its password and the values of its query.
pub fn secrets(get: impl Fn(&str) -> Option<String>) -> Vec<SecretString> {
    let told = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"].into_iter().filter_map(&get);
    let headers = told.flat_map(|told| pairs(&told).map(|(_name, value)| value).collect::<Vec<_>>());
    let addresses = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"].into_iter().filter_map(&get);
    let of_address = addresses.flat_map(|address| {
        let url = Url::parse(&address).ok();
        let query = url.iter().flat_map(Url::query_pairs).map(|(_name, value)| value.into_owned()).collect::<Vec<_>>();
        std::iter::once(address).chain(query)
    });
    // A service may echo the key without the word in front of it.
    let words = headers.flat_map(|value| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    words.chain(of_address).flat_map(|word| values::secret_parts(&word)).map(SecretString::from).collect()
}

/// `name=value` pairs, parted by commas, percent-encoded as in W3C Baggage.
pub fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let plain = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(move |(name, value)| (plain(name), plain(value))).filter(|(name, _)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn secrets_are_known_also_where_nothing_is_sent() {
        let set = [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary-one-7f3a9b1c"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=canary-two-7f3a9b1c"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://u:canary-three-7f3a9b1c@c.example/?key=canary-four-7f3a9b1c"),
        ];
        let get = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let found: Vec<String> = secrets(get).iter().map(|one| one.expose_secret().to_owned()).collect();
        for number in ["one", "two", "three", "four"] {
            assert!(found.contains(&format!("canary-{number}-7f3a9b1c")), "{number}: {found:?}");
        }
        assert!(!found.iter().any(|one| one == "Bearer"), "{found:?}");
    }
}
