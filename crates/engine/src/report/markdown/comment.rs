//! The pull request's comment: the report under a line that tells the next run what to trust of this one.
//!
//! Invariant: the hidden lines are the first two, and nothing that is not ours can look like them: foreign text stands in code
//! spans and fences, where a comment's beginning is broken.

use super::held::Held;
use super::room::{Block, assemble, whole};
use super::{Surface, body, code, marker, say};
use crate::domain::units::CommitSha;
use crate::report::view::{Ending, RunView};
use crate::report::words;

/// The beginning and the end of the second line.
const STAMP: (&str, &str) = ("<!-- upshift:state ", " -->");
/// The third line where a note stands above the report.
const NOTE: &str = "<!-- upshift:note -->";
/// The most bytes of a note. Every report leaves them free.
const NOTE_BYTES: usize = 1_000;
/// The longest value in it: a hash or the name of an artifact.
const MAX_VALUE: usize = 200;

/// The data that a comment keeps for later runs, beside the report for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The run that wrote it.
    pub run: String,
    /// The hash of the last link of its log when it wrote.
    pub head: String,
    /// How many runs for this pull request have reached a model, itself included.
    pub attempt: u32,
    /// The artifact that its log is kept in.
    pub artifact: String,
    /// The last comment whose command was answered. 0 for none.
    pub heard: u64,
    /// The time it waits for, where it was parked because every model is limited.
    pub parked: Option<Parked>,
    /// How often a process has taken the run up, the first included.
    pub spawn: u32,
    /// The last commit that it pushed.
    pub pushed: Option<CommitSha>,
    /// Whether it is to go on once what it waits for has an answer.
    pub standing: Standing,
    /// The commit it is at where it has pushed nothing, and the blockers in its way, where they are waited for.
    pub held: Option<Held>,
    /// The workflow run that claimed it, and which attempt of that. It stands until that run's own report takes the place of this one.
    pub claimed: Option<(u64, u64)>,
}

/// Whether a run is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// The run is over, or an older version wrote the comment.
    #[default]
    Over,
    /// A process is working on it, or died.
    Working,
    /// None is: a signal ended it at work, as the cancelling of a job does. It goes on where that job is run again.
    Interrupted,
    /// None is: it is parked with a fix that an outage of the Git host kept in. It goes on where its job is run again.
    Undelivered,
    /// None is: it is parked until CI has ended.
    Waiting,
    /// None is: it is parked until its pull request is merged, closed or reviewed.
    Merging,
    /// None is: it is parked until what a model named is out of the way.
    Blocked,
}

impl Standing {
    const WORDS: [(Self, &'static str); 6] = [
        (Self::Working, "working"),
        (Self::Interrupted, "interrupted"),
        (Self::Undelivered, "undelivered"),
        (Self::Waiting, "waiting"),
        (Self::Merging, "merging"),
        (Self::Blocked, "blocked"),
    ];

    fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(standing, _)| *standing == self).map(|(_, word)| *word)
    }

    fn of_word(word: &str) -> Self {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(standing, _)| *standing).unwrap_or_default()
    }
}

/// A run that waits until models may be asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// From when on, in seconds since the epoch.
    pub until: u64,
    /// The head of the pull request that it worked on.
    pub commit: CommitSha,
}

impl Stamp {
    /// The hidden line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { run, head, attempt, artifact, heard, parked, spawn, pushed, standing, held, claimed } = self;
        let (run, head, artifact) = (value(run), value(head), value(artifact));
        let mut line = format!(
            "{}run={run} head={head} attempt={attempt} artifact={artifact} heard={heard} spawn={spawn}",
            STAMP.0
        );
        if let Some(parked) = parked {
            line.push_str(&format!(" until={} commit={}", parked.until, value(&parked.commit.0)));
        }
        if let Some(pushed) = pushed {
            line.push_str(&format!(" pushed={}", value(&pushed.0)));
        }
        if let Some(word) = standing.word() {
            line.push_str(&format!(" standing={word}"));
        }
        if let Some(held) = held {
            line.push_str(&format!(" held={} on={}", value(&held.commit.0), value(&held.encoded())));
        }
        if let Some((job, attempt)) = claimed {
            line.push_str(&format!(" claimed={job}-{attempt}"));
        }
        line + STAMP.1
    }

    /// Reads the hidden line of a comment of ours. `None` where there is none, as in one of an older version.
    #[must_use]
    pub fn read(body: &str) -> Option<Self> {
        // The second line and no other: a stamp further below may be text of a model or a test.
        let line = body.trim_start().lines().nth(1)?;
        let inside = line.trim_end().strip_prefix(STAMP.0)?.strip_suffix(STAMP.1)?;
        let get = |name: &str| {
            let pairs = inside.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.clone().find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        Some(Self {
            run: get("run")?.to_owned(),
            head: get("head")?.to_owned(),
            // A stamp without its count is none: runs would be counted anew, and the cap per pull request with them.
            attempt: get("attempt")?.parse().ok()?,
            artifact: get("artifact")?.to_owned(),
            heard: get("heard")?.parse().ok()?,
            parked: get("until")
                .and_then(|until| until.parse().ok())
                .zip(get("commit"))
                .map(|(until, commit)| Parked { until, commit: CommitSha(commit.to_owned()) }),
            // Keys of newer versions have a default, or the comment of an older one would be none.
            spawn: get("spawn").and_then(|spawn| spawn.parse().ok()).unwrap_or(1),
            pushed: get("pushed").map(|sha| CommitSha(sha.to_owned())),
            standing: get("standing").map(Standing::of_word).unwrap_or_default(),
            held: get("held").map(|sha| Held::decoded(sha, get("on").unwrap_or_default())),
            claimed: get("claimed").and_then(|job| {
                let (id, attempt) = job.split_once('-')?;
                Some((id.parse().ok()?, attempt.parse().ok()?))
            }),
        })
    }
}

/// A value as the line holds it: letters, digits, `.`, `_` and single `-`.
fn value(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let kept: String = text.chars().filter(plain).take(MAX_VALUE).collect();
    // Two dashes may end the hidden line early.
    kept.replace("--", "-")
}

/// The parts of a comment beside the run's own story.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Tells this report's comment from others on the same pull request.
    pub key: &'a str,
    /// The data for later runs.
    pub stamp: &'a Stamp,
    /// The number of the run among those for this pull request, from 1. 0 where that is not counted.
    pub number: u32,
    /// The page of the job that works on it, an address of the forge's.
    pub job_url: Option<&'a str>,
    /// The change, where no branch of the forge holds it. Empty else.
    pub patch: &'a str,
}

/// The comment of a run, under way or ended.
#[must_use]
pub fn comment(view: &RunView, page: &Page<'_>) -> String {
    // A run under way has no verdict yet, so its first line says what it is at.
    let title = match view.ending {
        Ending::Running => format!("### ▶ {}", working(view)),
        Ending::Died | Ending::Finished(_) => super::headline(view),
    };
    let first = format!("{}\n{}\n{title}", marker(page.key), page.stamp.line());
    let mut blocks = vec![Block { text: first, optional: None }];
    blocks.extend(body(view, Surface::Comment, page.patch));
    blocks.push(Block { text: footer(page), optional: None });
    assemble(blocks, Surface::Comment.max_bytes() - NOTE_BYTES, &whole(view))
}

/// A comment that keeps its report under a note on why no run followed it. Nothing waits for a time any more. `None` where the comment has
/// no hidden line of ours, or no room.
#[must_use]
pub fn with_note(body: &str, note: &str) -> Option<String> {
    let stamp = Stamp { parked: None, held: None, ..Stamp::read(body)? }.line();
    let (marker, rest) = body.trim_start().split_once('\n')?;
    let (_, report) = rest.split_once('\n')?;
    // An older note ends at the first empty line.
    let report = match report.strip_prefix(NOTE) {
        Some(noted) => noted.split_once("\n\n")?.1,
        None => report,
    };
    let noted = format!("{marker}\n{stamp}\n{NOTE}\n> {}\n\n{report}", note.replace(['\n', '\r'], " "));
    // Longer ones are refused by GitHub, and the comment would keep its old line.
    (noted.len() <= Surface::Comment.max_bytes()).then_some(noted)
}

/// A comment with another hidden line, its report untouched. `None` where it has none of ours.
#[must_use]
pub fn with_stamp(body: &str, stamp: &Stamp) -> Option<String> {
    let (marker, rest) = body.trim_start().split_once('\n')?;
    let (_, report) = rest.split_once('\n')?;
    // A comment that is not ours, or of a version without stamps, is left alone.
    Stamp::read(body)?;
    Some(format!("{marker}\n{}\n{report}", stamp.line()))
}

/// The present work of the run, in one line.
fn working(view: &RunView) -> String {
    // A comment that a dead job left behind is told from one of a job at work by its time.
    let since = view.run.as_ref().map(|run| format!(", since {}", run.started_at.for_people())).unwrap_or_default();
    let spent = format!("{} of {}{since}", words::brief_cost(view), view.budget().max_cost.exact());
    let waits = view.delivery.waits.last().filter(|wait| wait.answer.is_none());
    if let Some(wait) = waits {
        let about = words::awaited(wait.awaited);
        return format!("Working: waiting for {about} of {}, {spent}", code(wait.commit.short(), super::MAX_NAME));
    }
    let here = view.position.and_then(|position| Some((view.tier(position.tier_index)?, position.iteration)));
    match here {
        Some((tier, iteration)) => {
            let name = code(&tier.tier.name, super::MAX_NAME);
            format!("Working: tier {} ({name}), iteration {iteration}, {spent}", tier.number)
        }
        None if view.baseline.is_none() => format!("Working: running the tests for a baseline, {spent}"),
        None => match words::tests_change(view) {
            Some(tests) => format!("Working: {}, {spent}", say(&tests)),
            None => format!("Working: {spent}"),
        },
    }
}

fn footer(page: &Page<'_>) -> String {
    let log = page.job_url.map(|url| format!("[The job's log]({url}). ")).unwrap_or_default();
    let attempt = match page.number {
        0 => String::new(),
        number => format!("Run {number} for this pull request. "),
    };
    let head = match page.stamp.head.as_str() {
        "" => String::new(),
        head => format!("Head of the audit log's hash chain: {}.", code(head, MAX_VALUE)),
    };
    format!("---\n{attempt}{log}{head}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::fixtures::{self, Script};
    use crate::report::view::Liveness;

    fn stamp() -> Stamp {
        Stamp {
            run: "7f3a".to_owned(),
            head: "c0ffee".to_owned(),
            attempt: 2,
            artifact: "upshift-audit-5-1-pr7-x".to_owned(),
            heard: 41,
            parked: None,
            spawn: 3,
            pushed: Some(CommitSha("feed".to_owned())),
            standing: Standing::Waiting,
            held: None,
            claimed: Some((77, 2)),
        }
    }

    fn page(view: &RunView) -> String {
        let job_url = Some("https://example.com/o/r/actions/runs/5");
        comment(view, &Page { key: "ci/fix", stamp: &stamp(), number: 2, job_url, patch: "" })
    }

    #[test]
    fn a_run_under_way_says_where_it_is_and_what_it_has_spent() {
        let mut script = Script::new();
        assert!(
            page(&script.view_as(Liveness::Alive))
                .contains("Working: running the tests for a baseline, $0.00 of $2.00")
        );
        script.red();
        script.tier(0).begin(0, 2).call(0, 2, crate::domain::ladder::Role::Artisan, 12_000);
        let text = page(&script.view_as(Liveness::Alive));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn an_ended_run_is_told_as_everywhere_with_the_head_of_its_log() {
        let text = page(&fixtures::fixed().view());
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("<!-- upshift:report key=ci/fix -->"));
        assert_eq!(Stamp::read(&text), Some(stamp()), "{:?}", lines.next());
        assert!(text.contains("### ✔ 3 tests fixed in") && text.contains("hash chain: `c0ffee`"), "{text}");
    }

    #[test]
    fn a_huge_report_keeps_its_hidden_lines_and_stays_within_the_limit() {
        let mut script = Script::new();
        let names: Vec<String> = (0..20_000).map(|n| format!("日本語::{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        script.baseline(&names, crate::domain::verdict::Verdict::Red { reason: None });
        script.finish(crate::domain::outcome::Outcome::Exhausted, "x", &names);
        let text = page(&script.view());
        assert!(text.len() <= 65_536, "{}", text.len());
        assert_eq!(Stamp::read(&text), Some(stamp()));
        let noted = with_note(&text, &"x".repeat(500)).expect("room for a note");
        assert!(noted.len() <= 65_536, "{}", noted.len());
    }

    #[test]
    fn a_note_stands_above_the_report_and_the_next_one_takes_its_place() {
        let text = page(&fixtures::fixed().view());
        let once = with_note(&text, "**No more runs.** First.").expect("a note");
        let twice = with_note(&once, "**No more runs.**\nSecond.").expect("a note");
        assert!(once.contains("\n> **No more runs.** First.\n\n### ✔ 3 tests fixed in"), "{once}");
        assert!(twice.contains("\n> **No more runs.** Second.\n\n### ✔ 3 tests fixed in"), "{twice}");
        assert!(!twice.contains("First."), "{twice}");
        assert_eq!(Stamp::read(&twice), Some(stamp()));
        assert_eq!(
            twice.lines().skip(5).collect::<Vec<_>>(),
            text.lines().skip(2).collect::<Vec<_>>(),
            "the report stays"
        );
        assert_eq!(with_note("<!-- upshift:report key=x -->\nold", "x"), None);
    }

    #[test]
    fn what_waits_for_a_time_says_so_in_the_hidden_line_until_a_note_ends_the_waiting() {
        let parked = Parked { until: 1_700_000_000, commit: CommitSha("c0ffee".to_owned()) };
        let waiting = Stamp { parked: Some(parked), ..stamp() };
        let body = format!("<!-- marker -->\n{}\n### Parked", waiting.line());
        assert_eq!(Stamp::read(&body), Some(waiting));
        let noted = with_note(&body, "no").expect("a note");
        assert_eq!(Stamp::read(&noted), Some(stamp()));
    }

    proptest! {
        #[test]
        fn what_stands_in_the_line_is_read_again_and_nothing_leaves_it(run in "\\PC{0,20}", head in "(-->|<!--| |=|a|-){0,12}") {
            let stamp = Stamp { run: value(&run), head: value(&head), ..stamp() };
            let body = format!("<!-- marker -->\n{}\nrest", Stamp { run, head, ..stamp.clone() }.line());
            prop_assert_eq!(Stamp::read(&body), Some(stamp));
            prop_assert_eq!(body.matches("-->").count(), 2);
        }
    }
}
