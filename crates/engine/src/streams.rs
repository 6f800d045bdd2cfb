//! Raw streams of a run, kept compressed beside its log: what the tests printed and what models answered, byte by byte (S3-15).
//!
//! The log holds the result of reading a stream. A reader in doubt looks at the stream itself: `gunzip -c FILE`. A stream keeps its last
//! [`MAX_STREAM`] bytes, a run [`MAX_RUN`] bytes on disk, a machine the streams of [`MAX_RUNS`] runs. A stream that is opened as a whole one
//! has what was before in a second file (`….before.gz`), up to [`MAX_BEFORE`] bytes a run: `gunzip -c` of both is all of it. A stream is
//! written as it goes (`PACE`), so that a killed process leaves it.
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
/// The most bytes on disk that the beginnings of a run's long streams take beside them.
pub const MAX_BEFORE: u64 = 64_000_000;
/// The streams of so many runs stay on a machine.
pub const MAX_RUNS: usize = 20;
/// The time after which new bytes of a stream under way are on disk. A stream that is shorter is written once, at its end.
const PACE: Duration = Duration::from_millis(250);
/// The name of the folder in a run's own one.
const FOLDER: &str = "streams";
/// The ends of the names of files: of a stream, and of what it was before that.
const NAME: &str = ".txt.gz";
const NAME_BEFORE: &str = ".before.gz";

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
    room_before: Room,
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
        // Behind the last number and not behind the count, since streams may have been removed.
        let next = there.iter().filter_map(|path| number_of(path)).max().map_or(1, |last| last.saturating_add(1));
        let bytes = |is_before: bool| {
            let of_kind = there.iter().filter(|path| is_before == path.to_string_lossy().ends_with(NAME_BEFORE));
            of_kind.filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
        };
        let state = State {
            place: "start".to_owned(),
            next,
            room: Room::new(bytes(false), MAX_RUN),
            room_before: Room::new(bytes(true), MAX_BEFORE),
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
        self.opened(what, false)
    }

    /// Opens a stream that is kept from its beginning.
    #[must_use]
    pub fn open_whole(self: &Arc<Self>, what: &'static str) -> Stream {
        self.opened(what, true)
    }

    fn opened(self: &Arc<Self>, what: &'static str, is_whole: bool) -> Stream {
        let (stream, is_written) = self.with(|state| {
            let stream = Arc::new(UnderWay::new(state.place.clone(), what, is_whole));
            // Streams that have ended are let go here, since nothing else looks through the list.
            state.under_way.retain(|one| one.strong_count() > 0);
            state.under_way.push(Arc::downgrade(&stream));
            // One thread for all streams, begun with the first: most commands open none.
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
        let name = self.name(place, what, file);
        match gzip::member(text).and_then(|member| self.replace(&name, &member, file.bytes)) {
            Ok(bytes) => file.bytes = bytes,
            // A stream is a help for finding causes. That it is not kept must not end a run.
            Err(error) => self.tell(&error),
        }
    }

    /// Puts a text behind what a stream was before its newest bytes. Says whether it is there.
    fn put(&self, place: &str, what: &str, text: &[u8], file: &mut Kept) -> bool {
        let name = self.name(place, what, file).replace(NAME, NAME_BEFORE);
        let written = gzip::member(text).and_then(|member| self.append(&name, &member));
        let is_there = written.inspect_err(|error| self.tell(error)).is_ok();
        if is_there {
            file.before.get_or_insert((name, 0));
        }
        is_there
    }

    /// The name of a stream's file, which it gets when it is written first.
    fn name(&self, place: &str, what: &str, file: &mut Kept) -> String {
        let named = || {
            let number = self.with(|state| {
                // The number is given at the first write, so that empty streams leave no gap.
                let next = state.next.saturating_add(1);
                std::mem::replace(&mut state.next, next)
            });
            format!("{number:04}-{place}-{what}{NAME}")
        };
        file.name.get_or_insert_with(named).clone()
    }

    fn tell(&self, error: &io::Error) {
        self.with(|state| {
            let why = format!("a raw stream was not kept in {}: {error}", self.folder.display());
            // The first reason is the cause, and the others follow from it.
            state.trouble.get_or_insert(why);
        });
    }

    /// Opens a file in the folder, which is made only where it is missing: each turn opens one.
    fn in_the_folder<F>(&self, open: impl Fn() -> io::Result<F>) -> io::Result<F> {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.folder)?;
                open()
            }
            opened => opened,
        }
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // Taken before the write, so that two streams cannot both have the last bytes.
        self.with(|state| state.room_before.take(u64::try_from(content.len()).unwrap_or(u64::MAX)))?;
        let file = self.folder.join(name);
        self.in_the_folder(|| fs::OpenOptions::new().create(true).append(true).open(&file))?.write_all(content)
    }

    /// Writes a file under another name first, so that no half one is ever found. Until the older one is gone both take room.
    fn replace(&self, name: &str, content: &[u8], older: u64) -> io::Result<u64> {
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.with(|state| state.room.take(bytes))?;
        let written = self.write(name, content);
        // The older file is gone now, or the new one never came.
        self.with(|state| state.room.give_back(if written.is_ok() { older } else { bytes }));
        written.map(|()| bytes)
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // Such a name has no number, so that a part which a crash leaves is no stream.
        let mut part = self.in_the_folder(|| tempfile::Builder::new().prefix(".").tempfile_in(&self.folder))?;
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
            // The run holds the streams. Once it is over this thread ends by itself.
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
        let streams = &self.streams;
        self.stream.push(bytes, &streams.redactor, &|place, what, text, file| streams.put(place, what, text, file));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let streams = &self.streams;
        let keep = |place: &str, what: &str, text: &[u8], file: &mut Kept| streams.keep(place, what, text, file);
        let put = |place: &str, what: &str, text: &[u8], file: &mut Kept| streams.put(place, what, text, file);
        self.stream.end(&streams.redactor, &keep, &put);
    }
}

/// The folder of streams in a run's own folder.
#[must_use]
pub fn folder_of(run_folder: &Path) -> PathBuf {
    run_folder.join(FOLDER)
}

/// The kept streams in a folder, in the order in which they were opened, each behind what it was before.
#[must_use]
pub fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| number_of(path).is_some()).collect();
    paths.sort();
    paths
}

fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    [NAME, NAME_BEFORE].iter().find_map(|end| name.strip_suffix(end))?.split('-').next()?.parse().ok()
}

/// Removes the streams of all but the newest runs below a folder. A stream that cannot be removed stays.
pub fn prune(home: &Path) {
    let runs = fs::read_dir(home).into_iter().flatten().flatten();
    let folders = runs.map(|run| folder_of(&run.path()));
    let mut dated: Vec<_> =
        folders.filter_map(|folder| Some((fs::metadata(&folder).ok()?.modified().ok()?, folder))).collect();
    // By the time of the last change: a run that still goes on is the newest.
    dated.sort();
    let old = dated.len().saturating_sub(MAX_RUNS);
    for (_, folder) in dated.into_iter().take(old) {
        let _stays = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::MultiGzDecoder;
    use secrecy::SecretString;

    use super::gzip::MOST_STORED;
    use super::*;

    fn read(path: &Path) -> String {
        let mut text = String::new();
        MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
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

    /// Everything that is kept of one stream.
    fn read_all(folder: &Path) -> String {
        kept(&folder_of(folder)).iter().map(|path| read(path)).collect()
    }

    #[test]
    fn s3_15_a_whole_stream_is_on_disk_from_its_beginning_and_memory_holds_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let streams = streams(folder.path());
        let mut stream = streams.open_whole("agent");
        let lines: String = (0..150_000).map(|line| format!("{line} sk-canary-0123456789abcdef caf\u{e9}\n")).collect();
        for piece in lines.as_bytes().chunks(65_537) {
            stream.push(piece);
            assert!(stream.stream.held_bytes() <= 2 * MAX_STREAM + 20_000);
        }
        drop(stream);
        let kept = kept(&folder_of(folder.path()));
        let names: Vec<_> = kept.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["0001-start-agent.before.gz", "0001-start-agent.txt.gz"]);
        let (before, newest) = (read(&kept[0]), read(&kept[1]));
        let (first_line, newest) = newest.split_once('\n').unwrap();
        assert!(first_line.ends_with("bytes before this stand in 0001-start-agent.before.gz …"), "{first_line}");
        assert!(newest.len() <= MAX_STREAM + 20_000, "{}", newest.len());
        assert!(
            before + newest == lines.replace("sk-canary-0123456789abcdef", "***"),
            "a byte is lost, or a secret is not"
        );
        assert_eq!(streams.trouble(), None);
    }

    #[test]
    fn a_stream_is_cut_in_no_secret() {
        for is_whole in [true, false] {
            for shift in [3, 12, 25] {
                let folder = tempfile::tempdir().unwrap();
                let streams = streams(folder.path());
                let mut stream = if is_whole { streams.open_whole("agent") } else { streams.open("tests") };
                stream.push(&vec![b'.'; MAX_STREAM]);
                stream.push(" sk-canary-0123456789abcdef ".as_bytes());
                stream.push(&vec![b'.'; MAX_STREAM - shift]);
                drop(stream);
                assert!(!read_all(folder.path()).contains("abcdef"), "{is_whole} {shift}");
            }
        }
    }

    #[test]
    fn s3_15_the_beginnings_of_long_streams_have_a_bound_that_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder_of(folder.path())).unwrap();
        let full = fs::File::create(folder_of(folder.path()).join("0007-start-agent.before.gz")).unwrap();
        full.set_len(MAX_BEFORE - 30_000).unwrap();
        let streams = streams(folder.path());
        let mut stream = streams.open_whole("agent");
        // The first cut has room, the second one has none.
        stream.push(&vec![b'x'; 2 * MAX_STREAM + 1]);
        let noise = (0..300_000_u64).flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        stream.push(&noise.collect::<Vec<_>>());
        drop(stream);
        assert!(streams.trouble().is_some_and(|why| why.contains("more than 64000000 bytes")));
        let newest = read(&folder_of(folder.path()).join("0008-start-agent.txt.gz"));
        let told = newest.lines().next().unwrap();
        assert!(
            told.starts_with("… of ") && told.ends_with("0008-start-agent.before.gz, the others were not kept …"),
            "{told}"
        );
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
