//! A secret that is planted in every run, and the search for it in everything that a run leaves behind.
//!
//! It is the model key of [`super::program::Program`]: read from the environment, sent in a header. Found anywhere else, in
//! any of the spellings below, it is a leak, whichever test was at work.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The key in every test; must never turn up anywhere but in a request's header.
pub(crate) const CANARY: &str = "sk-ant-canary-7f3a9b1c5d2e8f60";

/// The canary as it is, backwards, in hexadecimal and in base64 at each alignment.
static SPELLINGS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut spellings = vec![CANARY.to_owned(), CANARY.chars().rev().collect(), hex.to_ascii_uppercase(), hex];
    for offset in 0..3 {
        let encoded = STANDARD_NO_PAD.encode(format!("{}{CANARY}", "x".repeat(offset)));
        // The first and the last characters depend on what stands beside it.
        spellings.push(encoded.get(4..encoded.len() - 4).expect("ASCII").to_owned());
    }
    AhoCorasick::new(spellings).expect("patterns")
});

/// When the first program was started.
static BEGAN: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);

/// Says that programs are started from now on.
pub(crate) fn began() {
    LazyLock::force(&BEGAN);
}

/// Whether some spelling of the canary stands there.
pub(crate) fn sings_in(bytes: &[u8]) -> bool {
    SPELLINGS.is_match(bytes)
}

/// The files below a folder that hold the canary; links are not followed.
pub(crate) fn found_below(folder: &Path) -> Vec<PathBuf> {
    found_among(folder, |_| true)
}

/// The same among the files that are wanted.
fn found_among(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // Gone, or not for us to read: a process that is ending may tidy up meanwhile.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                folders.push(path);
            } else if wanted(&path) && (sings_in(name.as_encoded_bytes()) || kind.is_file() && holds(&path)) {
                found.push(path);
            }
        }
    }
    found
}

/// The same for what may be a file itself, or not there.
pub(crate) fn found_at(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return found_below(path);
    }
    (path.is_file() && holds(path)).then(|| path.to_owned()).into_iter().collect()
}

/// The files whose names begin with a file's stem, as a database's log and spool do, and that hold the canary.
pub(crate) fn found_beside(file: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(stem)) = (file.parent(), file.file_stem()) else { return Vec::new() };
    let stem = stem.to_string_lossy().into_owned();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&stem));
    paths.map(|entry| entry.path()).filter(|path| path.is_file() && holds(path)).collect()
}

/// What a program printed, without the lines that tell the runner what to mask.
pub(crate) fn without_masks(output: &[u8]) -> Vec<u8> {
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b"::add-mask::")).flatten().copied().collect()
}

fn holds(path: &Path) -> bool {
    // An installed package: thousands of files that nobody has written since.
    let is_installed = |found: std::fs::Metadata| found.modified().is_ok_and(|time| time < *BEGAN);
    if path.symlink_metadata().is_ok_and(is_installed) {
        return false;
    }
    std::fs::read(path).is_ok_and(|bytes| sings_in(&bytes))
}

/// What outlived its test: kills, crashes and forgotten folders leave it in the system's temporary folder.
#[test]
#[ignore = "looks at what all other tests left: `.ci/run` runs it behind them"]
fn nothing_that_any_test_left_in_the_temporary_folder_holds_it() {
    let since = std::env::var_os("UPSHIFT_CANARY_SINCE").expect("the name of a file that is older than the tests");
    let written = |path: &Path| path.symlink_metadata().and_then(|found| found.modified());
    let since = written(Path::new(&since)).expect("its time");
    // This program holds it, and where it is built may lie in the temporary folder, too.
    let program = std::env::current_exe().expect("its path");
    let built = program.ancestors().nth(3).expect("the folder of builds").to_owned();
    let ours = [PathBuf::from(env!("CARGO_MANIFEST_DIR")), built];
    let found = found_among(&std::env::temp_dir(), |path| {
        !ours.iter().any(|folder| path.starts_with(folder)) && written(path).is_ok_and(|time| time >= since)
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_spelling_is_found_also_in_raw_bytes_and_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let spelled = [
        format!("x{CANARY}y"),
        CANARY.chars().rev().collect(),
        hex,
        encoded(format!("user:{CANARY}")),
        encoded(format!("users:{CANARY}:")),
        encoded(format!("{CANARY}!")),
    ];
    for (number, text) in spelled.iter().enumerate() {
        let path = folder.path().join(format!("deep/{number}"));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, [b"\xff\0\xfe", text.as_bytes(), b"\0"].concat()).expect("written");
        assert_eq!(found_below(folder.path()), std::slice::from_ref(&path), "{text}");
        std::fs::remove_file(path).expect("removed");
    }
    std::fs::write(folder.path().join(CANARY), "").expect("written");
    assert_eq!(found_below(folder.path()).len(), 1, "a name counts as well");
    std::fs::write(folder.path().join("audit.db-wal"), [b"\0", CANARY.as_bytes()].concat()).expect("written");
    assert_eq!(found_beside(&folder.path().join("audit.db")), [folder.path().join("audit.db-wal")]);
}
