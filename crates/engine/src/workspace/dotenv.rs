//! The secrets in `.env` files of a checkout, for the redactor: read before anything else of a run.
//!
//! Invariant: no link is followed, and nothing that is too large, too many or unreadable stops a run.

use std::fs;
use std::path::Path;

use ignore::WalkBuilder;
use secrecy::SecretString;

use super::secret;
use crate::redact::values;

/// Files with more are no hand-kept settings.
const MAX_BYTES: u64 = 64 * 1024;
/// Each adds patterns to the redactor.
const MAX_FILES: usize = 64;
const MAX_VALUES: usize = 256;
/// The start of a run does not wait for larger trees.
const MAX_ENTRIES: usize = 200_000;

/// The secret values that the `.env` files below a checkout set, ignored files included.
#[must_use]
pub fn dotenv_secrets(checkout: &Path) -> Vec<SecretString> {
    let entries = WalkBuilder::new(checkout)
        // Nearly every repository ignores its `.env`.
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(|entry| {
            let folder = entry.depth() > 0 && entry.file_type().is_some_and(|form| form.is_dir());
            // A name like that says what the folder is only with something in it.
            !folder || entry.file_name() != ".git" && !secret::is_built(&Path::new(entry.file_name()).join("file"))
        })
        .build();
    let files = entries.take(MAX_ENTRIES).flatten().filter(|entry| {
        entry.file_type().is_some_and(|form| form.is_file())
            && entry.file_name().to_str().is_some_and(secret::is_dotenv)
            && entry.metadata().is_ok_and(|data| data.len() <= MAX_BYTES)
    });
    let texts = files.take(MAX_FILES).filter_map(|entry| fs::read(entry.path()).ok());
    let values = texts.flat_map(|text| values::dotenv_values(&String::from_utf8_lossy(&text), MAX_VALUES));
    values.flat_map(|value| values::secret_parts(&value)).map(SecretString::from).collect()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn env_files_anywhere_are_read_but_examples_and_packages() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", ".env\n");
        write(".env", "MODE=development\nTOKEN=top-level-1234\n");
        write("services/api/.env.local", "export PASS='nested-5678'\n");
        write(".env.example", "TOKEN=example-9999\n");
        write("node_modules/pkg/.env", "TOKEN=package-9999\n");
        write(".git/.env", "TOKEN=git-folder-9999\n");
        write("big/.env", &format!("TOKEN=too-large-9999\n{}", "#".repeat(64 * 1024)));
        let found = dotenv_secrets(tree.path());
        let mut found: Vec<&str> = found.iter().map(|secret| secret.expose_secret()).collect();
        found.sort_unstable();
        assert_eq!(found, ["nested-5678", "top-level-1234"]);
    }
}
