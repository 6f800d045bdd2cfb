//! Tests that expect less than they did, told by their own text. Pure.

use crate::domain::finding::Weakened;
use crate::framework::source::Source;
use crate::policy::tamper::Change;

/// The tests of changed files that had another expectation as a literal before. A test that is gone with its expectation is told by its
/// name.
#[must_use]
pub fn weakened(changes: &[Change]) -> Vec<Weakened> {
    changes.iter().flat_map(of_file).collect()
}

fn of_file(change: &Change) -> Vec<Weakened> {
    let read = |text: &Option<String>| Source::read(&change.path, text.as_deref()?);
    let (Some(before), Some(after)) = (read(&change.before), read(&change.after)) else { return Vec::new() };
    let of_test = |test: &crate::framework::source::TestBody| {
        let now = after.tests().iter().find(|other| other.names == test.names)?;
        let mut kept = expected(&after, now);
        let mut gone = expected(&before, test);
        gone.retain(|literal| match kept.iter().position(|other| other == literal) {
            Some(at) => {
                // Each literal answers for one: where a test expects `1` twice and then once, one of them is gone.
                kept.swap_remove(at);
                false
            }
            None => true,
        });
        (!gone.is_empty()).then(|| Weakened { test: test.names.join(" > "), file: change.path.clone(), gone })
    };
    before.tests().iter().filter_map(of_test).collect()
}

fn expected(source: &Source, test: &crate::framework::source::TestBody) -> Vec<String> {
    let all = source.expectations(test);
    all.iter().flat_map(|one| source.written(one)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, after: &str) -> Vec<Weakened> {
        weakened(&[Change {
            path: "tests/test_cart.py".to_owned(),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
            may_edit_tests: false,
        }])
    }

    #[test]
    fn an_expectation_that_is_gone_or_another_is_told_and_a_new_one_is_not() {
        let before = "def test_sum():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n";
        let one = |gone: &str| {
            let (test, file) = ("test_sum".to_owned(), "tests/test_cart.py".to_owned());
            vec![Weakened { test, file, gone: vec![gone.to_owned()] }]
        };
        assert_eq!(changed(before, "def test_sum():\n    assert total([1, 2]) == 3\n"), one("0"));
        assert_eq!(changed(before, &before.replace("== 3", "== 4")), one("3"));
        assert_eq!(changed(before, &before.replace("== 3", "== 3\n    assert total([5]) == 5")), []);
        assert_eq!(changed(before, "def test_other():\n    pass\n"), [], "its name tells that it is gone");
    }
}
