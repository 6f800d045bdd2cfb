//! Which paths children may read, and which they may write.
//!
//! Landlock has no rule that takes away, so a folder that holds something to be kept from children is never granted whole: its
//! other entries are, one by one ([`around`]).
//!
//! Invariant: no credential file, audit log, recorded state or runner's temporary folder lies under a granted path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folders of the system that programs are made of.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/snap",
    "/proc",
    "/sys",
    "/var/lib/gems",
    "/var/lib/ghc",
    "/var/lib/alternatives",
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
    "/run/systemd/resolve",
];
/// Files of `/etc` that no program of a test needs.
const ETC_SECRETS: &str = "\
    shadow shadow- gshadow gshadow- sudoers sudoers.d ssh docker kubernetes rancher NetworkManager ppp wireguard krb5.keytab \
    letsencrypt ssl/private pki/tls/private openvpn waagent.conf security/opasswd ipsec.secrets ipsec.d mysql/debian.cnf netplan \
    wpa_supplicant cloud crio containers polkit-1 credstore credstore.encrypted";
/// Devices that every program may use.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Shared memory (semaphores of Python's multiprocessing), and terminals for tests of terminal programs.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Terminals. They are granted in a room alone, where they are not the user's.
pub(super) const TERMINALS: [&str; 2] = ["/dev/pts", "/dev/ptmx"];

/// Folders below a home that hold tools, and libraries that package managers put there.
pub(super) const TOOLS: &str = "\
    .cargo .rustup .npm .nvm .volta .fnm .nodenv .n .pnpm-store .yarn .bun .deno .node-gyp .pyenv .rye .poetry .pipx .conda \
    miniconda3 anaconda3 miniforge3 mambaforge .rbenv .rvm .gem .asdf .sdkman .jenv .jdks .m2 .gradle .konan .ivy2 .sbt .coursier .nuget \
    .dotnet go .go sdk .goenv .composer/cache .phpenv .mix .hex/packages .kiex .opam .stack .ghcup .cabal/packages .cabal/store \
    .elan .julia/artifacts .julia/packages .pub-cache/hosted .pub-cache/bin flutter .conan .conan2/p .vcpkg .cpan perl5 .luarocks .zvm \
    .local/bin .local/lib .local/pipx .local/share/pnpm .local/share/uv .local/share/mise .local/share/virtualenv .local/share/virtualenvs \
    .local/share/fnm .local/share/nvm .local/share/pipx .local/share/gem .local/share/coursier .cache/pip .cache/uv .cache/go-build \
    .cache/yarn .cache/pnpm .cache/node .cache/node-gyp .cache/deno .cache/bazelisk .cache/ms-playwright .cache/puppeteer .cache/Cypress \
    .cache/selenium .cache/electron .cache/pypoetry .cache/coursier .cache/pre-commit .cache/rattler .cache/prisma .cache/zig \
    setup-pnpm .swiftly .swiftpm";
/// Files among those that may hold a credential.
const TOOL_SECRETS: &str = "\
    .cargo/credentials .cargo/credentials.toml .gradle/gradle.properties .gradle/init.gradle .gradle/init.d .m2/settings.xml \
    .m2/settings-security.xml .sbt/.credentials .ivy2/.credentials .nuget/NuGet .gem/credentials .conan/.conan.db .conan/registry.json \
    .npm/_logs .rustup/.rustup-credentials .asdf/.asdfrc .poetry/auth.toml";
/// Variables that name a folder, or a list of folders, that tools are made of.
const TOOL_VARIABLES: &str = "\
    CARGO_HOME RUSTUP_HOME GOROOT GOPATH GOMODCACHE JAVA_HOME M2_HOME MAVEN_HOME GRADLE_HOME ANDROID_HOME ANDROID_SDK_ROOT \
    ANDROID_NDK_HOME NVM_DIR NODE_PATH PNPM_HOME COREPACK_HOME BUN_INSTALL DENO_DIR VOLTA_HOME FNM_DIR CHROMEWEBDRIVER \
    GECKOWEBDRIVER EDGEWEBDRIVER PLAYWRIGHT_BROWSERS_PATH npm_config_prefix NPM_CONFIG_PREFIX VIRTUAL_ENV PYENV_ROOT PYTHONHOME \
    PYTHONPATH POETRY_HOME CONDA_PREFIX CONDA MAMBA_ROOT_PREFIX pythonLocation GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH COMPOSER_HOME \
    NUGET_PACKAGES DOTNET_ROOT MIX_HOME HEX_HOME PUB_CACHE FLUTTER_ROOT OPAMROOT STACK_ROOT RUNNER_TOOL_CACHE AGENT_TOOLSDIRECTORY \
    VCPKG_INSTALLATION_ROOT LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH PIP_FIND_LINKS ASDF_DATA_DIR MISE_DATA_DIR SSL_CERT_DIR \
    SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS NIX_SSL_CERT_FILE";
/// Folders that hold programs of many tools and of none: their parent says nothing about them.
const SHARED_PARENTS: &str = ".local .config .cache";
/// A folder deeper than this below what must be taken apart is left out.
const DEEPEST: usize = 6;

/// The paths of one kind of child.
#[derive(Debug, Clone, Default)]
pub(super) struct Grants {
    /// Read and execute, of the system: whatever lies around its secrets.
    pub(super) read: Vec<PathBuf>,
    /// The same as whole folders, for where their secrets can be covered.
    pub(super) whole: Vec<PathBuf>,
    /// Secrets that must be covered then.
    pub(super) covered: Vec<PathBuf>,
    /// Read and execute, and of them tools that a setup command may fill.
    pub(super) tools: Vec<PathBuf>,
    /// Devices.
    pub(super) devices: Vec<PathBuf>,
}

/// The paths that children may read, given their environment and the paths that must be kept from them.
pub(super) fn collect(env: &BTreeMap<OsString, OsString>, kept_out: &[PathBuf]) -> Grants {
    let home = home_of(env);
    let mut secrets: Vec<PathBuf> = kept_out.to_vec();
    secrets.extend(words(ETC_SECRETS).map(|name| Path::new("/etc").join(name)));
    if let Some(home) = &home {
        secrets.extend(words(TOOL_SECRETS).map(|name| home.join(name)));
    }
    // A cargo outside of the home is granted by its variable, and has its credentials elsewhere too.
    if let Some(cargo) = env.get(OsStr::new("CARGO_HOME")).map(PathBuf::from) {
        secrets.extend(["credentials", "credentials.toml"].map(|name| cargo.join(name)));
    }
    // By both names, since a path is compared as it is written.
    let secrets = with_real_places(secrets);
    let mut read = Vec::new();
    let system: Vec<PathBuf> = SYSTEM.into_iter().chain(["/etc"]).map(PathBuf::from).collect();
    for path in &system {
        around(path, &secrets, &mut read, DEEPEST);
    }
    let covered = secrets.iter().filter(|secret| system.iter().any(|path| secret.starts_with(path))).cloned().collect();
    let mut tools = Vec::new();
    for path in home.iter().flat_map(|home| words(TOOLS).map(|name| home.join(name))) {
        around(&path, &secrets, &mut tools, DEEPEST);
    }
    // What a variable names may be anything: it must be no home, and nothing that a home lies in.
    let broad = |path: &Path| path.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(path));
    for path in named_by_variables(env, home.as_deref()).into_iter().filter(|path| !broad(path)) {
        around(&path, &secrets, &mut tools, DEEPEST);
    }
    tools.sort();
    tools.dedup();
    Grants { read, whole: system, covered, tools, devices: DEVICES.iter().map(PathBuf::from).collect() }
}

/// Leaves out the tools that are the checkout, or in it, by another name of theirs (a link, `..`): laid over it for reading, they would make
/// it read-only.
pub(super) fn without_other_names_of(checkout: &Path, tools: &mut Vec<PathBuf>) {
    let Ok(place) = checkout.canonicalize() else { return };
    tools.retain(|tool| tool.starts_with(checkout) || !tool.canonicalize().is_ok_and(|real| real.starts_with(&place)));
}

/// The home that the children's tools lie in.
pub(super) fn home_of(env: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let home = env.get(OsStr::new("HOME")).map(PathBuf::from)?;
    // With `/` for a home every folder of the machine would be taken for a tool's.
    (home.is_absolute() && home.parent().is_some()).then_some(home)
}

fn named_by_variables(env: &BTreeMap<OsString, OsString>, home: Option<&Path>) -> Vec<PathBuf> {
    let lists = words(TOOL_VARIABLES).filter_map(|name| env.get(OsStr::new(name)));
    let mut paths: Vec<PathBuf> =
        lists.flat_map(|value| std::env::split_paths(value)).filter(|path| path.is_absolute()).collect();
    let programs = env.get(OsStr::new("PATH")).into_iter().flat_map(|value| std::env::split_paths(value));
    for folder in programs.filter(|path| path.is_absolute()) {
        // `tool/bin` needs `tool/lib`.
        let tool = folder.file_name().filter(|name| *name == "bin").and_then(|_| folder.parent());
        // `~/bin` and `~/.local/bin` say nothing about the folders around them.
        let tool = tool.filter(|tool| {
            let shared = tool
                .file_name()
                .and_then(OsStr::to_str)
                .is_some_and(|name| words(SHARED_PARENTS).any(|word| word == name));
            !shared && home != Some(*tool)
        });
        paths.push(tool.map_or_else(|| folder.clone(), Path::to_owned));
    }
    paths
}

fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split_ascii_whitespace()
}

/// The paths, and where they really are.
pub(super) fn with_real_places(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut all: Vec<PathBuf> = paths.into_iter().chain(real).collect();
    all.sort();
    all.dedup();
    all
}

/// Grants a path without what must be kept out of it: whole if it holds nothing such, else entry by entry.
pub(super) fn around(path: &Path, kept_out: &[PathBuf], granted: &mut Vec<PathBuf>, depth: usize) {
    // Most tools are not there: one look instead of one for each folder above.
    if path.symlink_metadata().is_err() {
        return;
    }
    let Ok(real) = path.canonicalize() else { return };
    // Most are no links, and there is much to compare them with.
    let names: &[&Path] = if real == path { &[path] } else { &[&real, path] };
    if kept_out.iter().any(|secret| names.iter().any(|name| name.starts_with(secret))) {
        return;
    }
    let below = |secret: &'_ PathBuf| {
        let below = names.iter().find_map(|name| secret.strip_prefix(name).ok())?;
        Some(below.components().next()?.as_os_str().to_owned())
    };
    let touched: BTreeSet<OsString> = kept_out.iter().filter_map(below).collect();
    if touched.is_empty() {
        granted.push(path.to_owned());
        return;
    }
    if depth == 0 {
        // Left out, rather than granted with a secret in it.
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        // A link may lead to a secret that lies elsewhere.
        let plain = entry.file_type().is_ok_and(|kind| !kind.is_symlink());
        if plain && !touched.contains(&entry.file_name()) {
            granted.push(entry.path());
        } else {
            around(&entry.path(), kept_out, granted, depth - 1);
        }
    }
}
