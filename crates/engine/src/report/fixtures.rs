//! Runs to render in tests: events as the lifecycle emits them, with the contract's own example as the base.

use crate::domain::attempt::{Attempt, AttemptStatus, TierExit};
use crate::domain::budget::Budget;
use crate::domain::chat::Usage;
use crate::domain::clock::Timestamp;
use crate::domain::event::{BaselineFinished, DiffStat, Event, FileStat, KeptChange, RunFinished, RunStarted};
use crate::domain::ladder::{Mode, Role, Tier};
use crate::domain::model_id::ModelId;
use crate::domain::outcome::Outcome;
use crate::domain::receipt::{CallScope, CallStatus, Receipt};
use crate::domain::test_report::RunKind;
use crate::domain::units::{MicroUsd, RunId, TreeId};
use crate::domain::verdict::{Exit, Verdict};

use super::view::{Liveness, RunView};

pub(super) const RUN_ID: &str = "f4a2c781-9d1e-4c35-8a57-1c2d3e4f5a6b";

/// Collects the events of one run.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) events: Vec<Event>,
    tiers: Vec<Tier>,
    run_iterations: u32,
    calls: u32,
}

pub(super) fn model(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

pub(super) fn tier(name: &str, mode: Mode, artisan: &str, max_iterations: u32) -> Tier {
    let artisan = vec![model(artisan)];
    Tier {
        name: name.to_owned(),
        mode,
        max_iterations,
        librarian: artisan.clone(),
        critic: artisan.clone(),
        artisan,
        max_cost: None,
    }
}

pub(super) fn ladder() -> Vec<Tier> {
    let mut power = tier("power", Mode::Full, "anthropic/claude-sonnet-4-5", 5);
    power.librarian = vec![model("anthropic/claude-haiku-4-5")];
    vec![
        tier("local-free", Mode::Simple, "ollama/codellama", 5),
        tier("mid-grade", Mode::Simple, "anthropic/claude-haiku-4-5", 3),
        power,
    ]
}

pub(super) fn scope(tier_index: u32, iteration: u32, role: Role) -> CallScope {
    CallScope {
        tier_index,
        iteration,
        role,
        agent: String::new(),
        session_id: "s".into(),
        parent_session_id: None,
        root_session_id: "s".into(),
        turn: 1,
        attempt: 1,
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn at() -> Timestamp {
    Timestamp("2026-02-17T14:23:01.456Z".into())
}

pub(super) fn started(tiers: Vec<Tier>) -> RunStarted {
    RunStarted {
        run_id: RunId(RUN_ID.into()),
        objective: "make the failing tests pass".into(),
        working_directory: ".".into(),
        test_command: "cargo test".into(),
        tier_config_path: "tiers.json".into(),
        tiers,
        budget: Budget { max_cost: MicroUsd(2_000_000), max_iterations: 30, max_active_ms: 900_000 },
        audit_db: Some(".upshift/audit.db".into()),
        started_at: at(),
        command: None,
        task: None,
    }
}

pub(super) const F0: [&str; 3] = ["math::multiplies", "math::multiply_handles_undefined", "parse::reads_empty"];

impl Script {
    pub(super) fn new() -> Self {
        Self::with(started(ladder()))
    }

    pub(super) fn with(run: RunStarted) -> Self {
        let mut script = Self { tiers: run.tiers.clone(), ..Self::default() };
        script.push(Event::RunStarted(run));
        script.push(Event::InvocationStarted { invocation: 1, pid: 4242 });
        script
    }

    pub(super) fn push(&mut self, event: Event) -> &mut Self {
        self.events.push(event);
        self
    }

    pub(super) fn baseline(&mut self, failing: &[&str], verdict: Verdict) -> &mut Self {
        let green = verdict == Verdict::Green;
        self.push(Event::BaselineFinished(BaselineFinished {
            framework: "cargo-test".into(),
            exit: Exit::Code { code: if green { 0 } else { 101 } },
            kind: RunKind::Tests,
            verdict,
            failing: strings(failing),
            flaky: vec![],
            others: Vec::new(),
            not_run: Vec::new(),
            environment: vec![],
            passed: 39,
            duration_ms: 4_200,
            places: vec![],
            messages: vec![],
        }))
    }

    pub(super) fn red(&mut self) -> &mut Self {
        self.baseline(&F0, Verdict::Red { reason: None })
    }

    /// Jobs that failed in CI and of which nothing is run here.
    pub(super) fn not_run_here(&mut self, jobs: &[&str]) -> &mut Self {
        if let Some(Event::BaselineFinished(baseline)) = self.events.last_mut() {
            baseline.not_run = strings(jobs);
        }
        self
    }

    pub(super) fn tier(&mut self, tier_index: u32) -> &mut Self {
        let handover_chars = if tier_index == 0 { 0 } else { 1_234 };
        self.push(Event::TierStarted { tier_index, handover_chars, dropped_tiers: 0, tree: TreeId("4b825dc".into()) })
    }

    pub(super) fn begin(&mut self, tier_index: u32, iteration: u32) -> &mut Self {
        self.run_iterations += 1;
        let run_iteration = self.run_iterations;
        self.push(Event::IterationStarted { tier_index, iteration, run_iteration })
    }

    pub(super) fn call(&mut self, tier_index: u32, iteration: u32, role: Role, cost: u64) -> &mut Self {
        self.calls += 1;
        let call_id = format!("call-{}", self.calls);
        let scope = scope(tier_index, iteration, role);
        let reserved = MicroUsd(cost * 3);
        self.push(Event::CallReserved { call_id: call_id.clone(), scope: scope.clone(), reserved });
        self.push(Event::CallSettled(Receipt {
            call_id,
            scope,
            target: model("anthropic/claude-haiku-4-5"),
            billed_model: None,
            status: CallStatus::Ok,
            usage: Some(Usage { input: 900, output: 80, ..Usage::default() }),
            reserved,
            cost: MicroUsd(cost),
            unknown_cost: MicroUsd::ZERO,
            latency_ms: 800,
            error: None,
            timestamp: at(),
        }))
    }

    pub(super) fn attempt(
        &self,
        tier_index: u32,
        iteration: u32,
        cost: u64,
        failing: &[&str],
        errors: &[&str],
    ) -> Attempt {
        let tier = self.tiers[tier_index as usize].clone();
        Attempt {
            tier_index,
            tier_name: tier.name.clone(),
            tier_mode: tier.mode,
            model_artisan: tier.artisan[0].to_string(),
            model_librarian: None,
            model_critic: None,
            billed_artisan: None,
            billed_librarian: None,
            billed_critic: None,
            review: None,
            iteration,
            code_change_summary: "multiply() uses a * b".into(),
            test_status: if failing.is_empty() && errors.is_empty() {
                AttemptStatus::Passed
            } else {
                AttemptStatus::Failed
            },
            failed_tests: strings(failing),
            error_messages: strings(errors),
            cost: MicroUsd(cost),
            unknown_cost: MicroUsd::ZERO,
            duration_ms: 18_000,
            timestamp: at(),
        }
    }

    /// One whole iteration with one call of `cost` micro-dollars.
    pub(super) fn iteration(&mut self, tier_index: u32, iteration: u32, cost: u64, failing: &[&str]) -> &mut Self {
        let errors: &[&str] = if failing.is_empty() { &[] } else { &["Expected 12, received NaN"] };
        self.begin(tier_index, iteration).call(tier_index, iteration, Role::Artisan, cost);
        let attempt = self.attempt(tier_index, iteration, cost, failing, errors);
        self.push(Event::IterationFinished(attempt))
    }

    pub(super) fn end_tier(
        &mut self,
        tier_index: u32,
        exit: TierExit,
        reason: Option<&str>,
        iterations: u32,
    ) -> &mut Self {
        self.push(Event::TierFinished {
            tier_index,
            exit,
            reason: reason.map(str::to_owned),
            iterations,
            cost: MicroUsd::ZERO,
            unknown_cost: MicroUsd::ZERO,
        })
    }

    pub(super) fn escalate(&mut self, from: u32, iterations_carried: u32) -> &mut Self {
        self.push(Event::Escalated { from, to: from + 1, iterations_carried })
    }

    /// A whole failed first tier, escalated.
    pub(super) fn first_tier_fails(&mut self) -> &mut Self {
        self.red().tier(0);
        for iteration in 1..=5 {
            self.iteration(0, iteration, 0, &F0[..2]);
        }
        self.end_tier(0, TierExit::IterationsExhausted, None, 5).escalate(0, 5)
    }

    pub(super) fn finish(&mut self, outcome: Outcome, stop_reason: &str, still_failing: &[&str]) -> &mut Self {
        let failed = !still_failing.is_empty();
        let recent: &[&str] = if failed {
            &["Expected 12, received NaN", "Cannot read properties of undefined (reading 'value')"]
        } else {
            &[]
        };
        // A run that is parked at a breakpoint leaves its change in the files.
        let changed = matches!(outcome, Outcome::Fixed { .. }) || outcome == Outcome::Parked && !failed;
        let file = FileStat { path: "src/math.rs".into(), added: Some(12), removed: Some(3) };
        let binary = FileStat { path: "assets/logo.png".into(), added: None, removed: None };
        let tried = !matches!(outcome, Outcome::NoModel | Outcome::Proposed { .. } | Outcome::Parked);
        let got_further = matches!(outcome, Outcome::Exhausted | Outcome::Stalled | Outcome::Budget);
        let kept = (failed && tried).then(|| {
            let stat = DiffStat { files: vec![file.clone()] };
            let fixed = if got_further { strings(&F0[1..]) } else { Vec::new() };
            Box::new(KeptChange { stat, green: false, pushed: false, fixed, breaks: Some(false) })
        });
        self.push(Event::RunFinished(RunFinished {
            outcome,
            stop_reason: stop_reason.into(),
            recent_errors: strings(recent),
            still_failing: Some(strings(still_failing)),
            diff_stat: DiffStat { files: if changed { vec![file, binary] } else { vec![] } },
            kept,
            best_patch: failed.then(|| ".upshift/best.patch".to_owned()),
            unjudged_patch: None,
            refused_patch: None,
            limited: None,
            active_ms: 134_000,
            finished_at: at(),
        }))
    }

    /// Says of the end that the tests pass with the change that was kept.
    pub(super) fn keep_green(&mut self) -> &mut Self {
        self.keep(true, false)
    }

    /// Says of the end that a change was kept: whether it is green, and whether it is the pushed one, which is green in any case.
    pub(super) fn keep(&mut self, green: bool, pushed: bool) -> &mut Self {
        if let Some(Event::RunFinished(finished)) = self.events.last_mut() {
            let file = FileStat { path: "src/math.rs".into(), added: Some(2), removed: Some(1) };
            let (green, stat) = (green || pushed, DiffStat { files: vec![file] });
            finished.kept = Some(Box::new(KeptChange { stat, green, pushed, fixed: Vec::new(), breaks: Some(false) }));
            finished.best_patch = Some(".upshift/best.patch".to_owned());
            finished.recent_errors.clear();
        }
        self
    }

    pub(super) fn view(&self) -> RunView {
        RunView::from_events(&self.events, Liveness::Ended)
    }

    pub(super) fn view_as(&self, liveness: Liveness) -> RunView {
        RunView::from_events(&self.events, liveness)
    }
}

/// The contract's example: fixed at the second tier in its second iteration.
pub(super) fn fixed() -> Script {
    let mut script = Script::new();
    script.first_tier_fails().tier(1);
    script.iteration(1, 1, 300, &F0[..1]).iteration(1, 2, 500, &[]).end_tier(1, TierExit::Success, None, 2);
    script.finish(Outcome::Fixed { tier_index: 1, iteration: 2 }, "the tests pass", &[]);
    script
}

mod endings;

pub(super) use endings::{every_delivery, every_ending};
