//! Where a backlog comes from, as `--tasks` names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::task::TaskFault;

/// The word for the failing tests themselves.
const CLUSTERS: &str = "failing-tests";
/// The word before a label.
const ISSUES: &str = "issues:";

/// Where a backlog comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The failing tests: a task for each that seem to have one cause.
    FailingTests,
    /// A `prd.json` of ralph-tui's form.
    Prd(PathBuf),
    /// A list in YAML.
    List(PathBuf),
    /// The open issues with a label.
    Issues(String),
}

impl Source {
    /// Whether the source itself says which of its tasks are done. Otherwise the log does.
    #[must_use]
    pub const fn says_what_is_done(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Issues(_))
    }
}

impl FromStr for Source {
    type Err = TaskFault;

    fn from_str(text: &str) -> Result<Self, TaskFault> {
        let ends = |endings: &[&str]| endings.iter().any(|ending| text.to_ascii_lowercase().ends_with(ending));
        match text {
            CLUSTERS => Ok(Self::FailingTests),
            other if other.strip_prefix(ISSUES).is_some_and(|label| !label.trim().is_empty()) => {
                Ok(Self::Issues(other.trim_start_matches(ISSUES).trim().to_owned()))
            }
            // The ending alone decides: the file need not exist yet, when its first task is added.
            path if ends(&[".json"]) => Ok(Self::Prd(PathBuf::from(path))),
            path if ends(&[".yml", ".yaml"]) => Ok(Self::List(PathBuf::from(path))),
            other => Err(TaskFault::new(
                format!("'{}' is not a source of tasks", other.escape_debug()),
                format!("use `{CLUSTERS}`, a prd.json (`tasks/prd.json`), a list (`tasks.yml`), or `{ISSUES}LABEL`"),
            )),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailingTests => f.write_str(CLUSTERS),
            Self::Issues(label) => write!(f, "{ISSUES}{label}"),
            Self::Prd(path) | Self::List(path) => write!(f, "{}", path.display()),
        }
    }
}
