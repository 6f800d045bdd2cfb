//! Briefs and reviews that are used again (S1-20), where `agent.cache` says so.
//!
//! A report is kept in the log under the question that it answers: the material, the tree, the models, the prompt and the blocks of data
//! that are asked for. Invariant: only a whole report with all its required blocks is kept or used. A review that is used again stands for
//! the critic's word alone: the court judges every change anew.

use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use super::router::{self, Compose};
use super::table::Table;
use super::tools;
use crate::agent::Material;
use crate::backend;
use crate::domain::chat::Usage;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::json_schema;
use crate::domain::kept_report::{KeptReport, KeptWords, ReusedReport};
use crate::domain::ladder::Role;
use crate::domain::meta::{MetaBlock, MetaReported};
use crate::domain::model_id::ModelId;
use crate::domain::session_exit::SessionExit;
use crate::domain::units::{Charge, TreeId};
use crate::session::{FinalReport, Lineage, SessionEnd};

/// The form of the questions. Raised where the same key would stand for something else.
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));
/// The longest text of a kept report, and the most entries of its list.
const MOST_CHARS: usize = 16_000;
const MOST_ENTRIES: usize = 50;

/// A question to a role.
pub(super) struct Question<'q> {
    /// The role.
    pub(super) role: Role,
    /// The tree that it reads.
    pub(super) tree: &'q TreeId,
    /// Everything it is given.
    pub(super) material: &'q Material,
    /// Composes the prompt of it.
    pub(super) compose: Compose<'q>,
}

/// The report of a role: a kept one where there is one for the same question, else that of its session.
pub(super) async fn hold(
    table: &mut Table<'_, '_, '_>,
    question: Question<'_>,
    lineage: Option<Lineage>,
) -> SessionEnd {
    let role = question.role;
    let key = key(table, &question);
    // Replies that a killed process paid for come first: what follows them is replayed behind them.
    let is_replayed = table.sessions.replay.is_of(role);
    if let Some(kept) = key.as_ref().filter(|_| !is_replayed).and_then(|key| find(table, role, key)) {
        return reuse(table, kept);
    }
    let end = router::hold(table, role, (question.material, question.compose), lineage).await;
    if let Some(kept) = key.and_then(|key| kept(table, role, key, &end)) {
        table.recorder.emit(&Event::ReportKept(kept));
    }
    end
}

/// The name of a question. `None` where no answer is kept: it is not wanted, or the role is given tools from outside, whose answers
/// no key holds.
fn key(table: &Table<'_, '_, '_>, question: &Question<'_>) -> Option<String> {
    let Table { context, tier, .. } = table;
    let (role, agent) = (question.role, &context.charter.plan.agent);
    if !agent.cache || !tools::given_to(agent, role).is_empty() {
        return None;
    }
    // Times and folders in what the tests print differ from job to job. What they mean follows from the tree, which is in the key.
    let root = context.world.workspace.root().display().to_string();
    let failures = Foreign::new(&without_numbers(&question.material.failures.as_str().replace(&root, ".")));
    // With a fixed mark: sessions mark their blocks at random, and no two keys would be the same.
    let prompt = (question.compose)(&Material { failures, ..question.material.clone() }, &Mark::fixed(""));
    // Behind another address another model may answer to the same name.
    let endpoints = &context.charter.plan.endpoints;
    let named = |target: &ModelId| {
        let endpoint = endpoints.get(&backend::answering(target).provider);
        format!("{target}@{}", endpoint.map(|endpoint| lasting(&endpoint.base_url)).unwrap_or_default())
    };
    let routed = agent.router.iter().flat_map(|specialist| &specialist.models);
    let targets: Vec<String> = tier.targets(role).iter().chain(routed).map(named).collect();
    let parts = [
        VERSION.to_owned(),
        role.as_str().to_owned(),
        question.tree.0.clone(),
        targets.join(" "),
        format!("{:?} {:?} {}", agent.effort, agent.temperature, agent.max_turns),
        serde_json::to_string(&(agent.meta_of(role), &agent.router)).unwrap_or_default(),
        prompt.system.to_owned(),
        prompt.first_message,
    ];
    let mut hash = Sha256::new();
    for part in parts {
        // Each part is led by its length, so that two lists of parts never come to the same bytes.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    Some(hex::encode(hash.finalize()))
}

/// An address as it is from job to job: a port of this machine is often another one.
fn lasting(base_url: &str) -> String {
    let Ok(mut url) = Url::parse(base_url) else { return base_url.to_owned() };
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_local && url.set_port(None).is_err() {
        return base_url.to_owned();
    }
    url.into()
}

/// A text with one `N` in the place of each run of digits.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (c.is_ascii_digit(), out.ends_with('N')) {
            (true, true) => {}
            (true, false) => out.push('N'),
            (false, _) => out.push(c),
        }
    }
    out
}

/// The kept report of a question: this run's own, or another's in the same log.
fn find(table: &Table<'_, '_, '_>, role: Role, key: &str) -> Option<KeptReport> {
    let journal = &table.recorder.journal;
    let (store, run) = (journal.store(), &table.context.charter.run_id);
    // One that is taken up from a log which was found in the checkout may hold anybody's.
    let own = own(table, key).filter(|_| store.is_ours(run)).cloned();
    let found = own.or_else(|| store.kept_report(key, run).ok().flatten());
    // The blocks of data that are asked for may be others than when it was kept.
    found.filter(|kept| kept.role == role && is_sound(kept, &table.context.charter.plan.agent.meta_of(role)))
}

fn own<'t>(table: &'t Table<'_, '_, '_>, key: &str) -> Option<&'t KeptReport> {
    let kept = |event: &'t Event| if let Event::ReportKept(kept) = event { Some(kept) } else { None };
    table.recorder.journal.events().iter().rev().filter_map(kept).find(|kept| kept.key == key)
}

/// Whether a kept report is one that the role may give, with the blocks that it is asked for.
fn is_sound(kept: &KeptReport, blocks: &[MetaBlock]) -> bool {
    let is_of_role = match &kept.words {
        KeptWords::Brief { .. } => kept.role == Role::Librarian,
        KeptWords::Approve { .. } | KeptWords::Reject { .. } => kept.role == Role::Critic,
    };
    is_of_role
        && blocks.iter().all(|block| {
            kept.meta
                .get(&block.name)
                .map_or(!block.required, |value| json_schema::misfit(&block.schema, value).is_none())
        })
}

/// The report of a session as it is kept. `None` where it is not whole, or is kept already.
fn kept(table: &Table<'_, '_, '_>, role: Role, key: String, end: &SessionEnd) -> Option<KeptReport> {
    let words = match &end.report {
        FinalReport::Briefed { summary, files } => KeptWords::Brief { summary: cut(summary), files: some(files) },
        FinalReport::Approve { summary, issues } => KeptWords::Approve { summary: cut(summary), issues: some(issues) },
        FinalReport::Reject { summary, issues } => KeptWords::Reject { summary: cut(summary), issues: some(issues) },
        FinalReport::Done { .. }
        | FinalReport::Blocked { .. }
        | FinalReport::Routed { .. }
        | FinalReport::Synthetic { .. } => return None,
    };
    // A report that was forced, or that lacks a block, is no answer for the next time.
    if end.exit != SessionExit::FinalAnswer || own(table, &key).is_some() {
        return None;
    }
    let reported = |event: &Event| {
        let Event::MetaReported(meta) = event else { return None };
        (meta.session_id == end.session_id).then(|| meta.blocks.clone())
    };
    let meta = table.recorder.journal.events().iter().rev().find_map(reported).unwrap_or_default();
    let (session_id, target) = (end.session_id.clone(), end.target.clone());
    let kept = KeptReport { key, role, session_id, from: None, target, words, meta };
    is_sound(&kept, &table.context.charter.plan.agent.meta_of(role)).then_some(kept)
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

fn some(entries: &[String]) -> Vec<String> {
    entries.iter().take(MOST_ENTRIES).map(|entry| cut(entry)).collect()
}

/// Uses a kept report: an event, and no call.
fn reuse(table: &mut Table<'_, '_, '_>, kept: KeptReport) -> SessionEnd {
    let KeptReport { key, role, session_id, from, target, words, meta } = kept;
    table.recorder.emit(&Event::ReportReused(ReusedReport { key, role, session_id: session_id.clone(), from }));
    if !meta.is_empty() {
        let told = MetaReported { role, session_id: session_id.clone(), blocks: meta, missing: Vec::new() };
        table.recorder.emit(&Event::MetaReported(told));
    }
    let report = match words {
        KeptWords::Brief { summary, files } => FinalReport::Briefed { summary, files },
        KeptWords::Approve { summary, issues } => FinalReport::Approve { summary, issues },
        KeptWords::Reject { summary, issues } => FinalReport::Reject { summary, issues },
    };
    SessionEnd {
        session_id,
        report,
        exit: SessionExit::FinalAnswer,
        target,
        billed_model: None,
        turns: 0,
        cost: Charge::ZERO,
        usage: Usage::default(),
        peak_context_percent: 0,
        wrote: Vec::new(),
        commands_ran: 0,
        tests_ran: 0,
        corrections: std::collections::BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counts_and_a_port_of_this_machine_does_not() {
        for host in ["127.0.0.1", "localhost", "[::1]"] {
            let at = |port: u16| lasting(&format!("http://{host}:{port}/v1"));
            assert_eq!((at(8_081), at(8_081).ends_with("/v1")), (at(11_434), true), "{host}");
        }
        assert_ne!(lasting("https://a.example/v1"), lasting("https://b.example/v1"));
        assert_ne!(lasting("https://a.example:8443/v1"), lasting("https://a.example/v1"));
        assert_eq!(lasting("no address"), "no address");
    }
}
