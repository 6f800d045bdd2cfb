//! The pull-request comment and the job summary: one renderer, two caps (DESIGN §2.5, GITHUB 18, 27).
//!
//! Invariants: the first line is the hidden [`marker`]. The text never passes its surface's cap and is cut between blocks only, with a note
//! of what was left out. Foreign text stands in a code span or a fence, where it can make no link, image, mention, HTML or marker.

use std::fmt::Write as _;

use crate::domain::correction::Correction;
use crate::domain::units::human_duration;

use super::plain::{self, ZERO_WIDTH_SPACE};
use super::view::{RunView, TierView};
use super::whereabouts::Whereabouts;
use super::words::{self, Mark, Piece, Sentence};
pub(super) use fence::code;
use fence::fence;
use prose::prose;
use room::{Block, assemble, whole};

/// The place where the Markdown is shown. It decides how long the text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// A comment on a pull request: 65,536 characters.
    Comment,
    /// A job summary: 1 MiB, above which GitHub drops all of it.
    Summary,
}

impl Surface {
    /// The cap in bytes. Bytes are never fewer than characters, however those are counted.
    #[must_use]
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Comment => 65_536,
            Self::Summary => 1_048_576,
        }
    }

    /// The most bytes that one list may take, so that all blocks together usually fit and the note of what was cut stays exact.
    const fn list_bytes(self) -> usize {
        self.max_bytes() / 8
    }
}

const MAX_NAME: usize = 60;
const MAX_TEST_NAME: usize = 200;
const MAX_REASON: usize = 160;
const MAX_SPEECH: usize = 400;
/// One error in the fence of recent errors.
const MAX_ERROR: usize = 1_000;
/// The longest message of an error that kept a run from beginning. A configuration may have many faults.
const MAX_MESSAGE: usize = 20_000;
/// Lists up to this length are shown open.
const OPEN_LIST: usize = 10;
const MAX_ERRORS: usize = 5;
const MAX_WARNINGS: usize = 10;
/// The most characters of a marker's key.
const MAX_KEY: usize = 100;

/// The beginning of the first line of every comment of ours.
pub const MARKER: &str = "<!-- upshift:report key=";

/// The hidden first line by which a report finds its own comment again. Other characters than letters, digits, `.`, `_`, `/` and single `-`
/// in the key are written as `%` and their hexadecimal code.
#[must_use]
pub fn marker(key: &str) -> String {
    let mut safe = String::new();
    for c in key.chars().take(MAX_KEY) {
        // Two dashes may end an HTML comment.
        let dash_pair = c == '-' && safe.ends_with('-');
        if (c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-')) && !dash_pair {
            safe.push(c);
        } else {
            // Writing to a String cannot fail.
            write!(safe, "%{:X}", u32::from(c)).unwrap_or_default();
        }
    }
    format!("{MARKER}{safe} -->")
}

/// Renders the report for a surface. `key` tells this report's comment from others on the same pull request.
#[must_use]
pub fn render(view: &RunView, surface: Surface, key: &str) -> String {
    render_with_patch(view, surface, key, "")
}

/// The same with the change itself, file by file as far as they fit.
#[must_use]
pub fn render_with_patch(view: &RunView, surface: Surface, key: &str, patch: &str) -> String {
    render_behind(view, surface, key, patch, 0)
}

/// The job summary behind what others wrote into it already, in bytes: GitHub drops the whole of one that is too long.
#[must_use]
pub fn summary_behind(view: &RunView, patch: &str, written: usize) -> String {
    render_behind(view, Surface::Summary, "summary", patch, written)
}

fn render_behind(view: &RunView, surface: Surface, key: &str, patch: &str, written: usize) -> String {
    let mut blocks = vec![Block { text: format!("{}\n{}", marker(key), headline(view)), optional: None }];
    blocks.extend(body(view, surface, patch));
    assemble(blocks, surface.max_bytes().saturating_sub(written), &whole(view))
}

/// The blocks below the first lines.
fn body(view: &RunView, surface: Surface, patch: &str) -> impl Iterator<Item = Block> {
    let may = |text: Option<String>, name| text.map(|text| Block { text, optional: Some(name) });
    [
        // In the order of a reviewer's questions. A block that is left out for lack of room is chosen by its length.
        may(remarks(view), "the places to look at"),
        may(review(view, surface), "the critic's review"),
        may(meta(view), "what the models say of the change"),
        may(tool_failures(view), "the tools that failed"),
        may(corrections(view, surface), "the tests that a model calls wrong"),
        may(proof(view), "the proof"),
        may(table(view, surface), "the ladder"),
        may(billed(view), "the models that were billed"),
        may(words::side_calls(view).map(|sentence| format!("**Side calls:** {}", say(&sentence))), "the side calls"),
        may(tests(view, surface), "the tests"),
        may(delivery(view), "what was pushed"),
        may(commands(view), "the commands in comments"),
        may(leftovers(view), "what was cleaned up"),
        may(warnings(view), "the warnings"),
        may(diff(view, surface), "the changed files"),
        may(self::patch::block(patch, surface.list_bytes() * 2, "The change itself"), "the change itself"),
        may(errors(view), "the most recent errors"),
        may(money(view), "the budget"),
        may(next(view), "what to do next"),
        may(audit(view), "the audit log"),
    ]
    .into_iter()
    .flatten()
}

/// The job summary where no run took place: why, in the words of the error.
#[must_use]
pub fn no_run(message: &str) -> String {
    format!("### ✖ upshift did not run\n\n{}\n", fence(&plain::clip(message, MAX_MESSAGE), "text"))
}

/// The job summary where no run was to take place: a refusal that asks nobody to do anything.
#[must_use]
pub fn not_needed(message: &str) -> String {
    format!("### upshift was not needed here\n\n{}\n", fence(&plain::clip(message, MAX_MESSAGE), "text"))
}

/// The first line, and who fixed it.
fn headline(view: &RunView) -> String {
    let (mark, sentence) = words::headline(view);
    let who = words::resolved_by(view).map(|sentence| format!("\n\n{}.", say(&sentence))).unwrap_or_default();
    format!("### {} {}{who}", mark.sign(), say(&sentence))
}

pub(super) fn say(sentence: &Sentence) -> String {
    sentence.render(|piece| match piece {
        Piece::Ours(text) => text.clone(),
        Piece::Name(name) => code(name, MAX_NAME),
        Piece::Code(command) => code(command, MAX_SPEECH),
        Piece::Speech(speech) => code(speech, MAX_SPEECH),
        Piece::Advice(advice) => prose(advice, MAX_SPEECH),
    })
}

/// Foreign text as it stands inside a sentence of ours.
#[must_use]
pub fn quoted(text: &str) -> String {
    code(text, MAX_SPEECH)
}

/// Foreign text as it stands inside a table.
#[must_use]
pub fn in_cell(text: &str) -> String {
    cell(text, MAX_SPEECH)
}

/// A code span inside a table, where an unescaped `|` would end the cell.
fn cell(text: &str, max_width: usize) -> String {
    // A backslash before the pipe would, for some readers, escape the escape.
    code(text, max_width).replace("\\|", &format!("\\{ZERO_WIDTH_SPACE}|")).replace('|', "\\|")
}

fn table(view: &RunView, surface: Surface) -> Option<String> {
    if view.tiers.is_empty() {
        return None;
    }
    let mut table =
        "| Tier | Model | Iterations | Cost | Outcome | Why it ended |\n|---|---|---:|---:|---|---|".to_owned();
    let first = words::first_line(view);
    for (index, tier) in view.tiers.iter().enumerate() {
        let row = row(view, &first, tier);
        // The total below stays in any case, so a cut ladder still adds up.
        if table.len() + row.len() > surface.list_bytes() {
            let more = words::u64_of(view.tiers.len() - index);
            table.push_str(&format!("\n| {} | | | | | |", words::count(more, "more tier")));
            break;
        }
        table.push('\n');
        table.push_str(&row);
    }
    let spent = &view.spent;
    let cap = if view.budget_cap_hit() { "budget cap hit" } else { "" };
    let total = format!(
        "\n| **Total** | | {} | {} | {} | {cap} |",
        spent.iterations,
        spent.charge(),
        human_duration(spent.active_ms)
    );
    Some(table + &total)
}

/// `first` is the first line of the report.
fn row(view: &RunView, first: &str, tier: &TierView) -> String {
    let name = format!("{} {} ({})", tier.number, cell(&tier.tier.name, MAX_NAME), tier.tier.mode.as_str());
    let models: Vec<String> = match tier.models().as_slice() {
        [(_, _only)] => vec![cell(&tier.model(), MAX_NAME)],
        several => several
            .iter()
            .map(|(roles, model)| {
                let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
                format!("{}: {}", roles.join(", "), cell(model, MAX_NAME))
            })
            .collect(),
    };
    let models = models.join("<br>");
    let Some(label) = words::state_label(tier.state) else {
        return format!("| {name} | {models} | — | — | not reached | |");
    };
    // The cap that was hit has a line of its own.
    let is_capped = view.budget_cap_hit() && tier.reason.as_deref() == Some(view.stop_reason());
    let why = if is_capped { words::Sentence::default() } else { words::why_it_ended_beside(first, tier) };
    let why = why.render(|piece| match piece {
        Piece::Ours(text) => text.clone(),
        Piece::Name(text) | Piece::Code(text) | Piece::Speech(text) | Piece::Advice(text) => cell(text, MAX_REASON),
    });
    let iterations = format!("{} of {}", tier.iterations, tier.tier.max_iterations);
    format!("| {name} | {models} | {iterations} | {} | {label} | {why} |", tier.cost)
}

fn tests(view: &RunView, surface: Surface) -> Option<String> {
    let mut parts = vec![format!("**Tests:** {}", say(&words::tests_change(view)?))];
    let still = if view.failing_after.is_some() { "Still failing" } else { "Failing" };
    if view.passes_with_change() {
        parts.extend(list("Fixed by the change", &view.still_failing(), surface));
    } else {
        parts.extend(list(still, &view.still_failing(), surface));
    }
    parts.extend(list("Newly failing", &view.newly_failing(), surface));
    parts.extend(list("Fixed", &view.fixed_tests(), surface));
    Some(parts.join("\n\n"))
}

/// A titled list of test names. `None` when there are none.
fn list(title: &str, names: &[&str], surface: Surface) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let items = names.iter().map(|name| format!("- {}", code(name, MAX_TEST_NAME)));
    Some(collapsible(&format!("{title} ({})", names.len()), names.len(), items, surface))
}

/// Items under a title, folded when they are many, cut between items when they are too long.
fn collapsible(title: &str, total: usize, items: impl Iterator<Item = String>, surface: Surface) -> String {
    let mut body = String::new();
    let mut shown = 0;
    for item in items {
        if body.len() + item.len() > surface.list_bytes() {
            break;
        }
        body.push_str(&item);
        body.push('\n');
        shown += 1;
    }
    if shown < total {
        body.push_str(&format!("- … and {} more in the audit log\n", total - shown));
    }
    if total <= OPEN_LIST {
        format!("{title}:\n\n{}", body.trim_end())
    } else {
        // The empty line behind the summary is what has GitHub read the inside as Markdown.
        format!("<details>\n<summary>{title}</summary>\n\n{body}\n</details>")
    }
}

fn warnings(view: &RunView) -> Option<String> {
    let mut lines: Vec<String> =
        view.warnings.iter().take(MAX_WARNINGS).map(|warning| format!("- {}", code(warning, MAX_SPEECH))).collect();
    lines.extend(words::unsettled(view).map(|sentence| format!("- {sentence}")));
    if view.warnings.len() > MAX_WARNINGS {
        lines.push(format!("- … and {} more in the audit log", view.warnings.len() - MAX_WARNINGS));
    }
    (!lines.is_empty()).then(|| format!("**Warnings**\n\n{}", lines.join("\n")))
}

/// The evidence for the fix.
fn proof(view: &RunView) -> Option<String> {
    let heading = words::proof_heading(view)?;
    let line = |line: &words::ProofLine| format!("- {} {}", words::proof_sign(line.status), say(&line.sentence));
    let lines: Vec<String> = words::proof(view).iter().map(line).collect();
    Some(format!("**Proof:** {heading}\n\n{}", lines.join("\n")))
}

/// Places that a reviewer should look at. They stand above everything else.
fn remarks(view: &RunView) -> Option<String> {
    let heading = words::remarks_heading(view)?;
    let lines: Vec<String> = words::remarks(view).iter().map(|remark| format!("- {}", say(remark))).collect();
    Some(format!("**⚠ {heading}**\n\n{}", lines.join("\n")))
}

/// The critic's words on the last change, with every issue.
fn review(view: &RunView, surface: Surface) -> Option<String> {
    let heading = format!("**Review:** {}", say(&words::review_heading(view)?));
    let issues = words::review_issues(view);
    if issues.is_empty() {
        return Some(heading);
    }
    let items = issues.iter().map(|issue| format!("- {}", say(issue)));
    Some(format!("{heading}\n\n{}", collapsible("Issues", issues.len(), items, surface)))
}

/// The blocks of data beside the reports.
fn meta(view: &RunView) -> Option<String> {
    let blocks = words::meta(view).into_iter().chain(words::advice(view)).chain(words::handoff(view));
    let lines = blocks.map(|block| say(&block)).chain(words::reused(view)).map(|line| format!("- {line}"));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("**In the models' words**\n\n{}", lines.join("\n")))
}

/// External tools whose failures were told in the configuration's words.
fn tool_failures(view: &RunView) -> Option<String> {
    let lines: Vec<String> = words::tool_failures(view).iter().map(|one| format!("- {}", say(one))).collect();
    (!lines.is_empty()).then(|| format!("**Tools that failed**\n\n{}", lines.join("\n")))
}

/// Tests that a model calls wrong, with their corrections.
fn corrections(view: &RunView, surface: Surface) -> Option<String> {
    let one = |correction: &Correction| {
        let patch = self::patch::block(&correction.patch, surface.list_bytes(), "The correction that it proposes");
        [Some(say(&words::correction_sentence(correction))), patch]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n\n")
    };
    let all: Vec<String> = words::corrections(view).map(one).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// Leftovers that git, shells and editors would have run.
fn leftovers(view: &RunView) -> Option<String> {
    let lines: Vec<String> =
        words::leftovers(view, MAX_WARNINGS).iter().map(|sentence| format!("- {}", say(sentence))).collect();
    let title =
        "**Cleaned up:** the tests or the change left files that git, shells, editors or agents run automatically";
    (!lines.is_empty()).then(|| format!("{title}\n\n{}", lines.join("\n")))
}

fn billed(view: &RunView) -> Option<String> {
    let lines: Vec<String> =
        words::billed(view, MAX_WARNINGS).iter().map(|sentence| format!("- {}", say(sentence))).collect();
    (!lines.is_empty()).then(|| format!("**Billed as another model**\n\n{}", lines.join("\n")))
}

fn delivery(view: &RunView) -> Option<String> {
    let lines: Vec<String> = words::delivery(view).iter().map(|sentence| format!("- {}", say(sentence))).collect();
    (!lines.is_empty()).then(|| format!("**Pushed**\n\n{}", lines.join("\n")))
}

fn commands(view: &RunView) -> Option<String> {
    let all = words::commands(view);
    // The last ones count: an earlier command was followed by what stands in the report already.
    let (first, more) = (all.len().saturating_sub(MAX_WARNINGS), all.len() > MAX_WARNINGS);
    let mut lines: Vec<String> = all.iter().skip(first).map(|sentence| format!("- {}", say(sentence))).collect();
    if more {
        lines.insert(0, format!("- … {first} earlier ones are in the audit log"));
    }
    (!lines.is_empty()).then(|| format!("**Comments**\n\n{}", lines.join("\n")))
}

fn diff(view: &RunView, surface: Surface) -> Option<String> {
    let size = words::diff_size(view)?;
    let files = view.diff_stat().files;
    let items = files.iter().map(|file| {
        let size = match (file.added, file.removed) {
            (None, None) => "binary".to_owned(),
            (added, removed) => format!("+{} −{}", added.unwrap_or(0), removed.unwrap_or(0)),
        };
        format!("- {} {size}", code(&file.path, MAX_TEST_NAME))
    });
    let list = collapsible("Files", files.len(), items, surface);
    Some(format!("**Change:** {size}\n\n{}", list.trim_start_matches("Files:\n\n")))
}

fn errors(view: &RunView) -> Option<String> {
    // Errors of a run that ended well are those of attempts that are gone.
    if view.recent_errors.is_empty() || words::headline(view).0 != Mark::Bad {
        return None;
    }
    let errors: Vec<String> =
        view.recent_errors.iter().take(MAX_ERRORS).map(|error| plain::clip(&plain::block(error), MAX_ERROR)).collect();
    let fence = fence(&errors.join("\n\n"), "text");
    Some(format!("<details>\n<summary>Most recent errors ({})</summary>\n\n{fence}\n\n</details>", errors.len()))
}

fn money(view: &RunView) -> Option<String> {
    view.run.as_ref()?;
    let cap = Some(view.stop_reason()).filter(|reason| view.budget_cap_hit() && !reason.is_empty());
    let cap = cap.map(|reason| format!("**Cap hit:** {}", code(reason, MAX_SPEECH)));
    let program = view.command().map(|command| format!("**Program:** {}", code(command, MAX_SPEECH)));
    let left = words::budget_left(view).map(|left| format!("**Budget left:** {left}"));
    let lines: Vec<String> = cap.into_iter().chain(program).chain(left).collect();
    Some(lines.join("\n\n")).filter(|lines| !lines.is_empty())
}

fn next(view: &RunView) -> Option<String> {
    let steps: Vec<String> = words::next_steps(view).iter().map(|step| format!("- {}", say(step))).collect();
    (!steps.is_empty()).then(|| format!("**Next**\n\n{}", steps.join("\n")))
}

fn audit(view: &RunView) -> Option<String> {
    let run = view.run.as_ref()?;
    let id = code(&run.run_id.0, MAX_NAME);
    let Some(db) = &run.audit_db else {
        return Some(format!("Run {id}; the audit log was off."));
    };
    let place = match &view.kept_in {
        Whereabouts::Here => format!("{}; in Actions it is an artifact of the workflow run", code(db, MAX_TEST_NAME)),
        Whereabouts::Artifact(artifact) if artifact.holds_log => {
            format!("the artifact {} of the workflow run", code(&artifact.name, MAX_TEST_NAME))
        }
        // A command for a log that the reader cannot reach would only fail.
        Whereabouts::Artifact(_) | Whereabouts::Runner => {
            return Some(format!("Run {id}; its audit log is on the runner, and kept if the job uploads it."));
        }
    };
    let which = match &view.kept_in {
        Whereabouts::Artifact(_) => ["The first command fetches it, the second", "the third"],
        Whereabouts::Here | Whereabouts::Runner => ["The first command", "the second"],
    };
    let holds = words::log_holds(view);
    let rows = if words::history_command(view).is_some() { ", the last shows the rows of its iterations" } else { "" };
    Some(format!(
        "<details>\n<summary>Audit log</summary>\n\nRun {id}. {holds} is in {place}. {} prints this \
         report again, {} checks that the log was not changed{rows}.\n\n{}\n\n</details>",
        which[0],
        which[1],
        fence(&words::log_commands(view).join("\n"), "sh")
    ))
}

mod comment;
mod fence;
mod held;
mod patch;
mod prose;
mod room;
#[cfg(test)]
mod tests;

pub use comment::{Page, Parked, Stamp, Standing, comment, with_note, with_stamp};
pub use held::Held;
