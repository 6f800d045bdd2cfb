//! Hosts of the web that a person names, and the addresses that lead to them.

use url::{Host, Url};

/// The host of an address, as it is named in a list of hosts.
#[must_use]
pub fn host_of(url: &Url) -> Option<String> {
    // An address in its one spelling, as `::1` has many.
    Some(match url.host()? {
        Host::Domain(name) => name.to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    })
}

/// Why an address may not be asked, given the hosts that are named. `None` when it may.
#[must_use]
pub fn refusal(url: &Url, hosts: &[String]) -> Option<String> {
    let host = host_of(url)?;
    if !hosts.iter().any(|named| named.eq_ignore_ascii_case(&host)) {
        return Some(format!("the host {host} is not named"));
    }
    // By the URL and not by asking for the name: the answer to that is another's.
    let is_here = match url.host()? {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    match url.scheme() {
        "https" => None,
        "http" if is_here => None,
        other => Some(format!("{other} is not https")),
    }
}

/// A host as it is named in a list, in the form in which addresses are compared. `None` for what is not a host alone.
#[must_use]
pub fn named_host(text: &str) -> Option<String> {
    let text = text.trim();
    // An IPv6 address needs brackets in a URL, and people leave them out.
    let bracketed = if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.to_owned() };
    let url = Url::parse(&format!("https://{bracketed}/")).ok()?;
    let alone = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.port().is_none();
    // Asked of the text too, since the parser tidies some of these away.
    let plain = !text.contains(['/', '@', '*', '?', '#']) && url.username().is_empty();
    host_of(&url).filter(|host| alone && plain && !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_without_anything_beside_it() {
        for (text, host) in [
            ("API.example", Some("api.example")),
            (" 10.0.0.5 ", Some("10.0.0.5")),
            ("0x7f.1", Some("127.0.0.1")),
            ("::1", Some("::1")),
            ("[fd00::5]", Some("fd00::5")),
            ("https://api.example", None),
            ("api.example/x", None),
            ("api.example:8443", None),
            ("*.example", None),
            ("me@api.example", None),
            ("", None),
        ] {
            assert_eq!(named_host(text).as_deref(), host, "{text}");
        }
    }

    #[test]
    fn only_named_hosts_over_tls_are_asked() {
        let hosts: Vec<String> = ["API.example", "127.0.0.1", "::1", "localhost", "10.0.0.5"].map(str::to_owned).into();
        let why = |url: &str| refusal(&Url::parse(url).unwrap(), &hosts);
        for url in [
            "https://api.example/x",
            "https://api.EXAMPLE:8443/",
            "http://127.0.0.1:9/",
            "http://0x7f.1/",
            "http://[::1]:9/",
            "http://localhost/",
            "https://10.0.0.5/",
        ] {
            assert_eq!(why(url), None, "{url}");
        }
        for url in [
            "http://api.example/x",
            "https://api.example.evil/",
            "https://evil/?api.example",
            "https://api.example@evil/",
            "http://10.0.0.5/",
            "https://127.0.0.2/",
            "ftp://api.example/",
        ] {
            assert!(why(url).is_some(), "{url}");
        }
    }
}
