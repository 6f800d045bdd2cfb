//! A vendor's refusal of a request, and which tools from outside it is about.

use crate::domain::tool::ToolSpec;

/// Words before the number of a tool in vendors' refusals: Anthropic's, OpenAI's and Gemini's.
const NUMBERED: [&str; 5] = ["tools.", "tools[", "functions[", "functionDeclarations[", "function_declarations["];

/// The most refusals that are believed to be about the tools that they name.
const MOST_NAMED: u32 = 3;
/// The most names in a sentence.
const MOST_TOLD: usize = 8;

/// The tools from outside that a session offers, by name.
#[derive(Debug, Default)]
pub(super) struct OutsideNames {
    pub(super) names: Vec<String>,
    refusals: u32,
}

impl OutsideNames {
    pub(super) const fn of(names: Vec<String>) -> Self {
        Self { names, refusals: 0 }
    }

    /// Takes those that a refusal names off the offer, and all of them where it names none or refusals do not end. Returns the tools
    /// in words, and `None` where there are none.
    pub(super) fn leave(&mut self, said: &str, specs: &mut Vec<ToolSpec>) -> Option<String> {
        self.refusals += 1;
        // A vendor that goes on refusing may mean other tools than those that it names.
        let named = if self.refusals > MOST_NAMED { Vec::new() } else { named(said, specs, &self.names) };
        let left = if named.is_empty() { std::mem::take(&mut self.names) } else { named };
        self.names.retain(|name| !left.contains(name));
        specs.retain(|spec| !left.contains(&spec.name));
        match left.len() {
            0 => None,
            1..=MOST_TOLD => Some(left.join(", ")),
            many => Some(format!("{many} external tools")),
        }
    }
}

/// The tools among the given names that a refusal names, by name or by number in the request.
pub(super) fn named(said: &str, specs: &[ToolSpec], outside: &[String]) -> Vec<String> {
    let of_number = |number: usize| specs.get(number).map(|spec| spec.name.as_str());
    let by_number: Vec<&str> = NUMBERED.iter().flat_map(|before| numbers(said, before)).filter_map(of_number).collect();
    let is_named = |name: &&String| by_number.contains(&name.as_str()) || has_word(said, name);
    outside.iter().filter(is_named).cloned().collect()
}

/// The numbers that stand right behind a word.
fn numbers(said: &str, before: &str) -> Vec<usize> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    said.split(before).skip(1).filter_map(|rest| digits(rest).parse().ok()).collect()
}

/// Whether a name stands in a text and is no part of a longer one.
fn has_word(said: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    said.match_indices(name).any(|(at, _)| {
        let before = said.get(..at).and_then(|text| text.chars().next_back());
        let behind = said.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_tools_by_name_or_number() {
        let names = ["read_file", "mcp__a__one", "mcp__a__one_more", "rest__b"];
        let spec =
            |name: &&str| ToolSpec { name: (*name).to_owned(), description: String::new(), parameters: json!({}) };
        let specs: Vec<ToolSpec> = names.iter().map(spec).collect();
        let outside: Vec<String> = names.iter().skip(1).map(|name| (*name).to_owned()).collect();
        for (said, tools) in [
            ("Invalid schema for function 'mcp__a__one': array schema missing items", vec!["mcp__a__one"]),
            ("tools.2.custom.input_schema: JSON schema is invalid", vec!["mcp__a__one_more"]),
            ("Invalid 'tools[3].name': too long", vec!["rest__b"]),
            ("* GenerateContentRequest.tools[0].function_declarations[1].parameters: bad", vec!["mcp__a__one"]),
            ("tools.0.custom.name: our own", vec![]),
            ("tools.12.custom.name: there is none", vec![]),
            ("max_tokens: too many", vec![]),
        ] {
            assert_eq!(named(said, &specs, &outside), tools, "{said}");
        }
    }

    #[test]
    fn refusals_that_do_not_end_cost_all_tools() {
        let spec = |name: String| ToolSpec { name, description: String::new(), parameters: json!({}) };
        let names: Vec<String> = (0..20).map(|number| format!("mcp__a__{number}")).collect();
        let mut specs: Vec<ToolSpec> = names.iter().cloned().chain(["read_file".to_owned()]).map(spec).collect();
        let mut offered = OutsideNames::of(names);
        let told: Vec<_> = (0..5).map(|_| offered.leave("tools.0.name: bad", &mut specs)).collect();
        let one = |number: u32| Some(format!("mcp__a__{number}"));
        assert_eq!(told, [one(0), one(1), one(2), Some("17 external tools".to_owned()), None]);
        assert_eq!(specs.len(), 1);
    }
}
