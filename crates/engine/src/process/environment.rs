//! The environment that repository code gets to see: an allowlist, never the caller's own.
//!
//! Pure: takes the caller's variables as data. Invariant: no name that looks like a secret and no value that holds a password in a URL
//! passes by itself. Variables that steer GitHub's runner, or hold a model's key, never pass.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;

/// Single variables that tests and their tools need: the machine and the user, certificates and proxies, C, Rust, Go, Java, JavaScript,
/// Python, Ruby, PHP, .NET and others, and those that hosted runners say of themselves and that steer nothing.
const NAMES: &str = "\
    PATH HOME USER LOGNAME SHELL TERM TMPDIR LANG LANGUAGE TZ XDG_CACHE_HOME \
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH PKG_CONFIG_PATH DISPLAY \
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY \
    ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy \
    CC CXX CPP AR LD CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_PREFIX_PATH CMAKE_GENERATOR \
    VCPKG_INSTALLATION_ROOT \
    RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUSTDOCFLAGS RUST_BACKTRACE RUST_LOG RUST_MIN_STACK RUSTC_WRAPPER \
    GOPATH GOROOT GOCACHE GOMODCACHE GOFLAGS GOPROXY GOPRIVATE GONOSUMDB GONOSUMCHECK GOSUMDB \
    GOTOOLCHAIN GOOS GOARCH GOBIN CGO_ENABLED \
    JAVA_HOME JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS M2_HOME MAVEN_HOME MAVEN_OPTS MAVEN_ARGS GRADLE_HOME \
    GRADLE_USER_HOME GRADLE_OPTS ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME \
    NVM_DIR NODE_PATH NODE_OPTIONS NODE_ENV PNPM_HOME YARN_CACHE_FOLDER COREPACK_HOME BUN_INSTALL \
    DENO_DIR VOLTA_HOME FNM_DIR CHROME_BIN CHROMEWEBDRIVER GECKOWEBDRIVER EDGEWEBDRIVER \
    PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH npm_config_cache npm_config_prefix npm_config_registry \
    npm_config_offline npm_config_userconfig NPM_CONFIG_CACHE NPM_CONFIG_PREFIX NPM_CONFIG_REGISTRY \
    VIRTUAL_ENV PYENV_ROOT PYENV_VERSION PYTHONPATH PYTHONHOME PYTHONHASHSEED PYTHONUNBUFFERED \
    PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS PYTEST_ADDOPTS PIP_INDEX_URL \
    PIP_EXTRA_INDEX_URL PIP_CACHE_DIR PIP_NO_INDEX PIP_FIND_LINKS PIP_CONFIG_FILE UV_CACHE_DIR UV_INDEX_URL \
    UV_OFFLINE POETRY_HOME CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_PYTHON_EXE CONDA_SHLVL CONDA \
    MAMBA_ROOT_PREFIX pythonLocation Python_ROOT_DIR Python2_ROOT_DIR Python3_ROOT_DIR \
    GEM_HOME GEM_PATH RBENV_ROOT RBENV_VERSION BUNDLE_PATH BUNDLE_GEMFILE BUNDLE_APP_CONFIG BUNDLE_WITHOUT \
    BUNDLE_JOBS BUNDLE_FROZEN COMPOSER_HOME COMPOSER_CACHE_DIR NUGET_PACKAGES MIX_ENV MIX_HOME HEX_HOME \
    PUB_CACHE FLUTTER_ROOT SWIFT_PATH OPAMROOT STACK_ROOT GHCUP_INSTALL_BASE_PREFIX NIX_PATH NIX_PROFILES \
    RUNNER_OS RUNNER_ARCH RUNNER_TOOL_CACHE AGENT_TOOLSDIRECTORY ImageOS";

/// The same of Windows, without which hardly a program starts.
const NAMES_ON_WINDOWS: &str = "\
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP OS NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PROCESSOR_IDENTIFIER \
    USERPROFILE USERNAME USERDOMAIN COMPUTERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA ALLUSERSPROFILE PROGRAMDATA PUBLIC \
    PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432 PSMODULEPATH \
    VSINSTALLDIR VCINSTALLDIR VCTOOLSINSTALLDIR WINDOWSSDKDIR WINDOWSSDKVERSION INCLUDE LIB LIBPATH MSYSTEM";

/// Both lists, made once: each variable of the caller is looked up.
static PASSING: LazyLock<BTreeSet<Cow<'static, str>>> = LazyLock::new(|| {
    let names = NAMES.split_ascii_whitespace();
    let on_windows = NAMES_ON_WINDOWS.split_ascii_whitespace().filter(|_| cfg!(windows));
    names.chain(on_windows).map(spelled).collect()
});

/// Where the HTTP client looks for a proxy.
const PROXIES: &str = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy";

/// Variables that decide how upshift writes to a terminal or a log.
const OF_TERMINALS: &str = "NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS CI GITHUB_ACTIONS";

/// Families of variables that tests and their tools need.
const PREFIXES: &str = "\
    LC_ CARGO_ DOTNET_ JAVA_HOME_ NIX_SSL_CERT_FILE ASDF_ MISE_DATA_DIR";

/// Parts of a name that make it a secret's, in upper case.
const SECRET_PARTS: &str = "\
    TOKEN SECRET PASSWORD PASSWD PASSPHRASE API_KEY APIKEY PRIVATE_KEY ACCESS_KEY SIGNING_KEY \
    ENCRYPTION_KEY CREDENTIAL _AUTH COOKIE";

/// Names that carry a vendor's key, beside those that the configuration names.
const MODEL_KEYS: &str = "\
    ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY \
    AZURE_OPENAI_API_KEY AZURE_API_KEY OLLAMA_API_KEY OPENROUTER_API_KEY GROQ_API_KEY MISTRAL_API_KEY \
    DEEPSEEK_API_KEY XAI_API_KEY";

/// Names of what acts in the job's name, or steers its later steps (GITHUB.md 15, 16, 21).
const JOB_NAMES: &str = "\
    GITHUB_TOKEN GH_TOKEN GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE GITHUB_STEP_SUMMARY \
    GITHUB_ARTIFACTS RUNNER_TEMP";

/// Beginnings of such names. Ours are among them, since our inputs hold keys and paths.
const JOB_PREFIXES: &str = "ACTIONS_ INPUT_ UPSHIFT_";

/// A variable that `passEnv` names and that no child may have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`passEnv` names `{name}`, {why}; tests never see it → Fix: remove it, or pass a different variable made for the tests"
)]
pub struct RefusedVariable {
    /// Its name.
    pub name: String,
    why: &'static str,
}

/// Builds a child's environment from the caller's: what tools need, what `pass_env` names, `CI=true` and `NO_COLOR=1`.
///
/// `model_keys` are the variables that the configuration takes keys from, beside the vendors' customary ones.
///
/// # Errors
/// When `pass_env` names a model's key, the job's own token, or a variable that steers the runner. The error names the first of them.
pub fn child_environment(
    caller: &BTreeMap<OsString, OsString>,
    pass_env: &[String],
    model_keys: &[String],
) -> Result<BTreeMap<OsString, OsString>, RefusedVariable> {
    // Refused before anything is built, so that a configuration that asks for a key fails loudly and is not just ignored.
    if let Some((name, why)) = pass_env.iter().find_map(|name| Some((name, withheld(name, model_keys)?))) {
        return Err(RefusedVariable { name: name.clone(), why });
    }
    let asked =
        |name: &OsString| pass_env.iter().any(|asked| name.to_str().is_some_and(|name| is_same_name(asked, name)));
    let mut child: BTreeMap<OsString, OsString> = caller
        .iter()
        .filter(|(name, value)| asked(name) || passes_unasked(name, value, model_keys))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    child.insert("CI".into(), "true".into());
    child.insert("NO_COLOR".into(), "1".into());
    // Python takes cached bytecode for current when size and whole second of the source agree; edits here come faster.
    child.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    // When the time is up, it says where it stands.
    child.insert("PYTHONFAULTHANDLER".into(), "1".into());
    Ok(child)
}

/// Whether a variable may stand where other processes of the user can read it: what tools need, what a terminal or a proxy needs.
///
/// A proxy's address stays although it may hold a password, since the HTTP client reads it from there.
#[must_use]
pub fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    let Some(text) = name.to_str() else { return false };
    lists(PROXIES, text) || lists(OF_TERMINALS, text) || passes_unasked(name, value, &[])
}

fn passes_unasked(name: &OsStr, value: &OsStr, model_keys: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    // A listed name still has to pass the other three: `CARGO_REGISTRY_TOKEN` has a listed beginning, and an index's URL may hold a
    // password.
    (PASSING.contains(&*spelled(name)) || begins(PREFIXES, name))
        && !looks_secret(name)
        && !holds_password(&value.to_string_lossy())
        && withheld(name, model_keys).is_none()
}

fn lists(words: &str, name: &str) -> bool {
    words.split_ascii_whitespace().any(|word| is_same_name(word, name))
}

fn begins(prefixes: &str, name: &str) -> bool {
    prefixes
        .split_ascii_whitespace()
        // `get` and no slice: a name may have a letter of several bytes where the prefix ends.
        .any(|prefix| name.get(..prefix.len()).is_some_and(|head| is_same_name(prefix, head)))
}

/// A name as the one that stands for all of its spellings here.
fn spelled(name: &str) -> Cow<'_, str> {
    if cfg!(windows) { Cow::Owned(name.to_ascii_uppercase()) } else { Cow::Borrowed(name) }
}

/// Windows has one variable for all spellings of a name.
fn is_same_name(one: &str, other: &str) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

/// Why no program that a model has run may have a variable, whatever a configuration names.
#[must_use]
pub fn withheld(name: &str, model_keys: &[String]) -> Option<&'static str> {
    // Without case on every system: a key under a lower-case name is a key all the same.
    let upper = name.to_ascii_uppercase();
    if lists(MODEL_KEYS, &upper) || model_keys.iter().any(|key| key.eq_ignore_ascii_case(name)) {
        return Some("which contains a model's key");
    }
    let steers = lists(JOB_NAMES, &upper) || begins(JOB_PREFIXES, &upper);
    steers.then_some("which belongs to the job that runs upshift")
}

fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_PARTS.split_ascii_whitespace().any(|part| upper.contains(part))
}

/// Whether a value is a URL with a user part, as package indexes and proxies have it.
fn holds_password(value: &str) -> bool {
    value
        .split("://")
        .skip(1)
        // Only up to the host's end, since a path may hold `@` by right: `https://host/@scope/pkg`.
        .any(|rest| rest.split(['/', '?', '#', ' ']).next().is_some_and(|host| host.contains('@')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(names: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        names.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    fn names_in(environment: &BTreeMap<OsString, OsString>) -> Vec<&str> {
        environment.keys().filter_map(|name| name.to_str()).collect()
    }

    #[test]
    fn a_child_sees_what_its_tools_need_and_no_secret() {
        let caller = caller(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("CARGO_HOME", "/c"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "t"),
            ("ANTHROPIC_API_KEY", "k"),
            ("GITHUB_TOKEN", "t"),
            ("GITHUB_ENV", "/f"),
            ("ACTIONS_RUNTIME_TOKEN", "t"),
            ("INPUT_DRY-RUN", "x"),
            ("UPSHIFT_MODEL", "m"),
            ("DATABASE_URL", "postgres://u:p@h/d"),
            ("PIP_INDEX_URL", "https://user:pass@index.example/simple"),
            ("HTTPS_PROXY", "http://user:pass@proxy.example:3128"),
            ("HTTP_PROXY", "http://proxy.example:3128"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("CI", "false"),
        ]);
        let child = child_environment(&caller, &[], &[]).unwrap();
        assert_eq!(
            names_in(&child),
            [
                "CARGO_HOME",
                "CI",
                "HTTP_PROXY",
                "LC_ALL",
                "NO_COLOR",
                "PATH",
                "PYTHONDONTWRITEBYTECODE",
                "PYTHONFAULTHANDLER"
            ]
        );
        assert_eq!(child.get(OsStr::new("CI")), Some(&OsString::from("true")));
    }

    #[test]
    fn pass_env_adds_exactly_what_it_names() {
        let caller = caller(&[("DATABASE_URL", "postgres://u:p@h/d"), ("DATABASE_URL_2", "x")]);
        let child = child_environment(&caller, &["DATABASE_URL".to_owned(), "MISSING".to_owned()], &[]).unwrap();
        assert_eq!(
            names_in(&child),
            ["CI", "DATABASE_URL", "NO_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER"]
        );
    }

    #[test]
    fn pass_env_cannot_name_a_model_key_or_what_steers_the_job() {
        let own = ["MY_LLM_KEY".to_owned()];
        for name in [
            "ANTHROPIC_API_KEY",
            "openai_api_key",
            "MY_LLM_KEY",
            "GITHUB_TOKEN",
            "GITHUB_OUTPUT",
            "ACTIONS_X",
            "UPSHIFT_X",
        ] {
            let refused = child_environment(&BTreeMap::new(), &[name.to_owned()], &own).unwrap_err();
            assert_eq!(refused.name, name);
            assert!(refused.to_string().contains("→ Fix:"), "{refused}");
        }
    }

    #[test]
    fn a_configured_key_variable_never_passes_by_an_allowlisted_name() {
        let caller = caller(&[("CARGO_LLM", "k")]);
        let child = child_environment(&caller, &[], &["CARGO_LLM".to_owned()]).unwrap();
        assert_eq!(names_in(&child), ["CI", "NO_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER"]);
    }
}
