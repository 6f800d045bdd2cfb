//! Gets out of the tree or out of the confinement: files, links, rights, namespaces, system calls.

use super::attack;
use super::cell::{Cell, plants, succeeds, with_capabilities};

/// The guards between a child and the user's files.
const FILES: &str = "files,room";

#[test]
fn no_file_is_made_outside_the_tree() {
    plants(FILES, "echo evil > $CELL/outside/planted", "outside/planted");
}

#[test]
fn no_file_outside_the_tree_is_changed() {
    plants(FILES, "echo evil >> $CELL/outside/file", "outside/file");
}

#[test]
fn no_file_outside_is_changed_through_a_link() {
    plants(FILES, "ln -s $CELL/outside/file link; echo evil >> link", "outside/file");
}

#[test]
fn no_file_outside_is_changed_through_a_linked_folder() {
    plants(FILES, "ln -s $CELL/outside folder; echo evil > folder/planted", "outside/planted");
}

#[test]
fn no_file_outside_is_changed_by_a_path_that_climbs() {
    plants(FILES, "echo evil > ../outside/planted", "outside/planted");
}

#[test]
fn no_file_outside_is_emptied() {
    attack(FILES, |off| {
        let cell = Cell::new();
        cell.run("perl -e 'truncate(shift, 0)' $CELL/outside/file", off, &["--no-audit"]);
        cell.read("outside/file").is_empty()
    });
}

#[test]
fn no_file_outside_is_removed_or_moved() {
    attack(FILES, |off| {
        let cell = Cell::new();
        cell.run("mv $CELL/outside/file loot || rm $CELL/outside/file", off, &["--no-audit"]);
        !cell.path("outside/file").exists()
    });
}

#[test]
fn the_mode_of_a_file_outside_is_not_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    // Landlock knows no such right: the mount namespace alone keeps it.
    attack("room", |off| {
        let cell = Cell::new();
        cell.run("chmod 777 $CELL/outside/file", off, &["--no-audit"]);
        std::fs::metadata(cell.path("outside/file")).expect("there").permissions().mode() & 0o777 == 0o777
    });
}

#[test]
fn the_mode_of_a_users_tool_is_not_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    // Landlock knows no such right: what is shown for reading is mounted so.
    attack(FILES, |off| {
        let cell = Cell::new();
        cell.run("chmod 2777 $CELL/home/.cargo/bin/tool $HOME/.cargo/bin/tool", off, &["--no-audit"]);
        let tool = std::fs::metadata(cell.path("home/.cargo/bin/tool")).expect("there");
        tool.permissions().mode() & 0o2777 == 0o2777
    });
}

#[test]
fn no_start_file_of_a_shell_is_planted_in_the_home() {
    plants(FILES, "echo evil >> $CELL/home/.bashrc", "home/.bashrc");
}

#[test]
fn a_users_tool_is_not_replaced() {
    plants(FILES, "echo evil > $CELL/home/.cargo/bin/tool", "home/.cargo/bin/tool");
}

#[test]
fn the_temporary_folder_of_everybody_is_not_written() {
    attack(FILES, |off| {
        let cell = Cell::new();
        let name = format!("/tmp/red-team-marker-{}-{}", std::process::id(), off.len());
        cell.run(&format!("echo evil > {name}"), off, &["--no-audit"]);
        std::fs::remove_file(&name).is_ok()
    });
}

#[test]
fn no_new_privileges_are_gained() {
    succeeds(
        "rights,calls,domain,network,sockets,signals",
        "grep -q 'NoNewPrivs:.0' /proc/self/status && echo done > loot",
    );
}

/// A file of the checkout runs as its owner, whoever starts it.
#[track_caller]
fn leaves_a_program_that_runs_as_its_owner(script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    attack("calls", |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit"]);
        std::fs::metadata(cell.path("checkout/program")).is_ok_and(|found| found.permissions().mode() & 0o4000 != 0)
    });
}

#[test]
fn no_program_is_left_that_runs_as_its_owner() {
    leaves_a_program_that_runs_as_its_owner("cp /bin/sh program; chmod 4755 program");
}

#[test]
fn no_program_is_made_that_runs_as_its_owner() {
    leaves_a_program_that_runs_as_its_owner(
        "perl -e 'use Fcntl; sysopen(my $file, shift, O_CREAT | O_WRONLY, 04755)' program",
    );
}

#[test]
fn no_program_runs_as_its_owner_by_a_call_that_no_filter_can_read() {
    // `openat2` with `struct open_how`: flags, mode, resolve.
    leaves_a_program_that_runs_as_its_owner(
        "perl -e '($name, $how) = (qq(program), pack(qq(QQQ), 0101, 04755, 0)); syscall(437, -100, $name, $how, 24)'",
    );
}

#[test]
fn no_user_namespace_is_made() {
    succeeds("calls", "unshare --user true && echo done > loot");
}

#[test]
fn no_mount_is_made() {
    succeeds(
        &with_capabilities("calls,domain"),
        "mkdir m; unshare --user --map-root-user --mount mount -t tmpfs none m && echo done > loot",
    );
}

/// A system call by its number on each architecture; it succeeds if it returns no error.
fn call(x86_64: &str, aarch64: &str) -> String {
    let number_and_arguments = if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 };
    format!(
        "perl -e '$p = 0 + shift; ($u, $d, $m) = (qq(user), qq(red-team), qq(x)); $b = qq(\\0) x 256; $l = pack(qq(QQ), 1 << 40, 1 << 40); exit(syscall({number_and_arguments}) >= 0 ? 0 : 1)' $PPID && echo done > loot"
    )
}

#[test]
fn io_uring_is_not_set_up() {
    let buffer = "425, 4, $b";
    succeeds("calls", &call(buffer, buffer));
}

#[test]
fn upshift_is_not_traced() {
    // PTRACE_SEIZE does not stop it.
    succeeds(
        &with_capabilities("calls,domain,hardening,room"),
        &call("101, 0x4206, $p, 0, 0", "117, 0x4206, $p, 0, 0"),
    );
}

#[test]
fn no_key_is_put_into_a_keyring() {
    let arguments = "$u, $d, $m, 1, -3";
    succeeds("calls", &call(&format!("248, {arguments}"), &format!("217, {arguments}")));
}

#[test]
fn no_process_descriptor_of_upshift_is_had() {
    succeeds("signals", &call("434, $p, 0", "434, $p, 0"));
}

#[test]
fn the_limits_of_upshift_are_not_changed() {
    // Its own file-size limit, lowered to nothing, would end its audit log; here it is set to what does no harm.
    let arguments = "$p, 1, $l, 0";
    succeeds("calls,hardening", &call(&format!("302, {arguments}"), &format!("261, {arguments}")));
}

#[test]
fn no_unbearably_large_file_is_written() {
    attack("size", |off| {
        let cell = Cell::new();
        // Sparse: it takes no room. Ignored: upshift does not record it.
        cell.write("checkout/.gitignore", "large\n");
        cell.run("truncate -s 17G large", off, &["--no-audit"]);
        std::fs::metadata(cell.path("checkout/large")).is_ok_and(|found| found.len() > 16 << 30)
    });
}
