//! seccomp: system calls that no test needs and that lead around the other means (Linux on x86-64 and arm64).
//!
//! A list of what is refused, not of what is allowed: test suites use everything. Each refusal answers as a kernel without that
//! feature would, so that libraries take their other way (`clone3` and `io_uring` "not implemented", a socket family "not
//! supported").
//!
//! Invariant: nothing here starts or reads anything. A call that is refused to a process is refused to all that it starts.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::policy::Policy;
use super::{Reach, guards};

/// The numbers of the system calls, from the kernel's tables for each architecture.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const IOCTL: i64 = 16;
    pub(super) const SOCKET: i64 = 41;
    pub(super) const SOCKETPAIR: i64 = 53;
    /// `sendto`, `sendmsg`, `sendmmsg`, each with the place of the flags.
    pub(super) const SENDS: [(i64, u8); 3] = [(44, 3), (46, 2), (307, 3)];
    pub(super) const CLONE: i64 = 56;
    pub(super) const KILL: i64 = 62;
    pub(super) const RT_SIGQUEUEINFO: i64 = 129;
    pub(super) const TKILL: i64 = 200;
    pub(super) const TGKILL: i64 = 234;
    pub(super) const UNSHARE: i64 = 272;
    pub(super) const RT_TGSIGQUEUEINFO: i64 = 297;
    pub(super) const PRLIMIT64: i64 = 302;
    pub(super) const PIDFD_OPEN: i64 = 434;
    pub(super) const CLONE3: u32 = 435;
    /// `setxattr`, `lsetxattr`, `fsetxattr`, `removexattr`, `lremovexattr`, `fremovexattr`.
    pub(super) const ATTRIBUTES: [u32; 6] = [188, 189, 190, 197, 198, 199];
    /// `chmod`, `fchmod`, `fchmodat`, `fchmodat2`, `mknod`, `mknodat`, `creat`, each with the place of the mode.
    pub(super) const MODES: [(i64, u8); 7] = [(90, 1), (91, 1), (268, 2), (452, 2), (133, 1), (259, 2), (85, 1)];
    /// `open`, `openat`, each with the place of the flags, before that of the mode.
    pub(super) const OPENS: [(i64, u8); 2] = [(2, 1), (257, 2)];
    /// `ptrace`, `process_vm_readv/writev`, `process_madvise`, `pidfd_getfd`, `kcmp`, `bpf`, `perf_event_open`, `userfaultfd`,
    /// `fanotify_init`, `add_key`, `request_key`, `keyctl`, `mount`, `umount2`, `pivot_root`, `chroot`, `open_tree`, `move_mount`,
    /// `fsopen`, `fsconfig`, `fsmount`, `fspick`, `mount_setattr`, `open_tree_attr`, `setns`, `open_by_handle_at`, `swapon/off`, `reboot`,
    /// `kexec_load`, `kexec_file_load`, `init_module`, `finit_module`, `delete_module`, `iopl`, `ioperm`, `syslog`, `acct`, `quotactl`,
    /// `quotactl_fd`, `settimeofday`, `clock_settime`, `sethostname`, `setdomainname`, `vhangup`.
    pub(super) const REFUSED: [u32; 46] = [
        101, 310, 311, 440, 438, 312, 321, 298, 323, 300, 248, 249, 250, 165, 166, 155, 161, 428, 429, 430, 431, 432,
        433, 442, 467, 308, 304, 167, 168, 169, 246, 320, 175, 313, 176, 172, 173, 103, 163, 179, 443, 164, 227, 170,
        171, 153,
    ];
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const IOCTL: i64 = 29;
    pub(super) const SOCKET: i64 = 198;
    pub(super) const SOCKETPAIR: i64 = 199;
    /// In the order of the list for x86-64.
    pub(super) const SENDS: [(i64, u8); 3] = [(206, 3), (211, 2), (269, 3)];
    pub(super) const CLONE: i64 = 220;
    pub(super) const KILL: i64 = 129;
    pub(super) const RT_SIGQUEUEINFO: i64 = 138;
    pub(super) const TKILL: i64 = 130;
    pub(super) const TGKILL: i64 = 131;
    pub(super) const UNSHARE: i64 = 97;
    pub(super) const RT_TGSIGQUEUEINFO: i64 = 240;
    pub(super) const PRLIMIT64: i64 = 261;
    pub(super) const PIDFD_OPEN: i64 = 434;
    pub(super) const CLONE3: u32 = 435;
    /// In the order of the list for x86-64.
    pub(super) const ATTRIBUTES: [u32; 6] = [5, 6, 7, 14, 15, 16];
    /// In the order of the lists for x86-64, without what arm64 has not.
    pub(super) const MODES: [(i64, u8); 4] = [(52, 1), (53, 2), (452, 2), (33, 2)];
    pub(super) const OPENS: [(i64, u8); 1] = [(56, 2)];
    /// In the order of the list for x86-64, without `iopl` and `ioperm`, which arm64 has not.
    pub(super) const REFUSED: [u32; 44] = [
        117, 270, 271, 440, 438, 272, 280, 241, 282, 262, 217, 218, 219, 40, 39, 41, 51, 428, 429, 430, 431, 432, 433,
        442, 467, 268, 265, 224, 225, 142, 104, 294, 105, 273, 106, 116, 89, 60, 443, 170, 112, 161, 162, 58,
    ];
}
/// `io_uring_setup`, `io_uring_enter`, `io_uring_register`: the same on every architecture.
const IO_URING: [u32; 3] = [425, 426, 427];
/// `setxattrat`, `removexattrat`, `file_setattr`: the same on every architecture.
const NEW_ATTRIBUTES: [u32; 3] = [463, 466, 469];
/// `openat2`, whose mode stands where no filter can look: libraries take `openat` where it is not there.
const OPENAT2: u32 = 437;
/// The mode's bit by which a program runs as its owner, whoever starts it.
const SET_USER_ID: u64 = 0o4000;
/// `O_CREAT` and `O_TMPFILE`: without them no mode is read, and anything may stand there.
const CREATES: [u64; 2] = [0o100, 0o20_000_000];
/// From here on lie the numbers of x86-64's ABI with 32-bit pointers, a second door to every call. Few kernels have it, and no other
/// architecture comes near.
const X32: u32 = 0x4000_0000;

/// `CLONE_NEW…`: mount, cgroup, UTS, IPC, user, process id, network. `CLONE_NEWTIME` belongs to `unshare` alone, since `clone` has a
/// signal's number in its bit.
const NEW_NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
const NEW_TIME: u64 = 0x80;
/// `TIOCSTI` and `TIOCLINUX`: put words into the mouth of whoever sits at the terminal.
const TERMINAL_INJECTION: [u64; 2] = [0x5412, 0x541C];

/// `FS_IOC_SETFLAGS`, `FS_IOC32_SETFLAGS`, `FS_IOC_FSSETXATTR`: a file's attributes by another door.
const ATTRIBUTE_REQUESTS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401C_5820];

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
/// Only its family 0 (routes and addresses, which `getifaddrs` reads). Changing them needs rights that no child has.
const AF_NETLINK: u64 = 16;

/// The bits of a socket's type that hold the type. The rest are flags.
const TYPE: u64 = 0xF;
/// Types of sockets beside streams, which Landlock's rules for TCP do not govern: datagrams and raw ones among them.
const NO_STREAMS: [u64; 6] = [2, 3, 4, 5, 6, 10];
/// The protocols of a stream that Landlock's rules govern: the usual one, and TCP. Others are MPTCP and SCTP.
const TCP: [u64; 2] = [0, 6];
/// `MSG_FASTOPEN`: connects by sending, which older kernels' Landlock does not see.
const FAST_OPEN: u64 = 0x2000_0000;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const EOPNOTSUPP: u32 = 95;
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

/// Whether extended attributes may be set: refused, as by a file system that has none, where no read-only mount protects those of files
/// outside, since no other means governs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attributes {
    Allowed,
    Refused,
}

/// Lays the filters on this process for good.
///
/// # Errors
/// When the kernel refuses them.
pub(super) fn enforce(policy: &Policy, unix: UnixSockets) -> Result<(), seccompiler::Error> {
    if policy.has(guards::NETWORK) || policy.has(guards::SOCKETS) {
        // A filter of its own, since each has one error for all of its rules: an odd family is to look unsupported, not forbidden.
        seccompiler::apply_filter(&by_arguments(sockets(policy, unix)?, EAFNOSUPPORT)?)?;
    }
    let mut conditional = if policy.has(guards::SIGNALS) { signals(policy)? } else { Rules::new() };
    let mut program = Vec::new();
    if policy.has(guards::CALLS) {
        let attributes = if policy.room.is_some() { Attributes::Allowed } else { Attributes::Refused };
        conditional.extend(calls(attributes)?);
        program = by_number(attributes);
    }
    if matches!(policy.reach, Reach::Port(_)) && policy.has(guards::NETWORK) {
        conditional.extend(sends()?);
    }
    if conditional.is_empty() {
        return Ok(());
    }
    program.extend(by_arguments(conditional, EPERM)?);
    seccompiler::apply_filter(&program)
}

/// The filter by the call's arguments. It ends with leave for all else.
fn by_arguments(rules: Rules, errno: u32) -> Result<BpfProgram, seccompiler::Error> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)?;
    Ok(filter.try_into()?)
}

/// The filter by the call's number alone. It goes on after its end for all else. The kernel compiles a program anew for each child and runs
/// it once for each number that there is, so it is one comparison a call, which the library's own rules are not.
fn by_number(attributes: Attributes) -> BpfProgram {
    let refused = attributes == Attributes::Refused;
    let unsupported = number::ATTRIBUTES.into_iter().chain(NEW_ATTRIBUTES).filter(|_| refused);
    let absent = IO_URING.into_iter().chain([number::CLONE3, OPENAT2]);
    let tests: Vec<(u16, u32, u32)> = [(bpf::JUMP_IF_FROM, X32, ENOSYS)]
        .into_iter()
        .chain(absent.map(|number| (bpf::JUMP_IF, number, ENOSYS)))
        .chain(unsupported.map(|number| (bpf::JUMP_IF, number, EOPNOTSUPP)))
        .chain(number::REFUSED.into_iter().map(|number| (bpf::JUMP_IF, number, EPERM)))
        .collect();
    // The architecture is looked at by the library's part, which follows. Nothing is allowed before it.
    let mut program = vec![bpf::instruction(bpf::LOAD, bpf::NUMBER)];
    for (code, number, errno) in &tests {
        // To the answer next to it, or over that to the next test.
        program.push(sock_filter { jf: 1, ..bpf::instruction(*code, *number) });
        program.push(bpf::instruction(bpf::ANSWER, bpf::ERRNO | errno));
    }
    program
}

/// The kernel's own machine, `linux/filter.h` and `linux/seccomp.h`.
mod bpf {
    use seccompiler::sock_filter;

    /// A word of what is asked about, into the accumulator.
    pub(super) const LOAD: u16 = 0x20;
    /// Where the accumulator is this value.
    pub(super) const JUMP_IF: u16 = 0x15;
    /// Where it is this value or more.
    pub(super) const JUMP_IF_FROM: u16 = 0x35;
    pub(super) const ANSWER: u16 = 0x06;
    /// Where the call's number stands.
    pub(super) const NUMBER: u32 = 0;
    /// The answer that is an error, with its number in the lower half.
    pub(super) const ERRNO: u32 = 0x0005_0000;

    pub(super) const fn instruction(code: u16, k: u32) -> sock_filter {
        sock_filter { code, jt: 0, jf: 0, k }
    }
}

fn calls(attributes: Attributes) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let flagged = |flag: u64| all_of(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?]);
    let namespaces = NEW_NAMESPACES.into_iter().map(flagged).collect::<Result<Vec<_>, _>>()?;
    rules.insert(number::CLONE, namespaces.clone());
    rules.insert(number::UNSHARE, namespaces.into_iter().chain([flagged(NEW_TIME)?]).collect());
    let asks = |request: u64| all_of(vec![condition(1, SeccompCmpOp::Eq, request)?]);
    let refused = attributes == Attributes::Refused;
    let requests = TERMINAL_INJECTION.into_iter().chain(ATTRIBUTE_REQUESTS.into_iter().filter(|_| refused));
    rules.insert(number::IOCTL, requests.map(asks).collect::<Result<_, _>>()?);
    // Limits of other processes: upshift's own could be set so low that it dies.
    rules.insert(number::PRLIMIT64, vec![all_of(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
    // A program that ran as upshift's user for whoever starts it would outlive all that is laid on children.
    let has = |argument: u8, flag: u64| condition(argument, SeccompCmpOp::MaskedEq(flag), flag);
    for (number, mode) in number::MODES {
        rules.insert(number, vec![all_of(vec![has(mode, SET_USER_ID)?])?]);
    }
    for (number, flags) in number::OPENS {
        let creates = |flag: u64| all_of(vec![has(flags, flag)?, has(flags + 1, SET_USER_ID)?]);
        rules.insert(number, CREATES.into_iter().map(creates).collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// Kernels before 6.12 have no scope for signals. There these rules keep upshift itself alive.
fn signals(policy: &Policy) -> Result<Rules, BackendError> {
    let Ok(guardian) = u64::try_from(policy.guardian) else { return Ok(Rules::new()) };
    // `kill` takes a negative number for a whole group, and -1 for everybody.
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
    // All others are refused, as each is more of the kernel to attack.
    let unknown = families.into_iter().map(not).collect::<Result<Vec<_>, _>>()?;
    // Protocol 0 is that of routes, which programs ask for their own addresses.
    let other_netlink = vec![is(AF_NETLINK)?, condition(2, SeccompCmpOp::Ne, 0)?];
    let mut rules = Rules::new();
    let mut refused = vec![all_of(unknown)?, all_of(other_netlink)?];
    // Ports are guarded for TCP alone, so nothing else may be opened.
    if matches!(policy.reach, Reach::Port(_)) && policy.has(guards::NETWORK) {
        for family in [AF_INET, AF_INET6] {
            for kind in NO_STREAMS {
                refused.push(all_of(vec![is(family)?, condition(1, SeccompCmpOp::MaskedEq(TYPE), kind)?])?);
            }
            let other = TCP.into_iter().map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
            refused.push(all_of(std::iter::once(is(family)).chain(other).collect::<Result<_, _>>()?)?);
        }
    }
    rules.insert(number::SOCKET, refused);
    // A pair leads to nobody outside.
    rules.insert(number::SOCKETPAIR, vec![all_of(vec![not(AF_UNIX)?])?]);
    Ok(rules)
}

/// Sends that connect.
fn sends() -> Result<Rules, BackendError> {
    let opens = |flags: u8| all_of(vec![condition(flags, SeccompCmpOp::MaskedEq(FAST_OPEN), FAST_OPEN)?]);
    number::SENDS.into_iter().map(|(number, flags)| Ok((number, vec![opens(flags)?]))).collect()
}

fn all_of(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    // The kernel reads these arguments as 32 bits. Compared as 64, junk in the upper half would slip by a rule.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of the kernel's machine to a call's number: an error, or `None` where it goes on.
    fn answer(number: u32, attributes: Attributes) -> Option<u32> {
        let program = by_number(attributes);
        let mut at = 0;
        while let Some(instruction) = program.get(at) {
            let jumps = match instruction.code {
                bpf::LOAD => 0,
                bpf::ANSWER => return Some(instruction.k & 0xFFFF),
                bpf::JUMP_IF if number == instruction.k => instruction.jt,
                bpf::JUMP_IF_FROM if number >= instruction.k => instruction.jt,
                bpf::JUMP_IF | bpf::JUMP_IF_FROM => instruction.jf,
                other => panic!("{other:#x}"),
            };
            at += 1 + usize::from(jumps);
        }
        assert_eq!(at, program.len(), "jumps out of the program");
        None
    }

    #[test]
    fn every_number_has_the_answer_of_its_list_and_all_others_go_on() {
        for number in 0..1_000 {
            let expected = if number == number::CLONE3 || number == OPENAT2 || IO_URING.contains(&number) {
                Some(ENOSYS)
            } else {
                number::REFUSED.contains(&number).then_some(EPERM)
            };
            assert_eq!(answer(number, Attributes::Allowed), expected, "{number}");
            let attribute = number::ATTRIBUTES.contains(&number) || NEW_ATTRIBUTES.contains(&number);
            let expected = if attribute { Some(EOPNOTSUPP) } else { expected };
            assert_eq!(answer(number, Attributes::Refused), expected, "{number}");
        }
    }

    #[test]
    fn no_call_has_a_second_door_by_the_other_abis_number() {
        for number in [0, 59, 521, number::CLONE3].into_iter().chain(number::REFUSED) {
            assert_eq!(answer(number | X32, Attributes::Allowed), Some(ENOSYS), "{number}");
        }
    }
}
