//! The variables of this process, read once: everything else is handed what it needs as data.
//!
//! Invariant: keys leave here only as [`SecretString`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::files;

/// Words in a variable's name that make its value a secret.
const SECRET_WORDS: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "_AUTH", "COOKIE"];
/// Variables with such a word whose value is no secret.
const NOT_SECRET: [&str; 2] = ["SSH_AUTH_SOCK", "GPG_TTY"];

/// A mark that the rest of the environment was handed over. It concerns nobody else.
const HANDED_OVER: &str = "UPSHIFT_HANDED_OVER";

/// A copy of the variables of the process environment.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(BTreeMap<OsString, OsString>);

impl Variables {
    /// Reads the environment of this process.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the environment")]
    pub(super) fn read() -> Self {
        // What was handed over comes last: it is the environment that this program was given.
        let mut raw: BTreeMap<OsString, OsString> =
            std::env::vars_os().filter(|(name, _)| name != HANDED_OVER).map(spelled).collect();
        raw.extend(super::hardening::handed_over());
        Self(raw)
    }

    /// Just these variables.
    #[cfg(test)]
    #[must_use]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// All variables as they are, to build a child's environment from.
    #[must_use]
    pub(super) fn raw(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }

    /// All variables that are valid text, for configuration.
    #[must_use]
    pub(super) fn text(&self) -> BTreeMap<String, String> {
        let pairs = self.0.iter();
        // A value that is no text configures nothing of ours, and is still handed on by `raw`.
        pairs.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))).collect()
    }

    /// One variable's text. An empty one counts as unset (DESIGN §2.1).
    #[must_use]
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(std::ffi::OsStr::new(name))?.to_str()?;
        // An input of the action that nobody gave comes as an empty variable.
        (!value.trim().is_empty()).then_some(value)
    }

    /// A key by the name of its variable.
    #[must_use]
    pub(super) fn secret(&self, name: &str) -> Option<SecretString> {
        self.get(name).map(SecretString::from)
    }

    /// The value of every variable whose name says that it is secret, for the redactor.
    #[must_use]
    pub(super) fn secrets(&self) -> Vec<SecretString> {
        let names = self.0.keys().filter_map(|name| name.to_str());
        names.filter(|name| is_secret_name(name)).filter_map(|name| self.secret(name)).collect()
    }

    /// The same variables without what configures upshift or tells of a GitHub event: for the demo.
    #[must_use]
    pub(super) fn without_settings(&self) -> Self {
        let ours = |name: &OsString| {
            let is_ours = |name: &str| ["UPSHIFT_", "GITHUB_"].iter().any(|start| name.starts_with(start));
            name.to_str().is_some_and(is_ours)
        };
        let raw = self.0.iter().filter(|(name, _)| !ours(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
        Self(raw)
    }

    /// The same variables without what tells of a GitHub event: for the runs of a backlog, which answer to whoever started it.
    #[must_use]
    pub(super) fn without_event(&self) -> Self {
        let ours = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("GITHUB_"));
        Self(self.0.iter().filter(|(name, _)| !ours(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Whether this is a GitHub Actions job.
    #[must_use]
    pub(super) fn in_actions(&self) -> bool {
        // Other values, such as of a tool that imitates a runner, are not believed.
        self.get("GITHUB_ACTIONS") == Some("true")
    }

    /// The folder for files that must outlive the process but may not lie in the checkout: `RUNNER_TEMP` in Actions, else the user's state
    /// folder (XDG Base Directory), else one in the system's temporary folder. The first of them that is outside the checkout is taken.
    #[must_use]
    pub(super) fn state_home(&self, checkout: &Path) -> PathBuf {
        // The XDG specification has relative paths ignored.
        let absolute = |name: &str| self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let runner = self.in_actions().then(|| absolute("RUNNER_TEMP")).flatten();
        let home = absolute("HOME").map(|home| home.join(".local/state"));
        // Windows has such a folder of its own, and no home outside Git's shell.
        let windows = cfg!(windows).then(|| absolute("LOCALAPPDATA")).flatten();
        let homes =
            [runner, absolute("XDG_STATE_HOME"), windows, home].into_iter().flatten().map(|home| home.join("upshift"));
        let checkout = files::real_place(checkout).unwrap_or_else(|_gone| checkout.to_owned());
        // The folder need not exist yet, and a part of its path may be a link.
        let outside = |home: &PathBuf| !files::settled(home).starts_with(&checkout);
        // Other users of the machine have a folder of their own there.
        let temporary = || std::env::temp_dir().join(files::name_for_user("upshift"));
        homes.into_iter().find(outside).unwrap_or_else(temporary)
    }
}

/// Windows takes `Path` and `PATH` for the same: there names are spelled in capitals, so that they are found.
fn spelled((name, value): (OsString, OsString)) -> (OsString, OsString) {
    if cfg!(windows) { (name.to_ascii_uppercase(), value) } else { (name, value) }
}

/// Whether a variable of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // A word anywhere counts: a name that is wrongly hidden harms less than a key that is shown.
    SECRET_WORDS.iter().any(|word| upper.contains(word))
        && !NOT_SECRET.contains(&name)
        && !looks_like_a_path_name(&upper)
}

/// `SSH_KEY_PATH`, `TOKEN_FILE`: the value names a place.
fn looks_like_a_path_name(upper: &str) -> bool {
    ["_PATH", "_FILE", "_DIR", "_URL"].iter().any(|ending| upper.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "db_password", "AWS_SECRET_ACCESS_KEY"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "HOME", "SSH_AUTH_SOCK", "TOKEN_FILE", "KEYS_DIR"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
