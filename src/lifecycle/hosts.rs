//! Who holds a role's session: models of ours or a coding agent, one after the other where a tier names both.

use super::commands;
use super::table::{Table, with_models};
use super::targets;
use crate::agent::{self, Prompt};
use crate::backend::{self, Backend};
use crate::config::spoken_by;
use crate::domain::account::Unavailability;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;
use crate::hosted::{self, HostedPorts, HostedSpec};
use crate::policy::rotation::GiveUp;
use crate::policy::standing::Note;
use crate::session::{FailureReason, FinalReport, Lineage, SessionEnd};

/// Neighbouring targets of a role that one session asks.
#[derive(Debug, PartialEq, Eq)]
enum Group {
    /// Models of ours.
    Models(Vec<ModelId>),
    /// An agent.
    Agent(ModelId, Backend),
}

fn groups(targets: &[ModelId]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for target in targets {
        match (Backend::of(target), groups.last_mut()) {
            (Some(backend), _) => groups.push(Group::Agent(target.clone(), backend)),
            (None, Some(Group::Models(models))) => models.push(target.clone()),
            (None, Some(Group::Agent(..)) | None) => groups.push(Group::Models(vec![target.clone()])),
        }
    }
    groups
}

/// Holds a role's session. Where nobody of a group can be asked, the next one is.
pub(super) async fn hold(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    prompt: Prompt,
    lineage: Option<Lineage>,
) -> SessionEnd {
    let mut groups = groups(table.tier.targets(role)).into_iter().peekable();
    loop {
        let (prompt, lineage) = (prompt.clone(), lineage.clone());
        let end = match groups.next() {
            Some(Group::Agent(target, backend)) => with_agent(table, role, &prompt, lineage, (target, backend)).await,
            Some(Group::Models(targets)) => with_models(table, role, prompt, lineage, targets).await,
            None => return with_models(table, role, prompt, lineage, Vec::new()).await,
        };
        let FinalReport::Synthetic { reason: FailureReason::NoUsableTarget { last, .. } } = &end.report else {
            return end;
        };
        let Some(next) = groups.peek() else { return end };
        let next = match next {
            Group::Models(targets) => targets.first().map(ToString::to_string).unwrap_or_default(),
            Group::Agent(target, _) => target.to_string(),
        };
        table.recorder.warn(format!("{next} is asked instead, because another target of the tier cannot be: {last}"));
    }
}

async fn with_agent(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    prompt: &Prompt,
    lineage: Option<Lineage>,
    (target, backend): (ModelId, Backend),
) -> SessionEnd {
    let Table { context, climb, .. } = *table;
    let (world, plan) = (&context.world, &context.charter.plan);
    let model = backend::answering(&target);
    let wire = plan.endpoints.get(&model.provider).map(|endpoint| endpoint.wire);
    let spoken = wire.and_then(|wire| spoken_by(backend, wire));
    let watched = commands::watch_for_stop(context, climb);
    world.workspace.judged_from(climb.start());
    let spec = HostedSpec {
        role,
        tier_index: climb.position.tier_index,
        iteration: climb.iteration(),
        target: target.clone(),
        backend,
        spoken: spoken.unwrap_or(Spoken::Chat),
        prompt: world.redactor.redact(&format!("{}\n\n{}", agent::for_agents(role), prompt.first_message)).into_owned(),
        lineage,
        tree: climb.trees.current.tree.clone(),
        by_products: climb.measured.origin.by_products.clone(),
    };
    let mut ports = HostedPorts {
        hosting: world.hosting,
        facts: &plan.facts,
        journal: table.recorder.journal,
        caps: climb.caps(context),
        workspace: &world.workspace,
        stop: world.stop.clone(),
        wrap_up: world.wrap_up.flag(),
        redactor: &world.redactor,
    };
    world.wrap_up.set_in_session(true);
    let end = tokio::select! {
        end = hosted::hold(spec, &mut ports) => end,
        never = watched => match never {},
    };
    world.wrap_up.set_in_session(false);
    note(table, &target, &end);
    end
}

/// Notes what a session says of the account behind its agent.
fn note(table: &mut Table<'_, '_, '_>, target: &ModelId, end: &SessionEnd) {
    let memory = &mut table.sessions.memory;
    let account = targets::account_of(memory, target);
    let unusable = match &end.report {
        FinalReport::Synthetic { reason: FailureReason::NoUsableTarget { why, last } } => Some((*why, last.clone())),
        FinalReport::Synthetic { .. }
        | FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Blocked { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => None,
    };
    let why = unusable.and_then(|(why, last)| match why {
        GiveUp::Limited => Some((Unavailability::RateLimited, last)),
        GiveUp::Unreachable => Some((Unavailability::Outage, last)),
        GiveUp::Refused | GiveUp::Rejected | GiveUp::Garbled | GiveUp::Aborted => None,
    });
    match why {
        Some((why, said)) => {
            let at_ms = table.context.world.clock.unix_ms();
            memory.standing.note(&account, Note { why, until_ms: None, said, at_ms });
        }
        None if end.turns > 0 => memory.standing.answered(&account),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_models_share_a_session_and_each_agent_has_its_own() {
        let id = |text: &str| ModelId::parse(text).unwrap();
        let targets = ["gpt-5", "claude-haiku-5-5", "cli/codex", "cli/claude:claude-opus-5-5", "gpt-5"].map(id);
        let expected = [
            Group::Models(vec![id("gpt-5"), id("claude-haiku-5-5")]),
            Group::Agent(id("cli/codex"), Backend::Codex),
            Group::Agent(id("cli/claude:claude-opus-5-5"), Backend::Claude),
            Group::Models(vec![id("gpt-5")]),
        ];
        assert_eq!(groups(&targets), expected);
    }
}
