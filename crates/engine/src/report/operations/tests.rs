use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::outcome::Outcome;
use crate::domain::session_exit::SessionExit;
use crate::report::fixtures::{self, Script};
use crate::report::jsonl::Stream;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(1_771_338_181_456 + ms)
}

fn started(session: &str) -> Event {
    Event::SessionStarted {
        role: Role::Artisan,
        session_id: session.to_owned(),
        target: "a/m".to_owned(),
        agent: String::new(),
    }
}

fn finished(session: &str) -> Event {
    Event::SessionFinished {
        role: Role::Artisan,
        session_id: session.to_owned(),
        target: "a/m".to_owned(),
        turns: 1,
        result: "done".to_owned(),
        summary: "so".to_owned(),
        blocked_on: Vec::new(),
        exit: "EXIT-FINAL-ANSWER".to_owned(),
    }
}

fn tool(subject: &str) -> Event {
    Event::ToolFinished {
        role: Role::Artisan,
        turn: 1,
        name: "read_file".to_owned(),
        subject: subject.to_owned(),
        ok: true,
        duration_ms: 3,
        exit: String::new(),
        session_id: String::new(),
        status: String::new(),
        why: String::new(),
    }
}

/// One iteration of one session that calls a model and a tool.
fn script() -> Vec<Event> {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    script.push(started("s"));
    script.call(0, 1, Role::Artisan, 12);
    script.push(tool("a.py<script>"));
    script.push(finished("s"));
    script.finish(Outcome::Exhausted, "no more", &[]);
    script.events
}

fn folded(events: &[Event]) -> Fold {
    let mut fold = Fold::default();
    for (n, event) in (0..).zip(events) {
        fold.hear(event, Some(&at(n * 10)));
    }
    fold
}

fn document(fold: &Fold) -> Value {
    serde_json::from_str(&json(fold.run_id(), fold.operations())).unwrap()
}

#[test]
fn a_call_hangs_below_its_turn_session_iteration_tier_and_run() {
    let document = document(&folded(&script()));
    let run = &document["trace"];
    assert_eq!((&run["kind"], &run["operations"][0]["name"]), (&"run".into(), &"baseline".into()));
    let session = &run["operations"][1]["operations"][0]["operations"][0];
    assert_eq!((&session["name"], &session["exit"]), (&"invoke_agent artisan".into(), &"EXIT-FINAL-ANSWER".into()));
    assert_eq!(session["agent_path"], "tier-1/iteration-1/artisan");
    let calls = session["operations"][0]["operations"].as_array().unwrap();
    let kinds: Vec<&Value> = calls.iter().map(|call| &call["kind"]).collect();
    assert_eq!(kinds, ["model", "tool"]);
    assert!(calls[0]["attributes"]["gen_ai.usage.input_tokens"].is_u64(), "{calls:?}");
    assert_eq!(calls[1]["duration_ms"], 3);
}

#[test]
fn a_session_whose_process_died_says_so_and_so_does_one_without_an_end() {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    script.push(started("a"));
    script.push(Event::InvocationStarted { invocation: 2, pid: 7 });
    script.push(started("b"));
    script.finish(Outcome::Exhausted, "no more", &[]);
    let fold = folded(&script.events);
    let sessions: Vec<&str> =
        fold.operations().iter().filter(|one| one.kind == Kind::Session).map(|one| one.exit.as_str()).collect();
    assert_eq!(sessions, ["EXIT-UNCAUGHT-EXCEPTION", "EXIT-UNKNOWN"]);
}

#[test]
fn a_run_that_was_killed_or_interrupted_says_so_at_its_root() {
    let root = |fold: &Fold| {
        let run = &fold.operations()[0];
        (run.exit.clone(), run.ok, run.end_ms.is_some())
    };
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    script.push(started("a"));
    let mut fold = folded(&script.events);
    assert_eq!(root(&fold), (String::new(), None, false), "it may be under way");
    fold.died();
    assert_eq!(root(&fold), ("EXIT-UNCAUGHT-EXCEPTION".to_owned(), Some(false), true));
    let mut fold = folded(&script.events);
    drop(fold.take_ended());
    fold.hear(&Event::InvocationStarted { invocation: 2, pid: 7 }, Some(&at(900)));
    assert!(fold.take_ended().contains(&0), "the dead process's own span is sent");
    assert_eq!(root(&fold).0, "EXIT-UNCAUGHT-EXCEPTION");
    fold.hear(&started("b"), Some(&at(950)));
    assert_eq!(root(&fold), (String::new(), None, false), "it continues");
    script.finish(Outcome::Interrupted { signal: 15 }, "stopped", &[]);
    let fold = folded(&script.events);
    assert_eq!(root(&fold), ("EXIT-SIGNAL-RECEIVED".to_owned(), Some(false), true));
    let session = fold.operations().iter().find(|one| one.kind == Kind::Session).unwrap();
    assert_eq!(session.exit, "EXIT-SIGNAL-RECEIVED");
}

/// S1-1 and S1-19: each session has an id of its own, that of who called it and that of the run, and says how it ended.
#[test]
fn a_session_names_itself_its_caller_the_first_one_and_its_end() {
    let mut events = script();
    let end = events.iter().position(|event| matches!(event, Event::SessionFinished { .. })).unwrap();
    let below = |session: &str| Event::SessionStarted {
        role: Role::Artisan,
        session_id: session.to_owned(),
        target: "a/m".to_owned(),
        agent: format!("artisan{}callers", crate::domain::receipt::BELOW),
    };
    events.splice(end..end, [below("t"), finished("t")]);
    let fold = folded(&events);
    let run = &fold.operations()[0];
    let run_id = run.attributes["ai.session.txn_id"].clone();
    assert_eq!((run_id.as_str(), &run.attributes["ai.session.origin_txn_id"]), (Some(fold.run_id()), &run_id));
    assert!(!run.attributes.contains_key("ai.session.parent_txn_id"), "nobody called the first one");
    let sessions: Vec<&Operation> = fold.operations().iter().filter(|one| one.kind == Kind::Session).collect();
    let told = |session: &Operation, key: &str| session.attributes[key].clone();
    for (session, id, parent, path) in [
        (sessions[0], "s", run_id.clone(), "tier-1/iteration-1/artisan"),
        (sessions[1], "t", "s".into(), "tier-1/iteration-1/artisan/agent/callers"),
    ] {
        assert_eq!(told(session, "ai.session.txn_id"), id);
        assert_eq!(told(session, "ai.session.parent_txn_id"), parent, "{path}");
        assert_eq!(told(session, "ai.session.origin_txn_id"), run_id);
        assert_eq!((session.agent_path.as_str(), told(session, "ai.agent.call_path")), (path, path.into()));
        assert!(session.attributes.contains_key("ai.agent.id"));
        assert_eq!(told(session, "ai.agent.success"), true);
        assert_eq!(told(session, "ai.agent.turn_count"), 1);
        assert_eq!(told(session, "ai.agent.final_report.status"), "done");
    }
}

/// The 22 of S1-15 in its order, and three of our own.
const EXITS: [SessionExit; 25] = [
    SessionExit::FinalAnswer,
    SessionExit::MaxTurnsWithResponse,
    SessionExit::UserStop,
    SessionExit::NoLlmResponse,
    SessionExit::EmptyResponse,
    SessionExit::AuthFailure,
    SessionExit::QuotaExceeded,
    SessionExit::ModelError,
    SessionExit::ToolFailure,
    SessionExit::McpConnectionLost,
    SessionExit::ToolNotAvailable,
    SessionExit::ToolTimeout,
    SessionExit::NoProviders,
    SessionExit::InvalidModel,
    SessionExit::McpInitFailed,
    SessionExit::InactivityTimeout,
    SessionExit::MaxRetries,
    SessionExit::TokenLimit,
    SessionExit::MaxTurnsNoResponse,
    SessionExit::UncaughtException,
    SessionExit::SignalReceived,
    SessionExit::Unknown,
    SessionExit::FinalMetaMissing,
    SessionExit::TimeUp,
    SessionExit::BudgetExhausted,
];

#[test]
fn every_way_to_end_reaches_the_lines_and_the_tree_from_sessions_and_from_tools() {
    let names: std::collections::BTreeSet<&str> = EXITS.iter().map(|exit| exit.as_str()).collect();
    assert_eq!(names.len(), EXITS.len(), "each has a name of its own");
    for exit in EXITS.map(SessionExit::as_str) {
        let ended = |mut event: Event| {
            if let Event::SessionFinished { exit: said, .. } | Event::ToolFinished { exit: said, .. } = &mut event {
                exit.clone_into(said);
            }
            event
        };
        let events: Vec<Event> = script().into_iter().map(ended).collect();
        let mut stream = Stream::default();
        let lines: String = events.iter().map(|event| stream.lines(event, Some(&at(0)))).collect();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let beside: Vec<Value> = lines.filter(|line| line["exit"] == exit).collect();
        let types: Vec<&str> = beside.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["tool_call", "agent_finished"], "{exit}");
        let document = document(&folded(&events));
        let session = &document["trace"]["operations"][1]["operations"][0]["operations"][0];
        let tool = &session["operations"][0]["operations"][1];
        assert_eq!((&session["exit"], &tool["exit"]), (&Value::from(exit), &Value::from(exit)), "{session}");
        let page = page::render("r", folded(&events).operations());
        assert_eq!(page.matches(exit).count(), 2, "{exit}");
    }
}

#[test]
fn a_page_holds_no_foreign_markup_and_no_more_operations_than_it_may() {
    let mut events = script();
    let end = events.pop().unwrap();
    events.extend((0..MANY).map(|_| tool("</details><img src=x>")));
    events.push(end);
    let fold = folded(&events);
    let page = page::render(fold.run_id(), fold.operations());
    assert!(!page.contains("<img") && !page.contains("<script"), "foreign text is escaped");
    assert!(page.contains(&format!("Shown are {} of {} operations", page::MOST, fold.operations().len())));
    assert_eq!(page.matches("<summary>").count(), page::MOST);
    assert!(page.contains("default-src 'none'"));
}

const MANY: usize = 6_000;

proptest! {
    #[test]
    fn any_piece_of_a_run_makes_a_tree(picks in prop::collection::vec(0_usize..400, 0..60)) {
        let events = fixtures::fixed().events;
        let more = script();
        let all: Vec<&Event> = events.iter().chain(&more).collect();
        let mut fold = Fold::default();
        for (n, pick) in (0..).zip(&picks) {
            fold.hear(all[pick % all.len()], Some(&at(n)));
        }
        for (index, one) in fold.operations().iter().enumerate() {
            prop_assert!(one.parent.is_none_or(|parent| parent < index), "a parent stands before its children");
            prop_assert!(one.end_ms.is_none_or(|end| end >= one.begin_ms));
        }
        let ended = fold.take_ended();
        prop_assert!(ended.iter().all(|index| fold.operations()[*index].end_ms.is_some()));
        serde_json::from_str::<Value>(&json(fold.run_id(), fold.operations())).unwrap();
    }
}
