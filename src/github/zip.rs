//! Takes one file out of a zip archive in memory (APPNOTE 6.3: stored and deflated entries, no encryption, no zip64).
//!
//! Invariant: the bytes are foreign; every offset is checked, and no more is unpacked than the caller allows.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

const END: [u8; 4] = *b"PK\x05\x06";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The end record without its comment.
const END_BYTES: usize = 22;
/// The longest comment behind the end record.
const MAX_COMMENT: usize = 65_535;
const CENTRAL_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;

/// Why nothing can be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ZipError {
    #[error("it is no zip archive, or one that is cut")]
    Broken,
    #[error("its entry is encrypted or packed in a way that is not supported")]
    Unsupported,
    #[error("its entry is larger than allowed")]
    TooLarge,
}

/// The first entry whose name ends in `suffix`, unpacked.
pub(super) fn file_ending_in(archive: &[u8], suffix: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, ZipError> {
    let (mut at, count) = directory(archive)?;
    for _ in 0..count {
        let entry = archive.get(at..).ok_or(ZipError::Broken)?;
        if entry.get(..4) != Some(CENTRAL.as_slice()) {
            return Err(ZipError::Broken);
        }
        let (name_len, extra_len, comment_len) = (u16_at(entry, 28)?, u16_at(entry, 30)?, u16_at(entry, 32)?);
        let name = entry.get(CENTRAL_BYTES..CENTRAL_BYTES + usize::from(name_len)).ok_or(ZipError::Broken)?;
        if name.ends_with(suffix.as_bytes()) && !name.ends_with(b"/") {
            return unpack(archive, entry, max_bytes).map(Some);
        }
        at += CENTRAL_BYTES + usize::from(name_len) + usize::from(extra_len) + usize::from(comment_len);
    }
    Ok(None)
}

/// Where the central directory begins and how many entries it has.
fn directory(archive: &[u8]) -> Result<(usize, u16), ZipError> {
    let last = archive.len().checked_sub(END_BYTES).ok_or(ZipError::Broken)?;
    let first = last.saturating_sub(MAX_COMMENT);
    let is_end = |at: &usize| archive.get(*at..at + 4) == Some(END.as_slice());
    let end = (first..=last).rev().find(is_end).ok_or(ZipError::Broken)?;
    let record = archive.get(end..).ok_or(ZipError::Broken)?;
    Ok((u32_at(record, 16)?, u16_at(record, 10)?))
}

fn unpack(archive: &[u8], entry: &[u8], max_bytes: usize) -> Result<Vec<u8>, ZipError> {
    let (flags, method) = (u16_at(entry, 8)?, u16_at(entry, 10)?);
    let (packed_len, len, local_at) = (u32_at(entry, 20)?, u32_at(entry, 24)?, u32_at(entry, 42)?);
    if flags & ENCRYPTED != 0 {
        return Err(ZipError::Unsupported);
    }
    if len > max_bytes {
        return Err(ZipError::TooLarge);
    }
    let local = archive.get(local_at..).ok_or(ZipError::Broken)?;
    if local.get(..4) != Some(LOCAL.as_slice()) {
        return Err(ZipError::Broken);
    }
    let start = LOCAL_BYTES + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
    let packed = local.get(start..).and_then(|rest| rest.get(..packed_len)).ok_or(ZipError::Broken)?;
    let bytes = match method {
        STORED => packed.to_vec(),
        DEFLATED => decompress_to_vec_with_limit(packed, max_bytes).map_err(|error| {
            if error.status == TINFLStatus::HasMoreOutput { ZipError::TooLarge } else { ZipError::Broken }
        })?,
        _ => return Err(ZipError::Unsupported),
    };
    if bytes.len() == len { Ok(bytes) } else { Err(ZipError::Broken) }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, ZipError> {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map(u16::from_le_bytes).ok_or(ZipError::Broken)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize, ZipError> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    let number = four.map(u32::from_le_bytes).ok_or(ZipError::Broken)?;
    usize::try_from(number).map_err(|_too_large| ZipError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Python's `zipfile`: `a/audit.db` holding 40 times `upshift `, deflated; `note.txt` holding `hello`, stored.
    const ARCHIVE: &str = include_str!("zip.base64");

    fn archive() -> Vec<u8> {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.decode(ARCHIVE.trim()).unwrap()
    }

    #[test]
    fn stored_and_deflated_entries_come_out_whole() {
        let archive = archive();
        assert_eq!(file_ending_in(&archive, ".db", 1_000).unwrap().unwrap(), b"upshift ".repeat(40));
        assert_eq!(file_ending_in(&archive, "note.txt", 1_000).unwrap().unwrap(), b"hello");
        assert_eq!(file_ending_in(&archive, ".sqlite", 1_000), Ok(None));
    }

    #[test]
    fn more_than_allowed_is_not_unpacked() {
        assert_eq!(file_ending_in(&archive(), ".db", 319), Err(ZipError::TooLarge));
    }

    #[test]
    fn cut_and_altered_archives_are_refused_without_a_panic() {
        let whole = archive();
        for len in 0..whole.len() {
            assert!(file_ending_in(&whole[..len], ".db", 1_000).is_err(), "cut at {len}");
        }
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 0xFF;
            // Any answer will do; a panic will not.
            drop(file_ending_in(&altered, ".db", 1_000));
        }
    }
}
