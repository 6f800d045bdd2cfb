//! The list of a backlog whose task a run works on: it is a person's for all that time, and no state of the run's has it otherwise than it
//! was at the start.
//!
//! Invariant: code under test changes nothing of it. A text is trusted that upshift itself wrote, or that came while no program of ours ran;
//! any other is put back to the trusted one before it is looked at, and is kept for a person.

use std::path::Path;

use super::rel_path::RelPath;
use super::theirs::Taken;
use super::{Workspace, WorkspaceError};

/// The name in the private folder under which the list stands as it is trusted.
pub const LIST: &str = "list";

impl Workspace {
    /// The files that somebody else changed since the last time that this was asked, and that the run put back or took into its change.
    #[must_use]
    pub fn take_theirs(&self) -> Taken {
        self.states.theirs().take()
    }

    /// From now on whatever somebody may have written is kept before it is put back, also where tests may have: in a proof they run nearly
    /// all the time. Whether that is new: where a whole judgement is minded so, its end ends it.
    #[must_use]
    pub fn mind_all(&self) -> bool {
        self.states.theirs().take_all()
    }

    /// Ends [`Self::mind_all`].
    pub fn mind_less(&self) {
        self.states.theirs().take_no_more();
    }

    /// Leaves a file alone that is the list of a backlog.
    pub fn spare_list(&self, path: &Path) {
        if let Ok(path) = RelPath::from_path(path) {
            self.states.frozen().set(path);
        }
    }

    /// Puts the list back where a program of ours may have written it. Returns its path then.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn mind_list(&self) -> Result<Option<String>, WorkspaceError> {
        let Some(path) = self.states.frozen().path() else { return Ok(None) };
        let store = self.states.store();
        let unreadable = |source| WorkspaceError::Store { path: LIST.into(), source };
        let Some(trusted) = store.kept(LIST).map_err(unreadable)? else { return Ok(None) };
        let here = self.root.stat(&path)?.map(|_| self.root.read(&path)).transpose();
        // One that cannot be read, or is a link by now, is as one that is gone.
        let here = here.unwrap_or(None);
        if here.as_ref() == Some(&trusted) {
            return Ok(None);
        }
        let (theirs, written) = (self.states.theirs(), self.states.written());
        // A person wrote it while none of our programs ran: from now on this text is the trusted one.
        if let (Some(here), Some(_)) = (&here, theirs.look(&self.root, &path, written)) {
            store.keep(LIST, here).map_err(unreadable)?;
            return Ok(None);
        }
        // Kept before it is overwritten, as it may be a person's after all.
        theirs.doubt(&path);
        match here {
            Some(here) => theirs.add(&path, here, store),
            None => theirs.add_deleted(&path),
        }
        self.root.clear_way(&path)?;
        let permissions = self.root.stat(&path)?.map(|stat| stat.permissions);
        self.root.write(&path, &trusted, permissions)?;
        Ok(Some(path.to_string()))
    }
}
