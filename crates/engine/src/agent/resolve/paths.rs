//! Paths of a repository as imports lead to them (pure).

/// The meaning of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The files, likeliest first.
    pub files: Vec<String>,
    /// The names that are taken from them.
    pub names: Vec<String>,
}

/// The folder of a path. Empty for the root.
pub(in crate::agent) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder. The slash stands between them only where neither is empty.
pub(in crate::agent) fn join(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", rest) => rest.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, rest) => format!("{folder}/{rest}"),
    }
}

/// A path without `.` and `..`. `None` for one that leads out of the repository.
pub(in crate::agent) fn tidied(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
