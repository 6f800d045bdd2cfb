//! The room that the descriptions of a session's tools from outside may take: they are paid for in each uncached request.

use super::super::context::Context;
use crate::domain::model_id::ModelId;
use crate::domain::tool::{ToolSource, ToolSpec};

/// The most bytes, whatever the window.
const MOST_BYTES: u64 = 64 * 1024;
/// The most tools: vendors refuse more than 128, and a session has its own.
const MOST_TOOLS: usize = 100;
/// The part of a window that they may take.
const SHARE: u64 = 10;
/// Bytes of a token, about.
const TOKEN_BYTES: u64 = 4;
/// The most tools that are named as left out.
const MOST_TOLD: usize = 8;

/// The bytes that tools may take in a session: a part of the smallest window among its models.
pub(super) fn bytes_for(context: &Context<'_>, targets: &[ModelId]) -> u64 {
    let windows = targets.iter().map(|target| context.charter.plan.facts.of(target).context_window);
    let tokens = windows.min().unwrap_or_default() / SHARE;
    tokens.saturating_mul(TOKEN_BYTES).min(MOST_BYTES)
}

/// The tools for which there is room, in their order, and the names of the others. Those that a person described come before those of servers.
pub(super) fn within(specs: Vec<ToolSpec>, mut bytes: u64) -> (Vec<ToolSpec>, Vec<String>) {
    let of_server = |spec: &ToolSpec| ToolSource::of(&spec.name) == ToolSource::Mcp;
    let (mut fits, mut tools) = (vec![false; specs.len()], 0);
    for servers in [false, true] {
        for (spec, fits) in specs.iter().zip(&mut fits).filter(|(spec, _)| of_server(spec) == servers) {
            let size = size_of(spec);
            if tools < MOST_TOOLS && size <= bytes {
                *fits = true;
                tools += 1;
                bytes -= size;
            }
        }
    }
    let (kept, others): (Vec<_>, Vec<_>) = specs.into_iter().zip(fits).partition(|(_, fits)| *fits);
    let name = |(spec, _): (ToolSpec, bool)| spec.name;
    (kept.into_iter().map(|(spec, _)| spec).collect(), others.into_iter().map(name).collect())
}

/// Names for a sentence, the first few of many.
pub(super) fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_TOLD);
    let told = names.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{told} and {more} more") } else { told }
}

fn size_of(spec: &ToolSpec) -> u64 {
    let size = spec.name.len() + spec.description.len() + spec.parameters.to_string().len();
    u64::try_from(size).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(name: &str, size: usize) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: "x".repeat(size - name.len() - 2), parameters: json!({}) }
    }

    #[test]
    fn tools_beyond_the_room_are_left_out_those_of_servers_first() {
        let specs = vec![spec("mcp__a__1", 60), spec("mcp__a__2", 60), spec("mcp__a__3", 20), spec("rest__b", 30)];
        let (kept, others) = within(specs, 110);
        let kept: Vec<String> = kept.into_iter().map(|spec| spec.name).collect();
        assert_eq!(kept, ["mcp__a__1", "mcp__a__3", "rest__b"]);
        assert_eq!(others, ["mcp__a__2"]);
    }

    #[test]
    fn no_more_tools_are_offered_than_vendors_take() {
        let specs = (0..130).map(|number| spec(&format!("mcp__a__{number}"), 20)).collect();
        let (kept, others) = within(specs, MOST_BYTES);
        assert_eq!((kept.len(), others.len()), (100, 30));
        assert!(named(&others).ends_with("mcp__a__107 and 22 more"), "{}", named(&others));
    }
}
