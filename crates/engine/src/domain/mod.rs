//! The nouns of upshift: what every other module speaks about.
//!
//! Owns plain data and the arithmetic that belongs to it (money, names, counts).
//! Invariant: imports nothing from the rest of the crate, starts no process, opens no file, reads no clock
//! but through [`clock::Clock`].
//!
//! Start reading at [`event::Event`]: a run *is* its events.

pub mod account;
pub mod advice;
pub mod agents;
pub mod attempt;
mod bare_end;
pub mod baseline;
pub mod bill;
pub mod blocker;
pub mod budget;
pub mod catalogue;
pub mod chat;
pub mod ci;
pub mod clock;
pub mod command;
pub mod correction;
pub mod delivery;
pub mod diff_stat;
pub mod event;
pub mod finding;
pub mod foreign;
pub mod hidden;
pub mod json_schema;
pub mod kept_report;
pub mod ladder;
pub mod leftover;
pub mod line_diff;
pub mod meta;
pub mod model_id;
pub mod objective;
pub mod outcome;
pub mod played;
pub mod printed_path;
pub mod proof;
pub mod receipt;
pub mod remark;
pub mod review;
pub mod session_exit;
pub mod shell;
pub mod spoken;
pub mod stop;
pub mod test_report;
pub mod tool;
pub mod trace_context;
pub mod tree_patch;
pub mod units;
pub mod verdict;
pub mod waiting;
pub mod web_host;
pub mod word_list;
