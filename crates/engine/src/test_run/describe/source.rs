//! A few lines of source around a place that a failure names.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::files;

/// Lines before and after the place.
const AROUND: u32 = 3;
/// Files that are larger are generated or data.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// A line that is longer is cut.
const LONGEST_LINE: usize = 160;

/// The source around each place that can be read and that `shown` does not quote already, in `room` characters.
pub(super) fn around(root: &Path, places: &[(String, u32)], shown: &str, room: usize) -> String {
    let mut text = String::new();
    for (file, line) in places {
        let Some(path) = inside(root, file) else { continue };
        let Some(lines) = read(&path, *line) else { continue };
        // Python and Rust quote the line themselves, and twice it would be paid twice.
        let quoted = lines.iter().any(|(number, source)| number == line && is_quoted(source, shown));
        if quoted {
            continue;
        }
        let name = path.strip_prefix(root).map_or_else(|_| file.clone(), files::slashed);
        let mut part = format!("{name}:\n");
        for (number, source) in &lines {
            let mark = if number == line { '>' } else { ' ' };
            let source: String =
                source.chars().filter(|one| !one.is_control() || *one == '\t').take(LONGEST_LINE).collect();
            part.push_str(&format!("{mark}{number:>4} {}\n", source.trim_end()));
        }
        // One place in any case: a share of a long list may be less than a few lines.
        if text.chars().count() + part.chars().count() > room.max(400) {
            break;
        }
        text.push_str(&part);
    }
    text
}

fn is_quoted(source: &str, shown: &str) -> bool {
    const TOO_SHORT_TO_TELL: usize = 4;
    let source = source.trim();
    source.len() < TOO_SHORT_TO_TELL || shown.contains(source)
}

/// The file below `root` that a printed path means. No file outside, and none through a link.
fn inside(root: &Path, file: &str) -> Option<PathBuf> {
    let root = files::real_place(root).ok()?;
    let printed = Path::new(file);
    let joined = if printed.is_absolute() { printed.to_owned() } else { root.join(printed) };
    let real = files::real_place(&joined).ok()?;
    let metadata = real.metadata().ok()?;
    (real.starts_with(&root)
        // A message may name any file of the tree, and this one holds credentials.
        && !real.starts_with(root.join(".git"))
        && metadata.is_file()
        && metadata.len() <= LARGEST_FILE)
        .then_some(real)
}

fn read(path: &Path, line: u32) -> Option<Vec<(u32, String)>> {
    let first = line.saturating_sub(AROUND).max(1);
    let reader = BufReader::new(File::open(path).ok()?);
    let mut lines = Vec::new();
    // Line by line, since the file may be long and the place near its top.
    for (number, text) in (1u32..).zip(reader.split(b'\n')) {
        if number > line.saturating_add(AROUND) {
            break;
        }
        let text = text.ok()?;
        if number >= first {
            lines.push((number, String::from_utf8_lossy(&text).into_owned()));
        }
    }
    lines.iter().any(|(number, _)| *number == line).then_some(lines)
}
