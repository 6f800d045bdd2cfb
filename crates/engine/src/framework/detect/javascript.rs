//! JavaScript and TypeScript: `package.json`, its test script and the package manager, Deno, and plain Node.

use serde_json::Value;

use super::folder::Folder;
use super::found::{Detected, found};

/// Frameworks in the order of S0-42, by the package that brings them.
const FRAMEWORKS: [(&str, &str, &str); 8] = [
    ("vitest", "vitest", "vitest run"),
    ("jest", "jest", "jest"),
    ("mocha", "mocha", "mocha"),
    ("ava", "ava", "ava"),
    ("jasmine", "jasmine", "jasmine"),
    ("tap", "tap", "tap"),
    ("@playwright/test", "playwright", "playwright test"),
    ("karma", "karma", "karma start --single-run"),
];

/// How a package manager runs things.
struct Manager {
    test: &'static str,
    exec: &'static str,
    all: &'static str,
    why: String,
}

/// `package.json`.
pub(super) fn package_json(folder: &Folder) -> Option<Detected> {
    let text = folder.read("package.json")?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let manager = manager(folder, &package);
    let script = package.pointer("/scripts/test").and_then(Value::as_str).filter(|script| !is_placeholder(script));
    let dependency = FRAMEWORKS.iter().find_map(|(name, framework, run)| {
        let kind = ["devDependencies", "dependencies", "peerDependencies"]
            .into_iter()
            .find(|kind| package.get(kind).is_some_and(|all| all.get(name).is_some()))?;
        Some((*name, *framework, *run, kind))
    });
    if script.is_none()
        && let Some(detected) = monorepo_tool(folder, &manager, dependency.map(|(_, framework, ..)| framework))
    {
        return Some(detected);
    }
    if let Some(script) = script {
        let from_script = framework_of(script);
        // What the script starts is right about itself, whatever else is a dependency.
        let framework = from_script.or(dependency.map(|(_, framework, ..)| framework)).unwrap_or("generic");
        let by = dependency.map_or_else(String::new, |(name, _, _, kind)| format!(" and {name} in {kind}"));
        let (end, ended) = end_of_watching(script, framework);
        // npm keeps options for itself that do not stand behind `--`. The others hand them on.
        let dashes = if end.is_empty() || manager.test != "npm test" { "" } else { " --" };
        return found(
            &format!("{}{dashes}{end}", manager.test),
            framework,
            format!("package.json has the test script `{script}`{by}{}{ended}", manager.why),
        );
    }
    if let Some((name, framework, run, kind)) = dependency {
        return found(
            &format!("{} {run}", manager.exec),
            framework,
            format!("package.json has {name} in {kind} and no test script{}", manager.why),
        );
    }
    let stray =
        [("vitest.config.", "vitest", "vitest run"), ("jest.config.", "jest", "jest"), (".mocharc.", "mocha", "mocha")];
    for (start, framework, run) in stray {
        if let Some(name) = folder.file_where(|name| name.starts_with(start)) {
            return found(&format!("{} {run}", manager.exec), framework, format!("{name} is there{}", manager.why));
        }
    }
    let is_workspace = package.get("workspaces").is_some() || folder.has("pnpm-workspace.yaml");
    if is_workspace {
        return found(
            manager.all,
            "generic",
            format!("package.json has workspaces and no test script of its own{}", manager.why),
        );
    }
    None
}

/// Runners of a monorepo's tasks, told by their file, where the root has no test script of its own.
fn monorepo_tool(folder: &Folder, manager: &Manager, framework: Option<&str>) -> Option<Detected> {
    const TOOLS: [(&str, &str); 3] =
        [("nx.json", "nx run-many -t test"), ("turbo.json", "turbo run test"), ("lerna.json", "lerna run test")];
    let (file, run) = TOOLS.iter().find(|(file, _)| folder.has(file))?;
    let why = format!("{file} is there and package.json has no test script{}", manager.why);
    found(&format!("{} {run}", manager.exec), framework.unwrap_or("generic"), why)
}

/// The option that makes a script which watches for changes end after one run, and the words that say so.
fn end_of_watching(script: &str, framework: &str) -> (&'static str, &'static str) {
    // What is added reaches the script's last command alone.
    let last = script.rsplit(['&', ';', '|']).next().unwrap_or(script);
    // To jest, `-w` is a number of workers and `watch` a part of a path.
    let asks: &[&str] = match framework {
        "jest" => &["--watch", "--watchAll"],
        "vitest" => &["--watch", "-w", "watch", "dev"],
        "mocha" => &["--watch", "-w"],
        _ => &["--watch"],
    };
    let watches = last.split_whitespace().any(|word| asks.contains(&word));
    let said = "; it watches for changes, which is switched off";
    match framework {
        // Both options, as either of them may stand in the script.
        "jest" if watches => (" --watch=false --watchAll=false", said),
        "vitest" if watches => (" --run", said),
        "mocha" if watches => (" --no-watch", said),
        _ if watches => ("", "; it watches for changes and may never end: give a command that does"),
        _ => ("", ""),
    }
}

/// npm writes this into every new package.
fn is_placeholder(script: &str) -> bool {
    script.trim().is_empty() || script.contains("no test specified")
}

fn framework_of(script: &str) -> Option<&'static str> {
    const MARKS: [(&str, &str); 11] = [
        ("vitest", "vitest"),
        ("jest", "jest"),
        ("react-scripts test", "jest"),
        ("mocha", "mocha"),
        ("node --test", "node-test"),
        ("bun test", "bun-test"),
        ("playwright test", "playwright"),
        ("deno test", "deno-test"),
        ("ava", "ava"),
        ("jasmine", "jasmine"),
        ("karma start", "karma"),
    ];
    // Whole words: `ava` is a part of `java`, and a hyphen joins `jest-junit` to another program.
    let words: Vec<&str> = script.split(|one: char| !one.is_alphanumeric() && one != '-').collect();
    MARKS
        .iter()
        .find(|(mark, _)| if mark.contains(' ') { script.contains(mark) } else { words.contains(mark) })
        .map(|(_, name)| *name)
}

fn manager(folder: &Folder, package: &Value) -> Manager {
    let declared = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let by = |lock: &[&'static str], name: &str| -> Option<String> {
        if declared.starts_with(&format!("{name}@")) {
            return Some(format!("; packageManager is {name}"));
        }
        // A declared manager outweighs every lock file: an old one may have been left behind.
        if !declared.is_empty() {
            return None;
        }
        folder.has_any(lock).map(|file| format!("; {file} is there"))
    };
    if let Some(why) = by(&["pnpm-lock.yaml", "pnpm-workspace.yaml"], "pnpm") {
        return Manager { test: "pnpm test", exec: "pnpm exec", all: "pnpm -r test", why };
    }
    if let Some(why) = by(&["yarn.lock"], "yarn") {
        // Yarn 1 knows `workspaces run`; its successors have a file of settings or are declared.
        let is_classic = !folder.has(".yarnrc.yml") && (declared.is_empty() || declared.starts_with("yarn@1."));
        let all = if is_classic { "yarn workspaces run test" } else { "yarn workspaces foreach --all run test" };
        return Manager { test: "yarn test", exec: "yarn", all, why };
    }
    if let Some(why) = by(&["bun.lock", "bun.lockb"], "bun") {
        // Not `bun test`, which is Bun's own runner and passes the script over.
        return Manager { test: "bun run test", exec: "bunx", all: "bun run --filter '*' test", why };
    }
    Manager { test: "npm test", exec: "npx", all: "npm test --workspaces --if-present", why: String::new() }
}

/// Deno.
pub(super) fn deno(folder: &Folder) -> Option<Detected> {
    let file = folder.has_any(&["deno.json", "deno.jsonc"])?;
    let has_task = folder.read(file).is_some_and(|text| {
        serde_json::from_str::<Value>(&text).is_ok_and(|value| value.pointer("/tasks/test").is_some())
    });
    if has_task {
        return found("deno task test", "deno-test", format!("{file} has the task `test`"));
    }
    found("deno test", "deno-test", format!("{file} is there"))
}

/// Test files beside a `package.json` without script or framework, or without any `package.json`.
pub(super) fn without_script(folder: &Folder) -> Option<Detected> {
    let is_test = |name: &str| {
        let stem = [".js", ".mjs", ".cjs", ".ts", ".mts"].iter().find_map(|end| name.strip_suffix(end));
        stem.is_some_and(|stem| {
            [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
                || stem == "test"
                || stem.starts_with("test-")
        })
    };
    // Before the test files are looked for: their names are the same for Bun and Node.
    if let Some(lock) = folder.has_any(&["bun.lock", "bun.lockb", "bunfig.toml"]) {
        return found("bun test", "bun-test", format!("{lock} is there and package.json has no test script"));
    }
    let own = folder.file_where(is_test).map(str::to_owned);
    let below = ["test", "tests", "src"].iter().find_map(|sub| {
        let name = folder.sub(sub)?.file_where(is_test)?.to_owned();
        Some(format!("{sub}/{name}"))
    });
    let file = own.or(below)?;
    found("node --test", "node-test", format!("{file} is there and no framework is named"))
}
