//! The names of programs, modules and folders that belong to running tests: lists of words.

/// Python's runners with what they import, and the standard library (`sys.stdlib_module_names` of 3.11), but for a few that nobody imports.
pub const PYTHON_MODULES: &str = "_pytest abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 \
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
/// Programs that a test command may start.
pub const PROGRAMS: &str = "pytest py.test python python3 tox nox coverage cargo rustc rustdoc node npm npx yarn pnpm bun deno jest vitest \
    mocha ava tap c8 nyc go gotestsum make gmake cmake ctest ninja meson mvn gradle java ruby rspec rake bundle php phpunit pest composer \
    dotnet swift mix elixir sbt bats sh bash env timeout git poetry uv pipenv hatch pdm rye nose2 nosetests stestr behave robot \
    cargo-nextest cargo-test cargo-llvm-cov rustup perl prove lein clj clojure bazel bazelisk buck buck2 pants just task cabal stack \
    ghc runghc zig dart flutter julia Rscript erl rebar3 playwright cypress jasmine karma cucumber turbo nx lerna tsx ts-node tsc webpack \
    cc gcc g++ clang clang++ c++ ld ar cat grep diff test true false xargs find";
/// The words of everyday among [`PROGRAMS`].
pub const EVERYDAY_PROGRAMS: &str = "test task tap just find diff";
/// Programs and modules that run tests.
pub const RUNNERS: &str = "unittest pytest py.test nose2 nosetests tox nox stestr testify jest vitest mocha ava karma playwright cypress jasmine nextest ctest \
    rspec phpunit behave robot bats prove busted TestLoader TextTestRunner --test";
/// Programs that run tests when they are told to.
pub const TOLD: &str = "cargo go make npm yarn pnpm bun deno dotnet swift mix gradle gradlew mvn mvnw bazel just";
/// Words that tell [`TOLD`] to run tests.
pub const TELLING: &str = "test t check verify";
/// Settings of Python's test runner, which name folders of modules.
pub const PYTHON_SETTINGS: [&str; 4] = ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"];
/// Python's runners, which look for modules where the tests lie that they are given.
pub const PYTHON_RUNNERS: &str = "pytest py.test nose2 nosetests coverage";
/// Words by which a file of code belongs to tests although no test stands in it.
pub const WORDS_OF_TESTS: [&str; 8] =
    ["unittest", "pytest", "doctest", "assert_eq", "assert_ne", "node:test", "vitest", "@jest"];
/// Folders inside those of installed packages in which tools keep what they compute.
pub const CACHES: [&str; 6] = [".cache", ".vite", ".vite-temp", ".vitest", "__pycache__", ".tmp"];
/// Folders that are ignored and yet no one's own: installed packages, and what was built or generated.
pub const BUILT: &str = "node_modules target vendor .venv venv site-packages dist-packages build dist out bin obj _build .tox .nox __pycache__ \
    .gradle .next .nuxt coverage pods deps .dart_tool generated gen __generated__ .eggs .pytest_cache .mypy_cache htmlcov test-results \
    cmake-build-debug cmake-build-release .svelte-kit .turbo";
