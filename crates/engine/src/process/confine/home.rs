//! The private folder of a run's children: their home, their temporary folder, their writable caches.
//!
//! The home holds links to the tools of the real one and nothing else of it: a program that looks for `~/.gitconfig` or `~/.npmrc` finds no
//! file, instead of one that it may not read. Downloads and builds of tools go into private caches, so that nothing a test leaves there is
//! believed by a later build of the user's:
//!
//! | tool | reads | writes |
//! |---|---|---|
//! | cargo | `CARGO_HOME` (registry, git, bin), not its credentials | `target` in the tree; `CARGO_TARGET_DIR` only if it lies there |
//! | rustup | `RUSTUP_HOME` | nothing |
//! | npm, yarn, pnpm | `node_modules` in the tree | `npm_config_cache`, `YARN_CACHE_FOLDER` in the private folder |
//! | pip, uv, poetry | the interpreter, its environment | `PIP_CACHE_DIR`, `UV_CACHE_DIR` in the private folder |
//! | go | `GOROOT`, `GOMODCACHE` | `GOCACHE` in the private folder, begun with a copy of the host's (`warm`) and kept over the run |
//! | Maven | `~/.m2/repository`, as the tail of a private repository (Maven 3.9) | the private repository |
//! | Gradle | `~/.gradle/caches` as the read-only dependency cache, the wrapper's distributions | `GRADLE_USER_HOME` in the private folder |
//! | everything else | | `XDG_CACHE_HOME` and `TMPDIR` in the private folder |
//!
//! Invariant: nothing of the real home is copied, and links lead to granted folders alone.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::{Reach, grants, leftovers};
use crate::files;
use crate::process::traces::Traces;

/// Go's build cache in the private folder.
pub(super) const GO_CACHE: &str = "cache/go-build";

/// Removed from children: they lead to sockets, or into the real home.
const REMOVED: &str = "\
    XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME DISPLAY TMP TEMP NPM_CONFIG_CACHE npm_config_userconfig PIP_CONFIG_FILE GOENV \
    BUNDLE_APP_CONFIG";

/// The private folder, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Private {
    folder: TempDir,
    /// The files that were there at the last look.
    traces: Mutex<Option<Traces>>,
    /// Locked while this run lives.
    _alive: std::fs::File,
}

impl Drop for Private {
    fn drop(&mut self) {
        leftovers::sweep(self.folder.path());
    }
}

impl Private {
    /// Makes the folder, with a home that links to what is granted of the real one.
    pub(super) fn make(home: Option<&Path>, tools: &[PathBuf]) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(leftovers::PREFIX).tempdir()?;
        // Locked before anything is in it, so that no other run takes it for one that is left over.
        let alive = leftovers::mark(folder.path())?;
        let private = Self { folder, traces: Mutex::default(), _alive: alive };
        for name in ["home", "home/.cache", "tmp", "cache", "room", "room-tmp", "empty"] {
            std::fs::create_dir(private.path(name))?;
        }
        std::fs::write(private.path("nothing"), "")?;
        let own = private.path("home");
        for tool in home.into_iter().flat_map(|home| tools.iter().map(move |tool| (home, tool))) {
            let (home, tool) = tool;
            // A tool outside of the home is found by its own path.
            let Ok(below) = tool.strip_prefix(home) else { continue };
            let link = own.join(below);
            if let Some(parent) = link.parent() {
                std::fs::create_dir_all(parent)?;
            }
            // Two lists may name the same tool.
            symlink(tool, link)
                .or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })?;
        }
        Ok(private)
    }

    /// A path in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Notes what is there.
    pub(super) fn remember(&self) {
        let traces = Traces::look(self.folder.path(), |_| false);
        *self.traces.lock().unwrap_or_else(PoisonError::into_inner) = Some(traces);
    }

    /// Removes what came or changed since then: all of it is what children made, and can make again.
    pub(super) fn forget(&self) -> io::Result<()> {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(traces) = traces.as_ref() {
            return traces.since().iter().try_for_each(|trace| traces.remove(&trace.path));
        }
        *traces = Some(Traces::look(self.folder.path(), |_| false));
        Ok(())
    }

    /// The folders of it that children may write.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        ["home", "tmp", "cache", "room-tmp"].map(|name| self.path(name)).to_vec()
    }

    /// The environment of a child that lives here.
    pub(super) fn environment(
        &self,
        env: &BTreeMap<OsString, OsString>,
        checkout: &Path,
        reach: Reach,
    ) -> BTreeMap<OsString, OsString> {
        let mut env = env.clone();
        let real_home = grants::home_of(&env);
        env.retain(|name, _| !REMOVED.split_ascii_whitespace().any(|removed| name == removed));
        let outside = |name: &str, env: &BTreeMap<OsString, OsString>| {
            env.get(OsStr::new(name))
                .is_some_and(|value| !files::lexical(&checkout.join(value)).starts_with(files::lexical(checkout)))
        };
        for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
            // Nothing outside of the tree can be written, so that cargo is left to its default, which lies in the tree.
            if outside(name, &env) {
                env.remove(OsStr::new(name));
            }
        }
        let mut set = |name: &str, value: OsString| drop(env.insert(name.into(), value));
        set("HOME", self.path("home").into());
        set("TMPDIR", self.path("tmp").into());
        set("XDG_CACHE_HOME", self.path("home/.cache").into());
        for (name, folder) in [
            ("npm_config_cache", "cache/npm"),
            ("YARN_CACHE_FOLDER", "cache/yarn"),
            ("PIP_CACHE_DIR", "cache/pip"),
            ("UV_CACHE_DIR", "cache/uv"),
            ("GOCACHE", GO_CACHE),
            ("COMPOSER_CACHE_DIR", "cache/composer"),
            ("DOTNET_CLI_HOME", "home"),
            ("GRADLE_USER_HOME", "cache/gradle"),
        ] {
            set(name, self.path(folder).into());
        }
        if real_home.as_ref().is_none_or(|home| !home.join(".cargo").is_dir())
            && !env.contains_key(OsStr::new("CARGO_HOME"))
        {
            env.insert("CARGO_HOME".into(), self.path("cache/cargo").into());
        }
        if let Some(home) = &real_home {
            // The tools' own defaults are looked for below the home, which is another one now.
            for (name, folder) in [
                ("CARGO_HOME", ".cargo"),
                ("RUSTUP_HOME", ".rustup"),
                ("GOPATH", "go"),
                ("GRADLE_RO_DEP_CACHE", ".gradle/caches"),
            ] {
                if home.join(folder).is_dir() && !env.contains_key(OsStr::new(name)) {
                    env.insert(name.into(), home.join(folder).into());
                }
            }
            self.maven(&mut env, home);
        }
        if reach != Reach::All && !env.contains_key(OsStr::new("CARGO_NET_OFFLINE")) {
            // Without it cargo asks its index for a lock file that is not there, and gives up.
            env.insert("CARGO_NET_OFFLINE".into(), "true".into());
        }
        env
    }

    /// Java takes the home from the user database, so Maven is told by its options.
    fn maven(&self, env: &mut BTreeMap<OsString, OsString>, home: &Path) {
        let mut options = env.get(OsStr::new("MAVEN_OPTS")).cloned().unwrap_or_default();
        // A repository that the user chose stays.
        if options.to_string_lossy().contains("maven.repo.local") {
            return;
        }
        let own = self.path("cache/m2");
        options.push(format!(" -Duser.home={} -Dmaven.repo.local={}", self.path("home").display(), own.display()));
        let tail = home.join(".m2/repository");
        if tail.is_dir() {
            let tail = tail.display();
            options.push(format!(
                " -Dmaven.repo.local.tail={tail} -Daether.chainedLocalRepository.ignoreTailAvailability=true"
            ));
        }
        env.insert("MAVEN_OPTS".into(), OsString::from(options.to_string_lossy().trim_start()));
    }
}
