//! Evidence for a green: experiments on the tests that failed at the start, over the changed product.
//!
//! A judge that still says no when it must is a judge whose yes means something. `court` orders the experiments, within their time.
//! `bodies` finds the tests in their files, `runs` carries an experiment out, and `outcome` reads its result.
//!
//! Invariant: no evidence accuses before it was seen twice and, where the tests could be at fault, its control at the start held.

mod appended;
mod bodies;
mod callers;
mod carried;
mod choices;
mod constants;
mod court;
mod direct;
mod disguised;
mod displaced;
mod elsewhere;
mod example;
mod fitted;
mod larger;
mod macros;
mod moved;
mod names;
mod numbers;
mod order;
mod other_inputs;
mod other_option;
mod other_part;
mod outcome;
mod overfit;
mod planted;
mod refusals;
mod relations;
mod removals;
mod repeated;
mod rounds;
mod runs;
mod shape;
mod shared;
mod starts_rules;
mod tally;
mod twice;
mod unread;
mod whole;

pub use court::{Proven, prove};
pub use tally::Demand;
