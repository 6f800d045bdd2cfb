//! Remarks on a change's shape, which no run shows.

use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::marks::{Mark, Shape, marks};
use crate::policy::tamper::Change;

/// The remarks on the shape of the product's changed files.
pub(super) fn remarks(changes: &[Change]) -> Vec<Remark> {
    let remarks = |change: &Change| {
        let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref()?);
        let remark = |mark: Mark| {
            let kind = match mark.shape {
                Shape::SwallowsErrors => RemarkKind::SwallowsErrors,
                Shape::KeepsState => RemarkKind::KeepsState,
                Shape::DropsAPart => RemarkKind::DropsAPart,
                Shape::DecidesEquality => RemarkKind::DecidesEquality,
                Shape::LeavesTheLike => RemarkKind::LeavesTheLike,
                Shape::AltersTheCallers => RemarkKind::AltersTheCallers,
                Shape::AnswersToAll => RemarkKind::UntestedChoice,
            };
            let (file, lines) = (change.path.clone(), Some((mark.line, mark.line)));
            Remark { kind, file, lines, said: Some(mark.said) }
        };
        Some(marks(&change.path, before, after).into_iter().map(remark).collect::<Vec<_>>())
    };
    changes.iter().filter(|change| !change.may_edit_tests).filter_map(remarks).flatten().collect()
}
