//! A plan that the parts of a run share: it is written into the state at each record, and hardly ever changes.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::plan::Plan;
use super::saved;

/// A plan whose clones share it, and its saved form once that was asked for. A change makes a plan of its own.
#[derive(Debug, Clone)]
pub struct SharedPlan(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    plan: Plan,
    saved: OnceLock<Box<RawValue>>,
}

impl From<Plan> for SharedPlan {
    fn from(plan: Plan) -> Self {
        Self(Arc::new(Shared { plan, saved: OnceLock::new() }))
    }
}

impl Clone for Shared {
    /// Only whoever is about to change it makes another one.
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), saved: OnceLock::new() }
    }
}

impl Deref for SharedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0.plan
    }
}

impl DerefMut for SharedPlan {
    fn deref_mut(&mut self) -> &mut Plan {
        let shared = Arc::make_mut(&mut self.0);
        shared.saved = OnceLock::new();
        &mut shared.plan
    }
}

impl PartialEq for SharedPlan {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

/// A plan in its saved form.
#[derive(Serialize)]
struct Saved<'p>(#[serde(serialize_with = "saved::serialize")] &'p Plan);

impl Serialize for SharedPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Shared { plan, saved } = &*self.0;
        if let Some(known) = saved.get() {
            return known.serialize(serializer);
        }
        let text = serde_json::value::to_raw_value(&Saved(plan)).map_err(serde::ser::Error::custom)?;
        saved.get_or_init(|| text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        saved::deserialize(deserializer).map(Self::from)
    }
}
