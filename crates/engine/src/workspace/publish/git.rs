//! Git as a tool without a memory: a bare repository of our own for one publication, and no setting of anybody else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::order::{PublishError, Remote, Surroundings};
use crate::domain::stop::{Stop, StopSource};
use crate::domain::units::CommitSha;
use crate::domain::verdict::Exit;
use crate::files;
use crate::process::{self, Confinement, Program, Spec};

/// The most time one git command may take: a push over a slow line included.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The most bytes of a command's output that are kept from each end. The longest is a list of the changed files.
const KEEP: usize = 4 * 1024 * 1024;
/// How much of what git said stands in an error.
const SAID_CHARS: usize = 400;
/// How often a command that the network failed is tried.
const TRIES: u32 = 3;
/// The pause before the first repetition, doubled each time.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a push that is under way may go on behind a signal. A runner kills ten seconds after its first one (GITHUB.md).
const GRACE_OF_PUSH: Duration = Duration::from_secs(4);
/// The beginning of the names of publications' folders. A folder that a killed process left is removed by the next one.
const PREFIX: &str = "git-";
/// The name under which the private repository knows the remote.
const REMOTE: &str = "origin";
/// The user's variables that git needs: to find programs, through proxies, and to trust a server's certificate.
const NAMES: &str = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy \
    SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE GIT_SSL_CAINFO GIT_SSL_CAPATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH \
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP";

/// The folder of one publication. It is removed with this value.
#[derive(Debug)]
pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A fresh folder below a private one, which no other process uses.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, PublishError> {
        let failed = |source| PublishError::Scratch { path: folder.to_owned(), source };
        for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
                // Left by a kill; one that cannot be removed does no harm.
                drop(std::fs::remove_dir_all(entry.path()));
            }
        }
        tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder).map(Self).map_err(failed)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, PublishError> {
        let path = self.path().join(name);
        std::fs::write(&path, content).map_err(|source| PublishError::Scratch { path: path.clone(), source })?;
        Ok(path)
    }
}

/// How a git command ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) ok: bool,
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

/// The private repository.
#[derive(Debug)]
pub(super) struct Git<'a> {
    scratch: &'a Scratch,
    url: &'a str,
    env: BTreeMap<OsString, OsString>,
    around: Surroundings<'a>,
}

impl<'a> Git<'a> {
    /// Prepares git's environment. Programs of the checkout are not found by it.
    pub(super) fn new(
        scratch: &'a Scratch,
        remote: &'a Remote,
        around: Surroundings<'a>,
        checkout: &Path,
    ) -> Result<Self, PublishError> {
        let parsed = url::Url::parse(&remote.url).ok();
        let plain = parsed.as_ref().is_some_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
        });
        if !plain {
            return Err(PublishError::Url(remote.url.clone()));
        }
        let mut env = inherited(around.environment, checkout);
        let home = scratch.path().as_os_str().to_owned();
        for (name, value) in [
            // Git never looks for a repository around it, and never finds the user's.
            ("GIT_DIR", home.clone()),
            ("HOME", home),
            ("LC_ALL", "C".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_ATTR_NOSYSTEM", "1".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            // Other protocols run a program (`ext`) or read this disk (`file`).
            ("GIT_ALLOW_PROTOCOL", "http:https".into()),
            ("GIT_ADVICE", "0".into()),
        ] {
            env.insert(name.into(), value);
        }
        let mut settings: Vec<(String, String)> = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.askPass", ""),
            ("credential.helper", ""),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            // A redirect would take the header to another server.
            ("http.followRedirects", "false"),
            ("protocol.version", "2"),
            ("push.negotiate", "false"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
        if let Some(access) = &remote.access {
            // By the environment, as anybody on the machine can read arguments.
            settings.push((format!("http.{}.extraheader", remote.url), access.header()));
        }
        env.insert("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
        for (index, (key, value)) in settings.into_iter().enumerate() {
            env.insert(format!("GIT_CONFIG_KEY_{index}").into(), key.into());
            env.insert(format!("GIT_CONFIG_VALUE_{index}").into(), value.into());
        }
        Ok(Self { scratch, url: &remote.url, env, around })
    }

    /// The folder.
    pub(super) const fn scratch(&self) -> &Scratch {
        self.scratch
    }

    /// Makes the repository: partial, so that the contents of unchanged files need not come.
    pub(super) async fn init(&self) -> Result<(), PublishError> {
        // A template could bring hooks along.
        self.must(&["init", "--quiet", "--bare", "--template=", "--initial-branch=none"], &[]).await?;
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tpartialClone = {REMOTE}\n\
             [remote \"{REMOTE}\"]\n\turl = {}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
            quoted(self.url)
        );
        self.scratch.write("config", config.as_bytes()).map(drop)
    }

    /// The commit that a reference of the remote names.
    pub(super) async fn remote_head(&self, reference: &str) -> Result<Option<CommitSha>, PublishError> {
        let said = self.reach(&["ls-remote", "--quiet", REMOTE, reference]).await?;
        let text = String::from_utf8_lossy(&said.out).into_owned();
        let found = text.lines().filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == reference);
        Ok(found.map(|(sha, _)| CommitSha(sha.to_owned())))
    }

    /// Fetches one commit with its trees.
    pub(super) async fn fetch(&self, commit: &CommitSha) -> Result<(), PublishError> {
        let arguments = [
            "fetch",
            "--quiet",
            "--depth=1",
            // Contents come when they are asked for.
            "--filter=blob:none",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            REMOTE,
            &commit.0,
        ];
        self.reach(&arguments).await.map(drop)
    }

    /// Pushes a commit to a reference, never forced. One under way has a moment to end when a signal comes: a server may carry out what
    /// it has received, and nobody would know of it.
    pub(super) async fn push(&self, commit: &CommitSha, reference: &str) -> Result<(), PublishError> {
        let refspec = format!("{}:{reference}", commit.0);
        let arguments = ["push", "--quiet", "--porcelain", "--no-verify", "--no-signed", REMOTE, &refspec];
        let (source, later) = StopSource::new();
        let grace = async {
            let cause = self.around.stop.wait().await;
            tokio::time::sleep(GRACE_OF_PUSH).await;
            source.raise(cause);
            std::future::pending().await
        };
        if self.around.stop.raised().is_some() {
            return Err(PublishError::Stopped);
        }
        tokio::select! {
            said = self.reach_until(&later, &arguments) => said.map(drop),
            () = grace => Err(PublishError::Stopped),
        }
    }

    /// Runs a command that talks to the remote, again if the network failed it.
    async fn reach(&self, arguments: &[&str]) -> Result<Said, PublishError> {
        self.reach_until(self.around.stop, arguments).await
    }

    async fn reach_until(&self, stop: &Stop, arguments: &[&str]) -> Result<Said, PublishError> {
        let mut pause = PAUSE;
        for tried in 1.. {
            let said = self.run_until(stop, arguments, (&[], &[])).await?;
            match if said.ok { Ok(said) } else { Err(explain(arguments, &said)) } {
                // Nothing else gets better by a repetition, and a refusal would be asked for twice.
                Err(PublishError::Unreachable { .. }) if tried < TRIES => {
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        _ = self.around.stop.wait() => return Err(PublishError::Stopped),
                    }
                    pause *= 2;
                }
                other => return other,
            }
        }
        Err(PublishError::Stopped)
    }

    /// Runs a command that has to work.
    pub(super) async fn must(&self, arguments: &[&str], stdin: &[u8]) -> Result<Said, PublishError> {
        let said = self.run(arguments, stdin, &[]).await?;
        if said.ok { Ok(said) } else { Err(explain(arguments, &said)) }
    }

    /// Runs a command whose failure says something.
    pub(super) async fn run(
        &self,
        arguments: &[&str],
        stdin: &[u8],
        more: &[(&str, &str)],
    ) -> Result<Said, PublishError> {
        self.run_until(self.around.stop, arguments, (stdin, more)).await
    }

    async fn run_until(
        &self,
        stop: &Stop,
        arguments: &[&str],
        (stdin, more): (&[u8], &[(&str, &str)]),
    ) -> Result<Said, PublishError> {
        let mut env = self.env.clone();
        env.extend(more.iter().map(|&(name, value)| (name.into(), value.into())));
        let words = std::iter::once("git").chain(arguments.iter().copied()).map(OsString::from).collect();
        let spec = Spec {
            program: Program::Argv(words),
            cwd: self.scratch.path().to_owned(),
            env,
            stdin: stdin.to_vec(),
            timeout: TIMEOUT,
            keep: KEEP,
            merge_stderr: false,
            memory_mb: None,
            confinement: Confinement::None,
        };
        let finished = process::run(&spec, stop, &mut |_chunk| {}).await?;
        if finished.stopped.is_some() {
            return Err(PublishError::Stopped);
        }
        // A server that takes for ever is not reached either.
        if finished.exit == Exit::Timeout {
            let said = format!("git gave up after {} minutes", TIMEOUT.as_secs() / 60);
            return Err(PublishError::Unreachable { said });
        }
        let code = match finished.exit {
            Exit::Code { code } => Some(code),
            Exit::Signal { .. }
            | Exit::Timeout
            | Exit::Memory { .. }
            | Exit::MemoryTogether { .. }
            | Exit::MachineMemory => None,
        };
        Ok(Said {
            ok: finished.exit.is_success(),
            code,
            out: finished.output,
            err: String::from_utf8_lossy(&finished.stderr).into_owned(),
        })
    }
}

/// The part of the caller's environment for git. `PATH` goes without the checkout, where a program called `git` may be anybody's.
pub(in crate::workspace) fn inherited(
    caller: &BTreeMap<OsString, OsString>,
    checkout: &Path,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = NAMES
        .split_ascii_whitespace()
        .filter_map(|name| Some((OsString::from(name), caller.get(OsStr::new(name))?.clone())))
        .collect();
    let path = caller.get(OsStr::new("PATH")).cloned().unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let outside = std::env::split_paths(&path).filter(|folder| {
        // A relative folder would be looked for in the current one.
        folder.is_absolute() && files::real_place(folder).is_ok_and(|folder| !folder.starts_with(checkout))
    });
    env.insert("PATH".into(), std::env::join_paths(outside).unwrap_or_default());
    env
}

/// A value in git's configuration.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Stands in a push to a branch of upshift's own.
const OURS: &str = ":refs/heads/upshift/";

/// The meaning of a failed command, from what git and the server said. The locale is ours, so the words are known.
fn explain(arguments: &[&str], said: &Said) -> PublishError {
    let all = format!("{}\n{}", said.err, String::from_utf8_lossy(&said.out));
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    let text = gist(&all);
    if has(&["non-fast-forward", "(fetch first)", "(stale info)", "cannot lock ref", "reference already exists"]) {
        return PublishError::Moved { branch: String::new(), expected: String::new(), found: String::new() };
    }
    // GitHub says "refusing to allow a GitHub App to create or update workflow `…` without `workflows` permission".
    if has(&["refusing to allow"]) && has(&["workflow"]) {
        return PublishError::Workflows { said: text };
    }
    if has(&["GH006", "GH013", "protected branch", "rule violations", "pre-receive hook declined"]) {
        let to_ours = arguments.iter().any(|argument| argument.contains(OURS));
        return PublishError::Rule { said: text, to_ours };
    }
    if has(&[
        "Authentication failed",
        "could not read Username",
        "terminal prompts disabled",
        "error: 401",
        "error: 403",
    ]) || has(&["Permission to"]) && has(&["denied"])
    {
        return PublishError::Credential { said: text };
    }
    if has(&["Could not resolve", "unable to access", "RPC failed", "early EOF", "unexpected disconnect", "hung up"]) {
        return PublishError::Unreachable { said: text };
    }
    PublishError::Git { command: arguments.first().copied().unwrap_or_default().to_owned(), said: text }
}

/// Lines of git's that tell nothing begin so.
const NOISE: [&str; 2] = ["To ", "error: failed to push some refs to "];

/// The telling lines, in one.
fn gist(all: &str) -> String {
    let is_noise = |line: &str| line.is_empty() || line == "Done" || NOISE.iter().any(|start| line.starts_with(start));
    let lines = all.lines().map(str::trim).filter(|line| !is_noise(line));
    // `!	COMMIT:REFERENCE	[remote rejected] (why)`
    let one: Vec<&str> = lines
        .map(|line| line.rsplit_once('\t').filter(|_| line.starts_with("!\t")).map_or(line, |(_, why)| why))
        .collect();
    one.join(" ").chars().take(SAID_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(err: &str) -> PublishError {
        explain(&["push"], &Said { ok: false, code: Some(1), out: Vec::new(), err: err.to_owned() })
    }

    #[test]
    fn refusals_are_told_apart() {
        type Is = fn(&PublishError) -> bool;
        let table: [(&str, Is); 6] = [
            ("! [rejected] a -> b (non-fast-forward)", |e| matches!(e, PublishError::Moved { .. })),
            (
                "! [remote rejected] (refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission)",
                |e| matches!(e, PublishError::Workflows { .. }),
            ),
            ("remote: error: GH006: Protected branch update failed", |e| matches!(e, PublishError::Rule { .. })),
            (
                "remote: Permission to a/b.git denied to github-actions[bot].\nfatal: unable to access: The requested URL returned error: 403",
                |e| matches!(e, PublishError::Credential { .. }),
            ),
            ("fatal: unable to access 'https://x/': Could not resolve host: x", |e| {
                matches!(e, PublishError::Unreachable { .. })
            }),
            ("fatal: bad object", |e| matches!(e, PublishError::Git { .. })),
        ];
        for (said, is_right) in table {
            let error = explained(said);
            assert!(is_right(&error), "{said}: {error:?}");
        }
    }

    #[test]
    fn of_a_refused_push_what_the_server_says_is_told_and_no_more() {
        let err = "remote: error: GH013: Rule violations.\nerror: failed to push some refs to 'http://x/a'";
        let out =
            b"To http://x/a\n!\tabc:refs/heads/main\t[remote rejected] (pre-receive hook declined)\nDone\n".to_vec();
        let said =
            explain(&["push", "abc:refs/heads/main"], &Said { ok: false, code: Some(1), out, err: err.to_owned() });
        let start = "a rule of the repository refused the push: remote: error: GH013: Rule violations. \
                     [remote rejected] (pre-receive hook declined) → Fix: ";
        assert!(said.to_string().starts_with(start), "{said}");
    }

    #[test]
    fn a_rule_against_a_branch_of_upshifts_own_is_not_answered_by_such_a_branch() {
        let said = || Said { ok: false, code: Some(1), out: Vec::new(), err: "GH013: rule violations".to_owned() };
        let fix = |refspec: &str| explain(&["push", refspec], &said()).to_string();
        assert!(fix("abc:refs/heads/main").contains("use `push: pr`"));
        let ours = fix("abc:refs/heads/upshift/fix-1");
        assert!(!ours.contains("push: pr") && ours.contains("exempt branches that begin with `upshift/`"), "{ours}");
    }

    #[test]
    fn git_is_not_looked_for_in_the_checkout() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("bin")).unwrap();
        let path = format!("{}:bin:/bin", root.join("bin").display());
        let caller = BTreeMap::from([
            (OsString::from("PATH"), OsString::from(path)),
            ("GIT_SSH".into(), "x".into()),
            ("HTTPS_PROXY".into(), "http://proxy".into()),
        ]);
        let env = inherited(&caller, &root);
        assert_eq!(env.get(OsStr::new("PATH")), Some(&OsString::from("/bin")));
        assert_eq!(env.len(), 2, "{env:?}");
    }
}
