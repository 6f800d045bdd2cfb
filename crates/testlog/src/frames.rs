//! Takes off what CI systems and process managers put around each line of a log.
//!
//! GitHub Actions and Azure: a time stamp, `##[group]` and `##[endgroup]`. `gh run view --log`: job, step, time stamp. GitLab: sections,
//! and time stamps with a stream mark. Jenkins: a time stamp in brackets. Docker compose: `service-1  | `. Nothing of the line behind the
//! frame is changed. Runners that work on several packages at once, and mix their lines, are taken apart by [`super::lanes`].

use super::lanes::Lanes;

/// State that must be remembered between lines.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The service name of the last line that looked as if it came from docker compose.
    service: String,
    /// Whether the text at hand holds a tab, by which two of the frames are told. Most texts hold none.
    tabs: bool,
    bars: bool,
    /// The lines of packages whose tasks run side by side.
    lanes: Lanes,
    /// A framework has spoken: what announces tasks now was printed by its tests.
    spoken: bool,
}

impl Frames {
    /// Gets ready for the lines of a text.
    pub(super) fn look_at(&mut self, text: &str) {
        self.tabs = memchr::memchr(b'\t', text.as_bytes()).is_some();
        self.bars = memchr::memchr(b'|', text.as_bytes()).is_some();
    }

    /// A framework has spoken.
    pub(super) const fn framework_speaks(&mut self) {
        self.spoken = true;
    }

    /// The part of the lines held back that is ready, when there is one: whole lines without their frames.
    pub(super) fn ready(&mut self) -> Option<String> {
        self.lanes.ready()
    }

    /// The rest of the lines that were held back.
    pub(super) fn rest(&mut self) -> String {
        self.lanes.rest()
    }

    /// The line without its frame, which is its end. `None` when the line was all frame, or is held back.
    #[inline]
    pub(super) fn strip<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        // What every frame begins with; most lines end here.
        let framed = match line.as_bytes().first() {
            Some(b'0'..=b'9' | b'[' | 0xEF | b's' | b'#' | b':') => true,
            Some(0xE2 | b'S') => self.lanes.are_open() || (!self.spoken && Lanes::begin(line)),
            Some(_) if self.lanes.are_open() => true,
            Some(byte) => (self.tabs || self.bars) && byte.is_ascii_alphabetic(),
            None => false,
        };
        if framed { self.strip_frame(line) } else { Some(line) }
    }

    fn strip_frame<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let mut line = self.strip_time(line);
        if self.bars
            && let Some(rest) = self.strip_service(line)
        {
            line = rest;
        }
        if line.starts_with("section_") {
            line = strip_section(line)?;
        }
        if line.starts_with("##[") || line.starts_with("::") {
            const DROPPED: [&str; 4] = ["##[endgroup]", "::endgroup::", "##[group]", "::group::"];
            if let Some(title) = DROPPED.iter().find_map(|mark| line.strip_prefix(mark)) {
                // Jest's reporter for GitHub prints failures once more in a group: its reader must know.
                return title.starts_with(crate::readers::jest::REPETITION).then_some(title);
            }
        }
        if self.spoken && !self.lanes.are_open() { Some(line) } else { self.lanes.take(line) }
    }

    fn strip_time<'a>(&self, line: &'a str) -> &'a str {
        let bytes = line.as_bytes();
        match bytes.first() {
            Some(b'0'..=b'9') => strip_stamp(line).unwrap_or(line),
            Some(b'[') => bracketed_stamp(line).unwrap_or(line),
            Some(0xEF) => line.strip_prefix('\u{feff}').map_or(line, |line| self.strip_time(line)),
            Some(byte) if self.tabs && byte.is_ascii_alphanumeric() => {
                // `gh run view --log` writes job, tab, step, tab, time stamp, and the text.
                let Some(tab) = memchr::memchr(b'\t', bytes.get(..bytes.len().min(200)).unwrap_or_default()) else {
                    return line;
                };
                let after_job = line.get(tab + 1..).unwrap_or_default();
                let step = after_job.split_once('\t').map(|(_, text)| text.trim_start_matches('\u{feff}'));
                step.and_then(strip_stamp).unwrap_or(line)
            }
            _ => line,
        }
    }

    /// `web-1  | text` → `text`, when the name is numbered or was on the line before too.
    fn strip_service<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        const LONGEST_NAME: usize = 48;
        let first = *line.as_bytes().first()?;
        if !first.is_ascii_alphabetic() {
            return None;
        }
        let window = line.as_bytes().get(..LONGEST_NAME.min(line.len()))?;
        let bar = memchr::memchr(b'|', window)?;
        let (name, rest) = line.split_at_checked(bar)?;
        let name_only = name.trim_end_matches(' ');
        let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let rest = rest.strip_prefix("| ").or_else(|| (rest == "|").then_some(""))?;
        if name_only.len() == name.len() || !is_name(name_only) {
            return None;
        }
        // `shop-1  | ` is of compose. A name without a number has to come twice in a row, as a line of a table may look the same.
        let numbered = name_only.rsplit_once(['-', '_']).is_some_and(|(_, number)| {
            !number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if numbered || self.service == name_only {
            return Some(rest);
        }
        self.service.clear();
        self.service.push_str(name_only);
        None
    }
}

/// `2026-01-02T03:04:05.6789012Z text` → `text`. GitLab adds a stream mark (`00O `, `00E+`).
fn strip_stamp(line: &str) -> Option<&str> {
    let length = stamp_length(line.as_bytes())?;
    let rest = line.get(length..)?;
    let Some(rest) = rest.strip_prefix(' ') else {
        return rest.is_empty().then_some("");
    };
    let mark = rest.as_bytes();
    let is_stream =
        matches!(mark, [a, b, b'O' | b'E', b' ' | b'+', ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    Some(if is_stream { rest.get(4..)? } else { rest })
}

fn bracketed_stamp(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let length = stamp_length(inner.as_bytes())?;
    let rest = inner.get(length..)?.strip_prefix(']')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// The length of an RFC 3339 time stamp in UTC at the start.
fn stamp_length(bytes: &[u8]) -> Option<usize> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let head = bytes.get(..SHAPE.len())?;
    // Dates of other forms are many, and differ here.
    if head.get(10) != Some(&b'T') {
        return None;
    }
    let fits = head.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        mark => byte == mark,
    });
    if !fits {
        return None;
    }
    let fraction = bytes.iter().skip(SHAPE.len()).take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let end = SHAPE.len() + fraction;
    (bytes.get(end) == Some(&b'Z')).then_some(end + 1)
}

/// Drops GitLab's `section_start:1700000000:name` marks. The text behind them, if any, stays.
fn strip_section(line: &str) -> Option<&str> {
    let mark = line.strip_prefix("section_start:").or_else(|| line.strip_prefix("section_end:"));
    match mark {
        Some(_) => None,
        None => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(lines: &[&str]) -> Vec<String> {
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        for line in lines {
            frames.look_at(line);
            seen.extend(frames.strip(line).map(str::to_owned));
        }
        seen
    }

    #[test]
    fn time_stamps_are_taken_off() {
        let seen = strip(&[
            "2026-01-02T03:04:05.6789012Z     FAILED x",
            "2026-01-02T03:04:05.678901Z 00O text",
            "[2026-01-02T03:04:05.678Z] text",
            "test\tRun tests\t2026-01-02T03:04:05.6789012Z text",
            "2026-01-02T03:04:05.6789012Z ##[group]Run make",
            "2026-01-02 is no stamp",
        ]);
        assert_eq!(seen, ["    FAILED x", "text", "text", "text", "2026-01-02 is no stamp"]);
    }

    #[test]
    fn compose_prefixes_are_taken_off_and_tables_are_not() {
        let seen = strip(&["tests-1  | FAILED x", "web | a", "web | b", "12 | let x = 1;", "file.js | 100 |", "a|b"]);
        assert_eq!(seen, ["FAILED x", "web | a", "b", "12 | let x = 1;", "file.js | 100 |", "a|b"]);
    }
}
