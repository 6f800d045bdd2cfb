//! Finds in a line the marks that wake readers.
//!
//! Most lines of most logs hold no mark, so the search is made for saying no: of every long mark two overlapping pieces of
//! four bytes are known, one of which begins at an even place wherever the mark stands. Only the pieces at even places
//! of a line are looked up, in a table of bits that stays in the fastest cache; what is there is compared in full. Short
//! marks are looked for at the beginning of a line, or by their first byte when that is beyond ASCII.

use std::sync::LazyLock;

use super::{GENERIC, Generic, Mask, READERS};

/// How much of a line is searched: marks stand at the beginning, and documents are one endless line.
const WINDOW: usize = 4 * 1024;
/// The pieces' length.
const PIECE: usize = 4;
/// The shortest mark that has two pieces.
const LONG: usize = PIECE + 1;
/// The table has two to the power of this many bits (8 KB): chance hits are about one in fifty.
const TABLE_BITS: u32 = 16;
/// How many words of 64 bits that is.
const WORDS: usize = 1 << (TABLE_BITS - 6);
/// Pieces are found again in two to the power of this many buckets.
const BUCKET_BITS: u32 = 12;

/// A mark, and which readers it wakes.
#[derive(Debug)]
struct Mark {
    text: &'static [u8],
    wakes: Mask,
}

/// One piece of a mark.
#[derive(Debug)]
struct Piece {
    bytes: [u8; PIECE],
    /// Where in the mark it begins.
    offset: usize,
    mark: usize,
}

/// All marks, by how they are looked for.
struct Marks {
    table: Box<[u64; WORDS]>,
    buckets: Vec<Vec<Piece>>,
    long: Vec<Mark>,
    /// Short ones in ASCII: at the beginning of a line, indentation aside.
    leading: Vec<Mark>,
    /// Short ones that begin beyond ASCII: anywhere.
    foreign: Vec<Mark>,
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let of_readers =
        READERS.iter().enumerate().flat_map(|(bit, (_, marks))| marks.iter().map(move |mark| (*mark, 1 << bit)));
    let mut all: Vec<Mark> = Vec::new();
    for (text, wakes) in of_readers.chain(Generic::marks().map(|mark| (mark, GENERIC))) {
        match all.iter_mut().find(|mark| mark.text == text.as_bytes()) {
            Some(known) => known.wakes |= wakes,
            None => all.push(Mark { text: text.as_bytes(), wakes }),
        }
    }
    let mut marks = Marks {
        table: Box::new([0; WORDS]),
        buckets: (0..1 << BUCKET_BITS).map(|_| Vec::new()).collect(),
        long: Vec::new(),
        leading: Vec::new(),
        foreign: Vec::new(),
    };
    for mark in all {
        match mark.text {
            text if text.len() >= LONG => marks.add_long(mark),
            [first, ..] if first.is_ascii() => marks.leading.push(mark),
            _ => marks.foreign.push(mark),
        }
    }
    marks
});

/// The readers that a line wakes, of those in `wanted`.
pub(super) fn of(line: &str, wanted: Mask) -> Mask {
    let marks = &*MARKS;
    let window = line.as_bytes().get(..WINDOW.min(line.len())).unwrap_or_default();
    let mut found = marks.find_leading(window) | marks.find_long(window, wanted);
    if !marks.foreign.is_empty() {
        found |= marks.find_foreign(window);
    }
    found & wanted
}

impl Marks {
    fn add_long(&mut self, mark: Mark) {
        let text = mark.text;
        let rare = |at: usize| -> u32 { text.iter().skip(at).take(PIECE).map(|byte| rarity(*byte)).sum() };
        // The two pieces together decide how often a line is looked at for nothing.
        let best = (0..=text.len() - LONG).max_by_key(|at| rare(*at).min(rare(at + 1))).unwrap_or(0);
        for offset in [best, best + 1] {
            let bytes = text.get(offset..offset + PIECE).and_then(|piece| <[u8; PIECE]>::try_from(piece).ok());
            let Some(bytes) = bytes else { continue };
            let hash = hash_of(u32::from_le_bytes(bytes));
            if let Some(word) = self.table.get_mut(word_of(hash)) {
                *word |= bit_of(hash);
            }
            if let Some(bucket) = self.buckets.get_mut(bucket_of(hash)) {
                bucket.push(Piece { bytes, offset, mark: self.long.len() });
            }
        }
        self.long.push(mark);
    }

    fn find_long(&self, window: &[u8], wanted: Mask) -> Mask {
        let (pairs, _) = window.as_chunks::<2>();
        let Some((first, rest)) = pairs.split_first() else { return 0 };
        let mut found = 0;
        let mut low = u32::from(u16::from_le_bytes(*first));
        for (pair, at) in rest.iter().zip((0..).step_by(2)) {
            let high = u32::from(u16::from_le_bytes(*pair));
            let piece = low | high << 16;
            low = high;
            let hash = hash_of(piece);
            if self.table.get(word_of(hash)).is_some_and(|word| word & bit_of(hash) != 0) {
                found |= self.compare(window, at, piece, hash, wanted & !found);
            }
        }
        found
    }

    /// Compares the marks that have this piece with the text around it.
    #[cold]
    fn compare(&self, window: &[u8], at: usize, piece: u32, hash: u32, wanted: Mask) -> Mask {
        let mut found = 0;
        for one in self.buckets.get(bucket_of(hash)).into_iter().flatten() {
            let Some(mark) = self.long.get(one.mark) else { continue };
            if mark.wakes & wanted != 0
                && u32::from_le_bytes(one.bytes) == piece
                && at
                    .checked_sub(one.offset)
                    .and_then(|start| window.get(start..))
                    .is_some_and(|text| text.starts_with(mark.text))
            {
                found |= mark.wakes;
            }
        }
        found
    }

    fn find_leading(&self, window: &[u8]) -> Mask {
        let text = window.trim_ascii_start();
        let begins = |mark: &&Mark| mark.text.first() == text.first() && text.starts_with(mark.text);
        self.leading.iter().filter(begins).fold(0, |found, mark| found | mark.wakes)
    }

    fn find_foreign(&self, window: &[u8]) -> Mask {
        if window.is_ascii() {
            return 0;
        }
        let mut found = 0;
        for (at, byte) in window.iter().enumerate() {
            if *byte < 0xC0 {
                continue;
            }
            let text = window.get(at..).unwrap_or_default();
            found |=
                self.foreign.iter().filter(|mark| text.starts_with(mark.text)).fold(0, |all, mark| all | mark.wakes);
        }
        found
    }
}

const fn hash_of(piece: u32) -> u32 {
    // Multiplicative hashing: the top bits of the product depend on all of the piece.
    piece.wrapping_mul(0x9E37_79B1)
}

const fn word_of(hash: u32) -> usize {
    (hash >> (32 - TABLE_BITS + 6)) as usize
}

const fn bit_of(hash: u32) -> u64 {
    1 << ((hash >> (32 - TABLE_BITS)) & 63)
}

const fn bucket_of(hash: u32) -> usize {
    (hash >> (32 - BUCKET_BITS)) as usize
}

/// How rare a byte is in logs, roughly.
const fn rarity(byte: u8) -> u32 {
    match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0,
        b'a'..=b'z' | b'0'..=b'9' | b'.' | b':' | b'/' | b'-' => 1,
        b'A'..=b'Z' | b'=' | b'"' | b'[' | b']' | b'(' | b')' => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_wakes_its_reader_wherever_it_stands() {
        for (bit, (names, marks)) in READERS.iter().enumerate() {
            for mark in *marks {
                let short = mark.len() < LONG && mark.is_ascii();
                let before: &[&str] =
                    if short { &["", "    "] } else { &["", "x", "some words before ", "é an odd place"] };
                for head in before {
                    for tail in ["", " ", "."] {
                        assert!(of(&format!("{head}{mark}{tail}"), !0) & (1 << bit) != 0, "{names:?} {head:?}{mark:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn ordinary_lines_wake_nobody() {
        for line in
            ["", "a", "2026-01-02 03:04:05 [info] request 17 handled in 3 ms by worker 4", "loading modules 17 of 20"]
        {
            assert_eq!(of(line, !0), 0, "{line}");
        }
    }

    #[test]
    fn only_what_is_asked_for_is_found() {
        assert_eq!(of("running 3 tests", 0), 0);
    }
}
