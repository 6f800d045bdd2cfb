//! Output of the ConsoleLauncher with `--details=flat` and `--details=verbose`: each test as it ends, and no list of failures.

use std::collections::HashMap;

use crate::findings::Block;

/// More that runs at one time is not known by name.
const MOST_NAMES: usize = 4_000;
/// Deeper trees are cut.
const MOST_LEVELS: usize = 100;
/// A longer id is none.
const LONGEST_ID: usize = 2 * 1024;
/// The indentation of an exception in the flat details.
const FLAT: &str = "             ";

/// A test or a container that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_class: bool,
}

/// Reads events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The names of what began, by their unique ids (flat).
    names: HashMap<String, String>,
    /// The names down to the one that was printed last, and how far each is indented (verbose).
    tree: Vec<(usize, String)>,
    /// The test or container that the lines are about: its id, and its name with those of all that it is in.
    id: String,
    name: String,
    source: String,
    /// An exception is being read.
    caught: bool,
    text: Block,
}

impl Events {
    /// Takes a line. Returns the failure that it ends.
    pub(super) fn line(&mut self, line: &str) -> Option<Failure> {
        if let Some(rest) = line.strip_prefix("Started:     ") {
            let failure = self.settle();
            if let Some((name, id)) = name_and_id(rest) {
                self.begins(name, id);
            }
            return failure;
        }
        if let Some(rest) = line.strip_prefix("Finished:    ") {
            let failure = self.settle();
            if let Some((_, id)) = name_and_id(rest) {
                self.name = self.path(id);
                id.clone_into(&mut self.id);
                // The names of containers are parts of others.
                if !is_container(id) {
                    self.names.remove(id);
                }
            }
            return failure;
        }
        if let Some(text) = line.strip_prefix(FLAT).filter(|_| !self.id.is_empty()) {
            self.indented(text);
            return None;
        }
        let text = line.trim_start_matches(['|', '│', ' ']);
        let indent = line.len() - text.len();
        if let Some(name) = text.strip_prefix("+--").or_else(|| text.strip_prefix("├─")) {
            let failure = self.settle();
            // All that stands as deep or deeper is over.
            self.tree.retain(|(outer, _)| *outer < indent);
            if self.tree.len() < MOST_LEVELS {
                self.tree.push((indent, name.trim().to_owned()));
            }
            return failure;
        }
        if indent == 0 { self.settle() } else { self.verbose(text) }
    }

    /// A line below a flat event.
    fn indented(&mut self, text: &str) {
        if let Some(exception) = text.strip_prefix("=> Exception: ") {
            self.caught = true;
            self.text.push(exception);
        } else if self.caught {
            self.text.push(text);
        }
    }

    /// A line below a name of the verbose tree, without its bars.
    fn verbose(&mut self, text: &str) -> Option<Failure> {
        if let Some(id) = text.strip_prefix("uniqueId: ").filter(|_| !self.caught) {
            id.trim_end().clone_into(&mut self.id);
            // Without the engine.
            self.name = self.tree.iter().skip(1).map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(":");
        } else if let Some(source) = text.strip_prefix("source: ").filter(|_| !self.caught) {
            source.clone_into(&mut self.source);
        } else if let Some(exception) = text.strip_prefix("caught: ").filter(|_| !self.id.is_empty()) {
            self.caught = true;
            self.text.push(exception);
        } else if text.starts_with("duration: ") || text.starts_with("status: ") {
            return self.settle();
        } else if self.caught {
            self.text.push(text);
        }
        None
    }

    fn begins(&mut self, name: &str, id: &str) {
        if self.names.len() < MOST_NAMES {
            self.names.insert(id.to_owned(), name.to_owned());
        }
    }

    /// Ends what the lines were about.
    pub(super) fn settle(&mut self) -> Option<Failure> {
        let id = std::mem::take(&mut self.id);
        let source = std::mem::take(&mut self.source);
        let name = std::mem::take(&mut self.name);
        let text = self.text.take();
        std::mem::take(&mut self.caught).then(|| Failure {
            name,
            text: if source.is_empty() { text } else { format!("{source}\n{text}") },
            is_class: is_class(&id),
        })
    }

    /// The names of all that a test is in and its own, without the engine's.
    fn path(&self, id: &str) -> String {
        // Each part of the id has a name. The engine's is left out.
        let ends = id.match_indices("/[").map(|(at, _)| at).chain(std::iter::once(id.len())).skip(1);
        let names = ends.filter_map(|end| self.names.get(id.get(..end)?));
        names.map(String::as_str).collect::<Vec<_>>().join(":")
    }
}

/// `adds() ([engine:junit-jupiter]/[class:CartTest]/[method:adds()])`.
fn name_and_id(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end().strip_suffix(')')?;
    let at = text.rfind(" ([engine:").filter(|at| text.len() - at <= LONGEST_ID)?;
    Some((text.get(..at)?, text.get(at + " (".len()..)?))
}

fn last_kind(id: &str) -> &str {
    let last = id.rfind("/[").and_then(|at| id.get(at + "/[".len()..)).unwrap_or_default();
    last.split_once(':').map_or("", |(kind, _)| kind)
}

fn is_class(id: &str) -> bool {
    matches!(last_kind(id), "class" | "nested-class")
}

/// Whether names of others are made with this one's.
fn is_container(id: &str) -> bool {
    is_class(id) || matches!(last_kind(id), "" | "test-template" | "test-factory" | "dynamic-container" | "runner")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Vec<(String, String, bool)> {
        let mut events = Events::default();
        let mut failures: Vec<Failure> = log.lines().filter_map(|line| events.line(line)).collect();
        failures.extend(events.settle());
        failures.into_iter().map(|one| (one.name, one.text, one.is_class)).collect()
    }

    #[test]
    fn flat_events_name_their_failures_by_what_they_are_in() {
        let (class, test) =
            ("[engine:junit-jupiter]/[class:DbTest]", "[engine:junit-jupiter]/[class:CartTest]/[method:f()]");
        let found = read(&format!(
            "Started:     CartTest ([engine:junit-jupiter]/[class:CartTest])\nStarted:     says (x) ({test})\n\
             Finished:    says (x) ({test})\n             => Exception: Error: one\n             two\n\
             Started:     DbTest ({class})\nFinished:    DbTest ({class})\n             => Exception: db down\nprinted\n"
        ));
        let expected = [("CartTest:says (x)", "Error: one\ntwo\n", false), ("DbTest", "db down\n", true)];
        assert_eq!(found, expected.map(|(name, text, is_class)| (name.to_owned(), text.to_owned(), is_class)));
    }

    #[test]
    fn verbose_events_have_their_source() {
        let found = read(
            "+-- JUnit Jupiter\n| +-- CartTest\n| | +-- ok()\n| | |  uniqueId: [engine:j]/[class:CartTest]/[method:ok()]\n\
             | | |  duration: 1 ms\n| | |    status: [OK] SUCCESSFUL\n| | +-- says\n\
             | | |  uniqueId: [engine:j]/[class:CartTest]/[method:f()]\n| | |    source: MethodSource [className = 'CartTest']\n\
             | | |    caught: Error: one\n| | |              \tat CartTest.f(CartTest.java:2)\n| | |  duration: 19 ms\n\
             | | |    status: [X] FAILED\n| '-- CartTest finished after 3 ms.\n",
        );
        let text = "MethodSource [className = 'CartTest']\nError: one\n\tat CartTest.f(CartTest.java:2)\n";
        assert_eq!(found, [("CartTest:says".to_owned(), text.to_owned(), false)]);
    }
}
