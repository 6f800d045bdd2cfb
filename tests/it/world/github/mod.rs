//! A GitHub on 127.0.0.1: it holds a [`World`], lets time work on it, and **checks every request and every answer** against
//! GitHub's own OpenAPI description.
//!
//! ```ignore
//! let github = FakeGitHub::start(World { pulls: vec![…], ..World::default() });      // moved clock
//! let client = GitHub::new(&http, &Connection { api_url: github.url(), … }, github.clock(), Stop::never())?;
//! …
//! assert_eq!(github.world().comments.len(), 1);      // assert on the world, not on calls
//! github.finish();                                   // fails on anything unexpected, malformed or left unread
//! ```
//!
//! - Time is the test's ([`MovedClock`], on which sleeping moves the world) or, for programs outside, the machine's.
//! - [`World::ci`] says what CI does after each push; [`World::later`] what happens by itself; [`World::faults`] what goes wrong.
//! - With [`World::git_dir`] the branches, commits and files are those of a real bare repository: pushing to it is seen.
//! - Logs and artifacts lie on another origin, where our token must not come.
//! - As a program of its own: `tests/it/github/alone.rs`.

mod git;
mod openapi;
mod render;
mod routes;
mod serve;
mod state;
mod writes;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use upshift::domain::clock::Clock;

pub(crate) use state::*;

/// A clock that only moves when it is asked to wait or when a test moves it.
#[derive(Debug, Clone, Default)]
pub(crate) struct MovedClock {
    ms: Arc<AtomicU64>,
    slept: Arc<Mutex<Vec<u64>>>,
}

impl MovedClock {
    pub(crate) fn advance(&self, ms: u64) {
        self.ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Every wait so far, in milliseconds.
    pub(crate) fn slept(&self) -> Vec<u64> {
        self.slept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Clock for MovedClock {
    fn unix_ms(&self) -> i64 {
        i64::try_from(render::BEGINS_MS + self.monotonic_ms()).expect("a time")
    }

    fn monotonic_ms(&self) -> u64 {
        self.ms.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let clock = self.clone();
        Box::pin(async move {
            let ms = u64::try_from(duration.as_millis()).expect("a short wait");
            clock.slept.lock().unwrap_or_else(PoisonError::into_inner).push(ms);
            clock.advance(ms);
            tokio::task::yield_now().await;
        })
    }
}

/// Whose time it is.
#[derive(Debug, Clone)]
enum Time {
    Moved(MovedClock),
    Machine(Instant),
}

impl Time {
    fn now_ms(&self) -> u64 {
        match self {
            Self::Moved(clock) => clock.monotonic_ms(),
            Self::Machine(since) => u64::try_from(since.elapsed().as_millis()).expect("a short test"),
        }
    }
}

/// One request as it was answered.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) at_ms: u64,
    /// Whether it counts against the hourly limit.
    pub(crate) counted: bool,
}

struct State {
    world: World,
    seen: Vec<Seen>,
    complaints: Vec<String>,
    last_write_ms: Option<u64>,
    ended: bool,
}

/// Hears of every request of the API that was carried out, before anybody is answered.
type Watcher = Box<dyn Fn(&str, &str) + Send + Sync>;

struct Shared {
    time: Time,
    state: Mutex<State>,
    watcher: std::sync::OnceLock<Watcher>,
    /// `http://127.0.0.1:PORT` of the API and of the storage.
    api: String,
    blobs: String,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The world of a running fake, while nobody else looks at it.
pub(crate) struct WorldGuard<'g>(MutexGuard<'g, State>);

impl std::ops::Deref for WorldGuard<'_> {
    type Target = World;
    fn deref(&self) -> &World {
        &self.0.world
    }
}

impl std::ops::DerefMut for WorldGuard<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.0.world
    }
}

/// The running fake; ends when dropped.
pub(crate) struct FakeGitHub {
    shared: Arc<Shared>,
    ports: [u16; 2],
    listeners: Vec<JoinHandle<()>>,
}

impl FakeGitHub {
    /// Starts one whose time the test moves.
    pub(crate) fn start(world: World) -> Self {
        Self::start_with(world, Time::Moved(MovedClock::default()))
    }

    /// Starts one that lives in the machine's time, for programs outside this process.
    pub(crate) fn start_in_real_time(mut world: World) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        world.begins_ms = u64::try_from(now.as_millis()).expect("a time");
        Self::start_with(world, Time::Machine(Instant::now()))
    }

    fn start_with(mut world: World, time: Time) -> Self {
        world.advance(0);
        let (api, blobs) = (serve::bind(), serve::bind());
        let ports = [&api, &blobs].map(|listener| listener.local_addr().expect("an address").port());
        let [api_url, blobs_url] = ports.map(|port| format!("http://127.0.0.1:{port}"));
        let state = State { world, seen: Vec::new(), complaints: Vec::new(), last_write_ms: None, ended: false };
        let (state, watcher) = (Mutex::new(state), std::sync::OnceLock::new());
        let shared = Arc::new(Shared { time, state, watcher, api: api_url, blobs: blobs_url });
        let listeners = vec![
            serve::start(api, Arc::clone(&shared), serve::Origin::Api),
            serve::start(blobs, Arc::clone(&shared), serve::Origin::Blobs),
        ];
        Self { shared, ports, listeners }
    }

    /// The API's address.
    pub(crate) fn url(&self) -> String {
        self.shared.api.clone()
    }

    /// The clock that moves this world.
    pub(crate) fn clock(&self) -> MovedClock {
        match &self.shared.time {
            Time::Moved(clock) => clock.clone(),
            Time::Machine(_) => panic!("this world lives in the machine's time"),
        }
    }

    /// The world, as it is after what is due has happened.
    pub(crate) fn world(&self) -> WorldGuard<'_> {
        let mut state = self.shared.state();
        state.world.advance(self.shared.time.now_ms());
        WorldGuard(state)
    }

    /// Has it fail from elsewhere, such as from a model's reply.
    pub(crate) fn faults(&self) -> impl Fn(Fault) + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |fault| shared.state().world.faults.push(fault)
    }

    /// Has somebody told the method and the path of every request of the API, once it was carried out and before it is answered.
    pub(crate) fn watch(&self, watcher: impl Fn(&str, &str) + Send + Sync + 'static) {
        assert!(self.shared.watcher.set(Box::new(watcher)).is_ok(), "one watches already");
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// The requests so far that count against the hourly limit.
    pub(crate) fn counted(&self) -> usize {
        self.shared.state().seen.iter().filter(|seen| seen.counted).count()
    }

    /// What was wrong so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.shared.state().complaints.clone()
    }

    /// Whether `POST /__end` came.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared.state().ended
    }

    /// Ends the fake and hands out its world.
    ///
    /// Panics if a request or an answer broke GitHub's description, if something was asked that the fake does not do, or if
    /// a planned fault never came to pass.
    #[track_caller]
    pub(crate) fn finish(self) -> World {
        let world = self.world().clone();
        let mut complaints = self.complaints();
        let unread = world.faults.iter().filter(|fault| fault.times > 0);
        complaints.extend(unread.map(|fault| format!("never came to pass: {fault:?}")));
        let written = serde_json::to_vec(&world).expect("JSON");
        if crate::world::canary::sings_in(&written) {
            complaints.push("the key was published".to_owned());
        }
        assert!(complaints.is_empty(), "the fake GitHub complains:\n- {}", complaints.join("\n- "));
        world
    }
}

impl Drop for FakeGitHub {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        for port in self.ports {
            // Wakes the accept loop, which then sees that the end has come.
            drop(std::net::TcpStream::connect(("127.0.0.1", port)));
        }
        for listener in self.listeners.drain(..) {
            drop(listener.join());
        }
    }
}

impl Fault {
    /// One that comes to pass once.
    pub(crate) fn once(method: &str, path: &str, effect: Effect) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), effect, times: 1, skip: 0 }
    }

    /// The same several times.
    pub(crate) fn times(self, times: u64) -> Self {
        Self { times, ..self }
    }
}

impl Effect {
    /// An error answer with headers.
    pub(crate) fn status(code: u16, message: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::Status { code, headers, body: serde_json::json!({ "message": message }) }
    }
}
