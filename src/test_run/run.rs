//! Runs the test command and reads what it prints while it prints.
//!
//! Invariant: a JUnit file is believed only when this run wrote it, and only when it is a regular file inside the
//! folder the command ran in (repository content may be hostile).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::parse::{self, Parser};
use super::{TestCommand, TestRun, filter, results};
use crate::domain::stop::Stop;
use crate::domain::test_report::{RunKind, RunStatus, TestReport, TestStatus};
use crate::domain::verdict::Exit;
use crate::files;
use crate::process::{self, ProcessError, Program, Spec};

/// How much output is kept from the beginning, and as much from the end: enough for any model and any comment.
const KEPT_OUTPUT: usize = 128 * 1024;
/// The most of a JUnit file that is read.
const LONGEST_JUNIT: u64 = 512 * 1024 * 1024;
/// The most files that are read where the JUnit path is a folder (Maven and Gradle write one per class).
const MOST_JUNIT_FILES: usize = 20_000;

/// See [`super::run`].
pub(super) async fn run(command: &TestCommand, wanted: Option<&str>, stop: &Stop) -> Result<TestRun, ProcessError> {
    let framework = command.framework.as_deref();
    let line = wanted.and_then(|wanted| filter::with_filter(&command.command, framework, wanted));
    let told = results::tell(command, line.unwrap_or_else(|| command.command.clone()));
    let spec = Spec {
        program: Program::Shell(told.line.clone()),
        cwd: command.cwd.clone(),
        env: told.env.clone(),
        stdin: Vec::new(),
        timeout: command.timeout,
        keep: KEPT_OUTPUT,
        merge_stderr: true,
        confinement: command.confinement.clone(),
    };
    let before = command.junit.as_deref().map(|path| Files::at(&command.cwd, path));
    let mut parser = Parser::new(framework);
    let finished = process::run(&spec, stop, &mut |chunk| parser.push(chunk)).await?;
    let printed = parser.finish(Some(finished.exit), framework);
    let written = before.and_then(|before| before.read_new(finished.exit, framework));
    Ok(TestRun {
        exit: finished.exit,
        report: choose(printed, written),
        filed: told.read(finished.exit),
        output: told.without_mention(parse::plain_text(&finished.output)),
        duration_ms: finished.duration_ms,
        stopped: finished.stopped,
    })
}

/// The JUnit files of a command, as they were before it ran.
#[derive(Debug)]
struct Files {
    root: PathBuf,
    path: PathBuf,
    before: Vec<(PathBuf, Option<SystemTime>, u64)>,
}

impl Files {
    fn at(root: &Path, path: &Path) -> Self {
        let path = root.join(path);
        let before =
            list(&path).into_iter().filter_map(|file| Some(stamp(&file)?).map(|(time, size)| (file, time, size)));
        Self { root: root.to_owned(), before: before.collect(), path }
    }

    /// Reads those that are new or changed.
    fn read_new(&self, exit: Exit, framework: Option<&str>) -> Option<TestReport> {
        let root = files::real_place(&self.root).ok()?;
        let mut parser = Parser::new(framework);
        let mut any = false;
        for file in list(&self.path) {
            let Some((time, size)) = stamp(&file) else { continue };
            if self.before.iter().any(|known| *known == (file.clone(), time, size)) {
                continue;
            }
            // No link may lead out of the tree.
            if !files::real_place(&file).is_ok_and(|real| real.starts_with(&root)) {
                continue;
            }
            any |= push_file(&mut parser, &file).is_ok();
        }
        any.then(|| parser.finish(Some(exit), framework))
    }
}

fn push_file(parser: &mut Parser, file: &Path) -> std::io::Result<()> {
    let mut reader = File::open(file)?.take(LONGEST_JUNIT);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = reader.read(&mut chunk)?;
        if count == 0 {
            parser.push(b"\n");
            return Ok(());
        }
        parser.push(chunk.get(..count).unwrap_or_default());
    }
}

/// The file itself, or the XML files of a folder.
fn list(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = path.read_dir() else { return Vec::new() };
    let is_xml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "xml");
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_xml).take(MOST_JUNIT_FILES).collect();
    files.sort();
    files
}

/// When a regular file was changed, and its size; `None` for anything else.
fn stamp(file: &Path) -> Option<(Option<SystemTime>, u64)> {
    let metadata = file.symlink_metadata().ok()?;
    metadata.is_file().then(|| (metadata.modified().ok(), metadata.len()))
}

/// The JUnit report where it is whole, with the trouble that only the output shows; else what was printed.
fn choose(printed: TestReport, written: Option<TestReport>) -> TestReport {
    let Some(mut written) = written else { return printed };
    if written.kind == RunKind::Unreadable || (written.tests.is_empty() && !printed.tests.is_empty()) {
        return printed;
    }
    if written.framework == "junit" && printed.framework != "generic" {
        written.framework = printed.framework;
    }
    // A file cannot take back what the output shows: a crash after it was written, failures it does not hold.
    let worse = match printed.status {
        RunStatus::Passed => false,
        RunStatus::Failed => written.status != RunStatus::Failed,
        RunStatus::Error => written.status == RunStatus::Passed && printed.kind != RunKind::Unreadable,
    };
    if worse {
        written.status = printed.status;
        written.kind = printed.kind;
        written.tests.extend(
            printed.tests.into_iter().filter(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error)),
        );
    }
    written.problems.extend(printed.problems);
    written
}

#[cfg(test)]
mod tests;
