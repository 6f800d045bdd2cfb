//! The trees that a run builds on, on their way into its log: so that the run can go on where nothing else of it is.
//!
//! Invariant: what cannot be written there is said once, and changes nothing for the run here. Later trees are told by the start alone:
//! without it there are none.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::state::{Phase, RunState};
use crate::audit::Journal;
use crate::domain::event::Event;
use crate::domain::tree_patch::{MAX_RUN_BYTES, RecordedTree};
use crate::domain::units::{CommitSha, RunId, TreeId};
use crate::workspace::{BaseTree, Revisions, Unportable, Workspace, too_many_bytes};

/// The part of a run's trees that is in its log.
#[derive(Debug, Default)]
pub(super) struct Portable {
    /// The trees that are.
    recorded: BTreeSet<TreeId>,
    /// The trees that are not, which is said.
    withheld: BTreeSet<TreeId>,
    /// How many bytes each of their contents has.
    contents: BTreeMap<String, u64>,
    /// The base that the start is told by. `None` before the baseline, and where the folder is the top of no repository.
    base: Option<BaseTree>,
    /// Whether there is a log that another machine could read.
    wanted: bool,
}

impl Portable {
    /// The part that a log tells of.
    pub(super) fn of(journal: &Journal, run: &RunId) -> Self {
        let mut portable = Self { wanted: journal.store().live_path().is_some(), ..Self::default() };
        for event in journal.events() {
            if let Event::TreeRecorded { tree, withheld } = event {
                let names = if withheld.is_some() { &mut portable.withheld } else { &mut portable.recorded };
                names.insert(tree.clone());
            }
        }
        portable.contents = journal.store().tree_contents(run).unwrap_or_default();
        portable
    }

    /// Looks at the commit that the start is told by. `revision` names it.
    pub(super) async fn look(&mut self, context: &Context<'_>, revision: &str) -> Option<CommitSha> {
        if !self.wanted {
            return None;
        }
        let (world, top) = (&context.world, context.world.workspace.root());
        let found = match Revisions::open(top, world.environment, &world.stop).await {
            Ok(revisions) => revisions.base(revision).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(base) => self.base = Some(base),
            // The run here does not need it, so nobody is warned.
            Err(error) => tracing::info!("the run can be continued only here: {error}"),
        }
        self.base.as_ref().map(|base| base.commit.clone())
    }

    /// The trees of a state that are not in the log yet, and what is to be said of those that do not get there.
    pub(super) fn take(&mut self, workspace: &Workspace, state: &RunState) -> (Vec<RecordedTree>, Vec<Event>) {
        let (mut trees, mut events) = (Vec::new(), Vec::new());
        let Some(start) = state.start.as_ref().filter(|_| self.wanted && state.phase != Phase::Baseline) else {
            return (trees, events);
        };
        // The start comes first: all others are told as patches over it.
        let names = std::iter::once(start).chain(state.trees().into_iter().filter(|tree| *tree != start));
        for name in names {
            if self.recorded.contains(name) || self.withheld.contains(name) {
                continue;
            }
            let made = if name == start {
                let Some(base) = &self.base else { break };
                workspace.patch_over_commit(base, name)
            } else if self.recorded.contains(start) {
                workspace.patch_over_tree(start, name)
            } else {
                break;
            };
            match made.and_then(|tree| self.within_the_cap(tree)) {
                Ok(tree) => {
                    self.recorded.insert(name.clone());
                    trees.push(tree);
                }
                Err(why) => {
                    // Remembered, or it would be tried and complained of again at each record.
                    self.withheld.insert(name.clone());
                    events.push(Event::TreeRecorded { tree: name.clone(), withheld: Some(why.to_string()) });
                }
            }
        }
        (trees, events)
    }

    /// A tree without the contents that the log has, where the rest is not too much for one run.
    fn within_the_cap(&mut self, mut tree: RecordedTree) -> Result<RecordedTree, Unportable> {
        // The trees of a run share most of their files: each content is written once.
        tree.contents.retain(|name, _| !self.contents.contains_key(name));
        let size = |bytes: &Vec<u8>| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let new: u64 = tree.contents.values().map(size).sum();
        let before: u64 = self.contents.values().sum();
        if before.saturating_add(new) > MAX_RUN_BYTES {
            return Err(Unportable::TooMuch(too_many_bytes()));
        }
        self.contents.extend(tree.contents.iter().map(|(name, bytes)| (name.clone(), size(bytes))));
        Ok(tree)
    }
}
