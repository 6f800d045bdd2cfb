//! The run for a task: this program once more, whose events are read as they come.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use super::super::Failure;
use super::super::environment::Environment;
use super::super::output::{print, say};
use super::agents::{SeedsLines, Turn};
use super::ending::{run_end, shared_cap};
use super::{TASK, TASK_LIST, TASK_PARENT, TASK_RUN};
use crate::config::{SEEN_TESTS, Setting, Settings};
use crate::domain::outcome::{EXIT_BUDGET, EXIT_NOT_FIXED, EXIT_PARKED, EXIT_SIGNAL_BASE};
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
    /// The id that its run is to have, where one is to be begun.
    pub(super) run: Option<&'o RunId>,
    /// Whether its tests were seen failing when the task was made.
    pub(super) knows_tests: bool,
    /// The checkout.
    pub(super) checkout: &'o Path,
    /// The list that the task is of, from the top of the checkout.
    pub(super) list: Option<PathBuf>,
    /// The turn that its events are handed on with as lines. `None` where they are not.
    pub(super) turn: Option<Turn>,
    /// Whether the words on its standard error are kept, beside being handed on.
    pub(super) keeps_words: bool,
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
    /// The tasks of a backlog that it worked off, each with the reason for its status.
    pub(super) reasons: BTreeMap<String, String>,
    /// The warnings of its report.
    pub(super) warnings: Vec<String>,
    /// Whether it was killed, though nobody told us to end: it may have left files half changed.
    pub(super) is_killed: bool,
}

/// The documents among the lines of a run: its report, and that of its backlog where it worked one off.
#[derive(Debug, Default)]
struct Documents {
    report: Option<Value>,
    backlog: Option<Value>,
}

/// The flags that settings are given by.
pub(super) fn words(command: &str, settings: &Settings) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    for &setting in Setting::ALL {
        if let Some(value) = settings.get(setting) {
            // Glued with a sign, since a value may begin with a dash.
            words.push(format!("{}={value}", setting.flag()));
        }
    }
    words
}

/// The very program that runs here, and not another version that lies in `PATH`.
fn own_program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    if program.exists() {
        return Ok(program);
    }
    // An update has put another file in its place. That one may keep its log and its tasks in another form.
    Err(Failure::usage(
        "upshift itself was replaced while it worked on this backlog\n→ Fix: start the same command again; the new version continues it",
    ))
}

/// Starts it and waits for its end.
///
/// # Errors
/// When no pipe can be had, or upshift itself was replaced. A program that cannot be started is told as this task's end.
pub(super) async fn work(order: Order<'_>, environment: &Environment, stop: &Stop) -> anyhow::Result<Came> {
    let (reader, writer) = io::pipe()?;
    let (words, errors) = if order.keeps_words { Some(io::pipe()?).unzip() } else { (None, None) };
    let mut command = vec![own_program()?.into_os_string()];
    command.extend(order.words.iter().map(OsString::from));
    if environment.console().is_quiet() {
        command.push("--quiet".into());
    }
    let mut env: BTreeMap<OsString, OsString> = environment.raw().clone();
    env.insert(TASK.into(), order.key.into());
    env.insert(TASK_PARENT.into(), std::process::id().to_string().into());
    // A backlog within a job of another one would hand its own id on.
    env.remove(OsStr::new(TASK_RUN));
    if let Some(run) = order.run {
        env.insert(TASK_RUN.into(), run.0.clone().into());
    }
    env.remove(OsStr::new(TASK_LIST));
    if let Some(list) = order.list {
        env.insert(TASK_LIST.into(), list.into());
    }
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
        errors,
        grace: GRACE,
        last_grace: None,
    };
    // Before the program starts to write, or a full pipe would hold it up.
    let heard = listen(reader, order.turn);
    let last = words.map(hand_on);
    let exit = accompany(&companion, stop).await;
    // With our end of the pipe the listener's lines end.
    drop(companion);
    let documents = heard.join().unwrap_or_default();
    let last = last.and_then(|last| last.join().ok()).unwrap_or_default();
    match exit {
        Ok(exit) => Ok(came(&exit, &documents, &last, stop.raised().is_some())),
        // It is this task's text that no program can be given: the others go on.
        Err(error) => {
            let said: String = error.to_string().chars().take(MOST_SAID).collect();
            let said = format!("its run could not be started: {said}");
            Ok(Came {
                end: RunEnd::Blocked,
                code: EXIT_NOT_FIXED,
                run: None,
                said,
                files: Vec::new(),
                warnings: Vec::new(),
                reasons: BTreeMap::new(),
                is_killed: false,
            })
        }
    }
}

/// Hands on words for people until nobody writes any. Returns the last that tells of something, and not of a way out.
fn hand_on(reader: PipeReader) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut last = String::new();
        // A line that is no text ends the reading, as a closed pipe does.
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            say(&line);
            let told = line.trim();
            // The lines behind it are advice. The reason stands above them.
            if !told.is_empty() && !told.starts_with('→') {
                last = told.chars().take(MOST_SAID).collect();
            }
        }
        last
    })
}

/// Reads lines until nobody writes any. Returns the documents among them.
fn listen(reader: PipeReader, turn: Option<Turn>) -> JoinHandle<Documents> {
    std::thread::spawn(move || {
        let mut lines = turn.map(SeedsLines::new);
        let mut documents = Documents::default();
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            let Ok(Value::Object(mut said)) = serde_json::from_str(&line) else { continue };
            let is_of = |wanted: &str| said.get("type").is_some_and(|kind| kind == wanted);
            let (is_report, is_backlog) = (is_of("report"), is_of("backlog"));
            if let Some(lines) = &mut lines {
                let beside = lines.beside(&said);
                said = lines.with_key(said);
                // Whoever reads no longer has no use for the rest; the run goes on.
                let _closed = print(&format!("{}\n", Value::Object(said.clone())));
                if let Some(line) = beside {
                    let _closed = print(&format!("{line}\n"));
                }
            }
            if is_report {
                documents.report = Some(Value::Object(said));
            } else if is_backlog {
                documents.backlog = Some(Value::Object(said));
            }
        }
        documents
    })
}

/// The result that an exit code and a report stand for. `last` is the last of its words, `is_stopped` says whether we were told to end.
fn came(exit: &Exit, documents: &Documents, last: &str, is_stopped: bool) -> Came {
    let report = documents.report.as_ref();
    let code = match exit {
        Exit::Code { code } => u8::try_from(*code).unwrap_or(u8::MAX),
        Exit::Signal { signal } => {
            u8::try_from(*signal).map_or(u8::MAX, |signal| EXIT_SIGNAL_BASE.saturating_add(signal))
        }
        Exit::Timeout | Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => u8::MAX,
    };
    let text = |key: &str| report.and_then(|report| report.get(key)?.as_str()).unwrap_or_default();
    // A run that wrote its report has ended in order, whatever its exit code is.
    let is_killed = report.is_none() && code > EXIT_SIGNAL_BASE && code != u8::MAX && !is_stopped;
    let end = match report {
        Some(_) => run_end(text("outcome"), text("stop_reason")),
        // For want of memory, above all: its task's trouble, and not that of the others.
        None if is_killed => RunEnd::NotMended,
        // It was told to end, and had no time for a report.
        None if code > EXIT_SIGNAL_BASE && code != u8::MAX => RunEnd::Interrupted,
        None if code == EXIT_BUDGET => RunEnd::ShareUsed,
        None if code == EXIT_PARKED => RunEnd::Waits,
        // Without a report and a known code nothing is known: a configuration that no task could run with.
        None => RunEnd::Unusable,
    };
    let files = report.and_then(|report| report.get("diff_stat")?.as_array());
    let files = files.into_iter().flatten().filter_map(|file| file.get("path")?.as_str());
    let warnings = report.and_then(|report| report.get("warnings")?.as_array());
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    let because = if last.is_empty() { String::new() } else { format!(": {last}") };
    let said = match report {
        Some(_) => shared_cap(text("stop_reason")).unwrap_or_else(|| text("verdict").to_owned()),
        None if is_killed => format!("its run was killed by signal {}", code - EXIT_SIGNAL_BASE),
        None => format!("its run ended with exit code {code}{because}"),
    };
    Came {
        end,
        code,
        run: report.and_then(|report| report.get("run_id")?.as_str()).map(|id| RunId(id.to_owned())),
        said,
        files: files.map(str::to_owned).collect(),
        warnings: warnings.map(str::to_owned).collect(),
        is_killed,
        reasons: documents.backlog.as_ref().map(reasons_of).unwrap_or_default(),
    }
}

/// The reasons that the document of a backlog tells of its tasks, by their ids.
fn reasons_of(document: &Value) -> BTreeMap<String, String> {
    let tasks = document.get("tasks").and_then(Value::as_array).into_iter().flatten();
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(str::to_owned);
    tasks.filter_map(|task| Some((text(task, "id")?, text(task, "reason")?))).collect()
}
