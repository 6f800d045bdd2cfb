//! Job logs: fetched without our token from where the API sends us, and never held whole when they are huge.

use std::collections::VecDeque;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::wire::Broken;

/// The share of a cut log that is its beginning: what was installed and how the tests were started stands there.
const HEAD_SHARE: usize = 4;
/// How often a log is fetched whose transfer breaks.
const MAX_FETCHES: u32 = 3;

/// A job's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobLog {
    /// Its beginning, or all of it when nothing is left out. Foreign bytes.
    pub head: Vec<u8>,
    /// How many bytes are left out after the beginning.
    pub left_out: u64,
    /// Its end. Foreign bytes.
    pub tail: Vec<u8>,
}

impl JobLog {
    /// The log as text without the time that the runner writes before each line, and with a note where bytes are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.left_out > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.left_out).as_bytes());
        }
        // Joined before it is decoded, since the cut may fall inside a letter.
        bytes.extend_from_slice(&self.tail);
        let text = String::from_utf8_lossy(&bytes);
        // The runner writes a byte order mark at the beginning.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        text.lines().map(|line| without_time(line).to_owned() + "\n").collect()
    }
}

/// Strips `2026-02-17T14:23:01.1234567Z `.
fn without_time(line: &str) -> &str {
    const SHORTEST: usize = "2026-02-17T14:23:01Z".len();
    // An empty line has the time and nothing behind it, without the blank where blanks were trimmed.
    let Some((stamp, rest)) = line.split_once(' ').or(Some((line, ""))) else { return line };
    let shape = stamp.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit() || matches!(byte, b'.' | b'Z'),
    });
    if stamp.len() >= SHORTEST && stamp.ends_with('Z') && shape { rest } else { line }
}

/// Keeps the beginning and the end of what it is handed.
#[derive(Debug)]
struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    left_out: u64,
}

impl Ends {
    fn new(max_bytes: usize) -> Self {
        let head_room = max_bytes / HEAD_SHARE;
        Self { head: Vec::new(), tail: VecDeque::new(), head_room, tail_room: max_bytes - head_room, left_out: 0 }
    }

    fn take(&mut self, piece: &[u8]) {
        let room = self.head_room.saturating_sub(self.head.len()).min(piece.len());
        let (first, rest) = piece.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        // After adding, so that a piece longer than the tail is cut as well.
        let over = self.tail.len().saturating_sub(self.tail_room);
        self.tail.drain(..over);
        self.left_out = self.left_out.saturating_add(over as u64);
    }

    fn finish(self) -> JobLog {
        JobLog { head: self.head, left_out: self.left_out, tail: self.tail.into() }
    }
}

impl GitHub {
    /// The log of a job that is over, of which at most `max_bytes` are kept: a quarter from its beginning, the rest from its
    /// end. `None` when there is none (any more).
    ///
    /// # Errors
    /// Any [`GithubError`] but not found.
    pub async fn job_log(&self, job: u64, max_bytes: usize) -> Result<Option<JobLog>, GithubError> {
        let path = self.at(format!("/actions/jobs/{job}/logs"));
        let call = Call::get(path, format!("read the log of job {job}"), Permission::read("actions"));
        let mut ends = Ends::new(max_bytes);
        let fetched = self.download(&call, |attempt, piece| {
            // A download that began anew brings the same once more.
            if attempt == Attempt::Fresh {
                ends = Ends::new(max_bytes);
            }
            ends.take(piece);
            Ok(())
        });
        match fetched.await {
            Ok(()) => Ok(Some(ends.finish())),
            Err(GithubError::NotFound { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Follows a call that answers with a redirect (or with the thing itself) and hands over the pieces.
    pub(super) async fn download(
        &self,
        call: &Call,
        mut take: impl FnMut(Attempt, &[u8]) -> Result<(), Broken>,
    ) -> Result<(), GithubError> {
        let mut fetches = 0;
        loop {
            fetches += 1;
            let answer = self.send(call).await?;
            // Some forges hand out the thing itself.
            if answer.status == 200 {
                return take(Attempt::Fresh, &answer.body).map_err(|broken| told(call, broken, fetches));
            }
            let mut attempt = Attempt::Fresh;
            let fetched = self.shared.wire.fetch_elsewhere(&answer, |piece| {
                let this = std::mem::replace(&mut attempt, Attempt::Continued);
                take(this, piece)
            });
            let broken = match fetched.await? {
                // Only 200 brought something: the storage answers in its own words to all else.
                Ok(200) => {
                    // Nothing was handed over: what an earlier, broken attempt left must go.
                    return match attempt {
                        Attempt::Fresh => take(Attempt::Fresh, &[]).map_err(|broken| told(call, broken, fetches)),
                        Attempt::Continued => Ok(()),
                    };
                }
                Ok(404 | 410) => {
                    let (doing, permission) = (call.doing.clone(), call.permission.clone());
                    return Err(GithubError::NotFound { doing, permission });
                }
                // An address that has expired is made anew by asking again.
                Ok(status) => Broken::Lost(format!("the storage answered with status {status}")),
                Err(broken) => broken,
            };
            if fetches >= MAX_FETCHES || matches!(broken, Broken::TooLarge(_)) {
                return Err(told(call, broken, fetches));
            }
            self.pause(super::limits::trouble_ms(fetches)).await?;
        }
    }
}

/// Whether a piece begins a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Fresh,
    Continued,
}

fn told(call: &Call, broken: Broken, attempts: u32) -> GithubError {
    let doing = call.doing.clone();
    match broken {
        Broken::TooLarge(limit) => GithubError::TooLarge { doing, limit: format!("{} MiB", limit / (1024 * 1024)) },
        Broken::NotSent(reason) | Broken::Lost(reason) => GithubError::Unreachable { doing, reason, attempts },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_log_keeps_its_beginning_and_its_end() {
        let mut ends = Ends::new(40);
        for n in 0..100 {
            ends.take(format!("line {n:02}\n").as_bytes());
        }
        let log = ends.finish();
        assert_eq!((log.head.len(), log.tail.len(), log.left_out), (10, 30, 760));
        let text = log.text();
        assert!(
            text.starts_with("line 00\nli\n[760 bytes left out]\n") && text.ends_with("line 98\nline 99\n"),
            "{text}"
        );
    }

    #[test]
    fn the_runners_times_are_stripped_and_nothing_else() {
        let log = "\u{feff}2026-02-17T14:23:01.1234567Z error: x\n2026-02-17T14:23:01Z\nplain 2026\n2026-02-17 a\n";
        let log = JobLog { head: log.as_bytes().to_vec(), ..JobLog::default() };
        assert_eq!(log.text(), "error: x\n\nplain 2026\n2026-02-17 a\n");
    }
}
