//! Newtypes for ids and units, so that a run id is never taken for a commit and dollars never for tokens.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Micro-dollars in one dollar.
pub const MICROS_PER_USD: u64 = 1_000_000;
/// The last of the four decimals that are shown.
const MICROS_SHOWN: u64 = 100;

/// An amount of money in millionths of a US dollar. It is never negative, and arithmetic saturates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Reads a dollar amount as people write it in configuration. It rounds up to a whole micro-dollar.
    ///
    /// Returns `None` for negative, infinite or absurdly large amounts (above a thousand million dollars).
    #[must_use]
    pub fn from_usd(usd: f64) -> Option<Self> {
        const MAX_USD: f64 = 1e9;
        if !usd.is_finite() || !(0.0..=MAX_USD).contains(&usd) {
            return None;
        }
        // Decimal text avoids the representation error of `usd * 1e6` (0.07 must be 70_000, not 70_001).
        let text = format!("{usd:.7}");
        let (whole, frac) = text.split_once('.')?;
        let whole: u64 = whole.parse().ok()?;
        let sevenths: u64 = frac.parse().ok()?;
        // Upwards, so that a cap or a price never comes out too low.
        Some(Self(whole * MICROS_PER_USD + sevenths.div_ceil(10)))
    }

    /// The amount in dollars, for `REAL` columns and JSON. It is exact below 2^53 micro-dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "micro-dollars above 2^53 are nine thousand million dollars")]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / MICROS_PER_USD as f64
    }

    /// The rest of `self` after `spent`. Zero when overspent.
    #[must_use]
    pub fn saturating_sub(self, spent: Self) -> Self {
        Self(self.0.saturating_sub(spent.0))
    }

    /// With two decimals, as budgets are spoken of: `$2.00`.
    #[must_use]
    pub fn to_cents(self) -> String {
        let cents = self.0.saturating_add(5_000) / 10_000;
        format!("${}.{:02}", cents / 100, cents % 100)
    }

    /// In whole cents, or finer where those would show an amount as nothing.
    #[must_use]
    pub fn about(self) -> String {
        const MICROS_PER_CENT: u64 = 10_000;
        if self.0 == 0 || self.0 >= MICROS_PER_CENT { self.to_cents() } else { self.to_string() }
    }

    /// Four decimals of an amount that may be larger than shown, never smaller: what is left.
    #[must_use]
    pub fn at_least(self) -> String {
        Self(self.0 / MICROS_SHOWN * MICROS_SHOWN).to_string()
    }

    /// Four decimals of an amount that may be smaller than shown, never larger: what is needed.
    #[must_use]
    pub fn at_most(self) -> String {
        Self(self.0.div_ceil(MICROS_SHOWN).saturating_mul(MICROS_SHOWN)).to_string()
    }

    /// A bound that is never too low: whole cents, or what is below one as it is.
    fn rounded_up(self) -> String {
        const MICROS_PER_CENT: u64 = 10_000;
        if self.0 < MICROS_PER_CENT {
            return self.exact();
        }
        // Upwards, since it is told as the most that it can be.
        Self(self.0.div_ceil(MICROS_PER_CENT).saturating_mul(MICROS_PER_CENT)).to_cents()
    }

    /// Two decimals where that is exact, else as many as there are: how caps and prices are written.
    #[must_use]
    pub fn exact(self) -> String {
        if self.0.is_multiple_of(10_000) { self.to_cents() } else { format!("${}", self.as_usd()) }
    }
}

/// The money that was spent: the known part of it, and the most that was billed beyond that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// By the usage that vendors reported.
    pub known: MicroUsd,
    /// The worst case of calls that failed and may have been billed all the same.
    pub unknown: MicroUsd,
}

impl Charge {
    /// Nothing.
    pub const ZERO: Self = Self { known: MicroUsd::ZERO, unknown: MicroUsd::ZERO };

    /// The amount that counts towards a cap.
    #[must_use]
    pub fn total(self) -> MicroUsd {
        self.known + self.unknown
    }
}

impl fmt::Display for Charge {
    /// `$0.0412`, or `$0.00 known, at most $1.63 unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unknown == MicroUsd::ZERO {
            return self.known.fmt(f);
        }
        write!(f, "{} known, at most {} unknown", self.known, self.unknown.rounded_up())
    }
}

impl Add for Charge {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { known: self.known + other.known, unknown: self.unknown + other.unknown }
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Charge {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for MicroUsd {
    /// `$0.00` for nothing, else four decimals, rounded half up (FR-011).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("$0.00");
        }
        let tenths_of_milli = self.0.saturating_add(50) / 100;
        write!(f, "${}.{:04}", tenths_of_milli / 10_000, tenths_of_milli % 10_000)
    }
}

impl Add for MicroUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // A sum that wraps would be cheap, and every cap would let it pass.
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// Names one run: a UUID v4 in its hyphenated lower-case form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// A fresh random id.
    #[must_use]
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().hyphenated().to_string())
    }

    /// The first eight characters, for people (S0, FR-011). Queries need the whole id (contradiction 25).
    #[must_use]
    pub fn short(&self) -> &str {
        // An id of another program may be shorter.
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a recorded state of the working tree. It is made by `workspace`, and opaque to everyone else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a commit: its full hexadecimal object id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitSha(pub String);

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A duration for people: `850ms`, `12s`, `2m 14s`, `1h 3m`.
#[must_use]
pub fn human_duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_exactly_and_rounded_up() {
        for (usd, micros) in [(0.07, 70_000), (2.0, 2_000_000), (0.000_000_1, 1), (0.1 + 0.2, 300_000), (0.0, 0)] {
            assert_eq!(MicroUsd::from_usd(usd), Some(MicroUsd(micros)), "{usd}");
        }
        assert_eq!(MicroUsd::from_usd(-1.0), None);
        assert_eq!(MicroUsd::from_usd(f64::NAN), None);
    }

    #[test]
    fn money_prints_as_the_report_contract_says() {
        assert_eq!(MicroUsd(0).to_string(), "$0.00");
        assert_eq!(MicroUsd(800).to_string(), "$0.0008");
        assert_eq!(MicroUsd(1_234_567).to_string(), "$1.2346");
        assert_eq!(MicroUsd(2_000_000).to_cents(), "$2.00");
        assert_eq!(
            [0, 2_400, 10_000, 1_234_567].map(|micros| MicroUsd(micros).about()),
            ["$0.00", "$0.0024", "$0.01", "$1.23"]
        );
        assert_eq!(MicroUsd(2_500_000).exact(), "$2.50");
        assert_eq!(MicroUsd(400).exact(), "$0.0004", "a cap is never shown as nothing");
        assert_eq!(MicroUsd(1).exact(), "$0.000001");
    }

    #[test]
    fn durations_read_like_speech() {
        assert_eq!(human_duration(134_000), "2m 14s");
        assert_eq!(human_duration(850), "850ms");
        assert_eq!(human_duration(3_780_000), "1h 3m");
    }
}
