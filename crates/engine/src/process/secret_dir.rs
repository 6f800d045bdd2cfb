//! A folder of a name that nobody can know beforehand, in which a child leaves a file for us.
//!
//! It lies in the child's own temporary folder, the one place outside the tree that the child may write, and is gone when it is
//! dropped. The child may do with it what it likes: what is read goes through the handle that was taken before the child began.
//!
//! Invariant: no link that a child made is followed, and nothing but a regular file is read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::files::{Folder, Kind, set_permissions};

/// A private folder for one run of a child.
#[derive(Debug)]
pub struct SecretDir {
    /// Given up first: Windows removes no folder that is held.
    handle: Folder,
    folder: TempDir,
}

impl SecretDir {
    /// Makes one where a child with that environment can write.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn make(env: &BTreeMap<OsString, OsString>) -> io::Result<Self> {
        let base = env.get(OsStr::new("TMPDIR")).map_or_else(std::env::temp_dir, PathBuf::from);
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let folder = tempfile::Builder::new().prefix(&format!("results-{nonce}-")).tempdir_in(base)?;
        // Taken while the folder is still ours alone: afterwards the child may put a link in its place.
        let handle = Folder::open(folder.path())?;
        Ok(Self { handle, folder })
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts a file into it that the child is to read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, name: &str, text: &str) -> io::Result<()> {
        // Never over what is there: the temporary folder is the child's too.
        File::create_new(self.path().join(name))?.write_all(text.as_bytes())
    }

    /// Puts a program into it that the child is to start.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_program(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = File::create_new(self.path().join(name))?;
        file.write_all(text.as_bytes())?;
        set_permissions(&file, 0o755)
    }

    /// Opens what the child left under a name.
    ///
    /// # Errors
    /// When there is nothing, or something else than a regular file.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let (file, found) = self.handle.read(OsStr::new(name))?;
        if found.kind == Kind::File {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn secret_dir() -> (TempDir, SecretDir) {
        let base = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([(OsString::from("TMPDIR"), base.path().as_os_str().to_owned())]);
        let made = SecretDir::make(&env).unwrap();
        (base, made)
    }

    #[test]
    fn what_a_child_leaves_is_read_and_gone_with_the_folder() {
        let (base, secret_dir) = secret_dir();
        std::fs::write(secret_dir.path().join("a"), "text").unwrap();
        let mut text = String::new();
        secret_dir.open("a").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        drop(secret_dir);
        assert_eq!(base.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn links_folders_fifos_and_a_folder_in_its_place_are_not_read() {
        let (base, secret_dir) = secret_dir();
        std::fs::write(base.path().join("secret"), "text").unwrap();
        std::os::unix::fs::symlink(base.path().join("secret"), secret_dir.path().join("link")).unwrap();
        std::fs::create_dir(secret_dir.path().join("folder")).unwrap();
        let fifo = secret_dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        for name in ["link", "folder", "fifo", "nothing"] {
            secret_dir.open(name).unwrap_err();
        }
        let other = base.path().join("other");
        std::fs::rename(secret_dir.path(), &other).unwrap();
        std::fs::create_dir(secret_dir.path()).unwrap();
        std::fs::write(secret_dir.path().join("forged"), "text").unwrap();
        secret_dir.open("forged").unwrap_err();
    }
}
