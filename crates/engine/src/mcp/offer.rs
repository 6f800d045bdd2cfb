//! The tools of a server that are offered to a model, and their names there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schema::{MAX_NAME, completed, unusable};
use super::trouble::clip;
use crate::domain::foreign::Foreign;
use crate::domain::tool::ToolSpec;

/// The most tools of one server: each is paid for in every uncached request.
const MOST_TOOLS: usize = 64;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 600;

/// A tool on offer.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The server's own name for it.
    pub tool: String,
    /// Its description under the name on offer.
    pub spec: ToolSpec,
}

/// What of a server's tools is offered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// Those that are.
    pub tools: Vec<Offered>,
    /// Those that vendors would refuse or that are too much, each with the reason.
    pub refused: Vec<String>,
    /// Those that neither say that they only read nor are allowed by name.
    pub unsaid: Vec<String>,
}

/// The tools of a server that may be offered, and why others are not.
#[must_use]
pub fn offered(server: &str, described: &[Value], allow: &[String]) -> Offer {
    let (mut offer, mut taken) = (Offer::default(), BTreeSet::new());
    for described in described {
        // A tool without a name cannot be called.
        let Some(tool) = described.get("name").and_then(Value::as_str) else { continue };
        let only_reads = described.pointer("/annotations/readOnlyHint").and_then(Value::as_bool) == Some(true);
        // The hint is the server's own word. A tool that does not even say so must be allowed by a person.
        if !only_reads && !allow.iter().any(|allowed| allowed == tool) {
            offer.unsaid.push(clip(tool, MAX_NAME));
            continue;
        }
        // Two names can become one here, when signs are replaced and the end is cut. A call would reach either.
        let name = name_of(server, tool);
        let none = || json!({"type": "object", "properties": {}});
        let parameters = described.get("inputSchema").filter(|schema| !schema.is_null()).cloned().unwrap_or_else(none);
        let parameters = completed(parameters);
        let why = if offer.tools.len() >= MOST_TOOLS {
            Some(format!("a server may offer {MOST_TOOLS} at most"))
        } else if taken.contains(&name) {
            Some("there is one of this name".to_owned())
        } else {
            unusable(&parameters)
        };
        if let Some(why) = why {
            offer.refused.push(format!("`{}` ({why})", clip(tool, MAX_NAME)));
            continue;
        }
        taken.insert(name.clone());
        let said = described.get("description").and_then(Value::as_str).unwrap_or_default();
        // A description is foreign text, which a model reads as if it were ours.
        let description = Foreign::capped(said, MAX_DESCRIPTION).as_str().to_owned();
        offer.tools.push(Offered { tool: tool.to_owned(), spec: ToolSpec { name, description, parameters } });
    }
    offer
}

/// `mcp__server__tool`, in the signs and the length that vendors take.
fn name_of(server: &str, tool: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    format!("mcp__{server}__{tool}").chars().map(sign).take(MAX_NAME).collect()
}
