//! Patterns of code that a reviewer may want to look at: ways to end a process, to speak for a test runner, to reach into one, to ask for
//! one.
//!
//! Nothing here refuses a change, so that nothing here needs to know rarer spellings: experiments decide.

use crate::domain::remark::RemarkKind;

/// A reason to look at a line: the endings of the files that it is for (none: of all), and how it is recognised.
pub type Rule = (RemarkKind, &'static str, &'static str);

/// The rules. Of each kind the first line that fits is shown.
pub const RULES: &[Rule] = &[
    (
        RemarkKind::EndsProcess,
        "",
        // `os._exit(0)`, `Runtime.halt(0)`, `execv(path, …)`, but not `_exit(1)`, by which a test fails.
        r"(?:\b_exit|\b_Exit|\bquick_exit|\breallyExit|\bhalt|\bexecv\w*|\bexecl\w*|\bposix_spawn\w*)!?\s*\(\s*(?:[^-1-9\s]|$)",
    ),
    // `sys.exit()`, `exit(0)`, `process.exit(0)`, but not `->exit(0)`, which is a method.
    (RemarkKind::EndsProcess, "", r"(?:^|[^\w>])(?:exit|Exit)!?\s*\(\s*(?:0\b|\)|EXIT_SUCCESS|$)"),
    (
        RemarkKind::EndsProcess,
        "",
        // `raise SystemExit`, `from os import _exit`, `process.exitCode = 0`.
        r"SystemExit|\bimport (?:_?exit)\b|process::exit\b[^(]|CommandExt|exitCode\s*=\s*0|syscall\.Ex|\bctypes\b",
    ),
    (RemarkKind::EndsProcess, "py", r"\bgetattr\(\s*(?:os|sys)\b|\bquit\(\)"),
    (RemarkKind::EndsProcess, "pl pm", r"\bexit\b"),
    (
        RemarkKind::PrintsResults,
        "",
        // `Ran 3 tests in`, `3 passed in`, `[  PASSED  ]`, `<testsuite`.
        r"test result:|TAP version|Ran .{1,12} tests? in|running .{1,12} tests|[\d}] passed in|[\d}] passing \(|\bok \d+ -|\[ *(?:OK|PASSED) *\] |<test(?:suite|case)\b|Tests?(?: run| Suites)?: +[\d$%{]|BUILD SUCCESS|--- PASS|\bsubtests passed",
    ),
    (
        RemarkKind::PrintsResults,
        "",
        // `/proc/self/fd/1`, `os.write(1, …)`, `--outputFile`: past what the runner captures, or into its result
        // file.
        r"/dev/(?:stdout|stderr|tty|fd)|/proc/[^\s'\x22]*/fd|__std(?:out|err)__|os\.(?:write|dup2|fdopen)\(\s*[12]\b|writeSync\(\s*[12]\b|from_raw_fd|--outputFile|junitxml|test-reporter|PYTEST_ADDOPTS|NODE_OPTIONS",
    ),
    (
        RemarkKind::HooksIntoRunner,
        "",
        // `atexit.register`, `#[ctor]`, `macro_rules! assert_eq`, `#define memcmp(…)`.
        r"\batexit\b|on_exit\(|at_exit\b|addShutdownHook|init_array|#\[ctor|__attribute__\s*\(\(.*structor|set_hook|\bno_mangle|export_name|link_section|macro_rules!\s*(?:r#)?(?:assert|debug_assert|panic|matches)|#\s*define\s+(?:\w*assert|strn?cmp|memcmp|abort|exit|main|if|return|printf|NDEBUG)",
    ),
    (
        RemarkKind::HooksIntoRunner,
        "py",
        // `sys.settrace`, `sys.modules[…]`, `def pytest_runtest_call`, `AssertionError = Exception`.
        r"excepthook|\bset(?:trace|profile)\b|meta_path|path_hooks|sys\.modules|sys\.path\.|\bbuiltins\b|__builtins__|gc\.(?:get_|callbacks)|__subclasses__|def pytest_|\b_?(?:unittest|pytest)\b|TestCase|AssertionError\s*=|\b(?:__import__|import_module)\(\s*[^'\x22\s]|(?:^|[^\w.])(?:eval|exec)\(",
    ),
    (
        RemarkKind::HooksIntoRunner,
        "js cjs mjs jsx ts cts mts tsx",
        // `process.on('exit', …)`, `Array.prototype.map = …`, `expect.extend(…)`, `assert.equal = …`.
        r"\.(?:on|once)\(\s*['\x22`](?:exit|beforeExit|uncaughtException|unhandledRejection)|@jest/|node:test|['\x22](?:vitest|mocha|chai)['\x22]|\.prototype\.\w+\s*=[^=]|expect\.extend|asymmetricMatch|Module\._load|require\.cache|getBuiltinModule|process\.binding|\b(?:import|require)\(\s*[^'\x22\s)/]|(?:^|[^\w.])eval\(|\bFunction\(['\x22]|\b(?:assert|expect)(?:\.\w+|\[[^\]]*\])*\s*=[^=>]|(?:assign|defineProperty|Reflect\.set)\(\s*(?:assert|expect)|^\s*(?:it|test|describe|expect)\s*=[^=>]",
    ),
    (RemarkKind::HooksIntoRunner, "pl pm", r"\bEND\s*\{|Test::"),
    (
        RemarkKind::HooksIntoRunner,
        "c h cc cpp cxx hh hpp",
        // `int memcmp(const void *a, …) {`: the product defines what assertions compare with.
        r"^(?:[\w*]+\s+)+\*?(?:strn?cmp|memcmp|puts|printf|abort|raise|_?exit)\s*\([^;]*\)\s*\{|SIGABRT|__assert",
    ),
    (
        RemarkKind::AsksWhoTests,
        "",
        // `process.env.VITEST`, `/proc/self/cmdline`, `NODE_ENV === 'test'`.
        r"JEST_WORKER|VITEST|NODE_TEST|NODE_V8_COVERAGE|NEXTEST|PYTEST_|MAKELEVEL|npm_lifecycle|NODE_ENV['\x22\]]{0,2}\s*={2,3}\s*['\x22]test|/proc/(?:self|thread-self|\$|[^\s'\x22]*ppid)|\bppid\b|\$PPID|getStackTrace|StackWalker|debug_backtrace|caller_locations",
    ),
    (RemarkKind::AsksWhoTests, "sh bash", r"\btests?/|\bte\*|tests?\*|\$-"),
    (
        RemarkKind::AsksWhoTests,
        "py",
        // `inspect.stack()`, `frame.f_back`, `'pytest' in sys.modules`. `if __name__ ==` is a program's own.
        r"inspect\.(?:stack|currentframe|getouterframes|trace)|\bimport .*\b(?:currentframe|_getframe)\b|_getframe|_current_frames|\bf_back\b|tb_frame|(?:extract|format|walk)_stack|orig_argv|(?:[^f] |\()__name__ *[=!]=|['\x22](?:pytest|unittest)['\x22] (?:not )?in\b",
    ),
    (
        RemarkKind::AsksWhoTests,
        "js cjs mjs jsx ts cts mts tsx",
        // `new Error().stack`, `typeof jest`, `import.meta.env.MODE`.
        r"prepareStackTrace|\.stack\b|import\.meta\.env\.MODE|typeof (?:jest|vitest|describe)\b|module\.parent|process\.report|moduleLoadList|\bmode\s*={2,3}\s*['\x22]test",
    ),
    (
        RemarkKind::AsksWhoTests,
        "rs",
        // `cfg!(test)`, `std::env::current_exe()`, `thread::current()`, whose name is the test's.
        r"\bcfg!?\s*\(.*\b(?:test|debug_assertions)\b|cfg_attr\(.*\btest\b|current_exe|thread::current\(\)|Location::caller|Backtrace|type_name|CARGO_TARGET_TMPDIR",
    ),
    (
        RemarkKind::AsksWhoTests,
        "go",
        // `testing.Testing()`, `flag.Lookup("test.v")`, `runtime.Caller(1)`.
        r"testing\.Testing|\x22testing\x22|flag\.(?:Lookup|NFlag|NArg|Visit|Parsed|CommandLine)|runtime\.(?:Caller|NumGoroutine|Stack)|debug\.(?:Stack|ReadBuildInfo)|os\.Executable|\bos\.Args\b|\brt\.Caller",
    ),
];
