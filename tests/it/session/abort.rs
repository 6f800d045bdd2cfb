//! A stop during any await ends a session within 100 ms, with its receipts written (issue 3, must-show 4).
//!
//! Measured is what a session still waits for, not how busy the machine is. Tokio's clock stands still until the stop (a thread
//! of the runtime is held, which keeps the paused clock from moving); from then on it leaps to the next timer whenever nothing
//! else is left to do. A session that goes on waiting for its vendor, a pause or a process makes it leap by seconds or minutes;
//! one that ends makes it leap by nothing, or by the grace that it gives a running tool. One test looks at the machine's clock.
//!
//! There is no await for a mutex of the tools (their results are admitted by the one task that owns them) nor for the log
//! (SQLite is synchronous: see the test of its lock) nor for a cassette that is replayed (its replies are there).

use std::net::TcpListener;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use upshift::domain::stop::{StopCause, StopSource};

use super::*;

const LIMIT: Duration = Duration::from_millis(100);
const WIRES: [&str; 3] = [CLAUDE, GPT, GEMINI];
/// After so many turns of the runtime everything that a socket held has been read: it looks at its sockets every 61.
const SETTLED: usize = 300;

/// Holds tokio's paused clock until it is dropped.
struct Held {
    _until: mpsc::Sender<()>,
}

impl Held {
    fn clock() -> Self {
        let (until, dropped) = mpsc::channel::<()>();
        drop(tokio::task::spawn_blocking(move || dropped.recv()));
        Self { _until: until }
    }
}

/// The moment at which a session is to be stopped.
#[derive(Debug, Default)]
struct Moment {
    near: Arc<Notify>,
    polls: AtomicUsize,
    polls_when_near: AtomicUsize,
}

impl Moment {
    fn is_near(&self) {
        self.polls_when_near.store(self.polls.load(Ordering::SeqCst), Ordering::SeqCst);
        self.near.notify_one();
    }

    /// Until the session was woken so many times since, and all that came over sockets was read.
    async fn comes(&self, after_polls: usize) {
        self.near.notified().await;
        while self.polls.load(Ordering::SeqCst) < self.polls_when_near.load(Ordering::SeqCst) + after_polls {
            tokio::task::yield_now().await;
        }
        for _ in 0..SETTLED {
            tokio::task::yield_now().await;
        }
    }
}

/// How a stopped session ended.
struct Stopped {
    end: SessionEnd,
    receipts: Vec<Receipt>,
    /// From the stop on, by tokio's clock and by the machine's.
    waited: Duration,
    took: Duration,
}

/// Holds a session and stops it at a moment.
async fn stopped(bench: &mut Bench, url: &str, moment: &Arc<Moment>, after_polls: usize) -> Stopped {
    let (source, stop) = StopSource::new();
    bench.stop = stop;
    let held = Held::clock();
    let coming = Arc::clone(moment);
    let raise = tokio::spawn(async move {
        coming.comes(after_polls).await;
        let raised = (tokio::time::Instant::now(), Instant::now());
        source.raise(StopCause::Signal(15));
        drop(held);
        raised
    });
    let (end, receipts) = {
        let mut session = pin!(bench.converse_at(url));
        std::future::poll_fn(|context| {
            moment.polls.fetch_add(1, Ordering::SeqCst);
            session.as_mut().poll(context)
        })
        .await
    };
    let (raised, ended) = (raise.await.unwrap(), bench.ended.get().unwrap());
    Stopped { end, receipts, waited: ended.0 - raised.0, took: ended.1.saturating_duration_since(raised.1) }
}

/// Checks the end: at once, and what was paid or may have been has its receipt.
fn check(stopped: &Stopped, statuses: &[CallStatus], case: &str) {
    assert!(stopped.waited < LIMIT, "{case}: {:?}", stopped.waited);
    assert_eq!(stopped.end.exit, SessionExit::SignalReceived, "{case}: {:?}", stopped.end);
    let seen: Vec<CallStatus> = stopped.receipts.iter().map(|receipt| receipt.status).collect();
    assert_eq!(seen, statuses, "{case}");
    for receipt in stopped.receipts.iter().filter(|receipt| receipt.status == CallStatus::Aborted) {
        assert_eq!(receipt.unknown_cost, receipt.reserved, "{case}: it may have been billed");
    }
}

/// A server whose answers are always the same, and which says when one is asked for.
fn saying(moment: &Arc<Moment>, answer: Scripted) -> ModelServer {
    let moment = Arc::clone(moment);
    ModelServer::start_with(priced(), move |_| {
        moment.is_near();
        answer.clone()
    })
}

#[tokio::test(start_paused = true)]
async fn while_a_connection_is_made() {
    for target in WIRES {
        // Takes the connection and never answers the handshake.
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let moment = Arc::new(Moment::default());
        let near = Arc::clone(&moment);
        let (over, wait) = mpsc::channel::<()>();
        let silent = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut hello = [0; 16];
            std::io::Read::read_exact(&mut socket, &mut hello).unwrap();
            near.is_near();
            wait.recv().unwrap_err();
        });
        let stopped = stopped(&mut Bench::new(&[target]), &url, &moment, 0).await;
        check(&stopped, &[CallStatus::Aborted], target);
        drop(over);
        silent.join().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_head_of_an_answer_is_awaited() {
    for target in WIRES {
        let moment = Arc::default();
        let server = saying(&moment, Scripted::Hang);
        let stopped = stopped(&mut Bench::new(&[target]), &server.url(), &moment, 0).await;
        check(&stopped, &[CallStatus::Aborted], target);
        server.finish();
    }
}

#[tokio::test(start_paused = true)]
async fn within_the_body_of_an_answer() {
    for target in WIRES {
        for after in [0, 1, 60, 200] {
            let moment = Arc::default();
            let server = saying(&moment, Scripted::Stall { reply: report().usage(700, 40), after });
            let stopped = stopped(&mut Bench::new(&[target]), &server.url(), &moment, 1).await;
            check(&stopped, &[CallStatus::Aborted], &format!("{target} after {after} bytes"));
            assert!(stopped.end.cost.total() >= server.finish(), "{target}: no less than was billed");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn during_the_pause_after_a_limit_or_a_broken_connection() {
    for target in WIRES {
        for (answer, status) in [
            (Scripted::status(429, "{}").header("retry-after", "30"), CallStatus::RateLimited),
            (Scripted::Drop, CallStatus::NetworkError),
        ] {
            let moment: Arc<Moment> = Arc::default();
            let server = ModelServer::serving_with(priced(), [answer]);
            let mut bench = Bench::new(&[target]);
            let near = Arc::clone(&moment);
            // The pause begins where the receipt of the failed call was written.
            bench.at_events = Some(Rc::new(move |event| {
                if matches!(event, Event::CallSettled(_)) {
                    near.is_near();
                }
            }));
            let stopped = stopped(&mut bench, &server.url(), &moment, 0).await;
            check(&stopped, &[status], target);
            server.finish();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn during_a_test_run_that_ignores_sigterm() {
    for target in WIRES {
        let moment: Arc<Moment> = Arc::default();
        let server = ModelServer::serving_with(priced(), [Say::call("run_tests", json!({})).into()]);
        let mut bench = Bench::new(&[target]);
        bench.endless_tests = Some(Arc::clone(&moment.near));
        let stopped = stopped(&mut bench, &server.url(), &moment, 0).await;
        check(&stopped, &[CallStatus::Ok], target);
        assert_eq!(server.finish(), stopped.end.cost.total(), "{target}");
    }
}

/// The runtime's only other thread is taken, so that reads wait for it: one alone, and several side by side.
#[test]
fn while_reads_wait_for_a_thread() {
    let one = Say::call("search", json!({"pattern": "add"}));
    let several = one.clone().and_call("read_file", json!({"path": "calc.py"}));
    for (target, reply) in WIRES.into_iter().flat_map(|target| [(target, one.clone()), (target, several.clone())]) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let moment: Arc<Moment> = Arc::default();
            let server = ModelServer::serving_with(priced(), [reply.into()]);
            let mut bench = Bench::new(&[target]);
            let near = Arc::clone(&moment);
            bench.at_events = Some(Rc::new(move |event| {
                if matches!(event, Event::CallSettled(_)) {
                    near.is_near();
                }
            }));
            let stopped = stopped(&mut bench, &server.url(), &moment, 0).await;
            check(&stopped, &[CallStatus::Ok], target);
            assert_eq!(server.finish(), stopped.end.cost.total(), "{target}");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_cassette_is_recorded_which_then_holds_finished_calls_only() {
    for target in WIRES {
        let moment: Arc<Moment> = Arc::default();
        let near = Arc::clone(&moment);
        let server = ModelServer::start_with(priced(), move |request| match request.number {
            0 => Say::call("read_file", json!({"path": "calc.py"})).usage(900, 20).into(),
            _ => {
                near.is_near();
                Scripted::Hang
            }
        });
        let mut bench = Bench::new(&[target]);
        let path = bench.dir.path().join("tape.json");
        bench.tape = Some(path.clone());
        let stopped = stopped(&mut bench, &server.url(), &moment, 0).await;
        check(&stopped, &[CallStatus::Ok, CallStatus::Aborted], target);
        let recorded: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(recorded["calls"].as_array().unwrap().len(), 1, "{target}");
        server.finish();
    }
}

/// Another program locks the log while a call is under way: the receipt is spooled at once, and in the log as soon as that is
/// free. A write that waits for the lock would wait two seconds, by the machine's clock.
#[tokio::test(start_paused = true)]
async fn while_another_program_locks_the_audit_log() {
    let moment: Arc<Moment> = Arc::default();
    let mut bench = Bench::new(&[CLAUDE]);
    let lock = LogLock::default();
    bench.locked_log = Some(Arc::clone(&lock));
    let (near, path) = (Arc::clone(&moment), bench.log());
    let server = ModelServer::start_with(priced(), move |_| {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        *lock.lock().unwrap() = Some(other);
        near.is_near();
        Scripted::Hang
    });
    let stopped = stopped(&mut bench, &server.url(), &moment, 0).await;
    check(&stopped, &[CallStatus::Aborted], "a locked log");
    assert!(stopped.took < Duration::from_secs(1), "{:?}", stopped.took);
    server.finish();
}

/// A session that is stopped right before its `nth` poll; `None` if it has fewer.
async fn stopped_at_poll(target: &str, nth: usize) -> Option<()> {
    let server = ModelServer::start_with(priced().chunk_bytes(300), four_turns);
    let (source, stop) = StopSource::new();
    let mut bench = Bench::new(&[target]);
    bench.stop = stop;
    let mut waiting = Some((source, Held::clock()));
    let (mut polls, mut raised) = (0, None);
    let (end, receipts) = {
        let url = server.url();
        let mut session = pin!(bench.converse_at(&url));
        std::future::poll_fn(|context| {
            polls += 1;
            if polls == nth
                && let Some((source, held)) = waiting.take()
            {
                source.raise(StopCause::Signal(15));
                drop(held);
                raised = Some(tokio::time::Instant::now());
            }
            session.as_mut().poll(context)
        })
        .await
    };
    let Some(raised) = raised else {
        assert_eq!(end.report.as_str(), "done", "{target}");
        return None;
    };
    let waited = bench.ended.get().unwrap().0 - raised;
    assert!(waited < LIMIT, "{target}, poll {nth}: {waited:?}");
    assert!(receipts.len() >= server.ledger().len(), "what was billed has its receipt");
    assert!(end.cost.total() >= server.billed(), "{target}, poll {nth}: {} of {}", end.cost.total(), server.billed());
    // The report may have been there already.
    assert!(matches!(end.exit, SessionExit::SignalReceived | SessionExit::FinalAnswer), "poll {nth}: {end:?}");
    server.finish();
    Some(())
}

/// Whatever a session waits for, each poll of it is one await that a stop may meet. What the bench checks holds for each:
/// receipts add up to the cost, and nothing stays set aside.
async fn at_every_await(target: &str) {
    let mut nth = 1;
    while stopped_at_poll(target, nth).await.is_some() {
        nth += 1;
    }
    assert!(nth > 10, "only {nth} awaits were met");
}

#[tokio::test(start_paused = true)]
async fn at_every_await_of_a_fix_with_anthropic() {
    at_every_await(CLAUDE).await;
}

#[tokio::test(start_paused = true)]
async fn at_every_await_of_a_fix_with_openai() {
    at_every_await(GPT).await;
}

#[tokio::test(start_paused = true)]
async fn at_every_await_of_a_fix_with_gemini() {
    at_every_await(GEMINI).await;
}

/// By the machine's clock: a session ends no later than 100 ms after somebody else who waits for nothing but the same stop, on
/// the same thread, so that both feel a busy machine alike.
#[tokio::test]
async fn by_the_machines_clock_too() {
    for target in WIRES {
        let moment: Arc<Moment> = Arc::default();
        let server = saying(&moment, Scripted::Hang);
        let (source, stop) = StopSource::new();
        let mut bench = Bench::new(&[target]);
        bench.stop = stop.clone();
        let bystander = async {
            stop.wait().await;
            Instant::now()
        };
        let coming = Arc::clone(&moment);
        let raise = tokio::spawn(async move {
            coming.comes(0).await;
            source.raise(StopCause::Signal(15));
        });
        let (woken, (end, receipts)) = tokio::join!(bystander, bench.converse(&server));
        raise.await.unwrap();
        let took = bench.ended.get().unwrap().1.saturating_duration_since(woken);
        assert!(took < LIMIT, "{target}: {took:?}");
        assert_eq!((end.exit, receipts.len()), (SessionExit::SignalReceived, 1), "{target}");
        server.finish();
    }
}
