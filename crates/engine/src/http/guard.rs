//! Which addresses a client for tools may connect to: none inside a private network that nobody named.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Name, Resolve, Resolving};

/// Looks up names, and leaves out private addresses that are not named.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    /// Hosts and addresses that a person named.
    pub(super) hosts: BTreeSet<String>,
    /// Hosts of the proxies in use, which a person named elsewhere.
    pub(super) proxies: BTreeSet<String>,
}

impl Guard {
    fn allows(&self, name: &str, address: IpAddr) -> bool {
        // `localhost` has to be named, since other users of the machine may listen there.
        let here = name == "localhost" && address.is_loopback() && self.hosts.contains(name);
        // A proxy is often within the company, and the request leaves through it.
        is_public(address) || here || self.proxies.contains(name) || self.hosts.contains(&address.to_string())
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let name = name.as_str().to_ascii_lowercase();
            // Checked where the connection is made: a name that is looked up twice could be answered differently.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // A name with a public and a private address is asked at the public one alone.
            let fit: Vec<SocketAddr> = found.into_iter().filter(|found| guard.allows(&name, found.ip())).collect();
            if fit.is_empty() {
                return Err(format!("{name} has none but private addresses, which nobody named").into());
            }
            let fit: Box<dyn Iterator<Item = SocketAddr> + Send> = Box::new(fit.into_iter());
            Ok(fit)
        })
    }
}

/// Whether an address is one of the public internet: not of a machine, a link, a site or a test.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation();
    // This network, shared addresses (RFC 6598), protocol assignments, benchmarks (RFC 2544), and what is reserved.
    let reserved = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240;
    !special && !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // The same machine in the other notation, which would otherwise get past the check.
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let [first, second, third, fourth, .., seventh, eighth] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    // Translated to an address of version 4 on the way: NAT64 (RFC 6052) and 6to4 (RFC 3056).
    if (first, second, third, fourth) == (0x64, 0xff9b, 0, 0) {
        return is_public_v4(v4(seventh, eighth));
    }
    if first == 0x2002 {
        return is_public_v4(v4(second, third));
    }
    // Only global unicast is of the internet; documentation and Teredo are parts of it.
    (first & 0xe000) == 0x2000 && (first, second) != (0x2001, 0xdb8) && (first, second) != (0x2001, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for address in ["8.8.8.8", "140.82.121.4", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.170",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::1",
            "2001:db8::1",
            "2001:0:1::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_private_address_is_reached_only_by_a_name_that_a_person_gave_it() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let guard = Guard { hosts: set(&["api.example", "10.0.0.5"]), proxies: set(&["proxy.example"]) };
        let allows = |name: &str, address: &str| guard.allows(name, address.parse().unwrap());
        assert!(allows("api.example", "8.8.8.8") && allows("api.example", "10.0.0.5"));
        assert!(!allows("api.example", "10.0.0.6") && !allows("api.example", "127.0.0.1"));
        assert!(!allows("localhost", "127.0.0.1"), "localhost is not named");
        assert!(allows("proxy.example", "10.0.0.6"));
        let here = Guard { hosts: set(&["localhost"]), proxies: BTreeSet::new() };
        assert!(here.allows("localhost", "::1".parse().unwrap()));
        assert!(!here.allows("localhost", "10.0.0.1".parse().unwrap()), "not this machine");
    }
}
