//! Files that a run left behind and that tools run or obey without being asked.

use serde::{Deserialize, Serialize};

/// One of them, and what became of it at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The path from the top of the checkout. It is not our text.
    pub path: String,
    /// The kind of leftover.
    pub kind: LeftoverKind,
    /// The fate of it.
    pub fate: LeftoverFate,
}

/// The kind of a leftover, by the tool that would have run or obeyed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftoverKind {
    /// A git directory below the top, or a part of one: its configuration and hooks run programs.
    GitDirectory,
    /// The directory of another version control system.
    VersionControl,
    /// Hooks that a manager of git hooks runs.
    GitHooks,
    /// A file that is run or obeyed when a shell enters its folder.
    ShellHook,
    /// Settings by which an editor or a debugger runs programs.
    EditorSettings,
    /// Settings by which a coding agent runs programs.
    AgentSettings,
    /// A link that leads out of the tree, or into its git directory.
    LinkOut,
    /// A pipe, a socket or a device.
    SpecialFile,
}

/// The fate of a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftoverFate {
    /// It was new, and is gone.
    Removed,
    /// It was there before and had been changed. It is put back as it was.
    PutBack,
    /// It could not be removed or put back.
    Stays,
}

impl LeftoverKind {
    /// The kind in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::GitDirectory => "a git directory",
            Self::VersionControl => "a version control directory",
            Self::GitHooks => "git hooks",
            Self::ShellHook => "run by shells that enter the folder",
            Self::EditorSettings => "settings of an editor",
            Self::AgentSettings => "settings of a coding agent",
            Self::LinkOut => "a link out of the tree",
            Self::SpecialFile => "a pipe, socket or device",
        }
    }
}

impl LeftoverFate {
    /// The fate in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::PutBack => "put back as it was",
            Self::Stays => "could not be removed: look at it before you use tools here",
        }
    }
}
