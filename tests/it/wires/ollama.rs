//! Ollama: its server is the user's own, so that what is missing there has a command.

use serde_json::json;
use upshift::domain::receipt::CallStatus;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{ask, connect, user};
use crate::world::model_server::{ModelServer, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

const MODEL: &str = "ollama/qwen3-coder:30b";

/// An address on which nobody listens: a port that was free a moment ago.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

#[tokio::test]
async fn a_model_that_was_not_pulled_has_the_command_that_pulls_it() {
    for body in [
        json!({ "error": { "message": "model \"qwen3-coder:30b\" not found, try pulling it first", "type": "api_error",
            "param": null, "code": null } }),
        json!({ "error": "model 'qwen3-coder:30b' not found" }),
    ] {
        let server = ModelServer::serving([Scripted::status(404, body.to_string())]);
        let provider = connect(Endpoint::new("ollama", Wire::OpenAi, server.url()));
        let failure = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect_err("no such model");
        assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::ModelError, false, false));
        let (what, fix) = failure.message.split_once(" → Fix: ").expect("a fix");
        assert!(what.contains(&server.url()) && what.ends_with("has no model qwen3-coder:30b"), "{failure}");
        assert_eq!(fix, "run `ollama pull qwen3-coder:30b` on its machine");
        server.finish();
    }
}

#[tokio::test]
async fn a_path_that_is_not_there_is_no_model_that_is_missing() {
    let server = ModelServer::serving([Scripted::status(404, "404 page")]);
    let provider = connect(Endpoint::new("ollama", Wire::OpenAi, server.url()));
    let failure = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect_err("no such path");
    assert!(!failure.message.contains("ollama pull"), "{failure}");
    server.finish();
}

#[tokio::test]
async fn only_ollamas_own_users_are_told_of_its_commands() {
    let provider = connect(Endpoint::new("mine", Wire::OpenAi, nobody()));
    let failure = provider.ask(&ask("mine/m", vec![user("mend it")])).await.expect_err("nobody listens");
    assert!(failure.message.contains("cannot connect") && !failure.message.contains("ollama"), "{failure}");
}

#[test]
fn a_run_without_a_server_names_the_address_and_how_to_start_one() {
    let (project, address) = (Project::python(), nobody());
    let program = Program::new().with("OLLAMA_HOST", &address).with("UPSHIFT_LEAP", "1");
    let args = ["run", "--no-audit", "--tiers", "ollama/qwen3-coder x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_ne!(said.code, 0, "{}", said.all());
    assert!(said.all().contains(&address), "{}", said.all());
    assert!(said.all().contains("start the server with `ollama serve`"), "{}", said.all());
}
