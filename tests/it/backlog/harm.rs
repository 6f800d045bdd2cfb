//! Harm that comes to a merge or a commit from the machine: programs that git would run, a change that breaks others, a full disk.

use std::process::Command;

use serde_json::json;

use super::merging::{Jobs, mended, merge, neighbours, standings};
use super::{WITH, git, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A project whose settings of git name programs, which lie in the tree.
fn with_programs(attributes: &str) -> Project {
    let project = project();
    project.write(".gitattributes", attributes);
    project.write("clean.sh", "touch \"$(dirname \"$0\")/../ran\"\ncat\n");
    std::fs::create_dir_all(project.path().join("data")).expect("a folder");
    project.write("data/one.bin", "one\n");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=attributes"]);
    let program = format!("touch {}; cat", ran(&project).display());
    for key in ["filter.mark.clean", "filter.mark.smudge", "merge.mark.driver"] {
        git(&project, &["config", key, &program]);
    }
    git(&project, &["config", "filter.mark.required", "true"]);
    project
}

/// The file that the programs leave.
fn ran(project: &Project) -> std::path::PathBuf {
    project.path().join(".git/ran")
}

#[test]
fn a_commit_runs_no_program_that_gits_settings_name() {
    let project = with_programs("*.bin filter=mark\n*.py merge=mark\n");
    // The next who looks has to read it anew.
    project.write("data/one.bin", "one\n");
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 4), "{}", said.all());
    assert!(!ran(&project).exists(), "{}", said.all());
    server.finish();
}

#[test]
fn a_file_that_passes_a_filter_is_not_committed_in_another_form() {
    let project = with_programs("shop/*.py filter=mark\n");
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert!(said.code != 0 && said.all().contains("passes git's filter `mark`"), "{}", said.all());
    assert_eq!(subjects(&project).len(), 1, "{}", said.all());
    assert!(!ran(&project).exists(), "{}", said.all());
    server.finish();
}

/// Five tasks of commands, of which the third breaks what the first made.
fn five() -> Project {
    let project = neighbours();
    project.write("shop/pair.py", "def one(): return 10\ndef two(): return 20\n");
    let mut list =
        "tasks:\n  - {id: aa, title: Make aa, command: 'ls | grep -q ^aa && ! ls | grep -q ^cc'}\n".to_owned();
    for id in ["bb", "cc", "dd", "ee"] {
        list.push_str(&format!("  - {{id: {id}, title: Make {id}, command: 'ls | grep -q ^{id}'}}\n"));
    }
    project.write("tasks.yml", &list);
    git(&project, &["commit", "--quiet", "--all", "--message=five"]);
    project
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn of_five_changes_that_fail_together_the_guilty_one_is_found_and_taken_back() {
    let project = five();
    let server = ModelServer::start(|request| match request.turn() {
        0 => {
            let asked = request.first_user_text();
            let name = asked.split("Make ").nth(1).and_then(|rest| rest.get(..2)).expect("a name").to_owned();
            Say::call("write_file", json!({ "path": format!("{name}-note"), "content": "here\n" })).into()
        }
        _ => Say::call("final_report", json!({ "summary": "done", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    for task in ["aa", "bb", "cc", "dd", "ee"] {
        let said = jobs.run(&program, &project, task, &["--tasks", "tasks.yml", "--task", task]);
        assert_eq!(said.code, 0, "{}", said.all());
    }
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    let wanted = [("aa", "merged"), ("bb", "merged"), ("cc", "requeued"), ("dd", "merged"), ("ee", "merged")];
    let wanted = wanted.map(|(task, standing)| (task.to_owned(), standing.to_owned()));
    assert_eq!((code, standings(&document)), (1, wanted.to_vec()), "{document:#}");
    assert_eq!((&document["sum"], &document["requeued"]), (&json!("mended"), &json!(["cc"])), "{document:#}");
    assert_eq!(subjects(&project).last().map(String::as_str), Some("Revert \"fix: cc Make cc\""), "{document:#}");
    let there = |name: &str| project.path().join(format!("{name}-note")).exists();
    assert_eq!(["aa", "bb", "cc", "dd", "ee"].map(there), [true, true, false, true, true]);
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    server.finish();
}

/// Merges in a clone on a disk that is full, and once more when it is not. `$1` is the disk, `$2` the repository.
#[cfg(target_os = "linux")]
const ON_A_FULL_DISK: &str = r#"
disk=$1 from=$2
shift 2
mount -t tmpfs -o size=24m none "$disk"
git clone -q "$from" "$disk/shop"
cd "$disk/shop"
dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null || true
code=0
"$@" || code=$?
rm "$disk/fill"
echo "FIRST $code $(git rev-list --count HEAD) $(git status --porcelain | wc -l)"
code=0
"$@" || code=$?
echo "SECOND $code $(git rev-list --count HEAD) $(git status --porcelain | wc -l)"
"#;

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_disk_that_is_full_costs_a_merge_nothing_that_was_proven() {
    let may_mount = Command::new("unshare").args(["-rm", "true"]).output();
    // Where no namespace can be made no disk can be filled; CI can.
    if !may_mount.is_ok_and(|tried| tried.status.success()) {
        return;
    }
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = mended(&program, &project);
    let outside = tempfile::tempdir().expect("a folder");
    let disk = outside.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    // The log lies on the disk that is full, and then on another.
    for log in [disk.join("shop/.upshift/audit.db"), outside.path().join("audit.db")] {
        let (log, logs) = (log.display().to_string(), jobs.logs.display().to_string());
        let merge = program.command(project.path(), &[&["merge", &logs, "--audit-db", &log][..], &WITH].concat());
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", ON_A_FULL_DISK, "sh"]).arg(&disk).arg(project.path());
        command.arg(merge.get_program()).args(merge.get_args()).current_dir(project.path()).env_clear();
        command.envs(merge.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = Said::from(command.output().expect("started"));
        let line = |word: &str| said.out.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned);
        let first = line("FIRST ").unwrap_or_else(|| panic!("{}", said.all()));
        assert!(!first.starts_with("0 ") && first.ends_with(" 1 0"), "{log}: {first}: {}", said.all());
        assert!(said.all().to_lowercase().contains("space"), "{log}: {}", said.all());
        assert_eq!(line("SECOND ").as_deref(), Some("0 4 0"), "{log}: {}", said.all());
    }
    server.finish();
}
