//! One stream under way: its newest bytes in memory, and its file. Of a stream that is kept whole, what was before them is on disk.
//!
//! Invariants: whoever writes the file holds it, so that an older text never replaces a newer one. A text is cut where no secret has begun.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::redact::Redactor;

/// The most bytes that are kept of one stream: its newest.
pub const MAX_STREAM: usize = 2_000_000;

/// Writing takes at most this part of the time: a stream that is long to write is written less often.
const PART_OF_TIME: u32 = 20;

/// Puts a text in the place of a stream's file, which is named after its place and what it is of.
pub(super) type Keep<'a> = &'a dyn Fn(&str, &str, &[u8], &mut Kept);

/// Puts a text behind what a stream was before, and says whether it is there.
pub(super) type Put<'a> = &'a dyn Fn(&str, &str, &[u8], &mut Kept) -> bool;

/// A stream that is being read, shared with whoever writes it as it goes.
#[derive(Debug)]
pub(super) struct UnderWay {
    place: String,
    what: &'static str,
    /// Whether what was before its newest bytes is kept too.
    is_whole: bool,
    text: Mutex<Text>,
    file: Mutex<Kept>,
}

/// The newest bytes.
#[derive(Debug, Default)]
struct Text {
    /// What was cut off and may be half a secret.
    begun: String,
    tail: Vec<u8>,
    /// The bytes that are not here any more.
    dropped: u64,
    /// Whether bytes came since it was written last.
    is_new: bool,
}

/// The file, as it stands on disk.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Its name. `None` before it was written.
    pub(super) name: Option<String>,
    /// Its size.
    pub(super) bytes: u64,
    /// The name of the file of what was before, and how many bytes of the stream that has.
    pub(super) before: Option<(String, u64)>,
    /// Whether nothing more is put there.
    is_full: bool,
    /// It is not written again before.
    not_before: Option<Instant>,
    ended: bool,
}

impl UnderWay {
    pub(super) fn new(place: String, what: &'static str, is_whole: bool) -> Self {
        Self { place, what, is_whole, text: Mutex::default(), file: Mutex::default() }
    }

    /// Takes the next bytes.
    pub(super) fn push(&self, bytes: &[u8], redactor: &Redactor, put: Put<'_>) {
        let cut = {
            let mut text = held(&self.text);
            text.tail.extend_from_slice(bytes);
            text.is_new = true;
            // Moved only when it has doubled, so that each byte is moved at most once.
            (text.tail.len() > 2 * MAX_STREAM).then(|| text.cut(redactor))
        };
        // The lock of the text is free again: writing a file must not hold up whoever reads a program's output.
        if let Some(cut) = cut.filter(|_| self.is_whole) {
            self.put(&cut, &mut held(&self.file), redactor, put);
        }
    }

    /// Keeps what was before the newest bytes.
    fn put(&self, cut: &str, file: &mut Kept, redactor: &Redactor, put: Put<'_>) {
        if file.is_full || cut.is_empty() {
            return;
        }
        if put(&self.place, self.what, redactor.redact(cut).as_bytes(), file) {
            if let Some((_, bytes)) = &mut file.before {
                *bytes = bytes.saturating_add(u64::try_from(cut.len()).unwrap_or(u64::MAX));
            }
        } else {
            file.is_full = true;
        }
    }

    /// Writes what came since the last time, but for a secret that may have begun at its end.
    pub(super) fn write_so_far(&self, redactor: &Redactor, keep: Keep<'_>) {
        let mut file = held(&self.file);
        let now = Instant::now();
        // The thread may come once more after the end, and would put an older text over the whole one.
        if file.ended || file.not_before.is_some_and(|then| now < then) {
            return;
        }
        let Some((text, dropped)) = self.newest() else { return };
        // A secret whose end is still to come would not be recognised in its first half.
        let whole = text.get(..redactor.ended(&text)).unwrap_or_default();
        self.write((whole, dropped), &mut file, redactor, keep);
        // A slow disk, or a long text to compress, slows itself down and not the run.
        file.not_before = Some(now + now.elapsed().saturating_mul(PART_OF_TIME).max(Duration::from_millis(1)));
    }

    /// Writes the whole stream for the last time.
    pub(super) fn end(&self, redactor: &Redactor, keep: Keep<'_>, put: Put<'_>) {
        // Held until all is written, so that the background thread finds it ended.
        let mut file = held(&self.file);
        file.ended = true;
        let (cut, text, dropped) = {
            let mut text = held(&self.text);
            let cut = text.cut(redactor);
            (cut, text.take(), text.dropped)
        };
        if self.is_whole {
            self.put(&cut, &mut file, redactor, put);
        }
        self.write((&text, dropped), &mut file, redactor, keep);
    }

    /// The bytes in memory.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        let text = held(&self.text);
        text.begun.len() + text.tail.len()
    }

    fn newest(&self) -> Option<(String, u64)> {
        let mut text = held(&self.text);
        std::mem::take(&mut text.is_new).then(|| (text.so_far(), text.dropped))
    }

    fn write(&self, (text, dropped): (&str, u64), file: &mut Kept, redactor: &Redactor, keep: Keep<'_>) {
        let mut text = redactor.redact(text).into_owned().into_bytes();
        let mut dropped = dropped;
        // What a whole stream was before its newest bytes goes to its own file when they are cut off.
        if !self.is_whole {
            let over = text.len().saturating_sub(MAX_STREAM);
            // Redacting can change the length, so that it is cut once more.
            text.drain(..over);
            dropped = dropped.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
        }
        if dropped > 0 {
            let mut whole = format!("… {} …\n", where_is(dropped, file.before.as_ref())).into_bytes();
            whole.append(&mut text);
            text = whole;
        }
        if !text.is_empty() {
            keep(&self.place, self.what, &text, file);
        }
    }
}

/// Says where the bytes before the newest ones are.
fn where_is(dropped: u64, before: Option<&(String, u64)>) -> String {
    match before {
        None => format!("{dropped} bytes before this were not kept"),
        Some((name, bytes)) if *bytes >= dropped => format!("{dropped} bytes before this stand in {name}"),
        Some((name, bytes)) => {
            format!("of {dropped} bytes before this the first {bytes} stand in {name}, the others were not kept")
        }
    }
}

impl Text {
    /// Takes the bytes before the newest off, up to where a secret may have begun.
    fn cut(&mut self, redactor: &Redactor) -> String {
        let over = self.tail.len().saturating_sub(MAX_STREAM);
        // Not in the middle of a character.
        let begins = |at: &usize| self.tail.get(*at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000);
        let over = (over.saturating_sub(3)..=over).rev().find(begins).unwrap_or(over);
        if over == 0 {
            return String::new();
        }
        let mut older = std::mem::take(&mut self.begun);
        older.push_str(&String::from_utf8_lossy(self.tail.get(..over).unwrap_or_default()));
        self.tail.drain(..over);
        // Kept for the next cut, where the rest of the secret stands beside it.
        self.begun = older.split_off(redactor.ended(&older));
        self.dropped = self.dropped.saturating_add(u64::try_from(older.len()).unwrap_or(u64::MAX));
        older
    }

    /// All that is here.
    fn so_far(&self) -> String {
        let mut text = self.begun.clone();
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }

    fn take(&mut self) -> String {
        let text = self.so_far();
        (self.begun, self.tail) = (String::new(), Vec::new());
        text
    }
}

/// Room for a file on the disk of a run, taken before it is written.
#[derive(Debug, Default)]
pub(super) struct Room {
    taken: u64,
    most: u64,
}

impl Room {
    /// Room of `most` bytes, some of them taken by an earlier process.
    pub(super) const fn new(taken: u64, most: u64) -> Self {
        Self { taken, most }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// When there are not so many left.
    pub(super) fn take(&mut self, bytes: u64) -> io::Result<()> {
        let taken = self.taken.checked_add(bytes).filter(|taken| *taken <= self.most);
        let full = || io::Error::other(format!("with it the streams of this run had more than {} bytes", self.most));
        self.taken = taken.ok_or_else(full)?;
        Ok(())
    }

    /// Gives bytes back.
    pub(super) const fn give_back(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_sub(bytes);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
