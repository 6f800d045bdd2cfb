//! Recording: a [`Tape`] wraps every provider of a run and writes each finished call to one file.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::{Call, Cassette, CassetteError, FORMAT, RecordedFailure, Recording, RequestPrint};
use crate::domain::chat::{ChatRequest, Reply};
use crate::model::{CallFailure, Provider, ReplyFuture};
use crate::redact::Redactor;

/// A cassette in the making. It is cheap to clone, and all clones write to one file.
#[derive(Debug, Clone)]
pub struct Tape(Arc<Inner>);

/// The one that is told of each file that is put at the tape's path.
type Told = Box<dyn Fn(&Path) + Send + Sync>;

struct Inner {
    path: PathBuf,
    told: Told,
    redactor: Arc<Redactor>,
    state: Mutex<State>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("path", &self.path).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    recording: Recording,
    problem: Option<String>,
    /// Whether somebody was told of the problem.
    told: bool,
}

impl Tape {
    /// Starts an empty cassette at a path where nothing stands yet. `told` hears of each file that is put there, now and later.
    ///
    /// # Errors
    /// [`CassetteError::Write`] when the file exists or cannot be made.
    pub fn create(
        path: &Path,
        redactor: Arc<Redactor>,
        told: impl Fn(&Path) + Send + Sync + 'static,
    ) -> Result<Self, CassetteError> {
        let refuse = |source| CassetteError::Write { path: path.to_owned(), source };
        // New, so that a recording never takes the place of an older one. The later renames would.
        drop(std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(refuse)?);
        let recording = Recording { cassette: FORMAT, models: std::collections::BTreeMap::new(), calls: Vec::new() };
        write(path, &recording).map_err(refuse)?;
        Ok(Self::of(path, redactor, (recording, Box::new(told))))
    }

    /// Goes on with a cassette that an earlier process of the same run began.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be read or is no cassette.
    pub fn reopen(
        path: &Path,
        redactor: Arc<Redactor>,
        told: impl Fn(&Path) + Send + Sync + 'static,
    ) -> Result<Self, CassetteError> {
        Ok(Self::of(path, redactor, (Cassette::open(path)?.recording, Box::new(told))))
    }

    fn of(path: &Path, redactor: Arc<Redactor>, (recording, told): (Recording, Told)) -> Self {
        told(path);
        let state = Mutex::new(State { recording, problem: None, told: false });
        Self(Arc::new(Inner { path: path.to_owned(), told, redactor, state }))
    }

    /// The same provider, recorded.
    #[must_use]
    pub fn wrap(&self, inner: Box<dyn Provider>) -> Box<dyn Provider> {
        Box::new(Recorder { inner, tape: self.clone() })
    }

    /// Why the file does not hold everything, once, if it does not: a recording that fails never fails the run.
    #[must_use]
    pub fn take_warning(&self) -> Option<String> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut state.told, true) {
            return None;
        }
        // Without a problem nothing was told, and the first one still has to be.
        state.told = state.problem.is_some();
        state.problem.clone()
    }

    fn add(&self, request: &ChatRequest, result: &Result<Reply, CallFailure>) {
        let redact = |text: &str| self.0.redactor.redact(text).into_owned();
        // Before it is held in memory with the others, so that no later write can forget it.
        let reply = result.as_ref().ok().and_then(|reply| redacted(reply, &redact));
        let failure = result.as_ref().err().map(|failure| RecordedFailure {
            status: failure.status,
            message: redact(&failure.message),
            http_status: failure.http_status,
            retry_after_ms: failure.retry_after_ms,
            retryable: failure.retryable,
            usage: failure.usage,
            bill: (*failure.bill).clone(),
            may_be_billed: failure.may_be_billed,
        });
        let print = RequestPrint::of(request, redact);
        let call = Call { model: request.target.to_string(), request: Some(print), reply, failure };
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.recording.calls.push(call);
        // After each call, as a killed run is to leave all that it paid for.
        match write(&self.0.path, &state.recording) {
            Ok(()) => (self.0.told)(&self.0.path),
            Err(error) => {
                let path = self.0.path.display();
                state.problem =
                    Some(format!("the cassette `{path}` does not contain every call: it cannot be written: {error}"));
            }
        }
    }
}

/// A reply without secrets, also inside arguments and vendor blocks.
fn redacted(reply: &Reply, redact: &impl Fn(&str) -> String) -> Option<Reply> {
    let mut value = serde_json::to_value(reply).ok()?;
    redact_strings(&mut value, redact);
    serde_json::from_value(value).ok()
}

fn redact_strings(value: &mut Value, redact: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_strings(item, redact)),
        Value::Object(map) => map.values_mut().for_each(|item| redact_strings(item, redact)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes beside the file and renames, so that a kill leaves the old one or the new one.
fn write(path: &Path, recording: &Recording) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // In the same folder, since a rename does not cross file systems.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    let mut text = serde_json::to_vec_pretty(recording)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[derive(Debug)]
struct Recorder {
    inner: Box<dyn Provider>,
    tape: Tape,
}

impl Provider for Recorder {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        Box::pin(async move {
            // A call that is dropped in the middle is not recorded: there is no answer to be replayed.
            let result = self.inner.ask(request).await;
            self.tape.add(request, &result);
            result
        })
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        self.inner.request_bytes(request)
    }

    fn take_warning(&self) -> Option<String> {
        self.tape.take_warning()
    }
}
