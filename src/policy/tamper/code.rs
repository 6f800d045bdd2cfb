//! What code under test can do to the runner from inside its process: end it, speak for it, hook into it, ask for it.
//!
//! Every rule counts: it objects when its pattern stands in the file more often than at the start, whatever the line breaks.

use super::Change;
use super::squeeze::{first_added, spaced, spellings};
use super::words;

/// Files that nobody executes.
const NO_CODE: [&str; 13] =
    ["md", "rst", "adoc", "svg", "css", "lock", "txt", "json", "toml", "yml", "yaml", "xml", "html"];
/// Calls that end the process past every runner; only a literal other than success is believed.
const ENDS: [&str; 16] = [
    "process::exit(",
    "process.exit(",
    "process.reallyExit(",
    "System.exit(",
    "quick_exit(",
    "_Exit(",
    "libc::exit(",
    "exit!(",
    "os.Exit(",
    "syscall.Exit(",
    "Environment.Exit(",
    "Deno.exit(",
    "Kernel.exit(",
    "process['exit'](",
    "getRuntime().halt(",
    "exit(EXIT_SUCCESS",
];
/// Other ways to an end with success: a code set in passing, another program in this one's place.
const OTHER_ENDS: [&str; 24] = [
    "process.exitCode=0",
    "process::exit;",
    "process::{exit",
    "exit(0",
    "process[\"exit\"](",
    "process[\"reallyExit\"](",
    "os.execv",
    "os.execl",
    "os.execvp",
    "os.posix_spawn",
    "CommandExt",
    "syscall.Exec(",
    "=syscall.Exit",
    "=os.Exit",
    "process.execve(",
    "getattr(os,",
    "getattr(sys,",
    "libc::syscall(",
    "ctypes.CDLL(",
    "{exit}=process",
    "exit}from",
    "process?.exit(",
    "process::exit as",
    "useprocess::exit",
];
/// Python's polite end; believed where the file ended programs before, as a command-line program's does.
const POLITE_ENDS: [&str; 0] = [];
/// What runners print, without white space.
const RESULT_LINES: [&str; 14] = [
    "testresult:",
    "TAPversion",
    "PASSED[",
    "testspassed",
    "BUILDSUCCESS",
    "Testsrun:",
    "TestSuites:",
    "---PASS:",
    "\\nok1",
    "ok1-",
    "<testsuite",
    "<testcase",
    "numPassedTests",
    "OK(tests",
];
/// Writes past the runner's own capture, and to the place of its result file.
const RAW_OUTPUT: [&str; 30] = [
    "os.write(1",
    "os.write(2",
    "os.dup2(",
    "sys.__stdout__",
    "sys.__stderr__",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/",
    "/proc/self/fd",
    "/proc/thread-self/fd",
    "writeSync(1",
    "writeSync(2",
    "writeFileSync(1",
    "from_raw_fd(",
    "libc::write(",
    "FileDescriptor.out",
    "os.NewFile(",
    "syscall.Write(",
    "junitxml",
    "PYTEST_ADDOPTS",
    "NODE_OPTIONS",
    "test-reporter",
    "mochaHooks",
    "xmlpath",
    "\\x16",
    "\\u0016",
    "os.fdopen(1",
    "os.fdopen(2",
    "--outputFile",
];
/// Reads of the command line, in which a runner's result file is named; no code but a program's has use for it.
const COMMAND_LINE: [&str; 3] = ["process.argv", "process.execArgv", "sys.argv"];
/// Hooks into the process's beginning and end, the runner, its assertions, and what it imports.
const HOOKS: [&str; 98] = [
    "atexit.",
    "atexit(",
    "importatexit",
    "on_exit(",
    "at_exit",
    "addShutdownHook",
    "process.on('exit'",
    "process.on(\"exit\"",
    "process.once('exit'",
    "process.once(\"exit\"",
    "beforeExit",
    "link_section",
    ".init_array",
    "#[ctor",
    "__attribute__((constructor",
    "__attribute__((destructor",
    "panic::set_hook",
    "set_hook(",
    "panic::take_hook",
    "sys.excepthook",
    "sys.settrace",
    "sys.setprofile",
    "sys.meta_path",
    "sys.path_hooks",
    "sys.modules",
    "sys.path.",
    "importbuiltins",
    "import__main__",
    "__builtins__",
    "builtins.",
    "gc.get_objects",
    "gc.get_referrers",
    "defpytest_",
    "macro_rules!assert",
    "macro_rules!debug_assert",
    "macro_rules!panic",
    "macro_rules!matches",
    "AssertionError=",
    "node:test",
    "('assert",
    "(\"assert",
    "node:assert",
    "@jest/",
    "'vitest'",
    "\"vitest\"",
    "'mocha'",
    "\"mocha\"",
    "'chai'",
    "Module._load",
    "require.cache",
    "module.children",
    ".strictEqual=",
    ".deepEqual=",
    ".deepStrictEqual=",
    ".assertEqual=",
    ".assertTrue=",
    ".toBe=",
    ".toEqual=",
    "#definestrcmp",
    "#definestrncmp",
    "#definememcmp",
    "#definemain",
    "#defineassert",
    "#defineabort",
    "#defineexit",
    "#defineif",
    "#definereturn",
    "#defineprintf",
    "globalThis.expect=",
    "globalThis.test=",
    "globalThis.it=",
    "global.expect=",
    "global.test=",
    "global.it=",
    "globalThis.describe=",
    "Object.assign(assert",
    "Object.defineProperty(assert",
    "Object.is=",
    "assert[",
    "expect.extend",
    "expect[",
    "asymmetricMatch",
    "uncaughtException",
    "unhandledRejection",
    "on(`exit`",
    "on(`beforeExit`",
    "`assert`",
    "`node:assert",
    "('node:test",
    "NDEBUG",
    "__assert_fail",
    "__assert(",
    "abort(void)",
    "SIGABRT",
    "*Test::",
    "Test::Builder",
    "__subclasses__",
    "alias[",
];
/// Objects that equal everything.
const EQUALS_ALL: [&str; 6] =
    ["__eq__=lambda", "'__eq__'", "\"__eq__\"", "'__ne__'", "__ne__=lambda", "__contains__=lambda"];
/// Questions that only code which behaves otherwise under test asks.
const QUESTIONS: [&str; 69] = [
    "inspect.stack(",
    "inspect.currentframe(",
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "\"pytest\"in",
    "'pytest'in",
    "\"unittest\"in",
    "'unittest'in",
    "JEST_WORKER_ID",
    "VITEST_",
    "process.env.VITEST",
    "NODE_TEST",
    "NODE_ENV==='test'",
    "NODE_ENV===\"test\"",
    "NODE_ENV=='test'",
    "NODE_ENV==\"test\"",
    "NODE_V8_COVERAGE",
    "cfg(test)",
    "cfg(not(test))",
    "cfg_attr(test",
    "cfg_attr(not(test)",
    "CARGO_TARGET_TMPDIR",
    "NEXTEST",
    "testing.Testing()",
    "flag.Lookup(\"test.",
    "sys._getframe",
    "sys._current_frames",
    "getStackTrace()",
    "prepareStackTrace",
    ".stack.includes(",
    ".stack.match(",
    ".stack.split(",
    ".stack.indexOf(",
    "extract_stack(",
    "format_stack(",
    "walk_stack(",
    "thread::current().name()",
    "runtime.Caller",
    "npm_lifecycle",
    "/proc/self/cmdline",
    "/proc/self/environ",
    "debug_backtrace(",
    "caller_locations",
    "StackWalker",
    "Error().stack",
    "tb_frame",
    "f_back",
    "_getframe",
    "importinspectas",
    "cfg!(any(test",
    "cfg!(all(test",
    "cfg!(test",
    "cfg!(debug_assertions)",
    "PYTEST_",
    "process.env['NODE_ENV",
    "process.env[\"NODE_ENV",
    "import.meta.env.MODE",
    "typeofjest",
    "typeofvitest",
    "typeofdescribe",
    "flag.VisitAll",
    "\".test\")",
    "{argv}=process",
    "currentThread().getStackTrace",
    "GetStackTrace",
    "module.parent",
    "mode==='test'",
    "mode===\"test\"",
    "current_exe(",
];

/// Marks by which a test passes when what it asserts does not hold.
const WANTED_FAILURES: [&str; 8] = [
    "#[should_panic",
    ".failing(",
    ".fails(",
    "test.fail(",
    "it.fail(",
    "expectedFailure",
    "mark.xfail",
    "expectFailure",
];

/// A test that was there is marked as one that fails, and passes by the same name. A new file may hold what it likes.
pub(super) fn wanted_failure(change: &Change) -> Option<String> {
    change.before.as_ref()?;
    let (before, after) = squeezed(change)?;
    let mark = first_added(&before, &after, &WANTED_FAILURES)?;
    Some(format!(
        "the change marks a test as one that is to fail in {} (`{mark}`); put new tests of that kind into a file of their own",
        change.path
    ))
}

/// The change ends the process with success.
pub(super) fn forced_end(change: &Change) -> Option<String> {
    let (before, after) = squeezed(change)?;
    let ends = |text: &str| ENDS.iter().map(|call| believable_ends(text, call)).sum::<usize>();
    let call = if ends(&after) > ends(&before) {
        ENDS.iter().copied().find(|call| believable_ends(&after, call) > believable_ends(&before, call))
    } else {
        // Where a Python program ended itself before, it may do so with another code.
        let others: Vec<&str> =
            OTHER_ENDS.into_iter().filter(|end| !(*end == "exit(0" && before.contains("sys.exit("))).collect();
        first_added(&before, &after, &others).or_else(|| words::added(change, words::ENDS))
    };
    let polite = || {
        let ended_before = ["sys.exit", "SystemExit", "__name__", "argparse"].iter().any(|word| before.contains(word));
        let is_program = change.before.is_some() && ended_before;
        let python = change.path.ends_with(".py");
        if is_program || !python {
            return None;
        }
        first_added(&before, &after, &POLITE_ENDS).or_else(|| words::added(change, words::POLITE_ENDS))
    };
    let call = call.or_else(polite)?;
    Some(format!("the change ends the process, or puts another in its place, in {} (`{call}`)", change.path))
}

/// How often a call stands there that may end with success: anything but a literal that is not zero.
fn believable_ends(text: &str, call: &str) -> usize {
    text.match_indices(call)
        .filter(|(at, _)| {
            let rest = text.get(at + call.len()..).unwrap_or_default();
            let fails = rest.starts_with(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
                || rest.starts_with('-')
                || rest.starts_with("false");
            !fails
        })
        .count()
}

/// The change prints what a runner prints, or writes where only the runner writes.
pub(super) fn printed_results(change: &Change) -> Option<String> {
    let extension = extension(change);
    if matches!(extension, "md" | "rst" | "adoc") {
        return None;
    }
    let (before, after) = (spellings(&change.path, change.before()), spellings(&change.path, change.after()));
    let line = first_added(&before, &after, &RESULT_LINES)
        .or_else(|| words::added(change, words::RESULTS))
        .or_else(|| (summaries(&after) > summaries(&before)).then_some("Ran … tests in"))
        .or_else(|| (running(&after) > running(&before)).then_some("running … tests"))
        .or_else(|| first_added(&before, &after, &RAW_OUTPUT))
        .or_else(|| if before.contains("argv") { None } else { first_added(&before, &after, &COMMAND_LINE) })?;
    Some(format!("the change prints what a test runner prints, or writes past it, in {} (`{line}`)", change.path))
}

/// `Ran 2 tests in`, `Ran {n} tests in`, `Ran %d test in`.
fn summaries(text: &str) -> usize {
    near(text, "Ran", "testsin") + near(text, "Ran", "testin")
}

/// `running 2 tests`.
fn running(text: &str) -> usize {
    near(text, "running", "tests\\n") + near(text, "running", "tests\"")
}

/// How often the second stands shortly after the first, and not beside it.
fn near(text: &str, first: &str, second: &str) -> usize {
    /// Room for a number or a placeholder.
    const REACH: usize = 16;
    text.match_indices(first)
        .filter(|(at, _)| {
            let window: String = text.get(at + first.len()..).unwrap_or_default().chars().take(REACH).collect();
            window.find(second).is_some_and(|at| at > 0)
        })
        .count()
}

/// The change hooks into the runner.
pub(super) fn hooks(change: &Change) -> Option<String> {
    let (before, after) = squeezed(change)?;
    let hook = first_added(&before, &after, &HOOKS)
        .or_else(|| first_added(&before, &after, &EQUALS_ALL))
        .or_else(|| words::added(change, words::RUNNERS))
        .or_else(|| words::equals_all(change))
        .or_else(|| patched(&spaced(&change.path, change.before()), &spaced(&change.path, change.after())))?;
    Some(format!(
        "the change hooks into the test runner, its assertions or the process's end in {} (`{hook}`)",
        change.path
    ))
}

/// An assertion or an attribute of the runner is assigned to: `TestCase.assertEqual = …`, `assert.equal = …`.
fn patched(before: &str, after: &str) -> Option<&'static str> {
    const TARGETS: [&str; 7] = ["TestCase.", "assert.", "expect.", "TestResult.", "unittest.", "pytest.", "doctest."];
    let assigned = |text: &str, target: &str| {
        text.match_indices(target)
            .filter(|(at, _)| {
                let part = text
                    .get(..*at)
                    .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.'));
                if part {
                    return false;
                }
                let rest = text.get(at + target.len()..).unwrap_or_default();
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                let rest = rest.trim_start();
                rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>")
            })
            .count()
    };
    TARGETS.into_iter().find(|target| assigned(after, target) > assigned(before, target))
}

/// The change asks whether it is being tested.
pub(super) fn under_test(change: &Change) -> Option<String> {
    let (before, after) = squeezed(change)?;
    let question = first_added(&before, &after, &QUESTIONS).or_else(|| words::added(change, words::QUESTIONS))?;
    Some(format!("the change asks whether or by whom it is tested in {} (`{question}`)", change.path))
}

/// Both texts of a file that may be executed.
fn squeezed(change: &Change) -> Option<(String, String)> {
    if NO_CODE.contains(&extension(change)) {
        return None;
    }
    Some((spellings(&change.path, change.before()), spellings(&change.path, change.after())))
}

fn extension(change: &Change) -> &str {
    change.name().rsplit_once('.').map_or("", |(_, extension)| extension)
}
