//! Tool output on its way to a model: redacted by the caller, capped here.
//!
//! An output above the limit is kept behind a handle and replaced by its head and tail (S1-10). All outputs of a session together have a
//! budget. Results are admitted one after the other, in the order of their calls, by the one task that owns this: that is the mutex that
//! the seeds ask for.

/// Bytes of the head and of the tail that a preview shows: failures stand at the end of logs, causes at the beginning.
const PREVIEW_BYTES: usize = 3_072;
/// The most bytes of one kept output. A longer one is cut in the middle when it is kept.
const MAX_KEPT_BYTES: usize = 1_000_000;
/// The most outputs that are kept. The oldest goes first.
const MAX_KEPT: usize = 16;
/// Characters of a line that `read_output` shows: minified files have lines of megabytes.
const MAX_LINE_CHARS: usize = 2_000;

/// The outputs of one session.
#[derive(Debug)]
pub(super) struct Outputs {
    max_result: usize,
    left: usize,
    next: usize,
    kept: Vec<(String, String)>,
}

impl Outputs {
    /// An empty store with a limit per result and a budget for all.
    pub(super) fn new(max_result: usize, max_total: usize) -> Self {
        Self { max_result, left: max_total, next: 1, kept: Vec::new() }
    }

    /// The part of an output that the model is shown.
    pub(super) fn admit(&mut self, text: String) -> String {
        let shown = if text.len() > self.max_result { self.keep(text) } else { text };
        if shown.len() > self.left {
            // Not counted, so that a shorter one may still be shown.
            return "The output was left out: this session's budget for tool output is used up. \
                    Finish with what you know."
                .to_owned();
        }
        self.left -= shown.len();
        shown
    }

    fn keep(&mut self, text: String) -> String {
        let handle = format!("out-{}", self.next);
        self.next += 1;
        // Both halves, and the line between them, stay below the limit.
        let half = PREVIEW_BYTES.min(self.max_result / 3);
        let (lines, bytes) = (text.lines().count(), text.len());
        let (head, tail) = (head(&text, half), tail(&text, half));
        let shown = format!(
            "{head}\n[… {lines} lines, {bytes} bytes in all: read the rest with read_output(handle \"{handle}\", \
             start_line, end_line) …]\n{tail}"
        );
        let text = if bytes > MAX_KEPT_BYTES {
            format!(
                "{}\n[… cut here …]\n{}",
                self::head(&text, MAX_KEPT_BYTES / 2),
                self::tail(&text, MAX_KEPT_BYTES / 2)
            )
        } else {
            text
        };
        if self.kept.len() >= MAX_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((handle, text));
        shown
    }

    /// `read_output`: lines of a kept output, as many as one result may have.
    ///
    /// # Errors
    /// An unknown handle or an empty range, in words for the model.
    pub(super) fn read(&self, handle: &str, start: Option<u64>, end: Option<u64>) -> Result<String, String> {
        let Some((_, text)) = self.kept.iter().find(|(name, _)| name == handle.trim()) else {
            let known: Vec<&str> = self.kept.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("there is no output `{handle}`; kept outputs: {known}"));
        };
        let total = text.lines().count();
        let first = start.map_or(1, |line| usize::try_from(line).unwrap_or(usize::MAX));
        let last = end.map_or(total, |line| usize::try_from(line).unwrap_or(usize::MAX)).min(total);
        if first > last {
            return Err(format!("lines {first} to {last} are none: `{handle}` has {total} lines"));
        }
        // Less the line that tells which part this is.
        let room = self.max_result.saturating_sub(100);
        let mut shown = String::new();
        let mut reached = first;
        for (index, line) in text.lines().enumerate().skip(first - 1).take(last + 1 - first) {
            let line = cut_line(line);
            // One line is shown in any case, or a model would never come past a long one.
            if shown.len() + line.len() + 1 > room && index + 1 > first {
                break;
            }
            shown.push_str(&line);
            shown.push('\n');
            reached = index + 1;
        }
        let more = if reached < last { format!("; go on at start_line {}", reached + 1) } else { String::new() };
        Ok(format!("[{handle}: lines {first} to {reached} of {total}{more}]\n{shown}"))
    }
}

fn cut_line(line: &str) -> String {
    let mut chars = line.chars();
    let head: String = chars.by_ref().take(MAX_LINE_CHARS).collect();
    let rest = chars.as_str().len();
    if rest == 0 { head } else { format!("{head} [… {rest} bytes more in this line]") }
}

/// The first lines that fit. The first bytes, on a character boundary, when not even one line fits.
fn head(text: &str, bytes: usize) -> &str {
    let cut = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    cut.rfind('\n').and_then(|at| cut.get(..at)).unwrap_or(cut)
}

/// The last lines that fit, likewise.
fn tail(text: &str, bytes: usize) -> &str {
    let cut = text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default();
    cut.find('\n').and_then(|at| cut.get(at + 1..)).filter(|rest| !rest.is_empty()).unwrap_or(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn small_outputs_pass_unchanged() {
        let mut outputs = Outputs::new(12_288, 100_000);
        assert_eq!(outputs.admit("a\nb".to_owned()), "a\nb");
        assert_eq!(outputs.admit("x".repeat(12_288)).len(), 12_288, "the limit itself is allowed");
    }

    #[test]
    fn a_large_output_becomes_head_tail_and_a_handle_that_reads_the_rest() {
        let mut outputs = Outputs::new(12_288, 100_000);
        let shown = outputs.admit(numbered(5_000));
        assert!(shown.len() < 7_000);
        assert!(shown.starts_with("line 1\n") && shown.ends_with("line 5000\n"), "{shown}");
        assert!(shown.contains("5000 lines") && shown.contains("\"out-1\""), "{shown}");
        let middle = outputs.read("out-1", Some(2_500), Some(2_501)).unwrap();
        assert_eq!(middle, "[out-1: lines 2500 to 2501 of 5000]\nline 2500\nline 2501\n");
    }

    #[test]
    fn reading_a_kept_output_is_capped_and_says_where_to_go_on() {
        let mut outputs = Outputs::new(1_000, 100_000);
        outputs.admit(numbered(500));
        let page = outputs.read("out-1", None, None).unwrap();
        assert!(page.len() <= 1_000);
        let next: usize = page.split("start_line ").nth(1).unwrap().split(']').next().unwrap().parse().unwrap();
        assert!(outputs.read("out-1", Some(next as u64), None).unwrap().contains(&format!("\nline {next}\n")));
    }

    #[test]
    fn wrong_handles_and_ranges_are_said() {
        let mut outputs = Outputs::new(10, 1_000);
        assert!(outputs.read("out-1", None, None).unwrap_err().contains("kept outputs: none"));
        outputs.admit("0123456789ab".to_owned());
        assert!(outputs.read("out-9", None, None).unwrap_err().contains("kept outputs: out-1"));
        assert!(outputs.read("out-1", Some(9), None).unwrap_err().contains("has 1 lines"));
    }

    #[test]
    fn the_budget_of_a_session_is_never_passed() {
        let mut outputs = Outputs::new(100, 150);
        let total: usize = (0..10)
            .map(|_| outputs.admit("x".repeat(60)))
            .filter(|text| text.starts_with('x'))
            .map(|text| text.len())
            .sum();
        assert_eq!(total, 120);
    }

    #[test]
    fn a_single_huge_line_of_wide_characters_is_cut_between_characters() {
        let mut outputs = Outputs::new(1_000, 100_000);
        let shown = outputs.admit("ü".repeat(100_000));
        assert!(shown.contains("out-1") && shown.len() < 1_200);
        assert!(outputs.read("out-1", None, None).unwrap().contains("bytes more in this line"));
    }
}
