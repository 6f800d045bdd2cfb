//! How the repository's tests are run, and how a run went.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::stop::StopCause;
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;
use crate::process::{Confinement, Program, Spec};
use crate::streams::Streams;

/// A command beside the tests that judges with them: a linter, a type checker, another suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The name that it is told by. No other check and no test has it.
    pub name: String,
    /// The shell command.
    pub run: String,
    /// Where.
    pub cwd: PathBuf,
}

/// How the repository's tests are run.
#[derive(Debug, Clone)]
pub struct TestCommand {
    /// The shell command.
    pub command: String,
    /// The checks beside it, in order.
    pub checks: Vec<Check>,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The most time one run may take.
    pub timeout: Duration,
    /// The most memory one of its processes may take, in MiB.
    pub memory_mb: Option<u32>,
    /// The framework, when configured.
    pub framework: Option<String>,
    /// A JUnit file the command writes, when configured.
    pub junit: Option<PathBuf>,
    /// How it is kept from harm.
    pub confinement: Confinement,
    /// Whether its runner is told to write a result file.
    pub results: ResultFiles,
    /// The place where its raw output is kept, if it is.
    pub streams: Option<Arc<Streams>>,
}

impl TestCommand {
    /// A shell line under the limits and the confinement of the tests, of whose output so much is kept from each end.
    pub(super) fn spec(&self, line: String, cwd: &Path, env: BTreeMap<OsString, OsString>, keep: usize) -> Spec {
        Spec {
            program: Program::Shell(line),
            cwd: cwd.to_owned(),
            env,
            stdin: Vec::new(),
            timeout: self.timeout,
            keep,
            merge_stderr: true,
            memory_mb: self.memory_mb,
            confinement: self.confinement.clone(),
        }
    }
}

/// One run of the tests.
#[derive(Debug, Clone)]
pub struct TestRun {
    /// How the command ended.
    pub exit: Exit,
    /// The report read from its output.
    pub report: TestReport,
    /// The report read from the runner's result file.
    pub filed: Filed,
    /// The output's head and tail, colours removed, for people and for models.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Set when it was stopped.
    pub stopped: Option<StopCause>,
}

/// Whether runners are told to write result files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultFiles {
    /// Where it is known to be safe.
    #[default]
    Wanted,
    /// Not at all.
    Unwanted,
}

/// The content of a run's result file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filed {
    /// The runner was not told to write one.
    #[default]
    NotAsked,
    /// It was told how to report, without a file.
    Framed,
    /// It was told to write one and did not.
    Missing,
    /// The same, and its disk is full.
    NoRoom,
    /// It was written.
    Report(Box<TestReport>),
}

impl Filed {
    /// Its report, if the file was written.
    #[must_use]
    pub fn report(&self) -> Option<&TestReport> {
        match self {
            Self::Report(report) => Some(report),
            Self::NotAsked | Self::Framed | Self::Missing | Self::NoRoom => None,
        }
    }
}
