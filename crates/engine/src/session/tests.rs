//! Whole sessions against a scripted provider, in paused time: waits cost nothing, and every test ends by checking that
//! each reservation has exactly one receipt.

mod anything;
mod blocks;
mod ending;
mod failures;
mod money;
mod mutations;
mod stopping;
mod text;
mod tools;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::audit::{Cap, Journal, Scope, Store};
use crate::domain::bill::Bill;
use crate::domain::budget::Budget;
use crate::domain::catalogue::{ModelFacts, ModelInfo, Price};
use crate::domain::chat::{ChatRequest, Message, Reply, StopReason, Usage};
use crate::domain::clock::{Clock, Timestamp};
use crate::domain::event::{EventSink, RunStarted};
use crate::domain::foreign::Mark;
use crate::domain::ladder::Role;
use crate::domain::meta::{self, MetaBlock};
use crate::domain::model_id::ModelId;
use crate::domain::receipt::{CallStatus, Receipt};
use crate::domain::stop::{Stop, StopSource};
use crate::domain::tool::{ToolCall, ToolSpec};
use crate::domain::units::{MicroUsd, RunId};
use crate::model::{CallFailure, Provider, Providers, ReplyFuture};
use crate::redact::Redactor;
use crate::workspace::{PathRules, Workspace};

/// The usage of every reply of a script unless it says otherwise: 140 micro-dollars at [`PRICE`].
const USAGE: Usage = Usage { input: 100, output: 20, cache_read: 0, cache_write: 0, reasoning: 0 };
/// A dollar and two dollars a million tokens: one and two micro-dollars a token.
const PRICE: Price = Price { input: 1_000_000, output: 2_000_000, cache_read: 100_000, cache_write: 1_250_000 };
/// A secret that the log takes out of everything that it keeps.
const SECRET: &str = "sk-very-secret-0123456789";
const CALC: &str = "def add(a, b):\n    return a - b\n";

/// One answer of the scripted provider.
#[derive(Debug, Clone)]
enum Step {
    Reply(Reply),
    Fail(CallFailure),
    /// Never answers.
    Hang,
}

/// A provider that answers by its script, and hangs when that is at its end.
#[derive(Debug)]
struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    seen: Arc<Mutex<Vec<ChatRequest>>>,
}

impl Provider for Scripted {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        self.seen.lock().unwrap().push(request.clone());
        let step = self.steps.lock().unwrap().pop_front().expect("a call that the script did not foresee");
        Box::pin(async move {
            match step {
                Step::Reply(reply) => Ok(reply),
                Step::Fail(failure) => Err(failure),
                Step::Hang => std::future::pending().await,
            }
        })
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        serde_json::to_string(request).unwrap().len() as u64
    }
}

/// A clock that follows tokio's paused time.
#[derive(Debug)]
struct Paused(tokio::time::Instant);

impl Clock for Paused {
    fn unix_ms(&self) -> i64 {
        0
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

/// Remembers events. May raise a stop at one.
struct Recorder {
    events: Rc<RefCell<Vec<Event>>>,
    trigger: Rc<RefCell<Option<Trigger>>>,
}

type Trigger = Box<dyn FnMut(&Event)>;

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl EventSink for Recorder {
    fn emit(&mut self, event: &Event) {
        self.events.borrow_mut().push(event.clone());
        if let Some(trigger) = self.trigger.borrow_mut().as_mut() {
            trigger(event);
        }
    }
}

/// A session's whole world.
struct Bench {
    dir: tempfile::TempDir,
    scripts: Vec<(ModelId, Vec<Step>)>,
    facts: ModelFacts,
    journal: Journal,
    events: Rc<RefCell<Vec<Event>>>,
    trigger: Rc<RefCell<Option<Trigger>>>,
    seen: Arc<Mutex<Vec<ChatRequest>>>,
    run: RunId,
    cap: MicroUsd,
    stop: (Rc<StopSource>, Stop),
    wrap_up: (Rc<StopSource>, Stop),
    memory: Memory,
    replay: Vec<(Receipt, Option<Reply>)>,
    role: Role,
    limits: Limits,
    test_answers: RefCell<VecDeque<TestAnswer>>,
    redactor: Redactor,
    commands: Vec<String>,
    meta: Vec<MetaBlock>,
    blocks_need_change: bool,
    destinations: Vec<Destination>,
    /// Names of tools from outside, each of which says that it heard.
    outside: Vec<&'static str>,
}

/// The answer of the scripted test run.
#[derive(Debug)]
enum TestAnswer {
    Says(&'static str),
    Fails(&'static str),
    Hangs,
}

fn outside<'a>(names: &[&str]) -> OutsideTools<'a> {
    let spec = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: "Looks things up.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    let call = Box::new(|_call| -> OutsideFuture<'a> { Box::pin(async { Ok("heard".to_owned()) }) });
    OutsideTools { specs: names.iter().map(spec).collect(), call, lost: Vec::new() }
}

impl Bench {
    /// One target, `a/big`, with this script.
    fn new(steps: Vec<Step>) -> Self {
        Self::with_targets(vec![("a/big", steps)])
    }

    fn with_targets(scripts: Vec<(&str, Vec<Step>)>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("repo/src")).unwrap();
        std::fs::write(dir.path().join("repo/calc.py"), CALC).unwrap();
        let events = Rc::new(RefCell::new(Vec::new()));
        let trigger = Rc::new(RefCell::new(None));
        let recorder = Recorder { events: Rc::clone(&events), trigger: Rc::clone(&trigger) };
        let run = RunId::random();
        let redactor = Redactor::new(&[secrecy::SecretString::from(SECRET)]);
        let mut store = Store::in_memory(Arc::new(redactor)).unwrap();
        store.begin_run(&started(&run), 1, "{}").unwrap();
        let info = ModelInfo {
            context_window: 200_000,
            max_output_tokens: 8_000,
            price: Some(PRICE),
            tools: true,
            source: "test".to_owned(),
        };
        let scripts: Vec<(ModelId, Vec<Step>)> =
            scripts.into_iter().map(|(target, steps)| (id(target), steps)).collect();
        let facts = ModelFacts(scripts.iter().map(|(target, _)| (target.clone(), info.clone())).collect());
        let flag = || {
            let (source, stop) = StopSource::new();
            (Rc::new(source), stop)
        };
        Self {
            dir,
            scripts,
            facts,
            journal: Journal::new(store, vec![Box::new(recorder)]),
            events,
            trigger,
            seen: Arc::default(),
            run,
            cap: MicroUsd(10_000_000),
            stop: flag(),
            wrap_up: flag(),
            memory: Memory::default(),
            replay: Vec::new(),
            role: Role::Artisan,
            limits: Limits::default(),
            test_answers: RefCell::default(),
            redactor: Redactor::default(),
            commands: Vec::new(),
            meta: Vec::new(),
            blocks_need_change: false,
            destinations: Vec::new(),
            outside: Vec::new(),
        }
    }

    fn info(&mut self, target: &str) -> &mut ModelInfo {
        self.facts.0.get_mut(&id(target)).unwrap()
    }

    fn without_tools(mut self) -> Self {
        self.info("a/big").tools = false;
        self
    }

    /// Calls back at every event.
    fn at_events(&self, trigger: impl FnMut(&Event) + 'static) {
        *self.trigger.borrow_mut() = Some(Box::new(trigger));
    }

    fn repo(&self) -> std::path::PathBuf {
        self.dir.path().join("repo")
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo().join(path)).unwrap()
    }

    /// Holds the session and checks what must hold after every one.
    async fn run(&mut self) -> SessionEnd {
        let mut providers: BTreeMap<String, Box<dyn Provider>> = BTreeMap::new();
        for (target, steps) in &self.scripts {
            let script = Scripted { steps: Mutex::new(steps.clone().into()), seen: Arc::clone(&self.seen) };
            assert!(providers.insert(target.provider.clone(), Box::new(script)).is_none(), "one script a provider");
        }
        let providers = Providers(providers);
        let rules = PathRules::default();
        let workspace = Workspace::open(&self.repo(), &self.dir.path().join("shadow"), rules).await.unwrap();
        let clock = Paused(tokio::time::Instant::now());
        let book = RefCell::new(&mut self.journal);
        let answers = &self.test_answers;
        let run_tests: RunTests<'_> = Box::new(move |_filter| {
            let answer = answers.borrow_mut().pop_front().expect("a test run that was not foreseen");
            Box::pin(async move {
                match answer {
                    TestAnswer::Says(text) => Ok(text.to_owned()),
                    TestAnswer::Fails(text) => Err(crate::workspace::ToolError::Fatal(text.to_owned())),
                    TestAnswer::Hangs => std::future::pending().await,
                }
            })
        });
        let mut ports = Ports {
            providers: &providers,
            facts: &self.facts,
            journal: Book::over(&book),
            caps: vec![Cap { scope: Scope::Run(self.run.clone()), max: self.cap }],
            toolbox: Toolbox {
                workspace: Arc::new(workspace),
                run_tests: Some(run_tests),
                run_command: Some(Box::new(|argv| Box::pin(async move { Ok(format!("ran {argv:?}")) }))),
                allow_commands: self.commands.clone(),
                outside: (!self.outside.is_empty()).then(|| outside(&self.outside)),
            },
            stop: self.stop.1.clone(),
            wrap_up: self.wrap_up.1.clone(),
            clock: &clock,
            redactor: &self.redactor,
            replay: Replay::of(std::mem::take(&mut self.replay)),
            memory: &mut self.memory,
        };
        let spec = SessionSpec {
            role: self.role,
            agent: String::new(),
            tier_index: 1,
            iteration: 2,
            targets: self.scripts.iter().map(|(target, _)| target.clone()).collect(),
            system: "You fix code.".to_owned(),
            mark: Mark::fixed("e1m4rk"),
            first_message: "The test test_add fails: assert add(1, 2) == 3".to_owned(),
            lineage: None,
            limits: self.limits.clone(),
            effort: None,
            temperature: None,
            meta: self.meta.clone(),
            blocks_need_change: self.blocks_need_change,
            destinations: self.destinations.clone(),
        };
        let end = converse(spec, &mut ports).await;
        drop(ports);
        self.check(&end);
        end
    }

    /// No money lost, none counted twice. Begun and finished once.
    fn check(&self, end: &SessionEnd) {
        let events = self.events.borrow();
        let reserved: Vec<&String> = events
            .iter()
            .filter_map(|event| if let Event::CallReserved { call_id, .. } = event { Some(call_id) } else { None })
            .collect();
        let receipts = self.receipts();
        let settled: Vec<&String> = receipts.iter().map(|receipt| &receipt.call_id).collect();
        assert_eq!(reserved, settled, "every call that was reserved is settled once, in order");
        assert_eq!(receipts.iter().map(|receipt| receipt.charge().total()).sum::<MicroUsd>(), end.cost.total());
        let whole = Cap { scope: Scope::Run(self.run.clone()), max: MicroUsd(1_000_000_000) };
        let left = self.journal.store().left(std::slice::from_ref(&whole));
        assert_eq!(whole.max.saturating_sub(left), end.cost.total(), "the log agrees, and nothing stays reserved");
        assert!(receipts.iter().all(|receipt| receipt.scope.session_id == end.session_id));
        assert!(receipts.iter().all(|receipt| receipt.scope.root_session_id == end.session_id));
        assert!(matches!(events.first(), Some(Event::SessionStarted { .. })));
        assert!(matches!(events.last(), Some(Event::SessionFinished { .. })));
    }

    fn receipts(&self) -> Vec<Receipt> {
        let receipt =
            |event: &Event| if let Event::CallSettled(receipt) = event { Some(receipt.clone()) } else { None };
        self.events.borrow().iter().filter_map(receipt).collect()
    }

    fn statuses(&self) -> Vec<CallStatus> {
        self.receipts().iter().map(|receipt| receipt.status).collect()
    }

    fn asked(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.target.to_string()).collect()
    }

    fn requests(&self) -> Vec<ChatRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// The last message to the model before its nth reply.
    fn told(&self, nth: usize) -> String {
        match self.requests()[nth].messages.last().unwrap() {
            Message::User { text } => text.clone(),
            Message::Tools { results, note } => {
                let results: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
                format!("{}\n{note}", results.join("\n"))
            }
            Message::Assistant { .. } => panic!("a request must not end with a reply"),
        }
    }
}

fn started(run: &RunId) -> RunStarted {
    RunStarted {
        run_id: run.clone(),
        objective: "make it green".to_owned(),
        working_directory: ".".to_owned(),
        test_command: "true".to_owned(),
        tier_config_path: "(none)".to_owned(),
        tiers: Vec::new(),
        budget: Budget { max_cost: MicroUsd(1), max_iterations: 1, max_active_ms: 1 },
        audit_db: None,
        started_at: Timestamp::from_unix_ms(0),
        command: None,
        task: None,
    }
}

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

fn reply(text: &str, calls: &[(&str, Value)]) -> Reply {
    let tool_calls = calls.iter().enumerate().map(|(index, (name, arguments))| ToolCall {
        id: format!("{name}-{index}-{}", uuid::Uuid::new_v4().simple()),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
    });
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    Reply {
        text: text.to_owned(),
        tool_calls: tool_calls.collect(),
        stop,
        usage: Some(USAGE),
        opaque: None,
        billed_model: None,
        bill: Bill::default(),
    }
}

fn says(text: &str) -> Step {
    Step::Reply(reply(text, &[]))
}

fn calls(calls: &[(&str, Value)]) -> Step {
    Step::Reply(reply("", calls))
}

fn read_calc() -> Step {
    calls(&[("read_file", json!({"path": "calc.py"}))])
}

fn edit_calc() -> (&'static str, Value) {
    ("edit_file", json!({"path": "calc.py", "old_text": "a - b", "new_text": "a + b"}))
}

fn report() -> (&'static str, Value) {
    ("final_report", json!({"summary": "Fixed the sign.", "status": "done"}))
}

fn done() -> Step {
    calls(&[report()])
}

fn failure(status: CallStatus, retryable: bool) -> CallFailure {
    CallFailure {
        status,
        message: format!("the vendor said {}", status.as_str()),
        http_status: None,
        retry_after_ms: None,
        retryable,
        usage: None,
        may_be_billed: false,
        bill: Box::default(),
    }
}

fn fails(status: CallStatus, retryable: bool) -> Step {
    Step::Fail(failure(status, retryable))
}

fn is_done(end: &SessionEnd) -> bool {
    end.report == FinalReport::Done { summary: "Fixed the sign.".to_owned() }
}

fn failed(end: &SessionEnd) -> &FailureReason {
    let FinalReport::Synthetic { reason } = &end.report else { panic!("{end:?}") };
    reason
}

fn exists(path: &Path) -> bool {
    path.exists()
}
