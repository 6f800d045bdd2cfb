//! Tests that cannot be called one by one, as a whole in other surroundings: a test that then fails as it did at the start leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::{bodies, outcome, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;
use crate::test_run::TestRun;
use crate::test_run::direct::{self, cargo};
use crate::test_run::elsewhere::{self, Elsewhere, Moved, Place};

impl Court<'_> {
    /// Runs the tests in other surroundings, where they were not called one by one.
    pub(super) async fn elsewhere(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let tests = self.runs.bench.tests;
        if direct::can_call(tests) || cargo::can_call(tests) {
            return Ok(());
        }
        if let Some(twice) = elsewhere::twice(tests)
            && let Some(test) = self.fails_as_named(&|| Some(twice.clone().into())).await?
        {
            self.remark_surroundings(RemarkKind::RightInRunnerOnly, &test);
        }
        if self.baseline.failing.is_empty() || self.bodies.tests.is_empty() {
            return self.as_a_whole().await;
        }
        let named = self.named(changes);
        let in_production = || {
            let mut other = elsewhere::in_production(tests);
            elsewhere::set(&mut other.command.env, &named);
            Some(other)
        };
        if let Some(test) = self.fails_as_named(&in_production).await? {
            self.remark_surroundings(RemarkKind::RightHereOnly, &test);
        }
        Ok(())
    }

    /// The variables that a change may ask for and that are not set where the tests run.
    pub(super) fn named(&self, changes: &[Change]) -> Vec<String> {
        let lines: Vec<(u32, String)> = changes.iter().flat_map(added_lines).collect();
        elsewhere::named(&self.runs.bench.tests.env, lines.iter().map(|(_, line)| line.as_str()))
    }

    /// A test that fails in the words of the start, by a command.
    async fn fails_as_named(&mut self, command: &dyn Fn() -> Option<Elsewhere>) -> Result<Option<String>, TrialError> {
        let wanted = self.baseline.failing.join("\n");
        let Some(run) = self.runs.by(command, self.tree, &BTreeMap::new(), Some(&wanted)).await? else {
            return Ok(None);
        };
        if run.exit.is_success() || outcome::did_not_run(&run) {
            return Ok(None);
        }
        let as_it_was = |name: &&String| {
            let said = self.baseline.said.get(*name).map(|said| said.trim());
            said.is_some_and(|said| {
                // Two failures without a word cannot be told apart.
                !said.is_empty() && run.report.failing().any(|test| test.name == **name && test.message.trim() == said)
            })
        };
        Ok(self.baseline.failing.iter().find(as_it_was).cloned())
    }

    /// The same where no test has a name of its own: the whole output is that of the start.
    async fn as_a_whole(&mut self) -> Result<(), TrialError> {
        let start: TreeId = self.start.clone();
        let Some(before) = self.in_place(&start, &Place::Called).await? else { return Ok(()) };
        let command = self.runs.bench.tests.command.clone();
        let mut places = vec![Place::Called, Place::Other];
        let texts = bodies::files_of_tests(self.runs.bench, self.start)?;
        let script = texts.iter().find_map(|(path, _)| {
            let (folder, _) = path.split_once('/')?;
            Some(Moved {
                from: path.clone(),
                folder: folder.to_owned(),
                to: tally::word(uuid::Uuid::new_v4().as_u128()),
            })
        });
        places.extend(script.filter(|script| script.from.matches('/').count() == 1).map(Place::Moved));
        for place in places {
            let Some(run) = self.in_place(self.tree, &place).await? else { return Ok(()) };
            let fails = !run.exit.is_success() && !before.exit.is_success();
            if fails && !said(&run).is_empty() && said(&run) == said(&before) {
                self.remark_surroundings(RemarkKind::RightHereOnly, &command);
                return Ok(());
            }
        }
        Ok(())
    }

    async fn in_place(&mut self, tree: &TreeId, place: &Place) -> Result<Option<TestRun>, TrialError> {
        let tests = self.runs.bench.tests;
        self.runs.by(&|| elsewhere::elsewhere(tests, place), tree, &BTreeMap::new(), None).await
    }

    fn remark_surroundings(&mut self, kind: RemarkKind, what: &str) {
        // The place is the test's, where it is known.
        let place = self.baseline.failed_at.get(what).map(|(file, _)| file.clone());
        let file = place.or_else(|| {
            let located = self.bodies.tests.iter().find(|test| test.names.iter().any(|name| name == what))?;
            self.bodies.source(located).map(|source| source.path().to_owned())
        });
        let remark = Remark { kind, file: file.unwrap_or_default(), lines: None, said: Some(format!("`{what}`")) };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}

/// The output of a command, without the lines that depend on the call.
fn said(run: &TestRun) -> Vec<&str> {
    let lines = run.output.lines().map(str::trim);
    // `make: Entering directory '/tmp/x'` names the place.
    lines.filter(|line| !line.is_empty() && !line.starts_with("make")).collect()
}
