//! Paths that a model may have meant by one that does not exist.

use std::collections::BTreeSet;

use super::super::beneath::Beneath;
use super::super::rel_path::{RelPath, is_private};
use super::super::walk::walker;
use crate::files;

/// The most files that are looked at. A larger tree is searched in part.
const MAX_LOOKED_AT: usize = 20_000;
/// How many paths are suggested.
const MAX_SUGGESTED: usize = 3;
/// How alike two names must be, in hundredths of shared letter pairs.
const ALIKE: usize = 50;

/// `; did you mean …?`, or that the folder is empty of such. It begins so that it continues a sentence.
pub(super) fn near(root: &Beneath, wanted: &RelPath) -> String {
    let name = wanted.as_path().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let whole = wanted.to_string().to_lowercase();
    let mut ranked: Vec<(usize, usize, String)> = Vec::new();
    let entries = walker(root.path()).filter_entry(|entry| !is_private(entry.file_name())).build();
    for entry in entries.take(MAX_LOOKED_AT).flatten() {
        let Ok(path) = entry.path().strip_prefix(root.path()) else { continue };
        let shown = files::slashed(path);
        let own = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let alike = likeness(&own, &name);
        if alike >= ALIKE {
            // By the name first, then by the whole path, so that a file in another folder is found as well.
            ranked.push((100 - alike, 100 - likeness(&shown.to_lowercase(), &whole), shown));
        }
    }
    ranked.sort();
    let best: Vec<String> = ranked.into_iter().take(MAX_SUGGESTED).map(|(_, _, path)| format!("`{path}`")).collect();
    if best.is_empty() {
        "; list_files shows what there is".to_owned()
    } else {
        format!("; did you mean {}?", best.join(" or "))
    }
}

/// How much two texts share, in hundredths (Dice's measure over pairs of characters).
pub(in super::super) fn likeness(one: &str, other: &str) -> usize {
    if one == other {
        return 100;
    }
    let (one, other) = (pairs(one), pairs(other));
    let all = one.len() + other.len();
    (one.intersection(&other).count() * 200).checked_div(all).unwrap_or(0)
}

fn pairs(text: &str) -> BTreeSet<(char, char)> {
    text.chars().zip(text.chars().skip(1)).collect()
}
