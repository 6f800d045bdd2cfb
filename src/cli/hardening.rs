//! upshift's own process, made hard to read: no core dumps and no tracing by others, no keys in its environment block (Linux).
//!
//! `/proc/PID/environ` shows the environment as it was when the program was started, whatever the program does to it later. So commands
//! that start children are executed once more, in the same process, with an environment that holds only harmless variables. Everything else
//! is handed over in memory, as standard input, which those commands do not read. The gateway, whose program reads standard input, gets it
//! under another number.
//!
//! Invariant: nothing but the memory of this process holds the rest, and no child inherits it.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Commands that start children. The others live for milliseconds.
#[cfg(target_os = "linux")]
const COMMANDS: [&str; 4] = ["run", "resume", "demo", GATEWAY];

/// The command whose child has our standard input.
#[cfg(target_os = "linux")]
const GATEWAY: &str = "gateway";

/// Makes this process hard to read, and executes it once more if its environment block holds more than it should.
///
/// A step that fails is skipped, because the children's confinement does not depend on it.
pub fn harden() {
    #[cfg(target_os = "linux")]
    sealed::harden();
}

/// The variables that were handed over, for the one place that reads the environment.
#[cfg(target_os = "linux")]
pub(super) fn handed_over() -> BTreeMap<OsString, OsString> {
    sealed::HANDED_OVER.get().cloned().unwrap_or_default()
}

/// Nothing: the environment is where it was.
#[cfg(not(target_os = "linux"))]
pub(super) fn handed_over() -> BTreeMap<OsString, OsString> {
    BTreeMap::new()
}

/// The command among arguments that were not parsed yet: global flags may stand before it.
#[cfg(target_os = "linux")]
fn command_among(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    while let Some(argument) = arguments.next() {
        // Its value stands in a word of its own, and would be taken for the command: `--color never run`.
        if argument == "--color" {
            arguments.next();
        } else if !argument.starts_with('-') {
            return Some(argument);
        }
    }
    None
}

#[cfg(target_os = "linux")]
mod sealed {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Read as _, Seek as _, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::sync::OnceLock;

    use rustix::fs::MemfdFlags;
    use rustix::process::DumpableBehavior;

    use crate::cli::hardening::{COMMANDS, GATEWAY, command_among};
    use crate::process::environment::is_harmless;

    /// Says that standard input is the rest of the environment.
    const MARK: &str = "UPSHIFT_HANDED_OVER";
    /// How the mark begins where the rest is not standard input but has this number.
    const NUMBER: &str = "fd:";
    /// The rest begins with this, so that an inherited mark is not taken at its word.
    const MAGIC: &[u8] = b"upshift's environment\n\0";
    /// Names that begin so are switches of debug builds, which are read where they are used.
    #[cfg(debug_assertions)]
    const SWITCHES: &str = "UPSHIFT_GUARD";

    pub(super) static HANDED_OVER: OnceLock<BTreeMap<OsString, OsString>> = OnceLock::new();

    pub(super) fn harden() {
        if is_off() {
            return;
        }
        // Another process of the user can then read neither memory nor `/proc/PID/environ`, nor attach to it.
        let _kept_readable = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        match take_over() {
            Ok(Some(rest)) => drop(HANDED_OVER.set(rest)),
            Ok(None) => drop(hand_over()),
            // The environment is what it is; a missing key is told as such.
            Err(_unreadable) => {}
        }
    }

    /// Reads what the first execution handed over, and frees it.
    #[expect(clippy::disallowed_methods, reason = "part of the place that reads the environment")]
    fn take_over() -> io::Result<Option<BTreeMap<OsString, OsString>>> {
        let Some(mark) = std::env::var_os(MARK) else { return Ok(None) };
        let mut bytes = Vec::new();
        if let Some(number) = mark.to_str().and_then(|mark| mark.strip_prefix(NUMBER)?.parse::<u32>().ok()) {
            let mut memory = File::options().read(true).write(true).open(format!("/proc/self/fd/{number}"))?;
            memory.read_to_end(&mut bytes)?;
            // The number stays open, here and in every child: there must be nothing behind it.
            if bytes.starts_with(MAGIC) {
                memory.set_len(0)?;
            }
        } else {
            io::stdin().lock().read_to_end(&mut bytes)?;
            // Behind it lies the memory with the secrets, which a child that inherits it could read from the beginning.
            rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        }
        // A mark that a parent set has no such beginning, so foreign input never becomes variables.
        let rest = bytes.strip_prefix(MAGIC).ok_or(io::ErrorKind::InvalidData)?;
        let mut words = rest.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec()));
        let mut variables = BTreeMap::new();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            variables.insert(name, value);
        }
        Ok(Some(variables))
    }

    /// Executes this program once more without the variables that are to be handed over. Returns only if there are none, or it failed.
    #[expect(clippy::disallowed_methods, reason = "becomes itself; part of the place that reads the environment")]
    fn hand_over() -> io::Result<()> {
        let command = command_among(std::env::args().skip(1)).unwrap_or_default();
        let kept = |name: &OsString, value: &OsString| is_switch(name) || is_harmless(name, value);
        // With nothing to hide a second execution would only cost time.
        if !COMMANDS.contains(&command.as_str()) || std::env::vars_os().all(|(name, value)| kept(&name, &value)) {
            return Ok(());
        }
        let keeps_input = command == GATEWAY;
        // The gateway passes standard input on to its program, so its rest is told by an inherited number instead.
        let flags = if keeps_input { MemfdFlags::empty() } else { MemfdFlags::CLOEXEC };
        let mut memory = File::from(rustix::fs::memfd_create("environment", flags)?);
        memory.write_all(MAGIC)?;
        let mut harmless = Vec::new();
        for (name, value) in std::env::vars_os() {
            if kept(&name, &value) {
                harmless.push((name, value));
            } else {
                for word in [name, value] {
                    memory.write_all(word.as_bytes())?;
                    memory.write_all(&[0])?;
                }
            }
        }
        // The next image reads from where this one left off.
        memory.rewind()?;
        // Not the name in `argv[0]`: a search in `PATH` could find another program.
        let mut again = std::process::Command::new(std::env::current_exe()?);
        let mut arguments = std::env::args_os();
        again.arg0(arguments.next().unwrap_or_else(|| "upshift".into())).args(arguments);
        // The kernel keeps the block of the first `execve` readable for as long as the process lives, so only a new image
        // loses it.
        again.env_clear().envs(harmless);
        if keeps_input {
            again.env(MARK, format!("{NUMBER}{}", memory.as_raw_fd()));
            let error = again.exec();
            drop(memory);
            return Err(error);
        }
        Err(again.env(MARK, "1").stdin(memory).exec())
    }

    #[cfg(debug_assertions)]
    fn is_switch(name: &OsString) -> bool {
        name.to_string_lossy().starts_with(SWITCHES)
    }

    #[cfg(not(debug_assertions))]
    const fn is_switch(_name: &OsString) -> bool {
        false
    }

    /// Whether a debug build was told to leave this guard off (see `process::confine`).
    #[cfg(debug_assertions)]
    #[expect(clippy::disallowed_methods, reason = "a switch of debug builds, for the red team alone")]
    fn is_off() -> bool {
        std::env::var("UPSHIFT_GUARD_OFF").is_ok_and(|names| names.split(',').any(|name| name == "hardening"))
    }

    #[cfg(not(debug_assertions))]
    const fn is_off() -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::cli::hardening::command_among;

    #[test]
    fn a_command_is_known_behind_global_flags() {
        let among = |line: &str| command_among(line.split(' ').map(str::to_owned)).unwrap_or_default();
        assert_eq!(among("run --color never"), "run");
        assert_eq!(among("-q --color never -vv resume run"), "resume");
        assert_eq!(among("--color=always demo"), "demo");
        assert_eq!(among("--color run report"), "report");
    }
}
