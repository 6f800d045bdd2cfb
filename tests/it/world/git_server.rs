//! A real git remote over HTTP: `git http-backend` behind a token check, as on GitHub.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use super::canary;

/// The token that the server lets in; must turn up nowhere but in its requests.
pub(crate) const TOKEN: &str = "ghs_canary5d2e8f607f3a9b1c4e6d8a90b2c3d4";
/// Another one that it lets in: an App's, where the first is the job's own.
pub(crate) const PUSHER: &str = "ghs_canary81b0c6d2e4f60718293a4b5c6d7e8f9";

type Moment = Box<dyn FnOnce(&Path) + Send>;

/// A server with one bare repository, `acme/shop`.
pub(crate) struct GitServer {
    folder: TempDir,
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    /// Done once, when a push arrives, before git hears of it.
    before_push: Mutex<Option<Moment>>,
    /// Done once, when a push was carried out, before anybody is answered.
    after_push: Mutex<Option<Moment>>,
    pushes: Mutex<usize>,
    /// Hears of every push that was carried out, before anybody is answered.
    watcher: std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// What a file of a repository is made as.
pub(crate) enum Made<'a> {
    Text(&'a str),
    Script(&'a str),
    Link(&'a str),
}

impl GitServer {
    /// A server whose `main` holds these files.
    pub(crate) fn start(files: &[(&str, Made<'_>)]) -> Self {
        let folder = tempfile::Builder::new().prefix("remote-").tempdir().expect("a folder");
        let root = folder.path().join("served");
        let bare = root.join("acme/shop");
        std::fs::create_dir_all(&bare).expect("folders");
        git(&bare, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        git(&bare, &["config", "uploadpack.allowFilter", "true"]);
        git(&bare, &["config", "http.receivepack", "true"]);
        let seed = folder.path().join("seed");
        std::fs::create_dir_all(&seed).expect("a folder");
        git(&seed, &["init", "--quiet", "--initial-branch=main"]);
        for (name, made) in files {
            make(&seed, name, made);
        }
        commit_all(&seed, "start");
        git(&seed, &["push", "--quiet", bare.to_str().expect("text"), "main"]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            root,
            before_push: Mutex::new(None),
            after_push: Mutex::new(None),
            pushes: Mutex::new(0),
            watcher: std::sync::OnceLock::new(),
        });
        let serving = Arc::clone(&shared);
        // Ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || drop(converse(stream, &shared)));
            }
        });
        Self { folder, port, shared }
    }

    /// The server's URL, as `GITHUB_SERVER_URL` has it.
    pub(crate) fn server_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The repository's URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/acme/shop", self.server_url())
    }

    /// The bare repository.
    pub(crate) fn bare(&self) -> PathBuf {
        self.shared.root.join("acme/shop")
    }

    /// The working tree that the first commit was made in, for further commits of somebody else.
    pub(crate) fn seed(&self) -> PathBuf {
        self.folder.path().join("seed")
    }

    /// A clone of `main` in a folder.
    pub(crate) fn clone_to(&self, folder: &Path) {
        let parent = folder.parent().expect("a parent");
        git(parent, &["clone", "--quiet", self.bare().to_str().expect("text"), folder.to_str().expect("text")]);
    }

    /// Somebody else commits what is in the seed's tree and pushes it to a branch.
    pub(crate) fn somebody_pushes(&self, branch: &str) -> String {
        commit_all(&self.seed(), "somebody else");
        let reference = format!("HEAD:refs/heads/{branch}");
        git(&self.seed(), &["push", "--quiet", "--force", self.bare().to_str().expect("text"), &reference]);
        self.head(branch)
    }

    /// A branch's head.
    pub(crate) fn head(&self, branch: &str) -> String {
        git(&self.bare(), &["rev-parse", &format!("refs/heads/{branch}")])
    }

    /// What git says of the bare repository.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.bare(), arguments)
    }

    /// What happens when the next push arrives, before it is carried out.
    pub(crate) fn before_push(&self, moment: impl FnOnce(&Path) + Send + 'static) {
        *self.shared.before_push.lock().expect("a lock") = Some(Box::new(moment));
    }

    /// What happens when the next push was carried out, before its answer is sent.
    pub(crate) fn after_push(&self, moment: impl FnOnce(&Path) + Send + 'static) {
        *self.shared.after_push.lock().expect("a lock") = Some(Box::new(moment));
    }

    /// Has somebody told of every push, once it was carried out and before it is answered.
    pub(crate) fn watch(&self, watcher: impl Fn() + Send + Sync + 'static) {
        assert!(self.shared.watcher.set(Box::new(watcher)).is_ok(), "one watches already");
    }

    /// How many pushes arrived.
    pub(crate) fn pushes(&self) -> usize {
        *self.shared.pushes.lock().expect("a lock")
    }
}

/// Runs git in a folder as a person would; returns what it printed.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.invalid", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// What was pushed is out: no object and no branch of it may hold the planted secret, whichever test was at work.
impl Drop for GitServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for arguments in [&["cat-file", "--batch-all-objects", "--batch", "--unordered"][..], &["for-each-ref"]] {
            let told = Command::new("git").args(arguments).current_dir(self.bare()).output().expect("git");
            assert!(told.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&told.stderr));
            let told_text = String::from_utf8_lossy(&told.stdout);
            let has_token = told_text.contains(TOKEN) || told_text.contains(PUSHER);
            assert!(!has_token && !canary::sings_in(&told.stdout), "a secret was pushed: see git {arguments:?}");
        }
    }
}

/// Commits everything in a working tree.
pub(crate) fn commit_all(folder: &Path, message: &str) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", &format!("--message={message}")]);
}

/// Makes a file.
pub(crate) fn make(folder: &Path, name: &str, made: &Made<'_>) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    match made {
        Made::Text(text) => std::fs::write(&path, text).expect("written"),
        Made::Script(text) => {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        Made::Link(target) => std::os::unix::fs::symlink(target, &path).expect("a link"),
    }
}

fn converse(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let body = if header("transfer-encoding") == Some("chunked") {
        read_chunks(&mut reader)?
    } else {
        let mut body = vec![0; header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0)];
        reader.read_exact(&mut body)?;
        body
    };
    let wanted = [TOKEN, PUSHER].map(|token| format!("basic {}", STANDARD.encode(format!("x-access-token:{token}"))));
    let is_let_in = |given: &str| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(given));
    if !header("authorization").is_some_and(is_let_in) {
        return writer.write_all(
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"GitHub\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    }
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    if path.ends_with("/git-receive-pack") {
        *shared.pushes.lock().expect("a lock") += 1;
        if let Some(moment) = shared.before_push.lock().expect("a lock").take() {
            moment(&shared.root.join("acme/shop"));
        }
    }
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &shared.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &method)
        .env("REMOTE_USER", "x-access-token")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_TYPE", header("content-type").unwrap_or(""))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding").unwrap_or(""))
        .env("HTTP_GIT_PROTOCOL", header("git-protocol").unwrap_or(""))
        .env("GIT_PROTOCOL", header("git-protocol").unwrap_or(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = backend.stdin.take().expect("piped");
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = backend.wait_with_output()?.stdout;
    drop(feeder.join());
    if path.ends_with("/git-receive-pack")
        && let Some(moment) = shared.after_push.lock().expect("a lock").take()
    {
        moment(&shared.root.join("acme/shop"));
    }
    if path.ends_with("/git-receive-pack") {
        shared.watcher.get().into_iter().for_each(|watcher| watcher());
    }
    let split = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(output.len().saturating_sub(4));
    let head = String::from_utf8_lossy(&output[..split]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let rest: String =
        head.lines().filter(|line| !line.starts_with("Status:")).map(|line| format!("{line}\r\n")).collect();
    let content = output.get(split + 4..).unwrap_or_default();
    write!(writer, "HTTP/1.1 {status}\r\n{rest}Content-Length: {}\r\nConnection: close\r\n\r\n", content.len())?;
    writer.write_all(content)
}

fn read_chunks(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        chunk.truncate(size);
        body.extend(chunk);
    }
}
