//! `upshift demo`: the whole loop on an embedded broken project with an embedded recorded model. No key, no network, no toolchain.

use std::path::{Path, PathBuf};

use super::console::Stream;
use super::environment::Environment;
use super::form::RunForm;
use super::left_behind::Discard;
use super::{plan, run};
use crate::config::{Setting, Settings};
use crate::domain::shell::quote_path;
use crate::report::wrap::wrap;

/// The project: a bill is split and cents get lost. Its tests need a shell and awk, which every system with git has.
const PROJECT: [(&str, &str); 4] = [
    ("split.awk", include_str!("demo/project/split.awk")),
    ("tests/split.sh", include_str!("demo/project/tests/split.sh")),
    (".gitignore", "/.upshift\n"),
    (CASSETTE, include_str!("demo/cassette.json")),
];
/// Where the recorded model's replies lie in the demo's folder.
const CASSETTE: &str = ".upshift/demo.json";
/// The audit log in the demo's folder.
const LOG: &str = ".upshift/audit.db";
/// The demo's ladder: a small recorded model that gets it wrong twice, and a larger one that gets it right.
const TIERS: &str = include_str!("demo/tiers.json");
/// The demo's test command.
const TEST_COMMAND: &str = "sh tests/split.sh";
/// Set by cargo for a program that it runs.
const RUN_BY_CARGO: &str = "CARGO";

/// Unpacks the project, runs on it and says where it was left.
pub(super) fn run(form: RunForm, environment: &Environment) -> anyhow::Result<u8> {
    // The folder stays: the closing words name commands that read it.
    let folder = tempfile::Builder::new().prefix("upshift-demo-").tempdir()?.keep();
    unpack(&folder)?;
    // The user's own environment tells how they started us. The demo's own has lost these variables.
    let again = invocation(environment);
    // A configured ladder or key would make the demo a run that costs money.
    let environment = &environment.without_settings();
    let console = environment.console();
    let say = |message: &str| {
        if !console.is_quiet() {
            super::say(&wrap(message, console.columns(Stream::Err)));
        }
    };
    say(&format!(
        "A small project with a bug was unpacked into {}: split.awk splits a bill, and loses cents.\nTwo models were recorded while they fixed it. They answer from the recording; the tests really run.\n",
        folder.display()
    ));
    let settings = Settings::default()
        .with(Setting::Tiers, TIERS)
        .with(Setting::TestCommand, TEST_COMMAND)
        .with(Setting::AuditDb, LOG)
        .with(Setting::Format, form.format().as_str());
    let resolved = plan::resolve_settings(settings, environment, folder.clone())?;
    let code = run::start(resolved, Discard::No, environment)?;
    say(&closing(&folder, &again, &onward(&again, environment)));
    Ok(code)
}

/// How this program was started, to be started so again from where the user stands.
fn invocation(environment: &Environment) -> String {
    if environment.get(RUN_BY_CARGO).is_some() {
        return "cargo run --quiet --".to_owned();
    }
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("upshift"));
    let on_path = environment.get("PATH").is_some_and(|path| {
        let same = |folder: PathBuf| {
            // A link in the path is the same program. Another of the same name is not.
            let found = crate::files::real_place(&folder.join("upshift"));
            found.is_ok_and(|found| crate::files::real_place(&program).is_ok_and(|own| own == found))
        };
        std::env::split_paths(path).any(same)
    });
    // A target folder with a blank in it would be two words in a shell.
    if on_path { "upshift".to_owned() } else { quote_path(&program.display().to_string()) }
}

/// How a person goes on. What cargo runs, it runs in its own project only.
fn onward(program: &str, environment: &Environment) -> String {
    let (install, program) = match environment.get(RUN_BY_CARGO) {
        Some(_) => ("cargo install --locked --path . here, then there: ", "upshift"),
        None => ("", program),
    };
    format!(
        "On a project of yours, with a model's key in the environment: {install}{program} check, then {program} run"
    )
}

fn closing(folder: &Path, program: &str, onward: &str) -> String {
    let project = quote_path(&folder.display().to_string());
    let log = quote_path(&folder.join(LOG).display().to_string());
    format!(
        "\nNo key was used and nothing was paid; the costs are what the recorded tokens would have cost.\n\
         \n  See the tests pass:    (cd {project} && {TEST_COMMAND})\
         \n  Read the report again: {program} report --audit-db {log}\
         \n  As a pull request's comment: {program} report --audit-db {log} --format md\
         \n  Remove the project:    rm -r {project}\
         \n\n{onward}"
    )
}

fn unpack(folder: &Path) -> std::io::Result<()> {
    for (name, text) in PROJECT {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
