//! Whole runs of the built program over each provider's default ladder: its own prompts, tools, roles and last turns, with each effort.

use serde_json::json;
use upshift::domain::model_id::BUILT_IN_PROVIDERS;
use upshift::model::catalogue::{built_in_endpoint, default_ladder};

use super::recordings::Recordings;
use crate::world::model_server::ollama::Held;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted, Vendor};
use crate::world::program::{KEY, Program};
use crate::world::project::Project;

/// Their replies come with thinking that goes back; of the others' the scripted vendor knows no shape of it.
const THINKING: [&str; 5] = ["anthropic", "openai", "gemini", "deepseek", "ollama"];
/// Each effort once; without one a temperature is set, as far as models take one.
const EFFORTS: [Option<&str>; 4] = [None, Some("low"), Some("medium"), Some("high")];
/// The turns of a session: the last one takes the report alone.
const TURNS: usize = 5;

/// Records a run for each provider and effort.
pub(super) fn record(recordings: &Recordings) {
    let ladders: Vec<_> =
        BUILT_IN_PROVIDERS.iter().filter_map(|&provider| Some((provider, default_ladder(provider)?))).collect();
    // Two at a time: a run waits for its processes more than it computes.
    std::thread::scope(|scope| {
        for half in ladders.chunks(ladders.len().div_ceil(2)) {
            scope.spawn(move || {
                for (provider, ladder) in half {
                    EFFORTS.iter().for_each(|effort| run(recordings, provider, ladder, *effort));
                }
            });
        }
    });
}

fn run(recordings: &Recordings, provider: &'static str, ladder: &str, effort: Option<&str>) {
    let endpoint = built_in_endpoint(provider).expect("an endpoint");
    // One streams, one does not; nothing of a request depends on it.
    let options = if effort == Some("low") { Options::default().json_only() } else { Options::default() };
    let held = Held { context_length: 262_144, tools: true, pinned: None };
    let server = ModelServer::start_with(options.holding(held), script(provider));
    let project = Project::python();
    let mut agent = json!({ "maxTurns": TURNS });
    match effort {
        Some(effort) => agent["effort"] = json!(effort),
        None => agent["temperature"] = json!(0.2),
    }
    project.write(".github/upshift.yml", &json!({ "agent": agent }).to_string());
    let program = Program::new().with(endpoint.base_url_vars[0], &server.url());
    // A local server wants none.
    let program = match endpoint.key_vars.first() {
        Some(name) => program.with(name, KEY),
        None => program,
    };
    let tiers = one_iteration_each(ladder);
    let database = project.path().with_extension("audit.db");
    let args = [
        "run",
        "--audit-db",
        database.to_str().expect("text"),
        "--tiers",
        &tiers,
        "--test-command",
        project.test_command,
    ];
    let said = program.run(project.path(), &args);
    let of = format!("default ladder, effort {}", effort.unwrap_or("unset"));
    assert_eq!(said.code, 1, "{provider}, {of}: {}", said.all());
    let requests = server.requests();
    let asked = |model: &str| requests.iter().any(|request| request.model == model);
    for tier in tiers.split(" > ").filter_map(|tier| tier.split(' ').next()) {
        let model = tier.strip_prefix(&format!("{provider}/")).unwrap_or(tier);
        assert!(asked(model), "{provider}, {of}: {model} was not asked\n{}", said.all());
    }
    let last_turns = requests.iter().filter(|request| request.turn() + 1 == TURNS).count();
    assert!(last_turns >= tiers.split(" > ").count(), "{provider}, {of}: {last_turns} last turns");
    recordings.add_all(provider, &of, &requests, &server.answers());
    server.finish();
}

/// The same models and roles, one iteration for each.
fn one_iteration_each(ladder: &str) -> String {
    let words = ladder.split(' ').map(|word| {
        let is_count = word.strip_prefix('x').is_some_and(|rest| rest.parse::<u32>().is_ok());
        if is_count { "x1" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A model that is always wrong: it reads a file and one that is not there, makes a call that cannot be read, edits, runs the tests, and
/// reports when nothing else counts any more.
fn script(provider: &'static str) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let mut seen = String::new();
    move |request| {
        if provider == "openai" && request.vendor == Vendor::OpenAi {
            return crate::wires::responses::refusal();
        }
        let system = request.system();
        let say = match (system.contains("You brief"), system.contains("You review"), request.turn()) {
            (true, _, 0) => Say::text("I look.").and_call("read_file", json!({ "path": "shop/cart.py" })),
            (true, ..) => Say::call("final_report", json!({ "summary": "cart.py is wrong", "status": "done" })),
            (_, true, 0) => Say::call("list_files", json!({})),
            (_, true, _) => {
                Say::call("final_report", json!({ "verdict": "approve", "summary": "right", "issues": [] }))
            }
            (_, _, 0) => Say::call("read_file", json!({ "path": "shop/cart.py" }))
                .and_call("read_file", json!({ "path": "shop/none.py" })),
            (_, _, 1) => {
                seen = request.tool_results().first().expect("the file").content.clone();
                Say::text("Now I search.").and_raw_call("search", "{\"pattern\": ")
            }
            (_, _, 2) => {
                let (_, expression) = seen.split_once("return ").expect("the line");
                let expression = expression.lines().next().expect("a line");
                let worse = format!("{expression} - {}", request.number + 2);
                Say::call("edit_file", json!({ "path": "shop/cart.py", "old_text": expression, "new_text": worse }))
            }
            (_, _, 3) => Say::call("run_tests", json!({})),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })),
        };
        if THINKING.contains(&provider) { say.thinking("Hm, let me look.").into() } else { say.into() }
    }
}
