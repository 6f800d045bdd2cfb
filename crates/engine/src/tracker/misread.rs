//! Words for a list in YAML that could not be read: the line, the key, its content and its form, without the reader's own types.

use super::task::TaskFault;

/// The way out where a line is indented by tabs.
const NO_TABS: &str = "indent with spaces: YAML allows no tabs";

/// How many characters of a wrong content are shown.
const SHOWN_CHARS: usize = 80;

/// The fault of a list, in words for whoever wrote it. `form` shows how a list is written.
pub(super) fn misread(error: &serde_yaml::Error, text: &str, form: &str) -> TaskFault {
    let said = error.to_string();
    // The place is told first, and in one form.
    let (said, behind) = said.split_once(" at line ").unwrap_or((&said, ""));
    let (path, fault) = said.split_once(": ").filter(|(path, _)| path.starts_with("tasks")).unwrap_or(("", said));
    let line = error.location().map(|place| format!("line {}: ", place.line())).unwrap_or_default();
    let Some(what) = told(&Place::of(path), fault) else {
        let is_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        let fix = if text.lines().any(is_tab) { NO_TABS } else { form };
        // The parser's own words name what it was reading.
        let reading = behind.split_once(", ").map(|(_, reading)| format!(", {reading}")).unwrap_or_default();
        return TaskFault::new(format!("{line}it is not YAML: {fault}{reading}"), fix);
    };
    TaskFault::new(format!("{line}{what}"), form)
}

/// A place in a list.
#[derive(Debug)]
struct Place<'p> {
    /// The task, from 1. `None` outside of the tasks.
    task: Option<usize>,
    /// The key. Empty for a task or a file as a whole.
    key: &'p str,
}

impl<'p> Place<'p> {
    /// The place that a path such as `tasks[0].priority` leads to.
    fn of(path: &'p str) -> Self {
        let Some((number, rest)) = path.strip_prefix("tasks[").and_then(|rest| rest.split_once(']')) else {
            return Self { task: None, key: path };
        };
        let key = rest.trim_start_matches('.').split('[').next().unwrap_or_default();
        Self { task: number.parse::<usize>().ok().map(|number| number.saturating_add(1)), key }
    }

    fn name(&self) -> String {
        match (self.task, self.key) {
            (None, "") => "the file".to_owned(),
            (None, key) => format!("`{key}`"),
            (Some(task), "") => format!("task {task}"),
            (Some(task), key) => format!("`{key}` of task {task}"),
        }
    }

    /// The form that its content has to have.
    const fn wanted(&self) -> &'static str {
        match (self.task, self.key.as_bytes()) {
            (None, b"") => "the key `tasks:` with a list of tasks below it",
            (None, _) => "a list, in which each task begins with `- `",
            (Some(_), b"") => "keys and values, such as `id: parser` and `title: Fix the parser`",
            (Some(_), b"tests") => "a list of names, such as `tests: [test_a, test_b]`",
            (Some(_), b"dependsOn") => "a list of ids, such as `dependsOn: [parser]`",
            (Some(_), b"priority") => "a number from 0 (first) to 4 (last)",
            (Some(_), _) => "one text",
        }
    }
}

/// A fault of the form in words. `None` where the text is no YAML.
fn told(place: &Place<'_>, fault: &str) -> Option<String> {
    let name = place.name();
    let quoted = |begins: &str| fault.strip_prefix(begins).and_then(|rest| rest.split('`').next());
    if let Some(key) = quoted("missing field `") {
        return Some(format!("{name} has no `{key}`"));
    }
    if let Some(key) = quoted("unknown field `") {
        return Some(match place.task {
            Some(_) => format!("{name} has the key `{key}`, which no task has"),
            None => format!("{name} has the key `{key}`, and has to have `tasks` alone"),
        });
    }
    if let Some(key) = quoted("duplicate field `") {
        return Some(format!("{name} has the key `{key}` twice"));
    }
    if let Some(word) = quoted("unknown variant `") {
        return Some(format!("{name} is `{word}`, and has to be open, in_progress, completed, blocked or cancelled"));
    }
    let (found, _) =
        fault.strip_prefix("invalid type: ").or(fault.strip_prefix("invalid value: "))?.split_once(", expected ")?;
    Some(format!("{name} is {}, and has to be {}", found_in_words(found), place.wanted()))
}

fn found_in_words(found: &str) -> String {
    match found {
        "map" => "a mapping of keys to values".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" => "empty".to_owned(),
        found => match found.split_once(['`', '"']) {
            // A number, a truth value or a text, each behind the reader's word for its type.
            Some((_, value)) => {
                let value = value.trim_end_matches(['`', '"']).lines().next().unwrap_or_default();
                format!("`{}`", value.chars().take(SHOWN_CHARS).collect::<String>())
            }
            None => found.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::tracker::List;

    #[test]
    fn a_wrong_list_is_told_by_line_key_and_form() {
        let task = |more: &str| format!("tasks:\n  - id: a\n    title: b\n    {more}\n");
        for (text, said) in [
            (
                "tasks:\n  a: b\n".to_owned(),
                "line 2: `tasks` is a mapping of keys to values, and has to be a list, in which",
            ),
            ("- id: a\n".to_owned(), "line 1: the file is a list, and has to be the key `tasks:` with a list"),
            ("# Tasks\n\njust words".to_owned(), "the file is `just words`, and has to be"),
            (String::new(), "the file has no `tasks`"),
            ("task:\n  - id: a\n".to_owned(), "line 1: the file has the key `task`, and has to have `tasks` alone"),
            ("tasks:\n  - a\n".to_owned(), "line 2: task 1 is `a`, and has to be keys and values"),
            ("tasks:\n  - id: a\n".to_owned(), "line 2: task 1 has no `title`"),
            (task("colour: red"), "line 4: task 1 has the key `colour`, which no task has"),
            (task("tests: one"), "line 4: `tests` of task 1 is `one`, and has to be a list of names"),
            (task("tests: [one, [two]]"), "`tests` of task 1 is a list, and has to be a list of names"),
            (task("command: [a]"), "`command` of task 1 is a list, and has to be one text"),
            (task("priority: high"), "line 4: `priority` of task 1 is `high`, and has to be a number from 0"),
            (task("priority: -1"), "`priority` of task 1 is `-1`, and has to be a number from 0"),
            (task("status: done"), "`status` of task 1 is `done`, and has to be open, in_progress"),
            (task("id: c"), "task 1 has the key `id` twice"),
            (
                "tasks: [".to_owned(),
                "line 2: it is not YAML: did not find expected node content, while parsing a flow node",
            ),
            ("tasks:\n\t- id: a\n".to_owned(), "YAML allows no tabs"),
        ] {
            let fault = List::read(&text).unwrap_err().to_string();
            assert!(fault.contains(said) && fault.contains("→ Fix: "), "{text}: {fault}");
            for word in ["expected", "struct", "u8", "sequence", "variant", "field"] {
                assert!(!fault.contains(word) || said.contains("not YAML"), "{text}: {fault}");
            }
        }
    }
}
