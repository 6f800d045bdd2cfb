//! The tools of a server that are offered to a model, and their names there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::trouble::clip;
use crate::domain::foreign::Foreign;
use crate::domain::tool::ToolSpec;

/// The most tools of one server: each is paid for in every uncached request.
const MOST_TOOLS: usize = 64;
/// The longest name that vendors take.
const MAX_NAME: usize = 64;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 600;
/// The longest schema of arguments, in bytes.
const MAX_SCHEMA: usize = 8 * 1024;

/// A tool on offer.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The server's own name for it.
    pub tool: String,
    /// Its description under the name on offer.
    pub spec: ToolSpec,
}

/// The tools of a server that may be offered, and why others are not, in words.
#[must_use]
pub fn offered(server: &str, described: &[Value], allow: &[String]) -> (Vec<Offered>, Vec<String>) {
    let (mut tools, mut left_out, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut writes: Vec<String> = Vec::new();
    for described in described {
        let Some(tool) = described.get("name").and_then(Value::as_str) else { continue };
        let only_reads = described.pointer("/annotations/readOnlyHint").and_then(Value::as_bool) == Some(true);
        if !only_reads && !allow.iter().any(|allowed| allowed == tool) {
            writes.push(clip(tool, MAX_NAME));
            continue;
        }
        let name = name_of(server, tool);
        let schema = described.get("inputSchema").filter(|schema| schema.is_object()).cloned();
        let parameters = schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        if tools.len() >= MOST_TOOLS || parameters.to_string().len() > MAX_SCHEMA || !taken.insert(name.clone()) {
            left_out.push(format!("`{}` is one too many, too large, or there twice", clip(tool, MAX_NAME)));
            continue;
        }
        let said = described.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = Foreign::capped(said, MAX_DESCRIPTION).as_str().to_owned();
        tools.push(Offered { tool: tool.to_owned(), spec: ToolSpec { name, description, parameters } });
    }
    if !writes.is_empty() {
        left_out.push(format!("not said to only read, and not under `allow`: {}", writes.join(", ")));
    }
    (tools, left_out)
}

/// `mcp__server__tool`, in the signs and the length that vendors take.
fn name_of(server: &str, tool: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    format!("mcp__{server}__{tool}").chars().map(sign).take(MAX_NAME).collect()
}
