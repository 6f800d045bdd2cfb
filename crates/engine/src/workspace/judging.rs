//! A person's files while a change is judged among them: put back afterwards, and by the next start where a process was killed.
//!
//! Invariant: what somebody else wrote into them meanwhile, or after a kill, is not lost without a word. A file that was written anew with
//! run after run of the tests counts as theirs.

use std::path::{Path, PathBuf};

use super::left_behind::compare;
use super::revisions::JUDGED_AT;
use super::store::Store;
use super::theirs::Taken;
use super::written::{OF_JUDGEMENT, Writer};
use super::{Workspace, WorkspaceError};
use crate::domain::units::{RunId, TreeId};

/// The name under which the state of a person's files is kept.
const WAY_BACK: &str = "way-back";

/// The end of a judgement that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// None was killed.
    Nothing,
    /// A merge was: it alone knows what it had committed.
    OfMerge,
    /// The files are back.
    Files {
        /// How many were put back.
        count: usize,
        /// What somebody else had written into some of them.
        taken: Taken,
        /// Others that were changed after the kill, and stay.
        later: Vec<String>,
    },
}

impl Workspace {
    /// Keeps in mind which state a person's files have, before others take their place: a killed process leaves the way back.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn keep_way_back(&self, tree: &TreeId) -> Result<(), WorkspaceError> {
        let kept = self.states.store().keep(WAY_BACK, tree.0.as_bytes());
        kept.map_err(|source| WorkspaceError::Store { path: PathBuf::from(WAY_BACK), source })
    }

    /// Whether a process was killed before it put a person's files back.
    ///
    /// # Errors
    /// When the private folder cannot be read.
    pub(super) fn has_way_back(&self) -> Result<bool, WorkspaceError> {
        Ok(self.way_back()?.is_some())
    }

    fn way_back(&self) -> Result<Option<TreeId>, WorkspaceError> {
        let kept = self.states.store().kept(WAY_BACK);
        let kept = kept.map_err(|source| WorkspaceError::Store { path: PathBuf::from(WAY_BACK), source })?;
        Ok(kept.and_then(|bytes| String::from_utf8(bytes).ok()).map(TreeId))
    }

    /// Puts a person's files back where a process was killed before it did. Returns whether it had to.
    ///
    /// # Errors
    /// When they cannot be put back.
    pub async fn go_back(&self) -> Result<bool, WorkspaceError> {
        let Some(tree) = self.way_back()? else { return Ok(false) };
        self.restore(&tree).await?;
        // Only when all files are back.
        self.states.store().drop_kept(WAY_BACK);
        self.states.store().drop_kept(JUDGED_AT);
        Ok(true)
    }

    /// Begins to judge among a person's files: a killed process leaves the way back, and whatever others write meanwhile is kept.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn begin_judging(&self, run: &RunId, mine: &TreeId) -> Result<(), WorkspaceError> {
        // Under a name of its own: the note of a killed run says what is whose in its files, and is needed again when this is over.
        self.states.written().judge();
        let noted = self.note_writes(run, "", mine);
        noted.map_err(|source| WorkspaceError::Store { path: OF_JUDGEMENT.into(), source })?;
        self.states.theirs().take_all();
        // Last of the notes: from here on the next start puts back.
        self.keep_way_back(mine)
    }

    /// Puts a person's files back. Returns what somebody else had written into some of them.
    ///
    /// # Errors
    /// When they cannot be put back.
    pub async fn end_judging(&self) -> Result<Taken, WorkspaceError> {
        self.go_back().await?;
        self.forget_writes();
        Ok(self.states.theirs().take_judged())
    }

    /// Puts a person's files back where a process was killed while it judged. What was changed after the kill stays.
    ///
    /// # Errors
    /// When they cannot be put back.
    pub async fn undo_judging(&self) -> Result<Undone, WorkspaceError> {
        let Some(start) = self.way_back()? else { return Ok(Undone::Nothing) };
        let store = self.states.store();
        let failed = |source| WorkspaceError::Store { path: WAY_BACK.into(), source };
        if store.kept(JUDGED_AT).map_err(failed)?.is_some() {
            return Ok(Undone::OfMerge);
        }
        let left = compare(&self.states, &self.root, OF_JUDGEMENT)?.filter(|left| left.writer.start == start);
        let (writer, mut ours, others, mut later) = match left {
            Some(left) => {
                // Tests write, too, while a change is judged: nobody can part their files from a person's.
                let others = [left.meanwhile, left.mixed].concat();
                (left.writer, left.written, others, left.later)
            }
            // Nothing says which are whose: all of them are kept before they are put back.
            None => {
                let others = self.changed_since(&start).await?;
                (
                    Writer { run: RunId::random(), log: String::new(), start, open: Vec::new() },
                    Vec::new(),
                    others,
                    Vec::new(),
                )
            }
        };
        // A folder that was renamed shows no time at which its files went. Nothing is lost where they come back.
        let gone: Vec<String> = later.extract_if(.., |file| !self.is_there(file)).collect();
        ours.extend(gone);
        self.put_back_left(&writer, &ours, &others).await?;
        store.drop_kept(WAY_BACK);
        store.drop_kept(OF_JUDGEMENT);
        Ok(Undone::Files { count: ours.len() + others.len(), taken: self.take_theirs(), later })
    }

    fn is_there(&self, file: &str) -> bool {
        self.root.path().join(file).symlink_metadata().is_ok()
    }
}

/// Whether a judgement was killed and its files were not put back. It takes no lock and writes nothing.
#[must_use]
pub fn is_judging_left(shadow: &Path) -> bool {
    let Some(store) = Store::peek(shadow) else { return false };
    let is_kept = |name| store.kept(name).is_ok_and(|kept| kept.is_some());
    is_kept(WAY_BACK) && !is_kept(JUDGED_AT)
}
