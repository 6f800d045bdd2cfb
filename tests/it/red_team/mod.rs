//! The red team: one file per family of attacks, each carried out against the real program.
//!
//! An attack leaves a marker. With every guard on there must be none; with its own guards off (a switch that only debug builds know)
//! there must be one, or the attack proves nothing. Every test run does the first; the second is done where a [`ledger`] is kept, as
//! `.ci/nightly` does, since it takes as long again. The program runs as an ordinary user under `sandbox: required`; where the tests run
//! as root, they become `nobody` for it.

mod attributes;
mod cell;
mod escapes;
mod exits;
mod git_directory;
mod injection;
mod install;
pub(crate) mod ledger;
mod leftovers;
mod networks;
mod resources;
mod runner;
mod secrets;
mod upshift_itself;
pub(crate) mod verdict;

/// Carries an attack out with every guard on and, for the ledger, with `guards` (names, separated by commas) off.
///
/// `carried_out` is told which guards are off and says whether the marker is there.
#[track_caller]
pub(crate) fn attack(guards: &str, carried_out: impl Fn(&str) -> bool) {
    assert!(!carried_out(""), "the attack left its marker although every guard is on");
    if !ledger::is_kept() {
        return;
    }
    assert!(carried_out(guards), "the attack fails even with `{guards}` off, so it proves nothing");
    ledger::note("", guards, "-");
}
