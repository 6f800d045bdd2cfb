//! Whether a link leads out of the tree: whoever writes or publishes by it later would touch what lies outside.
//!
//! Links to the system's programs and libraries are left alone, as those of virtual environments are: nobody's secret lies there, and
//! only root can write it.

use std::path::{Component, Path, PathBuf};

use crate::files;

/// Where the system keeps programs and libraries, and where runners keep tools.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/System", "/Library"];
/// A link to it means "nothing".
const NOTHING: &str = "/dev/null";
/// Marks the folder of a virtual environment of Python.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Whether the link at a path below a root (a real place) leads out of it, or into its git directory.
pub(in crate::workspace) fn leads_out(root: &Path, path: &Path) -> bool {
    let whole = root.join(path);
    // A link into the git directory would let a write through it change hooks or settings.
    let is_inside = |place: &Path| place.starts_with(root) && !place.starts_with(root.join(".git"));
    if let Ok(real) = files::real_place(&whole) {
        return !is_inside(&real) && !is_harmless(&whole, &real);
    }
    // It leads to nothing yet, or to where we may not look.
    let Ok(target) = std::fs::read_link(&whole) else { return true };
    let folder = whole.parent().unwrap_or(root);
    let folder = files::real_place(folder).unwrap_or_else(|_gone| folder.to_owned());
    !is_inside(&plain(&folder.join(target)))
}

/// A path without `.` and `..`, by its words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

fn is_harmless(link: &Path, real: &Path) -> bool {
    real == Path::new(NOTHING)
        || SYSTEM.iter().any(|folder| real.starts_with(folder) && real != Path::new(folder))
        || is_interpreter(link, real)
}

/// The interpreter of a virtual environment, wherever it is installed.
fn is_interpreter(link: &Path, real: &Path) -> bool {
    let named = |path: &Path| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("python") || name.starts_with("pypy")
        })
    };
    // `venv/bin/python3` beside `venv/pyvenv.cfg`, with a target that is called like an interpreter. Any other could be a secret.
    let environment = link.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    environment.is_some_and(|folder| folder.join(ENVIRONMENT).is_file()) && named(link) && named(real) && real.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_are_told_from_links_inside_and_to_the_system() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let out = outside.path().to_str().unwrap();
        std::fs::create_dir_all(root.join("venv/bin")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join("venv/pyvenv.cfg"), "").unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::fs::write(outside.path().join("python3"), "").unwrap();
        for (name, target, is_out) in [
            ("inside", "file", false),
            ("dangling", "not/yet", false),
            ("up", "../../../etc/shadow", true),
            ("absolute", out, true),
            ("gone", "/nowhere/at/all", true),
            ("shell", "/bin/sh", false),
            ("root", "/", true),
            ("null", "/dev/null", false),
            ("environ", "/proc/self/environ", true),
            ("into-git", ".git", true),
            ("venv/bin/python3", &format!("{out}/python3"), false),
            ("venv/bin/other", &format!("{out}/python3"), true),
            ("python3", &format!("{out}/python3"), true),
            ("loop", "loop", false),
        ] {
            symlink(target, root.join(name)).unwrap();
            assert_eq!(leads_out(&root, Path::new(name)), is_out, "{name} -> {target}");
        }
    }
}
