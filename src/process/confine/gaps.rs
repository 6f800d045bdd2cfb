//! Gaps of a kernel's confinement, in words for a person.

/// Below this version of Landlock, files outside can be cut to nothing by `truncate`.
const TRUNCATES: u32 = 3;
/// Below this one, children may signal the user's other processes, and reach abstract sockets.
const SCOPES: u32 = 6;

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
    if (1..SCOPES).contains(&version) {
        gaps.push(
            "the kernel's Landlock is older than Linux 6.12: children could signal other processes of your user (upshift itself is guarded)"
                .to_owned(),
        );
    }
    gaps
}
