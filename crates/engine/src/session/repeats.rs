//! A model whose calls fail in the same words turn after turn: it is told so, and must report in the end, since each turn is paid for.

use super::toolroom::Answer;

/// So many times in a row a call may fail in the same words before it is said to be in vain.
const TOLD_AT: u32 = 3;
/// So many times before only the report is left.
const LAST_AT: u32 = 6;

/// The last turn's failures.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: Vec<(String, String, String)>,
    /// How often in a row.
    count: u32,
}

impl Repeats {
    /// Hears a turn's answers, and tells the model in them. Returns whether it has repeated itself for too long.
    pub(super) fn hear(&mut self, answers: &mut [Answer]) -> bool {
        let failed = |answer: &Answer| (answer.name.clone(), answer.subject.clone(), answer.content.clone());
        let all_failed = !answers.is_empty() && answers.iter().all(|answer| !answer.ok);
        let failures: Vec<_> = if all_failed { answers.iter().map(failed).collect() } else { Vec::new() };
        self.count = if all_failed && failures == self.last { self.count + 1 } else { u32::from(all_failed) };
        self.last = failures;
        if self.count >= TOLD_AT {
            let count = self.count;
            let told =
                format!("\nThis has failed so {count} times in a row: it will not work. Do something else, or report.");
            answers.iter_mut().for_each(|answer| answer.content.push_str(&told));
        }
        self.count >= LAST_AT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(subject: &str, ok: bool) -> Answer {
        let (name, content) = ("edit_file".to_owned(), "old_text is not there".to_owned());
        Answer { call_id: None, name, subject: subject.to_owned(), ok, content }
    }

    #[test]
    fn the_same_failure_again_and_again_is_told_and_then_ends() {
        let mut repeats = Repeats::default();
        for count in 1..=LAST_AT {
            let mut answers = [answer("a.py", false)];
            assert_eq!(repeats.hear(&mut answers), count == LAST_AT, "{count}");
            assert_eq!(answers[0].content.contains("times in a row"), count >= TOLD_AT, "{count}");
        }
    }

    #[test]
    fn another_call_or_one_that_works_begins_anew() {
        let mut repeats = Repeats::default();
        for subject in ["a.py", "a.py", "b.py", "a.py", "a.py"] {
            let mut answers = [answer(subject, false)];
            assert!(!repeats.hear(&mut answers) && !answers[0].content.contains("in a row"));
        }
        repeats.hear(&mut [answer("a.py", true)]);
        let mut again = [answer("a.py", false), answer("b.py", true)];
        assert!(!repeats.hear(&mut again) && !repeats.hear(&mut []), "one of the two worked");
        assert_eq!(repeats.count, 0);
    }
}
