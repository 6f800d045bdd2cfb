//! A control group for one child and its descendants, where one is delegated (Linux, version 2): the kernel's own bound on their memory.
//!
//! [`super::memory`] looks five times a second, while the kernel lets no page through. The bound holds for all of them together, and is
//! what the limit allows one process for each processor: suites run about that many of them. A group is made beside the own one, below the
//! nearest folder that hands its memory controller down and that this user may write. Where there is none, only `memory` watches.
//!
//! Invariant: the own group and those of others are never changed. Source: kernel documentation, Control Group v2 (November 2026).

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::taken::CGROUPS;

/// The beginning of the names of our groups. The process id of their maker and a number follow.
const PREFIX: &str = "upshift-";
/// The controller whose files bound memory.
const CONTROLLER: &str = "memory";

/// A control group with a bound on memory. Dropping it ends what is still in it and removes it.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: PathBuf,
    bound: u64,
}

impl ControlGroup {
    /// Makes a group whose processes may together hold `bound` bytes. `None` where none is delegated.
    pub(super) fn bounding(bound: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::below(Path::new(CGROUPS), &own, bound)
    }

    fn below(root: &Path, own: &str, bound: u64) -> Option<Self> {
        // Version 2 has one line for all controllers, `0::/user.slice/x`. Lines of version 1 begin with other numbers.
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let folder = root.join(path);
        let mut handing_down =
            folder.ancestors().take_while(|folder| folder.starts_with(root)).filter(|folder| hands_down(folder));
        // The nearest that hands memory down may still refuse us to make a folder, so that the ones around it are tried as well.
        handing_down.find_map(|parent| {
            sweep(parent);
            Self::make(parent, bound).ok()
        })
    }

    fn make(parent: &Path, bound: u64) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let group = Self { folder, bound };
        group.write("memory.max", &bound.to_string())?;
        // A child that swaps instead takes the machine down more slowly, and is ended no sooner.
        drop(group.write("memory.swap.max", "0"));
        // A suite that lost one of its processes would hang or fail with words that nobody could place.
        drop(group.write("memory.oom.group", "1"));
        Ok(group)
    }

    /// Takes a process in. Processes that it starts from then on are in too.
    pub(super) fn take(&self, id: i32) -> io::Result<()> {
        self.write("cgroup.procs", &id.to_string())
    }

    /// The bound in bytes, if the kernel ended processes at it.
    pub(super) fn overrun(&self) -> Option<u64> {
        // Asked of the kernel, since a process that ended by SIGKILL looks the same whoever sent it.
        let events = std::fs::read_to_string(self.folder.join("memory.events")).ok()?;
        let ended = events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())?;
        (ended > 0).then_some(self.bound)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        // Never created: in a folder that is no control group there is no such file.
        std::fs::OpenOptions::new()
            .write(true)
            .open(self.folder.join(name))
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        drop(self.write("cgroup.kill", "1"));
        // One that still has processes on their way out stays: the next run sweeps it.
        drop(std::fs::remove_dir(&self.folder));
    }
}

fn hands_down(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("cgroup.subtree_control"))
        .is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == CONTROLLER))
}

/// Removes the groups of processes that are gone: a killed upshift removes none.
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if maker(&entry.file_name()).is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            // Fails where the group still has processes, and that is right: another one's maker may have died while they went on.
            drop(std::fs::remove_dir(entry.path()));
        }
    }
}

/// The process that made a group, by the group's name.
fn maker(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a control group to a reader. The kernel alone would fill a new one.
    fn group(root: &Path, name: &str, handed_down: &str) {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cgroup.subtree_control"), handed_down).unwrap();
    }

    #[test]
    fn a_folder_hands_memory_down_only_if_its_list_says_so() {
        let root = tempfile::tempdir().unwrap();
        for (name, handed_down) in
            [("all", "cpu memory pids\n"), ("none", "\n"), ("like", "hugetlb memory_recursiveprot\n")]
        {
            group(root.path(), name, handed_down);
        }
        let says = |name: &str| hands_down(&root.path().join(name));
        assert_eq!((says("all"), says("none"), says("like"), says("gone")), (true, false, false, false));
    }

    #[test]
    fn without_version_two_or_a_bound_that_can_be_set_there_is_no_group_and_no_folder() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "job", "memory\n");
        group(root.path(), "job/step", "\n");
        assert!(ControlGroup::below(root.path(), "4:memory:/job\n", 1).is_none());
        assert!(ControlGroup::below(root.path(), "0::/job/step\n", 1).is_none(), "a plain folder takes no bound");
        assert_eq!(std::fs::read_dir(root.path().join("job")).unwrap().count(), 2, "the list and the step");
    }

    #[test]
    fn groups_of_the_dead_are_swept_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{}-0", std::process::id());
        // Above the largest process id that Linux gives.
        for name in ["upshift-4194305-0", "upshift-app.scope", "other-4194305-0", &own] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        sweep(root.path());
        let mut left: Vec<_> =
            std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let mut expected = ["other-4194305-0", "upshift-app.scope", own.as_str()];
        expected.sort_unstable();
        assert_eq!(left, expected);
    }
}
