//! The material of the roles, composed from the state and the files as they are now.
//!
//! Start reading at [`compose`]. The shown parts of each file are decided in `excerpts`.

mod excerpts;

use std::collections::BTreeSet;
use std::path::Path;

use super::climb::Climb;
use super::context::Context;
use crate::agent::rank::{self, Ranked};
use crate::agent::sources::Sources;
use crate::agent::trace::{self, Place};
use crate::agent::{Excerpt, Material};
use crate::domain::foreign::Foreign;
use crate::domain::printed_path;
use crate::policy::candidate::Candidate;
use crate::policy::handover;
use crate::workspace::is_test_path;

/// Files of at most this distance from a failure are excerpted (S0-40: target and distance 1 always).
const EXCERPT_DISTANCE: u32 = 1;
/// In a repository of at most this many files the unreached ones count as near.
const SMALL_REPOSITORY: usize = 40;
/// The file by which a folder is marked as a cache (Cache Directory Tagging Specification). The root is none.
const CACHE_TAG: &str = "/CACHEDIR.TAG";
/// How many words of the failures' text may name a file.
const MAX_WORDS: usize = 1_000;
/// How many more files are listed by name.
const LISTED_FILES: usize = 30;
/// The most characters of the last diff that are shown.
pub(super) const DIFF_CHARS: usize = 4_000;

/// Composes the material of one iteration. The handover of the tiers below comes with how many of them it left out.
pub(super) fn compose(context: &Context<'_>, climb: &Climb) -> Material {
    let (charter, rows) = (&context.charter, &climb.rows);
    let (excerpts, likely) = gathered(context, climb, None);
    Material {
        objective: Foreign::prose(&charter.plan.objective),
        test_command: Foreign::new(&climb.measured.setup.tests.command),
        working_directory: charter.plan.working_directory.as_deref().map(Foreign::new),
        beside: charter.beside.clone(),
        failures: Foreign::new(&context.redact(climb.trees.current.failures.as_str())),
        excerpts,
        likely,
        brief: None,
        advice: Vec::new(),
        handover: Foreign::new(&context.redact(&handover::build(&rows.prior).summary)),
        past: rows.past.clone(),
        last: rows.last.clone(),
    }
}

/// Chooses the files anew by the librarian's relevant files (S0-40): the target and its imports first and always, then by score as long as
/// there is room. Files left out are listed in the same order.
pub(super) fn rerank(context: &Context<'_>, climb: &Climb, relevant: &[String], material: &mut Material) {
    (material.excerpts, material.likely) = gathered(context, climb, Some(relevant));
}

fn gathered(context: &Context<'_>, climb: &Climb, relevant: Option<&[String]>) -> (Vec<Excerpt>, Foreign) {
    let (workspace, trees) = (&context.world.workspace, &climb.trees);
    let tree = Tree {
        files: &without_caches(workspace.files()),
        read: &|path| workspace.read_text(path),
        clean: &|text| context.redact(text),
    };
    let pointers = pointers(tree.files, &trees.current, &trees.touched, &climb.measured.setup.tests.command);
    gather(&tree, &pointers, &trees.current, relevant)
}

/// The files that material is chosen from.
struct Tree<'t> {
    files: &'t [String],
    /// A file's text as it is.
    read: &'t dyn Fn(&str) -> Option<String>,
    /// A text without what no model may see.
    clean: &'t dyn Fn(&str) -> String,
}

/// The excerpts, and the list of the files that are not shown.
fn gather(
    tree: &Tree<'_>,
    pointers: &[String],
    candidate: &Candidate,
    relevant: Option<&[String]>,
) -> (Vec<Excerpt>, Foreign) {
    let nearest = ranked(tree.files, pointers, tree.read);
    let scored = relevant.map(|relevant| rank::by_relevance(&nearest, tree.files, relevant));
    let near: Vec<String> = match &scored {
        Some(scored) => always_first(scored).into_iter().map(|file| file.path.clone()).collect(),
        None => nearest.iter().filter(|file| file.distance <= EXCERPT_DISTANCE).map(|file| file.path.clone()).collect(),
    };
    let lines = named_lines(candidate, tree.files);
    let named = |path: &str| lines.iter().filter(|(file, _)| file == path).map(|(_, line)| *line).collect::<Vec<u32>>();
    let places: Vec<Place> = pointers.iter().map(|path| (path.clone(), named(path))).collect();
    // Cleaned before it is cut, as `read_file` does it: half a secret would not be known, and lines are counted the same.
    let clean = |path: &str| (tree.read)(path).map(|text| (tree.clean)(&text));
    let mut sources = Sources::new(tree.files, &clean);
    let is_test = |path: &str| is_test_path(Path::new(path));
    let trace = trace::trace(&mut sources, &places, &candidate.failing, &is_test);
    let (excerpts, shown) = excerpts::choose(&near, &trace, &named, &mut sources);
    (excerpts, Foreign::new(&list(&scored.unwrap_or(nearest), tree.files, &shown)))
}

/// Scored files with those first that are always included.
fn always_first(scored: &[Ranked]) -> Vec<&Ranked> {
    let (always, by_score): (Vec<&Ranked>, Vec<&Ranked>) =
        scored.iter().partition(|file| file.distance <= EXCERPT_DISTANCE);
    always.into_iter().chain(by_score).collect()
}

/// The files that are not below a folder which its maker marked as a cache (`target/` without a `.gitignore`).
fn without_caches(files: Vec<String>) -> Vec<String> {
    let caches: Vec<String> = files.iter().filter_map(|path| path.strip_suffix(CACHE_TAG)).map(str::to_owned).collect();
    let is_below = |path: &str, cache: &str| path.strip_prefix(cache).is_some_and(|rest| rest.starts_with('/'));
    let is_cached = |path: &String| caches.iter().any(|cache| is_below(path, cache));
    files.into_iter().filter(|path| !is_cached(path)).collect()
}

/// Files by distance from what points at them. In a small repository the rest follows, code of the same kind alone if anything is known of
/// the kind.
fn ranked(files: &[String], pointers: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<Ranked> {
    let mut ranked = rank::rank(files, pointers, read);
    if files.len() <= SMALL_REPOSITORY {
        // What imports reach beyond the usual distance is no farther than what they do not reach at all.
        for file in &mut ranked {
            file.distance = file.distance.min(EXCERPT_DISTANCE);
        }
        let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
        let kinds: Vec<_> = pointers.iter().map(|path| ending(path)).collect();
        for path in files {
            let known = ranked.iter().any(|file| file.path == *path);
            let hidden = path.split('/').any(|part| part.starts_with('.'));
            // Where nothing points anywhere every file is near, but those of tools: `.github/workflows/ci.yml`.
            if !known && (kinds.contains(&ending(path)) || (kinds.is_empty() && !hidden)) {
                ranked.push(Ranked { path: path.clone(), distance: EXCERPT_DISTANCE });
            }
        }
    }
    ranked
}

/// The files that something points at: the places of the failures, the tier's own changes, the words of the failures' text
/// and of the test command (custom scripts, shell, reports without places).
fn pointers(files: &[String], candidate: &Candidate, touched: &BTreeSet<String>, command: &str) -> Vec<String> {
    let mut found: Vec<String> = candidate.named.iter().filter_map(|(path, _)| in_tree(path, files)).collect();
    found.extend(touched.iter().filter(|path| files.contains(path)).cloned());
    let parts = |c: char| c.is_whitespace() || "()[]{}<>'\"`,;:=".contains(c);
    let words = candidate.failures.as_str().split(parts).take(MAX_WORDS).chain(command.split(parts));
    // A path may end a sentence: the full stop is none of it.
    let paths = words.map(|word| word.trim_end_matches('.')).filter(|word| word.contains('.'));
    found.extend(paths.filter_map(|word| in_tree(word, files)));
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// A path as a runner prints it (absolute, from a sub-folder, with `./`), as the tree knows it.
fn in_tree(path: &str, files: &[String]) -> Option<String> {
    let path = path.trim_start_matches("./");
    if let Some(exact) = files.iter().find(|file| *file == path) {
        return Some(exact.clone());
    }
    // Of several that fit, the longest has the most folders in common with the printed path.
    files.iter().filter(|file| printed_path::may_be_same(path, file)).max_by_key(|file| file.len()).cloned()
}

/// The files of the tree that the failures name, with the lines.
fn named_lines(candidate: &Candidate, files: &[String]) -> Vec<(String, u32)> {
    let named = candidate.named.iter().filter_map(|(path, line)| Some((path, (*line)?)));
    named.filter_map(|(path, line)| Some((in_tree(path, files)?, line))).collect()
}

/// The files that are not shown, nearest first, and how many more there are.
fn list(ranked: &[Ranked], files: &[String], shown: &[String]) -> String {
    let near = ranked.iter().map(|file| &file.path);
    let mut rest: Vec<&String> = near.filter(|path| !shown.contains(path)).collect();
    let far = files.iter().filter(|path| !shown.contains(path) && !ranked.iter().any(|file| file.path == **path));
    rest.extend(far);
    let mut listed: Vec<String> = rest.iter().take(LISTED_FILES).map(|path| (*path).clone()).collect();
    let more = rest.len().saturating_sub(LISTED_FILES);
    if more > 0 {
        listed.push(format!("and {more} more: see list_files"));
    }
    listed.join("\n")
}

#[cfg(test)]
mod tests;
