//! A model that answers at once, and the small project that it fixes in four turns.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tempfile::TempDir;

/// A small broken project and the four turns that mend it.
pub(crate) struct Case {
    /// For the table.
    pub(crate) name: &'static str,
    /// How it is tested.
    pub(crate) test_command: &'static str,
    files: &'static [(&'static str, &'static str)],
    source: &'static str,
    wrong: &'static str,
    right: &'static str,
}

/// Prints TAP; needs nothing but a shell. Everything that is timed is timed with this one.
pub(crate) const SHELL: Case = Case {
    name: "shell, TAP",
    test_command: "sh tests/run.sh",
    files: &[
        ("price.sh", "# Prints the price of a number of cakes at 3 each.\nprice() {\n  echo $(($1 + 3))\n}\n"),
        (
            "tests/run.sh",
            "cd \"$(dirname \"$0\")/..\" && . ./price.sh\necho 1..2\n\
             [ \"$(price 4)\" = 12 ] && echo 'ok 1 - four cakes' || echo \"not ok 1 - four cakes\n# got $(price 4), expected 12\"\n\
             [ \"$(price 0)\" -ge 0 ] && echo 'ok 2 - no cake' || echo 'not ok 2 - no cake'\n[ \"$(price 4)\" = 12 ]\n",
        ),
    ],
    source: "price.sh",
    wrong: "$1 + 3",
    right: "$1 * 3",
};

/// The fixed set of small cases whose size is watched.
pub(crate) const CASES: [Case; 3] = [
    SHELL,
    Case {
        name: "Python, unittest",
        test_command: "python3 -m unittest",
        files: &[
            ("shop/__init__.py", ""),
            (
                "shop/cart.py",
                "def total(prices):\n    \"\"\"The sum of all prices.\"\"\"\n    return sum(prices) - 1\n",
            ),
            ("tests/__init__.py", ""),
            (
                "tests/test_cart.py",
                "import unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
                 self.assertEqual(total([1, 2, 3]), 6)\n\n    def test_one(self):\n        self.assertEqual(total([5]), 5)\n",
            ),
        ],
        source: "shop/cart.py",
        wrong: "sum(prices) - 1",
        right: "sum(prices)",
    },
    Case {
        name: "JavaScript, node --test",
        test_command: "node --test",
        files: &[
            ("package.json", "{ \"name\": \"greet\", \"type\": \"module\" }\n"),
            ("src/greet.js", "export function greet(name) {\n  return 'Hello ' + name;\n}\n"),
            (
                "test/greet.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\n\
                 test('greets with a comma', () => {\n  assert.strictEqual(greet('Ada'), 'Hello, Ada');\n});\n",
            ),
        ],
        source: "src/greet.js",
        wrong: "'Hello '",
        right: "'Hello, '",
    },
];

/// Where folders are made: in memory where there is such a place. No room can be made over a checkout there, so that children are confined
/// as they are on GitHub's runners, where AppArmor forbids one: by a rule for each entry of `/etc`.
fn temporary() -> PathBuf {
    Some(PathBuf::from("/dev/shm")).filter(|memory| memory.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// An empty folder.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(temporary()).expect("a folder")
}

impl Case {
    /// Unpacks it.
    pub(crate) fn unpack(&self) -> TempDir {
        let folder = folder();
        for (name, text) in self.files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    fn reply(&self, turn: u32, more_turns: u32) -> String {
        let (name, input) = match turn.saturating_sub(more_turns) {
            0 => ("read_file", serde_json::json!({ "path": self.source })),
            1 => (
                "edit_file",
                serde_json::json!({ "path": self.source, "old_text": self.wrong, "new_text": self.right }),
            ),
            2 => ("run_tests", serde_json::json!({})),
            _ => ("final_report", serde_json::json!({ "summary": "corrected the expression", "status": "done" })),
        };
        serde_json::json!({
            "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
            "content": [{ "type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": input }],
            "stop_reason": "tool_use", "stop_sequence": null, "usage": { "input_tokens": 900, "output_tokens": 40 }
        })
        .to_string()
    }
}

/// The program in a folder with an environment of its own.
pub(crate) fn upshift(program: &Path, folder: &Path, url: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder);
    command
        .env("XDG_STATE_HOME", std::env::temp_dir().join("upshift-bench-state"))
        .env("TMPDIR", temporary())
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk-none-of-value");
    command
}

/// What was seen of the program from outside.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// The largest resident set, in kB.
    pub(crate) peak_kb: f64,
    /// Bytes of all requests, what each shares with the one before counted once.
    pub(crate) uncached_bytes: f64,
}

/// The running model.
pub(crate) struct Model {
    address: String,
    watched: Arc<AtomicU32>,
    seen: Arc<Mutex<Seen>>,
}

impl Model {
    /// Reads `more_turns` times before it does the fix in four turns.
    pub(crate) fn start(case: &'static Case, more_turns: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (watched, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Seen::default())));
        let (pid, notes) = (Arc::clone(&watched), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut before: Vec<u8> = Vec::new();
            let mut turn = 0;
            for stream in listener.incoming().flatten() {
                stream.set_nodelay(true).expect("no delay");
                let mut reader = BufReader::new(stream);
                while let Some(body) = request(&mut reader) {
                    note(&notes, pid.load(Ordering::Relaxed), &before, &body);
                    before = body;
                    answer(reader.get_mut(), &case.reply(turn, more_turns));
                    turn += 1;
                }
            }
        });
        Self { address, watched, seen }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        self.address.clone()
    }

    /// Which process's memory is looked at whenever it asks something.
    pub(crate) fn watch(&self, pid: u32) {
        self.watched.store(pid, Ordering::Relaxed);
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> Seen {
        *self.seen.lock().expect("no panic")
    }
}

fn note(seen: &Mutex<Seen>, pid: u32, before: &[u8], body: &[u8]) {
    let shared = before.iter().zip(body).take_while(|(a, b)| a == b).count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse().ok());
    let mut seen = seen.lock().expect("no panic");
    seen.peak_kb = seen.peak_kb.max(peak.unwrap_or(0.0));
    seen.uncached_bytes += f64::from(u32::try_from(body.len() - shared).expect("small"));
}

/// Reads one request and returns its body; `None` when the connection is closed.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn answer(stream: &mut TcpStream, body: &str) {
    let length = body.len();
    let text = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).expect("written");
}

/// One exchange of about the size of a turn over a kept connection: what no client can be faster than.
pub(crate) fn http_floor_ms() -> f64 {
    let model = Model::start(&SHELL, 1_000);
    let mut stream = TcpStream::connect(model.url().trim_start_matches("http://")).expect("connected");
    stream.set_nodelay(true).expect("no delay");
    let body = "x".repeat(6_000);
    let request =
        format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut times = Vec::new();
    for _ in 0..50 {
        let began = Instant::now();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut buffer = [0; 4_096];
        let got = stream.read(&mut buffer).expect("answered");
        assert!(got > 0);
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    crate::machine::median(times)
}

/// The CPU of one run of the tests.
pub(crate) fn tests_cpu_ms() -> f64 {
    const ROUNDS: u32 = 24;
    let project = SHELL.unpack();
    let before = crate::machine::children_cpu();
    for _ in 0..ROUNDS {
        let mut command = Command::new("sh");
        command
            .args(["-c", SHELL.test_command])
            .current_dir(project.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().expect("it starts");
    }
    let spent = crate::machine::children_cpu().saturating_sub(before);
    spent.as_secs_f64() * 1_000.0 / f64::from(ROUNDS)
}
