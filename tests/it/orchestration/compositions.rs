//! Advisors, sub-agents two deep, a server of tools, a web service, a router, a handoff, META and the cache together: whatever each of them
//! does, the caps hold, each receipt counts once, and the verdict is that of the tests.

use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::web::Web;
use super::{Held, TIERS};
use crate::world::model_server::{Request, Say, Scripted};

/// What an agent beside the roles does when it is asked.
#[derive(Debug, Clone, Copy)]
enum Way {
    Off,
    Speaks,
    Fails,
    Blocked,
    Babbles,
}

impl Way {
    fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    fn answer(self) -> Scripted {
        match self {
            Self::Off => panic!("nobody asks who is off"),
            Self::Speaks => {
                Say::call("final_report", json!({ "summary": "so it is", "status": "done" })).usage(700, 30).into()
            }
            Self::Fails => Scripted::status(400, "{}"),
            Self::Blocked => {
                let report = json!({ "summary": "no", "status": "blocked", "reason": "no input" });
                Say::call("final_report", report).usage(700, 30).into()
            }
            Self::Babbles => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(700, 30).into(),
        }
    }
}

/// What becomes of a tool from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outside {
    Off,
    Answers,
    /// Its server ends, or the service has nothing but an error.
    Fails,
    /// The vendor refuses requests with it.
    Refused,
}

impl Outside {
    fn is_on(self) -> bool {
        self != Self::Off
    }

    /// One of two tools of a source that is called, if any can be.
    fn pick<'n>(self, answers: &'n str, fails: &'n str) -> Option<&'n str> {
        match self {
            Self::Off | Self::Refused => None,
            Self::Answers => Some(answers),
            Self::Fails => Some(fails),
        }
    }
}

/// A composition, and the money that it may spend.
#[derive(Debug, Clone, Copy)]
struct Composed {
    advisor: Way,
    specialist: Way,
    text: Way,
    sub_agent: Way,
    server: Outside,
    service: Outside,
    /// Whether the sub-agent calls another before it answers.
    deep: bool,
    /// Whether the advisor calls the sub-agent, too.
    advisor_calls: bool,
    meta: bool,
    gives_meta: bool,
    cache: bool,
    cap_micro_usd: u32,
}

fn ways() -> impl Strategy<Value = Way> {
    prop_oneof![Just(Way::Off), Just(Way::Speaks), Just(Way::Fails), Just(Way::Blocked), Just(Way::Babbles)]
}

fn outside() -> impl Strategy<Value = Outside> {
    prop_oneof![Just(Outside::Off), Just(Outside::Answers), Just(Outside::Fails), Just(Outside::Refused)]
}

fn compositions() -> impl Strategy<Value = Composed> {
    let caps = prop_oneof![Just(2_000_000_u32), 1_000_u32..60_000];
    let agents = (ways(), ways(), ways(), ways(), any::<bool>(), any::<bool>());
    (agents, (outside(), outside()), any::<bool>(), any::<bool>(), any::<bool>(), caps).prop_map(
        |(
            (advisor, specialist, text, sub_agent, deep, advisor_calls),
            (server, service),
            meta,
            gives_meta,
            cache,
            cap_micro_usd,
        )| {
            Composed {
                advisor,
                specialist,
                text,
                sub_agent,
                server,
                service,
                deep,
                advisor_calls,
                meta,
                gives_meta,
                cache,
                cap_micro_usd,
            }
        },
    )
}

impl Composed {
    fn config(self, script: &str, port: u16) -> String {
        let mut config = format!(
            "global: {{ maxTotalCostUsd: {} }}\nagent:\n  maxTurns: 8\n  toolHosts: [127.0.0.1]\n",
            f64::from(self.cap_micro_usd) / 1e6
        );
        let mut section = |is_on: bool, text: &str| {
            if is_on {
                config.push_str(text);
            }
        };
        section(self.cache, "  cache: true\n");
        section(self.meta, "  meta: { risk: {} }\n");
        section(self.advisor.is_on(), "  advisors: { callers: { instructions: Who calls it?, maxTurns: 2 } }\n");
        section(
            self.sub_agent.is_on(),
            "  subAgents:\n    first: {description: x, instructions: I am first., maxTurns: 2, roles: [artisan, advisor], tools: [agent__second]}\n    \
             second: {description: x, instructions: I am second., maxTurns: 2, roles: [critic]}\n",
        );
        section(
            self.server.is_on(),
            &format!("  mcp: {{ own: {{ command: [{script}, sleep-composed], roles: [artisan, advisor] }} }}\n"),
        );
        let service = |name: &str, path: &str| {
            format!(
                "    {name}: {{ description: x, url: 'http://127.0.0.1:{port}/{path}', roles: [artisan, critic] }}\n"
            )
        };
        let both = format!("  rest:\n{}{}", service("issue", "issues/7"), service("tea", "tea"));
        section(self.service.is_on(), &both);
        section(
            self.specialist.is_on(),
            "  router: { sums: { when: A sum is wrong., models: claude-sonnet-4-5, maxTurns: 2 } }\n",
        );
        section(self.text.is_on(), "  handoff: { release_note: { maxTurns: 2 } }\n");
        config
    }

    fn answer(self, request: &Request) -> Scripted {
        for (source, name) in [(self.server, "mcp__own__look"), (self.service, "rest__issue")] {
            if source == Outside::Refused && request.tools().iter().any(|tool| tool == name) {
                let why = json!({ "error": { "message": format!("the schema of {name} is not supported") } });
                return Scripted::status(400, why.to_string());
            }
        }
        let system = request.system();
        let ask = |name: &str| Say::call(name, json!({ "task": "who calls total?" })).usage(600, 20).into();
        if system.contains("You are called by an engineer") {
            let goes_on = self.deep && request.turn() == 0 && request.all_text().contains("I am first.");
            return if goes_on { ask("agent__second") } else { self.sub_agent.answer() };
        }
        if system.contains("You advise") {
            let calls = self.advisor_calls && self.sub_agent.is_on() && request.turn() == 0;
            return if calls { ask("agent__first") } else { self.advisor.answer() };
        }
        if system.contains("You write about") {
            return self.text.answer();
        }
        if system.contains("You brief") {
            return match (request.model.contains("sonnet"), self.specialist.is_on()) {
                (true, _) => self.specialist.answer(),
                (false, true) => {
                    let call = json!({ "destination": "sums", "message": "the sum" });
                    Say::call("router__handoff_to", call).usage(500, 20).into()
                }
                (false, false) => super::brief(),
            };
        }
        if system.contains("You review") {
            let report = json!({ "verdict": "approve", "summary": "right", "issues": [] });
            return Say::call("final_report", report).usage(300, 20).into();
        }
        let risk = if self.gives_meta { json!({ "risk": { "level": "low", "why": "a line" } }) } else { json!({}) };
        let calls: Vec<&str> = [
            self.sub_agent.is_on().then_some("agent__first"),
            self.server.pick("mcp__own__look", "mcp__own__die"),
            self.service.pick("rest__issue", "rest__tea"),
        ]
        .into_iter()
        .flatten()
        .collect();
        match request.turn() {
            turn if turn < calls.len() && calls[turn].starts_with("agent") => ask(calls[turn]),
            turn if turn < calls.len() => {
                Say::call(calls[turn], json!({ "path": "shop/cart.py" })).usage(600, 20).into()
            }
            turn if turn == calls.len() => {
                let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
                Say::call("edit_file", edit).usage(900, 40).into()
            }
            _ => {
                let report = json!({ "summary": "mended", "status": "done", "meta": risk });
                Say::call("final_report", report).usage(1_000, 20).into()
            }
        }
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn under_any_composition_the_caps_hold_each_receipt_counts_once_and_the_tests_decide() {
    let web = Web::start();
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("server");
    std::fs::write(&script, format!("#!/usr/bin/env python3\n{}", include_str!("server.py"))).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("set");
    let script = script.to_str().expect("text");
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    runner
        .run(&compositions(), |composed| {
            let held =
                Held::run(TIERS, &composed.config(script, web.port), "", move |request| composed.answer(request));
            let paid = held.assert_money_adds_up();
            prop_assert!(paid <= i64::from(composed.cap_micro_usd), "{paid}: {}", held.said.all());
            let scopes = held.log.rows(
                "SELECT scope, SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'agent:%' GROUP BY scope",
            );
            for scope in scopes {
                let spent: i64 = scope[1].parse().expect("a number");
                prop_assert!(spent * 10 <= i64::from(composed.cap_micro_usd), "{scope:?}");
            }
            let asks = |request: &Request| request.tools().iter().any(|tool| tool == "mcp__own__look");
            if composed.server == Outside::Refused && held.requests.iter().any(asks) {
                let told = "which is made once more without mcp__own__look";
                prop_assert!(held.said.all().contains(told), "{}", held.said.all());
            }
            let outcome = held.document["outcome"].as_str().expect("an outcome");
            let roomy = composed.cap_micro_usd == 2_000_000;
            prop_assert!(outcome == "fixed" || (!roomy && outcome == "budget"), "{outcome}: {}", held.said.all());
            Ok(())
        })
        .expect("holds");
}
