//! `upshift merge`: the logs of many jobs joined into one, and what their runs mended put on the branch, one change after the other.
//!
//! Invariant: nothing in a log is believed. Each change is judged here, by the tests and the court of this checkout on top of the changes
//! that are merged already. No command is taken from a log, and a file that a run may not write is refused. `policy::merging` decides.
//! No token that writes has to be where tests run: [`proven`] hands what was merged over to a job that proposes it and runs nothing.

mod all;
mod command;
mod court;
mod logs;
mod noted;
mod proven;
mod pulls;
mod queue;
mod rows;
mod sum;
mod told;

pub(super) use all::all;
pub(super) use command::exit_code;
pub(in crate::cli) use command::{MergeArgs, run};
pub(super) use court::go_back;
pub(super) use logs::has_logs;
pub(super) use noted::note;
pub(super) use rows::Wish;
pub(super) use told::{MergeForm, Report, print};
