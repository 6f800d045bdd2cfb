//! Finds in a line the marks that wake readers.
//!
//! Two steps, because most lines of most logs hold no mark: tables of pieces, one of each mark (eight bytes, or four
//! of a short mark), say quickly that a line holds none; the others are searched by one automaton over all marks.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::{GENERIC, Generic, Mask, READERS};

/// How much of a line is searched: marks stand at the beginning, and documents are one endless line.
const WINDOW: usize = 4 * 1024;
/// The pieces' length.
const PIECE: usize = 4;
/// The length of a long mark's piece.
const LONG_PIECE: usize = 8;
/// The table has two to the power of this many bits: chance hits are one in a thousand, and it stays in a fast cache.
const TABLE_BITS: u32 = 20;

/// All marks, and which readers each wakes.
struct Marks {
    automaton: Option<AhoCorasick>,
    wakes: Vec<Mask>,
    pieces: Vec<u64>,
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let mut literals: Vec<&str> = Vec::new();
    let mut wakes: Vec<Mask> = Vec::new();
    let of_readers =
        READERS.iter().enumerate().flat_map(|(bit, (_, marks))| marks.iter().map(move |mark| (*mark, 1 << bit)));
    for (mark, mask) in of_readers.chain(Generic::marks().map(|mark| (mark, GENERIC))) {
        match literals.iter().position(|literal| *literal == mark).and_then(|at| wakes.get_mut(at)) {
            Some(known) => *known |= mask,
            None => {
                literals.push(mark);
                wakes.push(mask);
            }
        }
    }
    let mut pieces = vec![0; 1 << (TABLE_BITS - 6)];
    for literal in &literals {
        add_pieces(literal.as_bytes(), &mut pieces);
    }
    // The marks are constants, so building cannot fail; without the automaton every reader is awake from the start.
    let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(&literals).ok();
    Marks { automaton, wakes, pieces }
});

/// Whether marks can be found at all.
pub(super) fn work() -> bool {
    MARKS.automaton.is_some()
}

/// The readers that a line wakes.
pub(super) fn of(line: &str) -> Mask {
    let marks = &*MARKS;
    let window = line.as_bytes().get(..WINDOW.min(line.len())).unwrap_or_default();
    if !may_hold(window, &marks.pieces) {
        return 0;
    }
    let Some(automaton) = &marks.automaton else { return 0 };
    automaton
        .find_overlapping_iter(window)
        .filter_map(|found| marks.wakes.get(found.pattern().as_usize()))
        .fold(0, |mask, wakes| mask | wakes)
}

fn may_hold(window: &[u8], pieces: &[u64]) -> bool {
    let long = |piece: &[u8]| <[u8; LONG_PIECE]>::try_from(piece).is_ok_and(|piece| is_set(folded(piece), pieces));
    window.windows(PIECE).any(|piece| <[u8; PIECE]>::try_from(piece).is_ok_and(|piece| is_set(piece, pieces)))
        || window.windows(LONG_PIECE).any(long)
}

/// Eight bytes mixed into four, which four bytes of text never are: the top bit of each is set.
const fn folded(piece: [u8; LONG_PIECE]) -> [u8; PIECE] {
    let mixed = u64::from_le_bytes(piece).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let [.., a, b, c, d] = mixed.to_le_bytes();
    [a | 0x80, b, c, d | 0x80]
}

const fn slot(piece: [u8; PIECE]) -> (usize, u64) {
    // Multiplicative hashing: the top bits of the product depend on all of the piece.
    let hash = u32::from_le_bytes(piece).wrapping_mul(0x9E37_79B1) >> (32 - TABLE_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

fn is_set(piece: [u8; PIECE], pieces: &[u64]) -> bool {
    let (at, bit) = slot(piece);
    pieces.get(at).is_some_and(|word| word & bit != 0)
}

fn set(piece: [u8; PIECE], pieces: &mut [u64]) {
    let (at, bit) = slot(piece);
    if let Some(word) = pieces.get_mut(at) {
        *word |= bit;
    }
}

/// Adds the rarest piece of a mark; one that is a byte short stands for every piece that it begins.
fn add_pieces(mark: &[u8], pieces: &mut [u64]) {
    if let [first, second, third] = mark {
        for fourth in 0..=u8::MAX {
            set([*first, *second, *third, fourth], pieces);
        }
        return;
    }
    let longs = mark.windows(LONG_PIECE).filter_map(|piece| <[u8; LONG_PIECE]>::try_from(piece).ok());
    if let Some(piece) = longs.max_by_key(|piece| piece.iter().map(|byte| rarity(*byte)).sum::<u32>()) {
        set(folded(piece), pieces);
        return;
    }
    debug_assert!(mark.len() >= PIECE, "a mark of one or two bytes wakes in every line");
    let all = mark.windows(PIECE).filter_map(|piece| <[u8; PIECE]>::try_from(piece).ok());
    let best = all.max_by_key(|piece| piece.iter().map(|byte| rarity(*byte)).sum::<u32>());
    if let Some(piece) = best {
        set(piece, pieces);
    }
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
                for line in [format!("{mark} "), format!("some words before {mark} and behind"), format!("x{mark}.")] {
                    assert!(of(&line) & (1 << bit) != 0, "{names:?} {mark:?}");
                }
            }
        }
    }

    #[test]
    fn ordinary_lines_wake_nobody() {
        for line in
            ["", "a", "2026-01-02 03:04:05 [info] request 17 handled in 3 ms by worker 4", "loading modules 17 of 20"]
        {
            assert_eq!(of(line), 0, "{line}");
        }
    }
}
