//! The integration tests: the whole program and its larger pieces against real processes, files and sockets.
//!
//! `world` holds what stands in for the outside (model vendors, …); every other module is one subject.
//! Modules are `cfg(test)` so that clippy grants them what it grants tests.

#![expect(clippy::disallowed_methods, reason = "tests start programs and ask where the machine keeps them")]

#[cfg(test)]
mod action;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod backlog;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod breakpoints;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod config;
#[cfg(test)]
mod confinement;
#[cfg(test)]
mod console;
#[cfg(test)]
mod court;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod frameworks;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod github;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod orchestration;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod portable;
#[cfg(test)]
mod publish;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod red_team;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod session;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod wires;
#[cfg(test)]
mod workspace;
#[cfg(test)]
mod world;
