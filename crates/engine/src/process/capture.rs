//! Keeps the beginning and the end of a stream of any length in bounded memory.

/// How far a cut may be moved to fall between two lines. Longer lines are cut in the middle.
const LINE_REACH: usize = 1024;

/// The first and the last bytes of a stream, and how many there were.
#[derive(Debug)]
pub(super) struct Capture {
    keep: usize,
    head: Vec<u8>,
    /// Holds up to twice `keep`, so that cutting its front costs one move per `keep` bytes.
    tail: Vec<u8>,
    total: u64,
}

impl Capture {
    /// Keeps up to `keep` bytes from each end.
    pub(super) fn new(keep: usize) -> Self {
        Self { keep, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.total = self.total.saturating_add(chunk.len() as u64);
        let room = self.keep.saturating_sub(self.head.len());
        let (first, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(first);
        // Of a chunk longer than the tail only the end can survive.
        let last = rest.get(rest.len().saturating_sub(self.keep)..).unwrap_or_default();
        self.tail.extend_from_slice(last);
        if self.tail.len() >= self.keep.saturating_mul(2) {
            self.trim_tail();
        }
    }

    /// All bytes seen.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The whole stream if it fits, else head, a line that says how many bytes are missing, and tail.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.trim_tail();
        let kept = self.head.len().saturating_add(self.tail.len()) as u64;
        // Head and tail adjoin here, so that a cut between them would leave a line out without any need.
        if kept >= self.total {
            self.head.append(&mut self.tail);
            return self.head;
        }
        // Before the line break, which stays: the rest of a half line says less than nothing to those who read it.
        let head_end = self.head.iter().rev().take(LINE_REACH).position(|&byte| byte == b'\n');
        self.head.truncate(self.head.len() - head_end.unwrap_or(0));
        let tail_start = self.tail.iter().take(LINE_REACH).position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let tail = self.tail.get(tail_start..).unwrap_or_default();
        let missing = self.total.saturating_sub(self.head.len() as u64).saturating_sub(tail.len() as u64);
        // A line longer than the reach was cut in the middle, and the note is to stand on its own line.
        let newline = if self.head.ends_with(b"\n") || self.head.is_empty() { "" } else { "\n" };
        let mut whole = self.head;
        whole.extend_from_slice(format!("{newline}[... {missing} bytes left out ...]\n").as_bytes());
        whole.extend_from_slice(tail);
        whole
    }

    fn trim_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.keep);
        self.tail.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Capture;

    #[test]
    fn a_stream_that_fits_is_kept_as_it_is() {
        let mut capture = Capture::new(4);
        capture.push(b"abcd");
        capture.push(b"efgh");
        assert_eq!(capture.finish(), b"abcdefgh");
    }

    #[test]
    fn a_long_stream_is_cut_between_lines_and_says_how_much_is_missing() {
        let mut capture = Capture::new(10);
        for number in 0..100 {
            capture.push(format!("line{number:02}\n").as_bytes());
        }
        assert_eq!(capture.total(), 700);
        assert_eq!(String::from_utf8(capture.finish()).unwrap(), "line00\n[... 686 bytes left out ...]\nline99\n");
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_uncounted(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20), keep in 0_usize..60) {
            let whole: Vec<u8> = chunks.concat();
            let mut capture = Capture::new(keep);
            for chunk in &chunks {
                capture.push(chunk);
            }
            prop_assert_eq!(capture.total(), whole.len() as u64);
            let kept = capture.finish();
            if whole.len() <= keep * 2 {
                prop_assert_eq!(kept, whole);
            } else {
                prop_assert!(kept.len() <= keep * 2 + 60);
                let text = String::from_utf8_lossy(&kept).into_owned();
                prop_assert!(text.contains("bytes left out ...]"), "{}", text);
            }
        }
    }
}
