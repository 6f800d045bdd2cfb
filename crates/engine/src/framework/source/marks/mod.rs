//! Marks of a change's shape that no test shows: an error that ends in a handler, a value that all callers share, an input that is no
//! longer read, a rule of equality, the like of what was changed and still stands.
//!
//! Each compares a file with what it was. What was there before is nobody's mark.

mod altered;
mod catch_all;
mod dropped;
mod equality;
mod first;
mod handlers;
mod inherited;
mod like;
mod shared;
mod sides;
mod state;
mod unfailing;

use self::sides::Sides;
pub use self::sides::{Mark, Shape};
use super::Language;
use super::choices::is_of_shell;
use super::parse::parse;

/// The marks of a file, one of each shape. None where a text is not understood.
#[must_use]
pub fn marks(path: &str, before: &str, after: &str) -> Vec<Mark> {
    let Some(language) = Language::of(path) else {
        return if is_of_shell(path, after) { handlers::of_shell(before, after) } else { Vec::new() };
    };
    if !language.has_grammar() {
        let handler = handlers::mark_by_tokens(language, before, after);
        let shared = shared::mark(language, before, after).or_else(|| first::mark_by_line(language, before, after));
        return equality::mark_by_line(before, after)
            .into_iter()
            .chain(handler)
            .chain(shared)
            .chain(altered::mark(language, before, after))
            .chain(catch_all::mark(language, before, after))
            .collect();
    }
    let (Some(old), Some(new)) = (parse(language, before), parse(language, after)) else { return Vec::new() };
    let sides = Sides { language, old: (old.root_node(), before), new: (new.root_node(), after) };
    let found = [
        handlers::mark(&sides).or_else(|| unfailing::mark(&sides)),
        state::mark(&sides).or_else(|| shared::mark(language, before, after)).or_else(|| first::mark(&sides)),
        dropped::mark(&sides),
        equality::mark(&sides),
        like::mark(before, after),
        inherited::mark(&sides),
        catch_all::mark(language, before, after),
    ];
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
