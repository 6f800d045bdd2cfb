//! The tools of a session from every source, and how each is called: servers, requests, and sub-agents that hold sessions of their own.
//!
//! Invariant: a sub-agent spends within every cap of the session that calls it, and its own. Whatever becomes of it is a tool's answer.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;

use super::super::climb::Climb;
use super::super::context::Context;
use super::super::own_time;
use super::super::session_spec::spec_of;
use super::room;
use super::servers::Served;
use crate::agent;
use crate::audit::{Cap, Scope};
use crate::config::SubAgentPlan;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::BELOW;
use crate::domain::session_exit::SessionExit;
use crate::domain::stop::{Stop, StopCause};
use crate::domain::tool::{ToolSource, ToolSpec};
use crate::domain::units::MicroUsd;
use crate::mcp::{Client, Remote};
use crate::policy::rotation::Patience;
use crate::rest::Rest;
use crate::session::{
    self, Book, DO_WITHOUT, FailureReason, FinalReport, Lineage, LostSource, Memory, OutsideCall, OutsideError,
    OutsideFuture, OutsideTools, Ports, Replay, SessionEnd, SessionSpec, Toolbox,
};

/// How deep sub-agents call sub-agents: deeper, nobody could tell any more who asked for what.
pub(super) const DEEPEST: usize = 2;
/// The longest task of a sub-agent, in characters.
const TASK_CHARS: usize = 8_000;
/// The longest answer of a sub-agent, in characters.
const ANSWER_CHARS: usize = 16_000;
/// The part of the run's money that a sub-agent may spend unless something else is said.
const DEFAULT_SHARE: u64 = 10;

/// A source of tools.
pub(super) enum Source {
    /// A server that speaks MCP.
    Mcp(Served),
    /// A request to a web service.
    Rest(Rest),
    /// A sub-agent.
    Agent(SubAgentPlan),
}

impl Source {
    /// The beginning of its tools' names, by which a configuration names it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Mcp(served) => format!("{}{}", ToolSource::Mcp.prefix(), served.name),
            Self::Rest(rest) => rest.name(),
            Self::Agent(agent) => name_of(agent),
        }
    }

    /// The way to a server behind an address, and who goes it.
    pub(super) fn remote(&self) -> Option<(&Remote, &Client)> {
        match self {
            Self::Mcp(served) => served.remote.as_ref().map(|remote| (remote, &served.client)),
            Self::Rest(_) | Self::Agent(_) => None,
        }
    }

    /// Whether what it is called with leaves this machine, other than to a model.
    const fn goes_out(&self) -> bool {
        match self {
            Self::Mcp(served) => served.goes_out,
            Self::Rest(_) => true,
            Self::Agent(_) => false,
        }
    }

    fn has(&self, tool: &str) -> bool {
        match self {
            Self::Mcp(served) => served.tools.iter().any(|offered| offered.spec.name == tool),
            Self::Rest(_) | Self::Agent(_) => self.name() == tool,
        }
    }

    fn specs(&self) -> Vec<ToolSpec> {
        match self {
            Self::Mcp(served) => served.specs().collect(),
            Self::Rest(rest) => vec![rest.spec()],
            Self::Agent(agent) => vec![ToolSpec {
                name: name_of(agent),
                description: agent.description.clone(),
                parameters: json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}),
            }],
        }
    }

    /// Whether a session may call it that was given it.
    fn is_for(&self, caller: &Caller<'_, '_>) -> bool {
        match self {
            Self::Mcp(_) | Self::Rest(_) => true,
            // Whoever may not write itself does not write through another.
            Self::Agent(agent) => caller.depth() < DEEPEST && (caller.may_write || !agent.allow_write),
        }
    }
}

/// The name of a sub-agent as a tool.
pub(super) fn name_of(agent: &SubAgentPlan) -> String {
    format!("{}{}", ToolSource::Agent.prefix(), agent.name)
}

/// The session that calls, with what its sub-agents inherit.
pub(in crate::lifecycle) struct Caller<'t, 'a> {
    context: &'t Context<'a>,
    climb: &'t Climb,
    journal: Book<'t>,
    caps: Vec<Cap>,
    /// Who calls, below the iteration.
    path: String,
    targets: Vec<ModelId>,
    may_write: bool,
    /// The first session of the tree. `None` where it is the one that calls.
    root: Option<String>,
    /// The end of whoever calls: nothing that was called outlives it.
    stop: Stop,
}

impl<'t, 'a> Caller<'t, 'a> {
    /// A session of a role or of a named agent.
    pub(in crate::lifecycle) fn of(
        (context, climb): (&'t Context<'a>, &'t Climb),
        journal: Book<'t>,
        caps: Vec<Cap>,
        (spec, stop): (&SessionSpec, &Stop),
    ) -> Self {
        let path = if spec.agent.is_empty() { spec.role.as_str() } else { &spec.agent };
        Self {
            context,
            climb,
            journal,
            caps,
            path: path.to_owned(),
            targets: spec.targets.clone(),
            may_write: spec.role == Role::Artisan,
            root: spec.lineage.as_ref().map(|lineage| lineage.root.clone()),
            stop: stop.clone(),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    fn depth(&self) -> usize {
        self.path.matches(BELOW).count()
    }
}

/// What the sub-agents below a session share.
#[derive(Debug)]
pub(super) struct Below {
    /// Their replies that were paid for before the run was killed.
    pub(super) replay: RefCell<Replay>,
    pub(super) memory: RefCell<Memory>,
    /// Files that they changed.
    pub(super) wrote: RefCell<Vec<String>>,
}

/// The tools of those sources that a session is given, and the sources that it goes without.
pub(super) fn tools_of<'t, 'a: 't>(
    sources: &Rc<Vec<Source>>,
    (given, lost): (&[String], Vec<LostSource>),
    caller: Caller<'t, 'a>,
    below: &Rc<Below>,
) -> Option<OutsideTools<'t>> {
    let is_given = |source: &&Source| given.contains(&source.name()) && source.is_for(&caller);
    let specs: Vec<ToolSpec> = sources.iter().filter(is_given).flat_map(Source::specs).collect();
    let bytes = room::bytes_for(caller.context, &caller.targets);
    let (specs, others) = room::within(specs, bytes);
    if !others.is_empty() {
        let message = format!(
            "{}: there is room for {bytes} bytes of external tools; these are left out: {}",
            caller.path,
            room::named(&others)
        );
        caller.journal.emit(&Event::Warning { message });
    }
    let names: Rc<Vec<String>> = Rc::new(specs.iter().map(|spec| spec.name.clone()).collect());
    let (sources, below, caller) = (Rc::clone(sources), Rc::clone(below), Rc::new(caller));
    let call = Box::new(move |call: OutsideCall| {
        let (sources, below, caller) = (Rc::clone(&sources), Rc::clone(&below), Rc::clone(&caller));
        let names = Rc::clone(&names);
        let called: OutsideFuture<'t> = Box::pin(async move {
            let name = call.name.clone();
            let result =
                // Only what was offered: a tool that was left out for lack of room cannot be called by its name either.
                if names.contains(&name) { called(&sources, &caller, &below, call).await } else { Err(unknown(&name)) };
            let context = caller.context;
            result.map_err(|error| {
                let instead = context.charter.plan.agent.failure_of(&name);
                OutsideError { instead: instead.map(|told| context.redact(told)), ..error }
            })
        });
        called
    });
    // The session tells which sources are lost, also where no tool is left.
    (!specs.is_empty() || !lost.is_empty()).then_some(OutsideTools { specs, call, lost })
}

fn unknown(name: &str) -> OutsideError {
    failed(SessionExit::ToolNotAvailable, format!("there is no tool `{name}`."))
}

fn failed(exit: SessionExit, told: String) -> OutsideError {
    OutsideError { exit: Some(exit), told, instead: None }
}

async fn called(
    sources: &Rc<Vec<Source>>,
    caller: &Caller<'_, '_>,
    below: &Rc<Below>,
    call: OutsideCall,
) -> Result<String, OutsideError> {
    let Some(source) = sources.iter().find(|source| source.has(&call.name)) else { return Err(unknown(&call.name)) };
    if source.goes_out() {
        let arguments = call.arguments.to_string();
        // A file of the tree may have talked the model into sending a key away.
        if caller.context.redact(&arguments) != arguments {
            let told = format!("`{}` was not called: an argument holds a secret.", call.name);
            return Err(failed(SessionExit::ToolFailure, told));
        }
    }
    match source {
        Source::Mcp(served) => served.call(&call.name, &call.arguments).await,
        Source::Rest(rest) => rest.call(&call.arguments).await.map_err(|error| OutsideError {
            exit: error.exit(),
            told: format!("`{}` failed: {error}.", call.name),
            instead: None,
        }),
        Source::Agent(agent) => ask(sources, caller, below, (agent, call)).await,
    }
}

/// Holds a session of a sub-agent.
async fn ask(
    sources: &Rc<Vec<Source>>,
    caller: &Caller<'_, '_>,
    below: &Rc<Below>,
    (agent, call): (&SubAgentPlan, OutsideCall),
) -> Result<String, OutsideError> {
    let task = call.arguments.get("task").and_then(|task| task.as_str()).unwrap_or_default();
    if task.trim().is_empty() {
        return Err(failed(SessionExit::ToolFailure, format!("`{}` needs a `task`, in words.", call.name)));
    }
    let Caller { context, climb, journal, .. } = *caller;
    let (world, plan) = (&context.world, &context.charter.plan);
    let spec = spec_for(caller, agent, call.session_id, &Foreign::capped(task, TASK_CHARS));
    let caps = caps(caller, agent);
    // A copy: sub-agents side by side share the memory, and no borrow may last over a wait.
    let mut memory = below.memory.borrow().clone();
    // One agent may be called several times: each call takes the next recorded session.
    let replay = below.replay.borrow_mut().session_of(&spec.agent);
    let (stop, watched) = own_time::of(&caller.stop, Some(agent.timeout_seconds));
    let child = Caller::of((context, climb), journal, caps.clone(), (&spec, &stop));
    let mut ports = Ports {
        providers: world.providers,
        facts: &plan.facts,
        toolbox: Toolbox {
            workspace: world.workspace.clone(),
            run_tests: None,
            run_command: None,
            allow_commands: Vec::new(),
            outside: tools_of(sources, (&agent.tools, Vec::new()), child, below),
        },
        journal,
        caps,
        stop,
        wrap_up: world.wrap_up.flag(),
        clock: world.clock,
        redactor: &world.redactor,
        replay,
        memory: &mut memory,
    };
    let end = tokio::select! {
        end = session::converse(spec, &mut ports) => end,
        never = watched => match never {},
    };
    drop(ports);
    below.memory.borrow_mut().learn(memory);
    below.wrote.borrow_mut().extend(end.wrote.iter().cloned());
    answer_of(&call.name, &end)
}

fn spec_for(caller: &Caller<'_, '_>, agent: &SubAgentPlan, parent: String, task: &Foreign) -> SessionSpec {
    let path = format!("{}{BELOW}{}", caller.path, agent.name);
    // The role decides the tools, and an advisor only reads.
    let role = if agent.allow_write { Role::Artisan } else { Role::Advisor };
    let targets = if agent.models.is_empty() { caller.targets.clone() } else { agent.models.clone() };
    let prompt = agent::sub_agent(&agent.instructions, task, &Mark::random());
    let root = caller.root.clone().unwrap_or_else(|| parent.clone());
    let lineage = Some(Lineage { parent, root });
    // Nobody waits for a sub-agent: a limit is its failure.
    let mut spec = spec_of(caller.context, caller.climb, (role, path), prompt, (lineage, targets, Patience::default()));
    spec.limits.max_turns = agent.max_turns;
    // Blocks of data are asked of roles alone.
    spec.meta = Vec::new();
    spec
}

/// The sub-agent's own cap, and those of the session that calls it.
fn caps(caller: &Caller<'_, '_>, agent: &SubAgentPlan) -> Vec<Cap> {
    let share = MicroUsd(caller.climb.allowance.budget.max_cost.0 / DEFAULT_SHARE);
    let scope = Scope::Agent(caller.context.charter.run_id.clone(), format!("agent/{}", agent.name));
    let own = Cap { scope, max: agent.max_cost.unwrap_or(share) };
    std::iter::once(own).chain(caller.caps.iter().cloned()).collect()
}

/// The tool's answer that a session comes to.
fn answer_of(name: &str, end: &SessionEnd) -> Result<String, OutsideError> {
    match &end.report {
        FinalReport::Done { summary }
        | FinalReport::Briefed { summary, .. }
        | FinalReport::Approve { summary, .. }
        | FinalReport::Reject { summary, .. } => Ok(Foreign::capped(summary, ANSWER_CHARS).as_str().to_owned()),
        FinalReport::Blocked { reason, .. } => {
            Err(failed(SessionExit::ToolFailure, format!("`{name}` is blocked: {reason}.{DO_WITHOUT}")))
        }
        FinalReport::Routed { .. } => {
            Err(failed(SessionExit::ToolFailure, format!("`{name}` gave no answer.{DO_WITHOUT}")))
        }
        FinalReport::Synthetic { reason: FailureReason::Stopped { cause: StopCause::OwnTime(seconds) } } => {
            Err(failed(SessionExit::ToolTimeout, format!("`{name}` gave no answer within {seconds} s.{DO_WITHOUT}")))
        }
        FinalReport::Synthetic { reason } => {
            Err(failed(SessionExit::ToolFailure, format!("`{name}` gave no answer: {reason}.{DO_WITHOUT}")))
        }
    }
}
