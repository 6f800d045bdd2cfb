//! The line to an agent: a stream that is only read, or a talk in which the agent asks for files and permissions.
//!
//! Invariant: a file is written for an agent as for a model's tool, so that what it may not write is refused before it is written.

use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::spec::{HostedPorts, HostedSpec};
use crate::backend::acp::{Talk, Turn, Wish};
use crate::backend::{AgentEvent, AgentStream, Backend};
use crate::config::Sandbox;
use crate::domain::ladder::Role;
use crate::gateway::Ledger;
use crate::workspace::Workspace;

/// The line to an agent.
#[derive(Debug)]
pub(super) enum Line {
    /// It is heard alone.
    Stream(AgentStream),
    /// It is spoken to, by what goes through the sender. `None` once nothing more is said.
    Talk(Box<Talk>, Option<UnboundedSender<Vec<u8>>>),
}

/// The answers to what an agent asks of its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client<'d> {
    workspace: &'d Workspace,
    root: &'d Path,
    reads_only: bool,
    is_confined: bool,
    ledger: &'d Ledger,
}

impl<'d> Client<'d> {
    pub(super) fn new(spec: &HostedSpec, ledger: &'d Ledger, ports: &'d HostedPorts<'_>) -> Self {
        let reads_only = spec.role != Role::Artisan;
        let is_confined = ports.hosting.sandbox != Sandbox::Off;
        Self { workspace: ports.workspace, root: &ports.hosting.checkout, reads_only, is_confined, ledger }
    }

    fn answer(&self, wish: &Wish) -> Result<Value, String> {
        let answer = match wish {
            Wish::Read { path, line, limit } => self.read(path, *line, *limit),
            Wish::Write { path, content } => self.write(path, content),
            Wish::Permission { changes, is_change, runs, yes, no } => {
                let refused = self.refuses(changes, *is_change, *runs);
                if let Some(why) = &refused {
                    self.ledger.warn(&format!("An agent was refused a change: {why}"));
                }
                let option = if refused.is_some() { no } else { yes };
                // An agent that offers no such option is answered as if nobody had chosen.
                let outcome = option.as_ref().map_or_else(
                    || json!({"outcome": "cancelled"}),
                    |id| json!({"outcome": "selected", "optionId": id}),
                );
                return Ok(json!({ "outcome": outcome }));
            }
        };
        answer.inspect_err(|why| self.ledger.warn(&format!("An agent was refused a file: {why}")))
    }

    fn relative<'p>(&self, path: &'p str) -> Result<&'p str, String> {
        // A relative path is taken from the checkout, where the agent was started.
        let inside = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(path));
        inside.to_str().filter(|_| inside.is_relative()).ok_or_else(|| format!("`{path}` is outside the checkout"))
    }

    fn read(&self, path: &str, line: Option<u64>, limit: Option<u64>) -> Result<Value, String> {
        let relative = self.relative(path)?;
        let text = self.workspace.read_text(relative);
        let text = text.ok_or_else(|| format!("`{relative}` is not a text file of the checkout"))?;
        if line.is_none() && limit.is_none() {
            return Ok(json!({ "content": text }));
        }
        let number = |value: Option<u64>, usual| value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usual);
        let lines = text.split_inclusive('\n').skip(number(line, 1).saturating_sub(1)).take(number(limit, usize::MAX));
        Ok(json!({ "content": lines.collect::<String>() }))
    }

    fn write(&self, path: &str, content: &str) -> Result<Value, String> {
        if self.reads_only {
            return Err("this role reads and changes nothing".to_owned());
        }
        let relative = self.relative(path)?;
        self.workspace.write_file(relative, content).map_err(|error| error.to_string())?;
        Ok(json!({}))
    }

    /// Why a tool may not change these files. `None` where it may.
    fn refuses(&self, changes: &[String], is_change: bool, runs: bool) -> Option<String> {
        if runs && !self.is_confined {
            return Some("outside of the sandbox an agent runs no commands".to_owned());
        }
        if is_change && self.reads_only {
            return Some("this role reads and changes nothing".to_owned());
        }
        changes.iter().find_map(|path| match self.relative(path) {
            Ok(relative) => self.workspace.objection_to(relative).unwrap_or_else(|error| Some(error.to_string())),
            Err(why) => Some(why),
        })
    }
}

impl Line {
    /// Opens the line to a session's agent, and says the first words.
    pub(super) fn open(spec: &HostedSpec, ports: &HostedPorts<'_>, say: UnboundedSender<Vec<u8>>) -> Self {
        if spec.backend != Backend::Acp {
            return Self::Stream(AgentStream::of(spec.backend));
        }
        let mut talk = Talk::new(&spec.prompt, &ports.hosting.checkout.to_string_lossy());
        if let Turn::Say(line) = talk.begin() {
            drop(say.send(line.into_bytes()));
        }
        Self::Talk(Box::new(talk), Some(say))
    }

    /// Takes the next bytes, or the end, and answers what is asked in them.
    pub(super) fn push(&mut self, bytes: Option<&[u8]>, client: Client<'_>) -> Vec<AgentEvent> {
        match (self, bytes) {
            (Self::Stream(stream), Some(bytes)) => stream.push(bytes),
            (Self::Stream(stream), None) => stream.finish(),
            // Its output has ended. Without the sender its input ends as well.
            (Self::Talk(_, say), None) => {
                *say = None;
                Vec::new()
            }
            (Self::Talk(talk, say), Some(bytes)) => {
                let turns = talk.push(bytes);
                turns.into_iter().filter_map(|turn| take(turn, say, client)).collect()
            }
        }
    }

    /// Whether nothing more is said.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self, Self::Talk(_, None))
    }
}

fn take(turn: Turn, say: &mut Option<UnboundedSender<Vec<u8>>>, client: Client<'_>) -> Option<AgentEvent> {
    let line = match turn {
        Turn::Heard(event) => return Some(event),
        Turn::Over => {
            *say = None;
            return None;
        }
        Turn::Say(line) => line,
        Turn::Asked(asked) => Talk::answer(&asked, client.answer(&asked.wish)),
    };
    if let Some(say) = say {
        // An agent that is gone hears nothing.
        drop(say.send(line.into_bytes()));
    }
    None
}
