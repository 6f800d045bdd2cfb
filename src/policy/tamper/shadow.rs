//! Files that would be run or imported in the place of a test runner, an interpreter or the standard library: new modules and
//! makefiles, and programs, new or altered.

use std::collections::BTreeSet;

use super::Change;
use crate::domain::word_list::lists;

/// Python's runners with what they import, and the standard library (`sys.stdlib_module_names` of 3.11), but for a few that nobody imports.
const PYTHON_MODULES: &str = "_pytest abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 \
    cProfile calendar cgi cgitb cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib \
    contextvars copy copyreg coverage crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest \
    email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath \
    getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http hypothesis idlelib imaplib imghdr imp importlib \
    iniconfig inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math \
    mimetypes mmap mock modulefinder msilib msvcrt multiprocessing netrc nis nntplib nose nose2 ntpath nturl2path numbers numpy \
    opcode operator optparse os ossaudiodev packaging pathlib pdb pickle pickletools pipes pkgutil platform plistlib pluggy \
    poplib posix posixpath pprint profile pstats pty pwd py py_compile pyclbr pydoc pydoc_data pyexpat pytest queue quopri \
    random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd \
    smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep \
    struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time \
    timeit tkinter token tokenize tomllib tox trace traceback tracemalloc tty types typing unicodedata unittest urllib uu uuid \
    venv warnings weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";
/// Folders that are searched for modules.
const PYTHON_ROOTS: [&str; 4] = ["", "src", "lib", "python"];
/// Programs that a test command may start.
const PROGRAMS: &str = "pytest py.test python python3 tox nox coverage cargo rustc rustdoc node npm npx yarn pnpm bun deno jest vitest \
    mocha ava tap c8 nyc go gotestsum make gmake cmake ctest ninja meson mvn gradle java ruby rspec rake bundle php phpunit pest composer \
    dotnet swift mix elixir sbt bats sh bash env timeout git poetry uv pipenv hatch pdm rye nose2 nosetests stestr behave robot \
    cargo-nextest cargo-test cargo-llvm-cov rustup perl prove lein clj clojure bazel bazelisk buck buck2 pants just task cabal stack \
    ghc runghc zig dart flutter julia Rscript erl rebar3 playwright cypress jasmine karma cucumber turbo nx lerna tsx ts-node tsc webpack \
    cc gcc g++ clang clang++ c++ ld ar cat grep diff test true false xargs find";
/// Those of them that are words of everyday.
const WORDS: &str = "test task tap just find diff";
/// Makefiles in the order in which make prefers them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Endings of files that makefiles and justfiles include where they are there.
const RULE_FILES: [&str; 3] = [".mk", ".mak", ".just"];

/// What a new file would stand in for.
pub(super) fn stands_for(change: &Change) -> Option<String> {
    change.after.as_ref()?;
    let path = change.path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let says = |what: &str| Some(format!("the file {path} would stand in for {what}"));
    // Scripts are often called by a word that is a shell's, too; those of the shell's name count where programs are looked for.
    let is_searched = ["bin", ".bin", "sbin", ""].contains(&folder.rsplit('/').next().unwrap_or(folder));
    if is_program(name) && (is_searched || !lists(WORDS, name)) {
        return says(&format!("the program `{name}`"));
    }
    if change.before.is_some() {
        return None;
    }
    if let Some((root, module)) = module_of(folder, name)
        && PYTHON_ROOTS.contains(&root)
        && lists(PYTHON_MODULES, module)
    {
        return says(&format!("Python's module `{module}`"));
    }
    let is_included = RULE_FILES.iter().any(|ending| name.ends_with(ending));
    (MAKEFILES.contains(&name) || is_included)
        .then(|| format!("the new file {path} would be make's rules in place of others"))
}

/// The module of Python's that a new file would stand in for where the tests' own command looks for modules.
pub(super) fn stands_for_module(change: &Change, import_roots: &BTreeSet<String>) -> Option<String> {
    if change.before.is_some() || change.after.is_none() {
        return None;
    }
    let (folder, name) = change.path.rsplit_once('/').unwrap_or(("", &change.path));
    let (root, module) = module_of(folder, name)?;
    (import_roots.contains(root) && lists(PYTHON_MODULES, module)).then(|| {
        format!(
            "the file {} would stand in for Python's module `{module}`, where the tests look for modules in {root}",
            change.path
        )
    })
}

/// A file's module, and the folder in which that is looked for.
fn module_of<'p>(folder: &'p str, name: &'p str) -> Option<(&'p str, &'p str)> {
    let module = name.strip_suffix(".py")?;
    Some(if module == "__init__" { folder.rsplit_once('/').unwrap_or(("", folder)) } else { (folder, module) })
}

/// Whether a test command may start a program of this name.
pub(super) fn is_program(name: &str) -> bool {
    lists(PROGRAMS, name.trim_end_matches(".exe").trim_end_matches(".cmd"))
}
