//! Texts as members of gzip (RFC 1952).

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

/// Up to here a text is stored as it is: a compressor's tables are hundreds of kilobytes to fill, and a file takes one block of a disk
/// either way.
pub(super) const MOST_STORED: usize = 2_048;

/// A text as a member.
pub(super) fn member(text: &[u8]) -> io::Result<Vec<u8>> {
    if let Some(member) = stored(text) {
        return Ok(member);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

/// A short text as a member of gzip (RFC 1952) of one stored block (RFC 1951, 3.2.4). `None` if it is longer.
fn stored(text: &[u8]) -> Option<Vec<u8>> {
    /// The format's two bytes, deflate, no flags, no time, no extra flags, an unknown system.
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    /// The mark of a block that is the last one and stored.
    const LAST_STORED: u8 = 1;
    let length = u16::try_from(text.len()).ok().filter(|_| text.len() <= MOST_STORED)?;
    let mut sum = Crc::new();
    sum.update(text);
    let mut member = HEADER.to_vec();
    member.push(LAST_STORED);
    member.extend(length.to_le_bytes());
    member.extend((!length).to_le_bytes());
    member.extend(text);
    member.extend(sum.sum().to_le_bytes());
    member.extend(u32::from(length).to_le_bytes());
    Some(member)
}
