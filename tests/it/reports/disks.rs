//! Disks that are full: what the run says, and what is told of it from then on.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{PATIENCE, assert_the_log_says, mend, priced};
use crate::world::model_server::{ModelServer, Request, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Fills the disk that the log is on once a file is there, says so by another, and runs a program meanwhile. Then looks at the log, on the
/// full disk and on the free one, and takes the log with it.
const ON_A_SMALL_DISK: &str = r#"
mount -t tmpfs -o size=$SIZE none "$DISK"
(while ! test -e "$FILL"; do sleep 0.02; done; dd if=/dev/zero of="$DISK/fill" bs=4k 2>/dev/null || true; touch "$FULL") &
code=0; "$@" || code=$?
for disk in full free; do
    if [ $disk = free ]; then rm "$DISK/fill"; fi
    for format in json text md; do
        "$1" report --format $format --audit-db "$LOG" > "$OUT/$disk.$format" || true
    done
    "$1" report --verify --audit-db "$LOG" > "$OUT/$disk.verify" || true
done
cp "$LOG"* "$OUT"
exit $code
"#;

/// Whether a disk can be filled here. CI can.
fn may_mount() -> bool {
    Command::new("unshare").args(["-rm", "true"]).output().is_ok_and(|tried| tried.status.success())
}

/// Has the disk filled before the second turn is answered.
fn fills(
    mut answer: impl FnMut(&Request) -> Scripted + Send + 'static,
    fill: PathBuf,
    full: PathBuf,
) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    move |request| {
        if request.turn() == 1 && !full.exists() {
            std::fs::write(&fill, "").expect("written");
            let began = std::time::Instant::now();
            while !full.exists() {
                assert!(began.elapsed() < PATIENCE, "nobody fills the disk");
                std::thread::yield_now();
            }
        }
        answer(request)
    }
}

/// A run whose log's disk is full from the second turn on.
struct Full {
    said: Said,
    report: Value,
    billed: u64,
    folder: tempfile::TempDir,
    project: Project,
}

impl Full {
    /// `state_home` names the folder of upshift's own, given the small disk and a folder on a larger one.
    fn run(
        state_home: impl Fn(&Path, &Path) -> PathBuf,
        size: &str,
        answer: impl FnMut(&Request) -> Scripted + Send + 'static,
        project: Project,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [disk, out, large] = ["disk", "out", "large"].map(|name| folder.path().join(name));
        for made in [&disk, &out, &large] {
            std::fs::create_dir(made).expect("a folder");
        }
        let [fill, full] = ["fill", "full"].map(|name| folder.path().join(name));
        let server = ModelServer::start_with(priced(), fills(answer, fill.clone(), full.clone()));
        let home = state_home(&disk, &large);
        let program =
            Program::with_anthropic(&server.url()).without_court().with("XDG_STATE_HOME", home.to_str().expect("text"));
        let log = disk.join("upshift/audit.db");
        let args = ["run", "--audit-db", log.to_str().expect("text"), "--tiers", "claude-haiku-4-5 x1"];
        let rest = ["--format", "json", "--test-command", project.test_command];
        let run = program.command(project.path(), &[&args[..], &rest].concat());
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-ec", ON_A_SMALL_DISK, "sh"]);
        command.arg(run.get_program()).args(run.get_args()).current_dir(project.path()).env_clear();
        command.env("SIZE", size).envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        for (name, value) in [("DISK", &disk), ("FILL", &fill), ("FULL", &full), ("LOG", &log), ("OUT", &out)] {
            command.env(name, value);
        }
        let said = Said::from(command.output().expect("started"));
        let report = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
        Self { said, report, billed: server.finish().0, folder, project }
    }

    /// What a look at the log said.
    fn later(&self, look: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("out").join(look)).expect(look)
    }

    fn later_report(&self, disk: &str) -> Value {
        let text = self.later(&format!("{disk}.json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{disk}: {error}: {text}"))
    }
}

/// The figures that a report stands for.
fn figures(report: &Value) -> Vec<&Value> {
    let keys =
        ["outcome", "cost_micro_usd", "unknown_cost", "model_calls", "iterations", "fixed_tests", "failing_after"];
    keys.iter().map(|key| &report[key]).collect()
}

#[test]
fn a2_a_full_disk_costs_neither_the_report_nor_what_is_told_later_anything() {
    if !may_mount() {
        return;
    }
    let elsewhere = |_disk: &Path, large: &Path| large.to_owned();
    let on_it_too = |disk: &Path, _large: &Path| disk.to_owned();
    let homes: [fn(&Path, &Path) -> PathBuf; 2] = [elsewhere, on_it_too];
    for (where_else, home) in ["elsewhere", "on it, too"].into_iter().zip(homes) {
        let project = Project::python();
        let ran = Full::run(home, "4m", mend(&project), project);
        let (said, report) = (&ran.said, &ran.report);
        assert_eq!((said.code, &report["outcome"]), (0, &json!("fixed")), "{where_else}: {}", said.all());
        assert_eq!((&report["model_calls"], &report["failing_after"]), (&json!(2), &json!([])), "{report:#}");
        assert_eq!(report["fixed_tests"], report["failing_before"], "{report:#}");
        assert_eq!(report["log_lacks"], json!(0), "{report:#}");
        assert!(ran.billed > 0 && report["cost_micro_usd"] == json!(ran.billed), "{}: {report:#}", ran.billed);
        assert!(ran.project.read(ran.project.source).contains(ran.project.right));

        // That the log could not be written is in the report itself, not on standard error alone.
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("cannot be written") && said.err.contains("cannot be written"), "{}", said.all());
        assert!(!warnings.contains("lost "), "{where_else}: {warnings}");
        for disk in ["full", "free"] {
            let later = ran.later_report(disk);
            assert_eq!(figures(&later), figures(report), "{where_else}, {disk}: {later:#}");
            let verified = ran.later(&format!("{disk}.verify"));
            assert!(verified.starts_with('✔'), "{where_else}, {disk}: {verified}");
        }
        assert!(ran.later("free.md").contains("Every attempt and every model call is in"), "{}", ran.later("free.md"));
        assert_the_log_says(&ran.folder.path().join("out/audit.db"), report);
    }
}

#[test]
fn a2_records_that_no_disk_takes_are_said_to_be_missing_and_the_end_is_kept() {
    if !may_mount() {
        return;
    }
    let project = Project::python();
    let no_refuge = |_disk: &Path, large: &Path| {
        std::fs::create_dir(large.join("upshift")).expect("a folder");
        std::fs::write(large.join("upshift/audit"), "in the way").expect("written");
        large.to_owned()
    };
    // Too small for room to be set aside, but for the end.
    let ran = Full::run(no_refuge, "1m", mend(&project), project);
    assert_eq!(ran.report["cost_micro_usd"], json!(ran.billed), "{:#}", ran.report);
    assert_eq!((ran.said.code, &ran.report["outcome"]), (0, &json!("fixed")), "{}", ran.said.all());
    let warnings = ran.report["warnings"].to_string();
    let lost = warnings.split_once("the audit log has lost ").and_then(|(_, rest)| rest.split_once(" records: "));
    let lost = lost.unwrap_or_else(|| panic!("{warnings}")).0;
    for disk in ["full", "free"] {
        let (later, text, md) =
            (ran.later_report(disk), ran.later(&format!("{disk}.text")), ran.later(&format!("{disk}.md")));
        assert_eq!(later["outcome"], json!("fixed"), "{disk}: {later:#}");
        assert_eq!(later["log_lacks"].to_string(), lost, "{disk}: {later:#}");
        assert!(text.contains(&format!("  ! the audit log lacks {lost} records of this run")), "{disk}: {text}");
        assert!(
            md.contains(&format!("What could be written (no disk could store {lost} records) is in")),
            "{disk}: {md}"
        );
        assert!(!md.contains("Every attempt"), "{disk}: {md}");
        let verified = ran.later(&format!("{disk}.verify"));
        assert!(verified.starts_with('✖'), "{disk}: {verified}");
    }
}

/// Runs a program in whose state folder nothing can be written from the second turn on, goes on with the run there, and once more by `$WAY` when
/// there is room again.
const ON_A_DISK_FOR_STATE: &str = r#"
mount -t tmpfs -o size=16m none "$DISK"
(while ! test -e "$FILL"; do sleep 0.02; done; dd if=/dev/zero of="$DISK/fill" bs=4k 2>/dev/null || true; touch "$FULL") &
code=0; "$@" > "$OUT/first" 2> "$OUT/first.err" || code=$?
echo $code > "$OUT/first.code"
cp "$SOURCE" "$OUT/source"
code=0; "$1" resume --audit-db "$LOG" > "$OUT/early" 2>&1 || code=$?
echo $code > "$OUT/early.code"
rm "$DISK/fill"
if [ "$WAY" = discard ]; then "$@" --discard; else "$1" resume --format json --audit-db "$LOG"; fi
"#;

#[test]
fn a2_trees_that_no_disk_takes_end_the_run_and_lose_nothing() {
    if !may_mount() {
        return;
    }
    for way in ["resume", "discard"] {
        let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
        let [disk, out] = ["disk", "out"].map(|name| folder.path().join(name));
        for made in [&disk, &out] {
            std::fs::create_dir(made).expect("a folder");
        }
        let [fill, full, log] = ["fill", "full", "audit.db"].map(|name| folder.path().join(name));
        let server = ModelServer::start_with(priced(), fills(mend(&project), fill.clone(), full.clone()));
        let program =
            Program::with_anthropic(&server.url()).without_court().with("XDG_STATE_HOME", disk.to_str().expect("text"));
        let path = log.to_str().expect("text");
        let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x1", "--format", "json", "--test-command"];
        let run = program.command(project.path(), &[&args[..], &[project.test_command]].concat());
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-ec", ON_A_DISK_FOR_STATE, "sh"]);
        command.arg(run.get_program()).args(run.get_args()).current_dir(project.path()).env_clear();
        command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("WAY", way).env("SOURCE", project.source);
        for (name, value) in [("DISK", &disk), ("FILL", &fill), ("FULL", &full), ("LOG", &log), ("OUT", &out)] {
            command.env(name, value);
        }
        let said = Said::from(command.output().expect("started"));
        let billed = server.finish().0;
        let kept = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
        let first: Value = serde_json::from_str(&kept("first")).expect("a report");

        // The run stops where its change can be recorded nowhere; it stays in the files, and the report tells all that was paid for.
        assert_eq!((kept("first.code").trim(), kept("early.code").trim()), ("70", "2"), "{}", kept("first.err"));
        for said in [first["warnings"].to_string(), kept("first.err"), kept("early")] {
            let [why, fix] = ["No space left on device", "on the disk of upshift's state folder"];
            assert!(said.contains(why) && said.contains(fix), "{way}: {said}");
        }
        assert!(kept("source").contains(project.right), "{way}: {}", kept("source"));
        assert_eq!((&first["state"], &first["model_calls"]), (&json!("died"), &json!(2)), "{first:#}");

        // With room again it is as if the disk had never been full.
        let last: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
        assert_eq!((said.code, &last["outcome"]), (0, &json!("fixed")), "{way}: {}", said.all());
        assert!(project.read(project.source).contains(project.right), "{way}");
        let both = [&first, &last].map(|report| report["cost_micro_usd"].as_u64().expect("a cost"));
        match way {
            "resume" => assert_eq!((both[0], &last["run_id"]), (both[1], &first["run_id"])),
            _ => assert_ne!(last["run_id"], first["run_id"]),
        }
        assert_eq!(billed, if way == "resume" { both[1] } else { both[0] + both[1] }, "{way}: {last:#}");
    }
}

#[test]
fn a_report_that_cannot_be_written_changes_nothing_of_the_run_and_says_so() {
    let project = Project::python();
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let said = Said::from(program.command(project.path(), &args).stdout(full()).output().expect("it runs"));
    assert_eq!(said.code, 0, "the tests are fixed: {}", said.all());
    for part in
        ["✔ 1 test fixed in ", "⚠ standard output could not be written: No space left", "→ Fix: `upshift report "]
    {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    let again = Said::from(program.command(project.path(), &["report"]).stdout(full()).output().expect("it runs"));
    assert_eq!(again.code, 2, "{}", again.all());
    assert!(again.err.starts_with("standard output could not be written: No space left"), "{}", again.err);
    let fix = said.err.lines().find_map(|line| line.strip_prefix("→ Fix: `upshift ")).expect("a command");
    let words: Vec<&str> = fix.split('`').next().expect("a command").split(' ').collect();
    assert!(program.run(project.path(), &words).out.contains("✔ 1 test fixed in "));
    server.finish();
}

/// Runs a program whose state folder has no room for a large file of the checkout, and looks what is left there.
const ON_A_TINY_DISK: &str = r#"
mount -t tmpfs -o size=1m none "$XDG_STATE_HOME"
code=0; "$@" || code=$?
find "$XDG_STATE_HOME" -name 'new-*' -exec echo left: {} \; >&2
exit $code
"#;

#[test]
fn a_state_folder_without_room_is_named_and_nothing_half_written_stays_there() {
    if !may_mount() {
        return;
    }
    let (project, state) = (Project::python(), tempfile::tempdir().expect("a folder"));
    // Larger than the disk.
    std::fs::write(project.path().join("model.bin"), vec![7; 3_000_000]).expect("written");
    project.commit();
    let folder = state.path().to_str().expect("text");
    let server = ModelServer::start(fills(mend(&project), state.path().join("fill"), state.path().join("full")));
    let program = Program::with_anthropic(&server.url()).without_court().with("XDG_STATE_HOME", folder);
    for (name, words) in [("run", &["run", "--tiers", "claude-haiku-4-5 x1"][..]), ("judge", &["judge"])] {
        let words = [words, &["--test-command", project.test_command]].concat();
        let run = program.command(project.path(), &words);
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-ec", ON_A_TINY_DISK, "sh"]);
        command.arg(run.get_program()).args(run.get_args()).current_dir(project.path()).env_clear();
        command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = Said::from(command.output().expect("started"));
        assert_eq!(said.code, 70, "{name}: {}", said.all());
        for words in ["model.bin: No space left on device", folder, "make room on the disk of", "XDG_STATE_HOME"] {
            assert!(said.all().contains(words), "{name}, {words}: {}", said.all());
        }
        for words in ["left: ", "internal error", "audit log cannot be written"] {
            assert!(!said.all().contains(words), "{name}, {words}: {}", said.all());
        }
    }
    assert!(server.requests().is_empty());
}
