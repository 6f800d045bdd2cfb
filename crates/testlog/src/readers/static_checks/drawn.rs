//! Objections that are drawn: Biome's below a heading with a rule, and those of oxlint, SWC and others around a box.

use crate::findings::{Block, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::RunKind;

/// The end of a heading of Biome.
const RULE: &str = " ━━━━━";
/// The signs before the words of an error, and of a warning.
const ERRORS: [&str; 3] = ["× ", "✖ ", "x "];
const WARNINGS: [&str; 2] = ["⚠ ", "! "];
/// How a box begins.
const BOXES: [&str; 2] = ["╭─[", ",-["];
/// More warnings are noise.
const MOST_WARNINGS: usize = 100;
/// How much of a line may be the words above a box.
const LONGEST_WORDS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// Up to the next heading or a sum.
    Heading,
    /// Up to an empty line. Holds whether it is an error.
    Box(bool),
}

/// Reads drawn objections.
#[derive(Debug)]
pub(super) struct Drawn {
    open: Open,
    place: Option<(String, u32)>,
    block: Block,
    /// The line before.
    before: String,
    /// Warnings, which count only where there is no error and the command fails over them.
    warnings: Vec<(String, Option<(String, u32)>)>,
}

impl Drawn {
    pub(super) fn new() -> Self {
        let (place, block) = (None, Block::default());
        Self { open: Open::Nothing, place, block, before: String::new(), warnings: Vec::new() }
    }

    /// Takes a line that is its own.
    pub(super) fn line(&mut self, line: &str, problems: &mut Problems) -> bool {
        let before = std::mem::take(&mut self.before);
        if let Some(words) = line.cut(RULE).and_then(|(words, _)| heading(words)) {
            self.settle(problems);
            if let Some(found) = words {
                self.open = Open::Heading;
                self.place = found;
                self.block.push(line.trim_end_matches(['━', ' ']));
            }
            return true;
        }
        if let Some(at) = BOXES.iter().find_map(|corner| line.trim_start().strip_prefix(corner)) {
            let is_error = ERRORS.iter().any(|mark| before.trim_start().starts_with(mark));
            let is_warning = WARNINGS.iter().any(|mark| before.trim_start().starts_with(mark));
            if self.open == Open::Nothing && (is_error || is_warning) {
                self.open = Open::Box(is_error);
                self.place = place::find(at.trim_end_matches(']'));
                self.block.push(before.trim_start());
            }
        }
        let ends = match self.open {
            Open::Nothing => {
                self.sum(line, problems);
                self.before.push_str(line.get(..line.floor_char_boundary(LONGEST_WORDS)).unwrap_or(line));
                return false;
            }
            Open::Heading => is_sum(line),
            Open::Box(_) => line.trim().is_empty(),
        };
        if ends {
            self.settle(problems);
            self.sum(line, problems);
        } else {
            self.block.push(line);
        }
        true
    }

    /// `Found 2 warnings and 0 errors.` of oxlint.
    fn sum(&mut self, line: &str, problems: &mut Problems) {
        if line.starts_with("Found ") && line.ends_with(" and 0 errors.") {
            // Without errors it is the warnings that were too many.
            for (text, found) in std::mem::take(&mut self.warnings) {
                problems.push(RunKind::CompileError, &text, found);
            }
        }
    }

    /// Ends what is open.
    pub(super) fn settle(&mut self, problems: &mut Problems) {
        let text = self.block.take();
        let found = self.place.take();
        let is_error = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => return,
            Open::Box(is_error) => is_error,
            Open::Heading => text.lines().any(|line| ERRORS.iter().any(|mark| line.trim_start().starts_with(mark))),
        };
        if is_error {
            problems.push(RunKind::CompileError, text.trim_end(), found);
        } else if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push((text, found));
        }
    }
}

/// The objection in the words before a rule: the place of `a.js:2:7 lint/suspicious/noDebugger  FIXABLE`, no place for `a.js format`, and
/// nothing at all for `check`, below which Biome sums up.
#[expect(clippy::option_option, reason = "a heading, with an objection below it, with a place")]
fn heading(words: &str) -> Option<Option<Option<(String, u32)>>> {
    if words.starts_with(' ') {
        return None;
    }
    let Some((file, rule)) = words.cut_word() else {
        return words.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(None);
    };
    let path = file.split(':').next().unwrap_or_default();
    let is_rule = rule.starts_with(|first: char| first.is_ascii_lowercase());
    (place::is_path(path) && is_rule).then(|| Some(place::find(file)))
}

/// Whether a line is one of Biome's last.
fn is_sum(line: &str) -> bool {
    ["Checked ", "Found ", "Skipped ", "The number of diagnostics "].iter().any(|start| line.starts_with(start))
}
