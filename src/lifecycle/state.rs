//! The run's whole state as it is saved with every decision, so that any process can go on from it.
//!
//! A run that is under way is held in phases (`stage`). This is only the form that is written and read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent::{Beside, LastIteration, PastIteration};
use crate::config::{Plan, SharedPlan};
use crate::domain::account::Limited;
use crate::domain::attempt::{Attempt, TierResult};
use crate::domain::blocker::Blocker;
use crate::domain::budget::Beneficiary;
use crate::domain::ci::RedCi;
use crate::domain::delivery::{Awaited, Destination};
use crate::domain::ladder::Tier;
use crate::domain::leftover::Leftover;
use crate::domain::outcome::Outcome;
use crate::domain::units::{CommitSha, MicroUsd, RunId, TreeId};
use crate::policy::budget::Warnings;
use crate::policy::candidate::Candidate;
use crate::policy::escalation::{Position, Rules};
use crate::policy::verdict::Baseline;

/// The version of the serialised form. A state of another version is not continued.
pub const STATE_VERSION: u32 = 1;

/// The next step of a run. Each phase ends by recording the one that follows, in one transaction with its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Find out what fails.
    Baseline,
    /// Begin the next iteration, if the budget allows it.
    Ready,
    /// An iteration is under way.
    Iterating,
    /// A fix is to be pushed.
    Publishing {
        /// Which.
        fix: Fix,
    },
    /// Somebody pushed meanwhile: the fix is to be judged on top of that.
    Rebasing {
        /// Which.
        fix: Fix,
    },
    /// A pull request is to propose the pushed fix.
    Proposing {
        /// Which.
        fix: Fix,
    },
    /// The outside is to say what it thinks of the fix.
    Waiting {
        /// At which breakpoint.
        wait: Wait,
    },
    /// Something outside is in the way of the work.
    Held {
        /// The blockers.
        hold: Hold,
    },
    /// It is decided how the run ends. The tree is yet to be put in order.
    Ending {
        /// How.
        outcome: Outcome,
        /// Why, in words.
        stop_reason: String,
    },
    /// The report can be written.
    Ended {
        /// How.
        outcome: Outcome,
    },
}

/// A green tree on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// Zero-based tier that made it.
    pub tier_index: u32,
    /// One-based iteration within that tier.
    pub iteration: u32,
    /// The tree.
    pub tree: TreeId,
    /// The model that made it, as `provider/model`.
    pub model: String,
    /// When it was found green, in seconds since the epoch: the date of its commit.
    pub at: i64,
    /// The branch it is pushed to, once chosen.
    pub branch: Option<String>,
    /// The head of that branch, where it is that of an open pull request for the same failure.
    #[serde(default)]
    pub onto: Option<CommitSha>,
    /// How often it was put on top of what somebody pushed meanwhile.
    #[serde(default)]
    pub rebased: u32,
    /// How often an outage of the Git host barred the next step of its way out.
    #[serde(default)]
    pub barred: u32,
    /// How often the run was parked for that.
    #[serde(default)]
    pub parked: u32,
}

/// A breakpoint that the run stands at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The fix that was delivered.
    pub fix: Fix,
    /// The event that is waited for.
    pub awaited: Awaited,
    /// The commit it is about.
    pub commit: CommitSha,
    /// Names the breakpoint.
    pub key: String,
    /// How long earlier invocations waited.
    pub waited_ms: u64,
    /// The files as they were left when the wait began. `None` where they are on another machine.
    #[serde(default)]
    pub files: Option<TreeId>,
}

/// The hold that keeps a run from its work: the `blocked` breakpoint that it stands at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Why, in the words of the model.
    pub reason: String,
    /// The blockers in the way. The forge can be asked about all of them.
    pub on: Vec<Blocker>,
    /// Names the breakpoint.
    pub key: String,
    /// The commit whose checks count.
    pub commit: CommitSha,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: i64,
}

/// The part of the run that is outside already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The last commit that was pushed.
    pub commit: Option<CommitSha>,
    /// The recorded tree that it holds the change of.
    pub tree: Option<TreeId>,
    /// The branch it is on.
    pub branch: Option<String>,
    /// The pull request that was opened for it.
    pub pull_request: Option<u64>,
    /// How often the run pushed.
    #[serde(default)]
    pub pushes: u32,
    /// When it was pushed, in milliseconds since the epoch.
    pub pushed_at_ms: i64,
    /// How long CI was waited for at the breakpoints that are over, in milliseconds.
    #[serde(default)]
    pub ci_waited_ms: u64,
    /// Every commit that was pushed, oldest first.
    #[serde(default)]
    pub commits: Vec<CommitSha>,
}

/// The outcome of earlier runs for a pull request, and which one this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestRuns {
    /// The pull request.
    pub number: u64,
    /// Which run for it this is, from 1.
    pub attempt: u32,
    /// The money that the runs before cost together, as far as this log does not hold it.
    pub spent_before: MicroUsd,
    /// The run before.
    pub last: Option<RunId>,
    /// The last comment whose command an earlier run answered. 0 for none.
    pub heard: u64,
}

/// Which comments were heard: each is obeyed once, by whichever process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hearing {
    /// From when on comments count (RFC 3339).
    pub since: String,
    /// The last comment that was looked at. 0 for none.
    pub last: u64,
    /// Iterations that comments have added.
    pub added: u32,
}

impl Delivery {
    /// The commit that the next one is built on.
    #[must_use]
    pub fn parent(&self, destination: &Destination) -> CommitSha {
        self.commit.clone().unwrap_or_else(|| destination.head.clone())
    }
}

/// Everything a later process needs to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// [`STATE_VERSION`].
    pub version: u32,
    /// The run.
    pub run_id: RunId,
    /// The plan it was started with. A resume uses this one, not the files of the day.
    pub plan: SharedPlan,
    /// The test command in use.
    pub test_command: String,
    /// The framework, if it was configured or detected.
    pub framework: Option<String>,
    /// The beneficiary that it works for.
    #[serde(default)]
    pub beneficiary: Beneficiary,
    /// The next step.
    pub phase: Phase,
    /// Where on the ladder.
    pub position: Position,
    /// Iterations begun in the whole run.
    pub run_iterations: u32,
    /// Active milliseconds up to the last record.
    pub active_ms: u64,
    /// Which budget warnings were given.
    pub warned: Warnings,
    /// The tree as the user had it.
    pub start: Option<TreeId>,
    /// The commit that it is told by in the log. `None` where it is told by none.
    #[serde(default)]
    pub base: Option<CommitSha>,
    /// The folder in which a later process took the run up, where that is another than it began in.
    #[serde(default)]
    pub moved_to: Option<String>,
    /// Every path that models wrote so far.
    pub touched: BTreeSet<String>,
    /// Files of the start that the tests themselves rewrote at the baseline. They are nobody's change.
    pub by_products: BTreeSet<String>,
    /// Files of the start that judge and that the tests touched at the baseline. `None` where that is not known.
    #[serde(default)]
    pub stirred: Option<BTreeSet<String>>,
    /// Whether the tests were given the network because they do not run without it.
    #[serde(default)]
    pub network_opened: bool,
    /// Whether the test command does not work when its runner is told to write a result file.
    #[serde(default)]
    pub no_result_files: bool,
    /// The red CI that started the run, if that did.
    #[serde(default)]
    pub red_ci: Option<RedCi>,
    /// The words that the artisan is told beside the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Whether what failed there is run beside the tests.
    #[serde(default)]
    pub with_checks: bool,
    /// Whether the tests passed, so that CI alone judges the changes.
    #[serde(default)]
    pub judged_by_ci: bool,
    /// Names of what the run is to mend.
    #[serde(default)]
    pub failure: Vec<String>,
    /// The tests' result before any change.
    pub baseline: Option<Baseline>,
    /// How long the suite took at the baseline, in milliseconds.
    #[serde(default)]
    pub baseline_ms: u64,
    /// The framework that was recognised in the baseline's output.
    #[serde(default)]
    pub framework_seen: Option<String>,
    /// The best tree so far.
    pub best: Option<Candidate>,
    /// The tier's tree.
    pub current: Option<Candidate>,
    /// The iteration before, in the same tier.
    pub last: Option<LastIteration>,
    /// The iterations before, in the same tier, oldest first.
    #[serde(default)]
    pub past: Vec<PastIteration>,
    /// The tiers that ended.
    pub prior: Vec<TierResult>,
    /// The rows of the tier under way.
    pub attempts: Vec<Attempt>,
    /// Where a fix goes. `None` where it stays.
    #[serde(default)]
    pub destination: Option<Destination>,
    /// The part of the run that is outside already.
    #[serde(default)]
    pub delivery: Delivery,
    /// Tells the run's comment from others on the same pull request. `None` outside of a job.
    #[serde(default)]
    pub comment_key: Option<String>,
    /// The runs for the pull request that this one is about.
    #[serde(default)]
    pub runs: Option<PullRequestRuns>,
    /// Blockers that were in the way of the run once and were found out of it.
    #[serde(default)]
    pub settled: Vec<Blocker>,
    /// Which comments were heard.
    #[serde(default)]
    pub hearing: Hearing,
    /// The rate limit that the parked run waits for.
    #[serde(default)]
    pub limited: Option<Limited>,
    /// Removed files that tools run unasked, yet to be said.
    #[serde(default)]
    pub swept: Vec<Leftover>,
    /// Where a resume takes the run up again that was parked or interrupted.
    #[serde(default)]
    pub resume_at: Option<Box<Phase>>,
    /// Whether the run had ended and left the files in order, so that what differs by now is somebody else's. Set as it is loaded.
    #[serde(skip)]
    pub stood_still: bool,
}

impl RunState {
    /// The same run, with whom it works for.
    #[must_use]
    pub fn working_for(mut self, beneficiary: Beneficiary) -> Self {
        self.beneficiary = beneficiary;
        self
    }

    /// The state of a run that has not begun.
    #[must_use]
    pub fn new(run_id: RunId, plan: impl Into<SharedPlan>, test_command: String, framework: Option<String>) -> Self {
        let plan = plan.into();
        let position = Position::at(0, &rules(&plan));
        Self {
            version: STATE_VERSION,
            run_id,
            plan,
            test_command,
            framework,
            beneficiary: Beneficiary::default(),
            phase: Phase::Baseline,
            position,
            run_iterations: 0,
            active_ms: 0,
            warned: Warnings::default(),
            start: None,
            base: None,
            moved_to: None,
            touched: BTreeSet::new(),
            by_products: BTreeSet::new(),
            stirred: None,
            network_opened: false,
            no_result_files: false,
            red_ci: None,
            beside: Vec::new(),
            with_checks: false,
            judged_by_ci: false,
            failure: Vec::new(),
            baseline: None,
            baseline_ms: 0,
            framework_seen: None,
            best: None,
            current: None,
            last: None,
            past: Vec::new(),
            prior: Vec::new(),
            attempts: Vec::new(),
            destination: None,
            delivery: Delivery::default(),
            comment_key: None,
            runs: None,
            settled: Vec::new(),
            hearing: Hearing::default(),
            limited: None,
            swept: Vec::new(),
            resume_at: None,
            stood_still: false,
        }
    }

    /// The ladder's rules.
    #[must_use]
    pub fn rules(&self) -> Rules {
        rules(&self.plan)
    }

    /// The tier under way.
    #[must_use]
    pub fn tier(&self) -> Option<&Tier> {
        self.plan.tiers.get(usize::try_from(self.position.tier_index).ok()?)
    }

    /// The one-based number of the iteration that is under way or comes next.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.position.iterations + 1
    }

    /// The recorded trees that a later process builds on.
    #[must_use]
    pub fn trees(&self) -> BTreeSet<&TreeId> {
        let candidates = [&self.best, &self.current].into_iter().flatten().map(|candidate| &candidate.tree);
        // The fix of a parked run stands in the phase that a resume goes on at.
        let phases = std::iter::once(&self.phase).chain(self.resume_at.as_deref());
        let fixes = phases.filter_map(Phase::fix).map(|fix| &fix.tree);
        candidates.chain(fixes).chain(&self.start).chain(&self.delivery.tree).collect()
    }

    /// Gives recorded trees other names.
    pub fn rename_trees(&mut self, names: &BTreeMap<TreeId, TreeId>) {
        for phase in std::iter::once(&mut self.phase).chain(self.resume_at.as_deref_mut()) {
            // How they were left elsewhere says nothing of the files here.
            if let Phase::Waiting { wait } = phase {
                wait.files = None;
            }
        }
        let phases = std::iter::once(&mut self.phase).chain(self.resume_at.as_deref_mut());
        let fixes = phases.filter_map(Phase::fix_mut).map(|fix| &mut fix.tree);
        let candidates = [&mut self.best, &mut self.current].into_iter().flatten().map(|candidate| &mut candidate.tree);
        for tree in candidates.chain(fixes).chain(&mut self.start).chain(&mut self.delivery.tree) {
            if let Some(name) = names.get(tree) {
                tree.clone_from(name);
            }
        }
    }
}

impl Phase {
    fn fix(&self) -> Option<&Fix> {
        match self {
            Self::Publishing { fix } | Self::Rebasing { fix } | Self::Proposing { fix } => Some(fix),
            Self::Waiting { wait } => Some(&wait.fix),
            Self::Baseline
            | Self::Ready
            | Self::Iterating
            | Self::Held { .. }
            | Self::Ending { .. }
            | Self::Ended { .. } => None,
        }
    }

    fn fix_mut(&mut self) -> Option<&mut Fix> {
        match self {
            Self::Publishing { fix } | Self::Rebasing { fix } | Self::Proposing { fix } => Some(fix),
            Self::Waiting { wait } => Some(&mut wait.fix),
            Self::Baseline
            | Self::Ready
            | Self::Iterating
            | Self::Held { .. }
            | Self::Ending { .. }
            | Self::Ended { .. } => None,
        }
    }
}

/// The rules of a plan's ladder.
pub(super) fn rules(plan: &Plan) -> Rules {
    Rules {
        tier_caps: plan.tiers.iter().map(|tier| tier.max_iterations).collect(),
        on_entropy: plan.on_entropy,
        entropy_threshold: plan.entropy_threshold,
    }
}
