//! Gaps of a kernel's confinement, in words for a person.

/// Below this version of Landlock, files outside can be cut to nothing by `truncate`.
const TRUNCATES: u32 = 3;
/// Below this one, children may signal the user's other processes, and reach abstract sockets.
const SCOPES: u32 = 6;

/// From this version on Landlock knows TCP ports.
const PORTS: u32 = 4;

/// Why no agent can be held to one port where no network namespace can be made. `None` where it can.
pub(super) const fn no_port(version: u32) -> Option<&'static str> {
    match version {
        0 => Some("no network namespace can be made here, and the kernel has no Landlock"),
        older if older < PORTS => Some(
            "no network namespace can be made here, and the kernel's Landlock is older than Linux 6.7, which knows TCP ports",
        ),
        _ => None,
    }
}

/// The gaps at a version of Landlock. 0 is none.
pub(super) fn of_landlock(version: u32) -> Vec<String> {
    let mut gaps = Vec::new();
    match version {
        0 => gaps.push(
            "the kernel has no Landlock (Linux 5.13 and newer have it, if it is switched on): children can read and write the files of your user"
                .to_owned(),
        ),
        older if older < TRUNCATES => {
            gaps.push("the kernel's Landlock is older than Linux 6.2: children could empty files outside the tree".to_owned());
        }
        _ => {}
    }
    // Without any Landlock the sentence above says it all.
    if (1..SCOPES).contains(&version) {
        gaps.push(
            "the kernel's Landlock is older than Linux 6.12: children could signal other processes of your user (upshift itself is guarded)"
                .to_owned(),
        );
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_port_is_a_door_from_landlocks_fourth_version_on() {
        let doors: Vec<u32> = (0..=9).filter(|version| no_port(*version).is_none()).collect();
        assert_eq!(doors, [4, 5, 6, 7, 8, 9]);
        assert!(
            no_port(3).is_some_and(|why| why.contains("Linux 6.7"))
                && no_port(0).is_some_and(|why| why.contains("no Landlock"))
        );
    }
}
