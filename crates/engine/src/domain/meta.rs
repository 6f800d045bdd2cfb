//! META: blocks of data that a role gives beside its report (S1-12).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ladder::Role;

/// The bytes that one block may have as JSON: a comment shows several.
pub const MAX_BLOCK_BYTES: usize = 4_096;

/// The fields of the roles' own reports: a block of such a name could not be told from them.
pub const RESERVED: [&str; 8] = ["summary", "status", "reason", "blocked_on", "files", "verdict", "issues", "meta"];

/// A block that a role is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetaBlock {
    /// Its name.
    pub name: String,
    /// The role that gives it.
    pub role: Role,
    /// Whether a report is incomplete without it.
    pub required: bool,
    /// Its schema, in the subset that [`super::json_schema`] reads.
    pub schema: Value,
}

/// The blocks of a session that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetaReported {
    /// The role that was asked.
    pub role: Role,
    /// The session's id.
    pub session_id: String,
    /// The valid blocks by name. They are not our text.
    pub blocks: BTreeMap<String, Value>,
    /// The required blocks that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingMeta>,
}

/// A required block that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingMeta {
    /// Its name.
    pub name: String,
    /// Why, in words.
    pub why: String,
}

/// The name of the built-in block that tells where a failure came from.
pub const ROOT_CAUSE: &str = "root_cause";
/// The name of the built-in block that tells how risky a change is.
pub const RISK: &str = "risk";

/// The schema of a built-in block.
#[must_use]
pub fn built_in(name: &str) -> Option<Value> {
    // Not empty and not endless, as it goes into the report.
    let text = || json!({"type": "string", "minLength": 1, "maxLength": 1_000});
    match name {
        ROOT_CAUSE => Some(json!({
            "type": "object",
            "properties": {
                "category": {"type": "string", "enum":
                    ["logic", "interface", "data", "dependency", "configuration", "environment", "test", "other"]},
                "file": {"type": "string", "minLength": 1, "maxLength": 300},
                "line": {"type": "integer", "minimum": 1},
                "why": text(),
            },
            "required": ["category", "file", "why"],
            "additionalProperties": false,
        })),
        RISK => Some(json!({
            "type": "object",
            "properties": {"level": {"type": "string", "enum": ["low", "medium", "high"]}, "why": text()},
            "required": ["level", "why"],
            "additionalProperties": false,
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::json_schema::{fault, misfit};
    use super::*;

    #[test]
    fn the_built_in_blocks_have_sound_schemas() {
        for name in [ROOT_CAUSE, RISK] {
            assert_eq!(fault(&built_in(name).unwrap()), None, "{name}");
        }
        assert_eq!(built_in("other"), None);
    }

    #[test]
    fn a_root_cause_may_leave_out_its_line_alone() {
        let schema = built_in(ROOT_CAUSE).unwrap();
        let cause = json!({"category": "logic", "file": "src/lib.rs", "why": "the sign is wrong"});
        assert_eq!(misfit(&schema, &cause), None);
        let cause = json!({"category": "logic", "file": "src/lib.rs", "line": 0, "why": "the sign is wrong"});
        assert_eq!(misfit(&schema, &cause).unwrap(), "`line` must be at least 1, not 0");
        assert_eq!(misfit(&schema, &json!({"file": "a", "why": "b"})).unwrap(), "`category` is missing");
    }
}
