//! The built program, run as a stranger's shell would: with a scrubbed environment.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tempfile::TempDir;

use super::{canary, ordinary};

/// A home of its own for the program, and what is to be set in its environment.
pub(crate) struct Program {
    home: TempDir,
    variables: Vec<(String, String)>,
    user: User,
    /// Where it was started; searched for the key in the end.
    folders: RefCell<Vec<PathBuf>>,
    /// The logs and tapes that it was told to write.
    files: RefCell<Vec<PathBuf>>,
}

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// Whoever runs the tests.
    Same,
    /// An ordinary one, also where that is root.
    Ordinary,
}

/// What a finished program said.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; negative for a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Program {
    /// With nothing set but `PATH` and a home that is empty.
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a folder"),
            variables: Vec::new(),
            user: User::Same,
            folders: RefCell::default(),
            files: RefCell::default(),
        }
    }

    /// With Anthropic's key and base URL set.
    pub(crate) fn with_anthropic(url: &str) -> Self {
        Self::new().with("ANTHROPIC_API_KEY", KEY).with("ANTHROPIC_BASE_URL", url)
    }

    /// Asks no green for evidence: for tests of what comes behind a fix. The court has tests of its own, and takes four fifths of a fix.
    pub(crate) fn without_court(self) -> Self {
        self.with("UPSHIFT_GUARD_OFF", "court")
    }

    /// The variable that has the court sit after all, where [`Self::without_court`] is the rule of a module.
    pub(crate) const WITH_COURT: (&'static str, &'static str) = ("UPSHIFT_GUARD_OFF", "");

    /// With one more variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Run by an ordinary user, also where the tests run as root.
    pub(crate) fn by_an_ordinary_user(mut self) -> Self {
        self.user = User::Ordinary;
        self
    }

    /// The command in a folder, not started.
    pub(crate) fn command(&self, folder: &Path, args: &[&str]) -> Command {
        self.folders.borrow_mut().push(folder.to_owned());
        let named = args.windows(2).filter(|pair| matches!(pair, ["--audit-db" | "--record", _])).map(|pair| pair[1]);
        let told = self.variables.iter().filter(|(name, _)| name == "UPSHIFT_AUDIT_DB").map(|(_, path)| path.as_str());
        self.files.borrow_mut().extend(named.chain(told).map(|path| folder.join(path)));
        canary::began();
        let mut command = Command::new(env!("CARGO_BIN_EXE_upshift"));
        command.env_clear();
        if self.user == User::Ordinary && ordinary::is_given_away() {
            ordinary::give_away(folder);
            ordinary::give_away(self.home.path());
            command = ordinary::as_user_with_tools(&[ordinary::program().to_str().expect("text")]);
            let kept = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
            let kept: Vec<_> = kept.collect();
            command.env_clear().envs(kept);
        }
        command.args(args).current_dir(folder);
        for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The clock leaps: no pause is waited for.
        command.env("PATH", programs()).env("UPSHIFT_TEST_CLOCK", "1");
        if std::env::var_os("RUSTUP_HOME").is_none() {
            // rustup and cargo look below the home, which is not the caller's here.
            let home = std::env::var_os("HOME").expect("HOME").to_string_lossy().into_owned();
            command.env("RUSTUP_HOME", format!("{home}/.rustup")).env("CARGO_HOME", format!("{home}/.cargo"));
        }
        command.env("HOME", self.home.path()).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, folder: &Path, args: &[&str]) -> Said {
        let said = Said::from(self.command(folder, args).output().expect("the program starts"));
        self.assert_nothing_leaked();
        said
    }

    /// Fails if the key stands in any file where the program was started or in its home: sources, reports, logs, databases.
    fn assert_nothing_leaked(&self) {
        let mut folders = self.folders.borrow_mut();
        folders.sort();
        folders.dedup();
        for folder in folders.iter().map(PathBuf::as_path).chain([self.home.path()]) {
            let leaks = canary::found_below(folder);
            assert!(leaks.is_empty(), "the key stands in {leaks:?}");
        }
        // The runner's temporary folder and the files that it reads, wherever a test has put them.
        let temporary = std::env::temp_dir();
        let named = self.variables.iter().map(|(_, value)| Path::new(value));
        for path in named.filter(|path| path.starts_with(&temporary) && *path != temporary) {
            let leaks = canary::found_at(path);
            assert!(leaks.is_empty(), "the key stands in {leaks:?}");
        }
        for file in self.files.borrow().iter() {
            let leaks = canary::found_beside(file);
            assert!(leaks.is_empty(), "the key stands in {leaks:?}");
        }
    }

    /// The home.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }
}

impl Drop for Program {
    /// For processes that a test started by itself.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_nothing_leaked();
        }
    }
}

/// The model key of every test.
pub(crate) const KEY: &str = canary::CANARY;

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0));
        let text = |bytes: Vec<u8>| {
            assert!(!canary::sings_in(&canary::without_masks(&bytes)), "the key was printed");
            String::from_utf8(bytes).expect("text")
        };
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The search path, with a plain Python before what a version manager puts in its place: each start of a shim costs more than
/// Python itself, and so does what stands in its site-packages.
pub(crate) fn programs() -> &'static OsStr {
    static PATH: LazyLock<OsString> = LazyLock::new(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let python = systems_python().or_else(folder_of_python);
        std::env::join_paths(python.into_iter().chain(std::env::split_paths(&path))).unwrap_or(path)
    });
    &PATH
}

/// A folder that holds the system's own Python alone: the one that it lies in holds another git, too.
fn systems_python() -> Option<PathBuf> {
    let python = Path::new("/usr/bin/python3");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).ok()?;
    let link = folder.join("python3");
    // Another process of tests may have made it meanwhile.
    let _there = std::os::unix::fs::symlink(python, &link);
    (python.exists() && link.exists()).then_some(folder)
}

/// Where the real program is that `python3` comes to.
fn folder_of_python() -> Option<PathBuf> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = asked.ok().filter(|output| output.status.success())?;
    let program = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    program.parent().map(Path::to_owned)
}

impl Said {
    /// Everything it said, for messages of assertions.
    pub(crate) fn all(&self) -> String {
        format!("exit {}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.out, self.err)
    }
}
