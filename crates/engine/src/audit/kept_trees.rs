//! The trees of a run as its log has them. They are not believed when they are read.
//!
//! Invariant: a row counts only as far as its event's link vouches for it, and a content only where it has the digest that it is kept by.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};

use super::batch::digest;
use super::query::QueryError;
use crate::domain::tree_patch::{MAX_FILE_BYTES, Over, RecordedTree, TreePatch};
use crate::domain::units::{RunId, TreeId};

/// How many bytes each content of a run has.
pub(super) fn sizes(db: &Connection, run: &RunId) -> rusqlite::Result<BTreeMap<String, u64>> {
    db.prepare_cached("SELECT content, size FROM tree_contents WHERE run_id = ?1")?
        .query_map([&run.0], |row| Ok((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0))))?
        .collect()
}

/// A tree of a run. `None` where it is not there.
pub(super) fn load(db: &Connection, run: &RunId, tree: &TreeId) -> Result<Option<RecordedTree>, QueryError> {
    let Some(body) = body(db, run, tree)? else { return Ok(None) };
    let unreadable = || QueryError::Unreadable(format!("tree {tree}"));
    let patch: TreePatch = serde_json::from_str(&body).map_err(|_serde| unreadable())?;
    // A row is only as good as its name: a patch under another tree's name would be built on.
    if patch.tree != *tree {
        return Err(unreadable());
    }
    let mut contents = BTreeMap::new();
    for name in named(&patch) {
        if let Some(bytes) = content(db, run, name)? {
            contents.insert(name.to_owned(), bytes);
        }
    }
    Ok(Some(RecordedTree { patch, contents }))
}

/// The fault of a tree of which an event tells, with the table that holds it.
pub(super) fn fault(
    db: &Connection,
    run: &RunId,
    tree: &TreeId,
    attached: &str,
) -> Result<Option<(&'static str, String)>, QueryError> {
    let body = body(db, run, tree)?;
    if body.as_deref().map(digest).as_deref() != Some(attached) {
        return Ok(Some(("trees", format!("it is not what was written of tree {tree}"))));
    }
    let patch = body.and_then(|body| serde_json::from_str::<TreePatch>(&body).ok());
    // A commit has contents of its own.
    let is_whole = patch.as_ref().is_some_and(|patch| matches!(patch.over, Over::Tree { .. }));
    for name in patch.iter().flat_map(named) {
        // Over a commit some contents are the commit's own and stand nowhere here. One that does stand here has to be right.
        if !matches!(content(db, run, name), Ok(Some(_))) && (is_whole || has(db, run, name)?) {
            return Ok(Some(("tree_contents", format!("content {name} is not what was written"))));
        }
    }
    Ok(None)
}

/// The names of the trees of a run that have rows.
pub(super) fn names(db: &Connection, run: &RunId) -> rusqlite::Result<Vec<String>> {
    db.prepare_cached("SELECT tree FROM trees WHERE run_id = ?1")?.query_map([&run.0], |row| row.get(0))?.collect()
}

fn named(patch: &TreePatch) -> impl Iterator<Item = &str> {
    let versions = patch.files.iter().flat_map(|file| [file.before.as_ref(), file.after.as_ref()]);
    versions.flatten().map(|version| version.content.as_str())
}

fn body(db: &Connection, run: &RunId, tree: &TreeId) -> rusqlite::Result<Option<String>> {
    db.prepare_cached("SELECT body FROM trees WHERE run_id = ?1 AND tree = ?2")?
        .query_row([&run.0, &tree.0], |row| row.get(0))
        .optional()
}

fn has(db: &Connection, run: &RunId, name: &str) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM tree_contents WHERE run_id = ?1 AND content = ?2")?.exists([&run.0, name])
}

/// A content, unpacked no further than one may be long, whoever wrote it.
fn content(db: &Connection, run: &RunId, name: &str) -> Result<Option<Vec<u8>>, QueryError> {
    let packed: Option<Vec<u8>> = db
        .prepare_cached("SELECT packed FROM tree_contents WHERE run_id = ?1 AND content = ?2")?
        .query_row([&run.0, name], |row| row.get(0))
        .optional()?;
    let Some(packed) = packed else { return Ok(None) };
    let mut bytes = Vec::new();
    // One byte more than is allowed: a bomb is cut there, and its digest is wrong then.
    let read = ZlibDecoder::new(packed.as_slice()).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    let found = hex::encode(Sha256::digest(&bytes));
    if read.is_err() || found != name {
        return Err(QueryError::Unreadable(format!("content {name}")));
    }
    Ok(Some(bytes))
}
