//! How a person is spoken to: colour, quiet, completions; on a real terminal where it matters.

use std::process::Command;

use crate::world::program::Program;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// Runs a program on a terminal of 60 columns, which python makes, and gives what it wrote there.
const ON_A_TERMINAL: &str = "
import fcntl, os, pty, struct, sys, termios
child, master = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 60, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
said = b''
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    said += part
os.waitpid(child, 0)
sys.stdout.buffer.write(said)
";

/// What the program writes to a terminal of 60 columns.
pub(crate) fn on_a_terminal(program: &Program, args: &[&str]) -> String {
    let upshift = program.command(program.home(), args);
    let mut python = Command::new("python3");
    python.args(["-c", ON_A_TERMINAL]).arg(upshift.get_program()).args(args).current_dir(program.home()).env_clear();
    python.envs(upshift.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = python.output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn is_coloured(text: &str) -> bool {
    text.contains("\u{1b}[3") || text.contains("\u{1b}[1m") || text.contains("\u{1b}[2m")
}

#[test]
fn completions_are_there_for_every_shell_and_bash_reads_them() {
    let program = Program::new();
    for shell in SHELLS {
        let said = program.run(program.home(), &["completions", shell]);
        assert_eq!(said.code, 0, "{}", said.all());
        for word in ["resume", "judge", "completions", "--tiers", "--color"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(said.out.contains(word), "{shell}: {word}");
        }
    }
    let script = program.home().join("upshift.bash");
    std::fs::write(&script, program.run(program.home(), &["completions", "bash"]).out).expect("written");
    let parsed = Command::new("bash").arg("-n").arg(&script).output().expect("bash");
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let asked = format!(
        ". {}; COMP_WORDS=(upshift res); COMP_CWORD=1; _upshift upshift res upshift; echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let completed = Command::new("bash").args(["-c", &asked]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&completed.stdout), "resume\n", "{completed:?}");
}

#[test]
fn a_terminal_is_coloured_unless_flag_or_environment_say_otherwise() {
    assert!(is_coloured(&on_a_terminal(&Program::new(), &["demo"])));
    assert!(!is_coloured(&on_a_terminal(&Program::new().with("NO_COLOR", "1"), &["demo"])));
    assert!(!is_coloured(&on_a_terminal(&Program::new(), &["demo", "--color", "never"])));
    assert!(is_coloured(&on_a_terminal(&Program::new().with("NO_COLOR", "1"), &["--color=always", "demo"])));
    assert!(is_coloured(&on_a_terminal(&Program::new(), &["--help"])));
    assert!(!is_coloured(&on_a_terminal(&Program::new().with("NO_COLOR", "1"), &["run", "--help"])));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_pipe_is_coloured_only_where_that_is_asked_for() {
    let shown = |program: Program, args: &[&str]| {
        let said = program.run(program.home(), args);
        assert_eq!(said.code, 0, "{}", said.all());
        (is_coloured(&said.out), is_coloured(&said.err))
    };
    assert_eq!(shown(Program::new(), &["demo"]), (false, false));
    assert_eq!(shown(Program::new().with("CLICOLOR_FORCE", "1"), &["demo"]), (true, true));
    assert_eq!(shown(Program::new().with("CLICOLOR_FORCE", "1").with("NO_COLOR", "1"), &["demo"]), (false, false));
    assert_eq!(shown(Program::new(), &["demo", "--color", "always"]), (true, true));
    assert_eq!(shown(Program::new().with("CLICOLOR_FORCE", "1"), &["demo", "--color", "never"]), (false, false));
}

#[test]
fn quiet_leaves_the_report_and_errors_alone() {
    let program = Program::new();
    let said = program.run(program.home(), &["-q", "demo"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{}", said.all());
    assert!(said.out.contains("✔ Fixed by Tier 2 (strong)"), "{}", said.all());
    let said = program.run(program.home(), &["report", "--quiet"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("→ Fix"), "{}", said.all());
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// What is wider than 60 columns although it could be set narrower.
fn too_wide(text: &str) -> Vec<&str> {
    let is_wide = |line: &&str| line.trim().chars().count() > 60 && words(line).len() > 1;
    text.lines().filter(is_wide).collect()
}

#[test]
fn no_word_of_any_help_is_broken_at_60_columns() {
    let program = Program::new();
    let narrow = Program::new().with("COLUMNS", "60");
    let all = program.run(program.home(), &["--help"]).out;
    let list = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = list.filter(|line| !line.starts_with("   ")).filter_map(|line| words(line).first().copied());
    // The parser's own, which explains others.
    let commands: Vec<&str> = named.filter(|command| *command != "help").collect();
    assert!(commands.len() > 12 && commands.contains(&"completions"), "{commands:?}");
    for command in commands.into_iter().chain([""]) {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let (wide, set) = (program.run(program.home(), &args), narrow.run(narrow.home(), &args));
        assert_eq!((wide.code, set.code), (0, 0), "{}", wide.all());
        assert_eq!(words(&set.out), words(&wide.out), "{command}");
        assert!(too_wide(&set.out).is_empty(), "{command}: {:#?}", too_wide(&set.out));
    }
}

#[test]
fn no_word_of_progress_report_or_check_is_broken_at_60_columns() {
    let narrow = Program::new().with("COLUMNS", "60");
    let said = narrow.run(narrow.home(), &["demo"]);
    assert_eq!(said.code, 0, "{}", said.all());
    // The change is code, which stands as it is.
    let (progress, rest) = said.err.split_once("\n\n  --- a/").expect("the change");
    assert!(progress.lines().any(|line| line.contains("carry")) || progress.contains("Carrying"), "{progress}");
    assert!(too_wide(progress).is_empty(), "{:#?}", too_wide(progress));
    assert!(too_wide(rest.split_once("\n\n").expect("the end").1).is_empty(), "{rest}");
    let folder = words(&said.err).into_iter().find(|word| word.contains("/upshift-demo-")).expect("a folder");
    let log = format!("{}/.upshift/audit.db", folder.trim_end_matches([':', ',']));
    let wide = Program::new();
    // A table that is too wide stands as blocks: the same words in another order.
    let sorted = |text: &str| {
        let mut all: Vec<String> = words(text).iter().map(|word| word.trim_end_matches(':').to_owned()).collect();
        all.sort();
        all
    };
    for command in [&["report"][..], &["runs"]] {
        let args = [command, &["--audit-db", &log]].concat();
        let (set, free) = (narrow.run(narrow.home(), &args).out, wide.run(wide.home(), &args).out);
        assert_eq!(sorted(&set), sorted(&free), "{command:?}");
        assert!(too_wide(&set).is_empty() && !too_wide(&free).is_empty(), "{:#?}", too_wide(&set));
    }
    for args in [&["check", "--model", "ollama/qwen3-coder"][..], &["doctor", "--model", "ollama/qwen3-coder"]] {
        let (set, free) = (narrow.run(wide.home(), args).out, wide.run(wide.home(), args).out);
        assert_eq!(words(&set), words(&free), "{args:?}");
        assert!(too_wide(&set).is_empty() && !too_wide(&free).is_empty(), "{:#?}", too_wide(&set));
    }
    let shown = on_a_terminal(&Program::new(), &["report", "--audit-db", &log, "--color", "never"]);
    assert!(too_wide(&shown).is_empty(), "a terminal is asked for its width: {:#?}", too_wide(&shown));
    assert_eq!(words(&shown), words(&wide.run(wide.home(), &["report", "--audit-db", &log]).out));
}
