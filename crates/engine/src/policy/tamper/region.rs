//! Tests inside source files: found, compared with the start, and put back without losing the change around them.
//!
//! Invariant: putting a file's own regions back is no change at all. A restored file holds the start's regions and no others, or the whole
//! is refused ([`Restored::Lost`]).

mod document;
mod javascript;
mod mask;
mod python;
mod rust;
mod span;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

pub use self::document::{may_speak, runs_by_name, says_run, speaks_of_doctests};
use self::span::Region;

/// The state of a file whose regions were put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// Its regions are those of the start.
    Same,
    /// The text with the start's regions, and what was put back.
    Changed {
        /// The whole file.
        text: String,
        /// The regions, in a few words each.
        regions: Vec<String>,
    },
    /// A region's place is gone, so that it cannot be put back.
    Lost {
        /// Which.
        region: String,
    },
}

/// Whether the examples in a file's documentation are tests: only where the start's own run collects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examples {
    /// They judge.
    Judge,
    /// They are documentation like any other.
    Document,
}

/// Puts the test regions of the start back into a changed source file.
#[must_use]
pub fn restore(path: &str, before: &str, after: &str, examples: Examples) -> Restored {
    if before == after {
        return Restored::Same;
    }
    let judging = |text: &str| {
        let mut found = regions(path, text);
        found.retain(|region| examples == Examples::Judge || !region.may_grow);
        found
    };
    let (old, new) = (judging(before), judging(after));
    // Asked before the regions are compared: a test that is replaced from outside keeps its own text.
    if let Some(name) = named_elsewhere(path, &old, before, &new, after) {
        return Restored::Lost { region: format!("`{name}` is named by code outside of it") };
    }
    if unchanged(&old, before, &new, after) {
        return Restored::Same;
    }
    match rebuilt(&old, before, &new, after) {
        Ok((text, touched)) => {
            // What was built is looked at again: if it does not hold what it should, nobody can judge it.
            let built = judging(&text);
            if unchanged(&old, before, &built, &text) && named_elsewhere(path, &old, before, &built, &text).is_none() {
                Restored::Changed { text, regions: touched }
            } else {
                // Code around may turn a region into something else, such as a string or a comment that was opened
                // before it.
                Restored::Lost { region: touched.join(", ") }
            }
        }
        Err(region) => Restored::Lost { region },
    }
}

/// Whether a file holds tests.
#[must_use]
pub fn has_regions(path: &str, text: &str) -> bool {
    regions(path, text).iter().any(|region| !region.may_grow)
}

/// Whether a file is a document, whose examples judge where something says that they are run ([`says_run`]).
#[must_use]
pub fn is_document(path: &str) -> bool {
    document::is_document(path)
}

/// Whether a module of Python does nothing but assert, so that it is one of the tests where only those import it.
#[must_use]
pub fn only_asserts(text: &str) -> bool {
    python::only_asserts(text)
}

/// Whether a document, or the documentation in a source file, holds examples.
#[must_use]
pub fn has_examples(path: &str, text: &str) -> bool {
    let is_document = is_document(path);
    regions(path, text).iter().any(|region| is_document || region.may_grow)
}

/// Whether a Rust file declares a module only for tests (`#[cfg(test)] mod name;`), whose own file then is one of the tests.
#[must_use]
pub fn declares_test_module(parent: &str, name: &str) -> bool {
    regions("lib.rs", parent).iter().any(|region| {
        let text = parent.get(region.range.clone()).unwrap_or_default();
        // Also `#[path = "cart_tests.rs"] mod tests;`, with whatever blanks between.
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        squeezed.ends_with(&format!("mod{name};"))
            || squeezed.contains(&format!("/{name}.rs\""))
            || squeezed.contains(&format!("\"{name}.rs\""))
    })
}

/// A module in a file of its own that a Rust file declared at the start and declares otherwise now, or not any more although its file
/// is none of `gone`: the tests in that file would no longer be compiled, and others could bear their names.
#[must_use]
pub fn redeclared(before: &str, after: &str, gone: &[&str]) -> Option<String> {
    let now = rust::declared(after);
    let is_gone = |name: &str| {
        let files = [format!("{name}.rs"), format!("{name}/mod.rs")];
        gone.iter().any(|path| {
            // `cart.rs` is not the end of a name: `src/shopcart.rs` is another module's file.
            files.iter().any(|file| path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
        })
    };
    let differs = |module: &&rust::Declared| !now.contains(module) && !is_gone(&module.name);
    rust::declared(before).iter().find(differs).map(|module| module.name.clone())
}

fn regions(path: &str, text: &str) -> Vec<Region> {
    disjoint(match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" => rust::regions(text),
        "py" | "pyi" => python::regions(text),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => javascript::regions(text),
        _ if document::is_document(path) => document::regions(path, text),
        _ => Vec::new(),
    })
}

/// The regions with every byte in one of them at most: lines of a string may look like documentation that reaches over code. One inside
/// another is part of it, of two that overlap the first ends where the second begins.
fn disjoint(regions: Vec<Region>) -> Vec<Region> {
    let mut apart: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions {
        match apart.last_mut() {
            Some(last) if region.range.end < last.range.end => continue,
            Some(last) => last.range.end = last.range.end.min(region.range.start),
            None => {}
        }
        apart.push(region);
    }
    apart.retain(|region| !region.range.is_empty());
    apart
}

/// Whether the new regions are the old ones in order. Documentation may show more examples.
fn unchanged(old: &[Region], before: &str, new: &[Region], after: &str) -> bool {
    let same = |one: &Region, other: &Region| {
        one.key == other.key
            && one.around == other.around
            && before.get(one.range.clone()) == after.get(other.range.clone())
    };
    let mut rest = old.iter().peekable();
    let mut seeing: HashMap<&str, usize> = HashMap::new();
    // How many of the start's are still to come in each surrounding: a new one before them could rebind what they
    // use.
    for region in old.iter().filter(|region| region.binds) {
        *seeing.entry(region.around.as_str()).or_insert(0) += 1;
    }
    for region in new {
        match rest.peek() {
            Some(expected) if same(expected, region) => {
                if let Some(behind) = seeing.get_mut(expected.around.as_str()).filter(|_| expected.binds) {
                    *behind -= 1;
                }
                rest.next();
            }
            _ if region.may_grow
                && !(region.binds && seeing.get(region.around.as_str()).is_some_and(|behind| *behind > 0)) => {}
            // Moved tests are the same tests.
            _ => return sorted(old, before) == sorted(new, after),
        }
    }
    rest.next().is_none() || sorted(old, before) == sorted(new, after)
}

fn sorted<'t>(regions: &'t [Region], text: &'t str) -> Vec<(&'t str, &'t str)> {
    let of = |region: &'t Region| Some((region.around.as_str(), text.get(region.range.clone())?));
    let mut texts: Vec<_> = regions.iter().filter_map(of).collect();
    texts.sort_unstable();
    texts
}

/// A test of Python that code outside of all tests names more often than at the start, or vitest inside a source: another can be put
/// in its place so (`CartTest.test_total = …`, `globals()['CartTest']`), while its own text stays as it was.
fn named_elsewhere<'r>(path: &str, old: &'r [Region], before: &str, new: &[Region], after: &str) -> Option<&'r str> {
    let (was, is) = (outside(old, before), outside(new, after));
    if !path.ends_with(".py") {
        let asks = |text: &str| text.matches(javascript::VITEST).count();
        // In Rust nothing outside can replace an item. In JavaScript the condition of in-source tests can be asked
        // elsewhere.
        return (!old.is_empty() && !path.ends_with(".rs") && asks(&is) > asks(&was)).then_some(javascript::VITEST);
    }
    let names = old.iter().filter_map(|region| python::bound(&region.key));
    let (was, is) = (python::words(&was), python::words(&is));
    // More often than at the start: what a person's code says of a test stays allowed.
    names.into_iter().find(|name| is.get(name) > was.get(name))
}

/// A text without its regions.
fn outside(regions: &[Region], text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for region in regions.iter().filter(|region| !region.may_grow) {
        rest.push_str(text.get(at..region.range.start).unwrap_or_default());
        at = region.range.end;
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    rest
}

/// The new text with the old regions in the places of the new ones. Regions without a place go to the end.
fn rebuilt(old: &[Region], before: &str, new: &[Region], after: &str) -> Result<(String, Vec<String>), String> {
    let mut text = String::with_capacity(after.len());
    let mut touched = Vec::new();
    let (partners, rest) = partners(old, before, new, after);
    let mut at = 0;
    for (region, partner) in new.iter().zip(partners) {
        text.push_str(after.get(at..region.range.start).unwrap_or_default());
        at = region.range.end;
        let own = after.get(region.range.clone()).unwrap_or_default();
        match partner {
            Some(candidate) => {
                let original = before.get(candidate.range.clone()).unwrap_or_default();
                if original != own {
                    touched.push(region.key.clone());
                }
                text.push_str(original);
            }
            // A new test of the model's is left out: the restored file holds the start's tests and no others.
            None => touched.push(format!("{} (new)", region.key)),
        }
    }
    text.push_str(after.get(at..).unwrap_or_default());
    for region in rest {
        if !region.is_top {
            // At the end of the file it would stand outside of its module or condition, and be another test.
            return Err(region.key.clone());
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('\n');
        text.push_str(before.get(region.range.clone()).unwrap_or_default());
        if !text.ends_with('\n') {
            text.push('\n');
        }
        touched.push(region.key.clone());
    }
    touched.dedup();
    Ok((text, touched))
}

/// The old region that stands in each new one's place, and the old ones that have none: those that are the same find each other, the
/// others go in order.
fn partners<'r>(
    old: &'r [Region],
    before: &'r str,
    new: &'r [Region],
    after: &'r str,
) -> (Vec<Option<&'r Region>>, Vec<&'r Region>) {
    let mut same: HashMap<(&str, &str, &str), VecDeque<usize>> = HashMap::new();
    for (at, region) in old.iter().enumerate() {
        let text = before.get(region.range.clone()).unwrap_or_default();
        same.entry((&region.key, &region.around, text)).or_default().push_back(at);
    }
    let itself = |region: &'r Region| {
        let text = after.get(region.range.clone()).unwrap_or_default();
        same.get_mut(&(region.key.as_str(), region.around.as_str(), text)).and_then(VecDeque::pop_front)
    };
    // The same ones first, or one that was put in before two of a kind would shift both.
    let mut found: Vec<Option<usize>> = new.iter().map(itself).collect();
    let mut is_used = vec![false; old.len()];
    for at in found.iter().flatten() {
        is_used.get_mut(*at).into_iter().for_each(|used| *used = true);
    }
    let mut of_kind: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for ((at, region), _) in old.iter().enumerate().zip(&is_used).filter(|(_, used)| !**used) {
        of_kind.entry(&region.key).or_default().push_back(at);
    }
    for (partner, region) in found.iter_mut().zip(new).filter(|(partner, _)| partner.is_none()) {
        *partner = of_kind.get_mut(region.key.as_str()).and_then(VecDeque::pop_front);
    }
    let mut rest: Vec<usize> = of_kind.into_values().flatten().collect();
    // A map's order differs between runs, and the rebuilt text may not.
    rest.sort_unstable();
    let at = |at: usize| old.get(at);
    (found.into_iter().map(|partner| partner.and_then(at)).collect(), rest.into_iter().filter_map(at).collect())
}
