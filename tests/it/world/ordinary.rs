//! An ordinary user for the program, where the tests themselves run as root.
//!
//! Tools that lie in root's home are shown to that user in a mount namespace of the program's own, at their own places.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The user that root becomes.
const NOBODY: u32 = 65_534;
/// Folders below a home that hold tools.
const TOOLS: &str = ".cargo .rustup .pyenv .nvm .volta .local";
/// Covers the home `$1` with a folder that holds the tools alone, then becomes the rest.
const SHOW_TOOLS: &str = r#"set -e
home=$1 stash=$2
shift 2
mount --rbind "$home" "$stash"
mount -t tmpfs -o mode=755 none "$home"
for name in $TOOLS_SHOWN; do
  if [ -d "$stash/$name" ]; then mkdir "$home/$name"; mount --rbind "$stash/$name" "$home/$name"; fi
done
exec "$@""#;

/// Whether the program runs as another user than the tests: as an ordinary one, unless it is told to run as root.
pub(crate) fn is_given_away() -> bool {
    rustix::process::geteuid().is_root() && std::env::var_os("UPSHIFT_RED_TEAM_AS").is_none_or(|user| user != "root")
}

/// A command as the user who runs upshift.
pub(crate) fn as_user(words: &[&str]) -> Command {
    let nobody = NOBODY.to_string();
    let change = ["setpriv", "--reuid", &nobody, "--regid", &nobody, "--clear-groups"];
    let all: Vec<&str> = change.into_iter().filter(|_| is_given_away()).chain(words.iter().copied()).collect();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]);
    command
}

/// The same with the tools of root's home.
pub(crate) fn as_user_with_tools(words: &[&str]) -> Command {
    let Some((home, stash)) = hidden_tools() else { return as_user(words) };
    let inner = as_user(words);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SHOW_TOOLS, "_"]).arg(home).arg(stash);
    command.env("TOOLS_SHOWN", TOOLS).arg(inner.get_program()).args(inner.get_args());
    command
}

/// Root's home and a folder to put it aside, where others cannot look into it.
fn hidden_tools() -> Option<(PathBuf, &'static Path)> {
    static STASH: OnceLock<TempDir> = OnceLock::new();
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let is_hidden = fs::metadata(&home).is_ok_and(|found| found.mode() & 0o005 != 0o005);
    let stash = STASH.get_or_init(|| tempfile::tempdir().expect("a folder")).path();
    (is_given_away() && is_hidden).then_some((home, stash))
}

/// The built program where every user can execute it.
pub(crate) fn program() -> &'static Path {
    static PLACE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PLACE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        let path = folder.path().join("upshift");
        fs::copy(env!("CARGO_BIN_EXE_upshift"), &path).expect("a copy");
        (folder, path)
    });
    path
}

/// Gives a folder and all in it to the ordinary user; files that lie elsewhere too stay their owner's.
pub(crate) fn give_away(path: &Path) {
    let found = path.symlink_metadata().expect("metadata");
    if found.is_dir() || found.nlink() == 1 {
        lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may do that");
    }
    if found.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            give_away(&entry.expect("an entry").path());
        }
    }
}
