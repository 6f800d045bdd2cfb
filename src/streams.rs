//! Raw streams of a run, kept compressed beside its log: what the tests printed and what models answered, byte by byte (S3-15).
//!
//! The log holds the result of reading a stream. A reader in doubt looks at the stream itself: `gunzip -c FILE`. A stream keeps its last
//! [`MAX_STREAM`] bytes, a run [`MAX_RUN`] bytes on disk, a machine the streams of [`MAX_RUNS`] runs. A stream is written as it goes
//! (`PACE`), so that a killed process leaves it.
//!
//! Invariants: only text without known secrets reaches the disk. A stream that cannot be kept never changes a run. The folder lies outside
//! every place that a child process may write.

mod gzip;
mod under_way;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

pub use self::under_way::MAX_STREAM;
use self::under_way::{Kept, Room, UnderWay};
use crate::redact::Redactor;

/// The most bytes on disk that the streams of one run take.
pub const MAX_RUN: u64 = 64_000_000;
/// The streams of so many runs stay on a machine.
pub const MAX_RUNS: usize = 20;
/// The time after which new bytes of a stream under way are on disk. A stream that is shorter is written once, at its end.
const PACE: Duration = Duration::from_millis(250);
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
    room: Room,
    trouble: Option<String>,
    under_way: Vec<Weak<UnderWay>>,
    /// Whether somebody writes streams as they go.
    is_written: bool,
}

impl Streams {
    /// Streams in a run's own folder. They go on counting where an earlier process of the run stopped. Nothing is written yet.
    #[must_use]
    pub fn of_run(run_folder: &Path, redactor: Arc<Redactor>) -> Self {
        let folder = folder_of(run_folder);
        let there = kept(&folder);
        let next = there.iter().filter_map(|path| number_of(path)).max().map_or(1, |last| last.saturating_add(1));
        let bytes = there.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum();
        let state = State {
            place: "start".to_owned(),
            next,
            room: Room::new(bytes, MAX_RUN),
            trouble: None,
            under_way: Vec::new(),
            is_written: false,
        };
        Self { folder, redactor, state: Mutex::new(state) }
    }

    /// Says which part of the run the streams belong to that are opened from now on.
    pub fn enter(&self, place: &str) {
        self.with(|state| place.clone_into(&mut state.place));
    }

    /// Opens a stream. It is written as it goes, and whole when it is dropped.
    #[must_use]
    pub fn open(self: &Arc<Self>, what: &'static str) -> Stream {
        let (stream, is_written) = self.with(|state| {
            let stream = Arc::new(UnderWay::new(state.place.clone(), what));
            state.under_way.retain(|one| one.strong_count() > 0);
            state.under_way.push(Arc::downgrade(&stream));
            (stream, std::mem::replace(&mut state.is_written, true))
        });
        if !is_written {
            write_as_it_goes(Arc::downgrade(self));
        }
        Stream { streams: Arc::clone(self), stream }
    }

    /// The first reason why a stream was not kept, told once.
    pub fn trouble(&self) -> Option<String> {
        self.with(|state| state.trouble.take())
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write_what_is_new(&self) {
        let under_way: Vec<_> = self.with(|state| state.under_way.iter().filter_map(Weak::upgrade).collect());
        let keep = |place: &str, what: &str, text: &[u8], file: &mut Kept| self.keep(place, what, text, file);
        under_way.iter().for_each(|stream| stream.write_so_far(&self.redactor, &keep));
    }

    /// Puts a text in the place of a stream's file.
    fn keep(&self, place: &str, what: &str, text: &[u8], file: &mut Kept) {
        let name = file.name.clone().unwrap_or_else(|| {
            let number = self.with(|state| {
                let next = state.next.saturating_add(1);
                std::mem::replace(&mut state.next, next)
            });
            format!("{number:04}-{place}-{what}.txt.gz")
        });
        match gzip::member(text).and_then(|member| self.replace(&name, &member, file.bytes)) {
            Ok(bytes) => (file.name, file.bytes) = (Some(name), bytes),
            Err(error) => self.with(|state| {
                let why = format!("a raw stream was not kept in {}: {error}", self.folder.display());
                state.trouble.get_or_insert(why);
            }),
        }
    }

    /// Writes a file under another name first, so that no half one is ever found. Until the older one is gone both take room.
    fn replace(&self, name: &str, content: &[u8], older: u64) -> io::Result<u64> {
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.with(|state| state.room.take(bytes))?;
        let written = self.write(name, content);
        self.with(|state| state.room.give_back(if written.is_ok() { older } else { bytes }));
        written.map(|()| bytes)
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut part = tempfile::Builder::new().prefix(".").tempfile_in(&self.folder)?;
        part.write_all(content)?;
        part.persist(self.folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Has the streams under way written in the background, until nobody holds them any more. Where no thread can be had they are written at
/// their ends.
fn write_as_it_goes(streams: Weak<Streams>) {
    let work = move || {
        loop {
            std::thread::sleep(PACE);
            let Some(streams) = streams.upgrade() else { return };
            streams.write_what_is_new();
        }
    };
    drop(std::thread::Builder::new().name("streams".to_owned()).spawn(work));
}

/// One stream under way.
#[derive(Debug)]
pub struct Stream {
    streams: Arc<Streams>,
    stream: Arc<UnderWay>,
}

impl Stream {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.stream.push(bytes);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let streams = &self.streams;
        self.stream.end(&streams.redactor, &|place, what, text, file| streams.keep(place, what, text, file));
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

    use super::gzip::MOST_STORED;
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
        assert!(full.trouble().unwrap().contains("more than 64000000 bytes") && full.trouble().is_none());
        let file = tempfile::NamedTempFile::new().unwrap();
        let blocked = streams(file.path());
        blocked.open("tests").push(b"more");
        assert!(blocked.trouble().unwrap().contains("was not kept in"));
    }

    /// The text of the first kept stream once it is on disk.
    fn soon(folder: &Path, wanted: impl Fn(&str) -> bool) -> String {
        let began = std::time::Instant::now();
        loop {
            let text = kept(&folder_of(folder)).first().map(|path| read(path)).unwrap_or_default();
            if wanted(&text) {
                return text;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never on disk: {text:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn c11_a_stream_under_way_is_on_disk_but_for_a_secret_that_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let streams = streams(folder.path());
        let mut stream = streams.open("tests");
        stream.push(b"1 of 900\n");
        soon(folder.path(), |text| text == "1 of 900\n");
        stream.push(b"2 of 900 sk-canary\n-01234");
        soon(folder.path(), |text| text == "1 of 900\n2 of 900 ");
        stream.push(b"56789abcdef\n3 of 900\n");
        drop(stream);
        let kept = kept(&folder_of(folder.path()));
        assert_eq!((kept.len(), read(&kept[0]).as_str()), (1, "1 of 900\n2 of 900 ***\n***\n3 of 900\n"));
        assert_eq!(streams.trouble(), None);
    }

    #[test]
    fn c11_the_streams_of_a_run_never_take_more_than_their_room() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder_of(folder.path())).unwrap();
        let most = MAX_RUN - 60;
        fs::File::create(folder_of(folder.path()).join("0007-start-tests.txt.gz")).unwrap().set_len(most).unwrap();
        let streams = streams(folder.path());
        let bytes =
            || kept(&folder_of(folder.path())).iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>();
        // Behind a gzip's 23 bytes.
        streams.open("tests").push(&[b'x'; 38]);
        assert!(streams.trouble().is_some_and(|why| why.contains("more than 64000000 bytes")));
        assert_eq!(bytes(), most);
        streams.open("tests").push(&[b'x'; 37]);
        assert_eq!((streams.trouble(), bytes()), (None, MAX_RUN));
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
