//! How much memory a child and its descendants may take before they are ended (Linux).
//!
//! A limit of the kernel's for one process bounds addresses, which node, Java, Go and every sanitizer reserve by the terabyte without ever
//! using them. A control group (`cgroup`) is delegated to few, and bounds all of them together. So the memory that each process really
//! holds is looked at, as disk and processes are: anonymous and shared memory and the swapped-out part of it. Mapped files are the kernel's
//! cache, and do not count.
//!
//! Invariant: nothing is ended for memory that others took.

use std::path::Path;
use std::sync::LazyLock;

use super::Spec;
use super::family::Family;
use super::taken::{CGROUPS, Taken, kilobytes, told};

/// The bytes of the machine's memory that are kept free: others than the child run there too.
const RESERVE: u64 = 512 << 20;
/// Each so many looks every process is asked, also where the machine as a whole says that nothing has happened.
const THOROUGH: u32 = 5;
const MIB: u64 = 1 << 20;

/// The memory that a child may take.
#[derive(Debug)]
pub(super) struct Memory {
    /// The most that one process may take, in bytes. `None` is no limit.
    limit: Option<u64>,
    limit_mb: u32,
    /// The machine's free memory when it began.
    before: u64,
    looks: u32,
}

/// The kind of memory excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// One process has passed the limit, in MiB.
    Process(u32),
    /// All of them together have left too little of the machine's.
    Machine,
    /// The kernel has ended all of them at this bound for them together, in MiB.
    Together(u32),
}

impl Memory {
    /// Looks at the machine before a child runs.
    pub(super) fn of(spec: &Spec) -> Self {
        let limit = limit_of(spec);
        Self { limit, limit_mb: spec.memory_mb.unwrap_or_default(), before: available().unwrap_or_default(), looks: 0 }
    }

    /// The excess of a child's family, if there is any.
    pub(super) fn excess(&mut self, family: &Family) -> Option<Excess> {
        let limit = self.limit?;
        // Where nobody tells, nobody is ended: the limit is a guard, and a guess would end innocent suites.
        let now = available()?;
        self.looks = self.looks.wrapping_add(1);
        // To ask each process costs milliseconds: it is done where memory went, and from time to time in case others gave some back.
        if self.before.saturating_sub(now) < limit / 2 && !self.looks.is_multiple_of(THOROUGH) {
            return None;
        }
        self.judge(limit, now, family.memory())
    }

    /// Whether so little of the machine's memory is left that nobody can be waited for.
    pub(super) fn leaves_too_little(&self) -> bool {
        // Where nobody tells any more, waiting is the risk.
        available().is_none_or(|now| now < kept_free(self.before))
    }

    fn judge(&self, limit: u64, now: u64, taken: Taken) -> Option<Excess> {
        // One process is judged by its own limit whatever the machine has: the same test is to end the same way on every runner.
        if taken.most > limit {
            return Some(Excess::Process(self.limit_mb));
        }
        // Both: a neighbour may have taken the machine's memory, and many small workers are no fault as long as there is room.
        (now < kept_free(self.before) && taken.all > limit).then_some(Excess::Machine)
    }
}

impl Excess {
    /// All of them passed a bound of so many bytes.
    pub(super) fn together(bound: u64) -> Self {
        Self::Together(u32::try_from(bound / MIB).unwrap_or(u32::MAX))
    }

    /// The note below the child's output.
    pub(super) fn note(self) -> String {
        match self {
            Self::Process(mb) => format!("\n[ended: one of its processes took more than {mb} MB of memory]\n"),
            Self::Together(mb) => format!("\n[ended: its processes together took more than {mb} MB of memory]\n"),
            Self::Machine => "\n[ended: it had taken nearly all of the machine's memory]\n".to_owned(),
        }
    }
}

fn limit_of(spec: &Spec) -> Option<u64> {
    spec.memory_mb.map(|mb| u64::from(mb).saturating_mul(MIB))
}

/// The bytes that are kept free, for so many that were free before.
fn kept_free(before: u64) -> u64 {
    RESERVE.min(before / 4)
}

/// The most that all processes of a child may hold together, in bytes: the limit for each processor, and never what others need.
#[cfg(target_os = "linux")]
pub(super) fn bound_together(spec: &Spec) -> Option<u64> {
    /// The bound of a container is read from several files.
    static PROCESSORS: LazyLock<u64> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64);
    let most = limit_of(spec)?.saturating_mul(*PROCESSORS);
    // On a small machine the limit for each processor is more than there is, and the kernel would end something else first.
    Some(available().map_or(most, |free| most.min(free.saturating_sub(kept_free(free)))))
}

/// The free part of the machine's memory, or of the container's if that is less, in bytes. `None` where nobody says so.
fn available() -> Option<u64> {
    let machine = kilobytes(&told(Path::new("/proc/meminfo")).ok()?, "MemAvailable:")?;
    // We are moved to another one at most before anything is started.
    static OWN: LazyLock<String> = LazyLock::new(|| told(Path::new("/proc/self/cgroup")).unwrap_or_default());
    Some(left_of_cgroups(Path::new(CGROUPS), &OWN).map_or(machine, |left| machine.min(left)))
}

/// The bytes that the limits of a process's own cgroup and of those around it leave (version 2 alone). `None` where there is no limit.
fn left_of_cgroups(root: &Path, own: &str) -> Option<u64> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = root.join(path);
    // Each group around ours has a limit of its own, and the tightest holds.
    folder.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left_of_cgroup).min()
}

fn left_of_cgroup(folder: &Path) -> Option<u64> {
    let read = |name: &str| told(&folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (most, used) = (number("memory.max")?, number("memory.current")?);
    // Cached files are given back before anybody is refused.
    let cached = read("memory.stat")?.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok());
    Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_is_bounded_by_the_limit_and_all_by_the_machine() {
        let memory = Memory { limit: Some(100 * MIB), limit_mb: 100, before: 8 << 30, looks: 0 };
        let judge =
            |now: u64, most: u64, all: u64| memory.judge(100 * MIB, now, Taken { most: most * MIB, all: all * MIB });
        assert_eq!(judge(4 << 30, 100, 4000), None, "many processes may take more together");
        assert_eq!(judge(4 << 30, 101, 101), Some(Excess::Process(100)));
        assert_eq!(judge(511 << 20, 90, 4000), Some(Excess::Machine));
        assert_eq!(judge(511 << 20, 50, 50), None, "others took it");
    }

    #[test]
    fn the_tightest_of_a_containers_limits_counts_and_cached_files_do_not() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let left = |own: &str| left_of_cgroups(root.path(), own);
        assert_eq!((left("0::/job/step\n"), left("4:memory:/job\n")), (None, None));
        for (folder, most, used) in [("job", "1000\n", "700\n"), ("job/step", "max\n", "600\n")] {
            write(&format!("{folder}/memory.max"), most);
            write(&format!("{folder}/memory.current"), used);
            write(&format!("{folder}/memory.stat"), "anon 5\ninactive_file 200\n");
        }
        assert_eq!(left("0::/job/step\n"), Some(500));
        write("job/step/memory.max", "450\n");
        assert_eq!(left("12:pids:/x\n0::/job/step\n"), Some(50));
    }

    #[test]
    fn lines_of_proc_are_read_and_others_are_none() {
        let text = "Name:\tnode\nRssAnon:\t    2048 kB\nRssShmem:\t kB\n";
        assert_eq!(kilobytes(text, "RssAnon:"), Some(2 * MIB));
        assert_eq!((kilobytes(text, "RssShmem:"), kilobytes(text, "VmSwap:")), (None, None));
    }
}
