//! The numbers a configuration can hold: counts, money, durations, each within its own bounds.
//!
//! Invariant: what is infinite, undefined, negative or absurdly large never reaches a plan.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::domain::units::MicroUsd;

use super::node::Node;
use super::read::{Place, Readable};
use super::values::schema;

/// The most dollars any cap may have: above it is a slip.
const MAX_DOLLARS: f64 = 1_000_000.0;

/// The most minutes any cap may have: ten weeks.
const MAX_MINUTES: f64 = 100_000.0;

/// Milliseconds in a minute.
const MS_PER_MINUTE: f64 = 60_000.0;

/// A whole number within bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(pub(super) u32);

schema!([<const MIN: u32, const MAX: u32>] Whole<MIN, MAX>, "whole",
    json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX}));

impl<const MIN: u32, const MAX: u32> Readable for Whole<MIN, MAX> {
    fn kind() -> String {
        format!("whole number {MIN}–{MAX}")
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = || format!("Use a whole number from {MIN} to {MAX}.");
        let value = match at.node {
            Node::Int(value) => *value,
            // The seeds' files come from JavaScript, where 5.0 is 5.
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked beside it")]
            Node::Float(value) if value.fract() == 0.0 && value.abs() <= f64::from(u32::MAX) => *value as i128,
            Node::Null | Node::Bool(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                return at.mismatch("a whole number", fix());
            }
        };
        match u32::try_from(value) {
            Ok(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            Ok(_) | Err(_) => at.fault(format!("must be from {MIN} to {MAX}, found {value}"), fix()),
        }
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// The number 1: where old files may name another that means nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct One;

schema!([] One, "one", json_schema!({"type": "integer", "const": 1}));

impl Readable for One {
    fn kind() -> String {
        "the number 1".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let one = Whole::<0, { u32::MAX }>::read(at)?.0 == 1;
        let fix = "Remove it, or set it to 1: every iteration starts with a fresh context.";
        if one { Some(Self) } else { at.fault("must be 1: no context is kept over iterations", fix.to_owned()) }
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// The number here, whole or not. Infinite and undefined ones are faults.
fn number_here(at: &Place<'_>, wanted: &str, fix: &str) -> Option<f64> {
    match at.node {
        #[expect(clippy::cast_precision_loss, reason = "amounts that large are refused anyway")]
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) if value.is_finite() => Some(*value),
        Node::Null | Node::Bool(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
            at.mismatch(wanted, fix)
        }
    }
}

/// An amount of money above nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dollars(pub(super) MicroUsd);

schema!([] Dollars, "dollars", json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DOLLARS}));

impl Readable for Dollars {
    fn kind() -> String {
        "number above 0 (USD)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use an amount in dollars above 0, such as 2.5; local models cost nothing whatever the cap.";
        let usd = number_here(at, "an amount in dollars", fix)?;
        // A cap of nothing would end every run at its first call.
        let amount = MicroUsd::from_usd(usd).filter(|_| usd > 0.0 && usd <= MAX_DOLLARS);
        amount.map(Self).or_else(|| at.fault(format!("must be above 0 and at most {MAX_DOLLARS}, found {usd}"), fix))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text.trim().trim_start_matches('$'))
    }
}

/// A price in micro-dollars per million tokens. It may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PerMillion(pub(super) u64);

schema!([] PerMillion, "price", json_schema!({"type": "number", "minimum": 0, "maximum": MAX_DOLLARS}));

impl Readable for PerMillion {
    fn kind() -> String {
        "number from 0 (USD per 1M tokens)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use dollars per million tokens, such as 3 or 0.25; 0 if it costs nothing.";
        let usd = number_here(at, "a price in dollars", fix)?;
        let price = MicroUsd::from_usd(usd).filter(|_| usd <= MAX_DOLLARS);
        price
            .map(|price| Self(price.0))
            .or_else(|| at.fault(format!("must be from 0 to {MAX_DOLLARS}, found {usd}"), fix))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// A duration given in minutes, kept in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Minutes(pub(super) u64);

schema!([] Minutes, "minutes", json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_MINUTES}));

impl Readable for Minutes {
    fn kind() -> String {
        "number above 0 (minutes)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use minutes above 0, such as 15 or 0.5.";
        let minutes = number_here(at, "a number of minutes", fix)?;
        // Written so that a number that is none is refused, too.
        if !(minutes > 0.0 && minutes <= MAX_MINUTES) {
            return at.fault(format!("must be above 0 and at most {MAX_MINUTES}, found {minutes}"), fix);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 6e9")]
        let ms = (minutes * MS_PER_MINUTE).ceil() as u64;
        Some(Self(ms))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// A sampling temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Temperature(pub(super) f64);

schema!([] Temperature, "temperature", json_schema!({"type": "number", "minimum": 0, "maximum": 2}));

impl Readable for Temperature {
    fn kind() -> String {
        "number 0–2".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use a number from 0 to 2.";
        let value = number_here(at, "a number", fix)?;
        let inside = (0.0..=2.0).contains(&value);
        if inside { Some(Self(value)) } else { at.fault(format!("must be from 0 to 2, found {value}"), fix) }
    }
}
