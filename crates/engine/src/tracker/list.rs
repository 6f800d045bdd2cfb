//! A backlog as a list in YAML, written by people: `tasks:` with an id, a title and what proves each.

use serde::{Deserialize, Deserializer};

use super::misread::misread;
use super::next::validated;
use super::task::{
    LOWEST_PRIORITY, Proof, Task, TaskFault, TaskStatus, USUAL_PRIORITY, checked_id, is_read_again, one_line,
};

/// The form of a task, shown where one is wrong.
const FORM: &str = "write each task as `- id: parser`, `title: Fix the parser`, and `tests: [its failing tests]`, `command: a command that \
fails until it is done`, or both; further keys are description, priority (0 to 4), dependsOn and status";

/// A list as it stands in a file.
#[derive(Debug)]
pub struct List;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(deserialize_with = "some_or_none")]
    tasks: Vec<Entry>,
}

/// `tasks:` with nothing behind it is a list without tasks.
fn some_or_none<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Entry>, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tests: Vec<String>,
    command: Option<String>,
    priority: Option<u8>,
    #[serde(default)]
    depends_on: Vec<String>,
    status: Option<TaskStatus>,
}

impl List {
    /// The tasks of a list.
    ///
    /// # Errors
    /// The defect of the list, with the line where YAML tells it.
    pub fn read(text: &str) -> Result<Vec<Task>, TaskFault> {
        let file: File = serde_yaml::from_str(text).map_err(|error| misread(&error, text, FORM))?;
        validated(file.tasks.into_iter().map(task).collect::<Result<_, _>>()?)
    }

    /// A list with one more task at its end, written in the list's own manner.
    ///
    /// # Errors
    /// When the list is wrong, or the task would not be read again as it is meant, or has the id of another.
    pub fn with(text: &str, task: &Task) -> Result<String, TaskFault> {
        let task = &Task { id: checked_id(&task.id, "the new task")?, ..task.clone() };
        let known = Self::read(text)?;
        validated(known.iter().cloned().chain([task.clone()]).collect())?;
        // Only at the beginning of a line: a description may hold the same word.
        let is_key = |line: &&str| line.starts_with("tasks:");
        let mut lines: Vec<String> = text.lines().map(opened).collect();
        let behind = text.lines().skip_while(|line| !is_key(line)).skip(1);
        // The manner of the others is taken, so that YAML reads all of them as one list.
        let item = behind.into_iter().find(|line| line.trim_start().starts_with('-')).filter(|_item| !known.is_empty());
        let indent = item.map_or(2, |line| line.len() - line.trim_start().len());
        lines.extend(Self::entry(task).lines().map(|line| format!("{}{line}", " ".repeat(indent))));
        let with = format!("{}\n", lines.join("\n"));
        let by_hand = |_fault| TaskFault::new(format!("{} cannot be added after the others here", task.id), FORM);
        // Read back, since a list may end in a form behind which nothing can be put.
        let read = Self::read(&with).map_err(by_hand)?;
        is_read_again(&read, task, FORM)?;
        Ok(with)
    }

    /// A task as it is added to the end of a list. Its `title` is put in one line.
    fn entry(task: &Task) -> String {
        // JSON's strings are YAML's, and leave nothing to guess.
        let quoted = |text: &str| serde_json::Value::String(text.to_owned()).to_string();
        let mut entry = format!("- id: {}\n  title: {}\n", quoted(&task.id), quoted(&one_line(&task.title)));
        let tests: Vec<String> = task.proof.tests().iter().map(|name| quoted(name)).collect();
        if !tests.is_empty() {
            entry.push_str(&format!("  tests: [{}]\n", tests.join(", ")));
        }
        if let Some(command) = task.proof.command() {
            entry.push_str(&format!("  command: {}\n", quoted(command)));
        }
        if task.priority != USUAL_PRIORITY {
            entry.push_str(&format!("  priority: {}\n", task.priority));
        }
        entry
    }
}

/// A line of a list; `tasks: []` without its brackets, so that tasks may follow.
fn opened(line: &str) -> String {
    let brackets = line.strip_prefix("tasks:").and_then(|rest| rest.trim_start().strip_prefix('[')?.split_once(']'));
    match brackets {
        // Brackets with tasks in them are a flow list, and are left alone.
        Some((inside, rest)) if inside.trim().is_empty() => format!("tasks:{rest}"),
        Some(_) | None => line.to_owned(),
    }
}

fn task(entry: Entry) -> Result<Task, TaskFault> {
    let id = checked_id(&entry.id, "a task of the list")?;
    // An empty command would succeed, and prove anything.
    let commands: Vec<String> = entry.command.into_iter().filter(|command| !command.trim().is_empty()).collect();
    let proof = Proof::of(entry.tests, &commands);
    let priority = entry.priority.unwrap_or(USUAL_PRIORITY);
    if priority > LOWEST_PRIORITY {
        return Err(TaskFault::new(format!("{id} has the priority {priority}"), "use 0 (first) to 4 (last)"));
    }
    Ok(Task {
        id,
        title: one_line(&entry.title),
        description: entry.description,
        status: entry.status.unwrap_or(TaskStatus::Open),
        priority,
        depends_on: entry.depends_on,
        proof,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_added_to() {
        let text = "# ours\ntasks:\n  - id: lexer\n    title: Fix the lexer\n    tests: ['lexer::a, b', lexer::c]\n    priority: 0\n  - id: lint\n    title: |\n      Make the\n      linter happy\n    command: ruff check .\n    dependsOn: [lexer]\n    status: completed\n";
        let tasks = List::read(text).unwrap();
        assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["lexer", "lint"]);
        assert_eq!(tasks[0].proof, Proof::Tests(vec!["lexer::a, b".to_owned(), "lexer::c".to_owned()]));
        assert_eq!((tasks[1].title.as_str(), tasks[1].status), ("Make the linter happy", TaskStatus::Completed));
        let both = "tasks:\n  - {id: a, title: b, tests: [x], command: y}\n";
        let wanted = Proof::Both { tests: vec!["x".to_owned()], command: "y".to_owned() };
        assert_eq!(List::read(both).unwrap()[0].proof, wanted);
        let more = Task { id: "new \"one\"".to_owned(), ..tasks[0].clone() };
        let read = List::read(&List::with(text, &more).unwrap()).unwrap();
        assert_eq!((&read[2].id, &read[2].proof, read[2].priority), (&more.id, &more.proof, 0));
    }

    #[test]
    fn a_task_is_added_in_the_lists_own_manner_or_not_at_all() {
        let task = |id: &str, command: &str| {
            let text = format!(
                "tasks:\n  - {{id: x, title: t, command: {}}}\n",
                serde_json::Value::String(command.to_owned())
            );
            Task { id: id.to_owned(), ..List::read(&text).unwrap().remove(0) }
        };
        let more = task("new", "echo `date` # x");
        for text in [
            "tasks:\n- id: a\n  title: b\n",
            "tasks:\n    - id: a\n      title: b\n      tests:\n        - c\n    # the end",
            "# ours\ntasks: []\n",
            "tasks:\n",
            "tasks: [ ] # none\n",
            "tasks:\n  - {id: a, title: b}\n",
        ] {
            let read = List::with(text, &more).and_then(|text| List::read(&text));
            assert_eq!(read.map(|tasks| tasks.last().cloned()).as_ref().ok(), Some(&Some(more.clone())), "{text}");
        }
        let wrong = |text: &str, task: &Task| List::with(text, task).unwrap_err().to_string();
        assert!(wrong("tasks: [{id: a, title: b}]\n", &more).contains("cannot be added after the others"));
        assert!(wrong("tasks:\n  - {id: new, title: b}\n", &more).contains("two tasks have the id new"));
        assert!(wrong("tasks:\n", &task(" ", "x")).contains("no usable id"));
    }

    #[test]
    fn a_wrong_list_says_what_is_wrong_and_how_it_is_written() {
        for (text, said) in [
            ("tasks:\n  - id: a\n", "title"),
            ("tasks:\n  - id: a\n    title: b\n    colour: red\n", "colour"),
            ("tasks:\n  - id: a\n    title: b\n    priority: 9\n", "priority 9"),
            ("tasks:\n  - id: ''\n    title: b\n", "no usable id"),
            ("tasks: [", "line"),
            ("[]", ""),
        ] {
            let fault = List::read(text).unwrap_err().to_string();
            assert!(fault.contains(said) && fault.contains("→ Fix: "), "{text}: {fault}");
        }
    }
}
