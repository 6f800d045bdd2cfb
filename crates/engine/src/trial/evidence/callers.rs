//! The tests with a look at what belongs to their callers: at the lists that they pass in, and at the object whose method refuses. A list that
//! is another one after the call, and was the same without the change, is remarked. So is an object that a refusal leaves as the start's
//! product left it, which refused nothing.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::outcome::Shown;
use super::relations::Treated;
use super::tally;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::{Edit, Left, Source, TestBody, altered_lists, left, made_plain};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// How a test is made to look.
type Looks = fn(&Source, &TestBody, &dyn Fn(&str) -> bool, &str) -> Option<Vec<Edit>>;

/// Treated tests, and the word of each.
struct Looking {
    treated: Treated,
    word: String,
}

impl Looking {
    /// A test's own word.
    fn word_of(&self, test: usize) -> String {
        word_of(&self.word, test)
    }
}

impl Court<'_> {
    /// Has the tests look at what belongs to their callers.
    pub(super) async fn callers(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        self.lists_of_callers(changes).await?;
        self.objects_that_refuse(changes).await?;
        self.parts_of_answers(changes).await?;
        self.behind_keys(changes).await
    }

    async fn lists_of_callers(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let mut looking = self.looking(changes, Source::looks_at_lists);
        // A call that ended in an error at the start did nothing that could be compared.
        looking.treated.retain(|test, _| self.bodies.tests.get(*test).is_none_or(|test| !ended_in_error(test)));
        // The start is the control, and the tree is asked twice before it is remarked.
        for (base, wanted) in [(&tree, true), (&start, false), (&tree, true)] {
            let Some(run) = self.run_treated(base, &looking.treated).await? else { return Ok(()) };
            let (said, word) = (said_in(&run), looking.word.clone());
            looking.treated.retain(|test, _| altered_lists(&said, &word_of(&word, *test)) == wanted);
        }
        for test in looking.treated.into_keys() {
            let said = "a list that the test passes in is another one after the call, and was not without the change";
            self.remark_of_callers(test, said.to_owned());
        }
        Ok(())
    }

    async fn objects_that_refuse(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let looking = self.looking(changes, Source::looks_at_object);
        let Some(with) = self.left_by(&tree, &looking).await? else { return Ok(()) };
        // What holds its answer, or is as it was, is well.
        if !with.values().any(|left| left.altered.is_some() && !left.holds_answer) {
            return Ok(());
        }
        let Some(without) = self.left_by(&start, &looking).await? else { return Ok(()) };
        let is_like = |was: &Left, left: &Left| !was.refused && was.altered.is_some() && was.altered == left.altered;
        for (test, left) in with {
            let Some(was) = without.get(&test).filter(|was| is_like(was, &left)) else { continue };
            if left.refused {
                let said = "its call ends in an error, and leaves the object altered as it did before it refused";
                self.remark_of_callers(test, said.to_owned());
            } else if was.holds_answer && !left.holds_answer {
                let said = "what it answers the object holds no more: that is left as it was without the change";
                self.remark_of_callers(test, said.to_owned());
            }
        }
        Ok(())
    }

    async fn parts_of_answers(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let looking = self.looking(changes, Source::looks_at_answer);
        let Some(without) = self.run_treated(&start, &looking.treated).await? else { return Ok(()) };
        let Some(with) = self.run_treated(&tree, &looking.treated).await? else { return Ok(()) };
        let (without, with) = (said_in(&without), said_in(&with));
        for test in looking.treated.keys().copied() {
            let Some((name, was, is)) = made_plain(&without, &with, &looking.word_of(test)) else { continue };
            let said = format!("`{name}` of its answer was of the type `{was}`, and is of the type `{is}` now");
            let Some(located) = self.bodies.tests.get(test) else { continue };
            let Some(source) = self.bodies.source(located) else { continue };
            // What a test names it looks at.
            let is_named = source.expectations(&located.body).iter().any(|one| source.names_on(one.lines, &name));
            if !is_named {
                let (kind, lines) = (RemarkKind::DropsAPart, Some(located.body.lines));
                self.remarks.push(Remark { kind, file: source.path().to_owned(), lines, said: Some(said) });
            }
        }
        Ok(())
    }

    /// Asks for what stood behind a key that a test wants gone.
    async fn behind_keys(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let mut keys = BTreeMap::new();
        let mut treated = Treated::new();
        for (at, test) in self.bodies.tests.iter().enumerate() {
            let source = self.bodies.source_left_alone(test, changes);
            let (Some(source), Some(line)) = (source, test.failed_at) else { continue };
            if let Some((key, edits)) = source.asks_behind_key(&test.body, line, &word) {
                keys.insert(at, key);
                treated.insert(at, edits);
            }
        }
        // The start is the control: there, too, something stands behind the key.
        for base in [&tree, &start, &tree] {
            let failing = self.that_show(base, &treated, (Shown::Failed, &|_, said| said.contains(&word))).await?;
            treated.retain(|test, _| failing.contains(test));
        }
        for test in treated.into_keys() {
            let Some(located) = self.bodies.tests.get(test) else { continue };
            let file = self.bodies.source(located).map(|source| source.path().to_owned()).unwrap_or_default();
            let key = keys.get(&test).cloned().unwrap_or_default().replace('`', "'");
            let said = format!("what stands behind `{key}` is in the answer still");
            let (kind, lines) = (RemarkKind::FailsForOthers, Some(located.body.lines));
            self.remarks.push(Remark { kind, file, lines, said: Some(said) });
        }
        Ok(())
    }

    async fn left_by(&mut self, base: &TreeId, looking: &Looking) -> Result<Option<BTreeMap<usize, Left>>, TrialError> {
        let Some(run) = self.run_treated(base, &looking.treated).await? else { return Ok(None) };
        let said = said_in(&run);
        let left = |test: &usize| Some((*test, left(&said, &looking.word_of(*test))?));
        Ok(Some(looking.treated.keys().filter_map(left).collect()))
    }

    /// The tests that can look, each with a word of its own.
    fn looking(&self, changes: &[Change], looks: Looks) -> Looking {
        let names = self.definitions(changes);
        let is_meant = |name: &str| names.get(name).is_some_and(|(_, one)| !one.is_container);
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let look = |(at, test): (usize, &super::bodies::Located)| {
            let source = self.bodies.source_left_alone(test, changes)?;
            Some((at, looks(source, &test.body, &is_meant, &word_of(&word, at))?))
        };
        let treated = self.bodies.tests.iter().enumerate().filter_map(look).collect();
        Looking { treated, word }
    }

    fn remark_of_callers(&mut self, test: usize, said: String) {
        let Some(located) = self.bodies.tests.get(test) else { return };
        let file = self.bodies.source(located).map(|source| source.path().to_owned()).unwrap_or_default();
        let (kind, lines) = (RemarkKind::AltersTheCallers, Some(located.body.lines));
        self.remarks.push(Remark { kind, file, lines, said: Some(said) });
    }
}

/// Whether a test failed at the start by an error that no assertion raised: `ValueError: no such mail`.
fn ended_in_error(test: &super::bodies::Located) -> bool {
    let lines = test.said.as_deref().unwrap_or_default().lines();
    let class = |line: &str| {
        let head = line.trim_start_matches("E  ").trim().split(':').next()?.rsplit('.').next()?.to_owned();
        let is_class = head.ends_with("Error") || head.ends_with("Exception");
        (is_class && head.chars().all(char::is_alphanumeric)).then_some(head)
    };
    lines.filter_map(class).next_back().is_some_and(|class| !class.contains("Assert"))
}

fn word_of(word: &str, test: usize) -> String {
    format!("{word}x{test}x")
}

/// All that a run said.
fn said_in(run: &TestRun) -> String {
    let messages: Vec<&str> = run.report.failing().map(|test| test.message.as_str()).collect();
    format!("{}\n{}", messages.join("\n"), run.output)
}
