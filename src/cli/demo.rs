//! `upshift demo`: the whole loop on an embedded broken project with an embedded recorded model. No key, no network.

use std::path::Path;

use super::environment::Environment;
use super::{plan, run};
use crate::config::{Setting, Settings};

/// The project: a bill is split and cents get lost.
const PROJECT: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("demo/project/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("demo/project/src/lib.rs.txt")),
    ("tests/split.rs", include_str!("demo/project/tests/split.rs.txt")),
    (".gitignore", "/target\n/Cargo.lock\n/.upshift\n"),
    (CASSETTE, include_str!("demo/cassette.json")),
];
/// Where the recorded model's replies lie in the demo's folder.
const CASSETTE: &str = ".upshift/demo.json";
/// The demo's ladder: a small recorded model that gets it wrong twice, and a larger one that gets it right.
const TIERS: &str = include_str!("demo/tiers.json");
/// The demo's test command.
const TEST_COMMAND: &str = "cargo test --offline";

/// Unpacks the project, runs on it and says where it was left.
pub(super) fn run(environment: &Environment) -> anyhow::Result<u8> {
    let folder = tempfile::Builder::new().prefix("upshift-demo-").tempdir()?.keep();
    unpack(&folder)?;
    let environment = &environment.without_settings();
    super::say(&format!("A project with a bug was unpacked into {}\n", folder.display()));
    let settings = Settings::default()
        .with(Setting::Tiers, TIERS)
        .with(Setting::TestCommand, TEST_COMMAND)
        .with(Setting::AuditDb, ".upshift/audit.db");
    let resolved = plan::resolve_settings(settings, environment, folder.clone())?;
    let code = run::start(resolved, environment)?;
    let folder = folder.display();
    super::say(&format!(
        "\nThe models were recorded: no key was used and nothing was paid; the costs are what their tokens would have cost.\n  the fixed project   {folder}\n  the audit log       \
         {folder}/.upshift/audit.db\n  read it again       cd {folder} && upshift report --format md"
    ));
    Ok(code)
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
