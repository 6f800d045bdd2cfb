//! From what is asked for to bounds (Linux): what the machine can give is tried out once, and the rest is named.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::direct::Direct;
use super::doors::Doors;
use super::git::GitGuard;
use super::home::{self, Private};
use super::policy::{Policy, Room};
use super::{Arranged, Bounds, ConfineError, Confined, Confinement, Reach, Wish};
use super::{gaps, git, grants, guards, helper, namespaces, warm};
use crate::config::{Network, Sandbox};

/// Why a trial did not work out, or which Landlock there is, and the way into the room that was made.
type Tried = Result<(u32, Option<Doors>), String>;

/// A policy that works, what its trial gave, and why there is no room if there is none.
type Given = (Policy, (u32, Option<Doors>), Option<String>);

/// Puts back what the children of a killed run may have left of the git directory.
///
/// # Errors
/// When the git directory cannot be written.
pub(super) fn recover(wish: &Wish<'_>) -> Result<(), ConfineError> {
    git::recover(wish.checkout, &wish.state).map_err(ConfineError::Private)
}

/// Works out how children are confined, and prepares their private folder.
///
/// # Errors
/// [`ConfineError`]: `required` with a gap, a network that cannot be given, no private folder.
pub(super) fn arrange(wish: &Wish<'_>) -> Result<Arranged, ConfineError> {
    arrange_with(wish, Access::default())
}

/// The access that a child has beside, or less than, tests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Access<'a> {
    /// The paths that it may read beside: the folders of its program.
    pub(super) program: &'a [PathBuf],
    /// Whether it may not write the tree.
    pub(super) reads_only: bool,
    /// The one TCP port that it may connect to, where it has no network of its own.
    pub(super) port: Option<u16>,
}

/// As [`arrange`], for children of another kind.
///
/// # Errors
/// As [`arrange`]'s.
pub(super) fn arrange_with(wish: &Wish<'_>, access: Access<'_>) -> Result<Arranged, ConfineError> {
    let off = guards::off();
    let kept_out = grants::with_real_places(wish.kept_out.clone());
    let mut found = grants::collect(wish.env, &kept_out);
    grants::without_other_names_of(wish.checkout, &mut found.tools);
    access.program.iter().for_each(|path| grants::around(path, &kept_out, &mut found.tools, 3));
    let home = grants::home_of(wish.env);
    let private = Private::make(home.as_deref(), &found.tools).map_err(ConfineError::Private)?;
    warm::go(&private.path(home::GO_CACHE), wish.env, home.as_deref(), wish.checkout);
    let reads_only = access.reads_only;
    let plan = Plan { wish, found, kept_out, private: Arc::new(private), off, reads_only };
    let (reach, fallback) = match wish.network {
        Network::Auto => (Reach::Loopback, true),
        Network::Loopback => (Reach::Loopback, false),
        Network::Off => (Reach::Nothing, false),
        Network::On => (Reach::All, false),
    };
    if let Some(port) = access.port {
        return plan.with_a_port(port);
    }
    let roomy = plan.tests(reach, Walls::Room);
    let (policy, (landlock, doors), no_room) = match plan.has(guards::ROOM).then(|| plan.attempt(&roomy)).transpose() {
        Ok(Some(given)) => (roomy, given, None),
        // A person who names loopback gets it or nothing: without a namespace there is only the machine's own.
        Err(why) if reach == Reach::Loopback && !fallback => {
            let why = namespaces::Facts::read().why(&why);
            return Err(ConfineError::Network(wish.network, format!("no network namespace can be made: {why}")));
        }
        Ok(None) if reach == Reach::Loopback && !fallback => {
            let why = "no network namespace can be made, it was switched off".to_owned();
            return Err(ConfineError::Network(wish.network, why));
        }
        Ok(None) => plan.roomless(reach, fallback, "it was switched off")?,
        Err(why) => plan.roomless(reach, fallback, &why)?,
    };
    let gaps = gaps::of_landlock(landlock);
    // A missing room is no gap, since other means stand in for it.
    if wish.sandbox == Sandbox::Required && !gaps.is_empty() {
        return Err(ConfineError::Gaps(gaps));
    }
    plan.finish(policy, doors, fallback, gaps, no_room)
}

/// Whether a mount namespace is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walls {
    Room,
    None,
}

struct Plan<'a> {
    wish: &'a Wish<'a>,
    found: grants::Grants,
    kept_out: Vec<PathBuf>,
    private: Arc<Private>,
    off: Vec<String>,
    reads_only: bool,
}

impl Plan<'_> {
    fn has(&self, guard: &str) -> bool {
        !self.off.iter().any(|off| off == guard)
    }

    fn tests(&self, reach: Reach, walls: Walls) -> Policy {
        let mut write = Vec::new();
        // A log or a state that a user put into the tree stays out of reach; then the root itself takes no new files.
        let mut tree = Vec::new();
        grants::around(self.wish.checkout, &self.kept_out, &mut tree, 3);
        if !self.reads_only {
            write.append(&mut tree);
        }
        write.extend(self.private.writable());
        let mut devices = self.found.devices.clone();
        write.push(PathBuf::from(grants::SHARED_MEMORY));
        let mut read = if walls == Walls::Room { self.found.whole.clone() } else { self.found.read.clone() };
        read.extend(self.found.tools.iter().cloned());
        // Empty by now, unless the tree is only to be read.
        read.append(&mut tree);
        let room = (walls == Walls::Room).then(|| {
            devices.extend(grants::TERMINALS.map(PathBuf::from));
            // In a room these are private. Elsewhere they are everybody's, and stay closed.
            write.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
            self.room(&read, &write)
        });
        let guardian = i32::try_from(std::process::id()).unwrap_or(0);
        let writes_as_stranger = belongs_to_stranger(self.wish.checkout);
        Policy { read, write, devices, reach, room, guardian, writes_as_stranger, off: self.off.clone() }
    }

    fn room(&self, read: &[PathBuf], write: &[PathBuf]) -> Room {
        let checkout = self.wish.checkout;
        let devices = |path: &&PathBuf| {
            // The room furnishes these itself.
            !path.starts_with("/dev") && !["/tmp", "/var/tmp"].iter().any(|tmp| path.as_path() == Path::new(tmp))
        };
        let show = read.iter().chain(write).filter(devices).cloned().collect();
        let mut still = vec![checkout.join(".git")];
        still.extend(git::submodules(checkout).into_iter().map(|module| checkout.join(module).join(".git")));
        let stand_ins = self.configurations_without_credentials();
        // A mount on a link would lie on the place that it leads to.
        still.retain(|path| path.symlink_metadata().is_ok_and(|found| !found.is_symlink()));
        Room {
            root: self.private.path("room"),
            tmp: self.private.path("room-tmp"),
            show,
            still,
            stand_ins,
            covered: self.found.covered.clone(),
            nothing: self.private.path("nothing"),
            empty: self.private.path("empty"),
        }
    }

    /// Copies of git's configuration files without credentials, and the files in whose place they are laid.
    fn configurations_without_credentials(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut stand_ins = Vec::new();
        for (number, config) in git::configurations(self.wish.checkout).into_iter().enumerate() {
            let config = self.wish.checkout.join(config);
            let clean =
                std::fs::read(&config).ok().and_then(|text| git::without_credentials(&String::from_utf8_lossy(&text)));
            let Some(clean) = clean else { continue };
            let stand_in = self.private.path(&format!("git-config-{number}"));
            let is_written = std::fs::write(&stand_in, clean).is_ok();
            // A full disk must not be what shows the credentials: an empty file stands in then.
            stand_ins.push((if is_written { stand_in } else { self.private.path("nothing") }, config));
        }
        stand_ins
    }

    /// Without namespaces, and with one port of the machine's network.
    fn with_a_port(self, port: u16) -> Result<Arranged, ConfineError> {
        let (policy, (landlock, doors), no_room) = self.roomless(Reach::Port(port), false, "no network namespace")?;
        if let Some(why) = gaps::no_port(landlock) {
            return Err(ConfineError::NoDoor(why.to_owned()));
        }
        self.finish(policy, doors, false, gaps::of_landlock(landlock), no_room)
    }

    /// The same with less: no namespaces.
    fn roomless(&self, reach: Reach, fallback: bool, why: &str) -> Result<Given, ConfineError> {
        // Loopback alone takes a namespace. The next tighter one needs none.
        let reach = if reach == Reach::Loopback && fallback { Reach::Nothing } else { reach };
        let policy = self.tests(reach, Walls::None);
        match self.attempt(&policy) {
            Ok(given) => Ok((policy, given, Some(why.to_owned()))),
            // There is nothing less to fall back to.
            Err(why) => Err(ConfineError::Helper(why)),
        }
    }

    /// Whether the machine can do what the policy says. Where that takes no namespace a thread can tell, provided that the helper is there.
    fn attempt(&self, policy: &Policy) -> Tried {
        if let Some(direct) = Direct::for_policy(policy).filter(|_| self.wish.helper.is_file()) {
            return direct.try_out().map(|landlock| (landlock, None));
        }
        trial(&self.wish.helper, policy, self.wish.checkout)
    }

    fn finish(
        self,
        policy: Policy,
        doors: Option<Doors>,
        fallback: bool,
        gaps: Vec<String>,
        no_room: Option<String>,
    ) -> Result<Arranged, ConfineError> {
        let wish = self.wish;
        let reach = policy.reach;
        let mut notes = Vec::new();
        let has_git = wish.checkout.join(".git").symlink_metadata().is_ok();
        // In a room git's directory is mounted read-only; one that is not there cannot be.
        let guarded = self.has(guards::GIT) && (no_room.is_some() || !has_git);
        let git = guarded.then(|| GitGuard::raise(wish.checkout, &wish.state)).transpose();
        let git = git.map_err(ConfineError::Private)?.map(Arc::new);
        if let Some(why) = &no_room {
            notes.extend(namespaces::missing(&namespaces::Facts::read(), why, reach));
        }
        let bounds = |policy: &Policy, doors: Option<Doors>| -> Result<Confinement, ConfineError> {
            let direct = Direct::for_policy(policy);
            let policy = serde_json::to_string(policy).map_err(|error| ConfineError::Helper(error.to_string()))?;
            let (helper, private) = (wish.helper.clone(), Arc::clone(&self.private));
            let (used, stale) = (AtomicBool::new(false), AtomicBool::new(false));
            let git = git.clone();
            Ok(Confinement::Within(Arc::new(Bounds { helper, policy, direct, doors, used, stale, git, private })))
        };
        let confined = |policy: &Policy, doors: Option<Doors>| -> Result<Confined, ConfineError> {
            let env = if policy.has(guards::HOME) {
                self.private.environment(wish.env, wish.checkout, policy.reach)
            } else {
                wish.env.clone()
            };
            Ok(Confined { confinement: bounds(policy, doors)?, env })
        };
        let open = Policy { reach: Reach::All, ..policy.clone() };
        let mut setup = open.clone();
        setup.write.extend(self.found.tools.iter().cloned());
        // These have another network, and so another room; each of their few children makes its own.
        let setup = confined(&setup, None)?;
        let open = (fallback && reach != Reach::All).then(|| confined(&open, None)).transpose()?;
        Ok(Arranged { tests: confined(&policy, doors)?, open, setup, network: reach, gaps, notes })
    }
}

/// Runs the helper with nothing to become: whether the machine can do what the policy says.
fn trial(program: &Path, policy: &Policy, folder: &Path) -> Tried {
    let text = serde_json::to_string(policy).map_err(|error| error.to_string())?;
    #[expect(clippy::disallowed_methods, reason = "this module is the place that starts processes")]
    let mut command = std::process::Command::new(program);
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    command.arg(helper::WORD).arg(text).current_dir(folder).env_clear().stdin(OwnedFd::from(theirs));
    let ended = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let version = said.trim().strip_prefix("landlock ").and_then(|number| number.parse().ok());
    let doors = policy.room.as_ref().and_then(|room| Doors::received(&ours, room));
    version.filter(|_| ended.status.success()).map(|version| (version, doors)).ok_or_else(|| {
        let why = String::from_utf8_lossy(&ended.stderr);
        let why = why.trim().trim_start_matches("upshift: not started: ");
        if why.is_empty() { ended.status.to_string() } else { why.to_owned() }
    })
}

/// Whether this is root at work in somebody else's tree, as in a container of GitHub's.
fn belongs_to_stranger(checkout: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    rustix::process::geteuid().is_root() && std::fs::metadata(checkout).is_ok_and(|found| found.uid() != 0)
}
