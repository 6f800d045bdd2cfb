//! The files that configuration is read from: those of the checkout, or of a commit where the change that is looked at could have written
//! them.

use std::path::Path;

use super::Failure;
use super::base::Base;
use super::committed_files::Committed;
use super::environment::{Environment, from_here};
use crate::config::{FileContent, NamedFile, Setting, Sources};
use crate::domain::ci::CiContext;
use crate::domain::outcome::EXIT_REFUSED;
use crate::lifecycle::gate;

/// The largest configuration file that is read.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// Where configuration files are read.
pub(super) enum Files<'a> {
    /// In the checkout.
    Checkout(&'a Path),
    /// At the base of the pull request.
    Base(Box<Base>),
    /// In a commit of this clone: the base of a change that is judged.
    Commit(Committed),
    /// Nowhere: whoever sends a pull request may have written those of the checkout.
    Nowhere,
}

impl<'a> Files<'a> {
    /// The files for an event. `base` is that of a change that is judged: it could have altered the caps and the sandbox in the checkout.
    ///
    /// # Errors
    /// The base of a pull request cannot be read (exit 6).
    pub(super) fn of(
        context: Option<&CiContext>,
        environment: &Environment,
        (checkout, base): (&'a Path, Option<Committed>),
    ) -> anyhow::Result<Self> {
        // The checkout holds the head of a pull request, which could lift its own caps.
        let Some(context) = context.filter(|context| gate::distrusts_checkout(Some(context))) else {
            return Ok(base.map_or(Self::Checkout(checkout), Self::Commit));
        };
        match Base::open(context, environment, checkout)? {
            None => Ok(Self::Nowhere),
            Some(Ok(base)) => Ok(Self::Base(Box::new(base))),
            // Going on without the file would go on without its caps.
            Some(Err(error)) => Err(unreadable(&error.to_string())),
        }
    }

    /// A file, by its path from the folder that upshift was started in.
    pub(super) fn read(&self, path: &str) -> NamedFile {
        let content = match self {
            Self::Checkout(checkout) => read_file(checkout, path),
            Self::Base(base) => base.read(path),
            Self::Commit(commit) => commit.read(path),
            Self::Nowhere => FileContent::Missing,
        };
        NamedFile { path: path.to_owned(), content }
    }

    /// The message about a configuration file that does not come from the checkout, or about one that stays unread. `None` where there is
    /// nothing to say. A file that the base does not have counts as none, also where it is named.
    ///
    /// # Errors
    /// The base cannot be read (exit 6).
    pub(super) fn told(&self, sources: &mut Sources, checkout: &Path) -> anyhow::Result<Option<String>> {
        let Some(NamedFile { path, content }) = sources.config_file.clone() else { return Ok(None) };
        // Only compared, never used: a message is due where the two differ.
        let theirs = read_file(checkout, &path);
        let place = match self {
            Self::Checkout(_) => return Ok(None),
            Self::Base(base) => base.place(),
            Self::Commit(commit) => commit.place(),
            Self::Nowhere => "its base commit, which cannot be read without a token".to_owned(),
        };
        if let (FileContent::Unreadable(why), Self::Commit(_)) = (&content, self) {
            return Err(Failure::with_code(
                EXIT_REFUSED,
                format!(
                    "✖ Refused: {path} cannot be read from {place}: {why}\n→ Fix: name the configuration with --config"
                ),
            ));
        }
        if let FileContent::Unreadable(why) = &content {
            return Err(unreadable(&format!("{path}, {place}: {why}")));
        }
        let is_missing = content == FileContent::Missing;
        if is_missing {
            // A missing file that is named is an error elsewhere. At the base it only says that nothing is configured.
            sources.config_file = None;
        }
        let named = sources.setting(Setting::Config).is_some();
        if named && is_missing && theirs == FileContent::Missing {
            // Its caps and its protected files were meant to hold.
            return Err(Failure::usage(format!(
                "the configuration {path} is neither in the checkout nor in {place}\n→ Fix: correct its path (`config`)\nNo LLM calls were \
                 made."
            )));
        }
        let is_silent = theirs == content || (theirs == FileContent::Missing && !named);
        Ok((!is_silent || (named && is_missing)).then(|| {
            if let Self::Commit(_) = self {
                let instead = if is_missing { "has none" } else { "has another" };
                return format!("{path} of the files is not read: the change could have written it, and {place} {instead}; --config {path} reads it");
            }
            if is_missing {
                format!("{path} was not read: in a pull request it is read from {place}, and is not there")
            } else {
                format!("{path} is read from {place}: the pull request could have changed the one in the checkout")
            }
        }))
    }
}

fn unreadable(why: &str) -> anyhow::Error {
    let why = format!("✖ Refused: the configuration cannot be read from the base commit of the pull request: {why}");
    Failure::with_code(EXIT_REFUSED, why)
}

fn read_file(checkout: &Path, path: &str) -> FileContent {
    let file = from_here(checkout, path);
    // The size is asked first, so that a huge file is never read whole.
    match std::fs::metadata(&file) {
        // A missing file is no error: every part of the configuration has a default.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileContent::Missing,
        Err(error) => FileContent::Unreadable(error.to_string()),
        Ok(meta) if meta.len() > MAX_CONFIG_BYTES => {
            FileContent::Unreadable(format!("it has {} bytes, more than {MAX_CONFIG_BYTES}", meta.len()))
        }
        Ok(_) => match std::fs::read_to_string(&file) {
            Ok(text) => FileContent::Text(text),
            Err(error) => FileContent::Unreadable(error.to_string()),
        },
    }
}
