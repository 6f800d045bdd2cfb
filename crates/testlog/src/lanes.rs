//! Takes apart what runs the tasks of several packages side by side: their lines come mixed, each behind its package's name.
//!
//! Turborepo, once it said so: `package:task: text`. pnpm: `folder task: text`, once it announced `folder task$ command`.
//! concurrently and npm-run-all (`--print-label`): `[name] text`, once npm announced `[name] > package@version script`.
//! The lines of each package are held back, and given out together when its task has ended.
//!
//! Invariant: at most [`MOST_HELD`] bytes are held. Anything more is given out before its task has ended.

/// The first words of Turborepo.
const TURBOREPO: &str = "• Packages in scope: ";
/// The first words of pnpm, and the end of that line.
const PNPM: (&str, &str) = ("Scope: ", " workspace projects");
/// The most text that is held back.
const MOST_HELD: usize = 8 * 1024 * 1024;
/// The most packages that are told apart.
const MOST_LANES: usize = 512;
/// How long the name of a package and its task may be.
const LONGEST_NAME: usize = 200;

/// The runner of the tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Runner {
    #[default]
    Nobody,
    Turborepo,
    Pnpm,
    /// concurrently, or npm-run-all.
    Labelled,
}

/// The lines of each package.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    runner: Runner,
    open: Vec<Lane>,
    held: usize,
    /// Text of tasks that have ended, and text that was too much to be held.
    ready: String,
}

#[derive(Debug)]
struct Lane {
    /// The label that its lines begin with.
    name: String,
    text: String,
}

impl Lanes {
    /// Whether a line announces tasks side by side.
    pub(super) fn begin(line: &str) -> bool {
        runner_of(line).is_some()
    }

    /// Whether lines may belong to packages.
    pub(super) fn are_open(&self) -> bool {
        self.runner != Runner::Nobody
    }

    /// Takes a line. One that is no package's is given back. After one that is not, something may be [`Self::ready`].
    pub(super) fn take<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        if let Some(runner) = runner_of(line) {
            self.runner = runner;
            return Some(line);
        }
        if matches!(self.runner, Runner::Nobody | Runner::Labelled)
            && let Some((label, text)) = labelled(line)
            && is_announced_by_npm(text)
        {
            self.runner = Runner::Labelled;
            self.lane(label);
            return Some(line);
        }
        match self.runner {
            Runner::Nobody => Some(line),
            Runner::Labelled => self.of_label(line),
            Runner::Turborepo => match of_turborepo(line) {
                Some((name, text)) => {
                    self.hold(name, text);
                    None
                }
                None => Some(line),
            },
            Runner::Pnpm => self.of_pnpm(line),
        }
    }

    /// `packages/cart test$ jest` announces, `packages/cart test: ✓ adds` is held, `packages/cart test: Done` ends.
    fn of_pnpm<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let announced = line.split_once("$ ").map(|(name, _)| name);
        if let Some(name) = announced.filter(|name| is_pnpm_name(name)) {
            self.lane(name);
            return Some(line);
        }
        // Such as `packages/cart test: 3 passing`.
        let named = |lane: &Lane| line.strip_prefix(lane.name.as_str())?.strip_prefix(':');
        let Some((at, rest)) = self.open.iter().enumerate().find_map(|(at, lane)| Some((at, named(lane)?))) else {
            return Some(line);
        };
        let text = rest.strip_prefix(' ').unwrap_or(rest);
        if matches!(text, "Done" | "Failed") {
            self.end(at);
        } else if let Some(name) = line.get(..line.len() - rest.len() - 1) {
            self.hold(name, text);
        }
        None
    }

    /// `[unit]   ✔ adds` is held, `[unit] npm run unit exited with code 0` ends.
    fn of_label<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let found = labelled(line).and_then(|(label, text)| {
            let at = self.open.iter().position(|lane| lane.name == label)?;
            Some((at, label, text))
        });
        let Some((at, label, text)) = found else { return Some(line) };
        // concurrently says so at the end of each command: `[api] npm run test exited with code 1`.
        if text.contains(" exited with code ") {
            self.end(at);
        } else {
            self.hold(label, text);
        }
        None
    }

    /// The place of a package's lane, which may be new.
    fn lane(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.open.iter().position(|lane| lane.name == name) {
            return Some(at);
        }
        if self.open.len() == MOST_LANES {
            return None;
        }
        self.open.push(Lane { name: name.to_owned(), text: String::new() });
        Some(self.open.len() - 1)
    }

    fn hold(&mut self, name: &str, text: &str) {
        let kept = match self.lane(name).and_then(|at| self.open.get_mut(at)) {
            Some(lane) => &mut lane.text,
            // Too many packages to tell apart: its lines are given out as they come.
            None => &mut self.ready,
        };
        kept.push_str(text);
        kept.push('\n');
        self.held += text.len() + 1;
        if self.held > MOST_HELD {
            // Better a package in parts than memory without end.
            let all: Vec<String> = self.open.iter_mut().map(|lane| std::mem::take(&mut lane.text)).collect();
            self.ready.extend(all);
            self.held = 0;
        }
    }

    /// Ends a package's task. Another may follow.
    fn end(&mut self, at: usize) {
        if let Some(lane) = self.open.get_mut(at) {
            self.held = self.held.saturating_sub(lane.text.len());
            self.ready.push_str(&std::mem::take(&mut lane.text));
        }
    }

    /// The text that may be read on.
    pub(super) fn ready(&mut self) -> Option<String> {
        (!self.ready.is_empty()).then(|| std::mem::take(&mut self.ready))
    }

    /// The rest at the end of the log.
    pub(super) fn rest(&mut self) -> String {
        for at in 0..self.open.len() {
            self.end(at);
        }
        std::mem::take(&mut self.ready)
    }
}

fn runner_of(line: &str) -> Option<Runner> {
    let pnpm = || line.strip_prefix(PNPM.0).is_some_and(|rest| rest.ends_with(PNPM.1));
    if line.starts_with(TURBOREPO) { Some(Runner::Turborepo) } else { pnpm().then_some(Runner::Pnpm) }
}

/// `[t2 ] text` → `[t2 ]` and `text`.
fn labelled(line: &str) -> Option<(&str, &str)> {
    let window = line.get(..line.floor_char_boundary(LONGEST_NAME))?;
    let end = window.strip_prefix('[')?.find(']')? + 2;
    let (label, text) = line.split_at_checked(end)?;
    match text.strip_prefix(' ') {
        Some(text) => Some((label, text)),
        None => text.is_empty().then_some((label, "")),
    }
}

/// `> shop@1.0.0 unit`: npm says which script it runs.
fn is_announced_by_npm(text: &str) -> bool {
    let Some((package, script)) = text.strip_prefix("> ").and_then(|rest| rest.split_once(' ')) else { return false };
    let version = package.rsplit_once('@').map_or("", |(_, version)| version);
    version.starts_with(|first: char| first.is_ascii_digit()) && version.contains('.') && !script.contains(' ')
}

/// `packages/cart test`: a folder and a script.
fn is_pnpm_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.split_once(' ').is_some_and(|(folder, script)| {
            let is_of = |text: &str, more: &[u8]| {
                text.starts_with(|first: char| {
                    first.is_ascii_alphanumeric() || b".@_".iter().any(|byte| first == char::from(*byte))
                }) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
            };
            is_of(folder, b"._-@/+") && is_of(script, b"._-:")
        })
}

/// `@shop/cart:test: text` → its task and `text`.
fn of_turborepo(line: &str) -> Option<(&str, &str)> {
    let window = line.as_bytes().get(..LONGEST_NAME.min(line.len()))?;
    let end = window.iter().position(u8::is_ascii_whitespace).unwrap_or(window.len());
    let (name, rest) = line.split_at_checked(end)?;
    let name = name.strip_suffix(':')?;
    let (package, task) = name.split_once(':')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@/:".contains(&byte))
    };
    (is_name(package) && is_name(task) && !task.starts_with(':'))
        .then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that are given back at once, and those that were held.
    fn apart(lines: &[&str]) -> (Vec<String>, String) {
        let mut lanes = Lanes::default();
        let at_once = lines.iter().filter_map(|line| lanes.take(line)).map(str::to_owned).collect();
        let mut held = lanes.ready().unwrap_or_default();
        held.push_str(&lanes.rest());
        (at_once, held)
    }

    #[test]
    fn the_tasks_of_turborepo_are_held_once_it_has_spoken() {
        let lines = [
            "@shop/cart:test: before",
            "• Packages in scope: a, b",
            "a:test:unit: 1",
            "b:test: 2",
            "a:test:unit:   3: c",
            "a:test:unit:",
            "Error: no",
            "std::fmt: x",
        ];
        let (at_once, held) = apart(&lines);
        assert_eq!(at_once, ["@shop/cart:test: before", "• Packages in scope: a, b", "Error: no", "std::fmt: x"]);
        assert_eq!(held, "1\n  3: c\n\n2\n");
    }

    #[test]
    fn the_packages_of_pnpm_are_read_in_the_order_in_which_they_end() {
        let lines = [
            "Scope: 3 of 4 workspace projects",
            "packages/a test$ jest",
            "packages/b test$ vitest run",
            ". test$ eslint",
            "packages/a test: a1",
            "packages/b test: b1",
            "packages/a test:   a2",
            "packages/b test: Done",
            ". test: Error: here",
            "packages/c test: nobody announced it",
            "packages/a test: Failed",
        ];
        let (at_once, held) = apart(&lines);
        assert_eq!(at_once.len(), 5, "{at_once:?}");
        assert_eq!(held, "b1\na1\n  a2\nError: here\n");
    }

    #[test]
    fn labels_are_taken_off_once_npm_has_spoken() {
        let lines = [
            "[a] before",
            "[a] > shop@1.0.0 a",
            "[b ] > shop@1.0.0 b",
            "[a] > mocha",
            "[b ]   b1",
            "[a]",
            "[info] a test's own",
            "[a]   a2",
            "[b ] npm run b exited with code 1",
        ];
        let (at_once, held) = apart(&lines);
        assert_eq!(at_once, ["[a] before", "[a] > shop@1.0.0 a", "[b ] > shop@1.0.0 b", "[info] a test's own"]);
        assert_eq!(held, "  b1\n> mocha\n\n  a2\n");
        assert_eq!(apart(&["[INFO] > Building shop@1", "[INFO] Tests run: 3"]).0.len(), 2);
    }

    #[test]
    fn what_is_held_is_bounded_and_nothing_is_lost() {
        let mut lanes = Lanes::default();
        lanes.take("• Packages in scope: a");
        let (line, mut seen) = (format!("a:test: {}", "x".repeat(1 << 20)), 0);
        for _ in 0..20 {
            assert!(lanes.take(&line).is_none());
            seen += lanes.ready().map_or(0, |text| text.len());
            assert!(lanes.held <= MOST_HELD);
        }
        assert_eq!(seen + lanes.rest().len(), 20 * ((1 << 20) + 1));
        for number in 0..2 * MOST_LANES {
            lanes.take(&format!("p{number}:test: y"));
        }
        assert_eq!(lanes.rest().lines().count(), 2 * MOST_LANES);
    }
}
