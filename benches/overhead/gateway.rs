//! What the gateway adds to a call, and to a long stream, over the same exchange without it.
//!
//! The client is this program, started once more behind `upshift gateway`; its vendor answers at once, or streams a megabyte at the
//! pace of a vendor that is faster than any: 1,000 events in a second.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::machine::median;
use crate::model;

/// The first argument that makes this program the client; then the file for its figures.
pub(crate) const CLIENT: &str = "gateway-client";
/// Calls whose median counts.
const CALLS: usize = 200;
/// Streams whose median counts.
const STREAMS: usize = 3;
/// Events of a stream, and the bytes of each.
const EVENTS: usize = 1_000;
const EVENT_BYTES: usize = 1_000;
/// The pause before each event.
const PACE: Duration = Duration::from_millis(1);

/// Milliseconds of a call, of a paced stream, and of a stream without pauses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) call: f64,
    pub(crate) paced: f64,
    pub(crate) at_once: f64,
}

/// Without the gateway, then with it.
pub(crate) fn measure(program: &Path) -> (Figures, Figures) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let floor = figures(&url, "sk-none-of-value");
    let folder = model::folder();
    let file = folder.path().join("figures");
    let state = model::folder();
    let mut command = model::upshift(program, folder.path(), &url);
    command.env("XDG_STATE_HOME", state.path());
    command.args(["gateway", "--max-cost-usd", "1000", "--"]).arg(std::env::current_exe().expect("a program"));
    let status = command.args([CLIENT]).arg(&file).output().expect("it starts").status;
    assert!(status.success(), "the client behind the gateway: {status}");
    let told = std::fs::read_to_string(&file).expect("figures");
    let told: Vec<f64> = told.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (floor, Figures { call: told[0], paced: told[1], at_once: told[2] })
}

/// One write of a page that waits for the disk, in milliseconds: where the log lies on one, a call waits for such a write of its receipt.
pub(crate) fn durable_write_ms() -> f64 {
    const WRITES: u8 = 100;
    const PAGE: usize = 4_096;
    let mut file = tempfile::tempfile().expect("a file on the disk");
    let times = (0..WRITES).map(|number| {
        let began = Instant::now();
        file.write_all(&[number; PAGE]).expect("written");
        file.sync_data().expect("on the disk");
        began.elapsed().as_secs_f64() * 1_000.0
    });
    median(times.collect())
}

/// Acts as the client, which finds its gateway in the environment.
pub(crate) fn client(file: &Path) {
    let told = |name: &str| std::env::var(name).expect("the gateway's variable");
    let Figures { call, paced, at_once } = figures(&told("ANTHROPIC_BASE_URL"), &told("ANTHROPIC_API_KEY"));
    std::fs::write(file, format!("{call} {paced} {at_once}")).expect("written");
}

fn figures(url: &str, key: &str) -> Figures {
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("connected");
    stream.set_nodelay(true).expect("no delay");
    let mut stream = BufReader::new(stream);
    let mut timed = |count: usize, what: &str| {
        let times = (0..count).map(|_| {
            let began = Instant::now();
            exchange(&mut stream, key, what);
            began.elapsed().as_secs_f64() * 1_000.0
        });
        median(times.collect())
    };
    // The first calls make connections and prepare statements.
    timed(20, "short");
    Figures { call: timed(CALLS, "short"), paced: timed(STREAMS, "paced"), at_once: timed(STREAMS * 5, "at once") }
}

/// One call on a connection that stays.
fn exchange(stream: &mut BufReader<TcpStream>, key: &str, what: &str) {
    let padding = "x".repeat(6_000);
    let streams = what != "short";
    let body = format!(
        "{{\"model\":\"claude-haiku-4-5\",\"max_tokens\":1000,\"stream\":{streams},\"messages\":[{{\"role\":\"user\",\"content\":\
         \"{what} {padding}\"}}]}}"
    );
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\ncontent-type: application/json\r\ncontent-length: \
         {}\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(request.as_bytes()).expect("sent");
    let mut length = None;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("an answer");
        let line = line.trim_end().to_ascii_lowercase();
        assert!(!line.starts_with("http/1.1") || line.contains(" 200"), "{line}");
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    match length {
        Some(length) => stream.read_exact(&mut vec![0; length]).expect("a body"),
        None => while chunk(stream) > 0 {},
    }
}

/// Reads a chunk; its size.
fn chunk(stream: &mut BufReader<TcpStream>) -> usize {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a size");
    let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
    stream.read_exact(&mut vec![0; size + 2]).expect("a chunk");
    size
}

/// The vendor: answers every request on a connection.
fn serve(stream: TcpStream) {
    drop(stream.set_nodelay(true));
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body);
        let pace = body.contains("\"paced ").then_some(PACE);
        let sent =
            if body.contains("\"stream\":true") { events(stream.get_mut(), pace) } else { whole(stream.get_mut()) };
        if sent.is_err() {
            return;
        }
    }
}

fn whole(stream: &mut TcpStream) -> std::io::Result<()> {
    let body = "{\"type\":\"message\",\"model\":\"claude-haiku-4-5\",\"content\":[],\"stop_reason\":\"end_turn\",\
                \"usage\":{\"input_tokens\":900,\"output_tokens\":40}}";
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes())
}

fn events(stream: &mut TcpStream, pace: Option<Duration>) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let mut send = |name: &str, rest: &str| {
        let event = format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n");
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
    };
    send(
        "message_start",
        ",\"message\":{\"model\":\"claude-haiku-4-5\",\"usage\":{\"input_tokens\":900,\"output_tokens\":1}}",
    )?;
    let text = "x".repeat(EVENT_BYTES);
    for _ in 0..EVENTS {
        pace.into_iter().for_each(std::thread::sleep);
        send("content_block_delta", &format!(",\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}"))?;
    }
    send("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":40}")?;
    send("message_stop", "")?;
    stream.write_all(b"0\r\n\r\n")
}
