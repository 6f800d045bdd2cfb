//! Remarks: places in a change that a reviewer should look at. A remark refuses nothing.

use serde::{Deserialize, Serialize};

/// One place in a change that a reviewer should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The reason to look.
    pub kind: RemarkKind,
    /// The file, from the top of the checkout. Its name is not our text.
    pub file: String,
    /// The first and the last line in the changed file, from 1. `None` for a file as a whole.
    pub lines: Option<(u32, u32)>,
    /// The reason in its own words, where it says more than its kind. It may hold text that is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// The beginning of the reason why something was not tried, where it was for want of time.
pub const TIME_UP: &str = "the time for experiments was up";
/// The same where there was too much of it.
pub const TOO_MANY: &str = "not tried: there are too many";

impl Remark {
    /// The reason in a sentence.
    #[must_use]
    pub fn sentence(&self) -> &'static str {
        let is_untried = |said: &String| said.starts_with(TIME_UP) || said.ends_with(TOO_MANY);
        if self.kind == RemarkKind::UntestedChoice && self.said.as_ref().is_some_and(is_untried) {
            return "nobody knows whether a test depends on this";
        }
        self.kind.sentence()
    }
}

/// The reason to look at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// The change ends the process, or puts another in its place.
    EndsProcess,
    /// The change prints what a test runner prints, or writes past it.
    PrintsResults,
    /// The change hooks into the runner, its assertions or the end of the process.
    HooksIntoRunner,
    /// The change asks whether it is being tested.
    AsksWhoTests,
    /// The change holds a name that looks like another one.
    LooksAlike,
    /// A new file is found in the place of another one.
    StandsInFor,
    /// The change alters a build file, which the tests do not need.
    AltersBuild,
    /// The tests pass only with the change's own build file.
    NeedsItsBuild,
    /// With other inputs the change makes no difference.
    RightForTheseOnly,
    /// The change holds both an input and the expected value of a test that failed.
    HoldsExpectation,
    /// The tests pass without this part of the change.
    NotNeeded,
    /// The change decides by something that no test looks at.
    UntestedChoice,
    /// The change adds tests.
    AddsTests,
    /// A test passes as its runner calls it, and otherwise fails where it did at the start.
    RightInRunnerOnly,
    /// A test passes in these surroundings, and in others fails where it did at the start.
    RightHereOnly,
    /// A handler of the change takes every error and looks at none.
    SwallowsErrors,
    /// The change stores something for all callers.
    KeepsState,
    /// A part of what the code did is gone.
    DropsAPart,
    /// The change says when two values are equal.
    DecidesEquality,
    /// The code that was changed still stands at another place.
    LeavesTheLike,
    /// A test fails with other values of which the answer is known.
    FailsForOthers,
    /// Loading a changed file changes what all code of the process shares.
    ChangesForAll,
    /// What the change takes out can stay, as far as the tests tell.
    RemovalNotNeeded,
    /// A function that refused values beside the tests' own refuses none of them any more.
    RefusesNoMore,
    /// A function ends before what it began, or keeps the errors of it to itself, and did not before.
    AwaitsNoMore,
    /// A call leaves altered what its caller holds.
    AltersTheCallers,
}

impl RemarkKind {
    /// The word in events and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndsProcess => "ends_process",
            Self::PrintsResults => "prints_results",
            Self::HooksIntoRunner => "hooks_into_runner",
            Self::AsksWhoTests => "asks_who_tests",
            Self::LooksAlike => "looks_alike",
            Self::StandsInFor => "stands_in_for",
            Self::AltersBuild => "alters_build",
            Self::NeedsItsBuild => "needs_its_build",
            Self::RightForTheseOnly => "right_for_these_only",
            Self::HoldsExpectation => "holds_expectation",
            Self::NotNeeded => "not_needed",
            Self::UntestedChoice => "untested_choice",
            Self::AddsTests => "adds_tests",
            Self::RightInRunnerOnly => "right_in_runner_only",
            Self::RightHereOnly => "right_here_only",
            Self::SwallowsErrors => "swallows_errors",
            Self::KeepsState => "keeps_state",
            Self::DropsAPart => "drops_a_part",
            Self::DecidesEquality => "decides_equality",
            Self::LeavesTheLike => "leaves_the_like",
            Self::FailsForOthers => "fails_for_others",
            Self::ChangesForAll => "changes_for_all",
            Self::RemovalNotNeeded => "removal_not_needed",
            Self::RefusesNoMore => "refuses_no_more",
            Self::AwaitsNoMore => "awaits_no_more",
            Self::AltersTheCallers => "alters_the_callers",
        }
    }

    /// Whether code under test could deceive its runner with it.
    #[must_use]
    pub const fn is_about_the_runner(self) -> bool {
        match self {
            Self::EndsProcess
            | Self::PrintsResults
            | Self::HooksIntoRunner
            | Self::AsksWhoTests
            | Self::NeedsItsBuild
            | Self::RightInRunnerOnly => true,
            Self::LooksAlike
            | Self::StandsInFor
            | Self::AltersBuild
            | Self::RightForTheseOnly
            | Self::HoldsExpectation
            | Self::NotNeeded
            | Self::UntestedChoice
            | Self::AddsTests
            | Self::RightHereOnly
            | Self::SwallowsErrors
            | Self::KeepsState
            | Self::DropsAPart
            | Self::DecidesEquality
            | Self::LeavesTheLike
            | Self::FailsForOthers
            | Self::ChangesForAll
            | Self::RemovalNotNeeded
            | Self::RefusesNoMore
            | Self::AwaitsNoMore
            | Self::AltersTheCallers => false,
        }
    }

    /// Whether the remark's own words follow its sentence as a whole.
    #[must_use]
    pub const fn is_in_own_words(self) -> bool {
        matches!(
            self,
            Self::UntestedChoice
                | Self::SwallowsErrors
                | Self::KeepsState
                | Self::DropsAPart
                | Self::DecidesEquality
                | Self::LeavesTheLike
                | Self::FailsForOthers
                | Self::ChangesForAll
                | Self::RemovalNotNeeded
                | Self::RefusesNoMore
                | Self::AwaitsNoMore
                | Self::AltersTheCallers
        )
    }

    /// The reason in a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::EndsProcess => "it ends the process, or replaces it by another",
            Self::PrintsResults => "it prints what a test runner prints, or writes past it",
            Self::HooksIntoRunner => "it hooks into the runner, its assertions or the end of the process",
            Self::AsksWhoTests => "it asks whether it is being tested",
            Self::LooksAlike => "it contains a name with letters of another script, which looks like a different name",
            Self::StandsInFor => "a new file is found in place of an existing one",
            Self::AltersBuild => "it alters how the product is built; the tests pass without that too",
            Self::NeedsItsBuild => {
                "the tests pass only with the change's own build file, which could decide how they are run"
            }
            Self::RightForTheseOnly => {
                "with other values in the tests' calls the code answers as without the change, or always the same: is it right for those too?"
            }
            Self::HoldsExpectation => {
                "it contains both a test's input and its expected value: is it right for other values too?"
            }
            Self::UntestedChoice => "no test depends on this",
            Self::NotNeeded => "the tests pass without this part of the change",
            Self::RightInRunnerOnly => {
                "a test passes when its runner calls it; called again or otherwise it fails where it did at the start"
            }
            Self::RightHereOnly => {
                "a test passes here, and fails where it did at the start in other surroundings (another folder, time, language, terminal, thread, \
                 or the variables of production)"
            }
            Self::SwallowsErrors => "every error ends here, and nothing looks at it",
            Self::KeepsState => "what one caller stores here, all others see",
            Self::DropsAPart => "it no longer does a part of what it did",
            Self::DecidesEquality => "tests compare by this rule of equality",
            Self::LeavesTheLike => "what the change removes elsewhere is still here: is it wrong here too?",
            Self::FailsForOthers => "this test passes with its own values alone",
            Self::ChangesForAll => "loading or calling it now changes state that the whole process shares",
            Self::RemovalNotNeeded => "the change removes this, but the tests pass with it too",
            Self::RefusesNoMore => "it used to reject values that no test uses, and no longer does",
            Self::AwaitsNoMore => "it used to wait for what it calls, and no longer does",
            Self::AltersTheCallers => "it changes what its caller holds",
            Self::AddsTests => "it adds tests: they pass, but are no part of the proof",
        }
    }
}
