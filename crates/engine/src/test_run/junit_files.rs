//! The JUnit files that a test command was said to write: a file, the XML files of a folder, or what a glob matches.
//!
//! Invariant: a file is believed only when this run wrote it, and only when it is a regular file inside the folder the command
//! ran in (repository content may be hostile).

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::GlobBuilder;
use ignore::WalkBuilder;
use testlog::Parser;

use super::results;
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;
use crate::files;

/// The most files that are read (Maven and Gradle write one per class).
const MOST: usize = 20_000;

/// The JUnit files of a command, as they were before it ran.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// From the root.
    path: PathBuf,
    before: Vec<(PathBuf, Option<SystemTime>, u64)>,
}

impl Files {
    /// Notes the files that are there. The path is meant from the root.
    pub(super) fn at(root: &Path, path: &Path) -> Self {
        // A person may have named it in full.
        let path = path.strip_prefix(root).unwrap_or(path);
        let before =
            list(root, path).into_iter().filter_map(|file| Some(stamp(&file)?).map(|(time, size)| (file, time, size)));
        Self { root: root.to_owned(), before: before.collect(), path: path.to_owned() }
    }

    /// Reads those that are new or changed.
    pub(super) fn read_new(&self, exit: Exit, framework: Option<&str>) -> Option<TestReport> {
        let root = files::real_place(&self.root).ok()?;
        let mut parser = Parser::new(framework);
        let mut any = false;
        for file in list(&self.root, &self.path) {
            let Some((time, size)) = stamp(&file) else { continue };
            // A file that an earlier run left says nothing of this one.
            if self.before.iter().any(|known| *known == (file.clone(), time, size)) {
                continue;
            }
            // No link may lead out of the tree.
            if !files::real_place(&file).is_ok_and(|real| real.starts_with(&root)) {
                continue;
            }
            // One that cannot be read leaves the others to be read.
            any |= File::open(&file).and_then(|file| results::push(&mut parser, file)).is_ok();
        }
        any.then(|| parser.finish(Some(exit)))
    }
}

/// The file itself, the XML files of a folder, or the files that a glob matches. At most [`MOST`], in the order of their names.
fn list(root: &Path, below: &Path) -> Vec<PathBuf> {
    let path = root.join(below);
    let is_xml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "xml");
    let mut files: Vec<PathBuf> = if path.is_dir() {
        path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_xml).take(MOST).collect()
    } else if below.iter().any(is_pattern) && path.symlink_metadata().is_err() {
        // A file that is there may have such letters in its name.
        matching(root, below)
    } else {
        vec![path]
    };
    files.sort();
    files
}

fn is_pattern(part: &OsStr) -> bool {
    part.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Regular files below a root that a glob matches. No link is followed.
fn matching(root: &Path, glob: &Path) -> Vec<PathBuf> {
    let Ok(matcher) = GlobBuilder::new(&glob.to_string_lossy()).literal_separator(true).build() else {
        return Vec::new();
    };
    let matcher = matcher.compile_matcher();
    // From the last plain folder, so that a large tree is not walked for a few files.
    let folder = root.join(glob.iter().take_while(|part| !is_pattern(part)).collect::<PathBuf>());
    let matches = |path: &PathBuf| path.strip_prefix(root).is_ok_and(|below| matcher.is_match(below)) && path.is_file();
    // Reports are ignored by git in nearly every project.
    let found = WalkBuilder::new(folder).standard_filters(false).build().flatten();
    found.map(ignore::DirEntry::into_path).filter(matches).take(MOST).collect()
}

/// When a regular file was changed, and its size. `None` for anything else.
fn stamp(file: &Path) -> Option<(Option<SystemTime>, u64)> {
    // Of a link itself, which then counts as nothing.
    let metadata = file.symlink_metadata().ok()?;
    metadata.is_file().then(|| (metadata.modified().ok(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "<testsuite name=\"s\"><testcase classname=\"c\" name=\"one\"/></testsuite>";

    fn read(pattern: &str, written: &[&str]) -> Option<usize> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("target/junit/deep")).unwrap();
        std::fs::write(folder.path().join("target/junit/TEST-old.xml"), ONE).unwrap();
        let files = Files::at(folder.path(), Path::new(pattern));
        for name in written {
            std::fs::write(folder.path().join(name), ONE.replace("one", name)).unwrap();
        }
        files.read_new(Exit::Code { code: 0 }, None).map(|report| report.tests.len())
    }

    #[test]
    fn a_file_a_folder_and_a_glob_name_what_this_run_wrote() {
        let new = [
            "target/junit/TEST-a.xml",
            "target/junit/TEST-b.xml",
            "target/junit/deep/TEST-c.xml",
            "target/junit/other.xml",
        ];
        for (pattern, count) in [
            ("target/junit/TEST-a.xml", Some(1)),
            ("target/junit", Some(3)),
            ("target/junit/*.xml", Some(3)),
            ("target/junit/TEST-*.xml", Some(2)),
            ("target/**/TEST-*.xml", Some(3)),
            ("target/junit/TEST-old.xml", None),
            ("target/nothing/*.xml", None),
        ] {
            assert_eq!(read(pattern, &new), count, "{pattern}");
        }
    }

    #[test]
    fn a_file_whose_name_looks_like_a_glob_is_that_file() {
        assert_eq!(read("target/[a].xml", &["target/[a].xml", "target/a.xml"]), Some(1));
    }
}
