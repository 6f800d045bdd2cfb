//! The second phase: a run on its ladder, with the trees it made and the rows it wrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allowance::{Allowance, Comments};
use super::context::{Charter, Context};
use super::left::LeftAtLimit;
use super::measured::{Measured, TestSetup};
use super::recorder::Recorder;
use super::state::{Delivery, Phase, RunState};
use crate::agent::{LastIteration, PastIteration, REMEMBERED};
use crate::audit::{Cap, Scope};
use crate::config::EndpointPlan;
use crate::domain::account::{Account, Accounts};
use crate::domain::attempt::{Attempt, TierExit, TierResult};
use crate::domain::blocker::Blocker;
use crate::domain::budget::{Beneficiary, SharedCaps};
use crate::domain::event::Event;
use crate::domain::ladder::Tier;
use crate::domain::units::{MicroUsd, TreeId};
use crate::policy::budget;
use crate::policy::candidate::Candidate;
use crate::policy::escalation::Position;
use crate::session::{Memory, Replay};

/// Stands for no cap. Money that runs share is counted also where nothing caps it, so that a cap that is set tomorrow knows of today.
const NO_CAP: MicroUsd = MicroUsd(u64::MAX);

/// The trees that a run builds on.
#[derive(Debug)]
pub(super) struct Trees {
    /// The best so far.
    pub(super) best: Candidate,
    /// The tier's.
    pub(super) current: Candidate,
    /// Every path that models wrote so far.
    pub(super) touched: BTreeSet<String>,
    /// Whether the files on disk are those of the tier's tree. Unknown after a resume.
    pub(super) on_disk: bool,
    /// The files as they were when the run began to wait for the outside. `None` where it is at work.
    pub(super) left: Option<TreeId>,
}

impl Trees {
    /// Makes a judged tree the one that everything builds on.
    pub(super) fn restart_from(&mut self, candidate: Candidate) {
        self.best = candidate.clone();
        self.current = candidate;
        self.on_disk = false;
        self.left = None;
    }
}

/// The results of the iterations.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The tiers that ended.
    pub(super) prior: Vec<TierResult>,
    /// The rows of the tier under way.
    pub(super) attempts: Vec<Attempt>,
    /// The iteration before, in the same tier.
    pub(super) last: Option<LastIteration>,
    /// The iterations before, in the same tier, oldest first.
    pub(super) past: Vec<PastIteration>,
}

impl Rows {
    /// Every row of the run, oldest first.
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        self.prior.iter().flat_map(|tier| &tier.attempts).chain(&self.attempts)
    }

    /// Iterations of the tiers that ended.
    pub(super) fn carried(&self) -> u32 {
        self.prior.iter().map(|tier| tier.iterations).sum()
    }

    /// Keeps what an iteration came to for those that follow it in the same tier, the last [`REMEMBERED`] of them.
    pub(super) fn keep_in_mind(&mut self, past: PastIteration) {
        self.past.push(past);
        let too_many = self.past.len().saturating_sub(REMEMBERED);
        self.past.drain(..too_many);
    }

    /// Puts the tier's rows into a result.
    pub(super) fn close_tier(&mut self, charter: &Charter, tier_index: u32, exit: TierExit) -> TierResult {
        let attempts = std::mem::take(&mut self.attempts);
        let result = TierResult {
            tier_index,
            tier_name: charter.tier(tier_index).map_or_else(String::new, |tier| tier.name.clone()),
            exit,
            iterations: u32::try_from(attempts.len()).unwrap_or(u32::MAX),
            cost: attempts.iter().map(Attempt::charge).sum(),
            attempts,
        };
        self.prior.push(result.clone());
        // The next tier is told by the handover: its model did not do any of this.
        self.last = None;
        self.past.clear();
        result
    }
}

/// A run on its ladder.
#[derive(Debug)]
pub(super) struct Climb {
    /// The facts that the baseline settled.
    pub(super) measured: Arc<Measured>,
    /// The money and the iterations that may be spent.
    pub(super) allowance: Allowance,
    /// The comments that were heard.
    pub(super) comments: Comments,
    /// Where on the ladder.
    pub(super) position: Position,
    /// Iterations begun in the whole run.
    pub(super) run_iterations: u32,
    /// The trees.
    pub(super) trees: Trees,
    /// The rows.
    pub(super) rows: Rows,
    /// The part of the run that is outside already. Changed while it delivers, read while it climbs.
    pub(super) delivered: Delivery,
    /// Blockers that were in the way once and were found out of it.
    pub(super) settled: Vec<Blocker>,
}

impl Climb {
    /// A run at the foot of its ladder. The files are those of its first tree.
    pub(super) fn begin(measured: Measured, first: Candidate, allowance: Allowance, comments: Comments) -> Self {
        let position = Position::at(0, &allowance.rules);
        Self {
            measured: Arc::new(measured),
            allowance,
            comments,
            position,
            run_iterations: 0,
            trees: Trees { best: first.clone(), current: first, touched: BTreeSet::new(), on_disk: true, left: None },
            rows: Rows::default(),
            delivered: Delivery::default(),
            settled: Vec::new(),
        }
    }

    /// The climb that a saved state tells of. `None` where there is no baseline yet.
    pub(super) fn of(setup: &TestSetup, state: &RunState) -> Option<Self> {
        let measured = Measured::of(setup, state)?;
        let (best, current) = (state.best.clone()?, state.current.clone()?);
        Some(Self {
            measured: Arc::new(measured),
            allowance: Allowance::of(state),
            comments: Comments::of(state),
            position: state.position.clone(),
            run_iterations: state.run_iterations,
            trees: Trees { best, current, touched: state.touched.clone(), on_disk: false, left: None },
            rows: Rows {
                prior: state.prior.clone(),
                attempts: state.attempts.clone(),
                last: state.last.clone(),
                past: state.past.clone(),
            },
            delivered: state.delivery.clone(),
            settled: state.settled.clone(),
        })
    }

    /// The saved form, as it is in a phase.
    pub(super) fn saved(&self, charter: &Charter, phase: Phase) -> RunState {
        let mut state = RunState {
            phase,
            position: self.position.clone(),
            run_iterations: self.run_iterations,
            best: Some(self.trees.best.clone()),
            current: Some(self.trees.current.clone()),
            touched: self.trees.touched.clone(),
            prior: self.rows.prior.clone(),
            attempts: self.rows.attempts.clone(),
            last: self.rows.last.clone(),
            past: self.rows.past.clone(),
            delivery: self.delivered.clone(),
            settled: self.settled.clone(),
            ..charter.saved()
        };
        self.allowance.save(&mut state);
        self.comments.save(&mut state);
        self.measured.save(&mut state);
        state
    }

    /// The tier under way.
    pub(super) fn tier<'c>(&self, charter: &'c Charter) -> Option<&'c Tier> {
        charter.tier(self.position.tier_index)
    }

    /// The one-based number of the iteration that is under way or comes next.
    pub(super) fn iteration(&self) -> u32 {
        self.position.iterations + 1
    }

    /// The tree as the user had it.
    pub(super) fn start(&self) -> &TreeId {
        &self.measured.origin.tree
    }

    /// The tests that failed before any change.
    pub(super) fn failing_at_first(&self) -> &[String] {
        &self.measured.baseline.failing
    }

    /// The pull request that the fix is on its way through.
    pub(super) fn pull_request(&self, charter: &Charter) -> Option<u64> {
        self.delivered.pull_request.or(charter.destination.as_ref()?.pull_request)
    }

    /// The cap that is reached, in words, if one is.
    pub(super) fn over_budget(&self, context: &Context<'_>, recorder: &Recorder<'_>) -> Option<String> {
        budget::check(&self.allowance.budget, &recorder.spent(context, self.run_iterations))
    }

    /// Events for caps of which 80 % are used, each once.
    pub(super) fn budget_warnings(&mut self, context: &Context<'_>, recorder: &Recorder<'_>) -> Vec<Event> {
        let spent = recorder.spent(context, self.run_iterations);
        let warnings = self.allowance.warned.observe(&self.allowance.budget, &spent);
        let event = |warning: budget::Warning| Event::BudgetWarning {
            dimension: warning.dimension.as_str().to_owned(),
            percent: warning.percent,
        };
        warnings.into_iter().map(event).collect()
    }

    /// The caps that hold for a call of this tier, and the sums that it counts towards although nothing caps them yet.
    pub(super) fn caps(&self, context: &Context<'_>) -> Vec<Cap> {
        let charter = &context.charter;
        let run = &charter.run_id;
        let mut caps = vec![Cap { scope: Scope::Run(run.clone()), max: self.allowance.budget.max_cost }];
        if let Some(max) = self.tier(charter).and_then(|tier| tier.max_cost) {
            caps.push(Cap { scope: Scope::Tier(run.clone(), self.position.tier_index), max });
        }
        let SharedCaps { per_pull_request, per_day } = charter.plan.shared_caps;
        let Beneficiary { repository, pull_request } = &charter.beneficiary;
        // Sums of runs that name no repository would run into one.
        if repository.is_empty() {
            return caps;
        }
        if let Some(number) = pull_request {
            let scope = Scope::PullRequest(format!("{repository}#{number}"));
            // Only what other logs tell: the sums in this log count by themselves.
            let before = charter.runs.as_ref().map_or(MicroUsd::ZERO, |runs| runs.spent_before);
            caps.push(Cap { scope, max: per_pull_request.unwrap_or(NO_CAP).saturating_sub(before) });
        }
        let scope = Scope::Day(format!("{repository}@{}", context.day()));
        caps.push(Cap { scope, max: per_day.unwrap_or(NO_CAP) });
        caps
    }
}

/// This process's knowledge of its sessions. Nothing of it is saved.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Replies of an iteration that a killed process had under way.
    pub(super) replay: Replay,
    /// The run's knowledge of its targets.
    pub(super) memory: Memory,
    /// The targets that it left at a limit.
    pub(super) left: LeftAtLimit,
}

impl Sessions {
    /// The knowledge before the first session.
    pub(super) fn new(context: &Context<'_>, replay: Replay) -> Self {
        let endpoints = context.charter.plan.endpoints.iter();
        // Recordings have no account.
        let reached = endpoints.filter(|(_, endpoint)| !endpoint.base_url.is_empty());
        let account = |endpoint: &EndpointPlan| Account::new(&endpoint.base_url, endpoint.key_var.as_deref());
        let accounts = Accounts(reached.map(|(name, endpoint)| (name.clone(), account(endpoint))).collect());
        let memory = Memory { accounts, waiting: context.world.waiting.clone(), ..Memory::default() };
        Self { replay, memory, left: LeftAtLimit::default() }
    }
}
