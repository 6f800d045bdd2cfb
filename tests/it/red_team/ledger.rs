//! What was carried out: every attack writes a line once it was repelled and has shown its marker without its guard.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;

/// Names the file; set by `.ci/nightly`.
const VARIABLE: &str = "UPSHIFT_RED_TEAM_LEDGER";
/// What issue 5 asks for.
const ATTACKS: usize = 80;
/// Tests of the red team that are none, by their beginnings: what people are told, what is kept of a change, and the ledger itself.
const NOT_ATTACKS: [&str; 5] = [
    "ledger::",
    "verdict::telling::",
    "verdict::minimiser::",
    "verdict::honest::",
    "verdict::secrets::installed_packages_can_be_read",
];

/// Whether attacks are to prove that they could succeed.
pub(crate) fn is_kept() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Notes an attack, and which evidence refuses it where the listed rule that knows it is off; its name is the test's and, where a test carries out several, its own.
pub(crate) fn note(attack: &str, guards: &str, evidence: &str) {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let test = std::thread::current().name().unwrap_or("?").trim_start_matches("red_team::").to_owned();
    let line = format!("{test}\t{attack}\trepelled\tmarker without {guards}\tevidence: {evidence}\n");
    let mut file = std::fs::File::options().append(true).create(true).open(path).expect("the ledger");
    file.write_all(line.as_bytes()).expect("written");
}

#[test]
#[ignore = "reads the ledger that `.ci/nightly` has all attacks write"]
fn every_attack_was_repelled_and_left_its_marker_without_its_guard_and_there_are_at_least_eighty() {
    let path = std::env::var_os(VARIABLE).expect("run this by `.ci/nightly`, behind the red team");
    let text = std::fs::read_to_string(path).expect("a ledger");
    let attacks: BTreeSet<&str> = text.lines().collect();
    for line in &attacks {
        let fields: Vec<&str> = line.split('\t').collect();
        assert!(
            matches!(fields.as_slice(), [_, _, "repelled", marker, _] if marker.len() > "marker without ".len()),
            "{line}"
        );
    }
    let listed =
        Command::new(std::env::current_exe().expect("a path")).args(["--list", "red_team::"]).output().expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("text");
    let tests = listed.lines().filter_map(|line| line.strip_prefix("red_team::")?.strip_suffix(": test"));
    let unseen: Vec<&str> = tests
        .filter(|test| !NOT_ATTACKS.iter().any(|prefix| test.starts_with(prefix)))
        .filter(|test| !attacks.iter().any(|line| line.split('\t').next() == Some(test)))
        .collect();
    assert!(unseen.is_empty(), "not carried out: {unseen:?}");
    assert!(attacks.len() >= ATTACKS, "{} attacks", attacks.len());
}
