//! Files that would be run or imported in the place of a test runner, an interpreter or the standard library: new modules and
//! makefiles, and programs, new or altered.

use super::Change;

/// Modules that Python's runners import, and the standard library's that code under test is likeliest to be served instead.
const PYTHON_MODULES: &str = "unittest pytest _pytest py pluggy doctest nose nose2 hypothesis mock coverage tox site abc argparse array ast asyncio atexit base64 bisect builtins bz2 calendar cmath cmd code codecs collections \
    colorsys concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses datetime decimal difflib dis email \
    encodings enum errno faulthandler fnmatch fractions functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http \
    importlib inspect io ipaddress itertools json keyword linecache locale logging lzma marshal math mimetypes multiprocessing numbers \
    operator os pathlib pickle pkgutil platform pprint queue random re reprlib runpy sched secrets select shelve shlex shutil signal socket \
    sqlite3 ssl stat statistics string struct subprocess symtable sys sysconfig tempfile textwrap threading time timeit token tokenize \
    traceback tracemalloc types typing unicodedata urllib uuid venv warnings weakref xml zipfile zipimport zlib zoneinfo numpy iniconfig packaging";
/// Folders that are searched for modules.
const PYTHON_ROOTS: [&str; 4] = ["", "src", "lib", "python"];
/// Programs that a test command may start.
const PROGRAMS: &str = "pytest py.test python python3 tox nox coverage cargo rustc rustdoc node npm npx yarn pnpm bun deno jest vitest \
    mocha ava tap c8 nyc go gotestsum make gmake cmake ctest ninja meson mvn gradle java ruby rspec rake bundle php phpunit pest composer \
    dotnet swift mix elixir sbt bats sh bash env timeout git poetry uv pipenv hatch pdm rye nose2 nosetests stestr behave robot \
    cargo-nextest cargo-test cargo-llvm-cov rustup perl prove lein clj clojure bazel bazelisk buck buck2 pants just task cabal stack \
    ghc runghc zig dart flutter julia Rscript erl rebar3 playwright cypress jasmine karma cucumber turbo nx lerna tsx ts-node tsc webpack \
    cc gcc g++ clang clang++ c++ ld ar cat grep diff test true false xargs find";
/// Makefiles in the order in which make prefers them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// What a new file would stand in for.
pub(super) fn stands_for(change: &Change) -> Option<String> {
    change.after.as_ref()?;
    let path = change.path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let says = |what: &str| Some(format!("the file {path} would stand in for {what}"));
    if lists(PROGRAMS, name.trim_end_matches(".exe").trim_end_matches(".cmd")) {
        return says(&format!("the program `{name}`"));
    }
    if change.before.is_some() {
        return None;
    }
    let module = name
        .strip_suffix(".py")
        .filter(|module| *module != "__init__")
        .map(|module| (folder, module))
        .or_else(|| name.eq("__init__.py").then(|| folder.rsplit_once('/').unwrap_or(("", folder))));
    if let Some((root, module)) = module
        && PYTHON_ROOTS.contains(&root)
        && lists(PYTHON_MODULES, module)
    {
        return says(&format!("Python's module `{module}`"));
    }
    MAKEFILES.contains(&name).then(|| format!("the new file {path} would be make's rules in place of others"))
}

fn lists(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|listed| listed == word)
}
