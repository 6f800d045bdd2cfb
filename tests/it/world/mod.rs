//! Stand-ins for the outside world: they hold state, check what is asked of them, and bill what they serve.

pub(crate) mod canary;
pub(crate) mod git_server;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod model_server;
pub(crate) mod ordinary;
pub(crate) mod program;
pub(crate) mod project;

use regex::Regex;

/// A report without what differs from run to run: ids, hashes and times.
pub(crate) fn timeless(report: &str) -> String {
    let ids = Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{7,64}\b").expect("a pattern");
    let times = Regex::new(r"\b(\d+m )?\d+(ms|s|m)\b").expect("a pattern");
    times.replace_all(&ids.replace_all(report, "ID"), "TIME").into_owned()
}

/// Rows of a table that takes long: each third for every change, all of them at night (`UPSHIFT_TEST_ALL`).
pub(crate) fn sampled<T>(rows: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let is_whole = std::env::var_os("UPSHIFT_TEST_ALL").is_some();
    rows.into_iter().enumerate().filter(move |(at, _)| is_whole || at % 3 == 0).map(|(_, row)| row)
}
