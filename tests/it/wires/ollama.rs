//! Ollama: its server is the user's own, so that what is missing there has a command.

use serde_json::json;
use upshift::domain::receipt::CallStatus;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{ask, connect, user};
use crate::world::model_server::ollama::Held;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

const MODEL: &str = "ollama/qwen3-coder:30b";

/// An address on which nobody listens: the system gives no such low port away by itself.
const NOBODY: &str = "http://127.0.0.1:1";

#[tokio::test]
async fn a_model_that_was_not_pulled_has_the_command_that_pulls_it() {
    let server = ModelServer::serving([Scripted::status(404, r#"{"error":"model 'qwen3-coder:30b' not found"}"#)]);
    let provider = connect(Endpoint::new("ollama", Wire::Ollama, server.url()));
    let failure = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect_err("no such model");
    assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::ModelError, false, false));
    let (what, fix) = failure.message.split_once(" → Fix: ").expect("a fix");
    assert!(what.contains(&server.url()) && what.ends_with("has no model qwen3-coder:30b"), "{failure}");
    assert_eq!(fix, "run `ollama pull qwen3-coder:30b` on its machine");
    server.finish();
}

#[tokio::test]
async fn a_path_that_is_not_there_is_no_model_that_is_missing() {
    let server = ModelServer::serving([Scripted::status(404, "404 page")]);
    let provider = connect(Endpoint::new("ollama", Wire::Ollama, server.url()));
    let failure = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect_err("no such path");
    assert!(!failure.message.contains("ollama pull"), "{failure}");
    assert!(failure.message.ends_with("under `providers`, with `wire: openai`"), "{failure}");
    server.finish();
}

fn held(context_length: u64) -> Held {
    Held { context_length, tools: true, pinned: None }
}

/// A run with a model that reads long files and reports; what it said, and what the server was asked.
fn read_much(held: Held, configuration: &str) -> (Said, Vec<Request>) {
    let project = Project::python();
    let long: String =
        (0..90).map(|line| format!("# line {line}: nothing that counts stands in this file\n")).collect();
    (0..8).for_each(|file| project.write(&format!("shop/long_{file}.py"), &long));
    project.write(".github/upshift.yml", configuration);
    let server = ModelServer::start_with(Options::default().holding(held), |request| match request.turn() {
        turn @ 0..8 => Say::call("read_file", json!({ "path": format!("shop/long_{turn}.py") })).without_usage().into(),
        _ => Say::call("final_report", json!({ "summary": "read", "status": "done" })).without_usage().into(),
    });
    let program = Program::new().with("OLLAMA_HOST", &server.url());
    let args = ["run", "--no-audit", "--tiers", "ollama/qwen3-coder x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    let requests = server.requests();
    server.finish();
    (said, requests)
}

/// How long the whole conversation was, and in how many requests the model did not see the task.
fn lost(requests: &[Request]) -> (usize, usize) {
    let longest = requests.iter().map(|request| request.raw.len()).max().expect("a request");
    let task = |request: &&Request| {
        !request.body["messages"][1]["content"].as_str().is_some_and(|text| text.contains("python"))
    };
    (longest, requests.iter().filter(task).count())
}

#[test]
fn the_servers_window_is_said_with_every_request_and_nothing_is_cut() {
    let (said, requests) = read_much(held(262_144), "{}");
    assert_eq!(requests[0].body["options"]["num_ctx"], 32_768, "{}", said.all());
    let (longest, lost) = lost(&requests);
    assert!(longest > 4 * 4_096, "a server's own window would not have held it: {longest} bytes");
    assert_eq!((requests.len(), lost), (9, 0), "{}", said.all());
}

#[test]
fn a_server_with_a_small_window_is_never_sent_more_than_it_holds() {
    let (said, requests) = read_much(held(8_192), "{}");
    assert!(requests.iter().all(|request| request.body["options"]["num_ctx"] == 8_192), "{}", said.all());
    assert!(requests.iter().all(|request| request.raw.len() < 4 * 8_192), "{}", said.all());
    assert_eq!(lost(&requests).1, 0, "{}", said.all());
}

#[test]
fn the_window_of_whoever_made_the_model_counts_before_ours() {
    let (_, requests) = read_much(Held { pinned: Some(65_536), ..held(262_144) }, "{}");
    assert_eq!(requests[0].body["options"]["num_ctx"], 65_536);
}

#[test]
fn a_window_that_the_server_does_not_have_is_lowered_and_said() {
    let configuration = r#"{"models": {"ollama/qwen3-coder": {"contextWindow": 131072}}}"#;
    let (said, requests) = read_much(held(40_960), configuration);
    assert_eq!(requests[0].body["options"]["num_ctx"], 40_960);
    let warning = "ollama/qwen3-coder: a window of 131072 tokens was set, its server has 40960 at most: 40960 are used";
    assert!(said.all().contains(warning), "{}", said.all());
}

#[test]
fn a_model_without_tools_is_spoken_to_in_text() {
    let (said, requests) = read_much(Held { tools: false, ..held(32_768) }, "{}");
    assert!(requests.iter().all(|request| request.tools().is_empty()), "{}", said.all());
    assert!(!said.all().contains("does not support tools"), "{}", said.all());
}

/// What happens without a word about the window: the marker that the tests above stand against.
#[tokio::test]
async fn a_server_that_is_told_no_window_cuts_the_task_away_in_silence() {
    let options = Options::default().holding(held(262_144));
    let server = ModelServer::start_with(options, |_| Say::text("ok").into());
    let long = "x".repeat(9_000);
    let said = |role: &str, content: &str| json!({ "role": role, "content": content });
    let messages =
        [said("system", "You mend."), said("user", "the task"), said("assistant", &long), said("user", &long)];
    let body = json!({ "model": "qwen3-coder", "messages": messages, "stream": false });
    let url = format!("{}/api/chat", server.url());
    let answered = reqwest::Client::new().post(url).header("user-agent", "upshift/0").json(&body).send().await.unwrap();
    assert_eq!(answered.status(), 200);
    let seen = server.requests().pop().expect("a request").body["messages"].clone();
    assert!(!seen.to_string().contains("the task"), "{seen}");
    assert_eq!(
        server.violations().len(),
        4,
        "the checker asks for a window and for no cutting: {:?}",
        server.violations()
    );
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_an_overflow_and_not_half_a_prompt() {
    let server = ModelServer::serving_with(Options::default().holding(held(2_048)), []);
    let provider = connect(Endpoint::new("ollama", Wire::Ollama, server.url()));
    let failure = provider.ask(&ask(MODEL, vec![user(&"long ".repeat(4_000))])).await.expect_err("too long");
    assert_eq!((failure.status, failure.retryable), (CallStatus::ContextOverflow, false), "{failure}");
    server.finish();
}

#[tokio::test]
async fn only_ollamas_own_users_are_told_of_its_commands() {
    let provider = connect(Endpoint::new("mine", Wire::OpenAi, NOBODY));
    let failure = provider.ask(&ask("mine/m", vec![user("mend it")])).await.expect_err("nobody listens");
    assert!(failure.message.contains("cannot connect") && !failure.message.contains("ollama"), "{failure}");
}

#[test]
fn a_run_without_a_server_names_the_address_and_how_to_start_one() {
    let project = Project::python();
    let program = Program::new().with("OLLAMA_HOST", NOBODY).with("UPSHIFT_TEST_CLOCK", "1");
    let args = ["run", "--no-audit", "--tiers", "ollama/qwen3-coder x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_ne!(said.code, 0, "{}", said.all());
    assert!(said.all().contains(NOBODY), "{}", said.all());
    assert!(said.all().contains("start the server with `ollama serve`"), "{}", said.all());
}
