//! Proxies and certificate authorities: what `http` was told to use is used, and nothing else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::SecretString;
use upshift::domain::chat::Reply;
use upshift::domain::clock::SystemClock;
use upshift::domain::receipt::CallStatus;
use upshift::http::{Http, HttpSettings, ProxySettings, install_tls_provider};
use upshift::model::CallFailure;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{WIRES, ask, provider, user};
use crate::world::model_server::{ModelServer, Say, Scripted};

async fn call(url: &str, settings: HttpSettings) -> Result<Reply, CallFailure> {
    let endpoint = Endpoint::new("custom", Wire::OpenAi, url);
    let provider = endpoint.connect(&Http::new(settings), Arc::new(SystemClock::new())).unwrap();
    provider.ask(&ask("custom/model", vec![user("hello")])).await
}

fn through(proxy: ProxySettings) -> HttpSettings {
    HttpSettings { proxy, ..HttpSettings::default() }
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_vendors_address() {
    let proxy = ModelServer::serving([Say::text("through the proxy").into()]);
    let address = proxy.url().replace("http://", "http://me:pa%20ss@");
    let settings = through(ProxySettings { http: Some(address.into()), ..ProxySettings::default() });
    let reply = call("http://vendor.invalid/v1", settings).await.unwrap();
    assert_eq!(reply.text, "through the proxy");
    assert_eq!(proxy.requests()[0].path, "http://vendor.invalid/v1/chat/completions");
    assert_eq!(proxy.requests()[0].header("proxy-authorization"), Some("Basic bWU6cGEgc3M="));
    proxy.finish();
}

#[tokio::test]
async fn hosts_under_no_proxy_and_loopback_are_reached_directly() {
    let proxy = ModelServer::start(|_| Scripted::Unexpected);
    let listed = ProxySettings {
        all: Some(proxy.url().into()),
        no_proxy: Some("other.test,.invalid".to_owned()),
        ..ProxySettings::default()
    };
    let failure = call("http://vendor.invalid/v1", through(listed.clone())).await.unwrap_err();
    assert_eq!(failure.status, CallStatus::NetworkError, "no such host: {failure}");
    for host in ["127.0.0.1", "localhost"] {
        let local = ModelServer::serving([Say::text("direct").into()]);
        let url = local.url().replace("127.0.0.1", host);
        assert_eq!(call(&url, through(listed.clone())).await.unwrap().text, "direct", "{host}");
        local.finish();
    }
    assert_eq!(proxy.requests().len(), 0);
    proxy.finish();
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

/// A TLS server for so many connections whose certificate only our test authority vouches for.
pub(crate) fn tls_server(connections: usize) -> (String, std::thread::JoinHandle<()>) {
    let (address, thread) = tls_server_of("localhost", connections);
    (format!("https://127.0.0.1:{}/v1", address.port()), thread)
}

/// The same with the certificate of that name.
fn tls_server_of(name: &str, connections: usize) -> (SocketAddr, std::thread::JoinHandle<()>) {
    install_tls_provider();
    let chain = CertificateDer::pem_file_iter(fixture(&format!("{name}.pem"))).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(fixture(&format!("{name}.key"))).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        for _ in 0..connections {
            let (socket, _) = listener.accept().unwrap();
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket);
            let mut head = [0; 16_384];
            // A client that does not trust us ends the handshake here.
            if stream.read(&mut head).is_err() {
                continue;
            }
            let body = r#"{"choices":[{"message":{"role":"assistant","content":"safe"},"finish_reason":"stop"}]}"#;
            let head = format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close", body.len());
            write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
    });
    (address, thread)
}

/// A proxy for one tunnel, which leads to `target` wherever it was asked to lead; returns the head of what it was asked.
fn tunnel(target: SocketAddr) -> (SocketAddr, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() > 0 {
            head.push(byte[0]);
        }
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        let mut vendor = TcpStream::connect(target).unwrap();
        let (mut back, mut forth) = (vendor.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = std::thread::spawn(move || {
            drop(std::io::copy(&mut back, &mut forth));
            drop(forth.shutdown(std::net::Shutdown::Both));
        });
        drop(std::io::copy(&mut client, &mut vendor));
        drop(vendor.shutdown(std::net::Shutdown::Both));
        answers.join().unwrap();
        String::from_utf8(head).unwrap()
    });
    (address, thread)
}

#[tokio::test]
async fn a_vendor_behind_a_proxy_and_an_own_authority_is_reached_through_a_tunnel() {
    let (vendor, server) = tls_server_of("vendor", 2);
    for extra_ca in [None, Some(fixture("vendor-ca.pem"))] {
        let (proxy, asked) = tunnel(vendor);
        let address = format!("http://me:pa%20ss@{proxy}");
        let proxy = ProxySettings { https: Some(address.into()), ..ProxySettings::default() };
        let trusted = extra_ca.is_some();
        let answer = call("https://vendor.test/v1", HttpSettings { extra_ca, ..through(proxy) }).await;
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("CONNECT vendor.test:443 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.to_lowercase().contains("proxy-authorization: basic bwu6cgegc3m="), "{asked}");
        match answer {
            Ok(reply) => assert!(trusted && reply.text == "safe", "{reply:?}"),
            Err(failure) => {
                assert_eq!((trusted, failure.status), (false, CallStatus::NetworkError), "{failure}");
                assert!(!failure.may_be_billed && !failure.message.contains("pa%20ss"), "{failure}");
            }
        }
    }
    server.join().unwrap();
}

#[tokio::test]
async fn an_extra_authority_is_trusted_only_where_it_was_named() {
    let (url, server) = tls_server(2);
    let refused = call(&url, HttpSettings::default()).await.unwrap_err();
    assert_eq!((refused.status, refused.may_be_billed), (CallStatus::NetworkError, false), "{refused}");
    let settings = HttpSettings { extra_ca: Some(fixture("ca.pem")), ..HttpSettings::default() };
    assert_eq!(call(&url, settings).await.unwrap().text, "safe");
    server.join().unwrap();
}

#[tokio::test]
async fn an_answer_that_was_packed_although_nobody_asked_is_read() {
    let message = r#"{"type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 90, "output_tokens": 12}}"#;
    let events = [
        r#"{"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 90, "output_tokens": 1}}}"#,
        r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ok"}}"#,
        r#"{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}}"#,
    ];
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    for (content_type, body) in [("application/json", message), ("text/event-stream", stream.as_str())] {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(body.as_bytes()).expect("memory");
        let packed = packer.finish().expect("memory");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            packed.len()
        );
        let server = ModelServer::serving([Scripted::Raw([head.as_bytes(), &packed].concat())]);
        let request = ask(WIRES[0].1, vec![user("mend it")]);
        let reply = provider(Wire::Anthropic, &server).ask(&request).await.expect(content_type);
        assert_eq!((reply.text.as_str(), reply.usage.map(|usage| usage.output)), ("ok", Some(12)), "{content_type}");
        server.finish();
    }
}

#[test]
fn a_key_in_quotes_is_refused_with_that_word() {
    for key in ["\"sk-ant-0123\"", "'sk-ant-0123'\n"] {
        let endpoint = Endpoint::new("anthropic", Wire::Anthropic, "https://api.example.test")
            .with_key(SecretString::from(key), "TEST_API_KEY");
        let refused = endpoint.connect(&Http::new(HttpSettings::default()), Arc::new(SystemClock::new()));
        let refused = refused.expect_err("a key in quotes").to_string();
        assert!(refused.contains("the key in TEST_API_KEY stands in quotes"), "{refused}");
    }
}
