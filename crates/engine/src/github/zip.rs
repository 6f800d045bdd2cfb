//! Takes one file out of a zip archive in memory (stored and deflated entries, no encryption).
//!
//! Invariant: the bytes are foreign. No more is unpacked than the caller allows, and an unpacked file has the length and the checksum that
//! the archive names.

use std::io::Read;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

/// Why nothing can be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ZipError {
    #[error("it is not a zip archive, or is truncated")]
    Broken,
    #[error("its entry is encrypted or packed in a way that is not supported")]
    Unsupported,
    #[error("its entry is larger than allowed")]
    TooLarge,
}

impl From<rawzip::Error> for ZipError {
    fn from(_error: rawzip::Error) -> Self {
        Self::Broken
    }
}

/// The first entry whose name ends in `suffix`, unpacked.
pub(super) fn file_ending_in(archive: &[u8], suffix: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, ZipError> {
    let archive = ZipArchive::from_slice(archive)?;
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry()? {
        // By the end of the name, as upload tools put folders before it.
        if entry.is_dir() || !entry.file_path().as_bytes().ends_with(suffix.as_bytes()) {
            continue;
        }
        // An artifact is never encrypted. One that is was not made by us.
        if entry.flags().is_encrypted() {
            return Err(ZipError::Unsupported);
        }
        return unpack(&archive, entry.wayfinder(), entry.compression_method(), max_bytes).map(Some);
    }
    Ok(None)
}

fn unpack(
    archive: &ZipSliceArchive<&[u8]>,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    max_bytes: usize,
) -> Result<Vec<u8>, ZipError> {
    let max = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let entry = archive.get_entry(place)?;
    // What the archive says of its length is checked at the end; the cap does not wait for that.
    let mut bytes = Vec::new();
    let read = match method {
        // One byte more than is allowed tells a file that is too large from one that just fits.
        CompressionMethod::STORE => entry.data().take(max.saturating_add(1)).read_to_end(&mut bytes),
        CompressionMethod::DEFLATE => {
            DeflateDecoder::new(entry.data()).take(max.saturating_add(1)).read_to_end(&mut bytes)
        }
        _ => return Err(ZipError::Unsupported),
    };
    read.map_err(|_cut: std::io::Error| ZipError::Broken)?;
    if bytes.len() > max_bytes {
        return Err(ZipError::TooLarge);
    }
    let mut verified = entry.verifying_reader(bytes.as_slice());
    std::io::copy(&mut verified, &mut std::io::sink()).map_err(|_other: std::io::Error| ZipError::Broken)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive made by Python's `zipfile`. `a/audit.db` holds 40 times `upshift `, deflated. `note.txt` holds `hello`, stored.
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
    fn what_is_not_what_the_archive_says_is_refused() {
        let mut archive = archive();
        let at = archive.windows(5).position(|bytes| bytes == b"hello").unwrap();
        archive[at] = b'j';
        assert_eq!(file_ending_in(&archive, "note.txt", 1_000), Err(ZipError::Broken));
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
