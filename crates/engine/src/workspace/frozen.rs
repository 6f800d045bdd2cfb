//! A file that is in every recorded state as it is in the first one, and is put back by none: it is nobody's but a person's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rel_path::RelPath;
use super::store::{Entry, Manifest};

/// The file, if there is one. Inside, `None` before the first state, and `None` there where it is not in that.
#[derive(Debug, Default)]
pub(super) struct Frozen(Mutex<Option<(RelPath, Option<Option<Entry>>)>>);

impl Frozen {
    fn file(&self) -> MutexGuard<'_, Option<(RelPath, Option<Option<Entry>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, path: RelPath) {
        *self.file() = Some((path, None));
    }

    pub(super) fn path(&self) -> Option<RelPath> {
        self.file().as_ref().map(|(path, _)| path.clone())
    }

    pub(super) fn is(&self, path: &RelPath) -> bool {
        self.file().as_ref().is_some_and(|(frozen, _)| frozen == path)
    }

    /// Makes it in a state what it is in the first.
    pub(super) fn hold(&self, state: &mut Manifest) {
        let mut file = self.file();
        let Some((path, first)) = file.as_mut() else { return };
        match *first.get_or_insert_with(|| state.get(path).copied()) {
            Some(entry) => drop(state.insert(path.clone(), entry)),
            None => drop(state.remove(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workspace::store::{Digest, Form};

    #[test]
    fn a_frozen_file_is_in_every_state_as_in_the_first() {
        let path = |name: &str| RelPath::from_path(Path::new(name)).unwrap();
        let entry = |text: &[u8]| Entry { form: Form::File, permissions: 0o644, content: Digest::of(text) };
        let frozen = Frozen::default();
        frozen.set(path("list"));
        let first = Manifest::from([(path("list"), entry(b"1")), (path("other"), entry(b"1"))]);
        for text in [b"1", b"2"] {
            let mut state = Manifest::from([(path("list"), entry(text)), (path("other"), entry(b"1"))]);
            frozen.hold(&mut state);
            assert_eq!(state, first);
        }
        let mut gone = Manifest::from([(path("other"), entry(b"1"))]);
        frozen.hold(&mut gone);
        assert_eq!(gone, first);
        // One that was not there at first is in none.
        frozen.set(path("late"));
        frozen.hold(&mut gone);
        gone.insert(path("late"), entry(b"1"));
        frozen.hold(&mut gone);
        assert_eq!(gone, first);
    }
}
