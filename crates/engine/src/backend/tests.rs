//! Targets, and the command lines of sessions.

use std::path::Path;

use super::*;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

#[test]
fn a_target_names_an_agent_and_perhaps_its_model() {
    for (target, agent, model) in [
        ("cli/claude", Backend::Claude, "anthropic/claude-sonnet-5-5"),
        ("cli/claude:claude-opus-5-5", Backend::Claude, "anthropic/claude-opus-5-5"),
        ("cli/claude:some-tuned-one", Backend::Claude, "anthropic/some-tuned-one"),
        ("cli/codex:gpt-6-luna", Backend::Codex, "openai/gpt-6-luna"),
        ("cli/opencode:mistral/devstral-latest", Backend::OpenCode, "mistral/devstral-latest"),
        ("cli/qwen:mine/qwen3:30b", Backend::Qwen, "mine/qwen3:30b"),
    ] {
        assert_eq!(Backend::of(&id(target)), Some(agent), "{target}");
        assert_eq!(answering(&id(target)), id(model), "{target}");
    }
    for target in ["claude-opus-5-5", "anthropic/claude", "cli/clade", "ollama/claude:latest"] {
        assert_eq!((Backend::of(&id(target)), answering(&id(target))), (None, id(target)), "{target}");
    }
    assert_eq!(Backend::Claude.model_of(&id("cli/claude:")), None);
}

fn order<'o>(is_confined: bool, reads_only: bool) -> Order<'o> {
    Order {
        prompt: "the task",
        model: "the-model",
        side_model: "the-side-model",
        spoken: Spoken::Chat,
        url: "http://127.0.0.1:9",
        token: "upshift-placeholder",
        home: Path::new("/home/of/it"),
        window: 200_000,
        max_output: 8_192,
        reads_only,
        is_confined,
    }
}

#[test]
fn each_agent_is_told_its_task_its_model_its_gateway_and_its_placeholder() {
    for backend in Backend::ALL {
        let Invocation { arguments, variables, files } = backend.invoke(&order(true, false));
        assert!(arguments.contains(&"the task".to_owned()), "{backend:?}: {arguments:?}");
        let everything = format!("{arguments:?} {variables:?} {files:?}");
        for part in ["the-model", "http://127.0.0.1:9", "upshift-placeholder"] {
            assert!(everything.contains(part), "{backend:?} is not told {part}: {everything}");
        }
        assert!(files.iter().all(|(path, _)| path.is_relative()), "{backend:?}");
        assert!(
            !arguments.iter().any(|argument| argument.contains("upshift-placeholder")),
            "{backend:?}: others may read it"
        );
    }
}

#[test]
fn codex_has_a_sandbox_of_its_own_where_ours_is_not() {
    let sandbox = |is_confined, reads_only| {
        let arguments = Backend::Codex.invoke(&order(is_confined, reads_only)).arguments;
        let at = arguments.iter().position(|argument| argument == "--sandbox").unwrap();
        arguments[at + 1].clone()
    };
    assert_eq!(sandbox(true, false), "danger-full-access");
    assert_eq!((sandbox(false, false), sandbox(false, true)), ("workspace-write".to_owned(), "read-only".to_owned()));
}

#[test]
fn a_line_without_an_end_is_bounded() {
    let mut stream = AgentStream::of(Backend::Claude);
    for _ in 0..20 {
        assert!(stream.push(&[b'x'; 1_000_000]).is_empty());
    }
    let events = stream.push(b"\n{\"type\":\"brand.new\"}\n");
    assert_eq!(events.len(), 2);
    assert_eq!(events[1], AgentEvent::Unknown { kind: "brand.new".to_owned() });
}

#[test]
fn outside_of_our_sandbox_no_agent_is_freed_of_its_own_approvals() {
    for backend in Backend::ALL {
        for reads_only in [false, true] {
            let Invocation { arguments, files, .. } = backend.invoke(&order(false, reads_only));
            let everything = format!("{arguments:?} {files:?}");
            for freed in ["yolo", "dangerous", "allow-all", "bypass", "danger-full-access", "full-auto"] {
                assert!(!everything.contains(freed), "{backend:?} gets {freed}: {everything}");
            }
            let allowed = option(&arguments, "--allowedTools");
            assert!(!allowed.contains("Bash"), "{backend:?}: {everything}");
        }
    }
    let mode = |backend: Backend| option(&backend.invoke(&order(false, false)).arguments, "--approval-mode");
    assert_eq!((mode(Backend::Gemini), mode(Backend::Qwen)), ("auto_edit".to_owned(), "auto-edit".to_owned()));
    let opencode = Backend::OpenCode.invoke(&order(false, false)).files[0].1.clone();
    let settings: serde_json::Value = serde_json::from_str(&opencode).unwrap();
    assert_eq!((&settings["permission"]["edit"], &settings["permission"]["bash"]), (&"allow".into(), &"deny".into()));
}

fn option(arguments: &[String], name: &str) -> String {
    let at = arguments.iter().position(|argument| argument == name);
    at.and_then(|at| arguments.get(at + 1)).cloned().unwrap_or_default()
}
