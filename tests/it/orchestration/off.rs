//! Nothing of this part costs anything unless it is configured: the requests to models are then the same, byte for byte.

use regex::Regex;

use super::{Held, TIERS, brief, full_mode};

/// Every section of the part, without an entry.
const EMPTY: &str = "advisors: {}, router: {}, handoff: {}, meta: {}, mcp: {}, rest: {}, subAgents: {}, toolFailures: {}, toolHosts: []";

/// The bodies of a run's requests, without what differs in any two runs: the marks of sessions, the folder, times of tests.
fn sent(sections: &str) -> Vec<String> {
    let script = full_mode(("shop/cart.py", "sum(prices) - 1", "sum(prices)"), |_| brief());
    let run = Held::run(TIERS, &format!("agent: {{{sections}}}\n"), "", script);
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let drawn = Regex::new(r"e1[0-9a-f]{8}|project-\w{6}|\b[0-9]+\.[0-9]+s\b").expect("a pattern");
    let plain = |raw: &[u8]| drawn.replace_all(&String::from_utf8_lossy(raw), "#").into_owned();
    run.requests.iter().map(|request| plain(&request.raw)).collect()
}

#[test]
fn sections_without_an_entry_change_no_byte_of_a_request() {
    let plain = sent("maxTurns: 40");
    assert_eq!(plain.len(), 4, "a brief, an edit, a report, a review");
    assert_eq!(sent(EMPTY), plain);
    for word in ["mcp__", "rest__", "agent__", "router__", "meta", "ADVISORY"] {
        assert!(!plain.iter().any(|body| body.contains(word)), "{word}");
    }
}
