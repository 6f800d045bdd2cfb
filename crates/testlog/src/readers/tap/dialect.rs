//! The dialect of a TAP log, told by the signs that only one tool writes.

use super::result::TapResult;
use crate::needle::Seek as _;

/// The writer of the TAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Node,
    Vitest,
    /// node-tap: its subtests hold assertions, which are the tests.
    NodeTap,
    Ava,
    Mocha,
    Deno,
    Busted,
    Bats,
    Perl,
    Unknown,
}

impl Dialect {
    /// The name in reports.
    pub(super) const fn framework(self) -> &'static str {
        match self {
            Self::Node => "node-test",
            Self::Vitest => "vitest",
            Self::Ava => "ava",
            Self::Mocha => "mocha",
            Self::Deno => "deno-test",
            Self::Busted => "busted",
            Self::Bats => "bats",
            Self::Perl => "prove",
            Self::NodeTap | Self::Unknown => "tap",
        }
    }
}

/// The signs that tell the dialects apart.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent observation")]
pub(super) struct Clues {
    pub(super) bats: bool,
    pub(super) subtest: bool,
    /// A result with ` - ` before its name.
    pub(super) dash: bool,
    /// The YAML block that is open says that the result is a suite's.
    pub(super) suite: bool,
    plain: bool,
    timed: bool,
    version: Option<u64>,
    duration: bool,
    ava: bool,
    deno: bool,
    busted: bool,
    perl: bool,
    /// Explained in YAML as tape and QUnit do.
    explained: bool,
    trailer: bool,
    /// The level of the result before.
    level: usize,
}

impl Clues {
    pub(super) fn version(&mut self, line: &str) {
        self.version = line.strip_prefix("TAP version ").and_then(|number| number.trim().parse().ok());
    }

    pub(super) fn yaml(&mut self, text: &str) {
        match text.as_bytes().first() {
            Some(b'd') => self.duration |= text.starts_with("duration_ms: "),
            Some(b't') => self.suite |= text == "type: 'suite'",
            Some(b'a') => self.ava |= text.starts_with("assertion: t."),
            Some(b'(') => self.ava |= text.holds("/ava/lib/"),
            Some(b'o') => self.explained |= text.starts_with("operator: "),
            Some(b's') => self.explained |= text.starts_with("severity: "),
            Some(b'{') => self.deno |= text.starts_with("{\"message\":"),
            _ => {}
        }
        self.ava |= text == "message: Error thrown in test";
    }

    /// A comment, which may explain a result that is not one of a passing test.
    pub(super) fn comment(&mut self, comment: &str, may_explain: bool) {
        if may_explain && memchr::memchr2(b'@', b',', comment.as_bytes()).is_some() {
            self.busted |= comment.holds("_spec.lua @ ");
            self.bats |= comment.holds(", line ") && comment.holds("in test file ");
        }
        match comment.trim_ascii_start().as_bytes().first() {
            Some(b'.') => self.deno |= self.version == Some(14) && comment.starts_with("./"),
            Some(b'F') => {
                let text = comment.trim_ascii_start();
                self.perl |= text.starts_with("Failed test") || text.starts_with("Failed (TODO) test");
                self.busted |= text.starts_with("Failure message: ");
            }
            Some(b'L') => self.perl |= comment.starts_with("Looks like you"),
            _ => {}
        }
    }

    pub(super) fn output(&mut self, line: &str) {
        self.deno |= line == "error: Test failed";
    }

    pub(super) fn result(&mut self, result: &TapResult<'_>) {
        self.dash |= result.dash;
        self.plain |= !result.dash && !result.name.is_empty();
        self.timed |= result.timed;
        self.suite = false;
    }

    /// Whether results deeper than `level` stood just before, which makes this one their parent. Remembers `level`.
    pub(super) fn deepest_since(&mut self, level: usize) -> bool {
        std::mem::replace(&mut self.level, level) > level
    }

    pub(super) const fn saw_trailer(&mut self) {
        self.trailer = true;
    }

    /// Whether nested results are tests of their own.
    pub(super) const fn is_nested(&self) -> bool {
        self.timed || self.duration
    }

    /// Whether something was seen that only one of the known tools writes.
    pub(super) const fn is_evident(&self) -> bool {
        self.bats || self.perl || self.busted || self.ava || self.deno || self.timed || (self.duration && self.subtest)
    }

    pub(super) const fn is_perl(&self) -> bool {
        self.perl
    }

    pub(super) const fn dialect(&self) -> Dialect {
        if self.duration && self.subtest {
            Dialect::Node
        } else if self.timed && self.subtest {
            Dialect::NodeTap
        } else if self.timed {
            Dialect::Vitest
        } else if self.deno {
            Dialect::Deno
        } else if self.ava {
            Dialect::Ava
        } else if self.busted {
            Dialect::Busted
        } else if self.perl {
            Dialect::Perl
        } else if self.explained {
            Dialect::Unknown
        } else if self.plain && !self.dash && self.trailer {
            // Bats writes no numbers at the end.
            Dialect::Mocha
        } else if self.bats || !self.dash {
            // No dash stands before the names of Bats.
            Dialect::Bats
        } else {
            Dialect::Unknown
        }
    }
}

/// `one is a hundred in 16ms` → `one is a hundred`: Bats' timing.
pub(super) fn without_timing(name: &str) -> &str {
    match name.cut_last(" in ") {
        Some((head, time))
            if time
                .strip_suffix("ms")
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())) =>
        {
            head
        }
        _ => name,
    }
}

/// Whether the first words of Busted's explanation are an error of Lua: `Failure message: a.lua:11: attempt to index …`.
pub(super) fn is_lua_error(message: &str) -> bool {
    const SAYS: [&str; 2] = ["attempt to ", "module '"];
    let Some((_, text)) = message.cut("Failure message: ") else { return false };
    let first = text.lines().next().unwrap_or_default();
    let said =
        first.cut(".lua:").map_or(first, |(_, rest)| rest.trim_start_matches(|byte: char| byte.is_ascii_digit()));
    let said = said.trim_start_matches(": ");
    SAYS.iter().any(|start| said.starts_with(start))
}
