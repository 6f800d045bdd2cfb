//! The fallback: what can be read of a log that no framework's reader recognises.
//!
//! Finds missing programs, wrong commands, failures of network and disk, compile errors of many compilers, crashes,
//! and lines that say which test failed. It is shown only the lines that hold one of its marks and the few after
//! each, so it costs nothing in a quiet log.
//!
//! Invariant: it speaks only where the frameworks' readers have nothing better to say ([`super::merge`] decides).

use super::findings::{Block, Budget, Cases, Findings, Problems};
use super::launchers::is_launcher;
use super::{infrastructure, place, refusals};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};

/// How many lines after a mark belong to it.
const CONTEXT: usize = 12;
/// More hits than this are noise: the first ones are the cause.
const MOST_HITS: usize = 4_000;

/// Marks of commands that could not run, and the kind of trouble each is. The first that fits a line decides.
const OF_COMMANDS: &[(&str, RunKind)] = &[
    // What the code under test says, before what the same words mean from a shell or an interpreter.
    (": fatal error: ", RunKind::CompileError),
    ("ModuleNotFoundError: ", RunKind::ImportError),
    ("ImportError: ", RunKind::ImportError),
    // Missing programs.
    ("command not found", RunKind::MissingTool),
    (": not found", RunKind::MissingTool),
    (": No such file or directory", RunKind::MissingTool),
    ("is not recognized as an internal or external command", RunKind::MissingTool),
    (": No module named ", RunKind::MissingTool),
    ("Error while finding module specification for '", RunKind::BadCommand),
    ("can't open file '", RunKind::BadCommand),
    ("Can't open perl script ", RunKind::BadCommand),
    ("Error: Could not find or load main class ", RunKind::BadCommand),
    ("Error: Unable to access jarfile ", RunKind::BadCommand),
    ("requireStack: []", RunKind::BadCommand),
    ("Cannot find module '", RunKind::ImportError),
    ("ERR_MODULE_NOT_FOUND", RunKind::ImportError),
    ("MODULE_NOT_FOUND", RunKind::ImportError),
    ("cannot load such file -- ", RunKind::ImportError),
    (" in @INC ", RunKind::ImportError),
    ("error: toolchain '", RunKind::MissingTool),
    ("executable file not found in", RunKind::MissingTool),
    ("Could not find gem ", RunKind::MissingTool),
    ("Unable to locate a Java Runtime", RunKind::MissingTool),
    ("JAVA_HOME is not ", RunKind::MissingTool),
    ("You must install .NET", RunKind::MissingTool),
    // Wrong commands.
    ("*** No rule to make target", RunKind::BadCommand),
    ("*** No targets specified", RunKind::BadCommand),
    ("missing separator.  Stop.", RunKind::BadCommand),
    ("Missing script: ", RunKind::BadCommand),
    ("missing script: ", RunKind::BadCommand),
    ("ERR_PNPM_NO_SCRIPT", RunKind::BadCommand),
    ("Could not read package.json", RunKind::BadCommand),
    ("error Couldn't find a package.json", RunKind::BadCommand),
    (": Permission denied", RunKind::BadCommand),
    ("syntax error near unexpected token", RunKind::BadCommand),
    ("syntax error: unexpected end of file", RunKind::BadCommand),
    ("Syntax error: ", RunKind::BadCommand),
    ("unbound variable", RunKind::BadCommand),
    ("bad interpreter", RunKind::BadCommand),
    ("error: no such command", RunKind::BadCommand),
    ("unrecognized arguments", RunKind::BadCommand),
    ("unknown option", RunKind::BadCommand),
    ("Unknown option", RunKind::BadCommand),
    ("the following arguments are required", RunKind::BadCommand),
    ("invalid choice: '", RunKind::BadCommand),
    ("error: unexpected argument '", RunKind::BadCommand),
    ("unrecognized option", RunKind::BadCommand),
    ("invalid option", RunKind::BadCommand),
    (": bad option: ", RunKind::BadCommand),
    ("error: could not find `Cargo.toml`", RunKind::BadCommand),
    ("go.mod file not found", RunKind::BadCommand),
    ("Unterminated quoted string", RunKind::BadCommand),
    ("unexpected EOF while looking for matching", RunKind::BadCommand),
    ("does not contain recipe", RunKind::BadCommand),
    ("MSB1003", RunKind::BadCommand),
];

/// Marks of trouble that is not the code's fault, beside those that [`infrastructure::marks`] lists.
const OUTSIDE: &[(&str, RunKind)] = &[
    ("ENOTFOUND", RunKind::Infrastructure),
    ("ECONNRESET", RunKind::Infrastructure),
    ("ETIMEDOUT", RunKind::Infrastructure),
    ("Connection timed out", RunKind::Infrastructure),
    ("No route to host", RunKind::Infrastructure),
    ("toomanyrequests: ", RunKind::Infrastructure),
    ("503 Service Unavailable", RunKind::Infrastructure),
    ("Read-only file system", RunKind::Infrastructure),
    ("Could not transfer artifact", RunKind::Infrastructure),
    ("EADDRINUSE", RunKind::Infrastructure),
    ("Address already in use", RunKind::Infrastructure),
    ("Cannot allocate memory", RunKind::Infrastructure),
    ("Too many open files", RunKind::Infrastructure),
];

/// Deaths, compilers, and what is left: the code's own trouble.
const OF_CODE: &[(&str, RunKind)] = &[
    // Deaths.
    ("Segmentation fault", RunKind::Crash),
    ("Bus error", RunKind::Crash),
    ("Illegal instruction", RunKind::Crash),
    ("Aborted (core dumped)", RunKind::Crash),
    ("core dumped", RunKind::Crash),
    ("Out of memory: Killed", RunKind::Crash),
    ("JavaScript heap out of memory", RunKind::Crash),
    ("java.lang.OutOfMemoryError", RunKind::Crash),
    ("Fatal Python error: ", RunKind::Crash),
    ("fatal error: all goroutines are asleep", RunKind::Crash),
    ("panicked at ", RunKind::Crash),
    ("Exception in thread \"main\"", RunKind::Crash),
    ("Traceback (most recent call last)", RunKind::Crash),
    ("Uncaught ", RunKind::Crash),
    ("npm error", RunKind::BadCommand),
    ("npm ERR!", RunKind::BadCommand),
    // Compilers: `path:line: error: …`, TypeScript, C#, Kotlin, Scala, Swift, linkers.
    (": error: ", RunKind::CompileError),
    (": error TS", RunKind::CompileError),
    (" - error TS", RunKind::CompileError),
    (": error CS", RunKind::CompileError),
    (": error FS", RunKind::CompileError),
    ("undefined reference to ", RunKind::CompileError),
    ("ld: symbol(s) not found", RunKind::CompileError),
    ("BUILD FAILED", RunKind::CompileError),
    ("COMPILATION ERROR", RunKind::CompileError),
    ("CMake Error at ", RunKind::CompileError),
    ("SyntaxError: ", RunKind::CompileError),
    (": syntax error, ", RunKind::CompileError),
    ("(SyntaxError)", RunKind::CompileError),
    ("syntax error at ", RunKind::CompileError),
    ("aborted due to compilation errors", RunKind::CompileError),
    ("(NameError)", RunKind::Crash),
    ("(NoMethodError)", RunKind::Crash),
    ("(ArgumentError)", RunKind::Crash),
    ("(RuntimeError)", RunKind::Crash),
    ("error: ", RunKind::CompileError),
    ("Error: ", RunKind::Crash),
];

/// Marks of places in Go files: a message of Go's compiler or of `go vet` has a place and no other mark. A mark has five bytes or more.
const GO_PLACES: [&str; 9] = [".go:1", ".go:2", ".go:3", ".go:4", ".go:5", ".go:6", ".go:7", ".go:8", ".go:9"];

/// Beginnings of lines that name a failing test.
const FAILURES: &[&str] = &[
    "FAILED: ",
    "FAILED ",
    "FAIL: ",
    "FAIL ",
    "FAILURE: ",
    "[FAIL] ",
    "[FAILED] ",
    "[  FAILED  ] ",
    "not ok ",
    "✗ ",
    "✘ ",
    "✖ ",
    "× ",
    "❌ ",
    "--- FAIL: ",
    "Failed: ",
    "Failure: ",
    "TEST FAILED: ",
];

/// The kind of trouble that a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// Beyond doubt: the command itself cannot work.
    Refusal(RunKind),
    /// By its words alone.
    Likely(RunKind),
}

/// A trouble whose lines are being collected.
#[derive(Debug)]
struct Open {
    trouble: Trouble,
    block: Block,
    /// How many lines may still belong to it.
    left: usize,
}

/// Reads what no framework claims.
#[derive(Debug)]
pub(super) struct Generic {
    cases: Cases,
    /// Lines that are certain to tell why the command could not work, before all else.
    refusals: Problems,
    problems: Problems,
    open: Option<Open>,
    failing: Option<(usize, Block, usize)>,
    hits: usize,
}

impl Generic {
    /// All marks: the parser wakes this reader line by line.
    pub(super) fn marks() -> impl Iterator<Item = &'static str> {
        refusals::marks().chain(troubles().map(|(mark, _)| mark)).chain(FAILURES.iter().copied())
    }

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            refusals: Problems::new(budget),
            problems: Problems::new(budget),
            open: None,
            failing: None,
            hits: 0,
        }
    }

    /// Whether the next line belongs to what is being collected.
    pub(super) const fn wants_more(&self) -> bool {
        self.open.is_some() || self.failing.is_some()
    }

    /// A line without a mark, after one with.
    pub(super) fn more(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.close();
            return;
        }
        let full = |left: &mut usize| {
            *left = left.saturating_sub(1);
            *left == 0
        };
        let mut done = false;
        if let Some((_, block, left)) = &mut self.failing {
            block.push(line);
            done = full(left);
        } else if let Some(open) = &mut self.open {
            open.block.push(line);
            done = full(&mut open.left);
        }
        if done {
            self.close();
        }
    }

    /// Whether more marks are worth looking for.
    pub(super) const fn listens(&self) -> bool {
        self.hits <= MOST_HITS
    }

    /// A line that holds one of the marks.
    pub(super) fn hit(&mut self, line: &str) {
        self.hits += 1;
        if self.hits > MOST_HITS {
            return;
        }
        if let Some(name) = failing_name(line) {
            self.close();
            if let Some(at) = self.cases.set(name, TestStatus::Failed) {
                let mut block = Block::default();
                block.push(line);
                self.failing = Some((at, block, CONTEXT));
            }
            return;
        }
        let Some(trouble) = trouble(line) else {
            self.more(line);
            return;
        };
        // A mark inside the lines of another belongs to that one.
        if self.wants_more() && (line.starts_with([' ', '\t']) || self.goes_on_with(trouble)) {
            self.more(line);
            return;
        }
        self.close();
        let mut block = Block::default();
        block.push(line);
        self.open = Some(Open { trouble, block, left: CONTEXT });
    }

    fn goes_on_with(&self, trouble: Trouble) -> bool {
        self.open.as_ref().is_some_and(|open| match (open.trouble, trouble) {
            (Trouble::Likely(open), Trouble::Likely(kind)) => open == kind && kind != RunKind::CompileError,
            (Trouble::Refusal(_), Trouble::Refusal(_)) => true,
            (Trouble::Likely(_), Trouble::Refusal(_)) | (Trouble::Refusal(_), Trouble::Likely(_)) => false,
        })
    }

    fn close(&mut self) {
        if let Some((at, mut block, _)) = self.failing.take() {
            let text = block.take();
            self.cases.explain(Some(at), &text, place::in_repository(&text));
        }
        let Some(Open { trouble, mut block, .. }) = self.open.take() else { return };
        let text = block.take();
        let place = || compiler_place(&text).or_else(|| place::in_repository(&text));
        match trouble {
            Trouble::Refusal(kind) => self.refusals.push(kind, &text, None),
            // Node's main file itself is what is missing, not what a file of the repository asks for.
            Trouble::Likely(_) if text.holds("requireStack: []") => {
                self.problems.push(RunKind::BadCommand, &text, place());
            }
            Trouble::Likely(kind) => self.problems.push(kind, &text, place()),
        }
    }

    /// The findings, the likeliest cause first.
    pub(super) fn finish(mut self) -> Findings {
        self.close();
        let mut findings = Findings::new("generic");
        findings.tests = self.cases.into_list();
        findings.problems = self.refusals.into_list();
        findings.problems.extend(self.problems.into_list());
        findings
    }
}

/// All marks of likely trouble, in the order in which they decide.
fn troubles() -> impl Iterator<Item = (&'static str, RunKind)> {
    let outside = infrastructure::marks().map(|mark| (mark, RunKind::Infrastructure));
    OF_COMMANDS
        .iter()
        .copied()
        .chain(outside)
        .chain(OUTSIDE.iter().copied())
        .chain(OF_CODE.iter().copied())
        .chain(GO_PLACES.map(|mark| (mark, RunKind::CompileError)))
}

/// The trouble that a line tells of.
fn trouble(line: &str) -> Option<Trouble> {
    /// Words that mean a wrong command from a shell, an interpreter or make, and anything from a program.
    const BY_LAUNCHER: [&str; 6] = [
        ": not found",
        ": No such file or directory",
        ": Permission denied",
        ": No module named ",
        "invalid option",
        "unrecognized option",
    ];
    let bears_out = |mark: &str| {
        (!BY_LAUNCHER.contains(&mark) || is_launcher(line)) && (!GO_PLACES.contains(&mark) || is_go_diagnostic(line))
    };
    let fits = |mark: &str| line.contains(mark) && bears_out(mark);
    let likely = || troubles().find(|(mark, _)| fits(mark)).map(|(_, kind)| Trouble::Likely(kind));
    refusals::of(line).map(Trouble::Refusal).or_else(likely)
}

/// `./cart.go:5:24: undefined: total`, `vet: cart.go:5:24: …`: a line and a column at the beginning.
fn is_go_diagnostic(line: &str) -> bool {
    let text = line.strip_prefix("vet: ").unwrap_or(line);
    let Some((file, rest)) = text.split_once(".go:") else { return false };
    let mut numbers = rest.splitn(3, ':').map(|part| part.parse::<u32>().is_ok());
    !file.contains([' ', '\t', ':']) && numbers.next() == Some(true) && numbers.next() == Some(true)
}

/// The name in a line that says that a test failed.
fn failing_name(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let rest = FAILURES.iter().find_map(|start| text.strip_prefix(start))?;
    let name = without_duration(rest.trim()).trim_end_matches(" FAILED").trim_end_matches([':', '-']).trim_end();
    // `FAILED (errors=3)` and `FAIL in 3s` name nothing.
    let first = name.chars().next()?;
    let is_name = first.is_alphanumeric() || matches!(first, '_' | '/' | '"' | '\'' | '@' | '.' | '[');
    let sentence = name.len() > 200 || name.starts_with("in ") || name.starts_with("to ") || name.holds(" passed");
    // ESLint's sum.
    let sentence = sentence || name.holds(" problems (") || name.holds(" problem (");
    (is_name && !sentence).then_some(name)
}

/// `two milks (1.41ms)`, `hangs 401ms` → the name alone.
fn without_duration(name: &str) -> &str {
    let Some((head, last)) = name.rsplit_once(' ') else { return name };
    let bare = last.trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let number = bare.strip_suffix("ms").or_else(|| bare.strip_suffix('s')).unwrap_or_default();
    let is_duration = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_duration { head.trim_end() } else { name }
}

/// `src/App.tsx(12,5): error TS2322`, the form of TypeScript and MSBuild.
fn compiler_place(text: &str) -> Option<(String, u32)> {
    let first = text.lines().next()?.trim_start();
    let (file, rest) = first.split_once('(')?;
    let (line, _) = rest.split_once(',')?;
    (place::is_path(file) && !file.contains(' ')).then(|| Some((file.to_owned(), line.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::report::{Report, RunStatus};

    fn read(log: &str, code: i32) -> Report {
        crate::parser::read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
    }

    #[test]
    fn what_kept_a_run_from_running_has_its_own_kind() {
        let cases = [
            ("sh: 1: pytset: not found\n", 127, RunKind::MissingTool),
            ("/usr/bin/python3: No module named pytest\n", 1, RunKind::MissingTool),
            ("make: *** No rule to make target 'tset'.  Stop.\n", 2, RunKind::BadCommand),
            ("npm error Missing script: \"test\"\n", 1, RunKind::BadCommand),
            ("bash: line 1: ./run.sh: Permission denied\n", 126, RunKind::BadCommand),
            ("Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCP\n", 1, RunKind::Infrastructure),
            ("cc: error: write failed: No space left on device\n", 1, RunKind::Infrastructure),
            ("# example.com/shop\nvet: cart/cart.go:3:23: undefined: total\n", 1, RunKind::CompileError),
            (
                "CMake Error at CMakeLists.txt:4 (add_executable):\n  Cannot find source file:\n\n    missing.cpp\n",
                1,
                RunKind::CompileError,
            ),
            ("a.go:5:24: fmt.Printf format %d has arg \"x\" of wrong type string\n", 1, RunKind::CompileError),
            (
                "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n",
                2,
                RunKind::CompileError,
            ),
            ("main.c:4:3: error: expected ';' before '}' token\n", 2, RunKind::CompileError),
            ("python: can't open file '/w/run.py': [Errno 2] No such file or directory\n", 2, RunKind::BadCommand),
            ("/usr/bin/python3: No module named no_such_module\n", 1, RunKind::MissingTool),
            ("usage: run.py [-h]\nrun.py: error: unrecognized arguments: --paralel\n", 2, RunKind::BadCommand),
            ("error: could not find `Cargo.toml` in `/w` or any parent directory\n", 101, RunKind::BadCommand),
            ("sh: 1: Syntax error: Unterminated quoted string\n", 2, RunKind::BadCommand),
            (
                "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module '/w/run.js'\n    at x\n  code: \
                 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n",
                1,
                RunKind::BadCommand,
            ),
            ("Error: listen EADDRINUSE: address already in use :::8080\n", 1, RunKind::Infrastructure),
            ("ruby: No such file or directory -- test/missing.rb (LoadError)\n", 1, RunKind::BadCommand),
            // The code under test: to be mended, not to be refused.
            (
                "<internal:/usr/lib/ruby/rubygems/kernel_require.rb>:85:in `require': cannot load such file -- shop (LoadError)\n\tfrom test/cart.rb:1:in `<main>'\n",
                1,
                RunKind::ImportError,
            ),
            (
                "syntax error at t/cart.t line 2, near \"error here\"\nExecution of t/cart.t aborted due to compilation errors.\n",
                255,
                RunKind::CompileError,
            ),
            (
                "Can't locate Shop/Cart.pm in @INC (you may need to install the Shop::Cart module) at t/cart.t line 1.\n",
                2,
                RunKind::ImportError,
            ),
            ("test/cart.rb:1: syntax error, unexpected end-of-input, expecting `end'\n", 1, RunKind::CompileError),
            (
                "test/cart.rb:3:in `<main>': undefined local variable or method `total' for main:Object (NameError)\n",
                1,
                RunKind::Crash,
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import shop.prices\nModuleNotFoundError: No \
              module named 'shop.prices'\n",
                1,
                RunKind::ImportError,
            ),
            ("main.c:1:10: fatal error: shelf.h: No such file or directory\n", 2, RunKind::CompileError),
            ("Error: user: not found\n    at find (src/user.js:3:9)\n", 1, RunKind::Crash),
            (
                "Error: Cannot find module './prices'\n    at x\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/w/src/shop.js' ]\n",
                1,
                RunKind::ImportError,
            ),
            ("run: line 3: 123 Segmentation fault (core dumped) ./suite\n", 139, RunKind::Crash),
        ];
        for (log, code, kind) in cases {
            let report = read(log, code);
            assert_eq!((report.status, report.kind), (RunStatus::Error, kind), "{log}");
            assert!(
                report.problems.iter().any(|problem| log.contains(problem.message.lines().next().unwrap())),
                "{log}"
            );
        }
    }

    #[test]
    fn places_of_compilers_are_found() {
        let report = read("src/a.ts(3,5): error TS2322: no\n\nmain.c:4:3: error: no\n", 2);
        let places: Vec<_> = report.problems.iter().map(|one| (one.file.as_deref(), one.line)).collect();
        assert_eq!(places, [(Some("src/a.ts"), Some(3)), (Some("main.c"), Some(4))]);
    }

    #[test]
    fn an_unknown_runner_still_names_its_failing_tests() {
        let report = read(
            "running checks\nFAIL: colours/blue\n  wanted 3, got 4 at lib/colours.zz:14\n\n1 of 3 checks failed\n",
            1,
        );
        assert_eq!((report.framework.as_str(), report.status), ("generic", RunStatus::Failed));
        assert_eq!(report.tests[0].name, "colours/blue");
        assert_eq!((report.tests[0].file.as_deref(), report.tests[0].line), (Some("lib/colours.zz"), Some(14)));
    }
}
