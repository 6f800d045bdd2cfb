//! A change as hunks that can be left out one by one, as a reviewer sees them: stretches of changed lines, whole new or deleted files.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use similar::{Algorithm, capture_diff_slices_deadline, group_diff_ops};
use std::ops::Range;
use std::time::Instant;

use super::WorkspaceError;
use super::diff::{CONTEXT, DEADLINE, is_binary};
use super::rel_path::RelPath;
use super::store::{Entry, Form, Manifest, Store};

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
    /// The stretches of lines before and after; empty for a file that changes whole.
    stretches: Vec<(Range<usize>, Range<usize>)>,
}

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

    /// The state with the hunks of the given numbers and no others.
    pub(super) fn compose(&self, store: &Store, keep: &[usize]) -> Result<Manifest, WorkspaceError> {
        let mut manifest = self.from.clone();
        let mut number = 0;
        for file in &self.files {
            let numbers = number..number + file.count();
            number = numbers.end;
            let kept: Vec<bool> = numbers.map(|number| keep.contains(&number)).collect();
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

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.lines_with_terminator().collect()
}

fn stretches(old: &[u8], new: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    if is_binary(old) || is_binary(new) || old == new {
        return Vec::new();
    }
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + DEADLINE));
    let span = |group: Vec<similar::DiffOp>| {
        let (first, last) = (group.first()?, group.last()?);
        Some((first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end))
    };
    group_diff_ops(ops, CONTEXT).into_iter().filter_map(span).collect()
}

/// The old lines with those stretches replaced that are kept.
fn join(old: &[u8], new: &[u8], stretches: &[(Range<usize>, Range<usize>)], kept: &[bool]) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let mut joined: Vec<u8> = Vec::new();
    let mut at = 0;
    for ((before, after), kept) in stretches.iter().zip(kept) {
        joined.extend(old.get(at..before.start).unwrap_or_default().concat());
        let stretch = if *kept { new.get(after.clone()) } else { old.get(before.clone()) };
        joined.extend(stretch.unwrap_or_default().concat());
        at = before.end;
    }
    joined.extend(old.get(at..).unwrap_or_default().concat());
    joined
}
