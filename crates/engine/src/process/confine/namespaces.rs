//! Why no namespaces can be made on a machine, and what follows from it, in words for a person (Linux).
//!
//! The kernel's own words mislead: "No space left on device" is a limit of namespaces that is 0, and has nothing to do with a disk.

use super::Reach;

/// The kernel's settings for namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The limits of namespaces (`user.max_…`) that are 0, by their names.
    none_allowed: Vec<&'static str>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, where there is such a setting.
    apparmor: Option<u32>,
    /// `kernel.unprivileged_userns_clone`, where there is such a setting.
    clone: Option<u32>,
    /// Whether this is root.
    is_root: bool,
}

/// The limits that a room counts towards.
const LIMITS: [&str; 4] =
    ["user.max_user_namespaces", "user.max_mnt_namespaces", "user.max_net_namespaces", "user.max_ipc_namespaces"];
const APPARMOR: &str = "kernel.apparmor_restrict_unprivileged_userns";
const CLONE: &str = "kernel.unprivileged_userns_clone";

impl Facts {
    /// Asks the kernel.
    pub(super) fn read() -> Self {
        let none_allowed = LIMITS.into_iter().filter(|name| setting(name) == Some(0)).collect();
        let is_root = rustix::process::geteuid().is_root();
        Self { none_allowed, apparmor: setting(APPARMOR), clone: setting(CLONE), is_root }
    }

    /// Why no namespaces can be made, and what would allow them. `said` is the message of the attempt.
    pub(super) fn why(&self, said: &str) -> String {
        if !self.none_allowed.is_empty() {
            let names = self.none_allowed.join(", ");
            return format!("the limit {names} is 0 on this machine; a larger one (`sysctl -w`) allows them");
        }
        if !self.is_root && self.apparmor == Some(1) {
            return format!(
                "AppArmor forbids them to ordinary users here ({APPARMOR} is 1, as on Ubuntu 24.04); `sudo sysctl -w {APPARMOR}=0` allows them"
            );
        }
        if !self.is_root && self.clone == Some(0) {
            return format!(
                "the kernel forbids them to ordinary users here ({CLONE} is 0); `sudo sysctl -w {CLONE}=1` allows them"
            );
        }
        // A container's own filter answers with one of these.
        let refused = ["Operation not permitted", "Permission denied"].iter().any(|error| said.contains(error));
        if refused {
            return format!("a container or a security module forbids them here ({})", said.trim());
        }
        format!("the attempt failed ({})", said.trim())
    }
}

fn setting(name: &str) -> Option<u32> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Notes for a person where no room could be made: why, and what follows from it.
pub(super) fn missing(facts: &Facts, said: &str, reach: Reach) -> Vec<String> {
    let network = match reach {
        Reach::All => "they have the network of the machine, as configured",
        Reach::Port(_) => "they reach one TCP port alone",
        Reach::Loopback | Reach::Nothing => "they have no network at all, not even a loopback",
    };
    vec![
        format!("no namespaces can be made here: {}", facts.why(said)),
        format!(
            "without namespaces tests see more of the machine and can do less: {network}; /dev/shm is the machine's, shared with other \
             programs; /tmp is closed to them (TMPDIR is not), and they make no Unix sockets; .git is not read-only, but compared and put \
             back after each run"
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOSPC: &str = "namespaces: No space left on device (os error 28)";

    #[test]
    fn each_reason_is_told_in_our_own_words_with_what_would_allow_them() {
        let table = [
            (
                Facts { none_allowed: vec![LIMITS[0]], apparmor: Some(1), ..Facts::default() },
                ENOSPC,
                "user.max_user_namespaces is 0",
            ),
            (Facts { apparmor: Some(1), ..Facts::default() }, "uid_map: Operation not permitted", "as on Ubuntu 24.04"),
            (Facts { clone: Some(0), ..Facts::default() }, "namespaces: Operation not permitted", "=1` allows them"),
            (
                Facts { apparmor: Some(1), is_root: true, ..Facts::default() },
                "namespaces: Operation not permitted",
                "a container or a security module",
            ),
            (Facts::default(), "it was switched off", "the attempt failed (it was switched off)"),
        ];
        for (facts, said, expected) in table {
            let why = facts.why(said);
            assert!(why.contains(expected), "{why}");
            assert!(!why.contains("No space left"), "{why}");
        }
    }

    #[test]
    fn what_follows_names_the_network_that_there_is() {
        let follows = |reach| missing(&Facts::default(), "", reach).concat();
        assert!(follows(Reach::Nothing).contains("not even a loopback"));
        assert!(follows(Reach::All).contains("as configured"));
        assert!(follows(Reach::All).contains("/dev/shm is the machine's"));
        // The report cuts a warning there.
        assert!(missing(&Facts::default(), "", Reach::All).iter().all(|note| note.len() < 400));
    }
}
