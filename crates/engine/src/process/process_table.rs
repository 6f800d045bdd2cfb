//! The processes of the machine, and who takes the orphans among them (Linux).

use rustix::process::{Pid, set_child_subreaper};

/// Has orphans come to us, or to whoever takes them beside us. Whether the kernel does so.
pub(super) fn take_orphans(wanted: bool) -> bool {
    set_child_subreaper(wanted.then(rustix::process::getpid)).is_ok()
}

/// Every process on the machine but this one.
pub(super) fn processes() -> impl Iterator<Item = Pid> {
    let own = rustix::process::getpid();
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(move |&pid| pid != own)
}
