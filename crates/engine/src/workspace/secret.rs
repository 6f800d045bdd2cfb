//! Files that a model is not shown: what holds credentials by its name, and what git ignores, since it is the user's own.
//!
//! Pure over names. Whether a file is ignored is [`super::walk`]'s to say. Source code named after credentials is code.

use crate::domain::word_list::lists;
use crate::framework::programs::BUILT;
use std::path::Path;

use super::rel_path::fold;

/// Whole names of files with credentials.
const NAMES: &str = ".netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg .dockerconfigjson .s3cfg .boto \
    .vault-token .terraformrc credentials secrets id_rsa id_dsa id_ecdsa id_ed25519 master.key kubeconfig .yarnrc.yml .envrc .dev.vars \
    application_default_credentials.json service-account.json serviceaccount.json";
/// Endings of key files.
const ENDINGS: [&str; 13] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".ppk",
    ".asc",
    ".gpg",
    ".kdbx",
    ".tfstate",
    ".tfvars",
    ".ovpn",
];
/// Beginnings of names that mean credentials when what follows is no code.
const BEGINNINGS: [&str; 6] = ["credentials.", "credential.", "secrets.", "secret.", "client_secret", "id_rsa"];
/// Data formats in which such files are kept.
const DATA: &str = "json yml yaml toml ini xml csv txt properties cfg conf env enc db sqlite";
/// Folders of credentials.
const FOLDERS: &str = ".ssh .aws .gnupg .kube .docker .azure .gcloud .config/gcloud";
/// Marks of a file that shows what another looks like.
const EXAMPLES: [&str; 6] = ["example", "sample", "template", "dist", "defaults", "schema"];

/// Whether a file holds credentials, by its name.
#[must_use]
pub fn looks_secret(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().map(|part| fold(&part.to_string_lossy())).collect();
    let Some((name, folders)) = parts.split_last() else { return false };
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    // `.env.example` is there to be read.
    if is_example(name) {
        return false;
    }
    let is_env = name == ".env" || name.starts_with(".env.") || name.ends_with(".env");
    is_env
        || lists(NAMES, name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (lists(DATA, extension) && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)))
        || folders.iter().any(|folder| lists(FOLDERS, folder))
}

/// Whether a file of this name holds variables for an environment, and not an example of them.
pub(super) fn is_dotenv(name: &str) -> bool {
    let name = fold(name);
    (name == ".env" || name.starts_with(".env.")) && !is_example(&name)
}

fn is_example(name: &str) -> bool {
    name.split(['.', '-', '_']).any(|word| EXAMPLES.contains(&word))
}

/// Whether an ignored file lies where packages are installed or things are built.
pub(super) fn is_built(path: &Path) -> bool {
    path.parent().into_iter().flat_map(Path::iter).any(|part| {
        let part = fold(&part.to_string_lossy());
        lists(BUILT, &part) || part.ends_with(".egg-info")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_name_in_any_spelling_and_code_about_them_is_code() {
        for path in [
            ".env",
            ".ENV",
            "a/.env.local",
            "prod.env",
            "key.pem",
            "deploy.KEY",
            "id_rsa",
            ".npmrc",
            ".netrc",
            "credentials.json",
            "credentials",
            "config/secrets.yml",
            ".aws/config",
            ".e\u{200c}nv",
            "terraform.tfstate",
            "id_rsa.txt",
        ] {
            assert!(looks_secret(Path::new(path)), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            "src/credentials.rs",
            "secrets.py",
            "environment.ts",
            "keys.go",
            "env/mod.rs",
            "src/key.rs",
            "credentials.example.json",
            "monkey.js",
        ] {
            assert!(!looks_secret(Path::new(path)), "{path}");
        }
    }
}
