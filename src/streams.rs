//! Raw streams of a run, kept compressed beside its log: what the tests printed and what models answered, byte by byte (S3-15).
//!
//! The log holds the result of reading a stream. A reader in doubt looks at the stream itself: `gunzip -c FILE`. A stream keeps its last
//! [`MAX_STREAM`] bytes, a run [`MAX_RUN`] bytes on disk, a machine the streams of [`MAX_RUNS`] runs.
//!
//! Invariants: only text without known secrets reaches the disk. A stream that cannot be kept never changes a run. The folder lies outside
//! every place that a child process may write.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

use crate::redact::Redactor;

/// The most bytes of one stream that are kept: its last ones.
pub const MAX_STREAM: usize = 2_000_000;
/// The most bytes on disk that the streams of one run take.
pub const MAX_RUN: u64 = 64_000_000;
/// The streams of so many runs stay on a machine.
pub const MAX_RUNS: usize = 20;
/// Up to here a stream is stored as it is: a compressor's tables are hundreds of kilobytes to fill, and a file takes one block of a disk
/// either way.
const MOST_STORED: usize = 2_048;
/// The name of the folder in a run's own one.
const FOLDER: &str = "streams";

/// The kept streams of one run.
#[derive(Debug)]
pub struct Streams {
    folder: PathBuf,
    redactor: Arc<Redactor>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The part of the run that is under way, as a part of file names.
    place: String,
    next: u32,
    bytes: u64,
    trouble: Option<String>,
}

impl Streams {
    /// Streams in a run's own folder. They go on counting where an earlier process of the run stopped. Nothing is written yet.
    #[must_use]
    pub fn of_run(run_folder: &Path, redactor: Arc<Redactor>) -> Self {
        let folder = folder_of(run_folder);
        let there = kept(&folder);
        let next = there.iter().filter_map(|path| number_of(path)).max().map_or(1, |last| last.saturating_add(1));
        let bytes = there.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum();
        let state = State { place: "start".to_owned(), next, bytes, trouble: None };
        Self { folder, redactor, state: Mutex::new(state) }
    }

    /// Says which part of the run the streams belong to that are opened from now on.
    pub fn enter(&self, place: &str) {
        self.with(|state| place.clone_into(&mut state.place));
    }

    /// Opens a stream. It is kept when it is dropped.
    #[must_use]
    pub fn open(self: &Arc<Self>, what: &'static str) -> Stream {
        let place = self.with(|state| state.place.clone());
        Stream { streams: Arc::clone(self), place, what, tail: Vec::new(), dropped: 0 }
    }

    /// The first reason why a stream was not kept, told once.
    pub fn trouble(&self) -> Option<String> {
        self.with(|state| state.trouble.take())
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, place: &str, what: &str, text: &[u8]) {
        let (number, full) = self.with(|state| {
            let number = state.next;
            state.next = state.next.saturating_add(1);
            (number, state.bytes >= MAX_RUN)
        });
        let written = if full {
            Err(io::Error::other(format!("the streams of this run have {MAX_RUN} bytes already")))
        } else {
            self.write(&format!("{number:04}-{place}-{what}.txt.gz"), text)
        };
        self.with(|state| match written {
            Ok(bytes) => state.bytes = state.bytes.saturating_add(bytes),
            Err(error) => {
                let why = format!("a raw stream was not kept in {}: {error}", self.folder.display());
                state.trouble.get_or_insert(why);
            }
        });
    }

    /// Writes a file under another name first, so that no half one is ever found.
    fn write(&self, name: &str, text: &[u8]) -> io::Result<u64> {
        fs::create_dir_all(&self.folder)?;
        let mut part = tempfile::Builder::new().prefix(".").tempfile_in(&self.folder)?;
        match stored(text) {
            Some(member) => part.write_all(&member)?,
            None => {
                let mut encoder = GzEncoder::new(part.as_file_mut(), Compression::fast());
                encoder.write_all(text)?;
                encoder.finish()?;
            }
        }
        let bytes = part.as_file().metadata()?.len();
        part.persist(self.folder.join(name)).map_err(|error| error.error)?;
        Ok(bytes)
    }
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

/// One stream under way.
#[derive(Debug)]
pub struct Stream {
    streams: Arc<Streams>,
    place: String,
    what: &'static str,
    tail: Vec<u8>,
    dropped: u64,
}

impl Stream {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        // Moved only when it has doubled, so that each byte is moved at most once.
        if self.tail.len() > 2 * MAX_STREAM {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.tail.len().saturating_sub(MAX_STREAM);
        self.tail.drain(..over);
        self.dropped = self.dropped.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Half a secret at the cut would not be recognised: redacted before, where that is possible.
        let text = String::from_utf8_lossy(&self.tail).into_owned();
        let mut text = self.streams.redactor.redact(&text).into_owned().into_bytes();
        let over = text.len().saturating_sub(MAX_STREAM);
        text.drain(..over);
        let dropped = self.dropped.saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
        if dropped > 0 {
            let mut whole = format!("… {dropped} bytes before this were not kept …\n").into_bytes();
            whole.append(&mut text);
            text = whole;
        }
        if !text.is_empty() {
            self.streams.keep(&self.place, self.what, &text);
        }
    }
}

/// The folder of streams in a run's own folder.
#[must_use]
pub fn folder_of(run_folder: &Path) -> PathBuf {
    run_folder.join(FOLDER)
}

/// The kept streams in a folder, in the order in which they were opened.
#[must_use]
pub fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| number_of(path).is_some()).collect();
    paths.sort();
    paths
}

fn number_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_suffix(".txt.gz")?.split('-').next()?.parse().ok()
}

/// Removes the streams of all but the newest runs below a folder. A stream that cannot be removed stays.
pub fn prune(home: &Path) {
    let runs = fs::read_dir(home).into_iter().flatten().flatten();
    let folders = runs.map(|run| folder_of(&run.path()));
    let mut dated: Vec<_> =
        folders.filter_map(|folder| Some((fs::metadata(&folder).ok()?.modified().ok()?, folder))).collect();
    dated.sort();
    let old = dated.len().saturating_sub(MAX_RUNS);
    for (_, folder) in dated.into_iter().take(old) {
        let _stays = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use secrecy::SecretString;

    use super::*;

    fn read(path: &Path) -> String {
        let mut text = String::new();
        GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        text
    }

    fn streams(folder: &Path) -> Arc<Streams> {
        let secret = SecretString::from("sk-canary-0123456789abcdef".to_owned());
        Arc::new(Streams::of_run(folder, Arc::new(Redactor::new(&[secret]))))
    }

    #[test]
    fn c11_a_stream_is_kept_whole_and_without_secrets_under_the_part_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let streams = streams(folder.path());
        streams.enter("tier1-iteration2");
        let mut stream = streams.open("tests");
        for piece in ["1 failed: sk-canary-0123", "456789abcdef\n", "caf\u{e9}"] {
            stream.push(piece.as_bytes());
        }
        stream.push(b"\xff");
        drop(stream);
        drop(streams.open("tests"));
        let kept = kept(&folder_of(folder.path()));
        assert_eq!(kept.len(), 1, "an empty stream leaves no file: {kept:?}");
        assert!(kept[0].ends_with("0001-tier1-iteration2-tests.txt.gz"), "{kept:?}");
        assert_eq!(read(&kept[0]), "1 failed: ***\ncaf\u{e9}\u{fffd}");
        assert_eq!(streams.trouble(), None);
    }

    #[test]
    fn c11_short_and_long_texts_are_read_by_what_reads_gzip() {
        let folder = tempfile::tempdir().unwrap();
        let streams = streams(folder.path());
        for length in [1, MOST_STORED, MOST_STORED + 1] {
            streams.open("tests").push(&vec![b'a'; length]);
        }
        let lengths: Vec<_> = kept(&folder_of(folder.path())).iter().map(|path| read(path).len()).collect();
        assert_eq!(lengths, [1, MOST_STORED, MOST_STORED + 1]);
        let sizes: Vec<_> =
            kept(&folder_of(folder.path())).iter().map(|path| fs::metadata(path).unwrap().len()).collect();
        assert!(sizes[1] > 2_048 && sizes[2] < 100, "{sizes:?}");
    }

    #[test]
    fn c11_a_long_stream_keeps_its_end_and_a_resumed_run_goes_on_counting() {
        let folder = tempfile::tempdir().unwrap();
        for _process in 0..2 {
            let streams = streams(folder.path());
            let mut stream = streams.open("reply");
            (0..5).for_each(|_| stream.push(&vec![b'x'; MAX_STREAM]));
            stream.push(b"the end");
        }
        let kept = kept(&folder_of(folder.path()));
        assert!(kept[1].ends_with("0002-start-reply.txt.gz"), "{kept:?}");
        let text = read(&kept[1]);
        assert!(text.starts_with("… 8000007 bytes before this were not kept …\nxxx") && text.ends_with("xthe end"));
    }

    #[test]
    fn c11_a_run_that_kept_enough_and_a_folder_that_cannot_be_written_are_told_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder_of(folder.path())).unwrap();
        let full = fs::File::create(folder_of(folder.path()).join("0007-start-tests.txt.gz")).unwrap();
        full.set_len(MAX_RUN).unwrap();
        let full = streams(folder.path());
        full.open("tests").push(b"more");
        assert!(full.trouble().unwrap().contains("64000000 bytes already") && full.trouble().is_none());
        let file = tempfile::NamedTempFile::new().unwrap();
        let blocked = streams(file.path());
        blocked.open("tests").push(b"more");
        assert!(blocked.trouble().unwrap().contains("was not kept in"));
    }

    #[test]
    fn c11_streams_of_old_runs_go_and_what_else_they_left_stays() {
        let home = tempfile::tempdir().unwrap();
        for run in 0..MAX_RUNS + 2 {
            let own = home.path().join(format!("{run:08}"));
            fs::create_dir_all(folder_of(&own)).unwrap();
            fs::write(own.join("best.patch"), "").unwrap();
            let at =
                std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000 + u64::try_from(run).unwrap());
            fs::File::open(folder_of(&own)).unwrap().set_modified(at).unwrap();
        }
        prune(home.path());
        let has = |run: usize| folder_of(&home.path().join(format!("{run:08}"))).exists();
        assert_eq!((has(0), has(1), has(2), has(MAX_RUNS + 1)), (false, false, true, true));
        assert!(home.path().join("00000000/best.patch").exists());
    }
}
