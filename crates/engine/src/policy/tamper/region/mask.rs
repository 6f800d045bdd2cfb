//! Masked text: code whose strings and comments are blanked, so that brackets can be counted.

use std::ops::Range;

/// The byte at a place. 0 behind the end.
pub(super) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The place behind the bracket that closes the one at `at`. The end when none does. Works on masked text.
pub(super) fn behind_match(mask: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, &found) in mask.iter().enumerate().skip(at) {
        match found {
            b'(' | b'[' | b'{' => depth += 1,
            // Kinds are not told apart: text that compiles has its pairs in order.
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return place + 1;
        }
    }
    mask.len()
}

/// Blanks a stretch of a mask, line ends excepted.
pub(super) fn blank(mask: &mut [u8], range: Range<usize>) {
    for byte in mask.get_mut(range).into_iter().flatten() {
        // Line ends stay, since statements are found line by line.
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}
