//! The README and `docs/` say what is there: tables, workflows, command lines and links are held against the code.

mod commands;
mod frameworks;
mod links;
mod log;
mod markdown;
mod providers;
mod samples;
mod troubleshooting;
mod verdict;

use serde_yaml::Value;

use markdown::{page, pages};

/// The table of configuration keys as the reference prints it.
fn table() -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let rows = upshift::config::reference().into_iter().filter(|entry| !entry.default.is_empty()).map(|entry| {
        let (key, kind) = (cell(&entry.key), cell(&entry.kind));
        format!("| `{key}` | {kind} | {} | {} |\n", cell(entry.default), cell(entry.meaning))
    });
    format!("| key | type | default | meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_reference_prints_every_configuration_key() {
    let table = table();
    assert!(page("docs/configuration.md").contains(&table), "docs/configuration.md must hold this table:\n{table}");
}

#[test]
fn every_exit_code_is_explained() {
    use upshift::domain::outcome as codes;
    let troubleshooting = page("docs/troubleshooting.md");
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
        assert!(troubleshooting.contains(&format!("\n| {code} | ")), "{code}");
    }
}

#[test]
fn the_readmes_two_commands_are_the_ones_that_ci_runs() {
    let ci = page(".ci/run");
    let readme = page("README.md");
    assert!(readme.contains("\ncargo run -- demo\n") && readme.contains("\ncargo test\n"));
    assert!(ci.contains("(the command of the README)' cargo test\n"));
}

#[test]
fn the_page_about_the_laptop_prints_the_report_of_the_recorded_example() {
    let report = page("examples/recorded/report.txt");
    assert!(page("docs/laptop.md").contains(&format!("\n```text\n{}\n```\n", report.trim_end())), "{report}");
}

#[test]
fn the_printed_workflows_are_those_that_init_writes() {
    for (name, workflow) in
        [("docs/action.md", upshift::cli::init::WORKFLOW), ("docs/judge.md", upshift::cli::init::JUDGE)]
    {
        assert!(page(name).contains(&format!("\n```yaml\n{workflow}```\n")), "{name}");
    }
}

#[test]
fn every_page_of_the_folder_is_checked() {
    let names: Vec<_> = pages().into_iter().map(|page| page.name).collect();
    for name in ["README.md", "docs/action.md", ".github/SECURITY.md"] {
        assert!(names.iter().any(|found| found == name), "{name} in {names:?}");
    }
}

/// The most that a stranger should have to read first, in bytes.
const README_BYTES: usize = 6_000;

#[test]
fn the_readme_is_short_and_its_workflow_is_a_part_of_the_one_that_init_writes() {
    let all = pages();
    let readme = all.iter().find(|page| page.name == "README.md").expect("the README");
    assert!(readme.text.len() <= README_BYTES, "{} bytes", readme.text.len());
    let workflows = readme.fences().into_iter().filter(|fence| fence.language == "yaml");
    let short =
        workflows.map(|fence| serde_yaml::from_str::<Value>(&fence.text).expect("YAML")).next().expect("a workflow");
    let whole: Value = serde_yaml::from_str(upshift::cli::init::WORKFLOW).expect("YAML");
    assert_eq!(short["permissions"], whole["permissions"]);
    let followed = |workflow: &Value| workflow["on"]["workflow_run"].clone();
    assert_eq!(followed(&short)["types"], followed(&whole)["types"]);
    assert_eq!(followed(&short)["workflows"][0], followed(&whole)["workflows"][0], "reviews are for the longer one");
    assert_eq!(short["on"].as_mapping().map(serde_yaml::Mapping::len), Some(1));
    let (short, whole) = (&short["jobs"]["fix"], &whole["jobs"]["fix"]);
    for key in ["runs-on", "timeout-minutes", "permissions", "steps"] {
        assert_eq!(short[key], whole[key], "{key}");
    }
    assert_eq!(short["concurrency"]["cancel-in-progress"], whole["concurrency"]["cancel-in-progress"]);
    let condition =
        |job: &Value| job["if"].as_str().expect("a condition").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(condition(whole).contains(&condition(short)), "{}", condition(short));
}

#[test]
fn no_sentence_of_the_pages_begins_with_a_word_that_hides_its_subject() {
    for page in pages().iter().filter(|page| page.name == "README.md" || page.name.starts_with("docs/")) {
        let prose = page.prose();
        let lines = prose.lines().map(|line| line.trim_start_matches(['-', ' ']));
        // Tables hold phrases, headings titles.
        let text: String = lines.filter(|line| !line.starts_with(['|', '#'])).map(|line| format!("{line} ")).collect();
        for word in ["What", "Those", "Who"] {
            let found = [". ", "! ", "? "].into_iter().find_map(|end| text.split_once(&format!("{end}{word} ")));
            let rest = found.map(|(_, rest)| rest.chars().take(60).collect::<String>());
            assert_eq!(rest, None, "{}: a sentence begins with {word}", page.name);
        }
    }
}

#[test]
fn the_page_on_architecture_has_the_layers_of_the_program() {
    let top = page("src/lib.rs");
    let layers =
        top.lines().skip_while(|line| !line.starts_with("//! testlog <")).take_while(|line| *line != "//! ```");
    let layers: String = layers.map(|line| format!("{}\n", line.trim_start_matches("//! ").trim_start())).collect();
    assert!(layers.lines().count() >= 3, "{layers}");
    let printed = page("docs/architecture.md");
    let printed: String = printed.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert!(printed.contains(&layers), "{layers}");
}
