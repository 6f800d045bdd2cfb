//! The address of the action: whose copy of upshift a workflow uses, and which version of it.

use std::fmt;
use std::str::FromStr;

/// The words in the templates that stand for the account that the action is in.
pub const PLACEHOLDER: &str = "YOUR-ACCOUNT";
/// The length of a commit's SHA, in hexadecimal digits.
const SHA_LENGTH: usize = 40;

/// An action's repository with a version of it: `owner/repository@ref`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRef {
    repository: String,
    version: String,
}

impl ActionRef {
    /// The address that stands in the templates.
    pub(super) fn placeholder() -> String {
        format!("{PLACEHOLDER}/upshift@v1")
    }

    /// The sentence of the templates about it, with the blank before it.
    pub(super) fn advice() -> String {
        format!(" Replace {PLACEHOLDER} with the account that the action is in.")
    }

    /// The beginning of a sentence of theirs that goes on with something else to replace.
    pub(super) fn advice_with_more() -> String {
        format!("Replace {PLACEHOLDER} with the account that the action is in, and ")
    }

    /// Whether its version is a commit, which nobody can move.
    pub(super) fn is_commit(&self) -> bool {
        self.version.len() == SHA_LENGTH && self.version.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

impl fmt::Display for ActionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.repository, self.version)
    }
}

impl FromStr for ActionRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is no action: write OWNER/REPOSITORY@REF, where REF is a commit's SHA (or a tag), as `git ls-remote https://github.com/OWNER/REPOSITORY HEAD` prints it"
            )
        };
        let (repository, version) = text.split_once('@').ok_or_else(expected)?;
        let is_name = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        // A tag may have slashes. Every part is a plain word, so that nothing in it can end the YAML value.
        let is_ref = version.split('/').all(is_name);
        match repository.split('/').collect::<Vec<_>>().as_slice() {
            // `./local` and `docker://image` are forms of GitHub's, too, and neither is a repository with a version.
            [owner, name] if is_name(owner) && is_name(name) && is_ref => {
                Ok(Self { repository: repository.to_owned(), version: version.to_owned() })
            }
            _ => Err(expected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_owner_a_repository_and_a_version() {
        let sha = "08c6903cd8c0fde910a37f88322edcfb5dd907a8";
        let pinned: ActionRef = format!("acme/upshift@{sha}").parse().unwrap();
        assert!(pinned.is_commit() && pinned.to_string() == format!("acme/upshift@{sha}"));
        let tagged: ActionRef = "acme/up.shift@releases/v1".parse().unwrap();
        assert!(!tagged.is_commit());
        for text in [
            "acme/upshift",
            "upshift@v1",
            "acme/upshift/x@v1",
            "acme/upshift@",
            "a b/c@d",
            "acme/upshift@v1 # x",
            "acme/upshift@a\nb",
        ] {
            assert!(text.parse::<ActionRef>().unwrap_err().contains("OWNER/REPOSITORY@REF"), "{text}");
        }
    }
}
