//! The key in memory: an agent and all that it started are read while they live.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;

use serde_json::json;

use super::{Site, steps};
use crate::world::canary;
use crate::world::model_server::Scripted;
use crate::world::project::Project;

/// A process and all below it.
pub(crate) fn family(first: u32) -> Vec<u32> {
    let mut found = vec![first];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        found.extend(
            children.flat_map(|line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()),
        );
        at += 1;
    }
    found
}

/// All that a process can write in its memory, and its environment. `None` where it may not be read, or is gone.
fn memory(pid: u32) -> Option<Vec<u8>> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let maps = std::fs::read_to_string(process.join("maps")).ok()?;
    let mut file = std::fs::File::open(process.join("mem")).ok()?;
    let mut all = std::fs::read(process.join("environ")).ok()?;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (Some(place), Some(rights)) = (words.next(), words.next()) else { continue };
        let Some((from, to)) = place.split_once('-') else { continue };
        let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16)) else { continue };
        if !rights.starts_with("rw") || file.seek(SeekFrom::Start(from)).is_err() {
            continue;
        }
        // A page that was never touched, or is gone, ends what can be read of a part.
        let _read = file.by_ref().take(to - from).read_to_end(&mut all);
    }
    Some(all)
}

fn holds(haystack: &[u8], needle: &str) -> bool {
    memchr::memmem::find(haystack, needle.as_bytes()).is_some()
}

#[test]
fn the_key_is_nowhere_in_the_memory_of_an_agent_or_of_what_it_started() {
    let project = Project::python();
    project.write("never-gives-up", "");
    let (tell, told) = mpsc::channel();
    let looks = json!([{"do": "run", "command": "sleep 600 >/dev/null 2>&1 & echo $! > started; echo $PPID > agent"}]);
    let site = Site::new(project, move |request| match request.turn() {
        0 => steps(&looks),
        _ => {
            tell.send(()).unwrap_or_default();
            Scripted::Hang
        }
    });
    let tiers = ["--tiers", "cli/claude:claude-haiku-4-5 x1"];
    let mut command = site.program.command(site.project.path(), &site.args(&tiers));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    told.recv().expect("a second call");
    let pid = |name: &str| site.project.read(name).trim().parse::<u32>().expect("a pid");
    let (agent, started, upshift) = (pid("agent"), pid("started"), child.id());
    let all = family(upshift);
    assert!(all.contains(&agent) && all.contains(&started), "{all:?} {agent} {started}");
    let mut seen = 0;
    for pid in all.iter().copied().filter(|pid| *pid != upshift) {
        let Some(memory) = memory(pid) else { continue };
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        assert!(!canary::sings_in(&memory), "{pid}: {}", String::from_utf8_lossy(&line));
        seen += usize::from(pid == agent || pid == started);
    }
    assert_eq!(seen, 2, "the agent and its child were read");
    // The search finds what is there: the session's word in the agent, and where we may look, the key in upshift.
    let environment = std::fs::read(format!("/proc/{agent}/environ")).expect("its environment");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let token =
        environment.split('\0').find_map(|line| line.strip_prefix("ANTHROPIC_API_KEY=")).expect("a placeholder");
    let of_agent = memory(agent).expect("its memory");
    assert!(holds(&of_agent, token) && holds(&of_agent[environment.len()..], token));
    if let Some(memory) = memory(upshift) {
        assert!(canary::sings_in(&memory), "upshift has the key");
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
}
