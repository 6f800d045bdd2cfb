//! `test.commands`: which of them runs the tests, and which judge beside it.

use super::file::CheckSection;
use super::pick::{Picked, Picker};
use super::plan::NamedCommand;
use super::sources::Setting;

/// The name of the command that runs the tests.
const TESTS: &str = "tests";
/// The name of the command that a flag or a variable names.
pub const TASK_CHECK: &str = "task";
/// Stands between the name of a check and a test in it.
const OF: &str = ": ";
/// The key in messages.
const KEY: &str = "test.commands";

type Parted = (Option<Picked<String>>, Option<Picked<Vec<NamedCommand>>>);

/// The commands with the one that a flag or a variable names.
pub(super) fn with_task(
    picker: &Picker<'_>,
    commands: Option<Picked<Vec<NamedCommand>>>,
) -> Option<Picked<Vec<NamedCommand>>> {
    let Some(Picked { value: run, origin }) = picker.setting::<String>(Setting::AlsoRun) else { return commands };
    let mut all = commands.map(|picked| picked.value).unwrap_or_default();
    // Two checks of one name would share a line in the verdict, and one could hide the other's failure.
    if all.iter().any(|command| command.name == TASK_CHECK) {
        let message = format!("{KEY} names a command `{TASK_CHECK}`, too");
        picker.fault(&origin, Setting::AlsoRun.flag(), &message, "Call that one by another name.");
    }
    all.push(NamedCommand { name: TASK_CHECK.to_owned(), run });
    Some(Picked { value: all, origin })
}

/// Parts the configured commands: the one that runs the tests, beside `command`, and the others. A name that is given twice, two
/// commands for the tests, and a name that could be a test's are faults.
pub(super) fn parted(
    picker: &Picker<'_>,
    command: Option<Picked<String>>,
    commands: Option<Picked<Vec<CheckSection>>>,
) -> Parted {
    let Some(Picked { value, origin }) = commands else { return (command, None) };
    let (mut own, mut others): (Option<String>, Vec<NamedCommand>) = (None, Vec::new());
    for CheckSection { name, run } in value {
        let (Some(name), Some(run)) = (name, run) else { continue };
        let name = name.0;
        // Failures are called `check: test`, so that a name with that sign in it could not be told from a test.
        if name.contains(OF) {
            picker.fault(
                &origin,
                KEY,
                &format!("the name '{name}' contains a colon"),
                "Use a plain name, such as `lint`.",
            );
        } else if others.iter().any(|other| other.name == name) || (name == TESTS && own.is_some()) {
            picker.fault(&origin, KEY, &format!("two commands are called '{name}'"), "Give each a name of its own.");
        } else if name == TESTS && command.is_some() {
            let message = "it names `tests`, and test.command is given too";
            picker.fault(&origin, KEY, message, "Leave one of them out.");
        } else if name == TESTS {
            own = Some(run);
        } else {
            others.push(NamedCommand { name, run });
        }
    }
    // A flag or a key of its own beats the command in the list, whose `tests` was refused above.
    let command = command.or_else(|| own.map(|value| Picked { value, origin: origin.clone() }));
    (command, Some(Picked { value: others, origin }))
}
