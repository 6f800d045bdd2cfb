//! The README says what is there: its tables are those of the code.

use std::path::Path;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README.md")
}

/// The table of configuration keys as the README prints it.
fn table() -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let rows = upshift::config::reference().into_iter().filter(|entry| !entry.default.is_empty()).map(|entry| {
        let (key, kind) = (cell(&entry.key), cell(&entry.kind));
        format!("| `{key}` | {kind} | {} | {} |\n", cell(entry.default), cell(entry.meaning))
    });
    format!("| key | type | default | meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_readme_prints_every_configuration_key() {
    let table = table();
    assert!(readme().contains(&table), "README.md must hold this table:\n{table}");
}

#[test]
fn the_readme_names_every_exit_code() {
    use upshift::domain::outcome as codes;
    let readme = readme();
    for code in [
        codes::EXIT_SUCCESS,
        codes::EXIT_NOT_FIXED,
        codes::EXIT_USAGE,
        codes::EXIT_BUDGET,
        codes::EXIT_PARKED,
        codes::EXIT_NO_MODEL,
        codes::EXIT_REFUSED,
        codes::EXIT_BROKEN,
        codes::EXIT_INTERNAL,
    ] {
        assert!(readme.contains(&format!("\n| {code} | ")), "{code}");
    }
}

#[test]
fn the_readmes_two_commands_are_the_ones_that_ci_runs() {
    let ci = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).expect(".ci/run");
    let readme = readme();
    assert!(readme.contains("\ncargo run -- demo\n") && readme.contains("\ncargo test\n"));
    assert!(ci.contains("(the command of the README)' cargo test\n"));
}

#[test]
fn the_readmes_workflows_are_those_that_init_writes() {
    for workflow in [upshift::cli::init::WORKFLOW, upshift::cli::init::JUDGE] {
        assert!(readme().contains(&format!("\n```yaml\n{workflow}```\n")));
    }
}
