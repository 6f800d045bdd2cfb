//! A configuration text that was read: the tiers text or the configuration file, with its faults.

use super::error::{Faults, SourceErrors};
use super::file::ConfigFile;
use super::node::Node;
use super::plan::Origin;
use super::read::{Place, Readable};
use super::reference::paths_ending_in;
use super::sources::FileContent;

/// The kind of the text, which decides how its faults are headed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The text that `tiers` names or holds: the seeds' file.
    Tiers,
    /// The configuration file.
    Configuration,
}

impl Kind {
    /// The seeds' word for their file (S0-23), and ours for our own.
    const fn heading(self) -> &'static str {
        match self {
            Self::Tiers => "Tier config",
            Self::Configuration => "Configuration",
        }
    }
}

/// A text and what was read from it.
#[derive(Debug)]
pub(super) struct Document {
    kind: Kind,
    label: String,
    /// Its settings. All are absent when it could not be read.
    pub(super) file: ConfigFile,
    /// The faults of single values.
    pub(super) faults: Faults,
    /// Why nothing could be read from it, and how to mend that.
    broken: Option<(String, String)>,
}

impl Document {
    /// Reads a text under the name people know it by.
    pub(super) fn read(kind: Kind, label: &str, content: &FileContent) -> Self {
        let mut document = Self {
            kind,
            label: label.to_owned(),
            file: ConfigFile::default(),
            faults: Faults::knowing(paths_ending_in),
            broken: None,
        };
        match content {
            FileContent::Text(text) => document.read_text(text),
            FileContent::Missing => {
                let fix = match kind {
                    Kind::Tiers => {
                        "Check the path, or give the ladder itself: `tiers` takes the file's text or a shorthand such as \
                         `claude-haiku-5-5 x5 > claude-sonnet-5-5 x3`."
                    }
                    Kind::Configuration => "Check the path, or leave it out: the defaults need no file.",
                };
                document.broken = Some((format!("{} not found: {label}", kind.heading()), fix.to_owned()));
            }
            FileContent::Unreadable(why) => {
                let what = format!("{} cannot be read: {label}: {why}", kind.heading());
                document.broken = Some((what, "Make it a readable UTF-8 text file.".to_owned()));
            }
        }
        document
    }

    fn read_text(&mut self, text: &str) {
        match Node::parse(text) {
            // An empty file is a configuration that says nothing.
            Ok(Node::Null) => {}
            Ok(node) => {
                // The faults are noted, and values that could not be read count as absent.
                self.file = ConfigFile::read(&Place::new(&node, "", &self.faults)).unwrap_or_default();
            }
            Err(why) => {
                // YAML's own message about a tab names a token, which helps nobody.
                let tabs = text.lines().any(|line| line.trim_start_matches(' ').starts_with('\t'));
                let fix = if tabs {
                    "Indent with spaces: YAML allows no tabs."
                } else {
                    "Write valid YAML or JSON; `upshift init` writes a file to start from."
                };
                let what = format!("{} parse error in {}: {why}", self.kind.heading(), self.label);
                self.broken = Some((what, fix.to_owned()));
            }
        }
    }

    /// Whether it may say more than what could be read: then nothing follows from what is absent.
    pub(super) fn is_incomplete(&self) -> bool {
        self.broken.is_some() || !self.faults.is_empty()
    }

    /// The origin of its values.
    pub(super) fn origin(&self) -> Origin {
        match self.kind {
            Kind::Tiers => Origin::Tiers(self.label.clone()),
            Kind::Configuration => Origin::File(self.label.clone()),
        }
    }

    /// Its name.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Its faults under their heading, if it has any.
    pub(super) fn into_errors(self) -> Option<SourceErrors> {
        if let Some((heading, fix)) = self.broken {
            return Some(SourceErrors { heading, problems: Vec::new(), fix: Some(fix) });
        }
        let heading = format!("{} invalid: {}", self.kind.heading(), self.label);
        SourceErrors::of(heading, self.faults)
    }
}
