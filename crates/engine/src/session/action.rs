//! A model's request, checked: from a tool call's arguments to an [`Action`].
//!
//! Lenient where the meaning is plain (`"12"` for 12, arguments encoded twice), never guessing where it is not: whatever
//! is missing, unknown or of the wrong type is said precisely, so that the next call can be right.

use serde_json::{Map, Value};

use super::end::FinalReport;
use super::tool::{Kind, Need, Param, Tool};
use crate::domain::blocker::Blocker;
use crate::domain::ladder::Role;

/// Something a model wants done, with sound arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// `list_files`.
    ListFiles { path: Option<String>, glob: Option<String> },
    /// `read_file`.
    ReadFile { path: String, start: Option<u64>, end: Option<u64> },
    /// `search`.
    Search { pattern: String, path: Option<String>, glob: Option<String> },
    /// `edit_file`, or a SEARCH/REPLACE block.
    EditFile { path: String, old: String, new: String, matching: Matching },
    /// `write_file`, or a code block that is to be a whole file.
    WriteFile { path: String, content: String, source: Source },
    /// `delete_file`.
    DeleteFile { path: String },
    /// `run_tests`.
    RunTests { filter: Option<String> },
    /// `run_command`.
    RunCommand { command: String },
    /// `read_output`.
    ReadOutput { handle: String, start: Option<u64>, end: Option<u64> },
    /// A tool from outside.
    Outside { name: String, arguments: Value },
    /// `router__handoff_to`.
    HandOver { to: String, message: String },
    /// `final_report`.
    Report(FinalReport),
    /// Anything said once the report is locked: only its blocks of data count.
    Meta,
}

/// How the old text of an edit must sit in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matching {
    /// Anywhere, once.
    Text,
    /// As whole lines, once: the text protocol speaks in lines.
    Lines,
}

/// Where the content of a whole file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A call of `write_file`.
    Call,
    /// A code block.
    Block {
        /// Whether the file must be there already, or must not.
        existing: Existing,
        /// A first line that named the path: kept only if the file has it too.
        header: Option<String>,
    },
}

/// A code block's demand on the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// Nothing.
    Either,
    /// It must be there: the path was only mentioned in a sentence.
    Required,
    /// It must not be there, or be empty: there was nothing to search for.
    Forbidden,
}

impl Action {
    /// Which tool does it.
    pub(super) const fn tool(&self) -> Tool {
        match self {
            Self::Outside { .. } => Tool::Outside,
            Self::HandOver { .. } => Tool::HandOver,
            Self::ListFiles { .. } => Tool::ListFiles,
            Self::ReadFile { .. } => Tool::ReadFile,
            Self::Search { .. } => Tool::Search,
            Self::EditFile { .. } => Tool::EditFile,
            Self::WriteFile { .. } => Tool::WriteFile,
            Self::DeleteFile { .. } => Tool::DeleteFile,
            Self::RunTests { .. } => Tool::RunTests,
            Self::RunCommand { .. } => Tool::RunCommand,
            Self::ReadOutput { .. } => Tool::ReadOutput,
            Self::Report(_) | Self::Meta => Tool::FinalReport,
        }
    }

    /// Its subject in a few words: a path, a pattern.
    pub(super) fn subject(&self) -> &str {
        match self {
            Self::ListFiles { path, glob } => path.as_deref().or(glob.as_deref()).unwrap_or("."),
            Self::ReadFile { path, .. }
            | Self::EditFile { path, .. }
            | Self::WriteFile { path, .. }
            | Self::DeleteFile { path } => path,
            Self::Search { pattern, .. } => pattern,
            Self::RunTests { filter } => filter.as_deref().unwrap_or("all"),
            Self::RunCommand { command } => command,
            Self::ReadOutput { handle, .. } => handle,
            Self::Outside { arguments, .. } => first_text(arguments),
            Self::HandOver { to, .. } => to,
            Self::Report(report) => report.as_str(),
            Self::Meta => "meta",
        }
    }

    /// The file that it changes, if it changes one.
    pub(super) fn writes_to(&self) -> Option<&str> {
        match self {
            Self::EditFile { path, .. } | Self::WriteFile { path, .. } | Self::DeleteFile { path } => Some(path),
            Self::ListFiles { .. }
            | Self::ReadFile { .. }
            | Self::Search { .. }
            | Self::RunTests { .. }
            | Self::RunCommand { .. }
            | Self::ReadOutput { .. }
            | Self::Outside { .. }
            | Self::HandOver { .. }
            | Self::Report(_)
            | Self::Meta => None,
        }
    }

    /// Checks a call's arguments. Beside the action it returns the unknown parameters that were ignored.
    ///
    /// # Errors
    /// The fault, in words for the model.
    pub(super) fn of_call(tool: Tool, role: Role, arguments: &Value) -> Result<(Self, Vec<String>), String> {
        let params = tool.params(role);
        let given = object(tool, params, arguments)?;
        let unknown =
            given.iter().filter(|(key, value)| !value.is_null() && !params.iter().any(|param| param.name == **key));
        // Told and ignored: to refuse a call for a needless word would cost a turn.
        let unknown = unknown.map(|(key, _)| key.clone()).collect();
        let checked = Checked { tool, params, given };
        Ok((checked.action()?, unknown))
    }
}

/// The names of a tool's parameters, optional ones marked.
fn signature(tool: Tool, params: &[Param]) -> String {
    let names: Vec<String> = params
        .iter()
        .map(|param| format!("{}{}", param.name, if param.need == Need::Optional { "?" } else { "" }))
        .collect();
    format!("{}({})", tool.name(), names.join(", "))
}

fn object(tool: Tool, params: &[Param], arguments: &Value) -> Result<Map<String, Value>, String> {
    match arguments {
        Value::Object(map) => Ok(map.clone()),
        // A call without parameters often has none at all.
        Value::Null => Ok(Map::new()),
        Value::String(raw) if raw.trim().is_empty() => Ok(Map::new()),
        // Some models encode the object twice; decoding it once more is no guess.
        Value::String(raw) => match serde_json::from_str(raw) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(format!("the arguments are no JSON object. Expected: {}", signature(tool, params))),
            Err(error) => {
                Err(format!("the arguments are no valid JSON ({error}). Expected: {}", signature(tool, params)))
            }
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err(format!("the arguments are no JSON object. Expected: {}", signature(tool, params)))
        }
    }
}

struct Checked<'a> {
    tool: Tool,
    params: &'a [Param],
    given: Map<String, Value>,
}

impl Checked<'_> {
    fn action(&self) -> Result<Action, String> {
        Ok(match self.tool {
            Tool::ListFiles => Action::ListFiles { path: self.maybe("path")?, glob: self.maybe("glob")? },
            Tool::ReadFile => Action::ReadFile {
                path: self.name("path")?,
                start: self.line("start_line")?,
                end: self.line("end_line")?,
            },
            Tool::Search => {
                Action::Search { pattern: self.name("pattern")?, path: self.maybe("path")?, glob: self.maybe("glob")? }
            }
            Tool::EditFile => self.edit()?,
            Tool::WriteFile => {
                Action::WriteFile { path: self.name("path")?, content: self.text("content")?, source: Source::Call }
            }
            Tool::DeleteFile => Action::DeleteFile { path: self.name("path")? },
            Tool::RunTests => {
                Action::RunTests { filter: self.maybe("filter")?.map(|filter| argument("filter", filter)).transpose()? }
            }
            Tool::RunCommand => Action::RunCommand { command: argument("command", self.name("command")?)? },
            Tool::ReadOutput => Action::ReadOutput {
                handle: self.name("handle")?,
                start: self.line("start_line")?,
                end: self.line("end_line")?,
            },
            Tool::FinalReport => Action::Report(self.report()?),
            // The reading of a reply has told these apart by their own names.
            Tool::Outside | Tool::HandOver => return Err("such tools are not called by this name".to_owned()),
        })
    }

    fn edit(&self) -> Result<Action, String> {
        let path = self.name("path")?;
        let (old, new) = (self.text("old_text")?, self.text("new_text")?);
        if old.is_empty() {
            return Err("`old_text` is empty. To make a new file, call write_file".to_owned());
        }
        if old == new {
            return Err("`old_text` and `new_text` are the same: nothing would change".to_owned());
        }
        Ok(Action::EditFile { path, old, new, matching: Matching::Text })
    }

    fn report(&self) -> Result<FinalReport, String> {
        let summary = self.name("summary")?;
        if self.params.iter().any(|param| param.name == "verdict") {
            let issues = self.texts("issues")?;
            return Ok(match self.word("verdict")? {
                "approve" => FinalReport::Approve { summary, issues },
                // `word` lets no third verdict through.
                _ => FinalReport::Reject { summary, issues },
            });
        }
        Ok(match self.word("status")? {
            "done" if self.params.iter().any(|param| param.name == "files") => {
                FinalReport::Briefed { summary, files: self.texts("files")? }
            }
            "done" => FinalReport::Done { summary },
            _ => {
                let reason = self.maybe("reason")?;
                let reason = reason.ok_or("`reason` is missing: say why a person is needed")?;
                FinalReport::Blocked { summary, reason, on: self.blocked_on()? }
            }
        })
    }

    /// The blockers that a blocked model names. The librarian's report has no such parameter.
    fn blocked_on(&self) -> Result<Vec<Blocker>, String> {
        self.get("blocked_on").map_or_else(|| Ok(Vec::new()), Blocker::read_list)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    fn missing(&self, name: &str) -> String {
        format!("`{name}` is missing. Expected: {}", signature(self.tool, self.params))
    }

    /// A required text that may be empty.
    fn text(&self, name: &str) -> Result<String, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("`{name}` must be a string, not {}", type_of(other))),
            None => Err(self.missing(name)),
        }
    }

    /// A required text that says something.
    fn name(&self, name: &str) -> Result<String, String> {
        let text = self.text(name)?;
        if text.trim().is_empty() { Err(format!("`{name}` is empty")) } else { Ok(text) }
    }

    /// An optional text. An empty one counts as absent.
    fn maybe(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(_) => Ok(Some(self.text(name)?).filter(|text| !text.trim().is_empty())),
        }
    }

    fn line(&self, name: &str) -> Result<Option<u64>, String> {
        let wrong = |value: &Value| format!("`{name}` must be a line number from 1, not {value}");
        match self.get(name) {
            None => Ok(None),
            // Models that fill in every parameter leave this one empty.
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(value) => {
                let number = match value {
                    // Some models write 12 as 12.0.
                    Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
                    Value::String(text) => text.trim().parse().ok(),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                };
                number.filter(|&line| line > 0).map(Some).ok_or_else(|| wrong(value))
            }
        }
    }

    fn word(&self, name: &str) -> Result<&'static str, String> {
        let text = self.text(name)?;
        let words = self.params.iter().find(|param| param.name == name).map(|param| param.kind);
        let Some(Kind::Word(words)) = words else { return Err(self.missing(name)) };
        let asked = text.trim().to_ascii_lowercase();
        let found = words.iter().find(|word| **word == asked).copied();
        found.ok_or_else(|| format!("`{name}` must be one of {}, not `{}`", words.join(", "), text.trim()))
    }

    /// A list of texts. One text counts as a list of one, and an object is kept as its JSON.
    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(entries)) => Ok(entries
                .iter()
                .map(|entry| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned))
                .collect()),
            Some(other) => Err(format!("`{name}` must be a list of strings, not {}", type_of(other))),
        }
    }
}

/// The first text among arguments: what a call is about, most often.
fn first_text(arguments: &Value) -> &str {
    arguments.as_object().into_iter().flatten().find_map(|(_, value)| value.as_str()).unwrap_or_default()
}

/// A text that becomes an argument of a program, which takes none of any length.
fn argument(name: &str, text: String) -> Result<String, String> {
    /// Far below what Linux takes for one argument (128 KiB), far above what anyone means.
    const LONGEST: usize = 8 * 1024;
    if text.contains('\0') {
        return Err(format!("`{name}` holds a NUL byte"));
    }
    if text.len() <= LONGEST {
        return Ok(text);
    }
    Err(format!("`{name}` has {} bytes; at most {LONGEST} are taken", text.len()))
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small whole number")]
fn whole(number: f64) -> Option<u64> {
    const MAX_LINE: f64 = 1e9;
    (number.fract() == 0.0 && (0.0..=MAX_LINE).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
#[path = "action/tests.rs"]
mod tests;
