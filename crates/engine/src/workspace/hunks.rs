//! A change as hunks that can be left out one by one, as a reviewer sees them: stretches of changed lines, whole new or deleted files.

use std::collections::BTreeSet;
use std::ops::Range;

use super::WorkspaceError;
use super::diff::{CONTEXT, DEADLINE, is_binary};
use super::rel_path::RelPath;
use super::store::{Entry, Form, Manifest, Store};
use crate::domain::line_diff::{Part, groups, lines};

/// A change, taken apart.
#[derive(Debug, Clone)]
pub struct Hunks {
    from: Manifest,
    files: Vec<FileHunks>,
}

/// One file's part.
#[derive(Debug, Clone)]
struct FileHunks {
    path: RelPath,
    new: Option<Entry>,
    /// The stretches of changed lines. Empty for a file that changes whole.
    stretches: Vec<Stretch>,
}

/// A stretch of lines that changes, with the lines around it that a reviewer sees.
#[derive(Debug, Clone)]
struct Stretch {
    before: Range<usize>,
    after: Range<usize>,
    /// The changed lines alone, in the new file.
    changed: Range<usize>,
}

/// The place of a hunk: its file, and the first and last changed line of the new file, from 1. `None` for a whole file.
pub type Place = (String, Option<(u32, u32)>);

impl FileHunks {
    fn count(&self) -> usize {
        self.stretches.len().max(1)
    }
}

impl Hunks {
    /// Takes the change between two recorded states apart.
    pub(super) fn between(store: &Store, from: Manifest, to: &Manifest) -> Result<Self, WorkspaceError> {
        let paths: BTreeSet<RelPath> = from.keys().chain(to.keys()).cloned().collect();
        let mut files = Vec::new();
        for path in paths {
            let (old, new) = (from.get(&path), to.get(&path));
            if old == new {
                continue;
            }
            let stretches = match (old, new) {
                (Some(old), Some(new)) if old.form == Form::File && new.form == Form::File => {
                    stretches(&store.content(&old.content)?, &store.content(&new.content)?)
                }
                _ => Vec::new(),
            };
            files.push(FileHunks { path, new: new.copied(), stretches });
        }
        Ok(Self { from, files })
    }

    /// The file of each hunk, in order.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let repeated = |file: &FileHunks| std::iter::repeat_n(file.path.to_string(), file.count());
        self.files.iter().flat_map(repeated).collect()
    }

    /// The place of each hunk, in order.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let mut places = Vec::new();
        for file in &self.files {
            let path = file.path.to_string();
            if file.stretches.is_empty() {
                places.push((path.clone(), None));
            }
            places.extend(file.stretches.iter().map(|Stretch { changed, .. }| {
                // Removed lines leave no line of their own: the one that now stands there is named.
                let first = changed.start + 1;
                (path.clone(), Some((number(first), number(changed.end.max(first)))))
            }));
        }
        places
    }

    /// The state with the hunks of the given numbers and no others.
    pub(super) fn compose(&self, store: &Store, keep: &[usize]) -> Result<Manifest, WorkspaceError> {
        let mut manifest = self.from.clone();
        let mut number = 0;
        for file in &self.files {
            let numbers = number..number + file.count();
            number = numbers.end;
            let kept: Vec<bool> = numbers.map(|number| keep.contains(&number)).collect();
            // Taken whole, so that the file is the recorded one to the byte, whatever its form.
            if kept.iter().all(|kept| *kept) {
                match file.new {
                    Some(entry) => manifest.insert(file.path.clone(), entry),
                    None => manifest.remove(&file.path),
                };
            } else if kept.iter().any(|kept| *kept)
                && let (Some(old), Some(new)) = (self.from.get(&file.path), file.new)
            {
                let bytes = join(&store.content(&old.content)?, &store.content(&new.content)?, &file.stretches, &kept);
                let failed = |source| WorkspaceError::Store { path: file.path.as_path().to_owned(), source };
                let content = store.take_bytes(&bytes).map_err(failed)?;
                manifest.insert(file.path.clone(), Entry { content, ..new });
            }
        }
        Ok(manifest)
    }
}

fn stretches(old: &[u8], new: &[u8]) -> Vec<Stretch> {
    if is_binary(old) || is_binary(new) || old == new {
        return Vec::new();
    }
    let (old, new) = (lines(old), lines(new));
    let span = |group: Vec<Part>| {
        let (first, last) = (group.first()?, group.last()?);
        let mut changes = group.iter().filter(|part| !part.is_equal);
        let first_change = changes.next()?;
        let last_change = changes.next_back().unwrap_or(first_change);
        Some(Stretch {
            before: first.old.start..last.old.end,
            after: first.new.start..last.new.end,
            changed: first_change.new.start..last_change.new.end,
        })
    };
    groups(&old, &new, CONTEXT, Some(DEADLINE)).into_iter().filter_map(span).collect()
}

/// The old lines with those stretches replaced that are kept.
fn join(old: &[u8], new: &[u8], stretches: &[Stretch], kept: &[bool]) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let mut joined: Vec<u8> = Vec::new();
    let mut at = 0;
    for (Stretch { before, after, .. }, kept) in stretches.iter().zip(kept) {
        joined.extend(old.get(at..before.start).unwrap_or_default().concat());
        // The lines around a change are the same on both sides, so that either may give them.
        let stretch = if *kept { new.get(after.clone()) } else { old.get(before.clone()) };
        joined.extend(stretch.unwrap_or_default().concat());
        at = before.end;
    }
    joined.extend(old.get(at..).unwrap_or_default().concat());
    joined
}
