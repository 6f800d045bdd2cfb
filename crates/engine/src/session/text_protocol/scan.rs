//! Parts a reply into edits, whole files, other code blocks and prose.
//!
//! Markers of an edit count before fences, because models put fences around, inside and between them as they like.
//! Text that cannot be told apart for certain is refused with a reason.

use super::paths;

/// A piece of a reply, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A SEARCH/REPLACE block.
    Edit { path: String, search: String, replace: String },
    /// A code block with a path.
    File { path: String, naming: Naming, header: Option<String>, content: String },
    /// A code block without a path.
    Code(String),
    /// Lines outside blocks.
    Prose(String),
    /// A block that cannot be used.
    Broken { path: String, why: String },
}

/// How a code block got its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// It stands at the block, for nothing else.
    Stated,
    /// A sentence before the block has it.
    Mentioned,
}

const AMBIGUOUS_FENCES: &str = "the ``` lines do not pair up, so where the file ends is not certain. Nothing was \
                                written. Put ~~~~ lines around the file, or use a SEARCH/REPLACE block.";

/// Parts a reply. The pieces come in the order of the text.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut scanner = Scanner { lines, at: 0, pieces: Vec::new(), last_path: None, unpaired: false };
    scanner.run();
    let unpaired = scanner.unpaired;
    scanner.pieces.into_iter().map(|piece| if unpaired { doubt(piece) } else { piece }).collect()
}

/// With unpaired fences in a reply no whole file of it can be trusted to be whole.
fn doubt(piece: Piece) -> Piece {
    match piece {
        Piece::File { path, .. } => Piece::Broken { path, why: AMBIGUOUS_FENCES.to_owned() },
        Piece::Edit { .. } | Piece::Code(_) | Piece::Prose(_) | Piece::Broken { .. } => piece,
    }
}

struct Scanner<'a> {
    lines: Vec<&'a str>,
    at: usize,
    pieces: Vec<Piece>,
    /// The path of the edit before, for blocks that follow each other.
    last_path: Option<String>,
    unpaired: bool,
}

struct Fence<'a> {
    sign: char,
    length: usize,
    info: &'a str,
}

impl<'a> Scanner<'a> {
    fn line(&self, at: usize) -> Option<&'a str> {
        self.lines.get(at).copied()
    }

    fn run(&mut self) {
        let mut prose: Vec<&str> = Vec::new();
        while let Some(line) = self.line(self.at) {
            if opener(line).is_some() {
                self.flush(&mut prose);
                self.edit(None);
            } else if let Some(fence) = fence(line) {
                self.flush(&mut prose);
                self.fenced(&fence);
            } else {
                prose.push(line);
                self.at += 1;
            }
        }
        self.flush(&mut prose);
    }

    fn flush(&mut self, prose: &mut Vec<&str>) {
        if prose.iter().any(|line| !line.trim().is_empty()) {
            self.pieces.push(Piece::Prose(prose.join("\n")));
        }
        prose.clear();
    }

    /// The nearest line before `at` that is not blank, at most one blank line away, and is no fence.
    fn line_before(&self, at: usize) -> Option<&'a str> {
        // Models like a blank line between a path and its block.
        let near = (1..=2).filter_map(|back| self.line(at.checked_sub(back)?)).find(|line| !line.trim().is_empty());
        near.filter(|line| fence(line).is_none() && closer(line).is_none())
    }

    /// Reads one SEARCH/REPLACE block. `self.at` is at its opener.
    fn edit(&mut self, block_path: Option<&str>) {
        let start = self.at;
        let (length, tail) = self.line(start).and_then(opener).unwrap_or((0, ""));
        let before = self.line_before(start);
        // From the surest place to the least sure one: at the marker, on the line before, at the fence, in a sentence, at the last edit.
        let path = paths::alone(tail)
            .or_else(|| before.and_then(|line| paths::alone(line).or_else(|| paths::in_comment(line))))
            .or_else(|| block_path.map(str::to_owned))
            .or_else(|| before.and_then(paths::mentioned))
            .or_else(|| self.last_path.clone());
        self.at += 1;
        let mut body: Vec<&str> = Vec::new();
        let mut closed = false;
        // Another opener ends a block without an end, so that it does not swallow the next edit.
        while let Some(line) = self.line(self.at).filter(|line| opener(line).is_none()) {
            self.at += 1;
            if closer(line).is_some() {
                closed = true;
                break;
            }
            body.push(line);
        }
        let named = path.clone().unwrap_or_default();
        let broken = |why: &str| Piece::Broken { path: named.clone(), why: format!("{why} Nothing was changed.") };
        let piece = if !closed {
            broken("this block has no >>>>>>> REPLACE line at its end.")
        } else if let Some(path) = path {
            self.last_path = Some(path.clone());
            match divide(&body, length) {
                Ok((search, replace)) => Piece::Edit { path, search, replace },
                Err(why) => broken(why),
            }
        } else {
            broken("no file is named: put its path on the line before <<<<<<< SEARCH.")
        };
        self.pieces.push(piece);
    }

    /// Reads one fenced block. `self.at` is at its opening line.
    fn fenced(&mut self, fence: &Fence<'_>) {
        let start = self.at;
        let before = self.line_before(start);
        let stated = paths::in_info(fence.info).or_else(|| before.and_then(paths::alone));
        let mentioned = before.and_then(paths::mentioned);
        self.at += 1;
        let mut content: Vec<&str> = Vec::new();
        let (mut edits, mut closed, mut nested) = (false, false, false);
        while let Some(line) = self.line(self.at) {
            if opener(line).is_some() {
                edits = true;
                self.edit(stated.as_deref().or(mentioned.as_deref()));
                continue;
            }
            self.at += 1;
            if fence.is_closed_by(line) {
                closed = true;
                break;
            }
            nested |= fence.is_like(line);
            content.push(line);
        }
        // The fence was only put around them.
        if edits {
            return;
        }
        // A fence inside of another one may be the real end of it.
        self.unpaired |= !closed || nested;
        self.pieces.push(whole_file(fence, stated, mentioned, &content));
    }
}

/// The piece that a fenced block without edits makes.
fn whole_file(fence: &Fence<'_>, stated: Option<String>, mentioned: Option<String>, content: &[&str]) -> Piece {
    let header = content.first().filter(|line| paths::in_comment(line).is_some()).map(|line| (*line).to_owned());
    let in_header = header.as_deref().and_then(paths::in_comment);
    let (path, naming) = match (stated, in_header.clone(), mentioned) {
        (Some(path), _, _) | (None, Some(path), _) => (path, Naming::Stated),
        (None, None, Some(path)) => (path, Naming::Mentioned),
        (None, None, None) => return Piece::Code(content.join("\n")),
    };
    // Only a comment that names this very file is no part of it.
    let header = header.filter(|_| in_header.as_deref() == Some(path.as_str()));
    let body = content.get(usize::from(header.is_some())..).unwrap_or_default();
    let language = fence.info.split_whitespace().next().unwrap_or_default();
    let is_diff = matches!(language, "diff" | "patch")
        || body.iter().any(|line| line.starts_with("@@ -"))
        || body.first().is_some_and(|line| line.starts_with("--- ") || line.starts_with("diff --git"));
    if is_diff {
        let why = "diffs are not understood here. Nothing was changed. Use a SEARCH/REPLACE block.".to_owned();
        return Piece::Broken { path, why };
    }
    if body.iter().all(|line| line.trim().is_empty()) {
        let why = "the block is empty. Nothing was written. To remove a file, write DELETE and its path.".to_owned();
        return Piece::Broken { path, why };
    }
    let mut text = body.join("\n");
    text.push('\n');
    Piece::File { path, naming, header, content: text }
}

/// Parts the lines of a block at its divider.
fn divide(body: &[&str], length: usize) -> Result<(String, String), &'static str> {
    let dividers = |exact: bool| -> Vec<usize> {
        let is_divider = |line: &str| {
            let count = run_of(line.trim(), '=');
            count.is_some_and(|count| if exact { count == length } else { (5..=9).contains(&count) })
        };
        body.iter().enumerate().filter(|(_, line)| is_divider(line)).map(|(index, _)| index).collect()
    };
    let (all, same_length) = (dividers(false), dividers(true));
    let at = match (all.as_slice(), same_length.as_slice()) {
        // A row of `=` in the text itself is told from the divider by the length of the other markers.
        ([at], _) | (_, [at]) => *at,
        ([], _) => return Err("this block has no ======= line between the old and the new text."),
        _ => {
            return Err("this block has more than one ======= line, so where the old text ends is not certain: write \
                        all three markers with nine signs.");
        }
    };
    let part = |lines: Option<&[&str]>| lines.unwrap_or_default().join("\n");
    Ok((part(body.get(..at)), part(body.get(at + 1..))))
}

/// The length of a text that is nothing but one sign.
fn run_of(text: &str, sign: char) -> Option<usize> {
    (!text.is_empty() && text.chars().all(|c| c == sign)).then_some(text.len())
}

/// `<<<<<<< SEARCH`: the number of signs and what follows the word.
fn opener(line: &str) -> Option<(usize, &str)> {
    marker(line, '<', &["SEARCH", "ORIGINAL"])
}

/// `>>>>>>> REPLACE`, or the bare signs.
fn closer(line: &str) -> Option<(usize, &str)> {
    let bare = run_of(line.trim(), '>').filter(|count| (5..=9).contains(count)).map(|count| (count, ""));
    bare.or_else(|| marker(line, '>', &["REPLACE", "UPDATED"]).filter(|(_, tail)| tail.is_empty()))
}

fn marker<'a>(line: &'a str, sign: char, words: &[&str]) -> Option<(usize, &'a str)> {
    let trimmed = line.trim();
    let rest = trimmed.trim_start_matches(sign);
    let count = trimmed.len() - rest.len();
    let rest = rest.trim_start();
    let word = words.iter().find(|word| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)))?;
    let tail = rest.get(word.len()..).filter(|tail| tail.is_empty() || tail.starts_with([' ', ':', '\t']))?;
    (5..=9).contains(&count).then(|| (count, tail.trim_start_matches(':').trim()))
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let trimmed = line.trim();
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = trimmed.trim_start_matches(sign);
    let length = trimmed.len() - info.len();
    // Backticks with another one behind them are code within a line.
    (length >= 3 && !(sign == '`' && info.contains('`'))).then(|| Fence { sign, length, info: info.trim() })
}

impl Fence<'_> {
    fn is_closed_by(&self, line: &str) -> bool {
        run_of(line.trim(), self.sign).is_some_and(|length| length >= self.length)
    }

    /// Whether a line inside would open a block of the same sort: then the real end is not certain.
    fn is_like(&self, line: &str) -> bool {
        fence(line).is_some_and(|other| other.sign == self.sign && other.length >= self.length)
    }
}

#[cfg(test)]
#[path = "scan/tests.rs"]
mod tests;
