//! Progress: one event becomes the lines that a person following the run reads (stderr).
//!
//! Holds what it needs from earlier events, nothing else. Invariant: in Actions no line but our own `::group::` and
//! `::endgroup::` is a workflow command, and at most one group is open.

mod agents;
mod phrases;
mod proof;

use self::phrases::{
    cap_name, counts, headline, model, name, refused, sentence_case, session_finished, speech, table, verdict_tone,
};
use crate::domain::attempt::{Attempt, AttemptStatus, TierExit};
use crate::domain::blocker;
use crate::domain::command::Command;
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::{BaselineFinished, Event, RunStarted};
use crate::domain::ladder::{Role, Tier};
use crate::domain::leftover::Leftover;
use crate::domain::receipt::{CallStatus, Receipt};
use crate::domain::test_report::RunKind;
use crate::domain::units::{MicroUsd, human_duration};
use crate::domain::verdict::Verdict;

use super::plain;
use super::raises::Raises;
use super::style::{Style, Tone};
use super::words::{count, u64_of};
use super::workflow_command;

/// The rule above and below a tier's banner, as the contract draws it.
const RULE: &str = "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━";
/// Warnings say what to do at their end, so they get more room.
const MAX_WARNING: usize = 400;
/// The most failing tests named at the baseline. The report names them all.
const MAX_TESTS: usize = 5;
/// By so many characters an error is known again.
const MAX_REPEATED: usize = 60;
/// Where an error's own words end and begins how to mend it.
const ADVICE: char = '→';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Open,
    Closed,
}

/// Turns events into lines. It is fed every event in order.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    tiers: Vec<Tier>,
    raises: Raises,
    failing_before: u64,
    carried: u32,
    /// The error of the last call that failed: one with advice is told once, not again by every line that ends because of it.
    told: String,
    /// Whether it was told that the tests are green, before the proof: it is said once.
    told_green: bool,
    /// Whether a wait was told: what fails until the next answer is part of it.
    waits: bool,
    /// Whether the last iteration has no review: its critic gave none that could be read.
    lacks_review: bool,
    names: agents::Names,
    group: Group,
}

impl Progress {
    /// A follower of a run. For one that another process began, feed it the past events and drop their lines.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            style,
            tiers: Vec::new(),
            raises: Raises::default(),
            failing_before: 0,
            carried: 0,
            told: String::new(),
            told_green: false,
            waits: false,
            lacks_review: false,
            names: agents::Names::default(),
            group: Group::Closed,
        }
    }

    /// The lines for one event. Most events have one or none.
    pub fn lines(&mut self, event: &Event) -> Vec<String> {
        self.names.hear(event);
        self.raises.hear(event).into_iter().for_each(|raise| raise.raise_tier(&mut self.tiers));
        let mut lines = self.commands_before(event);
        let said = self.say(event);
        lines.extend(match self.style {
            Style::Plain | Style::Colour => said,
            Style::Actions => said.iter().map(|line| plain::inert(line)).collect(),
        });
        lines.extend(self.commands_after(event));
        lines
    }

    /// The lines that close what is still open, for an end without [`Event::RunFinished`].
    pub fn finish(&mut self) -> Vec<String> {
        self.close_group().into_iter().collect()
    }

    fn close_group(&mut self) -> Option<String> {
        let was = std::mem::replace(&mut self.group, Group::Closed);
        (was == Group::Open).then(workflow_command::end_group)
    }

    fn commands_before(&mut self, event: &Event) -> Vec<String> {
        if matches!(event, Event::InvocationStarted { .. }) {
            // A group that another process left open ended with its step.
            self.group = Group::Closed;
        }
        let closes = matches!(
            event,
            Event::IterationStarted { .. }
                | Event::IterationFinished(_)
                | Event::TierStarted { .. }
                | Event::TierFinished { .. }
                | Event::RunFinished(_)
        );
        if closes { self.close_group().into_iter().collect() } else { Vec::new() }
    }

    fn commands_after(&mut self, event: &Event) -> Vec<String> {
        let (Style::Actions, Event::IterationStarted { tier_index, iteration, .. }) = (self.style, event) else {
            return Vec::new();
        };
        self.group = Group::Open;
        let title = match self.tier(*tier_index) {
            Some((number, tier)) => format!("Steps of tier {number}, iteration {iteration}: {}", name(&tier.name)),
            None => format!("Steps of iteration {iteration}"),
        };
        vec![workflow_command::group(&title)]
    }

    fn counted_failure(&self, attempt: u32, allowed: u32, spent_before: MicroUsd) -> String {
        let before = if attempt > 1 { format!(", {} spent before", spent_before.exact()) } else { String::new() };
        self.paint(Tone::Faint, &format!("  Run {attempt} of at most {allowed} for this failure{before}"))
    }

    fn stalled(&self, signature: &str, said: &str, count: u32) -> String {
        let last = if said.is_empty() { signature } else { said };
        self.paint(Tone::Notice, &format!("  ! The same error {count} times in a row: {}", phrases::repeated(last)))
    }

    /// The line about a run of the tests, unless its green was told before.
    fn unless_told(&mut self, verdict: &Verdict, line: String) -> Vec<String> {
        let is_told = std::mem::take(&mut self.told_green) && *verdict == Verdict::Green;
        if is_told { Vec::new() } else { vec![line] }
    }

    fn say(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::RunStarted(run) => self.run_started(run),
            Event::TreeRecorded { withheld, .. } => self.stays_here(withheld.as_deref()),
            Event::InvocationStarted { invocation, .. } if *invocation > 1 => {
                vec![self.paint(Tone::Heading, &format!("◆ Resumed: invocation {invocation} of this run"))]
            }
            Event::AttemptCounted { pull_request, attempt, allowed, .. } => {
                vec![self.counted(*pull_request, *attempt, *allowed)]
            }
            Event::FailureCounted { attempt, allowed, spent_before, .. } => {
                vec![self.counted_failure(*attempt, *allowed, *spent_before)]
            }
            Event::BaselineFinished(baseline) => self.baseline(baseline),
            Event::TierStarted { tier_index, dropped_tiers, .. } => self.tier_started(*tier_index, *dropped_tiers),
            Event::IterationStarted { tier_index, iteration, .. } => {
                vec![self.iteration_started(*tier_index, *iteration)]
            }
            Event::SessionStarted { role, target, agent, .. } => vec![self.speaker(*role, agent, target)],
            Event::CallSettled(receipt) => {
                self.failed_call(receipt).map(|line| self.paint(Tone::Notice, &line)).into_iter().collect()
            }
            Event::ToolFinished { role, session_id, name, subject, ok, duration_ms, why, .. } => {
                vec![self.tool(self.names.of(*role, session_id), (name, subject), (*ok, why), *duration_ms)]
            }
            Event::ContextThreshold { role, level, percent, session_id } if level != "info" => {
                vec![self.filling(self.names.of(*role, session_id), *percent)]
            }
            Event::SessionFinished { role, session_id, turns, result, summary, .. } => {
                vec![session_finished(self.names.of(*role, session_id), *turns, result, self.untold(summary))]
            }
            Event::TestsFinished { kind, verdict, passed, failed, duration_ms, .. } => {
                let line = self.tests(*kind, verdict, *passed, *failed, *duration_ms);
                self.unless_told(verdict, line)
            }
            Event::ProofStarted(begun) => self.proof_started(*begun),
            Event::PatchMinimised { dropped, kept, .. } => vec![phrases::minimised(*dropped, *kept)],
            Event::EvidenceGathered { proof, runs, duration_ms } => vec![self.proof(proof, *runs, *duration_ms)],
            Event::Remarked { remarks, .. } => self.remarked(remarks.len()).into_iter().collect(),
            Event::IterationFinished(attempt) => vec![self.iteration_finished(attempt)],
            Event::EntropyDetected { signature, said, count, .. } => vec![self.stalled(signature, said, *count)],
            Event::BudgetWarning { dimension, percent } => {
                vec![self.paint(Tone::Notice, &format!("  ! {percent} % of the {} is used", cap_name(dimension)))]
            }
            Event::TierFinished { tier_index, exit, reason, iterations, .. } => {
                vec![self.tier_finished(*tier_index, *exit, reason.as_deref(), *iterations)]
            }
            Event::ModelsUnavailable { host, key_variable, reason, until, wait_ms: Some(wait_ms), .. } => {
                self.waits = true;
                let why = speech(&reason.sentence(host, key_variable.as_deref()));
                let (wait, until) = (human_duration(*wait_ms), agents::told_until(until.as_ref()));
                vec![self.paint(Tone::Notice, &format!("    ◆ {why}; waiting {wait}{until}"))]
            }
            Event::TiersSkipped { tiers, reason } => vec![self.skipped(tiers, reason)],
            Event::AgentSwitched(switch) => vec![self.paint(Tone::Notice, &agents::switched(switch))],
            Event::AgentsAllLimited(all) => vec![self.paint(Tone::Notice, &agents::all_limited(all))],
            Event::AgentRecoveryAttempted(again) => vec![self.paint(Tone::Notice, &agents::recovery(again))],
            Event::SubAgentChanged(change) => vec![self.paint(Tone::Faint, &agents::sub_agent(change))],
            Event::Escalated { to, iterations_carried, .. } => self.escalated(*to, *iterations_carried),
            Event::PublishStarted { .. }
            | Event::Pushed { .. }
            | Event::PullRequestReady { .. }
            | Event::BreakpointReached { .. }
            | Event::BreakpointCleared { .. } => self.delivery(event),
            Event::CommandAnswered { by, command, said, .. } => vec![self.answered(by, *command, said)],
            Event::CorrectionProposed(one) => vec![self.notice(&phrases::correction(&one.files))],
            Event::Advised { .. } | Event::HandedOff { .. } => agents::unsaid(event).map(|line| self.notice(&line)).collect(),
            Event::Routed { .. } | Event::ReportReused(_) => vec![self.paint(Tone::Faint, &agents::instead(event))],
            Event::Warning { message } => vec![self.notice(message)],
            Event::LeftoversRemoved { leftovers, more } => vec![self.leftovers(leftovers, *more)],
            Event::ContextThreshold { .. } | Event::InvocationStarted { .. } | Event::StateSaved
            // The failed call before it says so.
            | Event::ModelsUnavailable { wait_ms: None, .. }
            | Event::CallReserved { .. }
            | Event::ReportKept(_)
            | Event::ContextReset { .. }
            // A block that is missing is a warning.
            | Event::MetaReported(_)
            // The call before it says that it failed.
            | Event::ToolFailureReplaced(_)
            | Event::RunFinished(_) => Vec::new(),
        }
    }

    fn skipped(&self, tiers: &[u32], reason: &str) -> String {
        self.paint(Tone::Notice, &format!("◆ Skipped: {}: {}", self.tiers_named(tiers), speech(reason)))
    }

    fn speaker(&self, role: Role, agent: &str, target: &str) -> String {
        self.paint(Tone::Faint, &format!("    {}: {}", plain::line(agents::who(role, agent)), model(target)))
    }

    fn filling(&self, who: &str, percent: u32) -> String {
        let line = format!("    ! {}: {percent} % of the window is in use; it is asked to wrap up", plain::line(who));
        self.paint(Tone::Notice, &line)
    }

    fn stays_here(&self, why: Option<&str>) -> Vec<String> {
        let line = |why| format!("◆ This run can be resumed on this machine alone: {}", speech(why));
        why.map(|why| self.paint(Tone::Faint, &line(why))).into_iter().collect()
    }

    fn notice(&self, message: &str) -> String {
        self.paint(Tone::Notice, &format!("! {}", plain::clipped_line(message, MAX_WARNING)))
    }

    fn leftovers(&self, leftovers: &[Leftover], more: u32) -> String {
        let line = format!("! {}", phrases::leftovers(leftovers, more));
        self.paint(Tone::Notice, &plain::clipped_line(&line, MAX_WARNING))
    }

    fn answered(&self, by: &str, command: Option<Command>, said: &str) -> String {
        let what = command.map_or_else(|| "a comment".to_owned(), |command| command.to_string());
        self.paint(Tone::Notice, &format!("◆ {}: {what} — {}", name(by), speech(said)))
    }

    fn counted(&self, pull_request: u64, attempt: u32, allowed: u32) -> String {
        let most = if attempt > allowed { String::new() } else { format!(" of at most {allowed}") };
        self.paint(Tone::Faint, &format!("◆ Run {attempt}{most} for pull request #{pull_request}"))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only events of a delivery come here, and few answers stand out"
    )]
    fn delivery(&self, event: &Event) -> Vec<String> {
        let (tone, line) = match event {
            Event::PublishStarted { branch, parent } => {
                (Tone::Faint, format!("◆ Pushing to {} on top of {}", name(branch), parent.short()))
            }
            Event::Pushed { commit, branch, files, found } => {
                let had = if *found { " (an earlier process had)" } else { "" };
                let files = count(u64::from(*files), "file");
                (Tone::Good, format!("◆ Pushed {} to {}: {files}{had}", commit.short(), name(branch)))
            }
            Event::PullRequestReady { number, url, found } => {
                let done = if *found { "is there" } else { "opened" };
                (Tone::Good, format!("◆ Pull request #{number} {done}: {}", plain::line(url)))
            }
            Event::BreakpointReached { awaited: Awaited::Ci, commit, .. } => {
                (Tone::Notice, format!("◆ Waiting for CI of {}", commit.short()))
            }
            Event::BreakpointReached { awaited: Awaited::Merge, .. } => {
                (Tone::Notice, "◆ Waiting for the pull request to be merged".to_owned())
            }
            Event::BreakpointReached { awaited: Awaited::Blockers, on, .. } => {
                (Tone::Notice, format!("◆ Blocked on {}", speech(&blocker::list(on))))
            }
            Event::BreakpointCleared { answer, detail, waited_ms, .. } => {
                let tone = match answer {
                    Answer::Green | Answer::Merged | Answer::Resolved => Tone::Good,
                    Answer::Red => Tone::Bad,
                    _ => Tone::Notice,
                };
                let more = if detail.trim().is_empty() { String::new() } else { format!(": {}", speech(detail)) };
                (tone, format!("◆ {} after {}{more}", sentence_case(answer.words()), human_duration(*waited_ms)))
            }
            _ => return Vec::new(),
        };
        vec![self.paint(tone, &line)]
    }

    fn run_started(&mut self, run: &RunStarted) -> Vec<String> {
        if let Some(command) = &run.command {
            let cap = run.budget.max_cost.exact();
            return vec![format!("◆ Gateway: {} under a cap of {cap}", plain::command(command))];
        }
        self.tiers.clone_from(&run.tiers);
        let configured = count(u64_of(run.tiers.len()), "tier");
        let mut lines =
            vec![self.paint(Tone::Heading, &format!("◆ Tiered escalation mode enabled ({configured} configured)"))];
        lines.extend(table(&run.tiers));
        let budget = &run.budget;
        let of_ladder = run.tiers.iter().map(|tier| u64::from(tier.max_iterations)).sum::<u64>();
        lines.push(format!(
            "◆ Budget: {}, {}, {}",
            budget.max_cost.exact(),
            count(of_ladder.min(u64::from(budget.max_iterations)), "iteration"),
            human_duration(budget.max_active_ms)
        ));
        lines.push(format!("◆ Test command: {}", plain::command(&run.test_command)));
        let db = run.audit_db.as_deref().map_or_else(|| "off".to_owned(), plain::command);
        lines.push(format!("◆ Audit log: {db}  (run: {})", plain::line(run.run_id.short())));
        lines
    }

    fn baseline(&mut self, baseline: &BaselineFinished) -> Vec<String> {
        self.failing_before = u64_of(baseline.failing.len());
        let counts = counts(baseline.kind, self.failing_before, None, baseline.passed);
        let time = human_duration(baseline.duration_ms);
        let word = baseline.verdict.as_str();
        let head = format!("◆ Baseline: {word}{counts}  ({}, {time})", plain::line(&baseline.framework));
        let mut lines = vec![self.paint(verdict_tone(&baseline.verdict), &head)];
        lines.extend(baseline.verdict.reason().map(|reason| format!("    {}", speech(reason))));
        for test in baseline.failing.iter().take(MAX_TESTS) {
            lines.push(format!("    ✖ {}", speech(test)));
            let message = baseline.messages.iter().find(|message| message.test == *test);
            lines.extend(message.map(|message| self.paint(Tone::Faint, &format!("      {}", speech(&message.said)))));
        }
        if baseline.failing.len() > MAX_TESTS {
            lines.push(format!("    … and {} more", baseline.failing.len() - MAX_TESTS));
        }
        if !baseline.flaky.is_empty() {
            let flaky = count(u64_of(baseline.flaky.len()), "test");
            lines.push(format!("    {flaky} set aside as flaky: failed once, passed once"));
        }
        if !baseline.environment.is_empty() {
            let tests = count(u64_of(baseline.environment.len()), "test");
            lines.push(format!("    {tests} set aside: for lack of a service, not because of the code"));
        }
        lines
    }

    fn tier_started(&self, tier_index: u32, dropped_tiers: u32) -> Vec<String> {
        let Some((number, tier)) = self.tier(tier_index) else { return Vec::new() };
        let banner = format!("▶ Tier {number}/{}: {}", self.tiers.len(), headline(tier));
        let mut lines = vec![String::new(), RULE.to_owned(), self.paint(Tone::Heading, &banner), RULE.to_owned()];
        if dropped_tiers > 0 {
            let dropped = count(u64::from(dropped_tiers), "older tier");
            lines.push(format!("  {dropped} did not fit into the failure history for the next tier"));
        }
        lines
    }

    fn iteration_started(&self, tier_index: u32, iteration: u32) -> String {
        let Some((_, tier)) = self.tier(tier_index) else { return format!("  Iteration {iteration}") };
        let informed = match (iteration, self.carried) {
            (1, carried) if carried > 0 => format!("  (informed by {})", count(u64::from(carried), "prior failure")),
            _ => String::new(),
        };
        format!("  Iteration {iteration}/{} [{}]{informed}", tier.max_iterations, name(&tier.name))
    }

    fn tool(&self, who: &str, (tool, subject): (&str, &str), (ok, why): (bool, &str), duration_ms: u64) -> String {
        let line = phrases::tool(who, tool, subject, duration_ms);
        if ok { line } else { self.paint(Tone::Notice, &phrases::failed(&line, why)) }
    }

    fn tests(&self, kind: RunKind, verdict: &Verdict, passed: u64, failed: u64, duration_ms: u64) -> String {
        // A reason beside the failing tests: those that do not fail were not all seen passing.
        let fixed = self.failing_before.checked_sub(failed).filter(|&fixed| fixed > 0 && verdict.reason().is_none());
        let counts = counts(kind, failed, fixed, passed);
        let reason = verdict.reason().map(|reason| format!(": {}", speech(reason))).unwrap_or_default();
        let time = human_duration(duration_ms);
        let line = format!("    tests: {}{counts}{reason}  ({time})", verdict.as_str());
        self.paint(verdict_tone(verdict), &line)
    }

    fn iteration_finished(&mut self, attempt: &Attempt) -> String {
        self.lacks_review = attempt.review.is_none();
        let result = match attempt.test_status {
            AttemptStatus::Passed => self.paint(Tone::Good, "✔ passed"),
            AttemptStatus::Failed if attempt.failed_tests.is_empty() => self.paint(Tone::Bad, refused(attempt)),
            AttemptStatus::Failed => {
                let failing = format!("✖ {} failing", u64_of(attempt.failed_tests.len()));
                self.paint(Tone::Bad, &failing)
            }
            AttemptStatus::Error => {
                let error = attempt.error_messages.first().map(|error| self.untold(error)).unwrap_or_default();
                let error = if error.is_empty() { String::new() } else { format!(": {}", speech(error)) };
                self.paint(Tone::Bad, &format!("✖ error{error}"))
            }
        };
        let time = human_duration(attempt.duration_ms);
        format!("  Iteration {}: {result}  |  {}  |  {time}", attempt.iteration, attempt.charge())
    }

    fn tier_finished(&self, tier_index: u32, exit: TierExit, reason: Option<&str>, iterations: u32) -> String {
        let who = match self.tier(tier_index) {
            Some((number, tier)) => format!("Tier {number} ({})", name(&tier.name)),
            None => format!("Tier {}", tier_index.saturating_add(1)),
        };
        let after = count(u64::from(iterations), "iteration");
        let because = reason.map(|reason| self.untold(reason)).filter(|reason| !reason.trim().is_empty());
        let because = because.map(|reason| format!(": {}", speech(reason))).unwrap_or_default();
        let end = (exit, self.lacks_review);
        let (tone, line) = phrases::tier_end(end, (&who, &after, iterations), reason, &because);
        self.paint(tone, &line)
    }

    fn failed_call(&mut self, receipt: &Receipt) -> Option<String> {
        if receipt.status == CallStatus::Ok {
            self.told.clear();
            self.waits = false;
            return None;
        }
        let role = plain::line(agents::who(receipt.scope.role, &receipt.scope.agent));
        let target = name(&receipt.target.to_string());
        let status = receipt.status.as_str().replace('_', " ");
        let error = receipt.error.clone().unwrap_or_default();
        if !error.is_empty() && std::mem::replace(&mut self.told, error.clone()) == error {
            return (!self.waits).then(|| format!("    {role}: call to {target} failed again ({status})"));
        }
        let why = if error.is_empty() { String::new() } else { format!(": {}", speech(&error)) };
        Some(format!("    {role}: call to {target} failed ({status}){why}"))
    }

    /// The part of a text before it repeats a vendor's error that was told with its advice just above. A model's own fault has no advice
    /// and is short, so such a text stays whole.
    fn untold<'t>(&self, text: &'t str) -> &'t str {
        let Some((error, _)) = self.told.split_once(ADVICE) else { return text };
        let error: String = error.split('\n').next().unwrap_or_default().trim().chars().take(MAX_REPEATED).collect();
        let before = (!error.is_empty()).then(|| text.find(&error)).flatten().and_then(|at| text.get(..at));
        before.map_or(text, |before| before.trim_end_matches([':', ' ']))
    }

    fn escalated(&mut self, to: u32, carried: u32) -> Vec<String> {
        self.carried = carried;
        let Some((number, tier)) = self.tier(to) else { return Vec::new() };
        let line = format!("◆ Escalating to Tier {number}: {}", headline(tier));
        vec![
            self.paint(Tone::Heading, &line),
            format!("  Carrying forward: {} of failure history", count(u64::from(carried), "iteration")),
        ]
    }

    /// `Tier 2 (sonnet), Tier 3 (opus)`.
    fn tiers_named(&self, tiers: &[u32]) -> String {
        let named = tiers.iter().filter_map(|index| self.tier(*index));
        named.map(|(number, tier)| format!("Tier {number} ({})", name(&tier.name))).collect::<Vec<_>>().join(", ")
    }

    fn tier(&self, tier_index: u32) -> Option<(u64, &Tier)> {
        let tier = self.tiers.get(usize::try_from(tier_index).ok()?)?;
        Some((u64::from(tier_index).saturating_add(1), tier))
    }

    fn paint(&self, tone: Tone, line: &str) -> String {
        self.style.paint(tone, line)
    }
}

#[cfg(test)]
mod tests;
