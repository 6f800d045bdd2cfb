//! Earlier answers, so that asking again costs nothing while nothing changed (GITHUB 26).
//!
//! Owns one entry per address: the ETag, the answer as read, and the path of the next page. Invariant: bounded in entries and in bytes. An
//! answer that is not kept is asked for anew.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

/// The most addresses: those of one poll are about a dozen, of ten thousand comments a hundred.
const MAX_ENTRIES: usize = 256;
/// The most bytes of answers that entries were made from.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// A longer answer is not kept: it would push out all the others.
const MAX_ENTRY: usize = 1024 * 1024;

/// An answer as it was read.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) etag: String,
    pub(super) value: Arc<dyn Any + Send + Sync>,
    /// The path of the next page.
    pub(super) next: Option<String>,
    /// The path of the last page.
    pub(super) last: Option<String>,
    pub(super) bytes: usize,
    used: u64,
}

impl Kept {
    pub(super) fn new(etag: String, value: Arc<dyn Any + Send + Sync>, bytes: usize) -> Self {
        Self { etag, value, next: None, last: None, bytes, used: 0 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<String, Kept>,
    bytes: usize,
    turn: u64,
}

impl Cache {
    pub(super) fn get(&mut self, path: &str) -> Option<Kept> {
        self.turn += 1;
        let turn = self.turn;
        let kept = self.entries.get_mut(path)?;
        kept.used = turn;
        Some(kept.clone())
    }

    pub(super) fn put(&mut self, path: String, mut kept: Kept) {
        // Also where the new answer is too long to be kept: the old one is no longer true.
        self.forget(&path);
        if kept.bytes > MAX_ENTRY {
            return;
        }
        self.turn += 1;
        kept.used = self.turn;
        self.bytes += kept.bytes;
        self.entries.insert(path, kept);
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            // The one that was asked for longest ago. A list of 256 is walked in no time.
            let oldest = self.entries.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { break };
            self.forget(&oldest);
        }
    }

    pub(super) fn forget(&mut self, path: &str) {
        if let Some(gone) = self.entries.remove(path) {
            self.bytes = self.bytes.saturating_sub(gone.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: usize) -> Kept {
        Kept::new("\"e\"".to_owned(), Arc::new(1_u8), bytes)
    }

    #[test]
    fn the_least_used_entries_go_first_and_the_bytes_stay_bounded() {
        let mut cache = Cache::default();
        for n in 0..5 {
            cache.put(format!("/{n}"), kept(1024 * 1024));
            assert!(cache.get("/0").is_some(), "what is asked for stays");
        }
        assert!(cache.get("/1").is_none());
        assert_eq!(cache.bytes, 4 * 1024 * 1024);
        cache.put("/big".to_owned(), kept(MAX_ENTRY + 1));
        assert!(cache.get("/big").is_none());
        for n in 0..1_000 {
            cache.put(format!("/small/{n}"), kept(1));
        }
        assert_eq!(cache.entries.len(), MAX_ENTRIES);
    }

    #[test]
    fn replacing_an_entry_counts_its_bytes_once() {
        let mut cache = Cache::default();
        cache.put("/a".to_owned(), kept(10));
        cache.put("/a".to_owned(), kept(7));
        assert_eq!(cache.bytes, 7);
    }
}
