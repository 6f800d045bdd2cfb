//! A finding in words: for a terminal, for a page, for programs.
//!
//! Invariant: names of tests and files and the tests' output are foreign text. They are escaped, clipped and put in code spans.

use super::markdown::code;
use super::plain;
use super::words::{count, evidence, proof_sign, remark_sentence};
use super::{markdown as page, text as terminal};
use crate::domain::finding::{DEFAULT_CONFIG_PATH, Finding, Standing, Weakened};
use crate::domain::proof::is_witnessed;

/// How many names of one kind are shown.
const MOST_NAMES: usize = 20;
/// How many characters of a name, and of a reason.
const NAME_CHARS: usize = 200;
const REASON_CHARS: usize = 600;
/// How many remarks are shown.
const MOST_REMARKS: usize = 8;

/// A list of a finding: its heading, and what stands in it.
struct List {
    /// The sign before it: most lists are for a reviewer to look at.
    sign: &'static str,
    heading: String,
    entries: Vec<String>,
}

/// The conclusion, without what is not our text. Who reads no further should know of places to look at.
fn conclusion(found: &Finding) -> String {
    let proven = if is_witnessed(&found.proof) {
        "the tests fail without the change, pass with it, and can still fail"
    } else {
        "the tests fail without the change and pass with it; that they can still fail was not shown"
    };
    const NOTHING: &str = "no test has another result at the head than at the base";
    let places = count(found.places_to_look_at(), "place");
    match (found.standing, found.places_to_look_at()) {
        (Standing::Proven, 0) => format!("✔ Proven: {proven}"),
        (Standing::Proven, _) => format!("⚠ Proven, with {places} to look at: {proven}"),
        (Standing::NothingToProve, 0) => {
            format!("○ Nothing to prove: {NOTHING}; a test that fails without the change would prove it")
        }
        (Standing::NothingToProve, _) => format!("⚠ Nothing to prove, but {places} to look at: {NOTHING}"),
        (Standing::NotProven, _) => "✖ Not proven".to_owned(),
        (Standing::Broken, _) => "✖ Not judged".to_owned(),
    }
}

fn lists(found: &Finding) -> Vec<List> {
    let list = |sign, one: &str, more: &str, entries: &[String]| {
        let heading = format!("{} {}", entries.len(), if entries.len() == 1 { one } else { more });
        List { sign, heading, entries: entries.to_vec() }
    };
    let weakened: Vec<String> = found.weakened.iter().map(weaker).collect();
    let all = [
        list(
            "✓",
            "test fails without the change and passes with it",
            "tests fail without the change and pass with it",
            &found.fail_to_pass,
        ),
        list(
            "✗",
            "test passes without the change and not with it",
            "tests pass without the change and not with it",
            &found.pass_to_fail,
        ),
        list("⚠", "test of the base is gone", "tests of the base are gone", &found.removed),
        list("⚠", "test of the base is skipped now", "tests of the base are skipped now", &found.skipped),
        list("⚠", "test expects less, or something else", "tests expect less, or something else", &weakened),
        list(
            "⚠",
            "test of the base passes at the head only with what the change alters of tests, their data or their configuration",
            "tests of the base pass at the head only with what the change alters of tests, their data or their configuration",
            &found.only_with_changed_tests,
        ),
        list(
            "⚠",
            "changed file decides how tests are run: the head's was used for both",
            "changed files decide how tests are run: the head's were used for both",
            &found.deciding.iter().map(|path| deciding(path)).collect::<Vec<_>>(),
        ),
    ];
    all.into_iter().filter(|list| !list.entries.is_empty()).collect()
}

/// A file that decides how tests are run. upshift's own settings are not the change's to make.
fn deciding(path: &str) -> String {
    if path == DEFAULT_CONFIG_PATH {
        return format!("{path} (upshift's own settings: the base's, unless --config names these)");
    }
    path.to_owned()
}

fn weaker(one: &Weakened) -> String {
    format!("{} in {}: no longer {}", one.test, one.file, one.gone.join(", "))
}

/// A sentence on the tests that hold.
fn kept(found: &Finding) -> Option<String> {
    (found.pass_to_pass > 0).then(|| {
        let verb = if found.pass_to_pass == 1 { "passes" } else { "pass" };
        format!("{} of the base {verb} before and after", count(found.pass_to_pass, "test"))
    })
}

/// The finding for a terminal.
#[must_use]
pub fn text(found: &Finding) -> String {
    let mut lines = vec![conclusion(found)];
    // The conclusion says that reason in words of its own.
    let reason = found.reason.as_deref().filter(|_| found.standing != Standing::NothingToProve);
    lines.extend(reason.map(|reason| format!("  {}", plain::clipped_line(reason, REASON_CHARS))));
    lines.push(format!("  Base {}, head {}", found.base, found.head));
    lines.extend(kept(found).map(|kept| format!("  {kept}")));
    for list in lists(found) {
        lines.push(format!("  {} {}:", list.sign, list.heading));
        let shown = list.entries.iter().take(MOST_NAMES);
        lines.extend(shown.map(|entry| format!("    - {}", plain::clipped_line(entry, NAME_CHARS))));
        lines.extend(more(&list).map(|more| format!("    - {more}")));
    }
    let held =
        found.proof.iter().map(|one| format!("    {} {}", proof_sign(one.status), terminal::say(&evidence(one))));
    let held: Vec<String> = held.collect();
    if !held.is_empty() {
        lines.push("  Proof:".to_owned());
        lines.extend(held);
    }
    let remarks = found.remarks.iter().take(MOST_REMARKS);
    lines.extend(remarks.map(|remark| format!("  ⚠ {}", terminal::say(&remark_sentence(remark)))));
    lines.extend(found.notes.iter().map(|note| format!("  ! {}", plain::clipped_line(note, REASON_CHARS))));
    lines.push(String::new());
    lines.join("\n")
}

/// The finding as Markdown.
#[must_use]
pub fn markdown(found: &Finding) -> String {
    let mut blocks = vec![format!("### {}", conclusion(found))];
    let reason = found.reason.as_deref().filter(|_| found.standing != Standing::NothingToProve);
    blocks.extend(reason.map(|reason| code(reason, REASON_CHARS)));
    let kept = kept(found).map(|kept| format!(" · {kept}")).unwrap_or_default();
    blocks.push(format!("Base {} · head {}{kept}", code(&found.base, NAME_CHARS), code(&found.head, NAME_CHARS)));
    for list in lists(found) {
        let shown = list.entries.iter().take(MOST_NAMES).map(|entry| format!("- {}", code(entry, NAME_CHARS)));
        let entries: Vec<String> = shown.chain(more(&list).map(|more| format!("- {more}"))).collect();
        blocks.push(format!("**{} {}**\n\n{}", list.sign, list.heading, entries.join("\n")));
    }
    let held = found.proof.iter().map(|one| format!("- {} {}", proof_sign(one.status), page::say(&evidence(one))));
    let held: Vec<String> = held.collect();
    if !held.is_empty() {
        blocks.push(format!("**Proof**\n\n{}", held.join("\n")));
    }
    let remarks = found.remarks.iter().take(MOST_REMARKS);
    let remarks: Vec<String> = remarks.map(|remark| format!("- ⚠ {}", page::say(&remark_sentence(remark)))).collect();
    let notes = found.notes.iter().map(|note| format!("- {}", code(note, REASON_CHARS)));
    let below: Vec<String> = remarks.into_iter().chain(notes).collect();
    if !below.is_empty() {
        blocks.push(below.join("\n"));
    }
    blocks.push(String::new());
    blocks.join("\n\n")
}

/// The finding as JSON.
#[must_use]
pub fn json(found: &Finding) -> String {
    super::json::versioned(found)
}

fn more(list: &List) -> Option<String> {
    let more = list.entries.len().saturating_sub(MOST_NAMES);
    (more > 0).then(|| format!("and {more} more"))
}
