//! The input `agents`: the step as the runner starts it, in a hostile checkout, with real npm where that is asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use upshift::backend::Backend;

use super::{action, file};

/// A runner with a checkout that would lead npm elsewhere.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Self { folder: tempfile::Builder::new().prefix("agents-").tempdir().expect("a folder") };
        for name in ["checkout", "runner", "tools", "home"] {
            std::fs::create_dir(site.path(name)).expect("a folder");
        }
        for name in ["checkout/.npmrc", "home/.npmrc"] {
            std::fs::write(site.path(name), "registry=http://127.0.0.1:9/\nignore-scripts=false\n").expect("written");
        }
        std::fs::write(
            site.path("checkout/package.json"),
            r#"{"name":"evil","scripts":{"preinstall":"touch ../owned"}}"#,
        )
        .expect("written");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The step of the gate that installs them, with its shell and its environment.
    fn install(&self, agents: &str) -> Output {
        let action = action();
        let steps = action["runs"]["steps"].as_sequence().expect("steps").clone();
        let step = steps.iter().find(|step| step["name"].as_str() == Some("Install agents")).expect("the step");
        let (program, arguments) = step["shell"].as_str().and_then(|shell| shell.split_once(" }} ")).expect("a shell");
        let script = self.path("script.sh");
        std::fs::write(&script, step["run"].as_str().expect("a script")).expect("written");
        let mut command = Command::new(program.rsplit('\'').nth(1).expect("the shell of Linux"));
        command.args(arguments.split(' ').map(|word| word.replace("{0}", script.to_str().expect("text"))));
        command.env_clear().env("PATH", std::env::var_os("PATH").expect("PATH"));
        for (name, value) in step["env"].as_mapping().expect("an environment") {
            let value = value.as_str().expect("text").replace("${{ inputs.agents }}", agents);
            command.env(name.as_str().expect("a name"), value);
        }
        let known = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];
        command.envs(known.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        // What an earlier step may have left.
        command.env("NODE_OPTIONS", "--require=./evil.js").env("npm_config_registry", "http://127.0.0.1:9/");
        command.env("HOME", self.path("home")).env("RUNNER_TEMP", self.path("runner"));
        command.env("RUNNER_TOOL_CACHE", self.path("tools")).env("GITHUB_WORKSPACE", self.path("checkout"));
        command.env("GITHUB_PATH", self.path("added-to-path")).env("GITHUB_OUTPUT", self.path("output"));
        command.env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR")).env("ANTHROPIC_API_KEY", "sk-canary");
        command.current_dir(self.path("checkout")).output().expect("a shell")
    }

    /// The folder that later steps find on their `PATH`.
    fn added(&self) -> PathBuf {
        PathBuf::from(std::fs::read_to_string(self.path("added-to-path")).expect("a path").trim())
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_agent_has_its_package_in_the_script() {
    let script = file("action/agents.sh");
    for backend in Backend::ALL {
        let line = format!("    {}) echo {} ;;\n", backend.as_str(), backend.agent().package);
        assert!(script.contains(&line), "{line}");
    }
}

#[test]
fn anything_but_exact_versions_of_known_agents_is_refused_before_anything_is_fetched() {
    for (agents, why) in [
        ("claude", "needs an exact version"),
        ("claude@latest", "needs an exact version"),
        ("claude@^2.1.0", "needs an exact version"),
        ("codex@1.2", "needs an exact version"),
        ("claude@2.1.330 clade@1.0.0", "is not an agent that upshift knows"),
        ("claude@2.1.330,codex@npm:evil@1.0.0", "needs an exact version"),
        ("claude@file:../checkout", "needs an exact version"),
        (" ,", "names none"),
    ] {
        let site = Site::new();
        let output = site.install(agents);
        assert_eq!(output.status.code(), Some(1), "{agents}: {}", said(&output));
        assert!(said(&output).contains("::error title=agents") && said(&output).contains(why), "{}", said(&output));
        assert!(!site.path("tools/upshift-agents").exists() && !site.path("added-to-path").exists(), "{agents}");
    }
}

#[test]
fn the_gate_brings_agents_only_where_a_run_may_start() {
    let action = action();
    let steps = action["runs"]["steps"].as_sequence().expect("steps").clone();
    let step = steps.iter().find(|step| step["name"].as_str() == Some("Install agents")).expect("the step");
    let only = step["if"].as_str().expect("a condition");
    for part in ["inputs.agents != ''", "inputs.command == 'gate'", "steps.run.outputs.go == 'true'"] {
        assert!(only.contains(part), "{only}");
    }
    let install = file("action/install.sh");
    assert!(install.contains(r#"[[ "$command" == run || "$command" == resume ]]"#), "the gate's come behind the gate");
}

#[test]
#[ignore = "needs npm's registry; .ci/agents"]
fn agents_are_installed_for_real_in_a_hostile_checkout_and_start() {
    let site = Site::new();
    let output = site.install("claude@2.1.330,codex@0.169.0");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!site.path("owned").exists() && !said(&output).contains("sk-canary"), "{}", said(&output));
    for (name, version) in [("claude", "2.1.330"), ("codex", "0.169.0")] {
        let program = site.added().join(name);
        assert!(!program.starts_with(site.path("runner")), "nothing confined reads RUNNER_TEMP");
        let mut command = Command::new(program);
        command
            .arg("--version")
            .env_clear()
            .env("HOME", site.path("home"))
            .env("PATH", std::env::var_os("PATH").expect("PATH"));
        let output = command.output().expect("it starts");
        assert!(said(&output).contains(version), "{name} is no stub: {}", said(&output));
    }
    let scripts = npmrc_of(&site.path("tools/upshift-agents"));
    assert!(scripts.contains("ignore-scripts=true"), "{scripts}");
}

fn npmrc_of(folder: &Path) -> String {
    let job = std::fs::read_dir(folder).expect("a folder").next().expect("a job").expect("an entry").path();
    std::fs::read_to_string(job.join("npmrc")).expect("npm's configuration")
}
