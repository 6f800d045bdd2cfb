//! The HTTP/1.1 end of the scripted model server: reads requests, asks the script, writes, cuts or stalls answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use upshift::domain::units::MicroUsd;

use super::{Answered, Billed, Request, Say, Scripted, Shared, State, Vendor, answer, check};

pub(super) fn start(shared: Arc<Shared>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    let thread = std::thread::spawn(move || accept(&listener, &shared));
    (port, thread)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut open: Vec<(TcpStream, JoinHandle<()>)> = Vec::new();
    for stream in listener.incoming() {
        if shared.state().ended {
            break;
        }
        let Ok(stream) = stream else { continue };
        let (Ok(handle), shared) = (stream.try_clone(), Arc::clone(shared)) else { continue };
        drop(handle.set_nodelay(true));
        open.push((handle, std::thread::spawn(move || converse(stream, &shared))));
    }
    for (stream, thread) in open {
        drop(stream.shutdown(Shutdown::Both));
        drop(thread.join());
    }
}

/// Whether the connection goes on after an answer.
#[derive(PartialEq)]
enum After {
    KeepAlive,
    Close,
}

fn converse(stream: TcpStream, shared: &Shared) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut reader) {
        if head.path.ends_with("/api/show") {
            let (status, shown) = show(shared);
            drop(write_plain(&mut writer, status, &[], "application/json", shown.as_bytes(), None));
            continue;
        }
        if head.path.split('?').next().is_some_and(|path| path.ends_with("/count_tokens")) {
            // It costs nothing, and no script is asked.
            drop(write_plain(&mut writer, 200, &[], "application/json", b"{\"input_tokens\":7}", None));
            continue;
        }
        let Some((number, request, scripted)) = ask_script(shared, &head, body) else {
            drop(write_plain(&mut writer, 404, &[], "application/json", b"{\"error\":\"no such path\"}", None));
            continue;
        };
        if request_answer(&mut writer, shared, number, &request, scripted) != Some(After::KeepAlive) {
            break;
        }
    }
    drop(writer.shutdown(Shutdown::Both));
}

/// What an Ollama server tells of the model that it holds; nothing where no test says what that is.
fn show(shared: &Shared) -> (u16, String) {
    match &shared.options.held {
        Some(held) => (200, held.shown().to_string()),
        None => (404, r#"{"error":"not found"}"#.to_owned()),
    }
}

struct Head {
    path: String,
    method: String,
    headers: Vec<(String, String)>,
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(Head, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((Head { path, method, headers }, body))
}

fn ask_script(shared: &Shared, head: &Head, raw: Vec<u8>) -> Option<(usize, Request, Scripted)> {
    let mut state = shared.state();
    let path = head.path.split('?').next().unwrap_or_default();
    let vendor = if path.ends_with("/v1/messages") {
        Vendor::Anthropic
    } else if path.ends_with("/chat/completions") {
        Vendor::OpenAi
    } else if path.ends_with("/responses") {
        Vendor::Responses
    } else if path.contains(":generateContent") || path.contains(":streamGenerateContent") {
        Vendor::Gemini
    } else if path.ends_with("/api/chat") {
        Vendor::Ollama
    } else {
        state.violations.push(format!("{} {}: no vendor has this path", head.method, head.path));
        return None;
    };
    let number = state.requests.len();
    let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let mut request = Request {
        number,
        vendor,
        path: head.path.clone(),
        headers: head.headers.clone(),
        model: model_of(vendor, path, &body),
        stream: body["stream"] == true || path.contains(":streamGenerateContent"),
        raw,
        body,
    };
    let found = check::violations(&head.method, &request, &state.signatures);
    state.violations.extend(found.into_iter().map(|text| format!("request {number} ({vendor:?}): {text}")));
    let refused =
        shared.options.held.as_ref().filter(|_| vendor == Vendor::Ollama).and_then(|held| held.fit(&mut request));
    state.requests.push(request.clone());
    if let Some(refused) = refused {
        return Some((number, request, refused));
    }
    // A panic of the script is a failed assertion of the test: it is reported by `finish`, and the asker is not left hanging.
    let scripted = catch_unwind(AssertUnwindSafe(|| (state.script)(&request))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
        state.violations.push(format!("request {number}: the script panicked: {text}"));
        Scripted::status(400, "{}")
    });
    if matches!(scripted, Scripted::Unexpected) {
        let said: String = request.last_user_text().chars().take(200).collect();
        state.unexpected.push(format!("request {number} ({vendor:?}, {}) was not foreseen: {said}", request.model));
    }
    if let Scripted::Reply(say) | Scripted::Cut { reply: say, .. } | Scripted::Stall { reply: say, .. } = &scripted {
        bill(shared, &mut state, &request, say);
    }
    Some((number, request, scripted))
}

fn model_of(vendor: Vendor, path: &str, body: &Value) -> String {
    let between = |start: &str, end: char| {
        let rest = path.split_once(start)?.1;
        Some(rest.split(end).next().unwrap_or(rest).to_owned())
    };
    let in_path = match vendor {
        Vendor::Gemini => between("/models/", ':'),
        Vendor::OpenAi => between("/deployments/", '/'),
        Vendor::Anthropic | Vendor::Responses | Vendor::Ollama => None,
    };
    in_path.or_else(|| body["model"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn bill(shared: &Shared, state: &mut State, request: &Request, say: &Say) {
    if say.thinking.is_some() {
        state.signatures.insert(answer::signature(request.number));
    }
    let Some(mut usage) = say.usage else { return };
    if matches!(request.vendor, Vendor::Gemini | Vendor::Ollama) {
        // They have no cache writes: what a script calls one is plain input there.
        usage.input += std::mem::take(&mut usage.cache_write);
    }
    let price = shared.options.prices.iter().find(|(prefix, _)| request.model.starts_with(prefix.as_str()));
    let cost = price.map_or(MicroUsd::ZERO, |(_, price)| price.cost(&usage));
    state.ledger.push(Billed { request: request.number, model: request.model.clone(), usage, cost });
}

fn request_answer(
    writer: &mut TcpStream,
    shared: &Shared,
    number: usize,
    request: &Request,
    scripted: Scripted,
) -> Option<After> {
    let chunk = shared.options.chunk_bytes;
    let streamed = request.stream && !shared.options.json_only;
    let render = |say: &Say| answer::render(request.vendor, streamed, number, &request.model, say);
    let keep = |status: u16, content_type: &'static str, body: &[u8]| {
        shared.state().answers.push(Answered { request: number, status, content_type, body: body.to_vec() });
    };
    match scripted {
        Scripted::Reply(say) => {
            let (content_type, body) = render(&say);
            keep(200, content_type, &body);
            write_chunked(writer, content_type, &body, chunk, After::KeepAlive).ok()?;
            Some(After::KeepAlive)
        }
        Scripted::Status { code, headers, body } => {
            keep(code, "application/json", body.as_bytes());
            write_plain(writer, code, &headers, "application/json", body.as_bytes(), chunk).ok()?;
            Some(After::KeepAlive)
        }
        Scripted::Body { content_type, body } => {
            write_plain(writer, 200, &[], content_type, body.as_bytes(), chunk).ok()?;
            Some(After::KeepAlive)
        }
        Scripted::Cut { reply, after } => {
            let (content_type, body) = render(&reply);
            write_chunked(writer, content_type, &body[..after.min(body.len())], chunk, After::Close).ok()?;
            Some(After::Close)
        }
        Scripted::Stall { reply, after } => {
            let (content_type, body) = render(&reply);
            write_chunked(writer, content_type, &body[..after.min(body.len())], chunk, After::Close).ok()?;
            wait_for_the_end(shared);
            Some(After::Close)
        }
        Scripted::Drop => Some(After::Close),
        Scripted::Hang => {
            wait_for_the_end(shared);
            Some(After::Close)
        }
        Scripted::Raw(bytes) => {
            writer.write_all(&bytes).ok()?;
            Some(After::Close)
        }
        Scripted::Unexpected => {
            let body = answer::error_body(request.vendor, 500, "unexpected_request", "not foreseen by the script");
            write_plain(writer, 500, &[], "application/json", body.to_string().as_bytes(), chunk).ok()?;
            Some(After::KeepAlive)
        }
    }
}

fn wait_for_the_end(shared: &Shared) {
    let state = shared.state();
    drop(shared.ending.wait_while(state, |state| !state.ended).unwrap_or_else(PoisonError::into_inner));
}

fn write_pieces(writer: &mut TcpStream, bytes: &[u8], size: Option<usize>) -> std::io::Result<()> {
    for piece in bytes.chunks(size.unwrap_or(bytes.len()).max(1)) {
        writer.write_all(piece)?;
        writer.flush()?;
    }
    Ok(())
}

fn write_plain(
    writer: &mut TcpStream,
    code: u16,
    headers: &[(&'static str, String)],
    content_type: &str,
    body: &[u8],
    chunk: Option<usize>,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {code} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes())?;
    write_pieces(writer, body, chunk)
}

fn write_chunked(
    writer: &mut TcpStream,
    content_type: &str,
    body: &[u8],
    chunk: Option<usize>,
    after: After,
) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n");
    writer.write_all(head.as_bytes())?;
    for piece in body.chunks(chunk.unwrap_or(body.len()).max(1)) {
        let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
        framed.extend_from_slice(piece);
        framed.extend_from_slice(b"\r\n");
        writer.write_all(&framed)?;
        writer.flush()?;
    }
    if after == After::KeepAlive { writer.write_all(b"0\r\n\r\n") } else { Ok(()) }
}
