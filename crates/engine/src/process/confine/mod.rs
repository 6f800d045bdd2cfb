//! Confinement of child processes: what a test, a tool or a setup command can reach (DESIGN §5).
//!
//! Repository code runs as the same user as upshift, so nothing but the kernel stands between them. A child is started through this very
//! program ([`helper`]), which takes rights away from itself and only then becomes the command. A shell that needs no namespace is
//! started by a thread that does the same (`direct`). The means, where they exist:
//!
//! | means | against |
//! |---|---|
//! | Landlock (`fence`) | files outside the tree and the private folder, other processes' memory and environments, signals, abstract sockets |
//! | seccomp (`filter`) | `ptrace`, `io_uring`, new namespaces and mounts, keyrings, odd socket families, terminal injection, signals to upshift |
//! | capabilities dropped, no new privileges | root's rights, `sudo`, setuid programs |
//! | a room (`room`, shared by a run's children through its `doors`) | a mount namespace that holds granted paths alone: no outside Unix socket, a private `/tmp`, `.git` read-only, the system's secrets covered; a network namespace with loopback alone |
//! | resource limits | core dumps, files of unbearable size |
//!
//! **Why `.git` needs more than Landlock:** its rules only add rights, and a right to make files in the tree's root reaches everything
//! below it. Where a mount namespace can be made, `.git` is mounted read-only, with a copy of its configuration that holds no credential. A
//! crash leaves nothing behind, since the mounts die with the child. Where none can be made (a container without rights, or Ubuntu 24.04,
//! which forbids them to unprivileged users), `git` keeps a copy of everything in `.git` that can make git run a program or send it
//! elsewhere, and puts it back after every child. The copy outlives a crash and the next start puts it back. Moving the directory away, or
//! running in a copy of the tree, would leave a killed run's repository in pieces, or cost every build its cache.
//!
//! Start reading at [`arrange`]. Invariant: a child for which confinement was promised runs confined or not at all. A guard that the kernel
//! could not give is told in [`Arranged::gaps`], never left out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Network, Sandbox};

mod agent_room;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "agents_portable.rs"
)]
mod agents;
mod arrange;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "bounds_portable.rs"
)]
mod bounds;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod direct;
mod door;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod doors;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod fence;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod filter;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod gaps;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod git;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod grants;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    expect(dead_code, reason = "most guards are the confinement's")
)]
pub(super) mod guards;
pub mod helper;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod home;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod leftovers;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod mounts;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod namespaces;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "plan_portable.rs"
)]
mod plan;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod policy;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod renounce;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod room;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod warm;

pub use agent_room::{AgentRoom, AgentWish};
pub use agents::arrange_agent;
pub use arrange::arrange;
pub use bounds::Bounds;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use direct::Direct;
pub use door::Door;

/// How a child is kept from harm beyond time, output and environment.
#[derive(Debug, Clone, Default)]
pub enum Confinement {
    /// Only what [`super::run`] always does.
    #[default]
    None,
    /// Within these bounds.
    Within(Arc<Bounds>),
}

/// The confinement that is asked for.
#[derive(Debug)]
pub struct Wish<'a> {
    /// How much.
    pub sandbox: Sandbox,
    /// Which network.
    pub network: Network,
    /// The tree that children may write.
    pub checkout: &'a Path,
    /// The children's environment as it would be without confinement.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Folders and files that no child may reach: the audit log, recorded states, the runner's temporary folder.
    pub kept_out: Vec<PathBuf>,
    /// A folder outside every granted path for what must survive a crash.
    pub state: PathBuf,
    /// This program.
    pub helper: PathBuf,
}

/// A confinement and the environment that goes with it.
#[derive(Debug, Clone, Default)]
pub struct Confined {
    /// The bounds.
    pub confinement: Confinement,
    /// The environment: home, temporary folder and caches lead into the private folder.
    pub env: BTreeMap<OsString, OsString>,
}

/// The confinement that children get.
#[derive(Debug, Clone, Default)]
pub struct Arranged {
    /// For tests and tools.
    pub tests: Confined,
    /// The same with the whole network, if `auto` may fall back to it.
    pub open: Option<Confined>,
    /// For the setup command: the network, and the caches of package managers to fill.
    pub setup: Confined,
    /// The network that tests have.
    pub network: Reach,
    /// The wishes that the kernel cannot fulfil, in words for a person. `required` refuses to run with any.
    pub gaps: Vec<String>,
    /// Other remarks for a person on how children are kept.
    pub notes: Vec<String>,
}

/// How far children reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// Everything.
    #[default]
    All,
    /// This machine's loopback, in a namespace of their own.
    Loopback,
    /// Nothing.
    Nothing,
    /// One TCP port, to which Landlock lets them connect.
    Port(u16),
}

/// Why children cannot be confined as asked.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel cannot give what was required.
    #[error(
        "sandbox is `required`, and this machine cannot provide all of it:\n  - {}\n→ Fix: use a newer kernel, or `sandbox: auto`, which confines as far as possible and reports what is missing",
        .0.join("\n  - ")
    )]
    Gaps(Vec<String>),
    /// The kernel cannot give that network.
    #[error(
        "network is `{0}`, and this machine cannot provide it: {1}\n→ Fix: use `network: auto`, which takes the tightest that works and says which"
    )]
    Network(Network, String),
    /// An agent would have no way to its model.
    #[error(
        "agents (`cli/…`) reach their model through one door in a network of their own, and this machine cannot provide it: {0}\n→ Fix: allow \
         namespaces, or say `safety.network: on` (flag --network on): the agent then has the whole network, though no key"
    )]
    NoDoor(String),
    /// An agent could do what the user can.
    #[error(
        "agents (`cli/…`) run commands as they see fit, and this machine cannot confine them: {0}\n→ Fix: run upshift where it can, or say \
         `safety.sandbox: off` (flag --sandbox off) if they may do anything on this machine"
    )]
    Unconfined(String),
    /// The private folder cannot be made.
    #[error(
        "the private folder for child processes cannot be made: {0}\n→ Fix: make room for temporary files and on the disk of upshift's state folder"
    )]
    Private(std::io::Error),
    /// The helper does not work although it should.
    #[error("child processes cannot be confined: {0}")]
    Helper(String),
}

impl Confinement {
    /// Notes the files that children have left behind so far. They may stay.
    pub fn remember(&self) {
        if let Self::Within(bounds) = self {
            bounds.remember();
        }
    }

    /// Removes what they left in their private folder since then. If any has been there, each later one has an
    /// empty shared memory of its own.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn forget(&self) -> std::io::Result<()> {
        match self {
            Self::Within(bounds) => bounds.forget(),
            Self::None => Ok(()),
        }
    }

    /// Puts the git directory back as it was before the child, whose descendants are all gone. Returns a note about it for the output.
    pub(super) fn put_back(&self) -> std::io::Result<Option<String>> {
        match self {
            Self::Within(bounds) => bounds.put_back(),
            Self::None => Ok(None),
        }
    }
}
