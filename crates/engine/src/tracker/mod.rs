//! The tracker: what is to be done, as tasks, and which of them is next.
//!
//! Owns the forms in which backlogs come (the failing tests themselves, a list in YAML, a `prd.json`, issues with a label) and the order in which tasks are
//! taken. It reads no file and runs nothing: texts and reports are given to it, and what is to be written comes back as text. Start
//! reading at [`Task`] and [`next`].

mod clusters;
mod issues;
mod list;
mod matrix;
mod misread;
mod next;
mod prd;
mod source;
mod task;

pub use clusters::{Named, clusters};
pub use issues::{IssueText, issue_id, issue_tasks};
pub use list::List;
pub use matrix::{Job, MOST_JOBS, Matrix, matrix};
pub use next::next;
pub use prd::Prd;
pub use source::Source;
pub use task::{Proof, Task, TaskFault, TaskStatus};
