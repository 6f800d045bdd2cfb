//! The sessions of one iteration: librarian, artisan, critic, each with fresh context.

use super::advisors;
use super::cache::{self, Question};
use super::material;
use super::router;
use super::table::Table;
use crate::agent::{self, Material};
use crate::audit::Scope;
use crate::domain::blocker::{self, Blocker, BlockerKind};
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::{Mode, Role};
use crate::domain::review::{Issue, Review, ReviewVerdict};
use crate::domain::stop::StopCause;
use crate::domain::units::TreeId;
use crate::policy::review;
use crate::policy::rotation::GiveUp;
use crate::session::{FailureReason, FinalReport, Lineage, SessionEnd};

/// The longest brief that is passed on, in characters.
const BRIEF_CHARS: usize = 4_000;
/// How many of a critic's objections the next artisan is given: more are not worked off in one iteration.
const MOST_OBJECTIONS: usize = 20;

/// The cap that does not allow another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    /// The tier's own: the next tier may have more.
    Tier,
    /// The run's, or one that runs share.
    Run,
}

/// The obstacle that keeps an iteration from being judged on its tests alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// Something outside is needed: a person, or what is named.
    Blocked {
        /// Why, with what is in the way.
        reason: String,
        /// The blockers in the way, where the model names them.
        on: Vec<Blocker>,
    },
    /// No target could be used.
    NoModel {
        /// Why not.
        why: GiveUp,
        /// The last target's message.
        last: String,
    },
    /// A cap: the tier's own or a wider one, in words.
    Budget(Cap, String),
    /// A signal, or the time is up.
    Stopped(StopCause),
    /// Nothing usable came: the iteration counts as an error.
    Unusable(String),
}

/// The end of the roles before the tests are run.
#[derive(Debug, Default)]
pub(super) struct RolesEnd {
    /// The librarian's end, in full mode.
    pub(super) librarian: Option<SessionEnd>,
    /// The artisan's end.
    pub(super) artisan: Option<SessionEnd>,
    /// Set when a session ended without doing its part.
    pub(super) halt: Option<Halt>,
}

/// Runs the librarian (in full mode) and the artisan.
pub(super) async fn change(table: &mut Table<'_, '_, '_>, material: &mut Material) -> RolesEnd {
    let mut end = RolesEnd::default();
    table.context.lost.at_tier(table.climb.position.tier_index);
    if table.tier.mode == Mode::Full {
        let tree = table.climb.trees.current.tree.clone();
        let question = Question { role: Role::Librarian, tree: &tree, material, compose: &agent::librarian };
        let librarian = cache::hold(table, question, None).await;
        end.halt = halt_of(&librarian.report);
        if let FinalReport::Briefed { summary, files } = &librarian.report {
            material.brief = Some(Foreign::capped(summary, BRIEF_CHARS));
            material::rerank(table.context, table.climb, files, material);
        }
        end.librarian = Some(librarian);
        // A librarian without a brief is a loss, not a reason to give the iteration up.
        if end.halt.as_ref().is_some_and(|halt| !matches!(halt, Halt::Unusable(_))) {
            return end;
        }
        if let Some(cause) = table.context.world.wrap_up.wished() {
            // An artisan who may only report has nothing to report.
            end.halt = Some(Halt::Stopped(cause));
            return end;
        }
    }
    let lineage = end.librarian.as_ref().and_then(lineage_of);
    let was_advised = advisors::hear(table, material, lineage.as_ref()).await;
    if let Some(cause) = table.context.world.wrap_up.wished().filter(|_| was_advised) {
        end.halt = Some(Halt::Stopped(cause));
        return end;
    }
    let artisan = router::hold(table, Role::Artisan, (material, &agent::artisan), lineage).await;
    end.halt = halt_of(&artisan.report);
    end.artisan = Some(artisan);
    end
}

/// Runs the critic over the whole change. Returns its end.
pub(super) async fn review(
    table: &mut Table<'_, '_, '_>,
    material: &Material,
    (tree, diff): (&TreeId, &Foreign),
    before: &RolesEnd,
) -> SessionEnd {
    let lineage = before.librarian.as_ref().or(before.artisan.as_ref()).and_then(lineage_of);
    let compose = |material: &Material, mark: &Mark| agent::critic(material, diff, mark);
    cache::hold(table, Question { role: Role::Critic, tree, material, compose: &compose }, lineage).await
}

/// The review in a critic's report. `None` where it is no review.
pub(super) fn review_of(report: &FinalReport) -> Option<Review> {
    match report {
        FinalReport::Approve { summary, issues } => Some(review::review(ReviewVerdict::Approve, summary, issues)),
        FinalReport::Reject { summary, issues } => Some(review::review(ReviewVerdict::Reject, summary, issues)),
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Blocked { .. }
        | FinalReport::Routed { .. }
        | FinalReport::Synthetic { .. } => None,
    }
}

/// The critic's objections. Empty when it approves. Anything but an approval is a rejection (S0-33).
pub(super) fn objections(report: &FinalReport) -> Vec<Foreign> {
    let said = |text: &str| vec![Foreign::capped(text, BRIEF_CHARS)];
    let Some(review) = review_of(report) else {
        return said(&format!("no readable review: {}", report.summary()));
    };
    if review.approves() {
        return Vec::new();
    }
    // Of an approval only what overrules it must be mended.
    let counts = |issue: &&Issue| !review.overruled || review::forces_reject(issue);
    let issues: Vec<&Issue> = review.issues.iter().filter(counts).collect();
    if issues.is_empty() {
        return said(&review.summary);
    }
    issues.iter().take(MOST_OBJECTIONS).map(|issue| Foreign::capped(&issue.said, BRIEF_CHARS)).collect()
}

/// The meaning of a report for the iteration beyond its tests.
pub(super) fn halt_of(report: &FinalReport) -> Option<Halt> {
    match report {
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => None,
        FinalReport::Blocked { reason, on, .. } => {
            let told = match on.as_slice() {
                [] => reason.clone(),
                on if on.iter().any(|on| on.kind == BlockerKind::Test) => format!("a test is wrong: {reason}"),
                on => format!("{reason} (blocked on {})", blocker::list(on)),
            };
            Some(Halt::Blocked { reason: told, on: on.clone() })
        }
        // The session that it was handed to stands in its place.
        FinalReport::Routed { .. } => Some(Halt::Unusable(report.summary())),
        FinalReport::Synthetic { reason } => Some(match reason {
            FailureReason::Budget { scope: Scope::Tier(..), detail } => Halt::Budget(Cap::Tier, detail.clone()),
            // Any other cap is the run's, or one that it shares with other runs: no other tier has more.
            FailureReason::Budget { detail, .. } => Halt::Budget(Cap::Run, detail.clone()),
            FailureReason::NoUsableTarget { why, last } => Halt::NoModel { why: *why, last: last.clone() },
            FailureReason::Stopped { cause } => Halt::Stopped(*cause),
            FailureReason::UnusableReplies { .. }
            | FailureReason::ContextFull
            | FailureReason::NoReport
            | FailureReason::ToolFailed { .. } => Halt::Unusable(reason.to_string()),
        }),
    }
}

/// The place below a session. None below one that was not held, since its report was kept.
pub(super) fn lineage_of(end: &SessionEnd) -> Option<Lineage> {
    (end.turns > 0).then(|| Lineage { parent: end.session_id.clone(), root: end.session_id.clone() })
}
