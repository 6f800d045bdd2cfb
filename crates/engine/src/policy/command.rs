//! Commands in comments: their grammar, and who may give which.
//!
//! Pure. A comment is written by anybody. Its first line is a command or it is not, to the letter: nothing is guessed from prose, quotes or
//! hidden characters, and nothing below the first line counts.

use crate::domain::command::Command;
use crate::domain::units::MicroUsd;

/// The word by which upshift is spoken to.
const ADDRESS: &str = "/upshift";
/// The most iterations that one comment adds.
const MOST_ITERATIONS: u32 = 20;
/// The most dollars that one comment adds.
const MOST_DOLLARS: u64 = 1_000;
/// Micro-dollars in a cent.
const CENT: u64 = 10_000;

/// The meaning of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// This.
    Command(Command),
    /// Something that is no command.
    Unknown,
}

/// Reads the first line of a comment.
///
/// ```
/// use upshift_engine::domain::command::Command;
/// use upshift_engine::policy::command::{Said, read};
/// assert_eq!(read("/upshift add 3\nplease"), Said::Command(Command::Add { iterations: 3 }));
/// assert_eq!(read("please /upshift stop"), Said::Nothing);
/// assert_eq!(read("/upshift budget 5"), Said::Unknown);
/// ```
#[must_use]
pub fn read(body: &str) -> Said {
    let line = body.lines().next().unwrap_or_default();
    // Not `split_whitespace`: a no-break space or another one of Unicode's would be read as a blank that nobody sees.
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    // Both are asked: the line begins with the word, and the word ends there (`/upshifted` is none, nor is an
    // indented quote).
    if !line.starts_with(ADDRESS) || words.next() != Some(ADDRESS) {
        return Said::Nothing;
    }
    let words: Vec<&str> = words.map(|word| word.trim_end_matches('\r')).filter(|word| !word.is_empty()).collect();
    let command = match words.as_slice() {
        [] | ["fix"] => Some(Command::Fix),
        ["stop"] => Some(Command::Stop),
        ["retry"] => Some(Command::Retry),
        ["escalate"] => Some(Command::Escalate),
        ["pause"] => Some(Command::Pause),
        ["resume"] => Some(Command::Resume),
        ["add", number] => few(number).map(|iterations| Command::Add { iterations }),
        ["remove", number] => few(number).map(|iterations| Command::Remove { iterations }),
        ["budget", amount] => amount.strip_prefix('+').and_then(dollars).map(|more| Command::Budget { more }),
        _ => None,
    };
    command.map_or(Said::Unknown, Said::Command)
}

/// So many as one comment may add or remove.
fn few(text: &str) -> Option<u32> {
    let number = whole(text).and_then(|number| u32::try_from(number).ok());
    number.filter(|number| (1..=MOST_ITERATIONS).contains(number))
}

/// Digits alone, few enough to be a number that anybody means.
fn whole(text: &str) -> Option<u64> {
    // Four digits also keep the sums below from running over. `parse` alone would take a `+`.
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `2`, `0.5`, `1.25`: more than nothing, up to [`MOST_DOLLARS`], exact.
fn dollars(text: &str) -> Option<MicroUsd> {
    let (whole_part, cents) = text.split_once('.').map_or((text, "00"), |(whole, cents)| (whole, cents));
    let cents = match (cents.len(), whole(cents)?) {
        // `0.5` is fifty cents.
        (1, tenths) => tenths * 10,
        (2, cents) => cents,
        _ => return None,
    };
    let cents = whole(whole_part)? * 100 + cents;
    (cents > 0 && cents <= MOST_DOLLARS * 100).then_some(MicroUsd(cents * CENT))
}

/// Somebody's permission in the repository, as far as commands ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Not write: a stranger, whose words are passed over.
    Stranger,
    /// Push.
    Writer,
    /// Change settings too.
    Maintainer,
}

/// Whether somebody of this rank may give a command. A writer may start, stop and steer a run. The budget is a setting, so raising it needs
/// the right to change settings. The caps per pull request and per day are never raised by a comment.
#[must_use]
pub fn may(rank: Rank, command: Command) -> bool {
    match command {
        Command::Fix
        | Command::Stop
        | Command::Retry
        | Command::Escalate
        | Command::Add { .. }
        | Command::Pause
        | Command::Resume
        | Command::Remove { .. } => rank >= Rank::Writer,
        Command::Budget { .. } => rank >= Rank::Maintainer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_exact() {
        let table = [
            ("/upshift", Said::Command(Command::Fix)),
            ("/upshift fix", Said::Command(Command::Fix)),
            ("/upshift  stop \r\nnow", Said::Command(Command::Stop)),
            ("/upshift retry", Said::Command(Command::Retry)),
            ("/upshift escalate", Said::Command(Command::Escalate)),
            ("/upshift add 20", Said::Command(Command::Add { iterations: 20 })),
            ("/upshift pause", Said::Command(Command::Pause)),
            ("/upshift resume", Said::Command(Command::Resume)),
            ("/upshift remove 3", Said::Command(Command::Remove { iterations: 3 })),
            ("/upshift budget +2", Said::Command(Command::Budget { more: MicroUsd(2_000_000) })),
            ("/upshift budget +0.5", Said::Command(Command::Budget { more: MicroUsd(500_000) })),
            ("/upshift budget +1000", Said::Command(Command::Budget { more: MicroUsd(1_000_000_000) })),
        ];
        for (body, said) in table {
            assert_eq!(read(body), said, "{body:?}");
        }
        for body in [
            "",
            "fix",
            " /upshift stop",
            "> /upshift stop",
            "hello\n/upshift stop",
            "/upshifts stop",
            "`/upshift stop`",
        ] {
            assert_eq!(read(body), Said::Nothing, "{body:?}");
        }
        for rest in [
            "Stop",
            "stop now",
            "add",
            "remove 0",
            "pause now",
            "add 0",
            "add 21",
            "add -1",
            "add 3.5",
            "add 99999999999999999999",
            "add ٣",
            "budget 5",
            "budget +",
            "budget +0",
            "budget +1e3",
            "budget +1001",
            "budget +1.234",
            "budget +$5",
            "budget +.5",
            "budget -5",
            "st\u{200b}op",
            "--max-cost-usd 9",
            "$(stop)",
        ] {
            assert_eq!(read(&format!("/upshift {rest}")), Said::Unknown, "{rest:?}");
        }
    }

    #[test]
    fn the_budget_is_for_those_who_may_change_settings() {
        let budget = Command::Budget { more: MicroUsd(1) };
        assert!(!may(Rank::Writer, budget) && may(Rank::Maintainer, budget));
        for command in [Command::Fix, Command::Stop, Command::Retry, Command::Escalate, Command::Add { iterations: 1 }]
        {
            assert!(!may(Rank::Stranger, command) && may(Rank::Writer, command), "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_read_is_written_the_same_and_nothing_makes_it_fail(body in "(/upshift|add|budget|stop| |\\+|[0-9]|\\.|\n|\\PC){0,8}") {
            if let Said::Command(command) = read(&body) {
                proptest::prop_assert_eq!(read(&command.to_string()), Said::Command(command));
            }
        }
    }
}
