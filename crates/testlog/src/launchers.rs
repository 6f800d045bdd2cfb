//! Tells the lines of what starts programs: shells, interpreters, make.

use super::place;
use crate::needle::Seek as _;

/// Whether a line begins like the word of what starts programs: `sh: 1: `, `/bin/bash: line 3: `, `./run.sh: 4: `,
/// `/usr/bin/env: `, `make: `, `/usr/bin/python3: `.
pub(super) fn is_launcher(line: &str) -> bool {
    const LAUNCHERS: [&str; 16] = [
        "sh", "bash", "dash", "zsh", "ksh", "ash", "env", "make", "gmake", "sudo", "timeout", "nice", "time", "xargs",
        "exec", "nohup",
    ];
    let Some((first, rest)) = line.trim_start().cut(": ") else { return false };
    let program = first.rsplit('/').next().unwrap_or(first);
    // Such as `make[1]: `.
    let program = program.split('[').next().unwrap_or(program);
    if LAUNCHERS.contains(&program) || program.starts_with("python") || program.starts_with("pypy") {
        return true;
    }
    // A script says its name and the number of a line.
    let counted = rest.strip_prefix("line ").unwrap_or(rest);
    !first.contains(' ')
        && place::leading_number::<u32>(counted).is_some()
        && counted.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(": ")
}
