//! Tool calls that a model wrote into its text as JSON instead of calling.

use serde_json::{Map, Value};

use super::item::Item;
use crate::domain::ladder::Role;
use crate::session::action::Action;
use crate::session::tool::Tool;

/// Opening braces that are tried per text. A hostile text has millions.
const MAX_TRIES: usize = 500;

/// Finds the tool calls in a text: `{"name": …, "arguments": {…}}` and its common variants.
pub(super) fn in_text(text: &str, role: Role) -> Vec<Item> {
    let mut items = Vec::new();
    let mut rest = text;
    for _ in 0..MAX_TRIES {
        let Some(tail) = rest.find('{').and_then(|at| rest.get(at..)) else { break };
        let mut values = serde_json::Deserializer::from_str(tail).into_iter::<Value>();
        let value = values.next();
        let read = values.byte_offset();
        rest = match value {
            // The whole of it is passed over: a call within a call would be carried out twice.
            Some(Ok(value)) => {
                calls_in(&value, role, &mut items);
                tail.get(read..).unwrap_or_default()
            }
            // Broken as a whole, it may still hold a call further in.
            Some(Err(_)) | None => tail.get(1..).unwrap_or_default(),
        };
    }
    items
}

/// The report that a text consists of: a bare object with the fields of the role's report, alone or in a fence.
pub(super) fn bare_report(text: &str, role: Role) -> Option<Item> {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let body = fenced.map_or(text, |fenced| fenced.trim_start().strip_prefix("json").unwrap_or(fenced));
    let value: Value = serde_json::from_str(body.trim()).ok()?;
    if !value.is_object() {
        return None;
    }
    let (action, unknown) = Action::of_call(Tool::FinalReport, role, &value).ok()?;
    // An object with other fields may be any data that the model quotes.
    unknown.is_empty().then_some(Item::Act(action))
}

fn calls_in(value: &Value, role: Role, items: &mut Vec<Item>) {
    let Value::Object(object) = value else { return };
    if let Some((tool, arguments)) = call(object) {
        items.push(match Action::of_call(tool, role, arguments) {
            Ok((action, _)) => Item::Act(action),
            Err(why) => Item::Refuse { subject: tool.name().to_owned(), why },
        });
    } else if let Some(Value::Array(calls)) = object.get("tool_calls") {
        calls.iter().for_each(|call| calls_in(call, role, items));
    }
}

fn call(object: &Map<String, Value>) -> Option<(Tool, &Value)> {
    // As OpenAI's API nests it: `{"type": "function", "function": {"name": …}}`.
    if let Some(inner) = object.get("function").and_then(Value::as_object) {
        return call(inner);
    }
    let arguments = ["arguments", "parameters", "args", "input"].iter().find_map(|key| object.get(*key));
    let name = ["name", "tool", "tool_name", "function"].iter().find_map(|key| object.get(*key)?.as_str());
    if let (Some(tool), Some(arguments)) = (name.and_then(Tool::named), arguments) {
        return Some((tool, arguments));
    }
    // `{"final_report": {"summary": …}}`
    let mut entries = object.iter();
    let (key, value) = entries.next().filter(|(_, value)| value.is_object())?;
    let tool = Tool::named(key)?;
    entries.next().is_none().then_some((tool, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_prose_are_found_in_all_their_shapes() {
        for text in [
            "I'll look:\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}\nand then fix it.",
            "<tool_call>{\"name\": \"read_file\", \"parameters\": {\"path\": \"a.rs\"}}</tool_call>",
            "{\"tool\": \"read_file\", \"args\": {\"path\": \"a.rs\"}}",
            "{\"type\": \"function\", \"function\": {\"name\": \"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a.rs\\\"}\"}}",
            "{\"tool_calls\": [{\"function\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}}]}",
            "{\"read_file\": {\"path\": \"a.rs\"}}",
            "{ not json } {\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}",
        ] {
            let found = in_text(text, Role::Artisan);
            let wanted = Action::ReadFile { path: "a.rs".to_owned(), start: None, end: None };
            assert_eq!(found, [Item::Act(wanted)], "{text}");
        }
    }

    #[test]
    fn a_bare_report_is_one_where_it_is_the_whole_text_and_fits_the_role() {
        let report = "{\"summary\": \"Fixed.\", \"status\": \"done\"}";
        let wanted = Item::Act(Action::Report(crate::session::FinalReport::Done { summary: "Fixed.".to_owned() }));
        for text in [report.to_owned(), format!("```json\n{report}\n```\n"), format!("```\n{report}\n```")] {
            assert_eq!(bare_report(&text, Role::Artisan), Some(wanted.clone()), "{text}");
            assert_eq!(bare_report(&text, Role::Critic), None, "a review is something else: {text}");
        }
        for text in [
            format!("As in {report}."),
            "{\"summary\": \"Fixed.\"}".to_owned(),
            "{\"summary\": \"a\", \"status\": \"done\", \"version\": 1}".to_owned(),
            "{\"summary\": \"a\", \"status\": \"blocked\"}".to_owned(),
            format!("[{report}]"),
        ] {
            assert_eq!(bare_report(&text, Role::Artisan), None, "{text}");
        }
    }

    #[test]
    fn other_json_is_left_alone() {
        for text in [
            "{\"name\": \"left-pad\", \"version\": \"1.0.0\"}",
            "{\"name\": \"unknown_tool\", \"arguments\": {}}",
            "{\"a\": {\"b\": 1}}",
            "{{{{{{{{",
        ] {
            assert_eq!(in_text(text, Role::Artisan), [], "{text}");
        }
    }

    #[test]
    fn broken_arguments_are_refused_with_the_reason() {
        let found = in_text("{\"name\": \"edit_file\", \"arguments\": {\"path\": \"a\"}}", Role::Artisan);
        assert!(matches!(found.as_slice(), [Item::Refuse { why, .. }] if why.contains("`old_text` is missing")));
    }
}
