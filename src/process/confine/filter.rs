//! seccomp: system calls that no test needs and that lead around the other means (Linux on x86-64 and arm64).
//!
//! A list of what is refused, not of what is allowed: test suites use everything. Each refusal answers as a kernel without that
//! feature would, so that libraries take their other way (`clone3` and `io_uring` "not implemented", a socket family "not
//! supported").
//!
//! Invariant: nothing here starts or reads anything; what is refused to a process is refused to all that it starts.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::{Policy, Reach, guards};

/// The numbers of the system calls, from the kernel's tables for each architecture.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const IOCTL: i64 = 16;
    pub(super) const SOCKET: i64 = 41;
    pub(super) const SOCKETPAIR: i64 = 53;
    pub(super) const CLONE: i64 = 56;
    pub(super) const KILL: i64 = 62;
    pub(super) const RT_SIGQUEUEINFO: i64 = 129;
    pub(super) const TKILL: i64 = 200;
    pub(super) const TGKILL: i64 = 234;
    pub(super) const UNSHARE: i64 = 272;
    pub(super) const RT_TGSIGQUEUEINFO: i64 = 297;
    pub(super) const PRLIMIT64: i64 = 302;
    pub(super) const PIDFD_OPEN: i64 = 434;
    pub(super) const CLONE3: i64 = 435;
    /// `ptrace`, `process_vm_readv/writev`, `process_madvise`, `pidfd_getfd`, `kcmp`; `bpf`, `perf_event_open`, `userfaultfd`,
    /// `fanotify_init`; `add_key`, `request_key`, `keyctl`; `mount`, `umount2`, `pivot_root`, `chroot`, `open_tree`, `move_mount`,
    /// `fsopen`, `fsconfig`, `fsmount`, `fspick`, `mount_setattr`, `open_tree_attr`, `setns`; `open_by_handle_at`; `swapon/off`,
    /// `reboot`, `kexec_load`, `kexec_file_load`, `init_module`, `finit_module`, `delete_module`, `iopl`, `ioperm`, `syslog`,
    /// `acct`, `quotactl`, `quotactl_fd`, `settimeofday`, `clock_settime`, `sethostname`, `setdomainname`, `vhangup`.
    pub(super) const REFUSED: [i64; 46] = [
        101, 310, 311, 440, 438, 312, 321, 298, 323, 300, 248, 249, 250, 165, 166, 155, 161, 428, 429, 430, 431, 432,
        433, 442, 467, 308, 304, 167, 168, 169, 246, 320, 175, 313, 176, 172, 173, 103, 163, 179, 443, 164, 227, 170,
        171, 153,
    ];
    /// The same calls by the numbers that only the 32-bit-pointer ABI has: `ptrace`, `kexec_load`, `process_vm_readv/writev`.
    pub(super) const X32_ONLY: [i64; 4] = [521, 528, 539, 540];
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const IOCTL: i64 = 29;
    pub(super) const SOCKET: i64 = 198;
    pub(super) const SOCKETPAIR: i64 = 199;
    pub(super) const CLONE: i64 = 220;
    pub(super) const KILL: i64 = 129;
    pub(super) const RT_SIGQUEUEINFO: i64 = 138;
    pub(super) const TKILL: i64 = 130;
    pub(super) const TGKILL: i64 = 131;
    pub(super) const UNSHARE: i64 = 97;
    pub(super) const RT_TGSIGQUEUEINFO: i64 = 240;
    pub(super) const PRLIMIT64: i64 = 261;
    pub(super) const PIDFD_OPEN: i64 = 434;
    pub(super) const CLONE3: i64 = 435;
    /// In the order of the list for x86-64, without `iopl` and `ioperm`, which arm64 has not.
    pub(super) const REFUSED: [i64; 44] = [
        117, 270, 271, 440, 438, 272, 280, 241, 282, 262, 217, 218, 219, 40, 39, 41, 51, 428, 429, 430, 431, 432, 433,
        442, 467, 268, 265, 224, 225, 142, 104, 294, 105, 273, 106, 116, 89, 60, 443, 170, 112, 161, 162, 58,
    ];
}
/// `io_uring_setup`, `io_uring_enter`, `io_uring_register`: the same on every architecture.
const IO_URING: [i64; 3] = [425, 426, 427];
/// Set in the number of a call that a program makes by x86-64's ABI with 32-bit pointers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// `CLONE_NEW…`: mount, cgroup, UTS, IPC, user, process id, network; `CLONE_NEWTIME` belongs to `unshare` alone, since `clone` has a
/// signal's number in its bit.
const NEW_NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
const NEW_TIME: u64 = 0x80;
/// `TIOCSTI` and `TIOCLINUX`: put words into the mouth of whoever sits at the terminal.
const TERMINAL_INJECTION: [u64; 2] = [0x5412, 0x541C];

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
/// Only its family 0 (routes and addresses, which `getifaddrs` reads); changing them needs rights that no child has.
const AF_NETLINK: u64 = 16;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether Unix sockets may be made: refused where nothing else keeps them from reaching outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnixSockets {
    /// Any.
    Allowed,
    /// Pairs alone, which have no address.
    PairsOnly,
}

/// Lays the filters on this process for good.
///
/// # Errors
/// When the kernel refuses them.
pub(super) fn enforce(policy: &Policy, unix: UnixSockets) -> Result<(), seccompiler::Error> {
    if policy.has(guards::NETWORK) || policy.has(guards::SOCKETS) {
        lay(sockets(policy, unix)?, EAFNOSUPPORT)?;
    }
    // One filter for each answer: the kernel compiles each anew for each child.
    let mut refused = if policy.has(guards::SIGNALS) { signals(policy)? } else { Rules::new() };
    if policy.has(guards::CALLS) {
        refused.extend(calls()?);
        lay(absent(), ENOSYS)?;
    }
    if refused.is_empty() { Ok(()) } else { lay(refused, EPERM) }
}

fn lay(rules: Rules, errno: u32) -> Result<(), seccompiler::Error> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(with_x32(rules), SeccompAction::Allow, SeccompAction::Errno(errno), arch)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)
}

/// Every rule once more for the numbers of the other ABI: a list of refusals must not have two doors.
#[cfg(target_arch = "x86_64")]
fn with_x32(rules: Rules) -> Rules {
    let doubled = rules.iter().map(|(&number, rule)| (number | X32, rule.clone())).collect::<Vec<_>>();
    rules.into_iter().chain(doubled).collect()
}

#[cfg(target_arch = "aarch64")]
fn with_x32(rules: Rules) -> Rules {
    rules
}

fn absent() -> Rules {
    IO_URING.into_iter().chain([number::CLONE3]).map(|number| (number, Vec::new())).collect()
}

fn calls() -> Result<Rules, BackendError> {
    let mut rules: Rules = number::REFUSED.into_iter().map(|number| (number, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(number::X32_ONLY.into_iter().map(|number| (number | X32, Vec::new())));
    let flagged = |flag: u64| all_of(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?]);
    let namespaces = NEW_NAMESPACES.into_iter().map(flagged).collect::<Result<Vec<_>, _>>()?;
    rules.insert(number::CLONE, namespaces.clone());
    rules.insert(number::UNSHARE, namespaces.into_iter().chain([flagged(NEW_TIME)?]).collect());
    let injects = |request: u64| all_of(vec![condition(1, SeccompCmpOp::Eq, request)?]);
    rules.insert(number::IOCTL, TERMINAL_INJECTION.into_iter().map(injects).collect::<Result<_, _>>()?);
    // Limits of other processes: upshift's own could be set so low that it dies.
    rules.insert(number::PRLIMIT64, vec![all_of(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
    Ok(rules)
}

/// Kernels before 6.12 have no scope for signals; there this keeps upshift itself alive.
fn signals(policy: &Policy) -> Result<Rules, BackendError> {
    let Ok(guardian) = u64::try_from(policy.guardian) else { return Ok(Rules::new()) };
    let minus = |value: u64| u64::from(u32::MAX) - value + 1;
    let first = |value: u64| all_of(vec![condition(0, SeccompCmpOp::Eq, value)?]);
    let mut rules = Rules::new();
    rules.insert(number::KILL, vec![first(guardian)?, first(minus(guardian))?, first(minus(1))?]);
    for number in
        [number::TKILL, number::TGKILL, number::RT_SIGQUEUEINFO, number::RT_TGSIGQUEUEINFO, number::PIDFD_OPEN]
    {
        rules.insert(number, vec![first(guardian)?]);
    }
    Ok(rules)
}

fn sockets(policy: &Policy, unix: UnixSockets) -> Result<Rules, BackendError> {
    let not = |family: u64| condition(0, SeccompCmpOp::Ne, family);
    let is = |family: u64| condition(0, SeccompCmpOp::Eq, family);
    let mut families = vec![AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];
    if policy.reach == Reach::Nothing && policy.has(guards::NETWORK) {
        families.retain(|family| ![AF_INET, AF_INET6].contains(family));
    }
    if unix == UnixSockets::PairsOnly && policy.has(guards::SOCKETS) {
        families.retain(|&family| family != AF_UNIX);
    }
    let unknown = families.into_iter().map(not).collect::<Result<Vec<_>, _>>()?;
    let other_netlink = vec![is(AF_NETLINK)?, condition(2, SeccompCmpOp::Ne, 0)?];
    let mut rules = Rules::new();
    rules.insert(number::SOCKET, vec![all_of(unknown)?, all_of(other_netlink)?]);
    rules.insert(number::SOCKETPAIR, vec![all_of(vec![not(AF_UNIX)?])?]);
    Ok(rules)
}

fn all_of(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn no_call_has_a_second_door_by_the_other_abis_number() {
        let rules = with_x32(calls().unwrap().into_iter().chain(absent()).collect());
        for number in IO_URING.into_iter().chain([number::CLONE3, number::UNSHARE]).chain(number::REFUSED) {
            assert!(rules.contains_key(&number) && rules.contains_key(&(number | X32)), "{number}");
        }
    }
}
