//! The guards against a false green and a read secret, by name, so that each can be tried with it alone switched off.
//!
//! Invariant: in a release build every guard is on. Only a debug build can be told to leave some out (the red team proves with it that each
//! attack would succeed if its guard were not there).

/// One guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// Test files, test configuration and CI are refused at write and put back for judging.
    TestPaths,
    /// Test regions inside source files are put back for judging.
    TestRegions,
    /// The parts of manifests and build files that decide which tests run are compared.
    Manifests,
    /// No new file shadows the runner or the standard library.
    Shadowing,
    /// The change may not end the process with success.
    ForcedEnd,
    /// The change may not print what a runner prints, nor write past it.
    PrintedResults,
    /// The change may not hook into the runner, its assertions or the process's end.
    Hooks,
    /// The change may not ask whether it is being tested.
    UnderTest,
    /// Files that judge may not change while the tests run.
    Rewriting,
    /// Tests that passed at the start may not be gone, skipped or fewer.
    Baseline,
    /// Leftovers of earlier runs of changed code are gone before a run judges.
    Leftovers,
    /// Files that tools run or obey without being asked are refused at write, and removed at the end where they are new.
    Autorun,
    /// Runners that can are told to write a result file, which must bear out what they print.
    ResultFiles,
    /// No file that judges changes while the tests run, not even to be put back.
    Untouched,
    /// A failure put into a test's own body is reported.
    Poisoned,
    /// A test whose expected value is altered fails.
    AlteredExpectation,
    /// A test passes under another name.
    Renamed,
    /// A test passes when something else than its runner calls it.
    Direct,
    /// A check that is no test finds again what it found at the start, where that stands again.
    Planted,
    /// The values that a change decides by are looked at by a test.
    Choices,
    /// Without the change the tests fail again.
    Counter,
    /// A change that holds a secret of the job is none.
    TakenSecrets,
    /// Files that hold credentials, or are the user's own, are not shown.
    SecretFiles,
}

impl Guard {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::TestPaths,
        Self::TestRegions,
        Self::Manifests,
        Self::Shadowing,
        Self::ForcedEnd,
        Self::PrintedResults,
        Self::Hooks,
        Self::UnderTest,
        Self::Rewriting,
        Self::Baseline,
        Self::Leftovers,
        Self::Autorun,
        Self::ResultFiles,
        Self::Untouched,
        Self::Poisoned,
        Self::AlteredExpectation,
        Self::Renamed,
        Self::Direct,
        Self::Planted,
        Self::Choices,
        Self::Counter,
        Self::TakenSecrets,
        Self::SecretFiles,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TestPaths => "test_paths",
            Self::TestRegions => "test_regions",
            Self::Manifests => "manifests",
            Self::Shadowing => "shadowing",
            Self::ForcedEnd => "forced_end",
            Self::PrintedResults => "printed_results",
            Self::Hooks => "hooks",
            Self::UnderTest => "under_test",
            Self::Rewriting => "rewriting",
            Self::Baseline => "baseline",
            Self::Leftovers => "leftovers",
            Self::Autorun => "autorun",
            Self::ResultFiles => "result_files",
            Self::Untouched => "untouched",
            Self::Poisoned => "poisoned",
            Self::AlteredExpectation => "altered_expectation",
            Self::Renamed => "renamed",
            Self::Direct => "direct",
            Self::Planted => "planted",
            Self::Choices => "choices",
            Self::Counter => "counter",
            Self::TakenSecrets => "taken_secrets",
            Self::SecretFiles => "secret_files",
        }
    }
}

/// The guards that are on. By default all are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guards {
    off: Vec<Guard>,
    /// Whether no green is asked for evidence, for tests of what comes behind one.
    no_court: bool,
}

impl Guards {
    /// All but the named ones (separated by commas), `court` for all experiments. Unknown names leave nothing out.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn all_but(names: &str) -> Self {
        let is_named = |sought: &str| names.split(',').any(|name| name.trim() == sought);
        let off = Guard::ALL.into_iter().filter(|guard| is_named(guard.as_str())).collect();
        Self { off, no_court: is_named("court") }
    }

    /// The same without one.
    #[must_use]
    pub fn without(&self, guard: Guard) -> Self {
        Self { off: self.off.iter().copied().chain([guard]).collect(), ..*self }
    }

    /// Whether a green is asked for evidence.
    #[must_use]
    pub const fn court_sits(&self) -> bool {
        !self.no_court
    }

    /// Whether a guard stands.
    #[must_use]
    pub fn has(&self, guard: Guard) -> bool {
        !self.off.contains(&guard)
    }
}
