//! upshift gets a red repository green in CI. This page is its architecture.
//!
//! It runs the repository's own tests, lets the cheapest model try first, shifts up to a stronger model only when the cheap one
//! stalls, never passes a budget, writes every attempt to a SQLite audit log, and reports what happened.
//!
//! # The path of a run
//!
//! [`cli`] reads flags, environment and files and has [`config`] resolve them into a plan. It opens the [`audit`] log and hands both to
//! [`lifecycle`], which acts out one phase after the other: baseline, iterations, ending. An iteration holds one [`session`] per role
//! ([`agent`] writes its prompts), has the change judged by [`test_run`] and [`policy::verdict`], and asks [`policy::escalation`] for the
//! next step. [`report`] turns the events into text.
//!
//! # Layers
//!
//! A module imports only from modules to the left of it. Modules inside braces do not know each other. `tests/it/tidy.rs` enforces it.
//! All below `lifecycle` are the crate `upshift-engine`, so that a change of the loop or of a command builds the loop and the commands alone.
//!
//! ```text
//! testlog < domain < {framework, backend} < {config, policy, report, redact, files, tracker} < {process, http, streams}
//!        < {workspace, test_run, model, mcp, rest, github, audit, telemetry}
//!        < trial < {session, gateway} < hosted < agent < lifecycle < cli
//! ```
//!
//! | module | owns |
//! |---|---|
//! | `testlog` | every reader of the output of test runners, in a crate of its own, below all |
//! | `grammars` | the languages whose code is read as a tree, deflated, in a crate of its own, and the one with code that is unsafe |
//! | [`domain`] | the nouns: money, models, reports, verdicts, receipts, events, outcomes |
//! | [`backend`] | the facts about each coding agent: command line, settings, its stream |
//! | [`config`] | text and maps in, a plan or every error out |
//! | [`policy`] | pure decisions: budget, entropy, escalation, handover, context, rotation, standing, verdict |
//! | [`report`] | events to terminal text, Markdown, an HTML page, JSON, progress lines (pure) |
//! | [`redact`] | secrets out of text (pure) |
//! | [`framework`] | the facts about each test framework, which of them a repository uses, the tests that a file defines |
//! | [`tracker`] | tasks, the forms in which backlogs come, which task is next (pure) |
//! | [`files`] | differences between platforms about files: held folders, names, private files |
//! | [`process`] | the one place that starts a process |
//! | [`http`] | the one HTTP client |
//! | [`streams`] | raw streams of a run, kept compressed beside its log |
//! | [`workspace`] | recorded trees, diffs, every way a model may read or write files |
//! | [`test_run`] | run tests, ask for result files, call single ones without their runner, the view of them that a model gets |
//! | [`mcp`] | the client of servers of tools |
//! | [`rest`] | tools that are a request to a web service each |
//! | [`model`] | the vendors' wires, the catalogue, cassettes |
//! | [`telemetry`] | the export of traces, where a collector is named |
//! | [`github`] | the client of GitHub's API, and the meaning of the state of a commit's checks |
//! | [`audit`] | the SQLite log: reservations, receipts, events, hash chain, spool |
//! | [`trial`] | the court: judging runs, evidence, the hunks of a change that are needed |
//! | [`session`] | one role's conversation with a model, to a final report |
//! | [`gateway`] | the loopback model gateway: other programs' calls on our budget |
//! | [`hosted`] | one role's session, held by a coding agent behind the gateway |
//! | [`agent`] | the roles: prompts and what goes into them |
//! | [`lifecycle`] | carries decisions out, phase by phase |
//! | [`cli`] | commands, environment, terminal |
//!
//! # Invariants
//!
//! - **Decide apart from doing.** `policy` is pure. `lifecycle` and `session` have no policy of their own.
//! - **One event stream.** Log, progress and report read the same [`domain::event::Event`]s, so they cannot disagree.
//! - **Durable before acted on.** Every decision is recorded with the state that follows from it in one transaction. A process killed
//!   anywhere is continued from its last decision, and replies that were paid for are replayed, not bought again.
//! - **No call without a reservation**, and no reservation left without a receipt.
//! - **Foreign text is data.** What the repository, its tests or a model wrote reaches a prompt fenced, a report escaped, and
//!   every exit redacted.
//! - Foreign types stay home: only `audit` names rusqlite, only `http` and `model` reqwest, only `github` octocrab.

pub mod cli;
pub mod lifecycle;

pub use upshift_engine::{
    agent, audit, backend, config, domain, files, framework, gateway, github, hosted, http, mcp, model, policy,
    process, redact, report, rest, session, streams, telemetry, test_run, tracker, trial, workspace,
};
