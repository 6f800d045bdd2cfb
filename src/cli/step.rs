//! The step of a workflow that upshift runs in: outputs, job summary, annotations, masks, exit code (DESIGN §2.6).
//!
//! Invariants: all text that leaves here is redacted. Nothing here changes the outcome of a run, and a text that cannot be written is a
//! warning.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::Failure;
use super::environment::Environment;
use crate::config::FailOn;
use crate::domain::ci::CiContext;
use crate::domain::finding::Standing;
use crate::domain::outcome::{EXIT_INTERNAL, EXIT_PARKED, EXIT_REFUSED, Outcome};
use crate::domain::units::RunId;
use crate::redact::Redactor;
use crate::report::annotations;
use crate::report::markdown::{self, Surface};
use crate::report::outputs::{self, Places};
use crate::report::view::RunView;
use crate::report::workflow_command::{self, Annotation};

/// The variable that names the file for a step's outputs.
const OUTPUT: &str = "GITHUB_OUTPUT";
/// The variable that names the file for the summary of a step.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// Set by `action.yml`: upshift is the step itself, not a part of somebody's script whose output may go elsewhere.
const IN_THE_ACTION: &str = "UPSHIFT_ACTION";
/// The report's files in the run's own folder.
const REPORT: &str = "report.md";
const PAGE: &str = "report.html";

/// A step of a workflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    environment: &'a Environment,
}

/// A run that ended, as a step tells of it.
#[derive(Debug)]
pub(super) struct Ended<'e> {
    /// The run.
    pub(super) view: &'e RunView,
    /// Its change, if it is fixed or no branch holds it.
    pub(super) patch: &'e str,
    /// The report as a page for a browser.
    pub(super) page: &'e str,
    /// Where the audit log lies.
    pub(super) audit_db: Option<PathBuf>,
    /// Where the run's own folder goes.
    pub(super) state_home: PathBuf,
    /// The event that triggered it.
    pub(super) context: Option<&'e CiContext>,
    /// Takes secrets out.
    pub(super) redactor: &'e Redactor,
}

impl<'a> Step<'a> {
    /// The step this process runs in, if it does.
    pub(super) fn of(environment: &'a Environment) -> Option<Self> {
        environment.in_actions().then_some(Self { environment })
    }

    /// Whether upshift is the Action's own step.
    pub(super) fn is_the_action(self) -> bool {
        self.environment.get(IN_THE_ACTION) == Some("true")
    }

    /// Has the runner mask every secret in the log, also those that no `secrets.*` gave it. Only as the Action's own step: in a
    /// script whose output goes into a file, the lines would put the secrets there.
    pub(super) fn hide(self, secrets: &[SecretString]) {
        if self.is_the_action() {
            // A key may be known by its variable's name and as the plan's.
            let masks: BTreeSet<String> =
                secrets.iter().flat_map(|secret| workflow_command::add_masks(secret.expose_secret())).collect();
            // Each value once, since the runner keeps every mask and compares each line with all of them.
            masks.iter().for_each(|line| command(line));
        }
    }

    /// A report for standard output in which nothing is a command, whatever tests and models wrote.
    pub(super) fn inert(self, report: &str) -> String {
        // A fixed word could be printed by a test, which would then give commands again.
        workflow_command::stopped(report, &token())
    }

    /// Tells the runner how the run ended. Failures to tell it come back as warnings.
    pub(super) fn finish(self, ended: &Ended<'_>) -> Vec<String> {
        let mut warnings = Vec::new();
        // The run's words go through the redactor like any other output: an annotation stands on the page for good.
        for line in annotations::of_run(ended.view) {
            command(&ended.redactor.redact(&line));
        }
        let report = markdown::render_with_patch(ended.view, Surface::Summary, "summary", ended.patch);
        let report = ended.redactor.redact(&report);
        // Several steps share one summary, and above 1 MiB GitHub drops the whole of it.
        let written = self.environment.get(SUMMARY).and_then(|path| std::fs::metadata(path).ok());
        let written = written.map_or(0, |file| usize::try_from(file.len()).unwrap_or(usize::MAX));
        let summary = markdown::summary_behind(ended.view, ended.patch, written);
        warnings.extend(self.append(SUMMARY, &ended.redactor.redact(&summary)));
        let mut kept = |name: &str, text: &str| {
            let run = ended.view.run.as_ref()?;
            // The folder has the run's name, so that two runs of one job keep a report each.
            keep(&ended.state_home.join(run.run_id.short()).join(name), text)
                .map_err(|warning| warnings.push(warning))
                .ok()
        };
        let path = kept(REPORT, &report);
        // The page is a comfort. Nobody is told a path of it.
        let _page = kept(PAGE, ended.page);
        let places = Places {
            audit_db: ended.audit_db.as_ref().map(|path| path.display().to_string()),
            report: path.map(|path| path.display().to_string()),
            pull_request: ended.context.and_then(CiContext::pull_request_number),
        };
        // Last, since the outputs name the files that were just written.
        warnings.extend(self.tell(&outputs::of_run(ended.view, &places)));
        warnings
    }

    /// Tells the runner that no run took place, and returns the step's exit code.
    pub(super) fn failed(self, failure: &Failure) -> u8 {
        let Failure { message, code, harmless, passing: _ } = failure;
        let message = self.redacted(message);
        let (kind, summary) = if *harmless {
            (Annotation::Notice, markdown::not_needed(&message))
        } else {
            (Annotation::Error, markdown::no_run(&message))
        };
        // An annotation is seen on the page of the workflow, where nobody opens the step's log.
        command(&workflow_command::annotation(kind, "upshift", &message));
        let refused = (*code == EXIT_REFUSED).then(|| Outcome::Refused { reason: message.clone() });
        let warnings = [self.append(SUMMARY, &summary), self.tell(&outputs::of_nothing(refused.as_ref()))];
        warnings.into_iter().flatten().for_each(|warning| super::say(&format!("⚠ {warning}")));
        // The configuration may not even have been read; what fails a step may be named in the variable all the same.
        let words = self.environment.get("UPSHIFT_FAIL_ON");
        let fail_on: Option<Vec<FailOn>> = words
            .map(|words| words.split([',', ' ', '\n']).filter_map(|word| FailOn::from_word(word.trim())).collect());
        match (refused, fail_on) {
            // A refusal that asks nobody for anything must not make a job red, unless somebody said so.
            (Some(_), None) if *harmless => 0,
            (Some(outcome), fail_on) => exit_code(&outcome, fail_on.as_deref()),
            (None, _) => *code,
        }
    }

    /// Tells the runner the finding about a change. Failures to tell it come back as warnings.
    pub(super) fn judged(self, summary: &str, standing: Standing) -> Vec<String> {
        let word = serde_json::to_value(standing).ok().and_then(|word| word.as_str().map(str::to_owned));
        let values = [(outputs::OF_JUDGE, word.unwrap_or_default())];
        self.append(SUMMARY, summary).into_iter().chain(self.tell(&values)).collect()
    }

    /// Tells the runner early under which name the audit log is to be kept: the step may be killed.
    pub(super) fn keep_log_as(self, artifact: &str) {
        if let Some(warning) = self.tell(&[("artifact", artifact.to_owned())]) {
            super::say(&format!("⚠ {warning}"));
        }
    }

    /// Tells the runner whether a run may start. Here a file that cannot be written is an error: the job's other steps read it.
    ///
    /// # Errors
    /// The outputs cannot be written (exit 70).
    pub(super) fn tell_gate(self, values: &[(&'static str, String)]) -> anyhow::Result<()> {
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, self.redacted(value))).collect();
        self.tell(&values)
            .map_or(Ok(()), |warning| Err(Failure::with_code(EXIT_INTERNAL, format!("upshift: {warning}"))))
    }

    fn redacted(self, text: &str) -> String {
        Redactor::new(&self.environment.secrets()).redact(text).into_owned()
    }

    fn tell(self, values: &[(&'static str, String)]) -> Option<String> {
        // A value may hold any line, so that the end mark must be one that nobody could write into it.
        self.append(OUTPUT, &outputs::render(values, &token()))
    }

    /// Appends to a file that the runner reads after the step. A file that is not named is not read. Returns the warning where it could not
    /// be written.
    fn append(self, variable: &str, text: &str) -> Option<String> {
        let path = self.environment.get(variable)?;
        let mut open = OpenOptions::new();
        // Other steps have written into the same file. It is only ever added to.
        let written = open.append(true).create(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
        let without =
            if variable == OUTPUT { "this step has no outputs" } else { "the report is only in the step's log" };
        written.err().map(|error| format!("{variable} could not be written: {error}; {without}"))
    }
}

/// The exit code of the step: that of the outcome, where such an outcome is to fail the step (`fail-on`), else 0.
pub(super) fn exit_code(outcome: &Outcome, fail_on: Option<&[FailOn]>) -> u8 {
    let code = outcome.exit_code();
    let fails = match fail_on {
        Some(named) => named.iter().any(|word| word.as_str() == outcome.as_str()),
        // A run that waits is no failure: it goes on by itself.
        None => code != EXIT_PARKED,
    };
    if fails { code } else { 0 }
}

/// Writes a report into the run's own folder.
fn keep(path: &Path, report: &str) -> Result<PathBuf, String> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, report));
    written
        .map(|()| path.to_owned())
        .map_err(|error| format!("the report could not be kept at {}: {error}", path.display()))
}

/// Something that nobody could foresee.
fn token() -> String {
    format!("upshift-{}", RunId::random())
}

/// Writes a workflow command to standard error, since standard output holds the report.
fn command(line: &str) {
    let _closed = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_fails_with_the_outcomes_that_are_named_and_by_default_with_all_but_success_and_parked() {
        let exhausted = Outcome::Exhausted;
        let fixed = Outcome::Fixed { tier_index: 0, iteration: 1 };
        assert_eq!(exit_code(&fixed, None), 0);
        assert_eq!(exit_code(&exhausted, None), 1);
        assert_eq!(exit_code(&Outcome::Budget, None), 3);
        assert_eq!(exit_code(&Outcome::Parked, None), 0);
        assert_eq!(exit_code(&exhausted, Some(&[FailOn::Budget])), 0);
        assert_eq!(exit_code(&Outcome::Budget, Some(&[FailOn::Stalled, FailOn::Budget])), 3);
        assert_eq!(exit_code(&Outcome::Parked, Some(&[FailOn::Parked])), EXIT_PARKED);
        assert_eq!(exit_code(&fixed, Some(&[FailOn::Exhausted])), 0);
        assert_eq!(exit_code(&Outcome::Interrupted { signal: 2 }, None), 130);
    }

    #[test]
    fn no_line_of_a_message_is_a_command() {
        let shown = super::super::output::inert_lines("✖ no\n  ::error::x\n##[add-mask]a");
        assert!(!shown.lines().any(|line| line.trim_start().starts_with("::") || line.contains("##[")), "{shown}");
    }
}
