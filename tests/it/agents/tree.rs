//! What agents leave in the tree.

use serde_json::json;

use super::{Site, done, mend, steps};
use crate::world::program::KEY;
use crate::world::project::Project;

#[test]
fn renames_deletes_modes_and_new_files_are_the_change_and_protected_ones_are_put_back() {
    let project = Project::python();
    project.write("shop/old.py", "OLD = 1\n");
    project.write("shop/gone.py", "GONE = 1\n");
    project.write("shop/tool.sh", "#!/bin/sh\n");
    let test = project.read("tests/test_cart.py");
    let edit = mend(&project)[0].clone();
    let everything = json!([
        edit,
        {"do": "rename", "path": "shop/old.py", "to": "shop/renamed.py"},
        {"do": "delete", "path": "shop/gone.py"},
        {"do": "mode", "path": "shop/tool.sh", "mode": 0o755},
        {"do": "write", "path": "shop/new.py", "text": "NEW = 1\n"},
        {"do": "write", "path": "tests/test_cart.py", "text": "# nothing is tested any more\n"},
        {"do": "delete", "path": "tests/__init__.py"},
        {"do": "write", "path": ".github/workflows/ci.yml", "text": "on: push\n"},
    ]);
    let site = Site::new(
        project,
        move |request| if request.turn() == 0 { steps(&everything) } else { done("DONE\nall of it") },
    );
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let there = |name: &str| site.project.path().join(name).exists();
    assert!(there("shop/renamed.py") && !there("shop/old.py") && !there("shop/gone.py") && there("shop/new.py"));
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(site.project.path().join("shop/tool.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(site.project.read("tests/test_cart.py"), test);
    assert!(there("tests/__init__.py") && !there(".github/workflows/ci.yml"));
    let warnings = site.warnings();
    assert!(
        warnings.contains("put back after the artisan's session") && warnings.contains("tests/test_cart.py"),
        "{warnings}"
    );
    site.server.finish();
}

#[test]
fn the_key_is_nowhere_where_an_agent_can_look() {
    let project = Project::python();
    let edit = mend(&project)[0].clone();
    let looks = json!([
        {"do": "environment"},
        {"do": "run", "command": "cat /proc/*/environ /proc/*/cmdline 2>&1 | tr '\\0' '\\n'; grep -rsl KEY $HOME /tmp; env"},
        // Only lines that could hold it: other programs may keep gigabytes below `/tmp`. Backwards: the gateway would take the key itself out of what is told to the model.
        {"do": "run", "command": "(cat /proc/*/environ /proc/*/cmdline; env; grep -rshI -m 40 -E 'sk-ant|_KEY=' $HOME /tmp) 2>/dev/null | tr '\\0' '\\n' | perl -lne 'print scalar reverse'"},
        {"do": "run", "command": "echo > /etc/upshift-was-here; ls /etc/upshift-was-here"},
        {"do": "run", "command": "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 443), 3)'"},
        edit,
    ]);
    let site =
        Site::new(project, move |request| if request.turn() == 0 { steps(&looks) } else { done("DONE\nmended") });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let requests = site.server.requests();
    let told = requests[1].last_user_text();
    // The requests are what the agent saw; the canary in one of them would be found by its sound.
    assert!(told.contains("ANTHROPIC_API_KEY=upshift-"), "{told}");
    let backwards = |word: &str| word.chars().rev().collect::<String>();
    assert!(told.contains(&backwards("ANTHROPIC_API_KEY=upshift-")), "it looked: {told}");
    assert!(!told.contains(&backwards(KEY)), "the key was seen");
    assert!(!crate::world::canary::sings_in(told.as_bytes()), "the key was seen");
    let home = told.lines().find_map(|line| line.strip_prefix("HOME=")).expect("a home");
    assert!(!std::path::Path::new(home).exists(), "{home} is gone when the session is over");
    assert!(told.contains("Network is unreachable") || told.contains("OSError"), "{told}");
    assert!(!std::path::Path::new("/etc/upshift-was-here").exists());
    site.server.finish();
}

#[test]
fn what_git_ignores_and_what_the_tests_make_themselves_is_no_part_of_a_fix() {
    let project = Project::python();
    project.write(".gitignore", "ignored.log\n__pycache__/\n");
    let makes = "import unittest\n\n\nclass Makes(unittest.TestCase):\n    def test_it_makes_a_file(self):\n        with open('made.txt', 'a') as out:\n            out.write('made\\n')\n";
    project.write("tests/test_makes.py", makes);
    let edit = mend(&project)[0].clone();
    let writes = json!([
        edit,
        {"do": "write", "path": "shop/new.py", "text": "NEW = 1\n"},
        {"do": "write", "path": "ignored.log", "text": "noise\n"},
        {"do": "write", "path": "made.txt", "text": "by the agent's own run\n"},
    ]);
    let site =
        Site::new(project, move |request| if request.turn() == 0 { steps(&writes) } else { done("DONE\nmended") });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let patch = said.all();
    assert!(patch.contains("b/shop/new.py") && patch.contains("b/shop/cart.py"), "{patch}");
    assert!(!patch.contains("b/made.txt") && !patch.contains("b/ignored.log"), "{patch}");
    site.server.finish();
}

/// What an agent itself rewrote or left is nobody else's: neither the list of its backlog nor a file that is too large to be looked into.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_list_and_a_large_file_that_an_agent_wrote_are_not_called_somebody_elses() {
    let project = Project::python();
    let list = format!("tasks:\n  - id: cart\n    title: Mend it\n    tests: [\"{}\"]\n", project.failing[0]);
    project.write("tasks.yml", &list);
    project.write(".gitignore", "__pycache__\n");
    let work = json!([
        {"do": "write", "path": "tasks.yml", "text": "tasks: []\n"},
        {"do": "run", "command": "head -c 60000000 /dev/zero > data.bin"},
        super::mend(&project)[0],
    ]);
    let site = Site::new(project, move |request| if request.turn() == 0 { steps(&work) } else { done("DONE\nmended") });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1", "--tasks", "tasks.yml", "--format", "jsonl"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.project.read("tasks.yml"), list);
    let warnings = site.warnings();
    assert!(warnings.contains("tasks.yml") && !warnings.contains("by somebody"), "{warnings}");
    site.server.finish();
}
