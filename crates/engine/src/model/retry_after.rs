//! When to come back: what vendors say in headers and error texts, as milliseconds from now.

use reqwest::header::HeaderMap;

/// The longest wait that is believed: beyond a day it is no advice for this run.
const MAX_WAIT_MS: u64 = 24 * 60 * 60 * 1_000;
/// Numbers above this in a reset header are instants, not durations: seconds since 1970 (2001 and later).
const EPOCH_SECONDS_FROM: f64 = 1e9;
/// The same for milliseconds since 1970.
const EPOCH_MS_FROM: f64 = 1e12;

/// Headers that say when a spent limit is refilled, each with the header that tells what is left of it.
const RESETS: [(&str, &str); 10] = [
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-ratelimit-timeremaining", "x-ratelimit-remaining"),
    ("ratelimit-reset", "ratelimit-remaining"),
    ("ratelimitbysize-reset", "ratelimitbysize-remaining"),
];

/// The wait that an answer's headers advise: `retry-after-ms`, `retry-after` (seconds or a date), else the resets of the
/// limits that are used up (of all, when no header says which are).
///
/// Dates are measured against the answer's own `date` where there is one, so that a wrong clock here does no harm.
pub(super) fn from_headers(headers: &HeaderMap, unix_ms: i64) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let now = text("date").and_then(http_date_ms).unwrap_or(unix_ms);
    if let Some(ms) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Some(clamp(ms));
    }
    if let Some(value) = text("retry-after") {
        if let Ok(seconds) = value.parse::<f64>() {
            return Some(clamp(seconds * 1_000.0));
        }
        if let Some(at) = http_date_ms(value) {
            return Some(until(at, now));
        }
    }
    let waits = |spent_only: bool| {
        let resets = RESETS.iter().filter(|(_, remaining)| !spent_only || text(remaining) == Some("0"));
        resets.filter_map(|(reset, _)| text(reset).and_then(|value| moment(value, now))).max()
    };
    // The latest of those that are spent, as each of them has to be refilled.
    waits(true).or_else(|| waits(false))
}

/// How long Gemini's quotas per day stay used up: they come back at midnight Pacific time (ai.google.dev, "Rate limits", read
/// 2026-11-23), which is 08:00 UTC in winter and an hour before in summer. The later one is waited for, which is never too early.
pub(super) fn until_the_pacific_day_ends(unix_ms: i64) -> u64 {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    const MIDNIGHT_MS: i64 = 8 * 60 * 60 * 1_000;
    // Euclid's, since a clock before 1970 would make it negative.
    let since = (unix_ms - MIDNIGHT_MS).rem_euclid(DAY_MS);
    u64::try_from(DAY_MS - since).unwrap_or(MAX_WAIT_MS)
}

/// The wait that an error text advises: `try again in 1m2.5s`, `retry in 37s`, `"retryDelay": "37s"`.
pub(super) fn from_text(text: &str) -> Option<u64> {
    const LEADS: [&str; 5] = ["try again in ", "retry in ", "\"retrydelay\":", "retry after ", "wait "];
    let lower = text.to_ascii_lowercase();
    LEADS.iter().find_map(|lead| {
        let (_, after) = lower.split_once(lead)?;
        let after = after.trim_start_matches([' ', '"', ':']);
        // The point is none of these, as it may stand in the number: `1m2.5s`.
        let words = after.split(['"', ',', ';', '!', ')']).next().unwrap_or(after);
        spoken_duration(words)
    })
}

/// A reset header's value: a duration (`1m2s`, `20ms`), seconds, seconds or milliseconds since 1970, or RFC 3339.
fn moment(value: &str, now: i64) -> Option<u64> {
    if let Ok(number) = value.parse::<f64>() {
        return match number {
            n if n >= EPOCH_MS_FROM => Some(until(whole(n), now)),
            n if n >= EPOCH_SECONDS_FROM => Some(until(whole(n * 1_000.0), now)),
            n => Some(clamp(n * 1_000.0)),
        };
    }
    if let Ok(at) = value.parse::<jiff::Timestamp>() {
        return Some(until(at.as_millisecond(), now));
    }
    spoken_duration(value)
}

/// Reads `6m0s`, `20ms`, `1.5s`, `20 seconds`, `1 minute`. It stops at the first thing that is no duration.
fn spoken_duration(text: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut found = false;
    let mut rest = text.trim_start();
    loop {
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let Ok(number) = digits.trim_end_matches('.').parse::<f64>() else { break };
        rest = rest.strip_prefix(digits.as_str()).unwrap_or_default().trim_start();
        let unit: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let factor = match unit.as_str() {
            "ms" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            // A word that is no unit ends it, with what was found until then.
            _ => break,
        };
        total += number * factor;
        found = true;
        rest = rest.strip_prefix(unit.as_str()).unwrap_or_default();
    }
    found.then(|| clamp(total))
}

fn http_date_ms(value: &str) -> Option<i64> {
    let at = httpdate::parse_http_date(value).ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn until(at: i64, now: i64) -> u64 {
    // An instant in the past is no wait.
    u64::try_from(at.saturating_sub(now)).unwrap_or(0).min(MAX_WAIT_MS)
}

#[expect(clippy::cast_possible_truncation, reason = "values are millisecond instants of this century")]
fn whole(number: f64) -> i64 {
    number as i64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn clamp(ms: f64) -> u64 {
    if !ms.is_finite() || ms <= 0.0 { 0 } else { (ms.ceil() as u64).min(MAX_WAIT_MS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-02-17T14:23:01Z.
    const NOW: i64 = 1_771_338_181_000;

    fn headers(pairs: &[(&'static str, &str)]) -> Option<u64> {
        let map = pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect();
        from_headers(&map, NOW)
    }

    #[test]
    fn retry_after_is_read_as_seconds_milliseconds_and_date() {
        assert_eq!(headers(&[("retry-after", "20")]), Some(20_000));
        assert_eq!(headers(&[("retry-after", "1.5")]), Some(1_500));
        assert_eq!(headers(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(250));
        assert_eq!(headers(&[("retry-after", "Tue, 17 Feb 2026 14:23:31 GMT")]), Some(30_000));
        assert_eq!(headers(&[("retry-after", "Tue, 17 Feb 2026 14:00:00 GMT")]), Some(0));
        assert_eq!(headers(&[("retry-after", "soon")]), None);
        assert_eq!(headers(&[]), None);
    }

    #[test]
    fn a_date_is_measured_against_the_vendors_own_clock() {
        let answer = [("date", "Tue, 17 Feb 2026 09:00:00 GMT"), ("retry-after", "Tue, 17 Feb 2026 09:00:45 GMT")];
        assert_eq!(headers(&answer), Some(45_000));
    }

    #[test]
    fn resets_of_the_spent_limit_win() {
        let answer = [
            ("x-ratelimit-remaining-requests", "12"),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "1m2.5s"),
        ];
        assert_eq!(headers(&answer), Some(62_500));
        assert_eq!(headers(&[("anthropic-ratelimit-tokens-reset", "2026-02-17T14:23:11Z")]), Some(10_000));
        assert_eq!(headers(&[("x-ratelimit-reset", "1771338200")]), Some(19_000));
        assert_eq!(headers(&[("x-ratelimit-reset", "1771338200000")]), Some(19_000));
        assert_eq!(headers(&[("x-ratelimit-reset-requests", "20ms")]), Some(20));
    }

    #[test]
    fn a_day_of_pacific_time_ends_at_eight_by_utc() {
        const HOUR: u64 = 3_600_000;
        // NOW is 14:23:01.
        assert_eq!(until_the_pacific_day_ends(NOW), 17 * HOUR + 36 * 60_000 + 59_000);
        let seven = NOW - 7 * 3_600_000 - 23 * 60_000 - 1_000;
        assert_eq!(until_the_pacific_day_ends(seven), HOUR);
    }

    #[test]
    fn error_texts_are_read_for_a_wait() {
        for (text, wait) in [
            ("Rate limit reached. Please try again in 1m2.5s. Visit …", Some(62_500)),
            ("please try again in 850ms", Some(850)),
            (r#"{"@type":"RetryInfo","retryDelay":"37s"}"#, Some(37_000)),
            (r#""retryDelay": "37.5s""#, Some(37_500)),
            ("Please wait 20 seconds before retrying", Some(20_000)),
            ("Please retry in 58.4s.", Some(58_400)),
            ("try again in a while", None),
            ("nothing of the kind", None),
        ] {
            assert_eq!(from_text(text), wait, "{text}");
        }
    }
}
