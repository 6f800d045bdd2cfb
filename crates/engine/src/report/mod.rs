//! Reports: a run's events as text, Markdown, HTML, JSON and progress lines (DESIGN §2.5).
//!
//! Owns every sentence that a person reads about a run. One fold, [`view::RunView`], feeds all surfaces, so they cannot disagree. [`words`]
//! holds the sentences, and each surface escapes foreign text in its own way. Invariants: pure functions of `&[Event]`, no I/O and no
//! clock. Text from a model or a repository is sanitised by [`plain`] and never interpreted by a terminal, by Markdown or by the Actions
//! runner.

pub mod annotations;
mod columns;
mod conversation;
pub mod elsewhere;
pub mod finding;
#[cfg(test)]
mod fixtures;
pub mod gist;
pub mod html;
pub mod json;
pub mod jsonl;
pub mod markdown;
pub mod operations;
pub mod outputs;
pub mod patch;
pub mod plain;
pub mod progress;
mod raises;
pub mod runs;
pub mod show;
pub mod stats;
pub mod style;
pub mod text;
pub mod view;
pub mod whereabouts;
pub mod words;
pub mod workflow_command;
pub mod wrap;
