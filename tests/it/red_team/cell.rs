//! A world to attack from: a repository whose tests are the attack, and around it what must not be reached.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::attack;
use crate::world::ordinary::{as_user, give_away, is_given_away, program};

/// The key that upshift holds; a secret in every other place, too.
pub(super) const SECRET: &str = "canary-5f1c9e07b3a24d68";
/// What a home holds that nobody may read.
const CREDENTIALS: [&str; 9] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".docker/config.json",
    ".npmrc",
    ".config/gh/hosts.yml",
    ".cargo/credentials.toml",
    ".gradle/gradle.properties",
];

/// The world: `checkout`, `home`, `outside`, `runner` (the runner's temporary folder).
pub(super) struct Cell {
    folder: TempDir,
}

impl Cell {
    /// A fresh one.
    pub(super) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("red-team-").tempdir().expect("a folder");
        let cell = Self { folder };
        for name in ["checkout", "home", "outside", "runner/_runner_file_commands"] {
            fs::create_dir_all(cell.path(name)).expect("folders");
        }
        for name in CREDENTIALS {
            cell.write(&format!("home/{name}"), SECRET);
        }
        cell.write("home/.cargo/bin/tool", "#!/bin/sh\n");
        cell.write("outside/file", SECRET);
        for name in ["set_env", "add_path", "set_output", "step_summary"] {
            cell.write(&format!("runner/_runner_file_commands/{name}"), "");
        }
        cell.git(&["init", "--quiet"]);
        cell.git(&["config", "http.https://github.com/.extraheader", &format!("AUTHORIZATION: basic {SECRET}")]);
        cell.git(&["config", "remote.origin.url", &format!("https://x:{SECRET}@github.com/o/r")]);
        cell
    }

    fn git(&self, args: &[&str]) {
        let done = Command::new("git").args(args).current_dir(self.path("checkout")).output().expect("git");
        assert!(done.status.success());
    }

    /// A path in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    }

    /// A file's text; empty if there is none.
    pub(super) fn read(&self, name: &str) -> String {
        fs::read(self.path(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Runs upshift on the checkout with a shell script for its tests, under `sandbox: required`: as an ordinary user, or as root where `UPSHIFT_RED_TEAM_AS` says so.
    ///
    /// The script finds the world at `$CELL` and upshift's process id in `$PPID`; at its end it says that it could not
    /// run, so that no model is asked.
    pub(super) fn run(&self, script: &str, off: &str, flags: &[&str]) -> Output {
        self.run_through(&[], script, off, flags)
    }

    /// The same with a limit on the program's own memory, in KiB of addresses.
    pub(super) fn run_with_memory(&self, most: u32, script: &str, off: &str, flags: &[&str]) -> Output {
        self.run_through(&["sh", "-c", &format!("ulimit -S -v {most}; exec \"$@\""), "_"], script, off, flags)
    }

    /// The same with a file system of 48 MB for temporary files, in a mount namespace.
    pub(super) fn run_in_a_small_world(&self, script: &str, off: &str, flags: &[&str]) -> Output {
        let small = self.path("small");
        fs::create_dir_all(&small).expect("a folder");
        let mount = format!("mount -t tmpfs -o size=48m none {0} && TMPDIR={0} exec \"$@\"", small.display());
        self.run_through(
            &["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount, "_"],
            script,
            off,
            flags,
        )
    }

    /// The same with a file system of its own in a folder of the world, which holds the file `in/file`.
    pub(super) fn run_with_a_volume(&self, folder: &str, script: &str, off: &str, flags: &[&str]) -> Output {
        let folder = self.path(folder).display().to_string();
        let mount =
            format!("mount -t tmpfs none {folder} && mkdir {folder}/in && touch {folder}/in/file && exec \"$@\"");
        self.run_through(
            &["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount, "_"],
            script,
            off,
            flags,
        )
    }

    /// Starts somebody of the same user outside, who has said a first line.
    pub(super) fn witness(&self, script: &str) -> Child {
        let script = format!("CELL={}\n{script}", self.folder.path().display());
        let mut command = as_user(&["sh", "-c", &script]);
        if is_given_away() {
            give_away(self.folder.path());
        }
        let mut witness = command.stdout(Stdio::piped()).spawn().expect("a shell");
        let mut line = [0; 1];
        witness.stdout.as_mut().expect("a pipe").read_exact(&mut line).expect("a word");
        witness
    }

    /// Runs upshift through a program that becomes it.
    fn run_through(&self, through: &[&str], script: &str, off: &str, flags: &[&str]) -> Output {
        let script = format!("CELL={}\ntouch ran\n{script}\nexit 127\n", self.folder.path().display());
        self.write("checkout/attack.sh", &script);
        if is_given_away() {
            give_away(self.folder.path());
        }
        let upshift = program().to_str().expect("text");
        let words: Vec<&str> = through.iter().copied().chain([upshift]).collect();
        let mut command = as_user(&words);
        let files = self.path("runner/_runner_file_commands");
        command
            .args([
                "run",
                "--sandbox",
                "required",
                "--test-command",
                ". ./attack.sh",
                "--model",
                "anthropic/claude-haiku-4-5",
            ])
            .args(flags)
            .current_dir(self.path("checkout"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("RUNNER_TEMP", self.path("runner"))
            .env("XDG_STATE_HOME", self.path("runner"))
            .env("GITHUB_ENV", files.join("set_env"))
            .env("GITHUB_PATH", files.join("add_path"))
            .env("GITHUB_OUTPUT", files.join("set_output"))
            .env("GITHUB_STEP_SUMMARY", files.join("step_summary"))
            .env("ANTHROPIC_API_KEY", SECRET)
            .env("UPSHIFT_GUARD_OFF", off);
        let output = command.output().expect("the program starts");
        assert!(self.path("checkout/ran").exists(), "the attack was not even begun: {output:?}");
        output
    }
}

/// An attack by a script whose marker is the secret, brought home into the file `loot` of the checkout.
#[track_caller]
pub(super) fn steals(guards: &str, script: &str) {
    attack(guards, |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit"]);
        cell.read("checkout/loot").contains(SECRET)
    });
}

/// An attack by a script whose marker is the word `done` in the file `loot` of the checkout.
#[track_caller]
pub(super) fn succeeds(guards: &str, script: &str) {
    attack(guards, |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}

/// An attack by a script whose marker is the word `evil` in a file.
#[track_caller]
pub(super) fn plants(guards: &str, script: &str, file: &str) {
    attack(guards, |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit"]);
        cell.read(file).contains("evil")
    });
}

/// The guards that stand between a child and other processes, or a namespace of its own: where upshift runs as root, the
/// capabilities that the child has lost are one more.
pub(super) fn with_capabilities(guards: &str) -> String {
    if rustix::process::geteuid().is_root() && !is_given_away() {
        format!("{guards},rights")
    } else {
        guards.to_owned()
    }
}

/// Ends what a test left alive; whether there was any.
pub(super) fn end_those_named(token: &str) -> bool {
    let mut any = false;
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let pid =
            entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let named = std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(token));
        if let (Some(pid), true) = (pid, named) {
            any = true;
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or_default();
        }
    }
    any
}
