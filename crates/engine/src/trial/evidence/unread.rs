//! Files that a change adds and no experiment can read: data, templates, code under another name. Where the tests that failed need one of
//! them, a remark sends the reviewer there, since neither its values nor its decisions were tried. Files that were there before are the
//! repository's own way of writing, and the reviewer sees their changed lines.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::outcome;
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::is_read;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// The most files that are emptied one by one. More are remarked together.
const MOST_FILES: usize = 4;

impl Court<'_> {
    /// Remarks the files without which the tests that failed fail again.
    pub(super) async fn unread(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        let is_unread = |change: &&Change| {
            let is_new = change.before.is_none() && change.after.is_some() && !change.may_edit_tests;
            is_new && !is_read(&change.path, change.after.as_deref().unwrap_or_default())
        };
        // What is remarked of a file already sends the reviewer there.
        let is_told = |change: &&Change| self.remarks.iter().any(|remark| remark.file == change.path);
        let mut files: Vec<&Change> = changes.iter().filter(is_unread).filter(|change| !is_told(change)).collect();
        if files.is_empty() || !self.needs(green, &files).await? {
            return Ok(());
        }
        if (2..=MOST_FILES).contains(&files.len()) {
            let mut needed = Vec::new();
            for file in &files {
                if self.needs(green, &[*file]).await? {
                    needed.push(*file);
                }
            }
            // Each alone may go where one stands in for the other.
            if !needed.is_empty() {
                files = needed;
            }
        }
        for file in files {
            let said =
                "the tests need it, and no experiment reads it: check whether it contains rules, or only answers";
            let (kind, file, said) = (RemarkKind::UntestedChoice, file.path.clone(), Some(said.to_owned()));
            self.remarks.push(Remark { kind, file, lines: None, said });
        }
        Ok(())
    }

    /// Whether the tests that failed at the start are no longer green when files are empty.
    async fn needs(&mut self, green: &TestRun, files: &[&Change]) -> Result<bool, TrialError> {
        let texts: BTreeMap<String, String> = files.iter().map(|change| (change.path.clone(), String::new())).collect();
        let run = self.of_failed(&texts).await?;
        Ok(run.is_some_and(|run| outcome::did_not_run(&run) || !is_green(&run, green)))
    }
}
