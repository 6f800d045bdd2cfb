//! Servers of tools (MCP) that a librarian uses: one of the tests' own, and the reference server for files as npm has it (`.ci/mcp`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{TIERS, brief, full_mode};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// The value of a variable that the server is given by name.
const NAMED: &str = "tw-9f8e7d6c5b4a3210";

/// A run with a server of tools, and what became of it.
struct Run {
    said: Said,
    log: Log,
    requests: Vec<Request>,
    project: Project,
    /// The word by which a child of the server is known.
    mark: String,
}

impl Run {
    /// With the tests' own server, `more` of its settings and arguments.
    fn with(settings: &str, argument: &str, librarian: impl Fn(&Request) -> Scripted + Send + 'static) -> Self {
        Self::beside("", settings, argument, librarian)
    }

    /// The same beside other lines of configuration.
    fn beside(
        others: &str,
        settings: &str,
        argument: &str,
        librarian: impl Fn(&Request) -> Scripted + Send + 'static,
    ) -> Self {
        let project = Project::python();
        let mark = format!("sleep-{}", project.path().file_name().expect("a name").to_string_lossy());
        // A server with variables of its own has no part in the tree, and is told where that lies.
        let outside = tempfile::Builder::new().prefix("server-").tempdir().expect("a folder");
        let command = if settings.contains("env:") {
            use std::os::unix::fs::PermissionsExt as _;
            let path = outside.path().join("server");
            std::fs::write(&path, format!("#!/usr/bin/env python3\n{}", include_str!("server.py"))).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
            format!("[{}, {mark}, --root={}]", path.display(), project.path().display())
        } else {
            project.write("tools/server.py", include_str!("server.py"));
            format!("[python3, tools/server.py, {mark}{argument}]")
        };
        let config = format!("{others}agent: {{mcp: {{own: {{command: {command}{settings}}}}}}}\n");
        Self::of(project, &config, &mark, librarian)
    }

    fn of(
        project: Project,
        config: &str,
        mark: &str,
        librarian: impl Fn(&Request) -> Scripted + Send + 'static,
    ) -> Self {
        project.write(".github/upshift.yml", config);
        project.commit();
        let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), librarian));
        let database = project.path().parent().expect("a parent").join(format!("{mark}.db"));
        let path = database.to_str().expect("text");
        let program = Program::with_anthropic(&server.url()).without_court().with("TEAM_WORD", NAMED);
        let args = ["run", "--tiers", TIERS, "--audit-db", path, "--test-command", project.test_command];
        let said = program.run(project.path(), &args);
        let requests = server.requests();
        server.finish();
        Self { said, log: Log::open(&database), requests, project, mark: mark.to_owned() }
    }

    /// The tools that ended otherwise than well or with a word to the model.
    fn exits(&self) -> Vec<Vec<String>> {
        self.log.rows(
            "SELECT json_extract(body, '$.name'), json_extract(body, '$.exit') FROM events
             WHERE kind = 'tool_finished' AND json_extract(body, '$.exit') IS NOT NULL ORDER BY seq",
        )
    }

    /// The answer to the librarian's nth call, as its next request brings it.
    fn told(&self, nth: usize) -> String {
        let mut librarian = self.requests.iter().filter(|request| request.system().contains("You brief"));
        let next = librarian.nth(nth + 1).expect("a request after the call");
        next.tool_results().last().expect("a result").content.clone()
    }

    /// A process that was killed is there for a moment more: it is looked for until it is gone.
    fn assert_nobody_lives(&self) {
        assert!(is_gone(&self.mark, Duration::from_secs(30)), "a process of the server lives on: {}", self.mark);
    }
}

/// Whether no process is there any more, within that time, that was started with a word.
fn is_gone(mark: &str, within: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < within {
        if !is_there(mark) {
            return true;
        }
    }
    false
}

fn is_there(mark: &str) -> bool {
    let listed = Command::new("ps").args(["-eo", "args"]).output().expect("ps");
    String::from_utf8_lossy(&listed.stdout).contains(mark)
}

fn call(tool: &str, arguments: Value) -> Scripted {
    Say::call(tool, arguments).usage(500, 20).into()
}

/// Whoever opened the pull request wrote the tree, and a model writes there.
#[test]
fn a_server_with_variables_of_its_own_has_no_part_in_the_tree() {
    let project = Project::python();
    project.write("tools/server.py", include_str!("server.py"));
    project.write("tools/__main__.py", include_str!("server.py"));
    let server = |command: &str| format!("{{command: [{command}, sleep-none], env: [TEAM_WORD]}}");
    let config = format!(
        "agent: {{mcp: {{file: {}, folder: {}, behind: {}}}}}\n",
        server("python3, tools/server.py"),
        server("python3, tools"),
        server("node, --import=./tools/server.py, x")
    );
    let run = Run::of(project, &config, "sleep-none", |_| brief());
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    for part in ["tools/server.py", "tools", "./tools/server.py"] {
        assert!(run.said.err.contains(&format!("/{part}` lies in the tree")), "{part}: {}", run.said.all());
    }
    assert!(run.requests[0].tools().iter().all(|name| !name.starts_with("mcp__")));
}

#[test]
fn a_librarian_reads_through_a_confined_server_that_ends_with_its_session() {
    let run = Run::with(", env: [TEAM_WORD]", "", |request| match request.turn() {
        0 => call("mcp__own__look", json!({ "path": "shop/cart.py" })),
        1 => call("mcp__own__reach", json!({})),
        2 => call("mcp__own__long", json!({})),
        3 => call("mcp__own__look", json!({ "path": "nowhere.py" })),
        _ => brief(),
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let tools = run.requests[0].tools();
    let offered: Vec<String> = tools.into_iter().filter(|name| name.starts_with("mcp__")).collect();
    assert_eq!(
        offered,
        ["look", "reach", "slow", "die", "long", "flood"].map(|tool| format!("mcp__own__{tool}")),
        "both pages, and none that may write"
    );
    assert!(run.told(0).contains("def total") && run.told(0).contains("sum(prices) - 1"), "{}", run.told(0));
    assert!(run.told(1).contains(r#""keys": []"#) && run.told(1).contains("read only"), "{}", run.told(1));
    assert!(!run.told(1).contains(r#""named": null"#), "it was given the variable that is named: {}", run.told(1));
    assert!(!run.told(1).contains(NAMED), "whose value is a secret in what a model is told: {}", run.told(1));
    assert!(run.told(2).contains("read_output") && run.told(2).len() < 14_000, "a long answer stands behind a handle");
    assert!(run.told(3).contains("No such file"), "{}", run.told(3));
    let artisan = run.requests.iter().find(|request| request.system().contains("edit")).expect("an artisan");
    assert!(!artisan.tools().iter().any(|name| name.starts_with("mcp__")), "the artisan was given none");
    assert!(!run.project.read("shop/cart.py").contains("# changed"));
    assert_eq!(run.exits(), [["mcp__own__look", "EXIT-TOOL-FAILURE"]], "what the server itself calls an error is one");
    run.assert_nobody_lives();
}

#[test]
fn a_tool_whose_time_is_up_and_a_server_that_dies_cost_their_answers_alone() {
    let run = Run::with(", timeoutSeconds: 1", "", |request| match request.turn() {
        0 => call("mcp__own__slow", json!({})),
        1 => call("mcp__own__die", json!({})),
        2 => call("mcp__own__look", json!({ "path": "shop/cart.py" })),
        3 => call("mcp__own__change", json!({})),
        _ => brief(),
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let exits = [
        ["mcp__own__slow", "EXIT-TOOL-TIMEOUT"],
        ["mcp__own__die", "EXIT-MCP-CONNECTION-LOST"],
        ["mcp__own__look", "EXIT-MCP-CONNECTION-LOST"],
        ["mcp__own__change", "EXIT-TOOL-NOT-AVAILABLE"],
    ];
    assert_eq!(run.exits(), exits);
    assert!(run.told(0).contains("Do without it") && !run.said.all().contains("Do without it"), "{}", run.said.all());
    assert!(run.told(0).contains("no answer within 1 s"), "{}", run.told(0));
    assert!(run.told(1).contains("the server is gone") && run.told(1).contains("no more"), "{}", run.told(1));
    run.assert_nobody_lives();
}

#[test]
fn what_a_server_of_tools_calls_an_error_is_a_failed_tool() {
    let run = Run::with("", "", |request| match request.turn() {
        0 => call("mcp__own__look", json!({ "path": "no/such/file" })),
        _ => brief(),
    });
    assert_eq!(run.exits(), [["mcp__own__look", "EXIT-TOOL-FAILURE"]], "{}", run.told(0));
}

#[test]
fn a_server_that_is_given_up_is_ended_while_its_session_goes_on() {
    let project = Project::python();
    project.write("tools/server.py", include_str!("server.py"));
    let mark = format!("sleep-flood-{}", project.path().file_name().expect("a name").to_string_lossy());
    let config = format!("agent: {{mcp: {{own: {{command: [python3, tools/server.py, {mark}]}}}}}}\n");
    let (sender, gone) = std::sync::mpsc::channel();
    let looked_for = mark.clone();
    let run = Run::of(project, &config, "flood", move |request| match request.turn() {
        0 => call("mcp__own__flood", json!({})),
        _ => {
            sender.send(is_gone(&looked_for, Duration::from_secs(10))).expect("heard");
            brief()
        }
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert!(run.told(0).contains("it sent a line without end"), "{}", run.told(0));
    assert_eq!(run.exits(), [["mcp__own__flood", "EXIT-MCP-CONNECTION-LOST"]]);
    let told = "the librarian went on without `mcp__own__flood`: ";
    assert!(run.said.all().contains(told), "{}", run.said.all());
    assert!(!run.said.all().contains("`mcp__own__flood` failed: "), "told once: {}", run.said.all());
    assert_eq!(gone.try_recv(), Ok(true), "its processes were there while the librarian went on");
}

#[test]
fn a_killed_run_leaves_no_server_and_goes_on_with_a_new_one() {
    let project = Project::python();
    project.write("tools/server.py", include_str!("server.py"));
    let mark = format!("sleep-killed-{}", project.path().file_name().expect("a name").to_string_lossy());
    let config = format!("agent: {{mcp: {{own: {{command: [python3, tools/server.py, {mark}]}}}}}}\n");
    project.write(".github/upshift.yml", &config);
    project.commit();
    let looks = |request: &Request| match request.turn() {
        0 => call("mcp__own__look", json!({ "path": "shop/cart.py" })),
        1 => call("mcp__own__look", json!({ "path": "shop/__init__.py" })),
        _ => brief(),
    };
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), looks));
    let database = project.path().parent().expect("a parent").join("killed.db");
    let path = database.to_str().expect("text");
    let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "tool_finished:1");
    let args = ["run", "--tiers", TIERS, "--audit-db", path, "--test-command", project.test_command];
    let killed = dying.run(project.path(), &args);
    assert_eq!(killed.code, -9, "{}", killed.all());
    assert!(is_gone(&mark, Duration::from_secs(30)), "the server outlived a killed run");
    let calm = dying.with("UPSHIFT_CRASH_AFTER", "");
    let resumed = calm.run(project.path(), &["resume", "--audit-db", path]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(is_gone(&mark, Duration::from_secs(30)), "the server outlived its session");
    let last = server.requests().into_iter().rfind(|request| request.system().contains("You brief")).expect("a brief");
    assert_eq!(last.turn(), 2, "it went on where it was");
    server.finish();
}

#[test]
fn a_run_that_is_ended_while_a_tool_is_at_work_leaves_no_process_and_names_the_signal() {
    let project = Project::python();
    project.write("tools/server.py", include_str!("server.py"));
    let mark = format!("sleep-ended-{}", project.path().file_name().expect("a name").to_string_lossy());
    let config = format!("agent: {{mcp: {{own: {{command: [python3, tools/server.py, {mark}]}}}}}}\n");
    project.write(".github/upshift.yml", &config);
    project.commit();
    let librarian = |_: &Request| call("mcp__own__slow", json!({}));
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), librarian));
    let database = project.path().parent().expect("a parent").join(format!("{mark}.db"));
    let path = database.to_str().expect("text");
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", TIERS, "--audit-db", path, "--test-command", project.test_command];
    let mut command = program.command(project.path(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let at_work = format!("{mark}-at-work");
    while !is_there(&at_work) {}
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert!(is_gone(&mark, Duration::from_secs(30)), "the server outlived the run");
    let told = program.run(project.path(), &["report", "--audit-db", path, "--format", "json"]);
    let document: Value = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {}", told.all()));
    server.finish();
    assert_eq!((&document["outcome"], said.code), (&json!("interrupted"), 143), "{}", said.all());
    let session = &document["sessions"][0];
    assert_eq!(session["agent_path"], "tier-1/iteration-1/librarian");
    assert_eq!((&session["exit"], &session["turns"]), (&json!("EXIT-SIGNAL-RECEIVED"), &json!(1)), "{document}");
    let log = Log::open(&database);
    assert_eq!(log.number("SELECT COUNT(*) FROM reservations WHERE settled_micro_usd IS NULL"), 0);
    let tools = log.rows(
        "SELECT json_extract(body, '$.name'), json_extract(body, '$.ok') FROM events WHERE kind = 'tool_finished'",
    );
    assert_eq!(tools, [["mcp__own__slow", "0"]], "the tool that was cut short is told");
}

#[test]
fn a_variable_of_the_job_is_given_to_no_server() {
    for (name, why) in [
        ("GITHUB_TOKEN", "is a secret of this run"),
        ("ACTIONS_RUNTIME_TOKEN", "is a secret of this run"),
        ("ACTIONS_CACHE_URL", "belongs to the job"),
        ("ANTHROPIC_API_KEY", "is a secret of this run"),
        ("OPENAI_API_KEY", "contains a model's key"),
    ] {
        let project = Project::python();
        let config = format!("agent: {{mcp: {{own: {{command: [python3, -V], env: [{name}]}}}}}}\n");
        project.write(".github/upshift.yml", &config);
        project.commit();
        let server = ModelServer::serving([]);
        let program = Program::with_anthropic(&server.url()).without_court().with(name, NAMED);
        let args = ["run", "--tiers", TIERS, "--audit-db", "off", "--test-command", project.test_command];
        let said = program.run(project.path(), &args);
        assert_eq!(said.code, 2, "{name}: {}", said.all());
        assert!(said.all().contains(name) && said.all().contains(why), "{name}: {}", said.all());
        assert_eq!(server.requests().len(), 0, "{name}: no model was asked");
        server.finish();
    }
}

#[test]
fn a_server_that_does_not_start_costs_its_tools_alone() {
    let run = Run::with("", ", --broken", |_| brief());
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert!(
        run.said.all().contains("the server of tools `own` cannot be used: the server is gone: "),
        "{}",
        run.said.all()
    );
    assert!(run.said.all().contains("no such database"), "{}", run.said.all());
    assert_eq!(run.exits(), [["mcp__own", "EXIT-MCP-INIT-FAILED"]]);
    assert!(run.requests.iter().all(|request| !request.tools().iter().any(|name| name.starts_with("mcp__"))));
}

/// A server that hangs in its greeting costs half a minute: once in a tier, not in each session.
#[test]
fn a_server_that_cannot_be_had_is_tried_once_in_a_tier() {
    let run = Run::with(", roles: [librarian, critic]", ", --broken", |_| brief());
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = run.log.rows(
        "SELECT json_extract(body, '$.role'), json_extract(body, '$.exit'), json_extract(body, '$.subject') LIKE 'left out, %'
         FROM events WHERE kind = 'tool_finished' AND json_extract(body, '$.name') = 'mcp__own' ORDER BY seq",
    );
    let exit = "EXIT-MCP-INIT-FAILED";
    assert_eq!(told, [["librarian", exit, "0"], ["critic", exit, "1"]], "{}", run.said.all());
    let warned = "SELECT COUNT(*) FROM events WHERE kind = 'warning' AND body LIKE '%cannot be used%'";
    assert_eq!(run.log.number(warned), 1, "{}", run.said.all());
}

#[test]
fn a_server_that_cannot_be_had_is_told_of_the_session_that_goes_without_it() {
    let config = "agent:\n  advisors: {one: {instructions: Look.}, two: {instructions: Look.}}\n  \
                  mcp: {own: {command: [python3, -c, 'print(\"\\x1b[31m\"); raise SystemExit(\"\\x1b[31mno\")'], roles: [advisor]}}\n";
    let held = super::Held::run("claude-haiku-4-5 x1", config, "", |request| {
        if request.system().contains("You repair") { super::mended(request) } else { brief() }
    });
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    let told = held.log.rows(
        "SELECT json_extract(begun.body, '$.agent'), begun.seq < lost.seq, instr(json_extract(lost.body, '$.subject'), char(27))
         FROM events lost JOIN events begun ON begun.kind = 'session_started'
           AND json_extract(begun.body, '$.session_id') = json_extract(lost.body, '$.session_id')
         WHERE lost.kind = 'tool_finished' AND json_extract(lost.body, '$.name') = 'mcp__own' ORDER BY 1",
    );
    assert_eq!(told, [["advisor/one", "1", "0"], ["advisor/two", "1", "0"]], "{}", held.said.all());
}

#[test]
fn a_tool_that_vendors_would_refuse_is_left_out_and_told_and_costs_the_run_nothing() {
    let run = Run::with("", ", --odd", |request| {
        if request.tools().contains(&"mcp__own__odd".to_owned()) {
            return Scripted::status(
                400,
                r#"{"error": {"message": "tools.9.custom.input_schema: no oneOf at the top"}}"#,
            );
        }
        brief()
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = "tools of the server `own` are left out: `odd` (`oneOf` at the top of its arguments' schema)";
    assert!(run.said.all().contains(told), "{}", run.said.all());
    assert!(run.requests[0].tools().contains(&"mcp__own__look".to_owned()), "{:?}", run.requests[0].tools());
}

#[test]
fn a_request_that_a_vendor_refuses_for_tools_from_outside_is_made_without_them() {
    let run = Run::with("", "", |request| {
        if request.tools().iter().any(|name| name.starts_with("mcp__")) {
            return Scripted::status(400, r#"{"error": {"message": "not today"}}"#);
        }
        brief()
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = "refused a request, which is made once more without mcp__own__look, mcp__own__reach, ";
    assert!(run.said.all().contains(told), "{}", run.said.all());
}

#[test]
fn a_refusal_that_names_a_tool_costs_the_session_that_tool_alone() {
    let refused = "mcp__own__reach";
    let run = Run::with("", "", move |request| {
        if request.tools().iter().any(|name| name == refused) {
            let number = request.tools().iter().position(|name| name == refused).expect("offered");
            return Scripted::status(
                400,
                json!({"error": {"message": format!("tools.{number}.custom.input_schema: odd")}}).to_string(),
            );
        }
        match request.turn() {
            0 => call("mcp__own__look", json!({ "path": "shop/cart.py" })),
            _ => brief(),
        }
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    // The first request is the one that was refused.
    assert!(run.told(1).contains("def "), "{}", run.told(1));
    let told = "which is made once more without mcp__own__reach. It said: ";
    assert!(run.said.all().contains(told), "{}", run.said.all());
}

/// Behind the last session nothing is started any more that would come upon what is left.
#[test]
fn daemons_of_servers_end_with_the_last_session_of_a_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("server");
    std::fs::write(&script, format!("#!/usr/bin/env python3\n{}", include_str!("server.py"))).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("set");
    let mark = format!("sleep-{}", folder.path().file_name().expect("a name").to_string_lossy());
    let server =
        |name: &str| format!("    {name}: {{command: [{}, {mark}, --daemon], roles: [advisor]}}\n", script.display());
    let config = format!("agent:\n  handoff: {{release_note: {{}}}}\n  mcp:\n{}{}", server("one"), server("two"));
    let held = super::Held::run("claude-haiku-4-5 x1", &config, "", |request| {
        if request.system().contains("You write about") {
            return brief();
        }
        super::mended(request)
    });
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    assert!(held.requests.iter().any(|request| request.tools().iter().any(|tool| tool == "mcp__two__look")));
    assert!(is_gone(&mark, Duration::from_secs(10)), "a daemon lives on");
}

#[test]
fn a_secret_in_an_argument_goes_to_no_server_that_has_the_network() {
    for (others, told) in
        [("", "No such file"), ("safety: {network: on}\n", "was not called: an argument holds a secret")]
    {
        let run = Run::beside(others, ", env: [TEAM_WORD]", "", |request| match request.turn() {
            0 => call("mcp__own__look", json!({ "path": NAMED })),
            _ => brief(),
        });
        assert_eq!(run.said.code, 0, "{}", run.said.all());
        assert!(run.told(0).contains(told), "{others}: {}", run.told(0));
    }
}

#[test]
fn tools_for_which_there_is_no_room_are_left_out_and_told() {
    let run = Run::with("", ", --huge", |_| brief());
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let tools = run.requests[0].tools();
    let huge = tools.iter().filter(|name| name.contains("huge")).count();
    assert_eq!(huge, 9, "no more fit into 64 KiB: {tools:?}");
    let said = run.said.all();
    assert!(said.contains("librarian: there is room for 65536 bytes of external tools"), "{said}");
    assert!(said.contains("mcp__own__huge9,") && said.contains("and 23 more"), "{said}");
}

#[test]
fn a_tool_that_does_not_say_that_it_reads_is_offered_where_it_is_allowed_by_name() {
    let run = Run::with(", allow: [change]", "", |_| brief());
    assert!(run.requests[0].tools().contains(&"mcp__own__change".to_owned()), "{:?}", run.requests[0].tools());
}

#[test]
#[ignore = "needs the reference server: run by .ci/mcp"]
fn the_reference_server_for_files_is_used_by_a_librarian() {
    let program = installed("mcp-server-filesystem");
    let project = Project::python();
    let tree = project.path().canonicalize().expect("a place");
    let config = format!("agent: {{mcp: {{files: {{command: [{}, {}]}}}}}}\n", program.display(), tree.display());
    let inside = tree.join("shop/cart.py").display().to_string();
    let run = Run::of(project, &config, "reference", move |request| match request.turn() {
        0 => call("mcp__files__read_text_file", json!({ "path": inside })),
        1 => call("mcp__files__read_text_file", json!({ "path": "/etc/passwd" })),
        2 => call("mcp__files__search_files", json!({ "path": tree.display().to_string(), "pattern": "**/*.py" })),
        _ => brief(),
    });
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let tools = run.requests[0].tools();
    assert!(tools.contains(&"mcp__files__read_text_file".to_owned()), "{tools:?}: {}", run.said.all());
    assert!(!tools.iter().any(|name| name.contains("write") || name.contains("move")), "{tools:?}");
    assert!(run.told(0).contains("sum(prices) - 1"), "{}", run.told(0));
    assert!(run.told(1).to_lowercase().contains("denied"), "{}", run.told(1));
    assert!(run.told(2).contains("cart.py"), "{}", run.told(2));
    run.assert_nobody_lives();
}

/// A program that `.ci/mcp` installs.
pub(super) fn installed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools/mcp/node_modules/.bin").join(name)
}
