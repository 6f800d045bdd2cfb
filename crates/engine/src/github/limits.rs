//! Meaning of an answer's status and headers for the next request (pure).
//!
//! Owns GitHub's rules on limits (GITHUB 25): obey `retry-after`, else the primary limit's reset, else wait a minute and
//! double it. Everything else of an answer is sorted into what may be asked again and what may not.

use http::header::HeaderMap;

use super::error::Limit;

/// The least wait after a secondary limit that names none.
const SECONDARY_MS: u64 = 60_000;
/// The longest wait that doubling leads to.
const SECONDARY_MAX_MS: u64 = 15 * 60_000;
/// The first wait after a server error or a broken connection. It doubles.
const TROUBLE_MS: u64 = 1_000;
/// Longest advice that is believed: the primary limit is lifted within the hour.
const MAX_ADVICE_MS: u64 = 2 * 60 * 60_000;
/// Added to the primary limit's reset, which is a whole second of another clock.
const RESET_SLACK_MS: u64 = 1_000;

/// The meaning of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sorted {
    /// Read it.
    Good,
    /// The cached answer is still true.
    Unchanged,
    /// Somewhere else.
    Redirect,
    /// The token is no good.
    TokenRefused,
    /// Not with this token.
    Forbidden,
    /// Not there.
    NotFound,
    /// A limit, and how long it lasts in milliseconds. The request was not carried out.
    Limited(Limit, u64),
    /// The server's fault: it may or may not have been carried out.
    Trouble,
    /// Ours.
    Refused,
}

/// Sorts an answer. `before` counts the limits hit in a row before it.
pub(super) fn sort(status: u16, headers: &HeaderMap, body: &[u8], unix_ms: i64, before: u32) -> Sorted {
    match status {
        200..=299 => Sorted::Good,
        304 => Sorted::Unchanged,
        301 | 302 | 303 | 307 | 308 => Sorted::Redirect,
        401 => Sorted::TokenRefused,
        // 403 has two meanings, which only headers and words tell apart.
        403 | 429 => match limited(status, headers, body, unix_ms, before) {
            Some((limit, ms)) => Sorted::Limited(limit, ms),
            None => Sorted::Forbidden,
        },
        404 | 410 => Sorted::NotFound,
        // The server gave up waiting for the request, or failed at it.
        408 | 500..=599 => Sorted::Trouble,
        _ => Sorted::Refused,
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn limited(status: u16, headers: &HeaderMap, body: &[u8], unix_ms: i64, before: u32) -> Option<(Limit, u64)> {
    let advice = text(headers, "retry-after").and_then(|value| value.parse::<u64>().ok());
    let advice = advice.map(|seconds| seconds.saturating_mul(1_000).min(MAX_ADVICE_MS));
    let spent = text(headers, "x-ratelimit-remaining") == Some("0");
    let said = String::from_utf8_lossy(body).to_ascii_lowercase();
    let says_secondary = said.contains("secondary rate limit") || said.contains("abuse detection");
    let limit = match (spent, says_secondary || advice.is_some()) {
        (true, false) => Limit::Primary,
        (_, true) => Limit::Secondary,
        (false, false) if status == 429 || said.contains("rate limit exceeded") => Limit::Primary,
        (false, false) => return None,
    };
    // Bounded before the shift, as more than 63 places would overflow.
    let doubled = SECONDARY_MS.saturating_mul(1 << before.min(8)).min(SECONDARY_MAX_MS);
    let wait = advice.or_else(|| spent.then(|| until_reset(headers, unix_ms)).flatten()).unwrap_or(doubled);
    Some((limit, wait))
}

/// The time until the primary limit is refilled, measured by the server's own clock where it shows one.
pub(super) fn until_reset(headers: &HeaderMap, unix_ms: i64) -> Option<u64> {
    let reset: i64 = text(headers, "x-ratelimit-reset")?.parse().ok()?;
    let date = text(headers, "date").and_then(|value| httpdate::parse_http_date(value).ok());
    let now = date.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let now = now.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(unix_ms);
    // A reset in the past is no wait.
    let wait = u64::try_from(reset.saturating_mul(1_000).saturating_sub(now)).unwrap_or(0);
    Some(wait.saturating_add(RESET_SLACK_MS).min(MAX_ADVICE_MS))
}

/// The wait before an attempt that follows `failures` failed ones.
pub(super) fn trouble_ms(failures: u32) -> u64 {
    TROUBLE_MS.saturating_mul(1 << failures.saturating_sub(1).min(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-02-17T14:23:01Z.
    const NOW: i64 = 1_771_338_181_000;

    fn sorted(status: u16, headers: &[(&'static str, &str)], body: &str, before: u32) -> Sorted {
        let map = headers.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect();
        sort(status, &map, body.as_bytes(), NOW, before)
    }

    #[test]
    fn limits_are_told_from_missing_permissions() {
        let integration = r#"{"message":"Resource not accessible by integration"}"#;
        assert_eq!(sorted(403, &[("x-ratelimit-remaining", "12")], integration, 0), Sorted::Forbidden);
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        assert_eq!(sorted(403, &[], secondary, 0), Sorted::Limited(Limit::Secondary, 60_000));
        assert_eq!(sorted(429, &[], secondary, 2), Sorted::Limited(Limit::Secondary, 240_000));
        assert_eq!(sorted(403, &[], secondary, 40), Sorted::Limited(Limit::Secondary, 900_000));
        assert_eq!(sorted(403, &[("retry-after", "7")], "{}", 0), Sorted::Limited(Limit::Secondary, 7_000));
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1771338191")];
        assert_eq!(sorted(403, &spent, "{}", 0), Sorted::Limited(Limit::Primary, 11_000));
        assert_eq!(sorted(429, &[], "{}", 0), Sorted::Limited(Limit::Primary, 60_000));
    }

    #[test]
    fn a_reset_is_measured_by_the_servers_clock() {
        let headers = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1771338191"),
            ("date", "Tue, 17 Feb 2026 14:23:06 GMT"),
        ];
        assert_eq!(sorted(403, &headers, "{}", 0), Sorted::Limited(Limit::Primary, 6_000));
    }

    #[test]
    fn other_answers_are_sorted_by_status() {
        for (status, expected) in [
            (200, Sorted::Good),
            (204, Sorted::Good),
            (304, Sorted::Unchanged),
            (302, Sorted::Redirect),
            (401, Sorted::TokenRefused),
            (404, Sorted::NotFound),
            (410, Sorted::NotFound),
            (422, Sorted::Refused),
            (409, Sorted::Refused),
            (500, Sorted::Trouble),
            (502, Sorted::Trouble),
        ] {
            assert_eq!(sorted(status, &[], "{}", 0), expected, "{status}");
        }
    }

    #[test]
    fn waits_double_up_to_a_minute() {
        assert_eq!([1, 2, 3, 4].map(trouble_ms), [1_000, 2_000, 4_000, 8_000]);
        assert_eq!(trouble_ms(90), 64_000);
    }
}
