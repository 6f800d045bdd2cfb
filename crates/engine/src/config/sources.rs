//! The sources of configuration: flags, environment, files, all as data.
//!
//! Owns the names of the settings and which of flag and environment wins. Invariant: reads nothing itself, since `cli` hands everything in.

use std::collections::BTreeMap;

use crate::domain::catalogue::ModelInfo;
use crate::domain::finding::DEFAULT_CONFIG_PATH;
use crate::domain::model_id::{BUILT_IN_PROVIDERS, ModelId};

use super::node::Node;
use super::plan::{Origin, Push, WaitFor, Wire};

macro_rules! settings {
    ($($variant:ident $flag:literal $env:literal $doc:literal,)+) => {
        /// One setting that a flag or an `UPSHIFT_*` variable may give. Both have the same kebab-case name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Setting {
            $(#[doc = $doc] $variant,)+
        }

        impl Setting {
            /// Every setting, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The flag with its dashes, e.g. `--max-cost-usd`.
            #[must_use]
            pub const fn flag(self) -> &'static str {
                match self { $(Self::$variant => $flag,)+ }
            }

            /// The variable, e.g. `UPSHIFT_MAX_COST_USD`.
            #[must_use]
            pub const fn env(self) -> &'static str {
                match self { $(Self::$variant => $env,)+ }
            }
        }
    };
}

settings! {
    Config "--config" "UPSHIFT_CONFIG" "The configuration file.",
    Tiers "--tiers" "UPSHIFT_TIERS" "The ladder: a path, the file's text, or a shorthand.",
    Model "--model" "UPSHIFT_MODEL" "One model for the two-mode path: simple x5, then full x10.",
    TestCommand "--test-command" "UPSHIFT_TEST_COMMAND" "The command that runs the tests.",
    AlsoRun "--also-run" "UPSHIFT_ALSO_RUN" "A second command that has to succeed beside the tests; reports call it `task`.",
    SetupCommand "--setup-command" "UPSHIFT_SETUP_COMMAND" "A command run once before any model output, with network and without keys.",
    WorkingDirectory "--working-directory" "UPSHIFT_WORKING_DIRECTORY" "The directory to work in, relative to the repository's root.",
    Objective "--objective" "UPSHIFT_OBJECTIVE" "The task for the models.",
    OnlyTests "--only-tests" "UPSHIFT_ONLY_TESTS" "The failing tests to fix, one per line; other failures are left alone.",
    MaxCostUsd "--max-cost-usd" "UPSHIFT_MAX_COST_USD" "Cap on the cost of all model calls together, in dollars.",
    MaxDurationMinutes "--max-duration-minutes" "UPSHIFT_MAX_DURATION_MINUTES" "Cap on active time (waiting excluded), in minutes.",
    MaxIterations "--max-iterations" "UPSHIFT_MAX_ITERATIONS" "Cap on iterations over all tiers.",
    AuditDb "--audit-db" "UPSHIFT_AUDIT_DB" "Where the audit log is written.",
    NoAudit "--no-audit" "UPSHIFT_NO_AUDIT" "Runs without an audit log (`true` or `false`).",
    Push "--push" "UPSHIFT_PUSH" "What to do with a fix: none, commit or pr.",
    Record "--record" "UPSHIFT_RECORD" "Where the models' replies are recorded as a cassette.",
    Format "--format" "UPSHIFT_FORMAT" "The format of the report: text, json, or jsonl (every event as it happens, then the report).",
    PassEnv "--pass-env" "UPSHIFT_PASS_ENV" "Variables that the tests need, separated by commas, spaces or newlines.",
    ProtectedPaths "--protected-paths" "UPSHIFT_PROTECTED_PATHS" "Globs the model may not write, separated by commas or newlines.",
    Sandbox "--sandbox" "UPSHIFT_SANDBOX" "Confinement of child processes: auto, required or off.",
    Network "--network" "UPSHIFT_NETWORK" "Network of child processes: auto, off, loopback or on.",
    WaitFor "--wait-for" "UPSHIFT_WAIT_FOR" "What to wait for after a push: none, ci, event (ci, without a job that waits) or merge.",
    MaxPushes "--max-pushes" "UPSHIFT_MAX_PUSHES" "Cap on pushes of one run, where CI decides.",
    CiTimeoutMinutes "--ci-timeout-minutes" "UPSHIFT_CI_TIMEOUT_MINUTES" "Cap on waiting for CI, in minutes.",
    MergeTimeoutMinutes "--merge-timeout-minutes" "UPSHIFT_MERGE_TIMEOUT_MINUTES" "Cap on waiting for a merge, in minutes.",
    Comment "--comment" "UPSHIFT_COMMENT" "When to comment on the pull request: always, on-change, on-failure or off.",
    FailOn "--fail-on" "UPSHIFT_FAIL_ON" "The outcomes that fail the step, separated by commas.",
    MaxAttemptsPerPr "--max-attempts-per-pr" "UPSHIFT_MAX_ATTEMPTS_PER_PR" "Cap on runs per pull request, or per failure of a branch.",
    SkipLabel "--skip-label" "UPSHIFT_SKIP_LABEL" "The label that keeps upshift away from a pull request.",
    AllowedBots "--allowed-bots" "UPSHIFT_ALLOWED_BOTS" "The bots that may start a run on their own pull requests, by their exact names.",
    SignCommits "--sign-commits" "UPSHIFT_SIGN_COMMITS" "Whether the commit is made through the API, where GitHub signs it: true or false.",
}

/// The settings that were given as flags, by [`Setting`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<Setting, String>);

impl Settings {
    /// Sets one. `None` leaves it unset. Takes the text as it was typed: resolving reports what is wrong with it.
    pub fn set(&mut self, setting: Setting, value: Option<String>) -> &mut Self {
        if let Some(value) = value {
            self.0.insert(setting, value);
        }
        self
    }

    /// The same, for building in one expression.
    #[must_use]
    pub fn with(mut self, setting: Setting, value: impl Into<String>) -> Self {
        self.0.insert(setting, value.into());
        self
    }

    /// The text given for a setting.
    #[must_use]
    pub fn get(&self, setting: Setting) -> Option<&str> {
        self.0.get(&setting).map(String::as_str)
    }
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Its text.
    Text(String),
    /// It is not there.
    Missing,
    /// It could not be read, and why.
    Unreadable(String),
}

/// A file that `cli` read, or tried to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The path as the user named it.
    pub path: String,
    /// Its content.
    pub content: FileContent,
}

/// Everything that decides a run, as data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The flags of the command line.
    pub flags: Settings,
    /// The whole environment. Values of keys are only tested for presence and never copied into a plan.
    pub env: BTreeMap<String, String>,
    /// The file at [`Sources::config_path`]. `None` when none was looked for.
    pub config_file: Option<NamedFile>,
    /// The file at [`Sources::tiers_path`], when that names one.
    pub tiers_file: Option<NamedFile>,
    /// The abilities of this build of the program.
    pub build: Build,
}

/// The abilities of this build of the program here. A setting beyond them is refused, not ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Build {
    /// The treatment of a fix when nothing says otherwise. `None` is that it stays.
    pub default_push: Option<Push>,
    /// The event to wait for after a push when nothing says otherwise. `None` is CI, in this process.
    pub default_wait_for: Option<WaitFor>,
    /// Whether child processes can be confined.
    pub confinement: bool,
    /// The names `test.framework` may have. Empty means that any is taken.
    pub frameworks: &'static [&'static str],
    /// Whether the settings are for another machine, as a workflow's are for its job: keys and addresses that are not set here may be there.
    pub elsewhere: bool,
}

impl Sources {
    /// A setting and where it came from: flag, then environment. An empty text counts as unset (DESIGN §2.1).
    #[must_use]
    pub fn setting(&self, setting: Setting) -> Option<(&str, Origin)> {
        // An empty input of the action comes as an empty text, and means that nobody gave it.
        let flag = self.flags.get(setting).filter(|text| !text.trim().is_empty());
        if let Some(text) = flag {
            return Some((text, Origin::Flag(setting.flag().to_owned())));
        }
        self.variable(setting.env()).map(|text| (text, Origin::Env(setting.env().to_owned())))
    }

    /// A variable of the environment. An empty one counts as unset.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|text| !text.trim().is_empty())
    }

    /// The configuration file that `cli` should read into [`Sources::config_file`].
    #[must_use]
    pub fn config_path(&self) -> &str {
        self.setting(Setting::Config).map_or(DEFAULT_CONFIG_PATH, |(text, _)| text)
    }

    /// Whether a name is a built-in provider's or one that the configuration file declares.
    pub(super) fn is_provider(&self, name: &str) -> bool {
        // `cli/claude` is a target and no path.
        BUILT_IN_PROVIDERS.contains(&name) || name == crate::backend::PROVIDER || self.declares_provider(name)
    }

    fn declares_provider(&self, name: &str) -> bool {
        let Some(NamedFile { content: FileContent::Text(text), .. }) = &self.config_file else { return false };
        // The whole file is read again here, but only for a `tiers` text such as `my/model`.
        let Ok(Node::Map(entries)) = Node::parse(text) else { return false };
        let declared = entries.iter().filter(|(key, _)| key == "providers");
        declared.into_iter().any(|(_, node)| match node {
            Node::Map(providers) => providers.iter().any(|(provider, _)| provider == name),
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) | Node::List(_) => false,
        })
    }
}

/// A built-in provider's endpoint, as the catalogue knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInEndpoint {
    /// The wire format.
    pub wire: Wire,
    /// The base URL. Empty when only a variable or the configuration can give it (azure).
    pub default_base_url: &'static str,
    /// The variables that may hold another base URL, the first present one wins.
    pub base_url_vars: &'static [&'static str],
    /// The variables that may hold the key, where the first present one wins. Empty when no key is needed.
    pub key_vars: &'static [&'static str],
    /// Whether it runs on the user's own machine and costs nothing.
    pub local: bool,
}

/// The known models and providers. Function pointers, because the catalogue stands right of this module: `cli` hands it in.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue {
    /// Price, window and limits, aliases followed. `None` when the catalogue does not know the model.
    pub lookup: fn(&ModelId) -> Option<ModelInfo>,
    /// The names of a provider's models that are known.
    pub names: fn(&str) -> Vec<&'static str>,
    /// The endpoint of a built-in provider. `None` for any other name and for `cassette`, which has none.
    pub endpoint: fn(&str) -> Option<BuiltInEndpoint>,
    /// The ladder of a provider when nothing is configured, in shorthand. `None` when it has none.
    pub default_ladder: fn(&str) -> Option<&'static str>,
}
