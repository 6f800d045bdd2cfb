//! Models that their vendors retire: who uses one is told in time.

use super::environment::Environment;
use super::stop_sources;
use crate::config::Plan;
use crate::domain::clock::days_until;
use crate::model::catalogue::{self, Retirement};

/// How many days before a model's end a look at the configuration says so (the notice that vendors give at least).
pub(super) const NOTICE_DAYS: i64 = 60;

/// A line for each model of a plan that ends within so many days, or has ended.
pub(super) fn notices(plan: &Plan, environment: &Environment, within_days: i64) -> Vec<String> {
    let now_ms = stop_sources::clock(environment).unix_ms();
    let notice = |id| {
        let Retirement { day, instead, source } = catalogue::retirement(id)?;
        let left = days_until(day, now_ms).filter(|left| *left <= within_days)?;
        let when = match left {
            ..=0 => format!("was retired by its vendor on {day}, and calls of it are refused"),
            1 => format!("is retired by its vendor on {day}, tomorrow"),
            _ => format!("is retired by its vendor on {day}, in {left} days"),
        };
        Some(format!("`{id}` {when} ({source}) → Fix: use `{instead}` in its place"))
    };
    plan.facts.0.keys().filter_map(notice).collect()
}
