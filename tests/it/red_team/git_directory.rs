//! Plants something in `.git` that runs when the user, or a later step, calls git: with mounts, and where none can be made.

use std::process::Command;

use super::attack;
use super::cell::Cell;

/// Carries an attack out in both ways in which the git directory is kept; the marker is a changed git directory.
#[track_caller]
fn changes_git(script: &str) {
    for less in ["", "room,"] {
        attack("git,room", |off| {
            let cell = Cell::new();
            let before = state(&cell);
            cell.run(script, &format!("{less}{off}"), &["--no-audit"]);
            state(&cell) != before
        });
    }
}

/// Everything that git's own commands read from the git directory, as text.
fn state(cell: &Cell) -> String {
    let listed = Command::new("sh")
        .args(["-c", "find .git -path .git/objects -prune -o -printf '%p %y %l\\n' | sort; cat .git/config .git/HEAD; cat .git/hooks/*"])
        .current_dir(cell.path("checkout"))
        .output()
        .expect("sh");
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

#[test]
fn no_hook_is_planted() {
    changes_git("printf '#!/bin/sh\\necho evil' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout");
}

#[test]
fn no_monitor_is_configured() {
    changes_git("printf '[core]\\n\\tfsmonitor = ./evil\\n' >> .git/config");
}

#[test]
fn no_monitor_is_configured_by_git_itself() {
    changes_git("git config core.fsmonitor ./evil");
}

#[test]
fn no_configuration_is_included() {
    changes_git("printf '[include]\\n\\tpath = ../evil\\n' >> .git/config");
}

#[test]
fn the_head_is_not_moved() {
    changes_git("echo 'ref: refs/heads/evil' > .git/HEAD");
}

#[test]
fn no_filter_is_planted_in_its_attributes() {
    changes_git("mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes");
}

#[test]
fn the_git_directory_is_not_exchanged() {
    changes_git("mv .git old && git init --quiet . && git config core.fsmonitor ./evil");
}

#[test]
fn the_git_directory_does_not_become_a_link() {
    changes_git("mv .git evil && ln -s evil .git && git config core.hooksPath ../hooks");
}

#[test]
fn the_git_directory_does_not_become_a_file_that_leads_elsewhere() {
    changes_git("mv .git evil && echo 'gitdir: evil' > .git");
}

#[test]
fn a_branch_and_a_submodule_that_are_called_logs_are_kept_too() {
    changes_git("mkdir -p .git/refs/heads/logs; echo evil > .git/refs/heads/logs/keep");
    changes_git("mkdir -p .git/modules/logs/hooks; echo evil > .git/modules/logs/hooks/post-checkout");
}

#[test]
fn a_tree_without_git_gets_none() {
    attack("git", |off| {
        let cell = Cell::new();
        std::fs::remove_dir_all(cell.path("checkout/.git")).expect("removed");
        cell.run("git init --quiet . && git config core.fsmonitor ./evil", off, &["--no-audit"]);
        cell.path("checkout/.git").exists()
    });
}

#[test]
fn its_objects_are_not_removed() {
    for less in ["", "room,"] {
        attack("git,room", |off| {
            let cell = Cell::new();
            let object = "checkout/.git/objects/aa/0123456789";
            cell.write(object, "content");
            cell.run("chmod -R u+w .git/objects; rm -rf .git/objects/*", &format!("{less}{off}"), &["--no-audit"]);
            cell.read(object) != "content"
        });
    }
}

#[test]
fn what_a_killed_run_left_is_mended_by_the_next_start() {
    // The attack plants its hook and kills upshift before it can put anything back.
    attack("recovery", |off| {
        let cell = Cell::new();
        let before = state(&cell);
        let script = "echo evil > .git/hooks/post-checkout; kill -KILL $PPID";
        let ended = cell.run(script, "room,signals,domain", &["--no-audit"]);
        assert!(!ended.status.success());
        assert_ne!(state(&cell), before, "the hook was planted");
        // The next start has a room of its own.
        cell.run("true", off, &["--no-audit"]);
        state(&cell) != before
    });
}
