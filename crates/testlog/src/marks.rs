//! Finds in a line the marks that wake readers.
//!
//! Most lines of most logs hold no mark, so the search is made for saying no: of every long mark two overlapping pieces of four bytes are
//! known, one of which begins at an even place wherever the mark stands. Only the pieces at even places of a line are looked up, in a table
//! that stays in the near caches, and a piece that is there is compared in full. Short marks are looked for at the beginning of a line, or
//! by their first byte when that is beyond ASCII.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::generic::Generic;
use crate::readers::{GENERIC, Mask, READERS};

/// How much of a line is searched: marks stand at the beginning, and documents are one endless line.
const WINDOW: usize = 4 * 1024;
/// The pieces' length.
const PIECE: usize = 4;
/// The shortest mark that has two pieces.
const LONG: usize = PIECE + 1;
/// How many bytes are looked at in one step.
const STEP: usize = 8;
/// The table has two to the power of this many bytes, one for a piece: chance hits are about one in a hundred, and a byte is
/// looked up with half the work of a bit.
const TABLE_BITS: u32 = 16;
const TABLE: usize = 1 << TABLE_BITS;
/// Pieces are found again in two to the power of this many buckets.
const BUCKET_BITS: u32 = 12;

/// How many filters are kept. Each is as large as its table.
const MOST_KEPT: usize = 4;

/// Words that ordinary logs are full of: a piece that one of them holds is found too often to be of use.
const COMMON: &[u8] = b" the and for from with this that not into over your have been will was were are has had can use used using in on at \
    of to by as is it be or an all no one two new old set get add added removed update updated create created delete deleted \
    check checked checking checks node npm install installed version worker workers cache cached server client connection \
    connect connected open opened closed close read write written data database table query name path src lib index main \
    string number object array null undefined true false loading loaded load handled request requests response run \
    runs start started starting stop stopped building build built compiling compiled done finished \
    pending warning warnings info debug trace file files line lines function method \
    class case cases value values expected received actual result results TestCase module modules \
    package packages processed in called in created in took time ms user caught thought bought brought first found \
    which other more than then they there their about would these only also could after between through during before \
    because example configuration option options default message messages process processing ";

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
    text: &'static [u8],
    wakes: Mask,
}

/// All marks, by how they are looked for.
#[derive(Debug)]
struct Marks {
    buckets: Vec<Vec<Piece>>,
    /// Short ones in ASCII: at the beginning of a line, indentation aside.
    leading: Vec<Mark>,
    /// Short ones that begin beyond ASCII: anywhere.
    foreign: Vec<Mark>,
}

/// A filter for the parts of a line that may be a mark that anybody still waits for.
#[derive(Debug)]
pub(super) struct Filter {
    marks: &'static Marks,
    /// The pieces that are looked up.
    table: Box<[u8; TABLE]>,
    /// The bytes that the short marks in ASCII begin with.
    leads: [bool; 256],
    /// Whether a mark begins beyond ASCII.
    foreign: bool,
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let of_readers =
        READERS.iter().enumerate().flat_map(|(bit, (_, marks))| marks.iter().map(move |mark| (*mark, 1 << bit)));
    let of_all = of_readers.chain(Generic::marks().map(|mark| (mark, GENERIC)));
    let mut all: Vec<Mark> = of_all.map(|(text, wakes)| Mark { text: text.as_bytes(), wakes }).collect();
    all.sort_unstable_by_key(|mark| mark.text);
    all.dedup_by(|next, kept| {
        let same = next.text == kept.text;
        kept.wakes |= if same { next.wakes } else { 0 };
        same
    });
    let mut marks = Marks {
        buckets: (0..1 << BUCKET_BITS).map(|_| Vec::new()).collect(),
        leading: Vec::new(),
        foreign: Vec::new(),
    };
    let common = Common::new();
    for mark in all {
        match mark.text {
            text if text.len() >= LONG => marks.add_long(&mark, &common),
            [first, ..] if first.is_ascii() => marks.leading.push(mark),
            _ => marks.foreign.push(mark),
        }
    }
    marks
});

/// How far a text was searched.
#[derive(Debug)]
pub(super) struct Scan {
    /// No mark of a line that is still to come has a piece before this place.
    at: usize,
    /// The first byte beyond ASCII of the lines that are still to come.
    foreign: usize,
}

impl Filter {
    /// The filter for the marks of the readers in `wanted`. Filters of the last few kinds of logs are kept, since the next log is of such a
    /// kind.
    pub(super) fn of(wanted: Mask) -> Arc<Self> {
        static KEPT: Mutex<VecDeque<(Mask, Arc<Filter>)>> = Mutex::new(VecDeque::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, filter)) = kept.iter().find(|(mask, _)| *mask == wanted) {
            return Arc::clone(filter);
        }
        let made = Arc::new(Self::new(wanted));
        kept.truncate(MOST_KEPT - 1);
        kept.push_front((wanted, Arc::clone(&made)));
        made
    }

    /// The filter for the marks of the readers in `wanted`.
    fn new(wanted: Mask) -> Self {
        let marks = &*MARKS;
        let mut filter = Self { marks, table: Box::new([0; TABLE]), leads: [false; 256], foreign: false };
        for piece in marks.buckets.iter().flatten().filter(|piece| piece.wakes & wanted != 0) {
            if let Some(known) = filter.table.get_mut(slot_of(hash_of(u32::from_le_bytes(piece.bytes)))) {
                *known = 1;
            }
        }
        for mark in marks.leading.iter().filter(|mark| mark.wakes & wanted != 0) {
            if let Some(leads) = mark.text.first().and_then(|first| filter.leads.get_mut(usize::from(*first))) {
                *leads = true;
            }
        }
        filter.foreign = marks.foreign.iter().any(|mark| mark.wakes & wanted != 0);
        filter
    }

    /// The next place at which a piece of a mark may stand, or the end of the text.
    ///
    /// Pieces stand two bytes apart and are as long as four, so each step looks at one and a part of the next.
    fn candidate(&self, text: &[u8], from: usize) -> usize {
        let (steps, _) = text.get(from..).unwrap_or_default().as_chunks::<STEP>();
        let mut at = from;
        if let Some((first, rest)) = steps.split_first() {
            let mut now = u64::from_le_bytes(*first);
            for step in rest {
                let next = u64::from_le_bytes(*step);
                // The four even places of this step, the last of which reaches into the next step.
                let found = [low(now), low(now >> 16), low(now >> 32), low(now >> 48 | next << 16)]
                    .map(|piece| self.test(piece));
                // One branch for four pieces, as nearly always there is nothing.
                if found.iter().fold(0, |all, one| all | one) != 0 {
                    return at + 2 * found.iter().position(|one| *one != 0).unwrap_or(0);
                }
                at += STEP;
                now = next;
            }
        }
        // The rest is too short for a step.
        while let Some(piece) = text.get(at..).and_then(|rest| rest.first_chunk::<PIECE>()) {
            if self.test(u32::from_le_bytes(*piece)) != 0 {
                return at;
            }
            at += 2;
        }
        text.len()
    }

    /// Not zero when a piece may be one of a mark.
    fn test(&self, piece: u32) -> u8 {
        self.table.get(slot_of(hash_of(piece))).copied().unwrap_or(0)
    }
}

impl Scan {
    /// Starts a search in a text of many lines.
    pub(super) fn new(text: &str) -> Self {
        Self { at: 0, foreign: beyond_ascii(text.as_bytes(), 0) }
    }

    /// The readers, of those in `wanted`, that the line at this place of the text wakes. Lines are asked for in order. `first` is the first
    /// byte of the line behind its indentation. The filter passes the marks of those in `wanted`.
    #[inline]
    pub(super) fn wakes(&mut self, filter: &Filter, text: &str, line: Range<usize>, first: u8, wanted: Mask) -> Mask {
        let leads = filter.leads.get(usize::from(first)) == Some(&true);
        // Nothing stands before what was found last.
        if self.at >= line.end && (self.foreign >= line.end || !filter.foreign) && !leads {
            return 0;
        }
        self.search(filter, text, line, leads, wanted)
    }

    fn search(&mut self, filter: &Filter, text: &str, line: Range<usize>, leads: bool, wanted: Mask) -> Mask {
        let marks = filter.marks;
        let end = line.end.min(line.start.saturating_add(WINDOW));
        let window = text.as_bytes().get(line.start..end).unwrap_or_default();
        let mut found = 0;
        if leads {
            found |= marks.find_leading(window);
        }
        if filter.foreign && self.foreign < line.start {
            self.foreign = beyond_ascii(text.as_bytes(), line.start);
        }
        if filter.foreign && self.foreign < end {
            found |= marks.find_foreign(window, self.foreign - line.start, wanted);
        }
        self.at = self.at.max(line.start);
        while self.at < end {
            self.at = filter.candidate(text.as_bytes(), self.at);
            if self.at >= end {
                break;
            }
            found |= marks.compare(window, self.at - line.start, wanted & !found);
            self.at += 2;
        }
        found & wanted
    }
}

/// The pieces of [`COMMON`], by their hashes: this is made in every run, however little there is to read, and a stranger
/// taken for one of them is only passed over.
struct Common(Box<[u8; TABLE]>);

impl Common {
    fn new() -> Self {
        let mut known = Box::new([0; TABLE]);
        for piece in COMMON.array_windows::<PIECE>() {
            if let Some(slot) = known.get_mut(slot_of(hash_of(u32::from_le_bytes(*piece)))) {
                *slot = 1;
            }
        }
        Self(known)
    }

    fn holds(&self, piece: &[u8]) -> bool {
        let Some(piece) = piece.first_chunk::<PIECE>() else { return true };
        self.0.get(slot_of(hash_of(u32::from_le_bytes(*piece)))) == Some(&1)
    }
}

impl Marks {
    fn add_long(&mut self, mark: &Mark, common: &Common) {
        let text = mark.text;
        let worth_of = |at: usize| {
            let piece = text.get(at..at + PIECE).unwrap_or_default();
            (!common.holds(piece), piece.iter().map(|byte| u32::from(rarity(*byte))).sum::<u32>())
        };
        // The two pieces together decide how often a line is looked at for nothing.
        let (mut best, mut most, mut one) = (0, (false, 0), worth_of(0));
        for at in 0..=text.len() - LONG {
            let other = worth_of(at + 1);
            let worth = (one.0 && other.0, one.1.min(other.1));
            if worth >= most {
                (best, most) = (at, worth);
            }
            one = other;
        }
        for offset in [best, best + 1] {
            let bytes = text.get(offset..offset + PIECE).and_then(|piece| <[u8; PIECE]>::try_from(piece).ok());
            let Some(bytes) = bytes else { continue };
            let hash = hash_of(u32::from_le_bytes(bytes));
            if let Some(bucket) = self.buckets.get_mut(bucket_of(hash)) {
                bucket.push(Piece { bytes, offset, text, wakes: mark.wakes });
            }
        }
    }

    /// Compares the marks that have the piece at `at` with the text around it.
    fn compare(&self, window: &[u8], at: usize, wanted: Mask) -> Mask {
        let Some(piece) = window.get(at..).and_then(|rest| rest.first_chunk::<PIECE>()) else { return 0 };
        let mut found = 0;
        let hash = hash_of(u32::from_le_bytes(*piece));
        for one in self.buckets.get(bucket_of(hash)).into_iter().flatten() {
            if one.wakes & wanted != 0
                && one.bytes == *piece
                && at
                    .checked_sub(one.offset)
                    .and_then(|start| window.get(start..))
                    .is_some_and(|text| text.starts_with(one.text))
            {
                found |= one.wakes;
            }
        }
        found
    }

    fn find_leading(&self, window: &[u8]) -> Mask {
        let text = window.trim_ascii_start();
        let begins = |mark: &&Mark| mark.text.first() == text.first() && text.starts_with(mark.text);
        self.leading.iter().filter(begins).fold(0, |found, mark| found | mark.wakes)
    }

    /// Compares the marks that begin beyond ASCII. `from` is the first such byte of the window.
    fn find_foreign(&self, window: &[u8], from: usize, wanted: Mask) -> Mask {
        const LONGEST_CHARACTER: usize = 4;
        let mut found = 0;
        let mut at = from;
        while let Some(text) = window.get(at..).filter(|text| !text.is_empty()) {
            for mark in self.foreign.iter().filter(|mark| mark.wakes & wanted != 0) {
                if text.starts_with(mark.text) {
                    found |= mark.wakes;
                }
            }
            // To the next character: the other bytes of this one are beyond ASCII too.
            let inside = text.iter().take(LONGEST_CHARACTER).skip(1).take_while(|byte| **byte & 0xC0 == 0x80).count();
            at = beyond_ascii(window, at + 1 + inside);
        }
        found
    }
}

/// The place of the first byte beyond ASCII from `from` on, or the end of the text.
fn beyond_ascii(text: &[u8], from: usize) -> usize {
    const MANY: usize = 64;
    let mut at = from;
    for many in text.get(from..).unwrap_or_default().chunks(MANY) {
        if !many.is_ascii() {
            return at + first_beyond(many);
        }
        at += many.len();
    }
    text.len()
}

/// The place of the first byte beyond ASCII, or the length. It looks at eight bytes at a time.
fn first_beyond(bytes: &[u8]) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (steps, rest) = bytes.as_chunks::<STEP>();
    for (at, step) in steps.iter().enumerate() {
        let high = u64::from_le_bytes(*step) & HIGH;
        if high != 0 {
            return at * STEP + high.trailing_zeros() as usize / 8;
        }
    }
    steps.len() * STEP + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

const fn hash_of(piece: u32) -> u32 {
    // Multiplicative hashing: the top bits of the product depend on all of the piece.
    piece.wrapping_mul(0x9E37_79B1)
}

const fn slot_of(hash: u32) -> usize {
    (hash >> (32 - TABLE_BITS)) as usize
}

/// The first four bytes of eight.
const fn low(bytes: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the rest is left out on purpose")]
    {
        bytes as u32
    }
}

const fn bucket_of(hash: u32) -> usize {
    (hash >> (32 - BUCKET_BITS)) as usize
}

/// How rare a byte is in logs, roughly.
pub(super) const fn rarity(byte: u8) -> u8 {
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

    fn first(line: &str) -> u8 {
        line.trim_start().bytes().next().unwrap_or(b'.')
    }

    fn of(line: &str, wanted: Mask) -> Mask {
        Scan::new(line).wakes(&Filter::new(wanted), line, 0..line.len(), first(line), wanted)
    }

    #[test]
    fn every_mark_wakes_its_reader_wherever_it_stands() {
        for (bit, (names, marks)) in READERS.iter().enumerate() {
            for mark in *marks {
                let short = mark.len() < LONG && mark.is_ascii();
                let before: &[&str] =
                    if short { &["", "    "] } else { &["", "x", "some words before ", "é an odd place"] };
                for head in before {
                    for tail in ["", " ", "."] {
                        let line = format!("{head}{mark}{tail}");
                        assert!(of(&line, !0) & (1 << bit) != 0, "{names:?} {line:?}");
                        let text = format!("{mark}\nbefore it\n{line}\n and much behind it");
                        let start = mark.len() + "\nbefore it\n".len();
                        let found = Scan::new(&text).wakes(
                            &Filter::new(!0),
                            &text,
                            start..start + line.len(),
                            first(&line),
                            !0,
                        );
                        assert!(found & (1 << bit) != 0, "{names:?} {text:?}");
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
    fn a_mark_over_the_end_of_a_line_or_of_another_line_wakes_nobody() {
        let text = "some words and running \n3 tests, test result:\n ok";
        let mut scan = Scan::new(text);
        let filter = Filter::new(!GENERIC);
        let mut start = 0;
        for line in text.lines() {
            let end = start + line.len();
            assert_eq!(
                scan.wakes(&filter, text, start..end, first(line), !GENERIC) & 1,
                u64::from(line.contains("running ")),
                "{line}"
            );
            start = end + 1;
        }
    }

    #[test]
    fn only_what_is_asked_for_is_found() {
        assert_eq!(of("running 3 tests", 0), 0);
    }
}
