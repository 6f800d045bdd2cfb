//! `list_files`: a folder a line, its files behind it. Deep folders are shown as counts when there are too many.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::beneath::Kind;
use super::super::walk::files_below;
use super::super::{ToolError, Workspace, protected};
use super::count;
use crate::files;

/// The most bytes of an answer. A longer list is folded.
const MAX_LIST: usize = 6_000;
/// The most entries that are walked: beyond, the count says "more than".
const MAX_WALKED: usize = 100_000;

impl Workspace {
    /// `list_files`: the files that are not ignored, below `path`, matching `glob` (without `/`: at any depth).
    ///
    /// # Errors
    /// When the path does not exist, is no folder, or is none of the repository's, and when the glob cannot be read.
    pub fn list_files(&self, path: Option<&str>, glob: Option<&str>) -> Result<String, ToolError> {
        let base = self.folder(path)?;
        let set = compile(glob)?;
        let mut folders: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        let mut total = 0;
        for (file, form) in files_below(self.root.path(), &base, MAX_WALKED) {
            if set.as_ref().is_some_and(|set| !set.is_match(&file)) {
                continue;
            }
            let mark = if form.is_symlink() { "@" } else { "" };
            let name = format!("{}{mark}", file.file_name().unwrap_or_default().to_string_lossy());
            folders.entry(file.parent().unwrap_or(Path::new("")).to_owned()).or_default().push(name);
            total += 1;
        }
        if total == 0 {
            let which = glob.map(|glob| format!(" matching `{glob}`")).unwrap_or_default();
            return Ok(format!("no files{which} below {}", shown(&base)));
        }
        Ok(fold(&folders, total))
    }

    /// A folder that a tool starts from, by default the root. A file is an error that says so.
    pub(super) fn folder(&self, path: Option<&str>) -> Result<PathBuf, ToolError> {
        let text = path.unwrap_or_default().trim_end_matches('/');
        if matches!(text, "" | ".") || Path::new(text) == self.root.path() {
            return Ok(PathBuf::new());
        }
        let path = self.parse(text)?;
        match self.root.stat(&path).map_err(|error| self.touch_error(error))?.map(|stat| stat.kind) {
            Some(Kind::Folder) => Ok(path.as_path().to_owned()),
            None => Err(self.touch_error(super::TouchError::Missing(path))),
            Some(Kind::Link) => {
                Err(ToolError::ForModel(format!("`{path}` is a symbolic link; links are not followed")))
            }
            Some(Kind::File | Kind::Special) => Err(ToolError::ForModel(format!("`{path}` is a file, not a folder"))),
        }
    }
}

/// The matcher of a glob. `None` without one, so that all files match.
pub(super) fn compile(glob: Option<&str>) -> Result<Option<globset::GlobSet>, ToolError> {
    let Some(glob) = glob.filter(|glob| !glob.is_empty()) else { return Ok(None) };
    protected::globs(&[glob.to_owned()]).map(Some).map_err(|error| ToolError::ForModel(error.to_string()))
}

/// The whole list if it is short, else with folders below some depth as counts.
fn fold(folders: &BTreeMap<PathBuf, Vec<String>>, total: usize) -> String {
    let deepest = folders.keys().map(|folder| folder.iter().count()).max().unwrap_or(0);
    let mut text = String::new();
    // From the deepest, so that the answer shows as much as it has room for.
    for depth in (0..=deepest).rev() {
        text = render(folders, depth);
        if text.len() <= MAX_LIST {
            if depth < deepest {
                text.push_str(&format!("({}; give a path or a glob to see more)", count(total, "file")));
            }
            return text;
        }
    }
    let kept = text.floor_char_boundary(MAX_LIST);
    text.truncate(kept);
    text.push_str(&format!("...\n({}; cut: give a path or a glob)", count(total, "file")));
    text
}

fn render(folders: &BTreeMap<PathBuf, Vec<String>>, depth: usize) -> String {
    let mut text = String::new();
    let mut folded: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (folder, names) in folders {
        if folder.iter().count() > depth {
            *folded.entry(folder.iter().take(depth + 1).collect()).or_default() += names.len();
            continue;
        }
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.sort_unstable();
        text.push_str(&format!("{}: {}\n", shown(folder), names.join(" ")));
    }
    for (folder, files) in folded {
        text.push_str(&format!("{} ({})\n", shown(&folder), count(files, "file")));
    }
    text
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { "./".to_owned() } else { format!("{}/", files::slashed(folder)) }
}
