//! The sessions of a run: who spoke in which iteration, and how each ended.

use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::receipt::agent_path;
use crate::domain::session_exit::SessionExit;

/// A session of a role or of an agent beside the roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The path of who spoke: `tier-1/iteration-2/critic`.
    pub agent_path: String,
    /// Its id.
    pub session_id: String,
    /// The target that answered last, else the first one.
    pub target: String,
    /// Turns taken. `None` while it is under way, and where the log does not tell its end.
    pub turns: Option<u32>,
    /// Its end: `done`, `blocked`, `approve`, …, or the reason of a synthetic report. Empty where `turns` is `None`.
    pub result: String,
    /// Its exit code (S1-15). Empty while it is under way.
    pub exit: String,
}

/// The sessions that were heard of so far.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: Vec<SessionView>,
    place: (u32, u32),
}

impl Sessions {
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events begin or end a session")]
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            // A new process: the sessions that are open died with the one before.
            Event::InvocationStarted { .. } => self.close(None),
            Event::IterationStarted { tier_index, iteration, .. } => self.place = (*tier_index, *iteration),
            Event::SessionStarted { role, session_id, target, agent } => self.all.push(SessionView {
                tier_index: self.place.0,
                iteration: self.place.1,
                agent_path: agent_path(self.place, *role, agent),
                session_id: session_id.clone(),
                target: target.clone(),
                turns: None,
                result: String::new(),
                exit: String::new(),
            }),
            Event::SessionFinished { session_id, target, turns, result, exit, .. } => {
                // From the last one back: an end belongs to the latest beginning of its id.
                let begun = self.all.iter_mut().rev().find(|session| session.session_id == *session_id);
                if let Some(session) = begun {
                    session.target.clone_from(target);
                    session.result.clone_from(result);
                    session.exit.clone_from(exit);
                    session.turns = Some(*turns);
                }
            }
            Event::RunFinished(finished) => self.close(Some(&finished.outcome)),
            _ => {}
        }
    }

    /// Ends the sessions that are left open.
    fn close(&mut self, outcome: Option<&Outcome>) {
        for session in self.all.iter_mut().filter(|session| session.turns.is_none() && session.exit.is_empty()) {
            SessionExit::of_open(outcome).as_str().clone_into(&mut session.exit);
        }
    }

    /// All of them, in the order begun. Those of a process that died have ended with it.
    pub(super) fn finish(mut self, has_died: bool) -> Vec<SessionView> {
        if has_died {
            self.close(None);
        }
        self.all
    }
}
