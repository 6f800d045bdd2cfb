//! `doctor --online`: free questions to every vendor, a line per model, a fix for each problem, and no call of a model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::world::program::{KEY, Program, Said};
use crate::world::project::Project;

/// A vendor's free pages: `METHOD path` with its answer.
type Pages = Vec<(&'static str, u16, Value)>;

/// What was asked: `METHOD path`, and the key that came with it.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// Serves pages; anything else is 404. Returns its address and what it was asked.
fn serve(pages: Pages) -> (String, Asked) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer(stream, &pages, &seen);
        }
    });
    (url, asked)
}

fn answer(mut stream: TcpStream, pages: &Pages, seen: &Asked) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut line, mut key, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut line).expect("a request");
    let question = line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "x-api-key" | "api-key" | "x-goog-api-key" | "authorization" => key = value.replace("Bearer ", ""),
            "content-length" => length = value.parse().expect("a number"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let question = if body.is_empty() { question } else { format!("{question} {}", String::from_utf8_lossy(&body)) };
    let missing = (404, json!({ "error": { "message": "no such page" } }));
    let found = pages.iter().find(|(page, ..)| *page == question).map(|(_, status, body)| (*status, body.clone()));
    let (status, body) = found.unwrap_or(missing);
    seen.lock().expect("a lock").push((question, key));
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    write!(stream, "{head}connection: close\r\n\r\n{body}").expect("written");
}

/// The name of a vendor, what stands behind its base URL's host, and the variables of address and key.
const VENDORS: [(&str, &str, &str, &str); 10] = [
    ("anthropic/m", "", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ("openai/m", "/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    ("gemini/m", "", "GEMINI_BASE_URL", "GEMINI_API_KEY"),
    ("ollama/m", "", "OLLAMA_HOST", ""),
    ("azure/m", "", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
    ("openrouter/who/m", "/api/v1", "OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"),
    ("groq/who/m", "/openai/v1", "GROQ_BASE_URL", "GROQ_API_KEY"),
    ("mistral/m", "/v1", "MISTRAL_BASE_URL", "MISTRAL_API_KEY"),
    ("deepseek/m", "/v1", "DEEPSEEK_BASE_URL", "DEEPSEEK_API_KEY"),
    ("xai/m", "/v1", "XAI_BASE_URL", "XAI_API_KEY"),
];

fn vendor(target: &str) -> (&'static str, &'static str, &'static str, &'static str) {
    *VENDORS.iter().find(|(name, ..)| *name == target).expect("a vendor")
}

/// `doctor --online` for a ladder of one model whose vendor serves these pages.
fn ask(target: &str, pages: Pages) -> (Said, Vec<(String, String)>) {
    let (url, asked) = serve(pages);
    let said = ask_at(target, &url);
    let asked = asked.lock().expect("a lock").clone();
    (said, asked)
}

fn ask_at(target: &str, url: &str) -> Said {
    let (_, path, address, key) = vendor(target);
    let project = Project::python();
    let known = json!({ "contextWindow": 100_000, "maxOutputTokens": 8_000, "inputPer1M": 1, "outputPer1M": 2 });
    project.write(".github/upshift.yml", &json!({ "models": { target: known } }).to_string());
    let mut program = Program::new().with(address, &format!("{url}{path}")).with("UPSHIFT_SANDBOX", "off");
    if !key.is_empty() {
        program = program.with(key, KEY);
    }
    let ladder = format!("{target} x1");
    program.run(project.path(), &["doctor", "--online", "--tiers", &ladder, "--test-command", project.test_command])
}

fn line(said: &Said) -> &str {
    said.out
        .lines()
        .find(|line| line.starts_with("✔ model: ") || line.starts_with("✖ model: "))
        .unwrap_or_else(|| panic!("{}", said.all()))
}

#[test]
fn every_vendor_is_asked_its_free_question_with_the_key() {
    let model = || json!({ "id": "m" });
    let list = || json!({ "data": [{ "id": "other" }, { "id": "m" }] });
    for (target, pages) in [
        ("anthropic/m", vec![("GET /v1/models/m", 200, model())]),
        ("openai/m", vec![("GET /v1/models/m", 200, model())]),
        ("gemini/m", vec![("GET /v1beta/models/m", 200, json!({ "name": "models/m" }))]),
        ("ollama/m", vec![(r#"POST /api/show {"model":"m"}"#, 200, json!({ "details": {} }))]),
        ("azure/m", vec![("GET /openai/models?api-version=2024-10-21", 200, list())]),
        (
            "openrouter/who/m",
            vec![
                ("GET /api/v1/key", 200, json!({ "data": { "limit_remaining": null } })),
                ("GET /api/v1/models/who/m/endpoints", 200, json!({ "data": {} })),
            ],
        ),
        ("groq/who/m", vec![("GET /openai/v1/models/who%2Fm", 200, json!({ "id": "who/m" }))]),
        ("mistral/m", vec![("GET /v1/models/m", 200, model())]),
        ("deepseek/m", vec![("GET /v1/models", 200, list())]),
        ("xai/m", vec![("GET /v1/models", 200, json!({ "data": [{ "id": "m-0709", "aliases": ["m"] }] }))]),
    ] {
        let questions: Vec<&str> = pages.iter().map(|(question, ..)| *question).collect();
        let (said, asked) = ask(target, pages.clone());
        assert!(line(&said).starts_with("✔ "), "{target}: {}", said.all());
        let answered: Vec<_> = asked.iter().filter(|(question, _)| questions.contains(&question.as_str())).collect();
        assert_eq!(answered.len(), questions.len(), "{target}: {asked:?}");
        let key = if target.starts_with("ollama") { "" } else { KEY };
        assert!(asked.iter().all(|(_, with)| with == key), "{target}: {asked:?}");
        let calls = ["messages", "completions", "responses", "generateContent", "/api/chat", "/api/generate"];
        assert!(!asked.iter().any(|(question, _)| calls.iter().any(|call| question.contains(call))), "{asked:?}");
    }
}

#[test]
fn what_no_free_question_can_tell_is_said() {
    let (azure, _) = ask("azure/m", vec![("GET /openai/models?api-version=2024-10-21", 200, json!({ "data": [] }))]);
    assert!(line(&azure).contains("name of a deployment"), "{}", azure.all());
    let (bare, _) = ask("mistral/m", vec![]);
    assert!(line(&bare).starts_with("✔ ") && line(&bare).contains("no list of models"), "{}", bare.all());
}

#[test]
fn a_refused_key_an_unknown_model_and_a_dead_address_have_a_line_and_a_fix_each() {
    let refused = |message: &str| json!({ "error": { "message": message } });
    for (target, pages, why, fix) in [
        (
            "anthropic/m",
            vec![("GET /v1/models/m", 401, refused("invalid x-api-key"))],
            "the key was refused",
            "ANTHROPIC_API_KEY",
        ),
        ("anthropic/m", vec![("GET /v1/models/m", 404, refused("model: m"))], "no such model", "model's name"),
        (
            "openai/m",
            vec![("GET /v1/models/m", 401, refused("Incorrect API key provided"))],
            "the key was refused",
            "OPENAI_API_KEY",
        ),
        (
            "openai/m",
            vec![
                ("GET /v1/models/m", 404, refused("The model 'm' does not exist")),
                ("GET /v1/models", 200, json!({ "data": [{ "id": "gpt" }] })),
            ],
            "no model m in its list (gpt)",
            "model's name",
        ),
        (
            "gemini/m",
            vec![("GET /v1beta/models/m", 400, refused("API key not valid. Please pass a valid API key."))],
            "the key was refused",
            "GEMINI_API_KEY",
        ),
        (
            "ollama/m",
            vec![(r#"POST /api/show {"model":"m"}"#, 404, json!({ "error": "model 'm' not found" }))],
            "no model m",
            "`ollama pull m`",
        ),
        (
            "openrouter/who/m",
            vec![("GET /api/v1/key", 200, json!({ "data": { "limit_remaining": 0 } }))],
            "limit of the key is used up",
            "raise it",
        ),
        (
            "openrouter/who/m",
            vec![("GET /api/v1/key", 401, refused("User not found."))],
            "the key was refused",
            "OPENROUTER_API_KEY",
        ),
        (
            "azure/m",
            vec![(
                "GET /openai/models?api-version=2024-10-21",
                401,
                refused("Access denied due to invalid subscription key"),
            )],
            "the key was refused",
            "AZURE_OPENAI_API_KEY",
        ),
    ] {
        let (said, _) = ask(target, pages);
        assert_eq!(said.code, 1, "{target}: {}", said.all());
        let line = line(&said);
        assert!(line.starts_with("✖ ") && line.contains(why), "{target}: {line}");
        assert!(line.split_once("→ Fix: ").is_some_and(|(_, told)| told.contains(fix)), "{target}: {line}");
    }
    for target in ["mistral/m", "ollama/m"] {
        let dead = ask_at(target, "http://127.0.0.1:9");
        assert_eq!(dead.code, 1, "{}", dead.all());
        assert!(line(&dead).contains("cannot connect") && line(&dead).contains("→ Fix: "), "{}", dead.all());
    }
    assert!(line(&ask_at("ollama/m", "http://127.0.0.1:9")).contains("http://127.0.0.1:9/"));
}

#[test]
fn nothing_is_asked_without_online_and_a_line_names_every_tier_of_a_model() {
    let (url, asked) = serve(vec![("GET /v1/models/claude-haiku-4-5", 200, json!({ "id": "claude-haiku-4-5" }))]);
    let project = Project::python();
    let program = Program::with_anthropic(&url).with("UPSHIFT_SANDBOX", "off");
    let ladder = ["--tiers", "claude-haiku-4-5 x1 > claude-haiku-4-5 x2 full", "--test-command", project.test_command];
    let offline = program.run(project.path(), &[&["doctor"], ladder.as_slice()].concat());
    assert!(!offline.out.contains("model: ") && asked.lock().expect("a lock").is_empty(), "{}", offline.all());
    let online = program.run(project.path(), &[&["doctor", "--online"], ladder.as_slice()].concat());
    assert!(line(&online).contains("anthropic/claude-haiku-4-5 (tier 1, tier 2): "), "{}", online.all());
    assert_eq!(asked.lock().expect("a lock").len(), 1, "one model, one question");
}
