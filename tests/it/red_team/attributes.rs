//! Changes modes, times or attributes of files outside of the tree, which no right of Landlock's is about.

use super::attack;
use super::cell::{Cell, succeeds};

/// A time in a script that no file has by itself.
const LONG_AGO: &str = "-d 2001-01-01";

#[test]
fn no_time_changes_of_a_file_that_may_be_read() {
    attack("files", |off| {
        let cell = Cell::new();
        cell.run(&format!("touch {LONG_AGO} $CELL/home/.cargo/bin/tool"), off, &["--no-audit"]);
        let changed = std::fs::metadata(cell.path("home/.cargo/bin/tool")).and_then(|found| found.modified());
        changed.expect("a time").elapsed().is_ok_and(|age| age.as_secs() > 86_400)
    });
}

#[test]
fn no_mode_and_no_time_changes_on_a_volume_inside_a_folder_that_may_be_read() {
    attack("files", |off| {
        let cell = Cell::new();
        cell.write("home/.cargo/registry/cache/file", "");
        let script = format!(
            "file=$CELL/home/.cargo/registry/cache/in/file; test -e $file && touch seen\n\
             touch {LONG_AGO} $file && echo done > loot; chmod 600 $file && echo done > loot"
        );
        cell.run_with_a_volume("home/.cargo/registry/cache", &script, off, &["--no-audit"]);
        assert!(cell.path("checkout/seen").exists(), "the volume was not seen");
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
fn no_time_changes_of_the_machines_devices() {
    succeeds("files", "touch /dev/null && echo done > loot");
}

#[test]
fn no_time_changes_by_what_was_opened_before() {
    succeeds("files", "perl -e 'exit(utime(undef, undef, *STDIN) ? 0 : 1)' && echo done > loot");
}

#[test]
fn where_there_is_no_room_no_extended_attribute_is_set_outside() {
    attack("room,calls", |off| {
        let cell = Cell::new();
        let tool = cell.path("home/.cargo/bin/tool");
        let sets =
            format!("python3 -c 'import os; os.setxattr(\"{}\", \"user.evil\", b\"1\"); print(1)'", tool.display());
        let off = if off.is_empty() { "room" } else { off };
        cell.run(&format!("{sets} && echo done > loot"), off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}
