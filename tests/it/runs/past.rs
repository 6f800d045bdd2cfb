//! What a tier remembers of its own iterations.

use serde_json::json;

use super::run;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::project::Project;

/// A token that a careless model repeats.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
/// Code that rewrites its own test.
const EVIL: &str = "import pathlib\n\npath = pathlib.Path('tests/test_cart.py')\npath.write_text(path.read_text() + '\\n')\n\n\n\
                    def total(prices):\n    return sum(prices)\n";

/// One iteration: the whole file, where there is a change, and what is said of it.
fn iteration(number: usize) -> (Option<String>, String) {
    let file = |line: &str| Some(format!("def total(prices):\n    {line}\n"));
    match number {
        3 => (Some(EVIL.to_owned()), "made the test\nright".to_owned()),
        5 => (file("return sum(prices) + 5"), format!("added five, with {TOKEN}")),
        7 => (file("return sum(prices)"), "the sum is enough".to_owned()),
        number => (file(&format!("return sum(prices) + {number}")), format!("added {number}")),
    }
}

fn artisan(request: &Request, number: usize) -> Scripted {
    if number == 4 {
        return Say::text("I would rather talk about it.").usage(900, 40).into();
    }
    let (file, said) = iteration(number);
    let report = Say::call("final_report", json!({ "summary": said, "status": "done" }));
    match (request.turn(), file) {
        (0, Some(file)) => Say::call("write_file", json!({ "path": "shop/cart.py", "content": file })),
        _ => report,
    }
    .usage(900, 40)
    .into()
}

/// What stands between the fences of a part.
fn part<'t>(message: &'t str, label: &str) -> Option<&'t str> {
    let (_, from) = message.split_once(&format!(" {label}\n"))?;
    from.split_once("\ne1").map(|(part, _)| part)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b10_a_tier_tells_its_last_five_iterations() {
    let project = Project::python();
    let mut sessions = 0;
    let server = ModelServer::start(move |request| {
        sessions += usize::from(request.turn() == 0);
        artisan(request, sessions)
    });
    let args = ["--tiers", "claude-haiku-4-5 x7 > claude-sonnet-4-5 x1", "--test-command", project.test_command];
    let (said, database) = run(&project, &server, &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let requests = server.requests();
    let firsts: Vec<String> =
        requests.iter().filter(|request| request.turn() == 0).map(Request::last_user_text).collect();
    assert_eq!(firsts.len(), 7, "{}", said.all());
    let label = "YOUR LAST ITERATIONS, oldest first";
    assert_eq!(part(&firsts[0], label), None);
    let failing = "  failing: test_total (tests.test_cart.CartTest.test_total)";
    assert_eq!(
        part(&firsts[1], label),
        Some(format!("Iteration 1: added 1\n  judged: red; 1 test fails\n{failing}").as_str())
    );
    let told = part(&firsts[6], label).expect("the iterations");
    insta::assert_snapshot!(told);
    assert!(requests.iter().all(|request| !request.last_user_text().contains(TOKEN)), "a token was told");
    // A log that was written before holds no such list.
    let state = Log::open(&database).value("SELECT state FROM run_state");
    let mut state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    state.as_object_mut().expect("an object").remove("past").expect("the list");
    let state: upshift::lifecycle::state::RunState = serde_json::from_value(state).expect("a state");
    assert!(state.past.is_empty());
    server.finish();
}

/// A full tier whose critic rejects as many changes, all of them right.
fn rejecting(project: &Project, rejections: usize) -> ModelServer {
    let (mut reviews, right) = (0, project.right);
    ModelServer::start(move |request| {
        let system = request.system();
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "look at cart.py", "status": "done" })).into();
        }
        if system.contains("You review") {
            reviews += 1;
            let report = json!({ "verdict": "reject", "summary": "no", "issues": ["major: rounds wrongly"] });
            let approve = json!({ "verdict": "approve", "summary": "fine", "issues": [] });
            return Say::call("final_report", if reviews <= rejections { report } else { approve }).into();
        }
        let file = format!("def total(prices):\n{right}  # {reviews} reviews\n");
        match request.turn() {
            0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": file })).into(),
            _ => Say::call("final_report", json!({ "summary": "took the one away", "status": "done" })).into(),
        }
    })
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b10_what_the_reviewer_refused_is_told_to_librarian_and_artisan_and_to_no_critic() {
    let project = Project::python();
    let server = rejecting(&project, 1);
    let args = ["--tiers", "claude-haiku-4-5 x2 full", "--test-command", project.test_command];
    let (said, _) = run(&project, &server, &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = "Iteration 1: took the one away\n  judged: green\n  refused: the reviewer objects: rounds wrongly\n";
    let requests = server.requests();
    let firsts: Vec<&Request> = requests.iter().filter(|request| request.turn() == 0).collect();
    let heard: Vec<bool> = firsts.iter().map(|request| request.last_user_text().contains(told)).collect();
    assert_eq!(heard, [false, false, false, true, true, false], "{}", firsts[3].last_user_text());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b10_the_next_tier_is_told_by_the_handover_alone() {
    let project = Project::python();
    let server = rejecting(&project, 1);
    let args =
        ["--tiers", "claude-haiku-4-5 x1 full > claude-sonnet-4-5 x1 full", "--test-command", project.test_command];
    let (said, _) = run(&project, &server, &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let requests = server.requests();
    let firsts = requests.iter().filter(|request| request.turn() == 0 && !request.system().contains("You review"));
    let of_tier_two: Vec<String> =
        firsts.filter(|request| request.model.contains("sonnet")).map(Request::last_user_text).collect();
    assert_eq!(of_tier_two.len(), 2);
    for message in of_tier_two {
        assert!(message.contains("TIER 1 FAILURES") && !message.contains("YOUR LAST ITERATIONS"), "{message}");
    }
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a7_after_a_wrap_up_the_next_session_starts_fresh_with_what_was_told_of_the_last() {
    let project = Project::python();
    let config = "models:\n  anthropic/claude-haiku-4-5: { contextWindow: 20000, maxOutputTokens: 4000 }\n";
    project.write(".github/upshift.yml", config);
    let (right, mut sessions) = (project.right, 0);
    let server = ModelServer::start(move |request| {
        sessions += usize::from(request.turn() == 0);
        let file = |line: &str| json!({ "path": "shop/cart.py", "content": format!("def total(prices):\n{line}\n") });
        match (sessions, request.turn()) {
            (1, 0) => Say::call("write_file", file("    return 1")).usage(8_400, 50).into(),
            (1, _) => {
                assert!(request.body.to_string().contains("% of your context window is in use"), "{}", request.body);
                Say::call("final_report", json!({ "summary": "tried one", "status": "done" })).usage(8_500, 20).into()
            }
            (_, 0) => Say::call("write_file", file(right)).usage(900, 50).into(),
            (_, _) => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 20).into(),
        }
    });
    let args = ["--tiers", "claude-haiku-4-5 x2", "--test-command", project.test_command];
    let (said, _) = run(&project, &server, &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let requests = server.requests();
    let second = requests.iter().filter(|request| request.turn() == 0).nth(1).expect("a second session");
    let messages = second.body["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1, "nothing of the first conversation is sent again: {}", second.body);
    let told = part(&second.last_user_text(), "YOUR LAST ITERATIONS, oldest first").map(str::to_owned);
    assert!(told.is_some_and(|told| told.starts_with("Iteration 1: tried one\n  judged: red")), "{}", second.body);
    server.finish();
}
