//! The facts about an agent: the shape that each one's own file fills.

use std::path::{Path, PathBuf};

use super::event::AgentEvent;
use crate::domain::spoken::Spoken;

/// The facts about an agent.
#[derive(Debug)]
pub struct Agent {
    /// Its name behind `cli/`, and its program.
    pub name: &'static str,
    /// The npm package.
    pub package: &'static str,
    /// The target that it asks unless another is named.
    pub default_model: &'static str,
    /// The wires that it speaks. Where it speaks several, the provider's wire decides.
    pub speaks: &'static [Spoken],
    /// Patterns of its own words about rate limits on standard error (S3-8).
    pub limits: &'static [&'static str],
    /// The command line and the settings of a session.
    pub(super) invoke: fn(&Order<'_>) -> Invocation,
    /// Reads one line of its stream.
    pub(super) read: fn(&serde_json::Value, &mut Vec<AgentEvent>),
}

/// The order that an agent gets.
#[derive(Debug, Clone, Copy)]
pub struct Order<'o> {
    /// The task, or where it is to be read.
    pub prompt: &'o str,
    /// The model's name at its vendor.
    pub model: &'o str,
    /// The model of side calls.
    pub side_model: &'o str,
    /// The wire that is spoken.
    pub spoken: Spoken,
    /// Where the gateway is: `http://127.0.0.1:PORT`.
    pub url: &'o str,
    /// The placeholder key.
    pub token: &'o str,
    /// The private home.
    pub home: &'o Path,
    /// The tokens that the model's window takes.
    pub window: u64,
    /// The most tokens of a reply.
    pub max_output: u64,
    /// Whether it may only read.
    pub reads_only: bool,
    /// Whether it runs in our confinement, so that it needs none of its own.
    pub is_confined: bool,
}

/// How an agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its arguments, without the program.
    pub arguments: Vec<String>,
    /// Variables of its own.
    pub variables: Vec<(&'static str, String)>,
    /// Files of its private home.
    pub files: Vec<(PathBuf, String)>,
}

/// A list of words.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
