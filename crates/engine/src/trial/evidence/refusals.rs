//! Functions of the change that are called as the tests call them, with the tests' own values and with others in their place, over the
//! start and over the change: a program that refused some of them and refuses none any more accepts what nobody asked it to accept. One
//! that no longer waits for what it is given to call is remarked, too.
//!
//! The control is the start: what it did not refuse, or refused as it refused the test's own value, the change may answer, and what it said
//! of other values the change may say of all. It only ever leaves a remark.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::court::Court;
use super::{outcome, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::probe::{self, Became, Family, Probe, Told, Value};
use crate::framework::source::{Definition, Edit, Outline, functions};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

/// Tests that are asked at most.
const MOST_ASKED: usize = 12;
/// Refusals that are gone are at least so many.
const FEWEST_OF_A_FAMILY: usize = 2;
const FEWEST_OF_ALL: usize = 3;
/// A program may pass over what is added at the end of a text.
const SPOILT_BY_CHANCE: usize = 2;
/// The written forms of no value at all.
const NO_VALUES: [&str; 2] = ["None", "null"];
/// The codes of the answers yes and nothing.
const YES: &str = "t";
const NOTHING: [&str; 2] = ["0", "00"];
/// A test's own value of more characters is not shown.
const MOST_OF_OWN: usize = 60;
/// Refused values that a remark shows at most.
const MOST_SHOWN: usize = 3;

/// A test's probe, by its number.
struct Asked {
    test: usize,
    word: String,
    probe: Probe,
}

impl Court<'_> {
    /// Calls the changed functions with other values, before and after the change.
    pub(super) async fn refusals(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let functions = self.functions(changes);
        let is_meant = |name: &str| functions.contains_key(name);
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let asked: Vec<Asked> = (0..self.bodies.tests.len())
            .filter_map(|test| {
                let located = self.bodies.tests.get(test)?;
                // In a file of the product the start's tests stand elsewhere.
                let source = self
                    .bodies
                    .source(located)
                    .filter(|source| changes.iter().all(|one| one.path != source.path() || one.may_edit_tests))?;
                let word = format!("{word}x{test}x");
                Some(Asked { test, probe: source.probed(&located.body, &is_meant, &word)?, word })
            })
            .take(MOST_ASKED)
            .collect();
        if asked.is_empty() {
            return Ok(());
        }
        // A value that nobody thought of may have no end.
        self.runs.hurry(true);
        let compared = self.compared(&asked).await;
        self.runs.hurry(false);
        let mut said: BTreeSet<(&str, String)> = BTreeSet::new();
        for (probe, before, after) in compared? {
            let Some((file, line)) = functions.get(probe.function.as_str()) else { continue };
            let change = changes.iter().find(|change| change.path == *file);
            let cut = change.map(|change| asked_by_what_is_gone(change, *line)).unwrap_or_default();
            let gone = refused_no_more(&probe.values, &before, &after, &cut)
                .or_else(|| takes_spoilt(&probe.values, &before, &after));
            let gone = gone.map(|said| (RemarkKind::RefusesNoMore, said));
            let left = awaits_no_more(&before, &after).map(|said| (RemarkKind::AwaitsNoMore, said));
            for (kind, what) in gone.into_iter().chain(left) {
                if said.insert((kind.as_str(), probe.function.clone())) {
                    let said = Some(format!("`{}` {what}", probe.function));
                    let lines = Some((*line, *line));
                    self.remarks.push(Remark { kind, file: file.clone(), lines, said });
                }
            }
        }
        Ok(())
    }

    /// The functions of the changed files that both sides define, by their names: each one's file and line.
    fn functions(&self, changes: &[Change]) -> BTreeMap<String, (String, u32)> {
        let all = self.definitions(changes).into_iter().filter(|(_, (_, one))| !one.is_container);
        let mut all: BTreeMap<_, _> = all.map(|(name, (file, one))| (name, (file, one.line))).collect();
        for change in changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path)) {
            let read = |text: &Option<String>| functions(&change.path, text.as_deref().unwrap_or_default());
            let was: BTreeSet<String> = read(&change.before).into_iter().map(|(name, _)| name).collect();
            for (name, line) in read(&change.after).into_iter().filter(|(name, _)| was.contains(name)) {
                all.entry(name).or_insert_with(|| (change.path.clone(), line));
            }
        }
        all
    }

    /// The functions and classes of the changed files that both sides define, by their names.
    pub(super) fn definitions(&self, changes: &[Change]) -> BTreeMap<String, (String, Definition)> {
        let mut functions = BTreeMap::new();
        for change in changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path)) {
            let read = |text: &Option<String>| Outline::read(&change.path, text.as_deref()?);
            let (Some(before), Some(after)) = (read(&change.before), read(&change.after)) else { continue };
            let was: BTreeSet<&str> = before.definitions().iter().map(|one| one.name.as_str()).collect();
            let is_kept = |one: &&Definition| was.contains(one.name.as_str());
            for one in after.definitions().iter().filter(is_kept) {
                functions.entry(one.name.clone()).or_insert_with(|| (change.path.clone(), one.clone()));
            }
        }
        functions
    }

    /// What the probes told over the start and over the change. Those that told nothing over one of them are left out.
    async fn compared<'a>(&mut self, asked: &'a [Asked]) -> Result<Vec<(&'a Probe, Told, Told)>, TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let after = self.told_by(&tree, asked).await?;
        let open: Vec<&Asked> = asked.iter().filter(|one| after.contains_key(&one.test)).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut before = self.told_by(&start, asked).await?;
        let both = |one: &&'a Asked| Some((&one.probe, before.remove(&one.test)?, after.get(&one.test)?.clone()));
        Ok(open.iter().filter_map(both).collect())
    }

    async fn told_by(&mut self, base: &TreeId, asked: &[Asked]) -> Result<BTreeMap<usize, Told>, TrialError> {
        let mut texts = BTreeMap::new();
        for (at, source) in self.bodies.sources.iter().enumerate() {
            let is_inside = |one: &&Asked| self.bodies.tests.get(one.test).is_some_and(|test| test.source == at);
            let edits: Vec<Edit> = asked.iter().filter(is_inside).map(|one| one.probe.edit.clone()).collect();
            if !edits.is_empty()
                && let Some(text) = source.edited(&edits)
            {
                texts.insert(source.path().to_owned(), text);
            }
        }
        let Some(run) = self.of_failed_on(base, &texts).await? else { return Ok(BTreeMap::new()) };
        if texts.is_empty() || outcome::did_not_run(&run) {
            return Ok(BTreeMap::new());
        }
        let said = |one: &Asked| {
            let mut messages = run.report.failing().map(|test| test.message.as_str()).chain([run.output.as_str()]);
            messages.find_map(|message| probe::told(message, &one.word))
        };
        Ok(asked.iter().filter_map(|one| Some((one.test, said(one)?))).collect())
    }
}

/// The places of the parameters that are named by the lines which a change takes out of a file. None where it adds something.
fn asked_by_what_is_gone(change: &Change, head: u32) -> BTreeSet<usize> {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return BTreeSet::new() };
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<BTreeSet<String>>();
    let (was, is) = (lines(before), lines(after));
    if !is.is_subset(&was) {
        return BTreeSet::new();
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let words = |line: &String| line.split(|c| !is_word(c)).map(str::to_owned).collect::<Vec<_>>();
    let named: BTreeSet<String> = was.difference(&is).flat_map(words).collect();
    let head = usize::try_from(head).ok().and_then(|line| after.lines().nth(line.checked_sub(1)?)).unwrap_or_default();
    let given = head.split_once('(').map_or("", |(_, given)| given.split(')').next().unwrap_or_default());
    // Python's own object is passed by nobody.
    let given = given.split(',').filter(|one| !["self", "cls"].contains(&one.trim()));
    // `string $name`, `name: str`, `name = 3`.
    let name = |one: &str| {
        let name = one.split([':', '=']).next().unwrap_or_default();
        name.split(|c| !is_word(c)).rfind(|word| !word.is_empty()).unwrap_or_default().to_owned()
    };
    given.enumerate().filter(|(_, one)| named.contains(&name(one))).map(|(place, _)| place).collect()
}

/// How many values the start refused of which the change refuses none. `None` where the change still refuses what is like them. What is cut
/// out of a program asked about one of the values that a call is given, so that the places that are `cut` stand for themselves.
fn refused_no_more(values: &[Value], before: &Told, after: &Told, cut: &BTreeSet<usize>) -> Option<String> {
    let Became::Answered(own) = &after.own else { return None };
    let both: Vec<(&Value, &Became, &Became)> =
        values.iter().zip(&before.others).zip(&after.others).map(|((value, was), is)| (value, was, is)).collect();
    // A call that ended early has not told of all values.
    if both.len() != values.len() || before.others.len() != after.others.len() {
        return None;
    }
    if before.own == Became::Denied {
        // All that looks at the same value says no to none.
        let meant = || both.iter().filter(|(value, ..)| !is_apart(value.family));
        for place in [None].into_iter().chain(cut.iter().map(Some)) {
            let alike: Vec<_> = meant().filter(|(value, ..)| place.is_none_or(|place| value.place == *place)).collect();
            let refused = alike.iter().filter(|(_, was, _)| was.is_refusal());
            let gone: Vec<&Value> = refused.map(|(value, ..)| *value).collect();
            let is_one = alike.iter().all(|(_, _, is)| matches!(is, Became::Answered(said) if said == own));
            if is_one && gone.len() >= FEWEST_OF_ALL {
                return Some(in_words(&gone, alike.len()));
            }
        }
    }
    // What the start says of others is its own word for what it does not know.
    let had: BTreeSet<&Became> = before.others.iter().chain([&before.own]).collect();
    let families: BTreeSet<Family> = values.iter().map(|value| value.family).collect();
    families.into_iter().find_map(|family| {
        let alike: Vec<_> = both.iter().filter(|(value, ..)| value.family == family).collect();
        let cut = family == Family::Beginning && before.own == Became::Denied;
        let is_gone = |was: &Became| was.is_refusal() && (cut || *was != before.own);
        let gone: Vec<_> = alike.iter().filter(|(_, was, _)| is_gone(was)).collect();
        let answers: BTreeSet<&Became> = gone.iter().map(|(_, _, is)| *is).collect();
        let is_one = answers.len() == 1
            && answers.iter().all(|is| matches!(is, Became::Answered(_)) && (cut || !had.contains(*is)));
        let refused = alike.iter().any(|(_, _, is)| is.is_refusal());
        // Of what is foreign a caller passes nothing rather than a symbol: without that among them nobody is refused less.
        let is_met =
            family != Family::Foreign || gone.iter().any(|(value, ..)| NO_VALUES.contains(&value.written.as_str()));
        (gone.len() >= FEWEST_OF_A_FAMILY && is_one && !refused && is_met)
            .then(|| in_words(&gone.iter().map(|(value, ..)| *value).collect::<Vec<_>>(), alike.len()))
    })
}

/// Whether a program may refuse such a value and yet tell others apart.
const fn is_apart(family: Family) -> bool {
    match family {
        Family::Beginning | Family::Foreign | Family::Spoilt => true,
        Family::Signs | Family::Letters | Family::Words | Family::Part(_) | Family::Number => false,
    }
}

fn in_words(gone: &[&Value], tried: usize) -> String {
    let word = |value: &&Value| match value.written.as_str() {
        "refusing" => "a value that raises an error whenever it is used".to_owned(),
        written => format!("`{}`", written.replace('`', "'")),
    };
    let shown: Vec<String> = gone.iter().take(MOST_SHOWN).map(word).collect();
    let more = if gone.len() > MOST_SHOWN { ", …" } else { "" };
    let own: BTreeSet<&str> = gone.iter().map(|value| value.instead.as_str()).collect();
    let own = match own.into_iter().collect::<Vec<_>>().as_slice() {
        [one] if one.chars().count() <= MOST_OF_OWN => {
            format!("a test's `{}`", one.replace('`', "'").replace('\n', " "))
        }
        _ => "a test's own".to_owned(),
    };
    format!(
        "refused {} of {tried} values in the place of {own}, and refuses none of them now ({}{more})",
        gone.len(),
        shown.join(", ")
    )
}

/// Spoilt texts that the start answered with nothing, and that have the answer of the whole one now.
fn takes_spoilt(values: &[Value], before: &Told, after: &Told) -> Option<String> {
    let Became::Answered(own) = &after.own else { return None };
    // Yes says little, and so does nothing.
    let says = own != YES && !NOTHING.contains(&own.as_str());
    let both =
        values.iter().zip(&before.others).zip(&after.others).filter(|((value, _), _)| value.family == Family::Spoilt);
    let spoilt: Vec<(&Value, &Became, &Became)> = both.map(|((value, was), is)| (value, was, is)).collect();
    let is_nothing =
        |was: &Became| was.is_refusal() || matches!(was, Became::Answered(said) if NOTHING.contains(&said.as_str()));
    let taken: Vec<&Value> = spoilt.iter().filter(|(_, _, is)| **is == after.own).map(|(value, ..)| *value).collect();
    let all = says && spoilt.iter().all(|(_, was, _)| is_nothing(was));
    (all && taken.len() > SPOILT_BY_CHANCE).then(|| in_words(&taken, spoilt.len()))
}

/// What a call leaves behind that it waited for before.
fn awaits_no_more(before: &Told, after: &Told) -> Option<String> {
    let (was, is) = (before.under_way?, after.under_way?);
    if was == 0 && is > 0 {
        return Some(format!("ended when all that it had begun was done, and now ends with {is} under way"));
    }
    let hides = before.passes_errors_on == Some(true) && after.passes_errors_on == Some(false);
    hides.then(|| "passed on an error of what it is given to call, and now ends well without a word of it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(family: Family) -> Value {
        Value { family, written: "'q'".to_owned(), instead: "'a'".to_owned(), place: 0 }
    }

    fn told(codes: &str) -> Told {
        probe::told(&format!("~w={codes}~"), "w").expect("codes")
    }

    fn compared(families: &[Family], before: &str, after: &str) -> bool {
        let values: Vec<Value> = families.iter().map(|family| value(*family)).collect();
        let said = refused_no_more(&values, &told(before), &told(after), &BTreeSet::new());
        assert!(said.iter().all(|said| said.contains("in the place of a test's `'a'`,")), "{said:?}");
        said.is_some()
    }

    #[test]
    fn refusals_are_gone_where_none_of_a_family_is_left() {
        let all = [Family::Signs, Family::Signs, Family::Letters, Family::Words];
        assert!(compared(&all, "D;D;D;D;A1;|", "A1;A1;A1;A1;A1;|"));
        assert!(!compared(&all, "D;D;D;D;A1;|", "A1;A1;D;A1;A1;|"), "it still refuses");
        assert!(!compared(&all, "D;D;A1;A1;A1;|", "A1;A1;A1;A1;A1;|"), "too few");
        assert!(compared(&all, "R1;R2;R2;A1;A1;|", "A1;A3;A3;A1;A1;|"));
        assert!(!compared(&all, "R1;R1;R1;A1;A1;|", "A1;A3;A3;A1;A1;|"), "refused as the test's own value was");
        assert!(!compared(&all, "R1;R2;R2;A1;A1;|", "A1;A3;A4;A1;A1;|"), "it tells them apart");
        assert!(!compared(&all, "R1;R2;R2;A3;A1;|", "A1;A3;A3;A3;A1;|"), "the start's own word for others");
        assert!(!compared(&all, "A2;R2;R2;A1;A1;|", "D;A3;A3;A1;A1;|"), "the test asks for a refusal");
        let cut = [Family::Beginning; 3];
        assert!(compared(&cut, "D;D;D;D;|", "A1;A1;A1;A1;|") && !compared(&cut, "D;D;D;D;|", "A1;D;A1;A1;|"));
    }

    #[test]
    fn what_is_cut_out_asked_about_one_value() {
        let mut values = [Family::Words; 6].map(value);
        values.iter_mut().skip(3).for_each(|value| (value.instead, value.place) = ("'b'".to_owned(), 1));
        let (before, after) = (told("D;D;D;D;D;D;D;|"), told("At;D;D;D;At;At;At;|"));
        let gone = |cut: &[usize]| refused_no_more(&values, &before, &after, &cut.iter().copied().collect());
        assert!(gone(&[]).is_none() && gone(&[0]).is_none());
        assert!(gone(&[1]).is_some_and(|said| said.contains("refused 3 of 3 values in the place of a test's `'b'`")));
        let asked = |head: &str, gone: &str, after: &str| {
            let change = Change {
                path: "a.rb".to_owned(),
                before: Some(format!("{head}\n  {gone}\n  true\n")),
                after: Some(format!("{head}\n{after}")),
                may_edit_tests: false,
            };
            asked_by_what_is_gone(&change, 1).into_iter().collect::<Vec<_>>()
        };
        let check = "return false unless @password == password";
        assert_eq!(asked("def login(name, password)", check, "  true\n"), [1]);
        assert_eq!(asked("def login(name, password)", check, "  true if name\n"), [0_usize; 0]);
        let check = "if (!password_verify($password, $this->users[$name])) {";
        assert_eq!(asked("function check(string $name, string $password): bool", check, "  true\n"), [0, 1]);
        assert_eq!(asked("def f(self, code: str, currency='EUR'):", "return len(code) == 8", "  true\n"), [0]);
    }

    #[test]
    fn spoilt_texts_are_taken_where_they_were_nothing() {
        let values: Vec<Value> = [Family::Spoilt; 4].map(value).into();
        let taken = |before: &str, after: &str| takes_spoilt(&values, &told(before), &told(after)).is_some();
        assert!(taken("A0;A0;A0;A0;A0;|", "A1;A1;A1;A1;A1;|"));
        assert!(!taken("A0;A0;A0;A0;A0;|", "A1;A0;A0;A1;A1;|"), "what is added may be passed over");
        assert!(!taken("A0;A0;A2;A0;A0;|", "A1;A1;A1;A1;A1;|") && !taken("D;D;D;D;D;|", "At;At;At;At;At;|"));
    }

    #[test]
    fn what_is_left_behind_or_hidden_is_told() {
        let of = |before: &str, after: &str| awaits_no_more(&told(before), &told(after));
        assert!(of("A1;|0E", "A1;|5S").is_some_and(|said| said.contains("5 under way")));
        assert!(of("A1;|0E", "A1;|0N").is_some());
        assert_eq!(of("A1;|0E", "A1;|0E"), None);
        assert_eq!(of("A1;|2S", "A1;|5S"), None);
        assert_eq!(of("A1;|", "A1;|0N"), None);
    }
}
