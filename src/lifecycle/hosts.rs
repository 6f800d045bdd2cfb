//! Holders of a role's session: models of ours or a coding agent, one after the other where a tier names both.

use std::collections::BTreeSet;
use std::time::Duration;

use super::commands;
use super::left::{Leave, Left};
use super::table::{Table, with_models};
use super::targets;
use crate::agent::{self, Prompt};
use crate::backend::{self, Backend};
use crate::config::{DEFAULT_IDLE_SECONDS, Plan, spoken_by};
use crate::domain::account::Unavailability;
use crate::domain::agents::{AgentRecovery, AgentSwitch, AllLimited};
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;
use crate::hosted::{self, HostedEnd, HostedPorts, HostedSpec};
use crate::policy::rotation::GiveUp;
use crate::policy::standing::Note;
use crate::session::{self, FailureReason, FinalReport, Lineage, SessionEnd};

/// Neighbouring targets of a role that one session asks.
#[derive(Debug, PartialEq, Eq)]
enum Group {
    /// Models of ours.
    Models(Vec<ModelId>),
    /// An agent.
    Agent(ModelId, Backend),
}

impl Group {
    /// The target that a person knows it by.
    fn first(&self) -> String {
        match self {
            Self::Models(targets) => targets.first().map(ToString::to_string).unwrap_or_default(),
            Self::Agent(target, _) => target.to_string(),
        }
    }
}

fn groups(targets: &[ModelId]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for target in targets {
        match (Backend::of(target), groups.last_mut()) {
            // An agent holds the whole session, so it never shares a group.
            (Some(backend), _) => groups.push(Group::Agent(target.clone(), backend)),
            (None, Some(Group::Models(models))) => models.push(target.clone()),
            (None, Some(Group::Agent(..)) | None) => groups.push(Group::Models(vec![target.clone()])),
        }
    }
    groups
}

/// Holds a role's session. Where nobody of a group can be asked, the next one is. The first of them is asked first again in the next
/// iteration (S3-9, S3-10).
pub(super) async fn hold(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    prompt: Prompt,
    lineage: Option<Lineage>,
) -> SessionEnd {
    let groups = groups(table.tier.targets(role));
    let mut fallback = Fallback { role, limited: None, last: None, wrote: Vec::new(), commands_ran: 0 };
    for (index, group) in groups.iter().enumerate() {
        let next = groups.get(index.saturating_add(1));
        let asked = Asked { group, next, is_first: fallback.last.is_none() };
        let told = prompt.clone().after(&fallback.wrote);
        match ask(table, role, (&told, lineage.as_ref()), asked).await {
            Answer::End(end) => return fallback.joined(*end),
            Answer::Unusable(end) => fallback.keep(end),
            Answer::Skipped => {}
        }
    }
    match fallback.end(table, &groups) {
        Some(end) => end,
        // The role has no target: a session without any reports that as it does every other lack.
        None => with_models(table, (role, None), prompt, lineage, Vec::new()).await,
    }
}

/// A group whose turn it is.
#[derive(Debug, Clone, Copy)]
struct Asked<'g> {
    group: &'g Group,
    next: Option<&'g Group>,
    /// Whether nobody was asked before it.
    is_first: bool,
}

/// The answer of a group.
enum Answer {
    /// It held the session.
    End(Box<SessionEnd>),
    /// It could not be asked.
    Unusable(Box<SessionEnd>),
    /// It was not asked: the limit that it was left for is not over.
    Skipped,
}

/// The sessions that are known once nobody could be asked.
struct Fallback {
    role: Role,
    /// The last session that a limit ended.
    limited: Option<Box<SessionEnd>>,
    last: Option<Box<SessionEnd>>,
    /// The files that they changed before they could go on no more. They stay changed.
    wrote: Vec<String>,
    /// How often they ran allowed commands.
    commands_ran: u32,
}

impl Fallback {
    fn keep(&mut self, end: Box<SessionEnd>) {
        self.commands_ran = self.commands_ran.saturating_add(end.commands_ran);
        self.wrote.extend(end.wrote.iter().cloned());
        if unusable(&end).is_some_and(|(why, _)| why == GiveUp::Limited) {
            self.limited = Some(end.clone());
        }
        self.last = Some(end);
    }

    /// A session with the changes of those that were held in its place before it.
    fn joined(self, mut end: SessionEnd) -> SessionEnd {
        let own = std::mem::replace(&mut end.wrote, self.wrote);
        let before: BTreeSet<String> = end.wrote.iter().cloned().collect();
        end.wrote.extend(own.into_iter().filter(|path| !before.contains(path)));
        SessionEnd { commands_ran: end.commands_ran.saturating_add(self.commands_ran), ..end }
    }

    /// The session that counts: one that a limit ended, since that passes.
    fn end(mut self, table: &mut Table<'_, '_, '_>, groups: &[Group]) -> Option<SessionEnd> {
        let role = self.role;
        let (limited, last) = (self.limited.take(), self.last.take());
        if let Some(end) = &limited
            // Sessions with models of ours alone have told their limits themselves.
            && groups.iter().any(|group| matches!(group, Group::Agent(..)))
        {
            let until = table.sessions.left.soonest();
            let reason = unusable(end).map(|(_, last)| last.to_owned()).unwrap_or_default();
            let targets = table.tier.targets(role).iter().map(ToString::to_string).collect();
            let until = until.map(Timestamp::from_unix_ms);
            table.recorder.emit(&Event::AgentsAllLimited(AllLimited { role, targets, until, reason }));
        }
        let end = *limited.or(last)?;
        // Its own changes are among those of all.
        Some(self.joined(SessionEnd { commands_ran: 0, ..end }))
    }
}

/// Asks a group, unless the limit that it was left for is not over. Tells who is asked next where nobody of it can be.
async fn ask(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    (prompt, lineage): (&Prompt, Option<&Lineage>),
    asked: Asked<'_>,
) -> Answer {
    let Asked { group, next, is_first } = asked;
    let iteration = table.climb.run_iterations;
    let target = group.first();
    let left = table.sessions.left.of(&target, iteration, table.context.world.clock.unix_ms());
    // The last one is asked all the same where nobody was: its refusal says why, and until when.
    if let Left::Still(until_ms) = left
        && (next.is_some() || !is_first)
    {
        let reason = "it is limited".to_owned();
        switch(table, role, asked, (reason, until_ms));
        return Answer::Skipped;
    }
    let lineage = lineage.cloned();
    let (end, until_ms) = match group {
        Group::Agent(target, backend) => {
            let HostedEnd { end, limited_until_ms } =
                with_agent(table, role, prompt, lineage, (target.clone(), *backend)).await;
            (end, limited_until_ms)
        }
        Group::Models(targets) => {
            (with_models(table, (role, None), prompt.clone(), lineage, targets.clone()).await, None)
        }
    };
    let end = Box::new(end);
    let failed = unusable(&end).map(|(why, last)| (why, last.to_owned()));
    if let Left::Before { instead } = left {
        let recovered = failed.is_none();
        let recovery = AgentRecovery { role, target: target.clone(), instead, recovered };
        table.recorder.emit(&Event::AgentRecoveryAttempted(recovery));
    }
    let Some((why, last)) = failed else {
        table.sessions.left.answered(&target);
        return Answer::End(end);
    };
    if why == GiveUp::Limited {
        let instead = next.map(Group::first).unwrap_or_default();
        table.sessions.left.leave(target, Leave { iteration, instead, until_ms });
    }
    switch(table, role, asked, (last, until_ms));
    Answer::Unusable(end)
}

/// Tells who is asked in the place of a group. Says nothing where nobody is left, or where no agent is concerned.
fn switch(table: &mut Table<'_, '_, '_>, role: Role, asked: Asked<'_>, (reason, until_ms): (String, Option<i64>)) {
    let Some(next) = asked.next else { return };
    let until = until_ms.map(Timestamp::from_unix_ms);
    let (from, to) = (asked.group.first(), next.first());
    table.recorder.emit(&Event::AgentSwitched(AgentSwitch { role, from, to, reason, until }));
}

/// Why nobody of a session's targets could be asked, if so.
fn unusable(end: &SessionEnd) -> Option<(GiveUp, &str)> {
    match &end.report {
        FinalReport::Synthetic { reason: FailureReason::NoUsableTarget { why, last } } => Some((*why, last)),
        FinalReport::Synthetic { .. }
        | FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Blocked { .. }
        | FinalReport::Routed { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => None,
    }
}

async fn with_agent(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    prompt: &Prompt,
    lineage: Option<Lineage>,
    (target, backend): (ModelId, Backend),
) -> HostedEnd {
    let Table { context, climb, .. } = *table;
    let (world, plan) = (&context.world, &context.charter.plan);
    let model = backend::answering(&target);
    let wire = plan.endpoints.get(&model.provider).map(|endpoint| endpoint.wire);
    let spoken = wire.and_then(|wire| spoken_by(backend, wire));
    let watched = commands::watch_for_stop(context, climb);
    world.workspace.judged_from(climb.start());
    let meta = plan.agent.meta_of(role);
    let blocks = session::meta_prompt(&meta).map(|prompt| format!("{prompt}\n")).unwrap_or_default();
    let told = format!("{}\n{blocks}\n{}", agent::for_agents(role), prompt.first_message);
    let spec = HostedSpec {
        role,
        tier_index: climb.position.tier_index,
        iteration: climb.iteration(),
        target: target.clone(),
        backend,
        // Where no wire fits, the house finds no way to the provider and says so.
        spoken: spoken.unwrap_or(Spoken::Chat),
        side_model: plan.agent.side_model.clone(),
        idle: idle(plan),
        prompt: world.redactor.redact(&told).into_owned(),
        meta,
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
fn note(table: &mut Table<'_, '_, '_>, target: &ModelId, hosted: &HostedEnd) {
    let HostedEnd { end, limited_until_ms } = hosted;
    let memory = &mut table.sessions.memory;
    let account = targets::account_of(memory, target);
    let why = unusable(end).and_then(|(why, last)| match why {
        GiveUp::Limited => Some((Unavailability::RateLimited, last.to_owned())),
        GiveUp::Unreachable => Some((Unavailability::Outage, last.to_owned())),
        // These may be the agent's own trouble, and say nothing of the account.
        GiveUp::Refused | GiveUp::Rejected | GiveUp::Garbled | GiveUp::Aborted => None,
    });
    let Some((why, said)) = why else {
        // Only an answer shows that the account works.
        if end.turns > 0 {
            memory.standing.answered(&account);
        }
        return;
    };
    let at_ms = table.context.world.clock.unix_ms();
    let until_ms = limited_until_ms.filter(|_| why == Unavailability::RateLimited);
    if memory.standing.note(&account, Note { why, until_ms, said: said.clone(), at_ms }) {
        table.recorder.emit(&Event::ModelsUnavailable {
            host: account.host().to_owned(),
            key_variable: account.key_variable,
            reason: why,
            until: until_ms.map(Timestamp::from_unix_ms),
            wait_ms: None,
            said,
        });
    }
}

/// How long an agent may show no sign of life. It may run the tests itself, and say nothing until they end: a shorter time is somebody's wish.
fn idle(plan: &Plan) -> Duration {
    let wished = plan.agent.idle_seconds;
    let tests = if wished < DEFAULT_IDLE_SECONDS { 0 } else { plan.test.timeout_seconds };
    Duration::from_secs(u64::from(wished).max(tests))
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
