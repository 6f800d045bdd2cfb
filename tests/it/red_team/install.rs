//! Takes over the action's first step: what the head of a pull request, or an earlier step, steers while upshift is installed.
//!
//! The marker is the key in a file outside. Without the guard the step is as it was before there was one: `bash` by the job's PATH and
//! environment, cargo in the checkout.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::ledger;

const KEY: &str = "canary-5f1c9e07b3a24d68";
/// The step without the guard.
const UNGUARDED: &str = r#"set -e
if [ -n "${UPSHIFT_BIN:-}" ]; then exec "$UPSHIFT_BIN" --version; fi
CARGO_TARGET_DIR="$RUNNER_TEMP/build" cargo build --release --locked --manifest-path "$ACTION/Cargo.toml"
"$RUNNER_TEMP/build/release/upshift" --version
"#;

/// A runner with a checkout of a hostile head, and the action beside it.
struct Site {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    inputs: Vec<(String, String)>,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("red-team-").tempdir().expect("a folder");
        let site = Self { folder, environment: Vec::new(), inputs: Vec::new() };
        for name in ["checkout", "runner", "action/action"] {
            fs::create_dir_all(site.path(name)).expect("folders");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::copy(root.join("action/install.sh"), site.path("action/action/install.sh")).expect("copied");
        // No released binary, so that it is built; a small program stands for upshift's source.
        site.write("action/action/checksums.txt", "");
        site.write("action/Cargo.toml", "[package]\nname = \"upshift\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
        site.write("action/Cargo.lock", "version = 4\n\n[[package]]\nname = \"upshift\"\nversion = \"0.0.0\"\n");
        site.write("action/src/main.rs", "fn main() { println!(\"upshift 0.0.0\"); }\n");
        // Notes the key and goes on as the program it stands for.
        site.program("evil", "case \"$1\" in *rustc) shift;; esac\nexec rustc \"$@\"");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn program(&self, name: &str, rest: &str) {
        let loot = self.path("loot").display().to_string();
        self.write(name, &format!("#!/bin/sh\necho \"key: $ANTHROPIC_API_KEY\" >> '{loot}'\n{rest}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// As an earlier step does it by GITHUB_ENV; PATH by GITHUB_PATH.
    fn with(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The step as the runner starts it.
    fn install(&self, guarded: bool) -> Output {
        let path = std::env::var("PATH").expect("PATH");
        let earlier =
            self.environment.iter().filter(|(name, _)| name == "PATH").map(|(_, folder)| folder.clone() + ":");
        let path = earlier.collect::<String>() + &path;
        let mut command = if guarded { self.guarded() } else { Command::new(found("bash", &path)) };
        if !guarded {
            command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", UNGUARDED]);
        }
        // The tests' own cargo pins its toolchain, which a job's does not.
        command.env_remove("RUSTUP_TOOLCHAIN");
        let told = command.get_envs().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        for (name, value) in self.environment.iter().filter(|(name, _)| name != "PATH") {
            if !told.iter().any(|told| told == name.as_str()) {
                command.env(name, value);
            }
        }
        let home = std::env::var("HOME").expect("HOME");
        command.env("PATH", &path).env("HOME", home).env("ANTHROPIC_API_KEY", KEY).env("ACTION", self.path("action"));
        for name in ["RUSTUP_HOME"] {
            if let Ok(value) = std::env::var(name) {
                command.env(name, value);
            }
        }
        command.env("RUNNER_TEMP", self.path("runner")).env("GITHUB_OUTPUT", self.path("output"));
        command.env("GITHUB_ACTION_PATH", self.path("action")).current_dir(self.path("checkout"));
        command.output().expect("a shell")
    }

    /// Shell, environment and script of the step, as `action.yml` has them.
    fn guarded(&self) -> Command {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).expect("action.yml");
        let action: serde_yaml::Value = serde_yaml::from_str(&text).expect("YAML");
        let step = &action["runs"]["steps"][0];
        let shell = step["shell"].as_str().expect("a shell");
        let (program, arguments) = shell.split_once(" }} ").expect("an expression, and arguments");
        let program = program.rsplit('\'').nth(1).expect("the shell of Linux");
        self.write("script.sh", step["run"].as_str().expect("a script"));
        let mut command = Command::new(program);
        command.env_clear();
        let script = self.path("script.sh").display().to_string();
        command.args(arguments.split(' ').map(|argument| argument.replace("{0}", &script)));
        for (name, value) in step["env"].as_mapping().expect("an environment") {
            let value = value.as_str().expect("text");
            let input = value.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}"));
            let given = self.inputs.iter().find(|(name, _)| Some(name.as_str()) == input);
            let value =
                if input.is_some() { given.map(|(_, value)| value.as_str()).unwrap_or_default() } else { value };
            command.env(name.as_str().expect("a name"), value);
        }
        command
    }

    fn has_key(&self) -> bool {
        fs::read_to_string(self.path("loot")).is_ok_and(|loot| loot.contains(KEY))
    }
}

/// What a runner without an absolute path finds.
fn found(program: &str, path: &str) -> PathBuf {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file()).expect("found")
}

/// Without the guard the key is there; with it, it is not, and upshift is installed all the same.
fn attack(guard: &str, prepare: impl Fn(&mut Site)) {
    let mut site = Site::new();
    prepare(&mut site);
    let done = site.install(false);
    assert!(site.has_key(), "the attack proves nothing: {}", String::from_utf8_lossy(&done.stderr));
    let mut site = Site::new();
    prepare(&mut site);
    let done = site.install(true);
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(!site.path("loot").exists(), "{said}");
    assert!(done.status.success() && said.contains("upshift 0.0.0"), "{said}");
    assert!(fs::read_to_string(site.path("output")).expect("outputs").contains("sha256="), "{said}");
    ledger::note("", guard, "-");
}

/// The head's own configuration of cargo.
fn configured(config: &str) {
    attack("private folder", |site| {
        let evil = site.path("evil").display().to_string();
        site.write("checkout/.cargo/config.toml", &config.replace("EVIL", &evil));
        // A linker is called otherwise than a compiler.
        if config.contains("linker") {
            site.program("evil", "exec cc \"$@\"");
        }
    });
}

#[test]
fn the_heads_configuration_of_cargo_names_no_compiler() {
    configured("[build]\nrustc-wrapper = \"EVIL\"\n");
    configured("[build]\nrustc = \"EVIL\"\n");
}

#[test]
fn the_heads_configuration_of_cargo_names_no_linker() {
    configured("[target.'cfg(all())']\nlinker = \"EVIL\"\n");
}

#[test]
fn the_head_chooses_no_toolchain() {
    attack("private folder", |site| {
        site.program("checkout/chain/bin/cargo", "exit 1");
        site.program("checkout/chain/bin/rustc", "exit 1");
        site.write("checkout/chain/lib/empty", "");
        let chain = site.path("checkout/chain").display().to_string();
        site.write("checkout/rust-toolchain.toml", &format!("[toolchain]\npath = \"{chain}\"\n"));
    });
}

#[test]
fn no_variable_of_an_earlier_step_steers_the_build() {
    for name in ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC", "RUSTC_WORKSPACE_WRAPPER"] {
        attack("clean environment", |site| {
            let evil = site.path("evil").display().to_string();
            site.with(name, &evil);
        });
    }
}

#[test]
fn no_folder_above_the_runners_steers_the_build() {
    // Where the runner's temporary folder lies below somebody's settings, another place is taken. Without the guard it is the checkout
    // below them.
    attack("search for a folder", |site| {
        let evil = site.path("evil").display().to_string();
        site.write(".cargo/config.toml", &format!("[build]\nrustc-wrapper = \"{evil}\"\n"));
    });
}

#[test]
fn the_environment_names_no_binary() {
    attack("inputs", |site| {
        let evil = site.path("evil").display().to_string();
        site.with("UPSHIFT_BIN", &evil);
    });
}

#[test]
fn a_program_that_was_swapped_after_the_gate_is_not_started() {
    let mut site = Site::new();
    let evil = site.path("evil").display().to_string();
    site.with("UPSHIFT_BIN", &evil);
    site.install(false);
    assert!(site.has_key(), "the attack proves nothing");
    let mut site = Site::new();
    let evil = site.path("evil").display().to_string();
    site.inputs = vec![("binary".to_owned(), evil), ("sha256".to_owned(), "0".repeat(64))];
    let done = site.install(true);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(!done.status.success() && said.contains("It was not started"), "{said}");
    assert!(!site.path("loot").exists() && !site.path("output").exists(), "{said}");
    ledger::note("", "digest", "-");
}

#[test]
fn the_environment_names_no_file_that_the_shell_reads() {
    attack("emptied variables", |site| {
        site.program("start.sh", "");
        let start = site.path("start.sh").display().to_string();
        site.with("BASH_ENV", &start);
    });
}

#[test]
fn the_environment_brings_no_functions() {
    attack("privileged shell", |site| {
        let loot = site.path("loot").display().to_string();
        let function = format!("() {{ echo \"key: $ANTHROPIC_API_KEY\" >> '{loot}'; command cargo \"$@\"; }}");
        site.with("BASH_FUNC_cargo%%", &function);
        site.with("BASH_FUNC_exec%%", &function.replace("command cargo", "builtin exec"));
    });
}

#[test]
fn a_bash_early_on_the_path_is_not_started() {
    attack("absolute shell", |site| {
        for name in ["bash", "sh", "env", "mktemp", "tar"] {
            site.program(&format!("early/{name}"), &format!("exec /bin/{name} \"$@\""));
        }
        let early = site.path("early").display().to_string();
        site.with("PATH", &early);
    });
}
