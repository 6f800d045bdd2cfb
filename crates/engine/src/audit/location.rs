//! Where a log lives: where its owner wants it, and where it is written.
//!
//! Programs that run inside a checkout may write there, and Landlock has no deny rule (DESIGN §5). So a log that is wanted inside is
//! written outside, and copies are published to the wanted place.

use std::path::{Path, PathBuf};

use super::batch::digest;
use crate::files;

/// Hexadecimal characters of the hash that names a log's folder: 64 bits, no collisions among one user's checkouts.
const KEY_CHARS: usize = 16;

/// The place of one audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// As its owner named it: for reports.
    pub shown: PathBuf,
    /// Where it is written.
    pub live: PathBuf,
    /// Where copies are put, when that is not where it is written.
    pub(super) published: Option<Published>,
    /// The place beside which writes wait that neither it nor a place beside it takes: as a rule on another disk.
    pub(super) refuge: Option<PathBuf>,
}

/// A place inside a checkout. It is reached folder by folder, never through a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Published {
    /// The checkout.
    pub(super) root: PathBuf,
    /// The file in it, by plain names only.
    pub(super) relative: PathBuf,
}

impl Published {
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }
}

/// Decides where a log is written: outside the checkout, always (DESIGN §2.4).
///
/// A relative `configured` is relative to `checkout`. Inside the checkout, by name or through links, it is written
/// under `state_home` in a folder that its canonical path decides, so that later invocations find it again.
#[must_use]
pub fn locate(configured: &Path, checkout: &Path, state_home: &Path) -> Location {
    let named = files::lexical(&checkout.join(configured));
    let root = files::settled(checkout);
    let real = files::settled(&named);
    // By name and through links, as either way a program in the checkout could write there.
    let relative = [(&named, files::lexical(checkout)), (&named, root.clone()), (&real, root.clone())]
        .into_iter()
        .find_map(|(path, base)| path.strip_prefix(base).ok().map(Path::to_owned));
    match relative {
        Some(relative) if relative.file_name().is_some() => Location {
            shown: configured.to_owned(),
            live: place_of(&root.join(&relative), state_home),
            published: Some(Published { root, relative }),
            refuge: None,
        },
        _ => {
            // A log in the state home would have its second place on the same disk.
            let refuge = (!real.starts_with(state_home)).then(|| place_of(&real, state_home));
            Location { shown: configured.to_owned(), live: real, published: None, refuge }
        }
    }
}

/// The place in the state home of what belongs to a log that is named elsewhere.
fn place_of(named: &Path, state_home: &Path) -> PathBuf {
    let key = digest(&named.to_string_lossy());
    let folder = key.get(..KEY_CHARS).unwrap_or(&key);
    state_home.join("audit").join(folder).join("audit.db")
}

impl Location {
    /// The place that its owner named, where a copy or the log itself is.
    #[must_use]
    pub fn named(&self) -> PathBuf {
        self.published.as_ref().map_or_else(|| self.live.clone(), Published::path)
    }

    /// A log at a plain place outside any checkout.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        Self { shown: path.to_owned(), live: path.to_owned(), published: None, refuge: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_inside_the_checkout_is_written_outside() {
        let home = tempfile::tempdir().unwrap();
        let checkout = home.path().join("checkout");
        std::fs::create_dir(&checkout).unwrap();
        let state = home.path().join("state");
        let inside = locate(Path::new(".upshift/audit.db"), &checkout, &state);
        assert!(inside.live.starts_with(&state), "{inside:?}");
        assert_eq!(inside.shown, Path::new(".upshift/audit.db"));
        let again = locate(&checkout.join("x/../.upshift/./audit.db"), &checkout, &state);
        assert_eq!(again.live, inside.live, "one place, however it is spelled");
        assert_ne!(locate(Path::new("other.db"), &checkout, &state).live, inside.live);
        let outside = home.path().join("logs/audit.db");
        assert_eq!(
            locate(&outside, &checkout, &state).live,
            outside.parent().unwrap().parent().unwrap().canonicalize().unwrap().join("logs/audit.db")
        );
        assert_eq!(locate(&outside, &checkout, &state).published, None);
    }

    #[test]
    fn links_do_not_lead_a_log_into_the_checkout_or_out_of_it() {
        let home = tempfile::tempdir().unwrap();
        let checkout = home.path().join("checkout");
        let elsewhere = home.path().join("elsewhere");
        std::fs::create_dir(&checkout).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        let state = home.path().join("state");
        std::os::unix::fs::symlink(&elsewhere, checkout.join("out")).unwrap();
        std::os::unix::fs::symlink(&checkout, home.path().join("in")).unwrap();
        assert!(locate(Path::new("out/audit.db"), &checkout, &state).live.starts_with(&state));
        assert!(locate(&home.path().join("in/audit.db"), &checkout, &state).live.starts_with(&state));
    }
}
