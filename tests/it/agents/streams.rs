//! Recorded streams of the six agents (their versions in `tests/fixtures/agents/README.md`), cut at every byte.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use upshift::backend::{AgentEvent, AgentStream, Backend, SubAgentState, SubAgents};
use upshift::domain::model_id::ModelId;
use upshift::model::catalogue;

/// Every recorded stream of an agent, by its situation.
fn recorded(backend: Backend) -> Vec<(String, Vec<u8>)> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(format!("{}.gz", backend.as_str()));
    let mut all = Vec::new();
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    flate2::read::GzDecoder::new(file).read_to_end(&mut all).expect("gzip");
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for line in all.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_prefix(b"== ") {
            Some(name) => found.push((String::from_utf8_lossy(name).trim().to_owned(), Vec::new())),
            None => found.last_mut().expect("a name first").1.extend_from_slice(line),
        }
    }
    found
}

fn whole(backend: Backend, bytes: &[u8]) -> Vec<AgentEvent> {
    let mut stream = AgentStream::of(backend);
    let mut events = stream.push(bytes);
    events.extend(stream.finish());
    events
}

fn of(backend: Backend, situation: &str) -> Vec<AgentEvent> {
    let found = recorded(backend).into_iter().find(|(name, _)| name == situation);
    whole(backend, &found.unwrap_or_else(|| panic!("no {situation} of {backend:?}")).1)
}

#[test]
fn b22_every_recorded_stream_reads_the_same_wherever_it_is_cut() {
    for backend in Backend::ALL {
        let all = recorded(backend);
        assert!(all.len() >= 20, "{backend:?}: {}", all.len());
        for (name, bytes) in all {
            let expected = whole(backend, &bytes);
            // One byte at a time: every place is a cut.
            let mut stream = AgentStream::of(backend);
            let mut events: Vec<AgentEvent> = bytes.iter().flat_map(|byte| stream.push(&[*byte])).collect();
            events.extend(stream.finish());
            assert_eq!(events, expected, "{backend:?} {name}");
            // In pieces of a size that shares nothing with lines.
            let mut stream = AgentStream::of(backend);
            let mut events: Vec<AgentEvent> = bytes.chunks(1_021).flat_map(|piece| stream.push(piece)).collect();
            events.extend(stream.finish());
            assert_eq!(events, expected, "{backend:?} {name}");
        }
    }
}

#[test]
fn b24_each_agents_words_tools_and_end_are_read() {
    for (backend, edit) in [
        (Backend::Claude, "Edit"),
        (Backend::Codex, "file_change"),
        (Backend::OpenCode, "edit"),
        (Backend::Gemini, "replace"),
        (Backend::Copilot, "edit"),
        (Backend::Qwen, "edit"),
    ] {
        let events = of(backend, "fix");
        let mut text = String::new();
        let (mut tools, mut answers, mut ok) = (Vec::new(), BTreeSet::new(), None);
        for event in &events {
            match event {
                AgentEvent::Text { text: said, by: None, .. } => text.push_str(said),
                AgentEvent::ToolUse { id, name, subject, .. } => {
                    tools.push((id.clone(), name.clone(), subject.clone()))
                }
                AgentEvent::ToolResult { id, .. } => drop(answers.insert(id.clone())),
                AgentEvent::End { ok: well } => ok = Some(*well),
                AgentEvent::Text { .. }
                | AgentEvent::Started { .. }
                | AgentEvent::Usage(_)
                | AgentEvent::SubAgent { .. }
                | AgentEvent::RateLimit { .. }
                | AgentEvent::Trouble { .. }
                | AgentEvent::Unknown { .. } => {}
            }
        }
        assert!(text.contains("Done: sub() now returns a - b"), "{backend:?}: {text}");
        assert!(!text.contains("MAINTASK"), "B15: {backend:?} repeats its prompt");
        let edits: Vec<_> = tools.iter().filter(|(_, name, _)| name == edit).collect();
        assert_eq!(edits.len(), 1, "{backend:?}: {tools:?}");
        assert!(edits[0].2.ends_with("calc.py"), "{backend:?}: {tools:?}");
        assert!(tools.iter().all(|(id, ..)| answers.contains(id)), "{backend:?}: {tools:?} {answers:?}");
        assert_eq!(ok, Some(true), "{backend:?}");
    }
}

#[test]
fn rate_limits_that_agents_tell_are_read_as_such() {
    for backend in [Backend::Claude, Backend::Codex, Backend::Copilot] {
        let events = of(backend, "429_plain");
        assert!(events.iter().any(|event| matches!(event, AgentEvent::RateLimit { .. })), "{backend:?}");
    }
}

#[test]
fn sub_agents_are_a_tree_with_its_states() {
    for backend in [Backend::Claude, Backend::Codex, Backend::Copilot, Backend::Qwen] {
        let situation = if backend == Backend::Codex { "subagent_v1" } else { "subagent" };
        let mut agents = SubAgents::default();
        of(backend, situation).iter().for_each(|event| drop(agents.take(event)));
        assert_eq!(agents.len(), 1, "{backend:?}: {agents:?}");
        let (_, agent) = agents.iter().next().expect("one");
        assert_eq!(agent.depth, 1);
        if backend != Backend::Codex {
            assert_eq!((agent.state, agent.tokens > 0), (SubAgentState::Completed, true), "{backend:?}: {agent:?}");
        }
    }
}

#[test]
fn the_caller_of_a_call_is_the_parent_of_what_it_starts() {
    // As recorded, one level deeper: the caller is named by the call that started it.
    let lines = [
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "c1", "name": "Agent"}]}, "parent_tool_use_id": null}),
        json!({"type": "system", "subtype": "task_started", "task_id": "a", "tool_use_id": "c1"}),
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "c2", "name": "Agent"}]}, "parent_tool_use_id": "c1"}),
        json!({"type": "system", "subtype": "task_started", "task_id": "b", "tool_use_id": "c2"}),
        // Of a call that nobody heard of, the depth is known at least.
        json!({"type": "system", "subtype": "task_started", "task_id": "c", "tool_use_id": "c3", "spawn_depth": 3}),
        json!({"type": "system", "subtype": "task_updated", "task_id": "b", "patch": {"status": "completed"}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut agents = SubAgents::default();
    whole(Backend::Claude, text.as_bytes()).iter().for_each(|event| drop(agents.take(event)));
    let told: Vec<_> = agents.iter().map(|(id, agent)| (id, agent.parent.as_deref(), agent.depth)).collect();
    assert_eq!(told, [("a", None, 1), ("b", Some("a"), 2), ("c", None, 3)]);
}

#[test]
fn what_no_agent_ever_said_is_kept_and_no_error() {
    for backend in Backend::ALL {
        let events = whole(backend, b"not JSON\n[1]\n{\"type\":\"brand.new\"}\n{}\n\xff\xfe\n");
        assert_eq!(events.len(), 5, "{backend:?}: {events:?}");
        assert!(events.iter().all(|event| matches!(event, AgentEvent::Unknown { .. })), "{backend:?}: {events:?}");
    }
}

#[test]
fn each_agents_usual_model_has_a_price() {
    for backend in Backend::ALL {
        let model = backend
            .model_of(&ModelId::parse(&format!("cli/{}", backend.as_str())).expect("a target"))
            .expect("a model");
        assert!(catalogue::lookup(&model).is_some_and(|info| info.price.is_some()), "{backend:?}: {model}");
    }
}
