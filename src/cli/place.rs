//! The place in a repository where a person stands.

use std::path::Path;

use crate::config::DEFAULT_CONFIG_PATH;
use crate::domain::shell::quote_path;

/// Names under which people would look for the configuration.
const MISNAMED: [&str; 6] =
    [".github/upshift.yaml", ".github/upshift.json", "upshift.yml", "upshift.yaml", ".upshift.yml", ".upshift.yaml"];

/// The top of the repository that holds a folder. `None` outside of every repository.
pub(super) fn top(folder: &Path) -> Option<&Path> {
    // In a worktree or a submodule `.git` is a file, so that a folder is not asked for.
    folder.ancestors().find(|above| above.join(".git").exists())
}

/// The warning about a configuration at the top of the repository that is not read in a folder below.
pub(super) fn unread_configuration(folder: &Path) -> Option<String> {
    let top = top(folder).filter(|top| *top != folder)?;
    // A project in a subfolder may have a configuration of its own, and then nothing is unread.
    let is_unread = top.join(DEFAULT_CONFIG_PATH).exists() && !folder.join(DEFAULT_CONFIG_PATH).exists();
    let below = quote_path(&folder.strip_prefix(top).unwrap_or(folder).display().to_string());
    is_unread.then(|| {
        format!(
            "{} is not read, because this is a folder below it, so its caps do not count here\n→ Fix: cd {} and add --working-directory {below}, \
             or name the file with --config",
            top.join(DEFAULT_CONFIG_PATH).display(),
            quote_path(&top.display().to_string()),
        )
    })
}

/// The warning about a file that looks like the configuration and has another name. Only where there is none of the right name, and not
/// about the one that is read as the ladder.
pub(super) fn misnamed_configuration(folder: &Path, ladder: Option<&str>) -> Option<String> {
    if folder.join(DEFAULT_CONFIG_PATH).exists() {
        return None;
    }
    // `--tiers upshift.yml` reads it as a ladder, so it is no misnamed configuration.
    let is_ladder = |name: &str| ladder.is_some_and(|ladder| folder.join(ladder) == folder.join(name));
    let found = MISNAMED.into_iter().find(|name| folder.join(name).is_file() && !is_ladder(name))?;
    Some(format!("{found} is not read → Fix: rename it to {DEFAULT_CONFIG_PATH}, or name it with --config"))
}

/// The warning where git cannot take a change back.
pub(super) fn no_undo(folder: &Path) -> Option<String> {
    let is_there = top(folder).is_some();
    (!is_there).then(|| {
        "this folder is in no git repository: see a change with `upshift show --patch`, and undo it with \
         `upshift show --patch | git apply -R`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_above_is_told_of_only_where_it_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (top_folder, below) = (folder.path(), folder.path().join("web/shop"));
        std::fs::create_dir_all(&below).unwrap();
        assert!(no_undo(&below).unwrap().contains("git apply -R"));
        assert_eq!(unread_configuration(&below), None, "no repository");
        std::fs::create_dir(top_folder.join(".git")).unwrap();
        assert_eq!((no_undo(&below), unread_configuration(&below)), (None, None), "no configuration");
        std::fs::create_dir(top_folder.join(".github")).unwrap();
        std::fs::write(top_folder.join(DEFAULT_CONFIG_PATH), "").unwrap();
        assert_eq!(unread_configuration(top_folder), None);
        std::fs::write(below.join("upshift.yaml"), "").unwrap();
        assert!(
            misnamed_configuration(&below, None)
                .unwrap()
                .starts_with("upshift.yaml is not read → Fix: rename it to .github/")
        );
        assert_eq!(misnamed_configuration(&below, Some("upshift.yaml")), None, "it is read as the ladder");
        assert_eq!(misnamed_configuration(top_folder, None), None);
        let told = unread_configuration(&below).unwrap();
        assert!(told.contains("--working-directory web/shop"), "{told}");
        std::fs::create_dir(below.join(".github")).unwrap();
        std::fs::write(below.join(DEFAULT_CONFIG_PATH), "").unwrap();
        assert_eq!(
            (unread_configuration(&below), misnamed_configuration(&below, None)),
            (None, None),
            "its own is read"
        );
    }
}
