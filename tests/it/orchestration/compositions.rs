//! Advisors, sub-agents two deep, a router, a handoff, META and the cache together: whatever each of them does, the caps hold, each receipt counts once, and the
//! verdict is that of the tests.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

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

/// A composition, and the money that it may spend.
#[derive(Debug, Clone, Copy)]
struct Composed {
    advisor: Way,
    specialist: Way,
    text: Way,
    sub_agent: Way,
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

fn compositions() -> impl Strategy<Value = Composed> {
    let caps = prop_oneof![Just(2_000_000_u32), 1_000_u32..60_000];
    let agents = (ways(), ways(), ways(), ways(), any::<bool>(), any::<bool>());
    (agents, any::<bool>(), any::<bool>(), any::<bool>(), caps).prop_map(
        |((advisor, specialist, text, sub_agent, deep, advisor_calls), meta, gives_meta, cache, cap_micro_usd)| {
            Composed {
                advisor,
                specialist,
                text,
                sub_agent,
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
    fn config(self) -> String {
        let mut config =
            format!("global: {{ maxTotalCostUsd: {} }}\nagent:\n  maxTurns: 6\n", f64::from(self.cap_micro_usd) / 1e6);
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
            self.specialist.is_on(),
            "  router: { sums: { when: A sum is wrong., models: claude-sonnet-4-5, maxTurns: 2 } }\n",
        );
        section(self.text.is_on(), "  handoff: { release_note: { maxTurns: 2 } }\n");
        config
    }

    fn answer(self, request: &Request) -> Scripted {
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
        let calls = usize::from(self.sub_agent.is_on());
        match request.turn() {
            0 if calls == 1 => ask("agent__first"),
            turn if turn == calls => {
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
fn under_any_composition_the_caps_hold_each_receipt_counts_once_and_the_tests_decide() {
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    runner
        .run(&compositions(), |composed| {
            let held = Held::run(TIERS, &composed.config(), "", move |request| composed.answer(request));
            let paid = held.assert_money_adds_up();
            prop_assert!(paid <= i64::from(composed.cap_micro_usd), "{paid}: {}", held.said.all());
            let scopes = held.log.rows(
                "SELECT scope, SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'agent:%' GROUP BY scope",
            );
            for scope in scopes {
                let spent: i64 = scope[1].parse().expect("a number");
                prop_assert!(spent * 10 <= i64::from(composed.cap_micro_usd), "{scope:?}");
            }
            let outcome = held.document["outcome"].as_str().expect("an outcome");
            let roomy = composed.cap_micro_usd == 2_000_000;
            prop_assert!(outcome == "fixed" || (!roomy && outcome == "budget"), "{outcome}: {}", held.said.all());
            Ok(())
        })
        .expect("holds");
}
