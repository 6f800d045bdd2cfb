//! Files that a killed run leaves in the tree: noted while the run goes on, and given up with the run.

use std::collections::BTreeMap;

use super::context::{Context, LifecycleError};
use super::meanwhile;
use super::recorder::Recorder;
use super::resume::{load, settle_lost};
use super::stage::Stage;
use super::state::Phase;
use super::yours;
use crate::audit::{Journal, LoadedRun};
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::clock::Clock;
use crate::domain::event::{Event, RunFinished};
use crate::domain::ladder::{Mode, Role};
use crate::domain::outcome::{DISCARDED, Outcome};
use crate::domain::stop::SIGKILL;
use crate::domain::units::TreeId;
use crate::workspace::LeftBehind;

/// The beginning of a target that is an agent of its own process.
const AGENTS: &str = "cli/";

/// When a person changed files that a killed run had changed, too.
pub const SINCE_THE_KILL: &str =
    "(or by a program of its own in its last moment) after the run was killed, beside edits of its own";

/// Notes from now on what is written into the tree. A run without an audit log is not known of once it is dead.
pub(super) fn note(context: &Context<'_>, recorder: &mut Recorder<'_>, start: &TreeId) {
    let Some(log) = context.charter.plan.audit.clone() else { return };
    if let Err(error) = context.world.workspace.note_writes(&context.charter.run_id, &log, start) {
        let message = format!(
            "what is written into the tree could not be recorded ({error}): if this run is killed, check the changed files before you run upshift here again"
        );
        recorder.warn(message);
    }
}

/// Parts the edits of a killed run that goes on from those of a person since. The run's are put back: it makes them anew. A file that holds
/// both is put back, too, and kept as it was. Other files that a person changed are the run's start from now on.
pub(super) async fn part(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    stage: Stage,
) -> Result<Stage, LifecycleError> {
    let climb = match &stage {
        Stage::Ready(climb) | Stage::Iterating(climb) => climb.as_ref(),
        Stage::Held(held) => &held.climb,
        Stage::Measuring(_) | Stage::Delivering(_) | Stage::Ending(_) => return Ok(stage),
    };
    let (workspace, run) = (&context.world.workspace, &context.charter.run_id);
    let Some(left) = workspace.left_behind().await?.filter(|left| left.writer.run == *run) else { return Ok(stage) };
    let LeftBehind { writer, written, meanwhile, mut mixed, mut later } = left;
    // Nobody noted what an agent wrote, so files that changed later may hold its edits as well as a person's.
    if had_agent_at_work(recorder.events()) {
        mixed.append(&mut later);
    }
    let by_products = &climb.measured.origin.by_products;
    let is_made = |file: &String| !by_products.contains(file);
    mixed.retain(is_made);
    if mixed.is_empty() && !later.iter().any(is_made) {
        // Models' edits are put back as the iteration begins. An experiment's stand in files of the tests, and would count as somebody's.
        let planted: Vec<String> =
            written.into_iter().filter(|file| !climb.trees.touched.contains(file.as_str())).collect();
        workspace.put_back_left(&writer, &planted, &[]).await?;
        return Ok(stage);
    }
    let back: Vec<String> = written.into_iter().chain(meanwhile.into_iter().filter(is_made)).collect();
    // First the run's own edits go: whatever differs then is a person's.
    workspace.put_back_left(&writer, &back, &mixed).await?;
    let taken = workspace.take_theirs();
    if !taken.put_back.is_empty() {
        recorder.warn(yours::kept(&context.world.keep, run, &taken.put_back, SINCE_THE_KILL));
    }
    meanwhile::take_in(context, recorder, stage).await
}

/// Whether an agent of its own process worked when a run was killed. It writes files that nobody notes, up to the moment of its own end, so
/// that they cannot be told from a person's.
#[must_use]
pub fn had_agent_at_work(events: &[Event]) -> bool {
    let is_agent = |target: &str| target.starts_with(AGENTS);
    let mut open: BTreeMap<&str, bool> = BTreeMap::new();
    for event in events {
        if let Event::SessionStarted { session_id, target, .. } = event {
            open.insert(session_id, is_agent(target));
        } else if let Event::SessionFinished { session_id, .. } = event {
            open.remove(session_id.as_str());
        } else if let Event::AgentSwitched(switch) = event {
            open.values_mut().for_each(|is_hosted| *is_hosted |= is_agent(&switch.to));
        } else if let Event::IterationFinished(_) = event {
            // A session whose end was lost with an earlier process is over with its iteration.
            open.clear();
        }
    }
    open.values().any(|is_hosted| *is_hosted)
}

/// Ends a killed run that a later one takes the place of: its calls are settled, the iteration under way gets its row, and nobody goes on
/// with it.
///
/// # Errors
/// When the log cannot be read.
pub fn discard(mut journal: Journal, run: &LoadedRun, clock: &dyn Clock) -> Result<Vec<String>, LifecycleError> {
    journal.remember(&run.events);
    // Before the row is made: what the lost calls may have cost belongs into it.
    settle_lost(&mut journal, &run.run_id, clock)?;
    let outcome = Outcome::Interrupted { signal: SIGKILL };
    // The state of another version stays as it is: the end stands in the events.
    let state = load(run).ok().and_then(|mut state| {
        state.phase = Phase::Ended { outcome: outcome.clone() };
        serde_json::to_string(&state).ok()
    });
    let finished = RunFinished {
        active_ms: load(run).map_or(0, |state| state.active_ms),
        ..RunFinished::bare(outcome, DISCARDED.to_owned(), clock.timestamp())
    };
    let row = row_of_the_killed(&journal, run, clock).map(Event::IterationFinished);
    let events: Vec<Event> = row.into_iter().chain([Event::RunFinished(finished)]).collect();
    journal.record(&events, state.as_deref());
    Ok(journal.close())
}

/// The row of the iteration that was under way, with what it cost. `None` where none was.
fn row_of_the_killed(journal: &Journal, run: &LoadedRun, clock: &dyn Clock) -> Option<Attempt> {
    let mut ladder = None;
    let mut under_way = None;
    for event in &run.events {
        if let Event::RunStarted(started) = event {
            ladder = Some(&started.tiers);
        } else if let Event::IterationStarted { tier_index, iteration, .. } = event {
            under_way = Some((*tier_index, *iteration));
        } else if let Event::IterationFinished(_) = event {
            under_way = None;
        }
    }
    let (tier_index, iteration) = under_way?;
    let tier = ladder?.get(usize::try_from(tier_index).ok()?)?;
    let charge = journal.store().charge(&run.run_id, Some((tier_index, iteration)));
    let full = tier.mode == Mode::Full;
    let planned = |role| tier.targets(role).first().map(ToString::to_string).unwrap_or_default();
    Some(Attempt {
        tier_index,
        tier_name: tier.name.clone(),
        tier_mode: tier.mode,
        model_artisan: planned(Role::Artisan),
        model_librarian: full.then(|| planned(Role::Librarian)),
        model_critic: full.then(|| planned(Role::Critic)),
        billed_artisan: None,
        billed_librarian: None,
        billed_critic: None,
        review: None,
        iteration,
        code_change_summary: "killed; its files were put back".to_owned(),
        test_status: AttemptStatus::Error,
        failed_tests: Vec::new(),
        error_messages: vec!["the process was killed while the iteration was under way".to_owned()],
        cost: charge.known,
        unknown_cost: charge.unknown,
        // Nobody saw how long it took.
        duration_ms: 0,
        timestamp: clock.timestamp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agents::AgentSwitch;

    fn started(target: &str) -> Event {
        let (session_id, target, agent) = ("s".to_owned(), target.to_owned(), String::new());
        Event::SessionStarted { role: Role::Artisan, session_id, target, agent }
    }

    #[test]
    fn an_agent_is_at_work_while_its_session_is_open() {
        let (from, to) = ("anthropic/m".to_owned(), "cli/codex".to_owned());
        let switch = AgentSwitch { role: Role::Artisan, from, to, reason: String::new(), until: None };
        assert!(had_agent_at_work(&[started("cli/claude")]));
        assert!(had_agent_at_work(&[started("anthropic/m"), Event::AgentSwitched(switch)]));
        assert!(!had_agent_at_work(&[started("anthropic/m"), Event::StateSaved]));
        let ended = Event::SessionFinished {
            role: Role::Artisan,
            session_id: "s".to_owned(),
            target: "cli/claude".to_owned(),
            turns: 1,
            result: "done".to_owned(),
            summary: String::new(),
            blocked_on: Vec::new(),
            exit: String::new(),
        };
        assert!(!had_agent_at_work(&[started("cli/claude"), ended]));
    }
}
