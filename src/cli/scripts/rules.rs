//! Rules of make and just, as far as they lead to files: which recipes a goal asks for, and which files are read in.
//!
//! Bounded: values are put in for variables three times, in lines of a few thousand characters.

use std::collections::{BTreeMap, BTreeSet};

/// How often values are put in for the variables of a line, and how long it may become, in bytes.
const PASSES: usize = 3;
const LONGEST_LINE: usize = 4 * 1024;
const LONGEST_VALUE: usize = 1024;
/// Beginnings of lines of make that may stand within a recipe.
const CONDITIONS: [&str; 6] = ["ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"];

/// The prerequisites of a target, and its recipe.
type Rule = (Vec<String>, String);

/// The rules of one run of make or just.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// Prerequisites and recipes by their targets, and the order of these.
    rules: BTreeMap<String, Vec<Rule>>,
    first: Option<String>,
    variables: BTreeMap<String, String>,
}

impl Book {
    /// Reads a file. Returns the files that it includes, as they are written there.
    pub(super) fn read(&mut self, text: &str) -> Vec<String> {
        let mut included = Vec::new();
        let mut targets: Vec<String> = Vec::new();
        // A rule or a recipe may go on behind a backslash.
        for line in text.replace("\\\n", " ").lines() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            // make wants a tab and just takes blanks. An indented line before any rule belongs to no recipe.
            if line.starts_with(['\t', ' ']) && !targets.is_empty() {
                self.recipe(&targets, line.trim());
                continue;
            }
            let line = line.trim();
            // Both branches of a condition are read: nobody knows here which one holds.
            if CONDITIONS.iter().any(|word| line.starts_with(word)) {
                continue;
            }
            targets.clear();
            if let Some(files) = self.included(line) {
                included.extend(files);
            } else if let Some((name, value)) = assignment(line) {
                // Values are put into each other, and short ones can still grow beyond all bounds.
                if value.len() <= LONGEST_VALUE {
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
            } else if let Some((names, behind)) = line.split_once(':') {
                targets = self.rule(names, behind);
            }
        }
        included
    }

    fn rule(&mut self, names: &str, behind: &str) -> Vec<String> {
        // make takes a recipe's first command behind a semicolon, on the line of the rule itself.
        let (needs, recipe) = behind.split_once(';').unwrap_or((behind, ""));
        // make's double-colon rules may stand several times for one target.
        let needs = self.put_in(needs.trim_start_matches(':'));
        // just calls with arguments in brackets: `test: (build "debug")`.
        let needs: Vec<String> = needs
            .split(|c: char| c.is_whitespace() || "()&|".contains(c))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let names = self.put_in(names);
        // `test: unit` of make may have several targets; just's `test *args: unit` has parameters behind its name.
        let targets: Vec<String> =
            names.split_whitespace().map(|name| name.trim_start_matches('@').to_owned()).collect();
        if self.first.is_none() {
            // `.PHONY` and patterns such as `%.o` are never make's default goal.
            self.first = targets.first().filter(|name| !name.starts_with('.') && !name.contains('%')).cloned();
        }
        for target in &targets {
            // make takes prerequisites of all rules of a target together.
            self.rules.entry(target.clone()).or_default().push((needs.clone(), recipe.trim().to_owned()));
        }
        targets
    }

    fn recipe(&mut self, targets: &[String], line: &str) {
        for target in targets {
            if let Some((_, recipe)) = self.rules.get_mut(target).and_then(|rules| rules.last_mut()) {
                recipe.push('\n');
                // `@` hides a command, `-` and `+` change how make treats it. None belongs to the command.
                recipe.push_str(line.trim_start_matches(['@', '-', '+']));
            }
        }
    }

    /// The files that a line reads in: other rules, and settings of the environment.
    fn included(&self, line: &str) -> Option<Vec<String>> {
        // A name that is worked out cannot be looked up here.
        let is_plain = |word: &&str| !word.contains(['$', '*', '%', '(', ')']) && !word.is_empty();
        let quoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        for directive in ["include ", "-include ", "sinclude "] {
            if let Some(rest) = line.strip_prefix(directive) {
                return Some(self.put_in(rest).split_whitespace().filter(is_plain).map(str::to_owned).collect());
            }
        }
        for directive in ["import? ", "import "] {
            if let Some(rest) = line.strip_prefix(directive) {
                return Some(vec![quoted(rest)]);
            }
        }
        for setting in ["set dotenv-filename", "set dotenv-path"] {
            if let Some((_, value)) = line.strip_prefix(setting).and_then(|rest| rest.split_once(":=")) {
                return Some(vec![quoted(&self.put_in(value))]);
            }
        }
        let module = line.strip_prefix("mod ").or_else(|| line.strip_prefix("mod? "))?;
        let (name, path) = module.split_once(' ').unwrap_or((module, ""));
        // just looks for these, in its own order, and only one of them will be there.
        let usual = [
            format!("{name}.just"),
            format!("{name}/mod.just"),
            format!("{name}/justfile"),
            format!("{name}/.justfile"),
        ];
        Some(if path.is_empty() { usual.to_vec() } else { vec![quoted(path)] })
    }

    /// The recipes of some goals and of their prerequisites. Where there is no goal, the default goal's or the first rule's.
    pub(super) fn recipes(&self, goals: &[String]) -> Vec<String> {
        let mut waiting: Vec<&str> = goals.iter().map(String::as_str).collect();
        if waiting.is_empty() {
            // GNU make lets a file name its default goal by this variable.
            waiting.extend(self.variables.get(".DEFAULT_GOAL").or(self.first.as_ref()).map(String::as_str));
        }
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(goal) = waiting.pop() {
            // Rules can need each other in a circle, which make itself only warns of.
            if !seen.insert(goal) {
                continue;
            }
            for (needs, recipe) in self.rules.get(goal).into_iter().flatten() {
                waiting.extend(needs.iter().map(String::as_str));
                if !recipe.is_empty() {
                    found.push(recipe.lines().map(|line| self.put_in(line)).collect::<Vec<_>>().join("\n"));
                }
            }
        }
        found
    }

    /// A line with values in the places of variables. Unknown variables fall away.
    fn put_in(&self, line: &str) -> String {
        let mut line = line.to_owned();
        // Values hold variables themselves. Three rounds are enough for real files and an end for hostile ones.
        for _ in 0..PASSES {
            if !line.contains("$(") && !line.contains("${") && !line.contains("{{") || line.len() > LONGEST_LINE {
                break;
            }
            line = self.once(&line);
        }
        line
    }

    fn once(&self, line: &str) -> String {
        let mut text = String::new();
        let mut rest = line;
        while let Some((at, close)) = [("$(", ")"), ("${", "}"), ("{{", "}}")]
            .iter()
            .filter_map(|(open, close)| rest.find(open).map(|at| (at, *close)))
            // The first opening counts, whichever of the three forms it has.
            .min()
        {
            text.push_str(rest.get(..at).unwrap_or_default());
            let inner = rest.get(at + 2..).unwrap_or_default();
            // Without its end it is no variable, and the rest of the line stays as it is.
            let Some((name, behind)) = inner.split_once(close) else { break };
            let name = name.trim();
            // What the shell or make works out stays as it is.
            if name.contains([' ', '$']) {
                text.push_str(name);
            } else if name == "MAKE" {
                text.push_str("make");
            } else if let Some(value) = self.variables.get(name).filter(|_| text.len() < LONGEST_LINE) {
                text.push_str(value);
            }
            rest = behind;
        }
        text.push_str(rest);
        text
    }
}

/// A variable that is set, and its value.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    // `:=`, `?=`, `+=` and `!=` all set the variable as far as this matters.
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    // `test: CI=1` is a rule, since its name holds a colon.
    let is_plain = !name.is_empty() && !name.contains([' ', ':', '\t', '(']);
    is_plain.then(|| (name, value.trim().trim_matches(['"', '\''])))
}

#[cfg(test)]
mod tests {
    use super::Book;

    #[test]
    fn a_goals_recipes_are_its_own_and_those_of_what_it_needs() {
        let text = "PY = python3\nRUN := $(PY) -u\n.PHONY: test\nall: app\n\techo all\n\ntest: unit\n\t@$(RUN) ci/run.py \\\n\t\t-v\n\nunit: ; sh ci/unit.sh\n\nserve:\n\tnode src/index.js\n";
        let mut book = Book::default();
        assert!(book.read(text).is_empty());
        let recipes = book.recipes(&["test".to_owned()]).join("\n");
        assert!(recipes.contains("python3 -u ci/run.py") && recipes.contains("sh ci/unit.sh"), "{recipes}");
        assert!(!recipes.contains("index.js"), "{recipes}");
        assert!(book.recipes(&[]).join("").contains("echo all"));
    }

    #[test]
    fn files_that_are_read_in_are_named() {
        let included = |text: &str| Book::default().read(text);
        assert_eq!(included("DIR = mk\ninclude Makefile.inc $(DIR)/more\n-include *.x\n"), ["Makefile.inc", "mk/more"]);
        assert_eq!(included("import 'ci.rules'\nset dotenv-filename := 'ci.settings'\n"), ["ci.rules", "ci.settings"]);
        assert_eq!(included("mod ci 'ci/rules'\n"), ["ci/rules"]);
    }

    #[test]
    fn variables_that_hold_themselves_come_to_an_end() {
        let mut book = Book::default();
        book.read("A = $(A)$(A)$(B)\nB = $(A)$(A)\ntest:\n\t$(A)\n");
        assert!(book.recipes(&["test".to_owned()]).join("").len() < 100_000);
    }
}
