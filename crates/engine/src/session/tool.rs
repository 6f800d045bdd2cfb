//! The tools of DESIGN §2.3: names, parameters, and who gets which.
//!
//! One table per tool gives both the vendor's description and the check of a call, so they cannot disagree. Invariant: the list for a role
//! is the same, byte for byte, on every turn but the final one, so that vendors can cache it. Descriptions are as short as a model can
//! bear, because every call pays for them.

use serde_json::{Map, Value, json};

use crate::domain::blocker::BlockerKind;
use crate::domain::ladder::Role;
use crate::domain::tool::ToolSpec;

/// A built-in tool. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    ListFiles,
    ReadFile,
    Search,
    EditFile,
    WriteFile,
    DeleteFile,
    RunTests,
    RunCommand,
    ReadOutput,
    FinalReport,
    /// Any tool from outside. Its name and its parameters are its source's.
    Outside,
    /// The router's. Its parameters hold the names of the configuration.
    HandOver,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A one-based line number.
    Line,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// Blockers: a list of objects with a kind and a reference.
    Blockers,
}

/// Whether a call must give a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// One parameter of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
}

const fn text(name: &'static str) -> Param {
    Param { name, kind: Kind::Text, need: Need::Required }
}

const fn optional(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, need: Need::Optional }
}

const fn line(name: &'static str) -> Param {
    optional(name, Kind::Line)
}

/// Ends of the librarian's and artisan's sessions.
pub(super) const STATUSES: [&str; 2] = ["done", "blocked"];
/// The critic's verdicts.
pub(super) const VERDICTS: [&str; 2] = ["approve", "reject"];

const LIST_FILES: [Param; 2] = [optional("path", Kind::Text), optional("glob", Kind::Text)];
const READ_FILE: [Param; 3] = [text("path"), line("start_line"), line("end_line")];
const SEARCH: [Param; 3] = [text("pattern"), optional("path", Kind::Text), optional("glob", Kind::Text)];
const EDIT_FILE: [Param; 3] = [text("path"), text("old_text"), text("new_text")];
const WRITE_FILE: [Param; 2] = [text("path"), text("content")];
const DELETE_FILE: [Param; 1] = [text("path")];
const RUN_TESTS: [Param; 1] = [optional("filter", Kind::Text)];
const RUN_COMMAND: [Param; 1] = [text("command")];
const READ_OUTPUT: [Param; 3] = [text("handle"), line("start_line"), line("end_line")];
const REPORT: [Param; 4] = [
    text("summary"),
    Param { name: "status", kind: Kind::Word(&STATUSES), need: Need::Required },
    optional("reason", Kind::Text),
    optional("blocked_on", Kind::Blockers),
];
const BRIEF: [Param; 4] = [
    text("summary"),
    Param { name: "status", kind: Kind::Word(&STATUSES), need: Need::Required },
    optional("reason", Kind::Text),
    optional("files", Kind::Texts),
];
const ADVICE: [Param; 3] = [
    text("summary"),
    Param { name: "status", kind: Kind::Word(&STATUSES), need: Need::Required },
    optional("reason", Kind::Text),
];
const REVIEW: [Param; 3] = [
    text("summary"),
    Param { name: "verdict", kind: Kind::Word(&VERDICTS), need: Need::Required },
    optional("issues", Kind::Texts),
];

impl Tool {
    const ALL: [Self; 10] = [
        Self::ListFiles,
        Self::ReadFile,
        Self::Search,
        Self::EditFile,
        Self::WriteFile,
        Self::DeleteFile,
        Self::RunTests,
        Self::RunCommand,
        Self::ReadOutput,
        Self::FinalReport,
    ];

    /// The name by which a model calls it. Part of the contract.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ListFiles => "list_files",
            Self::ReadFile => "read_file",
            Self::Search => "search",
            Self::EditFile => "edit_file",
            Self::WriteFile => "write_file",
            Self::DeleteFile => "delete_file",
            Self::RunTests => "run_tests",
            Self::RunCommand => "run_command",
            Self::ReadOutput => "read_output",
            Self::FinalReport => "final_report",
            // Its source names it.
            Self::Outside => "",
            Self::HandOver => "router__handoff_to",
        }
    }

    /// The tool of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Its parameters in the order in which they are told.
    pub(super) const fn params(self, role: Role) -> &'static [Param] {
        match self {
            Self::ListFiles => &LIST_FILES,
            Self::ReadFile => &READ_FILE,
            Self::Search => &SEARCH,
            Self::EditFile => &EDIT_FILE,
            Self::WriteFile => &WRITE_FILE,
            Self::DeleteFile => &DELETE_FILE,
            Self::RunTests => &RUN_TESTS,
            Self::RunCommand => &RUN_COMMAND,
            Self::ReadOutput => &READ_OUTPUT,
            Self::FinalReport => match role {
                Role::Critic => &REVIEW,
                Role::Librarian => &BRIEF,
                Role::Artisan => &REPORT,
                Role::Advisor => &ADVICE,
            },
            Self::Outside | Self::HandOver => &[],
        }
    }

    fn description(self, commands: &[String]) -> String {
        let fixed = match self {
            Self::ListFiles => "List files.",
            Self::ReadFile => "Read a file; lines come numbered.",
            Self::Search => "Search file contents by regex.",
            Self::EditFile => "Replace old_text, which must match exactly once, without line numbers.",
            Self::WriteFile => "Create a file or replace all of it.",
            Self::DeleteFile => "Delete a file.",
            Self::RunTests => "Run the tests.",
            Self::RunCommand => return format!("Run one of: {}.", commands.join(", ")),
            Self::ReadOutput => "Read a long output by its handle.",
            Self::FinalReport => "End your work. Call it once, last.",
            Self::Outside | Self::HandOver => "",
        };
        fixed.to_owned()
    }

    /// Its description for a vendor.
    pub(super) fn spec(self, role: Role, commands: &[String]) -> ToolSpec {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for param in self.params(role) {
            let schema = match param.kind {
                Kind::Text => json!({"type": "string"}),
                Kind::Line => json!({"type": "integer"}),
                Kind::Word(words) => json!({"type": "string", "enum": words}),
                Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
                Kind::Blockers => json!({"type": "array", "items": {"type": "object", "properties": {
                    "kind": {"type": "string", "enum": BlockerKind::WORDS}, "ref": {"type": "string"}}}}),
            };
            properties.insert(param.name.to_owned(), schema);
            if param.need == Need::Required {
                required.push(Value::from(param.name));
            }
        }
        let mut parameters = json!({"type": "object", "properties": properties});
        if let Some(object) = parameters.as_object_mut().filter(|_| !required.is_empty()) {
            object.insert("required".to_owned(), Value::Array(required));
        }
        ToolSpec { name: self.name().to_owned(), description: self.description(commands), parameters }
    }
}

/// The tools on offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    /// Whose session.
    pub(super) role: Role,
    /// Whether there are tests to run.
    pub(super) tests: bool,
    /// Whether any command is allowed.
    pub(super) commands: bool,
}

impl Offer {
    /// The tools of a role: librarian and critic only read (DESIGN §2.3).
    pub(super) fn tools(self) -> Vec<Tool> {
        let writes = self.role == Role::Artisan;
        Tool::ALL
            .into_iter()
            .filter(|tool| match tool {
                Tool::EditFile | Tool::WriteFile | Tool::DeleteFile => writes,
                Tool::RunTests => writes && self.tests,
                Tool::RunCommand => writes && self.commands,
                Tool::ListFiles | Tool::ReadFile | Tool::Search | Tool::ReadOutput | Tool::FinalReport => true,
                Tool::Outside | Tool::HandOver => false,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::meta::RESERVED;

    fn offer(role: Role) -> Offer {
        Offer { role, tests: true, commands: false }
    }

    #[test]
    fn the_artisans_tools_stay_small() {
        let specs: Vec<ToolSpec> =
            offer(Role::Artisan).tools().into_iter().map(|tool| tool.spec(Role::Artisan, &[])).collect();
        let bytes = serde_json::to_string(&specs).unwrap().len();
        assert!(bytes <= 2_200, "{bytes} bytes: every uncached call pays for them");
    }

    #[test]
    fn librarian_and_critic_cannot_write_or_run() {
        for role in [Role::Librarian, Role::Critic, Role::Advisor] {
            let names: Vec<&str> =
                Offer { role, tests: true, commands: true }.tools().into_iter().map(Tool::name).collect();
            assert_eq!(names, ["list_files", "read_file", "search", "read_output", "final_report"]);
        }
    }

    #[test]
    fn names_and_parameters_are_the_contract() {
        let told: Vec<String> = Offer { role: Role::Artisan, tests: true, commands: true }
            .tools()
            .into_iter()
            .map(|tool| {
                let params: Vec<String> = tool
                    .params(Role::Artisan)
                    .iter()
                    .map(|param| format!("{}{}", param.name, if param.need == Need::Optional { "?" } else { "" }))
                    .collect();
                format!("{}{{{}}}", tool.name(), params.join(","))
            })
            .collect();
        assert_eq!(
            told,
            [
                "list_files{path?,glob?}",
                "read_file{path,start_line?,end_line?}",
                "search{pattern,path?,glob?}",
                "edit_file{path,old_text,new_text}",
                "write_file{path,content}",
                "delete_file{path}",
                "run_tests{filter?}",
                "run_command{command}",
                "read_output{handle,start_line?,end_line?}",
                "final_report{summary,status,reason?,blocked_on?}",
            ]
        );
        let review: Vec<&str> = Tool::FinalReport.params(Role::Critic).iter().map(|param| param.name).collect();
        assert_eq!(review, ["summary", "verdict", "issues"]);
        let brief: Vec<&str> = Tool::FinalReport.params(Role::Librarian).iter().map(|param| param.name).collect();
        assert_eq!(brief, ["summary", "status", "reason", "files"]);
        for role in [Role::Librarian, Role::Artisan, Role::Critic, Role::Advisor] {
            let fields = Tool::FinalReport.params(role);
            assert!(
                fields.iter().all(|field| RESERVED.contains(&field.name)),
                "no block of data has the name of a field"
            );
        }
    }
}
