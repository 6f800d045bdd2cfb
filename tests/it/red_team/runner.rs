//! Steers the job: the runner's command files and temporary folder.

use super::attack;
use super::cell::{Cell, plants};

/// The guards between a child and the runner's folder.
const FILES: &str = "files,room";

macro_rules! command_files {
    ($($name:ident $file:literal)+) => {
        $(#[test]
        fn $name() {
            let file = concat!("runner/_runner_file_commands/", $file);
            plants(FILES, &format!("echo 'X=evil' >> $CELL/{file}"), file);
        })+
    };
}

command_files! {
    later_steps_get_no_variable "set_env"
    later_steps_get_no_program "add_path"
    the_step_gets_no_output "set_output"
    the_summary_gets_no_text "step_summary"
}

#[test]
fn nothing_is_left_in_the_runners_folder() {
    plants(FILES, "echo evil > $CELL/runner/planted", "runner/planted");
}

#[test]
fn the_audit_log_is_not_written() {
    attack(FILES, |off| {
        let cell = Cell::new();
        // Wherever upshift keeps it below the runner's folder.
        cell.run("find $CELL/runner $CELL/home -name audit.db -exec cp {} loot \\; -exec sh -c 'echo evil >> \"$1\"' _ {} \\;", off, &[
            "--audit-db",
            "runs.db",
        ]);
        cell.path("checkout/loot").exists()
    });
}

#[test]
fn the_recorded_states_are_not_written() {
    attack(FILES, |off| {
        let cell = Cell::new();
        let script = "for f in $CELL/runner/upshift/trees/*/contents; do echo evil > $f/planted; done";
        cell.run(script, off, &["--no-audit"]);
        let trees = std::fs::read_dir(cell.path("runner/upshift/trees")).into_iter().flatten().flatten();
        let mut planted = trees.map(|tree| tree.path().join("contents/planted"));
        planted.any(|file| file.exists())
    });
}
