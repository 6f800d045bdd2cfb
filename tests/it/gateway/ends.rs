//! The program's environment, its end, and ours.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Session, call, step, vendor};
use crate::world::model_server::{Say, Scripted, Vendor};
use crate::world::program::{KEY, Said};

/// No test here needs longer; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn the_programs_exit_code_is_ours_and_the_log_reads_as_a_session() {
    let server = vendor(|_| Say::text("x").usage(500, 10).into());
    let session = Session::of(&server);
    let said = session.run(&["--max-cost-usd", "1"], &json!([call("messages", true), {"do": "exit", "code": 41}]));
    assert_eq!(said.code, 41, "{}", said.all());
    assert!(
        said.err.contains("The program ended with exit code 41.") && said.err.contains("1 model call "),
        "{}",
        said.err
    );
    server.finish();
    let report = session.report();
    assert_eq!(
        (&report["outcome"], &report["exit_code"], &report["model_calls"]),
        (&json!("ended"), &json!(41), &json!(1))
    );
    assert!(report["command"].as_str().unwrap().starts_with("python3 client.py"));
    let runs = session.program.run(session.path(), &["runs"]);
    assert!(runs.out.contains("python3 client.py") && runs.out.contains("ended"), "{}", runs.out);
    let stats = session.program.run(session.path(), &["stats"]);
    assert!(stats.out.contains("anthropic/claude-haiku-4-5") && !stats.out.contains("fixed nothing"), "{}", stats.out);
    let resumed = session.program.run(session.path(), &["resume"]);
    assert_eq!(resumed.code, 2, "{}", resumed.all());
    session.assert_verified();
}

#[test]
fn a_program_that_cannot_be_started_is_told_of() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    let said = session.program.run(session.path(), &["gateway", "--", "no-such-program"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("no-such-program") && said.err.contains("→ Fix:"), "{}", said.err);
    server.finish();
    let listed = session.program.run(session.path(), &["runs"]);
    assert!(listed.out.contains("not started") && !listed.out.contains("ended"), "{}", listed.out);
    let stats = session.program.run(session.path(), &["stats"]);
    assert!(stats.out.starts_with("1 run: 1 not started"), "{}", stats.out);
}

#[test]
fn a_program_whose_calls_brought_no_reply_ended_under_no_sign_of_success() {
    let refused = || Scripted::error(Vendor::Anthropic, 401, "authentication_error", "invalid x-api-key");
    let good = || Say::text("x").usage(500, 10).into();
    for (calls, sign, words) in [
        (vec![refused()], "⚠", "The program ended; its only model call got no reply: "),
        (vec![refused(), refused()], "⚠", "The program ended; none of its 2 model calls got a reply: "),
        (
            vec![good(), refused()],
            "⚠",
            "The program ended; 1 of its 2 model calls got no reply, nor did the last one: ",
        ),
        (vec![refused(), good()], "✔", "The program ended; 1 of its 2 model calls got no reply. $"),
        (vec![good()], "✔", "The program ended. $"),
    ] {
        let plan: Vec<Value> = calls.iter().map(|_| call("messages", true)).collect();
        let server = crate::world::model_server::ModelServer::serving(calls);
        let session = Session::of(&server);
        let said = session.run(&["--max-cost-usd", "1"], &json!(plan));
        assert_eq!(said.code, 0, "the exit code is the program's own: {}", said.all());
        assert!(said.err.contains(&format!("{sign} {words}")), "{words}: {}", said.err);
        server.finish();
    }
}

#[test]
fn without_any_key_nothing_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = crate::world::program::Program::new();
    let said = program.run(folder.path(), &["gateway", "--", "touch", "started"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("ANTHROPIC_API_KEY") && !folder.path().join("started").exists(), "{}", said.err);
}

#[test]
fn the_key_is_nowhere_in_the_programs_environment() {
    let server = vendor(|_| Scripted::Unexpected);
    let mut session = Session::of(&server);
    // Under a strange name, and inside another value.
    session.program = session.program.with("HARMLESS", KEY).with("NPM_TOKEN", "t-12345678");
    let said = session.run(&[], &json!([{"do": "environment"}]));
    assert_eq!(said.code, 0, "{}", said.all());
    let environment = session.told().remove(0);
    let environment = environment.as_object().unwrap();
    assert!(!environment.contains_key("HARMLESS") && !environment.contains_key("NPM_TOKEN"));
    let text = |name: &str| environment[name].as_str().unwrap();
    assert!(text("ANTHROPIC_BASE_URL").starts_with("http://127.0.0.1:"));
    assert_eq!(text("OPENAI_BASE_URL"), format!("{}/v1", text("ANTHROPIC_BASE_URL")));
    for name in ["OPENAI_API_KEY", "GEMINI_API_KEY", "COPILOT_PROVIDER_API_KEY"] {
        assert_eq!(text(name), text("ANTHROPIC_API_KEY"));
    }
    assert!(text("ANTHROPIC_API_KEY").len() >= 64);
    // And not in the log: the placeholder is a key as long as the session lasts.
    let database = std::fs::read(session.path().join(".upshift/audit.db")).expect("the log");
    let placeholder = text("ANTHROPIC_API_KEY").as_bytes();
    assert!(!database.windows(placeholder.len()).any(|window| window == placeholder));
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_key_is_in_no_environment_block_and_standard_input_is_the_programs() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    // Its parent is the keeper, and the keeper's is upshift; numbers that it inherits lead to nothing.
    let script = "cat > input; ppid() { awk '/PPid/ {print $2}' /proc/$1/status; }; k=$(ppid $$); u=$(ppid $k); \
                  cat /proc/$$/environ /proc/$k/environ /proc/$u/environ > blocks; \
                  for n in /proc/$$/fd/*; do case $n in */[012]) ;; *) timeout 2 cat $n ;; esac; done > numbers 2>/dev/null; true";
    let mut command = session.program.command(session.path(), &["gateway", "--", "sh", "-c", script]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"a question").expect("it reads");
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 0, "{}", said.all());
    let read = |name: &str| std::fs::read(session.path().join(name)).expect("the script's file");
    assert_eq!(read("input"), b"a question");
    let (blocks, numbers) = (read("blocks"), read("numbers"));
    let has_key = |bytes: &[u8]| bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
    assert!(blocks.windows(5).any(|window| window == b"PATH=") && !has_key(&blocks) && !has_key(&numbers));
    server.finish();
}

/// Waits until the client has told of so many steps.
fn wait_for(session: &Session, steps: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "the client never got so far");
        if session.path().join("told.json").exists() && session.told().len() >= steps {
            return session.told();
        }
        std::thread::yield_now();
    }
}

fn is_gone(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

fn wait_until_gone(pid: &Value) {
    let began = Instant::now();
    while !is_gone(pid) {
        assert!(began.elapsed() < PATIENCE, "process {pid} lives on");
        std::thread::yield_now();
    }
}

fn started(mut command: Command) -> std::process::Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill");
    assert!(sent.success());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_signal_ends_the_program_also_a_stubborn_one_and_the_log_is_closed() {
    for (signal, code, stubborn) in [("-TERM", 143, false), ("-INT", 130, true)] {
        let server = vendor(|_| Scripted::Unexpected);
        let session = Session::of(&server);
        let mut plan = vec![json!({"do": "stay"})];
        if stubborn {
            plan.insert(0, json!({"do": "stubborn"}));
        }
        let child = started(session.command(&[], &json!(plan)));
        let told = wait_for(&session, plan.len());
        send(signal, child.id());
        let said = Said::from(child.wait_with_output().expect("it ends"));
        assert_eq!(said.code, code, "{}", said.all());
        assert!(is_gone(&told[0]["pid"]), "{signal}");
        let report = session.report();
        assert_eq!((&report["outcome"], &report["exit_code"]), (&json!("interrupted"), &json!(code)));
        session.assert_verified();
        server.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_stubborn_program_is_gone_within_five_seconds_of_the_first_refusal() {
    let server = vendor(|request| {
        let limit = request.body["max_tokens"].as_u64().expect("a limit");
        Say::text("more").usage(1_000, limit).into()
    });
    let session = Session::of(&server);
    let plan = json!([{"do": "stubborn"}, step("until_refused", "messages", false), {"do": "stay"}]);
    // On the machine's own clock, as the promise is.
    let mut command = session.command(&["--max-cost-usd", "0.05"], &plan);
    command.env_remove("UPSHIFT_TEST_CLOCK");
    let child = started(command);
    let told = wait_for(&session, 2);
    let began = Instant::now();
    let pid = &told[0]["pid"];
    assert!(!is_gone(pid), "it gave up by itself");
    wait_until_gone(pid);
    let lived = began.elapsed();
    assert!(lived < Duration::from_secs(5), "it lived on for {lived:?}");
    assert!(lived > Duration::from_secs(3), "it had no time for a last word: {lived:?}");
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 3, "{}", said.all());
    session.assert_verified();
    server.finish();
}

#[test]
fn a_killed_upshift_leaves_no_program_behind() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    let mut child = started(session.command(&[], &json!([{"do": "stubborn"}, {"do": "stay"}])));
    let told = wait_for(&session, 2);
    send("-KILL", child.id());
    child.wait().expect("it is dead");
    wait_until_gone(&told[0]["pid"]);
    let report = session.report();
    assert_eq!(report["state"], "died", "{report}");
    server.finish();
}

#[test]
fn the_help_says_what_the_program_gets() {
    let (program, folder) = (crate::world::program::Program::new(), tempfile::tempdir().expect("a folder"));
    let said = program.run(folder.path(), &["gateway", "--help"]);
    for word in ["--max-cost-usd", "--model", "--side-model", "ANTHROPIC_BASE_URL", "COMMAND"] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
}
