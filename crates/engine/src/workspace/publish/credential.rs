//! The credential that checkout left behind for git: in the repository's own configuration, or since its version 6 in a file of
//! the runner's that the configuration includes for this git directory (GITHUB.md 5).
//!
//! Invariant: it is read, used for the server it was left for, and written nowhere.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

use super::git_config::{self, Entry};
use super::head::{git_folder_above, read};

/// The beginning of such a header. The case of letters does not count.
const HEADER: &str = "authorization: basic ";
/// The name that checkout gives beside the token.
const USER: &str = "x-access-token:";

/// A credential that was left.
#[derive(Debug, Clone)]
pub struct Left {
    /// The whole header.
    pub header: SecretString,
    /// The token in it, where it is one.
    pub token: Option<SecretString>,
    /// The parts of it that must never be shown.
    pub secrets: Vec<SecretString>,
}

/// The credential that was left in a checkout for the server of a URL. Of several the last counts, as in git.
#[must_use]
pub fn left_by_checkout(folder: &Path, url: &str) -> Option<Left> {
    let git = git_folder_above(folder)?;
    // A worktree's git directory names that of the repository, where the configuration lies.
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path.trim()));
    let own = git_config::parse(&read(&common.join("config"))?);
    let included = own.iter().filter(|entry| is_for(entry, &git)).filter_map(|entry| {
        let path = Path::new(&entry.value);
        path.is_absolute().then(|| read(path)).flatten()
    });
    let included: Vec<Entry> = included.flat_map(|text| git_config::parse(&text)).collect();
    let last = own.iter().chain(&included).rfind(|entry| is_header_for(entry, url))?;
    left(&last.value)
}

/// Whether a file is included for this git directory: checkout names it in full.
fn is_for(entry: &Entry, git: &Path) -> bool {
    if entry.section != "includeif" || entry.name != "path" {
        return false;
    }
    let named = entry.subsection.as_deref().and_then(|condition| condition.strip_prefix("gitdir:"));
    let Some(named) = named.map(|named| Path::new(named.trim_end_matches('/'))) else { return false };
    named == git || named.canonicalize().is_ok_and(|named| git.canonicalize().is_ok_and(|git| git == named))
}

/// Whether it is a header for requests to a URL: one for the whole server, or for what the URL begins with.
fn is_header_for(entry: &Entry, url: &str) -> bool {
    let about = entry.subsection.as_deref().map(|about| about.trim_end_matches('/'));
    let fits = about.is_some_and(|about| {
        // Up to a slash, so that `https://github.com` does not fit `https://github.company.example`.
        let rest = url.strip_prefix(about);
        !about.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    entry.section == "http" && entry.name == "extraheader" && fits
}

fn left(header: &str) -> Option<Left> {
    let begins = header.get(..HEADER.len())?.eq_ignore_ascii_case(HEADER);
    let encoded = header.get(HEADER.len()..)?.trim();
    // A line break would end the header and begin another one.
    if !begins || encoded.is_empty() || header.contains(['\n', '\r']) {
        return None;
    }
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let token = decoded.as_deref().and_then(|text| text.strip_prefix(USER)).map(str::to_owned);
    let secrets = [Some(encoded.to_owned()), token.clone()].into_iter().flatten().map(SecretString::from).collect();
    Some(Left { header: SecretString::from(header.to_owned()), token: token.map(SecretString::from), secrets })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    const URL: &str = "https://github.com/acme/shop";

    fn header(token: &str) -> String {
        format!("AUTHORIZATION: basic {}", STANDARD.encode(format!("x-access-token:{token}")))
    }

    fn token(folder: &Path) -> Option<String> {
        Some(left_by_checkout(folder, URL)?.token?.expose_secret().to_owned())
    }

    fn checkout(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        std::fs::create_dir_all(git.join("objects")).unwrap();
        std::fs::create_dir_all(git.join("refs")).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("config"), config).unwrap();
        folder
    }

    #[test]
    fn the_header_in_the_configuration_is_found_for_its_own_server() {
        let folder = checkout(&format!("[http \"https://github.com/\"]\n\textraheader = {}\n", header("ghs_1")));
        assert_eq!(token(folder.path()).as_deref(), Some("ghs_1"));
        assert!(left_by_checkout(folder.path(), "https://github.com.evil.example/acme/shop").is_none());
        assert!(left_by_checkout(folder.path(), "https://ghe.example/acme/shop").is_none());
        let left = left_by_checkout(folder.path(), URL).unwrap();
        assert_eq!(left.secrets.len(), 2, "encoded and plain");
        assert!(!format!("{left:?}").contains("ghs_1"));
    }

    #[test]
    fn the_file_that_is_included_for_this_git_directory_is_read_and_no_other() {
        let runner = tempfile::tempdir().unwrap();
        let kept = runner.path().join("git-credentials-1.config");
        std::fs::write(&kept, format!("[http \"https://github.com/\"]\n\textraheader = {}\n", header("ghs_6")))
            .unwrap();
        let folder = checkout("");
        let git = folder.path().join(".git");
        let include = |gitdir: &Path, path: &str| {
            let text = format!("[includeIf \"gitdir:{}\"]\n\tpath = {path}\n", gitdir.display());
            std::fs::write(git.join("config"), text).unwrap();
        };
        include(&git, kept.to_str().unwrap());
        assert_eq!(token(folder.path()).as_deref(), Some("ghs_6"));
        include(Path::new("/github/workspace/.git"), kept.to_str().unwrap());
        assert_eq!(token(folder.path()), None);
        include(&git, "git-credentials-1.config");
        assert_eq!(token(folder.path()), None, "no relative path");
        include(&git, "/nowhere/x.config");
        assert_eq!(token(folder.path()), None);
    }

    #[test]
    fn what_is_no_such_header_is_left() {
        for value in ["AUTHORIZATION: bearer x", "X-Header: basic eDp5", "AUTHORIZATION: basic", ""] {
            assert!(left(value).is_none(), "{value}");
        }
        let odd = left("authorization: basic !!!").unwrap();
        assert!(odd.token.is_none());
    }
}
