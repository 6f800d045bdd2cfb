//! One stream under way: its newest bytes in memory, and its file.
//!
//! Invariant: whoever writes the file holds it, so that an older text never replaces a newer one.

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

/// A stream that is being read, shared with whoever writes it as it goes.
#[derive(Debug)]
pub(super) struct UnderWay {
    place: String,
    what: &'static str,
    text: Mutex<Text>,
    file: Mutex<Kept>,
}

/// The newest bytes.
#[derive(Debug, Default)]
struct Text {
    tail: Vec<u8>,
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
    /// It is not written again before.
    not_before: Option<Instant>,
    ended: bool,
}

impl UnderWay {
    pub(super) fn new(place: String, what: &'static str) -> Self {
        Self { place, what, text: Mutex::default(), file: Mutex::default() }
    }

    /// Takes the next bytes.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut text = held(&self.text);
        text.tail.extend_from_slice(bytes);
        text.is_new = true;
        // Moved only when it has doubled, so that each byte is moved at most once.
        if text.tail.len() > 2 * MAX_STREAM {
            text.cut();
        }
    }

    /// Writes what came since the last time, but for a secret that may have begun at its end.
    pub(super) fn write_so_far(&self, redactor: &Redactor, keep: Keep<'_>) {
        let mut file = held(&self.file);
        let now = Instant::now();
        if file.ended || file.not_before.is_some_and(|then| now < then) {
            return;
        }
        let Some((tail, dropped)) = self.newest() else { return };
        let text = String::from_utf8_lossy(&tail);
        let whole = text.get(..redactor.ended(&text)).unwrap_or_default();
        self.write((whole, dropped), &mut file, redactor, keep);
        file.not_before = Some(now + now.elapsed().saturating_mul(PART_OF_TIME).max(Duration::from_millis(1)));
    }

    /// Writes the whole stream for the last time.
    pub(super) fn end(&self, redactor: &Redactor, keep: Keep<'_>) {
        let mut file = held(&self.file);
        file.ended = true;
        let (tail, dropped) = {
            let mut text = held(&self.text);
            (std::mem::take(&mut text.tail), text.dropped)
        };
        self.write((&String::from_utf8_lossy(&tail), dropped), &mut file, redactor, keep);
    }

    fn newest(&self) -> Option<(Vec<u8>, u64)> {
        let mut text = held(&self.text);
        std::mem::take(&mut text.is_new).then(|| (text.tail.clone(), text.dropped))
    }

    fn write(&self, (text, dropped): (&str, u64), file: &mut Kept, redactor: &Redactor, keep: Keep<'_>) {
        // Half a secret at the cut would not be recognised: redacted before, where that is possible.
        let mut text = redactor.redact(text).into_owned().into_bytes();
        let over = text.len().saturating_sub(MAX_STREAM);
        text.drain(..over);
        let dropped = dropped.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
        if dropped > 0 {
            let mut whole = format!("… {dropped} bytes before this were not kept …\n").into_bytes();
            whole.append(&mut text);
            text = whole;
        }
        if !text.is_empty() {
            keep(&self.place, self.what, &text, file);
        }
    }
}

impl Text {
    fn cut(&mut self) {
        let over = self.tail.len().saturating_sub(MAX_STREAM);
        self.tail.drain(..over);
        self.dropped = self.dropped.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
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
