//! Carries out what a reply asks for, in order, and gathers the answers.
//!
//! Neighbouring reads run side by side on blocking threads. Every action that may change something runs alone and in order, and the report
//! comes last. Every wish gets an answer in every case, so that no vendor misses one. Invariant: ends within [`STOP_GRACE`] of a stop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::action::Action;
use super::edits::{edit, replaced, write};
use super::end::FinalReport;
use super::outputs::Outputs;
use super::outside::{OutsideCall, OutsideError, told_apart};
use super::ports::{Ports, ToolFuture};
use super::reading::Wish;
use super::spec::SessionSpec;
use super::tool::Tool;
use super::words;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::Role;
use crate::domain::session_exit::SessionExit;
use crate::domain::stop::StopCause;
use crate::workspace::{ToolError, Workspace};

/// The time that a running tool which sees the stop by itself gets to end its processes in order. It is less than the 100 ms within which a
/// session must end (issue 3, must-show 4).
const STOP_GRACE: Duration = Duration::from_millis(60);
/// Characters of a subject, to tell what a tool was about.
const MAX_SUBJECT_CHARS: usize = 120;
/// The most characters of why a call failed.
const MAX_WHY_CHARS: usize = 200;
/// Characters of a written file's path in an event: the longest that a system takes (Linux `PATH_MAX`), because a resumed
/// run restores the files that events name.
const MAX_PATH_CHARS: usize = 4_096;

/// The answer to one wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The call it answers. `None` for text.
    pub(super) call_id: Option<String>,
    /// The tool's name.
    pub(super) name: String,
    /// The subject of the wish.
    pub(super) subject: String,
    /// The text for the model.
    pub(super) content: String,
    /// Whether it worked.
    pub(super) ok: bool,
}

/// The result of a round of wishes.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// One answer per wish, in order.
    pub(super) answers: Vec<Answer>,
    /// The accepted report.
    pub(super) report: Option<FinalReport>,
    /// Whether a report was tried that is not sound: the next turn is the last (S1-12).
    pub(super) unsound_report: bool,
    /// Why the session cannot go on.
    pub(super) halt: Option<Halt>,
}

/// Why a session cannot go on after its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// A tool failed for good.
    Fatal(String),
    /// Everything is to end.
    Stopped(StopCause),
}

/// A session's tools and what they did so far.
#[derive(Debug)]
pub(super) struct Toolroom {
    role: Role,
    /// The session.
    id: String,
    /// The same, where others are held beside it.
    session_id: String,
    mark: Mark,
    outputs: Outputs,
    /// Files changed, in order of first change.
    pub(super) wrote: Vec<String>,
    /// Runs of the tests.
    pub(super) tests_ran: u32,
    /// Runs of commands.
    pub(super) commands_ran: u32,
    /// Refusals by guards that no event has told yet.
    refusals: Vec<String>,
    /// Files of tests as the model would have had them read.
    pub(super) corrections: BTreeMap<String, String>,
    /// How a tool from outside failed, until the events tell it.
    failed: Option<OutsideError>,
    /// The tools from outside that were told to be gone or silent.
    lost: BTreeSet<String>,
    /// The model's words beside its calls, until the first of them is told.
    pub(super) status: String,
}

/// The result of one action: text for the model, or the end.
type Done = Result<Result<String, String>, Halt>;

impl Toolroom {
    /// The tools of a session that begins.
    pub(super) fn new(spec: &SessionSpec, id: &str) -> Self {
        let outputs = Outputs::new(spec.limits.max_result_bytes, spec.limits.max_tool_bytes);
        Self {
            role: spec.role,
            id: id.to_owned(),
            session_id: spec.shared_id(id),
            mark: spec.mark.clone(),
            outputs,
            wrote: Vec::new(),
            tests_ran: 0,
            commands_ran: 0,
            refusals: Vec::new(),
            corrections: BTreeMap::new(),
            failed: None,
            lost: BTreeSet::new(),
            status: String::new(),
        }
    }

    /// Carries out the wishes of a reply. On the final turn only the report.
    pub(super) async fn carry_out(&mut self, wishes: Vec<Wish>, turn: Turn, ports: &mut Ports<'_>) -> Round {
        let mut round = Round::default();
        let mut failed_write = None;
        let mut rest = wishes.as_slice();
        while let Some((wish, after)) = rest.split_first() {
            if let Some(halt) = ports.stop.raised().filter(|_| round.halt.is_none()).map(Halt::Stopped) {
                round.halt = Some(halt);
            }
            // Reads change nothing, so that neighbours among them may run in any order.
            let reads = if round.halt.is_none() && !turn.is_final { leading_reads(rest) } else { Vec::new() };
            if reads.len() > 1 {
                let (together, later) = rest.split_at(reads.len());
                self.read_together(together, reads, turn, ports, &mut round).await;
                rest = later;
                continue;
            }
            rest = after;
            if let Ok(Action::Meta) = &wish.action {
                round.answers.push(report_answer(wish, None));
                continue;
            }
            if let Ok(Action::HandOver { to, message }) = &wish.action {
                // A report in the same reply says that the model did the task itself.
                let reports = wishes.iter().any(|wish| matches!(wish.action, Ok(Action::Report(_))));
                let refused = round.report.is_some() || round.halt.is_some() || reports;
                round.answers.push(report_answer(wish, refused.then(|| "not accepted: there is a report.".to_owned())));
                let routed = FinalReport::Routed { to: to.clone(), message: message.clone() };
                round.report = round.report.take().or((!refused).then_some(routed));
                continue;
            }
            if let Ok(Action::Report(report)) = &wish.action {
                let accepted = round.report.is_none() && round.halt.is_none();
                // Whoever says that a test is wrong may just have been refused its correction.
                let is_done = !matches!(report, FinalReport::Blocked { .. });
                let refusal = failed_write.as_ref().filter(|_| !turn.is_final && accepted && is_done);
                let refusal = refusal.map(|name| {
                    format!("not accepted: {name} failed in the same reply. See to it, then report again.")
                });
                if accepted && refusal.is_none() {
                    round.report = Some(report.clone());
                }
                round.answers.push(report_answer(wish, refusal));
                continue;
            }
            round.unsound_report |= wish.name == Tool::FinalReport.name();
            let started = ports.clock.monotonic_ms();
            let done = self.one(wish, turn, round.halt.as_ref(), ports).await;
            // A block in text that was not understood was most likely an edit.
            let writes = wish.action.as_ref().is_ok_and(|action| writes(action.tool())) || wish.call_id.is_none();
            if writes && matches!(done, Ok(Err(_))) && wish.name != Tool::FinalReport.name() {
                failed_write = Some(wish.name.clone());
            }
            self.answer(wish, done, ports.clock.monotonic_ms().saturating_sub(started), turn, ports, &mut round);
        }
        if round.halt.is_some() {
            // The report may speak of wishes that were not carried out any more.
            round.report = None;
        }
        round
    }

    /// Runs neighbouring reads side by side.
    async fn read_together(
        &mut self,
        wishes: &[Wish],
        reads: Vec<Action>,
        turn: Turn,
        ports: &mut Ports<'_>,
        round: &mut Round,
    ) {
        let started = ports.clock.monotonic_ms();
        let tasks = reads.into_iter().map(|action| {
            let workspace = Arc::clone(&ports.toolbox.workspace);
            tokio::task::spawn_blocking(move || read(&workspace, &action))
        });
        let stop = ports.stop.clone();
        let all = tokio::select! {
            biased;
            cause = stop.wait() => Err(Halt::Stopped(cause)),
            results = join_all(tasks) => Ok(results),
        };
        let took = ports.clock.monotonic_ms().saturating_sub(started);
        match all {
            Err(halt) => {
                for wish in wishes {
                    self.answer(wish, Err(halt.clone()), took, turn, ports, round);
                }
            }
            Ok(results) => {
                for (wish, result) in wishes.iter().zip(results) {
                    let done = self.sorted(result.unwrap_or_else(|error| Err(ToolError::Fatal(error.to_string()))));
                    self.answer(wish, done, took, turn, ports, round);
                }
            }
        }
    }

    /// Carries out one wish.
    async fn one(&mut self, wish: &Wish, turn: Turn, halted: Option<&Halt>, ports: &mut Ports<'_>) -> Done {
        if halted.is_some() {
            return Ok(Err("not carried out: the session ends.".to_owned()));
        }
        let action = match &wish.action {
            Err(why) => return Ok(Err(why.clone())),
            Ok(_) if turn.is_final => {
                return Ok(Err("not carried out: on the last turn only the report counts.".to_owned()));
            }
            Ok(action) => action,
        };
        let workspace = Arc::clone(&ports.toolbox.workspace);
        match action {
            Action::ListFiles { .. } | Action::ReadFile { .. } | Action::Search { .. } => {
                let action = action.clone();
                let task = tokio::task::spawn_blocking(move || read(&workspace, &action));
                let stop = ports.stop.clone();
                tokio::select! {
                    biased;
                    cause = stop.wait() => Err(Halt::Stopped(cause)),
                    result = task => self.sorted(result.unwrap_or_else(|error| Err(ToolError::Fatal(error.to_string())))),
                }
            }
            Action::EditFile { path, old, new, matching } => {
                let done = edit(&workspace, path, (old, new), *matching);
                self.note_correction(&workspace, path, &done, |text| replaced(text, old, new));
                self.wrote(&workspace, path, done)
            }
            Action::WriteFile { path, content, source } => {
                let done = write(&workspace, path, content, source);
                self.note_correction(&workspace, path, &done, |_| Some(content.clone()));
                self.wrote(&workspace, path, done)
            }
            Action::DeleteFile { path } => {
                let done = workspace.delete_file(path);
                self.wrote(&workspace, path, done)
            }
            Action::RunTests { filter } => {
                let Some(run) = &ports.toolbox.run_tests else {
                    return Ok(Err("there are no tests to run here.".to_owned()));
                };
                self.tests_ran += 1;
                within_stop(run(filter.clone()), ports).await
            }
            Action::RunCommand { command } => {
                let (Some(run), Ok(argv)) =
                    (&ports.toolbox.run_command, words::allowed(command, &ports.toolbox.allow_commands))
                else {
                    return Ok(Err(words::refusal(command, &ports.toolbox.allow_commands)));
                };
                self.commands_ran += 1;
                within_stop(run(argv), ports).await
            }
            Action::Outside { name, arguments } => {
                let Some(outside) = &ports.toolbox.outside else {
                    return Ok(Err(format!("there is no tool `{name}`.")));
                };
                let mut failed = None;
                let (name, arguments, session_id) = (name.clone(), arguments.clone(), self.id.clone());
                let call = (outside.call)(OutsideCall { name, arguments, session_id });
                let done = within_stop(Box::pin(told_apart(call, &mut failed)), ports).await;
                if let Some(cause) = ports.stop.raised().filter(|_| failed.is_some()) {
                    // The stop that ends us ended its source first: nobody goes on without it.
                    return Err(Halt::Stopped(cause));
                }
                self.failed = failed;
                done
            }
            Action::ReadOutput { handle, start, end } => Ok(self.outputs.read(handle, *start, *end)),
            Action::Report(_) | Action::HandOver { .. } | Action::Meta => Ok(Err("the report comes last.".to_owned())),
        }
    }

    fn wrote(&mut self, workspace: &Workspace, path: &str, done: Result<String, ToolError>) -> Done {
        if done.is_ok() {
            // By the name under which a resumed run puts it back.
            let path = workspace.recorded(path).unwrap_or_else(|| path.to_owned());
            if !self.wrote.contains(&path) {
                self.wrote.push(path);
            }
        }
        self.sorted(done)
    }

    /// Keeps what a refused change would have made of a file of tests: it may be the correction of a test that is wrong.
    fn note_correction(
        &mut self,
        workspace: &Workspace,
        path: &str,
        done: &Result<String, ToolError>,
        change: impl FnOnce(&str) -> Option<String>,
    ) {
        if !matches!(done, Err(ToolError::Refused(_))) {
            return;
        }
        let Some(path) = workspace.of_tests(path) else { return };
        // Edits of one file of tests build on each other, although none of them is made.
        let before = match self.corrections.get(&path) {
            Some(text) => Some(text.clone()),
            None => workspace.look(&path).ok().flatten(),
        };
        if let Some(after) = before.and_then(|before| change(&before)) {
            self.corrections.insert(path, after);
        }
    }

    /// Text for the model, or the end. A guard's refusal is noted for reviewers too.
    fn sorted(&mut self, result: Result<String, ToolError>) -> Done {
        if let Err(ToolError::Refused(reason)) = &result {
            self.refusals.push(reason.clone());
        }
        sorted(result)
    }

    /// Between the session's marks: what a tool found is data, also where results are plain text.
    fn fenced(&self, found: &str) -> String {
        self.mark.fence("", &Foreign::revealed(found)).trim_end().to_owned()
    }

    /// Turns what a wish came to into its answer and its event.
    fn answer(&mut self, wish: &Wish, done: Done, took: u64, turn: Turn, ports: &mut Ports<'_>, round: &mut Round) {
        let failed = self.failed.take();
        let exit = failed.as_ref().and_then(|failed| failed.exit).or_else(|| exit_of(wish, &done));
        let (ok, text) = match done {
            Ok(Ok(text)) => (true, text),
            Ok(Err(text)) => (false, text),
            Err(halt) => {
                if matches!(halt, Halt::Stopped(_)) {
                    ports.journal.hasten();
                }
                let text = match &halt {
                    Halt::Fatal(message) => message.clone(),
                    Halt::Stopped(_) => "stopped.".to_owned(),
                };
                round.halt.get_or_insert(halt);
                (false, text)
            }
        };
        let mut text = Foreign::revealed(&ports.redactor.redact(&text)).as_str().to_owned();
        if let Some(note) = &wish.note {
            text.push('\n');
            text.push_str(note);
        }
        let subject = wish.action.as_ref().map_or("", |action| action.subject());
        let subject: String = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let subject: String = subject.chars().take(MAX_SUBJECT_CHARS).collect();
        let written = wish.action.as_ref().ok().and_then(Action::writes_to);
        let written = written.and_then(|path| ports.toolbox.workspace.recorded(path));
        let whose = (self.role, self.id.as_str(), wish.name.as_str());
        let replaced = failed.as_ref().and_then(|failed| failed.replaced(whose, ports.redactor));
        let is_replaced = replaced.is_some();
        let lost = failed.as_ref().and_then(|failed| failed.lost((self.role, &wish.name), ports.redactor));
        // An event of its own says it, now or at an earlier call.
        let is_told = is_replaced || lost.is_some() || !self.refusals.is_empty();
        let lost = lost.filter(|_| self.lost.insert(wish.name.clone()));
        ports.journal.emit(&Event::ToolFinished {
            role: self.role,
            turn: turn.number,
            name: wish.name.clone(),
            subject: written.map_or_else(|| subject.clone(), |path| path.chars().take(MAX_PATH_CHARS).collect()),
            ok,
            duration_ms: took,
            exit: exit.map(|exit| exit.as_str().to_owned()).unwrap_or_default(),
            session_id: self.session_id.clone(),
            status: std::mem::take(&mut self.status),
            why: if ok || is_told { String::new() } else { first_line(&text) },
        });
        replaced.into_iter().for_each(|failure| ports.journal.emit(&Event::ToolFailureReplaced(failure)));
        if let Some(message) = lost {
            ports.journal.emit(&Event::Warning { message });
        }
        for refusal in std::mem::take(&mut self.refusals) {
            let message = format!("refused to the {}: {}", self.role.as_str(), ports.redactor.redact(&refusal));
            ports.journal.emit(&Event::Warning { message });
        }
        // Behind the redaction: parts of a kept output are shown later as they are.
        let admitted = self.outputs.admit(text);
        let content = if is_replaced || in_our_words(wish, ok) { admitted } else { self.fenced(&admitted) };
        round.answers.push(Answer { call_id: wish.call_id.clone(), name: wish.name.clone(), subject, content, ok });
    }
}

/// Which turn tools run in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// One-based.
    pub(super) number: u32,
    /// Whether only the report counts.
    pub(super) is_final: bool,
}

/// How a tool ended, where S1-15 has a name for it.
fn exit_of(wish: &Wish, done: &Done) -> Option<SessionExit> {
    match done {
        Err(Halt::Fatal(_)) => Some(SessionExit::ToolFailure),
        Ok(Err(_)) if wish.action.is_err() && wish.call_id.is_some() && Tool::named(&wish.name).is_none() => {
            Some(SessionExit::ToolNotAvailable)
        }
        Ok(_) | Err(Halt::Stopped(_)) => None,
    }
}

/// Whether an answer quotes nothing: a refusal of the call itself, or a change that was made.
fn in_our_words(wish: &Wish, ok: bool) -> bool {
    wish.action.as_ref().map_or(true, |action| ok && writes(action.tool()))
}

pub(super) const fn writes(tool: Tool) -> bool {
    matches!(tool, Tool::EditFile | Tool::WriteFile | Tool::DeleteFile)
}

/// The reads of files at the beginning of a list of wishes.
fn leading_reads(wishes: &[Wish]) -> Vec<Action> {
    let reads = |wish: &Wish| wish.action.clone().ok().filter(|action| on_threads(action.tool()));
    wishes.iter().map_while(reads).collect()
}

/// Whether a tool only reads files, and may run on a thread of its own.
const fn on_threads(tool: Tool) -> bool {
    matches!(tool, Tool::ListFiles | Tool::ReadFile | Tool::Search)
}

fn report_answer(wish: &Wish, refusal: Option<String>) -> Answer {
    let (subject, ok) = (String::new(), refusal.is_none());
    let content = refusal.unwrap_or_else(|| "accepted".to_owned());
    Answer { call_id: wish.call_id.clone(), name: wish.name.clone(), subject, content, ok }
}

/// The first line that says something, for people who follow the run.
fn first_line(told: &str) -> String {
    let line = told.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MAX_WHY_CHARS).collect()
}

fn sorted(result: Result<String, ToolError>) -> Done {
    match result {
        Ok(text) => Ok(Ok(text)),
        Err(ToolError::ForModel(text) | ToolError::Refused(text)) => Ok(Err(text)),
        Err(ToolError::Fatal(text)) => Err(Halt::Fatal(text)),
    }
}

/// Waits for a tool, but not longer than a moment after a stop.
async fn within_stop(mut tool: ToolFuture<'_>, ports: &Ports<'_>) -> Done {
    tokio::select! {
        biased;
        // A result that is there counts, also where the stop comes at the same moment.
        result = &mut tool => sorted(result),
        cause = ports.stop.wait() => {
            // It watches the same stop and ends its processes; past the grace it is dropped. What it says no longer counts.
            let _ended = tokio::time::timeout(STOP_GRACE, tool).await.is_ok();
            Err(Halt::Stopped(cause))
        }
    }
}

fn read(workspace: &Workspace, action: &Action) -> Result<String, ToolError> {
    match action {
        Action::ListFiles { path, glob } => workspace.list_files(path.as_deref(), glob.as_deref()),
        Action::ReadFile { path, start, end } => workspace.read_file(path, *start, *end),
        Action::Search { pattern, path, glob } => workspace.search(pattern, path.as_deref(), glob.as_deref()),
        Action::EditFile { .. }
        | Action::WriteFile { .. }
        | Action::DeleteFile { .. }
        | Action::RunTests { .. }
        | Action::RunCommand { .. }
        | Action::ReadOutput { .. }
        | Action::Outside { .. }
        | Action::HandOver { .. }
        | Action::Report(_)
        | Action::Meta => Err(ToolError::Fatal("not a read".to_owned())),
    }
}
