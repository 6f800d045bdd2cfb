//! The trees of a run on their way into its log, packed.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, params};

use super::batch::{Extra, Packed};
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::{RunId, TreeId};

/// The data that a tree's link needs beyond the event.
pub(super) fn extra(tree: &RecordedTree) -> std::io::Result<Extra> {
    let pack = |(content, bytes): (&String, &Vec<u8>)| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes)?;
        let packed = STANDARD.encode(encoder.finish()?);
        Ok(Packed { content: content.clone(), size: u64::try_from(bytes.len()).unwrap_or(u64::MAX), packed })
    };
    let contents = tree.contents.iter().map(pack).collect::<std::io::Result<_>>()?;
    Ok(Extra::Tree { body: serde_json::to_string(&tree.patch)?, contents })
}

/// Writes a tree's rows. A content that is there already stays.
pub(super) fn insert(
    db: &Connection,
    run: &RunId,
    tree: &TreeId,
    (body, contents): (&str, &[Packed]),
) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO trees (run_id, tree, body) VALUES (?1, ?2, ?3)")?
        .execute(params![run.0, tree.0, body])?;
    for Packed { content, size, packed } in contents {
        // Our own Base64: what does not decode is noticed when it is read.
        let bytes = STANDARD.decode(packed).unwrap_or_default();
        db.prepare_cached(
            "INSERT OR IGNORE INTO tree_contents (run_id, content, size, packed) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![run.0, content, i64::try_from(*size).unwrap_or(i64::MAX), bytes])?;
    }
    Ok(())
}
