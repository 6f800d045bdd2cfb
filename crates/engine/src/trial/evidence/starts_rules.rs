//! The tests by the build files and manifests of the start: what a change alters of how they are run, it may not need.
//!
//! First all of them are the start's. Where the tests do not pass so, since the change needs what it adds, only what they say about tests
//! is put back: where that alone makes the tests fail as they did at the start, it is what made them pass.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::super::judging;
use super::court::Court;
use super::outcome;
use crate::domain::proof::EvidenceKind;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::tamper::Change;
use crate::policy::tamper::build::{is_build_file, merged, telling_line};
use crate::test_run::TestRun;

impl Court<'_> {
    /// Runs the tests with the start's build files, where the change alters some.
    pub(super) async fn starts_rules(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let altered: Vec<&Change> =
            changes.iter().filter(|one| is_build_file(&one.path) && !one.may_edit_tests).collect();
        if altered.is_empty() {
            return Ok(());
        }
        let all = self.all();
        // Entered before anything runs: by that `is_asked` knows that there is a question.
        self.tally.entry(EvidenceKind::StartsRules).or_default();
        let Some(run) = self.with_the_starts(&altered).await? else {
            self.rules().out_of_time = true;
            self.remark_on(&altered, RemarkKind::NeedsItsBuild);
            return Ok(());
        };
        if self.is_green(&run) {
            let tally = self.rules();
            (tally.tried, tally.noticed) = (all, all);
            self.remark_on(&altered, RemarkKind::AltersBuild);
            return Ok(());
        }
        let (mut texts, mut parts) = (BTreeMap::new(), Vec::new());
        for change in &altered {
            if let Some(merged) = merged(change) {
                texts.insert(change.path.clone(), merged.text);
                parts.push(format!("{} ({})", change.path, merged.parts.join(", ")));
            }
        }
        if texts.is_empty() || !self.fails_as_at_the_start(&texts).await? {
            let paths: Vec<&str> = altered.iter().map(|change| change.path.as_str()).collect();
            let why = format!("the tests do not pass without the change's own {}", paths.join(", "));
            self.rules().not_had.push(why);
            self.remark_on(&altered, RemarkKind::NeedsItsBuild);
            return Ok(());
        }
        let tally = self.rules();
        (tally.tried, tally.accused) = (all, parts);
        Ok(())
    }

    fn rules(&mut self) -> &mut super::tally::Tally {
        self.tally.entry(EvidenceKind::StartsRules).or_default()
    }

    /// The changed product with the start's build files, where new ones are gone. `None` when the time is up.
    async fn with_the_starts(&mut self, altered: &[&Change]) -> Result<Option<TestRun>, TrialError> {
        let workspace = self.runs.bench.workspace;
        let paths: BTreeSet<String> = altered.iter().map(|change| change.path.clone()).collect();
        let tree: TreeId = workspace.with_files_of(self.tree, self.start, &paths, &BTreeMap::new())?;
        // Written anew, so that build tools see files of another time.
        let text = |change: &&&Change| Some((change.path.clone(), change.before.clone()?));
        let texts = altered.iter().filter(|change| change.after.is_some()).filter_map(|change| text(&change)).collect();
        self.runs.whole(&tree, &texts).await
    }

    fn is_green(&self, run: &TestRun) -> bool {
        judging::judged_by(self.runs.bench, run).verdict == Verdict::Green
    }

    /// Whether, with these texts, the tests fail twice in the words of the start.
    async fn fails_as_at_the_start(&mut self, texts: &BTreeMap<String, String>) -> Result<bool, TrialError> {
        for _ in 0..2 {
            let Some(run) = self.runs.whole(self.tree, texts).await? else { return Ok(false) };
            let said = |name: &str| self.baseline.said.get(name).map(String::as_str);
            let as_it_was = |name: &String| {
                run.report
                    .failing()
                    .any(|test| test.name == *name && said(name).is_none_or(|said| test.message.starts_with(said)))
            };
            // Where no test had a name at the start, the exit is all there is.
            let silent = self.baseline.failing.is_empty() && !run.exit.is_success();
            let fails = silent || self.baseline.failing.iter().any(as_it_was);
            if outcome::did_not_run(&run) || self.is_green(&run) || !fails {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Names the lines that a reviewer should see, if there are any.
    fn remark_on(&mut self, altered: &[&Change], kind: RemarkKind) {
        for change in altered {
            if let Some((number, line)) = telling_line(change, kind == RemarkKind::NeedsItsBuild) {
                let lines = number.map(|number| (number, number));
                let said = Some(format!("`{line}`"));
                self.remarks.push(Remark { kind, file: change.path.clone(), lines, said });
            }
        }
    }
}
