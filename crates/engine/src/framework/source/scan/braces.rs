//! Failures in bodies that stand in braces.

use super::super::{Edit, Place, TestBody};

/// A failure in a body in braces whose language has `finally`.
pub(super) fn in_braces(test: &TestBody, place: Place, failure: &str) -> Vec<Edit> {
    let inside = test.body.start + 1;
    match place {
        Place::First => vec![Edit::insert(inside, format!(" {failure}"))],
        Place::Last => vec![
            Edit::insert(inside, " try {".to_owned()),
            Edit::insert(test.body.end - 1, format!("}} finally {{ {failure} }} ")),
        ],
    }
}
