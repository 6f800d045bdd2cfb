//! Telemetry to a collector on loopback, whose requests are read by the schema of OTLP's JSON form.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{TIERS, brief, full_mode};
use crate::world::model_server::ModelServer;
use crate::world::program::{Program, Said};
use crate::world::project::Project;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// What a collector was sent: head and body of each request.
type Seen = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector that answers each request with this status.
fn collector(status: &'static str) -> (String, Seen) {
    collector_of(&[(status, "{}")])
}

/// A collector with an answer for each of its first requests, the last for all others.
fn collector_of(answers: &[(&'static str, &'static str)]) -> (String, Seen) {
    let answers = answers.to_vec();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (kept, answers) = (Arc::clone(&kept), answers.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                loop {
                    let (mut head, mut line) = (String::new(), String::new());
                    while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
                        head.push_str(&std::mem::take(&mut line));
                    }
                    let length = head.lines().find_map(|line| {
                        line.to_ascii_lowercase().strip_prefix("content-length: ")?.trim().parse().ok()
                    });
                    let Some(length) = length else { return };
                    let mut body = vec![0_u8; length];
                    reader.read_exact(&mut body).expect("a body");
                    let mut kept = kept.lock().unwrap();
                    kept.push((head, body));
                    let (status, said) = answers[answers.len().min(kept.len()) - 1];
                    drop(kept);
                    let answer = format!(
                        "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-type: application/json\r\n\r\n{said}",
                        said.len()
                    );
                    reader.get_mut().write_all(answer.as_bytes()).expect("an answer");
                }
            });
        }
    });
    (url, seen)
}

/// A run in full mode with these variables.
fn run(variables: &[(&str, &str)]) -> (Said, usize) {
    let project = Project::python();
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), |_| brief()));
    let program = Program::with_anthropic(&server.url()).without_court();
    let program = variables.iter().fold(program, |program, (name, value)| program.with(name, value));
    let args = ["run", "--tiers", TIERS, "--audit-db", "audit.db", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    let calls = server.requests().len();
    server.finish();
    (said, calls)
}

/// An attribute's value as text.
fn attribute(span: &Value, key: &str) -> Option<String> {
    let found = span["attributes"].as_array()?.iter().find(|one| one["key"] == key)?;
    let (_, value) = found["value"].as_object()?.iter().next()?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// All spans, each checked by what OTLP says of its fields.
fn spans(seen: &Seen) -> Vec<Value> {
    let mut spans = Vec::new();
    for (head, body) in seen.lock().unwrap().iter() {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let body: Value = serde_json::from_slice(body).expect("JSON");
        for resource in body["resourceSpans"].as_array().expect("resourceSpans") {
            assert_eq!(attribute(&resource["resource"], "service.name").as_deref(), Some("upshift"));
            for scope in resource["scopeSpans"].as_array().expect("scopeSpans") {
                spans.extend(scope["spans"].as_array().expect("spans").iter().cloned());
            }
        }
    }
    for span in &spans {
        let is_hex = |value: &Value, length| {
            value.as_str().is_some_and(|id: &str| id.len() == length && id.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        assert!(is_hex(&span["traceId"], 32) && is_hex(&span["spanId"], 16), "{span}");
        let time = |key: &str| span[key].as_str().expect("text").parse::<u64>().expect("nanoseconds");
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
        assert!([1, 3].map(Value::from).contains(&span["kind"]), "{span}");
        let known = [
            "traceId",
            "spanId",
            "parentSpanId",
            "name",
            "kind",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "attributes",
            "status",
        ];
        assert!(span.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{span}");
    }
    spans
}

#[test]
fn a_collector_gets_every_operation_below_the_span_of_who_started_us() {
    let (url, seen) = collector("200 OK");
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let headers = "authorization=Bearer%20collector-key-4711";
    let (said, calls) = run(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
        ("TRACEPARENT", &parent),
        ("OTEL_EXPORTER_OTLP_HEADERS", headers),
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(!said.all().contains("collector-key"), "{}", said.all());
    assert!(seen.lock().unwrap().iter().all(|(head, _)| head.contains("authorization: Bearer collector-key-4711")));
    let spans = spans(&seen);
    let by_id: BTreeMap<&str, &Value> = spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "each span is sent once");
    assert!(spans.iter().all(|span| span["traceId"] == TRACE));
    let roots: Vec<&Value> = spans.iter().filter(|span| span["parentSpanId"] == PARENT).collect();
    assert_eq!((roots.len(), &roots[0]["name"]), (1, &json!("run")));
    for span in spans.iter().filter(|span| span["parentSpanId"] != PARENT) {
        assert!(
            by_id.contains_key(span["parentSpanId"].as_str().expect("a parent")),
            "a parent that never came: {span}"
        );
    }
    let chats: Vec<&Value> = spans.iter().filter(|span| span["name"] == "chat claude-haiku-4-5").collect();
    assert_eq!(chats.len(), calls);
    let has = |key| attribute(chats[0], key);
    assert_eq!(has("gen_ai.provider.name").as_deref(), Some("anthropic"));
    assert_eq!(has("gen_ai.operation.name").as_deref(), Some("chat"));
    assert!(has("gen_ai.usage.input_tokens").is_some() && chats[0]["kind"] == 3);
    let agents: Vec<Option<String>> = spans
        .iter()
        .filter(|span| span["name"].as_str().unwrap().starts_with("invoke_agent"))
        .map(|span| attribute(span, "ai.agent.call_path"))
        .collect();
    assert_eq!(agents.len(), 3);
    check_with_protobuf(&seen);
}

/// A first look at telemetry needs no key and no project.
#[test]
fn the_demos_trace_is_complete_and_taken_by_the_official_schema() {
    let (url, seen) = collector("200 OK");
    let folder = tempfile::tempdir().expect("a folder");
    let said = Program::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &url).run(folder.path(), &["demo"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let spans = spans(&seen);
    let ids: Vec<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    let roots: Vec<&Value> = spans.iter().filter(|span| span.get("parentSpanId").is_none()).collect();
    assert_eq!((roots.len(), &roots[0]["name"]), (1, &json!("run")));
    let below = spans.iter().filter_map(|span| span["parentSpanId"].as_str());
    assert!(below.clone().count() > 10 && below.clone().all(|parent| ids.contains(&parent)), "{spans:?}");
    check_with_protobuf(&seen);
}

#[test]
fn a_collector_that_refuses_or_is_not_there_costs_nothing_but_a_notice() {
    let (refusing, _) = collector("503 Service Unavailable");
    for (url, why) in [(refusing, "it answered 503"), ("http://127.0.0.1:1".to_owned(), "telemetry: ")] {
        let (said, _) = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.err.contains("⚠ telemetry: ") && said.err.contains(why), "{}", said.err);
    }
    let (said, _) = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "no address")]);
    assert!(
        said.code == 0 && said.err.contains("no telemetry is sent: OTEL_EXPORTER_OTLP_ENDPOINT is no"),
        "{}",
        said.err
    );
}

/// A process that was killed sends nothing any more. Who goes on with its run ends its span.
#[test]
fn a_killed_process_has_its_own_span_with_its_end_once_the_run_goes_on() {
    let (url, seen) = collector("200 OK");
    let (project, state) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), |_| brief()));
    let program = || {
        Program::with_anthropic(&server.url())
            .without_court()
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .with("OTEL_RESOURCE_ATTRIBUTES", &format!("team=shop,token={}", crate::world::program::KEY))
            .with("XDG_STATE_HOME", state.path().to_str().expect("text"))
    };
    let args = ["run", "--tiers", TIERS, "--audit-db", "audit.db", "--test-command", project.test_command];
    let killed = program().with("UPSHIFT_CRASH_AFTER", "tool_finished:1").run(project.path(), &args);
    assert_eq!(killed.code, -9, "{}", killed.all());
    let traced = |program: &Program| {
        let said = program.run(project.path(), &["trace", "--audit-db", "audit.db"]);
        let document: Value = serde_json::from_str(&said.out).expect("JSON");
        document["trace"]["exit"].as_str().map(str::to_owned)
    };
    let resumed = program();
    assert_eq!(traced(&resumed).as_deref(), Some("EXIT-UNCAUGHT-EXCEPTION"));
    let said = resumed.run(project.path(), &["resume", "--audit-db", "audit.db"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(traced(&resumed), None, "it ended well");
    server.finish();
    let spans = spans(&seen);
    let roots: Vec<Option<String>> =
        spans.iter().filter(|span| span["name"] == "run").map(|span| attribute(span, "upshift.exit")).collect();
    assert_eq!(roots, [Some("EXIT-UNCAUGHT-EXCEPTION".to_owned()), None]);
    let ids: Vec<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert!(spans.iter().filter_map(|span| span["parentSpanId"].as_str()).all(|parent| ids.contains(&parent)));
    for (_, body) in seen.lock().unwrap().iter() {
        let body = String::from_utf8_lossy(body);
        assert!(body.contains("team") && !body.contains(crate::world::program::KEY), "{body}");
    }
}

#[test]
fn spans_that_a_collector_leaves_out_are_told_and_one_that_is_busy_is_asked_again() {
    const LEFT_OUT: &str = r#"{"partialSuccess": {"rejectedSpans": "5", "errorMessage": "over quota"}}"#;
    let (url, _) = collector_of(&[("200 OK", LEFT_OUT), ("200 OK", r#"{"partialSuccess": {}}"#)]);
    let (said, _) = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("it left out 5 spans: over quota"), "{}", said.err);

    let (url, seen) = collector_of(&[("429 Too Many Requests\r\nretry-after: 1", "{}"), ("200 OK", "{}")]);
    let (said, _) = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    assert!(said.code == 0 && !said.err.contains("telemetry"), "{}", said.all());
    let bodies: Vec<Vec<u8>> = seen.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
    assert!(bodies.len() > 1 && bodies[0] == bodies[1], "it came once more");
}

#[test]
fn a_collector_that_never_answers_does_not_hold_the_end_of_a_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (said, _) = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("did not take everything in time"), "{}", said.err);
    drop(listener);
}

/// Reads the requests with the official schema, where it is installed (`.ci/mcp`).
fn check_with_protobuf(seen: &Seen) {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools/otel/bin/python");
    if !python.exists() {
        assert!(std::env::var_os("UPSHIFT_TEST_OTLP").is_none(), "the schema is to be there: {}", python.display());
        return;
    }
    let script = "import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
for line in sys.stdin:
    read = json_format.Parse(line, ExportTraceServiceRequest())
    assert read.resource_spans[0].scope_spans[0].spans[0].start_time_unix_nano > 0
";
    let mut child = Command::new(python).args(["-c", script]).stdin(Stdio::piped()).spawn().expect("python");
    let mut input = child.stdin.take().expect("a pipe");
    for (_, body) in seen.lock().unwrap().iter() {
        input.write_all(body).and_then(|()| input.write_all(b"\n")).expect("written");
    }
    drop(input);
    assert!(child.wait().expect("an end").success(), "the official schema takes it");
}
