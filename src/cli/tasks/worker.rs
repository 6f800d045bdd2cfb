//! The run for a task: this program once more, whose events are read as they come.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, PipeReader};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use super::super::environment::Environment;
use super::super::output::print;
use super::TASK;
use super::agents::seeds_line;
use crate::config::{SEEN_TESTS, Setting, Settings};
use crate::domain::outcome::{EXIT_BUDGET, EXIT_NOT_FIXED, EXIT_PARKED, EXIT_SIGNAL_BASE, EXIT_SUCCESS};
use crate::domain::stop::Stop;
use crate::domain::units::RunId;
use crate::domain::verdict::Exit;
use crate::policy::backlog::RunEnd;
use crate::process::accompany::accompany;
use crate::process::companion::Companion;

/// How long a run may take to end once it was told: seven seconds, and some for a slow disk.
const GRACE: Duration = Duration::from_secs(15);

/// How much of why it could not be started is told, in characters.
const MOST_SAID: usize = 200;

/// A run to be started or taken up.
#[derive(Debug)]
pub(super) struct Order<'o> {
    /// The words behind the program's name.
    pub(super) words: Vec<String>,
    /// The task, as `backlog/task`.
    pub(super) key: &'o str,
    /// Whether its tests were seen failing when the task was made.
    pub(super) knows_tests: bool,
    /// The checkout.
    pub(super) checkout: &'o Path,
    /// Whether its events are handed on as lines, each with the task.
    pub(super) tells_events: bool,
}

/// The result of a task's run.
#[derive(Debug)]
pub(super) struct Came {
    /// How it ended.
    pub(super) end: RunEnd,
    /// Its exit code.
    pub(super) code: u8,
    /// The run. `None` where none was begun.
    pub(super) run: Option<RunId>,
    /// Its report's first line, or why there is none.
    pub(super) said: String,
    /// The files that it changed.
    pub(super) files: Vec<String>,
}

/// The flags that settings are given by.
pub(super) fn words(command: &str, settings: &Settings) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    for &setting in Setting::ALL {
        if let Some(value) = settings.get(setting) {
            words.push(format!("{}={value}", setting.flag()));
        }
    }
    words
}

/// Starts it and waits for its end.
///
/// # Errors
/// When no pipe can be had. A program that cannot be started is told as this task's end.
pub(super) async fn work(order: Order<'_>, environment: &Environment, stop: &Stop) -> anyhow::Result<Came> {
    let (reader, writer) = io::pipe()?;
    let mut command = vec![std::env::current_exe()?.into_os_string()];
    command.extend(order.words.iter().map(OsString::from));
    let mut env: BTreeMap<OsString, OsString> = environment.raw().clone();
    env.insert(TASK.into(), order.key.into());
    env.remove(OsStr::new(SEEN_TESTS));
    if order.knows_tests {
        env.insert(SEEN_TESTS.into(), "1".into());
    }
    let companion = Companion {
        command,
        cwd: order.checkout.to_owned(),
        env,
        // It ends by itself when we are gone.
        keeper: None,
        output: Some(writer),
        grace: GRACE,
        last_grace: None,
    };
    let heard = listen(reader, order.tells_events.then(|| order.key.to_owned()));
    let exit = accompany(&companion, stop).await;
    // With our end of the pipe the listener's lines end.
    drop(companion);
    let report = heard.join().unwrap_or_default();
    match exit {
        Ok(exit) => Ok(came(&exit, report.as_ref())),
        // It is this task's text that no program can be given: the others go on.
        Err(error) => {
            let said: String = error.to_string().chars().take(MOST_SAID).collect();
            let said = format!("its run could not be started: {said}");
            Ok(Came { end: RunEnd::Blocked, code: EXIT_NOT_FIXED, run: None, said, files: Vec::new() })
        }
    }
}

/// Reads lines until nobody writes any. Returns the report among them.
fn listen(reader: PipeReader, key: Option<String>) -> JoinHandle<Option<Value>> {
    std::thread::spawn(move || {
        let mut report = None;
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            let Ok(Value::Object(mut said)) = serde_json::from_str(&line) else { continue };
            let is_report = said.get("type").is_some_and(|kind| kind == "report");
            if let Some(key) = &key {
                said.insert("task".to_owned(), Value::String(key.clone()));
                // Whoever reads no longer has no use for the rest; the run goes on.
                let _closed = print(&format!("{}\n", Value::Object(said.clone())));
                if let Some(line) = seeds_line(&said) {
                    let _closed = print(&format!("{line}\n"));
                }
            }
            if is_report {
                report = Some(Value::Object(said));
            }
        }
        report
    })
}

/// The result that an exit code and a report stand for.
fn came(exit: &Exit, report: Option<&Value>) -> Came {
    let code = match exit {
        Exit::Code { code } => u8::try_from(*code).unwrap_or(u8::MAX),
        Exit::Signal { signal } => {
            u8::try_from(*signal).map_or(u8::MAX, |signal| EXIT_SIGNAL_BASE.saturating_add(signal))
        }
        Exit::Timeout | Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => u8::MAX,
    };
    let text = |key: &str| report.and_then(|report| report.get(key)?.as_str()).unwrap_or_default();
    let outcome = text("outcome");
    let end = match (code, outcome) {
        (EXIT_SUCCESS, "already_green") => RunEnd::NothingFails,
        (EXIT_SUCCESS, "fixed") => RunEnd::Mended,
        (EXIT_NOT_FIXED, "blocked") => RunEnd::Blocked,
        (EXIT_NOT_FIXED, _) if report.is_some() => RunEnd::NotMended,
        (EXIT_BUDGET, _) => RunEnd::ShareUsed,
        (EXIT_PARKED, _) => RunEnd::Waits,
        (code, _) if code > EXIT_SIGNAL_BASE && code != u8::MAX => RunEnd::Interrupted,
        _ => RunEnd::Unusable,
    };
    let files = report.and_then(|report| report.get("diff_stat")?.as_array());
    let files = files.into_iter().flatten().filter_map(|file| file.get("path")?.as_str());
    let said =
        if report.is_some() { text("verdict").to_owned() } else { format!("its run ended with exit code {code}") };
    Came {
        end,
        code,
        run: report.and_then(|report| report.get("run_id")?.as_str()).map(|id| RunId(id.to_owned())),
        said,
        files: files.map(str::to_owned).collect(),
    }
}
