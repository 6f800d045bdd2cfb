//! The means of a run to reach beyond its machine: the git remote and the forge's API.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::domain::stop::Stop;
use crate::github::GitHub;
use crate::policy::attempts::Wish;
use crate::workspace::publish::{Author, Remote};

/// The outside, as far as credentials let us in.
#[derive(Debug)]
pub struct Outside {
    /// The git remote.
    pub remote: Remote,
    /// The API. `None` where there is no token for it.
    pub github: Option<GitHub>,
    /// The API with the job's own token, where another one was given: that one may end before the job does.
    pub fallback: Option<GitHub>,
    /// The API as whoever pushes, for commits that are made through it. `None` where there is no token for it.
    pub committer: Option<GitHub>,
    /// The caller's environment, of which git gets a few names.
    pub environment: BTreeMap<OsString, OsString>,
    /// Our own workflow run, whose checks do not count.
    pub own_run: Option<u64>,
    /// The files of our own workflows, whose runs do not count either.
    pub own_workflows: Vec<String>,
    /// The evidence for earlier runs, and whether a person started this one.
    pub counting: Counting,
    /// Raised by signals alone: what is delivered when the active time is up is still delivered.
    pub signals: Stop,
}

/// How runs for one failure are counted where there is no pull request to count for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// Not at all: nobody keeps the logs, or nothing repeats by itself.
    Off,
    /// By the logs that are kept as artifacts.
    ByLogs {
        /// The origin of the wish for the run.
        wish: Wish,
        /// The default branch, whose workflow's artifacts alone are believed.
        default_branch: Option<String>,
    },
}

/// The author of commits when nothing names another: the account of a workflow's own token.
#[must_use]
pub fn default_author() -> Author {
    Author {
        name: "github-actions[bot]".to_owned(),
        // The address by which GitHub links a commit to that account.
        email: "41898282+github-actions[bot]@users.noreply.github.com".to_owned(),
    }
}

/// Reads `Name <address>`.
#[must_use]
pub fn author(text: &str) -> Option<Author> {
    let (name, rest) = text.split_once('<')?;
    let (name, email) = (name.trim(), rest.trim().strip_suffix('>')?.trim());
    // In a commit object the author ends at these: one within a name would forge the rest of the line, or a header.
    let odd = |c: char| c.is_control() || matches!(c, '<' | '>');
    let good = |part: &str| !part.is_empty() && !part.contains(odd);
    (good(name) && good(email)).then(|| Author { name: name.to_owned(), email: email.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_a_name_and_an_address() {
        let read = author("Ada L. <ada@example.invalid>").expect("an author");
        assert_eq!((read.name.as_str(), read.email.as_str()), ("Ada L.", "ada@example.invalid"));
        for odd in ["Ada", "<a@b>", "Ada <>", "Ada <a@b> x", "A\nb <a@b>", "A <a<b>"] {
            assert_eq!(author(odd), None, "{odd}");
        }
    }
}
