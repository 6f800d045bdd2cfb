//! `init` in a repository that has CI: what it takes over, and that the doctor finds nothing in what it writes.

use std::fs;

use serde_json::{Value, json};
use upshift::cli::init::{JUDGE_PATH, WORKFLOW_PATH};

use crate::world::program::{Program, Said};
use crate::world::project::Project;

const SHA: &str = "08c6903cd8c0fde910a37f88322edcfb5dd907a8";
const CI: &str = "name: 'Build: all'
on: {push: {branches: [main]}, pull_request: {}}
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: {matrix: {python: ['3.12', '3.13']}}
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {python-version: '${{ matrix.python }}', cache: pip}
      - run: pip install -r requirements.txt
      - run: sudo apt-get install -y jq
      - run: python -m unittest
";

fn told(project: &Project, args: &[&str]) -> Said {
    Program::new().with("ANTHROPIC_API_KEY", "k").with("UPSHIFT_TIERS", "claude-haiku-4-5 x2").run(project.path(), args)
}

fn read(project: &Project, path: &str) -> Value {
    let text = fs::read_to_string(project.path().join(path)).expect("written");
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn with_ci() -> Project {
    let project = Project::python();
    project.write(".github/workflows/ci.yml", CI);
    project.write(
        ".github/workflows/lint.yml",
        "name: Lint's\non: pull_request\njobs: {l: {steps: [{run: make lint}]}}\n",
    );
    project
}

#[test]
fn init_follows_the_ci_that_is_there_and_takes_its_tools_and_installation() {
    let project = with_ci();
    let said = told(&project, &["init", "--action", &format!("acme/upshift@{SHA}")]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("It starts after red CI: `Build: all`."), "{}", said.out);
    let again = format!("`upshift init --schedule --action acme/upshift@{SHA} --force`");
    assert!(said.out.contains(&again), "the flags that were given: {}", said.out);
    let taken = "taken over from ci.yml: `actions/setup-python@v6`, `setup-command: pip install -r requirements.txt`. \
                 Of ci.yml this was not taken over, which the tests may need: the step `sudo apt-get install -y jq`.";
    assert!(said.out.contains(taken) && !said.out.contains("YOUR-ACCOUNT"), "{}", said.out);

    let workflow = read(&project, WORKFLOW_PATH);
    assert_eq!(workflow["on"]["workflow_run"]["workflows"], json!(["Build: all", "Lint's", "upshift-review"]));
    let condition = workflow["jobs"]["fix"]["if"].as_str().expect("a condition");
    let of_tests = "contains(fromJSON('[\"Build: all\"]'), github.event.workflow_run.name) ||";
    assert!(condition.contains(of_tests), "red lint starts nothing: {condition}");
    let [gate, checkout, python, upshift] = workflow["jobs"]["fix"]["steps"].as_array().expect("steps").as_slice()
    else {
        panic!("{workflow}")
    };
    assert_eq!((&gate["uses"], &upshift["uses"]), (&json!(format!("acme/upshift@{SHA}")), &gate["uses"]));
    let setup = json!({
        "if": checkout["if"], "uses": "actions/setup-python@v6", "with": {"python-version": "3.13"}
    });
    assert_eq!(*python, setup, "the newest of the matrix, and no cache");
    assert_eq!(upshift["with"]["setup-command"], "pip install -r requirements.txt");
    let text = fs::read_to_string(project.path().join(WORKFLOW_PATH)).unwrap();
    assert!(!text.contains("unpinned-uses") && !text.contains("YOUR-ACCOUNT"), "{text}");

    let said = told(&project, &["init", "--judge", "--action", &format!("acme/upshift@{SHA}")]);
    assert_eq!(said.code, 0, "{}", said.all());
    let judge = read(&project, JUDGE_PATH);
    assert_eq!(judge["jobs"]["judge"]["steps"][1], json!({"uses": setup["uses"], "with": setup["with"]}));
    assert_eq!(judge["jobs"]["judge"]["steps"][2]["with"]["setup-command"], "pip install -r requirements.txt");

    let doctor = told(&project, &["doctor"]);
    let problems: Vec<&str> = doctor
        .out
        .lines()
        .filter(|line| line.starts_with('✖') && [" workflow: ", " triggers: "].iter().any(|about| line.contains(about)))
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(doctor.out.contains("✔ workflow: upshift.yml: the gate comes first"), "{}", doctor.out);
}

#[test]
fn init_says_what_it_could_not_fill_in() {
    let project = Project::python();
    let said = told(&project, &["init"]);
    let line = "replace YOUR-ACCOUNT with the GitHub account that the action is in";
    assert!(said.out.contains(line) && said.out.contains("Replace CI with the `name:`"), "{}", said.out);
    let said = told(&project, &["init", "--force", "--action", "acme/upshift@main"]);
    assert!(said.out.contains("In .github/workflows/upshift.yml, replace CI with the `name:`"), "{}", said.out);
    let text = fs::read_to_string(project.path().join(WORKFLOW_PATH)).unwrap();
    assert!(text.contains("\n# Replace `CI` with the `name:`"), "{text}");
    assert!(text.contains("acme/upshift@main # zizmor: ignore[unpinned-uses]"), "what may move is excused: {text}");
    let wrong = told(&project, &["init", "--force", "--action", "acme/upshift"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("write OWNER/REPOSITORY@REF"), "{}", wrong.err);
}

#[test]
fn a_cache_in_the_job_of_upshift_is_a_problem_with_its_remedy() {
    let project = with_ci();
    told(&project, &["init", "--action", &format!("acme/upshift@{SHA}")]);
    let path = project.path().join(WORKFLOW_PATH);
    let text = fs::read_to_string(&path).unwrap();
    let cached = text.replace("python-version: \"3.13\"\n", "python-version: \"3.13\"\n          cache: pip\n");
    assert_ne!(cached, text);
    fs::write(&path, cached).unwrap();
    let said = told(&project, &["doctor"]);
    let line = said.out.lines().find(|line| line.contains("keeps a cache")).unwrap_or_else(|| panic!("{}", said.out));
    assert!(line.starts_with("✖ workflow: upshift.yml: the step `actions/setup-python@v6` keeps a cache"), "{line}");
    assert!(line.ends_with("→ Fix: take `cache` out of its `with`"), "{line}");
}
